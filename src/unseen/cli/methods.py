"""``unseen methods``: what --method and --methods can name."""

from __future__ import annotations

import click

from unseen.cli import options


@options.command("unseen methods")
def command() -> None:
    """List the methods, one line each.

    Give a name, in any case, to fit --method or bench --methods. Your own class is named as module:Class.
    """
    from unseen.methods import METHODS, find_method

    width = max(map(len, METHODS))
    for name, row in METHODS.items():
        method = find_method(name)
        fixed = ", ".join(f"{key}={value!r}" for key, value in row.params.items())
        variant = f"Variant of {method.__name__.lower()} with {fixed}."
        text = variant if fixed else (method.__doc__ or "").strip().splitlines()[0]
        click.echo(f"{name:<{width}}  {text}")
