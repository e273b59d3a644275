"""A sheared spherical cap in three dimensions: `CapSliding3D`, after Mergel et al. 2021, section 5.

It expands a few numbers into a body, a contact and boundary conditions (`assembled`), which
`equilibria.problem` discretises. Lengths are in units of L0, stresses in units of Young's modulus
E, forces in E L0^2. The scenario `cap-sliding-3d` uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from stiction.core.fields import Count
from stiction.errors import ModelError
from stiction.laws.adhesion import LennardJones
from stiction.laws.adhesive_friction import DI, AdhesiveFriction
from stiction.solids.conditions import Driven, Fixed, Loaded, Program, Rigid
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.elements.kinds import Q1N2
from stiction.solids.materials import POISSON, NearlyIncompressible
from stiction.solids.mesh.gradings import dense_between, graded
from stiction.solids.mesh.model import rectangle
from stiction.solids.model import Assembled, Readings, SolidSystem
from stiction.solids.presets.plane import (
    ADHESIVE,
    EXTENT,
    FORCE,
    IN_PRELOAD,
    MODEL,
    MU,
    PENALTY,
    S_CUT,
    SIZE,
    with_numbers,
)
from stiction.solids.three_d.model import SweptBody
from stiction.solids.three_d.shapes import Dome

__all__ = ["CapSliding3D"]

# times at which the attraction and the normal force have reached their full values
_ATTRACTED, _LOADED = 0.1, 0.3
# elements along the motion, over the height, and across one half
_CELLS = {"quick": (16, 3, 8), "paper": (72, 6, 38)}
# half of the fraction of the face with small elements, and the ratio of element sizes
_INSIDE, _SMALLER = 0.24, 3.0
# initial force on the plate: fraction of the normal force, and its minimum [E L0^2]
_FIRST, _LEAST = 0.05, 0.2
# initial approach of the plate below the equilibrium gap, over that gap
_DEPTH = 0.1

_NUMBERS = Count(
    1,
    "the cap is made of this many elements along, over its height, and across.",
    "give [16, 3, 8].",
    most=10_000,
    size=3,
)


@dataclass(frozen=True, eq=False, repr=False)
class CapSliding3D(SolidSystem):
    """A soft spherical cap under a rigid plate in three dimensions: normal force, then shear.

    The base of the cap is a fixed square; its upper face is part of a sphere with the apex in the
    middle. The second axis points from the base to the plate. One half is solved, on one side of
    the plane of symmetry; forces, areas and energies of a run are those of this half. Until time
    0.1 the plate is pressed on by a small force while the attraction grows, until 0.3 the normal
    force changes to its value, and until time 1 the plate moves along the first axis by `u_end`.
    Units are L0 and Young's modulus E.

    Parameters
    ----------
    normal_force : on the plate of the whole cap, positive in compression [E L0^2]
    nu : Poisson's ratio [1]
    adhesive : whether surfaces attract each other; it does not change the friction law
    model : law of friction; DI, whose threshold is mu T_max wherever surfaces touch, or EA
    mu : friction parameter; None takes that of `model` [1]
    size : "quick" (a minute), or "paper" with about 60,000 unknowns
    u_end : displacement of the plate at the end of the program, at time 1 [L0]
    s_cut : cut-off parameter of friction; None takes that of `model` [1]
    radius, height, half_width : of the cap [L0]
    max_tension, work : T_max / E and W_adh / (E L0) [1]
    cells : elements along the motion, over the height and across one half; None takes those of
        `size`
    friction_in_preload : whether friction acts from first contact on; False lets it begin with
        the shear
    penalty : tangential stiffness in stick [E / L0]; None takes ten times the stiffness of the
        normal law at its equilibrium gap

    Notes
    -----
    Radius, height and strength are those of `CapSliding`. Adhesive tractions vary over lengths far
    below the radius of contact; the audit reports whether the mesh resolves them.

    Source: Mergel, Scheibert, Sauer 2021, section 5, in space; Lengiewicz et al. 2020 for the
    question.
    Verified by: tests/unit/solids/three_d/test_space_cap.py::test_cap_slides

    Examples
    --------
    >>> import stiction as st
    >>> parts = st.solids.CapSliding3D(cells=(2, 1, 1)).assembled()
    >>> [type(body).__name__ for body in parts.bodies]
    ['SweptBody']
    """

    normal_force: Annotated[float, FORCE] = 10.0
    nu: Annotated[float, POISSON] = 0.45
    adhesive: Annotated[bool, ADHESIVE] = False
    model: Annotated[AdhesiveFriction, MODEL] = field(default_factory=lambda: DI(mu=1.0))
    mu: Annotated[float | None, MU] = None
    size: Annotated[str, SIZE] = "quick"
    u_end: Annotated[float, EXTENT] = 2.5
    s_cut: Annotated[float | None, S_CUT] = None
    radius: Annotated[float, EXTENT] = 40.65
    height: Annotated[float, EXTENT] = 10.0
    half_width: Annotated[float, EXTENT] = 16.0
    max_tension: Annotated[float, EXTENT] = 0.165
    work: Annotated[float, EXTENT] = 0.0135
    cells: Annotated[Sequence[int] | None, _NUMBERS] = None
    friction_in_preload: Annotated[bool, IN_PRELOAD] = True
    penalty: Annotated[float | None, PENALTY] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        if not self.adhesive and not self.normal_force > 0.0:
            why = "without adhesion the plate needs a compressive force to stay in contact."
            needs, try_ = "a number > 0 [E L0^2]", "give 10, or adhesive = True."
            where = f"{type(self).__name__}.normal_force"
            raise ModelError(where, self.normal_force, needs, why, try_)
        self.cap()

    def cap(self) -> SweptBody:
        """Return one half of the cap."""
        nx, ny, nz = self.cells if self.cells is not None else _CELLS[self.size]
        wide = self.half_width
        x = dense_between(nx, 0.5 - _INSIDE, 0.5 + _INSIDE, _SMALLER)
        half = dense_between(2 * nz, 0.5 - _INSIDE, 0.5 + _INSIDE, _SMALLER)[nz:]
        z = wide * (2.0 * half - 1.0)
        z[0] = 0.0
        section = rectangle(2.0 * wide, self.height, (nx, ny), (-wide, 0.0), x, graded(ny, 0.35))
        dome = Dome((0.0, self.height, 0.0), self.radius, 0.0)
        material = NearlyIncompressible(1.0, self.nu)
        return SweptBody(section, z, Q1N2(reduced=True, contact_points=3), material, dome)

    def assembled(self) -> Assembled:
        """Return one half of the cap, its contact, and the plate's force and displacement."""
        # the plate starts slightly below the equilibrium gap, under the first force on half the cap
        adhesion = LennardJones.from_strength(self.max_tension, self.work, adhesive=self.adhesive)
        whole, first = self.normal_force, max(_FIRST * self.normal_force, _LEAST)
        top = (0.0, self.height + (1.0 - _DEPTH) * adhesion.gap_eq, 0.0)
        contact = Contact(
            Boundary(0, "top"),
            RigidPlane(top, (0.0, -1.0, 0.0)),
            adhesion,
            self.model,
            penalty=self.penalty,
            friction_from=0.0 if self.friction_in_preload else _LOADED,
        )
        force = (-0.5 * first, -0.5 * first, -0.5 * whole)
        attraction = (
            Program((0.0, _ATTRACTED), (0.0, 1.0)) if self.adhesive else Program((0.0,), (1.0,))
        )
        return Assembled(
            [self.cap()],
            [contact],
            [
                Driven(Rigid(0), 0, Program((_LOADED, 1.0), (0.0, self.u_end))),
                Loaded(Rigid(0), 1, Program((0.0, _ATTRACTED, _LOADED), force)),
                Fixed(Boundary(0, "bottom"), (0, 1, 2)),
                Fixed(Boundary(0, "back"), (2,)),
            ],
            attraction=attraction,
            readings=Readings(displacement=0, start=_LOADED),
            dimensionless=True,
        )
