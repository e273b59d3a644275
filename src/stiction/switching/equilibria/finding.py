"""Equilibria and pseudo-equilibria of a flow, with their eigenvalues.

An equilibrium has f(x; s) = 0 for the signs s_i of the switching functions. At a pseudo-equilibrium
the state slides on some surfaces: h_i(x) = 0 there, and s_i is an unknown multiplier in (-1, 1) of
the convex combination of the fields with product weights. Both are solved by damped Newton steps.
`branch` continues them in a parameter. There are n states and m surfaces, r of which slide; the
unknowns u = (x, s of the sliding surfaces, parameter) have n + r or n + r + 1 components.

Source: Filippov 1988, section 19; di Bernardo et al. 2008, section 5.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import numbers
from stiction.numerics.continuation import Dense
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import MODES, SwitchingSystem
from stiction.switching.nonuniqueness.intersections import directions_of

__all__ = ["Balance", "Equilibrium", "equilibrium_of", "find_equilibrium"]

Floats = npt.NDArray[np.float64]

_MOST_ITERATIONS, _MOST_HALVINGS = 60, 12
_CONVERGED, _NOISE = 1e-14, 1e-9
# a guess with |h| below this fraction of its scale counts as on the surface
_ON_SURFACE = 1e-9
# weights of central differences of orders 6 and 4 at distances 1, 2, 3; first step over the scale,
# the relative difference of both orders above which the points move closer, the factor, the levels
_WEIGHTS = ((3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0), (2.0 / 3.0, -1.0 / 12.0, 0.0))
_STEP, _RESOLVED, _CLOSER, _LEVELS = 0.015625, 1e-6, 0.0625, 5
# rounding of the derivatives, and so of eigenvalues, as a fraction of the largest modulus
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium:
    """An equilibrium of a flow.

    Parameters
    ----------
    system : the flow
    state : (n,) the state
    multipliers : (m,) signs of the switching functions; between -1 and 1 on sliding surfaces
    eigenvalues : eigenvalues of the linearised flow, the largest real part first; at a
        pseudo-equilibrium those of the linearised sliding flow along the surfaces
    attracting : whether nearby states reach the sliding surfaces; on three or more surfaces by the
        signs of the eigenvalues of grad h F_s, which is not sufficient
    """

    system: SwitchingSystem
    state: Floats
    multipliers: Floats
    eigenvalues: npt.NDArray[np.complex128]
    attracting: bool

    @property
    def pseudo(self) -> bool:
        """Whether it slides on a surface."""
        return bool((np.abs(self.multipliers) < 1.0).any())

    @property
    def stable(self) -> bool:
        """Whether the eigenvalues show that all perturbations decay."""
        return self.attracting and bool((self._growth < 0.0).all())

    @property
    def kind(self) -> str:
        """Saddle, node, focus or non-hyperbolic point.

        A saddle has eigenvalues with negative and with positive real parts. Any other point with an
        eigenvalue on the imaginary axis (within rounding), such as a centre, is non-hyperbolic: its
        eigenvalues do not determine its type.
        """
        growth = self._growth
        if growth.min(initial=0.0) < 0.0 < growth.max(initial=0.0):
            return "saddle"
        if (growth == 0.0).any():
            return "non-hyperbolic point"
        return "focus" if (self.eigenvalues.imag != 0.0).any() else "node"

    @property
    def _growth(self) -> Floats:
        """Real parts of the eigenvalues, 0 where they are rounding [1/s]."""
        real = self.eigenvalues.real
        rounding = _ROUNDING * np.abs(self.eigenvalues).max(initial=0.0)
        return np.where(np.abs(real) <= rounding, 0.0, real)

    def __repr__(self) -> str:
        """Return kind, state and eigenvalues."""
        names = self.system.state_names
        state = ", ".join(f"{n} = {v:.9g}" for n, v in zip(names, self.state, strict=True))
        pseudo = "pseudo-" if self.pseudo else ""
        stable = "stable" if self.stable else "unstable"
        if self.attracting and not self.stable and self._growth.max() <= 0.0:
            stable = "stability not decided,"
        return (
            f"<Equilibrium: {stable} {pseudo}{self.kind}, {state}\n"
            f"  multipliers {self.multipliers.tolist()}, "
            f"eigenvalues {', '.join(f'{value:.6g}' for value in self.eigenvalues)}>"
        )


class Balance:
    """The equations of an equilibrium in a mode: f = 0, and h = 0 on sliding surfaces.

    The unknowns u are the state, the multipliers of the sliding surfaces, and a parameter if its
    name is given. It is a `VectorProblem` of `numerics.continuation`.

    Parameters
    ----------
    sides : (m,) mode: signs of the surfaces, 0 for sliding
    parameter, span : name of the parameter, and its range for the scale of the unknown
    state : (n,) a state near the equilibrium, for the scales of the unknowns
    """

    def __init__(
        self,
        system: SwitchingSystem,
        sides: Floats,
        parameter: str | None = None,
        span: float = 0.0,
        state: Floats | None = None,
    ) -> None:
        self.system, self.sides, self.parameter = system, sides, parameter
        self.sliding = np.flatnonzero(sides == 0.0)
        self.n = system.compiled.n
        sizes = np.asarray(system.compiled.scale)
        if state is not None:
            sizes = np.maximum(sizes, np.abs(state))
        scale = [sizes, np.ones(self.sliding.size)]
        if parameter is not None:
            scale.append(np.array([max(abs(system.parameter(parameter)), span) or 1.0]))
        self.scale = np.concatenate(scale)
        # (number of the unknown, low, high, name) of the parameter; `branch` sets it
        self.limits: tuple[tuple[int, float, float, str], ...] = ()
        self._last: tuple[float, SwitchingSystem] | None = None

    def system_at(self, u: Floats) -> SwitchingSystem:
        """Return the flow with the parameter of u."""
        if self.parameter is None:
            return self.system
        value = float(u[-1])
        if self._last is None or self._last[0] != value:
            self._last = value, self.system.with_parameter(self.parameter, value)
        return self._last[1]

    def multipliers(self, u: Floats) -> Floats:
        """Return (m,) signs, and the multipliers of sliding surfaces."""
        found = self.sides.copy()
        found[self.sliding] = u[self.n : self.n + self.sliding.size]
        return found

    def field(self, u: Floats) -> Floats:
        """Return the convex combination of the fields with product weights of the multipliers."""
        system, x, s, total = self.system_at(u), u[: self.n], self.multipliers(u), np.zeros(self.n)
        for signs in itertools.product((1.0, -1.0), repeat=self.sliding.size):
            region = s.copy()
            region[self.sliding] = signs
            weight = float(np.prod(0.5 * (1.0 + np.array(signs) * s[self.sliding])))
            total += weight * system.field(x, region)
        return total

    def residual(self, u: Floats) -> Floats:
        """Return (n + r,) x', and h of the sliding surfaces."""
        h = self.system_at(u).surfaces_at(u[: self.n])[self.sliding]
        found = np.concatenate([self.field(u), h])
        if not np.isfinite(found).all():
            raise ModelError(
                "find_equilibrium",
                "fields that are not finite",
                "fields that are defined near the equilibrium",
                "Newton's method evaluates the fields near the guess.",
                "take another guess.",
            )
        return found

    def tolerance(self, u: Floats) -> float:
        """Return 0: Newton's method continues until its increments are zero within rounding."""
        return 0.0

    def jacobian(self, u: Floats) -> Floats:
        """Return (n + r, unknowns) derivatives of the residual by the unknowns."""
        count = self.n + self.sliding.size
        pairs = [self._orders(u, j, _STEP * self.scale[j]) for j in range(count)]
        sizes = np.max([np.abs(p[0]) * d for p, d in zip(pairs, self.scale, strict=False)], axis=0)
        columns = [self._resolved(u, j, pair, sizes) for j, pair in enumerate(pairs)]
        if self.parameter is not None:
            # each value of the parameter makes a system; order 2 is enough for the tangent
            step = 1e-3 * _STEP * self.scale[-1]
            columns.append(self._differences(u, count, step, 1)[0] / (2.0 * step))
        return np.array(columns).T

    def _resolved(self, u: Floats, j: int, pair: Floats, sizes: Floats) -> Floats:
        """Return (n + r,) derivatives of the residual by the state or multiplier j.

        The points move closer until both orders agree, for fields that change over a small part of
        the scale.

        Parameters
        ----------
        pair : (2, n + r) derivatives of orders 6 and 4 over the first distance
        sizes : (n + r,) largest terms of the residual, for their rounding errors
        """
        step, best, found = _STEP * self.scale[j], np.inf, pair[0]
        for level in range(_LEVELS):
            if level:
                step *= _CLOSER
                pair = self._orders(u, j, step)
            noise = 1e-12 * sizes / self.scale[j] + 1e-15 * sizes / step + np.finfo(float).tiny
            off = float((np.abs(pair[0] - pair[1]) / (_RESOLVED * np.abs(pair[0]) + noise)).max())
            if off < best:
                best, found = off, pair[0]
            if off <= 1.0:
                break
        return np.asarray(found)

    def _orders(self, u: Floats, j: int, step: float) -> Floats:
        """Return (2, ...) derivatives of the residual by unknown j, of orders 6 and 4."""
        return np.asarray(np.array(_WEIGHTS) @ self._differences(u, j, step, 3) / step)

    def _differences(self, u: Floats, j: int, step: float, count: int) -> Floats:
        """Return (count, ...) differences of the residual over -+ step, 2 step, ... of u_j."""
        moves = np.outer(np.arange(1.0, count + 1.0) * step, np.arange(u.size) == j)
        return np.array([self.residual(u + move) - self.residual(u - move) for move in moves])

    def linearised(self, u: Floats) -> Dense:
        """Return the derivatives of the residual by the scaled unknowns."""
        return Dense(self.jacobian(u) * self.scale)

    def moved(self, u: Floats, step: Floats) -> Floats:
        """Return u after a scaled step."""
        return np.asarray(u + self.scale * step)

    def margins(self, u: Floats) -> Floats:
        """Return for each surface s_i h_i, or 1 - |multiplier| in sliding; positive in the mode."""
        h, s = self.system_at(u).surfaces_at(u[: self.n]), self.multipliers(u)
        return np.where(self.sides == 0.0, 1.0 - np.abs(s), self.sides * h)


def find_equilibrium(
    system: SwitchingSystem,
    guess: Sequence[float] | Floats,
    mode: str | Sequence[str] | None = None,
) -> Equilibrium:
    """Return the equilibrium or pseudo-equilibrium to which Newton's method converges.

    Parameters
    ----------
    system : a flow that does not depend on time
    guess : (n,) a state near the equilibrium
    mode : "+", "-" or "slide" for each surface; None takes the signs of h at the guess, and "slide"
        if the guess lies on the surface

    Raises
    ------
    ModelError : if an argument is not valid, or the flow depends on time.
    SolveError : if Newton's method does not converge, or the solution lies outside the region of
        the mode.

    Source: di Bernardo et al. 2008, section 5.1.
    Verified by: tests/exact/test_equilibria_of_flows.py::test_branches_of_linear_flows
    """
    where = "find_equilibrium"
    n, m = system.compiled.n, system.compiled.m
    if len(system.start_names) != n:
        needs, why = "a flow that does not depend on time", "an equilibrium is a constant state."
        try_ = "leave the time out of the functions, or use find_cycle."
        raise ModelError(f"{where}.system", "a flow with a clock", needs, why, try_)
    why, try_ = "the search starts at this state.", f"give {n} numbers."
    x = numbers(f"{where}.guess", guess, size=n, per="state", why=why, try_=try_)
    if mode is None:
        h = system.surfaces_at(x)
        reach = np.abs(system.gradient(x)) @ np.maximum(np.abs(x), system.compiled.scale)
        sides = np.where(np.abs(h) <= _ON_SURFACE * reach, 0.0, np.sign(h))
    else:
        given: Any = mode
        words = [given] if isinstance(given, str) or not np.iterable(given) else list(given)
        if len(words) != m or any(word not in [*MODES] for word in words):
            needs, why = f"{m} of '+', '-' and 'slide'", "each surface has a mode."
            raise ModelError(f"{where}.mode", repr(mode), needs, why, "leave this value out.")
        sides = np.array([MODES[word] for word in words])
    problem = Balance(system, sides)
    u = _solved(problem, np.concatenate([x, np.zeros(problem.sliding.size)]))
    found = equilibrium_of(problem, u)
    if not (problem.margins(u) > 0.0).all():
        got = f"a virtual equilibrium, {found.state.tolist()} with multipliers "
        got += str(found.multipliers.tolist())
        needs = "an equilibrium in the region of its mode"
        why = "the field that vanishes there belongs to another mode."
        raise SolveError(explain(where, got, needs, why, "give another mode."))
    return found


def _solved(problem: Balance, u: Floats) -> Floats:
    """Return the solution of the equations by Newton's method; steps are halved if necessary."""
    residual = problem.residual(u)
    for _ in range(_MOST_ITERATIONS):
        jacobian = problem.jacobian(u) * problem.scale
        move = np.asarray(np.linalg.lstsq(jacobian, -residual, rcond=1e-13)[0], dtype=np.float64)
        size, fraction, new = float(np.abs(move).max()), 1.0, None
        if not np.isfinite(size):
            break
        for _ in range(_MOST_HALVINGS):
            there = problem.moved(u, fraction * move)
            try:
                ahead = problem.residual(there)
            except ModelError:
                fraction *= 0.5
                continue
            if float(np.linalg.norm(ahead)) < float(np.linalg.norm(residual)):
                new = there, ahead
                break
            fraction *= 0.5
        if new is None:
            if size <= _NOISE:
                return u
            break
        u, residual = new
        if size <= _CONVERGED:
            return u
    got, needs = f"no convergence, at the state {u[: problem.n].tolist()}", "an equilibrium nearby"
    why = "Newton's method for x' = 0 converges near an equilibrium only."
    try_ = "take a nearer guess, or give the mode."
    raise SolveError(explain("find_equilibrium", got, needs, why, try_))


def _intersection_attracts(problem: Balance, u: Floats) -> bool:
    """Return whether nearby states reach two sliding surfaces: no other direction leaves them.

    The relays of both surfaces switch at different times, so that the eigenvalues of grad h F_s do
    not decide; orbits may spiral outward.
    """
    system, (i, j) = problem.system_at(u), problem.sliding.tolist()
    path = Trajectory(system, Tolerance(1e-10), np.empty(0))
    path.flow.y[: problem.n], path.flow.sides[:] = u[: problem.n], problem.sides
    directions = directions_of(path.directions(i, j))
    return len(directions) == 1 and directions[0].kind == "codim2_sliding"


def equilibrium_of(problem: Balance, u: Floats) -> Equilibrium:
    """Return the equilibrium at a solution of the equations.

    In sliding the multipliers s follow from h' = 0, so that the sliding flow has the Jacobian
    F_x - F_s (grad h F_s)^-1 grad h F_x along the surfaces, with the derivatives F_x and F_s of the
    field by the state and by the multipliers.
    """
    n, r = problem.n, problem.sliding.size
    jacobian = problem.jacobian(u)
    flow, attracting = jacobian[:n, :n], True
    if r:
        by_multiplier, normals = jacobian[:n, n : n + r], jacobian[n:, :n]
        across = normals @ by_multiplier
        attracting = (
            _intersection_attracts(problem, u)
            if r == 2
            else bool((np.linalg.eigvals(across).real < 0.0).all())
        )
        flow = flow - by_multiplier @ np.linalg.lstsq(across, normals @ flow, rcond=None)[0]
        along = np.linalg.svd(normals * problem.scale[:n])[2][r:].T
        scaled = flow * problem.scale[:n] / problem.scale[:n, None]
        flow = along.T @ scaled @ along
    values = np.linalg.eigvals(flow).astype(np.complex128)
    order = np.argsort(-values.real, kind="stable")
    return Equilibrium(
        problem.system_at(u), u[:n].copy(), problem.multipliers(u), values[order], attracting
    )
