"""``unseen bench``: the paper's tables for a data set, by a command that can be interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen.cli import options
from unseen.cli._signals import stoppable
from unseen.methods import METHODS, method_name

if TYPE_CHECKING:
    from unseen.benchmark.experiment import Experiment
    from unseen.benchmark.runner import BenchTask, Tally
    from unseen.benchmark.store import Store


@options.command(
    "unseen bench letters --methods eszsl,lda --out runs/letters",
    "unseen bench data/CUB --features res50 --seeds 5 --jobs 2",
)
@click.argument("data", nargs=-1)
@options.name_list(
    "--methods",
    help=f"Some of {', '.join(METHODS)}; or module:Class for your own.  [default: all that fit the data]",
)
@options.name_list("--features", help="Feature files of an xlsa17 folder.  [default: res101]")
@click.option(
    "--split-dir",
    multiple=True,
    metavar="FOLDER",
    help="Folder of another split. May be given several times.",
)
@options.split_rule
@options.prototypes()
@options.columns
@options.unseen_classes
@options.count("--seeds", default=5, help="Runs of stochastic methods.")
@click.option(
    "--gamma",
    type=click.Choice(["retention", "paper"]),
    default="retention",
    help="Rule that carries gamma from the folds to the test.",
)
@options.normalize_list
@options.count("--jobs", help="Runs at the same time.  [default: one per processor]")
@options.count("--threads", default=1, help="Threads of each run.")
@click.option("--cluster", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
@click.option(
    "--cluster-timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    metavar="SECONDS",
    help="Give up after this time without any worker.",
)
@options.file("--out", metavar="RUN", help="Run folder.  [default: runs/DATA-SPLIT]")
@options.as_json
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "markdown", "csv"]),
    default="table",
    help="How to print the results.",
)
@options.quiet
def command(
    data: tuple[str, ...],
    methods: tuple[str, ...] | None,
    features: tuple[str, ...] | None,
    split_dir: tuple[str, ...],
    normalize: tuple[str, ...] | None,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    seeds: int,
    jobs: int | None,
    threads: int,
    cluster: str | None,
    cluster_timeout: float,
    out: Path | None,
    as_json: bool,
    style: str,
    quiet: bool,
    **asked: Any,
) -> None:
    """Run methods on DATA and print the paper's tables.

    DATA is letters (the default), digits, synthetic, an xlsa17 folder, a .npz file, a folder with
    features.npy, or a table (.csv, .parquet); give several to run them all. Every finished run is stored at
    once in the run folder: the same command again continues where the last one stopped.
    """
    from unseen.benchmark.experiment import Experiment
    from unseen.benchmark.runner import plan, run_bench
    from unseen.benchmark.store import Store, this_command

    names = list(dict.fromkeys(map(method_name, methods))) if methods else None
    if jobs and cluster:
        raise click.UsageError("--jobs and --cluster are mutually exclusive.")
    described = options.read_descriptions(prototypes, text_encoder) if prototypes else None
    sources = product(
        data or (options.DEFAULT_DATA,), features or (None,), split_dir or (None,), normalize or (None,)
    )
    experiments = [
        Experiment.load(
            source, features=file, split_dir=folder, normalize=scaling, prototypes=described, **asked
        )
        for source, file, folder, scaling in sources
    ]
    tasks = plan(experiments, names, seeds)
    run = out or default_folder(experiments)

    def stored_so_far() -> str:
        stored = sum(store.has(task.run.key) for task in tasks)
        return f"{stored} of {len(tasks)} runs are stored in {run}; the same command continues."

    with Store(run, create=True) as store:
        store.add_command(this_command(sys.argv[1:]))
        with stoppable(stored_so_far):
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
    print_tally(tally, run, len(tasks), quiet)


def default_folder(experiments: Sequence[Experiment]) -> Path:
    """Return runs/<data sets>-<splits>."""
    words = [experiment.dataset.name for experiment in experiments]
    words += [experiment.published["split"] for experiment in experiments if experiment.published]
    return Path("runs", "-".join(dict.fromkeys(words)))


def print_results(store: Store, tasks: Sequence[BenchTask], style: str) -> None:
    """Print the results to stdout: one object per experiment, or tables."""
    from rich.console import Console

    from unseen.benchmark.formats import WRITERS, print_tables
    from unseen.benchmark.summary import summarize_store, summary_json
    from unseen.benchmark.tables import paper_tables, regret_table

    found = summarize_store(store, [task.run for task in tasks])
    tables = [table for summary in found for table in [*paper_tables(summary), regret_table(summary)]]
    if style == "json":
        click.echo(json.dumps(summary_json(found[0] if len(found) == 1 else {"experiments": found})))
    elif style == "table":  # a file gets lines as long as they need to be
        print_tables(tables, Console() if sys.stdout.isatty() else Console(width=200, no_color=True))
    else:
        click.echo(WRITERS[style](tables), nl=False)


def print_tally(tally: Tally, folder: Path, total: int, quiet: bool) -> None:
    """Say on stderr what was done; any failure makes the exit code 1."""
    if not quiet:
        text = f"ran {tally.done}, reused {tally.found}; stored in {folder}"
        click.echo(f"{text}. Next: unseen report {folder} --html {folder / 'report.html'}", err=True)
    for failure in tally.failures:
        click.echo(failure, err=True)
    if tally.failures:
        click.echo(
            f"{len(tally.failures)} of {total} runs failed; the same command tries them again.", err=True
        )
        sys.exit(1)
