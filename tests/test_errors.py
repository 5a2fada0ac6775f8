"""Messages about missing packages give a command that works for how this package was installed."""

from __future__ import annotations

from conftest import ROOT
from unseen import errors
from unseen.errors import need_extra


def test_a_clone_is_installed_again_with_the_extra(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert str(need_extra("jinja2", "report", "The report")) == (
        "The report needs the package jinja2. Install it with: pip install -e '.[report]'"
    )
    monkeypatch.chdir(tmp_path)
    assert f"pip install -e '{ROOT}[report]'" in str(need_extra("jinja2", "report", "The report"))


def test_a_wheel_gets_the_package_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "lib" / "site-packages" / "unseen" / "errors.py"))
    end = "needs the package onnx. Install it with: pip install onnx"
    assert str(need_extra("onnx", "any", "This")).endswith(end)
