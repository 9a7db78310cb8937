"""Extension of griffe: the examples of docstrings (`>>> …`) are shown as code, not as quotations."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*\n(?:.+\n?)*", re.MULTILINE)


class Doctests(Extension):
    """Puts a fence around each run of lines that begins with `>>>`."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            fenced = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value)
            obj.docstring.value = fenced
