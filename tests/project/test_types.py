"""A type checker sees the package through its stub as the interpreter does, and finds wrong calls."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT

USE = """
import numpy as np

import unseen
from unseen import ALE, LinearVS, UnseenError

S = np.eye(3)
model = ALE(S, alpha=0.1, random_state=0).fit(S, [0, 1, 2])
predicted = model.predict(S, candidates=[0, 2])
scores: float = float(model.similarity(S).max())
rows = LinearVS(S).partial_fit(S, [0, 1, 2]).solve().coef_.shape

ALE(alpha="x")  # arg-type
ALE(nonsense=3)  # call-arg
unseen.Nonsense  # attr-defined
"""


@pytest.mark.slow
def test_mypy_accepts_right_calls_and_rejects_wrong_ones(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(USE)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary"]
    command += ["--config-file", str(ROOT / "pyproject.toml"), "--follow-imports", "silent", "use.py"]
    environment = {"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = {line.split(":")[1]: line.rpartition("[")[2].rstrip("]") for line in errors}
    expected = {
        str(number): line.rpartition("# ")[2]
        for number, line in enumerate(USE.splitlines(), start=1)
        if "# " in line
    }
    assert found == expected, done.stdout + done.stderr


LOOK = """
import sys
import unseen
early = set(sys.modules)
assert unseen.UnseenError and "LinearSV" in dir(unseen) and unseen.__version__
errors = set(sys.modules)
unseen.LinearSV
print(*(",".join(sorted({name.partition(".")[0] for name in names})) for names in (early, errors)), sep="\\n")
print("unseen.methods.ranking" in sys.modules, "matplotlib" in sys.modules)
"""
HEAVY = {"numpy", "scipy", "sklearn", "joblib", "rich", "click", "matplotlib", "plotly", "pandas", "pyarrow"}
HEAVY |= {"onnxruntime", "onnx", "PIL", "dask", "distributed", "h5py", "safetensors", "sqlite3", "jinja2"}


def test_importing_loads_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True
    )
    early, errors, others = done.stdout.splitlines()
    assert not HEAVY & set(early.split(",")), done.stderr
    assert not HEAVY & set(errors.split(","))
    assert others == "False False"
