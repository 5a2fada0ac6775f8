"""From words to embeddings: text encoders in ONNX format and Python callables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from unseen._core.arrays import as_array
from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.progress import progress
from unseen.datasets.features import EncoderCard
from unseen.encoders._onnx import Node, Tensor, find_output, open_session, run_session, signature
from unseen.encoders.references import Config, ModelFiles, Reference, find_model
from unseen.errors import UnseenError, import_extra, one_line

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# input of a text encoder -> the attribute of a tokenizer's Encoding
TOKEN_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
TEXTS_AT_ONCE = 64
TOKENS_AT_ONCE = 8192
# trained with padding to the full length and without an attention mask
PADDED_TO_THE_END = ("siglip", "siglip2")
# model types that count positions from the padding token on: two of them hold no token
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")


class TruncationWarning(UserWarning):
    """Texts were longer than the encoder can read."""


@runtime_checkable
class TextEmbedder(Protocol):
    """A callable from texts to embeddings that says which encoder it is."""

    def __call__(self, texts: list[str]) -> FloatArray: ...

    def describe(self) -> EncoderCard: ...


# a reference, a Python callable or an object with a method ``encode``, or an encoder that is open already
AnyTextEncoder = Reference | Callable[[list[str]], object] | TextEmbedder | object


def open_text_encoder(
    encoder: AnyTextEncoder, *, variant: str | None = None, quiet: bool = True
) -> TextEmbedder:
    """Return a text encoder by name, or wrap a Python object.

    Parameters
    ----------
    encoder : str, path, callable or object with a method ``encode``
        An ONNX file, a folder in Hugging Face layout, ``hf:owner/name[@revision]``; or a callable from a list
        of texts to one row per text, or an object with such a method ``encode``, as sentence-transformers
        have. Torch tensors are fine.
    variant : str, optional
        Suffix of the ONNX file, such as ``"quantized"``.
    quiet : bool
        Show no progress.

    Examples
    --------
    >>> count = open_text_encoder(lambda texts: [[len(text), text.count("b")] for text in texts])
    >>> count(["blue bird", "owl"])
    array([[9, 2],
           [3, 0]])
    """
    if isinstance(encoder, str | PathLike):
        return TextEncoder(encoder, variant=variant, quiet=quiet)
    if isinstance(encoder, TextEmbedder):
        return encoder
    function = getattr(encoder, "encode", encoder)
    if not callable(function):
        raise UnseenError(
            f"Got an encoder of type {type(encoder).__name__}, expected a path, hf:owner/name or a callable."
        )
    return CallableTextEncoder(function, type(encoder).__qualname__)


@dataclass(frozen=True)
class CallableTextEncoder:
    """A Python function from texts to embeddings, called with a bounded number of texts at a time."""

    function: Callable[[list[str]], object]
    name: str

    def __call__(self, texts: list[str]) -> FloatArray:
        """Return the embeddings (n_texts, width)."""
        blocks = [texts[block] for block in row_blocks(len(texts), 1024)]
        return np.concatenate([as_array(self.function(block)) for block in blocks])

    def describe(self) -> EncoderCard:
        """Return the name of the callable, all that is known of it."""
        return {"name": self.name}


class TextEncoder:
    """A text encoder in ONNX format: a callable from a list of texts to their embeddings.

    A model that takes strings gets the texts unchanged. A model that takes token numbers needs the
    ``tokenizer.json`` that its authors publish with it. Padding and truncation are those of the tokenizer;
    if it says nothing, texts are cut at the length that the model takes, and are batched by length so
    that they need no padding. An embedding does not depend on the texts beside it.

    Parameters
    ----------
    reference : str or path
        An ONNX file, a folder in Hugging Face layout, or ``hf:owner/name[@revision]``.
    tokenizer : path of a ``tokenizer.json``, optional
        By default the one beside the model.
    output : str, optional
        Name of the output. By default the first with two dimensions, or else the first, whose tokens are
        pooled as ``1_Pooling/config.json`` says, or else averaged.
    variant : str, optional
        Suffix of the ONNX file, such as ``"quantized"``.
    quiet : bool
        Show no progress.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        tokenizer: str | PathLike[str] | None = None,
        output: str | None = None,
        variant: str | None = None,
        quiet: bool = True,
    ) -> None:
        self.files = find_model(reference, "text", variant)
        self.file = self.files.model
        self.session = open_session(self.file)
        self.pooling = read_pooling(self.files)
        self.output = find_output(self.session, output or self._pooled_output(), self.file)
        self.tokenizer_file = Path(tokenizer) if tokenizer else _find_tokenizer(self.files)
        self.quiet = quiet

    def _pooled_output(self) -> str | None:
        """Return the output that a sentence encoder's own pooling applies to; None if it has no such rule."""
        if self.pooling is None:
            return None
        outputs = self.session.get_outputs()
        done = [entry.name for entry in outputs if entry.name == "sentence_embedding"]
        return next(iter(done + [entry.name for entry in outputs if len(entry.shape) == 3]), None)

    def describe(self) -> EncoderCard:
        """Return what identifies the encoder."""
        return {**self.files.describe(), "output": self.output, "pooling": self.pooling or "mean"}

    def __call__(self, texts: list[str]) -> FloatArray:
        """Return the embeddings (n_texts, width)."""
        entries = self.session.get_inputs()
        texts = list(texts)
        if not texts:
            raise UnseenError("There is no text to embed.")
        if [entry.type for entry in entries] == ["tensor(string)"]:
            return self._embed_strings(entries[0].name, texts)
        if not {entry.name for entry in entries} <= set(TOKEN_INPUTS):
            raise UnseenError(
                f"{self.file.name} takes {signature(entries)}, expected a text encoder: strings, or "
                f"{', '.join(TOKEN_INPUTS)}."
            )
        return self._embed_tokens(entries, self._tokenize(texts, _fixed_size(entries, axis=1)))

    def _embed_strings(self, name: str, texts: list[str]) -> FloatArray:
        blocks = (np.array(texts[block], dtype=object) for block in row_blocks(len(texts), TEXTS_AT_ONCE))
        with progress(len(texts), "Embedding texts", unit="texts", quiet=self.quiet) as advance:
            rows = []
            for block in blocks:
                rows.append(self._run({name: block}))
                advance(len(block), "")
        return np.concatenate(rows)

    def _embed_tokens(self, entries: Sequence[Node], encoded: Sequence[Encoding]) -> FloatArray:
        lengths = np.array([len(text.ids) for text in encoded])
        rows: list[FloatArray] = []
        order: list[int] = []
        with progress(len(encoded), "Embedding texts", unit="texts", quiet=self.quiet) as advance:
            for batch in batch_by_length(lengths, _fixed_size(entries, axis=0)):
                rows.append(self._embed_batch(entries, [encoded[i] for i in batch]))
                order.extend(batch)
                advance(len(batch), "")
        return np.concatenate(rows)[np.argsort(order)]

    def _embed_batch(self, entries: Sequence[Node], texts: Sequence[Encoding]) -> FloatArray:
        """Return the embeddings of texts of one length; a fixed batch is filled with copies of the last."""
        filled = [*texts, *[texts[-1]] * ((_fixed_size(entries, axis=0) or len(texts)) - len(texts))]
        fed: dict[str, Tensor] = {}
        for entry in entries:
            kind = np.int32 if entry.type == "tensor(int32)" else np.int64
            fed[entry.name] = np.array([getattr(text, TOKEN_INPUTS[entry.name]) for text in filled], kind)
        mask = np.array([text.attention_mask for text in filled], np.float64)
        return self._run(fed, mask)[: len(texts)]

    def _run(self, fed: Mapping[str, Tensor], mask: FloatArray | None = None) -> FloatArray:
        found = run_session(self.session, self.file, self.output, fed)
        if found.ndim == 3 and mask is not None:
            return pool_tokens(found, mask, self.pooling or "mean")
        return found

    # ---- texts to token numbers

    def _tokenize(self, texts: list[str], fixed: int | None) -> list[Encoding]:
        tokenizers = import_extra("tokenizers", "text", "A text encoder that takes token numbers")
        if not self.tokenizer_file.is_file():
            raise UnseenError(
                f"{self.file.name} takes token numbers, but there is no {str(self.tokenizer_file)!r}. "
                "Put the model's tokenizer.json beside it."
            )
        try:
            tokenizer: Tokenizer = tokenizers.Tokenizer.from_file(str(self.tokenizer_file))
            limit = _limit(tokenizer, self.files, fixed)
            _set_padding(tokenizer, self.files, fixed)
            if limit is not None:
                tokenizer.enable_truncation(**{**(tokenizer.truncation or {}), "max_length": limit})
            encoded = [tokenizer.encode(text) for text in texts]  # padding must not depend on the batch
        except Exception as error:  # the package has no exception class of its own
            raise UnseenError(
                f"{str(self.tokenizer_file)!r} is not a tokenizer that can be used: {one_line(error)}."
            ) from error
        _warn_of_truncation(encoded, limit)
        return encoded


# ---- batches ---------------------------------------------------------------------------------------


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


def pool_tokens(tokens: FloatArray, mask: FloatArray, how: str) -> FloatArray:
    """Return one row per text from (texts, tokens, width): the mean without padding, or the first token."""
    if how == "cls":
        return tokens[:, 0]
    return np.asarray(np.einsum("ntd,nt->nd", tokens, mask) / mask.sum(axis=1, keepdims=True))


def read_pooling(files: ModelFiles) -> str | None:
    """Return how ``1_Pooling/config.json`` of a sentence encoder pools tokens; None without that file."""
    config = files.config("1_Pooling/config.json")
    if not config:
        return None
    modes = [name.removeprefix("pooling_mode_") for name, on in config.items() if on is True]
    modes = [name for name in modes if name != "include_prompt"]
    known = {"mean_tokens": "mean", "cls_token": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise UnseenError(f"{files.name} pools by {' and '.join(modes) or 'nothing'}, expected mean or cls.")
    return known[modes[0]]


# ---- padding and truncation ------------------------------------------------------------------------


def _set_padding(tokenizer: Tokenizer, files: ModelFiles, fixed: int | None) -> None:
    """Pad as the tokenizer says, or else only if the model takes, or was trained with, one length."""
    stored = tokenizer.padding
    if stored is not None:
        tokenizer.enable_padding(**{**stored, "length": fixed or stored["length"]})
        return
    if fixed is None and files.config("config.json").get("model_type") in PADDED_TO_THE_END:
        fixed = _limit(tokenizer, files, None)
    if fixed is not None:
        token, number = _pad_token(tokenizer, files)
        tokenizer.enable_padding(length=fixed, pad_id=number, pad_token=token)


def _pad_token(tokenizer: Tokenizer, files: ModelFiles) -> tuple[str, int]:
    """Return (token, number) for padding: what the configuration names, else number 0."""
    said = files.config("tokenizer_config.json").get("pad_token")
    said = said.get("content") if isinstance(said, dict) else said
    known = tokenizer.token_to_id(said) if isinstance(said, str) else None
    if isinstance(said, str) and known is not None:
        return said, known
    config = files.config("config.json")
    numbers = [place.get("pad_token_id") for place in (_text_config(config), config)]
    number = next((number for number in numbers if isinstance(number, int)), 0)
    return tokenizer.id_to_token(number) or "[PAD]", number


def _limit(tokenizer: Tokenizer, files: ModelFiles, fixed: int | None) -> int | None:
    """Return how many tokens the encoder reads; None if nothing says so."""
    stored = tokenizer.truncation
    known = [fixed, stored["max_length"] if stored else None]
    if stored is None:
        known.append(_small(files.config("tokenizer_config.json").get("model_max_length")))
        known.append(_positions(files.config("config.json")))
    return min((limit for limit in known if limit is not None), default=None)


def _positions(config: Config) -> int | None:
    """Return the number of position embeddings, less those that hold no token."""
    inner = _text_config(config)
    found = _small(inner.get("max_position_embeddings"))
    return found if found is None else found - 2 * (inner.get("model_type") in OFFSET_POSITIONS)


def _text_config(config: Config) -> Config:
    """Return the part about text in the configuration of a model of images and text, else all of it."""
    inner = config.get("text_config")
    return inner if isinstance(inner, dict) else config


def _small(value: object) -> int | None:
    """Return a length; transformers writes 10^30 if it knows none."""
    return int(value) if isinstance(value, int | float) and 2 < value < 10**6 else None


def _warn_of_truncation(encoded: Sequence[Encoding], limit: int | None) -> None:
    cut = sum(bool(text.overflowing) for text in encoded)
    if cut:
        warnings.warn(
            f"{cut} of {len(encoded)} texts are too long for the encoder and were cut to {limit} tokens.",
            TruncationWarning,
            stacklevel=4,
        )


def _find_tokenizer(files: ModelFiles) -> Path:
    beside = files.model.parent / "tokenizer.json"
    return beside if beside.is_file() else files.folder / "tokenizer.json"


def _fixed_size(entries: Sequence[Node], axis: int) -> int | None:
    """Return the number of texts (axis 0) or tokens (axis 1) that the model demands, if it does."""
    sizes = (entry.shape[axis] for entry in entries if len(entry.shape) == 2)
    return next((size for size in sizes if isinstance(size, int)), None)
