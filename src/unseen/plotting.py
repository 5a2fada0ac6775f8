"""Displays: every picture gives back the table behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unseen.colours import HARMONIC, PART_COLOURS, SEEN, UNSEEN
from unseen.curve import OperatingPoint, SeenUnseenCurve
from unseen.errors import need_extra

_SHOWN = 20  # points per percent that a picture can show: more would only make its file larger


def _subplots() -> tuple[Any, Any]:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise need_extra("matplotlib", "report", "Drawing a figure") from error
    return plt.subplots(figsize=(5.5, 5), layout="constrained")


def _data_frame(columns: dict[str, Any]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise need_extra("pandas", "pandas", "A table as a DataFrame") from error
    return pd.DataFrame(columns)


class _Display:
    """A picture that draws itself into given axes, or into a figure of its own."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib, into ``ax`` or a figure of its own."""
        self.ax_ = _subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw()
        return self

    def _draw(self) -> None:
        raise NotImplementedError


@dataclass
class SeenUnseenDisplay(_Display):
    """The seen-unseen curve with a chosen and the uncalibrated point, over lines of equal harmonic mean.

    Parameters
    ----------
    curve : SeenUnseenCurve
    point : OperatingPoint, optional
        The choice to mark; the best harmonic mean unless told.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Once it is drawn.
    """

    curve: SeenUnseenCurve
    point: OperatingPoint | None = None

    def __post_init__(self) -> None:
        self.chosen = self.point or self.curve.best()

    def _draw(self) -> None:
        self._draw_equal_h()
        shown = _visible(self.curve)
        label = f"every gamma (AUSUC {self.curve.ausuc:.3f})"
        self.ax_.plot(self.curve.unseen_curve[shown], self.curve.seen_curve[shown], color="C0", label=label)
        self._draw_point(0.0, "o", "no calibration")
        self._draw_point(self.chosen.gamma, "*", f"gamma = {self.chosen.gamma:.4g}")
        self.ax_.set(
            xlabel="accuracy on unseen samples, A_U→C (%)",
            ylabel="accuracy on seen samples, A_S→C (%)",
            xlim=(0, 1.05 * max(self.curve.unseen_alone, 1)),
            ylim=(0, 1.05 * max(self.curve.seen_alone, 1)),
        )
        self.ax_.legend(loc="lower left")

    def _draw_point(self, gamma: float, marker: str, label: str) -> None:
        unseen, seen, h = self.curve.at(gamma)
        size = 13 if marker == "*" else 7
        self.ax_.plot(unseen, seen, marker, color="C1", markersize=size, label=f"{label}: H = {h:.1f} %")

    def _draw_equal_h(self) -> None:
        unseen = np.linspace(0.5, 100, 400)
        for H in range(10, 100, 10):
            with np.errstate(divide="ignore", invalid="ignore"):
                # H = 2 U S / (U + S), solved for S
                seen = np.where(2 * unseen > H, H * unseen / (2 * unseen - H), np.inf)
            self.ax_.plot(unseen, seen, color="0.85", linewidth=0.8, zorder=0)
            self.ax_.annotate(f"H = {H}", (H, H), color="0.6", fontsize=7, annotation_clip=True, zorder=0)

    def frame(self) -> Any:
        """Return the curve as a pandas DataFrame: one row per segment of gamma, its upper end included."""
        ends = self.curve.breakpoints
        return _data_frame(
            {
                "gamma_low": np.append(-np.inf, ends),
                "gamma_high": np.append(ends, np.inf),
                "gamma": self.curve.gammas,
                "unseen": self.curve.unseen_curve,
                "seen": self.curve.seen_curve,
                "h": self.curve.h_curve,
            }
        )

    def html(self, title: str = "Seen and unseen accuracy") -> str:
        """Return a page of its own, without network, where a person can move gamma and see the accuracies."""
        try:
            from jinja2 import Environment
            from markupsafe import Markup
            from plotly.offline import get_plotlyjs
        except ImportError as error:
            raise need_extra("plotly", "report", "The interactive page") from error
        template = resources.files("unseen").joinpath("templates/curve.html").read_text("utf-8")
        environment = Environment(autoescape=True)
        return environment.from_string(template).render(
            title=title, plotly=Markup(get_plotlyjs()), data=script_json(self._page_data())
        )

    def _page_data(self) -> dict[str, Any]:
        curve, shown = self.curve, _visible(self.curve)
        shown = shown[np.isfinite(curve.gammas[shown])]
        return {
            "breakpoints": curve.breakpoints[shown[1:] - 1].tolist(),
            "gammas": curve.gammas[shown].tolist(),
            "unseen": curve.unseen_curve[shown].tolist(),
            "seen": curve.seen_curve[shown].tolist(),
            "h": curve.h_curve[shown].tolist(),
            "chosen": self.chosen.gamma,
            "ausuc": curve.ausuc,
        }


def _visible(curve: SeenUnseenCurve) -> NDArray[np.intp]:
    """Return the segments that differ visibly from the one before; a small curve keeps all of them."""
    n = len(curve.h_curve)
    if n <= 100 * _SHOWN:
        return np.arange(n)
    cell = np.floor(_SHOWN * np.column_stack([curve.unseen_curve, curve.seen_curve]))  # (segments, 2)
    changed = np.append(True, (np.diff(cell, axis=0) != 0).any(axis=1))
    return np.flatnonzero(changed)


def script_json(data: Any) -> Any:
    """Return JSON that is safe inside a script element: no character of it can end the element."""
    from markupsafe import Markup

    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@dataclass
class LambdaDisplay(_Display):
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
        return _data_frame({**columns, "best_zsl": self.best_zsl, "best": self.best})


@dataclass
class SplitsDisplay(_Display):
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
            self.ax_.bar(np.arange(len(order)), height, 1.0, bottom, color=PART_COLOURS[part], label=label)
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
        return _data_frame({"class": list(self.class_names), **self.counts})


@dataclass
class AttributeErrorDisplay(_Display):
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
        return _data_frame({"alpha": self.alpha, "seen": self.seen, "unseen": self.unseen})


@dataclass
class BiasVarianceDisplay(_Display):
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
        return _data_frame({field.name: getattr(self, field.name) for field in fields(self)})
