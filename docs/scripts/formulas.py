"""Turn the LaTeX of the pages into MathML while they are built: no script, no network, in every browser."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **context: Any) -> str:
    """Replace every formula; called by mkdocs for each page."""
    return _FORMULA.sub(_to_mathml, content)


def _to_mathml(found: re.Match[str]) -> str:
    latex = html.unescape(found[3]).strip()
    if found[2] == "(":
        return convert(latex, display="inline")
    return f'<div style="overflow-x: auto">{convert(latex, display="block")}</div>'  # scrolls on phones
