"""Run every benchmark and print one table; ``--small`` for a quick look at reduced sizes."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

for found in pkgutil.iter_modules(benchmarks.__path__):
    if found.name != "__main__":
        module = importlib.import_module(f"benchmarks.{found.name}")
        print(f"\n{found.name}: {module.__doc__.splitlines()[0]}")
        print(benchmarks.table(module.run(small="--small" in sys.argv)), flush=True)
