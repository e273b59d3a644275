"""Put a trajectory somewhere, as if it started there: kernels."""

from __future__ import annotations

import math

from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.events import forget_zeros
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.rates import normals, slide_data
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
    landing,
    project,
    surface_speed,
    surfaces_at,
)

__all__ = ["ON_SURFACE", "fold_gap", "put", "reach_of", "survey"]

# a state this close to a surface, in units of |grad h| times the state, is on it
ON_SURFACE = 1e-11


@kernel
def reach_of(w: Workspace, i: int, normal: int) -> float:
    """Return |grad h_i|, in row `normal`, times the state, or its scale where that is larger."""
    now, a = w.progress[0], w.rows
    n, reach = now.n, 0.0
    for c in range(n):
        reach += abs(a[normal, i * n + c]) * max(abs(a[Y, c]), a[SCALE, c])
    return reach


@kernel(separate=True)
def survey(w: Workspace, functions: EventFunctions) -> bool:
    """Look at the state in row Y; return whether the h and the fields there are finite.

    Row EXTRA gets the h and the kinks, LATER the gradients, PLUS and MINUS the fields for all
    signs +1 and -1; surfaces on which the state is become `near`.
    """
    now, a = w.progress[0], w.rows
    n, m = now.n, now.m
    surfaces_at(w, Y, EXTRA)
    for side in range(2):
        for i in range(m):
            a[SIGNS, i] = 1.0 if side == 0 else -1.0
        out = row_at(a, PLUS if side == 0 else MINUS)
        call_at(now.field, row_at(a, Y), row_at(a, SIGNS), now.parameters, out)
    normals(w, Y, LATER)
    for i in range(m):
        near = abs(a[EXTRA, i]) <= ON_SURFACE * reach_of(w, i, LATER)
        functions[i].near = 1 if near else 0
    return finite(w, EXTRA, m) and finite(w, PLUS, n) and finite(w, MINUS, n)


@kernel
def fold_gap(w: Workspace, i: int) -> float:
    """Return the larger of |L+|, |L-| of surface i, over |grad h| |f|; 0 at a two-fold."""
    now, a = w.progress[0], w.rows
    for j in range(now.m):
        a[TRIED, j] = a[SIDES, j] if a[SIDES, j] != 0.0 else 1.0
    up, down = slide_data(w, TRIED, i, Y)
    speed = surface_speed(w, i)
    return max(abs(up), abs(down)) / speed if speed > 0.0 else 0.0


@kernel(separate=True)
def put(w: Workspace, functions: EventFunctions, t: float) -> None:
    """Begin at the state in row Y with the signs in row SIDES, as if it all started there."""
    now, a = w.progress[0], w.rows
    n, m = now.n, now.m
    a[Y, n] = t
    forget_zeros(functions)
    now.shrinks = now.at_once = 0
    now.next_step = now.last_interval = now.line_step = now.line_distance = 0.0
    now.last_event, now.last_arrival, now.drift, now.blunt = t, 0.0, 0.0, 0.0
    normals(w, Y, LATER)
    surfaces_at(w, Y, EXTRA)
    for c in range(m * n):
        # what the first step takes its noise from
        a[GRAD, c] = a[LATER, c]
    for i in range(m):
        near = abs(a[EXTRA, i]) <= ON_SURFACE * reach_of(w, i, LATER)
        functions[i].near = 1 if near or a[EXTRA, i] * a[SIDES, i] <= 0.0 else 0
    for i in range(m):
        if a[SIDES, i] == 0.0:
            project(w, i)
        elif functions[i].near != 0:
            project(w, i)
            functions[i].order = 2 if landing(w, i).fold else 1
    _set_kinks(w)
    begin_mode(w)


@kernel
def _set_kinks(w: Workspace) -> None:
    """Set the signs of the kink functions; where one is zero, those a little later."""
    now, a = w.progress[0], w.rows
    n, m, k = now.n, now.m, now.k
    if k == 0:
        return
    for i in range(m):
        a[SIGNS, i] = a[SIDES, i] if a[SIDES, i] != 0.0 else 1.0
    signs = row_at(a, SIGNS)
    call_at(now.field, row_at(a, Y), signs, now.parameters, row_at(a, PLUS))
    call_at(now.surface, row_at(a, Y), signs, now.parameters, row_at(a, EXTRA))
    fastest, unit, size = 1e-300, math.inf, 1.0
    for c in range(n):
        fastest = max(fastest, abs(a[PLUS, c]))
        unit = min(unit, a[SCALE, c])
        size = max(size, abs(a[Y, c]))
    ahead = now.direction * 1e-7 * unit / fastest
    for c in range(n):
        a[SPARE, c] = a[Y, c] + ahead * a[PLUS, c]
    call_at(now.surface, row_at(a, SPARE), signs, now.parameters, row_at(a, EXTRA2))
    for j in range(k):
        value = a[EXTRA, m + j]
        if abs(value) <= 1e-13 * size:
            value = a[EXTRA2, m + j]
        a[KINKS, j] = 1.0 if value >= 0.0 else -1.0
