"""The paper's tables from a summary, beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from unseen.benchmark.published import SOURCES, PublishedExperiment, Score, ScoreKey, scores
from unseen.benchmark.results import (
    AVERAGINGS,
    CALIBRATIONS,
    Averaging,
    Calibration,
    Letter,
    MethodSummary,
    PublishedPlace,
    Spread,
    Summary,
)

AVERAGE = "average"
_SHORT: dict[Averaging, str] = {"per_class": "p.c.", "per_sample": "p.s."}

Cells = Mapping[str, "Cell | None"]  # by method
Methods = Mapping[str, MethodSummary]
Published = Mapping[str, Mapping[ScoreKey, Score]]  # by source
Quantity = Callable[[MethodSummary], Spread]


@dataclass(frozen=True)
class Cell:
    """A number of a table, with its standard deviation where there are several runs."""

    mean: float
    std: float | None = None
    best: bool = False

    def text(self, decimals: int, signed: bool = False, between: str = " ± ") -> str:
        """Return the number as people read it: ``42.1 ± 0.3``.

        >>> Cell(42.14, 0.26).text(1), Cell(1.5).text(1, signed=True)
        ('42.1 ± 0.3', '+1.5')
        """
        mean = f"{self.mean:{'+' if signed else ''}.{decimals}f}"
        return mean if self.std is None else f"{mean}{between}{self.std:.{decimals}f}"


@dataclass(frozen=True)
class Column:
    """One column: the quantity, where its numbers come from, and a cell per method."""

    quantity: str
    source: str  # "here", "paper", "diff. paper", ...
    cells: Cells
    decimals: int = 1

    @property
    def signed(self) -> bool:
        """Whether its numbers are differences."""
        return self.source.startswith("diff")

    @property
    def average(self) -> Cell | None:
        """The mean over the methods that have a number."""
        means = [cell.mean for cell in self.cells.values() if cell]
        return Cell(fmean(means)) if means else None


Row = tuple[str, list[tuple[Column, Cell | None]]]  # method or AVERAGE, and its cells


@dataclass(frozen=True)
class Table:
    """A table of the paper: methods in rows, quantities beside their published values in columns."""

    title: str
    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    provenance: str  # what every number rests on: protocol, data, seeds, version

    def rows(self) -> list[Row]:
        """Return a row for every method and, where there are several, one for their average."""
        rows = [(name, [(column, column.cells[name]) for column in self.columns]) for name in self.methods]
        if len(self.methods) > 1:
            rows.append((AVERAGE, [(column, column.average) for column in self.columns]))
        return rows


def paper_tables(summary: Summary) -> list[Table]:
    """Return the paper's three tables for one experiment, with published columns where they exist."""
    methods, place = summary["methods"], summary["setting"]["published"]
    published, name = _published(place), summary["setting"]["name"]
    ten_crops = published if place and place["crops"] == 10 else {}  # as in the paper's Table 3
    gzsl = [
        column
        for step in CALIBRATIONS
        for column in _compare(step, methods, published, (step, "per_class"), _gzsl(step, "H", "per_class"))
    ]
    columns_by_title = {
        f"ZSL accuracy, per class, {name}": _compare(
            "accuracy", methods, published, ("zsl", "per_class"), _zsl("per_class")
        ),
        f"GZSL harmonic mean H, per class, {name}": gzsl,
        f"Per class and per sample, calibrated+lambda, {name}": list(_both_averagings(methods, ten_crops)),
    }
    return [
        Table(title, tuple(methods), tuple(columns), provenance(summary))
        for title, columns in columns_by_title.items()
    ]


def regret_table(summary: Summary) -> Table:
    """Return how much H the gamma chosen on validation loses against the best one on test, and the time."""
    methods = summary["methods"]
    columns = [Column(f"regret {step}", "here", _here(methods, _regret(step))) for step in CALIBRATIONS[1:]]
    columns.append(Column("seconds", "here", {name: Cell(m["seconds"]) for name, m in methods.items()}))
    title = f"H lost by the choice of gamma, and seconds of all runs, {summary['setting']['name']}"
    return Table(title, tuple(methods), tuple(columns), provenance(summary))


def provenance(summary: Summary) -> str:
    """Return in one line what the numbers of a summary rest on: protocol, data, seeds, version."""
    experiment = summary["setting"]
    runs = [run for method in summary["methods"].values() for run in method["runs"]]
    seeds, versions = sorted({run["seed"] for run in runs}), sorted({run["version"] for run in runs})
    return (
        f"split rule {experiment['split_rule']}, gamma {experiment['gamma']}, data {experiment['checksum']}, "
        f"split {experiment['split_checksum']}, seeds {', '.join(map(str, seeds))}, "
        f"unseen {', '.join(versions)}{_caution(summary)}"
    )


def _caution(summary: Summary) -> str:
    """Return what a reader must know before comparing with the published numbers."""
    if not summary["setting"]["published"]:
        return ""
    text = f". Published with ResNet-101 features, here: {summary['setting']['features']}"
    if "eszsl" in summary["methods"]:
        text += "; ESZSL with targets {0, 1} here, {-1, +1} in the paper"
    return text


# ---- columns -----------------------------------------------------------------------------------------


def _both_averagings(methods: Methods, published: Published) -> Iterator[Column]:
    """Yield the columns of the paper's Table 3: both averagings, the two accuracies behind H, AUSUC."""
    last = CALIBRATIONS[-1]
    letters: tuple[Letter, ...] = ("U", "S")
    for averaging in AVERAGINGS:
        yield from _compare(
            f"ZSL {_SHORT[averaging]}", methods, published, ("zsl", averaging), _zsl(averaging)
        )
    for letter in letters:
        yield Column(f"{letter} p.c.", "here", _here(methods, _gzsl(last, letter, "per_class")))
    for averaging in AVERAGINGS:
        yield from _compare(
            f"H {_SHORT[averaging]}", methods, published, (last, averaging), _gzsl(last, "H", averaging)
        )
    for averaging in AVERAGINGS:
        yield from _compare(
            f"AUSUC {_SHORT[averaging]}", methods, published, ("ausuc", averaging), _ausuc(averaging), 3
        )


def _zsl(averaging: Averaging) -> Quantity:
    return lambda method: method["zsl"][averaging]


def _gzsl(step: Calibration, letter: Letter, averaging: Averaging) -> Quantity:
    return lambda method: method["gzsl"][step][letter][averaging]


def _ausuc(averaging: Averaging) -> Quantity:
    return lambda method: method["ausuc"][averaging]


def _regret(step: Calibration) -> Quantity:
    return lambda method: method["regret"][step]


def _published(place: PublishedPlace | None) -> Published:
    if place is None:
        return {}
    return {source: scores(PublishedExperiment(**place), source) for source in SOURCES}


def _compare(
    title: str,
    methods: Methods,
    published: Published,
    printed_as: tuple[str, Averaging],
    quantity: Quantity,
    decimals: int = 1,
) -> list[Column]:
    """Return our column and, for every source that printed the score, its column and the difference."""
    here = _here(methods, quantity)
    columns = [Column(title, "here", _mark_best(here), decimals)]
    for source, printed in published.items():
        theirs = {name: _printed_cell(printed.get((name, *printed_as))) for name in methods}
        if any(theirs.values()):
            gap = {name: _minus(here[name], cell) for name, cell in theirs.items()}
            columns += [
                Column(title, source, _mark_best(theirs), decimals),
                Column(title, f"diff. {source}", gap, decimals),
            ]
    return columns


def _here(methods: Methods, quantity: Quantity) -> dict[str, Cell | None]:
    return {name: Cell(quantity(method)["mean"], quantity(method)["std"]) for name, method in methods.items()}


def _printed_cell(score: Score | None) -> Cell | None:
    return score and Cell(score.mean, score.std)


def _minus(a: Cell | None, b: Cell | None) -> Cell | None:
    return Cell(a.mean - b.mean) if a and b else None


def _mark_best(cells: Cells) -> dict[str, Cell | None]:
    best = max((cell.mean for cell in cells.values() if cell), default=0.0)
    return {name: cell and replace(cell, best=cell.mean == best) for name, cell in cells.items()}
