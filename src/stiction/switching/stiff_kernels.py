"""One step of Radau IIA of order 5, an L-stable implicit scheme, for stiff flows: kernels.

The increments Z of the three stages solve Z = h (A x I) F(y + Z) (x: Kronecker product) by Newton's
method, with one Jacobian from differences and one factorisation in each step. The error estimate is
the embedded one of order 3. It is filtered by (I - gamma h J)^-1, so that components that decay
fast do not shorten the step. F is the right-hand side of the present mode (`flow.rates`), in
sliding Filippov's field. `flow.steps.step` calls this step by its address if a system is stiff.

`w` (`flow.state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the integrator,
called `now`, and row NAME of `w.vectors`, called `a`, is a vector. Y and TRIAL are y = (x, t, W),
state, time and energies, at the start and at the end of the step of length h.

Source: Hairer, Wanner, Solving ordinary differential equations II, section IV.8, code RADAU5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import carray, pointer_to
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import rates, sliding_surface
from stiction.switching.flow.state import SCALE, SIDES, STAGE, TRIAL, Progress, Workspace, Y
from stiction.switching.flow.tableau import AT_END, RADAU

__all__ = ["stiff_at", "stiff_step"]

# the real eigenvalue of the inverse of A, and the weights of the stages in the error
_MU = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
_ROOT = math.sqrt(6.0)
_WEIGHTS = ((-13.0 - 7.0 * _ROOT) / 3.0, (-13.0 + 7.0 * _ROOT) / 3.0, -1.0 / 3.0)
_ITERATIONS, _CONVERGED, _EPS = 12, 1e-2, 2.220446049250313e-16
# increment of a state for the Jacobian, over its size
_DIFFERENCE = 1.5e-8
# error returned if Newton's method fails: the step is then repeated with a tenth of its length
_FAILED = 1e12
_PROGRESS = Progress.fields_type


@kernel
def _factor(m: Matrix, pivots: Integers) -> bool:
    """Replace m by its LU factors with partial pivoting; return whether it is regular."""
    n = m.shape[0]
    for c in range(n):
        # row with the largest pivot
        best = c
        for i in range(c + 1, n):
            if abs(m[i, c]) > abs(m[best, c]):
                best = i
        pivots[c] = best
        if not abs(m[best, c]) > 0.0:
            return False
        for j in range(n):
            m[c, j], m[best, j] = m[best, j], m[c, j]
        for i in range(c + 1, n):
            m[i, c] /= m[c, c]
            for j in range(c + 1, n):
                m[i, j] -= m[i, c] * m[c, j]
    return True


@kernel
def _solve(m: Matrix, pivots: Integers, b: Vector) -> None:
    """Replace b by the solution of m x = b, where m holds the LU factors of `_factor`."""
    n = m.shape[0]
    for c in range(n):
        b[c], b[pivots[c]] = b[pivots[c]], b[c]
    for i in range(n):
        for j in range(i):
            b[i] -= m[i, j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= m[i, j] * b[j]
        b[i] /= m[i, i]


@kernel
def _jacobian(w: Workspace, jac: Matrix) -> None:
    """Fill jac[n, n] with the derivatives of dy/ds by the state, from forward differences."""
    now, a = w.progress[0], w.vectors
    n = now.n
    for c in range(n + 1 + now.q):
        a[TRIAL, c] = a[Y, c]
    for j in range(n):
        d = _DIFFERENCE * max(abs(a[Y, j]), a[SCALE, j])
        shifted = a[Y, j] + d
        a[TRIAL, j] = shifted
        rates(w, TRIAL, STAGE + 1)
        a[TRIAL, j] = a[Y, j]
        for i in range(n):
            jac[i, j] = (a[STAGE + 1, i] - a[STAGE, i]) / (shifted - a[Y, j])


@kernel(allocates=True)
def _newton(w: Workspace, h: float, jac: Matrix, size: Vector, z: Vector) -> bool:
    """Fill z[3 n] with the increments of the stages, by Newton's method; return if it converged.

    Vectors STAGE + 1 .. 3 hold the rates of the stages afterwards.

    Parameters
    ----------
    jac : Jacobian of the rates
    size : (n,) tolerance of each state
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    big, pivots = np.empty((3 * n, 3 * n)), np.empty(3 * n, dtype=np.int64)
    # I - h (A x J), one factorisation for all iterations
    for s in range(3):
        for r in range(3):
            for i in range(n):
                for j in range(n):
                    one = 1.0 if s == r and i == j else 0.0
                    big[s * n + i, r * n + j] = one - h * RADAU[s][r] * jac[i, j]
    if not _factor(big, pivots):
        return False
    b, last, rtol = np.empty(3 * n), math.inf, now.rtol
    # largest increment after convergence, in tolerances, as in RADAU5
    enough = max(10.0 * _EPS / rtol, min(_CONVERGED, math.sqrt(rtol)))
    z[:] = 0.0
    for k in range(_ITERATIONS):
        for s in range(3):
            for i in range(n):
                a[TRIAL, i] = a[Y, i] + z[s * n + i]
            rates(w, TRIAL, STAGE + 1 + s)
        # minus the residual: h (A x I) F(y + Z) - Z
        for s in range(3):
            for i in range(n):
                b[s * n + i] = -z[s * n + i]
                for r in range(3):
                    b[s * n + i] += h * RADAU[s][r] * a[STAGE + 1 + r, i]
        # converged, and STAGE has the rates at these increments
        if last <= enough:
            return True
        _solve(big, pivots, b)
        norm = 0.0
        for s in range(3):
            for i in range(n):
                z[s * n + i] += b[s * n + i]
                norm += (b[s * n + i] / size[i]) ** 2
        norm = math.sqrt(norm / (3 * n))
        # divergence: increments above the tolerance that grow
        if not norm < 1e300 or (k > 1 and norm > last and last > 1.0):
            return False
        # increments below the tolerance no longer decrease, by rounding: converged
        if k > 2 and norm > 0.5 * last and norm < 1.0:
            norm = 0.0
        last = norm
    return False


@kernel(allocates=True)
def stiff_step(w: Workspace, h: float) -> float:
    """Fill TRIAL with y after a step of length h; return its error over the tolerance, squared.

    Vector STAGE must hold the rates at y. Afterwards STAGE + 1 .. 3 hold the rates of the stages
    and STAGE + AT_END those at the end. The error is of order 4 in h; its square is returned
    because the step control is that of a scheme of order 8.

    Verified by: tests/unit/switching/test_stiff.py::test_order_and_stiffness
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    width, jac, size = n + 1 + now.q, np.empty((n, n)), np.empty(n)
    # tolerance of each state, not below the rounding of its rate
    for c in range(n):
        unit = a[SCALE, c]
        wanted = now.atol * unit + now.rtol * abs(a[Y, c])
        floor = now.rate_rounding * unit * abs(h)
        size[c] = max(wanted * now.tightening, floor, now.state_rounding)
    _jacobian(w, jac)
    z = np.empty(3 * n)
    if not _newton(w, h, jac, size, z):
        return _FAILED
    for c in range(width):
        a[TRIAL, c] = a[Y, c]
        # y + Z3 for the states; the time and energies by the weights of the last stage
        if c < n:
            a[TRIAL, c] += z[2 * n + c]
        else:
            for r in range(3):
                a[TRIAL, c] += h * RADAU[2][r] * a[STAGE + 1 + r, c]
    # without sliding dt/ds = 1: set the time without the rounding of the weights
    if sliding_surface(w, SIDES) < 0:
        a[TRIAL, n] = a[Y, n] + now.direction * h
    rates(w, TRIAL, STAGE + AT_END)
    # embedded error of order 3, filtered: (mu / h I - J)^-1 (f(y) + sum e_s Z_s / h)
    pivots, off = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(n):
        off[i] = a[STAGE, i]
        for s in range(3):
            off[i] += _WEIGHTS[s] * z[s * n + i] / h
        for j in range(n):
            jac[i, j] = (_MU / h if i == j else 0.0) - jac[i, j]
    if not _factor(jac, pivots):
        return _FAILED
    _solve(jac, pivots, off)
    error = 0.0
    for c in range(n):
        error += (off[c] / size[c]) ** 2
    error /= n
    return error if error == error else math.inf


def stiff_at(rows_at: Any, progress_at: Any, _: Any, sizes_at: Any) -> None:
    """Call `stiff_step` by the addresses of its arrays.

    Parameters
    ----------
    rows_at, progress_at : addresses of `Workspace.vectors` and `Workspace.progress`
    sizes_at : address of four numbers: h, the shape of the vectors, and the returned error
    """
    sizes = carray(sizes_at, (4,))
    count, columns = int(sizes[1]), int(sizes[2])
    flat: Any = carray(rows_at, (count * columns,))
    progress: Any = carray(pointer_to(_PROGRESS, progress_at), (1,))
    work = Workspace(progress, flat.reshape((count, columns)))
    sizes[3] = stiff_step(work, sizes[0])
