"""Data sets by name or path, all through ``load_dataset``; every format is a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from unseen._core.prototypes import Descriptions
from unseen._core.tables import is_table
from unseen.datasets.dataset import ZeroShotDataset, hold_out
from unseen.datasets.digits import load_digits
from unseen.datasets.download import find_downloaded
from unseen.datasets.letters import load_letters
from unseen.datasets.own import is_folder, is_npz, load_folder, load_npz
from unseen.datasets.synthetic import load_synthetic
from unseen.datasets.tables import load_table
from unseen.datasets.xlsa17 import is_xlsa17, load_xlsa17
from unseen.errors import UnseenError, did_you_mean

__all__ = ["ZeroShotDataset", "load_dataset"]

Loader = Callable[..., ZeroShotDataset]  # its keyword arguments are the options it takes
# the first one is the default of the commands
EMBEDDED: dict[str, Loader] = {"letters": load_letters, "digits": load_digits, "synthetic": load_synthetic}
# the first format whose test accepts the path reads it
READERS: tuple[tuple[Callable[[Path], bool], Loader], ...] = (
    (is_npz, load_npz),
    (is_table, load_table),
    (is_xlsa17, load_xlsa17),
    (is_folder, load_folder),
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
    loader = EMBEDDED.get(str(name_or_path)) or _find_reader(name_or_path)
    given = {"split_dir": split_dir, "prototypes": prototypes, "unseen_classes": unseen_classes}
    given |= {"label": label, "ignore": ignore, "features_glob": features_glob}
    options = {name: value for name, value in given.items() if value is not None} | generator_options
    taken = signature(loader).parameters
    chosen = None if "unseen_classes" in taken else options.pop("unseen_classes", None)
    for name in options:
        if name not in taken:
            known = ", ".join(taken) or "no options"
            raise UnseenError(f"{name_or_path} does not take {name}=; it takes {known}.")
    if "features" in taken:
        options["features"] = features
    data = loader(**options)
    if chosen is not None:
        data = hold_out(data, chosen)
    if require_features and data.missing:
        raise UnseenError(data.missing[0])
    return data


def _find_reader(name_or_path: str | PathLike[str]) -> Loader:
    """Return what reads the path, or the data set that was downloaded by this name."""
    path = Path(name_or_path)
    if not path.exists():
        path = find_downloaded(str(name_or_path)) or path
    for accepts, read in READERS:
        if accepts(path):
            return partial(read, path)
    problem = "is not a data set" if path.exists() else "does not exist"
    raise UnseenError(
        f"{path} {problem}: expected {', '.join(EMBEDDED)}, the name of a downloaded data set such as CUB, "
        f"an xlsa17 folder, a .npz file, a table (.csv, .parquet), or a folder with features.npy or images."
        f"{did_you_mean(str(path), EMBEDDED)}"
    )
