"""Tables as text: for the terminal, Markdown, and tidy CSV for programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unseen._core.csv_files import csv_text
from unseen.benchmark.tables import AVERAGE, Cell, Column, PaperTable
from unseen.methods import describe_method

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

# a rich box of rules below the head and between groups
_RULES = "    \n    \n ── \n    \n ── \n ── \n    \n    \n"


def print_tables(tables: Iterable[PaperTable], console: Console) -> None:
    """Print the tables to a rich console: the best of each column bold, other people's numbers dim."""
    for provenance, group in itertools.groupby(tables, key=lambda table: table.provenance):
        notes: dict[str, None] = {}
        for table in group:
            console.print(table.title, style="bold", markup=False)
            for piece in _pieces(table, console):
                console.print(_rich(piece))
            notes |= dict.fromkeys(table.notes)
        for text in (*notes, provenance):
            console.print(text, style="dim", markup=False, highlight=False)


def _pieces(table: PaperTable, console: Console) -> list[PaperTable]:
    """Cut a table that is wider than the terminal into several, between quantities."""
    quantities = list(dict.fromkeys(column.quantity for column in table.columns))
    wide = console.options.update(max_width=10_000)
    if len(quantities) == 1 or console.measure(_rich(table), options=wide).maximum <= console.width:
        return [table]
    left = quantities[: len(quantities) // 2]
    halves = [tuple(c for c in table.columns if (c.quantity in left) == side) for side in (True, False)]
    return [piece for half in halves for piece in _pieces(replace(table, columns=half), console)]


def _rich(table: PaperTable) -> RichTable:
    from rich.box import Box
    from rich.table import Table as RichTable

    drawn = RichTable(box=Box(_RULES), padding=(0, 1, 0, 0))
    drawn.add_column("method", no_wrap=True)
    for column, header in zip(table.columns, _headers(table.columns, "\n")):
        drawn.add_column(header.replace("calibrated+", "cal.+"), justify="right", no_wrap=True)
        if column.source != "here":  # the quantity stands above its first column only
            drawn.columns[-1].header = f"\n{column.source.split()[0]}"
            drawn.columns[-1].style = "dim"
    for group in table.groups():
        drawn.add_section()
        for name, cells in group:
            narrow = [(column, _narrow(column, cell)) for column, cell in cells]
            texts = [_cell_text(column, cell, "[bold not dim]{}[/]", "±") for column, cell in narrow]
            drawn.add_row(describe_method(name).title, *texts, style="bold" if name == AVERAGE else None)
    return drawn


def _narrow(column: Column, cell: Cell | None) -> Cell | None:
    """Leave out the standard deviations of published numbers: a terminal is narrow."""
    return cell if cell is None or column.source == "here" else replace(cell, std=None)


def to_markdown(tables: Iterable[PaperTable]) -> str:
    """Return the tables in Markdown, one after the other."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: PaperTable) -> str:
    headers = ["method", *_headers(table.columns, ", ")]
    lines = [
        f"**{table.title}**",
        "",
        _markdown_line(headers),
        _markdown_line(["---", *["---:"] * len(table.columns)]),
    ]
    for name, cells in table.rows():
        texts = [_cell_text(column, cell, "**{}**", " ± ") for column, cell in cells]
        lines.append(_markdown_line([describe_method(name).title, *texts]))
    return "\n".join([*lines, "", "; ".join([*table.notes, table.provenance])]) + "\n"


def _markdown_line(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def to_csv(tables: Iterable[PaperTable]) -> str:
    """Return all tables as one tidy CSV: a line per number, with full precision."""
    header = ["table", "method", "quantity", "source", "mean", "std", "at_chance", "provenance"]
    rows = (
        [table.title, name, column.quantity, column.source, cell.mean, cell.std]
        + ["yes" if cell.at_chance else "", _origin(table, column)]
        for table in tables
        for name, cells in table.rows()
        for column, cell in cells
        if cell
    )
    return csv_text([header, *rows])


def _origin(table: PaperTable, column: Column) -> str:
    """Return what our own numbers rest on; published ones carry the name of their source."""
    return table.provenance if column.source == "here" else ""


WRITERS: dict[str, Callable[[Iterable[PaperTable]], str]] = {
    "markdown": to_markdown,
    "csv": to_csv,
}


def _headers(columns: Sequence[Column], between: str) -> list[str]:
    """Return a header per column; without published numbers, "here" is left out."""
    if all(column.source == "here" for column in columns):
        return [column.quantity for column in columns]
    return [f"{column.quantity}{between}{column.source}" for column in columns]


def _cell_text(column: Column, cell: Cell | None, bold: str, between: str) -> str:
    if cell is None:
        return ""
    text = cell.text(column.decimals, column.signed, between)
    return bold.format(text) if cell.best else text
