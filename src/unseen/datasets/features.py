"""Which encoder made a feature file: stored with the features and in the model, compared by ``predict``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from unseen._core.npz import read_npz
from unseen.errors import UnseenError, rephrase_errors

ENCODER_KEY = "encoder"  # in an .npz, a JSON text
ENCODER_FILE = "encoder.json"  # in a folder
STAMPS_KEY = "stamps"  # in an .npz of an extraction, which images it has seen


class EncoderCard(TypedDict, total=False):
    """What identifies an encoder; what determines its output comes first."""

    sha256: str  # of the ONNX file; absent for a Python callable
    output: str
    name: str  # as the user gave it: a path, hf:owner/name, or the class of a callable
    file: str  # the ONNX file in a folder or repository
    revision: str | None  # commit hash of a repository
    variant: str | None
    pooling: str
    preprocessing: dict[str, object]


def read_encoder_card(path: str | PathLike[str]) -> EncoderCard | None:
    """Return which encoder made the features in an ``.npz`` or a folder; None if nothing says so."""
    path = Path(path)
    if path.suffix == ".npz" and path.is_file():
        found = read_npz(path, [ENCODER_KEY]).get(ENCODER_KEY)
        return None if found is None else _parse_card(str(found), path)
    file = path / ENCODER_FILE
    return _parse_card(file.read_text(encoding="utf-8"), file) if file.is_file() else None


def _parse_card(text: str, path: Path) -> EncoderCard:
    """Return the card in a JSON text of this file."""
    problem = f"{path} does not say which encoder made the features"
    with rephrase_errors(problem, "Expected JSON with a name."):
        card: EncoderCard = json.loads(text)
        if not isinstance(card["name"], str):
            raise TypeError("its name is not text")
        return card


def encoder_array(card: EncoderCard) -> NDArray[np.str_]:
    """Return the card as it is stored in an ``.npz``."""
    return np.array(json.dumps(card, sort_keys=True))


def check_same_encoder(
    features: Mapping[str, object] | None, model: Mapping[str, object] | None, where: str
) -> None:
    """Reject features of another encoder than the model's; an unknown encoder is accepted.

    Examples
    --------
    >>> model = {"name": "hf:org/clip", "revision": "0123456789abcdef", "sha256": "aa", "output": "embeds"}
    >>> check_same_encoder({**model, "name": "clip/vision.onnx"}, model, "birds.npz")
    >>> check_same_encoder({"name": "dino.onnx", "sha256": "bb"}, model, "birds.npz")
    Traceback (most recent call last):
    unseen.errors.UnseenError: birds.npz was made by the encoder dino.onnx, but the model was fitted to ...
    """
    if features is not None and model is not None and _identity(features) != _identity(model):
        raise UnseenError(
            f"{where} was made by the encoder {describe_encoder(features)}, but the model was fitted to "
            f"features of {describe_encoder(model)}. Extract the features with that one."
        )


def _identity(card: Mapping[str, object]) -> tuple[object, ...]:
    """Return what two cards of the same encoder share: the content of the file, or else the name."""
    return card.get("sha256") or card.get("name"), card.get("output"), card.get("pooling")


def describe_encoder(card: Mapping[str, object]) -> str:
    """Return an encoder in words: its name, its revision, its output.

    >>> describe_encoder({"name": "hf:org/clip", "revision": "0123456789abcdef", "output": "embeds"})
    'hf:org/clip@0123456789ab (output embeds)'
    """
    revision = f"@{str(card['revision'])[:12]}" if card.get("revision") else ""
    output = f" (output {card['output']})" if card.get("output") else ""
    return f"{card['name']}{revision}{output}"
