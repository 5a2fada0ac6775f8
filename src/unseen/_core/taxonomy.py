"""Taxonomies: classes in groups, groups in larger groups, and the finest group that is sure enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import FloatArray, IndexArray, class_sums
from unseen._core.labels import UNKNOWN, is_missing, label_positions
from unseen._core.prototypes import prototype_parts
from unseen._core.scoring import ROUNDING
from unseen._core.tables import read_csv
from unseen.errors import UnseenError, expect

CONFIDENCE = 0.8  # of a prediction, by default
PAIRS = ("child", "parent")  # the columns of a table of pairs

Node = tuple[int, str]  # (column of a table, 0 for pairs; name)


class Level(NamedTuple):
    """The groups of one level, and the group of every class."""

    name: str
    nodes: NDArray[np.str_]  # (nodes,)
    of_class: IndexArray  # (classes,), -1 for a class without a group here


class Answers(NamedTuple):
    """The finest node of every sample that reaches a confidence."""

    label: NDArray[np.str_]  # (samples,), "unknown" for the root
    level: IndexArray  # (samples,), the place of the level, the number of levels for the root
    probability: FloatArray  # (samples,), 1 for the root


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """The groups of the classes of a model, level by level; the first level is the classes themselves."""

    levels: tuple[Level, ...]  # fine to coarse

    @classmethod
    def from_table(cls, taxonomy: Any, classes: ArrayLike) -> Self:
        """Return the taxonomy of the classes of a model; it may describe other classes too.

        Parameters
        ----------
        taxonomy : path of a CSV file, DataFrame, or mapping
            A table of classes and their groups, fine to coarse (``class, genus, family``), with an empty cell
            for a class without a group at a level; or a table of pairs with the columns ``child, parent``. A
            DataFrame has a column ``class`` or is indexed by class. A mapping is from class to its groups, or
            from child to parent.
        classes : array-like of class labels

        Examples
        --------
        >>> birds = Taxonomy.from_table({"jay": "songbird", "tit": "songbird"}, ["jay", "tit"])
        >>> [level.nodes.tolist() for level in birds.levels]
        [['jay', 'tit'], ['songbird']]
        """
        source, header, rows = _read_rows(taxonomy)
        pairs = tuple(name.lower() for name in header) == PAIRS
        parents = _link_nodes(source, header, rows, pairs)
        labels = [str(label).strip() for label in np.asarray(classes).tolist()]
        known = np.array([name for column, name in parents if column == 0], dtype=str)
        label_positions(labels, known, "The model", f"has no line in {source}")  # all of them, or an error
        lineages = [_lineage(source, parents, label) for label in labels]
        _check_names(source, lineages)
        return cls(tuple(_make_levels(lineages, None if pairs else header)))

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels, fine to coarse, and ``"unknown"`` for the root."""
        return (*(level.name for level in self.levels), UNKNOWN)

    def answer(self, p: FloatArray, confidence: float) -> Answers:
        """Return the finest node that reaches the confidence; among several the most probable one.

        Parameters
        ----------
        p : array of shape (n_samples, n_classes)
            The probability of every class.
        confidence : float
            From 0 to 1.

        Examples
        --------
        >>> groups = {"jay": "songbird", "tit": "songbird", "owl": "raptor"}
        >>> birds = Taxonomy.from_table(groups, ["jay", "owl", "tit"])
        >>> birds.answer(np.array([[0.5, 0.1, 0.4], [0.1, 0.9, 0.0], [0.4, 0.5, 0.1]]), 0.8).label.tolist()
        ['songbird', 'owl', 'unknown']
        """
        expect("confidence", confidence, 0 <= confidence <= 1, "a probability from 0 to 1")
        n = len(p)
        label = np.full(n, UNKNOWN, dtype=object)
        place, probability = np.full(n, len(self.levels)), np.ones(n)
        for number, level in reversed(list(enumerate(self.levels))):  # a finer level replaces a coarser one
            best, sure = best_nodes(level, p)
            reached = sure >= confidence - ROUNDING
            label[reached], place[reached] = level.nodes[best[reached]], number
            probability[reached] = sure[reached]
        return Answers(label.astype(np.str_), place, probability)


def best_nodes(level: Level, p: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Return the most probable node of a level for every sample, and its probability, (samples,) each."""
    grouped = level.of_class >= 0
    sums = class_sums(p.T[grouped], level.of_class[grouped], len(level.nodes))  # (nodes, samples)
    return sums.argmax(axis=0), sums.max(axis=0)


# ---- from tables to levels -----------------------------------------------------------------------------


def _read_rows(taxonomy: Any) -> tuple[str, Sequence[str], Iterable[Sequence[Any]]]:
    """Return the name of a taxonomy for messages, its header, and its rows."""
    if isinstance(taxonomy, str | PathLike):
        table = read_csv(Path(taxonomy))
        return table.path.name, list(table.columns), zip(*map(table.text, table.columns))
    if hasattr(taxonomy, "columns"):
        return "taxonomy", *_rows_of_frame(taxonomy)
    if not isinstance(taxonomy, Mapping):
        expected = "the path of a CSV file, a DataFrame, or a mapping from class to its groups"
        raise UnseenError(f"Got taxonomy={type(taxonomy).__name__}, but expected {expected}.")
    single = {label: value is None or isinstance(value, str | int) for label, value in taxonomy.items()}
    rows = [[label, *([value] if single[label] else value)] for label, value in taxonomy.items()]
    if all(single.values()):
        return "taxonomy", PAIRS, rows
    return "taxonomy", ["class", *(f"level {k}" for k in range(1, max(map(len, rows))))], rows


def _rows_of_frame(frame: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    """Return the header of a DataFrame and its rows, with the classes first."""
    columns = {str(name): list(frame[name]) for name in frame.columns}
    named = next((name for name in columns if name.lower() in ("class", "child")), None)
    if named is not None:
        columns = {named: columns.pop(named), **columns}
    else:
        classes = prototype_parts(frame).labels
        if classes is None:
            raise UnseenError(f"taxonomy has the columns {', '.join(columns)}, expected one called 'class'.")
        if classes != next(iter(columns.values())):  # the index names them
            columns = {"class": classes, **columns}
    return list(columns), zip(*columns.values())


def _link_nodes(
    source: str, header: Sequence[str], rows: Iterable[Sequence[Any]], pairs: bool
) -> dict[Node, Node | None]:
    """Return the one parent of every node."""
    if len(header) < 2:
        expected = "classes and their groups (class, genus, ...) or pairs (child, parent)"
        raise UnseenError(f"{source} has one column, {header[0]!r}, expected {expected}.")
    parents: dict[Node, Node | None] = {}
    for row in rows:
        cells = ["" if is_missing(cell) else str(cell).strip() for cell in row]
        if not cells[0]:
            raise UnseenError(f"{source} has a line without {header[0]!r}: {', '.join(filter(None, cells))}.")
        chain = [(0 if pairs else column, cell) for column, cell in enumerate(cells) if cell]
        for child, parent in zip(chain, [*chain[1:], None]):
            known = parents.get(child)
            if known and parent and known != parent:
                both = f"in {known[1]!r} and in {parent[1]!r}"
                raise UnseenError(f"{source} puts {child[1]!r} {both}. Give it one parent.")
            parents[child] = known or parent
    return parents


def _lineage(source: str, parents: Mapping[Node, Node | None], label: str) -> list[Node]:
    """Return a class and its groups, fine to coarse."""
    node: Node | None = (0, label)
    chain: list[Node] = []
    while node is not None:
        if node in chain:
            names = [repr(name) for _, name in [*chain[chain.index(node) :], node]]
            raise UnseenError(f"{source} has a cycle: {' in '.join(names)}. Remove a line.")
        chain.append(node)
        node = parents[node]
    return chain


def _check_names(source: str, lineages: Sequence[Sequence[Node]]) -> None:
    """Reject a name that stands for two different groups, and the name of the root."""
    members: dict[Node, list[int]] = {}
    for number, chain in enumerate(lineages):
        for position, node in enumerate(chain):
            # in pairs, a class that is also a parent stands for itself and for its group
            members.setdefault((node[0] if position else -1, node[1]), []).append(number)
    seen: dict[str, list[int]] = {}
    for (_, name), classes in members.items():
        if name == UNKNOWN:
            raise UnseenError(f"{source} has a node called {UNKNOWN!r}, the name of the root. Rename it.")
        if seen.setdefault(name, classes) != classes:
            raise UnseenError(f"{source} has two different nodes called {name!r}. Rename one.")


def _make_levels(lineages: Sequence[Sequence[Node]], headings: Sequence[str] | None) -> Iterable[Level]:
    """Yield the levels that have nodes: the columns of a table; in pairs, the longest way from a class."""
    height: dict[Node, int] = {}
    for chain in lineages:
        for position, node in enumerate(chain):
            height[node] = node[0] if headings else max(position, height.get(node, 0))
    for number in sorted(set(height.values())):
        place = {node: k for k, node in enumerate(node for node in height if height[node] == number)}
        of_class = [next((place[node] for node in chain if node in place), -1) for chain in lineages]
        name = headings[number] if headings else f"level {number}" if number else "class"
        yield Level(name, np.array([name for _, name in place], dtype=np.str_), np.array(of_class))
