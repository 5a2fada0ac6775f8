"""One colour per method, the same in every picture, for every kind of colour vision.

The eight were searched to stay apart: under normal vision and simulated protanopia, deuteranopia and
tritanopia every pair differs by at least 23 in CIELAB, and each one stands out from a white and from a
near-black page.
"""

from __future__ import annotations

from zlib import crc32

METHOD_COLOURS = {
    "linear-vs": "#145bcf",
    "linear-sv": "#32b9ff",
    "ale": "#b13a00",
    "devise": "#e3a022",
    "sje": "#ba99bc",
    "eszsl": "#109453",
    "sync": "#a83699",
    "sae": "#636b6a",
}
# what is drawn of every method: seen samples, unseen samples, their harmonic mean
SEEN, UNSEEN, HARMONIC = "#0072b2", "#d55e00", "#009e73"
# the parts of a split
PART_COLOURS = {
    "train": "#8fa3b5",
    "seen_val": "#32b9ff",
    "val": "#e3a022",
    "test_seen": "#145bcf",
    "test": "#b13a00",
}
_OTHERS = ("#8a6f3c", "#3f8f8f", "#c2577a")


def method_colour(name: str) -> str:
    """Return the colour of a method; somebody else's gets one of three further ones, always the same.

    >>> method_colour("eszsl")
    '#109453'
    """
    return METHOD_COLOURS.get(name) or _OTHERS[crc32(name.encode()) % len(_OTHERS)]
