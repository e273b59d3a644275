"""Radau's collocation with five stages: order 9, L-stable, for y' = f(t, y).

The step solves Y_i = y + h sum_j a_ij f(t + c_j h, Y_j) by Newton's method with the derivative of
f at the start of the step; y at its end is Y_5. The error is estimated by an embedded formula of
order 5, smoothed by (1 - h g df/dy)^-1, which keeps it small for stiff parts that have died
out (Hairer, Wanner, Solving Ordinary Differential Equations II, sections IV.5 and IV.8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NODES", "STAGES", "Step", "between", "collocate", "integrals", "weights"]

Floats = npt.NDArray[np.float64]

STAGES = 5
_MOST_ROUNDS = 12
# from so many unknowns on matrices are kept sparse
_DENSE = 60
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


NODES = _nodes()
_A = _matrix(NODES)
_GAMMA = 1.0 / float(max(np.linalg.eigvals(np.linalg.inv(_A)), key=lambda x: -abs(x.imag)).real)
_POWERS = np.arange(1, STAGES + 1)
# weights of an embedded formula that takes the start of the step with weight _GAMMA
_ERROR = (
    np.linalg.solve((NODES[:, None] ** (_POWERS - 1)).T, 1.0 / _POWERS - _GAMMA * (_POWERS == 1))
    - _A[-1]
)
_ALL = np.concatenate([[0.0], NODES])
_BARY = np.array([1.0 / np.prod([a - b for b in _ALL if b != a]) for a in _ALL])


def weights(at: Floats) -> Floats:
    """Return (m, STAGES + 1): what the start and the stages weigh at (m,) shares of the step."""
    gap = np.asarray(at, dtype=np.float64)[:, None] - _ALL
    hit = gap == 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = _BARY / gap
        found = parts / parts.sum(axis=1, keepdims=True)
    rows = hit.any(axis=1)
    found[rows] = hit[rows]
    return np.asarray(found)


_VANDER = np.linalg.inv((_ALL[:, None] ** np.arange(STAGES + 1)).T)


def integrals(at: Floats) -> Floats:
    """Return (m, STAGES + 1) weights of the integral from 0 to (m,) shares of the step."""
    k = np.arange(1, STAGES + 2)
    return np.asarray((np.asarray(at)[:, None] ** k / k) @ _VANDER.T)


# over a whole step the stages alone are of order 9
WHOLE = _A[-1]


@dataclass(frozen=True, eq=False)
class Step:
    """One step that was solved.

    Parameters
    ----------
    t, h : where it starts, and its length [s]
    values : (STAGES + 1, size) y at the start and at the stages
    error : (size,) estimated error of y at the end
    rounds : of Newton's method; 0 where it did not end
    """

    t: float
    h: float
    values: Floats
    error: Floats
    rounds: int


def between(step: Step, at: Floats) -> Floats:
    """Return (m, size) y at (m,) shares of a step."""
    return np.asarray(weights(at) @ step.values)


def collocate(
    rates: Callable[[Floats, Floats], Floats],
    derivative: Any,
    t: float,
    y: Floats,
    h: float,
    guess: Floats,
    floor: Floats,
    tolerance: float,
) -> Step:
    """Return a step of length `h` from `y`.

    Parameters
    ----------
    rates : (times (m,), states (m, size)) -> (m, size)
    derivative : (size, size) sparse array, df/dy at the start
    guess : (STAGES, size) first guess of the stages
    floor : (size,) sizes from which errors are counted
    tolerance : on the change of a stage over `floor`, at which Newton's method ends
    """
    size, times = y.size, t + h * NODES
    solve = _factored(derivative, h, _A, size)
    stages, rounds, before = guess.copy(), 0, np.inf
    for k in range(1, _MOST_ROUNDS + 1):
        residual = stages - y - h * (_A @ rates(times, stages))
        change = solve(residual.T.ravel()).reshape(size, STAGES).T
        stages -= change
        # what rounding makes of a state is no failure to converge
        least = np.maximum(floor * tolerance, _ROUNDING * np.abs(stages).max(axis=0))
        measure = float(np.max(np.abs(change) / least))
        if not np.isfinite(measure):
            break
        if measure <= 1.0:
            rounds = k
            break
        if measure > 2.0 * before:
            break
        before = measure
    ends = np.concatenate([y[None], stages])
    if rounds == 0:
        return Step(t, h, ends, np.full(size, np.inf), 0)
    slopes = rates(np.concatenate([[t], times]), ends)
    raw = h * (_GAMMA * slopes[0] + _ERROR @ slopes[1:])
    smoothed = _factored(derivative, h, np.array([[_GAMMA]]), size)(raw)
    return Step(t, h, ends, smoothed, rounds)


def _factored(derivative: Any, h: float, a: Floats, size: int) -> Callable[[Floats], Floats]:
    """Return what solves (1 - h a (x) df/dy) x = b, unknown after unknown, stages together."""
    from scipy import linalg, sparse
    from scipy.sparse import linalg as sparse_linalg

    s = a.shape[0]
    if size <= _DENSE:
        whole = np.eye(size * s) - h * np.kron(derivative.toarray(), a)
        factors = linalg.lu_factor(whole, check_finite=False)
        return lambda b: np.asarray(linalg.lu_solve(factors, b, check_finite=False))
    matrix = sparse.identity(size * s, format="csc") - h * sparse.kron(derivative, a, format="csc")
    return sparse_linalg.splu(matrix.tocsc(), permc_spec="NATURAL").solve
