"""A bench on a real Dask cluster: a scheduler and two workers, processes of their own on this machine."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from conftest import ROOT
from problems import LEARNED, small_experiment
from unseen import UnseenError
from unseen.benchmark.cluster import cluster_outcomes
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.runner import plan, run_bench
from unseen.benchmark.store import STORE_FILE, Store

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("processes")
slow = pytest.mark.slow

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
    "OMP_NUM_THREADS": "1",
}


class Cluster:
    """A scheduler and some workers, started as a user would, that can be killed one by one."""

    def __init__(self, folder, workers=2):
        self.file = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", self.file]
        self.scheduler = self._start("dask_scheduler", *options)
        wait_for(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]
        self.folder, self.workers = folder, []
        for _ in range(workers):
            self.add_worker()

    def add_worker(self):
        folder = self.folder / str(len(self.workers))
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", folder]
        self.workers.append(self._start("dask_worker", self.address, *options))

    def _start(self, program, *options):
        command = [sys.executable, "-m", f"distributed.cli.{program}", *map(str, options)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=ENVIRONMENT, **quiet)

    def stop(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture
def own_cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def bench(*arguments):
    command = [sys.executable, "-m", "unseen", "bench", *map(str, arguments), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, env=ENVIRONMENT)


def finish(process):
    output, words = process.communicate(timeout=900)
    return process.returncode, output, words


def numbers(document):
    """What was printed without times, which are never twice the same."""
    if isinstance(document, dict):
        return {k: numbers(v) for k, v in document.items() if k != "seconds"}
    return [numbers(v) for v in document] if isinstance(document, list) else document


def stored(folder):
    """How many runs a folder holds by now."""
    if not (folder / STORE_FILE).is_file():
        return 0
    with Store(folder) as store:
        return len(store.runs())


@slow
def test_same_numbers_as_on_this_machine(shared_cluster, tmp_path):
    what = ["digits", "--methods", ",".join(LEARNED), "--seeds", 1]
    code, remote, words = finish(bench(*what, "--cluster", shared_cluster.address, "--out", tmp_path / "r"))
    assert code == 0, words
    code, local, words = finish(bench(*what, "--jobs", 1, "--threads", 1, "--out", tmp_path / "l"))
    assert code == 0, words
    assert numbers(json.loads(remote)) == numbers(json.loads(local))


@slow
def test_data_is_sent_once_and_not_with_every_run(shared_cluster, tmp_path, monkeypatch):
    before = received(shared_cluster.address)
    experiment = Experiment.load("digits")
    pickled = []
    reduce = object.__reduce_ex__
    monkeypatch.setattr(
        Experiment, "__reduce_ex__", lambda self, version: pickled.append(1) or reduce(self, version)
    )
    tasks = plan([experiment], ["fake_methods:Chance"], 8)
    with Store(tmp_path, create=True) as store:
        report = run_bench(tasks, store, quiet=True, cluster=shared_cluster.address)
    assert report.done == 8
    assert len(pickled) == 1
    after = received(shared_cluster.address)
    assert max(after[worker] - before.get(worker, 0) for worker in after) <= 1  # some may have joined since


def received(address):
    """How often each worker has got something from another one; only data of experiments travels."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return client.run(lambda dask_worker: dask_worker.state.transfer_incoming_count_total)


@slow
def test_an_error_of_a_method_is_a_failed_run(shared_cluster, tmp_path):
    tasks = plan([Experiment.load("digits")], ["fake_methods:Failing", "linear-sv"], 1)
    with Store(tmp_path, create=True) as store:
        report = run_bench(tasks, store, quiet=True, cluster=shared_cluster.address)
    assert report.done == 1
    assert "one half of nothing" in report.failures[0].error


@slow
def test_closed_forms_sum_up_where_the_chunks_are(shared_cluster):
    import dask.array
    from distributed import Client

    from unseen import LinearVS

    S = np.random.default_rng(0).normal(size=(12, 5))
    X = dask.array.random.default_rng(1).normal(size=(4000, 40), chunks=(500, 40)).astype(np.float32)
    y = dask.array.arange(4000, chunks=500) % 10
    with Client(shared_cluster.address) as client:
        client.wait_for_workers(2, timeout=60)
        X = X.persist()
        remote = LinearVS(S).fit(X, y)
        local = LinearVS(S).fit(X.compute(), y.compute())
    assert_allclose(remote.coef_, local.coef_, rtol=1e-10, atol=1e-10 * np.abs(local.coef_).max())
    assert_array_equal(remote.seen_, local.seen_)


SLOW = ["digits", "--methods", "fake_methods:Slow", "--seeds", 8]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The numbers of the slow bench, computed here."""
    code, output, words = finish(bench(*SLOW, "--jobs", 1, "--out", tmp_path_factory.mktemp("expected")))
    assert code == 0, words
    return numbers(json.loads(output))


def bench_until_two_runs(cluster, folder, *options):
    """Start the slow bench on a cluster; return its process when two runs are stored."""
    process = bench(*SLOW, "--cluster", cluster.address, *options, "--out", folder)
    wait_for(lambda: stored(folder) >= 2)
    return process


@slow
def test_a_worker_killed_in_the_middle_changes_nothing_but_the_time(own_cluster, expected, tmp_path):
    folder = tmp_path / "run"
    process = bench_until_two_runs(own_cluster, folder)
    own_cluster.workers[0].send_signal(signal.SIGKILL)
    code, output, words = finish(process)
    assert code == 0, words
    assert numbers(json.loads(output)) == expected


@slow
def test_a_lost_scheduler_is_a_clear_error_and_the_store_goes_on_here(own_cluster, expected, tmp_path):
    folder = tmp_path / "run"
    process = bench_until_two_runs(own_cluster, folder)
    own_cluster.scheduler.send_signal(signal.SIGKILL)
    code, output, words = finish(process)
    assert code == 2
    assert output == ""
    assert words.strip().splitlines()[-1].startswith("error: Lost the Dask scheduler at tcp://")
    assert "Traceback" not in words
    before = stored(folder)
    assert 2 <= before < 8
    code, output, words = finish(bench(*SLOW, "--jobs", 1, "--out", folder))
    assert code == 0
    assert f"ran {8 - before}, reused {before}" in words
    assert numbers(json.loads(output)) == expected


@pytest.mark.parametrize("number", [*range(8)])
@slow
def test_workers_killed_at_any_moment_change_nothing_but_the_time(own_cluster, expected, tmp_path, number):
    rng = np.random.default_rng(number)
    process = bench(*SLOW, "--cluster", own_cluster.address, "--out", tmp_path / "run")
    time.sleep(rng.uniform(0.5, 12))  # connecting, sending data, computing, returning results
    last = rng.random() < 0.5
    for worker in own_cluster.workers[: 2 if last else 1]:
        worker.send_signal(signal.SIGKILL)
    time.sleep(rng.uniform(0, 3))
    if last or rng.random() < 0.5:
        own_cluster.add_worker()
    code, output, words = finish(process)
    assert code == 0, words
    assert numbers(json.loads(output)) == expected


@slow
def test_no_worker_for_long_is_a_clear_error_and_the_store_goes_on_here(own_cluster, expected, tmp_path):
    folder = tmp_path / "run"
    process = bench_until_two_runs(own_cluster, folder, "--cluster-timeout", 3)
    for worker in own_cluster.workers:
        worker.send_signal(signal.SIGKILL)
    code, output, words = finish(process)
    assert (code, output) == (2, "")
    assert "has had no workers for 3 s. What has finished is stored" in words.strip().splitlines()[-1]
    assert "Traceback" not in words
    code, output, words = finish(bench(*SLOW, "--jobs", 1, "--out", folder))
    assert code == 0
    assert numbers(json.loads(output)) == expected


@pytest.fixture(scope="module")
def small_tasks():
    return plan([small_experiment()], ["fake_methods:Chance"], 3)


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=slow)])
def test_a_worker_killed_while_the_data_is_sent_changes_nothing(
    own_cluster, small_tasks, tmp_path, monkeypatch, number
):
    victim = own_cluster.workers[number]
    reduce = object.__reduce_ex__

    def pickle_and_kill(self, version):
        victim.send_signal(signal.SIGKILL)
        return reduce(self, version)

    found = []
    for folder, options in (("here", {"jobs": 1}), ("cluster", {"cluster": own_cluster.address})):
        if folder == "cluster":
            monkeypatch.setattr(Experiment, "__reduce_ex__", pickle_and_kill)
        with Store(tmp_path / folder, create=True) as store:
            assert run_bench(small_tasks, store, quiet=True, **options).done == 3
            found.append(numbers(store.results(small_tasks[0].experiment.key)))
    assert victim.wait(10) == -signal.SIGKILL
    assert sorted(map(str, found[0])) == sorted(map(str, found[1]))


def refusal(address, tasks=(), timeout=1):
    with pytest.raises(UnseenError) as error:
        list(cluster_outcomes(tasks, address, timeout, 1))
    return str(error.value)


def unclosed_clients():
    from distributed import Client

    clients = [thing for thing in gc.get_objects() if issubclass(type(thing), Client)]
    return [client for client in clients if client.status != "closed"]


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9", "nonsense://x", "tls://127.0.0.1:9", "inproc://x", "host", "host:port", ""],
)
def test_addresses_that_cannot_be_used(address):
    before = unclosed_clients()
    message = refusal(address)
    assert message.startswith(f"No Dask scheduler answers at {address} (") and "\n" not in message
    assert unclosed_clients() == before  # a destructor would close it, and might block the next client


@slow
def test_a_scheduler_without_workers(tmp_path, small_tasks):
    lonely = Cluster(tmp_path, workers=0)
    try:
        message = refusal(lonely.address, small_tasks, timeout=8)  # also to connect, on a busy machine
        assert "has had no workers for 8 s." in message
    finally:
        lonely.stop()


@slow
def test_other_versions_are_refused(shared_cluster, monkeypatch, small_tasks):
    monkeypatch.setattr("unseen.benchmark.cluster.__version__", "999")
    message = refusal(shared_cluster.address, small_tasks, timeout=300)
    assert "This is unseen 999, but workers" in message


@slow
def test_workers_that_cannot_import_it_are_refused(shared_cluster, monkeypatch, small_tasks, tmp_path):
    (tmp_path / "here_alone.py").write_text("def attempt_here(*arguments): pass")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("unseen.benchmark.cluster.attempt_here", import_module("here_alone").attempt_here)
    message = refusal(shared_cluster.address, small_tasks, timeout=300)
    assert "cannot run unseen" in message and "Install the same version everywhere." in message
