"""``unseen bench``: the paper's tables for a data set, by a command that can be interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen.cli import options
from unseen.cli._signals import stoppable
from unseen.methods import METHODS, find_method, method_name

if TYPE_CHECKING:
    from rich.console import Console

    from unseen.benchmark.experiment import Experiment
    from unseen.benchmark.runner import BenchTask, Tally
    from unseen.benchmark.store import Store


@click.command(
    epilog=options.example(
        "unseen bench letters --methods eszsl,lda --out runs/letters",
        "unseen bench data/CUB --features res50 --seeds 5 --jobs 2",
    )
)
@click.argument("data", nargs=-1)
@click.option(
    "--methods",
    callback=options.split_names,
    metavar="A,B,...",
    help=f"Some of {', '.join(METHODS)}; or module:Class for your own.  [default: all that fit the data]",
)
@click.option(
    "--features",
    callback=options.split_names,
    metavar="A,B,...",
    help="Feature files of an xlsa17 folder.  [default: res101]",
)
@click.option(
    "--split-dir",
    multiple=True,
    metavar="FOLDER",
    help="Folder of another split. May be given several times.",
)
@options.split_rule
@options.prototypes()
@options.label
@options.ignore
@options.text_encoder
@options.unseen_classes
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, help="Runs of stochastic methods."
)
@click.option(
    "--gamma",
    type=click.Choice(["retention", "paper"]),
    default="retention",
    show_default=True,
    help="Rule that carries gamma from the folds to the test.",
)
@options.normalize_list
@click.option("--jobs", type=click.IntRange(1), help="Runs at the same time.  [default: one per processor]")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of each run.")
@click.option("--cluster", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
@click.option(
    "--cluster-timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up after this time without any worker.",
)
@click.option("--out", type=options.FILE, metavar="RUN", help="Run folder.  [default: runs/DATA-SPLIT]")
@options.as_json
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "markdown", "csv"]),
    default="table",
    show_default=True,
    help="How to print the results.",
)
@options.quiet
def command(
    data: tuple[str, ...],
    methods: tuple[str, ...] | None,
    features: tuple[str, ...] | None,
    split_dir: tuple[str, ...],
    split_rule: str,
    prototypes: tuple[Path, ...],
    label: str | None,
    ignore: tuple[str, ...] | None,
    text_encoder: str | None,
    unseen_classes: tuple[str, ...] | None,
    seeds: int,
    gamma: str,
    normalize: tuple[str, ...] | None,
    jobs: int | None,
    threads: int,
    cluster: str | None,
    cluster_timeout: float,
    out: Path | None,
    as_json: bool,
    style: str,
    quiet: bool,
) -> None:
    """Run methods on DATA with the paper's protocol and print the paper's tables.

    DATA is letters (the default), digits, synthetic, an xlsa17 folder, a .npz file, a folder with
    features.npy, or a table (.csv, .parquet); give several to run them all. Every finished run is stored at
    once in the run folder: the same command again continues where the last one stopped.
    """
    from unseen.benchmark.experiment import Experiment
    from unseen.benchmark.runner import plan, run_bench
    from unseen.benchmark.store import Store, this_command

    names = find_names(methods)
    if jobs and cluster:
        raise click.UsageError("--jobs and --cluster are mutually exclusive.")
    experiments = [
        Experiment.load(
            source,
            features=feature_file,
            split_dir=folder,
            split_rule=split_rule,
            gamma=gamma,
            normalize=scaling,
            prototypes=[str(file) for file in prototypes],
            text_encoder=text_encoder,
            unseen_classes=",".join(unseen_classes) if unseen_classes else None,
            label=label,
            ignore=ignore,
            read_prototypes=options.read_descriptions,
        )
        for source, feature_file, folder, scaling in product(
            data or (options.DEFAULT_DATA,), features or (None,), split_dir or (None,), normalize or (None,)
        )
    ]
    tasks = plan(experiments, names, seeds)
    folder = out or default_folder(experiments)
    with Store(folder, create=True) as store:
        store.add_command(this_command(sys.argv[1:]))
        with stoppable(lambda: stored_so_far(store, tasks, folder)):
            tally = run_bench(
                tasks,
                store,
                jobs=jobs,
                threads=threads,
                quiet=quiet,
                cluster=cluster,
                cluster_timeout=cluster_timeout,
            )
        print_results(store, tasks, "json" if as_json else style)
    print_tally(tally, folder, len(tasks), quiet)


def find_names(methods: Sequence[str] | None) -> list[str] | None:
    """Return the registered names of the methods asked for; unknown ones are an error at once."""
    if methods is None:
        return None
    names = list(dict.fromkeys(map(method_name, methods)))
    for name in names:
        find_method(name)
    return names


def default_folder(experiments: Sequence[Experiment]) -> Path:
    """Return runs/<data sets>-<splits>."""
    words = [experiment.dataset.name for experiment in experiments]
    words += [experiment.published["split"] for experiment in experiments if experiment.published]
    return Path("runs", "-".join(dict.fromkeys(words)))


def print_results(store: Store, tasks: Sequence[BenchTask], style: str) -> None:
    """Print the results to stdout: one object per experiment, or tables."""
    from unseen.benchmark.summary import summarize_store, summary_json

    found = summarize_store(store, [task.run for task in tasks])
    if style == "json":
        click.echo(json.dumps(summary_json(found[0] if len(found) == 1 else {"experiments": found})))
        return
    from unseen.benchmark.formats import WRITERS, print_tables
    from unseen.benchmark.tables import paper_tables, regret_table

    tables = [table for summary in found for table in [*paper_tables(summary), regret_table(summary)]]
    if style == "table":
        print_tables(tables, stdout_console())
    else:
        click.echo(WRITERS[style](tables), nl=False)


def stdout_console() -> Console:
    """Return a rich console on stdout; a file gets lines as long as they need to be."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=200, no_color=True)


def stored_so_far(store: Store, tasks: Sequence[BenchTask], folder: Path) -> str:
    """Say what an interrupted bench leaves behind."""
    stored = sum(store.has(task.run.key) for task in tasks)
    return f"{stored} of {len(tasks)} runs are stored in {folder}; the same command continues."


def print_tally(tally: Tally, folder: Path, total: int, quiet: bool) -> None:
    """Say on stderr what was done; any failure makes the exit code 1."""
    if not quiet:
        text = f"{tally.done} runs done now, {tally.found} found; stored in {folder}"
        click.echo(f"{text}. Next: unseen report {folder} --html {folder / 'report.html'}", err=True)
    for failure in tally.failures:
        click.echo(failure, err=True)
    if tally.failures:
        click.echo(
            f"{len(tally.failures)} of {total} runs failed; the same command tries them again.", err=True
        )
        sys.exit(1)
