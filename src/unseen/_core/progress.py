"""Progress on stderr: a bar in a terminal, an occasional line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int, str], None]  # (number of steps just done, what was done)


@contextmanager
def progress(total: int, what: str, *, unit: str = "steps", quiet: bool = False) -> Iterator[Advance]:
    """Show how far a long job is; yields ``advance(n, text)``.

    A terminal gets a bar with the time left, a log at most one line every ten seconds; quiet shows nothing.
    """
    if quiet:
        yield lambda n, text: None
    elif sys.stderr.isatty():
        with _bar(total, what, unit) as advance:
            yield advance
    else:
        yield _log_lines(total, what, unit)


@contextmanager
def _bar(total: int, what: str, unit: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), unit, TimeRemainingColumn())
    with Progress(*columns, "{task.fields[text]}", console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, text="")
        yield lambda n, text: bar.update(task, advance=n, text=text)


def _log_lines(total: int, what: str, unit: str, every: float = 10.0) -> Advance:
    start = last = time.monotonic()
    done = 0

    def advance(n: int, text: str) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if n and (done >= total or now - last >= every):
            last = now
            left = (now - start) / done * (total - done)  # as if all steps took the same time
            note = f", about {_duration(left)} left" if done < total else f" in {_duration(now - start)}"
            detail = f", {text}" if text else ""
            print(f"{what}: {done}/{total} {unit}{note}{detail}", file=sys.stderr, flush=True)

    return advance


def _duration(seconds: float) -> str:
    """Return a duration in the units that people use.

    >>> _duration(7.2), _duration(200), _duration(4000)
    ('7.2 s', '3 min 20 s', '1 h 6 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
