"""One seen-unseen curve as a page of its own, with the report's slider for gamma."""

from __future__ import annotations

from unseen.calibration.display import SeenUnseenDisplay
from unseen.report.figures import Explorer, thin_curve
from unseen.report.page import render

_SCRIPTS = ("base.js", "curve.js", "charts.js", "explorer.js", "curve_page.js", "main.js")
_SEGMENTS = 4000


def render_curve_page(display: SeenUnseenDisplay, title: str = "Seen and unseen accuracy") -> str:
    """Return the page as text; it needs no network."""
    return render("curve.html", _SCRIPTS, explore_curve(display), title=title)


def explore_curve(display: SeenUnseenDisplay) -> Explorer:
    """Return what the slider needs of one curve and the choice to mark."""
    chosen, best = display.chosen.gamma, display.curve.best().gamma
    curve = thin_curve(display.curve, [0.0, chosen, best], _SEGMENTS)
    return {
        "models": {"only": {**curve, "flips": None, "ausuc": display.curve.ausuc, "best": best}},
        "points": {"chosen": {"model": "only", "gamma": chosen}, "none": {"model": "only", "gamma": 0.0}},
    }
