"""The bilinear ranking methods of the paper: ALE, DeViSE and SJE, which differ in one small set each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import ThreadpoolController

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.training import Training
from unseen.base import ZeroShotClassifier
from unseen.methods import _dual
from unseen.methods._dual import SAMPLE_BLOCK, Features, Problem, Solution, Stack, VisitedRows
from unseen.methods._few_directions import ShortStack, few_directions_pay, in_few_directions

COPIED = 2**30  # bytes of features that are held in a second, scaled copy; more are scaled when visited
RUN = 16  # neighbors that are read together if features stay on disk
# Features share a large mean, which slows the training; but it also gives every class a bias. Without half
# of it, training on CUB takes half the time, and all four methods do better on its validation folds.
SHIFT = 0.5

blas_threads = cache(ThreadpoolController)  # made once: the search for libraries takes milliseconds


# ---- the sets Q of the losses: u is (samples, models, classes), w is (samples, models, 1) ------------------


def project_box(u: FloatArray, w: FloatArray) -> FloatArray:
    """DeViSE and ALE, ``w sum_c max(0, v_c)``: each wrong class pushes with ``0 <= b_c <= w``."""
    b = np.maximum(u, 0)
    return np.asarray(np.minimum(b, w, out=b))


def project_simplex(u: FloatArray, w: FloatArray) -> FloatArray:
    """SJE and SynC, ``max_c v_c``: the wrong classes push with ``b_c >= 0`` and together at most 1."""
    # b = max(0, u - t) with t = max(0, max over k of (sum of the k largest - 1) / k)
    minus_t = -u
    minus_t.sort(axis=2)
    minus_t.cumsum(axis=2, out=minus_t)
    minus_t += 1
    minus_t /= _ranks(u.shape[2])
    b = u + np.minimum(np.minimum.reduce(minus_t, axis=2, keepdims=True), 0)
    return np.asarray(np.maximum(b, 0, out=b))


def rank_weights(v: FloatArray) -> FloatArray:
    """ALE: ``beta_r / r`` with r violating classes and ``beta_r = 1 + 1/2 + ... + 1/r``."""
    violating = (v > 0).astype(v.dtype) @ np.ones(v.shape[2], dtype=v.dtype)  # quicker than counting
    rank = np.maximum(violating.astype(np.intp), 1)
    return _weights_by_rank(v.shape[2]).take(rank - 1)[:, :, None]


@cache
def _weights_by_rank(n: int) -> FloatArray:
    """Return ``beta_r / r`` for r from 1 to n."""
    ranks = np.arange(1, n + 1)
    return np.asarray(np.cumsum(1 / ranks) / ranks, dtype=np.float32)


@cache
def _ranks(n: int) -> FloatArray:
    """Return 1, 2, ..., n, which float32 holds exactly."""
    return np.arange(1, n + 1, dtype=np.float32)


# ---- the estimators ----------------------------------------------------------------------------------------


class RankingClassifier(ZeroShotClassifier):
    """Base of the methods that rank the right class first: ``f(x, s) = s W (x - shift)``, by a hinge loss."""

    stochastic = True
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": np.geomspace(2e-5, 1e-2, 10).tolist()}
    _project: ClassVar[Any]  # onto the set Q of the loss
    _weigh: ClassVar[Any] = None  # how samples are weighted by their violations

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 1e-3,
        normalize: str | None = "l2",
        smoothing: float = 1.0,
        tol: float = 3e-3,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.normalize = normalize
        self.smoothing = smoothing
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in ("alpha", "tol", "max_iter"):
            self._require(name, getattr(self, name) > 0, "a number above 0")
        self._require("smoothing", self.smoothing >= 0, "a number of at least 0")

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        S = training.S - training.S.mean(axis=0)
        s_scale = float(np.einsum("ij,ij->", S, S)) / len(S) or 1.0  # mean squared length of the rows
        gram = (S @ S.T / s_scale).astype(np.float32)
        margins = np.ones((len(S), 1), dtype=np.float32)
        for A in self._train(training, gram, margins, models):
            yield S.T / s_scale @ A

    def _train(
        self, training: Training, gram: FloatArray | np.float32, margins: FloatArray, models: Sequence[Self]
    ) -> Iterator[FloatArray]:
        """Yield what was learned for each model, one row for each seen class, and note how."""
        rng = check_random_state(self.random_state)
        copied = bool(4 * np.prod(training.X.shape) <= COPIED)
        order = visiting_order(len(training.y), rng, 1 if copied else RUN)
        alphas, which = np.unique([model.alpha for model in models], return_inverse=True)
        few = copied and few_directions_pay(training.X.shape, len(alphas) * len(margins))
        smoothing = np.float32(max(self.smoothing, 1e-6))
        # most products are too small to share, and threads that wait for the next one slow the others
        with blas_threads().limit(limits=1):
            X, Z, shift, scale = visited_rows(training, order, copied, few)
            # P / smoothing has the smoothing 1, in units in which scores are smaller by as much
            task = X, training.y[order], gram / smoothing, margins / smoothing, self._project, self._weigh
            solutions = solve_path(Problem(*task), Z, alphas.tolist(), self.tol, self.max_iter, rng)
        for model, solution in zip(models, [solutions[i] for i in which]):
            model.shift_ = shift
            model.n_iter_, model.dual_gap_ = len(solution.losses), solution.gap
            model.loss_curve_ = smoothing * np.array(solution.losses)
            yield solution.A / scale

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        return np.asarray(-coef @ self.shift_.astype(coef.dtype))

    def warn_about_fit(self) -> None:
        if self.dual_gap_ > self.tol:
            warnings.warn(
                f"{type(self).__name__}(alpha={self.alpha:g}) has not converged in {self.n_iter_} epochs: "
                f"dual_gap_={self.dual_gap_:.2g} is above tol={self.tol:g}. Raise max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )


def visited_rows(
    training: Training, order: IndexArray, copied: bool, few: bool
) -> tuple[Features, FloatArray | None, FloatArray, float]:
    """Return the features in this order, the same in few directions if asked for, their shift and scale.

    Methods and seeds that share a workspace compute them once.
    """
    shift, scale = training.once("ranking scale", lambda: shift_and_scale(training))
    by_sample, by_visit = (VisitedRows(training, at, shift, scale) for at in (np.arange(len(order)), order))
    rows: Features = by_sample
    if copied and training.workspace is not None:
        rows = training.once("ranking rows", by_sample.copy)
        X: Features = rows[order]
    else:
        X = by_visit.copy() if copied else by_visit
    # of the rows in the order of the samples, so that all seeds visit the same directions
    Z = training.once("ranking directions", lambda: in_few_directions(rows))[order] if few else None
    return X, Z, shift, scale


def solve_path(
    problem: Problem,
    Z: FloatArray | None,
    alphas: Sequence[float],
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
) -> list[Solution]:
    """Return the solution of every alpha, within ``tol`` of the optimum or after ``max_iter`` epochs.

    Samples are visited in few directions Z, if there are any.
    """
    seed = rng.randint(2**31)
    n_arrays = 1 if Z is None else 2  # dual variables, and scores at the last look
    size = 4 * n_arrays * len(problem.y) * len(problem.margins)  # bytes that a model keeps
    solutions = []
    for part in row_blocks(len(alphas), max(1, _dual.MEMORY // size)):
        task = problem, alphas[part], tol, max_iter
        stack = Stack(*task) if Z is None else ShortStack(*task, Z)
        # the same order of visits, so that a path does not depend on how it is cut
        solutions += stack.solve(np.random.RandomState(seed))
    return solutions


def visiting_order(n: int, rng: np.random.RandomState, run: int) -> IndexArray:
    """Return 0..n-1 in a random order of runs of neighbors, each block of them shuffled.

    Neighbors are read from disk together; every block holds runs from all over the data.

    >>> visiting_order(6, np.random.RandomState(0), 2)
    array([0, 2, 5, 3, 4, 1])
    """
    order = (rng.permutation(-(-n // run))[:, None] * run + np.arange(run)).ravel()
    order = order[order < n]
    return np.concatenate([rng.permutation(order[block]) for block in row_blocks(n, SAMPLE_BLOCK)])


def shift_and_scale(training: Training) -> tuple[FloatArray, float]:
    """Return half the mean of the scaled features, and their root mean squared length without it."""
    largest = max(np.abs(rows).max() for rows, _ in training.blocks()) or 1.0
    total, square = np.zeros(training.X.shape[1]), 0.0
    for rows, _ in training.blocks():
        rows = rows / largest  # so that squares stay finite
        total += rows.sum(axis=0, dtype=np.float64)
        square += float(np.sum(rows**2, dtype=np.float64))
    mean = total / len(training.y)
    # the mean of ||x - t m||^2 is that of ||x||^2 less (2 t - t^2) ||m||^2
    shifted = square / len(training.y) - (2 * SHIFT - SHIFT**2) * mean @ mean
    return largest * SHIFT * mean, float(largest * np.sqrt(shifted)) or 1.0


class ALE(RankingClassifier):
    r"""Attribute label embedding: a ranking loss that weighs samples by their rank.

    .. math:: \frac1N \sum_n \frac{\beta_{r_n}}{r_n} \sum_{c \ne y_n}
        \max(0, 1 + f(x_n, c) - f(x_n, y_n)) + \alpha \lVert W \rVert_F^2,
        \qquad f(x, c) = s_c W (x - \mu / 2)

    with the mean :math:`\mu` of the training features, :math:`r_n` violating classes and
    :math:`\beta_r = 1 + 1/2 + \dots + 1/r`: a sample that many classes violate counts less for each of them.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1e-3
        Strength of the regularization, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.
    smoothing : float, default=1.0
        Width over which the corners of the loss are rounded, which helps both the training and the result;
        0 is the published loss with its sharp corners.
    tol : float, default=3e-3
        Stop when the objective is within this share of its value at W = 0 of the minimum, which the
        duality gap proves.
    max_iter : int, default=200
        Epochs after which the training stops in any case; ``fit`` then warns.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularization.
    dual_gap_ : float
        How far the objective can be from its minimum, as a share of its value at W = 0.
    shift_ : ndarray of shape (n_features,)
        Half the mean of the training features, subtracted from all features to train twice as fast.

    References
    ----------
    Akata et al. (2016), *Label-Embedding for Image Classification*.

    Examples
    --------
    >>> from unseen import ALE
    >>> from unseen.datasets import load_dataset
    >>> data = load_dataset("digits")
    >>> train = data.seen[data.y]
    >>> model = ALE(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _project = staticmethod(project_box)
    _weigh = staticmethod(rank_weights)


class DeViSE(RankingClassifier):
    r"""Deep visual-semantic embedding: the sum of the hinge losses of all wrong classes.

    .. math:: \frac1N \sum_n \sum_{c \ne y_n} \max(0, 1 + f(x_n, c) - f(x_n, y_n))
        + \alpha \lVert W \rVert_F^2, \qquad f(x, c) = s_c W (x - \mu / 2)

    with the mean :math:`\mu` of the training features.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1e-3
        Strength of the regularization, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.
    smoothing : float, default=1.0
        Width over which the corners of the loss are rounded, which helps both the training and the result;
        0 is the published loss with its sharp corners.
    tol : float, default=3e-3
        Stop when the objective is within this share of its value at W = 0 of the minimum, which the
        duality gap proves.
    max_iter : int, default=200
        Epochs after which the training stops in any case; ``fit`` then warns.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularization.
    dual_gap_ : float
        How far the objective can be from its minimum, as a share of its value at W = 0.
    shift_ : ndarray of shape (n_features,)
        Half the mean of the training features, subtracted from all features to train twice as fast.

    References
    ----------
    Frome et al. (2013), *DeViSE: A Deep Visual-Semantic Embedding Model*.

    Examples
    --------
    >>> from unseen import DeViSE
    >>> from unseen.datasets import load_dataset
    >>> data = load_dataset("digits")
    >>> train = data.seen[data.y]
    >>> model = DeViSE(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _project = staticmethod(project_box)


class SJE(RankingClassifier):
    r"""Structured joint embedding: only the worst wrong class counts.

    .. math:: \frac1N \sum_n \max_{c} ([c \ne y_n] + f(x_n, c) - f(x_n, y_n))
        + \alpha \lVert W \rVert_F^2, \qquad f(x, c) = s_c W (x - \mu / 2)

    with the mean :math:`\mu` of the training features.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1e-3
        Strength of the regularization, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.
    smoothing : float, default=1.0
        Width over which the corners of the loss are rounded, which helps both the training and the result;
        0 is the published loss with its sharp corners.
    tol : float, default=3e-3
        Stop when the objective is within this share of its value at W = 0 of the minimum, which the
        duality gap proves.
    max_iter : int, default=200
        Epochs after which the training stops in any case; ``fit`` then warns.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularization.
    dual_gap_ : float
        How far the objective can be from its minimum, as a share of its value at W = 0.
    shift_ : ndarray of shape (n_features,)
        Half the mean of the training features, subtracted from all features to train twice as fast.

    References
    ----------
    Akata et al. (2015), *Evaluation of Output Embeddings for Fine-Grained Image Classification*.

    Examples
    --------
    >>> from unseen import SJE
    >>> from unseen.datasets import load_dataset
    >>> data = load_dataset("digits")
    >>> train = data.seen[data.y]
    >>> model = SJE(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _project = staticmethod(project_simplex)
