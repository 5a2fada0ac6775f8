"""Fixtures of the encoder tests: a folder of images and a backbone."""

from __future__ import annotations

from pathlib import Path

import pytest

from image_files import save_image
from onnx_models import mean_backbone
from unseen.encoders.backbone import Backbone


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five images in two class folders."""
    for seed, name in enumerate(["jay/a.png", "jay/b.jpg", "owl/c.png", "owl/more/d.png", "owl/e.PNG"]):
        save_image(tmp_path / "images" / name, seed)
    (tmp_path / "images" / "jay" / "notes.txt").write_text("not an image")
    return tmp_path / "images"


@pytest.fixture
def backbone(tmp_path: Path) -> Backbone:
    return Backbone(mean_backbone(tmp_path / "mean.onnx"), size=16)
