"""Image networks as functions from pixels to features: ONNX files and Python callables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unseen._core.arrays import as_array, torch_of
from unseen._core.blocks import FloatArray
from unseen._core.hub import HUB_PREFIX
from unseen.datasets.features import EncoderCard, check_same_encoder, describe_encoder
from unseen.encoders._onnx import Node, Session, find_named, find_output, open_session, run_session, signature
from unseen.encoders.preprocessing import (
    Floats,
    Preprocessing,
    from_card,
    from_open_clip,
    from_timm,
    from_transformers,
)
from unseen.encoders.references import ModelFiles, Reference, find_model
from unseen.errors import UnseenError

CHANNEL_AXIS = {"NCHW": 1, "NHWC": 3}
# transformers whose first token stands for the image: their pooler output is that token
FIRST_TOKEN = ("beit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit", "ijepa", "vit", "vit_mae")


@runtime_checkable
class ImageEncoder(Protocol):
    """A callable from pixels (images, 3, size, size) to features that says what it is and what it takes."""

    @property
    def preprocessing(self) -> Preprocessing: ...

    def __call__(self, pixels: Floats) -> Floats: ...

    def describe(self) -> EncoderCard: ...


# a reference, a Python callable, or an encoder that is open already
AnyBackbone = Reference | Callable[[Floats], object] | ImageEncoder


def open_backbone(
    backbone: AnyBackbone, *, variant: str | None = None, size: int | None = None, threads: int | None = None
) -> ImageEncoder:
    """Return an image network by name, or wrap a Python callable.

    Parameters
    ----------
    backbone : str, path or callable
        An ONNX file, a folder in Hugging Face layout, ``hf:owner/name[@revision]``; or a callable from pixels
        (images, 3, size, size) to one row per image, such as a module of timm or open_clip.
    variant : str, optional
        Suffix of the ONNX file, such as ``"quantized"``.
    size : int, optional
        Height and width of the input, if the model leaves them open.
    threads : int, optional
        Threads of ONNX Runtime.
    """
    if isinstance(backbone, str | os.PathLike):
        return Backbone(backbone, variant=variant, size=size, threads=threads)
    if isinstance(backbone, ImageEncoder):
        return backbone
    if not callable(backbone):
        raise UnseenError(
            f"Got a backbone of type {type(backbone).__name__}, expected a path, hf:owner/name or a callable."
        )
    return CallableBackbone(backbone, size)


def reopen_backbone(card: Mapping[str, object], *, threads: int | None = None) -> Backbone:
    """Return the backbone that made the features of a model, by the name that is stored with them.

    Parameters
    ----------
    card : mapping
        See ``unseen.datasets.features.EncoderCard``.
    threads : int, optional
        Threads of ONNX Runtime.
    """
    reference = _stored_reference(card)
    stored = {name: card.get(name) for name in ("variant", "input", "output", "layout")}
    options: dict[str, Any] = {name: value for name, value in stored.items() if isinstance(value, str)}
    network = Backbone(reference, **options, threads=threads)
    check_same_encoder(network.describe(), card, reference)
    use_stored_preprocessing(network, card)
    return network


def use_stored_preprocessing(network: Backbone, card: Mapping[str, object]) -> None:
    """Make a network preprocess images as it did for the stored features."""
    stored = card.get("preprocessing")
    if isinstance(stored, Mapping):
        network.preprocessing = from_card(stored)


def _stored_reference(card: Mapping[str, object]) -> str:
    """Return how to open the stored encoder again: a repository at its commit, a file where it was."""
    name = str(card.get("name"))
    if name.startswith(HUB_PREFIX):
        return name.partition("@")[0] + (f"@{card['revision']}" if card.get("revision") else "")
    if not Path(name).exists():
        raise UnseenError(
            f"The model takes features of {describe_encoder(card)}, which is not here. Give it with "
            "--backbone, or features instead of images."
        )
    return name


class Backbone:
    """An image network in ONNX format; what it takes and gives is read from the file.

    Parameters
    ----------
    reference : str or path
        An ONNX file, a folder in Hugging Face layout, or ``hf:owner/name[@revision]``.
    variant : str, optional
        Suffix of the ONNX file, such as ``"quantized"`` for ``vision_model_quantized.onnx``.
    input, output : str, optional
        Names in the model. By default its one input with four dimensions; its first output with two
        dimensions, or else its first output, which is then averaged over positions (the first token of
        models that are trained to put the image there).
    size : int, optional
        Height and width of the input; needed only if neither the model nor its configuration says so
        and 224 is wrong.
    layout : "NCHW" or "NHWC", optional
        Where the channels are; by default the dimension that is 3, NCHW if the model leaves that open.
    provider : str
        Execution provider of ONNX Runtime, as ``"cpu"`` or ``"cuda"``.
    threads : int, optional
        Threads of the computation; ONNX Runtime's own choice by default.

    Attributes
    ----------
    preprocessing : Preprocessing
        What the configuration beside the model says (``preprocessor_config.json``,
        ``open_clip_config.json``, timm's ``config.json``); for a bare file the whole image, squashed.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        variant: str | None = None,
        input: str | None = None,
        output: str | None = None,
        size: int | None = None,
        layout: str | None = None,
        provider: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.files = find_model(reference, "image", variant)
        self.file = self.files.model
        self.session = open_session(self.file, provider, threads)
        entry = _find_input(self.session, input, self.file.name)
        self.input, self.shape = entry.name, tuple(entry.shape)
        self.dtype = np.float16 if entry.type == "tensor(float16)" else np.float32
        self.output = find_output(self.session, output, self.file)
        self.layout = _find_layout(self.shape, layout, self.file.name)
        self.pooling = _find_pooling(self.files)
        configured = _find_preprocessing(self.files)
        self.size = self._find_size(size, configured)
        self.preprocessing = replace(configured or Preprocessing(), size=self.size)

    def _find_size(self, size: int | None, configured: Preprocessing | None) -> int:
        height, width = self.shape[2:] if self.layout == "NCHW" else self.shape[1:3]
        fixed = {side for side in (height, width) if isinstance(side, int)}
        if len(fixed | ({size} - {None})) > 1:
            wanted = "a square" if size is None else f"{size} x {size}"
            raise UnseenError(f"{self.file.name} takes images of {height} x {width}, expected {wanted}.")
        return fixed.pop() if fixed else size or (configured or Preprocessing()).size

    def __call__(self, pixels: Floats) -> Floats:
        """Return the features (images, width) of an array (images, 3, size, size)."""
        batch = self.shape[0]
        if not isinstance(batch, int):
            return self._run(pixels)
        rows = [self._run_padded(pixels[i : i + batch], batch) for i in range(0, len(pixels), batch)]
        return np.concatenate(rows)

    def describe(self) -> EncoderCard:
        """Return what determines the features: the file and its checksum, input, output and layout."""
        return {
            **self.files.describe(),
            "input": self.input,
            "output": self.output,
            "layout": self.layout,
            "pooling": self.pooling,
        }

    def _run_padded(self, pixels: Floats, batch: int) -> Floats:
        """Run a model with a fixed batch size: pad with black images, drop their rows."""
        missing = batch - len(pixels)
        return self._run(np.pad(pixels, [(0, missing), (0, 0), (0, 0), (0, 0)]))[: len(pixels)]

    def _run(self, pixels: Floats) -> Floats:
        if self.layout == "NHWC":
            pixels = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        fed = {self.input: pixels.astype(self.dtype, copy=False)}
        found = run_session(self.session, self.file, self.output, fed)
        return _pool(found, self.layout, self.pooling).astype(np.float32, copy=False)


def _find_input(session: Session, name: str | None, file: str) -> Node:
    entries = session.get_inputs()
    if name is not None:
        entries = [find_named(entries, name, f"{file} has no input")]
    floats = ("tensor(float)", "tensor(float16)")
    images = [entry for entry in entries if entry.type in floats and len(entry.shape) == 4]
    if len(images) != 1 or len(session.get_inputs()) > 1:
        raise UnseenError(
            f"{file} takes {signature(session.get_inputs())}, expected one input for images: floats of shape "
            "(batch, 3, height, width) or (batch, height, width, 3). Give an image backbone."
        )
    return images[0]


def _find_layout(shape: Sequence[int | str | None], layout: str | None, file: str) -> str:
    """Return where the channels are: the dimension that is 3, else the first one that is open."""
    wanted = [layout] if layout else list(CHANNEL_AXIS)
    certain = [name for name in wanted if shape[CHANNEL_AXIS[name]] == 3]
    possible = [name for name in wanted if not isinstance(shape[CHANNEL_AXIS[name]], int)]
    if not certain + possible:
        raise UnseenError(
            f"{file} takes an input of shape {tuple(shape)}, expected three color channels "
            f"as {' or '.join(wanted)}."
        )
    return (certain + possible)[0]


def _find_pooling(files: ModelFiles) -> str:
    return "first" if files.config("config.json").get("model_type") in FIRST_TOKEN else "mean"


def _find_preprocessing(files: ModelFiles) -> Preprocessing | None:
    """Return what the files beside a model say, or None if none of them says anything."""
    nested = files.config("processor_config.json").get("image_processor")
    processor = files.config("preprocessor_config.json") or nested
    if processor and isinstance(processor, Mapping):
        return from_transformers(processor)
    if open_clip := files.config("open_clip_config.json"):
        return from_open_clip(open_clip)
    timm = files.config("config.json").get("pretrained_cfg")
    return from_timm(timm) if isinstance(timm, Mapping) else None


def _pool(found: FloatArray, layout: str, pooling: str) -> FloatArray:
    """Return (batch, width): a map is averaged over its positions, a sequence pooled over its tokens."""
    if found.ndim == 4:
        return np.asarray(found.mean(axis=(2, 3) if layout == "NCHW" else (1, 2)))
    if found.ndim == 3:
        return found[:, 0] if pooling == "first" else np.asarray(found.mean(axis=1))
    return found.reshape(len(found), -1)


# ---- Python callables ------------------------------------------------------------------------------


@dataclass
class CallableBackbone:
    """A Python callable as a backbone; a torch module gets tensors, on its device and without gradients.

    Parameters
    ----------
    function : callable from pixels (images, 3, size, size) to (images, width)
        A module with a method ``encode_image`` (open_clip) is called by that.
    size : int, optional
        Height and width of the input; by default as the module of timm or open_clip says, else 224.
    """

    function: Callable[[Floats], object]
    size: int | None = None

    def __post_init__(self) -> None:
        configured = _callable_preprocessing(self.function) or Preprocessing()
        self.preprocessing = replace(configured, size=self.size or configured.size)

    def __call__(self, pixels: Floats) -> Floats:
        """Return the features (images, width)."""
        torch = torch_of(self.function)
        with nullcontext() if torch is None else torch.inference_mode():
            fed = pixels if torch is None else _as_tensor(pixels, self.function, torch)
            call: Callable[..., object] = getattr(self.function, "encode_image", self.function)
            found = as_array(call(fed))
        if found.ndim not in (2, 3, 4) or len(found) != len(pixels):
            raise UnseenError(
                f"The backbone gave an array of shape {found.shape} for {len(pixels)} images, expected one "
                "row per image."
            )
        return _pool(found, "NCHW", "mean").astype(np.float32, copy=False)

    def describe(self) -> EncoderCard:
        """Return the name of the callable, all that is known of it."""
        kind = type(self.function).__qualname__
        return {"name": getattr(self.function, "__qualname__", kind)}


def _callable_preprocessing(function: object) -> Preprocessing | None:
    """Return what a module of timm (``pretrained_cfg``) or open_clip (``visual.preprocess_cfg``) says."""
    timm = getattr(function, "pretrained_cfg", None)
    if isinstance(timm, Mapping):
        return from_timm(timm)
    open_clip = getattr(getattr(function, "visual", None), "preprocess_cfg", None)
    return from_open_clip({"preprocess_cfg": open_clip}) if isinstance(open_clip, Mapping) else None


def _as_tensor(pixels: Floats, function: object, torch: ModuleType) -> object:
    """Return pixels as a tensor of the device and precision of the module, which is set to evaluation."""
    module: Any = getattr(function, "__self__", function)
    module.eval()
    first = next(iter(module.parameters()), None)
    tensor = torch.from_numpy(np.ascontiguousarray(pixels))
    return tensor if first is None else tensor.to(device=first.device, dtype=first.dtype)
