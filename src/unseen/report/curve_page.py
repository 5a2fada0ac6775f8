"""One seen-unseen curve as a page of its own, where a person can move gamma and see the accuracies."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np

from unseen.calibration.display import SeenUnseenDisplay, visible_segments
from unseen.errors import need_extra
from unseen.report.page import script_json


def render_curve_page(display: SeenUnseenDisplay, title: str = "Seen and unseen accuracy") -> str:
    """Return the page as text; it needs no network."""
    try:
        from jinja2 import Environment
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise need_extra("plotly", "report", "The interactive page") from error
    template = resources.files("unseen.report").joinpath("templates/curve.html").read_text("utf-8")
    environment = Environment(autoescape=True)
    return environment.from_string(template).render(
        title=title, plotly=Markup(get_plotlyjs()), data=script_json(_page_data(display))
    )


def _page_data(display: SeenUnseenDisplay) -> dict[str, Any]:
    curve, shown = display.curve, visible_segments(display.curve)
    shown = shown[np.isfinite(curve.gammas[shown])]
    return {
        "breakpoints": curve.breakpoints[shown[1:] - 1].tolist(),
        "gammas": curve.gammas[shown].tolist(),
        "unseen": curve.unseen_curve[shown].tolist(),
        "seen": curve.seen_curve[shown].tolist(),
        "h": curve.h_curve[shown].tolist(),
        "chosen": display.chosen.gamma,
        "ausuc": curve.ausuc,
    }
