"""Bilinear ranking methods: one trainer, a whole path of regularisations at once, one small loss each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from unseen.base import BLOCK, FloatArray, Training, ZeroShotClassifier, row_blocks
from unseen.rows import read_ahead

COPIED = 2**30  # bytes of features that are held in a second, scaled copy; more are scaled when visited
RUN = 16  # neighbours that are read together where features stay on disk
Labels = NDArray[np.intp]
# (scores, labels, margins) -> (loss of each model, gradient with respect to the scores)
Loss = Callable[[FloatArray, Labels, FloatArray], tuple[FloatArray, FloatArray]]


# ---- losses: scores (batch, models, classes), labels (batch,), margins (classes, classes) -------------


def _violations(scores: FloatArray, y: Labels, margins: FloatArray) -> FloatArray:
    """Return ``margin[y, c] + f(x, c) - f(x, y)``, 0 for the class itself; overwrites the scores."""
    batch = np.arange(len(y))
    scores -= scores[batch, :, y][:, :, None]
    scores += margins[y][:, None, :]  # margins[y, y] is 0
    return scores


def sum_loss(scores: FloatArray, y: Labels, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """DeViSE: ``sum_c max(0, margin + f(x, c) - f(x, y))``."""
    hinge = np.maximum(_violations(scores, y, margins), 0, out=scores)
    gradient = (hinge > 0).astype(scores.dtype)
    gradient[np.arange(len(y)), :, y] = -gradient.sum(axis=2)
    return hinge.sum(axis=(0, 2)), gradient


def rank_loss(scores: FloatArray, y: Labels, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ALE: the sum of DeViSE times ``beta_r / r``: r violating classes, ``beta_r = 1 + 1/2 + ... + 1/r``."""
    hinge = np.maximum(_violations(scores, y, margins), 0, out=scores)
    violating = hinge > 0
    rank = np.count_nonzero(violating, axis=2)  # (batch, models)
    ranks = np.arange(1, len(margins) + 1)
    weights = np.concatenate([[0], np.cumsum(1 / ranks) / ranks]).astype(scores.dtype)[rank]
    gradient = violating * weights[:, :, None]
    gradient[np.arange(len(y)), :, y] = -weights * rank
    return (hinge.sum(axis=2) * weights).sum(axis=0), gradient


def max_loss(scores: FloatArray, y: Labels, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """SJE and SynC: ``max_c (margin + f(x, c) - f(x, y))``, 0 where the class itself is the largest."""
    violation = _violations(scores, y, margins)
    worst = violation.argmax(axis=2)[:, :, None]
    gradient = np.zeros_like(scores)
    np.put_along_axis(gradient, worst, 1, axis=2)
    gradient[np.arange(len(y)), :, y] -= 1
    return np.take_along_axis(violation, worst, axis=2).sum(axis=(0, 2)), gradient


# ---- the trainer --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Mean loss of the scores ``X A' K`` plus ``alpha tr(A' K A)``, one A for each alpha.

    With ``W = S' A`` and ``K = S S'`` this is the mean loss of ``X W' S'`` plus ``alpha ||W||^2``. The
    gradient with respect to W is ``S' (G' X / n + 2 alpha A)``: ``A -= rate (G' X / n + 2 alpha A)``
    is gradient descent on W itself, without ever forming W.
    """

    X: FloatArray | ScaledRows  # (samples, features), float32
    y: Labels  # (samples,)
    gram: FloatArray | None  # K (classes, classes); None stands for the identity
    margins: FloatArray  # (classes, classes), 0 on the diagonal
    alphas: FloatArray  # (models,)
    loss: Loss

    def gradient(self, A: FloatArray, X: FloatArray, y: Labels) -> tuple[FloatArray, FloatArray]:
        """Return (summed loss of each model, G' X / batch + 2 alpha A) for one batch of samples."""
        models, classes, features = A.shape
        scores = (X @ A.reshape(-1, features).T).reshape(len(y), models, classes)
        if self.gram is not None:
            scores = scores @ self.gram
        loss, G = self.loss(scores, y, self.margins)
        step = (G.reshape(len(y), -1).T @ X).reshape(A.shape)
        step /= len(y)
        step += 2 * self.alphas[:, None, None] * A
        return loss, step


def descend(
    problem: Problem, rate: float, epochs: int, batch: int, rng: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Minimise by gradient steps with momentum and a rate that falls to 0; returns A and the loss curves."""
    n, classes = len(problem.y), len(problem.margins)
    A = np.zeros((len(problem.alphas), classes, problem.X.shape[1]), dtype=np.float32)
    speed = np.zeros_like(A)
    curve = np.zeros((epochs, len(A)))
    steps = -(-n // batch)
    # 2 alpha rate must stay far below 1, or the pull towards 0 overshoots
    rates = np.minimum(rate, 0.02 / np.maximum(problem.alphas, 1e-30)).astype(np.float32)[:, None, None]
    for epoch in range(epochs):
        for step, (X, y) in enumerate(batches(problem, batch, rng)):
            loss, gradient = problem.gradient(A, X, y)
            gradient *= rates * np.float32(1 - (epoch + step / steps) / epochs)
            speed *= np.float32(0.9)
            speed -= gradient
            A += speed
            curve[epoch] += loss / n
    return A, curve


def batches(problem: Problem, size: int, rng: np.random.RandomState) -> Iterator[tuple[FloatArray, Labels]]:
    """Yield all samples once, in random order, in batches that are cut from blocks.

    On disk, samples that lie together are read together: a block is made of short runs from all over the
    data, and shuffled. A thread reads the next block meanwhile.
    """
    on_disk = isinstance(problem.X, ScaledRows)
    order = visiting_order(len(problem.y), rng, RUN if on_disk else 1)
    blocks = [order[block] for block in row_blocks(len(order), size * max(1, BLOCK // size))]
    mixed = [rng.permutation(len(rows)) if on_disk else slice(None) for rows in blocks]

    def read(number: int) -> tuple[FloatArray, Labels]:
        rows = blocks[number]
        return problem.X[rows][mixed[number]], problem.y[rows][mixed[number]]

    for X, y in read_ahead(read, range(len(blocks))):
        for batch in row_blocks(len(y), size):
            yield X[batch], y[batch]


def visiting_order(n: int, rng: np.random.RandomState, run: int) -> Labels:
    """Return 0..n-1 in a random order of runs of neighbours.

    >>> visiting_order(6, np.random.RandomState(0), 2)
    array([4, 5, 2, 3, 0, 1])
    """
    order = (rng.permutation(-(-n // run))[:, None] * run + np.arange(run)).ravel()
    return order[order < n]


class RankingClassifier(ZeroShotClassifier):
    """Base of the methods that rank the right class first: ``f(x, s) = s W x`` learnt by a hinge loss."""

    stochastic = True
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": np.geomspace(1e-5, 1e-2, 10).tolist()}
    _loss: ClassVar[Any]
    _rate: ClassVar[float]

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 3e-4,
        normalize: str | None = "l2",
        max_iter: int = 20,
        batch_size: int = 64,
        random_state: Any = None,
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.normalize = normalize
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        X, x_scale = scaled_features(training)
        S = training.S - training.S.mean(axis=0)
        s_scale = mean_square(S)
        problem = Problem(
            X=X,
            y=training.y,
            gram=(S @ S.T / s_scale).astype(np.float32),
            margins=(1 - np.eye(len(S))).astype(np.float32),
            alphas=np.array([model.alpha for model in models], dtype=np.float32),
            loss=type(self)._loss,
        )
        A, curve = self._train(problem)
        for model, A_model, losses in zip(models, A, curve.T):
            model._record(losses)
            yield S.T / (s_scale * x_scale) @ A_model

    def _train(self, problem: Problem) -> tuple[FloatArray, FloatArray]:
        rng = check_random_state(self.random_state)
        return descend(problem, self._rate, self.max_iter, self.batch_size, rng)

    def _record(self, losses: FloatArray) -> None:
        self.n_iter_ = len(losses)
        self.loss_curve_ = losses


class ScaledRows:
    """Features in float32, divided by ``scale``, that are made when they are asked for."""

    def __init__(self, training: Training, scale: float) -> None:
        self.training, self.scale, self.shape = training, scale, training.X.shape

    def __getitem__(self, rows: slice | Labels) -> FloatArray:
        return (self.training.rows(rows) / self.scale).astype(np.float32, copy=False)


def scaled_features(training: Training) -> tuple[FloatArray | ScaledRows, float]:
    """Return the features in float32, divided by their root mean squared length, and that length.

    Small ones are copied, large ones stay where they are.
    """
    largest = max(np.abs(rows).max() for rows, _ in training.blocks()) or 1.0
    square = sum(float(np.sum((rows / largest) ** 2, dtype=np.float64)) for rows, _ in training.blocks())
    scale = float(largest * np.sqrt(square / len(training.y))) or 1.0
    scaled = ScaledRows(training, scale)
    if 4 * np.prod(scaled.shape) > COPIED:
        return scaled, scale
    X = np.empty(scaled.shape, dtype=np.float32)
    for block in row_blocks(len(X)):
        X[block] = scaled[block]
    return X, scale


def mean_square(S: FloatArray) -> float:
    """Return the mean squared length of the rows, 1 when they are all zero."""
    return float(np.einsum("ij,ij->", S, S)) / len(S) or 1.0


class ALE(RankingClassifier):
    r"""Attribute label embedding: a ranking loss that weighs samples by their rank.

    .. math:: \frac1N \sum_n \frac{\beta_{r_n}}{r_n} \sum_{c \ne y_n}
        \max(0, 1 + f(x_n, c) - f(x_n, y_n)) + \alpha \lVert W \rVert_F^2, \qquad f(x, c) = s_c W x

    with :math:`r_n` violating classes and :math:`\beta_r = 1 + 1/2 + \dots + 1/r`: a sample that many classes
    violate counts less for each of them.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=3e-4
        Strength of the regularisation, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    normalize : {"l2", None}, default="l2"
        Scale every sample to unit length first.
    max_iter : int, default=20
        Epochs.
    batch_size : int, default=64
        Samples per step.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularisation.

    References
    ----------
    Akata et al. (2016), *Label-Embedding for Image Classification*.

    Examples
    --------
    >>> from unseen import ALE
    >>> from unseen.datasets import load
    >>> data = load("digits")
    >>> train = data.seen[data.y]
    >>> model = ALE(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _loss = staticmethod(rank_loss)
    _rate = 3.0


class DeViSE(RankingClassifier):
    r"""Deep visual-semantic embedding: the sum of the hinge losses of all wrong classes.

    .. math:: \frac1N \sum_n \sum_{c \ne y_n} \max(0, 1 + f(x_n, c) - f(x_n, y_n))
        + \alpha \lVert W \rVert_F^2, \qquad f(x, c) = s_c W x

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=3e-4
        Strength of the regularisation, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    normalize : {"l2", None}, default="l2"
        Scale every sample to unit length first.
    max_iter : int, default=20
        Epochs.
    batch_size : int, default=64
        Samples per step.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularisation.

    References
    ----------
    Frome et al. (2013), *DeViSE: A Deep Visual-Semantic Embedding Model*.

    Examples
    --------
    >>> from unseen import DeViSE
    >>> from unseen.datasets import load
    >>> data = load("digits")
    >>> train = data.seen[data.y]
    >>> model = DeViSE(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _loss = staticmethod(sum_loss)
    _rate = 0.2


class SJE(RankingClassifier):
    r"""Structured joint embedding: only the worst wrong class counts.

    .. math:: \frac1N \sum_n \max_{c} ([c \ne y_n] + f(x_n, c) - f(x_n, y_n))
        + \alpha \lVert W \rVert_F^2, \qquad f(x, c) = s_c W x

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=3e-4
        Strength of the regularisation, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    normalize : {"l2", None}, default="l2"
        Scale every sample to unit length first.
    max_iter : int, default=20
        Epochs.
    batch_size : int, default=64
        Samples per step.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularisation.

    References
    ----------
    Akata et al. (2015), *Evaluation of Output Embeddings for Fine-Grained Image Classification*.

    Examples
    --------
    >>> from unseen import SJE
    >>> from unseen.datasets import load
    >>> data = load("digits")
    >>> train = data.seen[data.y]
    >>> model = SJE(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _loss = staticmethod(max_loss)
    _rate = 10.0
