"""Write the table of docs/how_good.md: ``python docs/scripts/how_good.py RUN REGRET``.

RUN is a folder of ``unseen bench --gamma retention``, REGRET the file of ``python -m benchmarks.regret``. A run
holds the whole seen-unseen curve and the gamma of its folds, so it also says what the paper's rule gives.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from unseen._core.files import atomic_path
from unseen.benchmark.protocol import stored_curve
from unseen.benchmark.published import PublishedExperiment, scores
from unseen.benchmark.results import Description, RunResult
from unseen.benchmark.store import Store
from unseen.methods import METHODS, describe_method

PAGE = Path(__file__).parents[1] / "how_good.md"
HEADER = """\
| data, method | ZSL | H as trained | H calibrated | H retention | seconds | published: ZSL | H as trained | H calibrated |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""
TITLES = {"letters": "typeface letters", "handwritten letters": "handwritten letters"}
_PLACE = re.compile(r"(<!-- table: begin -->\n).*?(<!-- table: end -->)", re.DOTALL)


class Figures(NamedTuple):
    """What one fit gives, per class and in percent; and its wall time."""

    zsl: float
    none: float
    paper: float
    retention: float
    seconds: float


class Block(NamedTuple):
    """One data set: its title, the fits of every method, and the paper's experiment if there is one."""

    title: str
    fits: dict[str, list[Figures]]
    published: PublishedExperiment | None


def from_run(result: RunResult) -> Figures:
    """Return the figures of a benchmark run with the retention rule."""
    validation, curve = result["validation"], stored_curve(result)
    return Figures(
        result["zsl"]["per_class"],
        result["gzsl"]["none"]["H"]["per_class"],
        curve.at(validation["gamma"][validation["best"]]).h,
        result["gzsl"]["calibrated+lambda"]["H"]["per_class"],
        result["seconds"]["total"],
    )


def blocks_of_runs(store: Store) -> Iterator[Block]:
    """Yield a block for every experiment of a run folder."""
    fits: dict[str, dict[str, list[Figures]]] = defaultdict(lambda: defaultdict(list))
    for run, _ in store.runs():
        fits[run.experiment][run.method].append(from_run(store.result(run.key)))
    for key, description in store.experiments().items():
        if description["gamma"] == "retention":
            yield Block(_title(description), fits[key], _published(description))


def _title(description: Description) -> str:
    return description["name"].removesuffix(", gamma by retention")


def _published(description: Description) -> PublishedExperiment | None:
    place = description["published"]
    return PublishedExperiment(**place) if place else None


def blocks_of_regret(path: Path) -> Iterator[Block]:
    """Yield a block for each kind of letters: all random choices of unseen letters together."""
    fits: dict[str, dict[str, list[Figures]]] = defaultdict(lambda: defaultdict(list))
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        if row["group"] in TITLES and row["seed"] is not None:
            numbers = (row[name] for name in ("zsl", "none_zsl", "paper", "retention", "seconds"))
            fits[row["group"]][row["method"]].append(Figures(*numbers))
    for group, by_method in fits.items():
        n_choices = max(map(len, by_method.values()))
        yield Block(f"{TITLES[group]}, {n_choices} random choices of six", by_method, None)


def lines(block: Block) -> Iterator[str]:
    """Yield the rows of one data set: the paper's methods, their average, ours."""
    means = {name: _mean(block.fits[name]) for name in METHODS if name in block.fits}
    paper = {name: numbers for name, numbers in means.items() if describe_method(name).in_paper}
    yield f"| **{block.title}** | | | | | | | | |"
    for name, numbers in paper.items():
        yield _line(block, name, numbers)
    yield _line(block, "average", _mean(list(paper.values())))
    for name in means.keys() - paper.keys():
        yield _line(block, name, means[name])


def _mean(fits: Sequence[Figures]) -> Figures:
    return Figures(*(fmean(column) for column in zip(*fits)))


def _line(block: Block, name: str, numbers: Figures) -> str:
    cells = [f"{value:.1f}" for value in numbers]
    printed = scores(block.published) if block.published else {}
    for score in ("zsl", "none", "calibrated+lambda"):
        found = printed.get((name, score, "per_class"))
        cells.append(f"{found.mean:.1f}" if found else "")
    return f"| {describe_method(name).title} | {' | '.join(cells)} |"


def main(run: str, regret: str) -> None:
    """Fill in the page."""
    with Store(run) as store:
        blocks = [*blocks_of_runs(store), *blocks_of_regret(Path(regret))]
    table = "\n".join([HEADER, *(line for block in blocks for line in lines(block))])
    text = _PLACE.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", PAGE.read_text("utf-8"))
    with atomic_path(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
