"""The paper's tables from a summary, beside what was published, for the terminal, papers and programs."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from unseen.benchmark import CALIBRATIONS, published
from unseen.methods import describe_method

if TYPE_CHECKING:
    from rich.console import Console

AVERAGE = "average"
_SHORT = {"per_class": "p.c.", "per_sample": "p.s."}
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "->": r"$\rightarrow$"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


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
    """One column: the quantity it belongs to, whose number it is, a cell per method, the average."""

    quantity: str
    source: str  # "here", "paper", "difference", ...
    cells: Mapping[str, Cell | None]
    decimals: int = 1

    @property
    def signed(self) -> bool:
        return self.source.startswith("diff")

    @property
    def average(self) -> Cell | None:
        """The mean over the methods that have a number."""
        means = [cell.mean for cell in self.cells.values() if cell]
        return Cell(fmean(means)) if means else None


@dataclass(frozen=True)
class Table:
    """A table of the paper: methods in rows, quantities beside their published values in columns."""

    title: str
    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    provenance: str  # what every number rests on: protocol, data, seeds, version

    def rows(self) -> list[tuple[str, list[tuple[Column, Cell | None]]]]:
        """Return (method, [(column, cell), ...]) for every method, and the average of several."""
        rows = [(name, [(column, column.cells[name]) for column in self.columns]) for name in self.methods]
        if len(self.methods) > 1:
            rows.append((AVERAGE, [(column, column.average) for column in self.columns]))
        return rows


def paper_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Return the paper's three tables for one setting, with published columns where they exist."""
    methods, experiment = summary["methods"], summary["setting"]["published"]
    known, name = _published(experiment), summary["setting"]["name"]
    ten_crops = known if experiment and experiment["crops"] == 10 else {}  # as in the paper's Table 3
    zsl = _columns("accuracy", methods, known, "zsl", "per_class", lambda m: m["zsl"]["per_class"])
    gzsl = [
        column
        for step in CALIBRATIONS
        for column in _columns(step, methods, known, step, "per_class", _harmonic(step, "per_class"))
    ]
    columns_by_title = {
        f"ZSL accuracy, per class, {name}": zsl,
        f"GZSL harmonic mean H, per class, {name}": gzsl,
        f"Per class and per sample, calibrated+lambda, {name}": _weightings(methods, ten_crops),
    }
    return [
        Table(title, tuple(methods), tuple(columns), provenance(summary))
        for title, columns in columns_by_title.items()
    ]


def regret_table(summary: Mapping[str, Any]) -> Table:
    """Return how much H the gamma chosen on validation loses against the best one on test, and the time."""
    methods = summary["methods"]
    columns = [
        Column(f"regret {step}", "here", _here(methods, _at("regret", step))) for step in CALIBRATIONS[1:]
    ]
    columns.append(Column("seconds", "here", {name: Cell(m["seconds"]) for name, m in methods.items()}))
    title = f"H lost by the choice of gamma, and seconds of all runs, {summary['setting']['name']}"
    return Table(title, tuple(methods), tuple(columns), provenance(summary))


def provenance(summary: Mapping[str, Any]) -> str:
    """Return in one line what the numbers of a summary rest on: protocol, data, seeds, version."""
    setting = summary["setting"]
    runs = [run for method in summary["methods"].values() for run in method["runs"]]
    seeds, versions = (sorted({run[key] for run in runs}) for key in ("seed", "version"))
    return (
        f"split rule {setting['split_rule']}, gamma {setting['gamma']}, data {setting['checksum']}, "
        f"split {setting['split_checksum']}, seeds {', '.join(map(str, seeds))}, "
        f"unseen {', '.join(versions)}{_caution(summary)}"
    )


def _caution(summary: Mapping[str, Any]) -> str:
    """Return what a reader must know before comparing with the published numbers."""
    if not summary["setting"]["published"]:
        return ""
    text = f". Published with ResNet-101 features, here: {summary['setting']['features']}"
    if "eszsl" in summary["methods"]:
        text += "; ESZSL with targets {0, 1} here, {-1, +1} in the paper"
    return text


def _weightings(methods: Mapping[str, Any], known: Mapping[str, Any]) -> Iterable[Column]:
    """Yield the columns of the paper's Table 3: both weightings, the two accuracies behind H, AUSUC."""
    last = CALIBRATIONS[-1]
    for weights, short in _SHORT.items():
        yield from _columns(f"ZSL {short}", methods, known, "zsl", weights, _at("zsl", weights))
    for letter in "US":
        yield Column(f"{letter} p.c.", "here", _here(methods, _at("gzsl", last, letter, "per_class")))
    for weights, short in _SHORT.items():
        yield from _columns(f"H {short}", methods, known, last, weights, _harmonic(last, weights))
    for weights, short in _SHORT.items():
        yield from _columns(f"AUSUC {short}", methods, known, "ausuc", weights, _at("ausuc", weights), 3)


Getter = Callable[[Mapping[str, Any]], Mapping[str, float]]


def _at(*path: str) -> Getter:
    def get(method: Mapping[str, Any]) -> Mapping[str, float]:
        node: Any = method
        for step in path:
            node = node[step]
        return node

    return get


def _harmonic(step: str, weights: str) -> Getter:
    return _at("gzsl", step, "H", weights)


def _published(experiment: Mapping[str, Any] | None) -> dict[str, dict[tuple[str, str, str], Any]]:
    if experiment is None:
        return {}
    return {
        source: published.scores(published.Experiment(**experiment), source) for source in published.SOURCES
    }


def _columns(
    quantity: str,
    methods: Mapping[str, Any],
    known: Mapping[str, Any],
    score: str,
    weights: str,
    get: Getter,
    decimals: int = 1,
) -> list[Column]:
    """Return our column and, for every source that printed the score, its column and the difference."""
    here = _here(methods, get)
    columns = [Column(quantity, "here", _mark_best(here), decimals)]
    for source, scores in known.items():
        theirs = {name: _cell(scores.get((name, score, weights))) for name in methods}
        if any(theirs.values()):
            gap = {name: _minus(here[name], cell) for name, cell in theirs.items()}
            columns += [
                Column(quantity, source, _mark_best(theirs), decimals),
                Column(quantity, f"diff. {source}", gap, decimals),
            ]
    return columns


def _here(methods: Mapping[str, Any], get: Getter) -> dict[str, Cell | None]:
    return {name: Cell(get(method)["mean"], get(method)["std"]) for name, method in methods.items()}


def _cell(score: published.Score | None) -> Cell | None:
    return score and Cell(score.mean, score.std)


def _minus(a: Cell | None, b: Cell | None) -> Cell | None:
    return Cell(a.mean - b.mean) if a and b else None


def _mark_best(cells: Mapping[str, Cell | None]) -> dict[str, Cell | None]:
    best = max((cell.mean for cell in cells.values() if cell), default=0.0)
    return {name: cell and replace(cell, best=cell.mean == best) for name, cell in cells.items()}


# ---- renderings -----------------------------------------------------------------------------------


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Print the tables to a rich console: the best of each column bold, differences dim."""
    for source, group in itertools.groupby(tables, key=lambda table: table.provenance):
        for table in group:
            console.print(table.title, style="bold", markup=False)
            for piece in _pieces(table, console):
                console.print(_rich(piece))
        console.print(source, style="dim", markup=False, highlight=False)


def _pieces(table: Table, console: Console) -> list[Table]:
    """Cut a table that is wider than the terminal into several, between quantities."""
    quantities = list(dict.fromkeys(column.quantity for column in table.columns))
    wide = console.options.update(max_width=10_000)
    if len(quantities) == 1 or console.measure(_rich(table), options=wide).maximum <= console.width:
        return [table]
    left = quantities[: len(quantities) // 2]
    halves = [tuple(c for c in table.columns if (c.quantity in left) == side) for side in (True, False)]
    return [piece for half in halves for piece in _pieces(replace(table, columns=half), console)]


def _rich(table: Table) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    drawn = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    drawn.add_column("method", no_wrap=True)
    for column, header in zip(table.columns, _headers(table.columns, "\n")):
        drawn.add_column(header.replace("calibrated+", "cal.+"), justify="right", no_wrap=True)
        if column.source != "here":  # the quantity stands above its first column only
            drawn.columns[-1].header = f"\n{column.source.split()[0]}"
            drawn.columns[-1].style = "dim"
    for name, cells in table.rows():
        texts = [_rich_cell(column, cell) for column, cell in cells]
        drawn.add_row(describe_method(name).title, *texts, style="bold" if name == AVERAGE else None)
    return drawn


def _rich_cell(column: Column, cell: Cell | None) -> str:
    if cell is None:
        return ""
    # a terminal is narrow: other people's standard deviations are left to the other formats
    shown = cell if column.source == "here" else replace(cell, std=None)
    text = shown.text(column.decimals, column.signed, between="±")
    return f"[bold not dim]{text}[/]" if cell.best else text


def to_markdown(tables: Iterable[Table]) -> str:
    """Return the tables in Markdown, one after the other."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    headers = ["method", *_headers(table.columns, ", ")]
    lines = [f"**{table.title}**", "", _line(headers), _line(["---", *["---:"] * len(table.columns)])]
    for name, cells in table.rows():
        texts = [_text(column, cell, "**{}**", " ± ") for column, cell in cells]
        lines.append(_line([describe_method(name).title, *texts]))
    return "\n".join([*lines, "", table.provenance]) + "\n"


def _line(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def to_latex(tables: Iterable[Table]) -> str:
    """Return the tables in LaTeX; they need no package."""
    return "\n".join(_latex(table) for table in tables)


def _latex(table: Table) -> str:
    rows = [
        " & ".join([_latex_name(name), *(_text(c, cell, r"\textbf{{{}}}", r" $\pm$ ") for c, cell in cells)])
        for name, cells in table.rows()
    ]
    if table.rows()[-1][0] == AVERAGE:
        rows[-1] = "\\hline\n" + rows[-1]
    lines = [
        f"% {table.provenance}",
        r"\begin{table}",
        rf"\caption{{{_escape_latex(table.title)}}}",
        r"\begin{center}",
        rf"\begin{{tabular}}{{|l|{'c' * len(table.columns)}|}}",
        r"\hline",
        " & ".join(["Method", *map(_escape_latex, _headers(table.columns, ", "))]) + r" \\",
        r"\hline",
        *(row + r" \\" for row in rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{center}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_name(name: str) -> str:
    method = describe_method(name)
    return method.latex or _escape_latex(method.title)


def _escape_latex(text: str) -> str:
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text)


def to_csv(tables: Iterable[Table]) -> str:
    """Return all tables as one tidy CSV: a row per number, as printed and with full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "method", "quantity", "source", "mean", "std", "provenance"])
    for table in tables:
        for name, cells in table.rows():
            for column, cell in cells:
                if cell:
                    std = "" if cell.std is None else cell.std
                    place = [table.title, name, column.quantity, column.source]
                    writer.writerow([*place, cell.mean, std, _origin(table, column)])
    return out.getvalue()


def _origin(table: Table, column: Column) -> str:
    """Return what a number rests on; those of other people rest on what they published."""
    return table.provenance if column.source == "here" else ""


FORMATS: dict[str, Callable[[Iterable[Table]], str]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
}


def _headers(columns: Sequence[Column], between: str) -> list[str]:
    """Return a header per column; where nothing was published, nobody needs to read "here"."""
    if all(column.source == "here" for column in columns):
        return [column.quantity for column in columns]
    return [f"{column.quantity}{between}{column.source}" for column in columns]


def _text(column: Column, cell: Cell | None, bold: str, between: str) -> str:
    if cell is None:
        return ""
    text = cell.text(column.decimals, column.signed, between)
    return bold.format(text) if cell.best else text
