"""The one error for what a user got wrong, and the words that go into it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnseenError(ValueError):
    """Input that cannot be used: what is wrong, what was expected, what was got, what to do.

    The command prints it as one line and ends with exit code 2; in Python it is a ``ValueError``.
    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known word, or nothing.

    >>> did_you_mean("esszl", ["eszsl", "sae"])
    " Did you mean 'eszsl'?"
    """
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def one_line(error: Exception) -> str:
    r"""Return the message of an error without its line breaks, or its name where it says nothing.

    >>> one_line(ValueError("too\n  long"))
    'too long'
    """
    return " ".join(str(error).split()) or type(error).__name__


def need_extra(package: str, extra: str, purpose: str) -> UnseenError:
    """Return the error for an optional package that is not installed."""
    return UnseenError(
        f"{purpose} needs the package {package}. Install it with: pip install 'unseen[{extra}]'"
    )
