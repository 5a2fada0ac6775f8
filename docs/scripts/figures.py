"""Draw what each method learns from the digits into docs/figures: ``python docs/scripts/figures.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from unseen._core.colors import UNSEEN
from unseen.datasets import load_dataset
from unseen.datasets.digits import BARS, DISPLAY
from unseen.methods import METHODS, find_method

FIGURES = Path(__file__).parents[1] / "figures"
# the ends of each segment of the display, x to the right and y upwards
LINES = {
    "a": ((0, 2), (1, 2)),
    "b": ((1, 1), (1, 2)),
    "c": ((1, 0), (1, 1)),
    "d": ((0, 0), (1, 0)),
    "e": ((0, 0), (0, 1)),
    "f": ((0, 1), (0, 2)),
    "g": ((0, 1), (1, 1)),
}
PARAMETERS = {
    "linear-vs": {"alpha": 0.01},
    "linear-sv": {"alpha": 0.1},
    "eszsl": {"alpha": 10.0, "beta": 0.1},
    "sae": {"alpha": 0.3},
    "ale": {"alpha": 0.001},
    "devise": {"alpha": 0.001},
    "sje": {"alpha": 0.001},
    "sync": {"alpha": 0.001},
    "lda": {"alpha": 0.03, "shrinkage": 0.9},
}
LOOK = {
    "svg.hashsalt": "unseen",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
}


def fit(method: str) -> tuple[Any, Any]:
    """Return the digits and a method fitted to those of seen classes, regularized so that one can see it."""
    data = load_dataset("digits")
    found = find_method(method)
    seed = {"random_state": 0} if found.stochastic else {}
    model = found(data.prototypes, **PARAMETERS.get(method, {}), **seed)
    train = data.seen[data.y]
    return data, model.fit(data.X[train], data.y[train])


def draw_learned(method: str) -> Any:
    """Draw what a method learned, and the classifiers of unseen digits that follow from it."""
    data, model = fit(method)
    by_class = method in ("sync", "lda")
    learned = model.coef_[data.seen] if by_class else model.mapping_  # (seen classes or segments, pixels)
    labels = [data.class_names[c] for c in np.flatnonzero(data.seen)] if by_class else list(BARS)
    composed = np.flatnonzero(data.unseen)
    figure, axes = plt.subplots(2, 12, figsize=(9.6, 1.9), height_ratios=[1, 1.7], layout="constrained")
    figure.get_layout_engine().set(hspace=0, h_pad=0)
    for axis in axes.flat:
        axis.set_axis_off()
    for column, (label, row) in enumerate(zip(labels, learned)):
        draw_display(axes[0, column], DISPLAY[label] if by_class else label)
        draw_pixels(axes[1, column], row, learned)
    axes[1, 8].annotate("→", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", fontsize=18)
    for column, c in enumerate(composed, start=9):
        draw_display(axes[0, column], DISPLAY[data.class_names[c]], UNSEEN)
        draw_pixels(axes[1, column], model.coef_[c], model.coef_)
    what = "a row for each seen digit" if by_class else "a row of pixel weights for each segment"
    axes[0, 3].set_title(f"learned: {what}", fontsize=10)
    axes[0, 10].set_title("composed: 3, 4 and 6, never seen", fontsize=10)
    return figure


def draw_display(axis: Any, lit: str, color: str = "#222222") -> None:
    """Draw a seven-segment display; the segments in ``lit`` are on."""
    axis.set(xlim=(-1.4, 2.4), ylim=(-0.3, 2.3), aspect="equal")
    for letter, ((x0, y0), (x1, y1)) in LINES.items():
        on = letter in lit
        axis.plot(
            [x0, x1], [y0, y1], color=color if on else "#dddddd", lw=3 if on else 1.5, zorder=2 if on else 1
        )


def draw_pixels(axis: Any, row: Any, among: Any) -> None:
    """Draw 64 weights as 8 x 8 pixels; white is 0, the strongest of all rows is full color."""
    top = np.abs(among).max()
    axis.imshow(row.reshape(8, 8), cmap="PuOr_r", vmin=-top, vmax=top, interpolation="nearest")


def main(folder: Path) -> None:
    """Draw everything."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(LOOK):
        figures = {
            f"learns-{method}": draw_learned(method) for method in METHODS if not METHODS[method].shared_space
        }
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES)
