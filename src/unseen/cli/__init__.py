"""The command ``unseen``: one thin module per subcommand, imported when it is used."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from unseen import __version__
from unseen.cli._signals import exit_on_interrupt, stoppable
from unseen.errors import UnseenError, did_you_mean, one_line

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
    "explain",
    "evaluate",
    "suggest",
    "add-class",
    "export",
    "push",
    "download",
)


class _Commands(click.Group):
    """Subcommands found by name, imported on first use: nothing heavy before it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"unseen.cli.{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; suggest one if the name is misspelled."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:  # the shell may still be typing it
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Parse what stands before the subcommand."""
        with _errors_as_lines():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        with _errors_as_lines(), stoppable(lambda: "no file was written."), warnings_as_lines():
            return super().invoke(ctx)


@contextmanager
def _errors_as_lines() -> Iterator[None]:
    """Turn an error of the user or the machine into one line and exit code 2."""
    try:
        yield
    except (BrokenPipeError, NoArgsIsHelpError):
        raise  # the reader of our output has left, as head does; the bare command prints its help
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "unseen"
        _fail(f"{' '.join(error.format_message().split())} (see {command} --help)")
    except MemoryError as error:
        _fail(f"There is not enough memory. {' '.join(str(error).split())}".rstrip())
    except (UnseenError, OSError) as error:
        _fail(one_line(error))


def _fail(message: str) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(2)


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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name="unseen")
def main() -> None:
    """Zero-shot and generalized zero-shot learning: one classifier over old and new classes."""


def run() -> None:
    """Run the command line in a process that ends with it."""
    with exit_on_interrupt():
        main(prog_name="unseen")
