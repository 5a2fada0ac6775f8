"""Read our docstrings as Markdown: they carry a few reStructuredText marks that scikit-learn readers know."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_MARKS = (
    (re.compile(r"^( *)\.\. math:: *(.+(?:\n\1 +\S.*)*)", re.MULTILINE), r"\1\n\1$$\2$$\n"),
    (re.compile(r":math:`([^`]+)`"), r"$\1$"),
    (re.compile(r":(?:class|func|meth|mod):`~?([^`]+)`"), r"`\1`"),
    (re.compile(r"``([^`]+)``"), r"`\1`"),
)


class MarkdownDocstrings(Extension):
    """Rewrites the docstring of every object that is documented."""

    def on_instance(self, *, obj: Object, **context: Any) -> None:
        """Change the text of one object's docstring, if it has one."""
        if obj.docstring:
            for pattern, replacement in _MARKS:
                obj.docstring.value = pattern.sub(replacement, obj.docstring.value)
