"""Encoders from the Hugging Face hub: the ONNX file, its weights and its configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unseen._core.hub import fetch_files
from unseen.encoders.references import COMPANIONS, Modality, ModelFiles, choose_onnx


def fetch_model(reference: str, modality: Modality, variant: str | None = None) -> ModelFiles:
    """Return the files of ``hf:owner/name[@revision]``, downloaded unless they are in the cache."""

    def choose(names: Sequence[str]) -> list[str]:
        model = choose_onnx(names, modality, variant, reference)
        return [model, *_needed(names, model, modality)]

    folder, (model, *_) = fetch_files(reference, choose, cached=COMPANIONS[modality])
    return ModelFiles(reference, folder / model, folder, folder.name, variant)


def _needed(names: Sequence[str], model: str, modality: Modality) -> list[str]:
    """Return the files beside the model that it needs: its weights and its configuration."""
    # optimum writes model.onnx_data, model.onnx_data_1, ...; PyTorch writes model.onnx.data
    weights = [name for name in names if re.fullmatch(re.escape(model) + r"(_data(_\d+)?|\.data)", name)]
    return weights + [name for name in COMPANIONS[modality] if name in names]
