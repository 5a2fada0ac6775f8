"""Save and load fitted models with everything that was learned; a file cannot name code to run."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unseen._core.labels import KINDS
from unseen.base import ZeroShotClassifier
from unseen.calibration.curve import SeenUnseenCurve
from unseen.calibration.prediction import RATES
from unseen.errors import UnseenError
from unseen.methods import METHODS, find_method
from unseen.metrics import BINS, Reliability
from unseen.models.files import (
    State,
    Tensors,
    fitted_attributes,
    is_fitted_name,
    number_arrays,
    read_file,
    write_file,
)
from unseen.selection.confidence import HeldOut, Rejection
from unseen.selection.rehearsal import Trial
from unseen.selection.search import GZSLClassifierCV

Model = ZeroShotClassifier | GZSLClassifierCV
CHOSEN = ("gamma_", "temperature_", "best_params_", "best_params_zsl_", "best_score_")
TRIAL = ("y", "seen", "right", "flips")


def save_model(model: Model, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : a fitted method, or a fitted GZSLClassifierCV with its calibration
    path : path of the file, with any ending

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen import LinearSV
    >>> model = LinearSV([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save_model(model, path)
    >>> load_model(path).predict([[1.0, 1.0]]) == model.predict([[1.0, 1.0]])
    array([ True])
    """
    write_file(*(_selection_state(model) if isinstance(model, GZSLClassifierCV) else _state(model)), path)


def load_model(path: str | PathLike[str], *, method: type[ZeroShotClassifier] | None = None) -> Model:
    """Return the model in a file, as it was when it was saved.

    Parameters
    ----------
    path : path of the file, or ``hf:owner/name[@revision]`` for a model of the Hugging Face hub
    method : class, optional
        Needed for a method that is not part of this package: a file cannot name code to run.
    """
    with read_file(path) as (state, tensors):
        estimator = _restore(state["model"], tensors, method)
        return _restore_selection(estimator, state, tensors) if "selection" in state else estimator


# ---- a fitted method -----------------------------------------------------------------------------------


def _state(estimator: ZeroShotClassifier) -> tuple[State, Tensors]:
    """Return a fitted method as JSON values, and its arrays."""
    if not isinstance(estimator, ZeroShotClassifier):
        raise UnseenError(
            f"A model file holds a method of unseen, not a {type(estimator).__name__}. Give the method "
            'normalize="standard" instead of a scaler.'
        )
    estimator.solve()
    place = f"{type(estimator).__module__}:{type(estimator).__qualname__}"
    names = {method.place: name for name, method in METHODS.items() if not method.params}
    params = estimator.get_params(deep=False)
    params.pop("prototypes", None)
    # The moments are several times as large as the model, and only partial_fit needs them.
    fitted = {n: v for n, v in vars(estimator).items() if is_fitted_name(n) and n != "moments_"}
    arrays = {n: v for n, v in fitted.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fiub"}
    state = {
        "method": names.get(place, place),
        "params": {name: _plain(value, name) for name, value in params.items()},
        "fitted": {name: _plain(value, name) for name, value in fitted.items() if name not in arrays},
    }
    return {"model": state}, {f"model/{name}": array for name, array in arrays.items()}


def _restore(state: State, tensors: Tensors, method: type[ZeroShotClassifier] | None) -> ZeroShotClassifier:
    name = state["method"]
    if method is None and name not in METHODS:  # importing a module that a file names would execute it
        raise UnseenError(
            f"The model uses the method {name!r}, which is not part of unseen. Import its class and "
            "load with: unseen.load_model(path, method=ThatClass)"
        )
    estimator = (method or find_method(name))(**state["params"])
    for name, value in fitted_attributes(state, tensors).items():
        setattr(estimator, name, value)
    estimator.check_parameters()
    rows = estimator.rows(estimator.prototypes_)  # as for a new class
    if [row.shape for row in rows] != [estimator.coef_.shape, estimator.intercept_.shape]:
        raise ValueError("the mapping does not fit the classes")
    estimator.prototypes = estimator.described()
    return estimator


def _plain(value: Any, name: str) -> Any:
    """Return a value as JSON types."""

    def convert(item: object) -> object:
        if isinstance(item, np.generic | np.ndarray):
            return item.tolist()
        if is_dataclass(item):
            return vars(item)
        raise UnseenError(f"Cannot save {name}={item!r}: a model file holds numbers, words and arrays.")

    return json.loads(json.dumps(value, default=convert))


# ---- a whole selection -----------------------------------------------------------------------------------


def _selection_state(model: GZSLClassifierCV) -> tuple[State, Tensors]:
    """Return a selection as JSON values and arrays; the scores of held-out samples stay behind."""
    check_is_fitted(model, "gamma_")
    state, tensors = _state(model.estimator_)
    for name, value in vars(model.curve_).items():
        if isinstance(value, np.ndarray):
            tensors[f"curve/{name}"] = value
    chosen = {name: getattr(model, name) for name in (*CHOSEN, "gamma", "weights", "cv_results_")}
    chosen |= {"ausuc": model.curve_.ausuc, "resolution": model.curve_.resolution}
    held_out = vars(model.held_out_) | {"rehearsals": len(model.held_out_.rehearsals)}
    trials = {f"rehearsal{number}": trial for number, trial in enumerate(model.held_out_.rehearsals)}
    crossed = held_out.pop("cross_fitted")
    trials |= {"cross_fitted": crossed} if crossed is not None else {}
    tensors |= {f"{key}/{name}": getattr(trial, name) for key, trial in trials.items() for name in TRIAL}
    return state | {
        "selection": _plain(chosen, "selection"),
        "held_out": _plain(held_out, "held_out"),
    }, tensors


def _restore_selection(estimator: ZeroShotClassifier, state: State, tensors: Tensors) -> GZSLClassifierCV:
    chosen = state["selection"]
    model = GZSLClassifierCV(clone(estimator), gamma=chosen["gamma"], weights=chosen["weights"])
    model.estimator_, model.zsl_, model.seen_ = estimator, None, estimator.seen_
    for name in CHOSEN:
        setattr(model, name, chosen[name])
    model.gamma_, model.temperature_ = float(model.gamma_), float(model.temperature_)
    model.held_out_ = _restore_held_out(state["held_out"], tensors)
    results = chosen["cv_results_"].items()
    model.cv_results_ = {name: value if name == "params" else np.array(value) for name, value in results}
    curve = {n.removeprefix("curve/"): v for n, v in tensors.items() if n.startswith("curve/")}
    model.curve_ = SeenUnseenCurve(**curve, ausuc=chosen["ausuc"], resolution=chosen["resolution"])
    card = model.card()  # numbers that cannot be shown are rejected here, not in the middle of something
    json.dumps(card.to_json(), allow_nan=False)
    str(card)
    return model


def _restore_held_out(state: State, tensors: Tensors) -> HeldOut:
    crossed = _restore_trial(tensors, "cross_fitted") if "cross_fitted/y" in tensors else None
    rejection, bins = state["rejection"], ("samples", "confidence", "accuracy")
    thresholds = number_arrays(rejection, len(RATES), "shares", "thresholds")
    return HeldOut(
        state["rule"],
        [_restore_trial(tensors, f"rehearsal{number}") for number in range(state["rehearsals"])],
        crossed,
        state["retention"],
        state["ratio"],
        Rejection(float(rejection["auroc"]), *thresholds),
        {kind: Reliability(*number_arrays(state["reliability"][kind], BINS, *bins)) for kind in KINDS},
        dict(zip(KINDS, number_arrays(state["sets"], len(RATES), *KINDS))),
        dict(state["facts"]),
    )


def _restore_trial(tensors: Tensors, key: str) -> Trial:
    y, seen, right, flips = (tensors[f"{key}/{name}"] for name in TRIAL)
    fits = y.shape == right.shape == flips.shape
    if not (fits and y.max(initial=-1) < len(seen) and y.min(initial=0) >= 0):
        raise ValueError("the held-out samples are not complete")
    return Trial(y, seen, right, flips)
