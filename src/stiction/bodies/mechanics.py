"""Masses, loads, surfaces and supports of rigid bodies in the plane, as arrays for both methods.

A part is a body or a support; supports are numbered after the bodies. Arrays of bodies have n rows,
those of all parts m rows. The three columns of a place q are x, y [m] and the angle [rad], those of
a velocity v are v_x, v_y [m/s] and the spin [rad/s], those of a load two forces [N] and a moment
[N m]. The mass matrix is diagonal: (mass, mass, moment of inertia) of each body.

`run.Stepper` and `event_driven.run.Integrator` make a `Mechanics` of a system and call its methods;
`space.mechanics.SpatialMechanics` has the same methods for bodies in space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies import exact_stick, impulse_kernels
from stiction.bodies.contact_kernels import Contact
from stiction.bodies.contacts import Surfaces, local_problem, surfaces_of
from stiction.bodies.joints.hinges import Hinges
from stiction.bodies.joints.springs import springs_of
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.blocks import Local

if TYPE_CHECKING:
    from stiction.bodies.model import RigidBodies

__all__ = ["Mechanics"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Mechanics:
    """Masses, loads, surfaces and supports of a system; times count from the start.

    Attributes
    ----------
    components : number of components of the velocity of a contact, and of that of a centre of mass
    tolerance : of contact problems, relative; Newton's method ends far below it
    n, size : number of bodies, and smallest thickness of one [m]
    poisson : whether the impact law is Poisson's, else Newton's
    mass, force : (n, 3) diagonal of the mass matrix [kg], [kg m^2]; constant loads [N], [N m]
    inverse : (m, 3) reciprocals of the masses, 0 of supports
    reach : (m,) largest distance of a point of a part from its centre [m]
    arms : (n, 3) factors 1, 1, reach: with them the three velocities of a body are all in [m/s]
    support_pose, support_velocity : places of supports at the start, and their velocities
    separate : (m, m) whether two parts never touch
    """

    components: ClassVar[int] = 2
    tolerance: ClassVar[float] = 1e-12

    def __init__(self, system: RigidBodies) -> None:
        self.n, self.size, self._start = system.n, system.size, system.start()
        self.surfaces: Surfaces = surfaces_of(system)
        self._mu, self._e = system.contact_numbers()
        self.poisson = system.impact_law == "poisson"
        self.mass = np.array([[b.mass, b.mass, b.moment_of_inertia] for b in system.bodies])
        self.inverse = np.concatenate([1.0 / self.mass, np.zeros((len(system.supports), 3))])
        self.force = system.loads()
        self.springs = springs_of(system) if system.springs else None
        self.separate = system.separate()
        self._all_touch = not self.separate.any()
        self.reach = np.asarray(self.surfaces.table["reach"])
        self.arms = np.ones((self.n, 3))
        self.arms[:, 2] = self.reach[: self.n]
        self.support_pose = system.places()[self.n :]
        start = system.places(), self.inverse, self.reach, self.n
        self.hinges = Hinges(system.hinges, *start) if system.hinges else None
        moved = [[*s.velocity, 0.0] for s in system.supports]
        self.support_velocity = np.array(moved, dtype=np.float64).reshape(-1, 3)
        self._load = float(np.abs(self.arms * self.force / self.mass).max())

    def mu(self, contacts: npt.NDArray[Any]) -> Floats:
        """Return (c,) coefficients of friction of contacts, open or closed."""
        return np.asarray(self._mu[contacts["first"], contacts["second"]])

    def restitution(self, contacts: npt.NDArray[Any]) -> Floats:
        """Return (c,) coefficients of restitution of contacts, open or closed."""
        return np.asarray(self._e[contacts["first"], contacts["second"]])

    def pose(self, time: Floats | float, q: Floats) -> Floats:
        """Return (..., m, 3) places of bodies (..., n, 3), then of supports at times (...)."""
        moved = np.asarray(time)[..., None, None] * self.support_velocity + self.support_pose
        return np.concatenate([q, moved], axis=-2)

    def velocity(self, v: Floats) -> Floats:
        """Return (..., m, 3) velocities of bodies (..., n, 3), then of supports."""
        shape = (*v.shape[:-2], *self.support_velocity.shape)
        return np.concatenate([v, np.broadcast_to(self.support_velocity, shape)], axis=-2)

    def loads(self, time: Floats | float, q: Floats, v: Floats) -> Floats:
        """Return (..., n, 3) loads with those of springs, at times from the start [N], [N m].

        Without springs they have the shape (n, 3).
        """
        if self.springs is None:
            return self.force
        elastic, viscous = self.springs.loads(self.pose(time, q), self.velocity(v))
        return np.asarray(self.force + (elastic + viscous)[..., : self.n, :])

    def sizes(self, time: Floats | float, q: Floats, v: Floats) -> Floats:
        """Return (..., n, 3) sums of absolute loads, to which rounding is relative [N], [N m]."""
        if self.springs is None:
            return np.abs(self.force)
        own = self.springs.sizes(self.pose(time, q), self.velocity(v))
        return np.asarray(np.abs(self.force) + own)

    def largest_load(self, time: Floats | float, q: Floats, v: Floats) -> Floats | float:
        """Return a bound of the acceleration of surfaces by loads, (..., 1, 1) [m/s^2]."""
        if self.springs is None:
            return self._load
        each = self.arms * self.sizes(time, q, v) / self.mass
        return np.asarray(each.max(axis=(-2, -1), keepdims=True))

    def noise(self, q: Floats) -> Floats:
        """Return (n,) rounding of accelerations by springs, from that of places [m/s^2]."""
        if self.springs is None:
            return np.zeros(self.n)
        return 0.125 * self.rounding(q) * self.springs.sensitivity()

    def kinetic(self, v: Floats) -> float:
        """Return the kinetic energy [J]."""
        return 0.5 * float((self.mass * v * v).sum())

    def speed(self, v: Floats) -> float:
        """Return the largest speed of a point of a body or a support [m/s]."""
        own = float(np.abs(self.arms * v).max())
        return max(own, float(np.abs(self.support_velocity).max(initial=0.0)))

    def rounding(self, q: Floats) -> float:
        """Return the rounding of gaps [m]: 64 eps times the largest coordinate or size."""
        largest = max(float(np.abs(q[:, :2]).max()), float(self.reach[: self.n].max()))
        largest = max(largest, float(np.abs(self.support_pose[:, :2]).max(initial=0.0)))
        return 64.0 * float(np.finfo(float).eps) * largest

    # ---- methods that a time step calls; `space.mechanics` has the same ones

    def start(self) -> tuple[Floats, Floats]:
        """Return (n, 3) places and velocities at the start."""
        return self._start

    def halfway(self, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats]:
        """Return places and velocities of free bodies after half a step."""
        return q + 0.5 * h * v, v

    def end(
        self, q: Floats, halfway: Floats, mean: Floats, after: Floats, h: float
    ) -> tuple[Floats, Floats]:
        """Return places and velocities at the end of a step of length h from q.

        `mean` are its mean velocities, `after` those after its impulses. The places `halfway` at
        its middle are for bodies in space only.
        """
        return q + h * mean, after

    def given_loads(self, halfway: Floats) -> Floats:
        """Return (n, 3) constant loads [N], [N m]."""
        return self.force

    def spins(self, v: Floats) -> Floats:
        """Return (n,) magnitudes of angular velocities [rad/s]."""
        return np.abs(v[:, 2])

    def no_contacts(self) -> Table[Contact]:
        """Return an empty array of contacts."""
        return Contact.table(0)

    def contacts(self, pose: Floats, within: float) -> Table[Contact]:
        """Return the contacts of parts that may touch whose gap is at most `within` [m]."""
        found = self.surfaces.contacts(pose, within)
        if self._all_touch:
            return found
        touching: Table[Contact] = found[~self.separate[found["first"], found["second"]]]
        return touching

    def contact_velocities(self, contacts: Table[Contact], v: Floats) -> Floats:
        """Return (c, 2) velocities of contacts; v (m, 3) of bodies, then of supports."""
        u = np.empty((len(contacts), 2))
        impulse_kernels.contact_velocities(contacts, v, u)
        return u

    def problem(self, contacts: Table[Contact], q: Floats) -> Local:
        """Return the problem u = W r + q; q (c, 2) are velocities before contact forces [m/s]."""
        return local_problem(contacts, self.inverse, self.n, q, self.mu(contacts))

    def add_impulses(self, contacts: Table[Contact], r: Floats, v: Floats) -> None:
        """Add the velocities that impulses (c, 2) give to v (m, 3), in place."""
        impulse_kernels.add_impulses(contacts, r, self.inverse, v)

    def stop_resting(
        self, contacts: Table[Contact], closed: Bools, stick: Bools, v: Floats
    ) -> None:
        """Give bodies that are fixed to a support its velocity, in place."""
        exact_stick.stop_resting(contacts, closed, stick, self.reach, v, self.n)

    def in_axes(self, contacts: Table[Contact], r: Floats) -> Floats:
        """Return (c, 2) components along x and y of impulses or forces r, normal and tangential."""
        normal = np.asarray(contacts["normal"])
        tangent = np.stack([normal[:, 1], -normal[:, 0]], axis=1)
        return np.asarray(r[:, :1] * normal + r[:, 1:] * tangent)
