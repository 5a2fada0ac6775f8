"""The page of a model, second step: the document goes through the templates into one standalone page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unseen._core.taxonomy import CONFIDENCE
from unseen.datasets import ZeroShotDataset
from unseen.models.io import Model
from unseen.models.prediction import matched_features
from unseen.report.figures import Part
from unseen.report.model_document import describe_model
from unseen.report.page import render, save_page
from unseen.report.thumbnails import Pictures

_SCRIPTS = (
    "base.js",
    "theme.js",
    "tables.js",
    "curve.js",
    "charts.js",
    "explorer.js",
    "rows.js",
    "drawing.js",
    "try.js",
    "model.js",
    "main.js",
)
_STYLES = ("style.css", "gallery.css", "model.css")


def write_model_page(
    model: Model,
    html: str | os.PathLike[str],
    *,
    title: str,
    data: ZeroShotDataset | None = None,
    pictures: Pictures | None = None,
    taxonomy: Any = None,
    confidence: float = CONFIDENCE,
) -> Path:
    """Write the page of a model as one HTML file that needs no network, and return its path.

    Parameters
    ----------
    model : fitted GZSLClassifierCV
    html : path
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
    with matched_features():
        document = describe_model(model, title, data, pictures, taxonomy=taxonomy, confidence=confidence)
    return save_page(render_model_page(document), html)


def render_model_page(document: Part) -> str:
    """Return the page as text."""
    needed = ("explorer", "by_gamma", "names", "unseen", "samples", "hardest", "reliability", "attributes")
    data = {name: document[name] for name in (*needed, "attempt")}
    return render("model.html", _SCRIPTS, data, styles=_STYLES, **document)
