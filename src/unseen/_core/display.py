"""What every figure shares: drawing into given axes or a new figure, and a table of its data."""

from __future__ import annotations

from typing import Any, Self

from unseen.errors import need_extra


class Display:
    """A figure that draws itself into given axes, or into a new figure."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib into ``ax``, by default into a new figure."""
        self.ax_ = subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw()
        return self

    def _draw(self) -> None:
        raise NotImplementedError


def subplots() -> tuple[Any, Any]:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise need_extra("matplotlib", "report", "Drawing a figure") from error
    return plt.subplots(figsize=(5.5, 5), layout="constrained")


def data_frame(columns: dict[str, Any]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise need_extra("pandas", "pandas", "A table as a DataFrame") from error
    return pd.DataFrame(columns)
