"""A membrane: an incompressible Neo-Hookean sheet that carries tension and does not bend.

`Membrane` describes it by a spline patch, Young's modulus, thickness and prestretch, and gives the
arrays that assembly and contact read. Its formulas are in `kinematics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Declared, Finite, Part, Positive
from stiction.errors import ModelError
from stiction.solids.arrays import Discretisation
from stiction.solids.membranes.kinematics import Sheet
from stiction.solids.membranes.patch import FACE, Patch, flat_patch
from stiction.solids.membranes.picture import drawn, places_of

__all__ = ["Membrane"]

Floats = npt.NDArray[np.float64]

# points along each coordinate at which stresses are integrated
_POINTS = 3

_PATCH = Part("it is the shape of the membrane.", "see flat_patch.")
_TRY = "give 1 where the product of Young's modulus and thickness is known."
_YOUNG = Positive("Pa", "a sheet without stiffness has no shape.", _TRY)
_THICKNESS = Positive("m", "forces are stresses times the thickness.", _TRY)
PRESTRETCH = Finite(
    "1",
    "the sheet is attached stretched by it; below one it would wrinkle at once.",
    "give 1, or 1.001.",
    per="coordinate",
    size=2,
    least=1.0,
)
_CONTACT_POINTS = Count(1, "tractions are integrated over the surface.", "give 3.", most=16)


@dataclass(frozen=True, eq=False, repr=False)
class Membrane(Declared):
    """A sheet in space, incompressible and Neo-Hookean, in plane stress and without bending.

    The sheet is one surface without an upper and a lower side; its boundary "face" is this surface
    and may be in contact. At zero displacement the sheet has the shape of its patch and is already
    stretched by `prestretch`.

    Parameters
    ----------
    patch : shape of the prestretched sheet
    young : Young's modulus of the rubber at small strain, three times the shear modulus [Pa]
    thickness : of the unstretched sheet [m]
    prestretch : by how much the patch is stretched where it is attached, along the first
        coordinate and across it; one number stands for both [1]
    contact_points : integration points of contact on each element, along each coordinate

    Notes
    -----
    Poisson's ratio is 1/2: the change of thickness conserves volume. A sheet under compression
    would wrinkle; the audit reports where it is compressed.

    Source: Sauer, Duong, Corbett 2014; Mergel, Scheibert, Sauer 2021, section 4.3.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear

    Examples
    --------
    >>> import stiction as st
    >>> patch = st.solids.flat_patch(2.0, 1.0, (2, 1))
    >>> st.solids.Membrane(patch, young=1.5, prestretch=1.1).prestretch
    (1.1, 1.1)
    """

    patch: Annotated[Patch, _PATCH] = field(default_factory=flat_patch)
    young: Annotated[float, _YOUNG] = 1.0
    thickness: Annotated[float, _THICKNESS] = 1.0
    prestretch: Annotated[float | Sequence[float], PRESTRETCH] = 1.0
    contact_points: Annotated[int, _CONTACT_POINTS] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        both = np.broadcast_to(np.asarray(self.prestretch), 2)
        object.__setattr__(self, "prestretch", tuple(both.tolist()))

    @property
    def mesh(self) -> Patch:
        """The shape, by the name that other bodies have for it."""
        return self.patch

    @property
    def tension(self) -> float:
        """Young's modulus times thickness [N/m]."""
        return self.young * self.thickness

    def sheet(self) -> Sheet:
        """Return the arrays of the membrane.

        Verified by: tests/unit/solids/membranes/test_membrane.py::test_prestretch_is_a_stretch
        """
        gauss, rule = np.polynomial.legendre.leggauss(_POINTS)
        face = self.patch.surface(gauss, rule)
        points = self.patch.control_points
        tangents = np.einsum("eqnm,end->eqdm", face.derivatives, points[face.nodes])
        # lengths along the first coordinate and across it, in the surface
        one = tangents[..., 0]
        size = np.linalg.norm(one, axis=-1)
        if not (face.areas > 0.0).all():
            bad = int(np.flatnonzero(~(face.areas > 0.0).all(axis=1))[0])
            why, try_ = "an element without area has no shape.", "move its control points apart."
            got = f"element {bad} that is a line or a point"
            raise ModelError("Membrane.patch", got, "elements with an area", why, try_)
        first = one / size[..., None]
        normal = np.cross(one, tangents[..., 1])
        normal /= np.linalg.norm(normal, axis=-1)[..., None]
        frame = np.stack([first, np.cross(normal, first)], axis=-1)
        into = np.linalg.inv(np.einsum("eqdi,eqdm->eqim", frame, tangents))
        stretch = np.asarray(self.prestretch)
        gradients = np.einsum("eqnm,eqmi->eqni", face.derivatives, into) * stretch
        weights = face.areas * self.thickness / float(np.prod(stretch))
        return Sheet(
            face.nodes,
            np.ascontiguousarray(gradients),
            np.ascontiguousarray(frame * stretch),
            np.ascontiguousarray(weights),
            self.young / 3.0,
            self.thickness,
        )

    def discretised(self, boundaries: tuple[str, ...]) -> Discretisation:
        """Return the arrays of this membrane with its face, if that touches anything."""
        gauss, rule = np.polynomial.legendre.leggauss(self.contact_points)
        for name in boundaries:
            self.patch.boundary(name)
        made = {FACE: self.patch.surface(gauss, rule)}
        points, picture = self.patch.control_points, drawn(self.patch)
        sets = self.patch.node_sets()
        return Discretisation(
            points, [], made, sets, picture, places_of(self.patch), (self.sheet(),)
        )
