"""Placement of a trajectory at a state and mode, as at the start of a run: kernels.

A placement sets the time, projects the state on the surfaces where it lies, sets the order of known
zeros of the switching functions and the signs of the kink functions, and resets all records of
earlier steps. A known zero is a zero at which an event function starts, so that it is no new event.
`rates` describes the modes; `Trajectory.place` calls `place_state`.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `functions[i]` has
the data of event function i, h_i is the switching function of surface i. SIDES are the signs of the
mode, PLUS and MINUS the fields f+ and f- of both sides.
"""

from __future__ import annotations

import math

from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.events import clear_known_zeros
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.rates import lie_derivatives, normals
from stiction.switching.flow.state import (
    EXTRA,
    EXTRA2,
    GRAD,
    KINKS,
    LATER,
    MINUS,
    PLUS,
    SCALE,
    SIDES,
    SIGNS,
    SPARE,
    TRIED,
    EventFunctions,
    Workspace,
    Y,
)
from stiction.switching.flow.surfaces import (
    begin_mode,
    continuations_at,
    project,
    surface_speed,
    surfaces_at,
)

__all__ = ["ON_SURFACE", "evaluate_state", "fold_gap", "place_state", "scale_of_h"]

# scratch vectors by what they contain here: values of h and g at the present state; the state a
# little later, and the values of h and g there; gradients of all h_i
_VALUES_NOW = EXTRA
_LATER_STATE, _LATER_VALUES = SPARE, EXTRA2
_GRADIENTS = LATER

# largest |h| of a state on a surface, in units of |grad h| times the state. Chosen: users compute
# such states with some digits less than the rounding of 2e-16
ON_SURFACE = 1e-11
# chosen: the sign of a kink function that is zero is read after a motion by this fraction of the
# smallest scale of a state: far above rounding, and short on the scales of the motion
_LITTLE_LATER = 1e-7
# chosen: a kink function is zero if it is below this fraction of the largest state, or of 1. Its
# unit is not that of a state, and no gradient of it is known: it must be scaled like the states
_ZERO_KINK = 1e-13


@kernel
def scale_of_h(w: Workspace, i: int, normal: int) -> float:
    """Return the scale of h_i: sum over the states of |dh_i/dx_c| max(|x_c|, scale_c).

    Vector `normal` has the gradients.
    """
    now, a = w.progress[0], w.vectors
    n, total = now.n, 0.0
    for c in range(n):
        total += abs(a[normal, i * n + c]) * max(abs(a[Y, c]), a[SCALE, c])
    return total


@kernel(separate=True)
def evaluate_state(w: Workspace, functions: EventFunctions) -> bool:
    """Evaluate switching functions and fields at the present state; return whether all are finite.

    `_VALUES_NOW` gets h_i and g_j, `_GRADIENTS` the gradients, PLUS and MINUS the fields for all
    signs +1 and -1. `near` is set for the surfaces on which the state lies. `initial_modes`
    decides the signs at the start of a run by these values, and `place_state` follows with its
    signs.
    """
    now, a = w.progress[0], w.vectors
    n, m = now.n, now.m
    surfaces_at(w, Y, _VALUES_NOW)
    for side in range(2):
        for i in range(m):
            a[SIGNS, i] = 1.0 if side == 0 else -1.0
        out = row_at(a, PLUS if side == 0 else MINUS)
        call_at(now.field, row_at(a, Y), row_at(a, SIGNS), now.parameters, out)
    # not in GRAD, which is part of the state of a run
    normals(w, Y, _GRADIENTS)
    for i in range(m):
        on_surface = abs(a[_VALUES_NOW, i]) <= ON_SURFACE * scale_of_h(w, i, _GRADIENTS)
        functions[i].near = 1 if on_surface else 0
    return finite(w, _VALUES_NOW, m) and finite(w, PLUS, n) and finite(w, MINUS, n)


@kernel
def fold_gap(w: Workspace, i: int) -> float:
    """Return the larger of |L+|, |L-| of surface i, over |grad h| |f|; 0 at a two-fold.

    L+ and L- are the Lie derivatives of h along f+ and f-; at a two-fold both are zero. The norms
    are those of scaled states, see `surface_speed`. `Trajectory` and the ensembles call it.
    """
    now, a = w.progress[0], w.vectors
    for j in range(now.m):
        a[TRIED, j] = a[SIDES, j] if a[SIDES, j] != 0.0 else 1.0
    up, down = lie_derivatives(w, TRIED, i, Y)
    speed = surface_speed(w, i)
    return max(abs(up), abs(down)) / speed if speed > 0.0 else 0.0


@kernel(separate=True)
def place_state(w: Workspace, functions: EventFunctions, t: float) -> None:
    """Start at the present state with the signs in SIDES at time t, without earlier steps."""
    now, a = w.progress[0], w.vectors
    n, m = now.n, now.m
    a[Y, n] = t
    clear_known_zeros(functions)
    # `Progress` defines these records
    now.shrinks = now.at_once = 0
    now.next_step = now.last_interval = now.line_step = now.line_distance = 0.0
    now.last_event = now.last_arrival = t
    now.drift = now.blunt = 0.0
    # the rounding errors of the first step are estimated with these gradients
    normals(w, Y, GRAD)
    surfaces_at(w, Y, _VALUES_NOW)
    for i in range(m):
        # on the surface within rounding, or on the wrong side of it: the state is projected on the
        # surface, so its event function starts at a known zero
        h = a[_VALUES_NOW, i]
        on_surface = abs(h) <= ON_SURFACE * scale_of_h(w, i, GRAD)
        functions[i].near = 1 if on_surface or h * a[SIDES, i] <= 0.0 else 0
    for i in range(m):
        if a[SIDES, i] == 0.0:
            project(w, i)
        elif functions[i].near != 0:
            project(w, i)
            # a double zero where the field of one side is tangent to the surface
            functions[i].order = 2 if continuations_at(w, i).fold else 1
    _set_kinks(w)
    begin_mode(w)


@kernel
def _set_kinks(w: Workspace) -> None:
    """Set the signs of the kink functions; a function that is zero gets its sign a little later."""
    now, a = w.progress[0], w.vectors
    n, m, k = now.n, now.m, now.k
    if k == 0:
        return
    for i in range(m):
        a[SIGNS, i] = a[SIDES, i] if a[SIDES, i] != 0.0 else 1.0
    signs = row_at(a, SIGNS)
    call_at(now.field, row_at(a, Y), signs, now.parameters, row_at(a, PLUS))
    call_at(now.surface, row_at(a, Y), signs, now.parameters, row_at(a, _VALUES_NOW))
    # the component that moves fastest moves by `_LITTLE_LATER` of the smallest scale
    fastest, unit, size = 1e-300, math.inf, 1.0
    for c in range(n):
        fastest = max(fastest, abs(a[PLUS, c]))
        unit = min(unit, a[SCALE, c])
        size = max(size, abs(a[Y, c]))
    shift = now.direction * _LITTLE_LATER * unit / fastest
    for c in range(n):
        a[_LATER_STATE, c] = a[Y, c] + shift * a[PLUS, c]
    call_at(now.surface, row_at(a, _LATER_STATE), signs, now.parameters, row_at(a, _LATER_VALUES))
    for j in range(k):
        value = a[_VALUES_NOW, m + j]
        # a kink function that counts as zero has the sign that the motion enters
        if abs(value) <= _ZERO_KINK * size:
            value = a[_LATER_VALUES, m + j]
        a[KINKS, j] = 1.0 if value >= 0.0 else -1.0
