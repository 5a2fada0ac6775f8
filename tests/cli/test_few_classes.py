"""Too few seen classes to hold any out: the data is described, and the method fits without calibration."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unseen import LDA, GZSLClassifierCV, UnseenError, load_model
from unseen.cli import main

FEATURES = [f"x{i}" for i in range(5)]


@pytest.fixture(params=[1, 2, 3])
def few(request, tmp_path, monkeypatch):
    """Return the number of seen classes, the samples and the descriptions; both are also files."""
    n, rng = request.param, np.random.default_rng(request.param)
    names = [f"fruit {c}" for c in range(n + 2)]
    P = pd.DataFrame(rng.normal(size=(n + 2, 4)), index=pd.Index(names, name="fruit"), columns=list("abcd"))
    fruit = np.repeat(names[:n], 9)
    X = P.loc[fruit].to_numpy() @ rng.normal(size=(4, 5)) + 0.01 * rng.normal(size=(9 * n, 5))
    samples = pd.DataFrame(X, columns=FEATURES).assign(fruit=fruit)
    monkeypatch.chdir(tmp_path)
    samples.to_csv("samples.csv", index=False)
    P.to_csv("classes.csv")
    return n, samples, P


def run(command: str, *arguments: str):
    table = ["samples.csv", "--prototypes", "classes.csv"]
    return CliRunner().invoke(main, [command, *table, *arguments])


def test_few_classes_are_described(few):
    n, samples, _ = few
    done = run("inspect", "--json")
    facts = json.loads(done.stdout)
    assert (facts["seen_classes"], facts["unseen_classes"], facts["samples"]) == (n, 2, len(samples))
    assert f"seen classes is {n}, expected at least 4" in facts["missing"][0]


def test_what_the_message_offers_works(few, tmp_path):
    n, samples, P = few
    refused = run("fit", "--model", "m")
    assert refused.exit_code == 2 and len(refused.stderr.splitlines()) == 1
    assert f"seen classes is {n}, expected at least 4" in refused.stderr
    with pytest.raises(UnseenError, match=f"seen classes is {n}, expected at least 4"):
        GZSLClassifierCV(LDA(P)).fit(samples[FEATURES], samples["fruit"])
    done = run("fit", "--model", "m", "--gamma", "0")
    if n == 1:
        assert "--gamma 0" not in refused.stderr
        assert done.stderr == "error: The number of seen classes is 1, expected at least two to train on.\n"
        assert done.exit_code == 2 and not (tmp_path / "m").exists()
        return
    assert "unseen fit --gamma 0, or LDA(prototypes).fit(X, y)" in refused.stderr
    assert done.exit_code == 0 and "not calibrated" in done.stdout and "U007 Few seen" in done.stderr
    same = LDA(P).fit(samples[FEATURES], samples["fruit"])
    np.testing.assert_allclose(load_model("m").coef_, same.coef_, rtol=1e-6, atol=1e-9)
    assert same.predict(samples[FEATURES]).tolist() == load_model("m").predict(samples[FEATURES]).tolist()
    card = json.loads(run("fit", "--model", "m", "--gamma", "0", "--json").stdout)
    assert card["classes"]["unseen"] == list(P.index[n:])
    predicted = CliRunner().invoke(main, ["predict", "m", "samples.csv", "--quiet"])
    assert predicted.exit_code == 0 and len(predicted.stdout.splitlines()) == 1 + len(samples)
