"""Estimators in one line: which parameters were set, and of large values only the size."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

_FEW = 8  # items that are written out


def one_line_repr(thing: Any, **words: str) -> str:
    """Return the ``repr`` of an estimator in one line: the parameters that differ from their defaults.

    As in scikit-learn, ``sklearn.set_config(print_changed_only=False)`` shows all parameters.

    Parameters
    ----------
    thing : estimator, or any object that stores the arguments of its constructor
    **words
        What to show for a parameter, where its value says too little or too much.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> one_line_repr(PCA(2, copy=True))
    'PCA(n_components=2)'
    """
    show_all = not get_config()["print_changed_only"]
    shown = []
    for name, parameter in signature(type(thing)).parameters.items():
        value = getattr(thing, name, None)
        if show_all or not _is_default(value, parameter.default):
            shown.append(f"{name}={words.get(name) or describe_value(value)}")
    return f"{type(thing).__name__}({', '.join(shown)})"


def describe_value(value: Any) -> str:
    """Return a value in one line, a large one by its kind and size.

    >>> describe_value(np.zeros((200, 312)))
    'array 200x312'
    >>> describe_value({"alpha": [0.1, 1.0], "beta": np.logspace(-3, 3, 7)})
    "{'alpha': [0.1, 1.0], 'beta': array 7}"
    >>> describe_value(list(range(100)))
    'list of 100'
    """
    if isinstance(value, BaseEstimator):
        return one_line_repr(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{_kind(value)} {'x'.join(map(str, shape))}"
    if isinstance(value, Mapping | list | tuple):
        return _describe_items(value)
    return " ".join(repr(value).split())


def _describe_items(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> str:
    if len(value) > _FEW:
        return f"{_kind(value)} of {len(value)}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {describe_value(item)}' for name, item in value.items())}}}"
    inside = ", ".join(map(describe_value, value))
    if isinstance(value, list):
        return f"[{inside}]"
    return f"({inside},)" if len(value) == 1 else f"({inside})"


def _kind(value: Any) -> str:
    return "array" if isinstance(value, np.ndarray) else type(value).__name__


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | int | float) and bool(value == default))
