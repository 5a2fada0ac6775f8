"""Measure what classes and attributes are worth: ``python docs/scripts/descriptions.py CUB``.

CUB is an xlsa17 folder with clip_b16.mat. LDA with one setting is fitted with fewer seen classes, with fewer
attributes, and with attributes that are missing (the mean of the others) or wrong (that of another class).
What is measured is the accuracy on unseen classes among themselves, per class, mean over draws. The figure is
written to docs/figures/descriptions.svg, the numbers are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unseen import LDA, load_dataset
from unseen.datasets import ZeroShotDataset
from unseen.datasets.splits import training_samples
from unseen.metrics import accuracy

DRAWS = 10
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the seen classes, of the attributes
DAMAGE = (0.0, 0.1, 0.2, 0.3, 0.5)  # of the values
GRAY = "#868e99"  # to be read on white and on black


def zsl_accuracy(data: ZeroShotDataset, S: np.ndarray, classes: np.ndarray) -> float:
    """Return the accuracy on unseen classes of a model that is trained on some seen classes."""
    rows = training_samples(data)
    rows = rows[np.isin(data.y[rows], classes)]
    model = LDA(S, alpha=0.1, kappa=10.0, shrinkage=0.3).fit(data.X[rows], data.y[rows])
    test = data.test_unseen if data.test_unseen is not None else np.flatnonzero(data.unseen[data.y])
    return accuracy(data.y[test], model.predict(data.X[test], candidates=np.flatnonzero(data.unseen)))


def fewer_classes(data: ZeroShotDataset, share: float, rng: np.random.Generator) -> float:
    """Train on a share of the seen classes."""
    seen = np.flatnonzero(data.seen)
    return zsl_accuracy(data, data.prototypes, rng.choice(seen, round(share * len(seen)), replace=False))


def fewer_attributes(data: ZeroShotDataset, share: float, rng: np.random.Generator) -> float:
    """Describe classes by a share of the attributes."""
    n = data.prototypes.shape[1]
    kept = rng.choice(n, max(round(share * n), 1), replace=False)
    return zsl_accuracy(data, data.prototypes[:, kept], np.flatnonzero(data.seen))


def missing(data: ZeroShotDataset, share: float, rng: np.random.Generator) -> float:
    """Replace a share of the values by the mean of their attribute."""
    gone = rng.random(data.prototypes.shape) < share
    S = np.where(gone, data.prototypes.mean(axis=0), data.prototypes)
    return zsl_accuracy(data, S, np.flatnonzero(data.seen))


def wrong(data: ZeroShotDataset, share: float, rng: np.random.Generator) -> float:
    """Replace a share of the values by those of another class."""
    gone = rng.random(data.prototypes.shape) < share
    S = np.where(gone, rng.permuted(data.prototypes, axis=0), data.prototypes)
    return zsl_accuracy(data, S, np.flatnonzero(data.seen))


PANELS: tuple[tuple[str, Callable[..., float], tuple[float, ...]], ...] = (
    ("share of seen classes", fewer_classes, SHARES),
    ("share of attributes", fewer_attributes, SHARES),
    ("share of values missing", missing, DAMAGE),
    ("share of values wrong", wrong, DAMAGE),
)


def main(folder: str) -> None:
    """Measure, print and draw."""
    sets = {"letters": load_dataset("letters"), "birds": load_dataset(folder, features="clip_b16")}
    plt.rcParams.update({"svg.hashsalt": "descriptions", "svg.fonttype": "none", "text.color": GRAY})
    plt.rcParams.update({f"{name}.color": GRAY for name in ("xtick", "ytick")} | {"axes.labelcolor": GRAY})
    figure, panels = plt.subplots(1, 4, figsize=(10, 2.6), sharey=True, layout="constrained")
    for ax, (title, measure, shares) in zip(panels, PANELS):
        for (name, data), color in zip(sets.items(), ("#4c72b0", "#dd8452")):
            found = [
                np.mean([measure(data, share, np.random.default_rng(seed)) for seed in range(DRAWS)])
                for share in shares
            ]
            print(f"{title}, {name}: " + ", ".join(f"{s:.0%} {v:.1f}" for s, v in zip(shares, found)))
            ax.plot([100 * share for share in shares], found, "o-", color=color, label=name)
        ax.set(xlabel=f"{title}, %", ylim=(0, 100))
        ax.spines[:].set_color(GRAY)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("accuracy on new classes, %")
    panels[0].legend(frameon=False, labelcolor=GRAY)
    path = Path(__file__).parents[1] / "figures" / "descriptions.svg"
    figure.savefig(path, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1])
