"""The card of a model: what it was made of, and what to expect of it, measured on held-out samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray
from unseen.metrics import harmonic_mean
from unseen.selection.evaluation import Trial
from unseen.selection.gamma import gamma_at_retention, retention_at
from unseen.selection.search import N_PARTS, GZSLClassifierCV
from unseen.selection.temperature import carry_temperature, held_out_reliability, of_kind

REPLICATES = 2000
CONFIDENCE = 95  # percent
Estimate = tuple[float, float, float]  # (value, low, high) in percent


@dataclass(frozen=True)
class Expected:
    """Accuracies to expect, each with its 95 % interval, and the number of answers behind it.

    ``seen`` is the accuracy of samples of seen classes, held out in turn, among all present classes.
    ``unseen`` is the accuracy of held-out classes where the same share of right answers on seen samples is
    retained. ``H`` is the harmonic mean of the two.
    """

    unseen: Estimate
    seen: Estimate
    H: Estimate
    samples: Mapping[str, int]


@dataclass(frozen=True)
class Card:
    """What a reader of a model file should know."""

    data: str
    checksum: str
    samples: int
    features: int
    classes: Mapping[str, list[str]]  # seen, unseen
    attributes: list[str]
    method: str
    normalize: str | None
    params: Mapping[str, Any]
    gamma: float
    gamma_rule: str
    retention: float
    compared: Mapping[str, float]  # mean validation H of every method that was tried
    expected: Expected
    written_by: str
    confidence: Mapping[str, Any] | None = None  # temperature, rejection, and how good both were
    encoder: Mapping[str, object] | None = None  # which image encoder made the features
    text_encoder: Mapping[str, object] | None = None  # which text encoder made the prototypes
    shots: Mapping[str, int] | None = None  # samples of classes that were added later

    def to_json(self) -> dict[str, Any]:
        """Return the card as JSON values, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the card from JSON values."""
        values = dict(document)
        expected = values.pop("expected")
        unseen, seen, H = (tuple(expected[kind]) for kind in ("unseen", "seen", "H"))
        return cls(**values, expected=Expected(unseen, seen, H, expected["samples"]))


# ---- what to expect ------------------------------------------------------------------------------------


def expect(model: GZSLClassifierCV, random_state: int = 0) -> Expected:
    """Return the accuracies that a fitted model can be expected to have, whatever rule chose its gamma."""
    rng = np.random.default_rng(random_state)
    held_out, gamma, n_unseen = model.held_out_, model.gamma_, int((~model.seen_).sum())
    if held_out.cross_fitted is None:  # no unseen class yet: the folds measure both kinds
        seen = [_answers(trial, gamma, of_seen=True) for trial in held_out.rehearsals]
        unseen = [_answers(trial, gamma, of_seen=False) for trial in held_out.rehearsals]
    else:
        # r = S(gamma) / A_S->Cs; unseen samples where each rehearsal retains the same share, less its shift
        share = retention_at(held_out.cross_fitted, gamma)
        seen = [_answers(held_out.cross_fitted, gamma, of_seen=True)]
        unseen = [
            _answers(trial, gamma_at_retention(trial, np.clip(share - trial.shift, 0, 1)), of_seen=False)
            for trial in held_out.rehearsals
        ]
    S, S_draws = _estimate_seen(seen, rng)
    U, U_draws = _estimate_unseen(unseen, n_unseen, rng)
    H = harmonic_mean(U, S)
    samples = {"unseen": sum(a.total for a in unseen), "seen": sum(a.total for a in seen)}
    return Expected(
        unseen=_interval(U, U_draws),
        seen=_interval(S, S_draws),
        H=_interval(H, harmonic_mean(U_draws, S_draws)),
        samples={**samples, "H": sum(samples.values())},
    )


def expect_recalibrated(model: GZSLClassifierCV, expected: Expected, random_state: int = 0) -> Expected:
    """Return what to expect of a model that was recalibrated, given what was expected of it before.

    The retention is the same, and so is what it says about unseen classes. Seen accuracy is measured again.
    The interval of H goes from the harmonic mean of the lower ends to that of the upper ends.
    """
    assert model.held_out_.cross_fitted is not None
    answers = _answers(model.held_out_.cross_fitted, model.gamma_, of_seen=True)
    seen = _interval(*_estimate_seen([answers], np.random.default_rng(random_state)))
    H = [round(float(harmonic_mean(u, s)), 2) for u, s in zip(expected.unseen, seen)]
    samples = {**expected.samples, "seen": answers.total}
    samples["H"] = samples["seen"] + samples["unseen"]
    return Expected(expected.unseen, seen, (H[0], H[1], H[2]), samples)


def describe_confidence(model: GZSLClassifierCV) -> dict[str, Any]:
    """Return temperature and score of rejection, and how good both were on held-out samples.

    ``ece`` is the expected calibration error: for ``seen`` of samples of seen classes, held out in turn among
    all present classes, for ``unseen`` of held-out classes. ``auroc`` is that of detecting samples of classes
    that were left out of the candidates.
    """
    assert model.rejection_ is not None
    rehearsed, cross_fitted = model._dress_rehearsed(), model._held_out_samples()
    chosen = model._temperature()
    if model.gamma_rule_ == "paper":  # the temperature of the folds
        in_rehearsals, cross_fitted = [chosen] * len(rehearsed), rehearsed
    else:
        in_rehearsals = [carry_temperature(chosen, [of_kind(kept, True)]) for kept in rehearsed]
    unseen = held_out_reliability([of_kind(kept, False) for kept in rehearsed], in_rehearsals)
    of_seen = [of_kind(kept, True) for kept in cross_fitted]
    seen = held_out_reliability(of_seen, [chosen] * len(of_seen))
    return {
        "temperature": model.temperature_,
        "temperature_unseen": model.temperature_factor_ * model.temperature_,
        "temperature_power": model.temperature_power_,
        "ece": {"unseen": round(unseen.ece, 4), "seen": round(seen.ece, 4)},
        "samples": {"unseen": int(unseen.samples.sum()), "seen": int(seen.samples.sum())},
        "reject": model.rejection_.score,
        "auroc": {name: round(value, 4) for name, value in model.rejection_.auroc.items()},
    }


@dataclass(frozen=True, eq=False)
class Answers:
    """Right answers by class."""

    classes: IndexArray  # (classes,)
    count: IndexArray  # (classes,), samples
    right: IndexArray  # (classes,)

    @property
    def share(self) -> FloatArray:
        """The accuracy of each class, 0 to 1."""
        return self.right / self.count

    @property
    def total(self) -> int:
        """The number of samples."""
        return int(self.count.sum())


def _answers(trial: Trial, gamma: float, *, of_seen: bool) -> Answers:
    """Count the right answers at gamma on samples of the seen or of the held-out classes."""
    chosen = trial.seen[trial.y] == of_seen
    y = trial.y[chosen]
    classes, index = np.unique(y, return_inverse=True)
    right = np.bincount(index, weights=trial.correct(gamma)[chosen]).astype(np.intp)
    return Answers(classes, np.bincount(index), right)


def _estimate_seen(answers: Sequence[Answers], rng: np.random.Generator) -> tuple[float, FloatArray]:
    """Return the mean per-class accuracy in percent, and draws of what a test set would show.

    Each draw is a plausible accuracy of every class (binomial), then the answers of a test set with as many
    samples per class as a fifth of them (binomial again).
    """
    count, right = (np.concatenate([getattr(a, name) for a in answers]) for name in ("count", "right"))
    few = np.maximum(1, count // N_PARTS)
    share = rng.binomial(count, right / count, (REPLICATES, len(count))) / count
    draws = (rng.binomial(few, share) / few).mean(axis=1)
    return float(100 * (right / count).mean()), 100 * draws


def _estimate_unseen(
    answers: Sequence[Answers], n_unseen: int, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return the mean over rehearsals of the per-class accuracy in percent, and draws for other classes.

    The unseen classes are not those that were held out, and they are few. Each draw resamples the held-out
    classes, takes as many of them as are unseen, for each a rehearsal that held it out (the spread between
    rehearsals), and the answers to its samples (binomial).
    """
    value = float(100 * np.mean([a.share.mean() for a in answers]))
    turns = np.concatenate([a.classes for a in answers])
    order = np.argsort(turns, kind="stable")
    share, count = (np.concatenate([getattr(a, name) for a in answers])[order] for name in ("share", "count"))
    start, length = np.unique(turns[order], return_index=True, return_counts=True)[1:]
    n_classes = len(start)
    resampled = rng.integers(n_classes, size=(REPLICATES, n_classes))
    pick = np.take_along_axis(
        resampled, rng.integers(n_classes, size=(REPLICATES, n_unseen or n_classes)), axis=1
    )
    turn = start[pick] + (rng.random(pick.shape) * length[pick]).astype(np.intp)
    return value, 100 * (rng.binomial(count[turn], share[turn]) / count[turn]).mean(axis=1)


def _interval(value: float, draws: FloatArray) -> Estimate:
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(draws, [tail, 100 - tail])
    return round(value, 2), round(min(float(low), value), 2), round(max(float(high), value), 2)


# ---- the card in words -----------------------------------------------------------------------------------


def format_card(card: Card) -> str:
    """Return the card for a reader."""
    seen, unseen = card.classes["seen"], card.classes["unseen"]
    params = ", ".join(f"{name} {_short(value)}" for name, value in card.params.items())
    facts = {
        "data": f"{card.data}, {card.samples} samples of {card.features} features",
        "seen classes": f"{len(seen)}: {_names(seen)}",
        "unseen classes": f"{len(unseen)}: {_names(unseen)}"
        if unseen
        else "none yet (unseen add-class adds them)",
        **({"samples of new": ", ".join(f"{n} of {c}" for c, n in card.shots.items())} if card.shots else {}),
        "method": f"{card.method} ({params})" if params else card.method,
        **_comparison(card),
        "gamma": f"{card.gamma:.4g}, subtracted from the scores of the seen classes ({card.gamma_rule} rule)",
    }
    kinds = {"unseen": "accuracy, unseen", "seen": "accuracy, seen", "H": "harmonic mean"}
    for kind, words in kinds.items():
        value, low, high = getattr(card.expected, kind)
        n = card.expected.samples[kind]
        facts[words] = f"{value:5.1f} %  ({low:.1f} to {high:.1f}; {n} held-out answers)"
    facts |= _confidence(card.confidence) if card.confidence else {}
    lines = [f"{name:<17} {value}" for name, value in facts.items()]
    note = "Expected accuracies are per class, with 95 % intervals for a test set of this size."
    return "\n".join([*lines, note])


def _comparison(card: Card) -> dict[str, str]:
    """Return what was compared, best first, where several methods were."""
    if len(card.compared) < 2:
        return {}
    ranked = sorted(card.compared.items(), key=lambda item: -item[1])
    return {"compared": ", ".join(f"{name} {h:.1f}" for name, h in ranked) + " (validation H)"}


def _confidence(facts: Mapping[str, Any]) -> dict[str, str]:
    ece = ", ".join(f"{kind} {100 * value:.1f} %" for kind, value in facts["ece"].items())
    best = facts["auroc"].get(facts["reject"])
    auroc = f" (AUROC {best:.2f}, held-out classes as unknown)" if best is not None else ""
    T, T_unseen = facts["temperature"], facts.get("temperature_unseen", facts["temperature"])
    other = f", {T_unseen:.4g} for answers that are unseen classes" if T_unseen != T else ""
    power = facts.get("temperature_power", 0.0)
    other += f", growing with the height to the power {power:g}" if power else ""
    return {
        "probabilities": f"temperature {T:.4g}{other} (calibration error on held-out: {ece})",
        "none of these": f"detected by the score {facts['reject']}{auroc}",
    }


def _names(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown}, ..."


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
