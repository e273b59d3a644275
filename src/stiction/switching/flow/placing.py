"""Put a trajectory somewhere, as if it started there: kernels."""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.events import forget_zeros
from stiction.switching.flow.rates import normals
from stiction.switching.flow.rows import (
    CLOCK,
    CLOCKS,
    DIRECTION,
    EXTRA,
    EXTRA2,
    FIELD,
    KINKS,
    LAST_EVENT,
    LATER,
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
    VALUE,
    K,
    M,
    N,
    Y,
)
from stiction.switching.flow.surfaces import begin_mode, landing, project, surfaces_at

__all__ = ["ON_SURFACE", "put", "reach_of"]

# a state this close to a surface, in units of |grad h| times the state, is on it
ON_SURFACE = 1e-11


@kernel
def reach_of(system: Integers, a: Matrix, i: int, normal: int) -> float:
    """Return |grad h_i|, in row `normal`, times the state, or its scale where that is larger."""
    n, reach = system[N], 0.0
    for c in range(n):
        reach += abs(a[normal, i * n + c]) * max(abs(a[Y, c]), a[SCALE, c])
    return reach


@kernel
def put(system: Integers, p: Vector, a: Matrix, t: float) -> None:
    """Begin at the state in row Y with the signs in row SIDES, as if it all started there."""
    n, m = system[N], system[M]
    a[Y, n] = t
    forget_zeros(system)
    system[SHRINKS] = system[SAME_TIME] = 0
    for i in range(CLOCKS):
        a[CLOCK, i] = 0.0
    a[CLOCK, LAST_EVENT] = t
    normals(system, p, a, Y, LATER)
    surfaces_at(system, p, a, Y, EXTRA)
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


@kernel
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
