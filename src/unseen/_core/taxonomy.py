"""Taxonomies: classes in groups, groups in larger groups, and the finest group that is sure enough."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.csv_files import read_csv
from unseen._core.labels import UNKNOWN, class_labels, is_labeled, is_missing
from unseen.errors import UnseenError, did_you_mean

CONFIDENCE = 0.8  # of a prediction, by default
PAIRS = ("child", "parent")  # the columns of a table of pairs
ROUNDING = 1e-9  # a sum of probabilities may be this much below 1

Node = tuple[int, str]  # (column of a table, 0 for pairs; name)


@dataclass(frozen=True, eq=False)
class Level:
    """The groups of one level, and the group of every class."""

    name: str
    nodes: NDArray[np.str_]  # (nodes,)
    of_class: IndexArray  # (classes,), -1 for a class without a group here

    def probabilities(self, p: FloatArray) -> FloatArray:
        """Return the probability of every node, the sum over its classes, (samples, nodes)."""
        (grouped,) = np.nonzero(self.of_class >= 0)
        entries = (np.ones(len(grouped)), (grouped, self.of_class[grouped]))
        members = scipy.sparse.csr_array(entries, shape=(len(self.of_class), len(self.nodes)))
        return np.asarray(p @ members)


@dataclass(frozen=True, eq=False)
class Answers:
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
        links = _read_links(taxonomy)
        lineages = [links.lineage(str(label).strip()) for label in np.asarray(classes).tolist()]
        _check_names(lineages, links.source)
        return cls(tuple(_make_levels(lineages, links.headings)))

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
        if not 0 <= confidence <= 1:
            raise UnseenError(f"Got confidence={confidence!r}, but expected a probability from 0 to 1.")
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
    found = level.probabilities(p)
    best = found.argmax(axis=1)
    return best, np.take_along_axis(found, best[:, None], axis=1)[:, 0]


# ---- from tables to links ------------------------------------------------------------------------------


@dataclass
class _Links:
    """The parent of every node."""

    source: str  # for messages
    headings: tuple[str, ...] | None = (
        None  # the columns of a table; None for pairs, whose levels have no name
    )
    parent: dict[Node, Node | None] = field(default_factory=dict)

    def add(self, chain: Sequence[Node]) -> None:
        """Link each node of a chain to the next; a node has one parent."""
        for child, parent in zip(chain, [*chain[1:], None]):
            known = self.parent.get(child)
            if known is not None and parent is not None and known != parent:
                raise UnseenError(
                    f"{self.source} puts {child[1]!r} in {known[1]!r} and in {parent[1]!r}. "
                    "Give it one parent."
                )
            self.parent[child] = known or parent

    def lineage(self, label: str) -> list[Node]:
        """Return the class and its groups, fine to coarse."""
        node: Node | None = (0, label)
        if node not in self.parent:
            known = [name for column, name in self.parent if column == 0]
            raise UnseenError(
                f"{self.source} has no class {label!r}, which the model predicts.{_near(label, known)} "
                "Add a line for every class of the model."
            )
        chain: list[Node] = []
        while node is not None:
            if node in chain:
                names = [name for _, name in [*chain[chain.index(node) :], node]]
                raise UnseenError(
                    f"{self.source} has a cycle: {' in '.join(map(repr, names))}. Remove a line."
                )
            chain.append(node)
            node = self.parent[node]
        return chain


def _near(label: str, names: Iterable[str]) -> str:
    """Return "Did you mean" for the nearest name, in any case."""
    folded = {name.casefold(): name for name in names}
    same = folded.get(label.casefold())
    return f" Did you mean {same!r}?" if same else did_you_mean(label, folded.values())


def _read_links(taxonomy: Any) -> _Links:
    if isinstance(taxonomy, str | PathLike):
        path = Path(taxonomy)
        if not path.is_file():
            raise UnseenError(f"There is no taxonomy file {str(path)!r}, expected a CSV file.")
        file = read_csv(path)
        return _links_of_rows(path.name, file.header, file.rows)
    if isinstance(taxonomy, Mapping):
        return _links_of_mapping(taxonomy)
    if hasattr(taxonomy, "columns"):
        return _links_of_frame(taxonomy)
    raise UnseenError(
        f"Got taxonomy={type(taxonomy).__name__}, but expected the path of a CSV file, a DataFrame, or a "
        "mapping from class to its groups."
    )


def _links_of_rows(source: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> _Links:
    if len(header) < 2:
        raise UnseenError(
            f"{source} has one column, {header[0]!r}, expected classes and their groups (class, genus, ...) "
            "or pairs (child, parent)."
        )
    pairs = tuple(name.lower() for name in header) == PAIRS
    links = _Links(source, None if pairs else tuple(header))
    for row in rows:
        cells = ["" if is_missing(cell) else str(cell).strip() for cell in row]
        if not cells[0]:
            raise UnseenError(f"{source} has a line without {header[0]!r}: {', '.join(filter(None, cells))}.")
        links.add([(0 if pairs else column, cell) for column, cell in enumerate(cells) if cell])
    return links


def _links_of_frame(frame: Any) -> _Links:
    header = [str(name) for name in frame.columns]
    columns = [list(frame[name]) for name in frame.columns]
    if not {"class", "child"} & {name.lower() for name in header}:
        if not is_labeled(frame):
            raise UnseenError(f"taxonomy has the columns {', '.join(header)}, expected one called 'class'.")
        if class_labels(frame) != columns[0]:  # the index names the classes, not the first column
            header, columns = ["class", *header], [class_labels(frame), *columns]
    else:  # wherever it stands
        first = next(k for k, name in enumerate(header) if name.lower() in ("class", "child"))
        header, columns = ([row[first], *row[:first], *row[first + 1 :]] for row in (header, columns))
    return _links_of_rows("taxonomy", header, zip(*columns))


def _links_of_mapping(taxonomy: Mapping[Hashable, Any]) -> _Links:
    single = [value is None or isinstance(value, str | int) for value in taxonomy.values()]
    if all(single):
        rows = ([child, parent] for child, parent in taxonomy.items())
        return _links_of_rows("taxonomy", PAIRS, rows)
    groups = {label: [value] if one else list(value) for one, (label, value) in zip(single, taxonomy.items())}
    depth = max(map(len, groups.values()))
    header = ["class", *(f"level {number}" for number in range(1, depth + 1))]
    rows = ([label, *names, *[""] * (depth - len(names))] for label, names in groups.items())
    return _links_of_rows("taxonomy", header, rows)


# ---- from links to levels ------------------------------------------------------------------------------


def _check_names(lineages: Sequence[Sequence[Node]], source: str) -> None:
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
