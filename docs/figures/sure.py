"""Draw docs/figures/sure.svg: accuracy against confidence, before and after the temperature."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unseen import LDA, GZSLClassifierCV
from unseen._core.colors import HARMONIC, SEEN, UNSEEN
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.metrics import reliability

plt.rcParams["svg.hashsalt"] = "sure"  # the same file every time
plt.rcParams["svg.fonttype"] = "none"

data = load_dataset("letters")
split = make_split(data)
X, y, families = data.X[split.train], data.y[split.train], data.groups[split.train]
model = GZSLClassifierCV(LDA(data.prototypes), cv=split.cv()).fit(X, y, groups=families)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
for axis, temperature in zip(axes, (1.0, model.temperature_)):
    for kind, test, color in (("seen", split.test_seen, SEEN), ("unseen", split.test_unseen, UNSEEN)):
        z = model.similarity(data.X[test]) / temperature
        sure = 1 / np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)
        found = reliability(sure, z.argmax(axis=1) == data.y[test])
        filled = found.samples > 0
        axis.plot(found.confidence[filled], found.accuracy[filled], color=color, lw=1)
        axis.scatter(
            found.confidence[filled], found.accuracy[filled], s=2 * found.samples[filled], color=color
        )
        axis.plot([], [], "o-", color=color, label=f"{kind} samples: ECE {found.ece:.3f}")
    axis.plot([0, 1], [0, 1], color=HARMONIC, ls=":", lw=1)
    axis.set(xlabel="confidence: probability of the prediction", xlim=(0, 1.02), ylim=(0, 1.02))
    axis.set_title(f"temperature {temperature:.3g}", fontsize=10)
    axis.legend(fontsize=8, loc="upper left")
axes[0].set(ylabel="accuracy")
figure.savefig(Path(__file__).with_name("sure.svg"), metadata={"Date": None})
