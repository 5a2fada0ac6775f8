"""The figure of a curve shows the curve, and the table behind it says the same."""

from __future__ import annotations

import numpy as np
import pytest

from problems import small_curve
from unseen.calibration.display import visible_segments


def test_the_frame_is_the_curve():
    pytest.importorskip("pandas")
    curve = small_curve()
    frame = curve.frame()
    assert list(frame.columns) == ["gamma_low", "gamma_high", "gamma", "unseen", "seen", "h"]
    for row in frame.itertuples():
        assert curve.at(row.gamma) == (row.unseen, row.seen, row.h)
        assert row.gamma_low < row.gamma <= row.gamma_high


def test_the_plot_shows_the_curve_and_both_points():
    plt = pytest.importorskip("matplotlib.pyplot")
    curve = small_curve()
    _, ax = plt.subplots()
    display = curve.plot(ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    lines = {line.get_label().split(":")[0]: line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["no calibration"].get_xydata()[0], curve.at(0)[:2])
    np.testing.assert_array_equal(
        lines[f"gamma = {curve.gamma:.4g}"].get_xydata()[0], (curve.unseen, curve.seen)
    )
    (drawn,) = [line for label, line in lines.items() if label.startswith("every gamma")]
    np.testing.assert_array_equal(drawn.get_xydata(), np.column_stack([curve.unseen_curve, curve.seen_curve]))
    assert "unseen samples" in ax.get_xlabel() and "on seen samples" in ax.get_ylabel()
    plt.close(ax.figure)


def test_lines_of_equal_h_have_equal_h():
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    small_curve().plot(ax)
    lines = [line.get_xydata() for line in ax.get_lines() if line.get_label().startswith("_")]
    places = {text.get_text(): text.xy for text in ax.texts}
    assert places == {f"H = {H}": (H, H) for H in range(10, 100, 10)}
    for H, points in zip(range(10, 100, 10), lines, strict=True):
        U, S = points[np.isfinite(points).all(axis=1)].T
        assert U[-1] == 100
        np.testing.assert_allclose(2 * U * S / (U + S), H)
    plt.close(ax.figure)


def test_a_large_curve_is_thinned_only_below_what_can_be_seen():
    curve = small_curve(20_000)
    shown = visible_segments(curve)
    assert len(shown) < len(curve.h_curve) / 2 and shown[0] == 0
    for values in (curve.unseen_curve, curve.seen_curve):
        assert np.abs(np.diff(values[np.append(shown, -1)])).max() < 0.11


@pytest.mark.parametrize("limit", [100, 1000, 4000])
def test_a_thinned_curve_has_at_most_as_many_segments_as_allowed(limit):
    assert len(visible_segments(small_curve(20_000), limit)) <= limit + 2
