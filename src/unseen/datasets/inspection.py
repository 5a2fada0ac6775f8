"""What a person wants to know about a data set before training: as a plain dict, then as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen._core.blocks import FloatArray, class_sums, row_blocks
from unseen.datasets.dataset import Indices, ZeroShotDataset
from unseen.datasets.matlab import creation_date
from unseen.datasets.splits import PARTS, Assignment, Fold, GZSLSplit, make_split

# sha256 -> what the file is; the proposed split has been published in two versions
KNOWN_FILES = {
    "4562b1f6306e21dca05071b9b070ce2b15ec659826c8cb87e5ea796b3770df21": "CUB, proposed split version 2.0",
    "bae02e5f25ea6e55becf25793839326b5d4d58d33eb8b7a8c9013bb60ebbbd0c": "AWA2, proposed split version 2.0",
    "359a4cab00f64fc3053845a39db3e7541f2f0c2303ce461560ca9c8900573193": "SUN, proposed split version 2.0",
    "1fb6c3c031342e1a2bd964e1633ba01b546bac9bc027d7a69d1d01562de27611": "APY, proposed split version 2.0",
}


# ---- numbers -----------------------------------------------------------------------------------------


def class_variance(X: FloatArray, y: Indices) -> dict[str, float]:
    """Return the variance within classes and between classes; they add up to the variance of X.

    ``intra`` is the mean over samples of ``||x - m_y||^2`` with the class mean ``m``, ``inter`` the mean
    over samples of ``||m_y - m||^2`` with the mean ``m`` of all.

    >>> class_variance(np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([0, 0, 1, 1]))
    {'intra': 1.0, 'inter': 25.0}
    """
    blocks = [(X[block], y[block]) for block in row_blocks(len(X))]  # views
    count = np.bincount(y)
    total = np.zeros((len(count), X.shape[1]))
    for rows, of in blocks:
        total += class_sums(rows.astype(np.float64), of, len(count))
    means = total / np.maximum(count, 1)[:, None]  # (classes, features)
    intra = sum(float(((rows - means[of]) ** 2).sum()) for rows, of in blocks) / len(X)
    mean = total.sum(axis=0) / len(X)
    inter = float(count @ ((means - mean) ** 2).sum(axis=1)) / len(X)
    return {"intra": intra, "inter": inter}


def split_statistics(split: GZSLSplit) -> list[dict[str, Any]]:
    """Return the paper's table: samples and classes of every part, one row per validation fold.

    An assignment file is counted as it is, although folds leave out what is in the final seen test set.
    """
    assignments = split.given or [_assignment(split, fold) for fold in split.folds]
    return [
        {"name": f"val{number}"}
        | {part: int(np.count_nonzero(parts == part)) for part in PARTS}
        | {"classes": {part: len(np.unique(split.y[parts == part])) for part in PARTS}}
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


def describe(dataset: ZeroShotDataset, rule: str = "official") -> dict[str, Any]:
    """Return everything ``unseen inspect`` prints; None or empty where the files do not tell."""
    complete = not dataset.missing
    split = make_split(dataset, rule=rule, require_test=False) if complete else None
    return {
        "dataset": dataset.name,
        "samples": dataset.n_samples,
        "features": None if dataset.X is None else dataset.X.shape[1],
        "classes": len(dataset.class_names),
        "seen_classes": int(dataset.seen.sum()),
        "unseen_classes": int(dataset.unseen.sum()),
        "attributes": dataset.prototypes.shape[1],
        "attribute_names": dataset.attribute_names,
        "attribute_range": _range([dataset.prototypes]),
        "feature_range": None if dataset.X is None else _range(_blocks(dataset.X)),
        "feature_type": None if dataset.X is None else str(dataset.X.dtype),
        "nan": None if dataset.X is None else 0,  # a data set with NaN cannot be made
        "samples_per_class": _balance(dataset.y),
        "split_rule": str(rule),
        "split": _split_sizes(dataset, split),
        "splits": _listed_classes(dataset) if split is None else split_statistics(split),
        "variance": None if dataset.X is None or dataset.y is None else class_variance(dataset.X, dataset.y),
        "files": _files(dataset),
        "checksum": dataset.checksum if complete else None,
        "notes": list(dataset.notes),
        "missing": [*dataset.missing, *_advice(dataset)],
    }


def _blocks(X: FloatArray) -> Iterable[FloatArray]:
    return (X[block] for block in row_blocks(len(X)))


def _range(blocks: Iterable[FloatArray]) -> dict[str, float] | None:
    parts = [(block.min(), block.max(), block.sum(dtype=float), block.size) for block in blocks if block.size]
    if not parts:
        return None
    low, high, total, size = zip(*parts)
    return {"min": float(min(low)), "max": float(max(high)), "mean": float(sum(total)) / sum(size)}


def _balance(y: Indices | None) -> dict[str, float] | None:
    """Return the smallest, middle and largest number of samples of the classes that have any."""
    if y is None:
        return None
    counts = np.bincount(y)
    counts = counts[counts > 0]
    return {"min": int(counts.min()), "median": float(np.median(counts)), "max": int(counts.max())}


def _split_sizes(dataset: ZeroShotDataset, split: GZSLSplit | None) -> dict[str, int | None]:
    parts = {
        "train": dataset.trainval if split is None else split.train,
        "test_seen": dataset.test_seen if split is None else split.test_seen,
        "test_unseen": dataset.test_unseen if split is None else split.test_unseen,
    }
    return {name: None if index is None else len(index) for name, index in parts.items()}


def _listed_classes(dataset: ZeroShotDataset) -> list[dict[str, Any]]:
    """Return the rows of the table without labels: classes are known, samples only of the test part."""
    test = None if dataset.test_unseen is None else len(dataset.test_unseen)
    rows = []
    for number, (train, val) in enumerate(dataset.class_folds or (), start=1):
        classes = [len(train)] * 3 + [len(val)] * 2 + [int(dataset.unseen.sum())]
        counts = dict.fromkeys(PARTS) | {"test": test}
        rows.append({"name": f"val{number}"} | counts | {"classes": dict(zip(PARTS, classes))})
    return rows


def _files(dataset: ZeroShotDataset) -> list[dict[str, str]]:
    return [
        {
            "file": str(path),
            "sha256": dataset.checksums[str(path)],
            "known": KNOWN_FILES.get(dataset.checksums[str(path)], _unknown(path)),
            "created": creation_date(path) if path.suffix == ".mat" else "",
        }
        for path in dataset.files
    ]


def _unknown(path: Path) -> str:
    """Return what to call a file that is not known; nobody publishes versions of a user's own files."""
    return "unknown version" if path.suffix == ".mat" else "own file"


def _advice(dataset: ZeroShotDataset) -> list[str]:
    """Return what more a data set needs before methods can be compared on it."""
    advice = []
    S, names = dataset.prototypes, dataset.class_names
    if not dataset.unseen.any():
        advice.append(
            "There are no unseen classes: name them in unseen_classes (--unseen-classes A,B), or describe "
            "classes without samples. A model can be fitted without."
        )
    elif dataset.y is not None and not dataset.unseen[dataset.y].any():
        advice.append(
            "The unseen classes have no samples: enough to fit and predict, not to compare methods."
        )
    if S.shape[1]:
        _, first, inverse = np.unique(S, axis=0, return_index=True, return_inverse=True)
        twin = np.flatnonzero(first[inverse.ravel()] != np.arange(len(S)))
        if len(twin):
            pair = f"{names[first[inverse.ravel()[twin[0]]]]!r} and {names[twin[0]]!r}"
            advice.append(f"Classes {pair} have the same description: no method can tell them apart.")
    return advice


# ---- text --------------------------------------------------------------------------------------------


def format_description(facts: dict[str, Any]) -> str:
    """Return the description as text for a terminal."""
    sections = [
        _facts(facts),
        _split_table(facts),
        _list("Files", [_file_line(file) for file in facts["files"]]),
        _list("Notes", facts["notes"]),
        _list("Missing", facts["missing"]),
    ]
    return "\n\n".join(section for section in sections if section)


def _facts(facts: dict[str, Any]) -> str:
    lines = {
        "data set": facts["dataset"],
        "samples": facts["samples"],
        "classes": f"{facts['classes']}: {facts['seen_classes']} seen, {facts['unseen_classes']} unseen",
        "samples per class": _spread(facts["samples_per_class"], ("min", "median", "max")),
        "features": _dimension(facts["features"], facts["feature_range"], facts["feature_type"]),
        "NaN or infinite": _or_unknown(facts["nan"]),
        "attributes": _dimension(facts["attributes"], facts["attribute_range"], None),
        "variance": _variance(facts["variance"]),
    }
    return "\n".join(f"{name:<18} {text}" for name, text in lines.items())


def _or_unknown(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _spread(values: dict[str, float] | None, names: Sequence[str]) -> str:
    return "unknown" if values is None else ", ".join(f"{name} {values[name]:.4g}" for name in names)


def _dimension(size: int | None, values: dict[str, float] | None, kind: str | None) -> str:
    if not size:
        return "missing"
    return f"{size}{f' ({kind})' if kind else ''}, values {_spread(values, ('min', 'mean', 'max'))}"


def _variance(variance: dict[str, float] | None) -> str:
    if variance is None:
        return "unknown"
    return f"intra-class {variance['intra']:.4g}, inter-class {variance['inter']:.4g}"


def _split_table(facts: dict[str, Any]) -> str:
    """Return the paper's table: samples / classes of every part."""
    if not facts["splits"]:
        return ""
    sizes = ", ".join(f"{name} {_or_unknown(size)}" for name, size in facts["split"].items())
    header = ["", *PARTS]
    rows = [[row["name"], *(_cell(row, part) for part in PARTS)] for row in facts["splits"]]
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    lines = ["  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in [header, *rows]]
    return "\n".join([f"Split ({facts['split_rule']}): {sizes}; samples / classes per fold", *lines])


def _cell(row: dict[str, Any], part: str) -> str:
    return f"{'?' if row[part] is None else row[part]} / {row['classes'][part]}"


def _file_line(file: dict[str, str]) -> str:
    created = f", created {file['created']}" if file["created"] else ""
    return f"{file['file']}: {file['known']}{created}, sha256 {file['sha256'][:16]}..."


def _list(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"- {line}" for line in lines)]) if lines else ""
