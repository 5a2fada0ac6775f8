"""The scores of any model, block by block: as many at a time as memory allows, and never all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import MANY_CLASSES, FloatArray, IndexArray, score_blocks
from unseen._core.rows import as_rows, n_rows, read_ahead, read_rows
from unseen._core.scaling import project, scale_rows, scaled_products
from unseen.errors import UnseenError

LARGEST = 1e30  # beyond this, sums of products may overflow float32
ROUNDING = 1e-9  # probabilities, and shares of samples, that differ by less are the same number
# the methods that give scores for all classes, in order of preference
SCORE_METHODS = ("similarity", "decision_function", "predict_proba")

ClassGroup = slice | IndexArray  # columns of the scores


def iter_scores(model: Any, X: Any, *groups: ClassGroup) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Yield (rows, their scores for each group of classes), at most 2**23 scores at a time.

    The scores of a block may be overwritten by those of the next: copy what you keep. A linear classifier
    computes the scores of these groups alone.

    Parameters
    ----------
    model : fitted classifier, LinearClassifier, or callable
        With ``linear_classifier()``, as every ``ZeroShotClassifier``; or with ``similarity``,
        ``decision_function`` or ``predict_proba``; or a function from X to scores.
    X : array-like of shape (n_samples, n_features), path, or list of paths
        What is on disk is read block by block.
    *groups : slice or ndarray of intp
        Positions of classes; by default one group of all classes.

    Examples
    --------
    >>> double = lambda X: np.column_stack([X, 2 * X])
    >>> for rows, (first, both) in iter_scores(double, np.array([1.0, 3.0]), np.array([0]), slice(None)):
    ...     print(rows, first.tolist(), both.tolist())
    slice(0, 2, None) [[1.0], [3.0]] [[1.0, 2.0], [3.0, 6.0]]
    """
    groups = groups or (slice(None),)
    linear: LinearClassifier | None = getattr(model, "linear_classifier", lambda: None)()
    if linear is None:
        X = X if isinstance(X, list) else as_rows(X)  # a list may hold whatever the model takes
        width = len(getattr(model, "classes_", (0,)))
    else:
        X = linear.check_samples(X)
        score = linear.score_function(groups, X)
        width = linear.width(groups)
    blocks = list(score_blocks(n_rows(X), width))
    for block, rows in zip(blocks, read_ahead(lambda block: read_rows(X, block), blocks)):
        if linear is None:
            scores = class_scores(model, rows)
            yield block, [scores[:, columns] for columns in groups]
        else:
            yield block, score(rows)


def all_scores(model: Any, X: Any) -> FloatArray:
    """Return the scores of all samples for all classes (n_samples, n_classes), computed block by block."""
    for block, (part,) in iter_scores(model, X):
        if block.start == 0:
            scores = np.empty((n_rows(as_rows(X)), part.shape[1]), dtype=part.dtype)
        scores[block] = part
    return scores


def class_scores(model: Any, X: Any) -> FloatArray:
    """Return the scores that a fitted classifier (or a function) gives, one column per class.

    scikit-learn's single column for two classes becomes two.

    >>> class_scores(lambda X: X, np.array([1.0, -2.0]))
    array([[-1.,  1.],
           [ 2., -2.]])
    """
    scores = np.asarray(score_method(model)(X))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def score_method(model: Any) -> Callable[[Any], ArrayLike]:
    """Return the method of a classifier that scores samples, or the function itself."""
    for name in (*SCORE_METHODS, "__call__"):
        if hasattr(model, name):
            method: Callable[[Any], ArrayLike] = getattr(model, name)
            return method
    expected = f"one of {', '.join(SCORE_METHODS)}, or a function from X to scores"
    raise UnseenError(f"{type(model).__name__} gives no scores, expected {expected}.")


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """What scores a sample: ``scaled x . coef[c] + intercept[c]``."""

    coef: FloatArray  # (classes, features)
    intercept: FloatArray  # (classes,)
    normalize: str | None  # how samples are scaled
    check_samples: Callable[[Any], Any]  # from what a user passes to an array or Rows
    span: FloatArray | None = None  # (directions, features), rows that span those of coef, or nearly all

    def linear_classifier(self) -> Self:
        """Return itself, as a model returns what scores samples."""
        return self

    def width(self, groups: Sequence[ClassGroup]) -> int:
        """Return the number of scores of one sample for these groups of classes."""
        return sum(len(self.intercept[columns]) for columns in groups)

    def score_function(self, groups: Sequence[ClassGroup], X: Any) -> Callable[[Any], list[FloatArray]]:
        """Return the function from rows of X to their scores for each group; each call overwrites them."""
        width = self.width(groups)
        pays = width > MANY_CLASSES and self._projection_pays(len(X))
        Q, coefs = project([self.coef[columns] for columns in groups], self.span if pays else None)
        # float64 if the intercepts overflow float32
        dtype = np.dtype(X.dtype if np.abs(self.intercept).max() < LARGEST else np.float64)
        coefs = [coef.astype(dtype, copy=False).T for coef in coefs]  # (features, columns)
        intercepts = [self.intercept[columns].astype(dtype, copy=False) for columns in groups]
        first = next(score_blocks(len(X), width), slice(0))  # no other block is larger
        memory = [np.empty((first.stop, len(intercept)), dtype) for intercept in intercepts]

        def score(rows: FloatArray) -> list[FloatArray]:
            normalize = self.normalize
            if Q is not None:
                rows, normalize = scale_rows(rows, normalize) @ Q.astype(rows.dtype, copy=False), None
            scores = scaled_products(rows, coefs, normalize, [part[: len(rows)] for part in memory])
            for part, intercept in zip(scores, intercepts):
                part += intercept
            return scores

        return score

    def _projection_pays(self, n: int) -> bool:
        """Whether n samples are scored sooner after they are projected onto the span of coef."""
        if self.span is None:
            return False
        rank, D = self.span.shape
        # n D products for each class, against n K and the projection of coef in float64
        return bool(n * (D - rank) > 4 * rank * D)
