"""The paper's figures; each one also returns its data as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unseen._core.colors import HARMONIC, PART_COLORS, SEEN, UNSEEN
from unseen._core.display import Display, data_frame
from unseen.benchmark.figures import SPLIT_PART_TITLES, only_numbers, order_classes, parameter_curves
from unseen.benchmark.results import Description, RunResult, SplitPart
from unseen.calibration.display import SeenUnseenDisplay as SeenUnseenDisplay
from unseen.errors import UnseenError


class _AlphaDisplay(Display):
    """Curves against the regularization; the fields are the columns of the table."""

    def _finish(self, ylabel: str) -> None:
        self.ax_.set(xscale="log", xlabel="λ", ylabel=ylabel, ylim=(0, None))
        self.ax_.legend(loc="lower left")

    def frame(self) -> Any:
        """Return the curves as a pandas DataFrame, one row per value of alpha."""
        return data_frame({name: values for name, values in vars(self).items() if not name.endswith("_")})


@dataclass
class LambdaDisplay(_AlphaDisplay):
    """Both accuracies against the regularization, and where its two optima are (the paper's Fig. 1).

    Accuracy of unseen samples among unseen classes, of seen samples among seen classes, and the best
    harmonic mean, as means over the validation folds. Each value is the best over the method's further
    parameters, so both optima lie on their lines.

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
    def from_result(cls, result: RunResult) -> Self:
        """Make it from the stored result of a run."""
        curves = parameter_curves(result)
        alpha = curves and only_numbers(curves.x)
        best = curves and only_numbers([curves.best_zsl, curves.best])
        if not curves or not alpha or not best:
            raise UnseenError(f"{result['method']} has no parameter with numbers to draw against.")
        return cls(alpha, curves.zsl, curves.seen, curves.h, *best)

    def _draw(self) -> None:
        self.ax_.plot(self.alpha, self.zsl, "o-", color=UNSEEN, label="unseen among unseen, A_U→Cu")
        self.ax_.plot(self.alpha, self.seen, "o-", color=SEEN, label="seen among seen, A_S→Cs")
        self.ax_.plot(self.alpha, self.h, "o-", color=HARMONIC, label="best harmonic mean H")
        self.ax_.axvline(self.best_zsl, color=UNSEEN, linestyle=":", label="λ for ZSL")
        self.ax_.axvline(self.best, color=HARMONIC, linestyle=":", label="λ for GZSL")
        self._finish("validation accuracy (%)")


@dataclass
class SplitsDisplay(Display):
    """Which samples of which class train, validate and test (the paper's Fig. 2); a column is a class.

    Parameters
    ----------
    counts : mapping of sequence of int
        Samples of each class by part: train, seen_val, val, test_seen, test.
    class_names : sequence of str
    """

    counts: Mapping[SplitPart, Sequence[int]]
    class_names: Sequence[str]

    @classmethod
    def from_description(cls, description: Description, fold: int = 0) -> Self:
        """Make it from the stored description of an experiment."""
        return cls(description["class_counts"][fold], description["class_names"])

    def _draw(self) -> None:
        order = order_classes(self.counts)
        bottom = np.zeros(len(order))
        for part, label in SPLIT_PART_TITLES.items():
            height = np.asarray(self.counts[part])[order]
            self.ax_.bar(np.arange(len(order)), height, 1.0, bottom, color=PART_COLORS[part], label=label)
            bottom += height
        self.ax_.set(xlabel="class", ylabel="samples", xlim=(-0.5, len(order) - 0.5))
        self.ax_.set_ylim(0, 1.35 * bottom.max())  # room for the legend
        self.ax_.legend(loc="upper left", ncols=2, fontsize="small")

    def frame(self) -> Any:
        """Return the numbers of samples as a pandas DataFrame, one row per class."""
        return data_frame({"class": list(self.class_names), **{str(k): v for k, v in self.counts.items()}})


@dataclass
class AttributeErrorDisplay(_AlphaDisplay):
    """Error of predicted attributes against the regularization, seen and unseen (the paper's Fig. 3a)."""

    alpha: Sequence[float]
    seen: Sequence[float]
    unseen: Sequence[float]

    @classmethod
    def from_result(cls, result: RunResult) -> Self:
        """Make it from the stored result of a linear-vs run."""
        errors = result["attribute_error"]
        if errors is None:
            raise UnseenError(f"Only linear-vs predicts attributes; this is a run of {result['method']}.")
        return cls(**errors)

    def _draw(self) -> None:
        self.ax_.plot(self.alpha, self.unseen, "o-", color=UNSEEN, label="unseen classes")
        self.ax_.plot(self.alpha, self.seen, "o-", color=SEEN, label="seen classes")
        self._finish("mean squared error of attributes")


@dataclass
class BiasVarianceDisplay(_AlphaDisplay):
    """What the error of a ridge regression is made of, against its regularization (the paper's Fig. 3b).

    The fields come from ``unseen.benchmark.bias_variance``:
    ``BiasVarianceDisplay(**measure_bias_variance())``.
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
        self._finish("mean squared error")
