"""How certain a comparison is: the classes of the test set are resampled, in the same way for all methods.

The test set has some classes; another one would have others. A bootstrap over classes shows how much the
scores depend on that. It is paired: a replicate draws the same classes for every method, so the difference
of two methods is known better than either score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unseen._core.blocks import FloatArray, row_blocks
from unseen.benchmark.results import STEPS, RunResult, Score
from unseen.metrics import harmonic_mean, percentile_interval

Interval = tuple[float, float]
SCORE_NAMES: tuple[Score, ...] = ("zsl", *STEPS)

N_REPLICATES = 1000
_AT_ONCE = 2**22  # replicates x classes in memory at a time


@dataclass(frozen=True, eq=False)
class Replicates:
    """The scores of every method on resampled classes, in percent; means over the method's runs."""

    draws: Mapping[tuple[str, Score], FloatArray]  # (replicates,) each

    def interval(self, method: str, score: Score) -> Interval | None:
        """Return the 95 % interval of a score, or None if it is not known by class."""
        draws = self.draws.get((method, score))
        return None if draws is None else percentile_interval(draws)

    def ties(self, best: str, score: Score = "calibrated+lambda") -> list[str]:
        """Return the methods not distinguishable from the best: the interval of the difference holds 0."""
        others = [method for method, found in self.draws if found == score and method != best]
        return [
            m for m in others if percentile_interval(self.draws[best, score] - self.draws[m, score])[0] <= 0
        ]


def resample_classes(
    runs: Mapping[str, Sequence[RunResult]], unseen: Sequence[int], n_replicates: int = N_REPLICATES
) -> Replicates:
    """Draw seen and unseen test classes with replacement and compute every score on each draw.

    Parameters
    ----------
    runs : mapping of str to sequence of RunResult
        The runs of each method.
    unseen : sequence of int
        0 or 1 per class.
    n_replicates : int
    """
    tables = {
        (method, score): np.array([_class_accuracies(run)[score] for run in results], dtype=np.float64)
        for method, results in runs.items()
        for score in SCORE_NAMES
    }  # (runs, classes) each, NaN for a class without samples
    tested = ~np.isnan(tables[next(iter(runs)), "calibrated+lambda"][0])
    is_unseen = np.asarray(unseen, dtype=bool)
    of_unseen, of_seen = np.flatnonzero(tested & is_unseen), np.flatnonzero(tested & ~is_unseen)
    draws: dict[tuple[str, Score], list[FloatArray]] = {key: [] for key in tables}
    rng = np.random.default_rng(0)
    for block in row_blocks(n_replicates, max(1, _AT_ONCE // max(1, len(unseen)))):
        n = block.stop - block.start
        w_unseen, w_seen = _weights(rng, n, len(of_unseen)), _weights(rng, n, len(of_seen))
        for (method, score), table in tables.items():
            U = table[:, of_unseen] @ w_unseen.T  # (runs, replicates)
            values = U if score == "zsl" else harmonic_mean(U, table[:, of_seen] @ w_seen.T)
            draws[method, score].append(np.mean(values, axis=0))
    return Replicates({key: np.concatenate(parts) for key, parts in draws.items()})


def _class_accuracies(run: RunResult) -> dict[Score, list[float | None]]:
    """Return the accuracy of each class by score, None for a class without samples."""
    return run["by_class"] | {"calibrated+lambda": run["classes"]["accuracy"]}


def _weights(rng: np.random.Generator, n_replicates: int, n_classes: int) -> FloatArray:
    """Return how often each class is drawn, as a share, (replicates, classes)."""
    drawn = rng.multinomial(n_classes, np.full(n_classes, 1 / n_classes), size=n_replicates)
    return np.asarray(drawn / n_classes)
