"""Explanations as one page: for each sample what spoke for its class and against it, as small charts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from unseen.errors import UnseenError
from unseen.methods.explanation import Part, Reason
from unseen.models.explanation import combinations, name_part
from unseen.models.io import Model
from unseen.models.prediction import Samples
from unseen.report.gallery import rows_at
from unseen.report.page import render, save_page
from unseen.report.thumbnails import Pixels, find_pictures

MOST = 200  # samples in a page
_SCRIPTS = ("base.js", "theme.js", "explanation.js")
_STYLES = ("style.css", "explanation.css")


class Bar(TypedDict):
    """One part as a bar that begins in the middle."""

    name: str
    described: str  # the values of the attribute in the class and in the rival
    contribution: str
    share: str
    start: float  # percent of the width
    width: float
    speaks_for: bool


class Card(TypedDict):
    """One sample."""

    sample: str
    image: str | None
    predicted: str
    rival: str
    kinds: list[str]  # new or seen, of both classes
    difference: str
    combined: list[str]
    bars: list[Bar]


def write_explanations(
    reasons: Sequence[Reason],
    path: str | os.PathLike[str],
    *,
    model: Model,
    title: str,
    total: int | None = None,
    images: Images | None = None,
) -> None:
    """Write the page of some samples as one HTML file that needs no network.

    Parameters
    ----------
    reasons : sequence of Reason
    path : path
    model : fitted method or fitted GZSLClassifierCV
    title : str
        What the samples are called.
    total : int, optional
        Number of samples of which these are the first; by default all are shown.
    images : Images, optional
        What the samples look like.
    """
    images = images or Images([None] * len(reasons))
    cards = [describe_reason(reason, model, uri) for reason, uri in zip(reasons, images.uris)]
    page = render(
        "explanation.html",
        _SCRIPTS,
        {},
        styles=_STYLES,
        charts=False,
        title=title,
        cards=cards,
        total=total or len(cards),
        pixels=images.pixels,
        named=any(reason.of_kind("attribute") for reason in reasons),
    )
    save_page(page, path)


def describe_reason(reason: Reason, model: Model, image: str | None = None) -> Card:
    """Return what the page shows of one sample."""
    seen = {str(label): bool(known) for label, known in zip(model.classes_, model.seen_)}
    return {
        "sample": str(reason.sample),
        "image": image,
        "predicted": str(reason.predicted),
        "rival": str(reason.rival),
        "kinds": ["seen" if seen[str(c)] else "new" for c in (reason.predicted, reason.rival)],
        "difference": f"{reason.difference:.4g}",
        "combined": combinations(reason),
        "bars": list(_bars([part for part in reason.parts if part.contribution is not None])),
    }


def _bars(parts: Sequence[Part]) -> Iterator[Bar]:
    values = np.array([part.contribution for part in parts], dtype=float)
    widths = 50 * np.abs(values) / (np.abs(values).max(initial=0.0) or 1.0)  # of the whole width, in percent
    for part, value, width in zip(parts, values.tolist(), widths.tolist()):
        described = "" if part.value is None else f"{part.value:.3g}, rival {part.rival_value:.3g}"
        yield {
            "name": name_part(part),
            "described": described,
            "contribution": f"{value:+.3g}".replace("-", "−"),
            "share": "" if part.share is None else f"{100 * part.share:.0f} %".replace("-", "−"),
            "start": round(50.0 if value > 0 else 50.0 - width, 2),
            "width": round(width, 2),
            "speaks_for": value > 0,
        }


@dataclass(frozen=True)
class Images:
    """What samples look like: a data URI for each, and whether their features are the pixels."""

    uris: list[str | None]
    pixels: bool = False


def find_images(source: str, samples: Samples, n: int) -> Images | None:
    """Return the first n samples as images, if they are images."""
    try:
        pictures = find_pictures(source, samples)
    except UnseenError:
        return None
    rows = rows_at(samples, np.arange(n))
    uris = [pictures.thumbnail(position, row) for position, row in enumerate(rows)]
    return Images(uris, isinstance(pictures, Pixels))
