"""Every code block of the pages and the README runs, every page is reachable, the site builds cleanly."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT, find_data
from doc_blocks import SHELL, blocks, commands, needs, run_page
from unseen.methods import METHODS

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    needed = needs(path.read_text("utf-8"))
    data = find_data()
    if needed and data is None:
        pytest.skip("this page works on real data: set UNSEEN_DATA to the folder that has it")
    for name, place in needed.items():
        (tmp_path / name).symlink_to((data / place).resolve(strict=True))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run_page(path, tmp_path, ROOT / "src")


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_blocks_are_named_so_that_they_can_be_run(path):
    """A block without a language, or with an unknown one, would never be run."""
    text = path.read_text("utf-8")
    fences = re.findall(r"^ *```(.*)$", text, re.MULTILINE)
    opening = fences[::2]
    assert len(fences) % 2 == 0
    assert all(re.match(r"\w+", fence) for fence in opening), (
        "a block has no language; say text if it is not code"
    )
    known = {"python", "pycon", "text", "csv", "json", "yaml", "toml", "latex", "bibtex", "make", *SHELL}
    assert {block.language for block in blocks(text)} <= known


def test_the_reader_of_blocks_understands_the_marks():
    page = '<!-- not run: no data -->\n```python\n1/0\n```\n\n  ```text title="a.csv"\n  x\n  ```\n'
    first, second = blocks(page)
    assert (first.language, first.text, first.reason) == ("python", "1/0\n", "no data")
    assert (second.title, second.text, second.reason) == ("a.csv", "x\n", None)
    assert needs("<!-- needs: a=b/c, d=../e -->") == {"a": "b/c", "d": "../e"}
    assert commands("$ unseen bench\nunseen output\n") == ["unseen bench"]
    assert commands("pip install unseen\nunseen report x\n") == ["unseen report x"]


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert listed == {str(path.relative_to(DOCS)) for path in PAGES[1:]}


def test_figures_are_small():
    for path in (DOCS / "figures").iterdir():
        assert path.stat().st_size < 100_000, path.name


@pytest.mark.slow
def test_the_figures_of_the_methods_can_be_drawn_again(tmp_path):
    command = [sys.executable, DOCS / "scripts" / "figures.py", tmp_path]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(command, env=environment, check=True, timeout=600)
    drawn = {f"learns-{name}.svg" for name, row in METHODS.items() if not row.shared_space}
    assert {path.name for path in tmp_path.iterdir()} == drawn


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="needs the documentation packages: pip install --group docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    pages = [path.read_text("utf-8") for path in (tmp_path / "api").glob("*.html")]
    assert any("<math" in page for page in pages)
    for wrong in ("arithmatex", ".. math::", ":math:", "https://fonts."):
        assert not any(wrong in page for page in pages), wrong


def test_every_promise_names_a_test_that_exists():
    promises = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (DOCS / "reliability.md").read_text("utf-8"))
    assert len(promises) >= 20
    for file, name in promises:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), f"{file}::{name}"


def test_the_rooms_are_drawn():
    """Every folder and file of the package has its line in the tree of CONTRIBUTING.md."""
    drawn = set(
        re.findall(r"^  (\w+(?:\.py|/))  ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    )
    found = [path for path in (ROOT / "src" / "unseen").iterdir() if not path.name.startswith("__")]
    rooms = {f"{path.name}/" if path.is_dir() else path.name for path in found if path.suffix in ("", ".py")}
    assert drawn == rooms
