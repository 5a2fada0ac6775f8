"""How estimators show themselves: a repr in one line, a link to their page, short help."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import PackageNotFoundError, metadata
from inspect import getattr_static
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

Class = TypeVar("Class", bound=type)


class Documented:
    """An estimator with a repr in one line, of limited length.

    Its HTML repr links its page in the documentation, if the package names its address.

    >>> from sklearn.decomposition import PCA
    >>> type("PCA", (Documented, PCA), {})(2, copy=True)
    PCA(n_components=2)
    """

    _doc_link_module = "unseen"

    def __repr__(self) -> str:
        with np.printoptions(threshold=0, edgeitems=1):
            return " ".join(BaseEstimator.__repr__(self, N_CHAR_MAX=120).split())

    @property
    def _doc_link_template(self) -> str:
        try:
            urls = metadata("unseen").get_all("Project-URL") or []
        except PackageNotFoundError:
            return ""
        address = next((url.partition(", ")[2] for url in urls if url.startswith("Documentation, ")), "")
        return f"{address.rstrip('/')}/api/{{page}}.html#{{name}}" if address else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        kind = type(self)
        room, *file = kind.__module__.split(".")[1:]
        page = file[0] if room == "methods" else room
        return {"page": page, "name": f"{kind.__module__}.{kind.__qualname__}"}


class FirstLine:
    """A method with the first line of its documentation; all else is as it was."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., Any]:
        bound = self.method.__get__(instance, owner)

        @wraps(bound)
        def call(*args: Any, **kwargs: Any) -> Any:
            return bound(*args, **kwargs)

        call.__doc__ = bound.__doc__.strip().partition("\n")[0]
        return call


def shorten_help(cls: Class) -> Class:
    """Keep one line of help of each method that a class has from scikit-learn, such as ``set_fit_request``.

    >>> from sklearn.decomposition import PCA
    >>> shorten_help(type("Short", (PCA,), {})).get_params.__doc__
    'Get parameters for this estimator.'
    """
    public = [name for name in dir(cls) if not name.startswith("_")]
    for name in [*public, "__init_subclass__"]:
        method = getattr(cls, name)
        if callable(method) and method.__module__.startswith("sklearn.") and method.__doc__:
            setattr(cls, name, FirstLine(getattr_static(cls, name)))
    return cls
