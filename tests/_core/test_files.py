"""A file is the old one or the new one, whole, at any moment and after any error."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from unseen._core.files import atomic_path, check_output, write_npz
from unseen.errors import UnseenError


def test_a_file_takes_its_name_only_when_it_is_whole_and_on_disk(tmp_path, monkeypatch):
    path = tmp_path / "f.csv"
    path.write_text("old")
    events = []

    def fsync(handle):
        events.append(("fsync", os.fstat(handle).st_size))

    def replace(source, target):
        assert Path(source).read_text() == "new and whole"
        assert path.read_text() == "old"
        events.append(("replace", Path(target).name))
        rename(source, target)

    rename = os.replace
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    with atomic_path(path) as temporary:
        assert temporary.name.startswith(".") and temporary.suffix == ".csv"
        temporary.write_text("new and whole")
        assert path.read_text() == "old"
    assert events == [("fsync", 13), ("replace", "f.csv")]
    assert path.read_text() == "new and whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "f.npz"
    write_npz(path, X=np.arange(3))
    before = path.read_bytes()
    with pytest.raises(error):
        write_half(path, error)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def write_half(path: Path, error: type[BaseException]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half of it")
        raise error


def test_a_place_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(UnseenError, match=r"Cannot write .*nowhere.*: No such file"):
        write_npz(tmp_path / "nowhere" / "f.npz", X=np.arange(3))


# ---- what a user has


def by_name(path: Path) -> Path:
    return path


def by_detour(path: Path) -> Path:
    return path.parent / "." / ".." / path.parent.name / path.name


def by_soft_link(path: Path) -> Path:
    (path.parent / "soft").symlink_to(path)
    return path.parent / "soft"


def by_hard_link(path: Path) -> Path:
    (path.parent / "hard").hardlink_to(path)
    return path.parent / "hard"


@pytest.mark.parametrize("name", [by_name, by_detour, by_soft_link, by_hard_link])
@pytest.mark.parametrize("force", [False, True])
def test_an_input_is_never_an_output(tmp_path, name, force):
    (tmp_path / "x.npz").write_text("98 MB of features")
    with pytest.raises(UnseenError, match=r"never replaces its input\. Name another file"):
        check_output(name(tmp_path / "x.npz"), inputs=[None, "digits", tmp_path / "x.npz"], force=force)


@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_stands_for_the_files_in_it(tmp_path, linked):
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "elsewhere.csv").write_text("class")
    if linked:  # the data set reads a file that lies elsewhere
        (folder / "labels.csv").symlink_to(tmp_path / "elsewhere.csv")
        out = tmp_path / "elsewhere.csv"
    else:
        (folder / "deep").mkdir()
        out = folder / "deep" / "photo.jpg"
        out.write_text("pixels")
    with pytest.raises(UnseenError, match="never replaces its input"):
        check_output(out, inputs=[folder], force=True)
    check_output(folder / "predictions.csv", inputs=[folder])  # a new file harms nobody


def test_a_file_that_exists_needs_force_or_an_older_version(tmp_path):
    path = tmp_path / "p.csv"
    check_output(path)
    path.touch()
    check_output(path)  # empty, as mktemp makes them
    path.write_text("old")
    with pytest.raises(UnseenError, match=r"exists already\. Name another file, or replace it with --force"):
        check_output(path)
    check_output(path, force=True)
    check_output(path, may_replace=lambda found: found.read_text() == "old")
    with pytest.raises(UnseenError, match="exists already"):
        check_output(path, may_replace=lambda found: found.read_text() == "new")
    assert path.read_text() == "old"


def test_what_is_not_a_file_is_no_output(tmp_path):
    with pytest.raises(UnseenError, match="it is a folder"):
        check_output(tmp_path, force=True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnseenError, match="a folder or a device"):
        check_output(tmp_path / "pipe", force=True)


WRITING = (".write_text", ".write_bytes", ".savefig", ".tofile", "np.save", "np.savez", "np.savez_compressed")
SOURCES = sorted(path for path in (ROOT / "src").rglob("*.py") if path.name != "files.py")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_is_written_past_the_temporary_name(path):
    """Whatever writes a file does so in a ``with atomic_path(...)`` block, except for downloads."""
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.With) and any("atomic_path(" in ast.unparse(item) for item in block.items)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in inside:
            assert not writes_a_file(node), f"{path.name}:{node.lineno}: {ast.unparse(node)}"


def writes_a_file(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    mode = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
    if name in ("open", "zipfile.ZipFile") and ast.unparse(call.args[0]) != "part":
        return any(letter in mode for letter in "wax+")
    return name.endswith(WRITING) and name != "tag.write_text"  # of a download that may be continued


def test_an_input_that_is_no_path_can_be_long(tmp_path):
    (tmp_path / "f.csv").touch()
    names = ",".join(f"class {number}" for number in range(100))
    check_output(tmp_path / "f.csv", inputs=[names], force=True)
