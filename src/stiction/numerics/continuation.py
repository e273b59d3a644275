"""Pseudo-arclength continuation of the curve G(u) = 0 with one unknown more than equations.

From a point u with the unit tangent t (J t = 0, J = dG/du), a step of length ds predicts u + ds t
and corrects it by Newton's method for

    G(u + x) = 0,    t . x = ds.

Its matrix, J with the row t, is regular at limit points of a parameter, which are regular points of
the curve. The unknowns are a vector, or any object that a scaled step can change, such as positions
and frames of a rod; x, t and J are in scaled unknowns (q + 1,) for q equations. A step is halved if
its correction fails. `advance` makes one step, `trace` a whole curve, `located` finds a root of a
test function on a step. Callers implement `Problem`: equilibria of rods and solids, cycles and
equilibria of flows.

Source: Keller 1977 (pseudo-arclength continuation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.vectors import inner

__all__ = [
    "SHORTEST",
    "Dense",
    "Linear",
    "Place",
    "Problem",
    "Step",
    "VectorProblem",
    "advance",
    "bordered",
    "corrected",
    "limit_on_step",
    "located",
    "place_at",
    "solved_nearby",
    "trace",
]

Floats = npt.NDArray[np.float64]
U = TypeVar("U")

# largest number of Newton iterations of a correction
_MOST_CORRECTIONS = 20
# largest scaled increment of a converged solution, some 1e4 roundings; largest increment at which
# stagnation counts as convergence, where residuals by differences have larger rounding errors.
# Chosen
_CONVERGED = 1e-12
_NOISE = 1e-7
# shortest step over the longest one; growth of the step after a success. Chosen
SHORTEST = 2.0**-12
_GROWTH = 1.4
# cosine of the largest angle between the tangents at both ends of a step, 26 degrees: a corrector
# may otherwise return to the part of the curve that is behind. Chosen
_TURN = 0.9
# halvings after which a fraction of a step is below the rounding of 1
_MOST_HALVINGS = 60
# the search for a root ends if the relative value of the test function, or the last change of the
# fraction of the step, is below this: near rounding
_NOTHING = 1e-13


class Linear(Protocol):
    """G linearised at a point: J dx = dG with q rows for q + 1 scaled unknowns."""

    def tangent(self, before: Floats | None) -> Floats:
        """Return the unit null vector of J; its product with `before` is positive."""

    def solve(self, row: Floats, right: Floats) -> Floats:
        """Return dx with J dx = right[:-1] and row . dx = right[-1]."""


class Problem(Protocol[U]):
    """The equations G(u) = 0."""

    def residual(self, u: U) -> Floats:
        """Return (q,) the scaled G(u); raise ModelError if it is not defined."""

    def tolerance(self, u: U) -> float:
        """Return the largest residual of a solution; 0 if increments alone decide."""

    def linearised(self, u: U) -> Linear:
        """Return the derivatives of G at u."""

    def moved(self, u: U, step: Floats) -> U:
        """Return u after a scaled step (q + 1,)."""


class VectorProblem(Problem[Floats], Protocol):
    """A problem whose unknowns are a vector.

    Attributes
    ----------
    scale : (q + 1,) sizes of the unknowns
    limits : (index of an unknown, lowest, highest, name) at which the curve ends
    """

    scale: Floats
    limits: tuple[tuple[int, float, float, str], ...]


class Dense(NamedTuple):
    """`Linear` with the derivatives (q, q + 1) by scaled unknowns as a full matrix."""

    jacobian: Floats

    def tangent(self, before: Floats | None) -> Floats:
        """Return the unit null vector; its product with `before` is positive."""
        tangent = np.linalg.svd(self.jacobian)[2][-1]
        turned = before is not None and float(tangent @ before) < 0.0
        return np.asarray(-tangent if turned else tangent)

    def solve(self, row: Floats, right: Floats) -> Floats:
        """Return dx with J dx = right[:-1] and row . dx = right[-1]."""
        return np.asarray(np.linalg.solve(np.vstack([self.jacobian, row]), right))


class Place(NamedTuple, Generic[U]):
    """A point u of the curve with its unit tangent (q + 1,) in scaled unknowns."""

    u: U
    tangent: Floats


class Step(NamedTuple, Generic[U]):
    """A corrected point, the scaled step to it, and the number of Newton iterations."""

    u: U
    step: Floats
    iterations: int


def bordered(both: Floats, row: Floats, corner: float, wanted: float) -> tuple[Floats, float]:
    """Return x and y with A x + b y = f and row . x + corner y = wanted, by block elimination.

    Parameters
    ----------
    both : (n, 2) A^-1 f and A^-1 b
    row, corner, wanted : the last equation: row (n,), coefficient of y, right-hand side

    Raises
    ------
    LinAlgError : if the Schur complement of y is zero.
    """
    # Schur complement of the border
    schur = corner - inner(row, both[:, 1])
    if schur == 0.0:
        raise np.linalg.LinAlgError
    y = (wanted - inner(row, both[:, 0])) / schur
    return both[:, 0] - y * both[:, 1], y


def place_at(problem: Problem[U], u: U, before: Floats | None = None) -> Place[U]:
    """Return a solution with its tangent, oriented like `before`."""
    return Place(u, problem.linearised(u).tangent(before))


def corrected(problem: Problem[U], place: Place[U], row: Floats, guess: Floats) -> Step[U] | None:
    """Return the solution with the same row . step as the guess, by Newton's method.

    None if the method does not converge.

    Parameters
    ----------
    row : (q + 1,) vector whose product with the step is fixed
    guess : (q + 1,) predicted scaled step from `place`
    """
    step, wanted = guess.copy(), float(row @ guess)
    u, before = problem.moved(place.u, step), np.inf
    try:
        for iteration in range(_MOST_CORRECTIONS):
            residual = problem.residual(u)
            if not np.isfinite(residual).all():
                return None
            if iteration > 0 and float(np.abs(residual).max()) <= problem.tolerance(u):
                return Step(u, step, iteration)
            linear = problem.linearised(u)
            move = linear.solve(row, np.append(-residual, wanted - float(row @ step)))
            u, step = problem.moved(u, move), step + move
            size = float(np.abs(move).max())
            # stagnation: the derivatives of G admit no better accuracy
            if size <= _CONVERGED or 0.1 * before < size <= _NOISE:
                return Step(u, step, iteration + 1)
            before = size
    except (ModelError, np.linalg.LinAlgError):
        return None
    return None


def advance(
    problem: Problem[U], place: Place[U], length: float, *, longest: float
) -> tuple[Place[U], Step[U], float] | None:
    """Return the next point of the curve, the step to it, and the length of the next step.

    A step is halved if the correction fails, the solution is far from the prediction, or the
    tangent turns too much. None if the step becomes too short.

    Parameters
    ----------
    length : length of the first prediction along the tangent, in scaled unknowns
    longest : largest length of a step
    """
    while length >= SHORTEST * longest:
        new = stepped(problem, place, length)
        if new is not None:
            return *new, min(longest, _GROWTH * length)
        length *= 0.5
    return None


def stepped(problem: Problem[U], place: Place[U], length: float) -> tuple[Place[U], Step[U]] | None:
    """Return the point after a step of this length; None if the step is too long."""
    new = corrected(problem, place, place.tangent, length * place.tangent)
    if new is None or float(np.linalg.norm(new.step)) > 2.0 * length:
        return None
    try:
        there = place_at(problem, new.u, place.tangent)
    except (ModelError, np.linalg.LinAlgError):
        return None
    turned = float(there.tangent @ place.tangent)
    # also None for NaN
    return (there, new) if turned >= _TURN else None


def located(
    problem: Problem[U],
    place: Place[U],
    step: Floats,
    test: Callable[[U], float],
    ends: tuple[float, float],
) -> tuple[float, U] | None:
    """Locate the root of a test function on a step: fraction of the step, and solution there.

    If a solution or its test function is undefined, the result is the last estimate, or None if
    there is none.

    Parameters
    ----------
    step : from `place` to a later point
    test : function with a change of sign on the step
    ends : its values at both ends

    Source: the Illinois variant of regula falsi.
    """
    low, high, (at_low, at_high) = 0.0, 1.0, ends
    best: tuple[float, U] | None = None
    nothing = _NOTHING * max(abs(at_low), abs(at_high))
    for _ in range(_MOST_HALVINGS):
        fraction = (low * at_high - high * at_low) / (at_high - at_low)
        solution = corrected(problem, place, place.tangent, fraction * step)
        if solution is None:
            return best
        try:
            now = test(solution.u)
        except ModelError:
            return best
        moved = 1.0 if best is None else abs(fraction - best[0])
        best = fraction, solution.u
        if abs(now) <= nothing or moved <= _NOTHING:
            return best
        if (now > 0.0) == (at_high > 0.0):
            high, at_high, at_low = fraction, now, 0.5 * at_low
        else:
            low, at_low, at_high = fraction, now, 0.5 * at_high
    return best


def solved_nearby(problem: VectorProblem, guess: Floats) -> Floats | None:
    """Return a solution near `guess`; None if the method fails.

    Newton steps of least norm J^+ (-G) are shortened to a quarter of the scale of the unknowns.
    """
    u = guess.copy()
    try:
        for _ in range(2 * _MOST_CORRECTIONS):
            residual = problem.residual(u)
            if not np.isfinite(residual).all():
                return None
            linear: Any = problem.linearised(u)
            move = np.linalg.lstsq(linear.jacobian, -residual, rcond=1e-12)[0]
            size = float(np.linalg.norm(move))
            # damping: a full step from far away may leave the domain
            u = problem.moved(u, move * min(1.0, 0.25 / max(size, 1e-300)))
            if size <= 100.0 * _CONVERGED:
                # a small step may also come from small derivatives: test the residual
                return u if float(np.abs(residual).max()) <= _NOISE else None
    except (ModelError, np.linalg.LinAlgError):
        return None
    return None


def trace(
    problem: VectorProblem, start: Floats, sense: float, *, step: float, most: int
) -> tuple[list[Floats], str]:
    """Return points of the curve from `start` in one direction, and the reason of its end.

    Parameters
    ----------
    sense : +1.0 or -1.0, the direction along the tangent at the start
    step : longest step along the curve, in scaled unknowns
    most : largest number of points
    """
    points, length = [start], step
    place = place_at(problem, start)
    place = place._replace(tangent=sense * _oriented(place.tangent))
    first = place.tangent
    while len(points) < most:
        # limits first: beyond them G may be undefined
        landed = limit_on_step(problem, place, length * place.tangent)
        new = None if landed is not None else advance(problem, place, length, longest=step)
        if new is not None:
            landed = limit_on_step(problem, place, new[1].step)
        # the curve ends at a limit, where no step succeeds, or where it returns to its start
        if landed is not None:
            points.append(landed[0])
            return points, landed[1]
        if new is None:
            return points, "no further point of the curve was found"
        place, (_, last, _), length = new
        points.append(place.u)
        gap = float(np.linalg.norm((place.u - start) / problem.scale))
        near = gap < 0.75 * float(np.linalg.norm(last))
        if len(points) > 3 and near and float(place.tangent @ first) > 0.5:
            points.append(start)
            return points, "the curve is closed"
    return points, f"the allowed number of points, {most}"


def _oriented(tangent: Floats) -> Floats:
    """Return the tangent with the sign for which the last nonzero component is positive."""
    last = int(np.flatnonzero(np.abs(tangent) > 1e-9)[-1])
    return tangent if tangent[last] > 0.0 else -tangent


def limit_on_step(
    problem: VectorProblem, place: Place[Floats], step: Floats
) -> tuple[Floats, str] | None:
    """Return the point at the first limit that a step (q + 1,) crosses, and a message, or None.

    The fraction of the step at which an unknown reaches its bound predicts the point; a correction
    with this unknown fixed follows.
    """
    u, best, crossed = place.u, 1.0, None
    new = u + problem.scale * step
    for index, low, high, name in problem.limits:
        for bound in (low, high):
            after, before = new[index] - bound, u[index] - bound
            beyond = after >= 0.0 if bound == high else after <= 0.0
            fraction = before / (before - after) if before != after else 1.0
            if beyond and 0.0 <= fraction <= best:
                best, crossed = fraction, (index, bound, name)
    if crossed is None:
        return None
    index, bound, name = crossed
    guess = best * step
    guess[index] = (bound - u[index]) / problem.scale[index]
    row = np.zeros(u.size)
    row[index] = 1.0
    landed = corrected(problem, place, row, guess)
    if landed is None or float(np.linalg.norm(landed.step - guess)) > 1.0:
        return None
    landed.u[index] = bound
    return landed.u, f"{name} reached {bound:g}"
