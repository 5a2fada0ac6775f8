"""Model files: arrays in safetensors, everything else as JSON in the header. Loading executes no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unseen import __version__
from unseen._core.files import atomic_path
from unseen._core.hub import HUB_PREFIX
from unseen.base import ZeroShotClassifier
from unseen.calibration.curve import SeenUnseenCurve
from unseen.errors import UnseenError, one_line
from unseen.methods import METHODS, find_method
from unseen.metrics import BINS, Reliability
from unseen.selection.confidence import RATES, HeldOut, Rejection
from unseen.selection.rehearsal import Trial
from unseen.selection.search import GZSLClassifierCV

FORMAT = "unseen model"
VERSION = 2  # of the format; files of version 1, from before the first release, are rejected
Model = ZeroShotClassifier | GZSLClassifierCV
Tensors = dict[str, NDArray[Any]]
State = dict[str, Any]  # JSON values
CHOSEN = ("gamma_", "temperature_", "best_params_", "best_params_zsl_", "best_score_")
KINDS = ("seen", "unseen")
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
    >>> from unseen import LinearSV
    >>> model = LinearSV([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save_model(model, path)
    >>> load_model(path).predict([[1.0, 1.0]]) == model.predict([[1.0, 1.0]])
    array([ True])
    """
    state, tensors = _selection_state(model) if isinstance(model, GZSLClassifierCV) else _state(model)
    text = json.dumps(state)
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header = {"format": FORMAT, "version": str(VERSION), "written_by": f"unseen {__version__}"}
    header |= {"model": text, "sha256": _checksum(text, tensors)}
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, header)
        except SafetensorError as error:  # a full disk, for instance
            raise OSError(str(error)) from error


def load_model(path: str | PathLike[str], *, method: type[ZeroShotClassifier] | None = None) -> Model:
    """Return the model in a file, as it was when it was saved.

    Parameters
    ----------
    path : path of the file, or ``hf:owner/name[@revision]`` for a model of the Hugging Face hub
    method : class, optional
        Needed for a method that is not part of this package: a file cannot name code to run.
    """
    if str(path).startswith(HUB_PREFIX):
        from unseen.models.hub import fetch_model

        path = fetch_model(str(path))
    text, tensors = _read(Path(path))
    try:
        state = json.loads(text)
        estimator = _restore(state["model"], tensors, method)
        return _restore_selection(estimator, state, tensors) if "selection" in state else estimator
    except (UnseenError, MemoryError):
        raise
    except Exception as error:  # in whatever way its parts do not fit together
        raise UnseenError(
            f"{str(path)!r} is not a complete model ({type(error).__name__}: {one_line(error)})."
        ) from error


def facts_of(model: Model) -> dict[str, Any]:
    """Return what a model was made of, such as ``data`` and ``encoder``, as far as it is known."""
    return model.held_out_.facts if isinstance(model, GZSLClassifierCV) else {}


def is_model(path: str | PathLike[str]) -> bool:
    """Return whether a file is a model of this package, of any version; only its header is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return (file.metadata() or {}).get("format") == FORMAT
    except (SafetensorError, OSError):
        return False


# ---- the file ----------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[str, Tensors]:
    """Return the JSON and the arrays of a model file after checking that it is one and not damaged."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise UnseenError(
            f"There is no model file {str(path)!r}. Write one with: unseen fit DATA --model {path}"
        )
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            _check_header(header, path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UnseenError(f"{str(path)!r} is not a model file of unseen ({error}).") from error
    text = header.get("model", "")
    if header.get("sha256") != _checksum(text, tensors):
        raise UnseenError(f"{str(path)!r} is damaged: its checksum does not match. Write the model again.")
    return text, tensors


def _check_header(header: Mapping[str, str], path: Path) -> None:
    if header.get("format") != FORMAT or not header.get("version", "").isdigit():
        raise UnseenError(f"{str(path)!r} is a safetensors file, but not a model of unseen.")
    if int(header["version"]) < VERSION:
        raise UnseenError(f"{str(path)!r} is from before the first release. Fit the model again.")
    if int(header["version"]) > VERSION:
        raise UnseenError(
            f"{str(path)!r} was written by {header.get('written_by')} in format {header['version']}; this is "
            f"unseen {__version__}, which reads formats up to {VERSION}. Install a newer version of unseen."
        )


def _checksum(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


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
    fitted = {n: v for n, v in vars(estimator).items() if _is_fitted_name(n) and n != "moments_"}
    arrays = {n: v for n, v in fitted.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fiub"}
    state = {
        "method": names.get(place, place),
        "params": _plain(params, "parameters"),
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
    fitted = {n: np.array(v) if isinstance(v, list) else v for n, v in state["fitted"].items()}
    fitted |= {n.removeprefix("model/"): v for n, v in tensors.items() if n.startswith("model/")}
    for name, value in fitted.items():
        if not _is_fitted_name(name):
            raise ValueError(f"{name} is not a fitted attribute")
        setattr(estimator, name, value)
    _check_estimator(estimator)
    estimator.prototypes = estimator.described()
    return estimator


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _check_estimator(estimator: ZeroShotClassifier) -> None:
    """Reject a model whose parts do not fit together, before it fails in the middle of something."""
    estimator.check_parameters()
    n_classes, n_features = len(estimator.classes_), estimator.n_features_in_
    shapes = {
        "classes_": (n_classes,),
        "seen_": (n_classes,),
        "prototypes_": (n_classes, estimator.prototypes_.shape[-1]),
        "coef_": (n_classes, n_features),
        "intercept_": (n_classes,),
    }
    if hasattr(estimator, "attribute_names_"):
        shapes["attribute_names_"] = (estimator.prototypes_.shape[-1],)
    for name, shape in shapes.items():
        array = getattr(estimator, name)
        if array.shape != shape or 0 in shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite")
    rows = estimator.rows(estimator.prototypes_)  # as for a new class
    if estimator.seen_.dtype != bool or [row.shape for row in rows] != [shapes["coef_"], (n_classes,)]:
        raise ValueError("the mapping does not fit the classes")


def _plain(value: Any, name: str) -> Any:
    """Return a value as JSON types."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise UnseenError(f"Cannot save {name}={value!r}: a model file holds numbers, words and arrays.")


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
    rejection, bins = state.get("rejection"), ("samples", "confidence", "accuracy")
    if rejection is not None:
        thresholds = _restore_arrays(rejection, len(RATES), "shares", "thresholds")
        rejection = Rejection(float(rejection["auroc"]), *thresholds)
    return HeldOut(
        state["rule"],
        [_restore_trial(tensors, f"rehearsal{number}") for number in range(state["rehearsals"])],
        crossed,
        state["retention"],
        state["ratio"],
        rejection,
        {kind: Reliability(*_restore_arrays(state["reliability"][kind], BINS, *bins)) for kind in KINDS},
        dict(zip(KINDS, _restore_arrays(state["sets"], len(RATES), *KINDS))),
        dict(state["facts"]),
    )


def _restore_trial(tensors: Tensors, key: str) -> Trial:
    y, seen, right, flips = (tensors[f"{key}/{name}"] for name in TRIAL)
    fits = y.shape == right.shape == flips.shape
    if not (fits and y.max(initial=-1) < len(seen) and y.min(initial=0) >= 0):
        raise ValueError("the held-out samples are not complete")
    return Trial(y, seen, right, flips)


def _restore_arrays(state: State, length: int, *names: str) -> list[Any]:
    """Return some arrays of numbers, all of one length."""
    found = [np.array(state[name]) for name in names]
    if any(array.shape != (length,) or array.dtype.kind not in "if" for array in found):
        raise ValueError("the held-out figures are not complete")
    return found
