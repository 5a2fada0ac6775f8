"""Fixtures shared by all tests: the command, a browser, and real data where they can be found."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from unittest import mock

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
Completed = subprocess.CompletedProcess[str]

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core has one thread
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# a shell has what runs in the background ignore Ctrl-C, and children would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)


def use_other_seeds(seed: int) -> None:
    """Have tests draw other samples: of the seeds that tests write, not of those in the library.

    A test that needs the very numbers the library draws takes ``np.random.Generator(np.random.PCG64(seed))``.
    """
    import numpy as np  # not before the number of threads is set

    tests, original = str(ROOT / "tests"), np.random.default_rng
    if isinstance(original, FunctionType):
        return  # done already: tests that import conftest run it a second time

    def default_rng(given: object = None):
        by_test = sys._getframe(1).f_code.co_filename.startswith(tests)
        return original([given, seed] if by_test and isinstance(given, int) else given)

    np.random.default_rng = default_rng


if other := int(os.environ.get("UNSEEN_TEST_SEED", "0")):
    use_other_seeds(other)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of a file in one worker, so that what they share is made once; slow ones in any."""
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("xdist_group", "slow")):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what is imported and collected: it stays to the end anyway."""
    gc.collect()
    gc.freeze()


def find_data() -> Path | None:
    """Return the folder of real data: $UNSEEN_DATA, else ../shared/data beside the project, else None."""
    for candidate in (os.environ.get("UNSEEN_DATA"), ROOT.parent / "shared" / "data"):
        if candidate and Path(candidate).is_dir():
            return Path(candidate)
    return None


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with xlsa17, paper_splits and images; the test skips where it is absent."""
    folder = find_data()
    if folder is None:
        pytest.skip("no real data: set UNSEEN_DATA to a folder with xlsa17/, paper_splits/ and images/")
    return folder


@pytest.fixture(scope="session")
def run():
    """Run ``unseen ...`` in this process; returns exit code, stdout and stderr as ``subprocess.run`` does."""
    from unseen.cli import main

    def call(*arguments: object, cwd: object = None, env: dict[str, str] | None = None) -> Completed:
        command = ["unseen", *map(str, arguments)]
        with (
            contextlib.chdir(cwd or "."),
            mock.patch.dict(os.environ, env or {}),
            mock.patch.object(sys, "argv", command),
        ):
            done = CliRunner().invoke(main, command[1:], prog_name="unseen")
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Completed(command, done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def run_process():
    """Run ``unseen ...`` in a process of its own, for what only a new interpreter proves."""

    def call(*arguments: object, **options: object) -> Completed:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **options.pop("env", {})}
        command = [sys.executable, "-m", "unseen", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=600, **options
        )

    return call


@pytest.fixture(scope="module")  # while Playwright runs, no other event loop can
def browser():
    """Chromium: $CHROMIUM, the system's, or the one that Playwright installed."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    own = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=own, args=arguments)
        except api.Error as error:
            pytest.skip(
                f"no browser: install chromium, or set CHROMIUM to one ({str(error).splitlines()[0]})"
            )
        yield browser
        browser.close()
