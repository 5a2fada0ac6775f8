"""Tables for the terminal, as Markdown, as tidy CSV for programs, and as data for the template of a page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unseen._core.csv_files import csv_text
from unseen.benchmark.intervals import Replicates
from unseen.benchmark.results import STEPS, Score
from unseen.benchmark.tables import AVERAGE, Column, PaperTable
from unseen.methods import describe_method

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

SOURCE_TITLES = {"here": "here", "paper": "the paper", "xian": "Xian et al."}
# the columns of tables whose scores are known by class
_SCORES: dict[str, Score] = {"accuracy": "zsl", **{step: step for step in STEPS}}
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
    compared = any(column.source != "here" for column in table.columns)
    for column in table.columns:
        ours = column.source == "here"
        header = column.quantity.replace("calibrated+", "cal.+") if ours else ""
        header += f"\n{column.source.split()[0]}" if compared else ""
        drawn.add_column(header, justify="right", no_wrap=True, style=None if ours else "dim")
    for group in table.groups():
        drawn.add_section()
        for name in group:
            texts = [
                _cell_text(column, name, "[bold not dim]{}[/]", "±", std=column.source == "here")
                for column in table.columns
            ]
            drawn.add_row(describe_method(name).title, *texts, style="bold" if name == AVERAGE else None)
    return drawn


def to_markdown(tables: Iterable[PaperTable]) -> str:
    """Return the tables in Markdown, one after the other."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: PaperTable) -> str:
    compared = any(column.source != "here" for column in table.columns)
    lines = [["method", *(f"{c.quantity}, {c.source}" if compared else c.quantity for c in table.columns)]]
    lines.append(["---", *["---:"] * len(table.columns)])
    for name in itertools.chain(*table.groups()):
        texts = [_cell_text(column, name, "**{}**", " ± ") for column in table.columns]
        lines.append([describe_method(name).title, *texts])
    rows = ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines]
    return "\n".join([f"**{table.title}**", "", *rows, "", "; ".join([*table.notes, table.provenance]), ""])


def to_csv(tables: Iterable[PaperTable]) -> str:
    """Return all tables as one tidy CSV: a line per number, with full precision."""
    rows: list[list[object]] = [
        ["table", "method", "quantity", "source", "mean", "std", "at_chance", "provenance"]
    ]
    for table in tables:
        for name, column in itertools.product(itertools.chain(*table.groups()), table.columns):
            if cell := column.cell(name):
                # published numbers carry the name of their source
                origin = table.provenance if column.source == "here" else ""
                mark = "yes" if cell.at_chance else ""
                numbers = [cell.mean, cell.std, mark, origin]
                rows.append([table.title, name, column.quantity, column.source, *numbers])
    return csv_text(rows)


WRITERS: dict[str, Callable[[Iterable[PaperTable]], str]] = {"markdown": to_markdown, "csv": to_csv}


def _cell_text(column: Column, name: str, bold: str, between: str, std: bool = True) -> str:
    cell = column.cell(name)
    if cell is None:
        return ""
    text = (cell if std else replace(cell, std=None)).text(column.decimals, column.signed, between)
    return bold.format(text) if cell.best else text


# ---- the page ----------------------------------------------------------------------------------------


def method_title(name: str) -> str:
    """Return how people call a method.

    >>> method_title("linear-vs")
    'Linear V→S'
    """
    return describe_method(name).title.replace("->", "→")


def result_table(table: PaperTable, replicates: Replicates, tied: Collection[str] = ()) -> dict[str, Any]:
    """Return one of the paper's tables, with the published numbers beside ours and intervals below them."""
    columns = [column for column in table.columns if not column.signed]
    titles = SOURCE_TITLES if len(columns) < len(table.columns) else {}  # none if all numbers are ours
    quantities = itertools.groupby(column.quantity for column in columns)
    return {
        "title": table.title,
        "provenance": table.provenance,
        "quantities": [{"name": name, "span": len(list(group))} for name, group in quantities],
        "columns": [{"source": titles.get(column.source, "")} for column in columns],
        "groups": [
            [
                {
                    "name": method_title(name),
                    "color": None if name == AVERAGE else describe_method(name).color,
                    "tied": name in tied,
                    "cells": [_page_cell(table, name, column, replicates) for column in columns],
                }
                for name in group
            ]
            for group in table.groups()
        ],
        "notes": table.notes,
        "copy": {name: render([table]) for name, render in WRITERS.items()},
    }


def _page_cell(table: PaperTable, name: str, column: Column, replicates: Replicates) -> dict[str, Any]:
    cell = column.cell(name)
    return {
        "text": cell.text(column.decimals) if cell else "",
        "below": _below(table, name, column, replicates) if cell else "",
        "value": cell.mean if cell else None,
        "best": cell is not None and cell.best,
        "source": column.source,
    }


def _below(table: PaperTable, name: str, column: Column, replicates: Replicates) -> str:
    """Return the interval of our score, or our difference from a published one."""
    if column.source == "here":
        score = _SCORES.get(column.quantity)
        interval = replicates.interval(name, score) if score else None
        return f"{interval[0]:.1f}–{interval[1]:.1f}" if interval else ""
    wanted = (column.quantity, f"diff. {column.source}")
    gaps = [(c.decimals, c.cell(name)) for c in table.columns if (c.quantity, c.source) == wanted]
    return "".join(cell.text(decimals, signed=True) for decimals, cell in gaps if cell)
