"""Fixtures of the encoder tests: a folder of images and a backbone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from image_files import save_image
from onnx_models import mean_backbone
from unseen.cli import main
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


@pytest.fixture
def invoke(monkeypatch):
    """Run ``unseen ...`` in this process, in a folder; returns code, stdout and stderr like a process."""

    def call(*arguments: object, cwd: Path) -> SimpleNamespace:
        monkeypatch.chdir(cwd)
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)

    return call
