"""The figure and tick classes of this package; imported only where `style` makes a figure."""

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
    remark : a note on how it was drawn, for example which optional package would draw it better.
        A notebook shows it as a tooltip.
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
    """Locator of at most `most` ticks whose labels, values over `factor`, are round numbers.

    Parameters
    ----------
    most : largest number of ticks
    factor : unit of the tick labels, 1e-3 for data in m on an axis in mm
    """

    def __init__(self, most: int, factor: float = 1.0) -> None:
        super().__init__(nbins=most, steps=[1, 2, 2.5, 5, 10])
        # division by a power of ten leaves a number round
        self.factor = factor if factor > 1.0 and np.log10(factor) % 1.0 else 1.0

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the values of the ticks from `vmin` to `vmax`, and one tick beyond each."""
        inner = super().tick_values(vmin / self.factor, vmax / self.factor)
        return [tick * self.factor for tick in inner]


class ScaledTicks(Formatter):
    """Formatter of tick labels: values over `factor`, with equal numbers of decimals.

    Parameters
    ----------
    factor : unit of the tick labels, 1e-3 for data in m on an axis in mm
    """

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the tick at `x`."""
        return f"{x / self.factor:.6g}".replace("-", "−")

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks, each with the decimals that the longest needs."""
        scaled = np.asarray(values, dtype=np.float64) / self.factor
        size, decimals = np.abs(scaled).max(initial=0.0), 0
        gaps = np.diff(np.sort(scaled))
        near = min(1e-6 * size, 1e-3 * gaps[gaps > 1e-12 * size].min(initial=np.inf))
        while decimals < 9 and np.abs(scaled - np.round(scaled, decimals)).max(initial=0.0) > near:
            decimals += 1
        form = f".{decimals}f" if size >= 1e-6 else ".3g"  # with an exponent
        return [f"{value + 0.0:{form}}".replace("-", "−") for value in scaled]
