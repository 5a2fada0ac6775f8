"""Run the speed benchmarks, print one table each, then what got slower since the kept table.

All of them take 11 minutes on two quiet cores; names of modules choose some. ``--keep`` keeps the table of
this run in kept.json. ``--small`` takes reduced sizes, adds the benchmarks of accuracy, and ends with exit
code 1 if something that should be faster is slower.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import benchmarks

SPEED = ("calibration", "methods", "ranking", "protocol", "classes", "outofcore", "extract", "cluster")
ACCURACY = ("few_shot", "regret", "sets", "suggest", "sure")


def main(modules: Sequence[str], small: bool, keep: bool) -> None:
    """Print what every module measures."""
    now: benchmarks.Table = {}
    begin = time.monotonic()
    for name in modules:
        start = time.monotonic()
        with ProcessPoolExecutor(1, get_context("spawn")) as process:  # for its own peak memory
            title, now[name] = process.submit(benchmarks.run_module, name, small).result()
        print(f"\n{name}: {title} ({time.monotonic() - start:.0f} s)")
        print(benchmarks.table(now[name]), flush=True)
    print(f"\nall together: {(time.monotonic() - begin) / 60:.1f} minutes")
    missed = [row[0] for rows in now.values() for row in rows if benchmarks.met(row[1], row[3]) == "NO"]
    print("\n" + (f"not met: {'; '.join(missed)}" if missed else "all demands are met"))
    if not small:
        print("\n".join(compare(now)))
    if keep:
        benchmarks.keep(now)
    sys.exit(bool(missed and small))


def compare(now: benchmarks.Table) -> list[str]:
    """Return what got slower since the kept table, or why nothing can be said."""
    if not benchmarks.KEPT.exists():
        return [f"no {benchmarks.KEPT.name} to compare with: python -m benchmarks --keep writes it"]
    return benchmarks.got_slower(now, benchmarks.read_kept()) or ["nothing got slower by more than 15 %"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", help=f"among {', '.join((*SPEED, *ACCURACY))}")
    parser.add_argument("--small", action="store_true", help="reduced sizes, directions only")
    parser.add_argument("--keep", action="store_true", help="keep the table of this run")
    options = parser.parse_args()
    if unknown := sorted({*options.modules} - {*SPEED, *ACCURACY}):
        parser.error(
            f"there is no benchmark {unknown[0]!r}, expected some of {', '.join((*SPEED, *ACCURACY))}"
        )
    main(options.modules or (*SPEED, *(ACCURACY if options.small else ())), options.small, options.keep)
