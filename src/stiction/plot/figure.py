"""The figure and tick classes of this package; imported only where a figure is made."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, MaxNLocator

__all__ = ["EvenTicks", "PaperFigure", "ScaledTicks"]


class PaperFigure(Figure):
    """A matplotlib Figure that lives without pyplot and shows itself in notebooks.

    Attributes
    ----------
    remark : how it was drawn, where that is of no matter to a reader of the figure: which package
        would draw it better, for example. A notebook shows it under the pointer.
    """

    remark = ""

    def _repr_html_(self) -> str:
        """Return the figure as an inline image, sharp on dense screens."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=200)
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        width = round(96 * self.get_figwidth())
        said = f' title="{html.escape(self.remark)}"' if self.remark else ""
        pairs = [(ax.get_ylabel(), ax.get_xlabel()) for ax in self.axes]
        given = dict.fromkeys(f"{y} against {x}" for y, x in pairs if x and y)
        alt = html.escape("; ".join(given) or "a figure")
        return f'<img width="{width}" alt="{alt}"{said} src="data:image/png;base64,{data}">'


class EvenTicks(MaxNLocator):
    """At most so many ticks, that are round over a factor.

    Parameters
    ----------
    most : how many
    factor : what a tick is divided by when it is written
    """

    def __init__(self, most: int, factor: float = 1.0) -> None:
        super().__init__(nbins=most, steps=[1, 2, 2.5, 5, 10])
        # what is round over a power of ten is round anyway
        self.factor = factor if factor > 1.0 and np.log10(factor) % 1.0 else 1.0

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the places of the ticks between two values, and one beyond each."""
        inner = super().tick_values(vmin / self.factor, vmax / self.factor)
        return [tick * self.factor for tick in inner]


class ScaledTicks(Formatter):
    """Writes ticks over a factor, all of an axis with the same number of decimals.

    Parameters
    ----------
    factor : what a tick is divided by, 1e-3 for data in m on an axis in mm
    """

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return one value as it is written."""
        return f"{x / self.factor:.6g}".replace("-", "−")

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return all ticks with as many decimals as the longest needs."""
        scaled = np.asarray(values, dtype=np.float64) / self.factor
        size = np.abs(scaled).max(initial=0.0)
        decimals = 0
        while decimals < 9 and not np.allclose(
            scaled, np.round(scaled, decimals), rtol=0.0, atol=1e-6 * size
        ):
            decimals += 1
        return [f"{value + 0.0:.{decimals}f}".replace("-", "−") for value in scaled]
