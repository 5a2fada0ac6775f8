"""Explanations of many samples, in memory or on disk, as text and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from unseen._core.blocks import row_blocks
from unseen.methods.explanation import COLUMNS, Part, Reason
from unseen.models.io import Model
from unseen.models.prediction import Samples, matched_features, write_tables

BATCH = 256  # samples that are explained at a time
IN_WORDS = {
    "other attributes": "all other attributes",
    "interaction": "attributes in combination",
    "description": "descriptions",
    "samples": "samples of the classes",
    "calibration": "calibration",
}


def explain_samples(model: Model, samples: Samples, rival: Any = None, top: int = 5) -> Iterator[Reason]:
    """Yield why each sample is of its class, for samples that are read block by block.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    samples : Samples
    rival, top
        As in ``ZeroShotClassifier.explain``.
    """
    for start, X in samples.features_for(model):
        for rows in row_blocks(len(X), BATCH):
            with matched_features():
                reasons = model.explain(X[rows], rival, top).rows
            for reason in reasons:
                number = start + rows.start + int(reason.sample)
                name = number if samples.names is None else str(samples.names[number])
                yield replace(reason, sample=name)


# ---- text ----------------------------------------------------------------------------------------------


def format_reason(reason: Reason) -> str:
    """Return a reason as text for a terminal.

    >>> parts = (Part("attribute", "leg", 6.0, 0.75, 0.0, 1.0), Part("calibration", "", 2.0, 0.25))
    >>> print(format_reason(Reason(7, "P", "R", 8.0, parts)))
    sample 7: P rather than R (difference 8)
      + leg          0, rival 1  6  75 %
      + calibration              2  25 %
    """
    head = f"sample {reason.sample}: {reason.predicted} rather than {reason.rival}"
    rows = [_cells(part, part.contribution) for part in reason.parts if part.contribution is not None]
    name, values, number, share = (max(map(len, column)) for column in zip(*rows)) if rows else (0,) * 4
    lines = [f"{a:<{name}}  {b:<{values}}  {c:>{number}}  {d:>{share}}".rstrip() for a, b, c, d in rows]
    return "\n  ".join([f"{head} (difference {reason.difference:.4g})", *combinations(reason), *lines])


def _cells(part: Part, contribution: float) -> tuple[str, str, str, str]:
    """Return the name of a part, the values of the attribute, the contribution and its share."""
    sign = "+" if contribution > 0 else "-"
    values = "" if part.value is None else f"{part.value:.3g}, rival {part.rival_value:.3g}"
    share = "" if part.share is None else f"{100 * part.share:.0f} %"
    return f"{sign} {name_part(part)}", values, f"{contribution:.3g}", share


def name_part(part: Part) -> str:
    """Return what to call a part: its attribute, or its kind in words."""
    return part.name or IN_WORDS[part.kind]


def combinations(reason: Reason) -> list[str]:
    """Return what the rows of both classes are combined from, if that is known."""
    parts = reason.of_kind("seen class")
    if not parts:
        return []
    own = sum_of_classes((part.name, part.value or 0.0) for part in parts)
    rival = sum_of_classes((part.name, part.rival_value or 0.0) for part in parts)
    return [f"{reason.predicted} is {own}", f"{reason.rival} is {rival}"]


def sum_of_classes(weights: Iterable[tuple[str, float]], most: int = 5) -> str:
    """Return a weighted sum in words, the heaviest first; weights that round to 0 are left out.

    >>> sum_of_classes([("Gadwall", 0.5), ("Shoveler", 0.3), ("Smew", -0.04), ("Eider", 0.001)])
    '0.50 Gadwall + 0.30 Shoveler - 0.04 Smew'
    >>> sum_of_classes([("Gadwall", 0.5), ("Shoveler", 0.3)], most=1)
    '0.50 Gadwall + ...'
    """
    ordered = sorted(weights, key=lambda item: -abs(item[1]))
    terms = [(f"{abs(w):.2f} {name}", "-" if w < 0 else "+") for name, w in ordered if abs(w) >= 0.005]
    text = "".join(f" {sign} {term}" for term, sign in terms[:most])
    return f"{text}{' + ...' if len(terms) > most else ''}".removeprefix(" + ").strip()


def write_reasons(reasons: Iterable[Reason], file: Any) -> None:
    """Write one line per part, the reasons one after the other."""
    found = (list(reason.records()) for reason in reasons)
    write_tables(({name: [part[name] for part in parts] for name in COLUMNS} for parts in found), file)
