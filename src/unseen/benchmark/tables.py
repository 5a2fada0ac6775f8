"""The paper's tables from a summary, beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt
from statistics import fmean
from typing import Literal, NamedTuple

from unseen.benchmark.published import SOURCES, PublishedScore, ScoreKey, scores
from unseen.benchmark.results import LETTERS, STEPS, Description, MethodSummary, Score, Spread, Summary
from unseen.methods import describe_method
from unseen.metrics import AVERAGINGS, Averaging

AVERAGE = "average"
_SHORT: dict[Averaging, str] = {"per-class": "p.c.", "per-sample": "p.s."}
_ABBREVIATIONS = "p.c. per class, p.s. per sample; AUSUC: area under the seen-unseen curve, 0 to 1"
_NOTHING = 1e-9  # standard deviations below it are rounding errors

Published = Mapping[str, Mapping[ScoreKey, PublishedScore]]  # by source
TableScore = Score | Literal["ausuc"]


@dataclass(frozen=True)
class Cell:
    """A number of a table, with its standard deviation if there are several runs."""

    mean: float
    std: float | None = None
    best: bool = False
    at_chance: bool = False  # not distinguishable from guessing

    def text(self, decimals: int, signed: bool = False, between: str = " ± ") -> str:
        """Return the number as people read it; a standard deviation only if something varies.

        >>> Cell(42.14, 0.26).text(1), Cell(42.14, 0.0).text(1), Cell(1.5).text(1, signed=True)
        ('42.1 ± 0.3', '42.1', '+1.5')
        """
        mean = f"{round(self.mean, decimals) + 0.0:{'+' if signed else ''}.{decimals}f}"  # never -0.0
        spread = f"{between}{self.std:.{decimals}f}" if self.std and self.std > _NOTHING else ""
        return f"{mean}{spread}{'†' if self.at_chance else ''}"


Cells = Mapping[str, Cell | None]  # by method


@dataclass(frozen=True)
class Column:
    """One column: the quantity, where its numbers come from, and a cell per method."""

    quantity: str
    source: str  # "here", "paper", "diff. paper", ...
    cells: Cells
    decimals: int = 1
    signed: bool = False  # whether its numbers are differences

    def cell(self, name: str) -> Cell | None:
        """Return that of a method; or the average over those of the paper's methods that have a number."""
        if name != AVERAGE:
            return self.cells[name]
        paper = [cell for method, cell in self.cells.items() if describe_method(method).in_paper]
        means = [cell.mean for cell in paper if cell]
        return Cell(fmean(means)) if means else None


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: methods in rows, quantities beside their published values in columns."""

    title: str
    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    provenance: str  # what every number rests on: protocol, data, seeds, version
    notes: tuple[str, ...] = ()  # what its abbreviations and marks mean

    def groups(self) -> list[list[str]]:
        """Return the names of rows between rules: the paper's methods, their average, then all others."""
        paper = [name for name in self.methods if describe_method(name).in_paper]
        others = [name for name in self.methods if name not in paper]
        return [group for group in (paper, [AVERAGE] if len(paper) > 1 else [], others) if group]


def paper_tables(summary: Summary) -> list[PaperTable]:
    """Return the paper's three tables for one experiment, with published columns if they exist."""
    place = summary["experiment"]["published"]
    published = {source: scores(**place, source=source) for source in SOURCES} if place else {}
    ten_crops = published if place and place["crops"] == 10 else {}  # as in the paper's Table 3
    zsl = list(_compare(summary, published, "accuracy", "zsl"))
    gzsl = [column for step in STEPS for column in _compare(summary, published, step, step)]
    both = list(_both_averagings(summary, ten_crops))
    return [
        _table(summary, "ZSL accuracy, per class", zsl),
        _table(summary, "GZSL harmonic mean H, per class", gzsl),
        _table(summary, "Per class and per sample, calibrated+lambda", both, _ABBREVIATIONS),
    ]


def regret_table(summary: Summary) -> PaperTable:
    """Return how much H the gamma chosen on validation loses against the best one on test, and the time."""
    methods = summary["methods"]
    columns = [
        Column(f"regret {step}", "here", {name: Cell(**m["regret"][step]) for name, m in methods.items()})
        for step in STEPS[1:]
    ]
    columns.append(Column("seconds", "here", {name: Cell(m["seconds"]) for name, m in methods.items()}))
    return _table(summary, "H lost by the choice of gamma, and seconds of all runs", columns)


def _table(summary: Summary, title: str, columns: list[Column], *notes: str) -> PaperTable:
    if any(cell and cell.at_chance for column in columns for cell in column.cells.values()):
        zsl, gzsl = chance_levels(summary["experiment"]).values()
        guessing = f"guessing gives {zsl.level:.1f} % among the unseen classes"
        notes = (*notes, f"† at chance level: {guessing} and at best H = {gzsl.level:.1f} %")
    title = f"{title}, {summary['experiment']['name']}"
    return PaperTable(title, tuple(summary["methods"]), tuple(columns), _provenance(summary), notes)


def _provenance(summary: Summary) -> str:
    """Return what the numbers rest on, and what to know before comparing them with published ones."""
    experiment = summary["experiment"]
    runs = [run for method in summary["methods"].values() for run in method["runs"]]
    seeds, versions = sorted({run["seed"] for run in runs}), sorted({run["version"] for run in runs})
    text = (
        f"split rule {experiment['split_rule']}, gamma {experiment['gamma']}, data {experiment['checksum']}, "
        f"split {experiment['split_checksum']}, seeds {', '.join(map(str, seeds))}, "
        f"unseen {', '.join(versions)}"
    )
    if experiment["published"]:
        text += f". Published with ResNet-101 features, here: {experiment['features'] or 'as given'}"
        if "eszsl" in summary["methods"]:
            text += "; ESZSL with targets {0, 1} here, {-1, +1} in the paper"
    return text


# ---- chance ------------------------------------------------------------------------------------------


class Chance(NamedTuple):
    """The score of guessing, and the highest score that guessing gives by luck, in percent."""

    level: float
    limit: float


def chance_levels(experiment: Description) -> dict[Literal["zsl", "gzsl"], Chance]:
    """Return what guessing gives: ``zsl`` among the unseen classes, ``gzsl`` as the harmonic mean.

    Guessing an unseen class for a share q of all samples gives U = q / Cu and S = (1 - q) / Cs. The best q
    has H = 2 / (sqrt(Cu) + sqrt(Cs))^2.

    >>> counts = {"train": 0, "test_seen": 250, "test_unseen": 545}
    >>> levels = chance_levels({"n_classes": 10, "n_unseen_classes": 3, "counts": counts})
    >>> round(levels["zsl"].level, 1), round(levels["gzsl"].level, 1)
    (33.3, 10.4)
    """
    n_unseen = max(experiment["n_unseen_classes"], 1)
    n_seen = max(experiment["n_classes"] - n_unseen, 1)
    unseen, seen = experiment["counts"]["test_unseen"], experiment["counts"]["test_seen"]

    def guessing(p: float, n_samples: int) -> Chance:
        luck = 2 * sqrt(p * (1 - p) / max(n_samples, 1))  # two standard errors
        return Chance(100 * p, 100 * (p + luck))

    return {
        "zsl": guessing(1 / n_unseen, unseen),
        "gzsl": guessing(2 / (sqrt(n_unseen) + sqrt(n_seen)) ** 2, min(unseen, seen)),
    }


# ---- columns -----------------------------------------------------------------------------------------


def _both_averagings(summary: Summary, published: Published) -> Iterator[Column]:
    """Yield the columns of the paper's Table 3: both averagings, the two accuracies behind H, AUSUC."""
    last = STEPS[-1]
    for averaging in AVERAGINGS:
        yield from _compare(summary, published, f"ZSL {_SHORT[averaging]}", "zsl", averaging)
    for letter in LETTERS[1:]:
        behind = {name: m["gzsl"][last][letter]["per-class"] for name, m in summary["methods"].items()}
        yield Column(f"{letter} p.c.", "here", {name: Cell(**spread) for name, spread in behind.items()})
    for averaging in AVERAGINGS:
        yield from _compare(summary, published, f"H {_SHORT[averaging]}", last, averaging)
    for averaging in AVERAGINGS:
        yield from _compare(summary, published, f"AUSUC {_SHORT[averaging]}", "ausuc", averaging)


def _compare(
    summary: Summary, published: Published, title: str, score: TableScore, averaging: Averaging = "per-class"
) -> Iterator[Column]:
    """Yield our column and, for every source that printed the score, its column and the difference."""
    methods, decimals = summary["methods"], 3 if score == "ausuc" else 1
    here = {name: Cell(**_spread(method, score, averaging)) for name, method in methods.items()}
    limit = -inf  # of guessing; for both averagings it is that of per-class accuracies
    if score != "ausuc":
        limit = chance_levels(summary["experiment"])["zsl" if score == "zsl" else "gzsl"].limit
    yield Column(title, "here", _marked(here, limit), decimals)
    for source, printed in published.items():
        known = {name: printed.get((name, score, averaging)) for name in methods}
        theirs = {name: found and Cell(*found) for name, found in known.items()}
        if any(theirs.values()):
            gap = {name: cell and Cell(here[name].mean - cell.mean) for name, cell in theirs.items()}
            yield Column(title, source, _marked(theirs), decimals)
            yield Column(title, f"diff. {source}", gap, decimals, signed=True)


def _spread(method: MethodSummary, score: TableScore, averaging: Averaging) -> Spread:
    if score == "zsl" or score == "ausuc":
        return method[score][averaging]
    return method["gzsl"][score]["H"][averaging]


def _marked(cells: Cells, chance: float = -inf) -> Cells:
    """Mark the best cell, and those not above what guessing can give."""
    best = max((cell.mean for cell in cells.values() if cell), default=0.0)
    return {
        name: cell and replace(cell, best=cell.mean == best, at_chance=cell.mean <= chance)
        for name, cell in cells.items()
    }
