"""Displays: every picture gives back the table behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unseen._core.colors import HARMONIC, PART_COLORS, SEEN, UNSEEN
from unseen._core.display import Display, data_frame
from unseen.calibration.display import SeenUnseenDisplay

__all__ = [
    "AttributeErrorDisplay",
    "BiasVarianceDisplay",
    "LambdaDisplay",
    "SeenUnseenDisplay",
    "SplitsDisplay",
]


@dataclass
class LambdaDisplay(Display):
    """Both accuracies against the regularisation, and where its two optima are (the paper's Fig. 1).

    Accuracy of unseen samples among unseen classes, of seen samples among seen classes, and the best
    harmonic mean, as means over the validation folds.

    Parameters
    ----------
    alpha, zsl, seen, h : sequence of float
        The paper's lambda, and A_U->Cu, A_S->Cs and the best mean H at each.
    best_zsl, best : float
        lambda_ZSL and lambda_GZSL.
    """

    alpha: Sequence[float]
    zsl: Sequence[float]
    seen: Sequence[float]
    h: Sequence[float]
    best_zsl: float
    best: float

    @classmethod
    def from_result(cls, result: Mapping[str, Any]) -> Self:
        """Take it from the stored result of a run; parameters besides alpha stay as they were chosen."""
        table = result["validation"]
        chosen = table["params"][table["best"]]
        rows = [
            row
            for row, params in enumerate(table["params"])
            if all(params[name] == chosen[name] for name in params if name != "alpha")
        ]
        columns = {name: [table[name][row] for row in rows] for name in ("zsl", "seen", "h")}
        alpha = [table["params"][row]["alpha"] for row in rows]
        return cls(
            alpha, **columns, best_zsl=result["params_zsl"]["alpha"], best=result["params_gzsl"]["alpha"]
        )

    def _draw(self) -> None:
        self.ax_.plot(self.alpha, self.zsl, "o-", color=UNSEEN, label="unseen among unseen, A_U→Cu")
        self.ax_.plot(self.alpha, self.seen, "o-", color=SEEN, label="seen among seen, A_S→Cs")
        self.ax_.plot(self.alpha, self.h, "o-", color=HARMONIC, label="best harmonic mean H")
        self.ax_.axvline(self.best_zsl, color=UNSEEN, linestyle=":", label="λ for ZSL")
        self.ax_.axvline(self.best, color=HARMONIC, linestyle=":", label="λ for GZSL")
        self.ax_.set(xscale="log", xlabel="λ", ylabel="validation accuracy (%)", ylim=(0, None))
        self.ax_.legend(loc="lower left")

    def frame(self) -> Any:
        """Return the curves as a pandas DataFrame, one row per value of alpha."""
        columns = {"alpha": self.alpha, "zsl": self.zsl, "seen": self.seen, "h": self.h}
        return data_frame({**columns, "best_zsl": self.best_zsl, "best": self.best})


@dataclass
class SplitsDisplay(Display):
    """Which samples of which class train, validate and test (the paper's Fig. 2); a column is a class.

    Parameters
    ----------
    counts : dict of sequence of int
        Samples of each class by part: train, seen_val, val, test_seen, test.
    class_names : sequence of str
    """

    counts: Mapping[str, Sequence[int]]
    class_names: Sequence[str]

    _LABELS: ClassVar[dict[str, str]] = {
        "train": "train",
        "val": "validation: unseen classes",
        "test": "test: unseen classes",
        "seen_val": "validation: seen classes",
        "test_seen": "test: seen classes",
    }

    @classmethod
    def from_description(cls, description: Mapping[str, Any], fold: int = 0) -> Self:
        """Take it from the stored description of a setting."""
        return cls(description["class_counts"][fold], description["class_names"])

    def _draw(self) -> None:
        order = self._order()
        bottom = np.zeros(len(order))
        for part, label in self._LABELS.items():
            height = np.asarray(self.counts[part])[order]
            self.ax_.bar(np.arange(len(order)), height, 1.0, bottom, color=PART_COLORS[part], label=label)
            bottom += height
        self.ax_.set(xlabel="class", ylabel="samples", xlim=(-0.5, len(order) - 0.5))
        self.ax_.set_ylim(0, 1.35 * bottom.max())  # room for the legend
        self.ax_.legend(loc="upper left", ncols=2, fontsize="small")

    def _order(self) -> NDArray[np.intp]:
        """Training classes first, then validation, then test classes, each as the data set has them."""
        group = np.select(
            [np.asarray(self.counts["test"]) > 0, np.asarray(self.counts["val"]) > 0], [2, 1], 0
        )
        return np.argsort(group, kind="stable")

    def frame(self) -> Any:
        """Return the numbers of samples as a pandas DataFrame, one row per class."""
        return data_frame({"class": list(self.class_names), **self.counts})


@dataclass
class AttributeErrorDisplay(Display):
    """Error of predicted attributes against the regularisation, seen and unseen (the paper's Fig. 3a)."""

    alpha: Sequence[float]
    seen: Sequence[float]
    unseen: Sequence[float]

    @classmethod
    def from_result(cls, result: Mapping[str, Any]) -> Self:
        """Take it from the stored result of a linear-vs run."""
        return cls(**result["attribute_error"])

    def _draw(self) -> None:
        self.ax_.plot(self.alpha, self.unseen, "o-", color=UNSEEN, label="unseen classes")
        self.ax_.plot(self.alpha, self.seen, "o-", color=SEEN, label="seen classes")
        self.ax_.set(xscale="log", xlabel="λ", ylabel="mean squared error of attributes", ylim=(0, None))
        self.ax_.legend(loc="lower left")

    def frame(self) -> Any:
        """Return the errors as a pandas DataFrame, one row per value of alpha."""
        return data_frame({"alpha": self.alpha, "seen": self.seen, "unseen": self.unseen})


@dataclass
class BiasVarianceDisplay(Display):
    """What the error of a ridge regression is made of, against its regularisation (the paper's Fig. 3b).

    The fields are those of ``unseen.benchmark.bias_variance.BiasVariance``:
    ``BiasVarianceDisplay(**vars(measure_bias_variance()))``.
    """

    alpha: Sequence[float]
    bias: Sequence[float]
    variance: Sequence[float]
    noise: Sequence[float]
    error: Sequence[float]

    def _draw(self) -> None:
        self.ax_.plot(self.alpha, self.error, color="black", label="total error")
        self.ax_.plot(self.alpha, self.variance, color="C0", label="variance")
        self.ax_.plot(self.alpha, self.bias, color="C3", label="bias²")
        self.ax_.plot(self.alpha, self.noise, color="0.6", linestyle="--", label="noise")
        self.ax_.set(xscale="log", xlabel="λ", ylabel="mean squared error", ylim=(0, None))
        self.ax_.legend(loc="lower left")

    def frame(self) -> Any:
        """Return the parts as a pandas DataFrame, one row per value of alpha."""
        return data_frame({field.name: getattr(self, field.name) for field in fields(self)})
