"""The command answers at once, tells its version, completes, and runs as a module."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import unseen
from conftest import ROOT
from unseen.cli import COMMANDS

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "plotly",
    "jinja2",
    "onnxruntime",
    "dask",
    "joblib",
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


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, unseen; dir(unseen); print([name for name in {HEAVY!r} if name in sys.modules])"
    done = run_code(code)
    assert done.stdout == "[]\n"


def test_the_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"unseen, version {unseen.__version__}\n"


def test_every_command_has_an_example_in_its_help(run):
    text = run("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in text
        assert "xample" in run(name, "--help").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(run, shell):
    script = run(env={"_UNSEEN_COMPLETE": f"{shell}_source"})
    assert "_UNSEEN_COMPLETE" in script.stdout
    asked = {"COMP_WORDS": "unseen rep", "COMP_CWORD": "rep" if shell == "fish" else "1"}
    assert "report" in run(env={"_UNSEEN_COMPLETE": f"{shell}_complete", **asked}).stdout


def test_an_unknown_command_is_one_clear_line(run):
    done = run("benhc")
    assert done.returncode == 2
    assert "benhc" in done.stderr and "Traceback" not in done.stderr
