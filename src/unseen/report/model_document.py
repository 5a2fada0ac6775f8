"""The page of a model, first step: a model and perhaps labeled data -> one plain document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from unseen._core.blocks import BoolArray, FloatArray, IndexArray, score_blocks
from unseen._core.checks import Check
from unseen._core.labels import label_positions
from unseen._core.rows import choose_rows, read_rows
from unseen._core.taxonomy import CONFIDENCE
from unseen.calibration.maxima import ScoreMaxima
from unseen.card import COVERAGE, Card, card_lines, held_out_counts
from unseen.datasets import ZeroShotDataset
from unseen.errors import UnseenError
from unseen.metrics import Reliability, harmonic_mean, reliability
from unseen.models.evaluation import Evaluation, evaluate, evaluation_rows
from unseen.models.io import Model
from unseen.report.attributes import closest_classes, readable_attributes
from unseen.report.figures import Part
from unseen.report.thumbnails import Pictures
from unseen.report.try_class import describe_try
from unseen.selection.search import GZSLClassifierCV

_GAMMAS = 101  # points of a curve
_CELLS = 200_000  # accuracies of classes in a page
_HARDEST = 12  # classes
_MISTAKES = 5  # classes that a hard one is mistaken for
_ALIKE = 5  # checks of the same code


@dataclass(frozen=True, eq=False)
class Tested:
    """How labeled samples fare with a model."""

    name: str  # of the data
    rows: IndexArray  # the samples
    y: IndexArray  # their classes
    maxima: ScoreMaxima  # of scores without calibration
    confidence: FloatArray  # (samples,), with the model's gamma
    covered: BoolArray  # (samples,), whether the set of candidates holds the class
    size: IndexArray  # (samples,), of the set of candidates


def describe_model(
    model: Model,
    title: str,
    data: ZeroShotDataset | None = None,
    pictures: Pictures | None = None,
    *,
    taxonomy: Any = None,
    confidence: float = CONFIDENCE,
) -> Part:
    """Return all that the page of a model shows.

    Parameters
    ----------
    model : fitted GZSLClassifierCV
    title : str
        What the model is called.
    data : ZeroShotDataset, optional
        Labeled samples to measure it on.
    pictures : Pictures, optional
        How these samples look.
    taxonomy, confidence
        As in ``unseen.models.evaluation.evaluate``.
    """
    if not isinstance(model, GZSLClassifierCV):
        raise UnseenError(
            f"{title} holds a {type(model).__name__} without a card, because nothing was held out. Fit the "
            "model with unseen fit or GZSLClassifierCV."
        )
    card = model.card()
    found = None if data is None else evaluate(model, data, taxonomy=taxonomy, confidence=confidence)
    tested = None if data is None else score_samples(model, data)
    gammas = choose_gammas(model, tested)
    curves, by_gamma = {}, {}
    curves["held"], by_gamma["held"] = held_out_curve(model, gammas)
    if tested is not None:
        curves["measured"], by_gamma["measured"] = measured_curve(model, tested, gammas)
    return {
        "title": title,
        "measured_on": None if tested is None else tested.name,
        "notes": [] if data is None or found is None else [n for n in found.notes if n not in data.notes],
        "answer": describe_answer(model, card, found),
        "checks": describe_checks(card.checks),
        "explorer": {
            "models": curves,
            "points": name_points(model.gamma_, curves),
        },
        "by_gamma": by_gamma,
        "names": [str(name) for name in model.classes_],
        "unseen": (~model.seen_).tolist(),
        "samples": None if tested is None else np.bincount(tested.y, minlength=len(model.classes_)).tolist(),
        "hardest": [] if found is None else describe_hardest(model, found),
        "reliability": describe_reliability(model, tested),
        "sets": [] if tested is None else describe_sets(model, tested),
        "unknown": None if found is None or found.unknown is None else vars(found.unknown),
        "levels": [] if found is None else [vars(level) for level in found.levels],
        "confidence": confidence,
        "attributes": [] if data is None else readable_attributes(model, data),
        "twins": closest_classes(model),
        "facts": describe_facts(card),
        "attempt": None if tested is None or data is None else describe_try(model, data, tested, pictures),
    }


# ---- labeled samples -------------------------------------------------------------------------------------


def score_samples(model: GZSLClassifierCV, data: ZeroShotDataset) -> Tested:
    """Score the test samples of a data set, or all samples if it has no test set.

    Samples of classes that the model does not know are left out.
    """
    names, classes = np.array(data.class_names)[data.y].astype(str), np.asarray(model.classes_).astype(str)
    rows = evaluation_rows(data)
    rows = rows[np.isin(names[rows], classes)]
    X, y = choose_rows(data.X, rows), label_positions(names[rows], classes)
    thresholds = model.set_thresholds(COVERAGE)
    maxima, parts = [], []
    for block in score_blocks(len(rows), len(classes)):
        part = np.asarray(read_rows(X, block), np.float64)
        uncalibrated = model.similarity(part) + model.gamma_ * model.seen_
        maxima.append(ScoreMaxima.from_scores(uncalibrated, model.seen_))
        sure = model.predict_proba(part)
        inside = sure >= thresholds
        own = np.take_along_axis(inside, y[block][:, None], axis=1)[:, 0]
        parts.append((sure.max(axis=1), own, inside.sum(axis=1)))
    return Tested(data.name, rows, y, ScoreMaxima.concatenate(maxima), *map(np.concatenate, zip(*parts)))


# ---- along gamma -----------------------------------------------------------------------------------------


def choose_gammas(model: GZSLClassifierCV, tested: Tested | None) -> FloatArray:
    """Return the gammas of the slider: equal shares of held-out samples change sides between two of them."""
    flips = [trial.flips for trial in model.held_out_.trials()]
    flips += [tested.maxima.flips] if tested is not None else []
    joined = np.concatenate(flips)
    n = int(np.clip(_CELLS // len(model.classes_), 5, _GAMMAS))
    spread = np.quantile(joined[np.isfinite(joined)], np.linspace(0, 1, n))
    return np.unique([*spread, 0.0, model.gamma_])


def held_out_curve(model: GZSLClassifierCV, gammas: FloatArray) -> tuple[Part, Part]:
    """Return the expected accuracies at every gamma: of seen classes, and of held-out ones."""
    n_classes = len(model.classes_)
    by_class: Part = {"seen": [], "new": []}
    U, S = [], []
    for gamma in gammas:
        seen, unseen = held_out_counts(model, gamma)
        S.append(100 * float(np.mean(np.concatenate([counts.share for counts in seen]))))
        U.append(100 * float(np.mean([counts.share.mean() for counts in unseen])))
        by_class["seen"].append(mean_by_class([(c.classes, c.share) for c in seen], n_classes))
        by_class["new"].append(mean_by_class([(c.classes, c.share) for c in unseen], n_classes))
    return make_curve(gammas, np.array(U), np.array(S)), by_class


def measured_curve(model: GZSLClassifierCV, tested: Tested, gammas: FloatArray) -> tuple[Part, Part]:
    """Return the accuracies on labeled samples at every gamma."""
    n = len(model.classes_)
    count = np.bincount(tested.y, minlength=n)
    right = [np.bincount(tested.y, tested.maxima.predict(gamma) == tested.y, n) for gamma in gammas]
    accuracies = 100 * np.array(right) / np.maximum(count, 1)  # (gammas, classes)
    means = [mean_over(accuracies, (count > 0) & kind) for kind in (~model.seen_, model.seen_)]
    by_class = [[round(v, 1) if c else None for v, c in zip(row, count)] for row in accuracies.tolist()]
    return make_curve(gammas, *means), {"seen": by_class}


def mean_over(accuracies: FloatArray, classes: BoolArray) -> FloatArray:
    """Return the mean over some classes, 0 if there are none."""
    chosen = accuracies[:, classes]
    return chosen.mean(axis=1) if chosen.shape[1] else np.zeros(len(accuracies))


def mean_by_class(parts: Sequence[tuple[IndexArray, FloatArray]], n: int) -> list[float | None]:
    """Return the mean accuracy of each class in percent, None for one without samples.

    >>> mean_by_class([(np.array([0]), np.array([0.5])), (np.array([0, 2]), np.array([1.0, 0.25]))], 3)
    [75.0, None, 25.0]
    """
    classes, share = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    count = np.bincount(classes, minlength=n)
    mean = 100 * np.bincount(classes, share, n) / np.maximum(count, 1)
    return [round(float(value), 1) if times else None for value, times in zip(mean, count)]


def make_curve(gammas: FloatArray, unseen: FloatArray, seen: FloatArray) -> Part:
    """Return a curve for the slider; between two gammas the nearer one counts."""
    H = harmonic_mean(unseen, seen)
    order = np.argsort(unseen, kind="stable")
    return {
        "gammas": gammas.tolist(),
        "breakpoints": ((gammas[1:] + gammas[:-1]) / 2).tolist(),
        "unseen": unseen.tolist(),
        "seen": seen.tolist(),
        "flips": None,
        "ausuc": float(trapezoid(seen[order], unseen[order])) / 1e4,
        "best": float(gammas[int(np.argmax(H))]),
    }


def name_points(gamma: float, curves: Iterable[str]) -> Part:
    """Return the points that buttons go to: on the curve that is shown, or on one of the curves."""
    shown: Part = {"chosen": {"model": None, "gamma": gamma}}
    shown["none"] = {"model": None, "gamma": 0.0}
    return shown | {name: {"model": name, "gamma": gamma} for name in curves}


# ---- the parts of the page ---------------------------------------------------------------------------------


def describe_answer(model: GZSLClassifierCV, card: Card, found: Evaluation | None) -> Part:
    """Return what the first sentence says."""
    n_unseen = int((~model.seen_).sum())
    return {
        "n_seen": len(model.classes_) - n_unseen,
        "n_unseen": n_unseen,
        "expected": {kind: getattr(card.expected, kind) for kind in ("unseen", "seen", "H")},
        "measured": {} if found is None else measured_accuracies(found),
    }


def measured_accuracies(found: Evaluation) -> dict[str, float]:
    """Return the accuracy per class in percent on seen and on unseen classes, and H, as far as known."""
    values = {"unseen": found.unseen, "seen": found.seen, "H": found.harmonic}
    return {name: value.per_class for name, value in values.items() if value is not None}


def describe_checks(checks: Iterable[Check]) -> list[Part]:
    """Return the checks by code, the warnings first, with the first messages of each.

    >>> describe_checks([Check("X1", "note", "Odd", f"{n}.", "Look.") for n in range(7)])[0]["more"]
    2
    """
    by_code: dict[str, list[Check]] = {}
    for check in sorted(checks, key=lambda check: (check.severity != "warning", check.code)):
        by_code.setdefault(check.code, []).append(check)
    return [
        {
            "code": code,
            "severity": group[0].severity,
            "title": group[0].title,
            "messages": [f"{check.message} {check.advice}".strip() for check in group[:_ALIKE]],
            "more": max(0, len(group) - _ALIKE),
        }
        for code, group in by_code.items()
    ]


def describe_sets(model: GZSLClassifierCV, tested: Tested) -> list[Part]:
    """Return how often sets of candidates hold the class, in percent, and how large they are, by kind."""
    of_seen = model.seen_[tested.y]
    return [
        {
            "kind": kind,
            "samples": int(rows.sum()),
            "covered": float(100 * tested.covered[rows].mean()),
            "size": float(tested.size[rows].mean()),
            "empty": float(100 * (tested.size[rows] == 0).mean()),
        }
        for kind, rows in (("seen", of_seen), ("new", ~of_seen))
        if rows.any()
    ]


def describe_hardest(model: GZSLClassifierCV, found: Evaluation) -> list[Part]:
    """Return the classes with the lowest accuracy and what they are predicted as, the hardest first."""
    place = {str(name): i for i, name in enumerate(model.classes_)}
    return [
        {
            "index": place[hard.name],
            "accuracy": round(hard.accuracy, 1),
            "taken_for": [
                (place[name], round(100 * n / hard.samples, 1))
                for name, n in islice(hard.taken_for.items(), _MISTAKES)
            ],
        }
        for hard in found.hardest(_HARDEST)
    ]


def describe_reliability(model: GZSLClassifierCV, tested: Tested | None) -> Part:
    """Return how sure and how right predictions are, on held-out samples and on labeled ones."""
    found = {"held": {kind: as_bins(bins) for kind, bins in model.held_out_.reliability.items()}}
    if tested is not None:
        right = tested.maxima.predict(model.gamma_) == tested.y
        of_seen = model.seen_[tested.y]
        kinds = {"seen": of_seen, "unseen": ~of_seen}
        found["measured"] = {
            kind: as_bins(reliability(tested.confidence[rows], right[rows]))
            for kind, rows in kinds.items()
            if rows.any()
        }
    return found


def as_bins(found: Reliability) -> Part:
    """Return a reliability as JSON values."""
    return {
        "samples": found.samples.tolist(),
        "confidence": found.confidence.tolist(),
        "accuracy": found.accuracy.tolist(),
        "ece": found.ece,
    }


def describe_facts(card: Card) -> list[tuple[str, str]]:
    """Return what the model was made of."""
    lines = card_lines(card)
    made_of = ("data", "samples of new", "method", "scaling", "compared", "gamma")
    shown = (*made_of, "probabilities", "candidates", "none of these")
    facts = {name.capitalize(): " ".join(lines[name].split()) for name in shown if name in lines}
    facts |= {"Fingerprint of the data": card.checksum} if card.checksum else {}
    facts |= {"Image encoder": describe_encoder(card.encoder)} if card.encoder else {}
    facts |= {"Text encoder": describe_encoder(card.text_encoder)} if card.text_encoder else {}
    facts |= {"Written by": card.written_by}
    return list(facts.items())


def describe_encoder(encoder: Mapping[str, Any]) -> str:
    """Return the facts about an encoder that people know it by.

    >>> describe_encoder({"name": "resnet50", "sha256": "0123456789abcdef", "preprocessing": {}})
    'name resnet50, sha256 0123456789ab'
    """
    plain = {name: value for name, value in encoder.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{name} {str(value)[:12] if 'sha' in name else value}" for name, value in plain.items())
