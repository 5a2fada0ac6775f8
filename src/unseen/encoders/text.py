"""From words to embeddings: text encoders in ONNX format."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.progress import progress
from unseen.encoders._onnx import OnnxModel
from unseen.encoders.references import ModelFiles, Reference
from unseen.errors import UnseenError, import_extra, rephrase_errors

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# input of a text encoder -> the attribute of a tokenizer's Encoding
TOKEN_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
TEXTS_AT_ONCE = 64
TOKENS_AT_ONCE = 8192
# trained with padding to the full length and without an attention mask
PADDED_TO_THE_END = ("siglip", "siglip2")
POOLING = {"mean_tokens": "mean", "cls_token": "cls"}  # in 1_Pooling/config.json, after "pooling_mode_"


class TextEncoder(OnnxModel):
    """A text encoder in ONNX format: a callable from a list of texts to their embeddings.

    The model takes token numbers, by the ``tokenizer.json`` that its authors publish with it. Padding and
    truncation are those of the tokenizer; if it says nothing, texts are cut at the length that the model
    takes, and are batched by length so that they need no padding. Tokens of a model without an output per
    text are pooled as ``1_Pooling/config.json`` says, or else averaged.

    Parameters
    ----------
    reference : str or path
        An ONNX file, a folder in Hugging Face layout, or ``hf:owner/name[@revision]``.
    variant : str, optional
        Suffix of the ONNX file in a folder, such as ``"quantized"``.
    quiet : bool
        Show no progress.
    """

    def __init__(self, reference: Reference, *, variant: str | None = None, quiet: bool = True) -> None:
        super().__init__(reference, "text", variant)
        if {(entry.name in TOKEN_INPUTS, len(entry.shape)) for entry in self.inputs} != {(True, 2)}:
            raise UnseenError(
                f"{self.file.name} takes {self.takes}, expected a text encoder: {', '.join(TOKEN_INPUTS)}."
            )
        self.batch = self.find_batch()
        tokens = self.inputs[0].shape[1]
        self.length = tokens if isinstance(tokens, int) else None  # that the model demands
        pooling = _read_pooling(self.files)
        self.output = self._pooled_output() if pooling else self.default_output()
        self.pooling = pooling or "mean"
        self.quiet = quiet

    def _pooled_output(self) -> str:
        """Return the output that a sentence encoder's own pooling applies to: of three dimensions, if any."""
        if "sentence_embedding" in self.outputs:
            return "sentence_embedding"
        return next((name for name, n in self.outputs.items() if n == 3), self.default_output())

    def __call__(self, texts: list[str]) -> FloatArray:
        """Return the embeddings (n_texts, width)."""
        encoded = self._tokenize(texts)
        if not encoded:
            raise UnseenError("There is no text to embed.")
        rows: list[FloatArray] = []
        order: list[int] = []
        with progress(len(encoded), "Embedding texts", unit="texts", quiet=self.quiet) as advance:
            for batch in batch_by_length(np.array([len(text.ids) for text in encoded]), self.batch):
                rows.append(self._embed([encoded[i] for i in batch]))
                order.extend(batch)
                advance(len(batch), "")
        return np.concatenate(rows)[np.argsort(order)]

    def _embed(self, texts: Sequence[Encoding]) -> FloatArray:
        """Return the embeddings of texts of one length; a fixed batch is filled with copies of the last."""
        filled = [*texts, *[texts[-1]] * ((self.batch or len(texts)) - len(texts))]
        fed = {}
        for entry in self.inputs:
            kind = np.int32 if entry.type == "tensor(int32)" else np.int64
            fed[entry.name] = np.array([getattr(text, TOKEN_INPUTS[entry.name]) for text in filled], kind)
        found = self.run(fed)[: len(texts)]
        if found.ndim != 3:
            return found
        if self.pooling == "cls":
            return found[:, 0]
        mask = np.array([text.attention_mask for text in texts], np.float64)  # padding does not count
        return np.asarray(np.einsum("ntd,nt->nd", found, mask) / mask.sum(axis=1, keepdims=True))

    def _tokenize(self, texts: Sequence[str]) -> list[Encoding]:
        tokenizers = import_extra("tokenizers", "text", "A text encoder")
        file = self.files.folder / "tokenizer.json"
        if not file.is_file():
            raise UnseenError(
                f"{self.file.name} takes token numbers, but there is no {str(file)!r}. Put the "
                "tokenizer.json of the model there."
            )
        with rephrase_errors(f"{str(file)!r} is not a tokenizer that can be used"):
            tokenizer: Tokenizer = tokenizers.Tokenizer.from_file(str(file))
            limit = _find_limit(tokenizer, self.files, self.length)
            _set_padding(tokenizer, self.files, self.length, limit)
            if limit is not None:
                tokenizer.enable_truncation(**{**(tokenizer.truncation or {}), "max_length": limit})
            encoded = [tokenizer.encode(text) for text in texts]  # padding must not depend on the batch
        if n_cut := sum(bool(text.overflowing) for text in encoded):
            warnings.warn(
                f"{n_cut} of {len(texts)} texts are too long for the encoder and were cut to {limit} tokens.",
                stacklevel=3,
            )
        return encoded


def batch_by_length(lengths: IndexArray, size: int | None = None) -> Iterator[list[int]]:
    """Yield the positions of texts of one length, at most ``size`` or as many as memory and speed suggest.

    >>> list(batch_by_length(np.array([3, 5, 3]), 8))
    [[0, 2], [1]]
    """
    order = np.argsort(lengths, kind="stable")
    starts = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, starts):
        n = size or max(1, min(TEXTS_AT_ONCE, TOKENS_AT_ONCE // max(1, int(lengths[group[0]]))))
        for block in row_blocks(len(group), n):
            yield group[block].tolist()


# ---- what the configuration beside a model says ------------------------------------------------------


def _read_pooling(files: ModelFiles) -> str | None:
    """Return how ``1_Pooling/config.json`` of a sentence encoder pools tokens; None without that file."""
    config = files.config("1_Pooling/config.json")
    modes = [name.removeprefix("pooling_mode_") for name, on in config.items() if on is True]
    modes = [name for name in modes if name != "include_prompt"]
    if config and (len(modes) != 1 or modes[0] not in POOLING):
        raise UnseenError(f"{files.name} pools by {' and '.join(modes) or 'nothing'}, expected mean or cls.")
    return POOLING[modes[0]] if config else None


def _find_limit(tokenizer: Tokenizer, files: ModelFiles, fixed: int | None) -> int | None:
    """Return how many tokens the encoder reads; None if nothing says so."""
    truncation, config = tokenizer.truncation or {}, files.config("config.json")
    positions = config.get("text_config", config).get("max_position_embeddings")
    length = files.config("tokenizer_config.json").get("model_max_length")
    known = [fixed, truncation.get("max_length"), length, positions]
    # transformers writes 10^30 if it knows no length
    return min((n for n in known if isinstance(n, int) and 2 < n < 10**6), default=None)


def _set_padding(tokenizer: Tokenizer, files: ModelFiles, fixed: int | None, limit: int | None) -> None:
    """Pad as the tokenizer says, or else only if the model takes, or was trained with, one length."""
    stored = tokenizer.padding
    if stored is not None:
        tokenizer.enable_padding(**{**stored, "length": fixed or stored["length"]})
        return
    to_the_end = files.config("config.json").get("model_type") in PADDED_TO_THE_END
    length = limit if to_the_end else fixed
    if length is not None:
        said = files.config("tokenizer_config.json").get("pad_token")
        token = said.get("content") if isinstance(said, dict) else said
        number = tokenizer.token_to_id(token) if isinstance(token, str) else None
        tokenizer.enable_padding(length=length, pad_id=number or 0)
