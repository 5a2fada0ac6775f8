"""Why this class and not that one: what each attribute contributes to the difference of two scores.

A row of the classifier is a function of the prototype, so every part of an explanation is a difference of two
rows: nothing is approximated, for any method.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from io import TextIOBase
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import FloatArray, IndexArray, top_columns
from unseen._core.files import atomic_path
from unseen._core.labels import label_positions
from unseen._core.prototypes import embedding_names
from unseen._core.rows import Rows, as_rows
from unseen._core.scaling import scale_rows
from unseen.errors import UnseenError, import_extra

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier

HEAD = ("sample", "class", "rival", "difference")  # of a reason
PART = ("kind", "name", "value", "rival_value", "contribution", "share")
COLUMNS = (*HEAD, *PART)
ROUNDING = 1e-6  # of the sum of all parts: smaller ones may be differences of equal numbers


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

    rows: list[Reason] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Explanation) -> Explanation:
        return Explanation([*self.rows, *other.rows])

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one flat record per part; the contributions of a sample add up to its difference."""
        for row in self.rows:
            head = (row.sample, row.predicted, row.rival, row.difference)
            for part in row.parts:
                values = asdict(part)
                yield dict(zip(HEAD, head)) | {name: values[name] for name in PART}

    def frame(self) -> Any:
        """Return the records as a pandas DataFrame."""
        pd = import_extra("pandas", "pandas", "Explanation.frame()")
        frame = pd.DataFrame(self.records(), columns=list(COLUMNS))
        return frame.astype(dict.fromkeys(("value", "rival_value", "contribution", "share"), float))

    def to_csv(self, file: str | PathLike[str] | TextIOBase) -> None:
        """Write the records as CSV, to a path or an open file."""
        if isinstance(file, TextIOBase):
            write_records(self.records(), file)
            return
        with atomic_path(file) as path, open(path, "w", newline="", encoding="utf-8") as opened:
            write_records(self.records(), opened)


def write_records(records: Iterator[dict[str, Any]], file: Any) -> None:
    """Write records as CSV with a header."""
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in record.items()})


# ---- one class against one rival -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair:
    """A class and a rival, as rows whose products with a sample are the parts of the difference."""

    labels: tuple[Any, Any]
    names: Sequence[str]  # of the attributes in which the two differ, or of the seen classes with weights
    values: FloatArray  # (2, names), of the class and of the rival
    coef: FloatArray  # (attributes + 2, features): one attribute each, all of them, all that differs
    intercept: FloatArray  # (attributes + 2,)
    calibration: float

    @classmethod
    def of(
        cls,
        model: ZeroShotClassifier,
        column: int,
        rival: int,
        calibration: float = 0.0,
        weights: FloatArray | None = None,
    ) -> Pair:
        """Compare two classes of a model; ``weights`` (2, n_classes) take the place of attributes."""
        S, pair = model.prototypes_, np.array([column, rival])
        labels = (_plain(model.classes_[column]), _plain(model.classes_[rival]))
        if weights is not None:
            used = np.flatnonzero(weights.any(axis=0))
            rows = difference_rows(model, column, rival, np.empty(0, dtype=np.intp))
            return cls(labels, [str(model.classes_[c]) for c in used], weights[:, used], *rows, calibration)
        differing = np.flatnonzero(S[column] != S[rival])
        known = meaningful_names(model)
        names = [known[k] if known else f"attribute {k}" for k in differing]
        rows = difference_rows(model, column, rival, differing)
        return cls(labels, names, S[np.ix_(pair, differing)], *rows, calibration)

    def products(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what each attribute, all of them at once, and all that differs contribute.

        ``X`` are scaled samples; the shapes are (samples, attributes), (samples,) and (samples,).
        """
        parts = X @ self.coef.T + self.intercept  # (samples, attributes + 2)
        return parts[:, :-2], parts[:, -2], parts[:, -1]

    def reason(self, sample: int, single: FloatArray, described: float, total: float, top: int) -> Reason:
        """Return the parts of one sample by name."""
        difference = float(total + self.calibration)
        rest = {"samples": total - described, "calibration": self.calibration}
        shown: list[tuple[str, int, float | None]]
        if len(single) or not len(self.names):
            listed = strongest(single, top)
            shown = [("attribute", at, float(single[at])) for at in listed]
            others = float(single.sum() - single[listed].sum())
            rest = {"other attributes": others, "interaction": described - single.sum()} | rest
        else:
            heaviest = np.argsort(-np.abs(self.values), axis=1, kind="stable")[:, :top]  # (2, top)
            shown = [("seen class", at, None) for at in dict.fromkeys(heaviest.ravel().tolist())]
            rest = {"description": described} | rest
        parts = [self._part(kind, value, difference, at) for kind, at, value in shown]
        noise = ROUNDING * (np.abs(single).sum() + abs(described) + abs(total))
        parts += [self._part(kind, float(v), difference) for kind, v in rest.items() if abs(v) > noise]
        return Reason(sample, *self.labels, difference, tuple(parts))

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
    model: ZeroShotClassifier, column: int, rival: int, attributes: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return the rows of f(x, c) minus the same with one attribute, with all, and of all of the rival.

    The shapes are (attributes + 2, features) and (attributes + 2,).
    """
    S = model.prototypes_
    replaced = np.repeat(S[column : column + 1], len(attributes) + 1, axis=0)
    replaced[np.arange(len(attributes)), attributes] = S[rival, attributes]
    replaced[-1] = S[rival]
    # f(x, s_c) - f(x, s_c with s_ck of the rival), f(x, s_c) - f(x, s_r), f(x, c) - f(x, r)
    coef, intercept = model.rows_as(column, np.concatenate([S[column : column + 1], replaced]))
    other = coef[-1:], intercept[-1:]  # a row is a function of the description,
    if model.has_samples(column) or model.has_samples(
        rival
    ):  # and of the samples of the class, if it counts them
        other = model.rows_as(rival, S[rival : rival + 1])
    coef = np.concatenate([coef, other[0]], dtype=np.float64)
    intercept = np.concatenate([intercept, other[1]], dtype=np.float64)
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


def _plain(label: Any) -> Any:
    """Return a label as a Python value."""
    return label.item() if isinstance(label, np.generic) else label


# ---- samples -----------------------------------------------------------------------------------------------


def explain(
    model: ZeroShotClassifier,
    X: ArrayLike,
    rival: Any = None,
    top: int = 5,
    bias: FloatArray | None = None,
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
    _check(model, top)
    X = as_rows(X)
    X = X[:] if isinstance(X, Rows) else X
    bias = np.zeros(len(model.classes_)) if bias is None else bias
    pairs = choose_pairs(model.similarity(X) - bias, None if rival is None else _column(model, rival))
    rows = scale_rows(np.asarray(X, dtype=np.float64), model.normalize)
    used = np.unique(pairs)
    weights = model.seen_weights(used) if meaningful_names(model) is None else None  # (used, n_classes)
    reasons: dict[int, Reason] = {}
    for pair in np.unique(pairs, axis=0):  # the rows of a pair serve all its samples
        samples = np.flatnonzero((pairs == pair).all(axis=1)).tolist()
        of_pair = None if weights is None else weights[np.searchsorted(used, pair)]
        column, other = pair.tolist()
        compared = Pair.of(model, column, other, float(bias[other] - bias[column]), of_pair)
        parts = zip(*compared.products(rows[samples]))
        reasons |= {sample: compared.reason(sample, *part, top) for sample, part in zip(samples, parts)}
    return Explanation([reasons[sample] for sample in range(len(rows))])


def choose_pairs(scores: FloatArray, rival: int | None) -> IndexArray:
    """Return the columns of the best class and of its rival, (samples, 2).

    >>> scores = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 1.0]])
    >>> choose_pairs(scores, None).tolist(), choose_pairs(scores, 1).tolist()
    ([[0, 2], [1, 2]], [[0, 1], [1, 2]])
    """
    pairs = top_columns(scores, 2)
    if rival is not None:
        pairs[pairs[:, 0] != rival, 1] = rival
    return pairs


def _column(model: ZeroShotClassifier, rival: Any) -> int:
    labels = [rival] if np.isin(rival, model.classes_) else [_as_label(model, rival)]
    return int(label_positions(labels, model.classes_, "rival", "is not a class of the model")[0])


def _as_label(model: ZeroShotClassifier, rival: Any) -> Any:
    """Return a class given as text as the label of that name, if labels are numbers."""
    return next((label for label in model.classes_.tolist() if str(label) == str(rival)), rival)


def _check(model: ZeroShotClassifier, top: int) -> None:
    model.solve()
    if top < 1:
        raise UnseenError(f"Got top={top!r}, but expected at least 1.")
    if len(model.classes_) < 2:
        raise UnseenError("The model has one class, so there is no rival. Add a class first.")
