"""The embedded data: handwritten digits, each described by the segments of a seven-segment display."""

from __future__ import annotations

import numpy as np

from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.own import assemble

# Which segments light up; a is the top bar, then clockwise to f, g is the middle bar.
LIT = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
DISPLAY = dict(zip("0123456789", LIT))
PLACES = ("top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle")
BARS = dict(zip("abcdefg", PLACES))
# The choice follows from the descriptions alone: those of the seen classes have full rank, and those of the
# unseen classes differ from each other in at least three segments. Only 3, 4, 6 and 0, 1, 5 do both.
UNSEEN_DIGITS = (3, 4, 6)
# Seven folds over the seven seen digits: as many validation classes as there are unseen classes, and every
# pair of digits is held out together exactly once (the lines of the Fano plane).
LINES = tuple((k, (k + 1) % 7, (k + 3) % 7) for k in range(7))


def load_digits() -> ZeroShotDataset:
    """Return 1797 digits of 8 x 8 pixels with 10 x 7 prototypes; 3, 4 and 6 are unseen."""
    from sklearn import datasets

    X, y = datasets.load_digits(return_X_y=True)
    unseen = np.isin(y, UNSEEN_DIGITS)
    content = {
        "X": X,
        "y": y,
        "prototypes": np.array([[letter in lit for letter in BARS] for lit in LIT]),
        "attribute_names": np.array(list(BARS.values())),
        "test_unseen": np.flatnonzero(unseen),
    }
    seen = np.unique(y[~unseen])
    folds = tuple((np.delete(seen, line), seen[sorted(line)]) for line in LINES)
    return assemble("digits", content, class_folds=folds)
