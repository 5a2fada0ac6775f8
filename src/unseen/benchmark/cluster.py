"""A bench on a running Dask cluster, through joblib's Dask back end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from unseen import __version__
from unseen.benchmark.experiment import Experiment
from unseen.errors import UnseenError, need_extra

_PATIENCE = 10  # seconds to wait for the scheduler, and for a first worker


@contextmanager
def dask_cluster(address: str, experiments: Sequence[Experiment]) -> Iterator[int]:
    """Run joblib calls inside the block on the cluster; yields the number of its threads.

    Every experiment is sent to every worker once, at the start. The runs of a worker that dies go to the
    others; only the loss of the scheduler ends the block early.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://host:8786``.
    experiments : sequence of Experiment
        What the calls will have as arguments.
    """
    with _silence("distributed.client"), _connect(address) as client:
        _check_workers(client, address)
        try:
            with parallel_config("dask", client=client, scatter=list(experiments)):
                yield sum(client.ncores().values())
        except Exception as error:
            if client.status == "running":
                raise
            raise UnseenError(
                f"Lost the Dask scheduler at {address}. What has finished is stored: the same command "
                "continues from there, with a new --cluster, or without it on this machine."
            ) from error


@contextmanager
def _silence(name: str) -> Iterator[None]:
    """Keep a logger quiet; its errors, which come with tracebacks, are reported once in our own words."""
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
    connect: Any = Client  # distributed has no types
    try:
        return connect(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UnseenError(
            f"No Dask scheduler answers at {address} ({error}). Start one with: dask scheduler; then one or "
            f"more workers with: dask worker {address} --nthreads 1"
        ) from error


def _check_workers(client: Any, address: str) -> None:
    """Wait for a worker, and refuse workers with another version of this package."""
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
            f"This is unseen {__version__}, but workers of {address} have {', '.join(sorted(others))}. "
            "Install the same version everywhere."
        )


def worker_version() -> str:
    """Return the version of this package where it runs."""
    return __version__
