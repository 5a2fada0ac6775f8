"""One seen-unseen curve as a page of its own, with the report's slider for gamma."""

from __future__ import annotations

from unseen.calibration.display import SHOWN_SEGMENTS, SeenUnseenDisplay
from unseen.report.figures import Part, thin_curve
from unseen.report.page import render

_CURVE_SCRIPTS = ("base.js", "theme.js", "curve.js", "charts.js", "explorer.js", "curve_page.js", "main.js")


def render_curve_page(display: SeenUnseenDisplay, title: str = "Seen and unseen accuracy") -> str:
    """Return the page as text; it needs no network."""
    return render("curve.html", _CURVE_SCRIPTS, explore_curve(display), title=title)


def explore_curve(display: SeenUnseenDisplay) -> Part:
    """Return what the slider needs of one curve and the choice to mark."""
    chosen, best = display.chosen.gamma, display.curve.best().gamma
    curve = thin_curve(display.curve, [0.0, chosen, best], SHOWN_SEGMENTS)
    return {
        "models": {"only": {**curve, "flips": None, "ausuc": display.curve.ausuc, "best": best}},
        "points": {"chosen": {"model": "only", "gamma": chosen}, "none": {"model": "only", "gamma": 0.0}},
    }
