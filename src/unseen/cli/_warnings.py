"""Warnings of the library as lines for the user of the command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show each warning once as ``warning: ...`` on stderr, without the place in the source."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown and issubclass(category, UserWarning):  # others are for developers
            click.echo(f"warning: {text}", err=True)
        shown.add(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
