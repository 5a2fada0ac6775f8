"""Results and descriptions with chosen numbers, for tests of what comes after the protocol."""

from __future__ import annotations

from typing import Any

STEPS = ("none", "calibrated", "calibrated+lambda")


def bins(samples: list[int], ece: float) -> dict[str, Any]:
    """Return answers in bins of their probability."""
    return {"samples": samples, "confidence": [0.2, 0.5, 0.9], "accuracy": [0.3, 0.6, 0.8], "ece": ece}


def result(
    method: str, seed: int = 0, *, zsl: float = 50.0, h: tuple[float, ...] = (20.0, 30.0, 40.0)
) -> dict:
    """Return the result of a run, as unseen.benchmark.results describes it."""

    def both(value: float) -> dict[str, float]:
        return {"per-class": value, "per-sample": value + 1}

    points = {name: {"H": both(v), "U": both(v - 5), "S": both(v + 5)} for name, v in zip(STEPS, h)}
    return {
        "method": method,
        "seed": seed,
        "version": "0.1.0",
        "model": {"normalize": "l2"},
        "grid": {"alpha": [0.1, 1.0]},
        "zsl": both(zsl),
        "gzsl": points,
        "ausuc": {"per-class": 0.25, "per-sample": 0.26},
        "params_zsl": {"alpha": 1.0},
        "params_gzsl": {"alpha": 0.1},
        "gamma_zsl": 0.3,
        "gamma": 0.2,
        "validation": {
            "params": [{"alpha": 0.1}, {"alpha": 1.0}],
            "zsl": [40.0, 50.0],
            "seen": [70.0, 60.0],
            "h": [45.0, 40.0],
            "gamma": [0.2, 0.3],
            "best": 0,
            "best_zsl": 1,
        },
        "curve": {"gamma": [0.1, 0.3], "unseen": [0.0, 20.0, 60.0], "seen": [80.0, 50.0, 0.0]},
        "flips": {
            "seen": [-0.1, 0.15, 0.3, 0.3, 0.4, 0.5, 0.6, 0.7],
            "unseen": [0.1, 0.3, 0.3, 0.35],
        },
        "regret": {name: {"gamma": 0.25, "H": v + 1, "loss": 1.0} for name, v in zip(STEPS[1:], h[1:])},
        "classes": {
            "samples": [4, 4, 4],
            "accuracy": [100.0, 50.0, 25.0],
            "confusion": [None, 0, 1],
            "confused": [0.0, 50.0, 75.0],
            "mistakes": [[], [[0, 2]], [[1, 3]]],
        },
        "zsl_model": {
            "curve": {"gamma": [0.1, 0.4], "unseen": [0.0, 25.0, 55.0], "seen": [75.0, 40.0, 0.0]},
            "flips": {"seen": [0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 0.6, 0.7], "unseen": [0.1, 0.2, 0.3, 0.4]},
            "ausuc": 0.2,
        },
        "by_class": {
            "zsl": [None, None, zsl],
            "none": [90.0, 60.0, 10.0],
            "calibrated": [80.0, 55.0, 20.0],
        },
        "reliability": {
            "temperature": 0.5,
            "before": {"seen": bins([8, 0, 0], 0.45), "unseen": bins([4, 0, 0], 0.2)},
            "after": {"seen": bins([0, 2, 6], 0.05), "unseen": bins([2, 1, 1], 0.1)},
        },
        "attribute_error": None,
        "seconds": {"selection": 1.0, "test": 0.5, "total": 1.5, "cpu": 1.4},
        "threads": 1,
        "warnings": [],
    }


def description(**changes: Any) -> dict[str, Any]:
    """Return what a store knows about an experiment, as unseen.benchmark.results describes it."""
    counts = {
        "train": [6, 6, 0],
        "seen_val": [2, 2, 0],
        "val": [0, 0, 0],
        "test_seen": [4, 4, 0],
        "test": [0, 0, 4],
    }
    return {
        "dataset": "toy",
        "source": "toy.npz",
        "features": "res101",
        "split_dir": None,
        "split_rule": "official",
        "gamma": "paper",
        "name": "toy",
        "checksum": "c" * 16,
        "split_checksum": "s" * 16,
        "n_samples": 24,
        "n_features": 5,
        "n_attributes": 2,
        "n_classes": 3,
        "n_unseen_classes": 1,
        "class_names": ["a", "b", "c"],
        "unseen": [0, 0, 1],
        "counts": {"train": 12, "test_seen": 8, "test_unseen": 4},
        "folds": [{part: [sum(n), sum(v > 0 for v in n)] for part, n in counts.items()}],
        "class_counts": [counts],
        "published": None,
        **changes,
    }
