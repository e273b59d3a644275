"""Radau's collocation with five stages: order 9, L-stable, for y' = f(t, y).

The step solves Y_i = y + h sum_j a_ij f(t + c_j h, Y_j) by Newton's method with the derivative of
f at the start of the step; y at its end is Y_5. The error is estimated by an embedded formula of
order 5, filtered by (1 - h gamma df/dy)^-1 with 1 / gamma the real eigenvalue of the inverse of
(a_ij). The filter keeps it small for stiff components that have decayed
(Hairer, Wanner, Solving Ordinary Differential Equations II, sections IV.5 and IV.8). The
equations f are those of a chain under a law without stick (`equation_kernels`): y has WIDTH = 3
numbers per mass, displacement, slip rate and state of the law. m is the `state.Model`, `sides`
(n, n_switch) the signs of the switching functions of the law, w a `Step`. `step_kernels` controls
the length of the steps, and `theta` uses the same Newton matrix with one stage.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.regularised.equation_kernels import ANSWERS, rates
from stiction.chains.regularised.state import WIDTH, Model
from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.direct.banded import factorise, solve_factorised
from stiction.numerics.jit import kernel, py_function

__all__ = [
    "NODES",
    "STAGES",
    "WHOLE",
    "Step",
    "between",
    "collocate",
    "factorise_newton",
    "integrals",
    "room",
    "room_for_newton",
    "solve_newton",
    "weights",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STAGES = 5
_MOST_ROUNDS = 12
# Newton's method may end where changes are a few roundings of the largest numbers
_ROUNDING = 4e-16


def _nodes() -> Floats:
    """Return c: the zeros of P_s - P_(s-1) on [0, 1], 1 among them."""
    from numpy.polynomial import Legendre

    found = (Legendre.basis(STAGES) - Legendre.basis(STAGES - 1)).roots()
    c = np.sort((np.real(found) + 1.0) / 2.0)
    c[-1] = 1.0
    return np.asarray(c)


def _matrix(c: Floats) -> Floats:
    """Return a: integrals from 0 to c_i of the polynomials that are 1 at one c_j."""
    powers = np.arange(STAGES)
    return np.asarray(
        np.linalg.solve((c[:, None] ** powers).T, (c[:, None] ** (powers + 1) / (powers + 1)).T).T
    )


# nodes c_j, matrix a_ij, and gamma of the filter of the error
_C = _nodes()
_A = _matrix(_C)
_GAMMA = 1.0 / float(max(np.linalg.eigvals(np.linalg.inv(_A)), key=lambda x: -abs(x.imag)).real)
_POWERS = np.arange(1, STAGES + 1)
# weights of an embedded formula that takes the start of the step with weight _GAMMA
_ERROR = np.concatenate(
    [
        [_GAMMA],
        np.linalg.solve((_C[:, None] ** (_POWERS - 1)).T, 1.0 / _POWERS - _GAMMA * (_POWERS == 1))
        - _A[-1],
    ]
)
_SMOOTHER = np.array([[_GAMMA]])
# fractions of a step at which y is known: its start and its stages
NODES = np.concatenate([[0.0], _C])
# barycentric weights of these fractions, and coefficients of their Lagrange polynomials by powers
_BARY = np.array([1.0 / np.prod([a - b for b in NODES if b != a]) for a in NODES])
_VANDER = np.linalg.inv((NODES[:, None] ** np.arange(STAGES + 1)).T)
# weights of a whole step: the stages alone are of order 9
WHOLE = np.concatenate([[0.0], _A[-1]])


class Step(NamedTuple):
    """Values and work arrays of one step.

    Parameters
    ----------
    values, slopes : (STAGES + 1, size) y and dy/dt at the start and at the stages
    error, floor : (size,) estimated error of y at the end, and its absolute tolerance
    jac : (n, WIDTH, 3 WIDTH) derivatives of dy/dt at the start, as in `equation_kernels.jacobian`
    band, pivots, b : banded matrix, pivots and right-hand side of Newton's method and of the filter
    answer : work array of one contact
    """

    values: Matrix
    slopes: Matrix
    error: Vector
    floor: Vector
    jac: Stack
    band: Matrix
    pivots: Integers
    b: Vector
    answer: Vector


def room(n: int) -> Step:
    """Return the arrays of steps of n masses."""
    size = n * WIDTH
    return Step(
        np.zeros((STAGES + 1, size)),
        np.zeros((STAGES + 1, size)),
        np.zeros(size),
        np.zeros(size),
        np.zeros((n, WIDTH, 3 * WIDTH)),
        *room_for_newton(size * STAGES, STAGES),
        np.zeros(size * STAGES),
        np.zeros(ANSWERS),
    )


def room_for_newton(unknowns: int, stages: int) -> tuple[Floats, Ints]:
    """Return the band of `factorise_newton` (unknowns, width) and its pivots (unknowns,)."""
    width = 3 * py_function(_reach)(unknowns, stages) + 1
    return np.zeros((unknowns, width)), np.zeros(unknowns, dtype=np.int64)


@kernel
def _reach(unknowns: int, stages: int) -> int:
    """Return the half bandwidth of the matrix: masses act on the velocities of neighbours."""
    return min((WIDTH + 2) * stages, unknowns) - 1


@kernel
def weights(at: float, out: Vector) -> None:
    """Fill out (STAGES + 1,) with the weights of start and stages at a fraction of the step."""
    total = 0.0
    # barycentric form of Lagrange's interpolation, which is exact at a node
    for j in range(STAGES + 1):
        gap = at - NODES[j]
        if gap == 0.0:
            for k in range(STAGES + 1):
                out[k] = 1.0 if k == j else 0.0
            return
        out[j] = _BARY[j] / gap
        total += out[j]
    for j in range(STAGES + 1):
        out[j] /= total


@kernel
def integrals(at: float, out: Vector) -> None:
    """Fill out (STAGES + 1,) with the weights of the integral from 0 to a fraction of the step."""
    for j in range(STAGES + 1):
        out[j], power = 0.0, 1.0
        for k in range(STAGES + 1):
            power *= at
            out[j] += power / (k + 1) * _VANDER[j, k]


@kernel
def between(values: Matrix, weight: Vector, out: Matrix, row: int) -> None:
    """Fill a row of `out` with the sum of `weight` (STAGES + 1,) times the rows of `values`.

    values : (STAGES + 1, size) y at the start and at the stages; weights are those of `weights`
    """
    for c in range(values.shape[1]):
        # the collocation polynomial of degree STAGES through the start and the stages
        total = 0.0
        for j in range(STAGES + 1):
            total += weight[j] * values[j, c]
        out[row, c] = total


@kernel
def factorise_newton(jac: Stack, h: float, a: Matrix, band: Matrix, pivots: Integers) -> bool:
    """Factorise the matrix of a step, 1 - h a (x) df/dy; return whether it is regular.

    Unknown c of stage p is entry c s + p, with s stages: (x) is Kronecker's product.

    jac : (n, WIDTH, 3 WIDTH) df/dy, of mass i by the entries of masses i - 1, i and i + 1
    a : (s, s) matrix of the method
    band, pivots : output, of `room_for_newton`
    """
    # s stages, n unknowns; band storage of `numerics.direct.banded`: column i, diagonal at 2 reach
    s = a.shape[0]
    n = jac.shape[0] * WIDTH * s
    reach = _reach(n, s)
    for i in range(n):
        for j in range(3 * reach + 1):
            band[i, j] = 1.0 if j == 2 * reach else 0.0
    for i in range(jac.shape[0]):
        for r in range(WIDTH):
            for c in range(3 * WIDTH):
                if jac[i, r, c] != 0.0:
                    # column: unknown c, counted from the left neighbour, at stage q; row: equation
                    # r of mass i at stage p
                    below = (WIDTH + r - c) * s + 2 * reach
                    for q in range(s):
                        column = (WIDTH * (i - 1) + c) * s + q
                        for p in range(s):
                            band[column, below + p - q] -= h * (jac[i, r, c] * a[p, q])
    return factorise(band, n, reach, pivots)


@kernel
def solve_newton(jac: Stack, a: Matrix, band: Matrix, pivots: Integers, b: Vector) -> None:
    """Replace b (n s,) by the solution for the matrix that `factorise_newton` wrote to `band`.

    Of `jac` and a only the shapes matter: n / WIDTH masses and s stages.
    """
    s = a.shape[0]
    n = jac.shape[0] * WIDTH * s
    solve_factorised(band, n, _reach(n, s), pivots, b)


@kernel
def collocate(
    m: Model, sides: Matrix, w: Step, t: float, h: float, last: float, tolerance: float
) -> int:
    """Solve for the stages of a step of length h, by a simplified Newton method.

    `values` holds y at the start, and initial guesses of the stages.

    Parameters
    ----------
    t, last : start of the step, and the last time before a jump of the load [s]
    tolerance : of the change of a stage over `floor`

    Returns
    -------
    The number of Newton iterations; 0 without convergence, with an infinite error.
    """
    size, before = w.values.shape[1], math.inf
    good = factorise_newton(w.jac, h, _A, w.band, w.pivots)
    for k in range(1, _MOST_ROUNDS + 1):
        for r in range(1, STAGES + 1):
            rates(m, sides, min(t + NODES[r] * h, last), w.values, r, w.slopes, w.answer)
        # residual of the collocation equations, ordered by unknowns, then stages
        for c in range(size):
            for r in range(1, STAGES + 1):
                total = 0.0
                for j in range(1, STAGES + 1):
                    total += _A[r - 1, j - 1] * w.slopes[j, c]
                w.b[c * STAGES + r - 1] = w.values[r, c] - w.values[0, c] - h * total
        solve_newton(w.jac, _A, w.band, w.pivots, w.b)
        measure = 0.0
        for c in range(size):
            most = change = 0.0
            for r in range(1, STAGES + 1):
                w.values[r, c] -= w.b[c * STAGES + r - 1]
                most = max(most, abs(w.values[r, c]))
                change = max(change, abs(w.b[c * STAGES + r - 1]))
            # changes by rounding do not prevent convergence
            off = change / max(w.floor[c] * tolerance, _ROUNDING * most)
            # the comparison is false for NaN, which therefore counts as the largest
            measure = measure if off <= measure or measure != measure else off
        # singular, not finite, or diverging
        if not good or not measure < math.inf or (measure > 1.0 and measure > 2.0 * before):
            break
        if measure <= 1.0:
            _estimate(m, sides, w, t, h, last)
            return k
        before = measure
    w.error[:] = math.inf
    return 0


@kernel
def _estimate(m: Model, sides: Matrix, w: Step, t: float, h: float, last: float) -> None:
    """Write the slopes of a converged step, and its error estimate."""
    for r in range(STAGES + 1):
        rates(m, sides, min(t + NODES[r] * h, last), w.values, r, w.slopes, w.answer)
    # embedded formula of lower order
    for c in range(w.error.size):
        w.error[c] = 0.0
        for r in range(STAGES + 1):
            w.error[c] += h * _ERROR[r] * w.slopes[r, c]
    # filter (1 - h gamma J)^-1 for stiff components that have decayed (Hairer, Wanner, IV.8)
    factorise_newton(w.jac, h, _SMOOTHER, w.band, w.pivots)
    solve_newton(w.jac, _SMOOTHER, w.band, w.pivots, w.error)
