"""A membrane: an incompressible sheet of rubber that carries tension and does not bend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, numbers, whole
from stiction.solids.arrays import Discretisation
from stiction.solids.membranes.kinematics import Sheet
from stiction.solids.membranes.patch import FACE, Patch, flat_patch
from stiction.solids.membranes.picture import drawn, places_of

__all__ = ["Membrane"]

Floats = npt.NDArray[np.float64]

# points along each coordinate at which stresses are integrated
_POINTS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Membrane(Record):
    """A sheet in space, incompressible and Neo-Hookean, in plane stress and without bending.

    Its one surface, the boundary "face", is what deforms and what touches. It is attached as its
    patch says, where it is stretched already by `prestretch`.

    Parameters
    ----------
    patch : its shape
    young : Young's modulus of the rubber at small strain, three times the shear modulus [Pa]
    thickness : of the unstretched sheet [m]
    prestretch : by how much the patch is stretched where it is attached, along the first
        coordinate and across it; one number stands for both [1]
    contact_points : integration points of contact on each element, along each coordinate

    Notes
    -----
    Poisson's ratio is 1/2: volume is kept by the change of thickness. A sheet under compression
    would wrinkle; the audit tells where it is compressed.

    Source: Sauer, Duong, Corbett 2014; Mergel, Scheibert, Sauer 2021, section 4.3.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear

    Examples
    --------
    >>> import stiction as st
    >>> patch = st.solids.flat_patch(2.0, 1.0, (2, 1))
    >>> st.solids.Membrane(patch, young=1.5, prestretch=1.1).prestretch
    (1.1, 1.1)
    """

    patch: Patch = field(default_factory=flat_patch)
    young: float = 1.0
    thickness: float = 1.0
    prestretch: float | Sequence[float] = 1.0
    contact_points: int = 3

    def __post_init__(self) -> None:
        patch: object = self.patch
        if not isinstance(patch, Patch):
            why, try_ = "it is the shape of the membrane.", "see flat_patch."
            raise ModelError("Membrane.patch", repr(patch), "a Patch", why, try_)
        for name, unit, why in (
            ("young", "Pa", "a sheet without stiffness has no shape."),
            ("thickness", "m", "forces are stresses times the thickness."),
        ):
            value = number(
                f"Membrane.{name}",
                getattr(self, name),
                rule="positive",
                unit=unit,
                why=why,
                try_="give 1 where the product of both is known.",
            )
            object.__setattr__(self, name, value)
        why = "the sheet is attached stretched by it; below one it would wrinkle at once."
        both = np.broadcast_to(np.asarray(self.prestretch, dtype=object), (2,)).tolist()
        given = numbers("Membrane.prestretch", both, size=2, why=why, try_="give 1.")
        if not (given >= 1.0).all():
            needs = "numbers of at least 1"
            where = "Membrane.prestretch"
            raise ModelError(where, float(given.min()), needs, why, "give 1.001.")
        object.__setattr__(self, "prestretch", (float(given[0]), float(given[1])))
        why = "tractions are integrated over the surface."
        points = self.contact_points
        whole("Membrane.contact_points", points, least=1, most=16, why=why, try_="give 3.")

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
