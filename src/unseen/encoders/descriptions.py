"""From class names and sentences to prototypes: lists of classes, templates, and the file to write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from unseen._core.csv_files import write_csv
from unseen._core.files import read_lines, write_npz
from unseen._core.prototypes import Encoder, Prototypes
from unseen._core.tables import read_csv
from unseen.datasets.features import EncoderCard, encoder_array
from unseen.encoders.text import TextEncoder
from unseen.errors import UnseenError, expect

TEMPLATE = "a photo of a {}."
CLASS_COLUMNS = ("class", "classes", "class_name", "label", "name")  # headers of a list of class names
LIST_FILES = (".csv", ".txt", ".npz", ".parquet")  # a name that ends like this is that of a file
Texts = Mapping[str, Sequence[str]]  # class -> its descriptions; none if only the name is known


# ---- lists of classes ------------------------------------------------------------------------------


def read_classes(source: str | PathLike[str]) -> dict[str, list[str]]:
    """Return the classes of a list, a table or an image folder, each with its descriptions, if it has any.

    Parameters
    ----------
    source : str or path
        A folder whose subfolders are classes; a text file with one name per line; a CSV with a header and
        the columns class and description, with one or several lines per class; or one name, or several
        separated by commas.
    """
    path = Path(source)
    if os.path.isdir(path):  # unlike the methods of Path, False for text that is too long for a name
        names = sorted(entry.name for entry in path.iterdir() if entry.is_dir() and entry.name[0] != ".")
        return _once(names, str(path))
    if os.path.isfile(path):
        return _read_table(path) if path.suffix == ".csv" else _once(read_lines(path), str(path))
    names = str(source).split(",")
    looks_like_path = path.suffix in LIST_FILES or len(path.parts) > 1
    if isinstance(source, PathLike) or (len(names) == 1 and looks_like_path):
        raise UnseenError(
            f"There is no file or folder {str(source)!r}. Give class names, a list of them, a CSV, or an "
            "image folder."
        )
    return _once([name.strip() for name in names], "The list")


def _once(names: Iterable[str], where: str) -> dict[str, list[str]]:
    """Return the names as classes without descriptions; each must be there once."""
    found: dict[str, list[str]] = {}
    for name in names:
        if not name:
            raise UnseenError(f"{where} has an empty class name.")
        if name in found:
            raise UnseenError(f"{where} names the class {name!r} twice. Name it once.")
        found[name] = []
    if not found:
        raise UnseenError(f"{where} names no class.")
    return found


def _read_table(path: Path) -> dict[str, list[str]]:
    table = read_csv(path)
    columns = table.columns
    if len(columns) > 2:
        raise UnseenError(
            f"{path} has the columns {', '.join(columns)}, expected class, or class and description."
        )
    header = next(iter(columns))
    names = table.text(header)
    if len(columns) == 1:  # perhaps without a header
        return _once([*([] if header.lower() in CLASS_COLUMNS else [header]), *names.tolist()], str(path))
    found: dict[str, list[str]] = {}
    for name, text in zip(names.tolist(), list(columns.values())[1].tolist()):
        found.setdefault(name, []).append(text)
    return found


# ---- from words to prototypes ----------------------------------------------------------------------


def spoken_name(name: str) -> str:
    """Return a class name as it is said in a sentence: without number, underscores and plus signs.

    >>> spoken_name("002.Laysan_Albatross"), spoken_name("grizzly+bear"), spoken_name("747-400")
    ('Laysan Albatross', 'grizzly bear', '747-400')
    """
    words = re.sub(r"^\d+[._ ]+(?=\D)", "", name)
    return " ".join(re.split(r"[_+\s]+", words)).strip() or name


def fill_templates(classes: Texts, templates: Sequence[str] = (TEMPLATE,)) -> dict[str, list[str]]:
    """Return the sentences of every class: its descriptions, or its name in each template.

    >>> fill_templates({"blue_jay": [], "owl": ["a bird of the night"]}, ["a photo of a {}.", "a {}"])
    {'blue_jay': ['a photo of a blue jay.', 'a blue jay'], 'owl': ['a bird of the night']}
    """
    for template in templates:
        expect("template", template, template.count("{}") == 1, "{} once, where the class name goes")
    return {
        name: list(said) or [template.replace("{}", spoken_name(name)) for template in templates]
        for name, said in classes.items()
    }


def read_templates(given: Sequence[str]) -> list[str]:
    """Return templates; the name of a text file stands for its lines."""
    found: list[str] = []
    for text in given:
        path = Path(text)
        found += read_lines(path) if "{}" not in text and os.path.isfile(text) else [text]
    return found


def describe_classes(
    classes: Texts, encoder: str | PathLike[str] | Encoder, *, templates: Sequence[str] = (TEMPLATE,)
) -> Prototypes:
    """Return one prototype per class from its name or its descriptions.

    Parameters
    ----------
    classes : mapping from class name to descriptions
        A class without descriptions is described by its name in the templates.
    encoder : str, path or callable
        A text encoder in ONNX format, see ``unseen.encoders.text.TextEncoder``; or a callable from a list of
        texts to one row per text, or an object with such a method ``encode``, as sentence-transformers have.
    templates : sequence of str
        Sentences with ``{}`` for the class name. Their unit embeddings are averaged, and the mean is scaled
        to unit length, as is common for CLIP.

    Examples
    --------
    >>> def count(texts):
    ...     return [[len(text), text.count("b")] for text in texts]
    >>> describe_classes({"blue_jay": [], "owl": []}, count).values.round(3)
    array([[0.999, 0.045],
           [1.   , 0.   ]])
    """
    opened = TextEncoder(encoder) if isinstance(encoder, str | PathLike) else encoder
    return Prototypes.from_text(fill_templates(classes, templates), opened)


def write_prototypes(path: str | PathLike[str], prototypes: Prototypes, encoder: EncoderCard) -> None:
    """Write prototypes as ``.csv``, or as ``.npz`` together with the encoder that made them."""
    path = Path(path)
    if path.suffix == ".npz":
        write_npz(
            path,
            prototypes=prototypes.values,
            class_names=np.array(prototypes.index, dtype=str),
            attribute_names=np.array(prototypes.columns),
            encoder=encoder_array(encoder),
        )
        return
    rows = zip(prototypes.index, prototypes.values.tolist())
    shortened = ([name, *(f"{value:.9g}" for value in row)] for name, row in rows)
    write_csv(path, [["class", *prototypes.columns], *shortened])
