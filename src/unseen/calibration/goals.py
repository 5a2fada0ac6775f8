"""What gamma is chosen for: the harmonic mean, or what a deployment needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.errors import UnseenError

SAME_ACCURACY = 1e-11  # accuracies (percent) that differ by less are the same number, rounded differently


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
    """What to maximize: the harmonic mean by default, or the one goal that is given, in percent.

    Parameters
    ----------
    min_seen : float, optional
        Maximize the accuracy on unseen samples while the accuracy on seen ones is at least this.
    min_unseen : float, optional
        The reverse.
    unseen_share : float, optional
        Maximize the expected accuracy when this percentage of future samples is unseen.
    """

    min_seen: float | None = None
    min_unseen: float | None = None
    unseen_share: float | None = None

    def __post_init__(self) -> None:
        given = [f"{name}={value}" for name, value in vars(self).items() if value is not None]
        if len(given) > 1:
            raise UnseenError(f"Got {' and '.join(given)}, but expected one goal. Pass one of them.")
        for name, value in vars(self).items():
            if value is not None and (not 0 <= value <= 100 or 0 < value <= 1):
                hint = f" Pass {name}={100 * value:g} for {100 * value:g} %." if 0 < value <= 1 else ""
                raise UnseenError(f"Got {name}={value}, but expected percent, from 0 to 100.{hint}")

    def value(self, unseen: FloatArray, seen: FloatArray, h: FloatArray) -> FloatArray:
        """Return what to maximize, for accuracies in percent."""
        if self.min_seen is not None:
            return _gain_if_kept(self.min_seen, kept=seen, gained=unseen)
        if self.min_unseen is not None:
            return _gain_if_kept(self.min_unseen, kept=unseen, gained=seen)
        if self.unseen_share is not None:
            p = self.unseen_share / 100
            # E = p U + (1 - p) S
            return p * unseen + (1 - p) * seen
        return h

    def check(self, point: OperatingPoint) -> OperatingPoint:
        """Return the point if it meets the goal's condition; reject it otherwise."""
        conditions = ("seen", self.min_seen, point.seen), ("unseen", self.min_unseen, point.unseen)
        for kind, bound, got in conditions:
            if bound is not None and got < bound - SAME_ACCURACY:
                highest = f"the highest accuracy on {kind} samples is {got:.1f} %"
                raise UnseenError(f"No gamma gives min_{kind}={bound:g}: {highest}. Lower the threshold.")
        return point


def _gain_if_kept(bound: float, *, kept: FloatArray, gained: FloatArray) -> FloatArray:
    """Return ``gained`` if ``kept`` is at least ``bound``; all else ranks below, by ``kept``."""
    return np.where(kept >= bound - SAME_ACCURACY, gained, kept - 200)
