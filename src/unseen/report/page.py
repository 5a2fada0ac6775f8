"""The second step of a report: the document goes through the templates into one standalone page.

Every text passes Jinja's escaping or, as JSON, ``script_json``; and the page's content security policy
names the hash of each script, so nothing that came with the data can run. The chart library travels
compressed, which saves more than half of the page; the browser decompresses it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, TypedDict

from unseen.benchmark.results import AttributeErrors
from unseen.errors import need_extra
from unseen.report.document import ChanceLines, Classes, Document, MethodPart
from unseen.report.figures import SplitFigure

if TYPE_CHECKING:
    from markupsafe import Markup

_SCRIPTS = (
    "base.js",
    "tables.js",
    "curve.js",
    "charts.js",
    "explorer.js",
    "panel.js",
    "report.js",
    "main.js",
)


class PageData(TypedDict):
    """What the scripts need of one experiment; the rest is in the page as text."""

    methods: list[MethodPart]
    chance: ChanceLines
    attribute_error: AttributeErrors | None
    classes: Classes
    splits: SplitFigure
    copy: list[dict[str, str]]  # the formats of each table


def render_page(document: Document) -> str:
    """Return the report as text."""
    return render("report.html", _SCRIPTS, page_data(document), **document)


def render(template: str, scripts: Sequence[str], data: object, **texts: object) -> str:
    """Return a page that needs no network: a template with our style, some scripts and their data."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise need_extra("jinja2 and plotly", "report", "An HTML page") from error
    environment = Environment(
        loader=PackageLoader("unseen.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    plotly, own = get_plotlyjs(), "".join(_text(name) for name in scripts)
    return environment.get_template(template).render(
        **texts,
        style=Markup(_text("style.css")),
        script=Markup(own),
        plotly=_packed(plotly),
        policy=_policy([plotly, own]),
        data=script_json(data),
    )


def page_data(document: Document) -> list[PageData]:
    """Return what the scripts need, per experiment."""
    return [
        {
            "methods": part["methods"],
            "chance": part["chance"],
            "attribute_error": part["attribute_error"],
            "classes": part["classes"],
            "splits": part["splits"],
            "copy": [table["copy"] for table in part["tables"]],
        }
        for part in document["experiments"]
    ]


def _text(name: str) -> str:
    return resources.files("unseen.report").joinpath("templates", name).read_text("utf-8")


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _policy(scripts: list[str]) -> str:
    """Return the content security policy: these scripts, inline styles, images made here; no network."""
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def script_json(data: object) -> Markup:
    """Return JSON that is safe inside a script element: no character of it can end the element."""
    from markupsafe import Markup

    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
