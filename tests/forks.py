"""The command in a process that can be killed at any moment, without waiting for imports each time.

A server process imports everything once; every command then runs in a fork of it, which is as mortal as any
process. ``Forks.run`` waits for a fork, ``Forks.start`` gives its process number away.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
SERVER = r"""
import gc, importlib, json, os, resource, signal, sys
for name in json.loads(sys.stdin.readline()):
    importlib.import_module(name)
gc.collect()
gc.freeze()  # else every fork walks through all imported objects, and so copies them, when it ends
signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the command listens, a fork dies of it without a word
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if not pid:
        os.setsid()
        for number in (1, 2):
            os.dup2(os.open(order["files"][number - 1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for limit, value in order["limits"].items():
            resource.setrlimit(getattr(resource, limit), (value, value))
        sys.argv = ["unseen", *order["arguments"]]
        from unseen.cli import run
        run()
    print(pid, flush=True)
    sys.stdin.readline()  # until then the number belongs to nobody else, even if the fork has ended
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
MODULES = [
    "fake_methods",
    "rich.console",
    "safetensors.numpy",
    "scipy.io",
    "sklearn.datasets",
    "unseen.benchmark.runner",
    "unseen.benchmark.summary",
    "unseen.benchmark.tables",
    "unseen.cli",
    "unseen.models.io",
    "unseen.models.prediction",
    "unseen.models.training",
]


@dataclass(frozen=True)
class Done:
    """How a command ended: like ``subprocess.CompletedProcess``."""

    returncode: int  # negative: the signal that killed it
    stdout: str
    stderr: str
    seconds: float


class Fork:
    """A running command."""

    def __init__(self, server: Forks, files: list[Path]) -> None:
        self._server, self._files = server, files
        self.began = time.monotonic()
        self.pid = int(server.readline())

    def stdout(self) -> str:
        """Return what it has printed so far."""
        return self._files[0].read_text()

    def kill(self, number: int) -> Done:
        """Send a signal to the process alone and wait for its end."""
        began = time.monotonic()
        os.kill(self.pid, number)
        return self.wait(began)

    def interrupt(self) -> Done:
        """Press Ctrl-C: the terminal sends SIGINT to the whole group."""
        began = time.monotonic()
        os.killpg(self.pid, signal.SIGINT)
        return self.wait(began)

    def wait(self, began: float | None = None) -> Done:
        """Wait for the end; ``seconds`` counts from ``began``, by default from the start."""
        self._server.write("reap")
        code = int(self._server.readline())
        seconds = time.monotonic() - (self.began if began is None else began)
        return Done(code, *(file.read_text() for file in self._files), seconds)


class Forks:
    """The server; a context manager."""

    def __init__(self, folder: Path, modules: list[str] | None = None) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
            text=True,
        )
        self.write(MODULES if modules is None else modules)
        assert self.readline() == "ready"

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, *arguments: object, **limits: int) -> Fork:
        """Start ``unseen ...``; limits as RLIMIT_FSIZE=... hold for it alone."""
        files = [self._folder / name for name in ("stdout", "stderr")]
        for file in files:  # new ones: what the last command left running still writes to the old ones
            file.unlink(missing_ok=True)
            file.touch()
        order: dict[str, Any] = {"arguments": [str(argument) for argument in arguments]}
        self.write(order | {"files": list(map(str, files)), "limits": limits})
        return Fork(self, files)

    def run(self, *arguments: object, **limits: int) -> Done:
        """Run ``unseen ...`` to its end."""
        return self.start(*arguments, **limits).wait()

    def address_space(self) -> int:
        """Return how many bytes of addresses a fork has at its start."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[0]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def readline(self) -> str:
        """Return what the server says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server has died"
        return line.strip()

    def write(self, document: Any) -> None:
        """Say something to the server."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(document) + "\n")
        self._process.stdin.flush()
