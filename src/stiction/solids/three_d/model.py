"""A deformable body in space: hexahedra swept from a plane section, and a map of its shape."""

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
from stiction.solids.three_d.shapes import BodyShape

__all__ = ["SweptBody"]

Floats = npt.NDArray[np.float64]

# memory per hexahedron of elements, contact, matrix and factors of PARDISO. A sheared cap of 68,040
# hexahedra took 115 kB with factors in single precision, and 1.37 GiB more with double ones;
# factors of SuperLU are larger
_BYTES_OF_HEXAHEDRON = 137_000
ENDS = ("back", "front")

_PART = Part("a body is made of these.", "see the docstring of SweptBody.")
_BREAKS = Finite(
    "m", "they are the ends of its layers.", "give (0, 0.5, 1).", per="end", fewest=2, rising=True
)
_SHAPE = Part("it maps the points of the swept body.", "leave it out, or give Dome(...).")


@dataclass(frozen=True, eq=False, repr=False)
class SweptBody(Declared):
    """A deformable body in space: hexahedra in layers, swept from a mesh of the plane.

    The section lies in the first two coordinates and is swept along the third one. Boundaries of
    the section become faces of the same names; those of both ends are "back", where the third
    coordinate begins, and "front". Conditions may name all of them, contacts those of the section.

    Parameters
    ----------
    mesh : the section
    breaks : (l + 1,) third coordinates at the ends of the layers, rising [m]
    element : of the section. Q1 becomes the trilinear hexahedron, Q1N2 the trilinear one with
        biquadratic contact patches, Q2 and Q2N2 triquadratic ones, Q1H the trilinear one with
        bicubic contact patches
    material : constitutive law
    shape : map of the undeformed points; None for the swept body itself

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
            why = "wedges with one point in their section have no fewer: they would lock."
            needs, try_ = "elements with fewer points", "mesh with quadrilaterals, or use Q2."
            raise ModelError("SweptBody.element", got, needs, why, try_)
        reserved = [name for name in ENDS if name in self.mesh.boundaries]
        if reserved:
            got, needs = f"a boundary {reserved[0]!r}", "other names"
            why, try_ = "the ends of the sweep are called so.", "name the boundary otherwise."
            raise ModelError("SweptBody.mesh", got, needs, why, try_)
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
        """Return the arrays of this body with these contact boundaries."""
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
        """Return the discretisation of this body with these contact boundaries, and its picture."""
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
