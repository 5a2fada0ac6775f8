"""``unseen calibrate`` from file to file: every format, every goal, every mistake."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_auc_score

import oracle
from unseen.calibration.curve import SeenUnseenCurve
from unseen.cli import main

NAMES = ["ant", "bee", "cow", "dog", "eel"]
SEEN = np.array([True, True, True, False, False])


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.append(np.arange(5), rng.integers(0, 4, 60))  # few eels
    scores = rng.normal(size=(65, 5)).round(2)
    scores[np.arange(65), y] += 1.5
    scores[:, SEEN] += 1.0
    return scores, y


@pytest.fixture
def npz(tmp_path, problem):
    path = tmp_path / "scores.npz"
    np.savez(path, scores=problem[0], y=problem[1], seen=SEEN)
    return path


def calibrate(*arguments: object):
    return CliRunner().invoke(main, ["calibrate", *map(str, arguments)])


def calibrate_json(*arguments: object) -> dict:
    done = calibrate(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_json_holds_what_brute_force_finds(npz, problem):
    found = calibrate_json(npz)
    for key, weights in (("per_class", "per-class"), ("per_sample", "per-sample")):
        got = found[key]
        best, intervals, area = oracle.seen_unseen_curve(*problem, SEEN, weights)
        assert got["H"] == pytest.approx(best, abs=1e-10)
        assert any(low < got["gamma"] <= high for low, high in intervals)
        assert got["ausuc"] == pytest.approx(area, abs=1e-10)
        at = oracle.gzsl_accuracies(*problem, SEEN, got["gamma"], weights)
        assert (got["U"], got["S"], got["H"]) == pytest.approx(at, abs=1e-10)
        none = oracle.gzsl_accuracies(*problem, SEEN, 0.0, weights)
        before = tuple(got[f"{letter}_uncalibrated"] for letter in "USH")
        assert before == pytest.approx(none, abs=1e-10)
        for number in ("gamma", "H", "U", "S", "H_uncalibrated", "ausuc"):
            assert found[number][key] == got[number]
    assert found["samples"] == {"seen": int(SEEN[problem[1]].sum()), "unseen": int((~SEEN[problem[1]]).sum())}
    assert found["classes"] == {"seen": 3, "unseen": 2}


def test_a_process_of_its_own_prints_data_to_stdout_alone(run_process, npz):
    done = run_process("calibrate", npz, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["classes"] == {"seen": 3, "unseen": 2}


def test_the_table_shows_both_weightings(npz):
    done = calibrate(npz, "--bootstrap", 50)
    assert done.exit_code == 0
    for words in ("per class", "per sample", "A_U->Cu", "AUSUC", "95 % interval of gamma"):
        assert words in done.stdout


def test_both_sides_alone_are_in_the_json_and_in_the_table(npz, problem):
    curve = SeenUnseenCurve.from_scores(*problem, SEEN)
    assert curve.unseen_alone != curve.seen_alone
    got = calibrate_json(npz)["per_class"]
    assert (got["U_alone"], got["S_alone"]) == (curve.unseen_alone, curve.seen_alone)
    lines = {line.split("  ")[0]: line for line in calibrate(npz).stdout.splitlines()}
    assert f"{curve.unseen_alone:.1f} %" in lines["unseen among unseen, A_U->Cu"]
    assert f"{curve.seen_alone:.1f} %" in lines["seen among seen, A_S->Cs"]


def test_an_open_end_of_the_interval_is_null(tmp_path):
    path = tmp_path / "scores.npz"
    np.savez(path, scores=[[9.0, 1.0, 0.0], [1.0, 9.0, 5.0]], y=[1, 2], seen=[1, 1, 0])
    low, high = calibrate_json(path)["per_class"]["interval"]
    assert high is None and low == 4.0


def test_every_format_gives_the_same(tmp_path, problem, npz):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    scores, y = problem
    table = pd.DataFrame(scores, columns=NAMES)
    table.insert(2, "y", np.array(NAMES)[y])
    table.to_csv(tmp_path / "scores.csv", index=False)
    table.to_parquet(tmp_path / "scores.parquet")
    by_name = tmp_path / "named.npz"
    np.savez(
        by_name, scores=scores, y=np.array(NAMES)[y], seen_classes=["cow", "ant", "bee"], class_names=NAMES
    )
    by_index = tmp_path / "index.npz"
    np.savez(by_index, scores=scores, y=y, seen_classes=[0, 2, 1])
    expected = calibrate_json(npz)
    assert calibrate_json(tmp_path / "scores.csv", "--seen", "ant, bee,cow") == expected
    assert calibrate_json(tmp_path / "scores.parquet", "--seen", "ant,bee,cow") == expected
    assert calibrate_json(by_name) == expected
    assert calibrate_json(by_index) == expected
    assert calibrate_json(by_index, "--seen", "0,1,2") == expected


@pytest.mark.parametrize(
    ("option", "value", "goal"),
    [
        ("--min-seen", 60, "min_seen"),
        ("--min-unseen", 30, "min_unseen"),
        ("--unseen-share", 10, "unseen_share"),
    ],
)
def test_goals_reach_the_curve(npz, problem, option, value, goal):
    curve = SeenUnseenCurve.from_scores(*problem, SEEN)
    assert calibrate_json(npz, option, value)["per_class"]["gamma"] == curve.best(**{goal: value}).gamma


def test_bootstrap_intervals_are_in_the_json(npz):
    got = calibrate_json(npz, "--bootstrap", 200)["per_sample"]
    for name in ("H", "ausuc", "gamma"):
        low, high = got["confidence_95"][name]
        assert low <= high


@pytest.fixture
def other(tmp_path, problem):
    """More samples of the same classes, in another order of columns, with names."""
    rng = np.random.default_rng(1)
    y = np.append(np.arange(5), rng.integers(0, 5, 40))
    scores = rng.normal(size=(45, 5)).round(2)
    scores[np.arange(45), y] += 1.5
    scores[:, SEEN] += 1.0
    order = np.array([4, 2, 0, 3, 1])
    path = tmp_path / "other.npz"
    np.savez(
        path, scores=scores[:, order], y=np.array(NAMES)[y], class_names=np.array(NAMES)[order], hidden=y
    )
    return path


@pytest.fixture
def named(tmp_path, problem):
    path = tmp_path / "named.npz"
    np.savez(path, scores=problem[0], y=problem[1], seen=SEEN, class_names=NAMES)
    return path


def test_gamma_is_chosen_on_one_file_and_used_on_another(named, other, tmp_path):
    out = tmp_path / "predictions.csv"
    found = calibrate_json(named, "--apply", other, "--out", out)
    assert found["applied"]["gamma"] == found["per_class"]["gamma"]
    header, *rows = [line.split(",") for line in out.read_text("utf-8").splitlines()]
    assert header == ["sample", "class", "kind"]
    with np.load(other) as archive:
        names, y = archive["class_names"], archive["y"]
        seen = np.isin(names, NAMES[:3])
        predicted = names[(archive["scores"] - found["applied"]["gamma"] * seen).argmax(axis=1)]
        truth = np.argmax(names == y[:, None], axis=1)
        expected = oracle.gzsl_accuracies(
            archive["scores"], truth, seen, found["applied"]["gamma"], "per-class"
        )
    assert [row[1] for row in rows] == predicted.tolist()
    assert {row[2] for row in rows if row[1] in NAMES[:3]} == {"seen"}
    assert [int(row[0]) for row in rows] == list(range(len(y)))
    applied = [found["applied"][letter]["per_class"] for letter in "USH"]
    assert applied == pytest.approx(expected, abs=1e-10)


def test_applied_scores_need_no_true_classes(named, other, tmp_path):
    with np.load(other) as archive:
        np.savez(tmp_path / "new.npz", scores=archive["scores"], class_names=archive["class_names"])
    found = calibrate_json(named, "--apply", tmp_path / "new.npz", "--out", tmp_path / "new.csv")
    assert found["applied"]["H"] is None
    assert calibrate("--gamma", 1, named, "--apply", tmp_path / "new.npz").stdout.count("\n") == 1
    calibrate_json(named, "--apply", other, "--out", tmp_path / "labeled.csv")
    assert (tmp_path / "new.csv").read_text() == (tmp_path / "labeled.csv").read_text()


def test_the_table_shows_what_gamma_does_to_other_scores(named, other):
    done = calibrate(named, "--apply", other)
    assert done.exit_code == 0
    assert "applied to 45 samples" in done.stdout
    assert done.stdout.count("harmonic mean, H") == 2
    assert "optimistic" not in done.stderr


def test_without_other_samples_h_is_called_optimistic(npz):
    for arguments in ([npz], [npz, "--json"]):
        assert "H was measured on the samples that chose gamma" in calibrate(*arguments).stderr


@pytest.mark.parametrize("target", ["scores.csv", "other.csv", "link.csv", "../{folder}/other.csv"])
def test_inputs_are_never_overwritten(tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    before = "a,b,y\n1,0,a\n0,1,b\n"
    for name in ("scores.csv", "other.csv"):
        (tmp_path / name).write_text(before)
    (tmp_path / "link.csv").symlink_to(tmp_path / "other.csv")
    target = target.format(folder=tmp_path.name)
    done = calibrate("scores.csv", "--seen", "a", "--apply", "other.csv", "--out", target, "--force")
    assert done.exit_code == 2
    assert "never replaces its input" in done.stderr
    assert all((tmp_path / name).read_text() == before for name in ("scores.csv", "other.csv"))


def test_a_file_that_exists_is_replaced_only_with_force(npz, tmp_path):
    out = tmp_path / "predictions.csv"
    out.write_text("my own notes")
    done = calibrate(npz, "--apply", npz, "--out", out)
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert out.read_text() == "my own notes"
    assert calibrate(npz, "--apply", npz, "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("sample,class,kind\n")


def test_the_areas(npz, problem):
    found = calibrate_json(npz)
    assert found["per_sample"]["ausuc"] == pytest.approx(oracle.openworld_auc(*problem, SEEN), abs=1e-12)
    d = problem[0][:, SEEN].max(axis=1) - problem[0][:, ~SEEN].max(axis=1)
    assert found["auroc"] == pytest.approx(roc_auc_score(SEEN[problem[1]], d), abs=1e-12)
    assert "AUROC" in calibrate(npz).stdout


def test_a_known_gamma_is_used(npz, tmp_path):
    chosen = calibrate_json(npz, "--apply", npz, "--out", tmp_path / "a.csv")
    gamma = chosen["gamma"]["per_class"]
    for files in (["--apply", npz], [npz], [npz, "--apply", npz]):
        found = calibrate_json(*files, "--gamma", gamma, "--out", tmp_path / "b.csv", "--force")
        assert found["applied"] == chosen["applied"]
        assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()
    assert f"gamma {gamma:.5g} applied to" in calibrate(npz, "--gamma", gamma).stdout
    for options, message in (
        (["--gamma", "1"], "Missing argument 'SCORES'"),
        ([npz, "--gamma", "nan"], "Got gamma=nan, but expected a finite number"),
        ([npz, "--gamma", "1", "--seen", "0,7"], "seen names class '7', which is none of the 5 classes"),
        ([npz, "--gamma", "1", "--bootstrap", "5"], "--gamma is known already"),
        ([npz, "--gamma", "1", "--min-seen", "50"], "--gamma is known already"),
        ([npz, "--gamma", "1", "--plot", tmp_path / "c.png"], "--gamma is known already"),
        ([], "Missing argument 'SCORES'"),
        (["--apply", npz], "Missing argument 'SCORES'"),
    ):
        done = calibrate(*options)
        assert done.exit_code == 2 and message in done.stderr


def test_probabilities_get_a_hint(npz, problem, tmp_path):
    scores = np.exp(problem[0]) / np.exp(problem[0]).sum(axis=1, keepdims=True)
    path = tmp_path / "p.npz"
    np.savez(path, scores=scores.astype(np.float32), y=problem[1], seen=SEEN)
    assert "Their logarithms calibrate better" in calibrate(path).stderr
    assert "logarithms" not in calibrate(npz).stderr


def test_absent_classes_are_named(tmp_path):
    path = tmp_path / "scores.npz"
    np.savez(path, scores=np.eye(4), y=[0, 2, 0, 2], seen=[1, 1, 0, 0], class_names=["a", "b", "c", "d"])
    done = calibrate(path, "--json")
    assert json.loads(done.stdout)["absent_classes"] == ["b", "d"]
    assert "2 of 4 classes have no sample and are ignored in the averages: b, d" in done.stderr


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_plots_are_written(npz, tmp_path, ending):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    path = tmp_path / f"curve.{ending}"
    assert calibrate(npz, "--plot", path).exit_code == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}[ending]
    assert path.read_bytes().startswith(start)


def savez(**changed: object):
    """Write a good file with some arrays changed; None leaves one out."""

    def write(path):
        content = {"scores": np.eye(4), "y": np.arange(4), "seen": np.array([True, True, False, False])}
        np.savez(path, **{key: value for key, value in (content | changed).items() if value is not None})

    return write


BAD_FILES = {
    "scores with one dimension": (savez(scores=np.zeros(4)), "scores has shape (4,)"),
    "no sample": (savez(scores=np.zeros((0, 4)), y=np.zeros(0, int)), "scores has shape (0, 4)"),
    "scores that are words": (savez(scores=np.full((4, 4), "x")), "expected numbers"),
    "NaN": (savez(scores=np.full((4, 4), np.nan)), "scores[0, 0] is NaN"),
    "y too short": (savez(y=np.arange(3)), "y has shape (3,)"),
    "y outside the classes": (savez(y=np.array([0, 1, 2, 4])), "y[3] is 4, but there are 4 classes"),
    "y with fractions": (savez(y=np.array([0, 1, 2, 2.5])), "y has shape (4,) and type float64"),
    "no unseen sample": (savez(y=np.zeros(4, int)), "No sample belongs to unseen classes"),
    "no seen sample": (savez(y=np.full(4, 3)), "No sample belongs to seen classes"),
    "no unseen class": (savez(seen=np.ones(4, bool)), "No sample belongs to unseen classes"),
    "seen too long": (savez(seen=np.ones(5, bool)), "seen has shape (5,)"),
    "seen as fractions": (savez(seen=np.array([0.5, 1.0])), "seen has shape (2,) and type float64"),
    "seen missing": (savez(seen=None), "does not say which classes were seen"),
    "unknown seen class": (savez(seen=None, seen_classes=np.array([7])), "seen[0] is 7"),
    "y missing": (savez(y=None), "no true classes"),
    "names too few": (savez(class_names=np.array(["a"])), "class_names has shape (1,)"),
    "names twice": (savez(class_names=np.array(["a", "a", "b", "c"])), "expected 4 different names"),
    "pickled array": (savez(y=np.array([{}, 1, 2, 3], dtype=object)), "pickled objects"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps({"scores": 1})), "not a whole .npz"),
    "one array": (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00"), "not a whole .npz"),
    "empty": (lambda path: path.write_bytes(b""), "not a whole .npz"),
    "missing": (lambda path: None, "is missing"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_one_clear_line(tmp_path, name):
    write, message = BAD_FILES[name]
    path = tmp_path / "scores.npz"
    write(path)
    done = calibrate(path)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_cut_file_is_one_clear_line(tmp_path, npz):
    whole = npz.read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 10):
        path = tmp_path / "cut.npz"
        path.write_bytes(whole[:cut])
        assert calibrate(path).exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,y\n1,2,a\n3,x,b\n", "line 3, column 'b' is 'x'"),
        ("a,b\n1,2\n", "no true classes"),
        ("a,b,y\n1,2,c\n", "scores.csv, column 'y', names class 'c'"),
        ("a,b,y\n1,2,a\n1,2,\n", "line 3, column 'y' is empty: every sample needs a label."),
        ("a,b,y\n1,2\n", "line 2 has 2 columns"),
        ("a,b,y\n", "no rows"),
    ],
)
def test_bad_tables_are_one_clear_line(tmp_path, text, message):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    done = calibrate(path, "--seen", "a")
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "curve.gif"], "expected a file ending in .png or .svg or .pdf or .html"),
        (["--plot", "nowhere/curve.png"], "No such file or directory"),
        (["--out", "out.csv"], "Name OTHER too"),
        (["--apply", "other.npz", "--out", "out.txt"], "expected a file ending in .csv"),
        (["--apply", "nothing.npz"], "nothing.npz is missing"),
        (["--min-seen", "0.8"], "Pass min_seen=80 for 80 %"),
        (["--unseen-share", "0.1"], "Pass unseen_share=10 for 10 %"),
        (["--label", "truth"], "no true classes"),
        (["--min-seen", "101"], "min_seen=101"),
        (["--min-seen", "50", "--unseen-share", "50"], "expected one goal"),
    ],
)
def test_bad_options_are_one_clear_line(npz, arguments, message):
    done = calibrate(npz, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize("ending", ["pt", "pth"])
def test_torch_files_are_refused_with_what_to_do(tmp_path, ending):
    path = tmp_path / f"scores.{ending}"
    path.write_bytes(b"PK")
    done = calibrate(path)
    assert done.exit_code == 2
    assert "expected one of .npz, .csv, .parquet. Save the scores with numpy.savez" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unknown_ending_is_refused(tmp_path):
    done = calibrate(tmp_path / "scores.xlsx")
    assert done.exit_code == 2
    assert "expected one of .npz, .csv, .parquet" in done.stderr


def test_a_label_column_that_is_not_there_does_not_make_y_a_class(tmp_path):
    (tmp_path / "s.csv").write_text("y,1,2,3\n1,0.5,0.2,0.1\n3,0.1,0.3,0.4\n")
    done = calibrate("--gamma", 0.1, "--apply", tmp_path / "s.csv", "--seen", "1,2", "--label", "truth")
    assert done.exit_code == 2
    assert "has no column 'truth', but a column 'y'. Name it with --label y." in done.stderr
