"""Progress on stderr: a bar in a terminal, a readable line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Advance = Callable[[int, str], None]  # (how many steps are done now, what was done)
Left = Callable[[], float | None]  # seconds left, None as long as nobody knows


@contextmanager
def progress(
    total: int, what: str, *, unit: str = "steps", quiet: bool = False, left: Left | None = None
) -> Iterator[Advance]:
    """Show how far a long job is; yields ``advance(n, text)``.

    In a terminal a rich bar with time left; in a log one line at most every ten seconds; nothing when quiet.
    By default all steps are taken to last the same; ``left`` replaces that guess by a better one.
    """
    if quiet:
        yield lambda n, text: None
    elif sys.stderr.isatty():
        with _bar(total, what, unit, left) as advance:
            yield advance
    else:
        yield _log_lines(total, what, unit, left)


@contextmanager
def _bar(total: int, what: str, unit: str, left: Left | None) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Forecast(TimeRemainingColumn):
        def render(self, task: Any) -> Text:
            seconds = left() if left else None
            return Text("" if seconds is None else _duration(seconds), style="progress.remaining")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        Forecast() if left else TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, text="")
        yield lambda n, text: bar.update(task, advance=n, text=text)


def _log_lines(total: int, what: str, unit: str, left: Left | None, every: float = 10.0) -> Advance:
    start = last = time.monotonic()
    done = 0

    def advance(n: int, text: str) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if n and (done >= total or now - last >= every):
            last = now
            seconds = left() if left else (now - start) / done * (total - done)
            note = "" if seconds is None else f", about {_duration(seconds)} left"
            if done >= total:
                note = f" in {_duration(now - start)}"
            print(f"{what}: {done}/{total} {unit}{note} {text}".rstrip(), file=sys.stderr, flush=True)

    return advance


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> _duration(7.2), _duration(200), _duration(4000)
    ('7.2 s', '3 min 20 s', '1 h 6 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
