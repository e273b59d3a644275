"""Strands that touch through a smooth bump: an independent check of the point contact.

The point values of the rolling condition are replaced by averages with a Gaussian of unit mass,
V_i = int B(x - s_i) u_t dx, and the force acts through the same Gaussian, so that energy is
conserved. The strands are carried in their normal modes, as many as a chain of `cells` springs
has: between contact forces they vibrate exactly. What is left is an error of first order in the
width of the bump, which `extrapolated` removes.

Source: Gay-Balmaz, Putkaradze 2012, (11)-(13) in one dimension; formulas sheet, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import numpy as np
import numpy.typing as npt

from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Checkpoint, silent
from stiction.numerics.checks import number, numbers, whole
from stiction.rods.strings.model import MOST_CELLS
from stiction.rods.strings.strand_state import StrandMotion, StrandPair, StrandState, refuse

__all__ = ["strand_motion", "to_zero_width"]

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 20_000_000


def strand_motion(
    pair: StrandPair,
    time: Floats,
    width: float,
    *,
    cells: int | None = None,
    step: float = 0.2,
    lumped: bool = False,
    progress: Callable[[float, str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> StrandMotion:
    """Return the motion of two strands joined by a bump.

    Parameters
    ----------
    time : (t,) rising times, the first of them the start
    width : standard deviation of the bump
    cells : of each strand; two per width of the bump when None
    step : longest time step, in crossing times of the bump by the faster wave
    lumped : vibrate like equal masses on springs, which slows short waves down; else like
        the continuous string
    progress : called with the fraction done and a short note
    checkpoint : where to leave the state of a long run; None for nowhere

    Raises
    ------
    ModelError : if the bump does not fit on the strands or the cells do not resolve it.

    Notes
    -----
    The scheme is a Runge-Kutta scheme of order 4 on top of the exact free vibration. lam solves
    the differentiated rolling condition at each stage; at the end of a step the velocities are
    put back on the condition itself by the least impulse.

    Verified by: tests/convergence/test_strands.py::test_order_in_the_step
    """
    if cells is not None:
        why, try_ = "they resolve the bump.", "leave it out."
        whole("BumpStrands.cells", cells, least=4, most=MOST_CELLS, why=why, try_=try_)
    number("BumpStrands.step", step, rule="positive", why="time goes on.", try_="give 0.2.")
    number("BumpStrands.width", width, rule="positive", why="a bump is wide.", try_="give 0.02.")
    longest = float(step) * float(width) / max(pair.speed)
    if (time[-1] - time[0]) / longest > _MOST_STEPS:
        why = "the time step follows the width of the bump."
        refuse("bump_width", width, f"at most {_MOST_STEPS:.0e} steps", why, "a wider bump.")
    state = StrandState(pair, float(width), cells, lumped, time.size)
    found = None if checkpoint is None else checkpoint.load()
    if found is None:
        state.save(float(time[0]))
    else:
        state.resume(found)
    run_to_end(_steps(state, time, longest), progress or silent, checkpoint)
    return state.motion(time)


def _steps(state: StrandState, time: Floats, longest: float) -> Generator[Pause, None, None]:
    """Go from saved time to saved time, up to where the model ends."""
    for when, gap in zip(
        time[state.now.saved :], np.diff(time)[state.now.saved - 1 :], strict=True
    ):
        if state.now.ended:
            break
        count = max(int(np.ceil(gap / longest - 1e-9)), 1)
        reached = state.go(count, float(gap) / count, float(when - gap))
        yield Pause(float((reached - time[0]) / (time[-1] - time[0])), "strands", state.state)


def to_zero_width(widths: Sequence[float], values: Floats) -> tuple[Floats, Floats]:
    """Return the values at width 0 of the polynomial through `values`, and their uncertainty.

    Parameters
    ----------
    widths : (w,) all different
    values : (w, ...) one row per width

    Returns
    -------
    The limit, and how far it lies from the limit without the widest bump.

    Verified by: tests/unit/rods/strings/test_strands.py::test_extrapolation_of_a_polynomial
    """
    wide = numbers(
        "widths",
        widths,
        per="run",
        rule="positive",
        why="the width goes to zero along them.",
        try_="give [0.04, 0.02, 0.01].",
    )
    if wide.size < 2 or np.unique(wide).size < wide.size:
        why = "the limit is that of a polynomial in the width."
        refuse("widths", list(wide), "two or more that differ", why, "give [0.04, 0.02, 0.01].")
    order = np.argsort(wide)[::-1]
    wide, rows = wide[order], np.asarray(values)[order]

    def limit(x: Floats, y: Floats) -> Floats:
        weights = [np.prod([b / (b - a) for b in x if b != a]) for a in x]
        return np.asarray(np.tensordot(np.array(weights), y, axes=1))

    found = limit(wide, rows)
    return found, np.abs(found - limit(wide[1:], rows[1:]))
