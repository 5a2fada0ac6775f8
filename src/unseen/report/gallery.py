"""A gallery: the images that a model was given, grouped by what it takes them for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import UNKNOWN, LabelArray
from unseen.methods.explanation import Reason
from unseen.models.explanation import combinations, name_part
from unseen.models.io import Model
from unseen.models.prediction import Samples, Table, matched_features
from unseen.report.figures import Part
from unseen.report.page import render, save_page, script_json
from unseen.report.thumbnails import Pictures, Pixels

PAGE_BYTES = 8_000_000  # no page is larger
MOST = 4000  # images in a page, which a browser draws at once
TOP = 3  # classes of a sample
KINDS = ("unseen", UNKNOWN, "seen")  # in the order of the page
_BLOCK = 256  # samples that are explained together
_ATTRIBUTES = 4  # that speak for a class, and as many against it
_SCRIPTS = ("base.js", "theme.js", "gallery.js")
_STYLES = ("style.css", "gallery.css")


class Group(TypedDict):
    """The samples that are predicted as one class."""

    label: int  # position in ``names``
    kind: str  # "unseen", "unknown" or "seen"
    samples: int
    right: int | None  # None without true classes
    shown: int


class Sample(TypedDict):
    """One image, by short names because there are thousands of them."""

    n: str  # its name
    c: list[int]  # the best classes, positions in ``names``
    p: list[float]  # their probabilities, percent
    t: int | None  # the true class
    i: str | None  # the image, a data URI
    e: Part | None  # the explanation


class Gallery(TypedDict):
    """Everything that the page shows."""

    title: str
    total: int
    kinds: dict[str, int]  # predicted samples by kind
    accuracy: dict[str, float]  # percent, by kind of the true class; empty without true classes
    names: list[str]
    unseen: list[bool]
    groups: list[Group]
    samples: list[Sample]
    pixels: bool


# ---- predictions -------------------------------------------------------------------------------------


@dataclass
class Watcher:
    """Keeps the best classes of every sample while the tables of ``predict_tables`` pass."""

    classes: LabelArray
    names: list[str] = field(default_factory=list)
    blocks: list[tuple[IndexArray, FloatArray]] = field(default_factory=list)

    def watch(self, tables: Iterable[Table]) -> Iterator[Table]:
        """Yield the tables unchanged, and keep the best classes."""
        position = {UNKNOWN: len(self.classes)} | {str(label): i for i, label in enumerate(self.classes)}
        suffixes = ["", *(f"_{rank}" for rank in range(2, TOP + 1))]
        for table in tables:
            used = [suffix for suffix in suffixes if f"class{suffix}" in table]
            best = [[position[str(label)] for label in table[f"class{suffix}"]] for suffix in used]
            # with a taxonomy, "probability" is that of the answer
            sure = [table.get(f"class_probability{s}", table[f"probability{s}"]) for s in used]
            self.names += map(str, table["file"] if "file" in table else table["sample"])
            self.blocks.append((np.array(best, np.intp).T, np.array(sure, np.float64).T))
            yield table

    def predictions(self, labels: LabelArray | None = None) -> Predictions:
        """Return what was kept, with the true classes if they are known."""
        best, sure = (np.concatenate(part) for part in zip(*self.blocks))
        names = [*map(str, self.classes), UNKNOWN]
        if labels is None:
            return Predictions(self.names, best, sure, names)
        others = sorted(set(map(str, labels)) - set(names))
        position = {name: i for i, name in reversed([*enumerate([*names, *others])])}
        true = np.array([position[str(label)] for label in labels], np.intp)
        return Predictions(self.names, best, sure, [*names, *others], true)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The best classes of all samples, as positions in ``classes``: of the model, unknown, and others."""

    names: Sequence[str]  # of the samples
    best: IndexArray  # (samples, top)
    sure: FloatArray  # (samples, top), probabilities
    classes: Sequence[str]
    true: IndexArray | None = None  # (samples,)

    @property
    def wrong(self) -> BoolArray:
        """Which samples are predicted wrongly; none if the true classes are not known."""
        return np.zeros(len(self.best), bool) if self.true is None else self.best[:, 0] != self.true


# ---- which samples are shown ---------------------------------------------------------------------------


def showing_order(best: IndexArray, sure: FloatArray, wrong: BoolArray, first: BoolArray) -> IndexArray:
    """Return the samples in the order in which they are shown if not all can be.

    The samples ``first`` come before all others. Then classes take turns. Of each class come the wrong
    samples, then the surest, the least sure, the second surest and so on.

    >>> best, none = np.array([0, 0, 0, 1]), np.zeros(4, bool)
    >>> showing_order(best, np.array([0.9, 0.5, 0.7, 0.8]), none, none)
    array([0, 3, 1, 2])
    """
    rank = np.zeros(len(best), np.intp)
    for label in np.unique(best):
        rows = np.flatnonzero(best == label)
        rows = rows[np.lexsort([-sure[rows], ~wrong[rows]])]
        n_wrong = int(wrong[rows].sum())
        right = rows[n_wrong:]
        from_both_ends = np.ravel([right, right[::-1]], order="F")[: len(right)]
        rank[np.concatenate([rows[:n_wrong], from_both_ends])] = np.arange(len(rows))
    return np.lexsort([best, rank, ~first])


def rows_at(samples: Samples, positions: IndexArray) -> FloatArray:
    """Return the features of some samples; the others are read and dropped."""
    order = np.argsort(positions)
    wanted, found, start = positions[order], [], 0
    for block in samples.blocks():
        inside = wanted[(wanted >= start) & (wanted < start + len(block))]
        found.append(np.asarray(block)[inside - start])
        start += len(block)
    rows = np.concatenate(found)
    result: FloatArray = np.empty_like(rows)
    result[order] = rows
    return result


# ---- the page ------------------------------------------------------------------------------------------


def write_gallery(
    predictions: Predictions,
    samples: Samples,
    pictures: Pictures,
    html: str | os.PathLike[str],
    *,
    model: Model,
    title: str,
) -> Gallery:
    """Write the gallery as one HTML file that needs no network, and return what it shows.

    Parameters
    ----------
    predictions : Predictions
        Of all samples.
    samples : Samples
    pictures : Pictures
        How the samples look, see ``find_pictures``.
    html : path
    model : fitted method or fitted GZSLClassifierCV
    title : str
        What the samples are called.
    """
    gallery = describe_gallery(predictions, title, np.asarray(model.seen_), isinstance(pictures, Pixels))
    unknown = predictions.best[:, 0] == len(model.classes_)
    first = unknown & (np.cumsum(unknown) <= MOST // 4)
    order = showing_order(predictions.best[:, 0], predictions.sure[:, 0], predictions.wrong, first)[:MOST]
    room = PAGE_BYTES - len(render_gallery(gallery).encode())
    X = rows_at(samples, order)
    for sample in describe_samples(predictions, order, X, pictures, model):
        room -= len(script_json(sample)) + 1
        if room < 0:
            break
        gallery["samples"].append(sample)
    for group in gallery["groups"]:
        group["shown"] = sum(sample["c"][0] == group["label"] for sample in gallery["samples"])
    save_page(render_gallery(gallery), html)
    return gallery


def describe_gallery(predictions: Predictions, title: str, seen: BoolArray, pixels: bool) -> Gallery:
    """Return the gallery without its images."""
    kinds = np.array([*np.where(seen, "seen", "unseen"), UNKNOWN])
    best, wrong = predictions.best[:, 0], predictions.wrong
    groups: list[Group] = [
        {
            "label": int(label),
            "kind": str(kinds[label]),
            "samples": int((rows := best == label).sum()),
            "right": None if predictions.true is None else int((~wrong & rows).sum()),
            "shown": 0,
        }
        for label in sorted(np.unique(best), key=lambda label: KINDS.index(kinds[label]))
    ]
    return {
        "title": title,
        "total": len(best),
        "kinds": {kind: int((kinds[best] == kind).sum()) for kind in KINDS},
        "accuracy": _accuracy(predictions, seen),
        "names": list(predictions.classes),
        "unseen": [*(~seen).tolist()],
        "groups": groups,
        "samples": [],
        "pixels": pixels,
    }


def _accuracy(predictions: Predictions, seen: BoolArray) -> dict[str, float]:
    """Return the accuracy in percent by kind of the true class."""
    if predictions.true is None:
        return {}
    known = predictions.true < len(seen)
    is_seen = seen[np.where(known, predictions.true, 0)]
    parts = {"all": known, "unseen": known & ~is_seen, "seen": known & is_seen}
    return {
        kind: float(100 * np.mean(~predictions.wrong[rows])) for kind, rows in parts.items() if rows.any()
    }


def describe_samples(
    predictions: Predictions, order: IndexArray, X: FloatArray, pictures: Pictures, model: Model
) -> Iterator[Sample]:
    """Yield what the page shows of each sample; explanations are made for a block of samples at a time."""
    for start in range(0, len(order), _BLOCK):
        rows = slice(start, start + _BLOCK)
        for i, x, reason in zip(order[rows].tolist(), X[rows], explain(model, X[rows])):
            yield {
                "n": predictions.names[i],
                "c": predictions.best[i].tolist(),
                "p": [round(100 * p, 1) for p in predictions.sure[i].tolist()],
                "t": None if predictions.true is None else int(predictions.true[i]),
                "i": pictures.thumbnail(i, x),
                "e": reason,
            }


def explain(model: Model, X: FloatArray) -> Sequence[Part | None]:
    """Return why each sample is of its class and not of the next one; None if there is only one class."""
    if len(model.classes_) < 2:
        return [None] * len(X)
    with matched_features():
        return [describe_reason(reason) for reason in model.explain(X, top=_ATTRIBUTES).rows]


def describe_reason(reason: Reason) -> Part:
    """Return a reason by short names: both classes, contributions and values of attributes, and in words.

    >>> from unseen.methods.explanation import Part as One
    >>> describe_reason(Reason(0, "P", "R", 8.0, (One("attribute", "leg", 6.0, 0.75, 0.0, 1.0),)))
    {'c': 'P', 'r': 'R', 'p': [['leg', 6.0, 0.0, 1.0]], 's': []}
    """
    contributions = [part for part in reason.parts if part.contribution is not None]
    return {
        "c": str(reason.predicted),
        "r": str(reason.rival),
        "p": [[name_part(p), *map(_short, (p.contribution, p.value, p.rival_value))] for p in contributions],
        "s": combinations(reason),
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def render_gallery(gallery: Gallery) -> str:
    """Return the page as text."""
    needed = ("names", "unseen", "groups", "samples", "pixels")
    data = {name: value for name, value in gallery.items() if name in needed}
    return render("gallery.html", _SCRIPTS, data, styles=_STYLES, charts=False, **gallery)
