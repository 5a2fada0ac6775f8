"""The numbers behind the page's charts: small, and exact where it matters."""

from __future__ import annotations

import numpy as np

from unseen.benchmark.protocol import restore_curve
from unseen.plotting import selection_figure
from unseen.report.figures import slider_curve, thin_flips


def test_a_long_curve_is_thinned_but_exact_where_it_matters():
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=5000))
    stored = {"gamma": ends, "unseen": np.linspace(0, 60, 5001), "seen": np.linspace(80, 0, 5001)}
    curve = restore_curve(stored, 0.2)
    thin = slider_curve(curve, [0.123], 200)
    assert len(thin["unseen"]) == len(thin["breakpoints"]) + 1 <= 204
    for gamma in (0.123, 0.0, thin["best"], -9.0, 9.0):
        k, whole = np.searchsorted(thin["breakpoints"], gamma), np.searchsorted(ends, gamma)
        assert thin["unseen"][k] == curve.unseen_curve[whole]
        assert thin["seen"][k] == curve.seen_curve[whole]
    inside = np.searchsorted(thin["breakpoints"], thin["gammas"])
    assert inside.tolist() == list(range(len(inside)))  # every segment can be reached with its own gamma


def test_thinned_flips_count_to_within_a_step():
    flips = np.sort(np.random.default_rng(0).normal(size=10_001)).tolist()
    thin = thin_flips(flips, 500)
    for gamma in (-1.0, 0.0, 0.5, 5.0):
        count = thin["step"] * np.searchsorted(thin["gamma"], gamma)
        assert 0 <= np.searchsorted(flips, gamma) - count < thin["step"]
    assert thin_flips(flips[:10], 500) == {"total": 10, "step": 1, "gamma": flips[:10]}


def test_both_optima_lie_on_the_lines_when_there_are_two_parameters():
    params = [{"alpha": a, "beta": b} for a in (0.1, 1.0, 10.0) for b in (1, 2)]
    table = {"params": params, "zsl": [1, 9, 3, 4, 5, 6], "seen": [8, 7, 6, 5, 4, 3], "h": [1, 2, 3, 7, 5, 6]}
    table |= {"best": 3, "best_zsl": 1}
    figure = selection_figure({"grid": {"alpha": [], "beta": []}, "validation": table})
    assert (figure["x"], figure["scale"], figure["others"]) == ([0.1, 1.0, 10.0], "log", ["beta"])
    assert (figure["zsl"], figure["h"]) == ([9, 4, 6], [2, 7, 6])
    assert (figure["best_zsl"], figure["best"]) == (0.1, 1.0)
    assert selection_figure({"grid": {}, "validation": table}) is None
