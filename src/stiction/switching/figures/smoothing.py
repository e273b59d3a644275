"""Figure of regularised solutions for several widths, and of the set-valued solution.

`smoothing.SmoothingStudy` has the arrays; its method `plot` calls `smoothing_figure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.switching.figures.data import labels

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.switching.smoothing import SmoothingStudy

__all__ = ["smoothing_figure"]

Floats = npt.NDArray[np.float64]


def smoothing_figure(study: SmoothingStudy) -> PaperFigure:
    """Return a figure of a `SmoothingStudy`.

    The left panel has the state whose final values differ most, over time; the right panel has the
    error before the loss of determinism, and the separation of two starts after it, over the width.

    Verified by: tests/unit/switching/test_smoothing.py::test_figure_has_a_line_per_run
    """
    figure = style.new_figure(style.PAGE, 3.0)
    axes = style.grid(figure, 1, 2, margins=(0.62, 0.16, 0.42, 0.46), gaps=(0.85, 0.12))[0]
    *words, time = labels(study.names, study.units)
    ends = study.states[:, :, -1].reshape(-1, len(study.names))
    most = int(np.argmax(np.ptp(ends, axis=0)))
    colours = style.many_colours()(np.linspace(0.1, 0.9, study.widths.size))
    for i, shape in enumerate(study.shapes):
        line = ("-", "--", ":")[i % 3]
        for j, width in enumerate(study.widths):
            label = f"width {width:.3g}".replace("-", "−") if i == 0 else None
            axes[0].plot(
                study.time, study.states[i, j, :, most], line, color=colours[j], lw=0.8, label=label
            )
        for values, marker, colour, word in (
            (study.error, "o", style.INK, "error before the loss of determinism"),
            (study.spread, "^", style.VERMILION, "growth of a start difference after it"),
        ):
            look: dict[str, Any] = {"color": colour, "lw": 0.8, "ms": 3.0}
            label = word if i == 0 else None
            axes[1].loglog(study.widths, values[i], f"{marker}{line}", label=label, **look)
        axes[1].plot([], [], line, color=style.GREY, lw=0.8, label=shape)
    axes[0].plot(study.time, study.exact[:, most], color=style.INK, lw=1.6, label="set-valued")
    if np.isfinite(study.lost):
        look = {"color": style.INK, "lw": 0.8, "ls": (0, (4, 2))}
        axes[0].axvline(study.lost, label="loss of determinism", **look)
    axes[0].set_xlabel(time)
    axes[0].set_ylabel(words[most])
    style.key(axes[0])
    axes[1].set_xlabel("smoothing width (units of h)")
    axes[1].set_ylabel("error, and growth factor (1)")
    style.key(axes[1], columns=2)
    return figure
