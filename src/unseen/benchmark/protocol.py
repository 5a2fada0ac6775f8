"""One run of the paper's protocol: select on the folds, retrain, test once, keep what people ask about.

The result is a plain document (JSON-able; accuracies in percent, AUSUC 0 to 1). "The model" is the one
retrained with lambda_GZSL; classes and attributes are counted as in the data set.

method, seed, version    what ran; the version is that of this package
model, grid              the method's fixed parameters, and the values that selection tried
zsl                      {"per_class", "per_sample"}: A_U->Cu with lambda_ZSL
gzsl                     {"none" | "calibrated" | "calibrated+lambda":
                         {"H" | "U" | "S": {"per_class", "per_sample"}}}
ausuc                    {"per_class", "per_sample"} of the model
params_zsl, params_gzsl  the parameters chosen; gamma_zsl, gamma the calibration that goes with each
n_iter                   epochs of the model's training, null for a closed form
validation               by parameter setting, means over the folds: "params", "zsl" (A_U->Cu), "seen"
                         (A_S->Cs), "h" (best mean H), "gamma"; "best" and "best_zsl" are positions in
                         these lists (the paper's Fig. 1)
curve                    test seen-unseen curve of the model, per class: "gamma" are its breakpoints,
                         "unseen" and "seen" (one entry more) the accuracies before, between, after them
flips                    {"seen" | "unseen" samples: the gamma up to which each is taken for a seen class},
                         rising: seen against unseen at every gamma
regret                   {"calibrated" | "calibrated+lambda": {"gamma", "H", "loss"}}: the best gamma *on
                         test*, its H per class, and what our gamma loses against it. A diagnosis:
                         nothing is ever chosen by it
classes                  by class, for the model with its gamma: "samples", "accuracy" (null without
                         samples), "confusion" (the wrong class predicted most, null if none),
                         "confused" (percent of the class's samples that went there)
confusion                {"seen" | "unseen" samples: {"seen" | "unseen" predicted: number of samples}}
attribute_error          linear-vs only, else null: mean squared error of predicted attributes on the
                         first fold by "alpha", for "seen" and "unseen" validation samples (Fig. 3a)
seconds                  {"selection" (folds and retraining), "test", "total", "cpu" (processor time)}
threads, warnings        of the linear algebra; what was warned of, each text once. Added by the runner
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen import __version__
from unseen._core.rows import Rows, choose_rows
from unseen._core.training import Training
from unseen.base import ZeroShotClassifier
from unseen.benchmark import CALIBRATIONS
from unseen.benchmark.experiment import Setting
from unseen.benchmark.store import Run, fingerprint
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve
from unseen.methods import find_method
from unseen.methods.linear import LinearVS
from unseen.metrics import WEIGHTS, harmonic_mean
from unseen.selection.evaluation import ScoresClasses, score_maxima
from unseen.selection.search import GZSLClassifierCV

NO_CALIBRATION = 0.0


def make_model(method: str, prototypes: Any, seed: int) -> ZeroShotClassifier:
    """Return the unfitted method, with the seed where it depends on one."""
    found = find_method(method)
    return found(prototypes=prototypes, **({"random_state": seed} if found.stochastic else {}))


def make_run(setting: Setting, method: str, seed: int) -> Run:
    """Return the name of a run: its key changes with anything that could change its result."""
    model = make_model(method, None, seed)
    determined_by = {
        "setting": setting.key,
        "method": method,
        "seed": seed,
        "version": __version__,
        **_parameters(model),
    }
    return Run(fingerprint(determined_by), setting.key, method, seed)


def evaluate_run(setting: Setting, method: str, seed: int) -> dict[str, Any]:
    """Run the whole protocol once and return its result, as described at the top of this module."""
    start, cpu = time.perf_counter(), time.process_time()
    data, split = setting.dataset, setting.split
    model = make_model(method, data.prototypes, seed)
    search = GZSLClassifierCV(model, cv=split.cv(), gamma=setting.gamma)
    search.fit(choose_rows(data.X, split.train), data.y[split.train])
    selected = time.perf_counter()
    test = TestSamples(setting)
    result = {
        "method": method,
        "seed": seed,
        "version": __version__,
        **_parameters(model),
        **_chosen(search),
        **_measure(search, test),
        "attribute_error": attribute_error(setting, model) if isinstance(model, LinearVS) else None,
    }
    end = time.perf_counter()
    seconds = {"selection": selected - start, "test": end - selected, "total": end - start}
    seconds["cpu"] = time.process_time() - cpu
    return {**result, "seconds": {name: round(value, 3) for name, value in seconds.items()}}


class TestSamples:
    """The test samples of a setting; a model is scored on them in blocks, four numbers per sample."""

    def __init__(self, setting: Setting) -> None:
        self.data = setting.dataset
        self.rows = np.concatenate([setting.split.test_seen, setting.split.test_unseen])
        self.y = self.data.y[self.rows]  # (samples,)
        self.seen = ~self.data.unseen  # (classes,)
        self.is_seen = self.seen[self.y]  # (samples,)

    def maxima(self, model: ScoresClasses) -> ScoreMaxima:
        """Return the best seen and the best unseen class of every test sample."""
        return score_maxima(model, Rows([self.data.X], self.rows), np.arange(len(self.seen)), self.seen)

    def curves(self, maxima: ScoreMaxima) -> dict[str, SeenUnseenCurve]:
        """Return the seen-unseen curve for both weightings."""
        return {
            _key(weights): SeenUnseenCurve.from_maxima(maxima, self.y, self.seen, weights)
            for weights in WEIGHTS
        }


def _parameters(model: ZeroShotClassifier) -> dict[str, Any]:
    """Return what the user could have set: fixed parameters and the grid, without data and seed."""
    fixed = {k: _plain(v) for k, v in model.get_params().items() if k not in ("prototypes", "random_state")}
    grid = {k: [_plain(value) for value in values] for k, values in model.default_grid.items()}
    return {"model": {k: v for k, v in fixed.items() if k not in grid}, "grid": grid}


def _chosen(search: GZSLClassifierCV) -> dict[str, Any]:
    """Return what selection on the folds decided, and the table it decided by."""
    table = search.cv_results_
    return {
        "params_zsl": _plain(search.best_params_zsl_),
        "params_gzsl": _plain(search.best_params_),
        "gamma_zsl": float(search.gamma_zsl_),
        "gamma": float(search.gamma_),
        "n_iter": _plain(getattr(search.estimator_, "n_iter_", None)),
        "validation": {
            "params": _plain(list(table["params"])),
            "zsl": _rounded(table["mean_zsl"]),
            "seen": _rounded(table["mean_seen"]),
            "h": _rounded(table["mean_h"]),
            "gamma": [float(f"{gamma:.7g}") for gamma in table["gamma"]],
            "best": int(search.best_index_),
            "best_zsl": int(search.best_index_zsl_),
        },
    }


def _measure(search: GZSLClassifierCV, test: TestSamples) -> dict[str, Any]:
    """Score the two retrained models on the test samples; here, and only here, test data is used."""
    maxima_zsl = test.maxima(search.estimator_zsl_)
    same = search.estimator_ is search.estimator_zsl_
    maxima = maxima_zsl if same else test.maxima(search.estimator_)
    curves_zsl, curves = test.curves(maxima_zsl), test.curves(maxima)
    points = {
        "none": (curves_zsl, NO_CALIBRATION),
        "calibrated": (curves_zsl, float(search.gamma_zsl_)),
        "calibrated+lambda": (curves, float(search.gamma_)),
    }
    predicted = maxima.predict(float(search.gamma_))
    return {
        "zsl": {weights: curve.unseen_alone for weights, curve in curves_zsl.items()},
        "gzsl": {name: operating_point(*point) for name, point in points.items()},
        "ausuc": {weights: curve.ausuc for weights, curve in curves.items()},
        "curve": _curve(curves["per_class"]),
        "flips": _flips(maxima, test.is_seen),
        "regret": {name: regret(*points[name]) for name in CALIBRATIONS[1:]},
        "classes": class_table(test.y, predicted, len(test.seen)),
        "confusion": seen_confusion(test.is_seen, test.seen[predicted]),
    }


def operating_point(curves: Mapping[str, SeenUnseenCurve], gamma: float) -> dict[str, dict[str, float]]:
    """Return H, U and S at one gamma, for both weightings."""
    at = {weights: curve.at(gamma) for weights, curve in curves.items()}
    return {
        name: {weights: values[i] for weights, values in at.items()}
        for name, i in (("H", 2), ("U", 0), ("S", 1))
    }


def regret(curves: Mapping[str, SeenUnseenCurve], gamma: float) -> dict[str, float]:
    """Return the best gamma on test, its H, and how much H the gamma chosen on validation loses."""
    curve = curves["per_class"]
    return {"gamma": float(curve.gamma), "H": curve.h, "loss": curve.h - curve.at(gamma)[2]}


def class_table(y: NDArray[np.intp], predicted: NDArray[np.intp], n_classes: int) -> dict[str, list[Any]]:
    """Return for each class its samples, accuracy and most frequent confusion.

    >>> table = class_table(np.array([0, 0, 0, 1]), np.array([0, 2, 2, 1]), 3)
    >>> table["accuracy"], table["confusion"], table["confused"]
    ([33.3333, 100.0, None], [2, None, None], [66.6667, 0.0, None])
    """
    samples, right = np.bincount(y, minlength=n_classes), np.bincount(y[y == predicted], minlength=n_classes)
    worst, wrong = _frequent_confusions(y, predicted, n_classes)
    return {
        "samples": samples.tolist(),
        "accuracy": _percent(right, samples),
        "confusion": [int(c) if n else None for c, n in zip(worst, wrong)],
        "confused": _percent(wrong, samples),
    }


def _frequent_confusions(
    y: NDArray[np.intp], predicted: NDArray[np.intp], n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each class the wrong class predicted most (the first of equals), and how often.

    Only pairs that occur are counted: with many classes, most of the confusion matrix would be empty.
    """
    wrong = y != predicted
    pairs, often = np.unique(y[wrong] * n_classes + predicted[wrong], return_counts=True)
    true, taken_for = np.divmod(pairs, n_classes)
    order = np.lexsort((-taken_for, often, true))  # the last of each true class is what we look for
    worst, most = np.zeros((2, n_classes), dtype=np.intp)
    worst[true[order]], most[true[order]] = taken_for[order], often[order]
    return worst, most


def seen_confusion(
    is_seen: NDArray[np.bool_], predicted_seen: NDArray[np.bool_]
) -> dict[str, dict[str, int]]:
    """Return how many seen and unseen samples were taken for seen and unseen classes."""
    kinds = (("seen", True), ("unseen", False))
    return {
        true: {name: int(np.sum((is_seen == t) & (predicted_seen == p))) for name, p in kinds}
        for true, t in kinds
    }


def attribute_error(setting: Setting, model: LinearVS) -> dict[str, list[float]]:
    """Return the error of predicted attributes on the first fold against alpha (the paper's Fig. 3a)."""
    data, fold = setting.dataset, setting.split.folds[0]
    alphas = list(model.default_grid["alpha"])
    errors: dict[str, list[float]] = {"alpha": [float(alpha) for alpha in alphas], "seen": [], "unseen": []}
    settings = [{"alpha": alpha} for alpha in alphas]
    for fitted in model.fit_path(choose_rows(data.X, fold.train), data.y[fold.train], settings):
        for name, rows in (("seen", fold.seen_val), ("unseen", fold.val)):
            held_out = Training(Rows([data.X], rows), data.y[rows], data.prototypes, model.normalize)
            errors[name].append(float(f"{_attribute_error(fitted, held_out):.7g}"))
    return errors


def stored_curve(result: Mapping[str, Any]) -> SeenUnseenCurve:
    """Return the test curve of a stored result, ready for ``unseen.plotting.SeenUnseenDisplay``."""
    gamma, unseen, seen = (np.array(result["curve"][name]) for name in ("gamma", "unseen", "seen"))
    return SeenUnseenCurve(gamma, unseen, seen, harmonic_mean(unseen, seen), result["ausuc"]["per_class"])


def _attribute_error(fitted: LinearVS, samples: Training) -> float:
    # t = W x, and its mean squared distance to the prototype over samples and attributes
    squares = sum(np.sum((X @ fitted.mapping_.T - samples.S[y]) ** 2) for X, y in samples.blocks())
    return float(squares) / (len(samples.y) * samples.S.shape[1])


def _curve(curve: SeenUnseenCurve) -> dict[str, list[float]]:
    finite = np.isfinite(curve.breakpoints)
    inside = np.append(finite, True)
    return {
        "gamma": [float(f"{gamma:.7g}") for gamma in curve.breakpoints[finite]],
        "unseen": _rounded(curve.unseen_curve[inside]),
        "seen": _rounded(curve.seen_curve[inside]),
    }


def _flips(maxima: ScoreMaxima, is_seen: NDArray[np.bool_]) -> dict[str, list[float]]:
    return {
        kind: [float(f"{gamma:.7g}") for gamma in np.nan_to_num(np.sort(maxima.flips[rows]))]
        for kind, rows in (("seen", is_seen), ("unseen", ~is_seen))
    }


def _percent(part: NDArray[np.intp], whole: NDArray[np.intp]) -> list[float | None]:
    return [round(100 * p / w, 4) if w else None for p, w in zip(part.tolist(), whole.tolist())]


def _rounded(values: Sequence[float] | NDArray[np.floating]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _key(weights: str) -> str:
    return weights.replace("-", "_")


def _plain(value: Any) -> Any:
    """Return numbers, strings and containers as JSON knows them."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
