"""Standalone pages: something measured -> a plain document -> a template -> one file."""

from __future__ import annotations

import os
from pathlib import Path

from unseen.benchmark.store import Store
from unseen.report.bench_page import describe_bench, render_bench
from unseen.report.page import save_page


def write_report(run: str | os.PathLike[str], html: str | os.PathLike[str] | None = None) -> Path:
    """Write everything that a run folder holds as one HTML file, and return its path.

    The page needs no network and no other file.

    Parameters
    ----------
    run : path
        The run folder of a bench.
    html : path, optional
        Where to write; by default ``report.html`` in the run folder.
    """
    with Store(run := Path(run)) as store, store.reading():
        document = describe_bench(store)
    path = Path(html) if html else run / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    return save_page(render_bench(document), path)
