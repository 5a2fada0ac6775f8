"""Data sets by name or path, all through ``load_dataset``; every format is a module."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from unseen._core.prototypes import Descriptions
from unseen._core.tables import is_table
from unseen.datasets.dataset import ZeroShotDataset, hold_out
from unseen.datasets.download import find_downloaded
from unseen.datasets.own import is_folder, is_npz
from unseen.datasets.xlsa17 import is_xlsa17
from unseen.errors import UnseenError, did_you_mean

__all__ = ["ZeroShotDataset", "load_dataset"]

_SIZES = ("n_samples", "n_features", "n_classes", "n_attributes", "random_state")


@dataclass(frozen=True)
class Source:
    """Where data comes from: the function that loads it and the options it takes."""

    loader: str  # module:function
    options: tuple[str, ...] = ()


# name -> what loads or generates the data; the first one is the default of the commands
EMBEDDED = {
    "letters": Source("unseen.datasets.letters:load_letters"),
    "digits": Source("unseen.datasets.digits:load_digits"),
    "synthetic": Source("unseen.datasets.synthetic:load_synthetic", _SIZES),
}
# the first format whose test accepts the path reads it
READERS: tuple[tuple[Callable[[Path], bool], Source], ...] = (
    (is_npz, Source("unseen.datasets.own:load_npz", ("prototypes", "unseen_classes"))),
    (
        is_table,
        Source("unseen.datasets.tables:load_table", ("label", "prototypes", "ignore", "unseen_classes")),
    ),
    (is_xlsa17, Source("unseen.datasets.xlsa17:load_xlsa17", ("features", "split_dir"))),
    (is_folder, Source("unseen.datasets.own:load_folder", ("prototypes", "unseen_classes", "features_glob"))),
)


def load_dataset(
    name_or_path: str | PathLike[str],
    *,
    features: str = "res101",
    split_dir: str | PathLike[str] | None = None,
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
    label: str | None = None,
    ignore: Sequence[str] | None = None,
    features_glob: str | None = None,
    require_features: bool = True,
    **generator_options: Any,
) -> ZeroShotDataset:
    """Return a data set by name or path.

    Parameters
    ----------
    name_or_path : str or path
        ``letters``, ``digits``, ``synthetic``, a downloaded data set such as ``CUB``, an xlsa17 folder, a
        ``.npz``, a folder with ``features.npy``, or a table of samples (``.csv``, ``.parquet``).
    features : str
        Name of the feature file in an xlsa17 folder.
    split_dir : path, optional
        Another folder with ``att_splits.mat`` and class lists, for an xlsa17 folder.
    prototypes : path, DataFrame, mapping or Prototypes, optional
        Class descriptions for your own data: a CSV, a table indexed by class name, or a mapping from class
        name to attributes.
    unseen_classes : sequence of str, optional
        Names of the unseen classes, instead of those that the data set names. Embedded data and xlsa17
        folders then get a split of their own.
    label : str, optional
        Column of a table with the class of every sample; by default its only column of text. Columns of
        numbers are the features.
    ignore : sequence of str, optional
        Columns of a table to leave out.
    features_glob : str, optional
        Pattern of the files with the features of a folder, instead of its ``features.npy``: ``.npy``
        shards, one after another in the order of their names (part2 before part10).
    require_features : bool
        False to allow a data set that is not complete (see its ``missing``).
    **generator_options
        Sizes and ``random_state`` for ``synthetic``.

    Examples
    --------
    >>> load_dataset("synthetic", n_samples=200, n_features=16, random_state=1).X.shape
    (200, 16)
    """
    path = Path(name_or_path)
    embedded = str(name_or_path) in EMBEDDED
    if not embedded and not path.exists():
        path = find_downloaded(str(name_or_path)) or path
    source = EMBEDDED[str(name_or_path)] if embedded else _find_format(path)
    given = {"split_dir": split_dir, "prototypes": prototypes, "unseen_classes": unseen_classes}
    given |= {"label": label, "ignore": ignore, "features_glob": features_glob}
    options = {name: value for name, value in given.items() if value is not None} | generator_options
    chosen = None if "unseen_classes" in source.options else options.pop("unseen_classes", None)
    for name in options:
        if name not in source.options:
            known = ", ".join(source.options) or "no options"
            raise UnseenError(f"{name_or_path} does not take {name}=; it takes {known}.")
    if "features" in source.options:
        options["features"] = features
    module, _, function = source.loader.partition(":")
    loader = getattr(importlib.import_module(module), function)
    data: ZeroShotDataset = loader(**options) if embedded else loader(path, **options)
    if chosen is not None:
        data = hold_out(data, chosen)
    if require_features and data.missing:
        raise UnseenError(data.missing[0])
    return data


def _find_format(path: Path) -> Source:
    for accepts, source in READERS:
        if accepts(path):
            return source
    known = ", ".join(EMBEDDED)
    raise UnseenError(
        f"{path} is not a data set: expected {known}, the name of a downloaded data set such as CUB, an "
        f"xlsa17 folder, a .npz file, a table (.csv, .parquet), or a folder with features.npy."
        f"{did_you_mean(str(path), EMBEDDED)}"
    )
