"""Explanations as one page: for each sample what spoke for its class and against it, as small charts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unseen.methods.explanation import Reason
from unseen.models.explanation import combinations, name_part
from unseen.models.io import Model
from unseen.models.prediction import Samples
from unseen.report.gallery import rows_at
from unseen.report.page import Document, render, save_page
from unseen.report.thumbnails import Pixels, find_pictures

MOST_EXPLAINED = 200  # samples in a page


def write_explanations(
    reasons: Sequence[Reason], path: str | os.PathLike[str], *, model: Model, source: str, samples: Samples
) -> Path:
    """Write the page of some samples as one HTML file that needs no network, and return its path.

    Parameters
    ----------
    reasons : sequence of Reason
        Of the first samples.
    path : path
    model : fitted method or fitted GZSLClassifierCV
    source : image, folder of images, feature file or name of a data set
        What the samples were read from. They are shown if they are images.
    samples : Samples
        All of them.
    """
    seen = {str(label): bool(known) for label, known in zip(model.classes_, model.seen_)}
    pictures = find_pictures(source, samples.names, next(samples.blocks(), np.empty((0, 0))))
    rows = rows_at(samples, np.arange(len(reasons)))
    document = {
        "title": Path(source).name or source,
        "cards": [describe_reason(reason, seen) for reason in reasons],
        "images": [None if pictures is None else pictures.thumbnail(i, row) for i, row in enumerate(rows)],
        "pixels": isinstance(pictures, Pixels),
        "total": samples.shape[0],
        "named": any(reason.of_kind("attribute") for reason in reasons),
    }
    return save_page(render("explanation.html", {}, document, styles=["explanation.css"], charts=False), path)


def describe_reason(reason: Reason, seen: dict[str, bool]) -> Document:
    """Return what the page shows of one sample."""
    classes = (str(reason.predicted), str(reason.rival))
    return {
        "sample": str(reason.sample),
        "predicted": classes[0],
        "rival": classes[1],
        "kinds": ["seen" if seen[name] else "new" for name in classes],
        "difference": f"{reason.difference:.4g}",
        "combined": combinations(reason),
        "bars": describe_bars(reason),
    }


def describe_bars(reason: Reason) -> list[Document]:
    """Return the contributions as bars that begin in the middle; start and width are percent of the page."""
    parts = [part for part in reason.parts if part.contribution is not None]
    values = np.array([part.contribution for part in parts], dtype=float)
    widths = 50 * np.abs(values) / (np.abs(values).max(initial=0.0) or 1.0)
    return [
        {
            "name": name_part(part),
            "described": "" if part.value is None else f"{part.value:.3g}, rival {part.rival_value:.3g}",
            "contribution": format_number(value),
            "share": "" if part.share is None else f"{round(100 * part.share)} %".replace("-", "−"),
            "start": round(50.0 if value > 0 else 50.0 - width, 2),
            "width": round(width, 2),
            "speaks_for": value > 0,
        }
        for part, value, width in zip(parts, values.tolist(), widths.tolist())
    ]


def format_number(value: float) -> str:
    """Return a contribution as people read it, never with an exponent for large ones.

    >>> format_number(2423.4), format_number(-0.00323)
    ('+2,423', '−0.00323')
    """
    text = f"{value:+,.0f}" if abs(value) >= 999.5 else f"{value:+.3g}"
    return text.replace("-", "−")
