"""From words to embeddings: any text encoder in ONNX format."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.encoders._onnx import Node, Tensor, find_output, open_session, run_session, signature
from unseen.errors import UnseenError, need_extra, one_line

if TYPE_CHECKING:
    from tokenizers import Encoding

# input of a text encoder -> what a tokenizer calls it
TOKEN_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


class TextEncoder:
    """A text encoder in ONNX format: a callable from a list of texts to their embeddings.

    A model that takes strings gets the texts as they are. A model that takes token numbers needs the
    ``tokenizer.json`` that its authors publish with it, beside the model or given.

    Parameters
    ----------
    file : path of the ONNX file
    tokenizer : path of a ``tokenizer.json``, optional
    output : str, optional
        Name of the output. By default the first with two dimensions, or else the first, which is then
        averaged over the tokens of each text.
    """

    def __init__(
        self,
        file: str | PathLike[str],
        *,
        tokenizer: str | PathLike[str] | None = None,
        output: str | None = None,
    ) -> None:
        self.file = Path(file)
        self.session = open_session(self.file)
        self.output = find_output(self.session, output, self.file)
        self.tokenizer_file = Path(tokenizer or self.file.parent / "tokenizer.json")

    def __call__(self, texts: list[str]) -> FloatArray:
        """Return the embeddings (n_texts, width)."""
        entries = self.session.get_inputs()
        if [entry.type for entry in entries] == ["tensor(string)"]:
            return self._run({entries[0].name: np.array(texts, dtype=object)})
        return self._embed_tokens(entries, texts)

    def _embed_tokens(self, entries: Sequence[Node], texts: list[str]) -> FloatArray:
        if not {entry.name for entry in entries} <= set(TOKEN_INPUTS):
            raise UnseenError(
                f"{self.file.name} takes {signature(entries)}, expected a text encoder: strings, or "
                f"{', '.join(TOKEN_INPUTS)}."
            )
        encoded = self._tokenize(texts)
        fed: dict[str, Tensor] = {}
        for entry in entries:
            kind = np.int32 if entry.type == "tensor(int32)" else np.int64
            fed[entry.name] = np.array([getattr(text, TOKEN_INPUTS[entry.name]) for text in encoded], kind)
        return self._run(fed, np.array([text.attention_mask for text in encoded], np.float64))

    def _run(self, fed: dict[str, Tensor], mask: FloatArray | None = None) -> FloatArray:
        found = run_session(self.session, self.file, self.output, fed)
        if found.ndim == 3 and mask is not None:
            # mean over the tokens of the text, without the padding
            return np.asarray(np.einsum("ntd,nt->nd", found, mask) / mask.sum(axis=1, keepdims=True))
        return found

    def _tokenize(self, texts: list[str]) -> list[Encoding]:
        try:
            import tokenizers
        except ImportError:
            raise need_extra("tokenizers", "text", "A text encoder that takes token numbers") from None
        if not self.tokenizer_file.is_file():
            raise UnseenError(
                f"{self.file.name} takes token numbers, but there is no {str(self.tokenizer_file)!r}. "
                "Put the model's tokenizer.json beside it."
            )
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(self.tokenizer_file))
            tokenizer.enable_padding()
            return tokenizer.encode_batch(texts)
        except Exception as error:  # the package has no exception class of its own
            raise UnseenError(
                f"{str(self.tokenizer_file)!r} is not a tokenizer that can be used: {one_line(error)}."
            ) from error
