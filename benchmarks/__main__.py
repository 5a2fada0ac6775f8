"""Run every benchmark and print one table each, then what got slower since the kept table.

``--small`` takes reduced sizes and only asks for the right direction, never for a time: it ends with exit
code 1 when something that should be faster is slower. ``--keep`` keeps the ratios of this run for later ones.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time

import benchmarks


def main(small: bool, keep: bool) -> None:
    """Print what every module measures."""
    missed, now, demands = [], {}, {}
    for found in pkgutil.iter_modules(benchmarks.__path__):
        if not found.name.startswith("_"):  # __main__, and parts that several share
            module = importlib.import_module(f"benchmarks.{found.name}")
            start = time.monotonic()
            rows = module.run(small=small)
            print(f"\n{found.name}: {module.__doc__.splitlines()[0]} ({time.monotonic() - start:.0f} s)")
            print(benchmarks.table(rows), flush=True)
            missed += [name for name, value, _, demanded in rows if benchmarks.met(value, demanded) == "NO"]
            now |= benchmarks.ratios(found.name, rows)
            demands |= {f"{found.name}: {name}": demanded for name, _, _, demanded in rows}
    print("\n" + (f"not met: {'; '.join(missed)}" if missed else "all demands are met"))
    if not small:
        print("\n".join(compare(now, demands)))
    if keep:
        benchmarks.KEPT.write_text(json.dumps(now, indent=1) + "\n")
    sys.exit(bool(missed and small))


def compare(now: dict[str, float], demands: dict[str, str]) -> list[str]:
    """Return what got slower since the kept table, or why nothing can be said."""
    if not benchmarks.KEPT.exists():
        return [f"no {benchmarks.KEPT.name} to compare with: python -m benchmarks --keep writes it"]
    kept = json.loads(benchmarks.KEPT.read_text())
    return benchmarks.got_slower(now, kept, demands) or ["nothing got slower by more than 15 %"]


if __name__ == "__main__":
    main("--small" in sys.argv, "--keep" in sys.argv)
