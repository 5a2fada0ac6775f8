"""Arrays of other libraries as NumPy arrays, without importing those libraries."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from unseen._core.blocks import FloatArray


def as_array(found: object) -> FloatArray:
    """Return an array or tensor as a NumPy array; a torch tensor may need gradients or be on a GPU."""
    detach = getattr(found, "detach", None)
    if detach is not None:
        tensor = detach().cpu()
        found = tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
    return np.asarray(found)


def torch_of(function: object) -> ModuleType | None:
    """Return the package torch if ``function`` is a module of torch, or a method of one."""
    owner = getattr(function, "__self__", function)
    bases = (base.__module__ or "" for base in type(owner).__mro__)
    return sys.modules.get("torch") if any(name.startswith("torch.nn.") for name in bases) else None
