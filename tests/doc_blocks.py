"""Run the code of a documentation page the way a reader would: from top to bottom, in an empty folder.

Python blocks share one namespace, blocks with ``>>>`` are doctests. Of shell blocks the lines that call
``unseen`` are run. What a shell block shows below a command, and every block of text, is output of the
command before it: it must consist of lines that the command prints, in their order. A block with a title is a
file that the reader types in. Three comments steer it::

    <!-- not run: reason -->                  before a block
    <!-- needs: name=path/in/real/data -->    anywhere in a page that works on real data, perhaps several
    <!-- files: animals -->                   anywhere in a page that works on prepared files of doc_files

``UNSEEN_WRITE_OUTPUT=1 pytest -m slow tests/project/test_docs.py -k PAGE`` writes new numbers into a page
whose output is otherwise the same.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
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
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
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


def sessions(text: str) -> Iterator[tuple[str, list[str]]]:
    r"""Yield the calls of ``unseen`` in a shell block, each with the output that the block shows below it.

    >>> list(sessions("$ unseen methods\nlda  linear\n$ unseen bench \\\n    digits\n"))
    [('unseen methods', ['lda  linear']), ('unseen bench     digits', [])]
    """
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE) if "$ " in text else commands(text):
        first, *shown = part.replace("\\\n", "").splitlines() or [""]
        if first.startswith("unseen "):
            yield first, shown


def same_line(shown: str, printed: str) -> bool:
    """Say whether two lines have the same words and, up to one unit of the last decimal, the same numbers.

    >>> same_line("gamma 4.82  (retention)", "gamma  4.83 (retention)"), same_line("gamma 4.8", "gamma 5.1")
    (True, False)
    """
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed))
    return same_words(shown, printed) and all(abs(float(a) - float(b)) <= 1.01 * _unit(a) for a, b in pairs)


def same_words(shown: str, printed: str) -> bool:
    """Say whether two lines differ only in numbers and spaces."""
    return _NUMBER.sub("#", shown).split() == _NUMBER.sub("#", printed).split()


def _unit(number: str) -> float:
    """Return the unit of the last decimal; a whole number is a count, which must agree exactly."""
    digits, _, exponent = number.partition("e")
    decimals = len(digits.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals or exponent else 0.0


def find_lines(shown: list[str], printed: list[str], same: Callable[[str, str], bool]) -> list[str]:
    """Return the printed lines that a page shows, in their order; ``...`` stands for any.

    >>> find_lines(["a 1", "...", "c 3"], ["a 1", "b 2", "c 3"], same_line)
    ['a 1', '...', 'c 3']
    """
    rest, found = iter(printed), []
    for line in shown:
        blank = line.strip() in ("", "...")
        match = line if blank else next((other for other in rest if same(line, other)), None)
        assert match is not None, "\n".join(["this line is not printed, or not here:", line, *printed])
        found.append(match)
    return found


def run_page(path: Path, folder: Path, source: Path) -> None:
    """Run all blocks of a page in ``folder``, which is the working directory, and check its output."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    page, printed = path.read_text("utf-8"), []
    for name in _FILES.findall(page):
        PREPARED[name](folder)
    for block in blocks(page):
        place = f"{path.name}, line {block.line}"
        if block.reason:
            continue
        if block.title:
            _write_file(folder / block.title, block.text)
        elif block.language in SHELL:
            for command, shown in sessions(block.text):
                printed = _run_command(command, folder, source, place)
                _check_output(path, shown, printed)
        elif block.language == "text":
            _check_output(path, block.text.splitlines(), printed)
        elif block.language in ("python", "pycon"):
            _run_python(block.text, namespace, place)


def _check_output(path: Path, shown: list[str], printed: list[str]) -> None:
    """Compare what a page shows with what was printed, or write new numbers into the page if asked to."""
    if not os.environ.get("UNSEEN_WRITE_OUTPUT"):
        find_lines(shown, printed, same_line)
        return
    page = path.read_text("utf-8")
    for old, new in zip(shown, find_lines(shown, printed, same_words)):
        page = page.replace(old, new)
    path.write_text(page, encoding="utf-8")


def _write_file(path: Path, text: str) -> None:
    """Write what the reader types in; a file that a command has made, and the page only shows, stays."""
    if not path.exists():
        path.write_text(text, encoding="utf-8")


def _run_command(command: str, folder: Path, source: Path, place: str) -> list[str]:
    """Run a command and return the lines that it prints."""
    call = f'unseen() {{ "{sys.executable}" -m unseen "$@"; }}; {command}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(folder)])}
    done = subprocess.run(
        ["bash", "-c", call], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{place}: {command}\n{done.stderr[-2000:]}"
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def _run_python(text: str, namespace: dict[str, Any], place: str) -> None:
    if ">>> " not in text:
        exec(compile(text, place, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(text, namespace, place, place, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=flags).run(test, clear_globs=False)
    namespace.update(test.globs)
    assert result.failed == 0, f"{place}: the example gives something else"
