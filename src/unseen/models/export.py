"""A fitted model as what it is, one linear layer: for ONNX runtimes or plain arrays, without this package."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

from unseen._core.blocks import BoolArray, FloatArray
from unseen._core.files import atomic_path, write_npz
from unseen._core.labels import LabelArray
from unseen._core.scaling import has_unit_rows
from unseen.base import ZeroShotClassifier
from unseen.errors import UnseenError, expect, import_extra

FORMATS = ("onnx", "npz")
LAYER_FORMAT = 1  # what the arrays and the metadata of a layer are called and mean


@dataclass(frozen=True, eq=False)
class LinearLayer:
    """The classifier of a fitted model: ``scores = scaled(X) @ coef.T + intercept``, gamma included.

    ``normalize`` says how samples are scaled first: ``"l2"`` to unit length, ``"sqrt"`` to unit length after
    ``sign(x) sqrt(|x|)`` of every feature, ``None`` not at all: standardizing is folded into the classifier.
    """

    coef: FloatArray  # (classes, features)
    intercept: FloatArray  # (classes,)
    classes: LabelArray  # (classes,)
    seen: BoolArray  # (classes,)
    normalize: str | None
    temperature: float  # probabilities are softmax(scores / temperature)

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the layer of a fitted method or of a fitted GZSLClassifierCV."""
        estimator = getattr(model, "estimator_", model)
        if not isinstance(estimator, ZeroShotClassifier) or not hasattr(estimator, "classes_"):
            raise UnseenError(
                f"{type(estimator).__name__} is not a fitted method of unseen. Only those can be exported: "
                'give the method normalize="standard" instead of a scaler.'
            )
        estimator.solve()
        normalize = estimator.normalize if has_unit_rows(estimator.normalize) else None
        temperature = getattr(model, "temperature_", 1.0)
        return cls(model.coef_, model.intercept_, model.classes_, model.seen_, normalize, temperature)


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
    path : path
    format : {"onnx", "npz"}
        ``onnx``: input ``features`` (batch, features), outputs ``scores`` (batch, classes) and ``label``
        (batch,), the position in the class names, which are in the metadata under ``classes`` as JSON.
        ``npz``: arrays ``coef``, ``intercept``, ``classes``, ``seen``, ``temperature`` and ``normalize``
        ("l2", "sqrt" or "", see ``LinearLayer``).
    backbone : Backbone, optional
        The image network that computes the features. One ONNX file then holds both: input ``pixels``, as
        the network takes them, and the same outputs.
    softmax : bool, default=False
        For ``onnx``: a third output ``probabilities`` (batch, classes), as ``predict_proba`` gives them.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from unseen import LinearSV
    >>> model = LinearSV([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> path = Path(tempfile.mkdtemp()) / "layer.npz"
    >>> export(model, path, "npz")
    >>> [name for name in sorted(np.load(path)) if not name.startswith("temperature")]
    ['classes', 'coef', 'format', 'intercept', 'normalize', 'seen']
    """
    expect("format", format, format in FORMATS, f"one of {', '.join(FORMATS)}")
    layer = LinearLayer.of(model)
    if format == "npz":
        if backbone is not None or softmax:
            raise UnseenError("Only onnx holds a backbone or a softmax. Leave them out, or write onnx.")
        write_npz(path, **{**vars(layer), "normalize": layer.normalize or "", "format": LAYER_FORMAT})
        return
    import_extra("onnx", "export", "Writing ONNX")
    from unseen.models.onnx_graph import layer_model, merged_model

    model = layer_model(layer, softmax) if backbone is None else merged_model(backbone, layer, softmax)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
