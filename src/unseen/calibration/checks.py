"""What looks wrong with a set of scores, one line each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unseen.calibration.maxima import ScoreMaxima
from unseen.calibration.scores import Scores

_WINS = 0.95  # share of all samples that makes one predicted class suspicious
_SIDE_SCALE = 100  # times the size of the other side
_SUM = 1e-3  # by which probabilities in half precision may miss their sum of 1


def find_warnings(scores: Scores, maxima: ScoreMaxima) -> list[str]:
    """Return what a person should look at: absent classes, one winner, another scale, probabilities."""
    strange = _one_winner(scores, maxima) or _other_side(scores) or _probabilities(scores)
    return [warning for warning in (_absent(scores), strange) if warning]


def absent_classes(scores: Scores) -> list[str]:
    """Return the names of the classes without samples."""
    if scores.y is None:
        return []
    count = np.bincount(scores.y, minlength=len(scores.seen))
    return [scores.name(column) for column in np.flatnonzero(count == 0).tolist()]


def _absent(scores: Scores) -> str | None:
    names = absent_classes(scores)
    if not names:
        return None
    verb = "has no sample and is" if len(names) == 1 else "have no sample and are"
    return f"{len(names)} of {len(scores.seen)} classes {verb} ignored in the averages: {_shown(names)}"


def _one_winner(scores: Scores, maxima: ScoreMaxima) -> str | None:
    """Warn of a class that is predicted for nearly every sample although most belong to others."""
    predicted = maxima.predict()
    winner = int(np.bincount(predicted[predicted >= 0], minlength=1).argmax())
    share = float((predicted == winner).mean())
    true_share = 0.0 if scores.y is None else float((scores.y == winner).mean())
    if share < _WINS or true_share > 0.5:
        return None
    count = "every sample" if share == 1 else "nearly every sample"
    return (
        f"class {scores.name(winner)} has the highest score for {count}. Check that its column holds scores."
    )


def _other_side(scores: Scores) -> str | None:
    """Warn if seen and unseen classes seem to come from different kinds of scores."""
    size = np.where(np.isfinite(scores.scores), np.abs(scores.scores), 0).max(axis=0)  # (classes,)
    seen, unseen = (float(size[side].max(initial=0.0)) for side in (scores.seen, ~scores.seen))
    if not (seen and unseen) or max(seen / unseen, unseen / seen) < _SIDE_SCALE:
        return None
    return (
        f"the scores of seen classes reach {seen:.3g}, those of unseen classes {unseen:.3g}. Calibration "
        "subtracts one number and cannot correct another scale: standardize each side first."
    )


def _probabilities(scores: Scores) -> str | None:
    """Point out rows that are probabilities: near 1 they leave no room for a difference."""
    table = scores.scores
    if not np.isfinite(table).all() or table.min() < 0 or np.abs(table.sum(axis=1) - 1).max() > _SUM:
        return None
    return (
        "the scores of every sample sum to 1, so they are probabilities. Their logarithms calibrate better: "
        "save numpy.log(scores)."
    )


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
