"""`SweptBody`, a three-dimensional body: layers of hexahedra swept from a mesh of the plane.

An optional map (`shapes`) deforms the swept block into the reference configuration, for example
into a dome. `discretised` returns the arrays that assembly and contact read; `equilibria.problem`
calls it. Shape functions are products N(xi, eta) M(zeta) of those of the plane element and
B-splines along the third axis (see `elements.swept`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, Part
from stiction.errors import ModelError
from stiction.numerics.checks import fits, memory_of_machine
from stiction.solids.arrays import Discretisation
from stiction.solids.elements.kinds import Q1, Element
from stiction.solids.elements.swept import Swept, sweep
from stiction.solids.materials import Material, NeoHookean
from stiction.solids.mesh.model import Mesh, rectangle
from stiction.solids.three_d.picture import drawn, places_of
from stiction.solids.three_d.shapes import BodyShape, Dome

__all__ = ["SweptBody"]

Floats = npt.NDArray[np.float64]

# memory per hexahedron of elements, contact, matrix and its factors by PARDISO in double precision.
# Measured: a sheared cap of 68,040 hexahedra took 115 kB each with factors in single precision, and
# 1.37 GiB more in all with double precision; factors of SuperLU are larger
_BYTES_OF_HEXAHEDRON = 137_000
ENDS = ("back", "front")
# largest distance of tip or base of a dome from its face, divided by the height; chosen
_SAME = 1e-9

_PART = Part(
    "a swept body consists of a mesh, a material and elements.", "see the docstring of SweptBody."
)
_BREAKS = Finite(
    "m", "the breaks bound the layers.", "give (0, 0.5, 1).", per="end", fewest=2, rising=True
)
_SHAPE = Part(
    "the shape maps the points of the swept body.", "leave this value out, or give Dome(...)."
)


@dataclass(frozen=True, eq=False, repr=False)
class SweptBody(Declared):
    """A deformable body in three dimensions: layers of hexahedra, swept from a mesh of the plane.

    The section lies in the first two coordinates and is swept along the third one. Boundaries of
    the section become faces of the same names. The end faces are "back", at the smallest third
    coordinate, and "front". Boundary conditions may name all faces, contacts those of the section.

    Parameters
    ----------
    mesh : the section
    breaks : (l + 1,) rising third coordinates that bound the l layers [m]
    element : of the section: Q1 becomes the trilinear hexahedron, Q1N2 this with biquadratic
        contact patches, Q1H with bicubic ones; Q2 and Q2N2 become triquadratic hexahedra
    material : constitutive law
    shape : map from the swept block to the reference configuration; None for the identity

    Source: Corbett and Sauer 2015, for the layers.
    Verified by: tests/unit/solids/three_d/test_space_bodies.py::test_a_block_in_tension

    Examples
    --------
    >>> import stiction as st
    >>> section = st.solids.rectangle(2.0, 1.0, (2, 1))
    >>> st.solids.SweptBody(section, breaks=[0.0, 1.0, 2.0, 3.0]).layers
    3
    """

    mesh: Annotated[Mesh, _PART] = field(default_factory=lambda: rectangle(1.0, 1.0, (4, 4)))
    breaks: Annotated[Sequence[float] | Floats, _BREAKS] = (0.0, 0.5, 1.0)
    element: Annotated[Element, _PART] = field(default_factory=Q1)
    material: Annotated[Material, _PART] = field(default_factory=NeoHookean)
    shape: Annotated[BodyShape | None, _SHAPE] = None

    # bodies in space have no plane stress
    plane_stress = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.element.reduced and self.element.ORDER == 1 and self.mesh.triangles.all():
            got = f"{type(self.element).__name__}(reduced=True) on triangles"
            why = "wedges have one integration point in their section, which cannot be reduced."
            needs, try_ = "quadrilaterals", "mesh with quadrilaterals, or use Q2."
            raise ModelError("SweptBody.element", got, needs, why, try_)
        reserved = [name for name in ENDS if name in self.mesh.boundaries]
        if reserved:
            got, needs = f"a boundary {reserved[0]!r}", "names other than 'back' and 'front'"
            why, try_ = "'back' and 'front' are the end faces of the sweep.", "rename the boundary."
            raise ModelError("SweptBody.mesh", got, needs, why, try_)
        if isinstance(self.shape, Dome):
            _check_ends(self.shape, self.mesh.points[:, 1])
        count = self.mesh.cells.shape[0] * self.layers * self.element.ORDER**3
        memory = memory_of_machine()
        fits("SweptBody", count, _BYTES_OF_HEXAHEDRON, "give fewer cells or layers.", memory)

    @property
    def face_points(self) -> int:
        """Integration points of contact on each patch of the surface."""
        return self.element.contact_points**2

    @property
    def layers(self) -> int:
        """Number of layers of hexahedra."""
        return int(np.size(self.breaks)) - 1

    def swept(self, boundaries: tuple[str, ...] = ()) -> Swept:
        """Return nodes, elements and surfaces of this body with these contact boundaries."""
        order, spline = self.element.ORDER, self.element.SPLINE
        shape = self.shape
        return sweep(
            self.mesh,
            self.element,
            np.asarray(self.breaks),
            order,
            boundaries,
            None if shape is None else shape.moved,
            max(spline, order),
        )

    def discretised(self, boundaries: tuple[str, ...]) -> Discretisation:
        """Return the discretisation of this body with these contact boundaries."""
        swept = self.swept(boundaries)
        picture = drawn(swept, self.element.ORDER)
        sets = swept.node_sets
        return Discretisation(
            swept.points,
            swept.blocks,
            swept.surfaces,
            sets,
            picture,
            places_of(swept),
            hulls=swept.hulls,
        )


def _check_ends(dome: Dome, heights: Floats) -> None:
    """Raise an error unless tip and base are the ends of second coordinates (n,) [m]."""
    ends = np.array([heights.min(), heights.max()])
    given = np.sort([float(dome.base), float(dome.tip[1])])
    if np.abs(given - ends).max() > _SAME * (ends[1] - ends[0]):
        got = f"base {dome.base:.9g} and tip at {dome.tip[1]:.9g} [m]"
        needs = (
            f"{ends[0]:.9g} and {ends[1]:.9g} [m], the lowest and highest coordinates of the "
            "section"
        )
        why = "one face stays flat, the other becomes a part of a sphere of this radius."
        raise ModelError("Dome", got, needs, why, "give these numbers, in either order.")
