"""Files that pages speak of as the reader's own, by the name that ``<!-- files: name -->`` gives them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ANIMALS = """\
class,stripes,hooves,horns,hunts,swims,size
buffalo,0,1,1,0,0.4,1
cow,0,1,1,0,0,0.8
fox,0,0,0,1,0,0.2
giraffe,0,1,0.4,0,0,1
goat,0,1,1,0,0,0.3
hare,0,0,0,0,0,0.1
hippo,0,0.4,0,0,1,1
horse,0,1,0,0,0,0.8
lion,0,0,0,1,0,0.7
otter,0,0,0,1,1,0.2
rhino,0,0.4,1,0,0.2,1
skunk,1,0,0,0.5,0,0.1
tiger,1,0,0,1,0.3,0.7
zebra,1,1,0,0,0,0.7
seal,0,0,0,1,1,0.6
"""
NEW = ("zebra", "seal")  # have no samples


def write_animals(folder: Path) -> None:
    """Write samples.csv (13 animals), classes.csv and groups.csv (15, two are new), labeled.csv, new.csv."""
    lines = [line.split(",") for line in ANIMALS.split()[1:]]
    names = [line[0] for line in lines]
    attributes = np.array([line[1:] for line in lines], dtype=float)
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(attributes.shape[1], 12))

    def table(animals: list[str], labeled: bool) -> str:
        columns = [f"sensor{i}" for i in range(1, 13)]
        rows = [["animal", *columns] if labeled else columns]
        for name in animals:
            values = attributes[names.index(name)] @ mixing + 0.3 * rng.normal(size=12)
            rows.append([*([name] if labeled else []), *(f"{value:.3f}" for value in values)])
        return "\n".join(",".join(row) for row in rows) + "\n"

    hunts = {name: row[3] > 0 for name, row in zip(names, attributes)}
    groups = [f"{name},{'hunter' if hunts[name] else 'grazer'}" for name in names]
    (folder / "groups.csv").write_text("\n".join(["class,group", *groups]) + "\n", encoding="utf-8")
    seen = [name for name in names if name not in NEW]
    (folder / "classes.csv").write_text(ANIMALS, encoding="utf-8")
    (folder / "samples.csv").write_text(table(20 * seen, labeled=True), encoding="utf-8")
    (folder / "labeled.csv").write_text(table(5 * names, labeled=True), encoding="utf-8")
    (folder / "new.csv").write_text(table(2 * names, labeled=False), encoding="utf-8")


PREPARED = {"animals": write_animals}
