"""The classifier in a model file: all that prediction needs, without the method that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import MANY_CLASSES, BoolArray, FloatArray
from unseen._core.labels import LabelArray
from unseen._core.rows import as_rows
from unseen._core.scaling import SCALINGS
from unseen._core.scoring import LinearClassifier
from unseen.calibration.prediction import RATES, Prediction, Thresholds
from unseen.datasets.dataset import as_features
from unseen.errors import expect
from unseen.methods import METHODS
from unseen.models.files import State, fitted_attributes, number_arrays, read_file

if TYPE_CHECKING:
    from unseen.models.io import Model


@dataclass(frozen=True, eq=False)
class Predictor(Prediction):
    """Predicts as the GZSLClassifierCV in the file does; it cannot explain, learn or take further classes."""

    linear: LinearClassifier  # with gamma in the intercepts
    classes_: LabelArray  # (classes,)
    seen_: BoolArray  # (classes,)
    temperature_: float
    thresholds: Thresholds
    facts: dict[str, Any]
    feature_names_in_: NDArray[Any] | None

    @property
    def coef_(self) -> FloatArray:
        """Rows of the linear classifier, (n_classes, n_features)."""
        return self.linear.coef

    def _thresholds(self) -> Thresholds:
        return self.thresholds

    def linear_classifier(self) -> LinearClassifier:
        """Return what scores samples."""
        return self.linear


def load_predictor(path: str | PathLike[str]) -> Model | Predictor:
    """Return what predicts as the model in a file does, sooner than ``load_model``.

    A file without a calibration, or with so many classes that their scores are computed in a subspace of the
    features, gives the whole model; so does one that leaves a default to the method.
    """
    with read_file(path) as (state, tensors):
        method = state["model"]
        if "selection" in state and method["method"] in METHODS and "normalize" in method["params"]:
            fitted = fitted_attributes(method, tensors)
            if len(fitted["classes_"]) <= MANY_CLASSES:
                return _restore(state, fitted)

    from unseen.models.io import load_model

    return load_model(path)


def facts_of(model: Any) -> dict[str, Any]:
    """Return what a model was made of, such as ``data`` and ``encoder``, as far as it is known."""
    return getattr(getattr(model, "held_out_", model), "facts", {})


def _restore(state: State, fitted: Mapping[str, Any]) -> Predictor:
    chosen, held_out = state["selection"], state["held_out"]
    normalize, temperature = state["model"]["params"]["normalize"], float(chosen["temperature_"])
    expect("normalize", normalize, normalize in SCALINGS, "a scaling of samples")
    expect("temperature_", temperature, 0 < temperature < np.inf, "a finite number above 0")
    intercept = fitted["intercept_"] - float(chosen["gamma_"]) * fitted["seen_"]
    return Predictor(
        LinearClassifier(fitted["coef_"], intercept, normalize, lambda X: as_features(as_rows(X))),
        fitted["classes_"],
        fitted["seen_"],
        temperature,
        Thresholds(
            number_arrays(held_out["rejection"], len(RATES), "thresholds")[0],
            dict(zip(("seen", "unseen"), number_arrays(held_out["sets"], len(RATES), "seen", "unseen"))),
        ),
        dict(held_out["facts"]),
        fitted.get("feature_names_in_"),
    )
