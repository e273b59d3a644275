"""Smooth answers over the set-valued one, as one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.switching.figures.data import symbol

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.switching.smoothing import SmoothingStudy

__all__ = ["smoothing_figure"]

Floats = npt.NDArray[np.float64]


def smoothing_figure(study: SmoothingStudy) -> PaperFigure:
    """Return the state that parts most, over time, and errors and spreads over the width.

    Verified by: tests/unit/switching/test_smoothing.py::test_figure_has_a_line_per_run
    """
    figure = style.new_figure(style.PAGE, 3.0)
    axes = style.grid(figure, 1, 2, margins=(0.62, 0.16, 0.42, 0.2), gaps=(0.85, 0.12))[0]
    ends = study.states[:, :, -1].reshape(-1, len(study.names))
    most = int(np.argmax(np.ptp(ends, axis=0)))
    colours = style.many_colours()(np.linspace(0.1, 0.9, study.widths.size))
    for i, shape in enumerate(study.shapes):
        line = ("-", "--", ":")[i % 3]
        for j, width in enumerate(study.widths):
            label = f"{width:.0e}" if i == 0 else None
            axes[0].plot(
                study.time, study.states[i, j, :, most], line, color=colours[j], lw=0.8, label=label
            )
        axes[1].loglog(study.widths, study.error[i], f"o{line}", color=style.INK, lw=0.8, ms=3.0)
        axes[1].loglog(
            study.widths,
            study.spread[i],
            f"^{line}",
            color=style.VERMILION,
            lw=0.8,
            ms=3.0,
            label=shape,
        )
    axes[0].plot(study.time, study.exact[:, most], color=style.INK, lw=1.6, label="set-valued")
    if np.isfinite(study.lost):
        axes[0].axvline(study.lost, color=style.PURPLE, lw=0.8)
    axes[0].set_xlabel("time")
    axes[0].set_ylabel(symbol(study.names[most]))
    axes[0].legend(fontsize=style.FONT - 1.0, frameon=False, title="width", title_fontsize=7.0)
    axes[1].set_xlabel("width")
    axes[1].set_ylabel("error before (o), parting of starts after (^)")
    return figure
