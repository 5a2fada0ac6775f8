"""One run of the paper's protocol: select on the folds, retrain, test once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from unseen import __version__
from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import Kind
from unseen._core.rows import Rows, choose_rows
from unseen._core.samples import as_samples
from unseen._core.training import Training
from unseen._core.workspace import Workspace
from unseen.base import ZeroShotClassifier
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.results import (
    AttributeErrors,
    ClassTable,
    EvaluatedRun,
    Letter,
    Measured,
    ModelCurve,
    Regret,
    RunIdentity,
    StoredBins,
    StoredCurve,
    StoredReliability,
    Validation,
)
from unseen.benchmark.store import Run, fingerprint
from unseen.calibration.curve import SeenUnseenCurve
from unseen.calibration.maxima import ScoresClasses, maxima_and_scores
from unseen.methods import make_method
from unseen.methods.linear import LinearVS
from unseen.metrics import AVERAGINGS, Averaging, Reliability, frequent_mistakes, harmonic_mean
from unseen.selection.confidence import held_out_reliability
from unseen.selection.rehearsal import FEWEST, Kept, draw_some
from unseen.selection.search import GZSLClassifierCV

SURE = 2**22  # scores that become probabilities, for reliability; with many classes some samples are enough


def make_run(experiment: Experiment, method: str, seed: int) -> Run:
    """Return what names a run; its key changes with anything that could change its result."""
    model = make_method(method, None, seed, experiment.normalize)
    determined_by = {"experiment": experiment.key, **_identify(model, method, seed)}
    return Run(fingerprint(determined_by), experiment.key, method, seed)


def _identify(model: ZeroShotClassifier, method: str, seed: int) -> RunIdentity:
    """Return what determines a run: fixed parameters without data and seed, and those that are tried."""
    tried = {"prototypes", "random_state", *model.default_grid}
    return {
        "method": method,
        "seed": seed,
        "version": __version__,
        "model": _plain({name: value for name, value in model.get_params().items() if name not in tried}),
        "grid": _plain({name: list(values) for name, values in model.default_grid.items()}),
    }


def evaluate_run(
    experiment: Experiment, method: str, seed: int, workspace: Workspace | None = None
) -> EvaluatedRun:
    """Run the whole protocol once; runs of one experiment may share a workspace."""
    start, cpu = time.perf_counter(), time.process_time()
    data, split = experiment.dataset, experiment.split
    model = make_method(method, data.prototypes, seed, experiment.normalize)
    search = GZSLClassifierCV(model, cv=split.cv(), gamma=experiment.gamma, refit_zsl=True)
    samples = replace(as_samples(data.X, data.y, data.groups).take(split.train), workspace=workspace)
    search.finish(samples, *search.choose_params(samples))
    selected = time.perf_counter()
    measured = _measure(search, TestSamples(experiment))
    errors = attribute_error(experiment, model) if isinstance(model, LinearVS) else None
    end = time.perf_counter()
    return {
        **_identify(model, method, seed),
        "params_zsl": _plain(search.best_params_zsl_),
        "params_gzsl": _plain(search.best_params_),
        "validation": _validation(search),
        **measured,
        "attribute_error": errors,
        "seconds": {
            "selection": round(selected - start, 3),
            "test": round(end - selected, 3),
            "total": round(end - start, 3),
            "cpu": round(time.process_time() - cpu, 3),
        },
    }


def _validation(search: GZSLClassifierCV) -> Validation:
    """Return the table by which selection decided."""
    table = search.cv_results_
    return {
        "params": _plain(table["params"]),
        "zsl": _rounded(table["mean_zsl"]),
        "seen": _rounded(table["mean_seen"]),
        "h": _rounded(table["mean_test_score"]),
        "gamma": [_shortened(gamma) for gamma in table["gamma"]],
        "best": int(np.argmax(table["mean_test_score"])),
        "best_zsl": int(np.argmax(table["mean_zsl"])),
    }


# ---- the test ----------------------------------------------------------------------------------------


class TestSamples:
    """The test samples of an experiment."""

    def __init__(self, experiment: Experiment) -> None:
        data, split = experiment.dataset, experiment.split
        index = np.concatenate([split.test_seen, split.test_unseen])
        self.X, self.y = Rows([data.X], index), data.y[index]
        self.seen = ~data.unseen  # (classes,)
        self.kinds: dict[Kind, BoolArray] = {"seen": self.seen[self.y], "unseen": ~self.seen[self.y]}


class ScoredModel:
    """A model on the test samples, scored in blocks: four numbers per sample, and what follows from them."""

    def __init__(self, model: ScoresClasses, gamma: float, test: TestSamples) -> None:
        self.gamma, self.test = float(gamma), test
        labels, drawn = np.arange(len(test.seen)), draw_some(len(test.y), max(FEWEST, SURE // len(test.seen)))
        self.maxima, scores = maxima_and_scores(model, test.X, labels, test.seen, drawn)
        self.some = Kept(scores, test.y[drawn], test.seen)
        self.curves: dict[Averaging, SeenUnseenCurve] = {
            averaging: SeenUnseenCurve.from_maxima(self.maxima, test.y, test.seen, averaging)
            for averaging in AVERAGINGS
        }

    def point(self, gamma: float) -> dict[Letter, dict[Averaging, float]]:
        """Return H, U and S at one gamma, for both kinds of averaging."""
        at = {averaging: curve.at(gamma) for averaging, curve in self.curves.items()}
        return {
            "H": {averaging: point.h for averaging, point in at.items()},
            "U": {averaging: point.unseen for averaging, point in at.items()},
            "S": {averaging: point.seen for averaging, point in at.items()},
        }

    def regret(self) -> Regret:
        """Return the best gamma on test, its H, and how much H the gamma chosen on validation loses."""
        curve = self.curves["per-class"]
        return {"gamma": float(curve.gamma), "H": curve.h, "loss": curve.h - curve.at(self.gamma).h}

    def document(self) -> ModelCurve:
        """Return the curve as the store keeps it."""
        curve, d = self.curves["per-class"], np.nan_to_num(self.maxima.flips)
        flips = {kind: np.sort(d[of]) for kind, of in self.test.kinds.items()}
        finite = np.isfinite(curve.breakpoints)
        inside = np.append(finite, True)
        return {
            "curve": {
                "gamma": [_shortened(gamma) for gamma in curve.breakpoints[finite]],
                "unseen": _rounded(curve.unseen_curve[inside]),
                "seen": _rounded(curve.seen_curve[inside]),
            },
            "flips": {kind: [_shortened(d) for d in rising] for kind, rising in flips.items()},
            "ausuc": curve.ausuc,
        }


def _measure(search: GZSLClassifierCV, test: TestSamples) -> Measured:
    """Score the two retrained models on the test samples; here, and only here, test data is used."""
    assert search.zsl_ is not None  # refit_zsl=True
    zsl = ScoredModel(*search.zsl_, test)
    same = search.estimator_ is search.zsl_.estimator
    model = zsl if same else ScoredModel(search.estimator_, search.gamma_, test)
    document, n = model.document(), len(test.seen)
    return {
        "gamma_zsl": zsl.gamma,
        "gamma": model.gamma,
        "zsl": {averaging: curve.unseen_alone for averaging, curve in zsl.curves.items()},
        "gzsl": {
            "none": zsl.point(0.0),
            "calibrated": zsl.point(zsl.gamma),
            "calibrated+lambda": model.point(model.gamma),
        },
        "ausuc": {averaging: curve.ausuc for averaging, curve in model.curves.items()},
        "curve": document["curve"],
        "flips": document["flips"],
        "regret": {"calibrated": zsl.regret(), "calibrated+lambda": model.regret()},
        "zsl_model": None if same else zsl.document(),
        "by_class": {
            "zsl": accuracy_by_class(test.y, zsl.maxima.argmax_unseen, n),
            "none": accuracy_by_class(test.y, zsl.maxima.predict(0.0), n),
            "calibrated": accuracy_by_class(test.y, zsl.maxima.predict(zsl.gamma), n),
        },
        "classes": class_table(test.y, model.maxima.predict(model.gamma), n),
        "reliability": measure_reliability(model.some.calibrated(search.gamma_), search.temperature_),
    }


def accuracy_by_class(y: IndexArray, predicted: IndexArray, n_classes: int) -> list[float | None]:
    """Return the accuracy of each class in percent, None for a class without samples."""
    right = np.bincount(y[y == predicted], minlength=n_classes)
    return _shares_in_percent(right, np.bincount(y, minlength=n_classes))


def class_table(y: IndexArray, predicted: IndexArray, n_classes: int) -> ClassTable:
    """Return for each class its samples, accuracy and most frequent confusion.

    >>> table = class_table(np.array([0, 0, 0, 1]), np.array([0, 2, 2, 1]), 3)
    >>> table["accuracy"], table["confusion"], table["confused"]
    ([33.3333, 100.0, None], [2, None, None], [66.6667, 0.0, None])
    """
    samples = np.bincount(y, minlength=n_classes)
    mistakes = frequent_mistakes(y, predicted, n_classes)
    wrong = np.array([found[0][1] if found else 0 for found in mistakes])
    return {
        "samples": samples.tolist(),
        "accuracy": accuracy_by_class(y, predicted, n_classes),
        "confusion": [found[0][0] if found else None for found in mistakes],
        "confused": _shares_in_percent(wrong, samples),
        "mistakes": mistakes,
    }


def measure_reliability(scored: Kept, temperature: float) -> StoredReliability:
    """Return how sure and how right calibrated scores are, before and after the temperature."""
    kinds: dict[Kind, Kept] = {"seen": scored.of_kind(True), "unseen": scored.of_kind(False)}
    before, after = (
        {kind: as_bins(held_out_reliability([kept], [T])) for kind, kept in kinds.items()}
        for T in (1.0, temperature)
    )
    return {"temperature": _shortened(temperature), "before": before, "after": after}


def as_bins(found: Reliability) -> StoredBins:
    """Return a reliability as the store and the pages have it."""
    return {
        "samples": found.samples.tolist(),
        "confidence": _rounded(found.confidence),
        "accuracy": _rounded(found.accuracy),
        "ece": round(found.ece, 4),
    }


def attribute_error(experiment: Experiment, model: LinearVS) -> AttributeErrors:
    """Return the error of predicted attributes on the first fold against alpha (the paper's Fig. 3a)."""
    data, fold = experiment.dataset, experiment.split.folds[0]
    grid = [{"alpha": alpha} for alpha in model.default_grid["alpha"]]
    errors: AttributeErrors = {"alpha": [float(params["alpha"]) for params in grid], "seen": [], "unseen": []}
    held_out: dict[Kind, IndexArray] = {"seen": fold.seen_val, "unseen": fold.val}
    for fitted in model.fit_path(choose_rows(data.X, fold.train), data.y[fold.train], grid):
        scaling = (model.normalize, fitted.standardization())
        for kind, index in held_out.items():
            samples = Training(Rows([data.X], index), data.y[index], data.prototypes, *scaling)
            # t = W x, and its mean squared distance to the prototype over samples and attributes
            squares = sum(np.sum((X @ fitted.mapping_.T - samples.S[y]) ** 2) for X, y in samples.blocks())
            errors[kind].append(_shortened(squares / (len(index) * samples.S.shape[1])))
    return errors


def restore_curve(curve: StoredCurve, ausuc: float) -> SeenUnseenCurve:
    """Return a stored curve as an object, ready for ``unseen.plotting.SeenUnseenDisplay``."""
    gamma, unseen, seen = np.array(curve["gamma"]), np.array(curve["unseen"]), np.array(curve["seen"])
    return SeenUnseenCurve(gamma, unseen, seen, harmonic_mean(unseen, seen), ausuc)


def _shares_in_percent(part: IndexArray, whole: IndexArray) -> list[float | None]:
    return [round(100 * p / w, 4) if w else None for p, w in zip(part.tolist(), whole.tolist())]


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _shortened(value: float) -> float:
    """Return a number with seven significant digits."""
    return float(f"{value:.7g}")


def _plain(document: object) -> Any:
    """Return numbers, strings and containers as JSON knows them; anything else as its representation."""

    def convert(value: object) -> object:
        return value.item() if isinstance(value, np.generic) else repr(value)

    return json.loads(json.dumps(document, default=convert))
