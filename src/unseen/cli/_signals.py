"""Interrupts: Ctrl-C or SIGTERM ends a command within two seconds, with a line on what is stored."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from os import _exit
from typing import NoReturn

GRACE = 1.0  # seconds to unwind; then the process ends wherever it is
SIGNALS = (signal.SIGINT, signal.SIGTERM)
Words = Callable[[], str]
_summaries: list[Words] = []  # of the blocks that are running, innermost last
_received: list[int] = []  # signals, in their order
_speaking = threading.Lock()


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """End the process at Ctrl-C without a word, before and after what ``stoppable`` guards.

    Click would say "Aborted!" and exit with 1, and Python would show a traceback of its own shutdown.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as a shell sets it for background jobs
        signal.signal(signal.SIGINT, _exit_at_once)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _exit_at_once:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _exit_at_once(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


@contextmanager
def stoppable(summary: Words) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block and the process; ``summary()`` says what is stored.

    Python runs signal handlers only between two instructions of its own, and an eigendecomposition or a
    network may take minutes. So a thread watches the block: it ends the process if unwinding takes too
    long. That loses nothing, because every file on disk is complete at any moment.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    _summaries.append(summary)
    with nullcontext() if len(_summaries) > 1 else _watched():
        try:
            yield
        except BaseException as error:
            if _is_stop(error):
                for number in SIGNALS:
                    signal.signal(number, signal.SIG_IGN)
                _say()
            raise
        _summaries.pop()


@contextmanager
def _watched() -> Iterator[None]:
    """Raise at SIGTERM as at Ctrl-C, and end the process if a signal has not ended it after a while."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    left = threading.Event()
    threading.Thread(target=_watch, args=(reading, left), daemon=True).start()
    woken = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    _received.clear()
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _receive)
    hook, sys.unraisablehook = sys.unraisablehook, _drop
    stopped = False
    try:
        yield
    except BaseException as error:
        stopped = _is_stop(error)
        if stopped:  # Python's shutdown may take long, too: the thread keeps waiting
            raise SystemExit(128 + (_received or [signal.SIGINT])[0]) from None
        raise
    finally:
        if not stopped:
            left.set()
            sys.unraisablehook = hook
            for number, handler in handlers.items():
                signal.signal(number, handler)
        _summaries.clear()
        signal.set_wakeup_fd(woken)
        writing.close()


def _is_stop(error: BaseException) -> bool:
    """Whether a signal caused the error: an interrupted import may raise that the package is missing."""
    return bool(_received) or isinstance(error, KeyboardInterrupt)


def _receive(number: int, frame: object) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def _drop(dropped: sys.UnraisableHookArgs) -> None:
    """Ignore a signal that Python cannot raise, as in a ``__del__``: the thread ends the process."""
    if not (_received and dropped.exc_type is KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def _watch(reading: socket.socket, left: threading.Event) -> None:
    """Wait for a signal, then briefly for the block to end."""
    with reading:
        while number := reading.recv(1):  # nothing once the block has ended
            if number[0] in SIGNALS and not left.wait(GRACE):
                try:
                    _say()
                finally:
                    _exit(128 + number[0])  # as a shell reports it


def _say() -> None:
    """Print the innermost summary, once."""
    with _speaking:
        if _summaries:
            show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
            print(f"{show_cursor}\ninterrupted: {_summaries[-1]()}", file=sys.stderr, flush=True)
            _summaries.clear()
