"""Leaving: Ctrl-C or SIGTERM ends a command within two seconds, with a word on what is stored."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NoReturn

GRACE = 1.0  # seconds to unwind; then the process ends wherever it is
SIGNALS = (signal.SIGINT, signal.SIGTERM)
Summary = Callable[[], str]
_summaries: list[Summary] = []  # of the blocks that are running, innermost last
_speaking = threading.Lock()


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled as Ctrl-C is."""


class Stopped(SystemExit):
    """The end of the process after a signal, once the summary is said."""


@contextmanager
def stoppable(summary: Summary) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block and the process; ``summary()`` says what is stored.

    Python only raises between two of its own steps, and an eigendecomposition or a network may be minutes
    away from the next. So a thread waits beside the block: it ends the process where unwinding takes too
    long. That loses nothing, because everything on disk is whole at any moment.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    _summaries.append(summary)
    try:
        with nullcontext() if len(_summaries) > 1 else _watched():
            yield
    except KeyboardInterrupt as stop:
        number = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
        for impatient in SIGNALS:
            signal.signal(impatient, signal.SIG_IGN)
        _say()
        raise Stopped(_exit_code(number)) from None
    finally:
        if _summaries:
            _summaries.pop()


@contextmanager
def _watched() -> Iterator[None]:
    """Raise at SIGTERM too, and end the process where a signal has not ended it after a while."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    left = threading.Event()
    threading.Thread(target=_watch, args=(reading, left), daemon=True).start()
    woken = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGTERM, _terminate)
    stopped = False
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        stopped = True  # what Python does at its very end may take long, too: the thread goes on waiting
        raise
    finally:
        if not stopped:
            left.set()
            signal.signal(signal.SIGTERM, handler)
        signal.set_wakeup_fd(woken)
        writing.close()


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated


def _watch(reading: socket.socket, left: threading.Event) -> None:
    """Wait for a signal, then for the block to end, but not long."""
    with reading:
        while number := reading.recv(1):  # nothing once the block has ended
            if number[0] in SIGNALS and not left.wait(GRACE):
                try:
                    _say()
                finally:
                    os._exit(_exit_code(number[0]))


def _say() -> None:
    """Say the innermost summary, once."""
    with _speaking:
        if not _summaries:
            return
        show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
        print(f"{show_cursor}\ninterrupted: {_summaries[-1]()}", file=sys.stderr, flush=True)
        _summaries.clear()


def _exit_code(number: int) -> int:
    return 128 + number  # as a shell reports it
