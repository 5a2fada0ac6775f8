"""Methods that misbehave, for tests of the bench; used by name as ``fake_methods:Name``."""

from __future__ import annotations

import os
import signal
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from unseen.methods.linear import LinearSV


class Chance(LinearSV):
    """A quick method whose result depends on its seed."""

    stochastic = True

    def __init__(self, prototypes: Any = None, *, alpha=1e-3, normalize="l2", random_state=None) -> None:
        super().__init__(prototypes, alpha=alpha, normalize=normalize)
        self.random_state = random_state

    def _set_mapping(self, mapping):
        noise = np.random.default_rng(self.random_state).normal(size=mapping.shape)
        return super()._set_mapping(mapping * (1 + 0.3 * noise))


class Failing(LinearSV):
    """A method with a mistake in it."""

    def fit_path(self, X, y, params, **options):
        raise ZeroDivisionError("one half of nothing")


class Dying(LinearSV):
    """A method whose process is killed, as the kernel does when memory runs out."""

    def fit_path(self, X, y, params, **options):
        os._exit(137)


class Slow(Chance):
    """A method that takes its time."""

    def fit_path(self, X, y, params, **options):
        time.sleep(0.3)
        return super().fit_path(X, y, params, **options)


class Warning(LinearSV):
    """A method that is not sure of itself."""

    def fit_path(self, X, y, params, **options):
        warnings.warn("not quite there", stacklevel=2)
        return super().fit_path(X, y, params, **options)


class Threads(LinearSV):
    """A method that tells how many threads its linear algebra has."""

    def fit_path(self, X, y, params, **options):
        libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
        warnings.warn(f"{max(library['num_threads'] for library in libraries)} threads", stacklevel=2)
        return super().fit_path(X, y, params, **options)


class Deaf(LinearSV):
    """A method that is lost in one long call of linear algebra and hears no signal."""

    def fit_path(self, X, y, params, **options):
        A = np.random.default_rng(0).normal(size=(4000, 4000))
        np.linalg.eigh(A + A.T)
        return super().fit_path(X, y, params, **options)


class Hungry(LinearSV):
    """A method that asks for more memory than there is."""

    def fit_path(self, X, y, params, **options):
        np.empty(2**60, dtype=np.uint8)


class Killed(LinearSV):
    """A method whose process the kernel kills, as it does when memory runs out."""

    def fit_path(self, X, y, params, **options):
        os.kill(os.getpid(), signal.SIGKILL)
