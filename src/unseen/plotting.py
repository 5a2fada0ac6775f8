"""Displays: every picture gives back the table behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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


@dataclass
class SeenUnseenDisplay:
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

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib, into ``ax`` or a figure of its own."""
        self.ax_ = _subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
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
        self.ax_.legend(loc="best")
        return self

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
            title=title, plotly=Markup(get_plotlyjs()), data=_script_json(self._page_data())
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


def _script_json(data: Any) -> Any:
    """Return JSON that is safe inside a script element: no character of it can end the element."""
    from markupsafe import Markup

    text = json.dumps(data, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
