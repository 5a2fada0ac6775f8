"""Image networks as functions from pixels to features: ONNX files and Python callables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from unseen._core.blocks import row_blocks
from unseen._core.hub import HUB_PREFIX
from unseen._core.prototypes import encoded_rows
from unseen.datasets.features import EncoderCard, check_same_encoder, describe_encoder
from unseen.encoders._onnx import OnnxModel
from unseen.encoders.preprocessing import Floats, Preprocessing, from_card, from_transformers
from unseen.encoders.references import Reference
from unseen.errors import UnseenError, did_you_mean, expect

FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}  # types of an input for images
# transformers whose first token stands for the image: their pooler output is that token
FIRST_TOKEN = ("beit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit", "ijepa", "vit", "vit_mae")


def open_backbone(backbone: AnyBackbone, *, threads: int | None = None) -> Backbone | CallableBackbone:
    """Return an image network by name, or wrap a Python callable.

    Parameters
    ----------
    backbone : str, path or callable
        An ONNX file, a folder in Hugging Face layout, ``hf:owner/name[@revision]``; or a callable from an
        array of pixels (images, 3, 224, 224) to one row per image.
    threads : int, optional
        Threads of ONNX Runtime.
    """
    if isinstance(backbone, str | os.PathLike):
        return Backbone(backbone, threads=threads)
    expect("backbone", backbone, callable(backbone), "a path, hf:owner/name or a callable")
    return backbone if isinstance(backbone, Backbone | CallableBackbone) else CallableBackbone(backbone)


def reopen_backbone(card: Mapping[str, object]) -> Backbone:
    """Return the backbone that made the features of a model, by the name that is stored with them."""
    reference = str(card.get("name"))
    if reference.startswith(HUB_PREFIX):
        reference = f"{reference.partition('@')[0]}@{card.get('revision')}"
    elif not Path(reference).exists():
        raise UnseenError(
            f"The model takes features of {describe_encoder(card)}, which is not here. Give it with "
            "--backbone, or features instead of images."
        )
    stored = {name: str(card[name]) for name in ("variant", "output") if card.get(name)}
    network = Backbone(reference, variant=stored.get("variant"), output=stored.get("output"))
    check_same_encoder(network.describe(), card, reference)
    network.use_card(card)
    return network


class Backbone(OnnxModel):
    """An image network in ONNX format; what it takes and gives is read from the file.

    Parameters
    ----------
    reference : str or path
        An ONNX file, a folder in Hugging Face layout, or ``hf:owner/name[@revision]``.
    variant : str, optional
        Suffix of the ONNX file in a folder, such as ``"quantized"`` for ``vision_model_quantized.onnx``.
    output : str, optional
        Name of an output of the model. By default the first with two dimensions, or else the first, which
        is then averaged over positions (the first token of models that are trained to put the image there).
    size : int, optional
        Height and width of the input; needed only if neither the model nor its configuration says so
        and 224 is wrong.
    threads : int, optional
        Threads of the computation; ONNX Runtime's own choice by default.

    Attributes
    ----------
    preprocessing : Preprocessing
        What the ``preprocessor_config.json`` beside the model says; for a bare file the whole image,
        squashed.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        variant: str | None = None,
        output: str | None = None,
        size: int | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(reference, "image", variant, threads)
        if [(entry.type in FLOATS, len(entry.shape)) for entry in self.inputs] != [(True, 4)]:
            raise UnseenError(
                f"{self.file.name} takes {self.takes}, expected one input for images: floats of shape "
                "(batch, 3, height, width) or (batch, height, width, 3). Give an image backbone."
            )
        if output is not None and output not in self.outputs:
            known, near = ", ".join(self.outputs), did_you_mean(output, self.outputs)
            raise UnseenError(f"{self.file.name} has no output {output!r}, only {known}.{near}")
        entry = self.inputs[0]
        self.input = entry.name
        self.batch = self.find_batch()
        self.dtype = FLOATS[entry.type]
        self.output = output or self.default_output()
        first = self.files.config("config.json").get("model_type") in FIRST_TOKEN
        self.pooling = "first" if first else "mean"
        configured = self._find_preprocessing()
        self.layout, side = self._read_shape(entry.shape, size)
        self.size = side or configured.size
        self.preprocessing = replace(configured, size=self.size)

    def _find_preprocessing(self) -> Preprocessing:
        """Return what the files beside the model say, or else the default."""
        nested = self.files.config("processor_config.json").get("image_processor")
        said = self.files.config("preprocessor_config.json") or nested
        return from_transformers(said) if said and isinstance(said, Mapping) else Preprocessing()

    def _read_shape(self, shape: Sequence[object], size: int | None) -> tuple[str, int | None]:
        """Return where the channels are, in the dimension that is 3 or else open, and the side of images."""
        layout = "NHWC" if shape[3] == 3 and shape[1] != 3 else "NCHW"
        channels, height, width = shape[1:] if layout == "NCHW" else (3, *shape[1:3])
        if isinstance(channels, int) and channels != 3:
            raise UnseenError(
                f"{self.file.name} takes an input of shape {tuple(shape)}, expected three color channels."
            )
        fixed = {side for side in (height, width) if isinstance(side, int)}
        if len(fixed | ({size} - {None})) > 1:
            wanted = "a square" if size is None else f"{size} x {size}"
            raise UnseenError(f"{self.file.name} takes images of {height} x {width}, expected {wanted}.")
        return layout, next(iter(fixed), size)

    def use_card(self, card: Mapping[str, object] | None) -> None:
        """Preprocess images as for the features that a card describes."""
        stored = card.get("preprocessing") if card else None
        if isinstance(stored, Mapping):
            self.preprocessing = from_card(stored)

    def __call__(self, pixels: Floats) -> Floats:
        """Return the features (images, width) of an array (images, 3, size, size)."""
        if self.batch is None:
            return self._run(pixels)
        # a fixed batch size: the last batch is padded with black images, whose rows are dropped
        padded = np.pad(pixels, [(0, -len(pixels) % self.batch), (0, 0), (0, 0), (0, 0)])
        rows = [self._run(padded[block]) for block in row_blocks(len(padded), self.batch)]
        return np.concatenate(rows)[: len(pixels)]

    def _run(self, pixels: Floats) -> Floats:
        """Return (batch, width): a map is averaged over its positions, a sequence pooled over its tokens."""
        if self.layout == "NHWC":
            pixels = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        found = self.run({self.input: pixels.astype(self.dtype, copy=False)})
        if found.ndim == 4:
            found = np.asarray(found.mean(axis=(2, 3) if self.layout == "NCHW" else (1, 2)))
        elif found.ndim == 3:
            found = found[:, 0] if self.pooling == "first" else np.asarray(found.mean(axis=1))
        return found.reshape(len(found), -1).astype(np.float32, copy=False)


class CallableBackbone:
    """A Python callable from an array of pixels (images, 3, size, size) to one row per image."""

    def __init__(self, function: Callable[[Floats], object]) -> None:
        self.function = function
        self.preprocessing = Preprocessing()

    def __call__(self, pixels: Floats) -> Floats:
        """Return the features (images, width)."""
        rows = encoded_rows(self.function(pixels), len(pixels), "The backbone", "image")
        return rows.astype(np.float32, copy=False)

    def describe(self) -> EncoderCard:
        """Return the name of the callable, all that is known of it."""
        return {"name": getattr(self.function, "__qualname__", type(self.function).__qualname__)}


# a reference, a Python callable, or an encoder that is open already
AnyBackbone = Reference | Callable[[Floats], object] | Backbone | CallableBackbone
