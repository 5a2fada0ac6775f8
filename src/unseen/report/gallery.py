"""A gallery: the images that a model was given, grouped by what it takes them for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import UNKNOWN, LabelArray
from unseen.methods.explanation import Reason
from unseen.models.explanation import combinations, explain_samples, name_part
from unseen.models.io import Model
from unseen.models.prediction import Columns, Samples
from unseen.report.page import Document, render, save_page, script_json
from unseen.report.thumbnails import Pictures, Pixels

PAGE_BYTES = 8_000_000  # no page is larger
MOST_IMAGES = 4000  # images in a page, which a browser draws at once
TOP = 3  # classes of a sample
SHOWN_KINDS = ("unseen", UNKNOWN, "seen")  # in the order of the page
_ATTRIBUTES = 4  # that speak for a class, and as many against it


# ---- predictions -------------------------------------------------------------------------------------


class Predictions:
    """The best classes of all samples, kept while the tables of ``predict_tables`` pass.

    Parameters
    ----------
    classes : array of labels
        Of the model.
    labels : array of labels, optional
        The true classes of the samples.
    """

    def __init__(self, classes: LabelArray, labels: LabelArray | None = None) -> None:
        known = [*map(str, classes), UNKNOWN]
        true = [] if labels is None else [str(label) for label in labels]
        self.classes = [*known, *sorted(set(true) - set(known))]  # of the model, unknown, and others
        # a class of the model may be called unknown, too: the first place counts
        self.place = {name: i for i, name in reversed([*enumerate(self.classes)])}
        self.true = None if labels is None else np.array([self.place[name] for name in true], np.intp)
        self.names: list[str] = []  # of the samples
        self._blocks: list[tuple[IndexArray, FloatArray]] = []

    def watch(self, tables: Iterable[Columns]) -> Iterator[Columns]:
        """Yield the tables unchanged, and keep the best classes."""
        suffixes = ["", *(f"_{rank}" for rank in range(2, TOP + 1))]
        for table in tables:
            used = [suffix for suffix in suffixes if f"class{suffix}" in table]
            best = [[self.place[str(label)] for label in table[f"class{suffix}"]] for suffix in used]
            # with a taxonomy, "probability" is that of the answer
            sure = [table.get(f"class_probability{s}", table[f"probability{s}"]) for s in used]
            self.names += map(str, table["file"] if "file" in table else table["sample"])
            self._blocks.append((np.array(best, np.intp).T, np.array(sure, np.float64).T))
            yield table

    @cached_property
    def best(self) -> IndexArray:
        """The best classes as positions in ``classes``, (samples, top)."""
        return np.concatenate([best for best, _ in self._blocks])

    @cached_property
    def sure(self) -> FloatArray:
        """Their probabilities, (samples, top)."""
        return np.concatenate([sure for _, sure in self._blocks])

    @cached_property
    def wrong(self) -> BoolArray:
        """Which samples are predicted wrongly; none if the true classes are not known."""
        best = self.best[:, 0]
        return np.zeros(len(best), bool) if self.true is None else best != self.true


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
    found, start = np.empty((len(positions), samples.shape[1])), 0
    for block in samples.blocks():
        inside = (positions >= start) & (positions < start + len(block))
        found[inside] = block[positions[inside] - start]
        start += len(block)
    return found


# ---- the page ------------------------------------------------------------------------------------------


def write_gallery(
    predictions: Predictions,
    samples: Samples,
    pictures: Pictures,
    html: str | os.PathLike[str],
    *,
    model: Model,
    title: str,
) -> Document:
    """Write the gallery as one HTML file that needs no network, and return what it shows.

    Parameters
    ----------
    predictions : Predictions
        Of all samples.
    samples : Samples
    pictures : Pictures
        How the samples look, see ``need_pictures``.
    html : path
    model : fitted method or fitted GZSLClassifierCV
    title : str
        What the samples are called.
    """
    gallery = describe_gallery(predictions, np.asarray(model.seen_))
    gallery |= {"title": title, "pixels": isinstance(pictures, Pixels), "samples": []}
    best = predictions.best[:, 0]
    unknown = best == len(model.classes_)
    first = unknown & (np.cumsum(unknown) <= MOST_IMAGES // 4)
    order = showing_order(best, predictions.sure[:, 0], predictions.wrong, first)[:MOST_IMAGES]
    room = PAGE_BYTES - len(render_gallery(gallery).encode())
    for sample in describe_samples(predictions, order, rows_at(samples, order), pictures, model):
        room -= len(script_json(sample)) + 1
        if room < 0:
            break
        gallery["samples"].append(sample)
    for group in gallery["groups"]:
        group["shown"] = sum(sample["c"][0] == group["label"] for sample in gallery["samples"])
    save_page(render_gallery(gallery), html)
    return gallery


def render_gallery(gallery: Document) -> str:
    """Return the page as text."""
    data = {name: gallery[name] for name in ("names", "unseen", "groups", "samples", "pixels")}
    return render("gallery.html", data, gallery, scripts=["gallery.js"], styles=["gallery.css"], charts=False)


def describe_gallery(predictions: Predictions, seen: BoolArray) -> Document:
    """Return the classes that are predicted, in the order of the page, and how many samples are right."""
    kinds = np.array([*np.where(seen, "seen", "unseen"), UNKNOWN])
    best, wrong, true = predictions.best[:, 0], predictions.wrong, predictions.true
    groups = [
        {
            "label": int(label),
            "kind": str(kinds[label]),
            "samples": int((best == label).sum()),
            "right": None if true is None else int((~wrong & (best == label)).sum()),
            "shown": 0,
        }
        for label in sorted(np.unique(best), key=lambda label: SHOWN_KINDS.index(kinds[label]))
    ]
    accuracy = {}
    if true is not None:
        # of samples whose class the model knows; others are of neither kind
        of_seen, of_unseen = (np.isin(true, np.flatnonzero(kind)) for kind in (seen, ~seen))
        parts = {"all": of_seen | of_unseen, "unseen": of_unseen, "seen": of_seen}
        accuracy = {kind: float(100 * np.mean(~wrong[rows])) for kind, rows in parts.items() if rows.any()}
    return {
        "total": len(best),
        "kinds": {kind: int((kinds[best] == kind).sum()) for kind in SHOWN_KINDS},
        "accuracy": accuracy,  # percent, by kind of the true class
        "names": predictions.classes,
        "unseen": (~seen).tolist(),
        "groups": groups,
    }


def describe_samples(
    predictions: Predictions, order: IndexArray, X: FloatArray, pictures: Pictures, model: Model
) -> Iterator[Document]:
    """Yield what the page shows of each sample, by short names because there are thousands of them."""
    chosen = Samples("gallery", X.shape, lambda: iter([X]))
    reasons = explain_samples(model, chosen, top=_ATTRIBUTES)
    best, sure = predictions.best, predictions.sure
    for i, x, reason in zip(order.tolist(), X, reasons):
        yield {
            "n": predictions.names[i],
            "c": best[i].tolist(),  # the best classes, positions in ``names``
            "p": [round(100 * p, 1) for p in sure[i].tolist()],  # their probabilities, percent
            "t": None if predictions.true is None else int(predictions.true[i]),  # the true class
            "i": pictures.thumbnail(i, x),
            "e": shorten_reason(reason),
        }


def shorten_reason(reason: Reason) -> Document:
    """Return a reason by short names: both classes, contributions and values of attributes, and in words.

    >>> from unseen.methods.explanation import Part
    >>> shorten_reason(Reason(0, "P", "R", 8.0, (Part("attribute", "leg", 6.0, 0.75, 0.0, 1.0),)))
    {'c': 'P', 'r': 'R', 'p': [['leg', 6.0, 0.0, 1.0]], 's': []}
    """

    def short(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.3g}")

    contributions = [part for part in reason.parts if part.contribution is not None]
    return {
        "c": str(reason.predicted),
        "r": str(reason.rival),
        "p": [[name_part(p), *map(short, (p.contribution, p.value, p.rival_value))] for p in contributions],
        "s": combinations(reason),
    }
