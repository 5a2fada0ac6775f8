"""Anchored methods: start from zero-shot classification, and learn only what it gets wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unseen._core.blocks import FloatArray
from unseen._core.scaling import scale_rows
from unseen.errors import UnseenError
from unseen.methods._closed_form import ClosedForm

Grid = Mapping[str, Sequence[Any]]
ZERO_SHOT = 1e9  # an alpha that leaves the prototypes where they are


class GridByAnchor:
    """A ``default_grid`` that differs for anchored models: their grid also holds zero-shot classification.

    So the best element of the grid is never worse than zero-shot classification on the folds.
    """

    def __init__(self, plain: Grid, anchored: Grid) -> None:
        self.plain = plain
        self.anchored = anchored

    def __get__(self, model: Anchorable | None, owner: type[Anchorable]) -> Grid:
        """Return the grid of a model, or that of plain models for the class itself."""
        return self.anchored if model is not None and model.anchor else self.plain


class Anchorable(ClosedForm):
    """A regression from descriptions to class means that ``anchor="identity"`` turns into one of differences.

    The prototypes, of unit length, are then points in the space of the features, and what is learned is the
    way from a prototype to the mean of its class.
    """

    anchor: str | None

    def _shares_space(self) -> bool:
        return self.anchor is not None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.anchor not in ("identity", None):
            raise UnseenError(f"Got anchor={self.anchor!r}, but expected 'identity' or None.")
        if self.anchor and self.normalize != "l2":
            raise UnseenError(
                f"Got normalize={self.normalize!r}, but anchor='identity' compares samples and prototypes "
                "of unit length: expected normalize='l2'."
            )

    def _check_space(self, S: FloatArray, n_features: int) -> None:
        if self.anchor and (self.prototypes is None or S.shape[1] != n_features):
            given = "none were given" if self.prototypes is None else f"prototypes has {S.shape[1]} columns"
            raise UnseenError(
                f"anchor='identity' needs prototypes in the space of the features, but {given} and X has "
                f"{n_features} features. Pass embeddings of one space, or leave anchor out."
            )

    def _placed(self, S: FloatArray) -> FloatArray:
        """Return the prototypes as the regression takes them: of unit length where they are anchors."""
        return scale_rows(S, "l2") if self.anchor else S
