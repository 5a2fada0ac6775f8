"""What the tests of commands share: a server that forks commands, and small data that they read fast."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_data as small
from forks import Forks


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """The server of commands that can be killed; one for all tests of the group "processes"."""
    with Forks(tmp_path_factory.mktemp("output")) as server:
        yield server


@pytest.fixture(scope="session")
def birds(tmp_path_factory) -> Path:
    """A data set that is read in no time."""
    return small.write_npz(tmp_path_factory.mktemp("birds") / "birds.npz")
