"""Inertia and drag of wrapped rods in steps of implicit Euler: of first order, and dissipative.

With the displacements D of nodes and rotation vectors of frames in a step of length h, the
velocities at its end are w = D / h, and the momenta p = M w. Elastic forces, loads and tractions at
the end of the step balance the inertial forces (p - p0) / h and the drag C w. An element of a round
rod has the moment of inertia I about its diameters and 2 I about its axis. `problem` adds these
forces and their derivatives to the equations of statics.

Source: docs/decisions/41-wrapped-rods.md, "Motion".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.rods.assembly import third_directors, tributary_lengths
from stiction.rods.rod import CosseratRod
from stiction.rods.wrapped.bundle import StaticRods

__all__ = ["Inertia", "Motion", "initial_velocity"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Inertia(NamedTuple):
    """Inertia and drag of nodes and elements.

    mass, element : (slots,) mass of the node [kg], inertia of the element about a diameter
        [kg m^2]
    drag : (2, 1, slots) force per velocity of the node [N s/m], moment per angular velocity of the
        element [N m s]
    """

    mass: Floats
    element: Floats
    drag: Floats

    @classmethod
    def of(cls, rods: Sequence[CosseratRod], static: StaticRods) -> Inertia:
        """Return the inertia and drag of rods."""
        mass, element = np.zeros((2, static.slots))
        drag = np.zeros((2, 1, static.slots))
        for rod, offset in zip(rods, static.offsets, strict=False):
            n, ds, section = rod.elements, rod.rest_length / rod.elements, rod.section
            lengths = ds * tributary_lengths(rod)
            mass[offset + 1 : offset + n + 2] = section.line_density * lengths
            element[offset + 1 : offset + n + 1] = section.line_inertia * ds
            drag[0, 0, offset + 1 : offset + n + 2] = rod.drag * lengths
            drag[1, 0, offset + 1 : offset + n + 1] = rod.rotational_drag * ds
        return cls(mass, element, drag)

    def least_at_surface(self, radius: float) -> float:
        """Return half the least mass that resists slip at the surface of a rod [kg].

        A force across the rod at its surface moves the node and turns the element about its axis;
        two rods in contact both move.
        """
        nodes = self.mass > 0.0
        turning = self.element[nodes & (self.element > 0.0)].min()
        mass = self.mass[nodes].min()
        return float(0.5 / (1.0 / mass + radius**2 / (2.0 * turning)))

    def momentum(self, velocity: Floats, q: Floats) -> Floats:
        """Return (2, 3, slots) momenta of nodes and angular momenta of elements.

        Parameters
        ----------
        velocity : (2, 3, slots) of nodes, and angular velocities of frames
        q : (4, slots) frames
        """
        axis = third_directors(q)
        along = (velocity[1] * axis).sum(axis=0) * axis
        return np.stack([self.mass * velocity[0], self.element * (velocity[1] + along)])

    def entries(self, q: Floats, h: float, free: Ints) -> tuple[Ints, Floats]:
        """Return rows and columns (2, k), and values of the derivative of inertial forces and drag.

        For an element of the axis d it is I (1 + d d^T) / h^2. Terms of the order of the rotation
        in a step are left out.

        Parameters
        ----------
        q : (4, slots) frames
        h : length of the step [s]
        free : numbers of the unknowns, six of each slot, that no support fixes
        """
        axis = third_directors(q)
        each = np.eye(3)[:, :, None] + axis[:, None] * axis[None]
        blocks = np.zeros((6, 6, len(self.mass)))
        blocks[3:, 3:] = self.element / h**2 * each
        six = np.arange(6)
        blocks[six, six] += np.repeat(self.drag[:, 0], 3, axis=0) / h
        blocks[six[:3], six[:3]] += self.mass / h**2
        values = np.moveaxis(blocks, 2, 0)
        slot, i, j = np.nonzero(values)
        where, is_free = np.stack([6 * slot + i, 6 * slot + j]), np.zeros(6 * len(values), bool)
        is_free[free] = True
        there = is_free[where[0]] & is_free[where[1]]
        return where[:, there], values[slot, i, j][there]


class Motion(NamedTuple):
    """A step with inertia: its length [s], and (2, 3, slots) momenta at its start."""

    inertia: Inertia
    length: float
    momentum: Floats

    def forces(self, velocity: Floats, q: Floats) -> Floats:
        """Return (2, 3, slots) inertial forces and torques, with velocities at the end."""
        return (self.inertia.momentum(velocity, q) - self.momentum) / self.length

    def rounding(self, r: Floats) -> float:
        """Return the inertial force of displacements at the rounding of (3, slots) nodes r [N]."""
        # some roundings of a sum and of a difference
        place = 4.0 * float(np.finfo(np.float64).eps) * float(np.abs(r).max())
        return float(self.inertia.mass.max()) * place / self.length**2


def initial_velocity(rods: Sequence[CosseratRod], static: StaticRods) -> Floats:
    """Return (2, 3, slots) velocities of nodes and angular velocities of elements at the start."""
    velocity = np.zeros((2, 3, static.slots))
    axis = third_directors(static.q)
    for rod, offset in zip(rods, static.offsets, strict=False):
        nodes = slice(offset + 1, offset + rod.elements + 2)
        elements = slice(offset + 1, offset + rod.elements + 1)
        for part in rod.motion:
            velocity[0, :, nodes] += part.velocity_at(static.r[:, nodes].T).T
            velocity[1, :, elements] += part.spin_at(static.r[:, nodes].T, axis[:, elements].T).T
    return velocity
