"""The command ``unseen``: one thin module per subcommand, imported when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from unseen import __version__
from unseen.cli._signals import stoppable
from unseen.cli._warnings import warnings_as_lines
from unseen.errors import UnseenError, one_line

# Subcommands in the order a newcomer meets them; each lives in unseen.cli.<name> as ``command``.
COMMANDS: tuple[str, ...] = (
    "inspect",
    "methods",
    "bench",
    "report",
    "calibrate",
    "extract",
    "describe",
    "fit",
    "predict",
    "evaluate",
    "add-class",
    "export",
    "download",
)


class _Commands(click.Group):
    """Subcommands found by name, imported on first use: nothing heavy before it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"unseen.cli.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of every command's help; click would cut long ones."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, command.get_short_help_str(limit=200)) for name, command in found.items() if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; an error of the user or the machine becomes one line and exit code 2."""
        try:
            with stoppable(lambda: "no file was written."), warnings_as_lines():
                return super().invoke(ctx)
        except (UnseenError, OSError, MemoryError) as error:
            if isinstance(error, BrokenPipeError):
                raise  # the reader of our output has left, as head does
            click.echo(f"error: {_explain(error)}", err=True)
            sys.exit(2)


def _explain(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {' '.join(str(error).split())}".rstrip()
    return one_line(error)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="unseen")
def main() -> None:
    """Zero-shot and generalized zero-shot learning: one classifier over old and new classes."""
