"""Draw docs/figures/letters.svg: letters that the model never saw, their segments, and what it recognized.

    python docs/scripts/letters_figure.py

The typefaces are drawn at random, not picked. The model chooses among all 26 letters.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path as Outline
from numpy.typing import NDArray

from unseen import LDA, GZSLClassifierCV
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split

FIGURE = Path(__file__).parents[1] / "figures" / "letters.svg"
SEED = 0
SHOWN = 8  # typefaces per letter
SIDE, GAP = 16, 4  # pixels of a letter, and between two
STEP = (SIDE + GAP) / SIDE
INK, LIT, DIM, PAPER, GRAY, FRAME = "#1b2430", "#ff5a36", "#3a424e", "#ffffff", "#667180", "#d5dbe1"
RIGHT, WRONG = "#00795a", "#c2410c"
WIDTH, HEIGHT = 27.2, 12.8
LOOK = {"svg.hashsalt": "unseen", "svg.fonttype": "none", "font.family": "sans-serif"}

# where each segment begins and ends, in a display of width 2 and height 4, in the order of the descriptions
ENDS = (
    ((0, 4), (1, 4)),
    ((1, 4), (2, 4)),
    ((2, 4), (2, 2)),
    ((2, 2), (2, 0)),
    ((0, 0), (1, 0)),
    ((1, 0), (2, 0)),
    ((0, 0), (0, 2)),
    ((0, 2), (0, 4)),
    ((0, 2), (1, 2)),
    ((1, 2), (2, 2)),
    ((0, 4), (1, 2)),
    ((1, 4), (1, 2)),
    ((2, 4), (1, 2)),
    ((0, 0), (1, 2)),
    ((1, 0), (1, 2)),
    ((2, 0), (1, 2)),
)


def main() -> None:
    """Fit the model and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, nargs="?", default=FIGURE)
    out = parser.parse_args().out
    data = load_dataset("letters")
    split = make_split(data)
    model = GZSLClassifierCV(LDA(data.prototypes), cv=split.cv())
    model.fit(data.X[split.train], data.y[split.train], groups=data.groups[split.train])
    predicted = model.predict(data.X)
    right = predicted == data.y
    rng = np.random.default_rng(SEED)
    with mpl.rc_context(LOOK):
        figure = plt.figure(figsize=(11, 11 * HEIGHT / WIDTH), facecolor=PAPER)
        ax = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
        ax.axis("off")
        write_title(ax)
        for number, label in enumerate(np.flatnonzero(data.unseen)):
            x, y = 0.6 + 13.4 * (number % 2), HEIGHT - 4.6 - 2.95 * (number // 2)
            samples = rng.choice(np.flatnonzero(data.y == label), SHOWN, replace=False)
            draw_display(ax, data.prototypes[label], x, y - 0.75)
            draw_arrow(ax, x + 1.85, y + 0.45)
            draw_letters(ax, data.X[samples], x + 2.9, y)
            for place, sample in enumerate(samples):
                draw_answer(
                    ax, data.class_names[predicted[sample]], right[sample], x + 2.9 + STEP * place, y - 0.68
                )
        write_accuracies(ax, right[split.test_unseen].mean(), right[split.test_seen].mean())
        figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None, dpi=110)


def write_title(ax: Axes) -> None:
    """Say what the figure shows."""
    title = "Six letters the model has never seen"
    ax.text(0.6, HEIGHT - 0.75, title, fontsize=17, weight="bold", color=INK, va="center")
    write_line(
        ax,
        "All it knows of them is which segments of a display they light up. "
        "Below each typeface: what it recognized, out of all 26 letters.",
        HEIGHT - 1.75,
    )


def write_accuracies(ax: Axes, unseen: float, seen: float) -> None:
    """Say how often the model is right on all test samples; every letter has equally many."""
    write_line(
        ax,
        f"Typefaces drawn at random. Right: {unseen:.0%} of the unseen letters and {seen:.0%} of the seen "
        "ones in new typefaces; chance is 4%.",
        0.6,
    )


def write_line(ax: Axes, text: str, y: float) -> None:
    """Write one line of small text."""
    ax.text(0.6, y, text, fontsize=10.5, color=GRAY, va="center")


def draw_display(
    ax: Axes, description: NDArray[np.floating], x: float, y: float, height: float = 2.4
) -> None:
    """Draw a display with its lower left corner at (x, y)."""
    scale = height / 5.2
    box = FancyBboxPatch((x, y), 3.3 * scale, height, boxstyle=f"round,pad=0,rounding_size={0.35 * scale}")
    box.set(facecolor=INK, edgecolor="none")
    ax.add_patch(box)
    corners = (np.array([outline(*ends) for ends in ENDS]) + (0.65, 0.6)) * scale + (x, y)
    for chosen, color in ((description == 0, DIM), (description > 0, LIT)):
        path = Outline.make_compound_path_from_polys(corners[chosen])  # one path keeps the file small
        ax.add_patch(PathPatch(path, facecolor=color, edgecolor="none"))


def outline(
    start: tuple[float, float], end: tuple[float, float], thick: float = 0.15
) -> NDArray[np.floating]:
    """Return the corners of a segment: a bar with pointed ends, a little shorter than its place."""
    a, b = np.array(start, dtype=float), np.array(end, dtype=float)
    along = (b - a) / np.linalg.norm(b - a)
    slanted = bool(along.all())
    gap = 0.34 if slanted else 0.07
    a, b = a + gap * along, b - gap * along
    side = thick * (0.8 if slanted else 1) * np.array([-along[1], along[0]])
    tip = thick * along
    return np.array([a, a + tip + side, b - tip + side, b, b - tip - side, a + tip - side])


def draw_arrow(ax: Axes, x: float, y: float) -> None:
    """Draw an arrow to the right."""
    ax.annotate("", (x + 0.7, y), (x, y), arrowprops={"arrowstyle": "-|>", "color": GRAY})


def draw_letters(ax: Axes, X: NDArray[np.floating], x: float, y: float) -> None:
    """Draw letters as the model gets them, each 1 wide, from the lower left corner (x, y)."""
    squares = np.pad(X.reshape(-1, SIDE, SIDE), ((0, 0), (0, 0), (0, GAP)))
    strip = 1 - np.hstack(list(squares))[:, :-GAP]  # one image keeps the file small
    right = x + strip.shape[1] / SIDE
    ax.imshow(strip, cmap="gray", vmin=0, vmax=1, extent=(x, right, y, y + 1), interpolation="none")
    ax.set_aspect("auto")
    for left in x + STEP * np.arange(len(X)):
        frame = Rectangle((left - 0.09, y - 0.09), 1.18, 1.18, fill=False, edgecolor=FRAME, linewidth=0.8)
        ax.add_patch(frame)


def draw_answer(ax: Axes, letter: str, right: bool, x: float, y: float) -> None:
    """Draw what the model says, filled if it is right, below a letter that begins at x."""
    color = RIGHT if right else WRONG
    chip = FancyBboxPatch((x + 0.2, y), 0.6, 0.42, boxstyle="round,pad=0,rounding_size=0.12")
    chip.set(facecolor=color if right else PAPER, edgecolor=color, linewidth=1.1)
    ax.add_patch(chip)
    style = {"color": PAPER if right else color, "weight": "bold", "fontsize": 9}
    ax.text(x + 0.5, y + 0.195, letter, ha="center", va="center", **style)


if __name__ == "__main__":
    main()
