"""Zero-shot and generalized zero-shot learning.

A zero-shot method turns the description of a class into one row of a linear classifier.
Calibration is a bias. Public names are imported when first used, so ``import unseen`` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> the module that holds it
_PUBLIC = {
    "ALE": "unseen.ranking",
    "DeViSE": "unseen.ranking",
    "SJE": "unseen.ranking",
    "SynC": "unseen.sync",
    "LinearVS": "unseen.linear",
    "LinearSV": "unseen.linear",
    "ESZSL": "unseen.eszsl",
    "SAE": "unseen.sae",
    "Moments": "unseen.moments",
    "ZeroShotClassifier": "unseen.base",
    "GZSLClassifierCV": "unseen.selection",
    "SeenUnseenCurve": "unseen.curve",
    "mean_curve": "unseen.curve",
    "CalibratedClassifier": "unseen.calibration",
    "ZeroShotDataset": "unseen.datasets",
    "UnseenError": "unseen.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'unseen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
