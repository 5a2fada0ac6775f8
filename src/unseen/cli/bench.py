"""``unseen bench``: the paper's tables for a data set, from one command that can be interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen.cli._signals import stoppable

if TYPE_CHECKING:
    from unseen.benchmark.experiment import Setting
    from unseen.benchmark.runner import Report, Task


def show_status(ctx: click.Context, parameter: click.Parameter, folder: Path | None) -> None:
    """Print what a run folder holds, and leave."""
    if folder is None:
        return
    from unseen.benchmark.status import describe_store
    from unseen.benchmark.store import Store

    with Store(folder) as store:
        for line in describe_store(store):
            click.echo(line)
    ctx.exit()


@click.command(epilog="Example: unseen bench data/CUB --features res50 --methods eszsl,sje --jobs 2")
@click.argument("data", nargs=-1)
@click.option("--methods", help="Comma-separated; module:Class for your own. [default: all eight]")
@click.option("--features", default="res101", show_default=True, help="Feature files, comma-separated.")
@click.option("--split-dir", multiple=True, help="Folder of another split; may be given several times.")
@click.option("--prototypes", metavar="FILE.csv", help="Class descriptions for your own data.")
@click.option(
    "--unseen", "--unseen-classes", "unseen_classes", metavar="A,B,...", help="Classes to test as unseen."
)
@click.option("--split-rule", default="official", show_default=True, help="official, paper, or a CSV file.")
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, help="Runs of methods that draw lots."
)
@click.option(
    "--gamma",
    type=click.Choice(["paper", "transfer"]),
    default="paper",
    show_default=True,
    help="How gamma gets from the folds to the test.",
)
@click.option("--jobs", type=click.IntRange(1), help="Runs at the same time. [default: one per processor]")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of each run.")
@click.option("--cluster", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. [default: runs/DATA-SPLIT]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "markdown", "latex", "csv"]),
    default="table",
    show_default=True,
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option(
    "--status",
    type=click.Path(path_type=Path),
    metavar="RUN",
    callback=show_status,
    expose_value=False,
    is_eager=True,
    help="Show what a run folder holds.",
)
@click.option(
    "--verify",
    "verified",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Compute some stored runs again and compare every number.",
)
def command(
    data: tuple[str, ...],
    methods: str | None,
    features: str,
    split_dir: tuple[str, ...],
    prototypes: str | None,
    unseen_classes: str | None,
    split_rule: str,
    seeds: int,
    gamma: str,
    jobs: int | None,
    threads: int,
    cluster: str | None,
    out: Path | None,
    as_json: bool,
    style: str,
    quiet: bool,
    verified: Path | None,
) -> None:
    """Run methods on DATA with the paper's protocol and print the paper's tables.

    DATA is digits (the default), synthetic, an xlsa17 folder, a .npz file or a folder with features.npy; give
    several to run them all. Every finished run is stored in the run folder at once: the same command again
    continues where the last one stopped.
    """
    from unseen.benchmark.runner import plan, run_bench
    from unseen.benchmark.store import Store

    if verified:
        print_verification(verified, method_names(methods))
        return
    if jobs and cluster:
        raise click.UsageError("--jobs counts processes here; on a --cluster its workers decide. Give one.")
    combinations = product(data or ("digits",), features.split(","), split_dir or (None,))
    common: dict[str, Any] = {
        "split_rule": split_rule,
        "gamma": gamma,
        "prototypes": prototypes,
        "unseen_classes": unseen_classes,
    }
    settings = [load_setting(*chosen, **common) for chosen in combinations]
    tasks = plan(settings, method_names(methods), seeds)
    folder = out or default_folder(settings)
    with Store(folder, create=True) as store:
        remember_command(store)
        with stoppable(lambda: stored_so_far(store, tasks, folder)):
            report = run_bench(tasks, store, jobs=jobs, threads=threads, quiet=quiet, cluster=cluster)
        print_results(store, tasks, as_json, style)
    print_report(report, folder, len(tasks), quiet)


def print_verification(folder: Path, methods: Sequence[str]) -> None:
    """Compute a random sample of stored runs again; a difference ends the command with exit code 1."""
    from unseen.benchmark.store import Store
    from unseen.benchmark.verify import verify

    verdicts = []
    with Store(folder) as store:
        stored = len(store.runs())
        for run, differences in verify(store, methods):
            verdict = f"{len(differences)} numbers differ, {differences[0]}" if differences else "the same"
            click.echo(f"{run.method} seed {run.seed}: {verdict}")
            verdicts.append(bool(differences))
    same = "all the same" if not any(verdicts) else f"{sum(verdicts)} differ"
    click.echo(f"{len(verdicts)} of {stored} stored runs computed again: {same}", err=True)
    if any(verdicts):
        sys.exit(1)


def load_setting(source: str, features: str, split_dir: str | None, **common: Any) -> Setting:
    """Load a data set with one of its feature files and one of its splits."""
    from unseen.benchmark.experiment import Setting

    return Setting.load(source, features=features, split_dir=split_dir, **common)


def method_names(methods: str | None) -> list[str]:
    """Return the methods asked for; an unknown one is refused before anything runs."""
    from unseen.methods import METHODS, find_method

    names = list(METHODS) if methods is None else [name.strip() for name in methods.split(",")]
    for name in names:
        find_method(name)
    return list(dict.fromkeys(names))


def default_folder(settings: Sequence[Setting]) -> Path:
    """Return runs/<data sets>-<splits>."""
    described = [setting.description for setting in settings]
    words = [d["dataset"] for d in described] + [d["published"]["split"] for d in described if d["published"]]
    return Path("runs", "-".join(dict.fromkeys(words)))


def remember_command(store: Any) -> None:
    """Store the command line, for "how to reproduce"."""
    from unseen.benchmark.status import this_command

    store.add_command(this_command(sys.argv[1:]))


def print_results(store: Any, tasks: Sequence[Task], as_json: bool, style: str) -> None:
    """Print what the tasks gave to stdout: one object per setting, or tables."""
    from unseen.benchmark.summary import summaries

    found = summaries(store, [task.run for task in tasks])
    if as_json:
        click.echo(json.dumps(found[0] if len(found) == 1 else {"settings": found}))
        return
    from unseen.benchmark.tables import FORMATS, paper_tables, print_tables, regret_table

    tables = [table for summary in found for table in [*paper_tables(summary), regret_table(summary)]]
    if style == "table":
        print_tables(tables, stdout_console())
    else:
        click.echo(FORMATS[style](tables), nl=False)


def stdout_console() -> Any:
    """Return a rich console on stdout; a file gets lines as long as they need to be."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=200, no_color=True)


def stored_so_far(store: Any, tasks: Sequence[Task], folder: Path) -> str:
    """Say what an interrupted bench leaves behind."""
    stored = sum(store.has(task.run.key) for task in tasks)
    return f"{stored} of {len(tasks)} runs are stored in {folder}; the same command continues."


def print_report(report: Report, folder: Path, total: int, quiet: bool) -> None:
    """Say on stderr what was done; failures end the command with exit code 1."""
    from unseen.benchmark.status import failure_line

    if not quiet:
        text = f"{report.done} runs done now, {report.found} found; stored in {folder}"
        click.echo(f"{text}. Next: unseen report {folder} --html {folder / 'report.html'}", err=True)
    for failure in report.failures:
        click.echo(failure_line(failure), err=True)
    if report.failures:
        click.echo(
            f"{len(report.failures)} of {total} runs failed; the same command tries them again.", err=True
        )
        sys.exit(1)
