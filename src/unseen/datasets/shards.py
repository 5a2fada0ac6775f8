"""Features in many files: .npy or Parquet shards, one after another, read when they are needed."""

from __future__ import annotations

import glob
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BLOCK
from unseen._core.npz import map_npy
from unseen._core.rows import Rows, release_pages
from unseen.errors import UnseenError, import_extra, one_line


def find_shards(pattern: str, folder: Path) -> list[Path]:
    """Return the files in a folder that a glob pattern names, part2 before part10."""
    found = [folder / name for name in glob.glob(pattern, root_dir=folder, recursive=True)]
    if not found:
        raise UnseenError(
            f"No file in {folder} matches {pattern!r}. Quote the pattern, such as 'shards/*.npy'."
        )
    for path in found:
        if path.suffix not in (".npy", ".parquet"):
            raise UnseenError(f"{path} is not a shard of features: expected .npy or .parquet files.")
    return sorted(found, key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by their value."""
    words = re.split(r"(\d+)", str(path))
    return [(int(word), "") if word.isdecimal() else (0, word) for word in words]


def open_shards(files: Sequence[Path]) -> Rows:
    """Return the rows of all shards in this order; they stay on disk."""
    return Rows([_map_parquet(path) if path.suffix == ".parquet" else map_npy(path) for path in files])


def _map_parquet(path: Path) -> NDArray[Any]:
    """Return the numbers of a Parquet file, memory-mapped: from an unnamed temporary file.

    A row of a Parquet file cannot be read alone, so the file is converted once, in blocks of rows.
    """
    parquet = import_extra("pyarrow.parquet", "pandas", "Reading Parquet")
    from pyarrow import ArrowException

    try:
        with parquet.ParquetFile(path) as table, tempfile.TemporaryFile() as file:
            schema, shape = table.schema_arrow, (table.metadata.num_rows, table.metadata.num_columns)
            dtype = np.result_type(np.float32, *(_number_type(path, field) for field in schema))
            X = np.memmap(file, dtype=dtype, mode="w+", shape=shape)
            start = 0
            for batch in table.iter_batches(batch_size=BLOCK):
                for number, column in enumerate(batch.columns):
                    X[start : start + len(batch), number] = column.to_numpy(zero_copy_only=False)
                start += len(batch)
                release_pages(X)
            return X
    except (ArrowException, OSError, ValueError) as error:
        raise UnseenError(f"Cannot read {path} ({one_line(error)}). Write the shard again.") from error


def _number_type(path: Path, field: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(field.type.to_pandas_dtype())
    if dtype.kind not in "fiub":
        raise UnseenError(
            f"Column {field.name!r} of {path} is {field.type}, expected numbers. Keep nothing but features "
            "in the shards; labels belong in labels.csv."
        )
    return dtype
