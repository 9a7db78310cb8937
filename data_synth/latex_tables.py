"""LaTeX commands that a formula in capitals knows how to write. What is in no table rejects the row."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


GREEK_LETTERS = _pairs(
    """
    α alpha  β beta  γ gamma  δ delta  ε epsilon  ζ zeta  η eta  θ theta  ι iota  κ kappa  λ lambda  μ mu
    ν nu  ξ xi  ο omicron  π pi  ρ rho  σ sigma  τ tau  υ upsilon  φ phi  χ chi  ψ psi  ω omega
    ς sigma  ϕ phi  ϵ epsilon  ϑ theta  ϖ pi  ϱ rho  µ mu
    """
)
GREEK = frozenset(GREEK_LETTERS.values())
VARIANTS = {f"var{name}": name for name in ("epsilon", "theta", "pi", "rho", "sigma", "phi", "kappa")}

# Functions and the like: written out in capitals and kept apart from letters beside them.
FUNCTIONS = _names(
    """
    sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp max min sup inf lim gcd lcm det
    dim ker deg arg hom mod bmod Pr Re Im ell hbar
    """
)

SIGNS = _pairs(
    """
    times ×  cdot ·  div ÷  pm ±  mp ∓  ast *  star ⋆  circ ∘  bullet •  oplus ⊕  otimes ⊗  diamond ⋄
    Diamond ◇  wedge ∧  vee ∨  land ∧  lor ∨  lnot ¬  neg ¬  setminus ∖  smallsetminus ∖  cup ∪  cap ∩
    bigcup ⋃  bigcap ⋂  sum ∑  prod ∏  int ∫  iint ∬  oint ∮  partial ∂  nabla ∇  infty ∞  emptyset ∅
    varnothing ∅  forall ∀  exists ∃  angle ∠  measuredangle ∡  triangle △  bigtriangleup △  square □
    Box □  degree °  prime '  dagger †  checkmark ✓  surd √  le ≤  leq ≤  leqslant ≤  ge ≥  geq ≥
    geqslant ≥  lt <  gt >  ll ≪  gg ≫  ne ≠  neq ≠  equiv ≡  approx ≈  sim ∼  simeq ≃  cong ≅  propto ∝
    in ∈  notin ∉  ni ∋  subset ⊂  subseteq ⊆  subsetneq ⊊  supset ⊃  supseteq ⊇  mid |  nmid ∤
    parallel ∥  perp ⊥  to →  rightarrow →  longrightarrow ⟶  leftarrow ←  gets ←  mapsto ↦  Rightarrow ⇒
    Longrightarrow ⟹  implies ⟹  Leftarrow ⇐  iff ⟺  leftrightarrow ↔  Leftrightarrow ⇔
    Longleftrightarrow ⟺  uparrow ↑  downarrow ↓  therefore ∴  because ∵  lfloor ⌊  rfloor ⌋  lceil ⌈
    rceil ⌉  langle ⟨  rangle ⟩  lvert |  rvert |  vert |  lVert ‖  rVert ‖  Vert ‖  lbrace {  rbrace }
    lbrack [  rbrack ]  backslash ∖  colon :  ldots ...  dots ...  cdots ⋯  dotsc ...  dotsb ⋯  dotsm ⋯
    vdots ⋮  ddots ⋱  dollar $  { {  } }  % %  $ $  # #  & &  _ _  | ‖
    """
)

BLANKS = frozenset([",", ";", ":", ">", " ", "\n", "~"]) | _names("quad qquad thinspace enspace space")
# Layout without meaning.
DROPPED = _names(
    """
    ! / left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm
    displaystyle textstyle scriptstyle limits nolimits nonumber notag allowbreak noindent centering relax
    """
)
# Commands whose argument is kept: words, fonts that make no other symbol of a letter, boxes.
WORDS = _names(
    """
    text textbf textit textrm textsf texttt textsc textnormal mbox hbox emph underline mathrm operatorname
    """
)
WRAPPERS = _names("mathit mathsf mathtt boxed fbox ensuremath mathop mathrel")
# Fonts that do make another symbol: the vector v and the number v.
ALPHABETS = _names("mathbb mathcal mathscr mathfrak mathbf boldsymbol bm pmb bold")
ACCENTS = _names(
    """
    overline bar vec hat widehat tilde widetilde dot ddot overrightarrow overleftarrow overarc
    """
)
FRACTIONS = _names("frac dfrac tfrac cfrac")
BINOMIALS = _names("binom dbinom tbinom")
NEGATED = _pairs("= ≠  ∈ ∉  ⊂ ⊄  ⊆ ⊈  ≡ ≢  | ∤  ∼ ≁  ≅ ≇  < ≮  > ≯")

# How environments are written: opening, between cells, between rows, closing.
ENVIRONMENTS = {
    **dict.fromkeys(
        _names("equation align aligned gather gathered multline split eqnarray"), ("", "", "\n", "")
    ),
    **dict.fromkeys(_names("matrix pmatrix bmatrix array smallmatrix"), ("[", ", ", "; ", "]")),
    "vmatrix": ("|", ", ", "; ", "|"),
    "cases": ("{", " ", "; ", "}"),
}
# Beside these a fraction needs no brackets.
OPERATORS = frozenset("+-−=<>≤≥≠≡≈∼≅∝→⟶⇒⟹⇔⟺,;:.()[]{}|⌊⌋⌈⌉?!∈±\n…")
