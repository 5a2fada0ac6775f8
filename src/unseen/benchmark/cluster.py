"""A bench on a Dask cluster that somebody else has started; joblib's Dask back end does the sending."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from unseen import __version__
from unseen.benchmark.experiment import Setting
from unseen.errors import UnseenError, need_extra

_PATIENCE = 10  # seconds to wait for the scheduler, and for a first worker


@contextmanager
def dask_cluster(address: str, settings: Sequence[Setting]) -> Iterator[int]:
    """Run joblib calls inside the block on the cluster; yields the number of its threads.

    Every setting is sent to every worker once, at the beginning. A worker that dies is replaced by the
    others; what ends the block early is the loss of the scheduler.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://host:8786``.
    settings : sequence of Setting
        The data that the calls will have as arguments.
    """
    with _silence("distributed.client"), _connect(address) as client:
        _check_workers(client, address)
        try:
            with parallel_config("dask", client=client, scatter=list(settings)):
                yield sum(client.ncores().values())
        except Exception as error:
            if client.status == "running":
                raise
            raise UnseenError(
                f"Lost the Dask scheduler at {address}. What has finished is stored: the same command goes "
                "on from there, with a new --cluster, or without it on this machine."
            ) from error


@contextmanager
def _silence(name: str) -> Iterator[None]:
    """Keep a logger quiet: what it would say, with tracebacks, is said once in our own words."""
    logger = logging.getLogger(name)
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise need_extra("distributed", "dask", "--cluster") from error
    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UnseenError(
            f"No Dask scheduler answers at {address} ({error}). Start one with: dask scheduler; then one or "
            f"more workers with: dask worker {address} --nthreads 1"
        ) from error


def _check_workers(client: Any, address: str) -> None:
    """Wait for a worker, and refuse workers that would compute something else."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        versions = client.run(worker_version)
    except TimeoutError as error:
        raise UnseenError(
            f"The Dask scheduler at {address} has no workers. Start some with: dask worker {address}"
        ) from error
    except ModuleNotFoundError as error:
        raise UnseenError(f"The workers of {address} cannot import unseen: install it there too.") from error
    others = set(versions.values()) - {__version__}
    if others:
        raise UnseenError(
            f"Here is unseen {__version__}, but workers of {address} have {', '.join(sorted(others))}. "
            "Install the same version everywhere."
        )


def worker_version() -> str:
    """Return the version of this package where it runs."""
    return __version__
