"""What a person wants to know about a data set before training: facts, checks, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray, class_sums
from unseen._core.checks import Check, in_lines
from unseen.datasets.dataset import ZeroShotDataset, feature_blocks
from unseen.datasets.splits import SPLIT_RULES, GZSLSplit, make_split
from unseen.errors import UnseenError

# the columns of the paper's table of statistics
PARTS = ("train", "seen_val", "seen_test_train", "val", "seen_test_val", "test")
NO_UNSEEN = (
    "There are no unseen classes: name them in unseen_classes (--unseen A,B), or describe classes without "
    "samples. A model can be fitted without unseen classes."
)
Facts = dict[str, Any]  # JSON values; None or empty if the files do not say


def describe(
    dataset: ZeroShotDataset, rule: str = "official", ignore: Iterable[str] = (), notes: Iterable[str] = ()
) -> Facts:
    """Return what there is to know about a data set before training, as ``unseen inspect --json`` prints it.

    Parameters
    ----------
    dataset : ZeroShotDataset
    rule : {"official", "paper"}
        Where the seen test set comes from, see ``make_split``.
    ignore : iterable of str
        Codes of checks to leave out.
    notes : iterable of str
        What else to say about the data.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> letters = describe(load_dataset("letters"))
    >>> letters["samples"], letters["seen_classes"], letters["unseen_classes"]
    (3276, 20, 6)
    """
    X, y, S = dataset.X, dataset.y, dataset.prototypes
    split, too_few = _find_split(dataset, rule)
    checks = dataset.checks(ignore=ignore)
    return {
        "dataset": dataset.name,
        "samples": dataset.n_samples,
        "features": None if X is None else X.shape[1],
        "classes": len(dataset.class_names),
        "seen_classes": int(dataset.seen.sum()),
        "unseen_classes": int(dataset.unseen.sum()),
        "attributes": S.shape[1],
        "attribute_names": None if dataset.attribute_names is None else list(dataset.attribute_names),
        "attribute_range": _range([S]),
        "feature_range": None if X is None else _range(rows for _, rows in feature_blocks(X)),
        "feature_type": None if X is None else str(X.dtype),
        "samples_per_class": None if y is None else _balance(y),
        "split_rule": rule,
        "split": {part: len(getattr(split, part)) for part in ("train", "test_seen", "test_unseen") if split},
        "splits": split_statistics(split, y) if split else [],
        "variance": None if X is None or y is None else class_variance(X, y),
        "files": [{"file": str(path), "sha256": dataset.checksums[str(path)]} for path in dataset.files],
        "checksum": None if dataset.missing else dataset.checksum,
        "notes": [*dataset.notes, *_candidates(dataset), *notes],
        "warnings": [f"{check.message} {check.advice}" for check in checks if check.severity == "warning"],
        "checks": [check.to_json() for check in checks],
        "missing": [*dataset.missing, *([] if dataset.unseen.any() else [NO_UNSEEN]), *too_few],
    }


# ---- numbers -------------------------------------------------------------------------------------------


def class_variance(X: FloatArray, y: IndexArray) -> dict[str, float]:
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
    {'intra': 1.0, 'inter': 51.0, 'means': 25.0}
    """
    N, count = len(X), np.bincount(y)
    total = np.zeros((len(count), X.shape[1]))
    for block, rows in feature_blocks(X):
        total += class_sums(rows.astype(np.float64), y[block], len(count))
    center = total / np.maximum(count, 1)[:, None]  # (classes, features)
    scatter = np.zeros(len(count))  # (classes,), squared distances to the class mean
    for block, rows in feature_blocks(X):
        squares = ((rows - center[y[block]]) ** 2).sum(axis=1)
        scatter += np.bincount(y[block], squares, minlength=len(count))
    intra = scatter.sum() / N
    means = count @ ((center - total.sum(axis=0) / N) ** 2).sum(axis=1) / N
    # sum over all ordered pairs 2 N^2 (intra + means), over those of class c 2 n_c scatter_c
    pairs = N**2 - count @ count
    inter = (N**2 * (intra + means) - count @ scatter) / max(pairs, 1)
    return {"intra": float(intra), "inter": float(inter), "means": float(means)}


def split_statistics(split: GZSLSplit, y: IndexArray) -> list[Facts]:
    """Return the paper's table: samples and classes of every part, one row per validation fold."""
    rows = []
    for number, fold in enumerate(split.folds, start=1):
        held = [split.test_seen[np.isin(y[split.test_seen], y[part])] for part in (fold.train, fold.val)]
        samples = (fold.train, fold.seen_val, held[0], fold.val, held[1], split.test_unseen)
        counts = {part: len(index) for part, index in zip(PARTS, samples)}
        classes = {part: len(np.unique(y[index])) for part, index in zip(PARTS, samples)}
        rows.append({"name": f"val{number}", **counts, "classes": classes})
    return rows


def _range(blocks: Iterable[FloatArray]) -> dict[str, float] | None:
    parts = [(block.min(), block.max(), block.sum(dtype=float), block.size) for block in blocks if block.size]
    if not parts:
        return None
    low, high, total, size = zip(*parts)
    return {"min": float(min(low)), "max": float(max(high)), "mean": float(sum(total)) / sum(size)}


def _balance(y: IndexArray) -> dict[str, float]:
    """Return the number of samples of the classes that have any: smallest, median and largest."""
    counts = np.unique(y, return_counts=True)[1]
    return {"min": int(counts.min()), "median": float(np.median(counts)), "max": int(counts.max())}


# ---- advice --------------------------------------------------------------------------------------------


def _find_split(dataset: ZeroShotDataset, rule: str) -> tuple[GZSLSplit | None, list[str]]:
    """Return the split, or why there is none: with very few classes nothing can be held out."""
    if dataset.missing and rule in SPLIT_RULES:
        return None, []
    try:
        return make_split(dataset, rule=rule, require_test=False), []
    except UnseenError as error:
        if rule not in SPLIT_RULES:
            raise
        return None, [f"There is no split to choose parameters on: {error}"]


def _candidates(dataset: ZeroShotDataset) -> Iterator[str]:
    """Yield what the data is good for, if its unseen classes have no samples: they are candidates."""
    n = int(dataset.unseen.sum())
    if n and dataset.y is not None and not dataset.unseen[dataset.y].any():
        what = "The unseen class has no samples" if n == 1 else f"The {n} unseen classes have no samples"
        yield (
            f"{what}: the data is complete for fit and predict. Only bench needs samples to test with: name "
            "classes to hold out with --unseen."
        )


# ---- text ----------------------------------------------------------------------------------------------


def format_description(facts: Mapping[str, Any]) -> str:
    """Return the description as text for a terminal."""
    lists = {
        "Files": [f"{file['file']}: sha256 {file['sha256'][:16]}..." for file in facts["files"]],
        "Notes": facts["notes"],
        "Checks (docs/checks.md)": in_lines([Check.from_json(check) for check in facts["checks"]]),
        "Missing": facts["missing"],
    }
    listed = ["\n- ".join([title, *lines]) for title, lines in lists.items() if lines]
    return "\n\n".join(filter(None, [_sizes(facts), _split_table(facts), *listed]))


def _sizes(facts: Mapping[str, Any]) -> str:
    values = "values min {min:.4g}, mean {mean:.4g}, max {max:.4g}"
    variance = "intra-class {intra:.4g}, inter-class {inter:.4g}, class means {means:.4g}"
    features = f"{facts['features']} ({facts['feature_type']}), {values}"
    lines = {
        "data set": facts["dataset"],
        "samples": facts["samples"],
        "classes": "{classes}: {seen_classes} seen, {unseen_classes} unseen".format_map(facts),
        "samples per class": _fill("min {min}, median {median:.4g}, max {max}", facts["samples_per_class"]),
        "features": _fill(features, facts["feature_range"], "missing"),
        "attributes": _fill(f"{facts['attributes']}, {values}", facts["attribute_range"], "missing"),
        "variance": _fill(variance, facts["variance"]),
    }
    return "\n".join(f"{name:<18} {text}" for name, text in lines.items())


def _fill(text: str, values: Mapping[str, float] | None, otherwise: str = "unknown") -> str:
    return otherwise if values is None else text.format_map(values)


def _split_table(facts: Mapping[str, Any]) -> str:
    """Return the paper's table: samples / classes of every part."""
    if not facts["splits"]:
        return ""
    sizes = ", ".join(f"{name} {size}" for name, size in facts["split"].items())
    rows = [["", *PARTS]]
    for fold in facts["splits"]:
        rows.append([fold["name"], *(f"{fold[part]} / {fold['classes'][part]}" for part in PARTS)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths)) for row in rows]
    return "\n".join([f"Split ({facts['split_rule']}): {sizes}; samples / classes per fold", *lines])
