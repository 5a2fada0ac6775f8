"""Calls that run wherever joblib's backend is: in processes here, on a Dask or a Ray cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from os import _exit
from typing import Any

from joblib import Parallel
from joblib.parallel import get_active_backend


def results(calls: Iterable[Any], n_jobs: int | None, *, ordered: bool = True) -> Iterator[Any]:
    """Yield the results of delayed calls one by one, in their order or as they finish.

    A backend that cannot return results one by one, such as Ray's, returns all of them at the end.

    >>> from joblib import delayed
    >>> list(results([delayed(abs)(-1), delayed(abs)(-2)], n_jobs=1))
    [1, 2]
    """
    backend, _ = get_active_backend()
    kind = "generator" if ordered else "generator_unordered"
    kind = kind if backend.supports_return_generator else "list"
    yield from Parallel(n_jobs=n_jobs, batch_size=1, return_as=kind)(calls)


def dependent() -> dict[str, Any]:
    """Return options for joblib's worker processes: they ignore Ctrl-C, and exit when this process exits."""
    return {"initializer": _depend_on, "initargs": (os.getpid(),)}


def _depend_on(parent: int) -> None:
    """Ignore Ctrl-C, which the parent handles; exit when the parent has exited, for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        _exit(1)

    threading.Thread(target=watch, daemon=True).start()
