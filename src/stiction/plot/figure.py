"""The figure and tick classes of this package; imported only where a figure is made."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

__all__ = ["PaperFigure", "ScaledTicks"]


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
        return f'<img width="{width}"{said} src="data:image/png;base64,{data}">'


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
