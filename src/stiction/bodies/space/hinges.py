"""Hinges of rigid bodies in space: pins with an axis, sliders, and ball joints.

`bodies.joints.hinges` has the elimination of hinges in a step; this class gives it the rows G, the
gaps d and the accelerations b of hinges in space. With the unit vectors a_1 and a_2 of the axis on
the parts, e along a_1 + a_2, and t_1, t_2 normal to it, a hinge has six relative velocities. Three
are those of its place on the first part relative to the second, along t = t_1, t_2, e. Three are
relative spins about these directions, times the length L, the size of the larger part:

    t . (v_1 - v_2),  L t . (w_1 - w_2),  with the gaps t . (x_1 - x_2),  L t . (a_2 x a_1).

The gap about e, of sliders alone, is that of a second pair of axes, normal to the first. All but
the last velocity of a pin and all but the third of a slider are zero, and the first three of a ball
joint. Conditions that a hinge does not have are rows of zeros. Directions turn with the spin w of
the parts, so that the relative accelerations of free bodies are

    t . (p_1 - p_2 - 2 s w x e),  L t . (w_1' - w_2' - s w x e),

with the velocity s along e of a slider, or the spin s about e of a pin; p are the accelerations of
the places by the rotation of the parts, and w' = R I^-1 (I W x W) the angular accelerations. W are
spins about the principal axes, to whose axes R turns.
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

    Parameters are those of `Hinges`, with `pose` (m, 7) and `inverse` (m, 6). Private arrays of h
    hinges: `_axes`, `_sides` (h, 2, 3) axes and normals to them in the frames of both parts;
    `_length` (h,) L [m]; `_free` (h,) index of the velocity that is free, 2 of a slider, 5 of a
    pin; `_zero` (h, 6) is 1 for velocities that are zero; `_slip` (h,) slip velocity over the free
    one; `_span` (h,) distance of the bearings [m]; `_carriage` (h,) part with the bearings;
    `_inertia` (m, 3) principal moments of bodies, 0 of supports [kg m^2].

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
        self._every = np.arange(len(hinges))
        self._slides = np.array([h.slides for h in hinges])
        self.sine = np.where(self._slides, self.mu, self.sine)
        axes = np.array([[1.0, 0.0, 0.0] if h.axis is None else h.axis for h in hinges])
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        # in the frames of the parts: of the axis, and of a direction normal to it
        self._axes = self._in_frames(pose, axes[:, None])
        self._sides = self._in_frames(pose, _normal(axes)[:, None])
        self._length = np.where(np.isfinite(reach), reach, 0.0)[self.ends].max(axis=1)
        self._free = np.where(self._slides, 2, 5)
        self._zero = np.ones((len(hinges), 6))
        self._zero[self._every, self._free] = 0.0
        self._zero[[h.axis is None for h in hinges], 3:] = 0.0
        self._slip = np.where(self._slides, 1.0, self.radius / self._length)
        self._span = np.array([np.inf if h.span is None else h.span for h in hinges])
        # where the bearings are: on the part that the user calls the first one
        self._carriage = np.where(self.flipped < 0.0, 1, 0)
        self._inertia = np.zeros((len(inverse), 3))
        self._inertia[:n_body] = 1.0 / inverse[:n_body, 3:]

    def _in_frames(self, pose: Floats, vectors: Floats) -> Floats:
        """Return vectors (h, 2, 3) in the frames of both parts; given in the axes of space."""
        turn = matrices(pose[self.ends, 3:])
        return np.asarray((vectors[..., None, :] @ turn)[..., 0, :])

    def _in_space(self, pose: Floats, vectors: Floats) -> Floats:
        """Return vectors (h, 2, 3) from the frames of both parts to the axes of space."""
        turn = matrices(pose[..., self.ends, 3:])
        return np.asarray((turn @ vectors[..., None])[..., 0])

    def _basis(self, pose: Floats) -> Floats:
        """Return (h, 3, 3) unit vectors t_1, t_2 and e."""
        e = self._in_space(pose, self._axes).sum(axis=1)
        e /= np.linalg.norm(e, axis=1, keepdims=True)
        first = _normal(e)
        return np.stack([first, _cross(e, first), e], axis=1)

    def arms(self, pose: Floats) -> Floats:
        """Return (..., h, 2, 3) vectors from the centres of the parts to the pins [m]."""
        return self._in_space(pose, self._points)

    def middle(self, pose: Floats) -> Floats:
        """Return (..., h, 3) places of the hinges; of sliders those of their bearings [m]."""
        at = self.places(pose)
        carriages = at[..., self._every, self._carriage, :]
        return np.where(self._slides[:, None], carriages, at.mean(axis=-2))

    def gaps(self, pose: Floats) -> Floats:
        """Return (h, 6) gaps of the place, and of the axes times the length L [m].

        Both are vectors in the axes of space, without the components that are free.
        """
        axes, sides = self._in_space(pose, self._axes), self._in_space(pose, self._sides)
        basis, bent = self._basis(pose), _cross(axes[:, 1], axes[:, 0])
        twist = (_cross(sides[:, 1], sides[:, 0]) * basis[:, 2]).sum(axis=1)
        apart = np.stack([super().gaps(pose), bent], axis=1) @ np.swapaxes(basis, 1, 2)
        apart[:, 1, 2] = twist
        apart[:, 1] *= self._length[:, None]
        apart *= self._zero.reshape(-1, 2, 3)
        return np.asarray((apart @ basis).reshape(-1, 6))

    def along(self, pose: Floats, gaps: Floats) -> Floats:
        """Return components (h, 6) of gaps along the directions of the conditions at `pose`."""
        apart = gaps.reshape(-1, 2, 3) @ np.swapaxes(self._basis(pose), 1, 2)
        return np.asarray(self._zero * apart.reshape(-1, 6))

    def _all_rows(self, pose: Floats) -> Floats:
        """Return (h, 6, m, 6) rows of the six velocities of each hinge.

        The forces of a hinge act at one point, halfway in its gap, so that they conserve momenta.
        """
        arms, basis = self._arms_halfway(pose), self._basis(pose)
        out = np.zeros((len(self.ends), 6, len(pose), 6))
        for side, sign in ((0, 1.0), (1, -1.0)):
            part = self.ends[:, side]
            turn = matrices(pose[part, 3:])
            out[self._every, :3, part, :3] = sign * basis
            out[self._every, :3, part, 3:] = sign * _cross(arms[:, side, None], basis) @ turn
            out[self._every, 3:, part, 3:] = sign * self._length[:, None, None] * (basis @ turn)
        return out

    def rows(self, pose: Floats) -> Floats:
        """Return (6 h, 6 m) rows G of the relative velocities that are zero."""
        rows = self._zero[..., None, None] * self._all_rows(pose)
        return np.asarray(rows.reshape(6 * len(self.ends), -1))

    def levers(self, pose: Floats) -> Floats:
        """Return (h, 6 m) rows of the velocities at which the surfaces slip."""
        rows = self._all_rows(pose)[self._every, self._free]
        return np.asarray((self._slip[:, None, None] * rows).reshape(len(self.ends), -1))

    def motions(self, pose: Floats, v: Floats, k: int) -> list[tuple[str, str, Floats]]:
        """Return name, unit and values (2, 3) of velocities that both parts of hinge k share."""
        ends, e, slides = self.ends[k], self._basis(pose)[k, 2], bool(self._slides[k])
        spin = self._in_space(pose, v[self.ends, 3:])[k]
        moving = v[ends, :3] + _cross(spin, self._arms_halfway(pose)[k])
        if slides:
            moving = moving - np.outer(moving @ e, e)
        else:
            spin = spin - np.outer(spin @ e, e)
        name = "a slider" if slides else "a pin"
        return [
            (f"{name} with the velocities", "m/s", moving),
            (f"{name} with the spins", "rad/s", spin),
        ]

    def bias(self, pose: Floats, v: Floats) -> Floats:
        """Return (h, 6) relative accelerations of free bodies [m/s^2]; v (m, 6).

        The module docstring has the formulas: own = W, free = w', moved = p, bent for rotation.
        """
        own, inverse = v[:, 3:], self.inverse[:, 3:]
        free = self._in_space(pose, (inverse * _cross(self._inertia * own, own))[self.ends])
        spin = self._in_space(pose, own[self.ends])
        arms = np.where(self._slides[:, None, None], self._arms_halfway(pose), self.arms(pose))
        basis, moving = self._basis(pose), v[self.ends, :3] + _cross(spin, arms)
        moved = _cross(spin, _cross(spin, arms)) + _cross(free, arms)
        e, middle = basis[:, 2], spin.mean(axis=1)
        slides = np.where(self._slides, ((moving[:, 0] - moving[:, 1]) * e).sum(axis=1), 0.0)
        about = ((spin[:, 0] - spin[:, 1]) * e).sum(axis=1)
        moved = moved[:, 0] - moved[:, 1] - 2.0 * slides[:, None] * _cross(middle, e)
        bent = free[:, 0] - free[:, 1] - about[:, None] * _cross(middle, e)
        out = basis @ np.stack([moved, self._length[:, None] * bent], axis=2)
        return np.asarray(self._zero * np.swapaxes(out, 1, 2).reshape(-1, 6))

    def _turning(self, v: Floats) -> Floats:
        """Return (h,) velocities of pins and axes by the rotation of the parts [m/s]."""
        spin = v[self.ends, 3:]
        points = np.linalg.norm(_cross(spin, self._points), axis=-1)
        axes = np.linalg.norm(_cross(spin, self._axes), axis=-1) * self._length[:, None]
        return np.asarray(np.maximum(points, self._zero[:, 3:4] * axes).max(axis=1))

    def bearings(self, pose: Floats) -> Floats:
        """Return (h, 2, 3, 6) forces of both bearings by unit forces of the conditions.

        The force F and the moment M across the axis give F / 2 +/- M x e / span.
        """
        out, basis = np.zeros((len(self.ends), 2, 3, 6)), self._basis(pose)
        out[..., :3] = 0.5 * np.swapaxes(basis, 1, 2)[:, None]
        pair = (self._length / self._span)[:, None, None] * _cross(basis, basis[:, 2:])
        for side, sign in ((0, 1.0), (1, -1.0)):
            out[:, side, :, 3:] = sign * np.swapaxes(pair, 1, 2)
        return out

    def loads(self, pose: Floats, forces: Floats) -> Floats:
        """Return (h, 6) forces on the first parts, and moments about their places [N], [N m].

        forces : (h, 7) of the conditions, and friction [N]
        """
        each = forces[:, :6].copy()
        each[self._every, self._free] += self._slip * forces[:, 6]
        force, moment = (each.reshape(-1, 2, 3) @ self._basis(pose)).swapaxes(0, 1)
        return np.concatenate([force, self._length[:, None] * moment], axis=1)

    def contact_rows(self, contacts: Table[Any], count: int) -> Floats:
        """Return (3 c, 6 m) rows J of contacts; count m of parts."""
        out, every = np.zeros((len(contacts), 3, count, 6)), np.arange(len(contacts))
        for side, name in enumerate(("first", "second")):
            out[every, :, contacts[name]] = contacts["rows"][:, side]
        return out.reshape(3 * len(contacts), 6 * count)

    def resting(self, pose: Floats, still: Wholes, stuck: Wholes) -> Table[Any]:
        """Return hinges as contacts that stick: one for the place, one for the rotation of each.

        still, stuck : numbers of hinges whose parts do not turn, and of those whose pins stick
        """
        out, n = self.links(np.append(still, still)), len(still)
        if not n:
            return out
        zero = self._zero.copy()
        zero[stuck, self._free[stuck]] = 1.0
        rows = zero[..., None, None] * self._all_rows(pose)
        for side in (0, 1):
            part = self.ends[still, side]
            out["rows"][:n, side] = rows[still, :3, part]
            out["rows"][n:, side] = rows[still, 3:, part]
        return out


def _normal(e: Floats) -> Floats:
    """Return (h, 3) unit vectors normal to unit vectors."""
    out = _cross(e, np.eye(3)[np.argmin(np.abs(e), axis=1)])
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True))


def _cross(a: Floats, b: Floats) -> Floats:
    """Return (..., 3) cross products; NumPy's function takes several times longer."""
    forward, back = [1, 2, 0], [2, 0, 1]
    return np.asarray(a[..., forward] * b[..., back] - a[..., back] * b[..., forward])
