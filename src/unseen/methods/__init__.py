"""The methods, one file per idea, and the registry: one row per method, in the paper's order."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

from unseen.errors import UnseenError, did_you_mean

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier


@dataclass(frozen=True)
class Method:
    """All that the package knows about a method besides its mathematics.

    The colors are easy to distinguish: under normal vision and simulated protanopia, deuteranopia and
    tritanopia every pair differs by at least 26 in CIELAB, and each one stands out from a white and from a
    near-black page.
    """

    place: str  # module:Class
    title: str  # for people
    color: str  # the same in every figure
    in_paper: bool = True  # one of the paper's eight, or ours
    shared_space: bool = False  # prototypes must be points in the space of the features
    params: Mapping[str, str] = field(default_factory=dict)  # what makes it a variant of its class


METHODS = {
    "linear-vs": Method("unseen.methods.linear:LinearVS", "Linear V->S", "#8577fe"),
    "linear-sv": Method("unseen.methods.linear:LinearSV", "Linear S->V", "#0cc2fe"),
    "ale": Method("unseen.methods.ranking:ALE", "ALE", "#cf1f01"),
    "devise": Method("unseen.methods.ranking:DeViSE", "DeViSE", "#bdb96f"),
    "sje": Method("unseen.methods.ranking:SJE", "SJE", "#f29dbb"),
    "eszsl": Method("unseen.methods.eszsl:ESZSL", "ESZSL", "#288f66"),
    "sync": Method("unseen.methods.sync:SynC", "SynC", "#8e04a2"),
    "sae": Method("unseen.methods.sae:SAE", "SAE", "#55495b"),
    "lda": Method("unseen.methods.lda:LDA", "LDA", "#6303db", in_paper=False),
    "cosine": Method("unseen.methods.cosine:Cosine", "Cosine", "#8ac800", in_paper=False, shared_space=True),
    "lda-anchored": Method(
        "unseen.methods.lda:LDA",
        "LDA, anchored",
        "#932124",
        in_paper=False,
        shared_space=True,
        params={"anchor": "prototype"},
    ),
}
_OTHER_COLORS = ("#8a6f3c", "#3f8f8f", "#c2577a")


def method_name(name: str) -> str:
    """Return the registered name of a method, given in any case; any other name unchanged.

    >>> method_name("ESZSL")
    'eszsl'
    """
    return name.lower() if name.lower() in METHODS else name


def describe_method(name: str) -> Method:
    """Return the row of a method; any other method has its name as title, and always the same color.

    >>> describe_method("eszsl").color
    '#288f66'
    >>> describe_method("birds:Mine").title
    'birds:Mine'
    """
    color = _OTHER_COLORS[crc32(name.encode()) % len(_OTHER_COLORS)]
    return METHODS.get(method_name(name)) or Method(name, name, color, in_paper=False)


def find_method(name: str) -> type[ZeroShotClassifier]:
    """Return the class of a method, by name or as ``package.module:Class`` for your own.

    >>> find_method("eszsl").__name__
    'ESZSL'
    """
    module, _, attribute = describe_method(name).place.partition(":")
    if not attribute:
        raise UnseenError(
            f"Unknown method {name!r}: expected one of {', '.join(METHODS)}, "
            f"or module:Class for your own.{did_you_mean(name.lower(), METHODS)}"
        )
    if method_name(name) not in METHODS and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a module in the current folder, as ``python -m`` would find it
    try:
        found: type[ZeroShotClassifier] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnseenError(f"Cannot load method {name!r}: {error}.") from error
    if not hasattr(found, "stochastic"):
        raise UnseenError(f"{name} is not a method: expected a subclass of unseen.base.ZeroShotClassifier.")
    return found


def make_method(name: str, prototypes: object, seed: int, normalize: str | None = None) -> ZeroShotClassifier:
    """Return the unfitted method with the parameters of its row, and the seed if it is stochastic.

    ``normalize`` is ``"l2"``, ``"sqrt"``, ``"standard"`` or ``"none"``; by default, and for embeddings of a
    shared space, the method's own.

    >>> make_method("sje", None, 3).random_state
    3
    >>> make_method("lda-anchored", None, 0).anchor
    'prototype'
    """
    found = find_method(name)
    row = describe_method(name)
    options: dict[str, object] = {"random_state": seed} if found.stochastic else {}
    if normalize is not None and not row.shared_space:
        options["normalize"] = None if normalize == "none" else normalize
    return found(prototypes, **row.params, **options)
