"""Arrays of other libraries as NumPy arrays, without importing those libraries."""

from __future__ import annotations

import numpy as np

from unseen._core.blocks import FloatArray


def as_array(found: object) -> FloatArray:
    """Return an array or tensor as a NumPy array; a torch tensor may need gradients or be on a GPU."""
    detach = getattr(found, "detach", None)
    if detach is not None:
        tensor = detach().cpu()
        found = tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
    return np.asarray(found)
