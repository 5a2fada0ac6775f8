"""What methods compute from the same training samples, held by whoever fits them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from unseen._core.blocks import IndexArray
from unseen._core.rows import Rows

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Remainder:
    """Training samples that are all samples but some: what is known of all, and those that are left out."""

    moments: Mapping[str | None, Any]  # Moments of all samples, by normalize
    left_out: Rows  # fewer than the training samples
    y: IndexArray  # (left out,), their classes, as rows of the moments


class Workspace:
    """Intermediate results of one set of training samples: sums, spectra, scaled rows.

    Whoever fits several methods (or several seeds of one) on the same samples makes one and passes it to each
    ``fit_path``; then the second method finds what the first has computed. Samples, labels, weights and
    classes must be the same each time, and nothing checks that. Parts of the samples, such as the training
    parts of folds, have a workspace each, by name. A copy in another process starts empty.

    Parameters
    ----------
    remainder : Remainder, optional
        If these are all samples of another workspace but a few: what to subtract from its sums.

    Examples
    --------
    >>> from unseen import ESZSL, LinearVS
    >>> from unseen.datasets import load_dataset
    >>> data = load_dataset("digits")
    >>> train = data.seen[data.y]
    >>> workspace = Workspace()
    >>> for method in (LinearVS(data.prototypes), ESZSL(data.prototypes)):  # one X'X, one factorization
    ...     models = list(method.fit_path(data.X[train], data.y[train], [{}], workspace=workspace))
    >>> fold = workspace.part("fold 0")  # empty, for the training samples of a fold
    >>> fold is workspace.part("fold 0")
    True
    """

    def __init__(self, remainder: Remainder | None = None) -> None:
        self.remainder = remainder
        self._known: dict[Hashable, Any] = {}
        self._parts: dict[Hashable, Workspace] = {}

    def part(self, name: Hashable) -> Workspace:
        """Return the workspace of a part of the samples, always the same one for one name."""
        return self._parts.setdefault(name, Workspace())

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``compute`` returns, called for the first time with this key alone."""
        if key not in self._known:
            self._known[key] = compute()
        found: T = self._known[key]
        return found

    def __reduce__(self) -> tuple[type[Workspace], tuple[Remainder | None]]:
        return Workspace, (self.remainder,)
