"""Draw docs/figures/retention.svg: folds and final model share the best retention, not the best gamma."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unseen import GZSLClassifierCV, LinearVS, SeenUnseenCurve
from unseen._core.colors import HARMONIC, SEEN, UNSEEN
from unseen.datasets import load
from unseen.datasets.splits import make_split
from unseen.selection.evaluation import Samples, run_fold, score_maxima

plt.rcParams["svg.hashsalt"] = "retention"  # the same file every time
plt.rcParams["svg.fonttype"] = "none"
plt.rcParams["path.simplify_threshold"] = 0.3  # of a pixel: a small file

data = load("letters")
split = make_split(data)
X, y = data.X[split.train], data.y[split.train]
model = GZSLClassifierCV(LinearVS(data.prototypes), cv=split.cv()).fit(X, y, groups=data.groups[split.train])
folds = [run_fold(model.estimator, Samples(X, y), fold, [model.best_params_])[0][0] for fold in split.cv()]
test = np.concatenate([split.test_seen, split.test_unseen])
maxima = score_maxima(model.estimator_, data.X[test], np.arange(len(data.class_names)), data.seen)
final = SeenUnseenCurve.from_maxima(maxima, data.y[test], data.seen)


def retention(curve: SeenUnseenCurve) -> np.ndarray:
    """Return S(gamma) / S(-inf) on each segment."""
    return curve.seen_curve / curve.seen_alone


figure, (by_gamma, by_share) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for number, curve in enumerate(folds):
    label = "models of the folds" if number == 0 else None
    inside = np.isfinite(curve.gammas)
    by_gamma.plot(curve.gammas[inside], curve.h_curve[inside], color=SEEN, alpha=0.5, lw=1.2, label=label)
    by_share.plot(retention(curve), curve.h_curve, color=SEEN, alpha=0.5, lw=1.2, label=label)
inside = np.isfinite(final.gammas)
label = "final model, test samples"
by_gamma.plot(final.gammas[inside], final.h_curve[inside], color=UNSEEN, lw=2, label=label)
by_share.plot(retention(final), final.h_curve, color=UNSEEN, lw=2, label=label)
paper, ours = model.curve_.gamma, model.gamma_
by_gamma.axvline(paper, color=SEEN, ls=":", label=f"gamma of the folds: H = {final.at(paper).h:.1f} %")
by_gamma.axvline(ours, color=HARMONIC, ls="--", label=f"gamma of the rule: H = {final.at(ours).h:.1f} %")
by_share.axvline(model.retention_, color=HARMONIC, ls="--", label=f"retention r* = {model.retention_:.2f}")
by_gamma.set(xlabel="gamma", ylabel="harmonic mean H (%)", xlim=(-0.5, 4.5), ylim=(0, None))
by_gamma.set_title("against gamma: every model has its own scale", fontsize=10)
by_share.set(xlabel="retention: share of right seen answers that is kept", xlim=(1, 0))
by_share.set_title("against retention: the same trade-off", fontsize=10)
by_gamma.legend(fontsize=8, loc="center right")
by_share.legend(fontsize=8, loc="lower center")
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})
