"""The memory of a bench: one SQLite file in the run folder, one row per finished run.

A run is keyed by a hash of everything that determines it, so a second bench finds what the first has done and
repeats nothing. The write-ahead log lets readers look while a bench writes, and two benches can share one
folder: each run arrives whole or not at all, and the first result of a run stays.

The SQLite tables (documents are JSON text, described in ``unseen.benchmark.results``):

experiments  key, description
runs         key, experiment, method, seed, result, digest, finished
failures     key, experiment, method, seed, error, details, happened    void once the run has a result
commands     started, command    every command that wrote here: arguments, versions, machine
"""

from __future__ import annotations

import hashlib
import json
import platform
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

from unseen import __version__
from unseen.benchmark.results import Description, RunResult
from unseen.errors import UnseenError, rephrase_errors

STORE_FILE = "runs.sqlite"
_VERSION = 2  # of the tables, kept in PRAGMA user_version
_BUSY_SECONDS = 60  # how long to wait for another process that is writing
_TABLES = """
CREATE TABLE IF NOT EXISTS experiments (key TEXT PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, experiment TEXT NOT NULL REFERENCES experiments (key), method TEXT NOT NULL,
    seed INTEGER NOT NULL, result TEXT NOT NULL, digest TEXT NOT NULL, finished TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY, experiment TEXT NOT NULL REFERENCES experiments (key), method TEXT NOT NULL,
    seed INTEGER NOT NULL, error TEXT NOT NULL, details TEXT NOT NULL, happened TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS commands (started TEXT NOT NULL, command TEXT NOT NULL);
"""


class Run(NamedTuple):
    """What names one run: its key, the key of its experiment, the method and the seed."""

    key: str
    experiment: str
    method: str
    seed: int


@dataclass(frozen=True)
class Failure:
    """A run that ended in an error: one line, and the full traceback."""

    run: Run
    error: str
    details: str

    def __str__(self) -> str:
        return f"failed: {self.run.method} seed {self.run.seed}: {self.error}"


class Command(TypedDict):
    """What somebody needs to repeat a command."""

    arguments: list[str]
    versions: dict[str, str]
    machine: dict[str, str]


def this_command(arguments: list[str]) -> Command:
    """Return what somebody needs to repeat a command on this machine."""
    from threadpoolctl import threadpool_info

    packages = ("numpy", "scipy", "scikit-learn", "joblib")
    blas = {f"{p['internal_api']} {p['version']}" for p in threadpool_info() if p["user_api"] == "blas"}
    return {
        "arguments": arguments,
        "versions": {
            "unseen": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
            "blas": ", ".join(sorted(blas)),
        },
        "machine": {"system": platform.platform(), "processor": platform.machine()},
    }


def fingerprint(document: Mapping[str, object]) -> str:
    """Return a short hash of a JSON-able document; equal content gives an equal hash.

    >>> fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    True
    """
    return _text_digest(json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False))[:32]


class Store(AbstractContextManager["Store"]):
    """The runs of one folder; a context manager.

    Parameters
    ----------
    folder : path
        The run folder; ``runs.sqlite`` lies in it.
    create : bool, default=False
        Make the folder and the file if they do not exist; otherwise their absence is an error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder, create=True) as store:
    ...     store.add_experiment("e", {"dataset": "digits"})
    ...     store.add_result(Run("k", "e", "sae", 0), {"seed": 0})
    ...     store.results("e")
    [{'seed': 0}]
    """

    def __init__(self, folder: str | Path, *, create: bool = False) -> None:
        self.folder = Path(folder)
        self.path = self.folder / STORE_FILE
        if not create and not self.path.is_file():
            raise UnseenError(
                f"{self.folder} has no {STORE_FILE}. Name the folder that a bench wrote (--out)."
            )
        with self._user_errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            # one thread writes; another one counts the runs if an interrupt ends the process
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False
            )
            self._prepare()

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    # ---- writing --------------------------------------------------------------------------------

    def add_experiment(self, key: str, description: Description) -> None:
        """Keep the description of an experiment; the first one stays."""
        self._write("INSERT OR IGNORE INTO experiments VALUES (?, ?)", key, _dump(description))

    def add_result(self, run: Run, result: RunResult) -> None:
        """Keep the result of a finished run; the first result stays."""
        text = _dump(result)
        row = (*run, text, _text_digest(text), _now())
        self._write("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def add_failure(self, failure: Failure) -> None:
        """Keep the error of a run; the last one stays."""
        row = (*failure.run, failure.error, failure.details, _now())
        self._write("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def add_command(self, command: Command) -> None:
        """Keep a command, for readers who want to repeat it."""
        self._write("INSERT INTO commands VALUES (?, ?)", _now(), _dump(command))

    # ---- reading --------------------------------------------------------------------------------

    def experiments(self) -> dict[str, Description]:
        """Return the description of every experiment by key, oldest first."""
        rows = self._read("SELECT key, description FROM experiments ORDER BY rowid")
        with self.reading():
            return {key: json.loads(text) for key, text in rows}

    def has(self, key: str) -> bool:
        """Return whether a run is finished."""
        return bool(self._read("SELECT 1 FROM runs WHERE key = ?", key))

    def results(self, experiment: str) -> list[RunResult]:
        """Return the results of an experiment, oldest first; a damaged one is an error."""
        return [self.result(run.key) for run, _ in self.runs() if run.experiment == experiment]

    def result(self, key: str) -> RunResult:
        """Return the result of one finished run; a damaged one is an error."""
        with self.reading():
            ((text, digest),) = self._read("SELECT result, digest FROM runs WHERE key = ?", key)
            if _text_digest(text) != digest:
                raise UnseenError(f"{self.path} is damaged: the result of run {key} is not what was stored.")
            return cast(RunResult, json.loads(text))

    def runs(self) -> list[tuple[Run, str]]:
        """Return every finished run with the time it was stored, oldest first."""
        rows = self._read("SELECT key, experiment, method, seed, finished FROM runs ORDER BY rowid")
        return [(Run(*row[:4]), row[4]) for row in rows]

    def failures(self) -> list[Failure]:
        """Return every run that failed and has not succeeded since."""
        query = "SELECT * FROM failures WHERE key NOT IN (SELECT key FROM runs) ORDER BY rowid"
        return [Failure(Run(*row[:4]), *row[4:6]) for row in self._read(query)]

    def commands(self) -> list[Command]:
        """Return every command that wrote here, oldest first."""
        rows = self._read("SELECT command FROM commands ORDER BY rowid")
        with self.reading():
            return [json.loads(text) for (text,) in rows]

    # ---- the connection -------------------------------------------------------------------------

    def _prepare(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):  # 0: a new file
            raise UnseenError(
                f"{self.path} has the format {version} of another version of unseen, expected {_VERSION}. "
                "Run the bench again with another folder (--out)."
            )
        with suppress(sqlite3.OperationalError):  # locked by another process that asks for the same
            self._connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer work at once
        self._connection.execute("PRAGMA synchronous = FULL")  # a stored run survives a power cut too
        if not version:
            self._connection.executescript(
                f"BEGIN IMMEDIATE;{_TABLES}PRAGMA user_version = {_VERSION};COMMIT;"
            )

    def _write(self, sql: str, *values: object) -> None:
        """Run one statement, as a transaction."""
        with self._user_errors(), self._connection:
            self._connection.execute(sql, values)

    def _read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._user_errors():
            return self._connection.execute(sql, values).fetchall()

    def reading(self) -> AbstractContextManager[None]:
        """Report a damaged file if a document read from it lacks what it should have."""
        return rephrase_errors(f"{self.path} is damaged", "Move it away and run again.")

    def _user_errors(self) -> AbstractContextManager[None]:
        """Turn errors of the file into one clear line."""
        advice = "Stored results are safe; free disk space, or choose another folder with --out."
        return rephrase_errors(f"Cannot use {self.path}", advice)


def _dump(document: Mapping[str, object]) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
