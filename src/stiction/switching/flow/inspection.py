"""What saved states and events say by themselves, without trusting the solver: kernels."""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.arrays import Matrix, Struct, Table, Vector
from stiction.numerics.callback import at, call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients
from stiction.switching.flow.state import Event

__all__ = ["Inspection", "inspect_states", "period_of"]

# over how much h changes with the size of the states: a gradient that vanishes, the rounding of h,
# and the least slope that h has over a finite distance
_VANISHES, _ROUNDING, _FLATTEST = 1e-6, 1e-13, 1e-9


class Inspection(Struct):
    """The worst of many states, and in which of them.

    off, wrong_side : largest distance off a surface, and on its wrong side, over the size of the
        state
    multiplier : the largest while sliding
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
    """Fill worst[b]; what is no number is infinitely far off.

    Parameters
    ----------
    plane : (m n,) gradients where they never change; its first entry NaN otherwise
    k : number of kinks
    states, signs : (t, n) and (t, m); |sign| < 1 or > 1 while sliding
    """
    m, n, found = signs.shape[1], states.shape[1], worst[b]
    grad, work, values = plane.copy(), np.empty((2, m + k + n)), np.empty(m + k)
    flat = plane[0] == plane[0]
    for t in range(states.shape[0]):
        x = states[t]
        call_arrays(surface, x, x, p, values)
        if not flat:
            gradients(surface, gradient, m, n, at(p), scale, x, grad, work)
        for i in range(m):
            reach = 1e-300
            for j in range(n):
                reach += abs(grad[i * n + j]) * max(abs(x[j]), scale[j])
            sliding = abs(signs[t, i]) != 1.0
            far = found.off if sliding else found.wrong_side
            value = abs(values[i]) if sliding else max(0.0, -values[i] * signs[t, i])
            if not math.isfinite(values[i]):
                value, reach = math.inf, 1.0
            elif value / reach > far and not flat:
                rise = _rise(surface, p, scale, x, i, work[0])
                if reach < _VANISHES * rise:
                    # the gradient vanishes here: what h rounds to is no distance
                    value, reach = max(0.0, value - _ROUNDING * rise), max(reach, _FLATTEST * rise)
            if value / reach > far and sliding:
                found.off, found.off_row = value / reach, t
            elif value / reach > far:
                found.wrong_side, found.wrong_side_row = value / reach, t
            most = abs(signs[t, i]) if math.isfinite(signs[t, i]) else math.inf
            if sliding and most > found.multiplier:
                found.multiplier, found.multiplier_row = most, t


@kernel(allocates=True)
def _rise(surface: int, p: Vector, scale: Vector, x: Vector, i: int, values: Vector) -> float:
    """Return how much h_i changes where a state changes by its size."""
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
    """Return the time between the last event and the last one like it at the same state, or NaN.

    Parameters
    ----------
    events, states : of which `count` are in use; (e, n) states at the events
    cycle : (n,) two states this close belong to the same point of a cycle
    """
    last = count - 1
    for row in range(last - 1, -1, -1):
        one, other = events[row], events[last]
        like = one.surface == other.surface and one.kind == other.kind
        like = like and one.before == other.before and one.after == other.after
        for i in range(cycle.size):
            like = like and abs(states[row, i] - states[last, i]) <= cycle[i]
        if like:
            time: float = other.time - one.time
            return time
    return math.nan
