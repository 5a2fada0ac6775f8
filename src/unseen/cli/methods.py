"""``unseen methods``: what --method and --methods can name."""

from __future__ import annotations

import json

import click

from unseen.cli import options


@options.command("unseen methods")
@options.as_json
def command(as_json: bool) -> None:
    """List the methods, one line each.

    Give a name, in any case, to fit --method or bench --methods. Your own class is named as module:Class.
    """
    from unseen.methods import METHODS, find_method

    summaries = {}
    for name, row in METHODS.items():
        method = find_method(name)
        fixed = ", ".join(f"{key}={value!r}" for key, value in row.params.items())
        variant = f"Variant of {method.__name__.lower()} with {fixed}."
        summaries[name] = variant if fixed else (method.__doc__ or "").strip().splitlines()[0]
    if as_json:
        found = {name: {"title": METHODS[name].title, "summary": text} for name, text in summaries.items()}
        click.echo(json.dumps(found, indent=2))
        return
    width = max(map(len, summaries))
    for name, text in summaries.items():
        click.echo(f"{name:<{width}}  {text}")
