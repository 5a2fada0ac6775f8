"""Describe a class that does not exist: what a page needs to compute its row, and what that row would claim.

A row is a function of a description s. For samples x that are scaled already,

    f(x, s) = k(s) . z + k(s) . b - k(s) Q k(s)' / 2,     z = mapping x

where k(s) is s itself, or the similarities of s to the seen classes. So a page needs z of every sample that
it shows, b and Q; not the features.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.rows import choose_rows
from unseen._core.scaling import scale_rows
from unseen.datasets import ZeroShotDataset
from unseen.datasets.letters import SEGMENTS
from unseen.methods.eszsl import ESZSL
from unseen.methods.lda import LDA
from unseen.methods.linear import LinearSV, LinearVS
from unseen.methods.ranking import ALE, SJE, DeViSE
from unseen.methods.sae import SAE
from unseen.report.attributes import attribute_names
from unseen.report.thumbnails import Pictures, Pixels
from unseen.selection.rehearsal import last_step
from unseen.selection.search import GZSLClassifierCV

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier
    from unseen.report.model_document import Tested

MOST_SAMPLES = 500
MOST_NUMBERS = 300_000  # of all z, and of each matrix: about 3 MB
EXACT = 1e-6  # relative difference between scores of the page's formula and of the model
Numbers = str  # an array of float64 as text


class Drawing(TypedDict):
    """What a page needs to recognize a drawn image: the whole classifier, and how images are scaled."""

    side: int
    high: float  # the value of black ink
    inverted: bool  # ink is 0 and paper is high
    box: tuple[float, float]  # typical height and width of the ink, in pixels
    normalize: str | None
    coef: Numbers  # (classes, features), for samples that are scaled already
    intercept: Numbers  # (classes,), without calibration
    mapping: Numbers  # (class features, features), likewise
    offset: Numbers  # (class features,): z = mapping x + offset
    temperature: float


class TryClass(TypedDict):
    """Everything behind the section; arrays of numbers as text, row by row."""

    attributes: list[str]
    prototypes: Numbers  # (classes, attributes)
    low: list[float]  # of each attribute
    high: list[float]
    binary: bool  # all descriptions are 0 or 1
    segments: list[str] | None  # which segment of a display each attribute is
    kernel: str | None  # "rbf", "linear", or None if k(s) is s
    width: float  # of the RBF kernel
    seen: Numbers  # (class features, attributes), the prototypes that the kernel compares with
    linear: Numbers  # b, (class features,)
    square: Numbers | None  # Q, (class features, class features); None for 0
    size: int  # class features
    z: Numbers  # (samples, class features)
    best_seen: list[float]  # score of the best seen class of each sample, without calibration
    best_unseen: list[float | None]
    best_seen_class: list[int]
    best_unseen_class: list[int]
    true: list[int]
    images: list[str | None]
    total: int  # samples of which these were chosen
    drawing: Drawing | None


@dataclass(frozen=True, eq=False)
class RowForm:
    """The function from a description to a row, see the module."""

    mapping: FloatArray  # (class features, features)
    linear: FloatArray  # b
    square: FloatArray | None  # Q
    seen: FloatArray | None = None  # prototypes that the kernel compares with
    kernel: str | None = None
    width: float = 1.0

    def features(self, S: FloatArray) -> FloatArray:
        """Return k(s) of each row of S, (classes, class features)."""
        if self.seen is None:
            return S
        if self.kernel == "linear":
            return np.asarray(S @ self.seen.T)
        squares = ((S[:, None] - self.seen) ** 2).sum(axis=2)
        return np.asarray(np.exp(-squares / self.width))

    def scores(self, X: FloatArray, S: FloatArray) -> FloatArray:
        """Return the scores of scaled samples for classes with descriptions S, (samples, classes)."""
        k = self.features(S)
        square = 0 if self.square is None else np.einsum("ij,jk,ik->i", k, self.square, k)
        return np.asarray(X @ self.mapping.T @ k.T + k @ self.linear - square / 2)


def row_form(method: ZeroShotClassifier) -> RowForm | None:
    """Return how a fitted method makes the row of a new class; None for one whose rows have another form."""
    W = np.asarray(method.mapping_, np.float64)
    zero = np.zeros(len(W))
    if isinstance(method, LDA) and method.anchor is None:
        return _lda_form(method, W)
    if isinstance(method, LinearVS) or (isinstance(method, SAE) and method.space == "semantic"):
        return RowForm(W, zero, np.eye(len(W)))
    if isinstance(method, SAE | LinearSV):
        return RowForm(W, zero, W @ W.T)
    if isinstance(method, ESZSL):
        return RowForm(W, zero, None)
    if isinstance(method, ALE | DeViSE | SJE):
        return RowForm(W, -W @ method.shift_, None)
    return None


def _lda_form(method: LDA, W: FloatArray) -> RowForm:
    from scipy.spatial.distance import pdist

    seen = np.asarray(method.training_prototypes_, np.float64)
    median = float(np.median(pdist(seen))) if len(seen) > 1 else 0.0
    width = method.bandwidth * median**2 or 1.0
    # mu(s)' P mu(s) = k A P A' k' with mu(s) = k A and the mapping A P
    square = method.mean_mapping_ @ W.T
    return RowForm(W, -W @ method.center_, square, seen, method.kernel, width)


def scaled(method: ZeroShotClassifier, X: FloatArray) -> FloatArray:
    """Return samples as the rows of a method take them."""
    X = np.asarray(X, np.float64)
    if method.normalize == "standard":
        return np.asarray((X - method.standard_mean_) / method.standard_scale_)
    return scale_rows(X, method.normalize)


def is_exact(form: RowForm, model: GZSLClassifierCV, X: FloatArray) -> bool:
    """Return whether the form gives the model's own scores of some samples for its unseen classes."""
    method = last_step(model.estimator_)
    S = method.prototypes_[~model.seen_]
    if not len(S):
        return True
    expected = np.asarray(model.similarity(X), np.float64)[:, ~model.seen_]
    got = form.scores(scaled(method, X), S)
    return bool(np.abs(got - expected).max() <= EXACT * np.abs(expected).max())


# ---- the section -----------------------------------------------------------------------------------------


def describe_try(
    model: GZSLClassifierCV, data: ZeroShotDataset, tested: Tested, pictures: Pictures | None
) -> TryClass | None:
    """Return what the section needs; None for a method or descriptions that it cannot show."""
    method, names = model.estimator_, attribute_names(model)
    form = row_form(method) if hasattr(method, "mapping_") and names else None
    if form is None or form.mapping.shape[0] ** 2 > MOST_NUMBERS:
        return None
    chosen = choose_samples(tested.y, min(MOST_SAMPLES, MOST_NUMBERS // len(form.mapping)))
    X = np.asarray(choose_rows(data.X, tested.rows[chosen]), np.float64)
    if not is_exact(form, model, X):
        return None
    S, maxima = np.asarray(method.prototypes_, np.float64), tested.maxima.take(chosen)
    seen = form.seen if form.seen is not None else np.empty((0, S.shape[1]))
    positions = tested.rows[chosen].tolist()
    return {
        "attributes": names,
        "prototypes": as_text(S),
        "low": S.min(axis=0).tolist(),
        "high": S.max(axis=0).tolist(),
        "binary": bool(np.isin(S, (0, 1)).all()),
        "segments": find_segments(names),
        "kernel": form.kernel,
        "width": form.width,
        "seen": as_text(seen),
        "linear": as_text(form.linear),
        "square": None if form.square is None else as_text(form.square),
        "size": len(form.mapping),
        "z": as_text(scaled(method, X) @ form.mapping.T),
        "best_seen": maxima.best_seen.astype(float).tolist(),
        "best_unseen": [None if np.isinf(f) else float(f) for f in maxima.best_unseen],
        "best_seen_class": maxima.argmax_seen.tolist(),
        "best_unseen_class": maxima.argmax_unseen.tolist(),
        "true": tested.y[chosen].tolist(),
        "images": [None if pictures is None else pictures.thumbnail(i, x) for i, x in zip(positions, X)],
        "total": len(tested.y),
        "drawing": describe_drawing(model, form, X, pictures) if isinstance(pictures, Pixels) else None,
    }


def choose_samples(y: IndexArray, most: int) -> IndexArray:
    """Return at most so many samples, of every class about the same number.

    >>> choose_samples(np.array([0, 0, 0, 0, 1, 2]), 4)
    array([0, 1, 4, 5])
    """
    turn = np.zeros(len(y), np.intp)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        turn[rows] = np.arange(len(rows))
    return np.sort(np.lexsort([y, turn])[:most])


def find_segments(names: list[str]) -> list[str] | None:
    """Return the segment of a sixteen-segment display that each attribute is; None for other attributes."""
    places = {title: segment for segment, title in SEGMENTS.items()}
    found = [places.get(name, name) for name in names]
    return found if sorted(found) == sorted(SEGMENTS) else None


def describe_drawing(model: GZSLClassifierCV, form: RowForm, X: FloatArray, pixels: Pixels) -> Drawing:
    """Return what the page needs to recognize a drawn image."""
    method = model.estimator_
    coef, intercept = np.asarray(method.coef_, np.float64), np.asarray(method.intercept_, np.float64)
    mapping, offset, normalize = form.mapping, np.zeros(len(form.mapping)), method.normalize
    if normalize == "standard":  # coef and intercept take samples as they come
        mapping = mapping / method.standard_scale_
        offset, normalize = -mapping @ method.standard_mean_, None
    ink = np.abs(X - pixels.low).reshape(-1, pixels.side, pixels.side) > abs(pixels.high - pixels.low) / 4
    return {
        "side": pixels.side,
        "high": max(pixels.high, pixels.low),
        "inverted": pixels.high < pixels.low,
        "box": (_extent(ink.any(axis=2)), _extent(ink.any(axis=1))),
        "normalize": normalize,
        "coef": as_text(coef),
        "intercept": as_text(intercept),
        "mapping": as_text(mapping),
        "offset": as_text(offset),
        "temperature": model.temperature_,
    }


def _extent(filled: Any) -> float:
    """Return the median number of lines from the first to the last one with ink."""
    first, last = filled.argmax(axis=1), filled.shape[1] - filled[:, ::-1].argmax(axis=1)
    return float(np.median(last - first))


def as_text(array: FloatArray) -> Numbers:
    """Return an array of float64 as text, exactly.

    >>> as_text(np.array([1.0]))
    'AAAAAAAA8D8='
    """
    return base64.b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()
