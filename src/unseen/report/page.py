"""The last step of every page: a plain document goes through a template into one standalone file.

Every text passes Jinja's escaping, as HTML or as JSON; and the page's content security policy names the hash
of each script, so nothing that came with the data can run. The chart library travels compressed, which saves
more than half of the page; the browser decompresses it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from unseen._core.files import atomic_path
from unseen.errors import import_extra

Document = dict[str, Any]  # of a document: plain data that the templates and scripts read
_CHART_SCRIPTS = ("tables.js", "curve.js", "charts.js", "explorer.js")


def render(
    template: str,
    data: object,
    document: Document,
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    charts: bool = True,
) -> str:
    """Return a page that needs no network.

    Parameters
    ----------
    template : str
    data : JSON values
        What the scripts read.
    document : dict
        What the template reads.
    scripts, styles : sequence of str
        Files of this page, beside those of all pages.
    charts : bool
        Whether the page has charts, which need plotly.
    """
    jinja2 = import_extra("jinja2", "report", "An HTML page")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("unseen.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    common = ("base.js", "theme.js")
    own = _join((*common, *_CHART_SCRIPTS, *scripts, "main.js") if charts else (*common, *scripts))
    plotly = ""
    if charts:
        plotly = import_extra("plotly.offline", "report", "A page with charts").get_plotlyjs()
    page: str = environment.get_template(template).render(
        **document,
        style=_join(("style.css", *styles)),
        script=own,
        plotly=base64.b64encode(gzip.compress(plotly.encode(), mtime=0)).decode() if charts else "",
        policy=_policy([plotly, own] if charts else [own]),
        data=script_json(data),
    )
    return page


def save_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page as a whole or not at all, and return its path."""
    with atomic_path(path := Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def script_json(data: object) -> str:
    """Return JSON that is safe inside a script element: no character of it can end the element."""
    utils = import_extra("jinja2.utils", "report", "An HTML page")
    text: str = utils.htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":"))
    return text


def _join(names: Sequence[str]) -> str:
    templates = resources.files("unseen.report") / "templates"
    return "".join(templates.joinpath(name).read_text("utf-8") for name in names)


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: these scripts, inline styles, images made here; no network."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"
