"""`report.html`: one file with everything in it, that asks for nothing from anywhere.

The report is `report.md` itself, rendered; its pictures stand in it as SVG, and in the place of its examples
is a viewer of all traces. Whatever a model wrote reaches the page as escaped text or as JSON in a data block,
and the page's content security policy lets no script run but the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

FOLDED = 14  # rows of a table from which on its section starts folded
_INTERVAL = re.compile(r"\[[+\-]?\d[\d.]*, [+\-]?\d[\d.]*\]")
# Colours of the pictures, which follow the page's own, in the light and in the dark.
_COLOURS = {
    "#ffffff": "var(--paper)",
    "#000000": "var(--ink)",
    "#666666": "var(--muted)",
    "#dddddd": "var(--rule)",
    "#cccccc": "var(--rule)",
    "#0072b2": "var(--one)",
    "#d55e00": "var(--two)",
}


@dataclass(frozen=True)
class Section:
    """A heading of the report and what stands under it, as HTML."""

    id: str
    title: str
    body: str
    folded: bool


def render_page(title: str, markdown: str, pictures: Mapping[str, str], traces: Mapping[str, Any]) -> str:
    """The page.

    Args:
        title: of the browser's window.
        markdown: content of `report.md`.
        pictures: SVG by the name that the Markdown shows it under.
        traces: what `riftk.report.traces.collect_traces` returns.
    """
    from jinja2 import Environment
    from markupsafe import Markup

    folder = files("riftk.report") / "templates"
    template, style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.html.jinja", "page.css", "page.js")
    )
    opening, sections = _sections(markdown, pictures)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    index = traces["index"]
    return environment.from_string(template).render(
        title=title,
        style=Markup(style),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
        opening=Markup(opening),
        sections=[{**vars(one), "body": Markup(one.body)} for one in sections],
        index=Markup(inert_json(index)),
        parts=[Markup(inert_json(part)) for part in traces["parts"]],
        shown=len(index["samples"]),
        left_out=index["left_out"],
    )


def inert_json(value: Any) -> str:
    """JSON that no HTML parser finds a tag, a comment or an entity in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def inline_svg(svg: str, label: str) -> str:
    """A picture of `riftk.report.figures.save` as part of a page: named for screen readers, as wide as its
    place, in the page's colours."""
    from markupsafe import escape

    body = svg[svg.index("<svg") :]
    view = re.search(r'viewBox="[^"]*"', body)
    width = re.search(r'width="([\d.]+)pt"', body)
    body = re.sub(r"<metadata>.*?</metadata>", "", body[body.index(">") + 1 :], flags=re.DOTALL)
    for colour, variable in _COLOURS.items():
        body = re.sub(rf"(fill|stroke): {colour}", rf"\1: {variable}", body)
    name = escape(label)
    return (
        f'<figure><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" aria-label="{name}" {view[0]} style="max-width: {width[1]}pt">{body}</figure>'
    )


def _sections(markdown: str, pictures: Mapping[str, str]) -> tuple[str, list[Section]]:
    """What stands before the first heading below the title, and the sections, without the examples."""
    parser = _parser(pictures)
    tokens = parser.parse(markdown)
    starts = [
        place for place, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"
    ]
    opening = _html(parser, tokens[: starts[0] if starts else len(tokens)])
    sections = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(tokens)], strict=True)):
        heading, body = tokens[start + 1], tokens[start + 3 : end]
        title = "".join(child.content for child in heading.children or ())
        if not title.startswith("Examples"):
            folded = _longest_table(body) > FOLDED
            sections.append(Section(f"section-{number + 1}", title, _html(parser, body), folded))
    return opening, sections


def _longest_table(tokens: Sequence[Any]) -> int:
    """Its rows, the header's too."""
    rows = [0]
    for token in tokens:
        if token.type == "table_open":
            rows.append(0)
        rows[-1] += token.type == "tr_open"
    return max(rows)


def _html(parser: Any, tokens: Sequence[Any]) -> str:
    return parser.renderer.render(tokens, parser.options, {})


def _parser(pictures: Mapping[str, str]) -> Any:
    """A CommonMark parser that lets no HTML through, shows only the report's own pictures, and sets
    intervals apart."""
    from markdown_it import MarkdownIt
    from markupsafe import escape

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")

    def image(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        svg, label = pictures.get(tokens[place].attrs["src"]), tokens[place].content
        return inline_svg(svg, label) if svg else str(escape(label))

    def text(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        said = str(escape(tokens[place].content)).replace(" %", "\N{NO-BREAK SPACE}%")
        return _INTERVAL.sub(r'<span class="ci">\g<0></span>', said)

    def table_open(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        return '<div class="table" tabindex="0" role="region" aria-label="Table"><table>'

    parser.add_render_rule("image", image)
    parser.add_render_rule("text", text)
    parser.add_render_rule("table_open", table_open)
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    return parser
