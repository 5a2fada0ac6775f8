"""The page of a model: the model and perhaps labeled data -> one plain document -> the page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray, score_blocks
from unseen._core.labels import label_positions
from unseen._core.rows import choose_rows, read_rows
from unseen._core.taxonomy import CONFIDENCE
from unseen.benchmark.protocol import as_bins, class_table
from unseen.calibration.maxima import ScoreMaxima, score_maxima
from unseen.card import COVERAGE, Card, ClassCounts, card_lines, count_right, held_out_counts
from unseen.datasets import ZeroShotDataset
from unseen.errors import UnseenError
from unseen.metrics import area_under_curve, harmonic_mean, reliability
from unseen.models.evaluation import Evaluation, evaluate, evaluation_rows
from unseen.models.io import Model
from unseen.models.prediction import matched_features
from unseen.report.attributes import closest_classes, readable_attributes
from unseen.report.figures import hardest_classes
from unseen.report.page import Document, render, save_page
from unseen.report.thumbnails import Pictures
from unseen.report.try_class import describe_try
from unseen.selection.rehearsal import Trial
from unseen.selection.search import GZSLClassifierCV

_GAMMAS = 101  # points of a curve
_CELLS = 200_000  # accuracies of classes in a page
_UNMEASURED: Document = {  # instead of ``describe_measured``, without labeled samples
    **dict.fromkeys(("measured_on", "samples", "unknown", "attempt")),
    **dict.fromkeys(("measured", "notes", "hardest", "sets", "levels", "attributes"), ()),
}


def write_model_page(model: Model, html: str | os.PathLike[str], *, title: str, **options: Any) -> Path:
    """Write the page of a model as one HTML file that needs no network, and return its path.

    Parameters
    ----------
    model : fitted GZSLClassifierCV
    html : path
    title : str
        What the model is called.
    **options
        As for ``describe_model``: ``data``, ``pictures``, ``taxonomy`` and ``confidence``.
    """
    return save_page(render_model_page(describe_model(model, title, **options)), html)


def render_model_page(document: Document) -> str:
    """Return the page as text."""
    needed = ("explorer", "names", "unseen", "samples", "hardest", "reliability", "attributes")
    data = {name: document[name] for name in (*needed, "attempt")}
    scripts, styles = ("rows.js", "drawing.js", "try.js", "model.js"), ("gallery.css", "model.css")
    return render("model.html", data, document, scripts=scripts, styles=styles)


def describe_model(
    model: Model,
    title: str,
    data: ZeroShotDataset | None = None,
    pictures: Pictures | None = None,
    *,
    taxonomy: Any = None,
    confidence: float = CONFIDENCE,
) -> Document:
    """Return all that the page shows.

    Parameters
    ----------
    model : fitted GZSLClassifierCV
    title : str
        What the model is called.
    data : ZeroShotDataset, optional
        Labeled samples, on which the page also measures the model, and which it shows to a class that a
        reader describes.
    pictures : Pictures, optional
        How these samples look, see ``unseen.report.thumbnails.find_pictures``.
    taxonomy, confidence
        As in ``unseen.models.evaluation.evaluate``: the page has a line for every level.
    """
    if not isinstance(model, GZSLClassifierCV):
        raise UnseenError(
            f"{title} holds a {type(model).__name__} without a card, because nothing was held out. Fit the "
            "model with unseen fit or GZSLClassifierCV."
        )
    card, tested, measured = model.card(), None, _UNMEASURED
    if data is not None:
        with matched_features():
            found = evaluate(model, data, taxonomy=taxonomy, confidence=confidence)
            tested = score_samples(model, data)
            measured = describe_measured(model, data, found, tested, pictures)
    return {
        "title": title,
        "expected": vars(card.expected),
        "checks": [check.to_json() for check in card.checks],
        "explorer": describe_tradeoff(model, tested),
        "names": [str(name) for name in model.classes_],
        "unseen": (~model.seen_).tolist(),
        "reliability": describe_reliability(model, tested),
        "twins": closest_classes(model),
        "facts": describe_facts(card),
        "confidence": confidence,
        **measured,
    }


# ---- labeled samples -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tested:
    """How labeled samples fare with a model."""

    rows: IndexArray  # the samples
    y: IndexArray  # their classes
    maxima: ScoreMaxima  # of scores without calibration
    confidence: FloatArray  # (samples,), with the model's gamma
    covered: BoolArray  # (samples,), whether the set of candidates holds the class
    size: IndexArray  # (samples,), of the set of candidates

    def by_kind(self, seen: BoolArray) -> dict[str, BoolArray]:
        """Return the samples of seen and of unseen classes, (samples,) each, if there are any."""
        kinds = {"seen": seen[self.y], "unseen": ~seen[self.y]}
        return {kind: rows for kind, rows in kinds.items() if rows.any()}


def score_samples(model: GZSLClassifierCV, data: ZeroShotDataset) -> Tested:
    """Score the test samples of a data set, or all samples if it has no test set.

    Samples of classes that the model does not know are left out.
    """
    names, classes = np.array(data.class_names)[data.y].astype(str), np.asarray(model.classes_).astype(str)
    rows = evaluation_rows(data)
    rows = rows[np.isin(names[rows], classes)]
    X, y = choose_rows(data.X, rows), label_positions(names[rows], classes)
    thresholds = model.set_thresholds(COVERAGE)
    parts = []
    for block in score_blocks(len(rows), len(classes)):
        sure = model.predict_proba(read_rows(X, block))
        inside = sure >= thresholds
        own = np.take_along_axis(inside, y[block][:, None], axis=1)[:, 0]
        parts.append((sure.max(axis=1), own, inside.sum(axis=1)))
    maxima = score_maxima(model.estimator_, X, model.classes_, model.seen_)
    return Tested(rows, y, maxima, *map(np.concatenate, zip(*parts)))


def describe_measured(
    model: GZSLClassifierCV,
    data: ZeroShotDataset,
    found: Evaluation,
    tested: Tested,
    pictures: Pictures | None,
) -> Document:
    """Return what the page shows of labeled samples alone."""
    accuracies = {"unseen": found.unseen, "seen": found.seen, "H": found.harmonic}
    classes = class_table(tested.y, tested.maxima.predict(model.gamma_), len(model.classes_))
    return {
        "measured_on": data.name,
        "measured": {name: value.per_class for name, value in accuracies.items() if value is not None},
        "notes": [note for note in found.notes if note not in data.notes],
        "samples": classes["samples"],
        "hardest": hardest_classes(classes),
        "sets": describe_sets(model, tested),
        "unknown": None if found.unknown is None else vars(found.unknown),
        "levels": [vars(level) for level in found.levels],
        "attributes": readable_attributes(model, data),
        "attempt": describe_try(model, data, tested, pictures),
    }


def describe_sets(model: GZSLClassifierCV, tested: Tested) -> list[Document]:
    """Return how often sets of candidates hold the class, in percent, and how large they are, by kind."""
    return [
        {
            "kind": kind,
            "samples": int(rows.sum()),
            "covered": float(100 * tested.covered[rows].mean()),
            "size": float(tested.size[rows].mean()),
            "empty": float(100 * (tested.size[rows] == 0).mean()),
        }
        for kind, rows in tested.by_kind(model.seen_).items()
    ]


# ---- along gamma -----------------------------------------------------------------------------------------


def describe_tradeoff(model: GZSLClassifierCV, tested: Tested | None) -> Document:
    """Return the slider, and the accuracy of every class at each of its gammas."""
    gammas = choose_gammas(model, tested)
    curves = {"held": held_out_curve(model, gammas)}
    if tested is not None:
        curves["measured"] = measured_curve(model, tested, gammas)
    fitted, none = {"model": None, "gamma": model.gamma_}, {"model": None, "gamma": 0.0}  # of the curve shown
    points = {"chosen": fitted, "none": none, **{name: {**fitted, "model": name} for name in curves}}
    return {"models": curves, "points": points}


def choose_gammas(model: GZSLClassifierCV, tested: Tested | None) -> FloatArray:
    """Return the gammas of the slider: equal shares of held-out samples change sides between two of them."""
    flips = [trial.flips for trial in model.held_out_.trials()]
    flips += [tested.maxima.flips] if tested is not None else []
    joined = np.concatenate(flips)
    n = int(np.clip(_CELLS // len(model.classes_), 5, _GAMMAS))
    spread = np.quantile(joined[np.isfinite(joined)], np.linspace(0, 1, n))
    return np.unique([*spread, 0.0, model.gamma_])


def held_out_curve(model: GZSLClassifierCV, gammas: FloatArray) -> Document:
    """Return the expected accuracies at every gamma: of seen classes, and of held-out ones."""
    n, counts = len(model.classes_), [held_out_counts(model, gamma) for gamma in gammas]
    by_class = {
        "seen": [mean_by_class(seen, n) for seen, _ in counts],
        "new": [mean_by_class(unseen, n) for _, unseen in counts],
    }
    return make_curve(gammas, counts, by_class)


def measured_curve(model: GZSLClassifierCV, tested: Tested, gammas: FloatArray) -> Document:
    """Return the accuracies on labeled samples at every gamma."""
    trial = Trial.from_maxima(tested.maxima, tested.y, model.seen_)
    seen, unseen = ([count_right(trial, gamma, of_seen=kind) for gamma in gammas] for kind in (True, False))
    by_class = [mean_by_class(both, len(model.classes_)) for both in zip(seen, unseen)]
    return make_curve(gammas, [([s], [u]) for s, u in zip(seen, unseen)], {"seen": by_class})


def mean_percent(shares: FloatArray) -> float:
    """Return the mean in percent, 0 of none."""
    return float(100 * shares.mean()) if len(shares) else 0.0


def mean_by_class(parts: Sequence[ClassCounts], n: int) -> list[float | None]:
    """Return the mean accuracy of each of n classes in percent, None for one without samples."""
    classes = np.concatenate([part.classes for part in parts])
    times = np.bincount(classes, minlength=n)
    total = np.bincount(classes, np.concatenate([part.share for part in parts]), n)
    return [round(float(100 * t / k), 1) if k else None for t, k in zip(total, times)]


def make_curve(
    gammas: FloatArray,
    counts: Sequence[tuple[Sequence[ClassCounts], Sequence[ClassCounts]]],
    by_class: Document,
) -> Document:
    """Return a curve for the slider, from counts of (seen, unseen) classes at each gamma.

    Between two gammas the nearer one counts. The accuracy of a kind without samples is 0.
    """
    seen = np.array([mean_percent(np.concatenate([part.share for part in parts])) for parts, _ in counts])
    unseen = np.array([np.mean([mean_percent(part.share) for part in parts]) for _, parts in counts])
    order = np.argsort(unseen, kind="stable")
    # all of the seen accuracy is retained down to U = 0, which no rehearsal has to reach
    U, S = np.append(0, unseen[order]), np.append(seen.max(), seen[order])
    return {
        "gammas": gammas.tolist(),
        "breakpoints": ((gammas[1:] + gammas[:-1]) / 2).tolist(),
        "unseen": unseen.tolist(),
        "seen": seen.tolist(),
        "ausuc": area_under_curve(U, S),
        "best": float(gammas[int(np.argmax(harmonic_mean(unseen, seen)))]),
        "by_class": by_class,  # the accuracies at each gamma
    }


# ---- what the card knows ---------------------------------------------------------------------------------


def describe_reliability(model: GZSLClassifierCV, tested: Tested | None) -> Document:
    """Return how sure and how right predictions are, on held-out samples and on labeled ones."""
    found = {"held": {kind: as_bins(bins) for kind, bins in model.held_out_.reliability.items()}}
    if tested is not None:
        right = tested.maxima.predict(model.gamma_) == tested.y
        found["measured"] = {
            kind: as_bins(reliability(tested.confidence[rows], right[rows]))
            for kind, rows in tested.by_kind(model.seen_).items()
        }
    return found


def describe_facts(card: Card) -> dict[str, str]:
    """Return what the model was made of."""
    lines = card_lines(card)
    made_of = ("data", "samples of new", "method", "scaling", "compared", "gamma")
    shown = (*made_of, "probabilities", "candidates", "none of these")
    texts = {name: " ".join(lines[name].split()) for name in shown if name in lines}
    facts = {name.capitalize(): text.replace(" %", "\u00a0%") for name, text in texts.items()}
    facts |= {"Fingerprint of the data": card.checksum} if card.checksum else {}
    facts |= {"Image encoder": summarize_encoder(card.encoder)} if card.encoder else {}
    facts |= {"Text encoder": summarize_encoder(card.text_encoder)} if card.text_encoder else {}
    return facts | {"Written by": card.written_by}


def summarize_encoder(encoder: Mapping[str, Any]) -> str:
    """Return the facts about an encoder that people know it by.

    >>> summarize_encoder({"name": "resnet50", "sha256": "0123456789abcdef", "preprocessing": {}})
    'name resnet50, sha256 0123456789ab'
    """
    plain = {name: value for name, value in encoder.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{name} {str(value)[:12] if 'sha' in name else value}" for name, value in plain.items())
