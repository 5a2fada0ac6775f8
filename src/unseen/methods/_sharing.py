"""Sums, spectra and scaled rows of the same training samples, computed once for several methods or runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.training import Training
from unseen.methods._dual import in_few_directions
from unseen.methods._moments import Moments, Spectrum

_MOST = 6  # training sets of an experiment: three folds, two parts, and all
_MOST_ROWS = 4  # the same without the parts: scaled rows take as much memory as the samples
_SMALL = 2**26  # bytes up to which more are kept: where classes are few, rehearsals train on many small sets


@dataclass(frozen=True)
class ScaledRows:
    """Features as the ranking methods train on them, ``(x - shift) / scale``, in the order of the samples."""

    X: FloatArray  # (samples, features), float32
    shift: FloatArray  # (features,)
    scale: float

    @cached_property
    def Z(self) -> FloatArray:
        """The same in few directions (samples, directions)."""
        return in_few_directions(self.X)


@dataclass
class SharedSums:
    """What methods have computed from the training sets of one experiment."""

    moments: dict[bytes, Moments] = field(default_factory=dict)  # by the digest of the training set
    spectra: dict[int, Spectrum] = field(default_factory=dict)  # by the identity of a Gram matrix above
    rows: dict[bytes, ScaledRows] = field(default_factory=dict)  # by the digest of the training set

    def keep(self, key: bytes, moments: Moments) -> None:
        """Add moments, and forget the oldest ones where there are too many."""
        too_many = max(0, len(self.moments) + 1 - _MOST)
        for old in [key] if key in self.moments else list(self.moments)[:too_many]:
            self.spectra.pop(id(self.moments.pop(old).gram), None)
        self.moments[key] = moments

    def make_room(self, size: int) -> None:
        """Forget the oldest scaled rows while those of one more training set, so many bytes, are too many."""
        while len(self.rows) >= _MOST_ROWS and size + sum(r.X.nbytes for r in self.rows.values()) > _SMALL:
            del self.rows[next(iter(self.rows))]


_active: ContextVar[SharedSums | None] = ContextVar("shared_sums", default=None)
_kept: dict[str, SharedSums] = {}  # of the last experiment in this process


@contextmanager
def share_sums(experiment: str | None = None) -> Iterator[None]:
    """Let methods share what they compute, in this block and, with a name, in later ones of the same name."""
    if experiment is None:
        sums = SharedSums()
    else:
        if experiment not in _kept:
            _kept.clear()
        sums = _kept.setdefault(experiment, SharedSums())
    token = _active.set(sums)
    try:
        yield
    finally:
        _active.reset(token)


def shared_moments(training: Training, gram: bool, compute: Callable[[], Moments]) -> Moments:
    """Return the moments of training samples: those of an equal training set, where they are shared."""
    shared = _active.get()
    if shared is None or not isinstance(training.X, np.ndarray):
        return compute()
    key = _digest(training)
    found = shared.moments.get(key)
    if found is None or (gram and found.gram is None):
        found = compute()
        shared.keep(key, found)
    return found if gram else replace(found, gram=None)


def shared_rows(training: Training, compute: Callable[[], ScaledRows]) -> ScaledRows | None:
    """Return the scaled rows of training samples where they are shared, for all seeds; None elsewhere."""
    shared = _active.get()
    if shared is None or not isinstance(training.X, np.ndarray):
        return None
    key = _digest(training)
    if key not in shared.rows:
        shared.make_room(4 * training.X.size)  # float32
        shared.rows[key] = compute()
    return shared.rows[key]


def feature_spectrum(moments: Moments, spectrum: Spectrum | None) -> Spectrum:
    """Return the given spectrum of X'X, or factorize the Gram matrix of the moments, once if it is shared."""
    if spectrum is not None:
        return spectrum
    gram, shared = moments.gram, _active.get()
    assert gram is not None
    if shared is None or not any(known.gram is gram for known in shared.moments.values()):
        return Spectrum.of_gram(gram)
    if id(gram) not in shared.spectra:
        shared.spectra[id(gram)] = Spectrum.of_gram(gram)
    return shared.spectra[id(gram)]


def _digest(training: Training) -> bytes:
    """Return a hash of all that moments depend on."""
    known = hashlib.sha1(usedforsecurity=False)  # the fastest one here; not used for security
    known.update(repr((training.X.shape, training.X.dtype, training.normalize, len(training.S))).encode())
    standard = training.standard
    scaling = (None, None) if standard is None else (standard.mean, standard.scale)
    for array in (training.X, training.y, training.weight, *scaling):
        known.update(b"-" if array is None else np.ascontiguousarray(array).data)
    return known.digest()
