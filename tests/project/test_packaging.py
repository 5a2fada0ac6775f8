"""The wheel and the source distribution build, hold what they should, and work where nothing else is."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
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
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1580601600")
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
def test_the_licenses_of_code_and_data_are_in_the_wheel(built):
    with zipfile.ZipFile(built["any.whl"]) as archive:
        folder = f"unseen-{unseen.__version__}.dist-info/licenses"
        assert "BSD" in archive.read(f"{folder}/LICENSE").decode()
        data = archive.read(f"{folder}/LICENSES-DATA.md").decode()
    assert "## letters" in data and "## digits" in data


@pytest.mark.slow
def test_a_second_build_gives_the_same_bytes(built, tmp_path):
    """Of both distributions, and from a copy elsewhere."""
    with tarfile.open(built[".tar.gz"]) as archive:
        archive.extractall(tmp_path, filter="data")
    [copy] = tmp_path.iterdir()
    call(sys.executable, "-m", "build", "--outdir", tmp_path / "again", copy, cwd=tmp_path)
    for path in built.values():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


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


def test_every_typeface_of_the_letters_has_its_license():
    stated = (ROOT / "LICENSES-DATA.md").read_text("utf-8")
    rows = csv.DictReader((ROOT / "docs" / "letters_typefaces.csv").read_text("utf-8").splitlines())
    by_license = dict(re.findall(r"^- \*\*(.+?)\*\* \(\d+\): (.+)\.$", stated, re.MULTILINE))
    assert all(row["family"] in by_license[row["license"]].split(", ") for row in rows)


def test_the_citation_has_what_the_format_requires():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software" and cited["authors"]
    for work in cited["references"]:
        assert {"type", "title", "authors"} <= set(work)


def test_the_bill_of_materials_can_name_the_version():
    """``make sbom`` puts it in the place of the line that says where the version is."""
    makefile, project = ((ROOT / name).read_text("utf-8") for name in ("Makefile", "pyproject.toml"))
    replaced = re.search(r'sed "s/(\S+ = \.\*)/version', makefile)
    assert replaced is not None
    known = tomllib.loads(re.sub(replaced[1], 'version = "1"', project, flags=re.MULTILINE))["project"]
    assert known["version"] == "1" and "dynamic" not in known


def test_workflows_call_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    called = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text("utf-8")
        called |= set(re.findall(r"run: make ([a-z-]+)", text))
        for names in re.findall(r"target: \[(.+)\]", text):
            called |= set(names.split(", "))
    assert {"lint", "types", "test", "docs", "build", "sbom", "audit"} <= called <= targets


@pytest.mark.skipif(shutil.which("zizmor", path=Path(sys.executable).parent) is None, reason="needs zizmor")
def test_workflows_have_no_finding():
    call(Path(sys.executable).parent / "zizmor", "--offline", "--quiet", ROOT / ".github", cwd=ROOT)


def test_the_version_is_written_in_one_place_and_cited():
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text("utf-8")
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited and cited[1] == unseen.__version__
    assert f"## {unseen.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
