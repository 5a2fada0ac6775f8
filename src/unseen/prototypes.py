"""Class descriptions from what people have: attributes in a table, words for a text encoder, or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unseen._onnx import find_output, open_session, run_session, signature
from unseen.base import FloatArray, scale_rows
from unseen.datasets.tables import read_csv, read_prototypes
from unseen.errors import UnseenError, did_you_mean, need_extra, one_line

# input of a text encoder -> what a tokenizer calls it
TOKEN_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
# from a list of texts to an array (n_texts, width)
Encoder = Callable[[list[str]], Any]


@dataclass(frozen=True, eq=False)
class Prototypes:
    """One description per class, under the name of the class; estimators take it as ``prototypes``.

    Parameters
    ----------
    index : ndarray of shape (n_classes,)
        Class labels.
    columns : tuple of str
        Attribute names.
    values : ndarray of shape (n_classes, n_attributes)

    Examples
    --------
    >>> words = {"jay": ["a blue bird", "a loud bird"], "owl": "a brown bird"}
    >>> count = lambda texts: [[len(text), text.count("b")] for text in texts]
    >>> Prototypes.from_text(words, count).values.round(2)
    array([[0.99, 0.13],
           [0.99, 0.16]])
    """

    index: NDArray[Any]
    columns: tuple[str, ...]
    values: FloatArray

    def __post_init__(self) -> None:
        labels, count = np.unique(self.index, return_counts=True)
        if (count > 1).any():
            raise UnseenError(f"Class {str(labels[count > 1][0])!r} is described twice. Describe it once.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = np.asarray(self.values, dtype=dtype)
        return values.copy() if copy else values

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def from_text(cls, descriptions: Mapping[str, str | Sequence[str]], encoder: Encoder | Any) -> Self:
        """Describe classes by the embedding of words.

        Parameters
        ----------
        descriptions : mapping from class name to a text or several
            Several texts count the same: the prototype is the mean of their unit vectors, of unit length.
        encoder : callable from a list of texts to an array (n_texts, width)
            Or an object with such a method ``encode``, as sentence-transformers have.
        """
        texts = {name: [said] if isinstance(said, str) else list(said) for name, said in descriptions.items()}
        silent = next((name for name, several in texts.items() if not several), None)
        if silent is not None:
            raise UnseenError(f"Class {silent!r} has no text. Describe it in at least one sentence.")
        rows = _encode(encoder, [text for several in texts.values() for text in several])
        ends = np.cumsum([len(several) for several in texts.values()])
        means = np.array([part.mean(axis=0) for part in np.split(rows, ends[:-1])])
        columns = tuple(f"embedding {i}" for i in range(rows.shape[1]))
        return cls(np.array(list(texts)), columns, scale_rows(means, "l2"))


def _encode(encoder: Encoder | Any, texts: list[str]) -> FloatArray:
    rows = np.asarray(getattr(encoder, "encode", encoder)(texts), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(texts):
        raise UnseenError(
            f"The text encoder gave an array of shape {rows.shape} for {len(texts)} texts, "
            "expected one row per text."
        )
    return scale_rows(rows, "l2")


def combine(sources: Sequence[Prototypes], weights: Sequence[float] | None = None) -> Prototypes:
    """Describe every class by several sources at once.

    Each source is scaled to unit length per class and to its weight, and the columns are put side by side,
    so that the similarity of two classes is the weighted sum of the similarities in each source.

    Parameters
    ----------
    sources : sequence of Prototypes
        With the same classes, in any order.
    weights : sequence of float, optional
        One per source; all 1 by default.

    Examples
    --------
    >>> seen = Prototypes(np.array(["jay", "owl"]), ("blue", "brown"), np.array([[3.0, 0.0], [0.0, 2.0]]))
    >>> heard = Prototypes(np.array(["owl", "jay"]), ("loud",), np.array([[0.0], [1.0]]))
    >>> combine([seen, heard]).values
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    if len(sources) == 1 and weights is None:
        return sources[0]
    index = sources[0].index
    parts = []
    for source, weight in zip(sources, weights or [1.0] * len(sources), strict=True):
        # s.s' = sum of w_k (s_k.s'_k)
        parts.append(np.sqrt(weight) * scale_rows(source.values[_rows_of(source, index)], "l2"))
    columns = tuple(name for source in sources for name in source.columns)
    return Prototypes(index, columns, np.hstack(parts))


def _rows_of(source: Prototypes, labels: NDArray[Any]) -> list[int]:
    """Return the row of every class in a source; both must describe the same classes."""
    row = {label: i for i, label in enumerate(source.index.tolist())}
    for these, those in ((labels.tolist(), row), (row, set(labels.tolist()))):
        missing = next((label for label in these if label not in those), None)
        if missing is not None:
            near = did_you_mean(str(missing), map(str, those))
            raise UnseenError(f"Class {str(missing)!r} is not described by every source.{near}")
    return [row[label] for label in labels.tolist()]


def align(new: Prototypes, columns: Sequence[str]) -> Prototypes:
    """Return new descriptions with their attributes in the order of ``columns``, which they must match."""
    if not columns or new.columns == tuple(columns):
        return new
    for name, others in [(name, new.columns) for name in columns] + [(name, columns) for name in new.columns]:
        if name not in others:
            known = (
                "is not an attribute of the model"
                if others is columns
                else "is missing in the new descriptions"
            )
            raise UnseenError(f"The attribute {name!r} {known}.{did_you_mean(name, others)}")
    order = [new.columns.index(name) for name in columns]
    return Prototypes(new.index, tuple(columns), new.values[:, order])


# ---- from files ------------------------------------------------------------------------------------


def read_sources(files: Sequence[str | PathLike[str]], encoder: Encoder | None = None) -> Prototypes:
    """Return the class descriptions in CSV files, several side by side (see ``combine``).

    A file has a header, the class name in the first column, and then one column per attribute; or one
    column of words for the encoder, where a class may have several lines.
    """
    return combine([_read_source(Path(file), encoder) for file in files])


def _read_source(file: Path, encoder: Encoder | None) -> Prototypes:
    header, rows = read_csv(file)
    if len(header) != 2 or all(_is_number(text) for _, text in rows):
        names, columns, values = read_prototypes(file)
        return Prototypes(np.array(names), columns, values)
    if encoder is None:
        raise UnseenError(
            f"{file} describes classes in words. Give a text encoder in ONNX format "
            "(--text-encoder FILE.onnx)."
        )
    texts: dict[str, list[str]] = {}
    for name, text in rows:
        texts.setdefault(name.strip(), []).append(text.strip())
    return Prototypes.from_text(texts, encoder)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
            fed = {entries[0].name: np.array(texts, dtype=object)}
            return self._run(fed)
        return self._embed_tokens(entries, texts)

    def _embed_tokens(self, entries: Sequence[Any], texts: list[str]) -> FloatArray:
        if not {entry.name for entry in entries} <= set(TOKEN_INPUTS):
            raise UnseenError(
                f"{self.file.name} takes {signature(entries)}, expected a text encoder: strings, or "
                f"{', '.join(TOKEN_INPUTS)}."
            )
        encoded = self._tokenize(texts)
        fed = {}
        for entry in entries:
            kind = np.int32 if entry.type == "tensor(int32)" else np.int64
            fed[entry.name] = np.array([getattr(text, TOKEN_INPUTS[entry.name]) for text in encoded], kind)
        return self._run(fed, np.array([text.attention_mask for text in encoded]))

    def _run(self, fed: dict[str, NDArray[Any]], mask: NDArray[Any] | None = None) -> FloatArray:
        found = run_session(self.session, self.file, self.output, fed)
        if found.ndim == 3 and mask is not None:
            # mean over the tokens of the text, without the padding
            return np.einsum("ntd,nt->nd", found, mask) / mask.sum(axis=1, keepdims=True)
        return found

    def _tokenize(self, texts: list[str]) -> list[Any]:
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
        except Exception as error:  # the package has no class of its own for them
            raise UnseenError(
                f"{str(self.tokenizer_file)!r} is not a tokenizer that can be used: {one_line(error)}."
            ) from error
