"""Contacts of bodies in the plane at given places, and their frictional contact problem.

`Surfaces` has the shapes of all parts as arrays, from which `contact_kernels` computes gaps,
normals and points of contact. `local_problem` assembles u = W r + q of these contacts: impulses r
(n, 2) [N s], velocities u and q (n, 2) [m/s], and W = J M^-1 J^T in blocks of 2 x 2 [1/kg]
(`impulse_kernels`). `mechanics.Mechanics` calls both in each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import (
    Contact,
    Surface,
    find_contacts,
    separation,
    turned_corners,
)
from stiction.bodies.impulse_kernels import contact_matrix
from stiction.errors import ModelError
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.blocks import Local

if TYPE_CHECKING:
    from stiction.bodies.model import RigidBodies, RigidBody, Support

__all__ = ["Surfaces", "local_problem", "name_of", "refuse_overlap", "surfaces_of"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


class Surfaces(NamedTuple):
    """Surfaces of bodies, then of supports, as kernels take them.

    Attributes
    ----------
    table : (m,) kind, size and rows of corners of each
    corners : (k, 2) of all of them, each about its own centre in the frame of its part [m]
    n_body : number of bodies
    """

    table: Table[Surface]
    corners: Floats
    n_body: int

    def turned(self, pose: Floats) -> Floats:
        """Return (k, 2) corners turned by the angles but not moved [m]; pose (m, 3)."""
        turned = np.empty_like(self.corners)
        turned_corners(self.table, self.corners, pose, turned)
        return turned

    def distance(self, turned: Floats, pose: Floats, i: int, j: int) -> float:
        """Return the distance of two polygons by separating axes, negative where they overlap [m].

        Where two corners face each other it is less than the distance of the nearest points.

        Parameters
        ----------
        turned : (k, 2) as `turned` returns
        pose : (m, 3) centres and angles of bodies, then of supports
        """
        dx, dy = pose[j, :2] - pose[i, :2]
        of_i, _ = separation(self.table, turned, i, j, dx, dy)
        of_j, _ = separation(self.table, turned, j, i, -dx, -dy)
        return max(float(of_i), float(of_j))

    def contacts(self, pose: Floats, within: float) -> Table[Contact]:
        """Return the contacts whose gap is at most `within` [m].

        Parameters
        ----------
        pose : (m, 3) centres and angles of bodies, then of supports
        """
        turned = self.turned(pose)
        found = Contact.table(4 * len(self.table) + 16)
        while True:
            count = int(find_contacts(self.table, turned, pose, self.n_body, within, found))
            if count <= len(found):
                return found[:count]
            found = Contact.table(2 * count)


def surfaces_of(system: RigidBodies) -> Surfaces:
    """Return the surfaces of a system, in the order of its bodies, then of its supports."""
    parts: list[RigidBody | Support] = [*system.bodies, *system.supports]
    table, corners = Surface.table(len(parts)), [part.shape.corners for part in parts]
    ends = np.cumsum([0, *map(len, corners)])
    for k, part in enumerate(parts):
        table[k].kind, table[k].reach = part.shape.kind, part.shape.reach
        table[k].start, table[k].stop = ends[k], ends[k + 1]
        table[k].radius = getattr(part.shape, "radius", 0.0)
    return Surfaces(table, np.concatenate([np.empty((0, 2)), *corners]), len(system.bodies))


def refuse_overlap(
    where: str, found: Table[Any], n_body: int, most: float, other: str = ""
) -> None:
    """Raise an error if a contact at the start is deeper than `most` [m].

    Parameters
    ----------
    where : name of the field, for the message
    found : contacts in the plane or in space
    other : a second remedy, for the message
    """
    if not len(found) or -found["gap"].min() <= most:
        return
    worst = found[int(np.argmin(found["gap"]))]
    first, second = (name_of(n_body, int(k)) for k in (worst.first, worst.second))
    depth, normal = -float(worst.gap), ", ".join(f"{x:.6g}" for x in worst.normal)
    raise ModelError(
        where,
        f"{first} and {second} that overlap by {depth:.3g} m at the start",
        "bodies that do not overlap",
        "unilateral contact excludes penetration.",
        f"move {first} by {depth:.3g} m along [{normal}]{other}.",
    )


def name_of(n_body: int, k: int) -> str:
    """Return "body 1", "support 1" and so on for the number k of a part, from 0."""
    return f"body {k + 1}" if k < n_body else f"support {k + 1 - n_body}"


def local_problem(
    contacts: Table[Contact], inverse: Floats, n_body: int, q: Floats, mu: Floats | float
) -> Local:
    """Return the frictional contact problem with velocities `q` (n, 2) before contact forces.

    Parameters
    ----------
    inverse : (m, 3) reciprocal masses and moments of inertia, 0 of supports
    mu : (n,) coefficients of friction, or one of all contacts
    """
    n = len(contacts)
    # contacts of body b are of_body[first[b]:first[b + 1]], in rising order; supports have none
    ends = np.concatenate([contacts["first"], contacts["second"]])
    rows = np.tile(np.arange(n), 2)
    moves = ends < n_body
    order = np.lexsort((rows[moves], ends[moves]))
    of_body = rows[moves][order]
    first = np.searchsorted(ends[moves][order], np.arange(n_body + 1)).astype(np.int64)
    # two contacts of one body have a block of W; those that share two bodies are counted twice here
    most = int((np.diff(first) ** 2).sum())
    blocks, column = np.zeros((most, 2, 2)), np.zeros(most, np.int64)
    start, diagonal = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    place = np.full(n, -1)
    contact_matrix(
        contacts, inverse, n_body, first, of_body, blocks, start, column, diagonal, place
    )  # fmt: skip
    blocks, column = blocks[: start[n]], column[: start[n]]
    own = blocks[diagonal]
    # rho of the solver is 1 / the largest eigenvalue of the diagonal block of each contact:
    # the largest eigenvalue of a symmetric 2 x 2 matrix
    half = 0.5 * (own[:, 0, 0] + own[:, 1, 1])
    largest = half + np.hypot(0.5 * (own[:, 0, 0] - own[:, 1, 1]), own[:, 0, 1])
    return Local(
        blocks, start, column, diagonal, q, np.full(n, mu), np.zeros(n), 1, 1.0 / largest
    )  # fmt: skip
