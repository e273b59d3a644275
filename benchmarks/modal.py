"""A chain solved by eigenvectors of its moving part: dense, slow, and independent.

Between events the moving masses obey M v' + K x = constant + rate t with the stuck ones
as walls. In the eigenvectors of that block the motion is cosines and a straight line;
events are roots of the formula, bracketed on a fine grid and found by Brent's method.
It shares no code with the package. Two events at the very same time are not handled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize_scalar

# grid points per shortest period, in which brackets are sought
_FINE = 40
_GRID = 100
# a dip below zero by no more than this fraction of the whole range is a touch, not an event
_TOUCH = 1e-12


@dataclass
class Piece:
    """The motion between two events, as a formula.

    Moving masses have x = x0 + Phi q(s), s = t - t0, with q'' + w^2 q = a + b s from
    q(0) = 0, q'(0) = p.
    """

    t0: float
    x0: np.ndarray
    moving: np.ndarray
    shapes: np.ndarray
    w: np.ndarray
    p: np.ndarray
    a: np.ndarray
    b: np.ndarray

    def state(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (t, n) displacements and velocities."""
        s, w = np.atleast_1d(t)[:, None] - self.t0, self.w
        sine, cosine = np.sin(w * s), 1.0 - np.cos(w * s)
        slope = self.p / w - self.b / w**3
        q = slope * sine + self.a / w**2 * cosine + self.b / w**2 * s
        dq = slope * w * np.cos(w * s) + self.a / w * sine + self.b / w**2
        x = np.tile(self.x0, (s.size, 1))
        v = np.zeros_like(x)
        x[:, self.moving] += q @ self.shapes.T
        v[:, self.moving] = dq @ self.shapes.T
        return x, v


class Modal:
    """The problem as dense matrices, and its stepper from event to event."""

    def __init__(self, problem) -> None:
        self.problem, n = problem, problem.n
        self.mass = np.array(problem.mass)
        spring = np.array([*problem.stiffness, 0.0])
        self.k = np.diag(spring[:-1] + spring[1:])
        self.k -= np.diag(spring[1:-1], 1) + np.diag(spring[1:-1], -1)
        self.bound = problem.mu * self.mass * problem.gravity
        self.end = np.eye(n)[-1]
        self.mode = np.zeros(n, int)

    def piece(self, t0: float, x: np.ndarray, v: np.ndarray) -> Piece:
        """Return the motion from here on with the present modes."""
        on = self.mode != 0
        w2, shapes = eigh(self.k[np.ix_(on, on)], np.diag(self.mass[on]))
        force = (self.problem.f0 + self.problem.rate * t0) * self.end
        force = force - self.k @ x - self.mode * self.bound
        return Piece(
            t0,
            x.copy(),
            on,
            shapes,
            np.sqrt(w2),
            shapes.T @ (self.mass * v)[on],
            shapes.T @ force[on],
            shapes.T @ (self.problem.rate * self.end)[on],
        )

    def room(self, piece: Piece, t: np.ndarray) -> np.ndarray:
        """Return (t, n): how far each mass is from an event; negative beyond one."""
        x, v = piece.state(t)
        pull = np.outer(self.problem.f0 + self.problem.rate * np.atleast_1d(t), self.end)
        stuck = self.bound - np.abs(pull - x @ self.k)
        return np.where(self.mode == 0, stuck, self.mode * v)

    def next_event(self, piece: Piece, t_end: float) -> tuple[float, int] | None:
        """Return the time and the mass of the first event before t_end."""
        period = 2.0 * np.pi / np.max(piece.w)
        start = piece.t0
        while start < t_end:
            grid = np.linspace(start, min(start + _GRID * period / _FINE, t_end), _GRID + 1)
            best: tuple[float, int] | None = None
            for left, i, bracket, least in sorted(self._brackets(piece, grid), key=lambda c: c[0]):
                if best is not None and left > best[0]:
                    break
                if least is None:
                    root = self._root(piece, i, *bracket)
                else:
                    root = self._dip(piece, i, bracket, least)
                if root is not None and (best is None or root < best[0]):
                    best = (root, i)
            if best is not None:
                return best
            start = grid[-1]
        return None

    def _brackets(self, piece: Piece, grid: np.ndarray) -> Iterator[tuple]:
        """Yield (start, mass, points, None) of a crossing, (..., lowest) of a possible dip."""
        room = self.room(piece, grid)
        # a mass that was just released, or has just stopped, starts at zero: not an event
        first = 1 if grid[0] == piece.t0 else 0
        points = grid[first:]
        for i in range(self.mass.size):
            values = room[first:, i]
            least = -_TOUCH * np.max(np.abs(values))
            below = np.flatnonzero(values < least)
            end = int(below[0]) if below.size else values.size
            dips = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])) + 1
            for j in dips[dips < end]:
                yield points[j - 1], i, points[j - 1 : j + 2], least
            if below.size:
                inside = np.flatnonzero(values[:end] > 0.0)
                left = points[inside[-1]] if inside.size else grid[0]
                yield left, i, (left, points[end]), None

    def _dip(self, piece: Piece, i: int, near: np.ndarray, least: float) -> float | None:
        """Return the first of two roots between grid points, if there are any."""
        low = minimize_scalar(
            lambda t: self.room(piece, t)[0, i], bracket=tuple(near), options={"xtol": 1e-12}
        )
        return self._root(piece, i, near[0], low.x) if low.fun < least else None

    def _root(self, piece: Piece, i: int, a: float, b: float) -> float:
        return brentq(lambda t: self.room(piece, t)[0, i], a, b, xtol=1e-16, rtol=1e-15)

    def change(self, i: int, force: np.ndarray) -> str:
        """Change the mode of mass i, whose event this is, and return its kind."""
        if self.mode[i] == 0:
            self.mode[i] = int(np.sign(force[i]))
            return "slip"
        holds = abs(force[i]) <= self.bound[i]
        self.mode[i] = 0 if holds else int(np.sign(force[i]))
        return "stick" if holds else "reverse"


def solve(problem) -> tuple[np.ndarray, np.ndarray, list[tuple[float, int, str, int]]]:
    """Return states at the sample times and the events after t = 0."""
    modal = Modal(problem)
    samples = np.array(problem.samples)
    x, v = np.zeros(problem.n), np.zeros(problem.n)
    xs, vs = np.zeros((samples.size, problem.n)), np.zeros((samples.size, problem.n))
    events: list[tuple[float, int, str, int]] = []
    t = 0.0
    if abs(problem.f0) > modal.bound[-1]:
        modal.mode[-1] = int(np.sign(problem.f0))
    while t < problem.t_end:
        if not modal.mode.any() and problem.rate == 0.0:
            xs[samples > t] = x
            break
        if not modal.mode.any():
            # from rest a rising load first moves the mass it acts on
            t = (modal.bound[-1] - problem.f0) / problem.rate
            modal.mode[-1] = 1
            events.append((t, problem.n, "slip", 1))
        piece = modal.piece(t, x, v)
        hit = modal.next_event(piece, problem.t_end)
        until = problem.t_end if hit is None else hit[0]
        here = (samples > t) & (samples <= until)
        if here.any():
            xs[here], vs[here] = piece.state(samples[here])
        state = piece.state(np.array([until]))
        x, v, t = state[0][0], state[1][0], until
        if hit is None:
            break
        i = hit[1]
        if modal.mode[i] != 0:
            v[i] = 0.0
        force = (problem.f0 + problem.rate * t) * modal.end - modal.k @ x
        kind = modal.change(i, force)
        events.append((float(t), i + 1, kind, int(modal.mode[i])))
    return xs, vs, events
