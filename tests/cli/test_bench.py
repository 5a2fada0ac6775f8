"""The command: one object or tables on stdout, words on stderr, and nothing lost when it is killed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import ROOT
from unseen import __version__
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import make_run
from unseen.benchmark.store import STORE_FILE, Store
from unseen.cli import main
from unseen.methods import METHODS

pytestmark = pytest.mark.xdist_group("processes")

QUICK = "linear-vs,linear-sv,sae,eszsl"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """A run folder with four methods on letters, and what the command printed."""
    folder = tmp_path_factory.mktemp("bench")
    done = run("bench", "--methods", QUICK, "--out", folder, "--jobs", 1, "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout), done.stderr


def call(*arguments):
    """Call the command inside this process."""
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


def numbers(document):
    """The summary without times, which are never twice the same."""
    if isinstance(document, dict):
        return {k: numbers(v) for k, v in document.items() if k != "seconds"}
    return [numbers(v) for v in document] if isinstance(document, list) else document


def test_json_is_one_object_as_documented(folder):
    _, document, _ = folder
    assert document["dataset"] == "letters"
    assert list(document["methods"]) == ["linear-vs", "linear-sv", "eszsl", "sae"]
    for method in document["methods"].values():
        for step in ("none", "calibrated", "calibrated+lambda"):
            for letter in "HUS":
                for weights in ("per_class", "per_sample"):
                    value = method["gzsl"][step][letter][weights]
                    assert 0 <= value["mean"] <= 100
                    assert value["std"] == 0.0  # these methods are deterministic
        assert set(method["zsl"]) == {"per_class", "per_sample"} == set(method["ausuc"])
        assert 0 <= method["ausuc"]["per_sample"]["mean"] <= 1
        assert isinstance(method["gamma"], float)
        assert isinstance(method["seconds"], float)
        assert "alpha" in method["params_zsl"]
        assert "alpha" in method["params_gzsl"]
        assert len(method["runs"]) == 1


def test_words_and_progress_go_to_stderr(folder):
    path, _, words = folder
    assert "4/4 runs" in words
    assert f"stored in {path}" in words


@pytest.mark.parametrize(
    ("style", "mark"),
    [("table", "Linear S->V"), ("markdown", "| ---"), ("csv", "std")],
)
def test_formats_come_from_the_store(folder, style, mark):
    done = call("--methods", QUICK, "--out", folder[0], "--format", style, "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert mark in done.stdout


def test_names_of_methods_may_be_in_any_case(folder):
    done = call("--methods", QUICK.upper(), "--out", folder[0], "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    assert numbers(json.loads(done.stdout)) == numbers(folder[1])


def test_embedded_data_claims_no_features(folder):
    assert folder[1]["experiment"]["features"] is None
    assert "res101" not in json.dumps(folder[1])


def test_every_stored_run_says_what_it_rests_on(folder):
    path = folder[0]
    with Store(path) as store:
        (command, *_) = store.commands()
        experiments, runs = store.experiments(), [run for run, _ in store.runs()]
        for run in runs:
            result, described = store.result(run.key), experiments[run.experiment]
            assert (result["seed"], result["method"]) == (run.seed, run.method)
            assert result["version"] == __version__
            assert result["grid"]["alpha"]
            assert len(described["checksum"]) == len(described["split_checksum"]) == 16
            assert (described["split_rule"], described["gamma"]) == ("official", "retention")
            assert run.key == make_run(Experiment.load("letters"), run.method, run.seed).key
    assert len(runs) == 4
    assert command["arguments"] == ["bench", "--methods", QUICK, "--out", str(path), "--jobs", "1", "--json"]
    assert command["versions"]["numpy"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "esszl"], "Did you mean 'eszsl'?"),
        (["digit"], "digits"),
        (["--seeds", "0"], "0 is not in the range"),
        (["--jobs", "2", "--cluster", "tcp://nowhere:1"], "--jobs and --cluster are mutually exclusive"),
        (["--methods", "sae,,ale"], "empty name"),
        (["digits", "--split-dir", "somewhere"], "split_dir"),
    ],
)
def test_what_the_user_got_wrong_is_one_line_and_exit_2(tmp_path, arguments, words):
    done = call(*arguments, "--out", tmp_path / "run")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_failed_method_ends_in_exit_1_and_the_rest_is_printed(run, tmp_path):
    done = run(
        "bench",
        "--methods",
        "fake_methods:Failing,linear-sv",
        "--out",
        tmp_path,
        "--jobs",
        1,
        env=ENVIRONMENT,
    )
    assert done.returncode == 1
    assert "Linear S->V" in done.stdout
    assert "failed: fake_methods:Failing seed 0: ZeroDivisionError: one half of nothing" in done.stderr
    assert "1 of 2 runs failed" in done.stderr
    assert "Traceback" not in done.stderr


def wait_for_runs(path, n):
    """Wait until a store holds n runs and its writer is somewhere in the next one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists():
            with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.OperationalError):
                if connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0] >= n:
                    return time.sleep(0.1)
        time.sleep(0.02)
    return None


def test_a_method_of_ones_own_lies_in_the_working_directory(tmp_path):
    (tmp_path / "mine.py").write_text("from unseen import LinearSV\nclass Mine(LinearSV):\n    pass\n")
    command = [sys.executable, "-P", "-m", "unseen", "bench", "--methods", "mine:Mine", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mine:Mine" in done.stdout
    assert (tmp_path / "runs" / "letters" / STORE_FILE).exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_with_a_summary(forks, birds, tmp_path, jobs):
    methods = ("--methods", "fake_methods:Slow", "--seeds", 50, "--jobs", jobs)
    fork = forks.start("bench", birds, *methods, "--out", tmp_path)
    wait_for_runs(tmp_path / STORE_FILE, 1)
    done = fork.interrupt()
    assert done.seconds < 5  # two seconds on a machine with nothing else to do
    assert (done.returncode, done.stdout) == (130, "")
    assert "of 50 runs are stored" in done.stderr
    assert done.stderr.strip().endswith("the same command continues.")  # nothing else has the last word
    assert "Traceback" not in done.stderr


def test_two_benches_share_a_folder(forks, birds, tmp_path):
    """One in a process of its own, one in this process, at the same time."""
    methods = ("--methods", "fake_methods:Chance,linear-sv", "--seeds", 3, "--jobs", 1)
    arguments = (birds, *methods, "--json", "--out", tmp_path)
    fork = forks.start("bench", *arguments)
    here, there = call(*arguments), fork.wait()
    assert (here.exit_code, there.returncode) == (0, 0), (here.stderr, there.stderr)
    assert numbers(json.loads(here.stdout)) == numbers(json.loads(there.stdout))
    with Store(tmp_path) as store:
        assert len(store.runs()) == 4


def test_help_names_every_method_within_80_columns():
    done = call("--help")
    assert "unseen bench letters" in done.stdout
    text = "".join(done.stdout.split())  # a name may be broken at its hyphen
    assert all(name in text for name in METHODS)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_several_data_sets_are_one_list(tmp_path):
    done = call("digits", "synthetic", "--methods", "linear-sv", "--out", tmp_path, "--jobs", 1, "--json")
    assert done.exit_code == 0, done.stderr
    assert [d["dataset"] for d in json.loads(done.stdout)["experiments"]] == ["digits", "synthetic"]


def test_help_lists_the_methods():
    done = call("--help")
    words = "".join(done.stdout.split())  # a long name may be wrapped
    assert all(name in words for name in METHODS)


def test_own_images_with_a_typed_table(run, tmp_path):
    """Extracted features, a table of descriptions and the names of unseen classes make a bench."""
    rng = np.random.default_rng(0)
    names = np.array(["auk", "bee", "cat", "doe", "eel", "fox", "gnu", "hen"])
    S, y = rng.normal(size=(8, 4)), np.repeat(np.arange(8), 12)
    X = S[y] @ rng.normal(size=(4, 6)) + 0.2 * rng.normal(size=(96, 6))
    np.savez(tmp_path / "zoo.npz", X=X, y=y, class_names=names)
    rows = [f"{name},{','.join(map(str, row))}" for name, row in zip(names, S)]
    (tmp_path / "zoo.csv").write_text("\n".join(["class,a,b,c,d", *rows]))
    options = ["zoo.npz", "--prototypes", "zoo.csv", "--unseen", "gnu, hen", "--methods", "linear-sv"]
    done = run("bench", *options, "--out", "zoo", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["methods"]["linear-sv"]["zsl"]["per_class"]["mean"] > 50


def test_several_files_describe_the_classes(tmp_path, monkeypatch):
    """Two tables side by side are one longer description, as in fit."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = np.array(["auk", "bee", "cat", "doe", "eel", "fox", "gnu", "hen"])
    S, y = rng.normal(size=(8, 4)), np.repeat(np.arange(8), 12)
    X = S[y] @ rng.normal(size=(4, 6)) + 0.2 * rng.normal(size=(96, 6))
    np.savez("zoo.npz", X=X, y=y, class_names=names)
    for file, columns in (("first.csv", (0, 1)), ("second.csv", (2, 3))):
        rows = [f"{name},{','.join(str(S[i, c]) for c in columns)}" for i, name in enumerate(names)]
        Path(file).write_text("\n".join([f"class,{file[0]}1,{file[0]}2", *rows]))
    options = ["--prototypes", "first.csv", "--prototypes", "second.csv", "--unseen", "gnu,hen"]
    done = call("zoo.npz", *options, "--methods", "linear-sv", "--jobs", 1, "--out", "zoo", "--json")
    assert done.exit_code == 0, done.stderr
    described = json.loads(done.stdout)["experiment"]
    assert described["n_attributes"] == 4


def test_the_retention_rule_is_a_choice_of_its_own(tmp_path):
    options = ["--methods", "linear-sv", "--jobs", 1, "--out", tmp_path, "--json", "--quiet"]
    paper, retention = (json.loads(call(*options, "--gamma", rule).stdout) for rule in ("paper", "retention"))
    assert [found["experiment"]["gamma"] for found in (paper, retention)] == ["paper", "retention"]
    assert paper["methods"]["linear-sv"]["gamma"] != retention["methods"]["linear-sv"]["gamma"]
    assert paper["methods"]["linear-sv"]["zsl"] == retention["methods"]["linear-sv"]["zsl"]


def test_what_is_named_twice_runs_once(tmp_path):
    arguments = ["bench", "letters", "letters", "--methods", "linear-vs", "--normalize", "l2,l2", "--json"]
    done = CliRunner().invoke(main, [*arguments, "--quiet", "--gamma", "paper", "--out", str(tmp_path / "r")])
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["methods"]["linear-vs"]["runs"]) == 1
