"""The example at the end of every command's help runs, in the order in which a user would need them."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import small_data as small

pytest.importorskip("onnxruntime", reason="needs the extra images")

from image_files import save_image
from onnx_models import clip_folder, mean_backbone
from unseen.cli import COMMANDS

BIRDS = ("jay", "owl", "Gadwall", "Mallard", "Wren", "Robin", "Raven", "Heron", "Swift", "Stork", "Eagle")
ORDER = (
    *("methods", "extract", "describe", "fit", "inspect", "predict", "explain", "evaluate", "suggest"),
    *("add-class", "export", "calibrate", "bench", "report"),
)
NEEDS_A_SERVER = {"push", "download"}  # models/test_hub.py and datasets/test_download.py run these


def prepare(folder: Path, run) -> None:
    """Write what the examples speak of as the reader's own."""
    rng = np.random.default_rng(0)
    for number, bird in enumerate(BIRDS):
        for image in range(3):
            save_image(folder / "photos" / bird / f"{image}.png", 3 * number + image)
    mean_backbone(folder / "resnet50.onnx")
    clip_folder(folder / "all-MiniLM-L6-v2")
    (folder / "names.txt").write_text("blue bird\nbrown bird\n")
    rows = [f"{bird},{','.join(f'{x:.2f}' for x in rng.random(4))}" for bird in (*BIRDS, "kingfisher")]
    (folder / "birds.csv").write_text("\n".join(["class,a,b,c,d", *rows[:-1]]) + "\n")
    (folder / "kingfisher.csv").write_text(f"class,a,b,c,d\n{rows[-1]}\n")
    for name in ("val.npz", "test.npz"):
        scores, y = rng.normal(size=(60, 6)), np.arange(60) % 6
        np.savez(folder / name, scores=scores + np.eye(6)[y], y=y, seen=np.arange(6) < 4)
    (folder / "data").mkdir()
    small.write_xlsa17(folder / "data" / "CUB")
    (folder / "data" / "CUB" / "res101.mat").rename(folder / "data" / "CUB" / "res50.mat")
    made = run(
        "fit", "letters", "--method", "eszsl", "--normalize", "l2", "--model", "letters.model", cwd=folder
    )
    assert made.returncode == 0, made.stderr


def examples(run, name: str) -> list[str]:
    """Return the commands at the end of a help page: the rest of its line, or one per line."""
    end = run(name, "--help").stdout.partition("Example:")[2]
    if end.startswith(" "):
        return [" ".join(end.split())]
    return [line.strip() for line in end.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of results: the images are noise
def test_the_examples_of_all_commands_run(run, tmp_path):
    assert {*ORDER} | NEEDS_A_SERVER == {*COMMANDS}
    prepare(tmp_path, run)
    for name in ORDER:
        for line in examples(run, name):
            done = run(*shlex.split(line)[1:], cwd=tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
        (tmp_path / "predictions.csv").unlink(missing_ok=True)  # two examples write it
        if name == "extract":
            for copy in ("new.npz", "unlabeled.npz"):
                shutil.copy(tmp_path / "birds.npz", tmp_path / copy)
