"""Friction laws in compiled code: formulas called by address, and the implicit update of states.

A kernel is compiled once for all laws and calls their formulas by address. The data of one contact
are one row of a table: the parameters p and, for a law with states,

    header | p | z | z_theta | z_old | z' | dz_theta/dv | dmu/dz | dz'/dz

z is the committed state, that at the start of a step; z_theta is the state at theta that follows
from a trial slip rate v by the implicit theta scheme, z_theta = z + theta h z'(v, z_theta) in a
step h; z_old holds the states before a step that contains a saved time, the next blocks are work
arrays (a prime denotes the rate). A method calls `mu`, `slope` and `static` by their addresses for
any law, `commit` after an accepted step, and `event` for every contact that sticks, slips or
reverses. Nothing else writes to z.
"""

from __future__ import annotations

import ctypes
from typing import Any, cast

import numpy as np

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import carray, entry_at, python_at, row_at
from stiction.numerics.jit import kernel, native

__all__ = [
    "C_FILL",
    "C_SHARE",
    "C_VALUE",
    "OLD",
    "law_value",
    "place_of",
    "share_term",
    "width_of",
]

# the header of a row: numbers of parameters and states, theta and step h [s] of the scheme, then
# addresses of formulas. Addresses have fewer than 53 bits, so a float holds them exactly
N_PARAMETER, N_STATE, THETA, STEP, MU, SLOPE, STATIC = range(7)
BY_STATE, RATE, RATE_BY_SPEED, RATE_BY_STATE, JUMP, HEADER = range(7, 13)
# blocks of n_state after the parameters, in the order of the layout above; MATRIX has n_state^2
Z, Z_THETA, OLD, CHANGE, ALONG, ACROSS, MATRIX = range(7)

# relative change of the state at which Newton's method ends
_STATE_TOLERANCE = 1e-15
_MOST_ITERATIONS = 50


def width_of(n_parameter: int, n_state: int) -> int:
    """Return the number of columns of the table for a law with so many parameters and states."""
    if n_state == 0:
        return max(n_parameter, 1)
    return HEADER + n_parameter + MATRIX * n_state + n_state * n_state


def place_of(n_parameter: int, n_state: int) -> int:
    """Return the column of the first state; the parameters end before it."""
    return n_parameter + (HEADER if n_state > 0 else 0)


# ---- calls by address


# the same functions in plain Python: integer addresses are pointers
_C_POINTER = ctypes.POINTER(ctypes.c_double)
C_VALUE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, _C_POINTER, _C_POINTER)
C_FILL = ctypes.CFUNCTYPE(None, ctypes.c_double, _C_POINTER, _C_POINTER, _C_POINTER)
C_SHARE = ctypes.CFUNCTYPE(
    ctypes.c_double,
    *(ctypes.c_int64, ctypes.c_double, ctypes.c_double),
    *(_C_POINTER, ctypes.c_int64, _C_POINTER, _C_POINTER),
)


def _pointer(place: Any) -> Any:
    """Return the pointer, or array, of an argument."""
    return place if isinstance(place, np.ndarray) else ctypes.cast(int(place), _C_POINTER)


@native("stiction.numerics.compiling.native:value")
def _value_at(address: int, v: float, z: int, p: int) -> float:
    """Return formula(v, z, p) for the formula at `address`; z and p are addresses too."""
    return cast(float, python_at(address, C_VALUE)(v, _pointer(z), _pointer(p)))


@native("stiction.numerics.compiling.native:fill")
def _fill_at(address: int, v: float, z: int, p: int, out: int) -> None:
    """Call formula(v, z, p, out) for the formula at `address`."""
    python_at(address, C_FILL)(v, _pointer(z), _pointer(p), _pointer(out))


@native("stiction.numerics.compiling.native:term")
def _share_at(
    address: int, k: int, v: float, factor: float, w: int, step: int, e: int, p: int
) -> float:
    """Return formula(k, v, factor, w, step, e, p) for the formula at `address`."""
    formula = python_at(address, C_SHARE)
    return cast(float, formula(k, v, factor, w, step, e, _pointer(p)))


@kernel
def law_value(address: int, v: float, row: int) -> float:
    """Return the value of a formula at slip speed v; for a law with states, in the trial state.

    `row` is the address of the contact's row. A matrix argument would cost a reference
    count at every call, which takes longer than a formula.
    """
    return _value_at(address, v, row, row)


@kernel
def share_term(
    address: int, k: int, v: float, factor: float, x: Matrix, e: Matrix, i: int, row: int
) -> float:
    """Return Taylor coefficient k of the weakening function e(t) of contact i (`Formulas.share`).

    Parameters
    ----------
    address : of the formula
    v : slip speed at the start [m/s]
    factor : the speed has coefficients factor (j + 1) x[j + 1, i + 1]
    x : (order + 1, n + 2) coefficients of the displacement, with a ghost at both ends
    e : (n, order + 1) coefficients of e(t), known below k
    row : address of the contact's row
    """
    w = entry_at(x, 1, i + 1)
    return _share_at(address, k, v, factor, w, x.shape[1], row_at(e, i), row)


# ---- formulas of a law with states as functions of (v, z, p): C functions


def mu_in_state(v: float, z: Any, p: Any) -> float:
    """Return mu at the trial state for slip speed v; p is the whole row."""
    row = _row(p)
    return _formula(row, MU, v) if _solve_state(row, v) else np.nan


def slope_in_state(v: float, z: Any, p: Any) -> float:
    """Return the derivative of `mu_in_state` with respect to the speed."""
    row = _row(p)
    if not _solve_state(row, v):
        return np.nan
    return _formula(row, SLOPE, v) + _slope_of_state(row, v)


def static_in_state(v: float, z: Any, p: Any) -> float:
    """Return the static coefficient at the trial state for v = 0."""
    row = _row(p)
    return _formula(row, STATIC, 0.0) if _solve_state(row, 0.0) else np.nan


def commit(v: float, z: Any, p: Any) -> float:
    """Commit the state of a row after an accepted step with slip speed v; return 0.

    theta = 0: explicit Euler. Else z_new = z + (z_theta - z) / theta, the theta scheme.
    """
    row = _row(p)
    s, theta, h = int(row[N_STATE]), row[THETA], row[STEP]
    now, then, change = _block(row, Z), _block(row, Z_THETA), _block(row, CHANGE)
    if theta == 0.0:
        _fill_block(row, RATE, v, Z, CHANGE)
        for j in range(s):
            row[now + j] += h * row[change + j]
        return 0.0
    if not _solve_state(row, v):
        return np.nan
    for j in range(s):
        row[now + j] += (row[then + j] - row[now + j]) / theta
    return 0.0


def jumped(v: float, z: Any, p: Any) -> float:
    """Apply the state jump of event number v, an index of `friction.EVENTS`; return 0.

    The state before the step is set as well: samples saved within the step show the mode, and so
    the state, after the event.
    """
    row = _row(p)
    s, now, old, change = int(row[N_STATE]), _block(row, Z), _block(row, OLD), _block(row, CHANGE)
    for j in range(s):
        row[change + j] = row[now + j]
    _fill_block(row, JUMP, v, Z, CHANGE)
    for j in range(s):
        row[now + j] = row[old + j] = row[change + j]
    return 0.0


@kernel(allocates=True)
def _row(p: Any) -> Vector:
    """Return the row of a contact as an array, (width,), from its address p."""
    k, s = int(p[N_PARAMETER]), int(p[N_STATE])
    return carray(p, (HEADER + k + MATRIX * s + s * s,))


@kernel
def _block(row: Vector, number: int) -> int:
    """Return the column at which block `number`, Z to MATRIX, of a row begins."""
    return HEADER + int(row[N_PARAMETER]) + number * int(row[N_STATE])


@kernel
def _formula(row: Vector, entry: int, v: float) -> float:
    """Return the formula at column `entry` of the header for slip speed v, at z_theta."""
    start = row.ctypes.data
    z, p = start + 8 * _block(row, Z_THETA), start + 8 * HEADER
    return _value_at(int(row[entry]), v, z, p)


@kernel
def _fill_block(row: Vector, entry: int, v: float, state: int, out: int) -> None:
    """Evaluate the formula at column `entry` at block `state`; write it to block `out`."""
    start = row.ctypes.data
    z, p = start + 8 * _block(row, state), start + 8 * HEADER
    _fill_at(int(row[entry]), v, z, p, start + 8 * _block(row, out))


@kernel
def _solve_state(row: Vector, v: float) -> bool:
    """Solve z_theta = z + theta h z'(v, z_theta) by Newton's method; return whether it converged.

    The trial state is thus a function of the slip, and a step has one equation per contact.
    """
    s, span = int(row[N_STATE]), row[THETA] * row[STEP]
    now, then, change = _block(row, Z), _block(row, Z_THETA), _block(row, CHANGE)
    for j in range(s):
        row[then + j] = row[now + j]
    for _ in range(_MOST_ITERATIONS):
        _fill_block(row, RATE, v, Z_THETA, CHANGE)
        _fill_block(row, RATE_BY_STATE, v, Z_THETA, MATRIX)
        # residual z_theta - z - theta h z'
        for j in range(s):
            row[change + j] = row[then + j] - row[now + j] - span * row[change + j]
        _solve(row, s, span, change)
        # Newton step, and its size relative to the state
        changed, size = 0.0, 0.0
        for j in range(s):
            row[then + j] -= row[change + j]
            changed += abs(row[change + j])
            size += abs(row[then + j])
        if changed <= _STATE_TOLERANCE * size:
            return True
    return False


@kernel
def _slope_of_state(row: Vector, v: float) -> float:
    """Return dmu/dz . dz_theta/dv at z_theta and v, by the implicit function theorem."""
    s, span = int(row[N_STATE]), row[THETA] * row[STEP]
    along, across = _block(row, ALONG), _block(row, ACROSS)
    _fill_block(row, BY_STATE, v, Z_THETA, ACROSS)
    _fill_block(row, RATE_BY_SPEED, v, Z_THETA, ALONG)
    _fill_block(row, RATE_BY_STATE, v, Z_THETA, MATRIX)
    # (1 - theta h dz'/dz) dz_theta/dv = theta h dz'/dv
    for j in range(s):
        row[along + j] *= span
    _solve(row, s, span, along)
    total = 0.0
    for j in range(s):
        total += row[across + j] * row[along + j]
    return total


@kernel
def _solve(row: Vector, s: int, span: float, right: int) -> None:
    """Solve (1 - span dz'/dz) x = row[right : right + s] in place, by pivoted elimination.

    s is the number of states, span = theta h [s]; dz'/dz, the block MATRIX, is overwritten.
    """
    a = _block(row, MATRIX)
    # the matrix 1 - span dz'/dz replaces dz'/dz
    for j in range(s):
        for c in range(s):
            at = a + j * s + c
            row[at] = (1.0 if j == c else 0.0) - span * row[at]
    # eliminate column j, with the row of its largest entry as pivot
    for j in range(s):
        best = j
        for m in range(j + 1, s):
            if abs(row[a + m * s + j]) > abs(row[a + best * s + j]):
                best = m
        if best != j:
            for c in range(s):
                one, two = a + j * s + c, a + best * s + c
                row[one], row[two] = row[two], row[one]
            one, two = right + j, right + best
            row[one], row[two] = row[two], row[one]
        for m in range(j + 1, s):
            factor = row[a + m * s + j] / row[a + j * s + j]
            for c in range(j, s):
                row[a + m * s + c] -= factor * row[a + j * s + c]
            row[right + m] -= factor * row[right + j]
    # backward substitution
    for j in range(s - 1, -1, -1):
        total = row[right + j]
        for c in range(j + 1, s):
            total -= row[a + j * s + c] * row[right + c]
        row[right + j] = total / row[a + j * s + j]
