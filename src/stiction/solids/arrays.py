"""Arrays of a discretised body, the input of assembly, contact and their kernels.

`Body`, `Membrane` and `SweptBody` each return one `Discretisation`: node positions, elements with
their shape-function gradients and integration weights, and contact boundaries. Positions are
x = sum_a N_a x_a with shape functions N_a and nodes or control points x_a. Nodes are numbered
within the body; `equilibria.problem` adds the number of the body's first node. Quantities of plane
bodies are per unit out-of-plane width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Discretisation", "Elements", "Picture", "Surface", "components"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Elements(NamedTuple):
    """Elements of one kind of one body: e elements, n functions, q points, d components.

    Parameters
    ----------
    nodes : (e, n) nodes or control points
    gradients : (e, q, n, d) dN_a/dX [1/m] at the integration points
    weights : (e, q) reference volume of each point, in the plane per unit thickness
    volume_gradients : (e, r, n, d) dN_a/dX at the integration points of the volumetric energy in
        reduced integration; r = 0 for full integration
    volume_weights : (e, r) reference volume of each of these points
    modes : (e, q, m, d) gradients of incompatible modes [1/m]; m = 0 where there are none
    hourglass : (e, n, k) hourglass vectors, orthogonal to linear fields; k = 0 where there are none
    inner : the same elements with full integration and incompatible modes, from which the hourglass
        energy is computed
    """

    nodes: Ints
    gradients: Floats
    weights: Floats
    volume_gradients: Floats
    volume_weights: Floats
    modes: Floats = np.zeros((0, 0, 0, 0))
    hourglass: Floats = np.zeros((0, 0, 0))
    inner: Elements | None = None


class Surface(NamedTuple):
    """A contact boundary: s surface elements with m = d - 1 coordinates xi in [-1, 1] on each.

    Its outward normal lies to the right of the direction of rising xi in the plane, and along the
    cross product of the two tangents in three dimensions.

    Parameters
    ----------
    nodes : (s, n) nodes or control points of each surface element
    extraction : (s, n, b): N_a = sum_b extraction[a, b] B_b(xi), with products B_b of the
        Bernstein polynomials of each coordinate, the first one running fastest
    weights : (s, n) rational weights, one for B-splines
    neighbours : (s, 2 m) adjacent elements before and after along each coordinate, -1 at an end
    points : (p,) Gauss points of one coordinate; an element has q = p^m points
    functions : (s, q, n) N_a at the integration points
    derivatives : (s, q, n, m) dN_a/dxi there
    areas : (s, q) reference area of each point, per unit thickness
    degrees : of the Bernstein polynomials of each coordinate; () in the plane
    grid : elements along each coordinate, the first one running fastest; () in the plane
    lengths : (s, m) mean reference length of each element along each coordinate; empty in the plane
    """

    nodes: Ints
    extraction: Floats
    weights: Floats
    neighbours: Ints
    points: Floats
    functions: Floats
    derivatives: Floats
    areas: Floats
    degrees: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()
    lengths: Floats = np.zeros((0, 0))


class Picture(NamedTuple):
    """The polygons by which a body is drawn.

    Parameters
    ----------
    matrix : (k, n) drawn points = matrix @ positions of the nodes
    quads : (c, 4) drawn points at the corners of each drawn cell
    edge : (l, 2) drawn points at the ends of each segment of the outline
    owner : (c, 2) block and element of each drawn cell
    """

    matrix: csr_matrix
    quads: Ints
    edge: Ints
    owner: Ints


class Places(NamedTuple):
    """The position of each node of a mesh, as a weighted mean of up to k points.

    Parameters
    ----------
    numbers : (nodes, k) nodes or control points by index, -1 where there is none
    fractions : (nodes, k) weights of them
    """

    numbers: Ints
    fractions: Floats


class Discretisation(NamedTuple):
    """A body in finite elements.

    Parameters
    ----------
    points : (n, d) reference positions of nodes and control points [m]
    blocks : arrays of the elements of each kind
    surfaces : contact boundaries by name
    node_sets : nodes and control points of every named boundary
    picture : polygons by which it is drawn
    places : position of each mesh node as a weighted mean of nodes and control points
    sheets : membrane elements, if the body is a membrane
    hulls : Bezier control nets, whose convex hulls enclose its elements; none for membranes
    """

    points: Floats
    blocks: list[Elements]
    surfaces: dict[str, Surface]
    node_sets: dict[str, Ints]
    picture: Picture
    places: Places
    sheets: tuple[Any, ...] = ()
    hulls: tuple[Any, ...] = ()


def components(parts: Sequence[Discretisation]) -> int:
    """Return the number of components of positions, 2 or 3, common to all bodies."""
    counts = {int(part.points.shape[1]) for part in parts}
    if len(counts) > 1:
        got = "two- and three-dimensional bodies"
        needs = "all bodies two-dimensional, or all three-dimensional"
        why, try_ = (
            "all bodies move in the same space.",
            "solve plane and spatial bodies in two runs.",
        )
        raise ModelError("Solid.bodies", got, needs, why, try_)
    return counts.pop()
