"""What a person wants to know about a data set before training: facts, checks, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray, class_sums, row_blocks
from unseen._core.checks import Check, in_lines
from unseen._core.rows import release_pages
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.matlab import creation_date
from unseen.datasets.splits import PARTS, SPLIT_RULES, Assignment, Fold, GZSLSplit, make_split
from unseen.errors import UnseenError

# sha256 -> what the file is; the proposed split has been published in two versions
KNOWN_FILES = {
    "4562b1f6306e21dca05071b9b070ce2b15ec659826c8cb87e5ea796b3770df21": "CUB, proposed split version 2.0",
    "bae02e5f25ea6e55becf25793839326b5d4d58d33eb8b7a8c9013bb60ebbbd0c": "AWA2, proposed split version 2.0",
    "359a4cab00f64fc3053845a39db3e7541f2f0c2303ce461560ca9c8900573193": "SUN, proposed split version 2.0",
    "1fb6c3c031342e1a2bd964e1633ba01b546bac9bc027d7a69d1d01562de27611": "APY, proposed split version 2.0",
}


# ---- the facts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """Smallest, largest and mean value."""

    min: float
    max: float
    mean: float


@dataclass(frozen=True)
class Balance:
    """Number of samples of the classes that have any: smallest, median and largest."""

    min: int
    median: float
    max: int


@dataclass(frozen=True)
class Variance:
    """Variance within classes, between samples of different classes, and of the class means."""

    intra: float
    inter: float
    means: float | None = None  # the paper does not print it


@dataclass(frozen=True)
class FoldStatistics:
    """One row of the paper's table: samples (None if unknown) and classes of every part of a fold."""

    name: str
    samples: dict[str, int | None]
    classes: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values: the parts beside the name, and their classes."""
        return {"name": self.name, **self.samples, "classes": self.classes}


@dataclass(frozen=True)
class FileFacts:
    """One file of a data set: which published version it is, and when MATLAB wrote it."""

    file: str
    sha256: str
    known: str
    created: str


@dataclass(frozen=True)
class DataDescription:
    """Everything ``unseen inspect`` prints; None or empty if the files do not say."""

    dataset: str
    samples: int
    features: int | None
    classes: int
    seen_classes: int
    unseen_classes: int
    attributes: int
    attribute_names: tuple[str, ...] | None
    attribute_range: Range | None
    feature_range: Range | None
    feature_type: str | None
    nan: int | None
    samples_per_class: Balance | None
    split_rule: str
    split: dict[str, int | None]
    splits: tuple[FoldStatistics, ...]
    variance: Variance | None
    published_variance: Variance | None
    files: tuple[FileFacts, ...]
    checksum: str | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    checks: tuple[Check, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        values = asdict(self) | {"splits": [fold.as_json() for fold in self.splits]}
        values["checks"] = [check.to_json() for check in self.checks]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def describe(
    dataset: ZeroShotDataset,
    rule: str = "official",
    published_variance: Variance | None = None,
    ignore: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> DataDescription:
    """Return what there is to know about a data set before training.

    Parameters
    ----------
    dataset : ZeroShotDataset
    rule : {"official", "paper"} or path
        Where the seen test set and the folds come from, see ``make_split``.
    published_variance : Variance, optional
        What the paper prints for this data set, to stand beside ours.
    ignore : iterable of str
        Codes of checks to leave out.
    notes : iterable of str
        What else to say about the data.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> letters = describe(load_dataset("letters"))
    >>> letters.samples, letters.seen_classes, letters.unseen_classes
    (3276, 20, 6)
    """
    X, y, S = dataset.X, dataset.y, dataset.prototypes
    complete = not dataset.missing
    split, too_few = _find_split(dataset, rule) if complete else (None, [])
    checks = dataset.checks(ignore=ignore)
    return DataDescription(
        dataset=dataset.name,
        samples=dataset.n_samples,
        features=None if X is None else X.shape[1],
        classes=len(dataset.class_names),
        seen_classes=int(dataset.seen.sum()),
        unseen_classes=int(dataset.unseen.sum()),
        attributes=S.shape[1],
        attribute_names=dataset.attribute_names,
        attribute_range=_range([S]),
        feature_range=None if X is None else _range(_blocks(X)),
        feature_type=None if X is None else str(X.dtype),
        nan=None if X is None else 0,  # a data set with NaN cannot be made
        samples_per_class=_balance(y),
        split_rule=str(rule),
        split=_split_sizes(dataset, split),
        splits=tuple(_listed_classes(dataset) if split is None else split_statistics(split)),
        variance=None if X is None or y is None else class_variance(X, y),
        published_variance=published_variance,
        files=tuple(_files(dataset)),
        checksum=dataset.checksum if complete else None,
        notes=(*dataset.notes, *_notes(dataset), *notes),
        warnings=tuple(f"{c.message} {c.advice}" for c in checks if c.severity == "warning"),
        checks=tuple(checks),
        missing=(*dataset.missing, *_missing_classes(dataset), *too_few),
    )


def class_variance(X: FloatArray, y: IndexArray) -> Variance:
    r"""Return the variance within classes, between samples of different classes, and of the class means.

    With the mean ``m_c`` of class c, the mean ``m`` of all samples, and P ordered pairs of samples of
    different classes:

    .. math:: \mathrm{intra} = \frac{1}{N} \sum_i \|x_i - m_{y_i}\|^2, \qquad
        \mathrm{inter} = \frac{1}{2P} \sum_{y_i \ne y_j} \|x_i - x_j\|^2, \qquad
        \mathrm{means} = \frac{1}{N} \sum_i \|m_{y_i} - m\|^2

    The paper prints the first two without a formula; this reading fits their order and their ratios. The mean
    squared distance of a sample to those of its own class is ``2 intra``, to those of other classes about
    ``2 inter``. ``intra + means`` is the variance of all samples.

    >>> class_variance(np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([0, 0, 1, 1]))
    Variance(intra=1.0, inter=51.0, means=25.0)
    """
    blocks = [(X[block], y[block]) for block in row_blocks(len(X))]  # views
    count = np.bincount(y)
    total = np.zeros((len(count), X.shape[1]))
    for rows, of in blocks:
        total += class_sums(rows.astype(np.float64), of, len(count))
    center = total / np.maximum(count, 1)[:, None]  # (classes, features)
    scatter = np.zeros(len(count))  # (classes,), squared distances to the class mean
    for rows, of in blocks:
        scatter += np.bincount(of, ((rows - center[of]) ** 2).sum(axis=1), minlength=len(count))
    N = len(X)
    intra = scatter.sum() / N
    means = count @ ((center - total.sum(axis=0) / N) ** 2).sum(axis=1) / N
    # sum over all ordered pairs 2 N^2 (intra + means), over those of class c 2 n_c scatter_c
    pairs = N**2 - count @ count
    inter = (N**2 * (intra + means) - count @ scatter) / max(pairs, 1)
    return Variance(float(intra), float(inter), float(means))


def split_statistics(split: GZSLSplit) -> list[FoldStatistics]:
    """Return the paper's table: samples and classes of every part, one row per validation fold.

    An assignment file is counted as given, although folds exclude the samples of the final seen test set.
    """
    assignments = split.given or [_assignment(split, fold) for fold in split.folds]
    return [
        FoldStatistics(
            f"val{number}",
            {part: int(np.count_nonzero(parts == part)) for part in PARTS},
            {part: len(np.unique(split.y[parts == part])) for part in PARTS},
        )
        for number, parts in enumerate(assignments, start=1)
    ]


def _assignment(split: GZSLSplit, fold: Fold) -> Assignment:
    """Return the part of every sample in one fold."""
    parts = np.full(len(split.y), "", dtype="U15")
    parts[fold.train], parts[fold.seen_val], parts[fold.val] = "train", "seen_val", "val"
    parts[split.test_unseen] = "test"
    of_val = np.isin(split.y[split.test_seen], split.y[fold.val])
    of_train = np.isin(split.y[split.test_seen], split.y[fold.train])
    parts[split.test_seen[of_train]] = "seen_test_train"
    parts[split.test_seen[of_val]] = "seen_test_val"
    return parts


def _blocks(X: FloatArray) -> Iterator[FloatArray]:
    for block in row_blocks(len(X)):
        yield X[block]
        release_pages(X)


def _range(blocks: Iterable[FloatArray]) -> Range | None:
    parts = [(block.min(), block.max(), block.sum(dtype=float), block.size) for block in blocks if block.size]
    if not parts:
        return None
    low, high, total, size = zip(*parts)
    return Range(float(min(low)), float(max(high)), float(sum(total)) / sum(size))


def _balance(y: IndexArray | None) -> Balance | None:
    if y is None:
        return None
    counts = np.bincount(y)
    counts = counts[counts > 0]
    return Balance(int(counts.min()), float(np.median(counts)), int(counts.max()))


def _split_sizes(dataset: ZeroShotDataset, split: GZSLSplit | None) -> dict[str, int | None]:
    parts = {
        "train": dataset.trainval if split is None else split.train,
        "test_seen": dataset.test_seen if split is None else split.test_seen,
        "test_unseen": dataset.test_unseen if split is None else split.test_unseen,
    }
    return {name: None if index is None else len(index) for name, index in parts.items()}


def _listed_classes(dataset: ZeroShotDataset) -> list[FoldStatistics]:
    """Return the rows of the table without labels: classes are known, samples only of the test part."""
    test = None if dataset.test_unseen is None else len(dataset.test_unseen)
    rows = []
    for number, (train, val) in enumerate(dataset.class_folds or (), start=1):
        classes = [len(train)] * 3 + [len(val)] * 2 + [int(dataset.unseen.sum())]
        samples: dict[str, int | None] = dict.fromkeys(PARTS)
        samples["test"] = test
        rows.append(FoldStatistics(f"val{number}", samples, dict(zip(PARTS, classes))))
    return rows


def _files(dataset: ZeroShotDataset) -> list[FileFacts]:
    return [
        FileFacts(
            file=str(path),
            sha256=dataset.checksums[str(path)],
            known=KNOWN_FILES.get(dataset.checksums[str(path)], _unknown(path)),
            created=creation_date(path) if path.suffix == ".mat" else "",
        )
        for path in dataset.files
    ]


def _unknown(path: Path) -> str:
    """Return what to call a file that is not known; a user's own files have no published versions."""
    return "unknown version" if path.suffix == ".mat" else "own file"


# ---- advice --------------------------------------------------------------------------------------------


def _find_split(dataset: ZeroShotDataset, rule: str) -> tuple[GZSLSplit | None, list[str]]:
    """Return the split, or why there is none: with very few classes nothing can be held out."""
    try:
        return make_split(dataset, rule=rule, require_test=False), []
    except UnseenError as error:
        if rule not in SPLIT_RULES:
            raise
        return None, [f"There is no split to choose parameters on: {error}"]


def _missing_classes(dataset: ZeroShotDataset) -> list[str]:
    """Return what more a data set needs before it is one of zero-shot learning."""
    if dataset.unseen.any():
        return []
    return [
        "There are no unseen classes: name them in unseen_classes (--unseen A,B), or describe "
        "classes without samples. A model can be fitted without unseen classes."
    ]


def _notes(dataset: ZeroShotDataset) -> list[str]:
    """Return what the data is good for, if its unseen classes have no samples: they are candidates."""
    n = int(dataset.unseen.sum())
    if dataset.y is None or not n or dataset.unseen[dataset.y].any():
        return []
    what = "The unseen class has no samples" if n == 1 else f"The {n} unseen classes have no samples"
    return [
        f"{what}: the data is complete for fit and predict. Only bench needs samples to test with: name "
        "classes to hold out with --unseen."
    ]


# ---- text ----------------------------------------------------------------------------------------------


def format_description(facts: DataDescription) -> str:
    """Return the description as text for a terminal."""
    sections = [
        _facts(facts),
        _split_table(facts),
        _list("Files", [_file_line(file) for file in facts.files]),
        _list("Notes", facts.notes),
        _list("Checks (docs/checks.md)", in_lines(facts.checks)),
        _list("Missing", facts.missing),
    ]
    return "\n\n".join(section for section in sections if section)


def _facts(facts: DataDescription) -> str:
    per_class = facts.samples_per_class
    lines = {
        "data set": facts.dataset,
        "samples": facts.samples,
        "classes": f"{facts.classes}: {facts.seen_classes} seen, {facts.unseen_classes} unseen",
        "samples per class": "unknown"
        if per_class is None
        else f"min {per_class.min}, median {per_class.median:.4g}, max {per_class.max}",
        "features": _dimension(facts.features, facts.feature_range, facts.feature_type),
        "NaN or infinite": _or_unknown(facts.nan),
        "attributes": _dimension(facts.attributes, facts.attribute_range, None),
        "variance": "unknown" if facts.variance is None else _variance(facts.variance),
    }
    if facts.published_variance:
        lines["  in the paper"] = _variance(facts.published_variance)
    return "\n".join(f"{name:<18} {text}" for name, text in lines.items())


def _variance(found: Variance) -> str:
    ratio = f" (ratio {found.intra / found.inter:.2f})" if found.inter else ""
    means = "" if found.means is None else f", class means {found.means:.4g}"
    return f"intra-class {found.intra:.4g}, inter-class {found.inter:.4g}{ratio}{means}"


def _or_unknown(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _dimension(size: int | None, values: Range | None, kind: str | None) -> str:
    if not size:
        return "missing"
    spread = (
        "unknown" if values is None else f"min {values.min:.4g}, mean {values.mean:.4g}, max {values.max:.4g}"
    )
    return f"{size}{f' ({kind})' if kind else ''}, values {spread}"


def _split_table(facts: DataDescription) -> str:
    """Return the paper's table: samples / classes of every part."""
    if not facts.splits:
        return ""
    sizes = ", ".join(f"{name} {_or_unknown(size)}" for name, size in facts.split.items())
    header = ["", *PARTS]
    rows = [[row.name, *(_cell(row, part) for part in PARTS)] for row in facts.splits]
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    lines = ["  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in [header, *rows]]
    return "\n".join([f"Split ({facts.split_rule}): {sizes}; samples / classes per fold", *lines])


def _cell(row: FoldStatistics, part: str) -> str:
    samples = row.samples[part]
    return f"{'?' if samples is None else samples} / {row.classes[part]}"


def _file_line(file: FileFacts) -> str:
    created = f", created {file.created}" if file.created else ""
    return f"{file.file}: {file.known}{created}, sha256 {file.sha256[:16]}..."


def _list(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"- {line}" for line in lines)]) if lines else ""
