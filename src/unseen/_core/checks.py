"""Numbered checks: what may be wrong with data or a model, what it means, and what to do about it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Self

from unseen._core.labels import shortened
from unseen.errors import UnseenError, did_you_mean

# code -> severity and title; docs/checks.md has a section for each
TITLES = {
    "U001": ("warning", "Equal descriptions"),
    "U002": ("note", "Nearly equal descriptions"),
    "U003": ("warning", "Constant attribute"),
    "U004": ("note", "Attribute that cannot be read from the features"),
    "U005": ("warning", "All-zero description"),
    "U006": ("warning", "Features on different scales"),
    "U007": ("warning", "Few seen classes"),
    "U008": ("note", "Class with one sample"),
    "U009": ("warning", "Known classes lost to calibration"),
    "U010": ("warning", "Not better than chance"),
    "U011": ("warning", "Not better than cosine"),
    "U012": ("warning", "Attributes on different scales"),
}


@dataclass(frozen=True)
class Check:
    """One diagnosis.

    Examples
    --------
    >>> print(Check.of("U005", "Class 'owl' has a description of zeros.", "Fill it in.", ["owl"]))
    U005 All-zero description: Class 'owl' has a description of zeros. Fill it in.
    """

    code: str
    """U001 and so on, or the code of a check of your own."""
    severity: str
    """``"warning"``: results suffer; ``"note"``: good to know."""
    title: str
    message: str
    """What it means here, in one sentence."""
    advice: str
    """What to do."""
    subjects: tuple[str, ...] = ()
    """The classes, attributes or features concerned."""

    @classmethod
    def of(cls, code: str, message: str, advice: str, subjects: Iterable[object] = ()) -> Self:
        """Return a check of this package, with its severity and title."""
        return cls(code, *TITLES[code], message, advice, tuple(map(str, subjects)))

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return a check from JSON values."""
        return cls(**{**values, "subjects": tuple(values.get("subjects", ()))})

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**asdict(self), "subjects": list(self.subjects)}

    def __str__(self) -> str:
        return f"{self.code} {self.title}: {self.message} {self.advice}".rstrip()


def select(checks: Iterable[Check], ignore: Iterable[str] = ()) -> list[Check]:
    """Return the checks in the order of their codes, without those to ignore.

    >>> select([], ignore=["U03"])
    Traceback (most recent call last):
    unseen.errors.UnseenError: There is no check 'U03', expected a code such as U001. Did you mean 'U003'?
    """
    found, ignored = list(checks), set(ignore)
    unknown = sorted(ignored - set(TITLES) - {check.code for check in found})
    if unknown:
        hint = did_you_mean(unknown[0], TITLES)
        raise UnseenError(f"There is no check {unknown[0]!r}, expected a code such as U001.{hint}")
    return sorted((check for check in found if check.code not in ignored), key=lambda check: check.code)


def in_lines(checks: Sequence[Check], most: int = 5) -> list[str]:
    """Return one line per check in the order of ``select``, at most ``most`` of the same code.

    A further line counts the others.

    >>> in_lines([Check("X1", "note", "Odd", f"{n}.", "") for n in range(3)], most=1)
    ['X1 Odd: 0.', 'X1 Odd: 2 more.']
    """
    lines: list[str] = []
    for code, group in groupby(checks, key=lambda check: check.code):
        same = list(group)
        lines += map(str, same[:most])
        if len(same) > most:
            lines.append(f"{code} {same[0].title}: {len(same) - most} more.")
    return lines


def warn_about(checks: Iterable[Check], stacklevel: int = 1) -> None:
    """Issue a warning for each check whose severity is ``"warning"``; ``stacklevel`` 1 is the caller."""
    for line in in_lines([check for check in checks if check.severity == "warning"]):
        warnings.warn(line, UserWarning, stacklevel=stacklevel + 1)


def list_names(names: Iterable[object]) -> str:
    """Return names in quotes, the first five of many.

    >>> list_names(["owl", "jay"])
    "'owl', 'jay'"
    """
    return shortened([repr(str(name)) for name in names], 5)


# ---- a fitted model ------------------------------------------------------------------------------------


def model_checks(
    *,
    lost: Sequence[object] = (),
    unseen: Sequence[float] | None = None,
    chance: float | None = None,
    H: float | None = None,
    cosine_H: float | None = None,
) -> list[Check]:
    """Return what the held-out results of a fitted model say about it.

    Parameters
    ----------
    lost : sequence of class labels
        Seen classes that keep less than half of the accuracy that they have without calibration.
    unseen : (value, low, high), optional
        Expected accuracy of unseen classes in percent, with its interval.
    chance : float, optional
        Accuracy of guessing, in percent.
    H, cosine_H : float, optional
        Harmonic mean on held-out classes of the model, and of comparing embeddings directly.

    Examples
    --------
    >>> [check.code for check in model_checks(lost=["D"], unseen=(12.0, 3.0, 20.0), chance=5.0)]
    ['U009', 'U010']
    """
    found = []
    if lost:
        what = "1 seen class keeps" if len(lost) == 1 else f"{len(lost)} seen classes keep"
        message = f"{what} less than half of the accuracy without calibration ({list_names(lost)})."
        found.append(Check.of("U009", message, "Protect them with --min-seen PERCENT.", lost))
    if unseen is not None and chance is not None and unseen[1] <= chance:
        value, low, high = unseen
        expected = f"Unseen classes are expected at {value:.1f} % ({low:.1f} to {high:.1f})"
        message = f"{expected}, which cannot be distinguished from guessing ({chance:.1f} %)."
        advice = "Use more seen classes, or features and descriptions that have more in common (see U004)."
        found.append(Check.of("U010", message, advice))
    if H is not None and cosine_H is not None and cosine_H >= H:
        message = f"H on held-out classes is {H:.1f}, and {cosine_H:.1f} for the cosine with the prototypes."
        advice = "Use --method cosine, which compares samples with prototypes directly."
        found.append(Check.of("U011", message, advice))
    return found
