"""Maximisation of a linear objective over second-order cones, by cutting planes.

The programme is: maximise c . y for y (k,) with |t_c(y)| <= mu_c n_c(y) at each contact c, with
affine functions n_c and t_c, and further linear inequalities and equations. A polyhedron that
contains the cones replaces them in a linear programme. If its optimum lies outside a cone, a plane
that cuts this point off is added, and the programme is solved again. Since the polyhedron is larger
than the cones, each optimum is an upper bound, and an infeasible programme proves that the problem
is infeasible. In the plane cones are polyhedra, and the first programme is exact. `existence`,
`uniqueness` and `bodies.equilibrium` use these programmes; the linear ones are solved by HiGHS
(scipy.optimize.linprog).

Source: Kelley 1960 (cutting planes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Optimum", "cone_rows", "directions", "dual_cone_rows", "maximise"]

Floats = npt.NDArray[np.float64]
# takes a point y and returns rows a and values b of inequalities a y <= b that y violates
Cuts = Callable[[Floats], tuple[Floats, Floats]]

# largest number of programmes; violation of a cone up to which it counts as satisfied. Chosen
_MOST_ROUNDS = 40
_TOLERANCE = 1e-9


class Optimum(NamedTuple):
    """Optimum of a programme.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded" or "unfinished" (too many cuts)
    value : upper bound of the objective; NaN if the first programme has no optimum
    point : the point with this value
    """

    status: str
    value: float
    point: Floats


def maximise(
    objective: Floats,
    rows: Floats,
    most: Floats,
    cuts: Cuts,
    equal: tuple[Floats, Floats] | None = None,
    box: float | None = None,
    rounds: int = _MOST_ROUNDS,
) -> Optimum:
    """Return the maximum of objective . y subject to rows y <= most and to all cuts.

    Parameters
    ----------
    objective : (k,) vector
    rows, most : (j, k) and (j,) inequalities that hold from the first programme on
    cuts : returns further inequalities that a point violates
    equal : rows and values of equations
    box : bound on the modulus of all components of y; none by default
    rounds : largest number of programmes

    Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_cone_programmes
    """
    from scipy.optimize import linprog

    limit = (None, None) if box is None else (-box, box)
    equations = (None, None) if equal is None else equal
    x, value = np.full(objective.size, np.nan), np.nan
    for _ in range(rounds):
        found = linprog(
            -objective,
            A_ub=rows,
            b_ub=most,
            A_eq=equations[0],
            b_eq=equations[1],
            bounds=limit,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status in (2, 3) or found.x is None or found.fun is None:
            status = {2: "infeasible", 3: "unbounded"}.get(int(found.status), "unfinished")
            return Optimum(status, value, x)
        x, value = found.x, -float(found.fun)
        more, bounds = cuts(x)
        if not len(more):
            return Optimum("optimal", value, x)
        rows, most = np.concatenate([rows, more]), np.concatenate([most, bounds])
    return Optimum("unfinished", value, x)


def directions(size: int) -> Floats:
    """Return eight unit vectors of a plane, or both unit vectors of a line."""
    if size == 1:
        return np.array([[1.0], [-1.0]])
    angle = np.arange(8) * np.pi / 4
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _unit(x: Floats) -> Floats:
    """Return x over its length; the first unit vector for zero."""
    length = np.linalg.norm(x)
    return x / length if length > 0.0 else np.eye(len(x))[0]


def cone_rows(
    normal: tuple[Floats, float], tangents: tuple[Floats, Floats], bound: float, at: Floats | None
) -> tuple[Floats, Floats]:
    """Return rows (j, k) and values (j,) of linear inequalities for |t(y)| <= bound n(y).

    They are e . t(y) <= bound n(y) for unit vectors e: in eight directions, or along t at a point.

    Parameters
    ----------
    normal, tangents : matrices and constants of the affine functions n(y) and t(y)
    bound : coefficient of friction
    at : a point y, for the inequality that it violates; None for inequalities all around the cone
    """
    (a, b), (t, c) = normal, tangents
    if at is None:
        units = directions(len(c))
        return units @ t - bound * a, bound * b - units @ c
    value = t @ at + c
    if np.linalg.norm(value) - bound * (a @ at + b) <= _TOLERANCE:
        return np.zeros((0, len(a))), np.zeros(0)
    unit = _unit(value)
    return (unit @ t - bound * a)[None], np.array([bound * b - unit @ c])


def dual_cone_rows(
    velocity: tuple[Floats, Floats],
    n_tangent: int,
    mu: float,
    rolling: float,
    at: Floats | None,
) -> tuple[Floats, Floats]:
    """Return rows and values of linear inequalities for mu |z_t| + rolling |z_m| <= z_n.

    They are mu e . z_t + rolling f . z_m <= z_n for unit vectors e and f, as in `cone_rows`.

    Parameters
    ----------
    velocity : matrix and constant of the affine function z(y), components of one contact
    n_tangent : number of tangential components
    at : a point y, for the inequality that it violates; None for inequalities all around the cone
    """
    a, b = velocity
    size = len(b)
    if at is None:
        slips = directions(n_tangent)
        turns = directions(size - 1 - n_tangent) if size > 1 + n_tangent else np.zeros((1, 0))
        pairs = [(e, f) for e in slips for f in turns]
    else:
        z = a @ at + b
        slip, turn = z[1 : 1 + n_tangent], z[1 + n_tangent :]
        need = mu * np.linalg.norm(slip) + rolling * np.linalg.norm(turn)
        if need - z[0] <= _TOLERANCE:
            return np.zeros((0, a.shape[1])), np.zeros(0)
        pairs = [(_unit(slip), _unit(turn) if turn.size else turn)]
    weights = np.array([np.concatenate([[-1.0], mu * e, rolling * f]) for e, f in pairs])
    return weights @ a, -weights @ b
