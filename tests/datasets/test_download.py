"""Downloads: resumed, unpacked only where they belong; against a server on the loopback device."""

from __future__ import annotations

import io
import stat
import zipfile

import numpy as np
import pytest
import scipy.io

from file_server import serve_file
from unseen.datasets import load_dataset
from unseen.datasets.download import download, find_downloaded
from unseen.errors import UnseenError

pytest.importorskip("pooch")


def mat(**arrays: object) -> bytes:
    content = io.BytesIO()
    scipy.io.savemat(content, arrays)
    return content.getvalue()


def features(seed: int) -> bytes:
    X = np.random.default_rng(seed).normal(size=(16, 24)).astype(np.float32)
    return mat(
        features=X, labels=np.arange(24)[:, None] % 6 + 1, image_files=np.full((24, 1), "x", dtype=object)
    )


SPLITS = mat(
    att=np.random.default_rng(0).random((5, 6)),
    trainval_loc=np.array([i + 1 for i in range(24) if i % 6 < 4 and i < 18])[:, None],
    test_seen_loc=np.array([i + 1 for i in range(24) if i % 6 < 4 and i >= 18])[:, None],
    test_unseen_loc=np.array([i + 1 for i in range(24) if i % 6 >= 4])[:, None],
    allclasses_names=np.array([[f"class {i}"] for i in range(6)], dtype=object),
)


def make_zip(extra: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive like the published one: data sets, code and rubbish."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for seed, name in enumerate(("CUB", "AWA2", "SUN")):
            archive.writestr(f"xlsa17/data/{name}/res101.mat", features(seed))
            archive.writestr(f"xlsa17/data/{name}/att_splits.mat", SPLITS)
            archive.writestr(f"xlsa17/data/{name}/allclasses.txt", "\n".join(f"class {i}" for i in range(6)))
        archive.writestr("xlsa17/code/eval.m", "code")
        archive.writestr("__MACOSX/xlsa17/data/CUB/._res101.mat", "rubbish")
        for name, text in (extra or {}).items():
            archive.writestr(name, text)
    return content.getvalue()


@pytest.fixture
def server():
    with serve_file(make_zip()) as running:
        yield running


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def test_only_what_is_asked_for_is_unpacked_where_load_finds_it(server, home):
    written = download("xlsa17", ["cub"], mirror=server.url)
    assert sorted(path.name for path in (home / "xlsa17").iterdir()) == ["CUB"]
    assert sorted(path.name for path in written) == ["allclasses.txt", "att_splits.mat", "res101.mat"]
    assert load_dataset("CUB").X.shape == (24, 16)
    assert find_downloaded("CUB") == home / "xlsa17" / "CUB"
    # what is there is neither downloaded nor written again
    again = download("xlsa17", ["CUB", "SUN"], mirror=server.url)
    assert len(server.ranges) == 1 and {path.parent.name for path in again} == {"SUN"}


def test_a_broken_connection_continues_by_itself(server, home):
    server.breaks = [1000, 2000, 1500]
    download("xlsa17", ["CUB"], mirror=server.url)
    assert server.ranges == [None, "bytes=1000-", "bytes=3000-", "bytes=4500-"]
    assert server.sent == len(server.content)  # no byte twice
    assert load_dataset("CUB").X.shape == (24, 16)


def test_a_connection_that_stays_broken_continues_with_the_next_command(server, home):
    server.breaks = [100] * 5
    with pytest.raises(UnseenError, match=r"broke after 0 MB. Run the same command again to continue"):
        download("xlsa17", ["CUB"], mirror=server.url)
    assert (home / "xlsa17.zip.part").stat().st_size == 500 and not (home / "xlsa17.zip").exists()
    download("xlsa17", ["CUB"], mirror=server.url)
    assert server.ranges[-1] == "bytes=500-" and server.sent == len(server.content)
    assert not (home / "xlsa17.zip.part").exists()


@pytest.mark.parametrize("has_tag", [True, False])
def test_a_file_that_changed_in_between_starts_afresh(server, home, has_tag):
    server.has_tag, server.breaks = has_tag, [100] * 5
    if has_tag:
        with pytest.raises(UnseenError, match="broke"):
            download("xlsa17", ["CUB"], mirror=server.url)
        server.content = make_zip({"xlsa17/data/CUB/new.txt": b"new"})
    else:  # nothing tells whether it is the same file: all of it is asked for again
        server.breaks = [100]
    download("xlsa17", ["CUB"], mirror=server.url)
    assert (home / "xlsa17.zip").read_bytes() == server.content


def link(target: str) -> tuple[zipfile.ZipInfo, str]:
    info = zipfile.ZipInfo("xlsa17/data/CUB/link.txt")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.mat",
        "../../CUB/evil.mat",
        "/tmp/evil.mat",
        "xlsa17/data/CUB/../../../../evil.mat",
        "..\\evil.mat",
        "C:\\evil.mat",
    ],
)
def test_nothing_is_unpacked_outside_of_its_folder(home, tmp_path, name):
    with serve_file(make_zip({name: b"evil"})) as server:
        download("xlsa17", ["CUB"], mirror=server.url)
    assert not [path for path in tmp_path.rglob("evil*") if path.parent != home / "xlsa17" / "CUB"]
    assert load_dataset("CUB").X.shape == (24, 16)


def test_a_link_in_a_zip_is_unpacked_as_a_file(home):
    content = io.BytesIO(make_zip())
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(*link("/etc/passwd"))
    with serve_file(content.getvalue()) as server:
        download("xlsa17", ["CUB"], mirror=server.url)
    unpacked = home / "xlsa17" / "CUB" / "link.txt"
    assert not unpacked.is_symlink() and unpacked.read_text() == "/etc/passwd"


def test_damage_is_found_by_the_checksum_of_every_file(home):
    content = make_zip()
    place = content.index(features(0)) + 700  # inside CUB/res101.mat
    damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    with serve_file(damaged) as server, pytest.raises(UnseenError, match=r"not a whole zip file .*CRC"):
        download("xlsa17", ["CUB"], mirror=server.url)
    assert not (home / "xlsa17" / "CUB" / "res101.mat").exists()


@pytest.mark.parametrize("content", [b"<html>not found</html>", b"", make_zip()[:-100]])
def test_what_is_not_a_zip_is_one_error(home, content):
    with serve_file(content) as server, pytest.raises(UnseenError, match="not a whole zip file"):
        download("xlsa17", ["CUB"], mirror=server.url)


def test_a_file_of_the_user_is_not_replaced(server, home):
    (home / "xlsa17" / "CUB").mkdir(parents=True)
    mine = home / "xlsa17" / "CUB" / "res101.mat"
    mine.write_bytes(b"mine")
    written = download("xlsa17", ["CUB"], mirror=server.url)
    assert mine.read_bytes() == b"mine" and mine not in written
    mine.unlink()
    assert download("xlsa17", ["CUB"], mirror=server.url) == [mine]
    assert load_dataset("CUB").X.shape == (24, 16)


@pytest.mark.parametrize(
    ("name", "parts", "options", "message"),
    [
        ("xlsa", [], {}, "no archive 'xlsa'.*Did you mean 'xlsa17'"),
        ("xlsa17", ["CAB"], {}, "There is no data set 'CAB', expected CUB.*Did you mean 'CUB'"),
        (
            "xlsa17",
            [],
            {"mirror": "http://127.0.0.1:9/x.zip"},
            "cannot be reached: Connection refused. Check the network, or give --mirror",
        ),
        ("xlsa17", [], {"mirror": "nonsense"}, "nonsense"),
    ],
)
def test_what_users_get_wrong(home, name, parts, options, message):
    with pytest.raises(UnseenError, match=message):
        download(name, parts, **options)


def test_a_part_that_the_archive_lacks(server, home):
    with pytest.raises(UnseenError, match=r"holds no folder APY"):
        download("xlsa17", ["APY"], mirror=server.url)


def test_load_names_the_command_where_data_is_missing(home, tmp_path, monkeypatch):
    with pytest.raises(UnseenError, match=r"CUB is not in .*Download it with: unseen download xlsa17 CUB"):
        load_dataset("CUB")
    monkeypatch.delenv("UNSEEN_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(UnseenError, match="cache/unseen/xlsa17"):
        load_dataset("AWA2")


def test_a_folder_here_goes_before_the_name(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CUB").mkdir()
    np.save(tmp_path / "CUB" / "features.npy", np.eye(3))
    assert load_dataset("CUB", require_features=False).X.shape == (3, 3)


def test_the_command(run, server, tmp_path):
    env = {"UNSEEN_DATA": str(tmp_path)}
    done = run("download", "xlsa17", "CUB", "--mirror", server.url, env=env)
    assert done.returncode == 0, done.stderr
    assert f"wrote 3 files to {tmp_path / 'xlsa17'}; you may delete" in done.stderr and done.stdout == ""
    assert run("inspect", "CUB", env=env).returncode == 0
    wrong = run("download", "xlsa17", "CAB", env=env)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
