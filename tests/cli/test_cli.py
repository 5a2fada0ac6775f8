"""The command answers at once, tells its version, completes, and runs as a module."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import warnings
from contextlib import suppress

import click
import numpy as np
import pytest
from click.testing import CliRunner

import small_data as small
import unseen
from conftest import ROOT
from unseen.cli import COMMANDS, main, warnings_as_lines
from unseen.errors import UnseenError
from unseen.methods import METHODS

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "plotly",
    "jinja2",
    "onnx",
    "onnxruntime",
    "dask",
    "joblib",
    "rich",
    "sqlite3",
)


def run_code(code):
    """Run Python code in a process of its own."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys\nfrom unseen.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = run_code(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("loaded: []\n")


def test_the_version_is_that_of_the_package(run_process):
    assert run_process("--version").stdout == f"unseen, version {unseen.__version__}\n"


def help_of(*names: str) -> str:
    done = CliRunner().invoke(main, [*names, "--help"], prog_name="unseen", terminal_width=80)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("names", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_help_fits_80_columns_and_shows_no_control_character(names):
    text = help_of(*names)
    assert max(map(len, text.splitlines())) <= 80
    assert "\\b" not in text and "\b" not in text


def test_summaries_are_whole_sentences():
    text = help_of()
    for name in COMMANDS:
        assert f"\n  {name} " in text
    assert "..." not in text.split("Commands:")[1]


def examples(name: str) -> list[str]:
    """Return the commands at the end of a help page: the rest of its line, or one per line."""
    end = help_of(name).partition("Example:")[2]
    if end.startswith(" "):
        return [" ".join(end.split())]
    return [line.strip() for line in end.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_understands(name):
    """The options and arguments of an example exist; whether its files do is up to the reader."""
    found = examples(name)
    assert found
    for line in found:
        program, command, *arguments = shlex.split(line)
        assert (program, command) == ("unseen", name)
        with suppress(UnseenError, click.exceptions.Exit):  # of what an eager option looks for
            main.get_command(click.Context(main), name).make_context(name, arguments)


def test_fit_lists_the_methods_in_its_help():
    text = "".join(help_of("fit").split())  # a line may end at a hyphen
    assert f",{','.join(METHODS)};" in text


def test_methods_are_listed_with_one_line_each():
    done = CliRunner().invoke(main, ["methods"])
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(METHODS)
    assert all(len(line.split()) > 4 and len(line) < 130 for line in lines)
    assert sum("Variant of" not in line for line in lines) == 10


def test_names_are_separated_by_commas_and_spaces(tmp_path):
    """Spaces after commas do not belong to the names; an empty name is an oversight."""
    path = str(small.write_npz(tmp_path / "x.npz", drop=["unseen_classes"]))
    names = [small.CLASS_NAMES[c] for c in small.UNSEEN]
    found = CliRunner().invoke(main, ["inspect", path, "--unseen", ", ".join(names), "--json"])
    assert json.loads(found.stdout)["unseen_classes"] == 3
    refused = CliRunner().invoke(main, ["inspect", path, "--unseen", f"{names[0]},,{names[1]}"])
    assert refused.exit_code == 2 and "empty name" in refused.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(run, shell):
    script = run(env={"_UNSEEN_COMPLETE": f"{shell}_source"})
    assert "_UNSEEN_COMPLETE" in script.stdout
    asked = {"COMP_WORDS": "unseen rep", "COMP_CWORD": "rep" if shell == "fish" else "1"}
    assert "report" in run(env={"_UNSEEN_COMPLETE": f"{shell}_complete", **asked}).stdout


def test_nothing_completes_after_an_unknown_command(run):
    asked = {"COMP_WORDS": "unseen benhc --", "COMP_CWORD": "2"}
    done = run(env={"_UNSEEN_COMPLETE": "bash_complete", **asked})
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_command_is_one_clear_line(run_process):
    done = run_process("benhc")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: No such command 'benhc'. Did you mean 'bench'? (see unseen --help)\n"


@pytest.mark.parametrize("names", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_a_wrong_option_is_one_clear_line(names):
    done = CliRunner().invoke(main, [*names, "--nonsense"], prog_name="unseen")
    assert (done.exit_code, done.stdout) == (2, "")
    message, _, place = done.stderr.removesuffix("\n").rpartition(" (see ")
    assert message.startswith("error: ") and "--nonsense" in message and "\n" not in message
    assert place == " ".join(["unseen", *names, "--help)"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "Missing option '--model'."),
        (["predict"], "Missing argument 'MODEL'."),
        (["bench", "--seeds", "x"], "Invalid value for '--seeds': 'x' is not a valid integer range."),
        (["bench", "--jobs", "2", "--cluster", "x"], "--jobs and --cluster are mutually exclusive."),
    ],
)
def test_wrong_usage_is_one_clear_line(arguments, message):
    done = CliRunner().invoke(main, arguments, prog_name="unseen")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: {message} (see unseen {arguments[0]} --help)\n"


def test_the_bare_command_prints_its_help():
    done = CliRunner().invoke(main, [], prog_name="unseen")
    assert done.output.startswith("Usage: unseen [OPTIONS] COMMAND") and "error" not in done.output


def test_warnings_for_developers_are_not_shown(capsys):
    with warnings_as_lines():
        warnings.simplefilter("default", RuntimeWarning)
        assert np.isinf(np.array([1e200]) ** 2).all()  # overflows
        warnings.warn("two\nlines", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: two lines\n"


@pytest.mark.parametrize(
    "moment",
    ["click.Group.main", "click.Context.__enter__", "unseen.cli.stoppable", "click.Context.exit", "atexit"],
)
def test_ctrl_c_before_and_after_the_command_says_nothing(moment):
    done = run_code(
        "import atexit, signal, sys\nimport click\nimport unseen.cli\n"
        "def interrupt(*args, **options):\n    signal.raise_signal(signal.SIGINT)\n"
        + ("atexit.register(interrupt)\n" if moment == "atexit" else f"{moment} = interrupt\n")
        + "sys.argv = ['unseen', 'methods']\nunseen.cli.run()"
    )
    assert done.returncode in (130, -signal.SIGINT)  # a shell reports both as 130
    assert done.stderr == ""
