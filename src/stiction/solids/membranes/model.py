"""A membrane: an incompressible Neo-Hookean sheet in plane stress, without bending stiffness.

`Membrane` describes it by a spline patch, Young's modulus, thickness and prestretch, and gives the
arrays that assembly and contact read. The energy per volume of the unstretched sheet is
mu / 2 (tr C + 1 / J^2 - 3), with the metric C of the deformed surface, J^2 = det C and mu a third
of Young's modulus; forces and tangents are in `kinematics`. `equilibria.problem` calls
`discretised`.
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

# Gauss points along each coordinate for internal forces
_POINTS = 3

_PATCH = Part("the patch is the shape of the membrane.", "see flat_patch.")
_TRY = "give 1 if only the product of Young's modulus and thickness is known."
_YOUNG = Positive("Pa", "a sheet without stiffness has no unique equilibrium.", _TRY)
_THICKNESS = Positive("m", "forces are stresses times the thickness.", _TRY)
PRESTRETCH = Finite(
    "1",
    "the membrane has this initial stretch, and wrinkles at stretches below 1.",
    "give 1, or 1.001.",
    per="coordinate",
    size=2,
    least=1.0,
)
_CONTACT_POINTS = Count(1, "contact tractions are integrated at these points.", "give 3.", most=16)


@dataclass(frozen=True, eq=False, repr=False)
class Membrane(Declared):
    """An incompressible Neo-Hookean sheet in space, in plane stress, without bending stiffness.

    The sheet is one surface without distinct sides. This surface is its boundary "face", which may
    be in contact. At zero displacement the sheet has the shape of its patch, and is already
    stretched by `prestretch`.

    Parameters
    ----------
    patch : shape of the prestretched sheet
    young : Young's modulus at small strain, three times the shear modulus [Pa]
    thickness : of the unstretched sheet [m]
    prestretch : stretch of the patch over the unstretched sheet, along the first coordinate and
        across it; one number for both [1]
    contact_points : integration points of contact along each coordinate of an element

    Notes
    -----
    Poisson's ratio is 1/2: the change of thickness conserves volume. A sheet wrinkles under
    compression, which the model cannot represent; the audit reports compression.

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
        """The patch, under the name that other bodies use for their mesh."""
        return self.patch

    @property
    def tension(self) -> float:
        """Young's modulus times thickness [N/m]."""
        return self.young * self.thickness

    def sheet(self) -> Sheet:
        """Return the element arrays of the membrane: gradients, initial F, weights.

        Verified by: tests/unit/solids/membranes/test_membrane.py::test_prestretch_is_a_stretch
        """
        # derivatives of positions by the coordinates of elements, (e, q, d, m)
        gauss, rule = np.polynomial.legendre.leggauss(_POINTS)
        face = self.patch.surface(gauss, rule)
        points = self.patch.control_points
        tangents = np.einsum("eqnm,end->eqdm", face.derivatives, points[face.nodes])
        # orthonormal frame in the surface: along the first coordinate, and across it
        along = tangents[..., 0]
        size = np.linalg.norm(along, axis=-1)
        if not (face.areas > 0.0).all():
            bad = int(np.flatnonzero(~(face.areas > 0.0).all(axis=1))[0])
            why, try_ = (
                "stretches are relative to the area of an element.",
                "move the control points of this element apart.",
            )
            got = f"element {bad} that is degenerate to a line or a point"
            raise ModelError("Membrane.patch", got, "elements with an area", why, try_)
        first = along / size[..., None]
        normal = np.cross(along, tangents[..., 1])
        normal /= np.linalg.norm(normal, axis=-1)[..., None]
        frame = np.stack([first, np.cross(normal, first)], axis=-1)
        inverse_jacobian = np.linalg.inv(np.einsum("eqdi,eqdm->eqim", frame, tangents))
        stretch = np.asarray(self.prestretch)
        # by lengths of the unstretched sheet, which are those of the patch over the prestretch
        gradients = np.einsum("eqnm,eqmi->eqni", face.derivatives, inverse_jacobian) * stretch
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
        """Return the arrays of this membrane, with its face as contact boundary."""
        gauss, rule = np.polynomial.legendre.leggauss(self.contact_points)
        for name in boundaries:
            self.patch.boundary(name)
        surfaces = {FACE: self.patch.surface(gauss, rule)}
        points, picture = self.patch.control_points, drawn(self.patch)
        sets = self.patch.node_sets()
        return Discretisation(
            points, [], surfaces, sets, picture, places_of(self.patch), (self.sheet(),)
        )
