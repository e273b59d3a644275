"""Surfaces of bodies in space, their contacts, and the frictional contact problem of these.

`SpatialSurfaces.contacts` has three steps: pairs of near parts (broad phase), the contacts of each
pair (`polyhedron_kernels`), and the rows of J (c, 3, 6) of both bodies. `local_problem` assembles
u = W r + q: impulses r (c, 3) [N s] along the normal and two tangents, velocities u and q [m/s],
and W = J M^-1 J^T in blocks of 3 x 3 [1/kg]. A velocity has the columns v_x, v_y, v_z [m/s] and
three spins about the principal axes of the body [rad/s], so that M is diagonal.
`space.mechanics.SpatialMechanics` calls both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from stiction.bodies.space.contact_kernels import (
    HALF_SPACE,
    Edge,
    Face,
    SpatialContact,
    SpatialSurface,
    near_pairs,
)
from stiction.bodies.space.polyhedron_kernels import find_contacts
from stiction.bodies.space.rotation import matrices
from stiction.bodies.space.vector_kernels import cross, entries, unit
from stiction.numerics.arrays import Integers, Stack, Table
from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.jit import kernel

if TYPE_CHECKING:
    from stiction.bodies.space.shapes import SpatialShape

__all__ = ["SpatialSurfaces", "local_problem", "surfaces_of"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# number of contacts up to which all pairs of them are compared, instead of by a sparse product
_FEW = 100


class SpatialSurfaces(NamedTuple):
    """Surfaces of bodies, then of supports, as kernels take them.

    Attributes
    ----------
    table : (m,) kind, size and rows of each
    vertices : (v, 3) of all of them, each about its own centre in its own principal axes [m]
    faces, edges : of all of them
    loops : rows of the vertices of each face in turn, counterclockwise from outside
    n_body : number of bodies
    """

    table: Table[SpatialSurface]
    vertices: Floats
    faces: Table[Face]
    loops: Wholes
    edges: Table[Edge]
    n_body: int

    def contacts(self, pose: Floats, within: float) -> Table[SpatialContact]:
        """Return the contacts whose gap is at most `within` [m].

        Parameters
        ----------
        pose : (m, 7) centres and quaternions of bodies, then of supports
        """
        turn = matrices(pose[:, 3:])
        # vertices and normals in the axes of space
        pairs = self._pairs(pose, turn, within)
        faces = self.faces.copy()
        of_vertex = np.repeat(turn, self.table["vertex_end"] - self.table["vertex"], axis=0)
        of_face = np.repeat(turn, self.table["face_end"] - self.table["face"], axis=0)
        vertices = (of_vertex @ self.vertices[..., None])[..., 0]
        faces["normal"] = (of_face @ self.faces["normal"][..., None])[..., 0]
        found = SpatialContact.table(4 * len(pairs) + 16)
        first, second = np.ascontiguousarray(pairs.T)
        while True:
            count = int(
                find_contacts(
                    self.table, vertices, faces, self.loops, self.edges, pose, first, second,
                    within, found,
                )
            )  # fmt: skip
            if count <= len(found):
                break
            found = SpatialContact.table(count)
        found = found[:count]
        _add_rows(found, turn, self.n_body)
        return found

    def _pairs(self, pose: Floats, turn: Floats, within: float) -> Wholes:
        """Return (p, 2) pairs of parts that may touch, in rising order; turn (m, 3, 3)."""
        # finite surfaces by their bounding spheres, sorted along the axis of largest extent
        flat = self.table["kind"] == HALF_SPACE
        reach = np.ascontiguousarray(self.table["reach"])
        finite = np.flatnonzero(~flat)
        axis = int(np.argmax(np.ptp(pose[finite, :3], axis=0)))
        order = finite[np.argsort(pose[finite, axis] - reach[finite], kind="stable")]
        pairs = np.zeros((2, 8 * len(order)), dtype=np.int64)
        while True:
            count = near_pairs(pose, reach, order, axis, self.n_body, within, *pairs)
            if count <= pairs.shape[1]:
                break
            pairs = np.zeros((2, count), dtype=np.int64)
        # half spaces by the height of the bounding spheres above them
        planes = np.flatnonzero(flat)
        normal = (turn[planes] @ self.faces["normal"][self.table["face"][planes], :, None])[..., 0]
        apart = pose[: self.n_body, None, :3] - pose[planes, :3]
        height = (apart * normal).sum(axis=-1) - reach[: self.n_body, None]
        body, plane = np.nonzero(height <= within)
        all_pairs = np.concatenate([pairs[:, :count].T, np.stack([body, planes[plane]], axis=1)])
        return all_pairs[np.lexsort((all_pairs[:, 1], all_pairs[:, 0]))]


def surfaces_of(shapes: list[SpatialShape], axes: Floats, n_body: int) -> SpatialSurfaces:
    """Return the surfaces of shapes, bodies first.

    Parameters
    ----------
    axes : (m, 3, 3) rotations from the axes in which a body turns, the columns, to its frame
    """
    table = SpatialSurface.table(len(shapes))
    vertices, loops = [np.zeros((0, 3))], [np.zeros(0, dtype=np.int64)]
    faces, edges = [Face.table(0)], [Edge.table(0)]
    n_vertex = n_loop = n_face = n_edge = 0
    for k, shape in enumerate(shapes):
        one, hull = table[k], shape.hull
        one.kind, one.reach, one.radius = shape.kind, shape.reach, getattr(shape, "radius", 0.0)
        one.vertex, one.face, one.edge = n_vertex, n_face, n_edge
        sizes = np.array([len(loop) for loop in hull.faces], dtype=np.int64)
        own = Face.table(len(sizes))
        own["stop"] = n_loop + np.cumsum(sizes)
        own["start"] = own["stop"] - sizes
        own["normal"] = hull.normals @ axes[k]
        sides = Edge.table(len(hull.edges))
        for column, name in enumerate(("a", "b", "left", "right")):
            sides[name] = hull.edges[:, column] + (n_vertex if column < 2 else n_face)
        vertices.append(hull.vertices @ axes[k])
        loops += [n_vertex + np.array(loop) for loop in hull.faces]
        faces.append(own)
        edges.append(sides)
        n_vertex, n_face = n_vertex + len(hull.vertices), n_face + len(sizes)
        n_edge, n_loop = n_edge + len(sides), n_loop + int(sizes.sum())
        one.vertex_end, one.face_end, one.edge_end = n_vertex, n_face, n_edge
    return SpatialSurfaces(
        table, np.concatenate(vertices), Face.joined(faces), np.concatenate(loops),
        Edge.joined(edges), n_body,
    )  # fmt: skip


@kernel
def _add_rows(contacts: Table[SpatialContact], turn: Stack, n_body: int) -> None:
    """Put the points of contacts of two bodies halfway in the gap, and write the rows of J.

    The row of a direction e (normal, two tangents) of a body is (e, a x e), with the arm a, and
    a x e turned to the principal axes; the second body has the other sign. The first tangent is
    normal to the axis of space that the normal is farthest from.

    Parameters
    ----------
    turn : (m, 3, 3) whose columns are the axes of bodies and supports
    """
    for k in range(contacts.shape[0]):
        c = contacts[k]
        n = entries(c.normal)
        half = 0.5 * c.gap if c.second < n_body else 0.0
        x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
        away = (1.0, 0.0, 0.0)
        if y < x and y <= z:
            away = (0.0, 1.0, 0.0)
        elif z < x and z < y:
            away = (0.0, 0.0, 1.0)
        tangent = unit(cross(n, away))
        other = cross(n, tangent)
        for side in range(2):
            # action and reaction
            sign = 1.0 if side == 0 else -1.0
            arm = c.arm_first if side == 0 else c.arm_second
            body = c.first if side == 0 else c.second
            for i in range(3):
                arm[i] -= sign * half * n[i]
            for i in range(3):
                way = n if i == 0 else tangent if i == 1 else other
                moment = cross(entries(arm), way)
                for j in range(3):
                    c.rows[side, i, j] = sign * way[j]
                    about = 0.0
                    for m in range(3):
                        about += moment[m] * turn[body, m, j]
                    c.rows[side, i, 3 + j] = sign * about


def local_problem(
    contacts: Table[SpatialContact], inverse: Floats, n_body: int, q: Floats, mu: Floats
) -> Local:
    """Return the frictional contact problem with velocities `q` (n, 3) before contact forces.

    Parameters
    ----------
    inverse : (m, 6) reciprocal masses and principal moments of inertia, 0 of supports
    mu : (n,) coefficients of friction

    Verified by: tests/unit/bodies/space/test_contacts.py::test_the_matrix_of_a_heap
    """
    n = len(contacts)
    first, second = (np.ascontiguousarray(contacts[name]) for name in ("first", "second"))
    row, column = _coupled(first, second, n_body)
    start = np.searchsorted(row, np.arange(n + 1)).astype(np.int64)
    blocks, diagonal = np.zeros((len(column), 3, 3)), np.flatnonzero(column == row)
    # W = J M^-1 J^T, with the root of M^-1 on both sides
    rows = contacts["rows"] * np.sqrt(inverse)[np.stack([first, second], axis=1), None]
    _fill_blocks(rows, first, second, n_body, start, column, blocks)
    rho = np.asarray(1.0 / np.linalg.eigvalsh(blocks[diagonal])[:, -1], dtype=np.float64)
    return Local(
        blocks, start, column, diagonal, q, mu, np.zeros(n), 2, rho
    )  # fmt: skip


def _coupled(first: Wholes, second: Wholes, n_body: int) -> tuple[Wholes, Wholes]:
    """Return two arrays, the rows and columns of the blocks of W, in rising order.

    A block belongs to two contacts that share a body; each contact shares its bodies with itself.
    """
    n, other = len(first), np.where(second < n_body, second, -1)
    if n <= _FEW:
        shared = (first[:, None] == first) | (first[:, None] == other) | (other[:, None] == first)
        return np.nonzero(shared | ((other[:, None] == other) & (other >= 0)))  # type: ignore[return-value]
    bodies = np.concatenate([first, other[other >= 0]])
    row = np.concatenate([np.arange(n), np.flatnonzero(other >= 0)])
    touches = sp.csr_array((np.ones(len(row)), (row, bodies)), shape=(n, n_body))
    coupled = sp.csr_array(touches @ touches.T)
    coupled.sort_indices()
    sizes = np.diff(coupled.indptr)
    return np.repeat(np.arange(n), sizes), coupled.indices.astype(np.int64)


@kernel
def _fill_blocks(
    rows: npt.NDArray[np.float64], first: Integers, second: Integers, n_body: int, start: Integers,
    column: Integers, blocks: Stack,
) -> None:  # fmt: skip
    """Write J_c M^-1 J_d^T of coupled contacts.

    Parameters
    ----------
    rows : (n, 2, 3, 6) rows of J of both bodies, over the roots of the masses
    start, column : blocks of contact c are start[c] to start[c + 1], in these columns
    blocks : (b, 3, 3) zero before
    """
    for c in range(first.shape[0]):
        for at in range(start[c], start[c + 1]):
            d = column[at]
            for side in range(2):
                body = first[c] if side == 0 else second[c]
                if body >= n_body:
                    continue
                for other in range(2):
                    if body != (first[d] if other == 0 else second[d]):
                        continue
                    for i in range(3):
                        for j in range(3):
                            for k in range(6):
                                blocks[at, i, j] += rows[c, side, i, k] * rows[d, other, j, k]
