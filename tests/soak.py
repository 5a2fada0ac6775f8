"""Random commands on random small data, some killed at random moments, for as long as you like.

``python tests/soak.py --minutes 30 --seed 0``. A command may succeed (0), name what the user got wrong in one
line (2), or end by the signal it was sent. A traceback, another exit code, or a temporary file that is left
behind by anything but SIGKILL, which no process can answer, is a finding. At the end one long Python process
fits ``--models`` models and must not grow.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]

import numpy as np  # noqa: E402

from forks import MODULES, Done, Forks  # noqa: E402

METHODS = ("lda", "linear-sv", "linear-vs", "eszsl", "sae", "ale", "sje", "auto", "nothing")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
ENDINGS = {0, 2, 130, 143}  # done, an error of the user, Ctrl-C, SIGTERM
Command = list[str]


def write_data(folder: Path, rng: random.Random) -> str:
    """Write a small data set with some of its classes unseen, and scores; sometimes it is damaged."""
    draw = np.random.default_rng(rng.randrange(2**32))
    n_classes, n_features, n_attributes = 9, 6, 4  # mostly, so that a model fits other data, too
    if rng.random() < 0.2:
        n_classes, n_features, n_attributes = rng.randint(3, 12), rng.randint(1, 12), rng.randint(1, 6)
    S = draw.normal(size=(n_classes, n_attributes)).round(rng.choice((0, 3)))
    y = draw.integers(0, n_classes, rng.randint(60, 200))
    X = S[y] @ draw.normal(size=(n_attributes, n_features)) + draw.normal(size=(len(y), n_features))
    if rng.random() < 0.1:
        X[rng.randrange(len(X))] = np.nan
    path = folder / f"data{rng.randrange(3)}.npz"
    unseen = draw.permutation(n_classes)[: rng.randint(0, n_classes // 3)]
    np.savez(path, X=X, y=y, prototypes=S, unseen_classes=unseen)
    np.savez(
        folder / "scores.npz",
        scores=X @ draw.normal(size=(n_features, n_classes)),
        y=y,
        seen=~np.isin(np.arange(n_classes), unseen),
    )
    np.save(folder / "samples.npy", X)
    write_tables(folder, X, y, S)
    if rng.random() < 0.05:
        path.write_bytes(path.read_bytes()[: rng.randrange(1000)])
    return str(path)


def write_tables(folder: Path, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> None:
    """Write samples, descriptions and groups of classes as tables, and the description of one more class."""
    samples = [["class", *(f"x{i}" for i in range(X.shape[1]))], *([f"c{c}", *x] for c, x in zip(y, X))]
    classes = [["class", *(f"a{i}" for i in range(S.shape[1]))], *([f"c{c}", *s] for c, s in enumerate(S))]
    groups = [["class", "group"], *([f"c{c}", f"g{c % 3}"] for c in range(len(S)))]
    more = [classes[0], ["one more", *(S[0] + 1)]]
    tables = {"samples": samples, "classes": classes, "groups": groups, "more": more}
    for name, rows in tables.items():
        lines = [",".join(map(str, row)) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def commands(folder: Path, rng: random.Random) -> Iterator[Command]:
    """Yield commands without end; what one writes, others read."""
    model, run, table = (str(folder / name) for name in ("m.model", "run", "samples.csv"))
    classes, groups, more = (str(folder / f"{name}.csv") for name in ("classes", "groups", "more"))
    while True:
        data = write_data(folder, rng)
        method = rng.choice(METHODS)
        yield rng.choice(
            [
                ["fit", data, "--method", method, "--model", model, "--force"],
                ["fit", data, "--method", method, "--model", model, "--force", "--json"],
                ["fit", table, "--prototypes", classes, "--method", method, "--model", model, "--force"],
                ["bench", data, "--methods", method, "--out", run, "--json"],
                ["bench", data, "--methods", f"{method},lda", "--seeds", "2", "--out", run],
                ["predict", model, rng.choice((data, str(folder / "samples.npy"))), "--top", "2"],
                ["predict", model, data, "--html", str(folder / "gallery.html"), "--force"],
                ["predict", model, table, "--taxonomy", groups, "--reject", "0.05"],
                ["evaluate", model, rng.choice((data, table)), "--json"],
                ["explain", model, rng.choice((data, table))],
                ["explain", model, data, "--html", str(folder / "why.html"), "--force"],
                ["suggest", model, rng.choice((data, table))],
                ["add-class", model, "--prototypes", more],
                ["inspect", rng.choice((data, model))],
                ["calibrate", str(folder / "scores.npz"), "--json"],
                ["export", model, "--format", "npz", "--out", str(folder / "layer.npz"), "--force"],
                ["report", rng.choice((run, model)), "--html", str(folder / "page.html"), "--force"],
                ["report", model, "--data", data, "--html", str(folder / "page.html"), "--force"],
                ["methods"],
            ]
        )


def leftovers(folder: Path) -> list[Path]:
    """Return temporary files: their names start with a dot."""
    return [path for path in folder.rglob(".*") if path.is_file()]


def run_one(forks: Forks, command: Command, rng: random.Random) -> tuple[Done, int | None]:
    """Run a command, or send it a signal at a random moment; return how it ended, and the signal."""
    fork = forks.start(*command)
    if rng.random() < 0.6:
        return fork.wait(), None
    number = rng.choice(SIGNALS)
    time.sleep(rng.random() ** 2 * 3)
    return fork.kill(number), number


def find_fault(done: Done, number: int | None, folder: Path) -> str | None:
    """Return what is wrong with the end of a command, or None."""
    if "Traceback" in done.stderr:
        return "a traceback"
    if done.returncode not in ENDINGS and -done.returncode != number:
        return f"exit code {done.returncode}"
    # processes that joblib left when a command was killed may still write behind the line
    if done.returncode == 2 and number is None and "\nerror: " not in f"\n{done.stderr}":
        return "exit code 2 without an error line"
    if left := leftovers(folder):
        for path in left:
            path.unlink()
        return None if number == signal.SIGKILL else f"left {', '.join(path.name for path in left)}"
    return None


def soak(minutes: float, seed: int) -> list[str]:
    """Run commands for a time; return the faults."""
    rng, faults, ends = random.Random(seed), [], Counter()
    folder, output = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    with Forks(output, [name for name in MODULES if name != "fake_methods"]) as forks:
        end = time.monotonic() + 60 * minutes
        for count, command in enumerate(commands(folder, rng)):
            if time.monotonic() > end:
                break
            done, number = run_one(forks, command, rng)
            ends[(command[0], "killed" if number else done.returncode)] += 1
            if fault := find_fault(done, number, folder):
                faults.append(
                    f"{count} unseen {' '.join(command)} [{number}]: {fault}\n{done.stderr[-2000:]}"
                )
    for path in (folder, output):
        shutil.rmtree(path, ignore_errors=True)
    print(f"{sum(ends.values())} commands, seed {seed}:")
    for (name, how), n in sorted(ends.items(), key=str):
        print(f"  {name:<10} {how!s:<7} {n}")
    return faults


def resident() -> float:
    """Return the memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def growth(n_models: int) -> float:
    """Return by how many MB this process grows between a fifth and all of its fits."""
    from problems import linear_problem
    from unseen import LDA, GZSLClassifierCV

    X, y, S = linear_problem(200, features=30, classes=10, seen=7)
    start = 0.0
    warnings.filterwarnings("ignore", message=r"U\d{3} ")  # checks of the data
    for number in range(n_models):
        if number == n_models // 5:
            start = resident()
        GZSLClassifierCV(LDA(S), {"alpha": [0.1, 1.0], "shrinkage": [0.1]}).fit(X, y).predict(X)
    return resident() - start


def main() -> None:
    """Soak from the command line."""
    parser = argparse.ArgumentParser(description="Random commands on random data, some killed.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=500)
    options = parser.parse_args()
    faults = soak(options.minutes, options.seed)
    if options.models:
        grown = growth(options.models)
        print(f"{options.models} models in one process: {grown:+.1f} MB after the first fifth")
        faults += [f"memory grew by {grown:.1f} MB"] if grown > 50 else []
    print("\n".join(faults) or "no fault")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
