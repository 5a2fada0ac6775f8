"""Run every benchmark and print one table each.

``--small`` takes reduced sizes and only asks for the right direction, never for a time: it ends with exit
code 1 when something that should be faster is slower.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(small: bool) -> None:
    """Print what every module measures."""
    missed = []
    for found in pkgutil.iter_modules(benchmarks.__path__):
        if found.name != "__main__":
            module = importlib.import_module(f"benchmarks.{found.name}")
            rows = module.run(small=small)
            print(f"\n{found.name}: {module.__doc__.splitlines()[0]}")
            print(benchmarks.table(rows), flush=True)
            missed += [name for name, value, _, demanded in rows if benchmarks.met(value, demanded) == "NO"]
    print("\n" + (f"not met: {'; '.join(missed)}" if missed else "all demands are met"))
    sys.exit(bool(missed and small))


if __name__ == "__main__":
    main("--small" in sys.argv)
