"""Motion of two strings (strands) in contact over a Gaussian (bump): a check of the point contact.

In the rolling constraint V_1 = F V_2 of strings u (i = 1) and v (i = 2), averages with a Gaussian B
of unit integral replace the point values: V_i = int B(x - s_i) u_t dx. The contact force acts with
the same Gaussian, so energy is conserved. The strands are expanded in normal modes, whose free
vibration is exact; their number is that of a chain of `cells` springs. The error is of first order
in the width of the bump; `strands.extrapolated` removes it by Richardson extrapolation
(`to_zero_width`). All quantities are dimensionless. `strands` calls these functions.

Source: Gay-Balmaz, Putkaradze 2012, (11)-(13) in one dimension; formulas sheet
(docs/formulas/rods.md), section 5.
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
    """Return the motion of two strands coupled over a bump.

    Parameters
    ----------
    pair : parameters and initial data
    time : (t,) increasing times, the first is the start
    width : standard deviation of the bump
    cells : number of cells of each strand; None means two per width
    step : longest time step, over the time in which the faster wave crosses the width
    lumped : use the frequencies of equal masses on springs, whose short waves are slow; else those
        of the continuous string
    progress : function of the completed fraction and a short note
    checkpoint : stores the state of a long run; None for no checkpoint

    Raises
    ------
    ModelError : if the bump does not fit on the strands or the cells do not resolve it.

    Notes
    -----
    An integrating-factor Runge-Kutta scheme of order 4. The contact force solves the time
    derivative of the rolling constraint at each stage; at the end of a step the velocities are
    projected onto the constraint itself.

    Verified by: tests/convergence/test_strands.py::test_order_in_the_step
    """
    if cells is not None:
        why, try_ = "the cells resolve the bump.", "leave this value out."
        whole("BumpStrands.cells", cells, least=4, most=MOST_CELLS, why=why, try_=try_)
    why = "the Runge-Kutta scheme takes steps of this length."
    number("BumpStrands.step", step, rule="positive", why=why, try_="give 0.2.")
    number(
        "BumpStrands.bump_width",
        width,
        rule="positive",
        why="the contact acts over this width.",
        try_="give 0.02.",
    )
    longest = float(step) * float(width) / max(pair.speed)
    if (time[-1] - time[0]) / longest > _MOST_STEPS:
        why = "the time step is proportional to the width of the bump."
        needs = f"a width for which {_MOST_STEPS:.0e} steps suffice"
        refuse("bump_width", width, needs, why, "a wider bump.")
    state = StrandState(pair, float(width), cells, lumped, time.size)
    saved = None if checkpoint is None else checkpoint.load()
    if saved is None:
        state.save(float(time[0]))
    else:
        state.resume(saved)
    run_to_end(_steps(state, time, longest), progress or silent, checkpoint)
    return state.motion(time)


def _steps(state: StrandState, time: Floats, longest: float) -> Generator[Pause, None, None]:
    """Integrate from each saved time to the next, up to the end of the model."""
    for when, gap in zip(
        time[state.now.saved :], np.diff(time)[state.now.saved - 1 :], strict=True
    ):
        if state.now.ended:
            break
        count = max(int(np.ceil(gap / longest - 1e-9)), 1)
        reached = state.advance(count, float(gap) / count, float(when - gap))
        yield Pause(float((reached - time[0]) / (time[-1] - time[0])), "strands", state.state)


def different_widths(widths: Sequence[float]) -> Floats:
    """Return (w,) widths for an extrapolation; ModelError unless two or more differ."""
    sizes = numbers(
        "widths",
        widths,
        per="run",
        rule="positive",
        why="the values are extrapolated to width zero.",
        try_="give [0.04, 0.02, 0.01].",
    )
    if sizes.size < 2 or np.unique(sizes).size < sizes.size:
        why = "the limit is that of a polynomial in the width."
        refuse("widths", list(sizes), "two or more that differ", why, "give [0.04, 0.02, 0.01].")
    return sizes


def to_zero_width(widths: Sequence[float], values: Floats) -> tuple[Floats, Floats]:
    """Return the values at width 0 of the polynomial through `values`, and their uncertainty.

    Parameters
    ----------
    widths : (w,) different widths
    values : (w, ...) values for each width

    Returns
    -------
    (...) limits, and (...) absolute differences from the limits without the largest width.

    Verified by: tests/unit/rods/strings/test_strands.py::test_extrapolation_of_a_polynomial
    """
    sizes = different_widths(widths)
    order = np.argsort(sizes)[::-1]
    sizes, sorted_values = sizes[order], np.asarray(values)[order]

    def limit(x: Floats, y: Floats) -> Floats:
        """Return the interpolating polynomial at 0, with Lagrange's weights."""
        weights = [np.prod([b / (b - a) for b in x if b != a]) for a in x]
        return np.asarray(np.tensordot(np.array(weights), y, axes=1))

    result = limit(sizes, sorted_values)
    return result, np.abs(result - limit(sizes[1:], sorted_values[1:]))
