"""Every code block of the pages and the README runs, every page is reachable, the site builds cleanly."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT, find_data
from doc_blocks import SHELL, blocks, commands, find_lines, needs, run_page, same_line, same_words, sessions
from unseen.methods import METHODS

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
LONG = ("reproduce.md", "data.md")  # may have more than 1200 words
QUESTIONS = {  # what a reader asks, and words of the page that answers
    "My features are in a CSV": ("tutorials/own_data.md", "unseen fit samples.csv --label"),
    "A new class has no examples": ("tutorials/own_data.md", "unseen add-class"),
    "It predicts only old classes": ("troubleshooting.md", "**It predicts only old classes.**"),
    "What does gamma mean?": ("glossary.md", "{ #gamma } The number subtracted"),
    "Can I trust 0.7?": ("sure.md", "## Can I trust 0.7?"),
    "Which method?": ("methods/index.md", "## Which one?"),
    "How many classes do I need?": ("descriptions.md", "## How many classes and attributes are enough?"),
    "How do I deploy it?": ("tutorials/own_data.md", "## Deploy it"),
    "It says U006": ("checks.md", "{#u006}"),
    "How does it compare with TF-VAEGAN?": ("how_good.md", "TF-VAEGAN"),
    "How does it compare with CLIP?": ("tutorials/clip.md", "plain zero-shot"),
}


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


def test_ten_lines_of_pandas_are_ten_lines():
    first = next(blocks((DOCS / "tutorials" / "dataframes.md").read_text("utf-8")))
    lines = [line for line in first.text.splitlines() if line]
    assert len(lines) <= 10
    for call in ("read_csv", "GZSLClassifierCV(", ".card()", ".predict_top(", "save_model(", "export("):
        assert call in first.text


def test_the_reader_of_blocks_understands_the_marks():
    page = '<!-- not run: no data -->\n```python\n1/0\n```\n\n  ```text title="a.csv"\n  x\n  ```\n'
    first, second = blocks(page)
    assert (first.language, first.text, first.reason) == ("python", "1/0\n", "no data")
    assert (second.title, second.text, second.reason) == ("a.csv", "x\n", None)
    assert needs("<!-- needs: a=b/c, d=../e -->") == {"a": "b/c", "d": "../e"}
    assert commands("$ unseen bench\nunseen output\n") == ["unseen bench"]
    assert commands("pip install unseen\nunseen report x\n") == ["unseen report x"]


def test_the_reader_of_output_finds_what_is_stale():
    assert list(sessions("$ unseen a\n1\n2\n$ ls\nx\n$ unseen b \\\n  c\n")) == [
        ("unseen a", ["1", "2"]),
        ("unseen b   c", []),
    ]
    assert list(sessions("unseen a\nunseen b\n")) == [("unseen a", []), ("unseen b", [])]
    printed = ["gamma  4.82", "seen   13", "H      96.3 %"]
    assert find_lines(["gamma 4.82", "...", "H 96.3 %"], printed, same_line) == [
        printed[0],
        "...",
        printed[2],
    ]
    for stale in (["gamma 4.84"], ["seen 14"], ["unseen 13"], ["H 96.3 %", "gamma 4.82"]):
        with pytest.raises(AssertionError, match=stale[-1]):
            find_lines(stale, printed, same_line)
    assert same_words("H 1.5 %", "H   -2 %") and not same_words("H 1", "U 1")


def words(path):
    return len(path.read_text("utf-8").split())


def test_pages_are_short():
    pages = [path for path in PAGES[1:] if "api" not in path.parts]
    methods = [path for path in (DOCS / "methods").iterdir() if path.name != "index.md"]
    assert words(ROOT / "README.md") <= 550
    assert sum(map(words, pages)) <= 15_000
    assert {path.name for path in pages if words(path) > 1200} <= {*LONG}
    assert {path.name for path in methods if words(path) > 250} == set()
    assert words(DOCS / "sure.md") <= 900


def links(path):
    """Return the pages of the site that a page links to."""
    found = re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", path.read_text("utf-8"))
    return {(path.parent / target).resolve() for target in found}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_two_clicks_away(question):
    page, answer = QUESTIONS[question]
    first = links(DOCS / "index.md")
    assert DOCS / page in first.union(*map(links, first))
    assert answer in (DOCS / page).read_text("utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_of_the_repository_lead_somewhere(name):
    """Links between pages of the site, anchors included, are checked when it is built."""
    path = ROOT / name
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text("utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_figures_have_alternative_texts():
    for path in PAGES:
        texts = re.findall(r"!\[(.*?)\]\(", path.read_text("utf-8"), re.DOTALL)
        assert all(len(text.split()) >= 4 for text in texts), path.name


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
    pages = [path.read_text("utf-8") for path in tmp_path.rglob("*.html")]
    assert sum("<math" in page for page in pages) > 10
    for wrong in ("arithmatex", ".. math::", ":math:", "<mi>\\", "https://fonts."):
        assert not any(wrong in page for page in pages), wrong


def test_every_promise_names_a_test_that_exists():
    promises = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (DOCS / "reliability.md").read_text("utf-8"))
    assert len(promises) >= 20
    for file, name in promises:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), f"{file}::{name}"


def test_the_rooms_are_drawn():
    """Every folder and file of the package has its place in CONTRIBUTING.md and on the page of the rooms."""
    drawn = set(
        re.findall(r"^  (\w+(?:\.py|/))  ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    )
    found = [path for path in (ROOT / "src" / "unseen").iterdir() if not path.name.startswith("__")]
    rooms = {f"{path.name}/" if path.is_dir() else path.name for path in found if path.suffix in ("", ".py")}
    assert drawn == rooms
    page = (DOCS / "architecture.md").read_text("utf-8").split("```")[1]
    assert {*re.findall(r"(?:^| {3,})(\w+) {3,}", page, re.MULTILINE)} == {
        name.removesuffix("/").removesuffix(".py") for name in rooms
    }
