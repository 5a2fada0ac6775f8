"""What image backbones and text encoders share: opening an ONNX file and running it."""

from __future__ import annotations

from collections.abc import Mapping
from mmap import ACCESS_READ, mmap

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen._core.files import file_sha256
from unseen.datasets.features import EncoderCard
from unseen.encoders.references import Modality, Reference, find_model
from unseen.errors import UnseenError, import_extra, one_line, rephrase_errors


class OnnxModel:
    """An encoder in ONNX format, open: its files, inputs and outputs."""

    outputs: dict[str, int]  # name -> number of dimensions
    output: str  # name of the output in use
    pooling: str  # what stands for a sequence of tokens

    def __init__(
        self, reference: Reference, modality: Modality, variant: str | None, threads: int | None = None
    ) -> None:
        self.files = find_model(reference, modality, variant)
        self.file = file = self.files.model
        onnxruntime = import_extra("onnxruntime", "images", "Running an ONNX model")
        if not file.is_file():
            raise UnseenError(f"There is no file {str(file)!r}. Give the path of a model in ONNX format.")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised, no need to print them as well
        options.intra_op_num_threads = threads or 0
        with rephrase_errors(f"{str(file)!r} is not a model that can be run"):
            self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
            self.inputs = self.session.get_inputs()
            # both fail if a name is not valid text
            self.takes = ", ".join(f"{e.name} ({e.type}, shape {tuple(e.shape)})" for e in self.inputs)
            self.outputs = {entry.name: len(entry.shape) for entry in self.session.get_outputs()}
            if not self.outputs:
                raise ValueError("it has no output")

    def describe(self) -> EncoderCard:
        """Return what determines the features: the file and its checksum, output and pooling."""
        return {
            "name": self.files.name,
            "file": self.file.name,
            "revision": self.files.revision,
            "variant": self.files.variant,
            "sha256": file_sha256(self.file),
            "output": self.output,
            "pooling": self.pooling,
        }

    def default_output(self) -> str:
        """Return the first output with two dimensions, or else the first."""
        return min(self.outputs, key=lambda name: self.outputs[name] != 2)

    def find_batch(self) -> int | None:
        """Return how many images or texts the model takes at once; None if that is open.

        A dynamically quantized model gets one: it scales its activations by all that it sees together.
        """
        size = self.inputs[0].shape[0]
        if isinstance(size, int) and size > 0:
            return size
        with open(self.file, "rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as content:
            return 1 if content.find(b"DynamicQuantize") >= 0 else None  # in the names of such operators

    def run(self, fed: Mapping[str, NDArray[np.generic]]) -> FloatArray:
        """Return the output; lack of memory is a ``MemoryError``, anything else an ``UnseenError``."""
        try:
            found: FloatArray = self.session.run([self.output], fed)[0]
            return found
        except Exception as error:  # one exception class per status code
            if "alloc" in str(error):
                raise MemoryError(str(error)) from error
            shapes = ", ".join(f"{name} {array.shape}" for name, array in fed.items())
            raise UnseenError(f"{self.file.name} cannot run on {shapes}: {one_line(error)}") from error
