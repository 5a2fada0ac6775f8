"""The one error for what a user got wrong, and the words that go into it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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


def expect(name: str, value: object, valid: object, expected: str) -> None:
    """Reject a value that is not valid.

    >>> expect("top", 0, 0 > 0, "at least 1")
    Traceback (most recent call last):
    unseen.errors.UnseenError: Got top=0, but expected at least 1.
    """
    if not valid:
        raise UnseenError(f"Got {name}={value!r}, but expected {expected}.")


def one_line(error: Exception) -> str:
    r"""Return the message of an error without line breaks, with its type if the message alone says little.

    >>> one_line(ValueError("too\n  long")), one_line(KeyError("size"))
    ('too long', "KeyError: 'size'")
    """
    words, kind = " ".join(str(error).split()), type(error).__name__
    return f"{kind}: {words}" if isinstance(error, KeyError) else words or kind


@contextmanager
def rephrase_errors(problem: str, advice: str = "") -> Iterator[None]:
    """Turn whatever a library raises, such as on a damaged file, into an ``UnseenError`` in one line.

    It says the problem, in parentheses what the library said, and what to do. Lack of memory is another
    problem, and errors that are ours say enough.

    >>> with rephrase_errors("a.json is not a JSON file", "Write it again."):
    ...     raise KeyError("size")
    Traceback (most recent call last):
    unseen.errors.UnseenError: a.json is not a JSON file (KeyError: 'size'). Write it again.
    """
    try:
        yield
    except (MemoryError, UnseenError):
        raise
    except Exception as error:  # libraries have one class of errors for every kind of damage
        raise UnseenError(f"{problem} ({one_line(error)}). {advice}".rstrip()) from error


def need_extra(package: str, extra: str, purpose: str) -> UnseenError:
    """Return the error for an optional package that is not installed, with a command that installs it.

    Parameters
    ----------
    package : name of the package
    extra : the extra of this package that it belongs to
    purpose : what needs it, as the subject of a sentence
    """
    root = Path(__file__).resolve().parents[2]
    needed = package
    if (root / "pyproject.toml").is_file():  # a clone; no index is asked for this package itself
        needed = f"-e '{'.' if root == Path.cwd() else root}[{extra}]'"
    return UnseenError(f"{purpose} needs the package {package}. Install it with: pip install {needed}")


def import_extra(module: str, extra: str, purpose: str, package: str | None = None) -> Any:
    """Return a module of an optional package; if it is not installed, the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise need_extra(package or module.partition(".")[0], extra, purpose) from error
