"""What every figure shares: drawing into given axes or a new figure, and a table of its data."""

from __future__ import annotations

from typing import Any, Self

from unseen.errors import import_extra


class Display:
    """A figure that draws itself into given axes, or into a new figure."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib into ``ax``, by default into a new figure."""
        if ax is None:
            plt = import_extra("matplotlib.pyplot", "report", "Drawing a figure")
            _, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw()
        return self

    def _draw(self) -> None:
        raise NotImplementedError


def data_frame(columns: dict[str, Any]) -> Any:
    return import_extra("pandas", "pandas", "A table as a DataFrame").DataFrame(columns)
