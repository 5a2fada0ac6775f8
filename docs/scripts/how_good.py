"""Write the table of docs/how_good.md: ``python docs/scripts/how_good.py REGRET``.

REGRET is the file of ``python -m benchmarks.regret``: one line per fit with one choice of unseen classes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from unseen._core.files import atomic_path
from unseen.benchmark.published import PublishedExperiment, scores
from unseen.methods import METHODS, describe_method

PAGE = Path(__file__).parents[1] / "how_good.md"
COLUMNS = ("data, method", "ZSL", "H as trained", "H calibrated", "H retention", "seconds")
PUBLISHED = ("published: ZSL", "H as trained", "H calibrated")
HEADER = f"| {' | '.join([*COLUMNS, *PUBLISHED])} |\n|---|{'---:|' * 8}"
FIGURES = ("zsl", "none_zsl", "paper", "retention", "seconds")
# a group of the benchmark -> its title, and the column of the paper that goes with it
GROUPS = {
    "CUB res50, proposed": ("CUB, ResNet-50, proposed split", PublishedExperiment("CUB", "proposed")),
    "CUB res50, standard": ("CUB, ResNet-50, standard split", PublishedExperiment("CUB", "standard")),
    "CUB res50_10crop, proposed": ("CUB, ResNet-50, ten crops", PublishedExperiment("CUB", "proposed", 10)),
    "CUB lite2, proposed": ("CUB, EfficientNet-Lite2, proposed split", None),
    "CUB clip_b16, proposed": ("CUB, CLIP ViT-B/16, proposed split", None),
    "handwritten letters": ("handwritten letters, {} random choices", None),
    "letters": ("typeface letters, {} random choices", None),
}
_PLACE = re.compile(r"(<!-- table: begin -->\n).*?(<!-- table: end -->)", re.DOTALL)
Fits = dict[str, list[list[float]]]  # the figures of every fit, by method


def read_fits(path: Path) -> dict[str, Fits]:
    """Return the fits of every group; the letters' fixed choice is left out, random ones say more."""
    fits: dict[str, Fits] = defaultdict(lambda: defaultdict(list))
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        if row["group"] in GROUPS and (row["group"] != "letters" or row["seed"] is not None):
            fits[row["group"]][row["method"]].append([row[name] for name in FIGURES])
    return fits


def lines(group: str, fits: Fits) -> Iterator[str]:
    """Yield the rows of one data set: the paper's methods, their average, ours."""
    title, published = GROUPS[group]
    means = {name: _mean(fits[name]) for name in METHODS if name in fits}
    paper = [name for name in means if describe_method(name).in_paper]
    yield f"| **{title.format(max(map(len, fits.values())))}** |{' |' * 8}"
    means["average"] = _mean([means[name] for name in paper])
    for name in [*paper, "average", *(name for name in means if name not in (*paper, "average"))]:
        cells = [f"{value:.1f}" for value in means[name]] + _printed(published, name)
        yield f"| {describe_method(name).title} | {' | '.join(cells)} |"


def _mean(fits: Sequence[Sequence[float]]) -> list[float]:
    return [fmean(column) for column in zip(*fits)]


def _printed(published: PublishedExperiment | None, name: str) -> list[str]:
    found = scores(published) if published else {}
    values = [found.get((name, score, "per_class")) for score in ("zsl", "none", "calibrated+lambda")]
    return [f"{value.mean:.1f}" if value else "" for value in values]


def main(regret: str) -> None:
    """Fill in the page."""
    fits = read_fits(Path(regret))
    table = "\n".join(
        [HEADER, *(line for name in GROUPS if name in fits for line in lines(name, fits[name]))]
    )
    text = _PLACE.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", PAGE.read_text("utf-8"))
    with atomic_path(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
