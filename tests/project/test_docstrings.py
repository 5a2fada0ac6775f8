"""The examples in the docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import unseen

MODULES = sorted(module.name for module in pkgutil.walk_packages(unseen.__path__, "unseen."))


@pytest.mark.parametrize("name", [name for name in MODULES if name != "unseen.__main__"])
def test_examples_of_a_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
