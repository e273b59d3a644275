"""Springs and dampers of rigid bodies: their forces, energies, and bounds of their frequencies.

The tension of a spring of length l, with the stiffness k, the length l0 without force and the
damping c, is k (l - l0) + c dl/dt, and acts along the line of its ends. A step of `TimeStepper`
takes the elastic part at the places in the middle of the step; without contacts the scheme is then
the leapfrog. It takes the viscous part at the velocities before the step. `EventDriven` takes both
at the points of its steps. `Mechanics` owns the springs of a system.

A place has the columns x, y [m], angle [rad], a velocity v_x, v_y [m/s], spin [rad/s], a load two
forces [N] and a moment [N m]; leading axes (...) are times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from stiction.bodies.model import RigidBodies, Spring

__all__ = ["Springs", "springs_of", "turned"]

Floats = npt.NDArray[np.float64]


class Springs:
    """The springs of a system; places (..., m, 3) are those of bodies, then of supports.

    `bodies.space.springs` has those in space, with d = 3 components of a point instead of 2.

    Parameters
    ----------
    springs : the s springs of the model
    points : (s, 2, d) points of both ends, in the frames of the parts [m]
    pose : (m, 3) places at the start
    inverse : (m, 2) inverse masses and moments of inertia, zero of supports
    reach : (n,) sizes of the bodies [m]

    Attributes
    ----------
    ends : (s, 2) numbers of the parts at their ends, from 0
    length : (s,) length l0 without force [m]
    """

    components: ClassVar[int] = 2

    def __init__(
        self, springs: Sequence[Spring], points: Floats, pose: Floats, inverse: Floats,
        reach: Floats,
    ) -> None:  # fmt: skip
        self.n, self.inverse, self._reach, self._points = len(reach), inverse, reach, points
        self.ends = np.array([[s.first, s.second] for s in springs], dtype=np.int64) - 1
        self._stiffness = np.array([s.stiffness for s in springs])
        self._damping = np.array([s.damping for s in springs])
        now = np.linalg.norm(self._apart(self.arms(pose), pose), axis=-1)
        given = [np.nan if s.length is None else s.length for s in springs]
        self.length = np.where(np.isnan(given), now, given)

    def arms(self, pose: Floats) -> Floats:
        """Return (..., s, 2, d) vectors from the centres of the parts to the ends [m]."""
        return turned(pose[..., self.ends, 2], self._points)

    def _by_spin(self, pose: Floats, arms: Floats, velocity: Floats) -> Floats:
        """Return (..., s, 2, d) velocities of the ends relative to the centres [m/s]."""
        spin = velocity[..., self.ends, 2:]
        return np.asarray(spin * np.stack([-arms[..., 1], arms[..., 0]], axis=-1))

    def _moments(self, pose: Floats, end: int, arm: Floats, force: Floats) -> Floats:
        """Return (..., s, 1) moments of forces (..., s, 2) at one end of each spring [N m]."""
        return np.asarray(arm[..., :1] * force[..., 1:] - arm[..., 1:] * force[..., :1])

    def places(self, pose: Floats) -> Floats:
        """Return (..., s, 2, d) places of the ends [m]."""
        return np.asarray(pose[..., self.ends, : self.components] + self.arms(pose))

    def _apart(self, arms: Floats, pose: Floats) -> Floats:
        """Return (..., s, d) vectors from the first ends to the second ones [m]."""
        at = pose[..., self.ends, : self.components] + arms
        return np.asarray(at[..., 1, :] - at[..., 0, :])

    def _stretched(self, arms: Floats, pose: Floats) -> tuple[Floats, Floats]:
        """Return (..., s) lengths [m], and (..., s, d) directions, zero for a length of zero."""
        apart = self._apart(arms, pose)
        length = np.linalg.norm(apart, axis=-1)
        with np.errstate(invalid="ignore"):
            along = apart / length[..., None]
        return length, np.where(length[..., None] > 0.0, along, 0.0)

    def stored(self, pose: Floats) -> Floats:
        """Return the elastic energy [J], of shape (...)."""
        length, _ = self._stretched(self.arms(pose), pose)
        return np.asarray(0.5 * (self._stiffness * (length - self.length) ** 2).sum(axis=-1))

    def tensions(self, pose: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Return (..., s) tensions k (l - l0) of springs and c dl/dt of dampers [N].

        Parameters
        ----------
        velocity : (..., m, 3) of bodies and supports
        """
        return self._of_ends(self.arms(pose), pose, velocity)[:2]

    def _of_ends(
        self, arms: Floats, pose: Floats, velocity: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return (..., s) tensions of springs and of dampers, and (..., s, d) directions."""
        length, along = self._stretched(arms, pose)
        moved = velocity[..., self.ends, : self.components] + self._by_spin(pose, arms, velocity)
        rate = ((moved[..., 1, :] - moved[..., 0, :]) * along).sum(axis=-1)
        return self._stiffness * (length - self.length), self._damping * rate, along

    def loads(self, pose: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Return forces and moments of springs, and of dampers, on all parts [N], [N m].

        Parameters
        ----------
        pose, velocity : (..., m, 3)

        Returns
        -------
        Two arrays as `velocity`.
        """
        arms = self.arms(pose)
        *tensions, along = self._of_ends(arms, pose, velocity)
        found = []
        # a tension pulls the first end along the spring and the second one against it
        for tension in tensions:
            load = np.zeros_like(velocity)
            for end, sign in ((0, 1.0), (1, -1.0)):
                force = sign * tension[..., None] * along
                moment = self._moments(pose, end, arms[..., end, :], force)
                each = np.concatenate([force, moment], axis=-1)
                np.add.at(load, self._parts(end), each)
            found.append(load)
        return found[0], found[1]

    def _parts(self, end: int) -> Any:
        """Return the index of the parts at one end of all springs."""
        return ..., self.ends[:, end], slice(None)

    def sizes(self, pose: Floats, velocity: Floats) -> Floats:
        """Return (..., n, 3) sums of the absolute loads of all springs on each body [N], [N m].

        Rounding of loads that cancel is relative to them. `EventDriven` alone calls this, so it is
        for the plane only.
        """
        tension = sum(np.abs(part) for part in self.tensions(pose, velocity))
        load = np.zeros_like(pose)
        for end in (0, 1):
            arm = np.linalg.norm(self._points[:, end], axis=-1)
            each = np.asarray(tension)[..., None] * np.stack([np.ones_like(arm)] * 2 + [arm], -1)
            np.add.at(load, self._parts(end), each)
        return load[..., : self.n, :]

    def sensitivity(self) -> Floats:
        """Return (n,) bounds of the acceleration of a surface over a displacement of ends [1/s^2].

        They are the sums of k (1 / m + |p| R / I) over the ends p of springs on a body of size R.
        """
        total = np.zeros(len(self.inverse))
        for end in (0, 1):
            part = self.ends[:, end]
            arm = np.linalg.norm(self._points[:, end], axis=-1)
            moved = np.zeros(len(part))
            moves = part < self.n
            moved[moves] = arm[moves] * self._reach[part[moves]]
            of_end = self.inverse[part, 0] + moved * self.inverse[part, 1]
            np.add.at(total, part, self._stiffness * of_end)
        return total[: self.n]

    def rates(self) -> tuple[float, float]:
        """Return bounds of the angular frequencies [rad/s] and of the rates of decay [1/s].

        With N_ib^2 = 1 / m_b + |p_ib|^2 / I_b at the ends of spring i, the matrix of squared
        frequencies is below that of sum_i k_i N_i N_i^T, and its eigenvalues below the largest sum
        of a row (Gershgorin). The change of arms and directions with the motion is left out.

        Verified by: tests/unit/bodies/test_springs.py::test_rates_bound_the_frequencies
        """
        arm = (self._points**2).sum(axis=-1)
        each = np.sqrt(self.inverse[self.ends, 0] + arm * self.inverse[self.ends, 1])
        both = each * each.sum(axis=1, keepdims=True)
        sums = np.zeros((2, len(self.inverse)))
        for row, factor in zip(sums, (self._stiffness, self._damping), strict=True):
            np.add.at(row, self.ends, factor[:, None] * both)
        return float(np.sqrt(sums[0].max())), float(sums[1].max())


def springs_of(system: RigidBodies) -> Springs:
    """Return the springs of a system in the plane."""
    inverse = np.zeros((system.n + len(system.supports), 2))
    inverse[: system.n] = [[1 / b.mass, 1 / b.moment_of_inertia] for b in system.bodies]
    points = np.array([[s.on_first, s.on_second] for s in system.springs], dtype=np.float64)
    reach = np.array([b.shape.reach for b in system.bodies])
    return Springs(system.springs, points, system.places(), inverse, reach)


def turned(angle: Floats, points: Floats) -> Floats:
    """Return points (..., 2) in the frames of parts, turned by their angles (...) [m], [rad]."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = points[..., 0], points[..., 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)
