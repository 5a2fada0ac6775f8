"""Read our docstrings as Markdown: they carry a few reStructuredText marks that scikit-learn readers know."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_BARE_EXAMPLE = re.compile(r"(?<=\n\n)(?=>>> )")  # a first example without a heading
_MARKS = (
    (re.compile(r"^( *)\.\. math::\s*(\S.*(?:\n\1 +\S.*)*)", re.MULTILINE), r"\1\n\1$$\2$$\n"),
    (re.compile(r":math:`([^`]+)`"), r"$\1$"),
    (re.compile(r":(?:class|func|meth|mod):`~?([^`]+)`"), r"`\1`"),
    (re.compile(r"``([^`]+)``"), r"`\1`"),
)


class MarkdownDocstrings(Extension):
    """Rewrites the docstring of every object that is documented."""

    def on_instance(self, *, obj: Object, **context: Any) -> None:
        """Change the text of one object's docstring, if it has one."""
        if obj.docstring:
            text = obj.docstring.value
            if not re.search(r"^Examples\n-+$", text, re.MULTILINE):
                text = _BARE_EXAMPLE.sub("Examples\n--------\n", text, count=1)
            for pattern, replacement in _MARKS:
                text = pattern.sub(replacement, text)
            obj.docstring.value = text
