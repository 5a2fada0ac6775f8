"""Why this class and not that one: what each attribute contributes to the difference of two scores.

A row of the classifier is a function of the prototype, so every part of an explanation is a difference of two
rows: nothing is approximated, for any method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import FloatArray, IndexArray, top_columns
from unseen._core.labels import label_positions
from unseen._core.prototypes import embedding_names
from unseen._core.rows import as_rows, read_rows
from unseen._core.scaling import scale_rows
from unseen.errors import UnseenError, expect, import_extra

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier

NUMBERS = ("value", "rival_value", "contribution", "share")  # of a part
COLUMNS = ("sample", "class", "rival", "difference", "kind", "name", *NUMBERS)
NOISE_SHARE = 1e-6  # of the sum of all parts: smaller ones may be differences of equal numbers


@dataclass(frozen=True)
class Part:
    """One part of the difference between the scores of two classes."""

    kind: str
    """What it is: ``attribute``, ``other attributes`` (the sum of those not listed), ``interaction`` (what
    attributes only do together), ``samples`` (of the classes themselves) or ``calibration``; for prototypes
    without named attributes ``seen class`` and ``description``."""
    name: str
    """The attribute or the seen class; empty for other kinds."""
    contribution: float | None
    """In the units of the score, positive for the class; None for a seen class, which has a weight."""
    share: float | None
    """Of the difference; None if the difference is 0."""
    value: float | None = None
    """Of the attribute in the description of the class, or the weight of the seen class in its row."""
    rival_value: float | None = None
    """The same for the rival."""


@dataclass(frozen=True)
class Reason:
    """Why a sample is of one class and not of its rival: parts that add up to the difference."""

    sample: int | str
    """Number or name of the sample."""
    predicted: Any
    """The class with the highest score."""
    rival: Any
    """The class it is compared with."""
    difference: float
    """The score of the class minus that of the rival, after calibration."""
    parts: tuple[Part, ...]
    """Attributes that speak for the class, the strongest first; those against it; the rest, if not zero."""

    def of_kind(self, kind: str) -> list[Part]:
        """Return the parts of one kind."""
        return [part for part in self.parts if part.kind == kind]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one flat record per part; the contributions add up to the difference."""
        for part in self.parts:
            record = vars(self) | vars(part) | {"class": self.predicted}
            yield {name: record[name] for name in COLUMNS}


@dataclass(frozen=True)
class Explanation:
    """Why samples are of their classes, one reason per sample.

    Examples
    --------
    >>> from unseen import LDA
    >>> from unseen.datasets import load_dataset
    >>> data = load_dataset("letters")
    >>> rows = [dict(zip(data.attribute_names, row)) for row in data.prototypes]
    >>> names, train = np.array(data.class_names), data.seen[data.y]
    >>> model = LDA(dict(zip(data.class_names, rows))).fit(data.X[train], names[data.y[train]])
    >>> P = data.X[names[data.y] == "P"][:1]
    >>> model.explain(P, rival="R").rows[0].parts[0].name  # the leg
    'lower right diagonal'
    """

    rows: list[Reason]

    def frame(self) -> Any:
        """Return one row per part as a pandas DataFrame."""
        pd = import_extra("pandas", "pandas", "Explanation.frame()")
        records = (record for reason in self.rows for record in reason.records())
        return pd.DataFrame(records, columns=list(COLUMNS)).astype(dict.fromkeys(NUMBERS, float))


# ---- one class against one rival -------------------------------------------------------------------------


class Pair:
    """A class and a rival, as rows whose products with a sample are the parts of the difference.

    ``weights`` (2, n_classes) take the place of attributes.
    """

    def __init__(
        self, model: ZeroShotClassifier, pair: IndexArray, calibration: float, weights: FloatArray | None
    ) -> None:
        self.best, self.rival = model.classes_[pair].tolist()
        self.calibration = calibration
        S, names = model.prototypes_[pair], meaningful_names(model)
        if weights is None:
            shown = attributes = np.flatnonzero(S[0] != S[1])
            self.names = [names[k] if names else f"attribute {k}" for k in shown]
        else:
            shown, attributes = np.flatnonzero(weights.any(axis=0)), np.empty(0, dtype=np.intp)
            self.names = [str(model.classes_[c]) for c in shown]
        self.values = (S if weights is None else weights)[:, shown]  # (2, names), of the class and the rival
        # (attributes + 2, features) and (attributes + 2,): one attribute each, all of them, all that differs
        self.coef, self.intercept = difference_rows(model, pair, attributes)

    def reason(self, sample: int, products: FloatArray, top: int) -> Reason:
        """Return the parts of one sample by name, given its products with the rows (attributes + 2,)."""
        single, (described, total) = products[:-2], products[-2:]
        difference = float(total + self.calibration)
        rest = {"samples": total - described, "calibration": self.calibration}
        if len(single) or not len(self.names):
            listed = strongest(single, top)
            parts = [self._part("attribute", float(single[at]), difference, at) for at in listed]
            others = float(single.sum() - single[listed].sum())
            rest = {"other attributes": others, "interaction": described - single.sum()} | rest
        else:
            heaviest = np.argsort(-np.abs(self.values), axis=1, kind="stable")[:, :top]  # (2, top)
            shown = dict.fromkeys(heaviest.ravel().tolist())
            parts = [self._part("seen class", None, difference, at) for at in shown]
            rest = {"description": described} | rest
        noise = NOISE_SHARE * (np.abs(single).sum() + abs(described) + abs(total))
        parts += [self._part(kind, float(v), difference) for kind, v in rest.items() if abs(v) > noise]
        return Reason(sample, self.best, self.rival, difference, tuple(parts))

    def _part(self, kind: str, value: float | None, difference: float, at: int | None = None) -> Part:
        share = None if value is None or difference == 0 else value / difference
        if at is None:
            return Part(kind, "", value, share)
        return Part(kind, self.names[at], value, share, *self.values[:, at].tolist())


def meaningful_names(model: ZeroShotClassifier) -> list[str] | None:
    """Return the names of the attributes; the dimensions of a text embedding have none."""
    names = tuple(map(str, getattr(model, "attribute_names_", ())))
    return list(names) if names and names != embedding_names(len(names)) else None


def difference_rows(
    model: ZeroShotClassifier, pair: IndexArray, attributes: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return the rows of f(x, c) minus the same with one attribute, with all, and of all of the rival.

    The shapes are (attributes + 2, features) and (attributes + 2,).
    """
    (column, rival), (own, other) = pair.tolist(), model.prototypes_[pair]
    S = np.repeat(own[None], len(attributes) + 2, axis=0)
    S[np.arange(len(attributes)) + 1, attributes] = other[attributes]
    S[-1] = other
    # f(x, s_c) - f(x, s_c with s_ck of the rival), f(x, s_c) - f(x, s_r), f(x, c) - f(x, r)
    coef, intercept = model.rows_as(column, S)
    last = coef[-1:], intercept[-1:]  # a row is a function of the description,
    if model.has_samples(column) or model.has_samples(rival):  # and for LDA of samples of the class
        last = model.rows_as(rival, other[None])
    coef = np.concatenate([coef, last[0]], dtype=np.float64)
    intercept = np.concatenate([intercept, last[1]], dtype=np.float64)
    return coef[0] - coef[1:], intercept[0] - intercept[1:]


def strongest(values: FloatArray, top: int) -> list[int]:
    """Return the places of the largest values above 0, then of the smallest below it, at most ``top`` each.

    >>> strongest(np.array([1.0, -3.0, 0.0, 2.0, -1.0]), 1)
    [3, 1]
    """
    order = np.argsort(-values, kind="stable")
    positive = [int(at) for at in order if values[at] > 0]
    negative = [int(at) for at in order[::-1] if values[at] < 0]
    return positive[:top] + negative[:top]


# ---- samples -----------------------------------------------------------------------------------------------


def explain(
    model: ZeroShotClassifier, X: ArrayLike, rival: Any = None, top: int = 5, bias: FloatArray | None = None
) -> Explanation:
    """Return why each sample is of its class and not of its closest rival, or of one that you name.

    Parameters
    ----------
    model : fitted method
    X : array-like of shape (n_samples, n_features)
    rival : class label, optional
        By default the class with the second highest score; so too for samples predicted as the rival.
    top : int
        Attributes to list for the class, and as many against it; the others are added up.
    bias : ndarray of shape (n_classes,), optional
        What the calibration subtracts from the scores.
    """
    model.solve()
    expect("top", top, top >= 1, "at least 1")
    if len(model.classes_) < 2:
        raise UnseenError("The model has one class, so there is no rival. Add a class first.")
    X = read_rows(as_rows(X), slice(None))
    bias = np.zeros(len(model.classes_)) if bias is None else bias
    pairs = top_columns(model.similarity(X) - bias, 2)  # (samples, 2), the best class and its rival
    if rival is not None:
        other = _column(model, rival)
        pairs[pairs[:, 0] != other, 1] = other
    rows = scale_rows(np.asarray(X, dtype=np.float64), model.normalize)
    used = np.unique(pairs)
    weights = model.seen_weights(used) if meaningful_names(model) is None else None  # (used, n_classes)
    reasons: dict[int, Reason] = {}
    for pair in np.unique(pairs, axis=0):  # the rows of a pair serve all its samples
        samples = np.flatnonzero((pairs == pair).all(axis=1)).tolist()
        of_pair = None if weights is None else weights[np.searchsorted(used, pair)]
        compared = Pair(model, pair, float(bias[pair[1]] - bias[pair[0]]), of_pair)
        products = rows[samples] @ compared.coef.T + compared.intercept  # (samples, attributes + 2)
        reasons |= {sample: compared.reason(sample, row, top) for sample, row in zip(samples, products)}
    return Explanation([reasons[sample] for sample in range(len(rows))])


def _column(model: ZeroShotClassifier, rival: Any) -> int:
    """Return the column of a class that is given as its label or as text."""
    found = [label for label in model.classes_.tolist() if str(label) == str(rival)] or [rival]
    return int(label_positions(found[:1], model.classes_, "rival", "is not a class of the model")[0])
