"""Strands that touch through a smooth bump: an independent check of the point contact.

The point values of the rolling condition are replaced by averages with a Gaussian of unit mass,
V_i = int B(x - s_i) u_t dx, and the force acts through the same Gaussian, so that energy is
conserved. The strands are carried in their normal modes, as many as a chain of `cells` springs
has: between contact forces they vibrate exactly. What is left is an error of first order in the
width of the bump, which `extrapolated` removes.

Source: Gay-Balmaz, Putkaradze 2012, (11)-(13) in one dimension; formulas sheet, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.run import Checkpoint
from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record, number, numbers, whole

__all__ = ["StrandMotion", "StrandPair", "strand_motion", "to_zero_width"]

Floats = npt.NDArray[np.float64]

# cells per width of the bump: its spectrum has fallen to exp(-(pi ratio)^2 / 2) at the last mode
RATIO = 2.0
LEAST_RATIO = 1.5
# the bump is taken to end this many widths from its middle
TAIL = 6.0
# of each strand
MOST_CELLS = 200_000
_MOST_STEPS = 20_000_000
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False, repr=False)
class StrandPair(Record):
    """What the equations of two strands need; u comes first.

    Parameters
    ----------
    speed, length, mobility : (2,) c, l and G of u and v
    ratio : F of the rolling condition V_1 = F V_2
    start : (2,) places of the contact
    periodic : strands on circles; else with fixed ends
    drag : of the air, u_tt + drag u_t = ... [1 / time]
    resistance : r of rolling, a force -r V_2 on v
    shapes, rates : u and v, u_t and v_t at the start, as functions of arrays of places
    """

    speed: tuple[float, float]
    length: tuple[float, float]
    mobility: tuple[float, float]
    ratio: float
    start: tuple[float, float]
    periodic: bool
    drag: float
    resistance: float
    shapes: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]
    rates: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]


@dataclass(frozen=True, eq=False, repr=False)
class StrandMotion(Record):
    """The motion of two strands at the saved times, up to where it ended.

    Parameters
    ----------
    time : (t,)
    s, rates : (t, 2) places of the contact and their rates
    mean : (t, 2) V_1 and V_2, the velocities of u and v averaged over the bump
    contact_force : (t,) lam
    amplitude, velocity : (t, 2, k) coefficients of the modes of u and v, and their rates
    drag_heat, rolling_heat : (t,) heat of the drag and of rolling
    projected : (t,) energy taken to keep the rolling condition
    kinetic, stored : (t, 2) energies of u and v
    shared : (t,) half the integral of u_t v_t + c^2 u_x v_x, of strands alike
    given : energy of the data, before they were made to roll
    ended : why it ended, a code of the kernels
    t_end : when it ended
    steps, cells : counts of work
    fastest, fastest_at : largest |s'| / c of all steps, and when
    room, room_at : least room to where the bump comes to an end, of all steps, and when
    unresolved : share of the energy of the data in modes that are not carried
    """

    time: Floats
    s: Floats
    rates: Floats
    mean: Floats
    contact_force: Floats
    amplitude: Floats
    velocity: Floats
    drag_heat: Floats
    rolling_heat: Floats
    projected: Floats
    kinetic: Floats
    stored: Floats
    shared: Floats
    ended: int
    t_end: float
    steps: int
    cells: int
    fastest: float
    fastest_at: float
    room: float
    room_at: float
    unresolved: float
    given: float


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
    from stiction.rods.strings.strand_state import StrandState

    state = StrandState(pair, float(width), cells, lumped)
    if time.size * state.a.size * 16 > _MOST_BYTES:
        got, needs = f"{time.size} saved times", f"at most {_MOST_BYTES // (16 * state.a.size)}"
        why = f"all {state.a.size} amplitudes and rates are kept at each."
        refuse("save", got, needs, why, "save fewer, or take a wider bump.")
    found = None if checkpoint is None else checkpoint.load()
    rows, kept = ([state.seen()], [float(time[0])]) if found is None else state.resume(found)
    done = len(rows) - 1
    for when, gap in zip(time[1 + done :], np.diff(time)[done:], strict=True):
        if state.ended:
            break
        if checkpoint is not None and checkpoint.due():
            checkpoint.save(state.pack(kept, rows))
        count = max(int(np.ceil(gap / longest - 1e-9)), 1)
        kept.append(float(when - gap) + state.go(count, float(gap) / count))
        rows.append(state.seen())
        if progress is not None:
            progress(float((kept[-1] - time[0]) / (time[-1] - time[0])), "strands")
    if not state.ended:
        # sums of steps are off by rounding
        kept = [float(t) for t in time]
    return state.motion(kept, rows)


def refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    """Raise the error of a bump that cannot be."""
    raise ModelError(explain(f"BumpStrands.{name}", got, needs, why, try_))


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
