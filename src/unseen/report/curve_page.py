"""One seen-unseen curve as a page of its own, with the report's slider for gamma."""

from __future__ import annotations

from unseen.calibration.display import SHOWN_SEGMENTS, SeenUnseenDisplay
from unseen.report.figures import slider_curve
from unseen.report.page import render


def render_curve_page(display: SeenUnseenDisplay, title: str = "Seen and unseen accuracy") -> str:
    """Return the page as text; it needs no network."""
    chosen = display.chosen.gamma
    data = {
        "models": {"only": slider_curve(display.curve, [chosen], SHOWN_SEGMENTS)},
        "points": {"chosen": {"model": "only", "gamma": chosen}, "none": {"model": "only", "gamma": 0.0}},
    }
    return render("curve.html", data, {"title": title}, scripts=["curve_page.js"])
