"""Print the oldest versions that pyproject.toml allows, as constraints for pip: ``numpy==1.26``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest() -> list[str]:
    """Return one constraint per package that the package or one of its extras needs."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = project["optional-dependencies"].values()
    needed = [*project["dependencies"], *(need for needs in extras for need in needs)]
    found = [re.fullmatch(r"([\w-]+)>=([\w.]+)", need) for need in needed if not need.startswith("unseen[")]
    assert all(found), f"every dependency has a lower bound and nothing else: {needed}"
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


if __name__ == "__main__":
    print("\n".join(oldest()))
