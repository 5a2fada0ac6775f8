"""The names that scripts outside of the project rely on."""

from __future__ import annotations

import pytest

import unseen

METHODS = ("LinearVS", "LinearSV", "ALE", "DeViSE", "SJE", "ESZSL", "SynC", "SAE", "LDA", "Cosine")
TOOLS = ("GZSLClassifierCV", "SeenUnseenCurve", "load_dataset", "make_split", "GZSLFolds", "Prototypes")
FUNCTIONS = ("load_model", "save_model", "calibrate")


@pytest.mark.parametrize("name", [*METHODS, *TOOLS, *FUNCTIONS])
def test_names_are_importable_from_the_package(name):
    assert callable(getattr(unseen, name)) and name in dir(unseen)
    assert getattr(unseen, name).__name__ == name
