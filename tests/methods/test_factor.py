"""Whatever factorization a Gram matrix chooses, its shifted inverses are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from unseen.methods import _factor
from unseen.methods._factor import Gram

SHAPES = {"many rows": (40, 12), "few rows": (7, 12), "low rank": (40, 12)}


def make(name, scales=1.0, seed=0):
    """Return the rows A, their Gram matrix, and rows B."""
    rng = np.random.default_rng(seed)
    n, d = SHAPES[name]
    A = rng.normal(size=(n, d)) * scales
    if name == "low rank":
        A = A[:, :4] @ rng.normal(size=(4, d))
    gram = Gram(A, of_rows=True) if n < d else Gram(A.T @ A)
    return A, gram, rng.normal(size=(5, d))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("scale", "share"), [(1.0, 1e-3), (0.3, 0.1), (2.0, 5.0), (0.0, 0.5)])
@pytest.mark.parametrize("n", [1, 100])
def test_inverses_are_those_of_numpy(name, scale, share, n):
    A, gram, B = make(name)
    shift = share * gram.trace
    found = gram.inverse(shift, scale=scale, n=n)
    expected = B @ np.linalg.inv(scale * A.T @ A + shift * np.eye(A.shape[1]))
    assert_allclose(found(B), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("shares", [[0.01], [0.01, 0.1, 1.0], np.geomspace(1e-3, 1, 20).tolist()])
def test_solutions_are_those_of_numpy(name, shares):
    A, gram, B = make(name)
    B = B @ A.T @ A  # combined from the rows of A
    shifts = [share * gram.trace for share in shares]
    for shift, found in zip(shifts, gram.solve(B, shifts), strict=True):
        expected = B @ np.linalg.inv(A.T @ A + shift * np.eye(A.shape[1]))
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("scales", [[0.3], [0.3, 2.0]])
@pytest.mark.parametrize("share", [0.0, 1e-4, 0.1])
def test_solutions_with_a_shift_per_row_are_those_of_numpy(name, scales, share):
    A, gram, B = make(name)
    B = B @ A.T @ A  # combined from the rows of A
    shifts = gram.trace * np.linspace(share, 1, len(B))
    for scale, found in zip(scales, gram.solve_rows(B, shifts, scales), strict=True):
        for row, b, shift in zip(found, B, shifts, strict=True):
            expected = b @ np.linalg.pinv(
                scale * A.T @ A + shift * np.eye(len(b)), rcond=1e-12, hermitian=True
            )
            assert_allclose(row, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("shape", [(0, 4), (3, 1), (1, 2)])
def test_a_shift_per_row_serves_the_smallest_matrices(shape):
    A = np.random.default_rng(0).normal(size=(9, shape[1]))
    B, shifts = np.ones(shape) @ (A.T @ A), np.arange(1.0, shape[0] + 1)
    (found,) = Gram(A.T @ A).solve_rows(B, shifts, [2.0])
    expected = [b @ np.linalg.inv(2 * A.T @ A + shift * np.eye(len(b))) for b, shift in zip(B, shifts)]
    assert_allclose(found, np.reshape(expected, shape), rtol=1e-9)


@pytest.mark.parametrize("share", [1e-5, 1e-2, 1.0])
def test_both_solutions_with_a_shift_per_row_agree(share):
    """Also for badly scaled features."""
    _, gram, B = make("many rows", np.geomspace(1e-4, 1e4, 12))
    B, shifts = B @ gram.matrix, gram.trace * np.linspace(share, 1, len(B))
    (tridiagonal,) = gram.solve_rows(B, shifts, [0.5])
    spectral, _ = gram.solve_rows(B, shifts, [0.5, 0.5])
    assert_allclose(tridiagonal, spectral, rtol=1e-9, atol=1e-9 * np.abs(spectral).max())


@pytest.mark.parametrize("name", SHAPES)
def test_both_factorizations_agree(name, monkeypatch):
    """Also for badly scaled features, as far as a shift of a millionth of the trace allows it."""
    scales = np.geomspace(1e-4, 1e4, 12)
    _, gram, B = make(name, scales)
    _, other, _ = make(name, scales)
    monkeypatch.setattr(_factor, "FEW", 0)
    for share in (1e-5, 1e-2, 1.0):
        spectral = other.inverse(share * gram.trace, n=2)(B)
        monkeypatch.setattr(_factor, "FEW", 8)
        assert_allclose(
            gram.inverse(share * gram.trace)(B), spectral, rtol=1e-9, atol=1e-9 * np.abs(spectral).max()
        )


@pytest.mark.parametrize("name", ["many rows", "few rows"])
def test_few_inverses_take_cholesky_and_many_or_tiny_shifts_a_spectrum(name, monkeypatch):
    A, gram, _ = make(name)
    sizes, cholesky = [], _factor.cholesky
    monkeypatch.setattr(_factor, "cholesky", lambda A, shift: sizes.append(len(A)) or cholesky(A, shift))
    gram.inverse(1e-9 * gram.trace)
    make(name)[1].inverse(0.1 * gram.trace, n=100)
    assert not sizes
    gram.inverse(0.1 * gram.trace, n=2)
    gram.inverse(0.1 * gram.trace)  # the spectrum is known by now
    assert sizes == [min(A.shape)] * 2


@pytest.mark.parametrize("name", ["few rows", "low rank"])
@pytest.mark.parametrize("shift", [0.0, 1e-300])
def test_a_singular_matrix_needs_no_shift(name, shift):
    A, gram, B = make(name)
    B = B @ A.T @ A
    expected = B @ np.linalg.pinv(A.T @ A)
    (found,) = gram.solve(B, [shift])
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", SHAPES)
def test_compact_keeps_the_matrix_in_single_precision(name):
    A, gram, _ = make(name)
    restored = Gram.of_compact(gram.compact, A.shape[1])
    assert gram.compact.nbytes == (4 * A.size if gram.of_rows else 4 * 12 * 13 / 2)
    whole = np.asarray if gram.of_rows else np.tril
    assert_allclose(whole(restored.matrix), whole(gram.matrix), rtol=1e-6)
    assert_array_equal(restored.of_rows, gram.of_rows)
