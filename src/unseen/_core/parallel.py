"""Calls that run wherever joblib's back end is: processes here, a Dask or a Ray cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from joblib import Parallel
from joblib.parallel import get_active_backend


def results(calls: Iterable[Any], n_jobs: int | None, *, ordered: bool = True) -> Iterator[Any]:
    """Yield the results of delayed calls as they come, in order or as they end.

    A back end that cannot give back results one by one, such as Ray's, gives all of them at the end.

    >>> from joblib import delayed
    >>> list(results([delayed(abs)(-1), delayed(abs)(-2)], n_jobs=1))
    [1, 2]
    """
    backend, _ = get_active_backend()
    kind = "generator" if ordered else "generator_unordered"
    kind = kind if backend.supports_return_generator else "list"
    yield from Parallel(n_jobs=n_jobs, batch_size=1, return_as=kind)(calls)


def dependent() -> dict[str, Any]:
    """Return the options of joblib's processes that leave the end to this one, and end with it."""
    return {"initializer": _depend_on, "initargs": (os.getpid(),)}


def _depend_on(parent: int) -> None:
    """Ignore Ctrl-C, which the parent handles; end this process when its parent has ended, however it did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
