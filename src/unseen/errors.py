"""The one error for what a user got wrong, and the words that go into it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


class UnseenError(ValueError):
    """Input that cannot be used: what is wrong, what was expected, what was found, what to do.

    The command prints it as one line and exits with code 2; in Python it is a ``ValueError``.
    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known word, or nothing.

    >>> did_you_mean("esszl", ["eszsl", "sae"])
    " Did you mean 'eszsl'?"
    """
    forms = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), forms, n=1)
    return f" Did you mean {forms[near[0]]!r}?" if near else ""


def one_line(error: Exception) -> str:
    r"""Return the message of an error without line breaks, or its type if it has no message.

    >>> one_line(ValueError("too\n  long"))
    'too long'
    """
    return " ".join(str(error).split()) or type(error).__name__


def need_extra(packages: str | Sequence[str], extra: str, purpose: str) -> UnseenError:
    """Return the error for optional packages that are not installed, with a command that installs them.

    Parameters
    ----------
    packages : name of the package, or names
    extra : the extra of this package that they belong to
    purpose : what needs them, as the subject of a sentence
    """
    names = [packages] if isinstance(packages, str) else list(packages)
    what, them = ("package", "it") if len(names) == 1 else ("packages", "them")
    return UnseenError(
        f"{purpose} needs the {what} {' and '.join(names)}. "
        f"Install {them} with: pip install {_requirement(names, extra)}"
    )


def import_extra(module: str, extra: str, purpose: str, package: str | None = None) -> Any:
    """Return a module of an optional package; if it is not installed, the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise need_extra(package or module.partition(".")[0], extra, purpose) from error


def _requirement(names: Sequence[str], extra: str) -> str:
    """Return what pip installs from a clone, or without one: no index is asked for this package itself."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").is_file():
        return " ".join(names)
    place = "." if root == Path.cwd() else root
    return f"-e '{place}[{extra}]'"
