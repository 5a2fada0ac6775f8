"""Model files: arrays in safetensors, everything else as JSON in the header. Loading executes no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unseen import __version__
from unseen._core.files import atomic_path
from unseen.base import KAPPA, ZeroShotClassifier
from unseen.calibration.curve import SeenUnseenCurve
from unseen.errors import UnseenError, one_line
from unseen.methods import METHODS, find_method
from unseen.models.card import Card
from unseen.selection.rejection import FAMILIARITIES, RATES, Rejection
from unseen.selection.search import GZSLClassifierCV, HeldOut

FORMAT = "unseen model"
VERSION = 1  # of the format; every version up to this one can be loaded
Model = ZeroShotClassifier | GZSLClassifierCV
Tensors = dict[str, NDArray[Any]]
State = dict[str, Any]  # JSON values
CURVE = ("breakpoints", "unseen_curve", "seen_curve", "h_curve")
CHOSEN = ("gamma_", "gamma_zsl_", "best_index_", "best_index_zsl_", "best_params_", "best_params_zsl_")
# what the first model files lack
ADDED = {
    "gamma_rule_": "paper",
    "retention_": float("nan"),
    "retention_zsl_": float("nan"),
    "kappa_": KAPPA,
    "sample_bias_": 0.0,
    "temperature_": 1.0,
    "temperature_ratio_": 1.0,
    "temperature_factor_": 1.0,
    "temperature_power_": 0.0,
    "temperature_height_": 1.0,
}


def save(model: Model, path: str | PathLike[str], *, card: Card | Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : a fitted method, or a fitted GZSLClassifierCV with its calibration
    path : path of the file, with any ending
    card : Card or mapping, optional
        What a reader of the file should know, as JSON values; ``read_card`` returns it.

    Examples
    --------
    >>> import tempfile
    >>> from unseen import LinearSV
    >>> model = LinearSV([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(model, path)
    >>> load(path).predict([[1.0, 1.0]]) == model.predict([[1.0, 1.0]])
    array([ True])
    """
    state, tensors = (
        _selection_state(model) if isinstance(model, GZSLClassifierCV) else _state(model, "model")
    )
    facts = card.to_json() if isinstance(card, Card) else card or {}
    text = json.dumps({**state, "card": _plain(facts, "card")})
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


def load(path: str | PathLike[str], *, method: type[ZeroShotClassifier] | None = None) -> Model:
    """Return the model in a file, as it was when it was saved.

    Parameters
    ----------
    path : path of the file
    method : class, optional
        Needed for a method that is not part of this package: a file cannot name code to run.
    """
    state, tensors = _read(Path(path))
    with _complete(path):
        if "selection" in state:
            return _restore_selection(state, tensors, method)
        return _restore(state["model"], tensors, "model", method)


def read_card(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the card that was saved with a model."""
    card = _read(Path(path))[0].get("card", {})
    with _complete(path):
        return dict(card)


def is_model(path: str | PathLike[str]) -> bool:
    """Return whether a file is a model of this package, of any version; only its header is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return (file.metadata() or {}).get("format") == FORMAT
    except (SafetensorError, OSError):
        return False


# ---- the file ----------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[State, Tensors]:
    """Return the state and the arrays of a model file after checking that it is one and not damaged."""
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
    with _complete(path):
        return dict(json.loads(text)), tensors


@contextmanager
def _complete(path: str | PathLike[str]) -> Iterator[None]:
    """Report a file that is not a complete model, in whatever way its parts do not fit together."""
    try:
        yield
    except (UnseenError, MemoryError):
        raise
    except Exception as error:
        raise UnseenError(
            f"{str(path)!r} is not a complete model ({type(error).__name__}: {one_line(error)})."
        ) from error


def _check_header(header: Mapping[str, str], path: Path) -> None:
    if header.get("format") != FORMAT or not header.get("version", "").isdigit():
        raise UnseenError(f"{str(path)!r} is a safetensors file, but not a model of unseen.")
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


def _state(estimator: ZeroShotClassifier, key: str) -> tuple[State, Tensors]:
    """Return the description of a fitted method as JSON values, and its arrays under ``key/name``."""
    if not isinstance(estimator, ZeroShotClassifier):
        raise UnseenError(
            f"A model file holds a method of unseen, not a {type(estimator).__name__}. Give the method "
            'normalize="standard" instead of a scaler, or write the classifier with '
            "unseen.models.export.export."
        )
    check_is_fitted(estimator)
    kind = type(estimator)
    place = f"{kind.__module__}:{kind.__qualname__}"
    names = {method.place: name for name, method in METHODS.items() if not method.params}
    params = estimator.get_params(deep=False)
    params.pop("prototypes", None)
    tensors, fitted = {}, {}
    estimator.solve()
    for name, value in vars(estimator).items():
        # The moments are several times as large as the model, and only partial_fit needs them.
        if not _is_fitted_name(name) or name == "moments_":
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            tensors[f"{key}/{name}"] = value
        else:
            fitted[name] = _plain(value, name)
    state = {"method": names.get(place, place), "params": _plain(params, "parameters"), "fitted": fitted}
    return {key: state}, tensors


def _restore(
    state: State, tensors: Tensors, key: str, method: type[ZeroShotClassifier] | None
) -> ZeroShotClassifier:
    kind = method or _find_class(state["method"])
    estimator = kind(**state["params"])
    fitted = {n: np.array(v) if isinstance(v, list) else v for n, v in state["fitted"].items()}
    fitted |= {n.removeprefix(f"{key}/"): v for n, v in tensors.items() if n.startswith(f"{key}/")}
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
    """Refuse a model whose parts do not fit together, before it fails in the middle of something."""
    estimator._check_parameters()
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
    rows = estimator._rows(estimator.prototypes_)  # as for a new class
    if estimator.seen_.dtype != bool or [row.shape for row in rows] != [shapes["coef_"], (n_classes,)]:
        raise ValueError("the mapping does not fit the classes")


def _find_class(name: str) -> type[ZeroShotClassifier]:
    """Return one of this package's methods; importing a module that a file names would execute it."""
    if name not in METHODS:
        raise UnseenError(
            f"The model uses the method {name!r}, which is not part of unseen. Import its class and "
            "load with: unseen.models.io.load(path, method=ThatClass)"
        )
    return find_method(name)


def _plain(value: Any, name: str) -> Any:
    """Return a value as JSON types."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise UnseenError(f"Cannot save {name}={value!r}: a model file holds numbers, words and arrays.")


# ---- a whole selection -----------------------------------------------------------------------------------


def _selection_state(model: GZSLClassifierCV) -> tuple[State, Tensors]:
    check_is_fitted(model, "gamma_")
    state, tensors = _state(model.estimator_, "model")
    if model.estimator_zsl_ is not model.estimator_:
        more = _state(model.estimator_zsl_, "zsl")
        state, tensors = state | more[0], tensors | more[1]
    chosen = {name: _plain(getattr(model, name), name) for name in CHOSEN}
    chosen |= {"gamma": model.gamma, "weights": model.weights}
    chosen |= {"ausuc": model.curve_.ausuc, "resolution": model.curve_.resolution}
    chosen |= {name: getattr(model, name) for name in ADDED}
    if model.rejection_ is not None:
        chosen["rejection_"] = _plain(vars(model.rejection_), "rejection_")
    chosen["cv_results_"] = _plain(model.cv_results_, "cv_results_")
    curve = {f"curve/{name}": getattr(model.curve_, name) for name in CURVE}
    return {**state, "selection": chosen}, tensors | curve


def _restore_selection(
    state: State, tensors: Tensors, method: type[ZeroShotClassifier] | None
) -> GZSLClassifierCV:
    chosen = state["selection"]
    estimator = _restore(state["model"], tensors, "model", method)
    model = GZSLClassifierCV(clone(estimator), gamma=chosen["gamma"], weights=chosen["weights"])
    model.estimator_ = model.estimator_zsl_ = estimator
    if "zsl" in state:
        model.estimator_zsl_ = _restore(state["zsl"], tensors, "zsl", method)
    for name in CHOSEN:
        setattr(model, name, chosen[name])
    for name, missing in ADDED.items():
        setattr(model, name, chosen.get(name, missing))
    model.rejection_ = _restore_rejection(chosen.get("rejection_"))
    model.held_out_ = HeldOut()
    model.seen_ = estimator.seen_
    results = chosen["cv_results_"].items()
    model.cv_results_ = {name: value if name == "params" else np.array(value) for name, value in results}
    curve = {name: tensors[f"curve/{name}"] for name in CURVE}
    resolution = chosen.get("resolution", 0.0)  # files of release 0.1 have none
    model.curve_ = SeenUnseenCurve(**curve, ausuc=chosen["ausuc"], resolution=resolution)
    return model


def _restore_rejection(chosen: State | None) -> Rejection | None:
    """Return how unknown classes are detected; None for the files of earlier releases, which do not say."""
    if chosen is None:
        return None
    shares, thresholds = (np.array(chosen[name], dtype=np.float64) for name in ("shares", "thresholds"))
    if chosen["score"] not in FAMILIARITIES or not shares.shape == thresholds.shape == RATES.shape:
        raise ValueError("the thresholds of rejection are not complete")
    return Rejection(chosen["score"], dict(chosen["auroc"]), shares, thresholds)
