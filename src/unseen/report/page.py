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
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from unseen._core.files import atomic_path
from unseen.errors import need_extra
from unseen.report.figures import Part

if TYPE_CHECKING:
    from markupsafe import Markup

_REPORT_SCRIPTS = (
    "base.js",
    "theme.js",
    "tables.js",
    "curve.js",
    "charts.js",
    "explorer.js",
    "panel.js",
    "report.js",
    "main.js",
)


def render_page(document: Part) -> str:
    """Return the report as text."""
    return render("report.html", _REPORT_SCRIPTS, page_data(document), **document)


def render(
    template: str,
    scripts: Sequence[str],
    data: object,
    *,
    styles: Sequence[str] = ("style.css",),
    charts: bool = True,
    **texts: object,
) -> str:
    """Return a page that needs no network: a template with styles, scripts and their data, and plotly."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise need_extra("jinja2", "report", "An HTML page") from error
    environment = Environment(
        loader=PackageLoader("unseen.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own, plotly = "".join(_template_text(name) for name in scripts), _plotly() if charts else ""
    return environment.get_template(template).render(
        **texts,
        style=Markup("".join(_template_text(name) for name in styles)),
        script=Markup(own),
        plotly=_packed(plotly) if charts else "",
        policy=_policy([plotly, own] if charts else [own]),
        data=script_json(data),
    )


def save_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page as a whole or not at all, and return its path."""
    with atomic_path(path := Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise need_extra("plotly", "report", "A page with charts") from error
    script: str = get_plotlyjs()
    return script


def page_data(document: Part) -> list[Part]:
    """Return what the scripts need, per experiment."""
    names = ("methods", "chance", "attribute_error", "classes", "splits")
    return [
        {name: part[name] for name in names} | {"copy": [table["copy"] for table in part["tables"]]}
        for part in document["experiments"]
    ]


def _template_text(name: str) -> str:
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
