"""Callbacks of scikit-learn, such as its progress bar; versions before 1.9 have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An estimator without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


__all__ = ["FitCallbacks", "with_callbacks"]


class FitCallbacks(CallbackSupportMixin):  # type: ignore[misc]
    """Tells callbacks how far a fit is that has several stages, each of several parts."""

    @contextmanager
    def _report_fit(self) -> Iterator[None]:
        if not hasattr(self, "set_callbacks"):
            yield
            return
        task = self._init_callback_context(max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self)
        yield
        task.call_on_fit_task_end(estimator=self)

    @contextmanager
    def _report_stage(self, name: str, n_parts: int) -> Iterator[Callable[[], None]]:
        """Give what to call after each part."""
        fit = vars(self).get("_callback_fit_ctx")  # scikit-learn keeps it while fit runs
        if fit is None:
            yield lambda: None
            return
        task = fit.subcontext(task_name=name, max_subtasks=n_parts)
        task.call_on_fit_task_begin(estimator=self)

        def finish_part() -> None:
            part = task.subcontext(task_name="part")
            part.call_on_fit_task_begin(estimator=self)
            part.call_on_fit_task_end(estimator=self)

        yield finish_part
        task.call_on_fit_task_end(estimator=self)
