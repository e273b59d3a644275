"""Follow a curve of solutions of G(u) = 0, one unknown more than equations, around its turns.

Steps are measured along the curve (pseudo-arclength), so that a turn in a parameter is
nothing special; the work is bounded and the end of a curve has a reason.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

__all__ = ["Problem", "corrected", "solved_nearby", "tangent_of", "trace"]

Floats = npt.NDArray[np.float64]

_MOST_CORRECTIONS = 12
_CONVERGED = 1e-12
_NOISE = 1e-7
_SHORTEST = 2.0**-12
# cosine of the largest turn of the tangent in one step
_TURN = 0.9


class Problem(Protocol):
    """What is followed.

    Parameters
    ----------
    scale : (q + 1,) sizes of the unknowns
    limits : (index of an unknown, lowest, highest, name) of what ends the curve
    """

    scale: Floats
    limits: tuple[tuple[int, float, float, str], ...]

    def residual(self, u: Floats) -> Floats:
        """Return (q,) G(u) over its sizes; ModelError where it is not defined."""

    def jacobian(self, u: Floats) -> Floats:
        """Return (q, q + 1) dG/du times `scale`."""


def tangent_of(jacobian: Floats, before: Floats | None = None) -> Floats:
    """Return the unit null vector of a (q, q + 1) matrix, on the side of `before`."""
    tangent = np.linalg.svd(jacobian)[2][-1]
    if before is not None and float(tangent @ before) < 0.0:
        tangent = -tangent
    return np.asarray(tangent)


def corrected(problem: Problem, jacobian: Floats, row: Floats, guess: Floats) -> Floats | None:
    """Return the solution with row . (u - guess) / scale = 0, None without convergence.

    Newton's method with the matrix of a nearby point, renewed when it is slow.
    """
    u, before, fresh = guess.copy(), np.inf, False
    try:
        for _ in range(_MOST_CORRECTIONS):
            residual = problem.residual(u)
            if not np.isfinite(residual).all():
                return None
            right = np.append(-residual, -float(row @ ((u - guess) / problem.scale)))
            move = np.linalg.solve(np.vstack([jacobian, row]), right)
            u = u + problem.scale * move
            size = float(np.abs(move).max())
            if size <= _CONVERGED:
                return u
            slow = size > 0.1 * before
            if slow and fresh and size <= _NOISE:
                # shrinks no more: as exact as the derivatives in G allow
                return u
            if slow:
                jacobian, fresh = problem.jacobian(u), True
            before = size
    except (ModelError, np.linalg.LinAlgError):
        return None
    return None


def solved_nearby(problem: Problem, guess: Floats) -> Floats | None:
    """Return a solution near `guess` by Newton steps of least norm; None if there is none."""
    u = guess.copy()
    try:
        for _ in range(3 * _MOST_CORRECTIONS):
            residual = problem.residual(u)
            if not np.isfinite(residual).all():
                return None
            move = np.linalg.lstsq(problem.jacobian(u), -residual, rcond=1e-12)[0]
            size = float(np.linalg.norm(move))
            # far away a full step would leave the domain
            u = u + problem.scale * move * min(1.0, 0.25 / max(size, 1e-300))
            if size <= 100.0 * _CONVERGED:
                return u
    except (ModelError, np.linalg.LinAlgError):
        return None
    return None


def trace(
    problem: Problem, start: Floats, sense: float, *, step: float, most: int
) -> tuple[list[Floats], str]:
    """Return points of the curve from `start` in one direction, and why it ended.

    Parameters
    ----------
    sense : +1.0 or -1.0 times the tangent at the start
    step : longest step along the curve, in scaled unknowns
    most : points at most
    """
    points, length = [start], step
    jacobian = problem.jacobian(start)
    tangent = sense * _oriented(tangent_of(jacobian))
    first = tangent
    while len(points) < most:
        u = points[-1]
        landed = _landed(problem, jacobian, u, u + length * tangent * problem.scale)
        if landed is not None:
            points.append(landed[0])
            return points, landed[1]
        new = _stepped(problem, jacobian, u, tangent, length)
        if new is None:
            length *= 0.5
            if length < _SHORTEST * step:
                return points, "no point of the curve was found further on"
            continue
        u_new, jacobian, turned = new
        landed = _landed(problem, jacobian, u, u_new)
        if landed is not None:
            points.append(landed[0])
            return points, landed[1]
        points.append(u_new)
        tangent = turned
        gap = float(np.linalg.norm((u_new - start) / problem.scale))
        if len(points) > 3 and gap < 0.75 * length and float(tangent @ first) > 0.5:
            points.append(start)
            return points, "the curve is closed"
        length = min(step, 1.4 * length)
    return points, f"the allowed number of points, {most}"


def _oriented(tangent: Floats) -> Floats:
    """Return the tangent along which the last unknown grows: the same on every machine."""
    last = int(np.flatnonzero(np.abs(tangent) > 1e-9)[-1])
    return tangent if tangent[last] > 0.0 else -tangent


def _stepped(
    problem: Problem, jacobian: Floats, u: Floats, tangent: Floats, length: float
) -> tuple[Floats, Floats, Floats] | None:
    """Return the next point with its matrix and tangent; None where the step is too long."""
    new = corrected(problem, jacobian, tangent, u + length * tangent * problem.scale)
    if new is None or float(np.linalg.norm((new - u) / problem.scale)) > 2.0 * length:
        return None
    try:
        there = problem.jacobian(new)
    except ModelError:
        return None
    if not np.isfinite(there).all():
        return None
    turned = tangent_of(there, tangent)
    return (new, there, turned) if float(turned @ tangent) >= _TURN else None


def _landed(
    problem: Problem, jacobian: Floats, u: Floats, new: Floats
) -> tuple[Floats, str] | None:
    """Return the point on the limit that lies between u and new, if one does."""
    best, found = 1.0, None
    for index, low, high, name in problem.limits:
        for bound in (low, high):
            ahead, behind = new[index] - bound, u[index] - bound
            beyond = ahead >= 0.0 if bound == high else ahead <= 0.0
            share = behind / (behind - ahead) if behind != ahead else 1.0
            if beyond and 0.0 <= share <= best:
                best, found = share, (index, bound, name)
    if found is None:
        return None
    index, bound, name = found
    guess = u + best * (new - u)
    guess[index] = bound
    row = np.zeros(u.size)
    row[index] = 1.0
    landed = corrected(problem, jacobian, row, guess)
    if landed is None or float(np.linalg.norm((landed - guess) / problem.scale)) > 1.0:
        return None
    landed[index] = bound
    return landed, f"{name} reached {bound:g}"
