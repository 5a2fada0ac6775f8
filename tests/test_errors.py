"""Messages about missing packages give a command that works for how this package was installed."""

from __future__ import annotations

import pytest

from conftest import ROOT
from unseen import errors
from unseen.errors import need_extra


def test_a_clone_is_installed_again_with_the_extra(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert str(need_extra(("jinja2", "plotly"), "report", "The report")) == (
        "The report needs the packages jinja2 and plotly. Install them with: pip install -e '.[report]'"
    )
    monkeypatch.chdir(tmp_path)
    assert f"pip install -e '{ROOT}[report]'" in str(need_extra("jinja2", "report", "The report"))


@pytest.mark.parametrize(
    ("packages", "end"),
    [
        ("onnx", "needs the package onnx. Install it with: pip install onnx"),
        (
            ("jinja2", "plotly"),
            "needs the packages jinja2 and plotly. Install them with: pip install jinja2 plotly",
        ),
    ],
)
def test_a_wheel_gets_the_packages_themselves(monkeypatch, tmp_path, packages, end):
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "lib" / "site-packages" / "unseen" / "errors.py"))
    assert str(need_extra(packages, "any", "This")).endswith(end)
