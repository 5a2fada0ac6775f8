"""The report tells what the store holds, on one small page that runs nothing of the data."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from fake_runs import description, result
from unseen.benchmark.store import Failure, Run, Store
from unseen.errors import UnseenError
from unseen.methods import METHODS
from unseen.report import write_report
from unseen.report.bench_page import describe_bench

EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


def fill(folder, runs, **experiment):
    """Write runs into a store and return its folder."""
    with Store(folder, create=True) as store:
        store.add_command({"arguments": ["bench", "my data"], "versions": {"unseen": "0.1.0"}, "machine": {}})
        store.add_experiment("s", description(**experiment))
        for run in runs:
            store.add_result(Run(f"{run['method']}{run['seed']}", "s", run["method"], run["seed"]), run)
    return folder


def document(folder):
    with Store(folder) as store:
        return describe_bench(store)


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of its scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, text):
        if self.cdata_elem == "script":
            self.scripts[-1] += text


@pytest.fixture
def page(tmp_path):
    """A page whose data set, classes and files carry names that try to be code."""
    names = {"name": EVIL, "dataset": EVIL, "source": EVIL, "class_names": [EVIL, "b", "c"]}
    runs = [result(EVIL), result("sae") | {"warnings": [EVIL]}, result("sje", 1), result("sje", 0)]
    fill(tmp_path, runs, **names)
    with Store(tmp_path) as store:
        store.add_command({"arguments": ["bench", EVIL], "versions": {EVIL: EVIL}, "machine": {EVIL: EVIL}})
        store.add_failure(Failure(Run("failed", "s", EVIL, 0), EVIL, EVIL))
    return write_report(tmp_path).read_text("utf-8")


def test_nothing_of_the_data_becomes_part_of_the_page(page):
    assert "<script>alert" not in page
    elements = Elements(page)
    kinds = [attributes.get("type") for tag, attributes in elements.tags if tag == "script"]
    assert kinds == ["application/json", "text/plain", None]  # the data, plotly, our own
    assert not any(tag == "img" or "onerror" in attributes for tag, attributes in elements.tags)
    assert json.loads(elements.scripts[0])[0]["classes"]["names"][0] == EVIL


def test_the_policy_allows_exactly_the_scripts_of_the_page_and_no_network(page):
    elements = Elements(page)
    policy = next(
        a["content"] for tag, a in elements.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    plotly = gzip.decompress(base64.b64decode(elements.scripts[1])).decode()
    for script in (plotly, elements.scripts[2]):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    for _, attributes in elements.tags:
        assert not re.match("https?:|//", attributes.get("src") or attributes.get("href") or "")


def test_the_answer_is_the_best_method_and_what_calibration_gained(tmp_path):
    runs = [result("sae", h=(20.0, 30.0, 41.0)), result("sje", h=(35.0, 30.0, 40.0))]
    part = document(fill(tmp_path, runs))["experiments"][0]
    assert part["ties"] == ["SJE"]  # equal in every class
    assert [method["id"] for method in part["ranked"]] == ["sae", "sje"]
    hero = write_report(tmp_path).read_text("utf-8").split('<header class="hero">')[1].split("</header>")[0]
    text = re.sub("<.*?>", "", hero).replace("&nbsp;", " ")
    assert (
        "SAE leads with H = 41.0 %" in text and "21.0 points more than without calibration (20.0 %)" in text
    )
    assert "(here 46.0 %)" in text and "by their description (36.0 %)" in text
    assert "Next is SJE with 40.0 %. On average over the 2 methods, H went from 27.5 to 40.5 %" in text


@pytest.mark.parametrize(
    ("h", "words"),
    [
        ((20.0, 30.0, 41.0), "21.0 points more"),
        ((45.0, 30.0, 41.0), "4.0 points less"),
        ((41.0,) * 3, "the same"),
    ],
)
def test_a_loss_is_called_a_loss(tmp_path, h, words):
    page = write_report(fill(tmp_path, [result("sae", h=h)])).read_text("utf-8")
    assert words in page.split('class="answer"')[1].split("</p>")[0]


def test_warnings_are_told_once_with_their_method(tmp_path):
    runs = [result("sje", seed) | {"warnings": ["it shook"]} for seed in (0, 1)]
    assert document(fill(tmp_path, runs))["experiments"][0]["warnings"] == ["SJE: it shook"]


def test_the_document_is_plain_and_names_the_command(tmp_path):
    found = document(fill(tmp_path, [result("sae")]))
    assert json.loads(json.dumps(found, allow_nan=False))
    assert found["commands"] == ["unseen bench 'my data'"]
    assert found["experiments"][0]["methods"][0]["explorer"]["points"]["calibrated+lambda"]["gamma"] == 0.2


def accuracies(method, values, h):
    run = result(method, h=(20.0, 30.0, h))
    table = {"samples": [4] * len(values), "accuracy": values, "mistakes": [[] for _ in values]}
    return run | {"classes": {**table, "confusion": [None] * len(values), "confused": [0.0] * len(values)}}


def test_a_tie_is_called_a_tie(tmp_path):
    """SAE is a little better in one class and worse in another; ALE is worse in every class."""
    classes = {"unseen": [0, 0, 1, 1], "class_names": list("abcd"), "n_classes": 4}
    runs = [
        accuracies("lda", [80.0, 60.0, 50.0, 70.0], 63.0),
        accuracies("sae", [70.0, 65.0, 55.0, 64.0], 62.0),
        accuracies("ale", [60.0, 40.0, 30.0, 50.0], 45.0),
    ]
    for run in runs:
        run["by_class"] = dict.fromkeys(("zsl", "none", "calibrated"), run["classes"]["accuracy"])
    folder = fill(tmp_path, runs, **classes, class_counts=[], folds=[])
    part = document(folder)["experiments"][0]
    assert part["ties"] == ["SAE"]
    tied = {row["name"] for group in part["tables"][1]["groups"] for row in group if row["tied"]}
    assert tied == {"SAE"}
    first = write_report(folder).read_text("utf-8").split('class="answer"')[1].split("</p>")[0]
    assert "SAE cannot be distinguished from it" in " ".join(first.split())
    assert "is the best of" not in first


def test_the_first_is_the_best_when_it_is_better_in_every_class(tmp_path):
    runs = [accuracies("lda", [80.0, 60.0, 50.0], 63.0), accuracies("ale", [60.0, 40.0, 30.0], 45.0)]
    page = write_report(fill(tmp_path, runs)).read_text("utf-8")
    assert "is the best of 2 methods" in page
    assert "≈" not in page.split("<script")[0]


def test_no_calibration_means_the_same_in_the_headline_the_table_and_the_slider(tmp_path):
    part = document(fill(tmp_path, [result("sae", h=(20.0, 30.0, 41.0))]))["experiments"][0]
    assert part["ranked"][0]["steps"]["none"]["mean"] == 20.0
    point = part["methods"][0]["explorer"]["points"]["none"]
    assert point == {"model": "zsl", "gamma": 0.0}  # lambda_ZSL, as in the table's column "none"
    assert part["methods"][0]["explorer"]["models"]["zsl"]["seen"][0] == 75.0


def test_intervals_stand_below_our_numbers_and_differences_below_published_ones(tmp_path):
    cub = {"dataset": "CUB", "split": "proposed", "crops": 1}
    part = document(fill(tmp_path, [result("sae"), result("ale")], published=cub))["experiments"][0]
    ale = part["tables"][1]["groups"][0][0]["cells"]
    below = {(cell["source"], cell["below"]) for cell in ale}
    assert ("here", "40.0–40.0") not in below
    assert any(source == "here" and "–" in text for source, text in below)
    assert any(source == "paper" and text[0] in "+-" for source, text in below if text)
    assert all(not column["source"].startswith("diff") for column in part["tables"][1]["columns"])


def test_the_paper_stands_beside_ours_where_it_printed_numbers(tmp_path):
    cub = {"dataset": "CUB", "split": "proposed", "crops": 1}
    part = document(fill(tmp_path, [result(name) for name in METHODS], published=cub))["experiments"][0]
    assert "the paper" in [column["source"] for column in part["tables"][1]["columns"]]
    sync = next(row for row in part["tables"][1]["groups"][0] if row["name"] == "SynC")
    assert 47.6 in [cell["value"] for cell in sync["cells"]]


def large_result(method, n_classes, n_samples):
    """Return a result of the size that a large data set gives."""
    rng = np.random.default_rng(0)
    gammas = np.sort(rng.normal(size=n_samples)).round(7).tolist()
    accuracy = np.linspace(0, 70, n_samples + 1).round(4).tolist()
    columns = {name: [12.3456] * n_classes for name in ("accuracy", "confused")}
    return result(method) | {
        "curve": {"gamma": gammas, "unseen": accuracy, "seen": accuracy[::-1]},
        "flips": {"seen": gammas, "unseen": gammas},
        "classes": {
            **columns,
            "samples": [100] * n_classes,
            "confusion": [100] * n_classes,
            "mistakes": [[[100, 9], [101, 8], [102, 7], [103, 6], [104, 5]]] * n_classes,
        },
        "by_class": dict.fromkeys(("zsl", "none", "calibrated"), columns["accuracy"]),
        "zsl_model": {
            "curve": {"gamma": gammas, "unseen": accuracy, "seen": accuracy[::-1]},
            "flips": {"seen": gammas, "unseen": gammas},
            "ausuc": 0.2,
        },
    }


@pytest.mark.parametrize(
    ("n_experiments", "n_classes", "n_samples"),
    [(1, 1000, 10_000), (8, 350, 2000)],  # curves are thinned: more samples make no larger page
    ids=["ImageNet", "the whole paper"],
)
def test_the_page_stays_below_six_megabytes(tmp_path, n_experiments, n_classes, n_samples):
    counts = {part: [20] * n_classes for part in ("train", "seen_val", "val", "test_seen", "test")}
    experiment = description(
        class_names=[f"a class, called {i}" for i in range(n_classes)],
        n_classes=n_classes,
        unseen=[0, 1] * (n_classes // 2),
        class_counts=[counts] * 3,
        published={"dataset": "CUB", "split": "proposed", "crops": 1},
    )
    with Store(tmp_path, create=True) as store:
        for s in range(n_experiments):
            store.add_experiment(f"s{s}", experiment)
            for method in METHODS:
                store.add_result(
                    Run(f"{s}{method}", f"s{s}", method, 0), large_result(method, n_classes, n_samples)
                )
    assert write_report(tmp_path).stat().st_size < 6e6


def test_the_page_of_the_demo_stays_below_three_megabytes(tmp_path):
    """As many methods, test samples and classes as the embedded letters have, or more."""
    letters = {
        "class_names": list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        "unseen": [0] * 20 + [1] * 6,
        "n_classes": 26,
    }
    folder = fill(
        tmp_path, [large_result(method, 26, 2000) for method in METHODS], **letters, class_counts=[]
    )
    assert write_report(folder).stat().st_size < 3e6


def test_a_folder_without_a_finished_run_is_refused(tmp_path, run):
    with Store(tmp_path, create=True), pytest.raises(UnseenError, match="no finished run"):
        write_report(tmp_path)
    done = run("report", tmp_path / "nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_a_store_whose_documents_lack_what_they_should_have_is_called_damaged(tmp_path):
    fill(tmp_path, [{"method": "sae", "seed": 0}])
    with pytest.raises(UnseenError, match=r"is damaged \(KeyError"):
        write_report(tmp_path)


def test_the_command_writes_where_it_is_told(tmp_path, run):
    folder = fill(tmp_path / "run", [result("sae")])
    done = run("report", folder, "--html", tmp_path / "new" / "page.html")
    assert done.returncode == 0 and done.stdout == ""
    assert (tmp_path / "new" / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
