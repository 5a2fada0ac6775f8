"""Run the code of a documentation page the way a reader would: from top to bottom, in an empty folder.

Python blocks share one namespace, blocks with ``>>>`` are doctests. Of shell blocks the lines that call
``unseen`` are run. A block with a title is a file that the reader types in. Three comments steer it::

    <!-- not run: reason -->                  before a block
    <!-- needs: name=path/in/real/data -->    anywhere in a page that works on real data, perhaps several
    <!-- files: animals -->                   anywhere in a page that works on prepared files of doc_files
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from doc_files import PREPARED

_FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>.+?) -->\n+)?^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n`]*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_NEEDS = re.compile(r"<!-- needs: (.+?) -->")
_FILES = re.compile(r"<!-- files: (\w+) -->")
SHELL = {"console", "bash", "sh", "shell"}


class Block(NamedTuple):
    """One fenced block: its language, title, text, first line in the page, and why it is not run."""

    language: str
    title: str | None
    text: str
    line: int
    reason: str | None


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in their order."""
    for found in _FENCE.finditer(page):
        title = re.search(r'title="(.+?)"', found["options"])
        text = re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        line = page.count("\n", 0, found.start("text"))
        yield Block(found["language"], title and title[1], text, line, found["reason"])


def needs(page: str) -> dict[str, str]:
    """Return what of the real data a page works on: name in the reader's folder -> path in the data."""
    pairs = [pair.split("=") for found in _NEEDS.findall(page) for pair in found.split(",")]
    return {name.strip(): path.strip() for name, path in pairs}


def commands(text: str) -> list[str]:
    r"""Return the calls of ``unseen`` in a shell block, continued lines joined, prompts and output left out.

    >>> commands("$ pip install unseen\n$ unseen bench \\\n    digits\nunseen 1\n")
    ['unseen bench     digits']
    """
    lines = text.replace("\\\n", "").splitlines()
    prompt = "$ " if any(line.startswith("$ ") for line in lines) else ""  # what has none beside it is output
    return [line.removeprefix(prompt) for line in lines if line.startswith(f"{prompt}unseen ")]


def run_page(path: Path, folder: Path, source: Path) -> None:
    """Run all blocks of a page in ``folder``, which is the working directory."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    page = path.read_text("utf-8")
    for name in _FILES.findall(page):
        PREPARED[name](folder)
    for block in blocks(page):
        place = f"{path.name}, line {block.line}"
        if block.reason:
            continue
        if block.title:
            _write_file(folder / block.title, block.text)
        elif block.language in SHELL:
            for command in commands(block.text):
                _run_command(command, folder, source, place)
        elif block.language in ("python", "pycon"):
            _run_python(block.text, namespace, place)


def _write_file(path: Path, text: str) -> None:
    """Write what the reader types in; a file that a command has made, and the page only shows, stays."""
    if not path.exists():
        path.write_text(text, encoding="utf-8")


def _run_command(command: str, folder: Path, source: Path, place: str) -> None:
    call = f'unseen() {{ "{sys.executable}" -m unseen "$@"; }}; {command}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(folder)])}
    done = subprocess.run(
        ["bash", "-c", call], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{place}: {command}\n{done.stderr[-2000:]}"


def _run_python(text: str, namespace: dict[str, Any], place: str) -> None:
    if ">>> " not in text:
        exec(compile(text, place, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(text, namespace, place, place, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=flags).run(test, clear_globs=False)
    namespace.update(test.globs)
    assert result.failed == 0, f"{place}: the example gives something else"
