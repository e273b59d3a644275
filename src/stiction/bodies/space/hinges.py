"""Hinges of rigid bodies in space: pins with an axis, and ball joints.

`bodies.joints.hinges` solves steps. A pin gives five conditions: its place is the same on both
parts, and so is the direction of its axis. With the unit vectors a_1 and a_2 of the axis on the
parts, e along a_1 + a_2, and t_1, t_2 normal to e, the last two conditions are

    L t_i . (w_1 - w_2) = 0,        with the gaps L t_i . (a_2 x a_1)

for the spins w. The length L, the size of the larger part, makes them velocities of surfaces. A
ball joint has L = 0: its last two conditions are empty. Where t_i is normal to the moving e, which
turns with the spin w, the relative acceleration across the axis is

    L t_i . (w_1' - w_2' - s w x e),        s = e . (w_1 - w_2),

with the angular accelerations w' = R I^-1 (I W x W) of free bodies; W are their spins about the
principal axes, to whose axes R turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.joints.hinges import Hinges
from stiction.bodies.space.contact_kernels import SpatialContact
from stiction.bodies.space.rotation import matrices
from stiction.numerics.arrays import Struct, Table

if TYPE_CHECKING:
    from stiction.bodies.space.model import SpatialHinge

__all__ = ["SpatialHinges"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


class SpatialHinges(Hinges):
    """The hinges of a system; places (..., m, 7) and velocities (m, 6) are about principal axes.

    Verified by: tests/unit/bodies/space/test_hinges.py::test_accelerations_of_the_conditions,
    tests/unit/bodies/space/test_hinges.py::test_motion_in_a_plane
    """

    components: ClassVar[int] = 3
    contact: ClassVar[type[Struct]] = SpatialContact

    def __init__(
        self, hinges: Sequence[SpatialHinge], pose: Floats, inverse: Floats, reach: Floats,
        n_body: int,
    ) -> None:  # fmt: skip
        super().__init__(hinges, pose, inverse, reach, n_body)
        balls = np.array([h.axis is None for h in hinges])
        axes = np.array([[1.0, 0.0, 0.0] if h.axis is None else h.axis for h in hinges])
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        # in the frames of the parts
        self._axes = self._in_frames(pose, axes[:, None])
        sizes = np.where(np.isfinite(reach), reach, 0.0)[self.ends].max(axis=1)
        self._length = np.where(balls, 0.0, sizes)
        self._span = np.array([np.inf if h.span is None else h.span for h in hinges])
        self._inertia = np.zeros((len(inverse), 3))
        self._inertia[:n_body] = 1.0 / inverse[:n_body, 3:]

    def _in_frames(self, pose: Floats, vectors: Floats) -> Floats:
        turn = matrices(pose[self.ends, 3:])
        return np.asarray((vectors[..., None, :] @ turn)[..., 0, :])

    def _in_space(self, pose: Floats, vectors: Floats) -> Floats:
        """Return vectors (h, 2, 3) from the frames of both parts to the axes of space."""
        turn = matrices(pose[..., self.ends, 3:])
        return np.asarray((turn @ vectors[..., None])[..., 0])

    def _basis(self, pose: Floats) -> tuple[Floats, Floats]:
        """Return (h, 3) unit vectors e of the axes, and (h, 2, 3) those normal to them."""
        e = self._in_space(pose, self._axes).sum(axis=1)
        e /= np.linalg.norm(e, axis=1, keepdims=True)
        first = _cross(e, np.eye(3)[np.argmin(np.abs(e), axis=1)])
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        return e, np.stack([first, _cross(e, first)], axis=1)

    def arms(self, pose: Floats) -> Floats:
        """Return (..., h, 2, 3) vectors from the centres of the parts to the pins [m]."""
        return self._in_space(pose, self._points)

    def gaps(self, pose: Floats) -> Floats:
        """Return (h, 5) gaps of the place, and of the axis times the length L [m]."""
        first, second = np.swapaxes(self._in_space(pose, self._axes), 0, 1)
        _, across = self._basis(pose)
        apart = (across @ _cross(second, first)[..., None])[..., 0]
        return np.concatenate([super().gaps(pose), self._length[:, None] * apart], axis=1)

    def rows(self, pose: Floats) -> Floats:
        """Return (5 h, 6 m) rows G of the relative velocities of pins and axes.

        The forces of a hinge act at one point, halfway in its gap, so that they conserve momenta.
        """
        arms, every = self._arms_halfway(pose), np.arange(len(self.ends))
        across = self._length[:, None, None] * self._basis(pose)[1]
        out = np.zeros((len(self.ends), 5, len(pose), 6))
        for side, sign in ((0, 1.0), (1, -1.0)):
            part = self.ends[:, side]
            turn = matrices(pose[part, 3:])
            out[every, :3, part, :3] = sign * np.eye(3)
            out[every, :3, part, 3:] = sign * _cross(arms[:, side, None], np.eye(3)) @ turn
            out[every, 3:, part, 3:] = sign * across @ turn
        return out.reshape(5 * len(self.ends), -1)

    def motions(self, pose: Floats, v: Floats) -> list[tuple[str, str, Floats]]:
        """Return velocities of the pins, and spins across the axes, of both parts."""
        spin = v[self.ends, 3:]
        moving = v[self.ends, :3] + self._in_space(pose, _cross(spin, self._points))
        e = self._basis(pose)[0][:, None]
        turning = self._in_space(pose, spin)
        turning = turning - (turning * e).sum(axis=-1, keepdims=True) * e
        return [
            ("a pin with the velocities", "m/s", moving),
            ("an axis with the spins across it", "rad/s", turning),
        ]

    def levers(self, pose: Floats) -> Floats:
        """Return (h, 6 m) rows of the velocities at which the surfaces of the pins slip."""
        return self._about(pose, self.radius).reshape(len(self.ends), -1)

    def _about(self, pose: Floats, size: Floats) -> Floats:
        """Return (h, m, 6) rows of the relative spins about the axes, times sizes (h,)."""
        out, every = np.zeros((len(self.ends), len(pose), 6)), np.arange(len(self.ends))
        e = (size[:, None] * self._basis(pose)[0])[:, None]
        for side, sign in ((0, 1.0), (1, -1.0)):
            part = self.ends[:, side]
            out[every, part, 3:] += sign * (e @ matrices(pose[part, 3:]))[:, 0]
        return out

    def bias(self, pose: Floats, v: Floats) -> Floats:
        """Return (h, 5) relative accelerations of pins and axes of free bodies [m/s^2].

        v : (m, 6) velocities of bodies, then of supports
        """
        own, inverse = v[:, 3:], self.inverse[:, 3:]
        free = inverse * _cross(self._inertia * own, own)
        spin, free = own[self.ends], free[self.ends]
        moved = _cross(spin, _cross(spin, self._points)) + _cross(free, self._points)
        moved = self._in_space(pose, moved)
        turning, free = self._in_space(pose, spin), self._in_space(pose, free)
        e, across = self._basis(pose)
        about = ((turning[:, 0] - turning[:, 1]) * e).sum(axis=1, keepdims=True)
        bent = free[:, 0] - free[:, 1] - about * _cross(turning.mean(axis=1), e)
        bent = self._length[:, None] * (across @ bent[..., None])[..., 0]
        return np.concatenate([moved[:, 0] - moved[:, 1], bent], axis=1)

    def _turning(self, v: Floats) -> Floats:
        spin = v[self.ends, 3:]
        points = np.linalg.norm(_cross(spin, self._points), axis=-1)
        axes = np.linalg.norm(_cross(spin, self._axes), axis=-1) * self._length[:, None]
        return np.asarray(np.maximum(points, axes).max(axis=1))

    def bearings(self, pose: Floats) -> Floats:
        """Return (h, 2, 3, 5) forces of both bearings by unit forces of the conditions.

        The force F and the moment M across the axis give F / 2 +/- M x e / span.
        """
        out, (e, across) = np.zeros((len(self.ends), 2, 3, 5)), self._basis(pose)
        out[..., :3] = 0.5 * np.eye(3)
        pair = (self._length / self._span)[:, None, None] * _cross(across, e[:, None])
        out[:, 0, :, 3:] = np.swapaxes(pair, 1, 2)
        out[:, 1, :, 3:] = -out[:, 0, :, 3:]
        return out

    def loads(self, pose: Floats, forces: Floats) -> Floats:
        """Return (h, 6) forces on the first parts, and moments about the pins [N], [N m].

        forces : (h, 6) of the conditions, and friction at the pins [N]
        """
        e, across = self._basis(pose)
        moment = self._length[:, None] * (forces[:, None, 3:5] @ across)[:, 0]
        moment += (self.radius * forces[:, 5])[:, None] * e
        return np.concatenate([forces[:, :3], moment], axis=1)

    def contact_rows(self, contacts: Table[Any], count: int) -> Floats:
        """Return (3 c, 6 m) rows J of contacts; count m of parts."""
        out, every = np.zeros((len(contacts), 3, count, 6)), np.arange(len(contacts))
        for side, name in enumerate(("first", "second")):
            out[every, :, contacts[name]] = contacts["rows"][:, side]
        return out.reshape(3 * len(contacts), 6 * count)

    def resting(self, pose: Floats, still: Wholes, stuck: Wholes) -> Table[Any]:
        """Return hinges as contacts that stick; a second one of each has what fixes rotation."""
        out, n = self.links(np.append(still, still)), len(still)
        if not n:
            return out
        rows = self.rows(pose).reshape(len(self.ends), 5, len(pose), 6)
        about, sticks = self._about(pose, self._length), np.isin(still, stuck)
        for side in (0, 1):
            part = self.ends[still, side]
            out["rows"][:n, side] = rows[still, :3, part]
            out["rows"][n:, side, :2] = rows[still, 3:, part]
            out["rows"][n:, side, 2] = np.where(sticks[:, None], about[still, part], 0.0)
        return out


def _cross(a: Floats, b: Floats) -> Floats:
    """Return (..., 3) cross products; NumPy's function takes several times longer."""
    forward, back = [1, 2, 0], [2, 0, 1]
    return np.asarray(a[..., forward] * b[..., back] - a[..., back] * b[..., forward])
