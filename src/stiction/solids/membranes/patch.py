"""Biquadratic NURBS patch: the mid-surface of a membrane, its edges and its contact surface.

`Patch` holds control points x_a and weights w_a; `flat_patch` makes a rectangle. With products
B_ij(xi, eta) of quadratic Bernstein polynomials and the Bezier extraction E of an element, its
functions are R_a = w_a sum E_a,ij B_ij / sum_c w_c sum E_c,ij B_ij, and x = sum_a R_a x_a (Piegl
and Tiller 1997, section 4.4). An element has n = 9 functions. `model.Membrane` calls
`Patch.surface` for internal forces and for contact, each with its own integration points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite
from stiction.errors import ModelError, nearest
from stiction.numerics.bsplines import bernstein, bezier_extraction, greville, open_knots
from stiction.numerics.checks import number, numbers, shape_of, whole
from stiction.solids.arrays import Surface

__all__ = ["FACE", "Patch", "flat_patch"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# the one surface of a patch, and the edges where a coordinate begins and ends
FACE = "face"
_EDGES = ("left", "right", "front", "back")
_DEGREE = 2

_WHY = "a quadratic spline of s elements has s + 2 control points."
_TRY = "see flat_patch."
_BREAKS = Finite("1", _WHY, _TRY, per="end of an element", fewest=2, rising=True)


@dataclass(frozen=True, eq=False, repr=False)
class Patch(Declared):
    """A biquadratic NURBS patch in space; with weights of one it is a B-spline.

    Its edges are "left" and "right", where the first coordinate begins and ends, "front" and
    "back" of the second one; the patch itself is "face".

    Parameters
    ----------
    points : (k2, k1, 3) control points; the first coordinate runs fastest [m]
    along, across : (k1 - 1,) and (k2 - 1,) rising parameters at the ends of the elements
    weights : (k2, k1) positive weights of the control points; an empty array means ones

    Source: Piegl and Tiller 1997, section 4.4.
    Verified by: tests/unit/solids/membranes/test_patch.py::test_a_cylinder_is_exact

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> across, along = np.meshgrid(np.linspace(0, 1, 3), np.linspace(0, 1, 3), indexing="ij")
    >>> st.solids.Patch(np.stack([along, 0.0 * along, across], axis=-1)).points.shape
    (3, 3, 3)
    """

    points: Floats
    along: Annotated[Sequence[float] | Floats, _BREAKS] = (0.0, 1.0)
    across: Annotated[Sequence[float] | Floats, _BREAKS] = (0.0, 1.0)
    weights: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = tuple(open_knots(b, _DEGREE).size - _DEGREE - 1 for b in self.breaks)[::-1]
        points = _table("Patch.points", self.points, (*shape, 3), "finite", "m", _WHY, _TRY)
        given = self.weights if np.size(self.weights) else np.ones(shape)
        why = "rational functions may be unbounded unless all weights are positive."
        weights = _table("Patch.weights", given, shape, "positive", "1", why, "leave them out.")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "weights", weights)

    @property
    def breaks(self) -> tuple[Floats, Floats]:
        """The ends of the elements along both coordinates."""
        return np.asarray(self.along), np.asarray(self.across)

    @property
    def grid(self) -> tuple[int, int]:
        """Elements along both coordinates."""
        first, second = (len(b) - 1 for b in self.breaks)
        return first, second

    @property
    def control_points(self) -> Floats:
        """Control points (n, 3) in the order of their numbers [m]."""
        return np.asarray(self.points, dtype=np.float64).reshape(-1, 3)

    def boundary(self, name: str) -> Ints:
        """Return the numbers of all elements, for the name "face" of the whole patch.

        Raises
        ------
        ModelError : for any other name.
        """
        if name != FACE:
            why, try_ = "a membrane has one contact boundary.", nearest(name, [FACE])
            raise ModelError("Boundary.name", repr(name), repr(FACE), why, try_)
        return np.arange(self.grid[0] * self.grid[1])

    def node_sets(self) -> dict[str, Ints]:
        """Return the numbers of the control points on each edge and of the whole patch, by name."""
        rows, columns = np.asarray(self.points).shape[:2]
        number_of = np.arange(rows * columns).reshape(rows, columns)
        edges = (number_of[:, 0], number_of[:, -1], number_of[0], number_of[-1])
        return {**dict(zip(_EDGES, edges, strict=True)), FACE: number_of.ravel()}

    def surface(self, gauss: Floats, rule: Floats) -> Surface:
        """Return the arrays of the face as contact surface.

        Parameters
        ----------
        gauss, rule : (k,) points on [-1, 1] and weights of each coordinate

        Verified by: tests/unit/solids/membranes/test_patch.py::test_a_cylinder_is_exact
        """
        # control points of elements, (e, n), and products of the extractions along both coordinates
        knots = [open_knots(np.asarray(b), _DEGREE) for b in self.breaks]
        (low, one), (high, two) = (bezier_extraction(k, _DEGREE) for k in knots)
        columns, layers = self.grid
        count = len(greville(knots[0], _DEGREE))
        local = np.arange(_DEGREE + 1)
        across, along = (high[:, None] + local), (low[:, None] + local)
        nodes = count * across[:, None, :, None] + along[None, :, None, :]
        nodes = nodes.reshape(layers * columns, -1)
        both = np.einsum("lkb,sna->lsknba", two, one)
        width = (_DEGREE + 1) ** 2
        extraction = np.ascontiguousarray(both.reshape(layers * columns, width, width))
        weights = np.asarray(self.weights).ravel()[nodes]
        f, df = rational(extraction, weights, gauss)
        points = self.control_points
        tangents = np.einsum("eqnm,end->eqmd", df, points[nodes])
        area = np.linalg.norm(np.cross(tangents[:, :, 0], tangents[:, :, 1]), axis=-1)
        each = np.ravel(rule[:, None] * rule)
        # adjacent elements, -1 at an edge
        e = np.arange(columns * layers)
        column, row = e % columns, e // columns
        sides = [
            np.where(column > 0, e - 1, -1),
            np.where(column < columns - 1, e + 1, -1),
            np.where(row > 0, e - columns, -1),
            np.where(row < layers - 1, e + columns, -1),
        ]
        sizes = np.linalg.norm(tangents, axis=-1)
        return Surface(
            np.ascontiguousarray(nodes),
            extraction,
            np.ascontiguousarray(weights),
            np.stack(sides, axis=1),
            gauss,
            f,
            df,
            np.ascontiguousarray(area * each),
            (_DEGREE, _DEGREE),
            (columns, layers),
            np.ascontiguousarray(0.5 * np.einsum("eqm,q->em", sizes, each)),
        )


def _table(
    where: str, value: object, shape: tuple[int, ...], rule: str, unit: str, why: str, try_: str
) -> Floats:
    """Return an array after checking its shape and that its numbers obey `rule`."""
    try:
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != shape:
        needs = "an array " + " x ".join(str(n) for n in shape)
        got = f"an array of shape {given.shape}"
        raise ModelError(where, got, needs, why, try_)
    flat = numbers(where, given.ravel(), rule=rule, unit=unit, why=why, try_=try_)
    return flat.reshape(given.shape)


def rational(extraction: Floats, weights: Floats, xi: Floats) -> tuple[Floats, Floats]:
    """Return rational functions (e, q, n) and derivatives (e, q, n, 2) at a grid of points.

    Parameters
    ----------
    extraction : (e, n, b) from products of Bernstein polynomials
    weights : (e, n)
    xi : (k,) points of each coordinate, q = k k of them, the first coordinate runs fastest
    """
    b, db = bernstein(_DEGREE, xi)
    k = xi.size
    first, second = np.tile(np.arange(k), k), np.repeat(np.arange(k), k)

    def product(one: Floats, other: Floats) -> Floats:
        terms = other[second][:, :, None] * one[first][:, None, :]
        return np.asarray(terms.reshape(k * k, -1))

    rows = [product(b, b), product(db, b), product(b, db)]
    value, *rates = (np.einsum("qb,enb,en->eqn", row, extraction, weights) for row in rows)
    whole = value.sum(axis=2, keepdims=True)
    f = value / whole
    slopes = [(rate - f * rate.sum(axis=2, keepdims=True)) / whole for rate in rates]
    return np.ascontiguousarray(f), np.ascontiguousarray(np.stack(slopes, axis=-1))


def flat_patch(
    length: float = 1.0,
    width: float = 1.0,
    cells: tuple[int, int] = (4, 4),
    origin: Sequence[float] = (0.0, 0.0, 0.0),
) -> Patch:
    """Return a flat rectangle normal to the second axis, with uniform elements.

    Parameters
    ----------
    length, width : along the first and the third axis [m]
    cells : elements along both
    origin : its corner with the smallest coordinates [m]

    Verified by: tests/unit/solids/membranes/test_patch.py::test_flat_patch

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.flat_patch(2.0, 1.0, cells=(4, 2)).points.shape
    (4, 6, 3)
    """
    why, try_ = "the patch has this extent.", "give 1."
    extents = [
        number(f"flat_patch.{name}", value, rule="positive", unit="m", why=why, try_=try_)
        for name, value in (("length", length), ("width", width))
    ]
    why = "the patch is divided into elements."
    if shape_of(cells) != (2,):
        got, needs = repr(cells), "two whole numbers, along the length and the width"
        raise ModelError("flat_patch.cells", got, needs, why, "give (4, 2).")
    for count in cells:
        whole("flat_patch.cells", count, least=1, most=100_000, why=why, try_="give 4.")
    why = "a corner of the patch is at this position."
    start = numbers("flat_patch.origin", origin, size=3, why=why, try_="give zeros.")
    breaks = [np.linspace(0.0, 1.0, n + 1) for n in cells]
    along, across = (greville(open_knots(b, _DEGREE), _DEGREE) for b in breaks)
    x, z = np.meshgrid(along * extents[0], across * extents[1])
    points = np.stack([x, np.zeros_like(x), z], axis=-1) + start
    return Patch(points, *breaks)
