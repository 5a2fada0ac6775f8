"""The seen-unseen curve as a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen._core.blocks import IndexArray
from unseen._core.display import Display, data_frame

if TYPE_CHECKING:
    from unseen.calibration.curve import OperatingPoint, SeenUnseenCurve

SHOWN_SEGMENTS = 4000  # of a curve that a figure can show: more would only make its file larger


@dataclass
class SeenUnseenDisplay(Display):
    """The seen-unseen curve with the chosen and the uncalibrated point, over lines of equal harmonic mean.

    Parameters
    ----------
    curve : SeenUnseenCurve
    point : OperatingPoint, optional
        The point to mark; the best harmonic mean by default.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Available after ``plot``.
    """

    curve: SeenUnseenCurve
    point: OperatingPoint | None = None

    def __post_init__(self) -> None:
        self.chosen = self.point or self.curve.best()

    def _draw(self) -> None:
        self._draw_equal_h()
        shown = visible_segments(self.curve)
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
        """Return the curve as a pandas DataFrame: one row per segment (gamma_low, gamma_high]."""
        ends = self.curve.breakpoints
        return data_frame(
            {
                "gamma_low": np.append(-np.inf, ends),
                "gamma_high": np.append(ends, np.inf),
                "gamma": self.curve.gammas,
                "unseen": self.curve.unseen_curve,
                "seen": self.curve.seen_curve,
                "h": self.curve.h_curve,
            }
        )


def visible_segments(curve: SeenUnseenCurve, limit: int = SHOWN_SEGMENTS) -> IndexArray:
    """Return the segments that differ visibly from the one before, at most about ``limit``.

    Along a curve both accuracies go one way. So a grid with limit / 2 steps from 0 to 100 % in each direction
    is crossed at most ``limit`` times. A curve with fewer segments keeps all of them.
    """
    n = len(curve.h_curve)
    if n <= limit:
        return np.arange(n)
    accuracies = np.column_stack([curve.unseen_curve, curve.seen_curve])  # (segments, 2)
    cell = np.floor(accuracies * limit / 200)
    changed = np.append(True, (np.diff(cell, axis=0) != 0).any(axis=1))
    return np.flatnonzero(changed)
