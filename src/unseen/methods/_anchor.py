"""Descriptions in the space of the features: remove the gap between the two, then learn the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.errors import UnseenError

Grid = Mapping[str, Sequence[Any]]


class GridByAnchor:
    """A ``default_grid`` that differs for anchored models."""

    def __init__(self, plain: Grid, anchored: Grid) -> None:
        self.plain, self.anchored = plain, anchored

    def __get__(self, model: Any, owner: type) -> Grid:
        """Return the grid of a model, or that of plain models for the class itself."""
        return self.anchored if model is not None and model.anchor else self.plain


def check_anchor(anchor: str | None, normalize: str | None) -> None:
    """Raise an error for values of ``anchor`` and ``normalize`` that do not go together."""
    if anchor not in ("prototype", None):
        raise UnseenError(f"Got anchor={anchor!r}, but expected 'prototype' or None.")
    if anchor and normalize != "l2":
        raise UnseenError(
            f"Got normalize={normalize!r}, but anchor='prototype' compares directions of samples and "
            "prototypes: expected normalize='l2'."
        )


def centered_texts(S: FloatArray, seen: FloatArray) -> FloatArray:
    """Return prototypes S minus the mean of the seen ones, which then have length 1 on average."""
    length = float(np.linalg.norm(seen, axis=1).mean()) or 1.0
    return np.asarray((S - seen.mean(axis=0)) / length)  # (classes, features)


def scale_between(T: FloatArray, M: FloatArray) -> float:
    """Return the b with the least ``||M - b T||``, 1 if T is zero.

    >>> scale_between(np.array([[1.0], [-1.0]]), np.array([[3.0], [-3.0]]))
    3.0
    """
    # b = <M, T> / <T, T>
    return float(np.vdot(T, M) / np.vdot(T, T)) if T.any() else 1.0
