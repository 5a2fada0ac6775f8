"""The embedded data: capital letters in free typefaces, each described by the segments of a display."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen._core.blocks import IndexArray
from unseen._core.npz import npz_names, read_npz
from unseen.datasets.dataset import ClassFolds, ZeroShotDataset
from unseen.datasets.own import assemble

# The sixteen segments of the display and where they are, in the order of the descriptions.
SEGMENTS = {
    "a1": "top left",
    "a2": "top right",
    "b": "upper right",
    "c": "lower right",
    "d1": "bottom left",
    "d2": "bottom right",
    "e": "lower left",
    "f": "upper left",
    "g1": "middle left",
    "g2": "middle right",
    "h": "upper left diagonal",
    "i": "upper middle",
    "j": "upper right diagonal",
    "k": "lower left diagonal",
    "l": "lower middle",
    "m": "lower right diagonal",
}
LETTERS_FILE = Path(__file__).parent / "data" / "letters.npz"
# A fold holds out five of twenty seen letters, about the share of six unseen letters of 26.
N_FOLDS = 4


def load_letters() -> ZeroShotDataset:
    """Return 3276 capital letters of 16 x 16 pixels with 26 x 16 prototypes; six letters are unseen.

    Every letter is drawn in 126 free typefaces, one per family. Its description says which segments of a
    sixteen-segment display it lights up. The unseen letters B, F, H, L, N and Z follow from the descriptions
    alone: of all choices of six, their mean description is nearest to that of the alphabet. Typefaces that
    belong together form a group, which is either in seen train or in seen test. ``docs/scripts/letters.py``
    makes the file and lists the typefaces and their licenses.

    Returns
    -------
    ZeroShotDataset
        Features are grays from 0 (paper) to 1 (ink) in float32; ``sample_names`` are a letter and its
        typeface. Each of four validation folds holds out every fourth seen letter.

    Examples
    --------
    >>> letters = load_letters()
    >>> letters.X.shape, letters.attribute_names[0], str(letters.sample_names[0])
    ((3276, 256), 'top left', 'A Abyssinica SIL')
    """
    content = read_npz(LETTERS_FILE, npz_names(LETTERS_FILE))
    names, y = content["class_names"], content["y"]
    unseen = np.isin(names, content["unseen_classes"])
    faces = content["face_names"][content["faces"]]
    content |= {
        "X": content["X"].astype(np.float32) / 255,
        "attribute_names": np.array(list(SEGMENTS.values())),
        "test_unseen": np.flatnonzero(unseen[y]),
        "files": np.array([f"{name} {face}" for name, face in zip(names[y], faces)]),
    }
    return assemble("letters", content, class_folds=deal_folds(np.flatnonzero(~unseen)))


def deal_folds(seen: IndexArray) -> ClassFolds:
    """Return (train classes, validation classes) for each fold; the seen classes go to the folds in turn."""
    held_out = [seen[start::N_FOLDS] for start in range(N_FOLDS)]
    return tuple((np.setdiff1d(seen, classes), classes) for classes in held_out)
