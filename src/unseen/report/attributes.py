"""Descriptions on the page of a model: attributes that features show, and classes that are alike."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from unseen._core.blocks import FloatArray, class_sums, row_blocks
from unseen._core.scaling import scale_rows
from unseen.base import last_step
from unseen.datasets import ZeroShotDataset
from unseen.datasets.checks import ALPHAS, held_out_errors
from unseen.methods.explanation import meaningful_names
from unseen.report.page import Document
from unseen.selection.search import GZSLClassifierCV

MOST_PAIRS = 12
MOST_NAMES = 4  # attributes in which two classes differ


def named_attributes(model: GZSLClassifierCV) -> list[str]:
    """Return the names of the attributes; none if the descriptions have no names."""
    return meaningful_names(last_step(model.estimator_)) or []


# ---- what features show ----------------------------------------------------------------------------------


def readable_attributes(model: GZSLClassifierCV, data: ZeroShotDataset) -> list[Document]:
    """Return how well each named attribute is predicted for a class from its samples, in the order of names.

    The correlation, over seen classes, of its true value and the value that ridge regression from the mean
    features of the others predicts, as for U004. 0 for an attribute that is the same in all classes.
    """
    names, method = named_attributes(model), last_step(model.estimator_)
    classes = {str(label): i for i, label in enumerate(model.classes_)}
    positions = np.array([classes.get(name, -1) for name in data.class_names])
    known = [c for c in np.unique(data.y) if positions[c] >= 0 and model.seen_[positions[c]]]
    if not names or len(known) < 4:
        return []
    total = np.zeros((len(data.class_names), data.X.shape[1]))
    for block in row_blocks(len(data.y)):
        X = scale_rows(np.asarray(data.X[block], np.float64), method.normalize)
        total += class_sums(X, data.y[block], len(total))
    means = total[known] / np.bincount(data.y)[known, None]
    S = method.prototypes_[positions[known]]
    errors = min(held_out_errors(means, S, ALPHAS), key=lambda error: float((error**2).sum()))
    correlation = correlations(S - errors, S)
    return [{"name": name, "correlation": round(float(r), 3)} for name, r in zip(names, correlation)]


def correlations(predicted: FloatArray, true: FloatArray) -> FloatArray:
    """Return the correlation of each column, 0 if one of the two does not vary.

    >>> correlations(np.array([[1.0, 5.0], [2.0, 5.0]]), np.array([[3.0, 1.0], [7.0, 2.0]]))
    array([1., 0.])
    """
    P, T = predicted - predicted.mean(axis=0), true - true.mean(axis=0)
    lengths = np.sqrt((P**2).sum(axis=0) * (T**2).sum(axis=0))
    return np.asarray((P * T).sum(axis=0) / np.where(lengths > 1e-12, lengths, np.inf))


# ---- twins -----------------------------------------------------------------------------------------------


def closest_classes(model: GZSLClassifierCV) -> list[Document]:
    """Return the pairs of classes with the most similar descriptions, the closest first.

    Distances are relative to the median distance of a class to its nearest one.
    """
    S, names = last_step(model.estimator_).prototypes_, named_attributes(model)
    if len(S) < 2:
        return []
    search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(S)
    nearest = search.kneighbors(return_distance=False)[:, 0]
    distance = np.linalg.norm(S - S[nearest], axis=1)  # exactly 0 for classes with the same description
    typical = float(np.median(distance)) or 1.0
    order = np.argsort(distance, kind="stable").tolist()
    pairs = {(min(i, j), max(i, j)): distance[i] for i, j in zip(order, nearest[order].tolist())}
    found: list[Document] = []
    for (a, b), d in list(pairs.items())[:MOST_PAIRS]:
        gap = np.abs(S[a] - S[b])
        differ = [names[k] for k in np.argsort(-gap, kind="stable") if gap[k]] if names else []
        found.append(
            {
                "classes": (a, b),
                "distance": round(float(d) / typical, 3),
                "differ": differ[:MOST_NAMES],
                "more": len(differ[MOST_NAMES:]),
            }
        )
    return found
