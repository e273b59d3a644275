"""Checks of saved states for the audit, and the period of a cycle from its events: kernels.

In sliding the distance |h| / |grad h| from the surface must be zero and the multiplier must lie in
[-1, 1]; otherwise h must have the sign of the mode. The checks evaluate the switching functions at
the saved states; they use neither steps nor event functions of the integration. `outcome` calls
them for one run, `ensembles` for many. Distances are divided by the size of the state, that is by
sum_j |dh/dx_j| max(|x_j|, scale_j) for |h|, so that they have no unit.
"""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.arrays import Matrix, Struct, Table, Vector
from stiction.numerics.callback import at, call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients
from stiction.switching.flow.state import Event

__all__ = ["Inspection", "inspect_states", "period_of"]

# in units of the change of h over the size of the states: largest gradient that counts as zero;
# rounding error of h, of a few hundred operations; least slope by which the rest of |h| is divided
# for a distance. Chosen
_VANISHES, _ROUNDING, _FLATTEST = 1e-6, 1e-13, 1e-9


class Inspection(Struct):
    """Largest errors of many states, and the numbers of the states with these errors.

    off : largest distance from the surface in sliding, over the size of the state
    wrong_side : largest distance beyond a surface without sliding, over the size of the state
    multiplier : largest modulus of the multiplier in sliding
    """

    off: float
    wrong_side: float
    multiplier: float
    off_row: int
    wrong_side_row: int
    multiplier_row: int


@kernel(allocates=True, separate=True)
def inspect_states(
    surface: int,
    gradient: int,
    p: Vector,
    scale: Vector,
    plane: Vector,
    k: int,
    states: Matrix,
    signs: Matrix,
    worst: Table[Inspection],
    b: int,
) -> None:
    """Update worst[b] by the errors of these states; a NaN counts as an infinite error.

    Parameters
    ----------
    plane : (m n,) constant gradients of planes; its first entry is NaN for other surfaces
    k : number of kink functions
    states, signs : (t, n) states and (t, m) signs; a multiplier instead of +-1 in sliding
    b : number of the run in `worst`
    """
    m, n, record = signs.shape[1], states.shape[1], worst[b]
    grad, work, values = plane.copy(), np.empty((2, m + k + n)), np.empty(m + k)
    flat = plane[0] == plane[0]
    for t in range(states.shape[0]):
        x = states[t]
        call_arrays(surface, x, x, p, values)
        if not flat:
            gradients(surface, gradient, m, n, at(p), scale, x, grad, work)
        for i in range(m):
            # |h| over the sum of |dh/dx_j| times the sizes of the states is a relative distance
            reach = 1e-300
            for j in range(n):
                reach += abs(grad[i * n + j]) * max(abs(x[j]), scale[j])
            # a sliding state lies on the surface, another one on the side of its sign
            sliding = abs(signs[t, i]) != 1.0
            largest = record.off if sliding else record.wrong_side
            value = abs(values[i]) if sliding else max(0.0, -values[i] * signs[t, i])
            if not math.isfinite(values[i]) or reach != reach:
                value, reach = math.inf, 1.0
            elif value / reach > largest and not flat:
                change = _change_of_h(surface, p, scale, x, i, work[0])
                if reach < _VANISHES * change:
                    # where the gradient is zero, |h| within rounding is not a distance
                    value, reach = (
                        max(0.0, value - _ROUNDING * change),
                        max(reach, _FLATTEST * change),
                    )
            if value / reach > largest and sliding:
                record.off, record.off_row = value / reach, t
            elif value / reach > largest:
                record.wrong_side, record.wrong_side_row = value / reach, t
            most = abs(signs[t, i]) if math.isfinite(signs[t, i]) else math.inf
            if sliding and most > record.multiplier:
                record.multiplier, record.multiplier_row = most, t


@kernel(allocates=True)
def _change_of_h(
    surface: int, p: Vector, scale: Vector, x: Vector, i: int, values: Vector
) -> float:
    """Return the largest change of h_i if one state changes by its size."""
    y, most = x.copy(), 0.0
    call_arrays(surface, y, y, p, values)
    here = values[i]
    for j in range(x.size):
        for side in range(2):
            size = max(abs(x[j]), scale[j])
            y[j] = x[j] + (size if side == 0 else -size)
            call_arrays(surface, y, y, p, values)
            most = max(most, abs(values[i] - here))
        y[j] = x[j]
    return most


@kernel(separate=True)
def period_of(events: Table[Event], states: Matrix, count: int, cycle: Vector) -> float:
    """Return the time since the last event of the same kind at the same state, or NaN.

    Parameters
    ----------
    events, states : the first `count` are used; (e, n) states at the events
    cycle : (n,) two states this close belong to the same point of a cycle
    """
    last = count - 1
    for e in range(last - 1, -1, -1):
        one, other = events[e], events[last]
        alike = one.surface == other.surface and one.kind == other.kind
        alike = alike and one.before == other.before and one.after == other.after
        for i in range(cycle.size):
            alike = alike and abs(states[e, i] - states[last, i]) <= cycle[i]
        if alike:
            time: float = other.time - one.time
            return time
    return math.nan
