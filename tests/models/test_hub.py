"""Models on the hub, on a loopback server that speaks its interface: pushed, loaded, what can go wrong."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from hub_server import COMMIT, serve_hub
from unseen.errors import UnseenError
from unseen.models.hub import MODEL_FILE, model_page, push_model
from unseen.models.io import load_model, save_model
from unseen.models.training import train
from unseen.selection.search import GZSLClassifierCV

constants = pytest.importorskip("huggingface_hub.constants")
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of huggingface_hub
NOBODY = "http://127.0.0.1:9"  # no server listens there


@pytest.fixture(scope="module")
def trained():
    from unseen.datasets import load_dataset

    return train(load_dataset("digits"), "linear-sv")[0]


@pytest.fixture
def model_file(trained, tmp_path: Path) -> Path:
    save_model(trained, tmp_path / "digits.model")
    return tmp_path / "digits.model"


def use_endpoint(monkeypatch, url: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.fixture
def hub(monkeypatch, tmp_path: Path):
    """A hub, and this process as if it had been started with the environment variables of that hub."""
    with serve_hub() as server:
        use_endpoint(monkeypatch, server.url)
        for name, path in {"HF_HUB_CACHE": "cache", "HF_TOKEN_PATH": "token", "HF_XET_CACHE": "xet"}.items():
            monkeypatch.setattr(constants, name, str(tmp_path / "hf" / path))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the server has Git LFS only
        monkeypatch.setenv("HF_TOKEN", server.token)
        yield server


def same(reference: str, model: GZSLClassifierCV) -> bool:
    found = load_model(reference)
    return np.array_equal(found.coef_, model.coef_) and found.gamma_ == model.gamma_


def test_a_pushed_model_is_the_same_model(hub, run, model_file, trained, monkeypatch):
    done = run("push", model_file, "hf:org/digits", "--license", "cc-by-4.0")
    assert (done.returncode, done.stdout) == (0, f"{hub.url}/org/digits/commit/{COMMIT}\n"), done.stderr
    files = hub.repositories["org/digits"].files
    assert sorted(files) == ["README.md", MODEL_FILE]
    assert files[MODEL_FILE] == model_file.read_bytes()
    assert same("hf:org/digits", trained) and same(f"hf:org/digits@{COMMIT}", trained)
    assert "linear-sv" in run("inspect", "hf:org/digits").stdout
    assert hub.downloads == [MODEL_FILE]  # once
    # afterwards neither the hub nor the network is needed
    use_endpoint(monkeypatch, NOBODY)
    assert same("hf:org/digits", trained)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert same("hf:org/digits", trained)


def test_only_new_repositories_become_private(hub, model_file):
    push_model(model_file, "hf:org/public", license="mit")
    push_model(model_file, "hf:org/public", license="mit", private=True)
    push_model(model_file, "hf:org/mine", license="mit", private=True)
    assert hub.private == {"org/public": False, "org/mine": True}


def test_no_token_is_printed_or_stored(hub, run, model_file, tmp_path):
    """Neither where it works, nor in any message, nor in a file of the cache or of the hub."""
    token, push = hub.token, ("push", model_file, "--license", "mit")
    ends = [run(*push, "hf:org/digits"), run(*push, "hf:org/digits@nowhere")]
    hub.token = "hf_another"
    ends.append(run(*push, "hf:org/digits"))
    assert [end.returncode for end in ends] == [0, 2, 2]
    load_model("hf:org/digits")
    said = "".join(end.stdout + end.stderr for end in ends)
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    stored += b"".join(hub.repositories["org/digits"].files.values())
    assert token not in said and token.encode() not in stored


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("no token", "You have no access to .* log in with `hf auth login`"),
        ("no branch", "org/digits has no revision 'nowhere'"),
        ("no prefix", "expected hf:owner/name"),
        ("no model", "is not a model file of unseen"),
        ("offline", "HF_HUB_OFFLINE is set"),
        ("no network", "Nothing was committed; try again"),
        ("on the hub", "is on the hub already"),
    ],
)
def test_each_problem_of_an_upload_is_one_line(hub, model_file, monkeypatch, case, message):
    path, reference = model_file, "hf:org/digits"
    if case == "no token":
        monkeypatch.delenv("HF_TOKEN")
    elif case == "no branch":
        reference += "@nowhere"
    elif case == "no prefix":
        reference = "org/digits"
    elif case == "no model":
        path.write_text("not a model")
    elif case == "offline":
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    elif case == "no network":
        use_endpoint(monkeypatch, NOBODY)
    else:
        path = reference
    with pytest.raises(UnseenError, match=message) as caught:
        push_model(path, reference, license="mit")
    assert "\n" not in str(caught.value)
    assert all(not repository.files for repository in hub.repositories.values())


def test_a_connection_that_breaks_commits_nothing(hub, model_file):
    hub.breaks = "/commit/"
    with pytest.raises(UnseenError, match=r"The upload to .* failed: .*Nothing was committed; try again"):
        push_model(model_file, "hf:org/digits", license="mit")
    assert hub.repositories["org/digits"].files == {}


def test_each_problem_of_a_download_is_one_line(hub, model_file, tmp_path, monkeypatch):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / MODEL_FILE).write_bytes(model_file.read_bytes())
    hub.add("org/gated", folder, gated=True)
    hub.add("org/spoiled", folder, spoiled={MODEL_FILE})
    hub.add("org/digits", folder)
    (folder / MODEL_FILE).write_bytes(model_file.read_bytes()[:-1] + b"!")  # the hub's checksum is of this
    hub.add("org/damaged", folder)
    (folder / MODEL_FILE).rename(folder / "other.bin")
    hub.add("org/other", folder)
    expected = {
        "hf:org/gated": "org/gated is gated: accept its conditions at",
        "hf:org/nothing": "There is no model 'org/nothing'",
        "hf:org/digits@v9": "has no revision 'v9'",
        "hf:org/other": f"hf:org/other has no {MODEL_FILE}",
        "hf:org/spoiled": "does not have the checksum that the hub announces",
        "hf:org/damaged": "is damaged: its checksum does not match",
    }
    for reference, message in expected.items():
        with pytest.raises(UnseenError, match=message) as caught:
            load_model(reference)
        assert "\n" not in str(caught.value)
    hub.repositories["org/spoiled"].spoiled.clear()
    load_model("hf:org/spoiled")  # what was spoiled is not left in the cache
    hub.breaks = "/api/"
    with pytest.raises(UnseenError, match=r"is not in the cache and .* cannot be reached"):
        load_model("hf:org/digits")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UnseenError, match="is not in the cache and HF_HUB_OFFLINE is set"):
        load_model("hf:org/digits")


def test_the_page_has_metadata_for_the_hub_and_the_card(trained):
    import yaml

    page = model_page(trained, "org/digits", "mit")
    _, head, body = page.split("---\n", 2)
    data, card = yaml.safe_load(head), trained.card()
    assert data["license"] == "mit" and data["library_name"] == "unseen"
    assert "zero-shot-learning" in data["tags"] and "linear-sv" in data["tags"]
    [entry] = data["model-index"]
    [result] = entry["results"]
    values = [metric["value"] for metric in result["metrics"]]
    assert values == pytest.approx([card.expected.unseen[0] / 100, card.expected.seen[0] / 100], abs=1e-4)
    assert result["dataset"]["type"] == "digits"
    for line in str(card).splitlines():
        assert f"    {line}" in body
    assert 'load_model("hf:org/digits")' in body


def test_the_page_of_a_method_without_a_card(trained, tmp_path):
    page = model_page(trained.estimator_, "org/digits", "mit")
    assert "model-index" not in page and "LinearSV: 64 features to 10 classes" in page


def test_names_cannot_leave_the_card(trained):
    """A class name is shown as text, whatever it holds."""
    model = deepcopy(trained)
    model.estimator_.classes_ = np.array([f"```<b>{name}" for name in model.classes_], dtype=object)
    lines = model_page(model, "org/digits", "mit").split("```\n")[-1].splitlines()
    assert all(line.startswith("    ") for line in lines if "<b>" in line)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UnseenError, match=r"needs the package huggingface_hub.*\[hub\]"):
        load_model("hf:org/digits")
