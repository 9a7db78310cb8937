"""Answers of mathematical problems: pairs that are equal and pairs that are not; text meant to do harm."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riftk.grading import ANSWER_TYPES, grade, grade_many
from riftk.grading.mathif import mathif_equal, mathif_extract

# An answer and the gold answer that it equals, one a line.
EQUAL = r"""
numbers:
  1{,}234  ==  1234
  1,234.50  ==  1234.5
  12\,000  ==  12000
  12 000  ==  12000
  0042  ==  42
  -7  ==  -7.0
  −7  ==  -7
  +3  ==  3
  3\frac{1}{2}  ==  3.5
  3\frac12  ==  \frac{7}{2}
  -2\frac{1}{3}  ==  -\frac{7}{3}
  .25  ==  \frac14
  \frac{-3}{4}  ==  -\frac{3}{4}
  -\dfrac{3}{4}  ==  -0.75
  \tfrac{10}{4}  ==  2.5
  6/8  ==  \frac{3}{4}
  1.0  ==  1
  \mathbf{62}  ==  62
  \textbf{62}  ==  62
  **62**  ==  62
  $62$  ==  62
  62.  ==  62
  \left(62\right)  ==  62
  {62}  ==  62
  2 million  ==  2000000
  \text{forty-two}  ==  42
  ½  ==  0.5
  2^{10}  ==  1024
  3 \cdot 4  ==  12
  10!  ==  3628800
  \sqrt{16}  ==  4
  0.333333333  ==  \frac{1}{3}
  1 - \frac{1}{4}  ==  \frac{3}{4}

e-notation:
  1.2e5  ==  120000
  1.2E+5  ==  120000
  1.2 \times 10^5  ==  120000
  1.2 \cdot 10^{5}  ==  1.2e5
  1.2 × 10^5  ==  1.2e5
  12 \times 10^{4}  ==  1.2e5
  4.5 \times 10^{-7}  ==  4.5e-7
  4.5e-07  ==  4.5e-7
  4.5 x 10^{-7}  ==  4.5e-7
  10^{-3}  ==  0.001
  6.02 \times 10^{23} \text{ molecules}  ==  6.02e23
  3 × 10⁻²  ==  0.03
  -1.6\times10^{-19}  ==  -1.6e-19

percent:
  25\%  ==  25
  25%  ==  0.25
  25\%  ==  \frac{1}{4}
  12.5\%  ==  12.5\%
  0.25  ==  25\%
  25 \text{ percent}  ==  25
  25 percent  ==  25\%
  33\frac{1}{3}\%  ==  \frac{1}{3}

base:
  101_2  ==  101_{2}
  1010_{(2)}  ==  1010_2
  \text{1A}_{16}  ==  1A_{16}
  1a_{16}  ==  1A_{16}
  243  ==  243_5
  243_{\text{five}}  ==  243_5

sets:
  \{1,2,3\}  ==  \{3,2,1\}
  1, 2, 3  ==  \{1,2,3\}
  \left\{1, 2, 3\right\}  ==  3,1,2
  \lbrace 1, 2 \rbrace  ==  \{1,2\}
  2 \text{ or } -2  ==  \pm 2
  x = 2, x = -2  ==  2,-2
  x = \pm 2  ==  -2, 2
  x_1 = 1, x_2 = 3  ==  1, 3
  3 and 5  ==  3,5
  \frac{1}{2}, 2  ==  2, 0.5
  \sqrt{2}, -\sqrt{2}  ==  \pm\sqrt{2}
  \emptyset  ==  \varnothing
  -2; 3  ==  3, -2
  1 \pm i  ==  1+i, 1-i
  \{(1,2),(2,1)\}  ==  (2,1),(1,2)

units:
  5 \text{ cm}  ==  5
  5\text{cm}  ==  5
  5\,\mathrm{m/s}  ==  5
  5 \text{ m/s}^2  ==  5
  12 \text{ square units}  ==  12
  12 square feet  ==  12
  30^\circ  ==  30
  30°  ==  30
  30 \text{ degrees}  ==  30
  \$5  ==  5
  \$5.00  ==  5
  5 dollars  ==  5
  €5  ==  5
  3 hours  ==  3
  10\sqrt{3} \text{ cm}  ==  10\sqrt{3}
  25\pi \text{ cm}^2  ==  25\pi
  25\pi \ \mathrm{cm}^2  ==  25\pi
  5  ==  5 \text{ cm}
  5 kg  ==  5\text{ kg}
  36 \text{ inches}  ==  36 \text{ in}

intervals:
  [0, 1)  ==  [0,1)
  \left[0,1\right)  ==  [0,1)
  0 \le x < 1  ==  [0,1)
  0 \leq y < 1  ==  [0,1)
  x \in [0,1)  ==  [0,1)
  x > 2  ==  (2,\infty)
  x \ge 2  ==  [2, \infty)
  2 < x  ==  (2,\infty)
  (2, +\infty)  ==  (2,\infty)
  (-\infty,1)\cup(3,\infty)  ==  (3,\infty) \cup (-\infty,1)
  x<1 \text{ or } x>3  ==  (-\infty,1)\cup(3,\infty)
  1 > x \geq 0  ==  [0,1)
  (0, \frac{1}{2})  ==  (0,0.5)
  x+y \le 3  ==  y+x \leq 3
  -x-y \ge -3  ==  x+y \le 3
  2x+2y<6  ==  x+y<3
  [-\sqrt{2},\sqrt{2}]  ==  [-\sqrt 2, \sqrt 2]

tuples:
  (1, 2, 3)  ==  (1,2,3)
  \left(\frac{1}{2}, -3\right)  ==  (0.5,-3)
  (x,y)=(1,2)  ==  (1,2)
  (a, b, c) = (1, 2, 3)  ==  (1,2,3)
  x=1, y=2  ==  (1,2)
  \langle 1,2 \rangle  ==  \langle 1, 2\rangle
  (\sqrt{4}, 3)  ==  (2,3)
  (3, \frac{\pi}{2})  ==  \left( 3, \frac{\pi}{2} \right)

matrices:
  \begin{pmatrix}1&2\\3&4\end{pmatrix}  ==  \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}
  \begin{bmatrix}1\\2\end{bmatrix}  ==  \begin{pmatrix}1\\2\end{pmatrix}
  \begin{pmatrix}\frac12&0\\0&1\end{pmatrix}  ==  \begin{pmatrix}0.5&0\\0&1\end{pmatrix}
  \begin{bmatrix} -1/3 \\ 2/3 \end{bmatrix}  ==  \begin{pmatrix} -\frac{1}{3} \\ \frac{2}{3} \end{pmatrix}

expressions:
  2x+3  ==  3+2x
  (x-1)(x+1)  ==  x^2-1
  \frac{1}{\sqrt{2}}  ==  \frac{\sqrt{2}}{2}
  \sqrt{8}  ==  2\sqrt{2}
  2\sqrt2  ==  2\sqrt{2}
  \sqrt[3]{8}  ==  2
  2^{1/2}  ==  \sqrt{2}
  \frac{\pi}{4}  ==  \pi/4
  0.5\pi  ==  \frac{\pi}{2}
  \pi r^2  ==  r^2 \pi
  e^{x}  ==  \exp(x)
  \ln(4)  ==  2\ln 2
  \log_2 8  ==  3
  \sin^2 x + \cos^2 x  ==  1
  \frac{x^2-1}{x-1}  ==  x+1
  n(n+1)/2  ==  \frac{n^2+n}{2}
  y = 2x + 1  ==  2x+1
  f(x) = x^2  ==  x^2
  2x + 1  ==  y = 2x+1
  \binom{6}{3}  ==  20
  \lfloor 3.7 \rfloor  ==  3
  1 + \lceil n/2 \rceil  ==  \lceil n/2 \rceil + 1
  3+4i  ==  4i+3
  -\frac{1}{x}  ==  \frac{-1}{x}
  2^{100}  ==  2^{100}
  5^{-2}  ==  \frac{1}{25}
  x=3  ==  3
  3  ==  x=3
  \frac{3\sqrt{3}}{4}  ==  \frac{3}{4}\sqrt{3}
  12+6\sqrt{3}  ==  6(2+\sqrt{3})
  |x-1|  ==  |1-x|
  y - 2 = 3(x-1)  ==  y = 3x - 1
  2x - y + 3 = 0  ==  y = 2x + 3
  np.sqrt(2)  ==  \sqrt{2}
  \sqrt{2}  ==  np.sqrt(2)
  \tan^{-1}(2)  ==  np.arctan(2)
  m*g/2  ==  \frac{mg}{2}
  \dfrac{mg}{2}  ==  m*g/2
  \frac{G M m}{r^{2}}  ==  G*M*m/r**2

words:
  \text{yes}  ==  \text{Yes}
  No  ==  \text{no}
  \text{Wednesday}  ==  Wednesday
  the circle  ==  \text{circle}
  \text{(B)}  ==  B
  (D)  ==  \text{D}
  \textbf{(E)}  ==  E
  \text{neither}  ==  neither
  \text{True}  ==  true

as books write them:
  \mathbb{R}  ==  (-\infty,\infty)
  x \in \mathbb{R}  ==  \mathbb{R}
  \mathbf{R}  ==  \mathbb{R}
  3:4  ==  3 : 4
  \$18.90  ==  18.9
  1\,000\,000  ==  10^6
  0.\overline{3}  ==  \frac{1}{3}
  0.\overline{12}  ==  0.\overline{12}
  0.1\overline{6}  ==  \frac{1}{6}
  \text{undefined}  ==  undefined
  \mathrm{e}^2  ==  e^2
  a_n = 2^n  ==  2^n
  \{x \mid x > 3\}  ==  (3,\infty)
  12\pi \approx 37.7  ==  12\pi
  \sqrt{2} \approx 1.414  ==  \sqrt{2}
  x=1 \text{ or } x=2  ==  1,2
  5!  ==  120
  \dfrac{1}{2}x + 3  ==  \frac{x}{2}+3
  2.0 \times 10^8 \text{ m/s}  ==  2e8
  \frac{1}{3} \ln 2  ==  \ln \sqrt[3]{2}
  1.5\%  ==  0.015
  −\frac{1}{2}  ==  -0.5
  \frac{-1+\sqrt{5}}{2}  ==  \frac{\sqrt{5}-1}{2}
  (2k+1)\pi, k \in \mathbb{Z}  ==  (2k+1)\pi, k \in \mathbb{Z}
  \left(-\infty, \frac{1}{2}\right]  ==  (-\infty,0.5]
  2\sqrt{3}+4  ==  4 + 2\sqrt{3}
  11\text{:}30  ==  11:30
  \text{3:30 p.m.}  ==  3:30 p.m.
  1, 2, \text{ and } 3  ==  1,2,3
  \text{Both A and B}  ==  \text{both A and B}
  16\frac{2}{3}  ==  \frac{50}{3}
  \sin 30^\circ  ==  \frac{1}{2}
  \cos 60°  ==  0.5
  \frac{7}{2} = 3.5  ==  3.5
  3.5 = \frac{7}{2}  ==  \frac{7}{2}
  3x^2y  ==  3yx^2
  \frac{a}{b+c}  ==  a/(b+c)
  x^{-1}  ==  \frac{1}{x}
  \sqrt{x}\sqrt{y}  ==  \sqrt{xy}
  2^{n+1}  ==  2 \cdot 2^n
  \frac{1}{1-x}  ==  -\frac{1}{x-1}
  \begin{pmatrix} 1 \\ -2 \end{pmatrix}  ==  \begin{pmatrix} 1\\-2\end{pmatrix}
  \left\{\frac{1}{2}, 1\right\}  ==  \{1, \frac12\}
  n \geq 5  ==  n\ge 5
  \text{12 cm}  ==  12
  0.50  ==  \frac12
  50 cents  ==  50
  7/10  ==  0.7
  7 \div 10  ==  0.7
  \frac{7}{10}\text{ of the cake}  ==  0.7
  100 \text{ meters per second}  ==  100
  2\text{ hours}  ==  2
  8\text{ a.m.}  ==  8\text{ a.m.}
  72^{\circ}\mathrm{C}  ==  72
  5\ \Omega  ==  5
  1.2\times10^{3}\ \text{J}  ==  1200
  4\cdot 10^{-3}\,\mathrm{kg}  ==  0.004
  x\ge1  ==  [1,\infty)
  3 \leq a  ==  a \geq 3
  -1\leq x\leq 1  ==  |x| \leq 1
  (1,2) \text{ and } (3,4)  ==  (1,2),(3,4)
  \left[\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right]  ==  \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}
  \sqrt{-4}  ==  2i
  \frac{\sqrt{2}}{2} + \frac{\sqrt{2}}{2} i  ==  e^{i\pi/4}
  \cosh x  ==  \frac{e^x+e^{-x}}{2}
  1 + 2 + 3  ==  6
  x^2-5x+6=0  ==  (x-2)(x-3)=0
  \mathrm{Yes}  ==  yes
  \text{Even}  ==  even
  4 \text{ (four)}  ==  4
  \textbf{4}  ==  4
  \boldsymbol{\frac{1}{2}}  ==  0.5
  \underline{4}  ==  4
  \displaystyle \frac{1}{2}  ==  0.5
"""

# An answer and a gold answer that it does not equal.
UNEQUAL = r"""
numbers:
  1235  !=  1234
  12.34  !=  1234
  7  !=  -7
  3.5  !=  3
  0.33  !=  \frac{1}{3}
  \frac{3}{4}  !=  \frac{4}{3}
  1/3  !=  3
  312  !=  3\frac{1}{2}
  42 apples and 7 pears  !=  42
  2^{10}  !=  20
  10^5  !=  105
  907.05  !=  907
  5.04  !=  504
  1600  !=  16
  99.99  !=  100
  3.14  !=  \pi
  22/7  !=  \pi
  2.718  !=  e
  1.414  !=  \sqrt{2}
  42 or 43  !=  42
  x  !=  42
  42x  !=  42
  ?  !=  42
  \infty  !=  42

e-notation:
  1.2e6  !=  1.2e5
  1.2 \times 10^{-5}  !=  1.2e5
  2.88e  !=  2.88
  1.3 \times 10^5  !=  1.2e5
  10^{6}  !=  10^{5}
  2e  !=  2e5

percent:
  25\%  !=  2.5
  2500  !=  25\%
  0.0025  !=  25\%
  25\%  !=  26\%
  9  !=  \frac{9}{100}

base:
  101_2  !=  101_3
  5  !=  101_2
  243_6  !=  243_5
  1010_2  !=  1011_2

sets:
  1,2  !=  1,2,3
  1,2,3  !=  1,2
  1,1,2  !=  1,2,2
  \{1,2\}  !=  \{1,3\}
  2  !=  \pm 2
  \pm 2  !=  2
  3 \text{ and } 5  !=  35
  3,5  !=  3.5
  \emptyset  !=  0

units:
  5 \text{ cm}  !=  6
  5 \text{ cm}  !=  5 x
  5 \times 3 \text{ cm}  !=  5
  60  !=  30^\circ
  25\pi \text{ cm}^2  !=  25
  3 dollars and 50 cents  !=  3

intervals:
  [0,1]  !=  [0,1)
  (0,1)  !=  [0,1]
  0 < x < 1  !=  [0,1)
  x \ge 2  !=  (2,\infty)
  x < 2  !=  (2,\infty)
  (2,3)  !=  (2,\infty)
  (1,0)  !=  (0,1)
  x+y \le 3  !=  y+x < 3
  x+y \le 3  !=  y+x \ge 3
  x+y \le 3  !=  x+y \le -3
  1<x+y<3  !=  1 \le y+x<3
  a<b<c  !=  a<b<d
  x+y \neq 3  !=  x+y = 3
  (-\infty,1)  !=  (-\infty,1)\cup(3,\infty)
  [0,1]  !=  \{0,1\}
  (-\infty,-5]  !=  (-\infty,-5)

tuples:
  (2,1)  !=  (1,2)
  (1,2,3)  !=  (1,2)
  (1,2)  !=  (1,2,3)
  (1,3)  !=  (1,2)
  12  !=  (1,2)
  1  !=  (1,2)
  (2,1),(1,3)  !=  (1,2),(1,3)

matrices:
  \begin{pmatrix}1&2\\3&4\end{pmatrix}  !=  \begin{pmatrix}1&3\\2&4\end{pmatrix}
  \begin{pmatrix}1&2\end{pmatrix}  !=  \begin{pmatrix}1\\2\end{pmatrix}
  \begin{pmatrix}1\\2\end{pmatrix}  !=  \begin{pmatrix}1\\3\end{pmatrix}
  4  !=  \begin{pmatrix}1&2\\3&4\end{pmatrix}

expressions:
  2x+3  !=  3x+2
  x^2+1  !=  x^2-1
  \sqrt{2}  !=  \sqrt{3}
  \frac{1}{x}  !=  x
  x^{12}  !=  x^{21}
  \pi  !=  2\pi
  2\pi r  !=  \pi r^2
  e^{2x}  !=  e^{x}
  \sin x  !=  \cos x
  y=5  !=  x=5
  y = 2x + 1  !=  y = x + 2
  ab  !=  ba^2
  3-4i  !=  3+4i
  |x|  !=  x
  \frac{1}{2004!}  !=  \frac{1}{2006!}
  \ln 2  !=  \log_2 2
  n!  !=  n
  a+b  !=  c+d
  \sqrt{x^2+1}  !=  x+1
  y - 2 = 3(x-1)  !=  y = 3x + 1
  2^{1000}  !=  2^{1001}
  \binom{6}{3}  !=  \binom{6}{2}
  \lceil n/2 \rceil + 1  !=  2
  \lfloor n/2 \rfloor  !=  0
  -\frac{1}{x}  !=  \frac{1}{x}
  \frac{G M m}{r}  !=  G*M*m/r**2

words:
  \text{no}  !=  \text{yes}
  \text{Fri}  !=  \text{Friday}
  Monday  !=  \text{Sunday}
  \text{not a circle}  !=  \text{circle}
  parameter  !=  para
  (C)  !=  \text{(B)}
  A or B  !=  A
  \text{a square and a circle}  !=  \text{circle}
  \text{ellipses and hyperbolas}  !=  \text{ellipse}

as books write them:
  \mathbb{Z}  !=  \mathbb{R}
  3:4  !=  4:3
  0.\overline{3}  !=  0.3
  0.\overline{12}  !=  0.12
  0.1\overline{6}  !=  0.16
  x=1 \text{ or } x=3  !=  1,2
  5!  !=  5
  90^\circ  !=  \frac{\pi}{3}
  0.866  !=  \frac{\sqrt{3}}{2}
  2^{n}  !=  2^{n+1}
  3:30  !=  3:31
  2\text{ hours } 30 \text{ minutes}  !=  2
  16\frac{2}{3}  !=  \frac{32}{3}
  \frac{7}{2} = 3.5  !=  7
  x^2-5x+6=0  !=  x^2-5x-6=0
  \{x \mid x > 3\}  !=  [3,\infty)
  \text{Evening}  !=  even
  \text{uneven}  !=  even
  (2k+1)\pi  !=  2k\pi
  -1 < x < 1  !=  |x| \leq 1
  \sqrt{-4}  !=  2
  11_{8}  !=  9
  1  !=  1,1
  x_1  !=  x_2
  \text{none}  !=  0
  12\pi \approx 37.7  !=  37
  a \text{ or } b  !=  a
  5 < x  !=  x<5
  \frac{1}{2}\text{ or }\frac{1}{3}  !=  \frac12
  10\% \text{ or } 20\%  !=  10\%
  7\text{ of } 10  !=  7.10
  5 \ne x  !=  5
  \text{not } 5  !=  5
  \text{more than } 5  !=  5
  >5  !=  5
  \le 5  !=  5
  \approx 5.1  !=  5
  -(-5)  !=  -5
  \text{less than } 5  !=  5
  5^{2}  !=  52
  5x10  !=  50
  i  !=  1
  f(x)  !=  x
  \sin x  !=  x
  (3)  !=  4
"""


def pairs(block):
    """The lines `answer == gold` (or `!=`) of a block, apart from its headings."""
    return [tuple(re.split("  [=!]=  ", line.strip())) for line in block.splitlines() if "=  " in line]


def correct(answer, gold, rules="robust"):
    return grade(f"So we get\n\n\\boxed{{{answer}}}", gold, rules=rules).correct


@pytest.mark.parametrize(("answer", "gold"), pairs(EQUAL))
def test_equal_answers(answer, gold):
    assert correct(answer, gold)


@pytest.mark.parametrize(("answer", "gold"), pairs(UNEQUAL))
def test_unequal_answers(answer, gold):
    assert not correct(answer, gold)


def test_a_batch_is_graded_as_its_items_are():
    items = [*pairs(EQUAL), *pairs(UNEQUAL)]
    random.Random(0).shuffle(items)
    grades = grade_many([f"\\boxed{{{answer}}}" for answer, _ in items], [gold for _, gold in items])
    assert [item.correct for item in grades] == [item in pairs(EQUAL) for item in items]


@pytest.mark.parametrize("gold", sorted({gold for _, gold in pairs(EQUAL)}))
def test_a_gold_answer_is_its_own_answer(gold):
    assert correct(gold, gold)


# --- the published grader of MathIF -------------------------------------------------------------------------

PUBLISHED = [
    json.loads(line)
    for line in (Path(__file__).parent / "golden" / "mathif_answer_pairs.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case["case"])
def test_published_verdicts(case):
    assert grade(case["response"], case["gold"], rules="mathif").correct == case["official"]


@pytest.mark.parametrize(
    ("response", "gold", "right"),
    [
        ("\\boxed{101_2}", "101_3", True),  # bases are dropped
        ("\\boxed{y=5}", "x=5", True),  # and names
        ("\\boxed{Fri}", "Friday", True),  # and units, wherever they stand
        ("\\boxed{para}", "parameter", True),
        ("\\boxed{3.14}", "\\pi", True),
        ("\\boxed{-2,-1,2}", "-1,2,-2", False),  # order counts
        ("\\boxed{k=3}", "$k=3$", False),
        ("I give up, but note that 60 + 2 = 62", "62", True),
        ("\\boxed{1,234}", "1234", True),
        ("\\boxed{7 3/4}", "7+3/4", True),
        ("\\boxed{x_1+1}", "7", False),
        ("\\boxed{0.5}", "\\frac12", True),
        ("\\boxed{22/7}", "3.1428", True),
        ("<think>so 2 + 3 = 5", "5", True),  # the trace is judged where it never closes
        ("#### 52", "52", False),
        ("", "52", False),
    ],
)
def test_oddities_of_the_published_grader_are_kept(response, gold, right):
    assert grade(response, gold, rules="mathif").correct == right


def test_what_the_published_grader_takes_for_the_answer():
    assert mathif_extract("We get \\boxed{1} or \\boxed{\\frac{1}{2}}.") == "\\frac{1}{2}"
    assert mathif_extract("THE ANSWERS ARE 3. Done. ") == "3"
    assert mathif_extract("no box {") == "no box {"
    assert mathif_extract("\\boxed{7") == "\\boxed{7"
    assert mathif_equal("5", "5.0")


def test_the_published_grader_has_no_letters():
    with pytest.raises(ValueError, match="rules='mathif' has no choices"):
        grade("B", "B", "choice", rules="mathif")


# --- harm ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["robust", "mathif"])
def test_no_text_of_a_model_is_run(tmp_path, rules):
    canary = tmp_path / "canary"
    calls = [
        f"__import__('os').system('touch {canary}')",
        f"open('{canary}','w')",
        f"exec(\"open('{canary}','w')\")",
        f"[open('{canary}','w') for x in (1,)]",
        f"(lambda: open('{canary}','w'))()",
    ]
    forms = ["{}", "x+{}", "1*{}", "\\pi*{}", "[{}, 1]", "\\text{{{}}}", "\\sqrt{{{}}}", "{}-x", "f({})"]
    answers = [form.format(call) for form in forms for call in calls]
    golds = ["x+1", "\\pi", "5", "\\begin{pmatrix}1\\\\2\\end{pmatrix}", answers[0]]
    for gold in golds:
        for response in ("\\boxed{{{}}}", "The answer is {}"):
            texts = [response.format(answer) for answer in answers]
            grades = grade_many(texts, [gold] * len(texts), rules=rules)
            assert gold in answers or not any(item.correct for item in grades)
    assert not canary.exists()


HUGE = [
    "9" * 10_000_000,
    "{" * 10_000_000,
    "\\boxed{" * 1_000_000,
    "\\frac{1}{" * 100_000 + "2" + "}" * 100_000,
    "\\boxed{" + "1," * 2_000_000 + "1}",
    "\\boxed{" + "(" * 900 + "1" + ")" * 900 + "}",
    "\\boxed{" + "\\{" * 300 + "1,2" + "\\}" * 300 + "}",
    "the answer is " + "x+" * 2_000_000,
    "$" * 1_000_000 + "7",
]


@pytest.mark.parametrize("rules", ["robust", "mathif"])
@pytest.mark.parametrize("response", HUGE, ids=range(len(HUGE)))
def test_huge_and_deep_answers_are_wrong_and_no_more(response, rules):
    verdict = grade(response, "x+7", rules=rules)
    assert not verdict.correct
    assert len(verdict.reason) < 400


GROWING = [
    "9**9**9", "9^{9^{9}}", "9^9^9^9", "(9^{99})^{99}", "10^{10^{10}}", "((10!)!)!", "99999!",
    "(x+1)^{99999}", "\\sum_{k=1}^{10^9} k^k", "\\prod_{k} k", "\\int e^{e^x} dx", "\\lim_{x\\to 0} x^x",
    "\\binom{10^9}{10^8}", "1e999999999", "10^{-999999999}", "\\frac{1}{9^{9^9}}", "2^{-2^{2^{2^{2^{2}}}}}",
    "\\sqrt[10^9]{2^{10^9}}", "(((((x^9)^9)^9)^9)^9)^9",
]  # fmt: skip


@pytest.mark.parametrize("rules", ["robust", "mathif"])
def test_growing_expressions_are_wrong_and_no_more(rules):
    responses = [f"\\boxed{{{answer}}}" for answer in GROWING]
    for gold in ("7", "x+7"):
        assert not any(item.correct for item in grade_many(responses, [gold] * len(GROWING), rules=rules))


@pytest.mark.parametrize("answer_type", ANSWER_TYPES)
def test_anything_is_graded(answer_type):
    noise = random.Random(0)
    responses = [
        None,
        "",
        "\x00\x01",
        "\ud800 \\boxed{\udfff}",
        "\\boxed{x+\ud800}",
        *(noise.randbytes(noise.randrange(300)).decode("latin-1") for _ in range(50)),
        *(noise.randbytes(noise.randrange(300)).decode("utf-8", "surrogateescape") for _ in range(50)),
        *(f"\\boxed{{{noise.randbytes(20).decode('latin-1')}}}" for _ in range(100)),
    ]
    gold = {"choice": "B", "label": "yes"}.get(answer_type, "x+7")
    grades = grade_many(responses, [gold] * len(responses), answer_type)
    assert all(item.reason for item in grades)
    assert not any(item.correct for item in grades if answer_type != "choice")  # noise has letters


PIECES = st.sampled_from([
    "\\frac{", "}", "{", "\\boxed{", "answer:", " is ", "\\text{", "\\sqrt", "^", "_", "(", ")", "[", "]",
    ",", "=", "/", "-", "*", "9", "10", ".", "x", "e", "\\pi", "%", "$", "\\pm", ". ", "\n", "million", "{,}",
    "°", "\\\\", "&",
])  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=20).map("".join)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(PIECES | st.text(max_size=3), max_size=20).map("".join), st.sampled_from(["7", "x^2+1", "(1,2)"])
)
def test_the_published_grader_raises_on_nothing(response, gold):
    assert grade(response, gold, rules="mathif").reason
    assert grade("7", response or "1", rules="mathif").reason


def test_what_the_symbolic_engine_cannot_compare_is_the_reason_of_the_grade(monkeypatch):
    from riftk.grading import engine

    def fails(gold: str, candidate: str) -> bool:
        if candidate == "3x":
            return True
        raise TypeError(f"cannot compare {candidate}")

    monkeypatch.setattr(engine, "equivalent", fails)
    assert engine.compare("robust", "x+2x", "3x")
    with pytest.raises(TypeError, match="cannot compare"):
        engine.compare("robust", "x+2x", "4x")
