"""Write one file of each kind, with the predictions that belong to it, for later versions to read.

``python tests/data/make_fixtures.py`` makes the fixtures of a release in ``tests/data/<version>/``. A folder
that exists is never changed: it is what that version wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import unseen
from unseen import GZSLClassifierCV, load_dataset, save_model
from unseen.datasets.splits import training_samples
from unseen.methods import make_method
from unseen.models.export import export

HERE = Path(__file__).resolve().parent
CLOSED_FORMS = ("linear-vs", "linear-sv", "eszsl", "sae", "lda", "cosine")
SELECTED = "sje"  # a ranking method, chosen and calibrated by GZSLClassifierCV
GRID = {"alpha": [0.01]}


def small_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return samples, labels, prototypes and samples to predict, all from the embedded digits."""
    data = load_dataset("digits")
    rows = training_samples(data)[::4]
    names = np.array(data.class_names)
    return data.X[rows], names[data.y[rows]], data.prototypes, data.X[::90].astype(np.float64)


def write_models(folder: Path) -> dict[str, object]:
    """Write a model of each closed form, one selection, its card and exports; return what they predict."""
    X, y, S, new = small_problem()
    names = [str(digit) for digit in range(10)]
    S = unseen.Prototypes(names, [f"segment {letter}" for letter in "abcdefg"], S)
    expected: dict[str, object] = {"X": new.tolist(), "models": {}}
    for name in CLOSED_FORMS:
        # cosine compares samples with prototypes directly
        columns = slice(0, 7) if name == "cosine" else slice(None)
        model = make_method(name, S, 0).fit(X[:, columns], y)
        save_model(model, folder / f"{name}.model")
        expected["models"][name] = {
            "columns": 7 if name == "cosine" else X.shape[1],
            "predictions": model.predict(new[:, columns]).tolist(),
            "scores": model.decision_function(new[:, columns]).tolist(),
        }
    model = GZSLClassifierCV(make_method(SELECTED, S, 0), GRID).fit(X, y)
    save_model(model, folder / f"{SELECTED}.model")
    expected["models"][SELECTED] = {
        "columns": X.shape[1],
        "predictions": model.predict(new).tolist(),
        "scores": model.decision_function(new).tolist(),
        "probabilities": model.predict_proba(new).tolist(),
        "gamma": model.gamma_,
    }
    (folder / "card.json").write_text(json.dumps(model.card().to_json(), indent=1) + "\n")
    export(model, folder / "layer.npz", "npz")
    export(model, folder / "layer.onnx", "onnx", softmax=True)
    return expected


def write_store(folder: Path) -> dict[str, object]:
    """Write a small run store; return the summary that ``bench --json`` prints of it."""
    from click.testing import CliRunner

    from unseen.cli import main

    arguments = ["bench", "digits", "--methods", "linear-sv", "--out", str(folder / "run"), "--json"]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    return json.loads(done.stdout)


def main() -> None:
    """Write the fixtures of this version."""
    folder = HERE / unseen.__version__
    if folder.exists():
        sys.exit(f"{folder} exists. Fixtures of a release never change.")
    folder.mkdir()
    expected = write_models(folder)
    expected["bench"] = write_store(folder)
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    for path in sorted(folder.rglob("*")):
        print(f"{path.stat().st_size:8d} {path.relative_to(HERE)}")


if __name__ == "__main__":
    main()
