"""Draw docs/figures/calibration.svg: how subtracting gamma from seen scores moves both accuracies."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unseen import SeenUnseenCurve
from unseen._core.colors import HARMONIC, SEEN, UNSEEN
from unseen.calibration.curve import ScoreMaxima

plt.rcParams["svg.hashsalt"] = "calibration"  # the same file every time

rng = np.random.default_rng(3)
seen = np.array([True, True, True, False, False])
y = np.repeat([0, 1, 2, 3, 4], [5, 5, 5, 6, 6])
scores = rng.normal(scale=0.6, size=(len(y), 5))
scores[np.arange(len(y)), y] += 1.1
scores[:, seen] += 1.0

maxima = ScoreMaxima.from_scores(scores, seen)
curve = SeenUnseenCurve.from_maxima(maxima, y, seen)
own_right = np.where(seen[y], maxima.argmax_seen, maxima.argmax_unseen) == y

figure, (flips, steps, trade) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
rows = (("seen samples", 1, seen[y], SEEN), ("unseen samples", 0, ~seen[y], UNSEEN))
for name, level, mine, color in rows:
    for right, face in ((True, color), (False, "none")):
        chosen = mine & (own_right == right)
        flips.scatter(maxima.flips[chosen], np.full(chosen.sum(), level), 45, facecolor=face, edgecolor=color)
    flips.text(-1.5, level + 0.15, name, color=color)
flips.set(xlabel="d = best seen score - best unseen score", yticks=[], ylim=(-0.6, 1.6), xlim=(-1.6, 3.4))
flips.set_title("each sample flips once, when gamma passes d", fontsize=10)

ends = np.concatenate([[-1.6], curve.breakpoints, [3.4]])
for name, values, color in (
    ("unseen", curve.unseen_curve, UNSEEN),
    ("seen", curve.seen_curve, SEEN),
    ("H", curve.h_curve, HARMONIC),
):
    steps.stairs(values, ends, label=name, color=color, linewidth=1.6, baseline=None)
steps.set(xlabel="gamma", ylabel="accuracy (%)", xlim=(-1.6, 3.4))
steps.set_title("so the accuracies are steps", fontsize=10)
steps.legend()
for ax in (flips, steps):
    ax.axvspan(*curve.interval, color=HARMONIC, alpha=0.25, linewidth=0)

curve.plot(trade)
trade.set_title("and every trade-off is on one curve", fontsize=10)
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})
