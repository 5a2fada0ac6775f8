"""The paper's figures; each one also returns its data as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unseen._core.colors import HARMONIC, PART_COLORS, SEEN, UNSEEN
from unseen._core.display import Display, data_frame
from unseen.benchmark.results import Description, RunResult, SplitPart
from unseen.calibration.display import SeenUnseenDisplay as SeenUnseenDisplay
from unseen.errors import UnseenError

# the parts of a split, in the order they are drawn and explained
SPLIT_PART_TITLES: dict[SplitPart, str] = {
    "train": "training",
    "seen_val": "validation, seen classes",
    "val": "validation, unseen classes",
    "test_seen": "test, seen classes",
    "test": "test, unseen classes",
}


class _AlphaDisplay(Display):
    """Curves against the regularization; the fields are the columns of the table."""

    def _finish(self, ylabel: str) -> None:
        self.ax_.set(xscale="log", xlabel="λ", ylabel=ylabel, ylim=(0, None))
        self.ax_.legend(loc="lower left")

    def frame(self) -> Any:
        """Return the curves as a pandas DataFrame, one row per value of alpha."""
        return data_frame({name: values for name, values in vars(self).items() if not name.endswith("_")})


def selection_figure(run: RunResult) -> dict[str, Any] | None:
    """Return the paper's Fig. 1, or None for a method without parameters to choose.

    Validation accuracies against one parameter: "alpha", the paper's lambda, if the method has it. Every
    value is the best over the ``others``, the method's further parameters. So both optima lie on their lines:
    the ZSL optimum is the maximum of ``zsl``, the GZSL optimum that of ``h``. Grids of positive numbers over
    more than a decade have a logarithmic axis.
    """
    grid, table = run["grid"], run["validation"]
    if not grid:
        return None
    name = "alpha" if "alpha" in grid else next(iter(grid))
    tried: list[Any] = [params[name] for params in table["params"]]
    values, scale = list(dict.fromkeys(tried)), "category"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        values = sorted(values)
        scale = "log" if values[0] > 0 and values[-1] > 10 * values[0] else "linear"

    def best_by_value(scores: Sequence[float]) -> list[float]:
        return [max(score for score, at in zip(scores, tried) if at == value) for value in values]

    return {
        "parameter": name,
        "others": [other for other in grid if other != name],
        "x": values,
        "zsl": best_by_value(table["zsl"]),  # A_U->Cu
        "seen": best_by_value(table["seen"]),  # A_S->Cs
        "h": best_by_value(table["h"]),  # the best mean H
        "best_zsl": tried[table["best_zsl"]],  # lambda_ZSL
        "best": tried[table["best"]],  # lambda_GZSL
        "scale": scale,
    }


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
        figure = selection_figure(result)
        if figure is None or figure["scale"] == "category":
            raise UnseenError(f"{result['method']} has no parameter with numbers to draw against.")
        return cls(figure["x"], *(figure[name] for name in ("zsl", "seen", "h", "best_zsl", "best")))

    def _draw(self) -> None:
        self.ax_.plot(self.alpha, self.zsl, "o-", color=UNSEEN, label="unseen among unseen, A_U→Cu")
        self.ax_.plot(self.alpha, self.seen, "o-", color=SEEN, label="seen among seen, A_S→Cs")
        self.ax_.plot(self.alpha, self.h, "o-", color=HARMONIC, label="best harmonic mean H")
        self.ax_.axvline(self.best_zsl, color=UNSEEN, linestyle=":", label="λ for ZSL")
        self.ax_.axvline(self.best, color=HARMONIC, linestyle=":", label="λ for GZSL")
        self._finish("validation accuracy (%)")


def order_classes(counts: Mapping[SplitPart, Sequence[int]]) -> list[int]:
    """Return the classes in the order of the paper's Fig. 2: for training, for validation, for test.

    ``counts`` has the samples of each class by part of the split; within a kind, large classes come first.
    """

    def place(c: int) -> tuple[int, int]:
        kind = 2 if counts["test"][c] else 1 if counts["val"][c] else 0
        return kind, -sum(counts[part][c] for part in SPLIT_PART_TITLES)

    return sorted(range(len(counts["train"])), key=place)


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
