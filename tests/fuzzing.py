"""Damaged files by the thousand, each read in a process that may die of it.

``Target`` says how to write a whole file and how to read it; ``mutate`` damages its bytes. ``Reader`` is the
process: its memory and its time are limited, and its death is an answer, too.

Run as a script for as many cases as you like: ``python tests/fuzzing.py 20000 [target ...]``.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
MEMORY = 2**30  # bytes that reading a small damaged file may add
SECONDS = "10"
EDGES = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1)


# ---- damage ------------------------------------------------------------------------------------------------


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Return the content with one to four kinds of damage, more often near its beginning."""
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(DAMAGES)(damaged, rng)
    return bytes(damaged)


def _place(damaged: bytearray, rng: random.Random) -> int:
    far = len(damaged) if rng.random() < 0.5 else min(len(damaged), 256)
    return rng.randrange(far) if far else 0


def _flip(damaged: bytearray, rng: random.Random) -> None:
    if damaged:
        damaged[_place(damaged, rng)] ^= 1 << rng.randrange(8)


def _byte(damaged: bytearray, rng: random.Random) -> None:
    if damaged:
        damaged[_place(damaged, rng)] = rng.choice((0, 1, 0x20, 0x2C, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _number(damaged: bytearray, rng: random.Random) -> None:
    """Write a number that headers dislike, in any width and order, often where a word begins."""
    width = rng.choice((2, 4, 4, 8))
    place = _place(damaged, rng)
    if rng.random() < 0.7:
        place -= place % width
    number = rng.choice(EDGES) % 2 ** (8 * width)
    damaged[place : place + width] = number.to_bytes(width, rng.choice(("little", "little", "big")))


def _cut(damaged: bytearray, rng: random.Random) -> None:
    del damaged[_place(damaged, rng) :]


def _remove(damaged: bytearray, rng: random.Random) -> None:
    place = _place(damaged, rng)
    del damaged[place : place + rng.choice((1, 4, 8, 64))]


def _repeat(damaged: bytearray, rng: random.Random) -> None:
    place, length = _place(damaged, rng), rng.choice((1, 4, 8, 64, 512))
    damaged[place:place] = damaged[place : place + length] * rng.choice((1, 1, 20))


def _noise(damaged: bytearray, rng: random.Random) -> None:
    place, length = _place(damaged, rng), rng.choice((4, 16, 64))
    damaged[place : place + length] = rng.randbytes(length)


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip,
    _flip,
    _byte,
    _byte,
    _number,
    _number,
    _number,
    _cut,
    _remove,
    _repeat,
    _noise,
)


# ---- the process that reads ------------------------------------------------------------------------------


class Reader:
    """A process that reads files on demand; ``read`` returns what came of it."""

    def __init__(self, targets: Iterable[str] = ()) -> None:
        self._targets = list(targets)
        self._start()

    def _start(self) -> None:
        command = [sys.executable, str(TESTS / "fuzzing.py"), "serve", *self._targets]
        paths = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def read(self, target: str, path: Path) -> str:
        """Return "read", "refused", or what should not have happened."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([target, str(path)]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if answer:
            return json.loads(answer)
        code = self._process.wait()
        self._close()
        self._start()
        if code == -signal.SIGALRM:
            return f"took longer than {os.environ.get('FUZZING_SECONDS', SECONDS)} s"
        return f"ended the process with code {code}"

    def _close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        self._close()


def serve() -> None:
    """Answer the orders on standard input until it ends."""
    import resource

    from fuzz_targets import FAULTS, READERS, warm_up

    warm_up(sys.argv[2:])
    readers, seconds = {**READERS, **FAULTS}, int(os.environ.get("FUZZING_SECONDS", SECONDS))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # compiled code may print what it likes
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        target, path = json.loads(line)
        signal.alarm(seconds)  # unhandled: it ends the process, even one that is lost in C
        answer = attempt(readers[target], Path(path))
        signal.alarm(0)
        print(json.dumps(answer), file=answers, flush=True)


def attempt(read: Callable[[Path], None], path: Path) -> str:
    """Return how reading ended."""
    from unseen.errors import UnseenError

    try:
        read(path)
    except UnseenError as error:
        return "refused" if "\n" not in str(error) else f"refused in several lines: {error}"
    except BaseException as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "unseen" in frame.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "the test itself"
        return f"{type(error).__name__} at {place}: {error}"
    return "read"


# ---- cases -------------------------------------------------------------------------------------------------


def cases(target: str, n: int, seed: int = 0) -> Iterator[bytes]:
    """Yield n damaged files for a target; the same n and seed give the same files."""
    from fuzz_targets import WRITERS

    rng = random.Random(f"{target} {seed}")
    whole = WRITERS[target]()
    for _ in range(n):
        yield rng.choice(whole)(rng)


def fuzz(targets: dict[str, int], folder: Path, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Read n damaged files for every target; returns how they ended, and a line for each bad end."""
    ends: Counter[str] = Counter()
    bad = []
    with Reader(targets) as reader:
        for target, n in targets.items():
            for number, content in enumerate(cases(target, n, seed)):
                path = folder / f"case.{target.split()[0]}"
                path.write_bytes(content)
                end = reader.read(target, path)
                ends[end if end in ("read", "refused") else "bad"] += 1
                if end not in ("read", "refused"):
                    kept = folder / f"bad-{target.replace(' ', '-')}-{number}"
                    kept.write_bytes(content)
                    bad.append(f"{target} {number} ({kept}): {end}")
    return ends, bad


def main() -> None:
    """Fuzz from the command line."""
    if sys.argv[1] == "serve":
        serve()
        return
    from fuzz_targets import READERS

    targets = sys.argv[2:] or list(READERS)
    folder = Path("fuzzed")
    folder.mkdir(exist_ok=True)
    began = time.monotonic()
    per_target = -(-int(sys.argv[1]) // len(targets))
    ends, bad = fuzz(dict.fromkeys(targets, per_target), folder, seed=int(os.environ.get("SEED", "0")))
    print("\n".join(bad))
    print(dict(ends), f"{time.monotonic() - began:.0f} s")
    sys.exit(bool(bad))


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    sys.modules["fuzzing"] = sys.modules["__main__"]
    importlib.import_module("fuzz_targets")
    main()
