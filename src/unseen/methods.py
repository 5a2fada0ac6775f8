"""The eight methods of the paper by name, in the paper's order."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from unseen.base import ZeroShotClassifier
from unseen.errors import UnseenError, did_you_mean

METHODS = {
    "linear-vs": "unseen.linear:LinearVS",
    "linear-sv": "unseen.linear:LinearSV",
    "ale": "unseen.ranking:ALE",
    "devise": "unseen.ranking:DeViSE",
    "sje": "unseen.ranking:SJE",
    "eszsl": "unseen.eszsl:ESZSL",
    "sync": "unseen.sync:SynC",
    "sae": "unseen.sae:SAE",
}


def find_method(name: str) -> type[ZeroShotClassifier]:
    """Return the class of a method, by name or as ``package.module:Class`` for somebody else's.

    >>> find_method("eszsl").__name__
    'ESZSL'
    """
    place = METHODS.get(name, name)
    module, _, attribute = place.partition(":")
    if not attribute:
        raise UnseenError(
            f"Unknown method {name!r}: expected one of {', '.join(METHODS)}, "
            f"or module:Class for your own.{did_you_mean(name, METHODS)}"
        )
    if name not in METHODS and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a module beside the user, as ``python -m`` would find it
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnseenError(f"Cannot load method {name!r}: {error}.") from error
    return found
