"""Estimators in one line."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator


def one_line_repr(estimator: BaseEstimator, n_characters: int = 120) -> str:
    """Return scikit-learn's ``repr`` of an estimator in one line of limited length.

    >>> from sklearn.decomposition import PCA
    >>> one_line_repr(PCA(2, copy=True))
    'PCA(n_components=2)'
    """
    with np.printoptions(threshold=0, edgeitems=1):
        return " ".join(BaseEstimator.__repr__(estimator, N_CHAR_MAX=n_characters).split())
