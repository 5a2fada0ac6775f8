"""Describe a class that does not exist: what a page needs to compute its row, and what that row would claim.

A row is a function of a description s. For samples x that are scaled already,

    f(x, s) = k(s) . z + k(s) . b - k(s) Q k(s)' / 2,     z = mapping x

where k(s) is s itself, or the similarities of s to the seen classes. So a page needs z of every sample that
it shows, b and Q; not the features.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from unseen._core.blocks import BoolArray, FloatArray
from unseen._core.rows import choose_rows
from unseen._core.scaling import scale_rows
from unseen.datasets import ZeroShotDataset
from unseen.datasets.letters import SEGMENTS
from unseen.methods.eszsl import ESZSL
from unseen.methods.lda import LDA
from unseen.methods.linear import LinearSV, LinearVS
from unseen.methods.ranking import ALE, SJE, DeViSE
from unseen.methods.sae import SAE
from unseen.models.suggestion import take_turns
from unseen.report.attributes import named_attributes
from unseen.report.page import Document
from unseen.report.thumbnails import Pictures, Pixels
from unseen.selection.search import GZSLClassifierCV

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier
    from unseen.report.model_page import Tested

MOST_SAMPLES = 500
MOST_NUMBERS = 300_000  # of all z, and of each matrix: about 3 MB


@dataclass(frozen=True, eq=False)
class RowForm:
    """The function from a description to a row, see the module."""

    mapping: FloatArray  # (class features, features)
    linear: FloatArray  # b
    square: FloatArray | None  # Q
    seen: FloatArray | None = None  # prototypes that the kernel compares with
    kernel: str | None = None
    width: float = 1.0


def row_form(method: ZeroShotClassifier) -> RowForm | None:
    """Return how a fitted method makes the row of a new class; None for one whose rows have another form."""
    if not type(method).__module__.startswith("unseen.methods"):
        return None  # a method of your own makes rows in its own way
    W = np.asarray(method.mapping_, np.float64)
    zero = np.zeros(len(W))
    if isinstance(method, LDA) and method.anchor is None:
        seen = np.asarray(method.training_prototypes_, np.float64)
        width = method.bandwidth * float(np.median(pdist(seen))) ** 2 if len(seen) > 1 else 0.0
        # mu(s)' P mu(s) = k A P A' k' with mu(s) = k A and the mapping A P
        square = method.mean_mapping_ @ W.T
        return RowForm(W, -W @ method.center_, square, seen, method.kernel, width or 1.0)
    if isinstance(method, LinearVS) or (isinstance(method, SAE) and method.space == "semantic"):
        return RowForm(W, zero, np.eye(len(W)))
    if isinstance(method, SAE | LinearSV):
        return RowForm(W, zero, W @ W.T)
    if isinstance(method, ESZSL):
        return RowForm(W, zero, None)
    if isinstance(method, ALE | DeViSE | SJE):
        return RowForm(W, -W @ method.shift_, None)
    return None


def scaled(method: ZeroShotClassifier, X: FloatArray) -> FloatArray:
    """Return samples as the rows of a method take them."""
    X, standard = np.asarray(X, np.float64), method.standardization()
    return scale_rows(X, method.normalize) if standard is None else standard.apply(X)


# ---- the section -----------------------------------------------------------------------------------------


def describe_try(
    model: GZSLClassifierCV, data: ZeroShotDataset, tested: Tested, pictures: Pictures | None
) -> Document | None:
    """Return what the section needs; None for a method or descriptions that it cannot show."""
    method, names = model.estimator_, named_attributes(model)
    form = row_form(method) if hasattr(method, "mapping_") and names else None
    if form is None or len(form.mapping) ** 2 > MOST_NUMBERS:
        return None
    most = min(MOST_SAMPLES, MOST_NUMBERS // len(form.mapping))
    chosen = np.sort(take_turns(tested.y, np.ones(len(tested.y), bool))[:most])
    X = np.asarray(choose_rows(data.X, tested.rows[chosen]), np.float64)
    S, maxima = np.asarray(method.prototypes_, np.float64), tested.maxima.take(chosen)
    positions = tested.rows[chosen].tolist()
    return {
        "attributes": names,
        "prototypes": as_text(S),  # (classes, attributes)
        "low": S.min(axis=0).tolist(),
        "high": S.max(axis=0).tolist(),
        "binary": bool(np.isin(S, (0, 1)).all()),
        "segments": find_segments(names),
        "kernel": form.kernel,
        "width": form.width,
        "seen": as_text(form.seen),  # (class features, attributes)
        "linear": as_text(form.linear),  # (class features,)
        "square": as_text(form.square),  # (class features, class features)
        "size": len(form.mapping),
        "z": as_text(scaled(method, X) @ form.mapping.T),  # (samples, class features)
        "best_seen": maxima.best_seen.astype(float).tolist(),  # scores without calibration
        "best_unseen": [None if np.isinf(f) else float(f) for f in maxima.best_unseen],
        "true": tested.y[chosen].tolist(),
        "images": [None if pictures is None else pictures.thumbnail(i, x) for i, x in zip(positions, X)],
        "total": len(tested.y),
        "drawing": describe_drawing(model, form, X, pictures) if isinstance(pictures, Pixels) else None,
    }


def find_segments(names: list[str]) -> list[str] | None:
    """Return the segment of a sixteen-segment display that each attribute is; None for other attributes."""
    places = {title: segment for segment, title in SEGMENTS.items()}
    found = [places.get(name, name) for name in names]
    return found if sorted(found) == sorted(SEGMENTS) else None


def describe_drawing(model: GZSLClassifierCV, form: RowForm, X: FloatArray, pixels: Pixels) -> Document:
    """Return what the page needs to recognize a drawn image: the classifier, and how images are scaled."""
    method = model.estimator_
    mapping, offset, normalize = form.mapping, np.zeros(len(form.mapping)), method.normalize
    if standard := method.standardization():  # coef and intercept take samples as they come
        (mapping, offset), normalize = standard.fold(mapping, offset), None
    ink = np.abs(X - pixels.low).reshape(-1, pixels.side, pixels.side) > abs(pixels.high - pixels.low) / 4
    return {
        "side": pixels.side,
        "high": max(pixels.high, pixels.low),
        "inverted": pixels.high < pixels.low,  # ink is 0 and paper is high
        "box": (_extent(ink.any(axis=2)), _extent(ink.any(axis=1))),  # typical height and width of the ink
        "normalize": normalize,
        "coef": as_text(method.coef_),  # (classes, features), for scaled samples
        "intercept": as_text(method.intercept_),  # (classes,), without calibration
        "mapping": as_text(mapping),  # (class features, features), likewise
        "offset": as_text(offset),  # (class features,): z = mapping x + offset
        "temperature": model.temperature_,
    }


def _extent(filled: BoolArray) -> float:
    """Return the median number of lines from the first to the last one with ink."""
    first, last = filled.argmax(axis=1), filled.shape[1] - filled[:, ::-1].argmax(axis=1)
    return float(np.median(last - first))


def as_text(array: FloatArray | None) -> str | None:
    """Return an array of numbers as the text of its float64, row by row, exactly.

    >>> as_text(np.array([1.0]))
    'AAAAAAAA8D8='
    """
    return None if array is None else base64.b64encode(np.asarray(array, "<f8").tobytes()).decode()
