"""Figures of chaos: maps of Lyapunov exponents, and Poincare sections.

Strings u and v touch at x = s1 and s2, which move with the mobility G times the velocities there.
`strings.chaos` calls `draw_map` with the exponents that it has computed; `StringFigures` calls
`section` with the data of one run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.plot import style
from stiction.rods.figures.strings.data import STRINGS, StringData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["crossings", "draw_map", "section"]

Floats = npt.NDArray[np.float64]

_SIGNS = {"exponential": "x", "regular": "o", "undecided": "."}


def draw_map(
    mobility: Floats, offset: Floats, rate: Floats, verdict: npt.NDArray[np.str_]
) -> PaperFigure:
    """Return a map of Lyapunov exponents over s2 - s1 and the mobility G, a marker per verdict.

    Parameters
    ----------
    mobility, offset : (m,) values of G, (k,) values of s2 - s1 [1]
    rate : (m, k) exponents [1 / time]
    verdict : (m, k) "exponential", "regular" or "undecided"

    Verified by: tests/unit/rods/strings/test_chaos.py::test_a_map_is_drawn
    """
    figure = style.new_figure(style.COLUMN, 2.9)
    ((ax,),) = style.grid(figure, margins=(0.56, 0.95, 0.42, 0.32))
    most = float(np.nanmax(np.abs(rate), initial=1e-12))
    shown = ax.pcolormesh(
        offset, mobility, rate, cmap="RdBu_r", vmin=-most, vmax=most, shading="nearest"
    )
    x, y = np.meshgrid(offset, mobility)
    for word, sign in _SIGNS.items():
        selected = verdict == word
        if selected.any():
            # a white outline, visible on light and dark cells
            ax.plot(x[selected], y[selected], sign, color="white", ms=3.6, mew=1.8, mfc="none")
            ax.plot(
                x[selected],
                y[selected],
                sign,
                color=style.INK,
                ms=3,
                mew=0.7,
                mfc="none",
                label=word,
            )
    bar = figure.colorbar(shown, ax=ax, fraction=0.06, pad=0.03)
    bar.set_label("exponent (1 / time)", fontsize=style.FONT)
    bar.ax.tick_params(labelsize=style.FONT)
    style.scale_axis(ax.xaxis, "distance s₂ − s₁")
    style.scale_axis(ax.yaxis, "mobility G")
    style.key(ax, columns=3)
    return figure


def crossings(time: Floats, values: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the upward zero crossings of values, and other signals there, by cubic interpolation.

    Parameters
    ----------
    time : (t,)
    values : (t,) signal whose upward zero crossings define the section
    others : (k, t) signals evaluated there

    Returns
    -------
    (m,) times and (k, m) values

    Verified by: tests/unit/rods/strings/test_chaos.py::test_sections_of_a_known_motion
    """
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(time, values)
    roots = spline.roots(extrapolate=False)
    # a root at a sample may be located from both sides
    roots = roots[np.diff(roots, prepend=-np.inf) > 1e-9 * (time[-1] - time[0])]
    roots = roots[spline(roots, 1) > 0.0]
    return roots, CubicSpline(time, others, axis=1)(roots)


def section(data: StringData) -> PaperFigure:
    """Return a Poincare section: both contacts and their velocities at upward zeros of u1.

    u1 is the lead harmonic, the coefficient of sin(2 pi x / l); that of a free string has one such
    zero per period. A motion of this period gives one point, a quasi-periodic one curves or bands,
    a chaotic one an area.

    Raises
    ------
    ModelError : if u1 has fewer than two upward zeros.

    Verified by: tests/unit/rods/strings/test_chaos.py::test_a_periodic_motion_is_a_point
    """
    names = ("s1", "s1_rate", "s2", "s2_rate")
    signals = np.array([data.values(name) for name in names])
    if data.time.size < 4:
        raise _too_few(0)
    times, section = crossings(data.time, data.values("u1"), signals)
    if times.size < 2:
        raise _too_few(times.size)
    figure = style.new_figure(style.COLUMN, 2.6)
    ((ax,),) = style.grid(figure, margins=(0.62, 0.16, 0.42, 0.3))
    for k, (name, colour) in enumerate(STRINGS.items()):
        label = {"u": "s₁ on u", "v": "s₂ on v"}[name]
        # a contact that runs round a circle returns to the same place
        place = section[2 * k] % data.length(name)
        ax.plot(place, section[2 * k + 1], ".", color=colour, ms=2.5, label=label)
    style.scale_axis(ax.xaxis, "contact point s")
    style.scale_axis(ax.yaxis, "its velocity ṡ")
    style.key(ax, columns=2)
    return figure


def _too_few(count: int) -> ModelError:
    """Return the error for a run with fewer than two points of the section."""
    why = "each passage of u1 through zero is one point of the section."
    try_ = "solve for longer, and save at least twenty states a period."
    got = f"a run with {count} passages of u1 through zero from below"
    return ModelError("plot.section", got, "at least 2 passages", why, try_)
