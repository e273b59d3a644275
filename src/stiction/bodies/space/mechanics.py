"""Masses, loads, surfaces and supports of rigid bodies in space, as arrays for time steps.

`run.Stepper` calls the methods, which are those of `bodies.mechanics.Mechanics`. The columns of a
place q (n, 7) are x, y, z [m] and a quaternion (w, x, y, z); those of a velocity v (n, 6) are v_x,
v_y, v_z [m/s] and three spins [rad/s]; those of a load three forces [N] and three moments [N m].

A body turns about its principal axes: the quaternion of its state turns these to the axes of space,
and its spin has its components along them. The mass matrix is then diagonal and constant. Results
have the frame of the shape, and spins in the axes of space (`to_frames`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from stiction.bodies.space.contact_kernels import SpatialContact, know_by_place
from stiction.bodies.space.contacts import SpatialSurfaces, local_problem, surfaces_of
from stiction.bodies.space.exact_stick import stop_resting
from stiction.bodies.space.hinges import SpatialHinges
from stiction.bodies.space.rotation import (
    conjugate,
    matrices,
    product,
    quaternion,
    turn_freely,
)
from stiction.bodies.space.springs import SpatialSprings
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.blocks import Local

if TYPE_CHECKING:
    from stiction.bodies.space.model import SpatialBodies, SpatialBody, SpatialSupport

__all__ = ["SpatialMechanics"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

# products and differences of moments of inertia below this fraction of them are rounding
_ROUNDING = 1e-14


class SpatialMechanics:
    """Masses, loads, surfaces and supports of a system; times count from the start.

    It has the methods of `bodies.mechanics.Mechanics` that a time step calls.

    Attributes
    ----------
    n, size : number of bodies, and smallest thickness of one [m]
    inertia : (n, 3) principal moments of inertia [kg m^2]
    mass, inverse : (n, 6) diagonal of the mass matrix; (m, 6) its reciprocals, 0 of supports
    reach : (m,) largest distance of a point of a part from its centre [m]
    support_pose, support_velocity : (s, 7) places of supports at the start, (s, 6) velocities
    separate : (m, m) whether two parts never touch
    """

    components: ClassVar[int] = 3
    # of contact problems: rounding of four contacts of an edge that slips is above 1e-12
    tolerance: ClassVar[float] = 1e-11

    def __init__(self, system: SpatialBodies) -> None:
        self.n, self.size = system.n, system.size
        self._mu, self._e = system.contact_numbers()
        self.poisson = system.impact_law == "poisson"
        self.separate = system.separate()
        self._all_touch = not self.separate.any()
        found = [_principal(body.moments_of_inertia) for body in system.bodies]
        self.inertia = np.array([moments for moments, _ in found])
        axes = np.array([turn for _, turn in found] + [np.eye(3)] * len(system.supports))
        # quaternions that turn the principal axes to the frames of the shapes; identities stay
        # exact
        self._own = np.array([quaternion(turn) for turn in axes[: self.n]])
        parts: list[SpatialBody | SpatialSupport] = [*system.bodies, *system.supports]
        shapes = [part.shape for part in parts]
        self.surfaces: SpatialSurfaces = surfaces_of(shapes, axes, self.n)
        mass = np.array([body.mass for body in system.bodies])[:, None]
        self.mass = np.concatenate([np.repeat(mass, 3, axis=1), self.inertia], axis=1)
        self.inverse = np.concatenate([1.0 / self.mass, np.zeros((len(system.supports), 6))])
        self._force = mass * np.asarray(system.gravity) + [b.force for b in system.bodies]
        self._moment = np.array([b.moment for b in system.bodies], dtype=np.float64)
        self.reach = np.ascontiguousarray(self.surfaces.table["reach"])
        places = [[*s.position, *_of_unit(s.orientation)] for s in system.supports]
        moves = [[*s.velocity, 0.0, 0.0, 0.0] for s in system.supports]
        self.support_pose = np.array(places, dtype=np.float64).reshape(-1, 7)
        self.support_velocity = np.array(moves, dtype=np.float64).reshape(-1, 6)
        self._start = system.start()
        self.springs = self._springs(system, axes) if system.springs else None
        at_start = self.pose(0.0, self.start()[0]), self.inverse, self.reach, self.n
        self.hinges = SpatialHinges(system.hinges, *at_start) if system.hinges else None

    def _springs(self, system: SpatialBodies, axes: Floats) -> SpatialSprings:
        """Return the springs; axes (m, 3, 3): principal axes of the parts in their columns."""
        springs = system.springs
        points = np.array([[s.on_first, s.on_second] for s in springs], dtype=np.float64)
        parts = np.array([[s.first, s.second] for s in springs]) - 1
        own = (points[..., None, :] @ axes[parts])[..., 0, :]
        inverse = np.stack([self.inverse[:, 0], self.inverse[:, 3:].max(axis=1)], axis=1)
        pose = self.pose(0.0, self.start()[0])
        return SpatialSprings(springs, own, pose, inverse, self.reach[: self.n])

    def mu(self, contacts: Table[SpatialContact]) -> Floats:
        """Return (c,) coefficients of friction."""
        return np.asarray(self._mu[contacts["first"], contacts["second"]])

    def restitution(self, contacts: Table[SpatialContact]) -> Floats:
        """Return (c,) coefficients of restitution."""
        return np.asarray(self._e[contacts["first"], contacts["second"]])

    def start(self) -> tuple[Floats, Floats]:
        """Return (n, 7) places and quaternions, and (n, 6) velocities, of the principal axes."""
        q, v = (one.copy() for one in self._start)
        q[:, 3:] = product(np.apply_along_axis(_of_unit, 1, q[:, 3:]), self._own)
        # the spin about the principal axes, the columns of the matrix
        v[:, 3:] = (v[:, None, 3:] @ matrices(q[:, 3:]))[:, 0]
        return q, v

    def to_frames(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return quaternions (..., n, 4) of the shapes' frames, and spins in the axes of space."""
        turned = q[..., 3:] / np.linalg.norm(q[..., 3:], axis=-1, keepdims=True)
        spin = (matrices(turned) @ v[..., 3:, None])[..., 0]
        return product(turned, conjugate(self._own)), spin

    def pose(self, time: Floats | float, q: Floats) -> Floats:
        """Return (..., m, 7) places of bodies (..., n, 7), then of supports at times (...)."""
        moved = np.tile(self.support_pose, (*np.shape(time), 1, 1))
        moved[..., :3] += np.asarray(time)[..., None, None] * self.support_velocity[:, :3]
        return np.concatenate([q, moved], axis=-2)

    def velocity(self, v: Floats) -> Floats:
        """Return (..., m, 6) velocities of bodies (..., n, 6), then of supports."""
        shape = (*v.shape[:-2], *self.support_velocity.shape)
        return np.concatenate([v, np.broadcast_to(self.support_velocity, shape)], axis=-2)

    def kinetic(self, v: Floats) -> float:
        """Return the kinetic energy [J]."""
        return 0.5 * float((self.mass * v * v).sum())

    def rounding(self, q: Floats) -> float:
        """Return the rounding of gaps of hinges [m]: that of coordinates."""
        places = (q[:, :3], self.support_pose[:, :3], self.reach[: self.n])
        largest = max(float(np.abs(each).max(initial=0.0)) for each in places)
        return 64.0 * float(np.finfo(float).eps) * largest

    def spins(self, v: Floats) -> Floats:
        """Return (n,) magnitudes of angular velocities [rad/s]."""
        return np.asarray(np.linalg.norm(v[:, 3:], axis=1))

    # ---- a step: free motion to its middle, impulses there, free motion to its end

    def halfway(self, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats]:
        """Return places and velocities of free bodies after half a step."""
        q, v = q.copy(), v.copy()
        q[:, :3] += 0.5 * h * v[:, :3]
        turn_freely(self.inertia, q, v, 0.5 * h)
        return q, v

    def end(
        self, q: Floats, halfway: Floats, mean: Floats, after: Floats, h: float
    ) -> tuple[Floats, Floats]:
        """Return places and velocities at the end of a step of length h from q.

        `halfway` are places at its middle, `mean` mean velocities, `after` those after its
        impulses.
        """
        last, v = halfway.copy(), after.copy()
        last[:, :3] = q[:, :3] + h * mean[:, :3]
        turn_freely(self.inertia, last, v, 0.5 * h)
        return last, v

    def given_loads(self, halfway: Floats) -> Floats:
        """Return (n, 6) constant forces, and moments about the principal axes [N], [N m]."""
        moment = self._moment
        if moment.any():
            moment = (moment[:, None] @ matrices(halfway[:, 3:]))[:, 0]
        return np.concatenate([self._force, moment], axis=1)

    def no_contacts(self) -> Table[SpatialContact]:
        """Return an empty array of contacts."""
        return SpatialContact.table(0)

    def contacts(self, pose: Floats, within: float) -> Table[SpatialContact]:
        """Return the contacts of parts that may touch whose gap is at most `within` [m]."""
        found = self.surfaces.contacts(pose, within)
        if self._all_touch:
            return found
        touching: Table[SpatialContact] = found[~self.separate[found["first"], found["second"]]]
        return touching

    def know(
        self,
        last: npt.NDArray[Any],
        contacts: Table[SpatialContact],
        within: float,
        old: Wholes,
    ) -> None:
        """Write into `old` (c,) the numbers in `last` of contacts that are known by place alone."""
        know_by_place(cast("Table[SpatialContact]", last), contacts, within, old)

    def contact_velocities(self, contacts: Table[SpatialContact], v: Floats) -> Floats:
        """Return (c, 3) velocities J v of contacts; v (m, 6) of bodies, then of supports."""
        rows, ends = contacts["rows"], (contacts["first"], contacts["second"])
        u = sum((rows[:, side] @ v[end][..., None])[..., 0] for side, end in enumerate(ends))
        return np.asarray(u)

    def problem(self, contacts: Table[SpatialContact], q: Floats) -> Local:
        """Return the problem u = W r + q; q (c, 3) are velocities before contact forces [m/s]."""
        return local_problem(contacts, self.inverse, self.n, q, self.mu(contacts))

    def add_impulses(self, contacts: Table[SpatialContact], r: Floats, v: Floats) -> None:
        """Add the velocities that impulses (c, 3) give to v (m, 6), in place."""
        for side, end in enumerate((contacts["first"], contacts["second"])):
            load = (r[:, None] @ contacts["rows"][:, side])[:, 0]
            np.add.at(v, end, self.inverse[end] * load)

    def stop_resting(
        self, contacts: Table[SpatialContact], closed: Bools, stick: Bools, v: Floats
    ) -> None:
        """Give bodies the velocities that their contacts with supports fix, in place."""
        stop_resting(contacts, closed, stick, self.reach, v, self.n)

    def in_axes(self, contacts: Table[SpatialContact], r: Floats) -> Floats:
        """Return (c, 3) impulses or forces on the first bodies, in the axes of space."""
        return np.asarray((r[:, None] @ contacts["rows"][:, 0, :, :3])[:, 0])


def _of_unit(given: npt.ArrayLike) -> Floats:
    """Return a quaternion (4,) divided by its length."""
    value = np.asarray(given, dtype=np.float64)
    return np.asarray(value / np.linalg.norm(value))


def _principal(inertia: Floats) -> tuple[Floats, Floats]:
    """Return (3,) principal moments of inertia (3, 3), and (3, 3) their axes in the columns.

    The axes of the frame are principal where products of inertia are rounding, and moments that
    differ by rounding are equal: a body without gyroscopic moments has none.
    """
    moments, axes = np.diag(inertia).copy(), np.eye(3)
    if np.abs(inertia - np.diag(moments)).max() > _ROUNDING * moments.max():
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
    if np.ptp(moments) <= _ROUNDING * moments.max():
        moments[:] = moments.mean()
    return moments, axes
