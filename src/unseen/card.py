"""The card of a model: what it was made of, and what to expect of it, measured on held-out samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from unseen import __version__
from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.checks import Check, model_checks, select
from unseen.base import ZeroShotClassifier, last_step
from unseen.calibration.prediction import class_thresholds
from unseen.datasets.checks import check_training
from unseen.errors import UnseenError
from unseen.metrics import harmonic_mean, percentile_interval
from unseen.selection.gamma import SHARES, finest_share, gamma_at_retention, retention_at, seen_alone
from unseen.selection.rehearsal import N_PARTS, Trial

if TYPE_CHECKING:
    from unseen.selection.search import GZSLClassifierCV

CARD_FORMAT = 1  # of the card as JSON
REPLICATES = 2000
COVERAGE = 0.9  # of the sets of candidates whose thresholds are shown
N_POINTS = 5  # of the trade-off, from no calibration to gamma
ACCURACIES = ("unseen", "seen", "H")
Estimate = list[float]  # value, low, high, in percent


@dataclass(frozen=True)
class Expected:
    """Accuracies to expect, each with its 95 % interval, and the number of held-out samples behind it.

    ``seen`` is the accuracy of samples of seen classes, held out in turn, among all present classes.
    ``unseen`` is the accuracy of held-out classes when the same share of right predictions for seen samples
    is retained. ``H`` is the harmonic mean of the two.
    """

    unseen: Estimate
    seen: Estimate
    H: Estimate
    samples: Mapping[str, int]


@dataclass(frozen=True)
class Card:
    """What a user of a model should know; ``print`` shows it as the command does."""

    method: str
    params: Mapping[str, Any]
    normalize: str | None  # how features are scaled
    gamma: float
    gamma_rule: str  # "retention", "paper" or "given"
    retention: float
    classes: Mapping[str, list[Any]]  # seen, unseen
    features: int | None
    attributes: list[str]
    expected: Expected
    tradeoff: list[Mapping[str, Any]]  # gamma, unseen, seen, H, and the option that chooses the point
    lost: list[Any]  # seen classes that keep less than half of their held-out accuracy
    confidence: Mapping[str, Any]  # temperature, calibration error, AUROC of detecting unknown classes
    format: int = CARD_FORMAT
    written_by: str = f"unseen {__version__}"
    data: str | None = None
    checksum: str | None = None
    samples: int | None = None
    compared: Mapping[str, float] = field(default_factory=dict)  # mean validation H of what was tried
    encoder: Mapping[str, object] | None = None  # which image encoder made the features
    text_encoder: Mapping[str, object] | None = None  # which text encoder made the prototypes
    shots: Mapping[str, int] | None = None  # samples of classes that were added later
    checks: list[Check] = field(default_factory=list)  # what may be wrong with the data and the model

    def to_json(self) -> dict[str, Any]:
        """Return the card as JSON values, without what is not known."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return known | {"checks": [check.to_json() for check in self.checks]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the card from JSON values."""
        if document.get("format") != CARD_FORMAT:
            raise UnseenError(
                f"The card has format {document.get('format')}, expected {CARD_FORMAT}. Read it with the "
                "version of unseen that wrote it, or a newer one."
            )
        checks = [Check.from_json(check) for check in document.get("checks", ())]
        return cls(**{**document, "expected": Expected(**document["expected"]), "checks": checks})

    def __str__(self) -> str:
        lines = [f"{name:<17} {value}" for name, value in card_lines(self).items()]
        lines.append("Expected accuracies are per class, with 95 % intervals for a test set of this size.")
        # what each point of the trade-off gives, and the option that chooses it
        lines += ["", f"{'trade-off':<17} {'unseen':>7} {'seen':>7} {'H':>7}"]
        for point in self.tradeoff:
            lines.append(f"{point['option']:<17} " + " ".join(f"{point[kind]:7.1f}" for kind in ACCURACIES))
        for check in model_checks(lost=self.lost):
            lines += ["", f"{check.message} {check.advice}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in card_lines(self).items()
        )
        return f"<p>{escape(headline(self))}</p><table>{rows}</table>"


def make_card(model: GZSLClassifierCV) -> Card:
    """Return the card of a fitted model."""
    method, held_out = last_step(model.estimator_), model.held_out_
    names, seen = model.classes_, model.seen_
    facts = {"method": type(method).__name__.lower(), **held_out.facts}
    of_data = [Check.from_json(check) for check in facts.pop("checks", ())]
    card = Card(
        **facts,
        params={k: "inf" if v in (np.inf,) else v for k, v in model.best_params_.items()},  # JSON has none
        normalize=getattr(method, "normalize", None),
        gamma=model.gamma_,
        gamma_rule=held_out.rule,
        retention=held_out.retention,
        classes={"seen": names[seen].tolist(), "unseen": names[~seen].tolist()},
        features=getattr(model, "n_features_in_", None),
        attributes=list(map(str, getattr(method, "attribute_names_", ()))),
        expected=expected_accuracies(model),
        tradeoff=trade_off(model),
        lost=lost_classes(model),
        confidence=describe_confidence(model),
    )
    return replace(card, checks=select([*of_data, *held_out_checks(card)]))


def find_problems(model: GZSLClassifierCV, X: Any) -> list[Check]:
    """Return what may be wrong with samples, descriptions and calibration of a fit; the card says it, too."""
    method = last_step(model.estimator_)
    if not isinstance(method, ZeroShotClassifier):
        return []
    data = SimpleNamespace(
        X=X if method is model.estimator_ and method.normalize != "standard" else None,
        prototypes=method.prototypes_,
        class_names=list(map(str, method.classes_)),
        seen=method.seen_,
        attribute_names=list(map(str, getattr(method, "attribute_names_", ()))),
        feature_names=list(map(str, getattr(method, "feature_names_in_", ()))),
    )
    found = check_training(data)
    model.held_out_.facts["checks"] = [check.to_json() for check in found]
    return [*found, *model_checks(lost=lost_classes(model))]


def held_out_checks(card: Card) -> list[Check]:
    """Return what the held-out results of a model say about it."""
    n_classes = sum(map(len, card.classes.values()))
    own = [h for name, h in card.compared.items() if name.split()[0] == card.method != "cosine"]
    return model_checks(
        lost=card.lost,
        unseen=card.expected.unseen,
        chance=100 / n_classes,
        H=max(own, default=None),
        cosine_H=card.compared.get("cosine"),
    )


# ---- what to expect ------------------------------------------------------------------------------------


def expected_accuracies(model: GZSLClassifierCV, random_state: int = 0) -> Expected:
    """Return the accuracies that a fitted model can be expected to have, whatever rule chose its gamma."""
    rng = np.random.default_rng(random_state)
    seen, unseen = held_out_counts(model, model.gamma_)
    n_unseen = int((~model.seen_).sum())
    S, S_draws = estimate_seen(seen, rng)
    U, U_draws = estimate_unseen(unseen, n_unseen, rng)
    samples = {"unseen": n_distinct(unseen), "seen": n_distinct(seen)}
    return Expected(
        unseen=_interval(U, U_draws),
        seen=_interval(S, S_draws),
        H=_interval(harmonic_mean(U, S), harmonic_mean(U_draws, S_draws)),
        samples={**samples, "H": sum(samples.values())},
    )


def trade_off(model: GZSLClassifierCV) -> list[Mapping[str, Any]]:
    """Return a handful of points of the held-out curve, from no calibration to gamma."""
    points: dict[str, Mapping[str, Any]] = {}  # by the option of ``unseen fit`` that chooses it
    held_out, most = model.held_out_, 100.0  # more seen accuracy than held-out samples show is no goal
    if held_out.cross_fitted is not None:
        share = SHARES[finest_share(held_out.rehearsals) >= SHARES][0]
        most = seen_alone(held_out.cross_fitted, model.weights) * share
    for gamma in _gammas_between(model):
        seen, unseen = held_out_counts(model, gamma)
        S = 100 * float(np.mean(np.concatenate([c.share for c in seen])))
        U = 100 * float(np.mean([c.share.mean() for c in unseen]))
        H = float(harmonic_mean(U, S))
        option = "--gamma 0" if gamma == 0 else f"--min-seen {np.floor(min(S, most)):.0f}"
        option = "as fitted" if gamma == model.gamma_ else option
        if option not in points or round(U, 2) > points[option]["unseen"]:
            accuracies = {"unseen": round(U, 2), "seen": round(S, 2), "H": round(H, 2)}
            points[option] = {"gamma": gamma, **accuracies, "option": option}
    return list(points.values())


def _gammas_between(model: GZSLClassifierCV) -> list[float]:
    """Return gammas from 0 to that of the model, at equal steps of retention if there are samples for it."""
    crossed = model.held_out_.cross_fitted
    if crossed is None or model.gamma_ == 0:
        return [float(gamma) for gamma in np.linspace(0, model.gamma_, N_POINTS)]
    start, end = (retention_at(crossed, gamma, model.weights) for gamma in (0.0, model.gamma_))
    between = np.linspace(start, end, N_POINTS)[1:-1]
    gammas = np.atleast_1d(gamma_at_retention(crossed, between, model.weights))
    return [0.0, *map(float, gammas), model.gamma_]


def lost_classes(model: GZSLClassifierCV) -> list[Any]:
    """Return the seen classes whose held-out accuracy calibration takes to less than half."""
    crossed = model.held_out_.cross_fitted
    if crossed is None:
        return []
    y = crossed.y
    before = np.bincount(y, crossed.correct(min(0.0, model.gamma_)), len(model.classes_))
    after = np.bincount(y, crossed.correct(model.gamma_), len(model.classes_))
    return list(model.classes_[2 * after < before].tolist())


def describe_confidence(model: GZSLClassifierCV) -> dict[str, Any]:
    """Return the temperature, and how good probabilities and rejection were on held-out samples.

    ``ece`` is the expected calibration error: for ``seen`` of samples of seen classes, held out in turn among
    all present classes, for ``unseen`` of held-out classes. ``auroc`` is that of detecting samples of classes
    that were left out of the candidates. ``candidates`` holds the probability from which a seen and an unseen
    class is in a set of coverage 0.9.
    """
    found, rejection = model.held_out_.reliability, model.held_out_.rejection
    thresholds = class_thresholds(model.held_out_.sets, COVERAGE, np.array([True, False]))
    return {
        "temperature": model.temperature_,
        "ece": {kind: round(by_kind.ece, 4) for kind, by_kind in found.items()},
        "samples": {kind: int(by_kind.samples.sum()) for kind, by_kind in found.items()},
        "auroc": round(rejection.auroc, 4),
        "candidates": {kind: round(float(t), 6) for kind, t in zip(("seen", "unseen"), thresholds)},
    }


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Right predictions by class."""

    classes: IndexArray  # (classes,)
    count: IndexArray  # (classes,), samples
    right: IndexArray  # (classes,)

    @property
    def share(self) -> FloatArray:
        """The accuracy of each class, 0 to 1."""
        return self.right / self.count


def held_out_counts(model: GZSLClassifierCV, gamma: float) -> tuple[list[ClassCounts], list[ClassCounts]]:
    """Return the right predictions for held-out samples of seen and of held-out classes at one gamma."""
    trials, crossed = model.held_out_.rehearsals, model.held_out_.cross_fitted
    of_seen, gammas = trials, [gamma] * len(trials)  # the folds measure both kinds
    if crossed is not None:
        # r = S(gamma) / A_S->Cs; held-out classes when each rehearsal retains the same share
        share = retention_at(crossed, gamma, model.weights)
        of_seen, gammas = [crossed], [float(gamma_at_retention(t, share, model.weights)) for t in trials]
    seen = [count_right(trial, gamma, of_seen=True) for trial in of_seen]
    return seen, [count_right(trial, at, of_seen=False) for trial, at in zip(trials, gammas)]


def count_right(trial: Trial, gamma: float, *, of_seen: bool) -> ClassCounts:
    """Count the right predictions at gamma for samples of the seen or of the held-out classes."""
    chosen = trial.of_seen == of_seen
    classes, index = np.unique(trial.y[chosen], return_inverse=True)
    right = np.bincount(index, weights=trial.correct(gamma)[chosen]).astype(np.intp)
    return ClassCounts(classes, np.bincount(index), right)


def n_distinct(counts: Sequence[ClassCounts]) -> int:
    """Return the number of samples, each counted once however often its class was held out."""
    by_class = {int(c): int(n) for found in counts for c, n in zip(found.classes, found.count)}
    return sum(by_class.values())


def estimate_seen(counts: Sequence[ClassCounts], rng: np.random.Generator) -> tuple[float, FloatArray]:
    """Return the mean per-class accuracy in percent, and draws of what a test set would show.

    Each draw is a plausible accuracy of every class (binomial), then the predictions of a test set with as
    many samples per class as a fifth of them (binomial again).
    """
    count, right = (np.concatenate([getattr(c, name) for c in counts]) for name in ("count", "right"))
    few = np.maximum(1, count // N_PARTS)
    share = rng.binomial(count, right / count, (REPLICATES, len(count))) / count
    draws = (rng.binomial(few, share) / few).mean(axis=1)
    return float(100 * (right / count).mean()), 100 * draws


def estimate_unseen(
    counts: Sequence[ClassCounts], n_unseen: int, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return the mean over rehearsals of the per-class accuracy in percent, and draws for other classes.

    The unseen classes are not those that were held out, and they are few. Each draw resamples the held-out
    classes, takes as many of them as are unseen, for each a rehearsal that held it out (the spread between
    rehearsals), and the predictions for its samples (binomial).
    """
    value = float(100 * np.mean([c.share.mean() for c in counts]))
    turns = np.concatenate([c.classes for c in counts])
    order = np.argsort(turns, kind="stable")
    share, count = (np.concatenate([getattr(c, name) for c in counts])[order] for name in ("share", "count"))
    start, length = np.unique(turns[order], return_index=True, return_counts=True)[1:]
    n_classes = len(start)
    resampled = rng.integers(n_classes, size=(REPLICATES, n_classes))
    n_drawn = min(n_unseen, n_classes) or n_classes  # of thousands of candidates only some have samples
    pick = np.take_along_axis(resampled, rng.integers(n_classes, size=(REPLICATES, n_drawn)), axis=1)
    turn = start[pick] + (rng.random(pick.shape) * length[pick]).astype(np.intp)
    return value, 100 * (rng.binomial(count[turn], share[turn]) / count[turn]).mean(axis=1)


def _interval(value: float, draws: FloatArray) -> Estimate:
    low, high = percentile_interval(draws)
    return [round(number, 2) for number in (value, min(low, value), max(high, value))]


# ---- the card in words -----------------------------------------------------------------------------------


def headline(card: Card) -> str:
    """Return what to expect of the model, in the sentence that its page begins with."""
    seen, unseen = (len(card.classes[kind]) for kind in ("seen", "unseen"))
    return (
        f"Expect {card.expected.seen[0]:.1f} % of the samples of {seen} seen classes to be recognized, and "
        f"{card.expected.unseen[0]:.1f} % of those of {f'{unseen} new' if unseen else 'new'} classes that it "
        "knows by their descriptions alone."
    )


def card_lines(card: Card) -> dict[str, str]:
    """Return the facts of a card in words, by name."""
    seen, unseen = card.classes["seen"], card.classes["unseen"]
    params = format_params(card.params)
    ranked = sorted(card.compared.items(), key=lambda item: -item[1])
    made_of = f"{card.data}, {card.samples} samples of {card.features} features"
    facts = {
        "data": made_of if card.data else f"{card.features} features" if card.features else "",
        "seen classes": f"{len(seen)}: {_first(seen)}",
        "unseen classes": f"{len(unseen)}: {_first(unseen)}"
        if unseen
        else "none yet (unseen add-class adds them)",
        "samples of new": ", ".join(f"{n} of {name}" for name, n in (card.shots or {}).items()),
        "method": f"{card.method} ({params})" if params else card.method,
        "scaling": card.normalize or "none",
        "compared": ", ".join(f"{name} {h:.1f}" for name, h in ranked) + " (validation H)"
        if len(ranked) > 1
        else "",
        "gamma": _gamma_in_words(card),
    }
    kinds = {"unseen": "accuracy, unseen", "seen": "accuracy, seen", "H": "harmonic mean"}
    for kind, words in kinds.items():
        value, low, high = getattr(card.expected, kind)
        n = card.expected.samples[kind]
        facts[words] = f"{value:5.1f} %  ({low:.1f} to {high:.1f}; {n} held-out samples)"
    return {name: words for name, words in facts.items() if words} | _confidence(card.confidence)


def format_params(params: Mapping[str, Any]) -> str:
    """Return parameters as people write them.

    >>> format_params({"alpha": 0.001, "kernel": "rbf"})
    'alpha 0.001, kernel rbf'
    """
    values = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in params.values())
    return ", ".join(map(" ".join, zip(params, values)))


def _gamma_in_words(card: Card) -> str:
    rules = {"retention": "retention rule", "paper": "rule of the paper", "given": "as given"}
    if card.gamma > 0:
        meaning = "subtracted from the scores of the seen classes"
    elif card.gamma < 0:
        meaning = f"so the seen classes are favored: {-card.gamma:.4g} is added to their scores"
    else:
        meaning = "so the scores are not calibrated"
    return f"{card.gamma:.4g}, {meaning} ({rules[card.gamma_rule]})"


def _confidence(facts: Mapping[str, Any]) -> dict[str, str]:
    errors = sorted(facts["ece"].items(), reverse=True)  # unseen first, also from a file with sorted keys
    ece = ", ".join(f"{kind} {100 * value:.1f} %" for kind, value in errors)
    auroc = f"AUROC {facts['auroc']:.2f}, held-out classes as unknown"
    sets = ", ".join(f"{kind} {value:.2g}" for kind, value in facts["candidates"].items())
    return {
        "probabilities": f"temperature {facts['temperature']:.4g} (calibration error on held-out: {ece})",
        "candidates": f"at a coverage of {COVERAGE}, from these probabilities: {sets}",
        "none of these": f"detected by a low probability ({auroc})",
    }


def _first(names: Sequence[Any], most: int = 6) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown}, ..."
