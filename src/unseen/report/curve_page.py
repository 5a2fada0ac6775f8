"""One seen-unseen curve as a page of its own, where a person can move gamma and see the accuracies."""

from __future__ import annotations

from importlib import resources

from unseen.calibration.display import SeenUnseenDisplay
from unseen.errors import need_extra
from unseen.report.figures import ThinCurve, thin_curve
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


class CurveData(ThinCurve):
    """What the page's script needs."""

    h: list[float]
    chosen: float
    ausuc: float


def _page_data(display: SeenUnseenDisplay) -> CurveData:
    curve = thin_curve(display.curve, [0.0, display.chosen.gamma], 4000)
    h = [display.curve.at(gamma)[2] for gamma in curve["gammas"]]
    return {**curve, "h": h, "chosen": display.chosen.gamma, "ausuc": display.curve.ausuc}
