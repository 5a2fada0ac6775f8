"""A fitted model as what it is, one linear layer: for ONNX runtimes or plain arrays, without this package."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray
from unseen._core.files import atomic_path, write_npz
from unseen._core.labels import LabelArray
from unseen.base import ZeroShotClassifier
from unseen.errors import UnseenError, need_extra

FORMATS = ("onnx", "npz")


@dataclass(frozen=True, eq=False)
class LinearLayer:
    """The classifier of a fitted model: ``scores = scaled(X) @ coef.T + intercept``, gamma included.

    ``normalize`` says how samples are scaled first: ``"l2"`` to unit length, ``None`` not at all.
    Standardized features need no step of their own: the classifier of a model is one of raw features.
    """

    coef: FloatArray  # (classes, features)
    intercept: FloatArray  # (classes,)
    classes: LabelArray  # (classes,)
    seen: BoolArray  # (classes,)
    normalize: str | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the layer of a fitted method or of a fitted GZSLClassifierCV."""
        estimator = getattr(model, "estimator_", model)
        if isinstance(estimator, ZeroShotClassifier) and hasattr(estimator, "classes_"):
            estimator.solve()
        if not hasattr(estimator, "coef_"):
            raise UnseenError(
                f"{type(estimator).__name__} is not a fitted linear model. Only those can be exported."
            )
        normalize = "l2" if estimator.normalize == "l2" else None
        return cls(model.coef_, model.intercept_, model.classes_, model.seen_, normalize)


class ImageNetwork(Protocol):
    """An image network in ONNX format; ``unseen.encoders.backbone.Backbone`` is one."""

    file: Path
    input: str  # name of the input for pixels
    output: str  # name of the output for features
    layout: str  # "NCHW" or "NHWC"
    pooling: str  # what stands for a sequence of tokens: their "mean", or the "first"


def export(
    model: Any, path: str | PathLike[str], format: str, *, backbone: ImageNetwork | None = None
) -> None:
    """Write the calibrated classifier as a layer that does not need this package.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    path : path
    format : {"onnx", "npz"}
        ``onnx``: input ``features`` (batch, features), outputs ``scores`` (batch, classes) and ``label``
        (batch,), the position in the class names, which are in the metadata under ``classes`` as JSON.
        ``npz``: arrays ``coef``, ``intercept``, ``classes``, ``seen`` and ``normalize`` ("l2" or "").
    backbone : Backbone, optional
        The image network that computes the features. One ONNX file then holds both: input ``pixels``, as
        the network takes them, and the same outputs.

    Examples
    --------
    >>> import tempfile
    >>> from unseen import LinearSV
    >>> model = LinearSV([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> path = Path(tempfile.mkdtemp()) / "layer.npz"
    >>> export(model, path, "npz")
    >>> sorted(np.load(path))
    ['classes', 'coef', 'intercept', 'normalize', 'seen']
    """
    if format not in FORMATS:
        raise UnseenError(f"Got format={format!r}, but expected one of {', '.join(FORMATS)}.")
    layer = LinearLayer.of(model)
    if format == "onnx":
        _write_onnx(layer, Path(path), backbone)
    elif backbone is not None:
        raise UnseenError("A backbone can only be exported with format='onnx'.")
    else:
        _write_npz(layer, Path(path))


def _write_npz(layer: LinearLayer, path: Path) -> None:
    normalize: NDArray[np.str_] = np.array(layer.normalize or "")
    write_npz(
        path,
        coef=layer.coef,
        intercept=layer.intercept,
        classes=layer.classes,
        seen=layer.seen,
        normalize=normalize,
    )


def _write_onnx(layer: LinearLayer, path: Path, backbone: ImageNetwork | None) -> None:
    try:
        from unseen.models.onnx_graph import layer_model, merged_model
    except ImportError:
        raise need_extra("onnx", "export", "Writing ONNX") from None
    model = layer_model(layer) if backbone is None else merged_model(backbone, layer)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
