"""What gamma is chosen for: the harmonic mean, or what a deployment needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.errors import UnseenError

ROUNDING = 1e-11  # accuracies (percent) that differ by less are the same number, rounded differently


@dataclass(frozen=True)
class OperatingPoint:
    """One choice of gamma and its accuracies in percent; every gamma inside ``interval`` gives the same."""

    gamma: float
    interval: tuple[float, float]
    unseen: float
    seen: float
    h: float


@dataclass(frozen=True)
class Goal:
    """What to maximize: the harmonic mean by default, or the one goal that is given.

    Parameters
    ----------
    min_seen : float, optional
        Maximize the accuracy on unseen samples while the accuracy on seen ones is at least this (percent).
    min_unseen : float, optional
        The reverse.
    unseen_share : float, optional
        Maximize the expected accuracy when this share (0 to 1) of future samples is unseen.
    """

    min_seen: float | None = None
    min_unseen: float | None = None
    unseen_share: float | None = None

    def __post_init__(self) -> None:
        given = [f"{name}={value}" for name, value in vars(self).items() if value is not None]
        if len(given) > 1:
            raise UnseenError(f"Got {' and '.join(given)}, but expected one goal. Pass one of them.")
        for name, top in (("min_seen", 100), ("min_unseen", 100), ("unseen_share", 1)):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= top:
                raise UnseenError(f"Got {name}={value}, but expected a number from 0 to {top}.")

    def value(self, unseen: FloatArray, seen: FloatArray, h: FloatArray) -> FloatArray:
        """Return what to maximize, for accuracies in percent."""
        if self.min_seen is not None:
            return _gain_if_kept(self.min_seen, kept=seen, gained=unseen)
        if self.min_unseen is not None:
            return _gain_if_kept(self.min_unseen, kept=unseen, gained=seen)
        if self.unseen_share is not None:
            # E = p U + (1 - p) S
            return self.unseen_share * unseen + (1 - self.unseen_share) * seen
        return h

    def check(self, point: OperatingPoint) -> OperatingPoint:
        """Return the point if it meets the goal's condition; refuse it otherwise."""
        for kind, bound, got in (
            ("seen", self.min_seen, point.seen),
            ("unseen", self.min_unseen, point.unseen),
        ):
            if bound is not None and got < bound - ROUNDING:
                raise UnseenError(
                    f"No gamma gives min_{kind}={bound:g}: the highest accuracy on {kind} samples is "
                    f"{got:.1f} %. Ask for less."
                )
        return point


def _gain_if_kept(bound: float, *, kept: FloatArray, gained: FloatArray) -> FloatArray:
    """Return ``gained`` where ``kept`` is at least ``bound``; all else ranks below, by ``kept``."""
    return np.where(kept >= bound - ROUNDING, gained, kept - 200)
