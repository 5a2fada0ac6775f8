"""A fitted model as what it is, one linear layer: for ONNX runtimes or plain arrays, without this package."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray
from unseen._core.files import atomic_path, write_npz
from unseen._core.labels import LabelArray
from unseen._core.scaling import has_unit_rows
from unseen.base import ZeroShotClassifier
from unseen.errors import UnseenError, need_extra

FORMATS = ("onnx", "npz")
LAYER_FORMAT = 1  # what the arrays and the metadata of a layer are called and mean


@dataclass(frozen=True, eq=False)
class LinearLayer:
    """The classifier of a fitted model: ``scores = scaled(X) @ coef.T + intercept``, gamma included.

    ``normalize`` says how samples are scaled first: ``"l2"`` to unit length, ``"sqrt"`` to unit length after
    ``sign(x) sqrt(|x|)`` of every feature, ``None`` not at all. The scalers of a pipeline come before that:
    ``X * scale + offset``. With ``None`` they are folded into the classifier, as standardized features are:
    it takes raw features.
    """

    coef: FloatArray  # (classes, features)
    intercept: FloatArray  # (classes,)
    classes: LabelArray  # (classes,)
    seen: BoolArray  # (classes,)
    normalize: str | None
    scale: FloatArray | None = None  # (features,)
    offset: FloatArray | None = None  # (features,)
    temperature: float = 1.0  # probabilities are softmax(scores / temperature)

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the layer of a fitted method, of a GZSLClassifierCV, or of a pipeline with one of them."""
        outer, selection = _unwrap(model)
        inner, estimator = _unwrap(getattr(selection, "estimator_", selection))
        if isinstance(estimator, ZeroShotClassifier) and hasattr(estimator, "classes_"):
            estimator.solve()
        if not hasattr(estimator, "coef_"):
            raise UnseenError(
                f"{type(estimator).__name__} is not a fitted linear model. Only those can be exported."
            )
        seen = np.asarray(selection.seen_)
        coef, intercept = estimator.coef_, estimator.intercept_ - getattr(selection, "gamma_", 0.0) * seen
        normalize = estimator.normalize if has_unit_rows(estimator.normalize) else None
        scale, offset = _scaling([*outer, *inner], coef.shape[1])
        if normalize is None and scale is not None:
            # (x a + b) . c + d = x . (a c) + b . c + d
            coef, intercept, scale, offset = coef * scale, intercept + coef @ offset, None, None
        classes = np.asarray(selection.classes_)
        temperature = getattr(selection, "temperature_", 1.0)
        return cls(coef, intercept, classes, seen, normalize, scale, offset, temperature)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of an ``.npz``; scale and offset only if a pipeline has some."""
        found = {"coef": self.coef, "intercept": self.intercept, "classes": self.classes, "seen": self.seen}
        found |= {"normalize": np.array(self.normalize or ""), "temperature": np.array(self.temperature)}
        found["format"] = np.array(LAYER_FORMAT)
        if self.scale is not None and self.offset is not None:
            found |= {"scale": self.scale, "offset": self.offset}
        return found


def _unwrap(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline, and its last step; of anything else none, and itself."""
    transformers: list[Any] = []
    while hasattr(model, "steps"):
        transformers += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        model = model.steps[-1][1]
    return transformers, model


def _scaling(transformers: list[Any], n_features: int) -> tuple[FloatArray | None, FloatArray | None]:
    """Return a and b of the transformation ``x a + b`` that scalers make together; None without any."""
    if not transformers:
        return None, None
    width = getattr(transformers[0], "n_features_in_", n_features)
    probes = np.vstack([np.zeros(width), np.ones(width), np.linspace(-3, 2, width)])
    rows = probes
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for transformer in transformers:
            rows = np.asarray(transformer.transform(rows), dtype=np.float64)
    offset, scale = rows[0], rows[1] - rows[0]
    if rows.shape != probes.shape or not np.allclose(rows[2], probes[2] * scale + offset, rtol=1e-6):
        names = ", ".join(type(transformer).__name__ for transformer in transformers)
        raise UnseenError(
            f"The pipeline transforms features with {names}. Only steps that scale and shift single "
            "features, as StandardScaler does, can be exported."
        )
    return scale, offset


class ImageNetwork(Protocol):
    """An image network in ONNX format; ``unseen.encoders.backbone.Backbone`` is one."""

    file: Path
    input: str  # name of the input for pixels
    output: str  # name of the output for features
    layout: str  # "NCHW" or "NHWC"
    pooling: str  # what stands for a sequence of tokens: their "mean", or the "first"
    preprocessing: Any  # a dataclass that says how an image becomes pixels, see ``Preprocessing``


def export(
    model: Any,
    path: str | PathLike[str],
    format: str,
    *,
    backbone: ImageNetwork | None = None,
    softmax: bool = False,
) -> None:
    """Write the calibrated classifier as a layer that does not need this package.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
        Or a pipeline that ends in one of them, or a GZSLClassifierCV of such a pipeline.
    path : path
    format : {"onnx", "npz"}
        ``onnx``: input ``features`` (batch, features), outputs ``scores`` (batch, classes) and ``label``
        (batch,), the position in the class names, which are in the metadata under ``classes`` as JSON.
        ``npz``: arrays ``coef``, ``intercept``, ``classes``, ``seen``, ``temperature`` and ``normalize``
        ("l2", "sqrt" or "", see ``LinearLayer``); for some pipelines also ``scale`` and ``offset``, to be
        applied first.
    backbone : Backbone, optional
        The image network that computes the features. One ONNX file then holds both: input ``pixels``, as
        the network takes them, and the same outputs.
    softmax : bool, default=False
        For ``onnx``: a third output ``probabilities`` (batch, classes), as ``predict_proba`` gives them.

    Examples
    --------
    >>> import tempfile
    >>> from unseen import LinearSV
    >>> model = LinearSV([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> path = Path(tempfile.mkdtemp()) / "layer.npz"
    >>> export(model, path, "npz")
    >>> [name for name in sorted(np.load(path)) if not name.startswith("temperature")]
    ['classes', 'coef', 'format', 'intercept', 'normalize', 'seen']
    """
    if format not in FORMATS:
        raise UnseenError(f"Got format={format!r}, but expected one of {', '.join(FORMATS)}.")
    layer = LinearLayer.of(model)
    if format == "onnx":
        _write_onnx(layer, Path(path), backbone, softmax)
    elif backbone is not None or softmax:
        raise UnseenError("A backbone or a softmax can only be exported with format='onnx'.")
    else:
        write_npz(path, **layer.arrays())


def _write_onnx(layer: LinearLayer, path: Path, backbone: ImageNetwork | None, softmax: bool) -> None:
    try:
        from unseen.models.onnx_graph import layer_model, merged_model
    except ImportError:
        raise need_extra("onnx", "export", "Writing ONNX") from None
    model = layer_model(layer, softmax) if backbone is None else merged_model(backbone, layer, softmax)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
