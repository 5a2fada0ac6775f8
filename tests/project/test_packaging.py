"""The wheel and the source distribution build, hold what they should, and work where nothing else is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import unseen
from conftest import ROOT

pytestmark = pytest.mark.xdist_group("packaging")


def call(*command: object, cwd: Path) -> str:
    """Run a command without any trace of this environment's packages; return its output."""
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> dict[str, Path]:
    """The two distributions, by the end of their name; the wheel is built from the source distribution."""
    pytest.importorskip("build", reason="needs the package build: pip install build")
    folder = tmp_path_factory.mktemp("dist")
    try:
        call(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    except AssertionError as error:
        if "No matching distribution" in str(error) or "Could not find a version" in str(error):
            pytest.skip("no package index can be reached to build with")
        raise
    return {path.name.split("-")[-1].removeprefix(unseen.__version__): path for path in folder.iterdir()}


@pytest.mark.slow
def test_the_wheel_holds_code_templates_and_published_numbers(built):
    assert built["any.whl"].stat().st_size < 1_500_000
    with zipfile.ZipFile(built["any.whl"]) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"unseen", f"unseen-{unseen.__version__}.dist-info"}
    source = ROOT / "src"
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert {file for file in files if "__pycache__" not in file} <= set(names)
    assert {"unseen/py.typed", "unseen/benchmark/data/published_scores.csv"} <= set(names)


@pytest.mark.slow
def test_the_source_distribution_can_be_tested_and_documented(built):
    with tarfile.open(built[".tar.gz"]) as archive:
        names = archive.getnames()
    root = f"unseen-{unseen.__version__}"
    for needed in (
        "tests/conftest.py",
        "docs/index.md",
        "mkdocs.yml",
        "LICENSE",
        "CITATION.cff",
        "CONTRIBUTING.md",
    ):
        assert f"{root}/{needed}" in names


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_from_another_folder(built, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    bin_folder = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    call(
        bin_folder / "python", "-m", "pip", "install", "--quiet", f"{built['any.whl']}[report]", cwd=tmp_path
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = bin_folder / "unseen"
    assert call(command, "--version", cwd=elsewhere) == f"unseen, version {unseen.__version__}\n"
    assert "bench" in call(bin_folder / "python", "-m", "unseen", "--help", cwd=elsewhere)
    assert "Linear" in call(
        command, "bench", "letters", "--methods", "linear-sv", "--out", "run", cwd=elsewhere
    )
    call(command, "report", "run", "--html", "report.html", cwd=elsewhere)
    assert (elsewhere / "report.html").stat().st_size > 1e6


def test_the_version_is_written_in_one_place_and_cited():
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text("utf-8")
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited and cited[1] == unseen.__version__
    assert f"## {unseen.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
