"""Warnings of the library as lines for the user of the command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show a warning as ``warning: ...`` on stderr, without the place in the code."""

    def show(message: Warning | str, *place: object, **more: object) -> None:
        click.echo(f"warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
