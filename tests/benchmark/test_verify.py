"""Verifying a store: what was stored is computed again, from the same data or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import small_data as small
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.store import Store
from unseen.benchmark.verify import check_run
from unseen.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A store with the runs of one method on a file, and the file."""
    folder = tmp_path_factory.mktemp("verify")
    small.write_npz(folder / "own.npz")
    options = ["--methods", "fake_methods:Chance", "--seeds", "5", "--jobs", "1", "--quiet"]
    done = call(folder / "own.npz", *options, "--out", folder / "run")
    assert done.exit_code == 0, done.stderr
    return folder / "run", folder / "own.npz"


def call(*arguments):
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


def verify(folder):
    return call("--verify", folder, "--methods", "fake_methods:Chance")


def test_a_random_sample_is_computed_again(run, monkeypatch):
    done = verify(run[0])
    assert (done.exit_code, done.stdout.count("the same")) == (0, 3)
    monkeypatch.setattr("unseen.benchmark.verify.check_run", lambda *run: [])  # which ones is the question
    samples = {tuple(sorted(verify(run[0]).stdout.splitlines())) for _ in range(8)}
    assert len(samples) > 1  # the chance that all eight are the same is 1e-7


def test_every_number_is_compared(run):
    with Store(run[0]) as store:
        key, name = next(iter(store.experiments())), store.runs()[0][0]
        stored = next(r for r in store.results(key) if (r["method"], r["seed"]) == (name.method, name.seed))
    experiment = Experiment.load(str(run[1]))
    assert check_run(name, stored, experiment) == []
    assert check_run(name, stored | {"gamma": -7.0}, experiment)[0].startswith("gamma: stored -7.0")


@pytest.mark.parametrize("name", ["X", "y", "prototypes"])
def test_data_that_has_changed_is_refused(run, name):
    folder, path = run
    whole = path.read_bytes()
    with np.load(path) as file:
        content = dict(file)
    content[name][[0, 1]] = content[name][[1, 0]]
    if name == "y":
        content["y"] = np.roll(content["y"], 1)
    try:
        np.savez(path, **content)
        done = verify(folder)
    finally:
        path.write_bytes(whole)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is no longer the data of the stored runs: checksum" in done.stderr
