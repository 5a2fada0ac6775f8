"""The store keeps the first result of every run, whole, for any number of processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from unseen.benchmark.store import STORE_FILE, Failure, Run, Store, fingerprint, this_command
from unseen.errors import UnseenError

pytestmark = pytest.mark.xdist_group("processes")

RUN = Run("key", "experiment", "sae", 0)
WRITER = """
import sys
from unseen.benchmark.store import Run, Store
with Store(sys.argv[1], create=True) as store:
    store.add_experiment("s", {"dataset": "d"})
    for i in range(int(sys.argv[3])):
        run = Run(f"key {i}", "s", "sae", i)
        store.add_result(run, {"who": sys.argv[2], "i": i, "padding": "x" * 10_000})
        print(i, flush=True)
"""


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.add_experiment("experiment", {"dataset": "digits"})
        yield store


def writer(folder, who, n):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), who, str(n)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "src"},
    )


def test_what_was_stored_comes_back(store, tmp_path):
    store.add_result(RUN, {"zsl": 12.5})
    store.add_command(this_command(["bench", "letters"]))
    with Store(tmp_path) as again:
        assert again.has("key")
        assert not again.has("other")
        assert again.results("experiment") == [{"zsl": 12.5}] == [again.result("key")]
        assert again.experiments() == {"experiment": {"dataset": "digits"}}
        assert [run for run, _ in again.runs()] == [RUN]
        (command,) = again.commands()
        assert command["arguments"] == ["bench", "letters"]
        assert command["versions"]["numpy"] and command["machine"]["processor"]


def test_the_first_result_stays(store):
    store.add_result(RUN, {"zsl": 1})
    store.add_result(RUN, {"zsl": 2})
    assert store.results("experiment") == [{"zsl": 1}]


def test_a_failure_is_kept_until_the_run_succeeds(store):
    store.add_failure(Failure(RUN, "ValueError: no", "Traceback ..."))
    store.add_failure(Failure(RUN, "ValueError: still no", "Traceback ..."))
    assert [(f.run, f.error) for f in store.failures()] == [(RUN, "ValueError: still no")]
    assert not store.has("key")
    store.add_result(RUN, {})
    store.add_failure(Failure(RUN, "too late", ""))
    assert store.failures() == []


def test_nan_never_enters(store):
    with pytest.raises(ValueError, match="Out of range"):
        store.add_result(RUN, {"zsl": float("nan")})
    assert not store.has("key")


def test_a_missing_a_foreign_and_a_newer_file_are_refused(tmp_path):
    with pytest.raises(UnseenError, match="has no runs"):
        Store(tmp_path / "nothing")
    (tmp_path / STORE_FILE).write_text("not a database, but long enough to look like one" * 30)
    with pytest.raises(UnseenError, match="not a database"):
        Store(tmp_path)


@pytest.mark.parametrize("version", [1, 99])
def test_the_format_of_another_version_is_rejected(tmp_path, version):
    with closing(sqlite3.connect(tmp_path / STORE_FILE)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(UnseenError, match=f"has the format {version} of another version of unseen"):
        Store(tmp_path)


def test_a_changed_result_is_noticed(store, tmp_path):
    store.add_result(RUN, {"zsl": 12.5})
    with sqlite3.connect(tmp_path / STORE_FILE) as connection:
        connection.execute("""UPDATE runs SET result = '{"zsl": 99.9}'""")
    connection.close()
    for look in (lambda: store.results("experiment"), lambda: store.result("key")):
        with pytest.raises(UnseenError, match="damaged"):
            look()


def test_two_processes_write_one_folder(tmp_path):
    both = [writer(tmp_path, who, 40) for who in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    for process in both:
        process.stdout.close()
    with Store(tmp_path) as store:
        assert [result["i"] for result in store.results("s")] == list(range(40))


def test_a_killed_writer_leaves_whole_rows(tmp_path):
    process = writer(tmp_path, "a", 10**6)
    while int(process.stdout.readline()) < 5:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    with Store(tmp_path) as store:
        assert len(store.results("s")) >= 6


def test_fingerprint_depends_on_content_only():
    assert fingerprint({"a": 1, "b": {"c": [1, 2]}}) == fingerprint({"b": {"c": [1, 2]}, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
