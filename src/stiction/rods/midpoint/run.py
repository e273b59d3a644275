"""The implicit midpoint rule for rods with bilateral rolling contacts.

Each step of length h solves 2 M (u / h - v) / h = f(midpoint) + J^T lam and J u = 0 by Newton's
method. Unknowns are u, the change of positions and frames over the step, and the contact forces
lam. The tangent is banded; its Schur complement gives an equation for lam alone. M holds masses and
inertias, v the velocities at the start of the step, J the Jacobian of the slip; `now` is the time
at the start of a step [s].

Source: formulas sheet (docs/formulas/rods.md), sections 3 and 6.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import StateArray
from stiction.core.driver import Pause
from stiction.core.run import Request, Run
from stiction.errors import ModelError, Status
from stiction.rods import rod_kernels as rk
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.gauss_seidel_kernels import locate_all
from stiction.rods.contact.overlap import refuse_overlap
from stiction.rods.driving_kernels import (
    add_loads,
    clamp_energy,
    clamp_power,
    follow_clamps,
    internal_damping,
)
from stiction.rods.leapfrog import stepper_kernels as mk
from stiction.rods.leapfrog.run import LeapfrogStepper
from stiction.rods.midpoint.kernels import (
    BAND,
    banded,
    constraint_jacobian,
    difference_forces,
    turned,
)
from stiction.rods.model import Rods, RodSystem
from stiction.rods.rod_kernels import (
    elastic,
)

if TYPE_CHECKING:
    from stiction.rods.methods import RollingMidpoint

__all__ = ["run_midpoint"]

Floats = npt.NDArray[np.float64]


def run_midpoint(system: RodSystem, method: RollingMidpoint, request: Request) -> Run:
    """Return the run of `system`.

    Raises
    ------
    ModelError : if contacts may slip or open, an end slides, or there are rigid partners.
    """
    from stiction.rods.outcome import build_run

    rods = system.assembled()
    slipping = [i for i, c in enumerate(rods.contacts, 1) if c.friction is not None]
    if slipping or rods.search is not None or any(c.may_open for c in rods.contacts):
        raise ModelError(
            "RollingMidpoint",
            "contacts that may slip or open",
            "contacts that roll perfectly, or none",
            "Coulomb's law is not part of the implicit equations.",
            "solve with RollingLeapfrog.",
        )
    if any(rod.slides for rod in rods.rods):
        got, needs = "a sliding end", "fixed or free ends"
        why = "sliding ends are not part of the implicit equations."
        try_ = "solve with RollingLeapfrog."
        raise ModelError("RollingMidpoint", got, needs, why, try_)
    if rods.partners:
        raise ModelError(
            "RollingMidpoint",
            "rigid partners",
            "contacts between rods, or none",
            "motion of partners is not part of the implicit equations.",
            "solve with RollingLeapfrog.",
        )
    stepper = _Midpoint(rods, method, request)
    stepper.integrate()
    return build_run(system, rods, method, stepper.history())


class _Midpoint(LeapfrogStepper):
    """Stepper of the midpoint rule; `LeapfrogStepper` saves states, events and checkpoints.

    Attributes
    ----------
    change : (6 slots,) unknowns of the step: displacements [m] and rotation vectors [rad]
    middle : r, q, v, p at the midpoint of the step
    lam : (3 contacts,) contact forces [N], those of the last step as the first iterate
    arm : (slots, 6) 1 for forces, the rest length of the rod for torques [m]
    """

    def __init__(self, rods: Rods, method: RollingMidpoint, request: Request) -> None:
        self.implicit = method
        bounds = method.as_leapfrog()
        super().__init__(rods, bounds, request, limited=False)
        slots = self.flat.r.shape[1]
        self.change = np.zeros(6 * slots)
        self.iterations, self.middle = 0, self._copies()
        self.lam = np.zeros(3 * self.contact_state.size)
        self.rounding = 1e-13 * max(rod.section.axial_stiffness for rod in rods.rods)
        # torques over the rest length of their rod are compared with forces
        self.arm = np.ones((slots, 6))
        for first, rod in zip(self.flat.first.tolist(), rods.rods, strict=True):
            self.arm[first : first + rod.elements, 3:] = rod.rest_length

    def _copies(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return copies of r, q, v, p."""
        f = self.flat
        return f.r.copy(), f.q.copy(), f.v.copy(), f.p.copy()

    def _start(self) -> None:
        """Save the first sample; velocities belong to the saved times, without a half kick."""
        self._project_start()
        self._observe(0, self.flat.v.copy(), self.flat.p.copy())
        self._note_start()
        refuse_overlap(self.overlap, self.flat.rods)

    def _state(self) -> dict[str, StateArray]:
        # the next step starts Newton's method from these forces
        return {**super()._state(), "lam": StateArray(self.lam)}

    def _interval(self, k: int) -> Generator[Pause, None, bool]:
        """Integrate from saved time k to the next; return False if a step fails."""
        h = float(self.h[k])
        for j in range(int(self.counts[k])):
            now = float(self.save[k]) + j * h
            if not self._step(h, now):
                self.status = Status.UNCONVERGED
                self.reason = f"Newton's method did not converge at t = {now:.9g} s"
                return False
            self.now.steps += 1
            code, contact = locate_all(self.flat.r, self.contact_state.contacts)
            if code != ck.INSIDE:
                self._stop(code, contact, now + h)
                return False
            self._note_extremes(1.0 / h, now + h)
            self.sums[0].time = now + h
            if self.contact_state.limit > 0.0 and mk.has_moved(
                self.flat.r, self.built, self.contact_state.limit
            ):
                self._search()
            if j % 64 == 63:
                yield self._pause(k, j / int(self.counts[k]))
        self.v_old[:], self.p_old[:] = self.flat.v, self.flat.p
        self._discard_half_kick()
        self.contact_state.contacts["kick_heat"] = 0.0
        return True

    def _damped_over(self, k: int) -> float:
        # damping acts on the velocities at the midpoint, without half kicks
        return 0.0

    # ---- one step

    def _step(self, h: float, now: float) -> bool:
        """Take one step of h [s] from time `now`; return whether Newton's method converged."""
        f = self.flat
        slots = f.r.shape[1]
        if f.driven.shape[0]:
            before = clamp_energy(f.q, f.v, f.p, f.mat, f.driven)
            follow_clamps(f.r, f.q, f.v, f.p, f.driven, f.times, f.factors, now, h)
            gained = clamp_energy(f.q, f.v, f.p, f.mat, f.driven) - before
            self.sums[0].external += gained
        unknown = self.change
        spin = self._spin(f.p, f.q)
        # first iterate: constant velocities
        unknown.reshape(slots, 6)[:, :3], unknown.reshape(slots, 6)[:, 3:] = h * f.v.T, h * spin.T
        best = np.inf
        for iteration in range(self.implicit.max_iterations):
            residual, scale = self._residual(unknown, h, now)
            jacobian = self._jacobian()
            slip = jacobian @ unknown
            # strains are differences of positions: their rounding is a force of this size
            scale = max(scale, self.rounding / self.implicit.tolerance)
            size = float(np.abs(residual / self.arm.ravel()).max()) / scale
            # rounding of the slip is relative to the terms of its sum
            terms = float((np.abs(jacobian) @ np.abs(unknown)).max(initial=0.0))
            satisfied = float(np.abs(slip).max(initial=0.0)) <= 1e-13 * max(terms, 1e-300)
            if size <= self.implicit.tolerance and satisfied:
                slipped = float(np.linalg.norm(slip.reshape(-1, 3), axis=1).max(initial=0.0))
                self.tally[0].rolling_slip = max(self.tally[0].rolling_slip, slipped / h)
                return self._accept(h)
            if not np.isfinite(size) or (iteration > 8 and size > 1e3 * best):
                return False
            best = min(best, size)
            try:
                self._correct(unknown, residual, jacobian, slip, h)
            except np.linalg.LinAlgError:
                # contacts that constrain the same velocities have no unique forces
                return False
            self.iterations += 1
        return False

    def _spin(self, p: Floats, q: Floats) -> Floats:
        """Return (3, slots) angular velocities p - (p . d3) d3 / 2 [rad/s]."""
        from stiction.rods.assembly import third_directors

        axis = third_directors(q)
        return np.asarray(p - 0.5 * (p * axis).sum(axis=0) * axis)

    def _update_forces(self, now: float) -> None:
        self._forces_at(self.flat.r, self.flat.q, now)

    def _forces_at(self, r: Floats, q: Floats, now: float) -> None:
        """Compute elastic forces plus loads at positions r and frames q, and the loads alone."""
        f, (force, torque) = self.flat, rk.forces_of(self.scratch)
        elastic(r, q, f.mat, *mk.strains_of(self.scratch), force, torque)
        if self.flags.loaded:
            fe, te = rk.loads_of(self.scratch)
            add_loads(force, torque, f.constant, f.loads, f.times, f.factors, now, fe, te)

    def _forces(self, h: float, now: float) -> tuple[Floats, Floats]:
        """Return forces and torques at the midpoint [N], [N m]."""
        f = self.flat
        r, q, v, p = self.middle
        force, torque = rk.forces_of(self.scratch)
        self._forces_at(r, q, now + 0.5 * h)
        on = self.flags
        if on.retarded:
            internal_damping(r, q, v, p, f.mat, f.drags.retardation, self.work[:3], self.work[3:6])
            force += self.work[:3]
            torque += self.work[3:6]
        if on.damped:
            force -= f.drags.node * v
            torque -= f.drags.element * self._spin(p, q)
        return force, torque

    def _residual(self, unknown: Floats, h: float, now: float) -> tuple[Floats, float]:
        """Return the residual (6 slots,) and the scale of its forces [N]; set the midpoint.

        The residual is 2 M (u / h - v) / h - f(midpoint) - J^T lam, zero for fixed unknowns.
        """
        f = self.flat
        r, q, v, p = self.middle
        change = unknown.reshape(-1, 6)
        r[:] = f.r + 0.5 * change[:, :3].T
        turned(f.q, change, 0.5, q)
        v[:] = change[:, :3].T / h
        spin = change[:, 3:].T / h
        from stiction.rods.assembly import third_directors

        axis = third_directors(q)
        p[:] = spin + (spin * axis).sum(axis=0) * axis
        force, torque = self._forces(h, now)
        rod = f.material
        mass, inertia = rod.mass, rod.inertia
        out = np.empty_like(change)
        free, turns = rod.free > 0.0, rod.turns > 0.0
        push = 2.0 / h * mass * (v - f.v)
        twist = 2.0 / h * inertia * (p - f.p)
        locate_all(r, self.contact_state.contacts)
        jacobian = self._jacobian()
        pull = (self.lam @ jacobian).reshape(-1, 6)
        out[:, :3] = np.where(free, push - force, 0.0).T
        out[:, 3:] = np.where(turns, twist - torque, 0.0).T
        satisfied = np.column_stack(
            [np.repeat(free[:, None], 3, 1), np.repeat(turns[:, None], 3, 1)]
        )
        out -= np.where(satisfied, pull, 0.0)
        elastic_force, _ = mk.strains_of(self.scratch)
        pulled = np.abs(pull / self.arm).max()
        scale = float(np.abs(push).max() + np.abs(elastic_force).max() + pulled)
        return out.ravel(), scale

    def _jacobian(self) -> Floats:
        """Return J (3 contacts, 6 slots) at the midpoint."""
        t = self.contact_state
        jacobian = np.zeros((3 * t.size, self.change.size))
        constraint_jacobian(t.contacts, jacobian)
        return jacobian

    def _correct(
        self, unknown: Floats, residual: Floats, jacobian: Floats, slip: Floats, h: float
    ) -> None:
        """Take one Newton step in `unknown` and lam.

        Elimination: u = u0 + A^-1 J^T lam with J u = -slip gives (J A^-1 J^T) lam = -slip - J u0.
        """
        from scipy.linalg import solve_banded

        f = self.flat
        table = difference_forces(
            f.r, f.q, f.mat, f.drags.retardation, self.flags, unknown, h, self.scratch, self.work
        )
        matrix = banded(table, f.mat, self.middle[1], h)
        # one solution for the residual, and one for each column of J^T
        free = np.repeat(np.array([f.material.free, f.material.turns]) > 0.0, 3, axis=0).T.ravel()
        allowed = jacobian * free
        right = np.column_stack([-residual, allowed.T])
        solutions = solve_banded((BAND, BAND), matrix, right, check_finite=False)
        step = solutions[:, 0]
        if jacobian.size and np.any(allowed):
            active = np.abs(allowed).max(axis=1) > 0.0
            schur = jacobian[active] @ solutions[:, 1:][:, active]
            force = np.linalg.solve(schur, -slip[active] - jacobian[active] @ step)
            self.lam[active] += force
            step = step + solutions[:, 1:][:, active] @ force
        unknown += np.where(free, step, 0.0)

    def _accept(self, h: float) -> bool:
        """Accept the step: energy accounting at the midpoint, then the state at its end."""
        f = self.flat
        _, _, v, p = self.middle
        on, free, turns = self.flags, f.material.free > 0.0, f.material.turns > 0.0
        fe, te = rk.loads_of(self.scratch)
        spin = self._spin(p, self.middle[1])
        if on.loaded:
            self.sums[0].external += h * float((fe * v).sum() + (te * spin).sum())
        if on.retarded:
            power = float((self.work[:3] * v).sum() + (self.work[3:6] * spin).sum())
            self.sums[0].viscous -= h * power
        if on.damped:
            power = float((f.drags.node * v**2).sum() + (f.drags.element * spin**2).sum())
            self.sums[0].viscous += h * power
        if f.driven.shape[0]:
            pull = (self.lam @ self._jacobian()).reshape(-1, 6).T
            force, torque = rk.forces_of(self.scratch)
            force, torque = force + pull[:3], torque + pull[3:]
            work = clamp_power(self.middle[1], v, p, force, torque, f.driven)
            self.sums[0].external -= h * work
        # state at the end: r + u, and velocities by 2 u / h - v
        change: Any = self.change.reshape(-1, 6)
        f.r[:] += change[:, :3].T
        turned(f.q.copy(), change, 1.0, f.q)
        f.v[:] = np.where(free, 2.0 * v - f.v, f.v)
        f.p[:] = np.where(turns, 2.0 * p - f.p, f.p)
        self.contact_state.impulse[:] = h * self.lam.reshape(-1, 3)
        return True
