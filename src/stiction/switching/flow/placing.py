"""Put a trajectory somewhere, as if it started there: kernels."""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.events import forget_zeros
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.rates import normals, slide_data
from stiction.switching.flow.rows import (
    BLUNT,
    CLOCK,
    CLOCKS,
    DIRECTION,
    EXTRA,
    EXTRA2,
    FIELD,
    GRAD,
    KINKS,
    LAST_EVENT,
    LATER,
    MINUS,
    ORDER,
    PACE,
    PLUS,
    SAME_TIME,
    SCALE,
    SHRINKS,
    SIDES,
    SIGNS,
    SPARE,
    SURFACE,
    TRIED,
    VALUE,
    K,
    M,
    N,
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


@kernel(borrows=True)
def reach_of(system: Integers, a: Matrix, i: int, normal: int) -> float:
    """Return |grad h_i|, in row `normal`, times the state, or its scale where that is larger."""
    n, reach = system[N], 0.0
    for c in range(n):
        reach += abs(a[normal, i * n + c]) * max(abs(a[Y, c]), a[SCALE, c])
    return reach


@kernel(borrows=True, apart=True)
def survey(system: Integers, p: Vector, a: Matrix) -> bool:
    """Look at the state in row Y; return whether the h and the fields there are finite.

    Row EXTRA gets the h and the kinks, LATER the gradients, VALUE 1 for each surface on which
    the state is, PLUS and MINUS the fields for all signs +1 and -1.
    """
    n, m = system[N], system[M]
    surfaces_at(system, p, a, Y, EXTRA)
    for side in range(2):
        for i in range(m):
            a[SIGNS, i] = 1.0 if side == 0 else -1.0
        out = row_at(a, PLUS if side == 0 else MINUS)
        call_at(system[FIELD], row_at(a, Y), row_at(a, SIGNS), at(p), out)
    normals(system, p, a, Y, LATER)
    for i in range(m):
        near = abs(a[EXTRA, i]) <= ON_SURFACE * reach_of(system, a, i, LATER)
        a[VALUE, i] = 1.0 if near else 0.0
    return finite(a, EXTRA, m) and finite(a, PLUS, n) and finite(a, MINUS, n)


@kernel(borrows=True)
def fold_gap(system: Integers, p: Vector, a: Matrix, i: int) -> float:
    """Return the larger of |L+|, |L-| of surface i, over |grad h| |f|; 0 at a two-fold."""
    for j in range(system[M]):
        a[TRIED, j] = a[SIDES, j] if a[SIDES, j] != 0.0 else 1.0
    up, down = slide_data(system, p, a, TRIED, i, Y)
    speed = surface_speed(system, a, i)
    return max(abs(up), abs(down)) / speed if speed > 0.0 else 0.0


@kernel(borrows=True, apart=True)
def put(system: Integers, p: Vector, a: Matrix, t: float) -> None:
    """Begin at the state in row Y with the signs in row SIDES, as if it all started there."""
    n, m = system[N], system[M]
    a[Y, n] = t
    forget_zeros(system)
    system[SHRINKS] = system[SAME_TIME] = 0
    for i in range(CLOCKS):
        a[CLOCK, i] = 0.0
    a[CLOCK, LAST_EVENT], a[CLOCK, BLUNT] = t, 0.0
    normals(system, p, a, Y, LATER)
    surfaces_at(system, p, a, Y, EXTRA)
    for c in range(m * n):
        # what the first step takes its noise from
        a[GRAD, c] = a[LATER, c]
    for i in range(m):
        near = abs(a[EXTRA, i]) <= ON_SURFACE * reach_of(system, a, i, LATER)
        a[VALUE, i] = 1.0 if near or a[EXTRA, i] * a[SIDES, i] <= 0.0 else 0.0
    for i in range(m):
        if a[SIDES, i] == 0.0:
            project(system, p, a, i)
        elif a[VALUE, i] != 0.0:
            project(system, p, a, i)
            system[ORDER + i] = 2 if landing(system, p, a, i).fold else 1
    _set_kinks(system, p, a)
    begin_mode(system, p, a)


@kernel(borrows=True)
def _set_kinks(system: Integers, p: Vector, a: Matrix) -> None:
    """Set the signs of the kink functions; where one is zero, those a little later."""
    n, m, k = system[N], system[M], system[K]
    if k == 0:
        return
    for i in range(m):
        a[SIGNS, i] = a[SIDES, i] if a[SIDES, i] != 0.0 else 1.0
    signs = row_at(a, SIGNS)
    call_at(system[FIELD], row_at(a, Y), signs, at(p), row_at(a, PLUS))
    call_at(system[SURFACE], row_at(a, Y), signs, at(p), row_at(a, EXTRA))
    fastest, unit, size = 1e-300, math.inf, 1.0
    for c in range(n):
        fastest = max(fastest, abs(a[PLUS, c]))
        unit = min(unit, a[SCALE, c])
        size = max(size, abs(a[Y, c]))
    ahead = a[PACE, DIRECTION] * 1e-7 * unit / fastest
    for c in range(n):
        a[SPARE, c] = a[Y, c] + ahead * a[PLUS, c]
    call_at(system[SURFACE], row_at(a, SPARE), signs, at(p), row_at(a, EXTRA2))
    for j in range(k):
        value = a[EXTRA, m + j]
        if abs(value) <= 1e-13 * size:
            value = a[EXTRA2, m + j]
        a[KINKS, j] = 1.0 if value >= 0.0 else -1.0
