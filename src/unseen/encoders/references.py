"""Encoders by name: an ONNX file, a folder in Hugging Face layout, or a repository of the hub.

A reference becomes ``ModelFiles``: the ONNX file to run and the folder with the configuration beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from unseen._core.hub import HUB_PREFIX, fetch_files
from unseen.errors import UnseenError, did_you_mean, rephrase_errors

Reference = str | os.PathLike[str]
Modality = Literal["image", "text"]

# stem of the ONNX file of one part of a model; a variant is appended as in model_quantized.onnx
STEM: Mapping[Modality, str] = {"image": "vision_model", "text": "text_model"}
# what an encoder of each modality reads beside its ONNX file, if it is there
COMPANIONS: Mapping[Modality, tuple[str, ...]] = {
    "image": ("config.json", "preprocessor_config.json", "processor_config.json"),
    "text": ("config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json"),
}


class ModelFiles(NamedTuple):
    """The files of an encoder.

    Parameters
    ----------
    name : str
        The reference as the user gave it.
    model : Path
        The ONNX file.
    folder : Path
        Where configuration and tokenizer are.
    revision : str, optional
        Commit hash, for a repository of the hub.
    variant : str, optional
        The variant that was asked for.
    """

    name: str
    model: Path
    folder: Path
    revision: str | None = None
    variant: str | None = None

    def config(self, name: str) -> Mapping[str, Any]:
        """Return the JSON object in a configuration file; an empty one if the file is absent."""
        file = self.folder / name
        if not file.is_file():
            return {}
        with rephrase_errors(f"{str(file)!r} is not a file with a JSON object"):
            return dict(json.loads(file.read_text(encoding="utf-8")))


def find_model(reference: Reference, modality: Modality, variant: str | None = None) -> ModelFiles:
    """Return the files of an encoder; those of a hub repository are downloaded unless they are cached.

    Parameters
    ----------
    reference : str or path
        An ONNX file, a folder in Hugging Face layout, or ``hf:owner/name[@revision]``.
    modality : {"image", "text"}
        Which part of a model with both to take.
    variant : str, optional
        Suffix of the ONNX file in a folder, such as ``"quantized"`` for ``model_quantized.onnx``.
    """
    text = os.fspath(reference)
    if text.startswith(HUB_PREFIX):
        return _fetch_model(text, modality, variant)
    path = Path(reference)
    if path.is_dir():
        files = [*path.glob("*.onnx"), *path.glob("onnx/*.onnx")]
        names = [file.relative_to(path).as_posix() for file in files]
        return ModelFiles(text, path / choose_onnx(names, modality, variant, text), path, variant=variant)
    if not path.exists() and re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", text) and not path.suffix:
        raise UnseenError(
            f"There is no file or folder {text!r}. For a model of the Hugging Face hub write "
            f"{HUB_PREFIX}{text}."
        )
    # In Hugging Face layout the configuration is one folder above onnx/model.onnx.
    return ModelFiles(text, path, path.parent.parent if path.parent.name == "onnx" else path.parent)


def _fetch_model(reference: str, modality: Modality, variant: str | None) -> ModelFiles:
    """Return the files of ``hf:owner/name[@revision]``, downloaded unless they are in the cache."""

    def choose(names: Sequence[str]) -> list[str]:
        model = choose_onnx(names, modality, variant, reference)
        # optimum writes model.onnx_data, model.onnx_data_1, ...; PyTorch writes model.onnx.data
        weights = re.compile(re.escape(model) + r"(_data(_\d+)?|\.data)")
        beside = [name for name in COMPANIONS[modality] if name in names]
        return [model, *filter(weights.fullmatch, names), *beside]

    folder, (model, *_) = fetch_files(reference, choose, cached=COMPANIONS[modality])
    return ModelFiles(reference, folder / model, folder, folder.name, variant)


def choose_onnx(names: Iterable[str], modality: Modality, variant: str | None, where: str) -> str:
    """Return the ONNX file of a folder or repository, given the names of its files.

    Without ``variant`` the plain file is taken, or the only variant if there is just one.

    Examples
    --------
    >>> files = ["onnx/model.onnx", "onnx/vision_model.onnx", "onnx/vision_model_fp16.onnx"]
    >>> choose_onnx(files, "image", None, "clip")
    'onnx/vision_model.onnx'
    >>> choose_onnx(files, "image", "fp16", "clip")
    'onnx/vision_model_fp16.onnx'
    >>> choose_onnx(files, "text", None, "clip")
    'onnx/model.onnx'
    """
    # those of the folder onnx last: they replace others
    known = sorted((name for name in names if name.endswith(".onnx")), key=lambda name: ("/" in name, name))
    if not known:
        raise UnseenError(
            f"{where} has no ONNX file (onnx/model.onnx). Export one, for instance with: "
            f"optimum-cli export onnx --model {where.removeprefix(HUB_PREFIX)} FOLDER"
        )
    stems = (STEM[modality], "model")  # the more specific first
    for stem in stems:
        found = (re.fullmatch(rf"(?:onnx/)?{stem}(?:_(\w+))?\.onnx", name) for name in known)
        variants = {match[1] or "": match[0] for match in found if match}  # the plain file has the variant ""
        if variant is None and len(variants) == 1:
            return next(iter(variants.values()))
        if (variant or "") in variants:
            return variants[variant or ""]
        if variants:
            others = ", ".join(f"--variant {name}" if name else "no --variant" for name in variants)
            wanted, near = (f"{stem}_{variant}", did_you_mean(variant, variants)) if variant else (stem, "")
            raise UnseenError(f"{where} has no {wanted}.onnx. Choose: {others}.{near}")
    problem = f"{where} has {', '.join(known)}, expected {' or '.join(f'{stem}.onnx' for stem in stems)}"
    raise UnseenError(f"{problem}. Name the file itself.")
