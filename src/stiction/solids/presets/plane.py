"""Plane examples of Mergel, Scheibert, Sauer 2021: a peeled strip, two cylinders, a sheared cap.

Each class expands a few numbers into bodies, contacts and boundary conditions (`assembled`), which
`equilibria.problem` discretises. Lengths are in units of L0 or R, stresses in units of Young's
modulus E, forces per width in E L0 or E R. Scenarios and the cases of the paper use these classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from stiction.core.fields import (
    Choice,
    Count,
    Finite,
    Flag,
    NonNegative,
    Part,
    Positive,
)
from stiction.errors import ModelError
from stiction.laws.adhesion import LennardJones
from stiction.laws.adhesive_friction import DI, EA, AdhesiveFriction, Frictionless
from stiction.solids.conditions import Driven, Fixed, Loaded, Nearest, Program, Rigid
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.elements.kinds import Q1H, Q1N2, Q2N2
from stiction.solids.materials import POISSON, Material, NearlyIncompressible, NeoHookean
from stiction.solids.mesh.model import (
    BYTES_OF_CELL,
    cap,
    dense_between,
    graded,
    half_disc,
    rectangle,
    rotated,
    uniform,
)
from stiction.solids.model import Assembled, Body, Readings, SolidSystem

__all__ = ["CapSliding", "StripPeeling", "TwoCylinders"]

_WHY_EXTENT = "the geometry and the law of adhesion need positive values."
MODEL = Part(
    "the model sets the sliding threshold of the interface.",
    "for example EA(mu=0.01) or DI(mu=0.5).",
    "DI, EA or Frictionless",
)
MU = NonNegative("1", "this friction parameter replaces that of the model.")
S_CUT = Finite(
    "1", "s_cut sets the gap beyond which friction ends; this value replaces that of the model."
)
SIZE = Choice(
    ("quick", "paper"),
    "the quick size takes seconds; 'paper' is the size of the paper.",
    "give 'quick'.",
)
EXTENT = Positive("1", _WHY_EXTENT)
PENALTY = Positive("1", "the interface has this tangential stiffness in stick.")
WHY_CELLS = "the body is made of this many elements along and across."
_CELLS = Count(2, WHY_CELLS, "give [100, 2].", each=BYTES_OF_CELL, size=2)
FORCE = Finite("1", "the plate carries this normal force, negative in tension.", "give 10.")
ADHESIVE = Flag("True lets the surfaces attract each other.")
IN_PRELOAD = Flag("True lets friction act before the shear.")

_HORIZONTAL = Flag("True pulls the strip along the plane.", "give True.")
# least length of a part of a strip over the whole: nodes closer than 1e-9 count as one. Chosen
_LEAST_PART = 1e-6
_MOST_OVERLAP = 2.0 - math.sqrt(3.0)
_OVERLAP = Positive(
    "1",
    f"{_WHY_EXTENT[:-1]}; the cylinders must not touch at the start, where they are R apart.",
    below=_MOST_OVERLAP,
    needs=f"less than 2 - sqrt(3) = {_MOST_OVERLAP:.6g} [R]",
)
_THINNING = Flag("True lets tractions decrease as surfaces stretch.", "give True.")
_MATERIAL = Part("the material is the constitutive law of the cap.", "leave this value out.")


@dataclass(frozen=True, eq=False, repr=False)
class StripPeeling(SolidSystem):
    """A thick strip that adheres to a rigid plane and is peeled off at its right end.

    The strip is 200 long and 10 high in units of L0. Its left 150 adhere at the equilibrium gap.
    The middle of its right edge is displaced upwards by `u_end`; it is fixed sideways and free to
    rotate. Stresses are in units of Young's modulus E, forces per width in E L0.

    Parameters
    ----------
    model : law of friction; EA, DI or Frictionless
    mu, s_cut : friction parameter and cut-off parameter; None takes those of `model` [1]
    size : "quick" (seconds), or "paper" with 320 x 8 biquadratic elements
    u_end : displacement at the end of the program, at time 1 [L0]
    poisson : Poisson's ratio of the strip [1]
    max_tension : T_max / E [1]
    work : W_adh / (E L0) [1]
    length, height, adhering : length and height of the strip, and its adhering length [L0]
    cells : elements along and across; None takes those of `size`
    horizontal : displace the end along the plane instead of away from it
    penalty : tangential stiffness in stick [E / L0]; None takes ten times the stiffness of the
        normal law at its equilibrium gap

    Notes
    -----
    The paper gives the adhering length alone. The size 200 x 10 and the support of the end are
    assumed.

    Source: Mergel, Scheibert, Sauer 2021, section 4.1, Table 1; section 6 for horizontal.
    Verified by: tests/unit/solids/test_presets.py::test_strip_peels
    """

    model: Annotated[AdhesiveFriction, MODEL] = field(default_factory=lambda: EA(mu=0.01))
    mu: Annotated[float | None, MU] = None
    s_cut: Annotated[float | None, S_CUT] = None
    size: Annotated[str, SIZE] = "quick"
    u_end: Annotated[float, EXTENT] = 100.0
    poisson: Annotated[float, POISSON] = 0.2
    max_tension: Annotated[float, EXTENT] = 0.0617849
    work: Annotated[float, EXTENT] = 0.0153324
    length: Annotated[float, EXTENT] = 200.0
    height: Annotated[float, EXTENT] = 10.0
    adhering: Annotated[float, EXTENT] = 150.0
    cells: Annotated[tuple[int, int] | None, _CELLS] = None
    horizontal: Annotated[bool, _HORIZONTAL] = False
    penalty: Annotated[float | None, PENALTY] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        if self.adhering > self.length:
            why = "the strip adheres along a part of its lower side."
            needs, try_ = f"at most the length {self.length}", f"give {0.75 * self.length:g}."
            raise ModelError("StripPeeling.adhering", self.adhering, needs, why, try_)
        rest = self.length - self.adhering
        if self.adhering < _LEAST_PART * self.length or 0.0 < rest < _LEAST_PART * self.length:
            why = "the elements of one strip must not differ so much in length."
            needs = (
                f"more than {_LEAST_PART:g} of the length; the remainder is zero, or above the "
                "same bound"
            )
            try_ = f"give {0.75 * self.length:g}, or {self.length:g} for the whole length."
            raise ModelError("StripPeeling.adhering", self.adhering, needs, why, try_)

    def assembled(self) -> Assembled:
        """Return the strip, its contact with the plane, and the displacement of its end."""
        quick = self.size == "quick"
        nx, ny = self.cells if self.cells is not None else ((180, 2) if quick else (320, 8))
        adhesion = LennardJones.from_strength(self.max_tension, self.work)
        # the lower side is divided into two boundaries: the left one is in contact with the plane
        fraction = self.adhering / self.length
        left = max(1, round(nx * (0.9 if fraction > 0.7 else fraction)))
        left = min(max(left, 1), nx - 1) if fraction < 1.0 else nx
        x = np.concatenate(
            [np.linspace(0.0, fraction, left + 1), np.linspace(fraction, 1.0, nx - left + 1)[1:]]
        )
        mesh = rectangle(
            self.length, self.height, (nx, ny), (0.0, adhesion.gap_eq), grading_x=x
        ).split("bottom", left, "adhering", "lifted")
        middle = (self.length, adhesion.gap_eq + 0.5 * self.height)
        end = Nearest(0, middle)
        along = 0 if self.horizontal else 1
        drive = Driven(end, along, Program((0.0, 1.0), (0.0, self.u_end)))
        contact = Contact(
            Boundary(0, "adhering"), RigidPlane(), adhesion, self.model, penalty=self.penalty
        )
        return Assembled(
            [Body(mesh, Q2N2(), NeoHookean(1.0, self.poisson))],
            [contact],
            [drive, Fixed(end, (1 - along,))],
            readings=Readings(displacement=0, support=True, nominal=True),
            dimensionless=True,
        )


@dataclass(frozen=True, eq=False, repr=False)
class TwoCylinders(SolidSystem):
    """Two half cylinders that slide across each other at fixed height, in plane strain.

    Units are the radius R and Young's modulus E. The vertical distance of the two flat bases is
    2 R - overlap. The lower base is fixed; the upper one starts R to the left of it and moves to
    the right by `u_end`.

    Parameters
    ----------
    model : law of friction; DI, EA or Frictionless
    mu, s_cut : friction parameter and cut-off parameter; None takes those of `model` [1]
    overlap : nominal overlap [R], below 2 - sqrt(3)
    size : "quick" (seconds), or "paper" with about 1500 elements per cylinder
    u_end : displacement of the upper base at the end of the program, at time 1 [R]
    stretch : whether tractions decrease with the stretch J of the partner's surface; the paper
        takes J = 1
    poisson : Poisson's ratio [1]
    max_tension, work : T_max / E and W_adh / (E R) [1]
    penalty : tangential stiffness in stick [E / R]; None takes ten times the stiffness of the
        normal law at its equilibrium gap

    Notes
    -----
    Half cylinders and the distance 1.75 R of their bases are assumed.

    Source: Mergel, Scheibert, Sauer 2021, section 4.2, Table 2.
    Verified by: tests/unit/solids/test_presets.py::test_cylinders_are_symmetric
    """

    model: Annotated[AdhesiveFriction, MODEL] = field(default_factory=Frictionless)
    mu: Annotated[float | None, MU] = None
    overlap: Annotated[float, _OVERLAP] = 0.25
    size: Annotated[str, SIZE] = "quick"
    u_end: Annotated[float, EXTENT] = 2.0
    s_cut: Annotated[float | None, S_CUT] = None
    stretch: Annotated[bool, _THINNING] = False
    poisson: Annotated[float, POISSON] = 0.3
    max_tension: Annotated[float, EXTENT] = 0.0313868
    work: Annotated[float, EXTENT] = 1.94722e-4
    penalty: Annotated[float | None, PENALTY] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))

    def assembled(self) -> Assembled:
        """Return the two cylinders, their contact, and the displacements of their bases."""
        along, across = ((12, 8), 7) if self.size == "quick" else ((28, 20), 14)
        lower = half_disc(1.0, along, across)
        upper = rotated(lower).moved((-1.0, 2.0 - self.overlap))
        adhesion = LennardJones.from_strength(self.max_tension, self.work)
        contact = Contact(
            Boundary(0, "arc"),
            Boundary(1, "arc"),
            adhesion,
            self.model,
            penalty=self.penalty,
            stretch=self.stretch,
        )
        body = NeoHookean(1.0, self.poisson)
        above = Boundary(1, "base")
        return Assembled(
            [Body(lower, Q1H(), body), Body(upper, Q1H(), body)],
            [contact],
            [
                Driven(above, 0, Program((0.0, 1.0), (0.0, self.u_end))),
                Fixed(above, (1,)),
                Fixed(Boundary(0, "base")),
            ],
            readings=Readings(displacement=0),
            dimensionless=True,
        )


# times at which the attraction and the normal force have reached their full values
_ATTRACTED, _LOADED = 0.1, 0.3


@dataclass(frozen=True, eq=False, repr=False)
class CapSliding(SolidSystem):
    """A soft cap under a rigid plate: a constant normal force, then shear.

    Units are L0 and Young's modulus E. The base of the cap is fixed. Until time 0.1 the attraction
    grows under a compressive force, `normal_force` or at least 0.2 E L0. Until time 0.3 the force
    changes to `normal_force`, and until time 1 the plate moves sideways by `u_end`.

    Parameters
    ----------
    normal_force : on the plate, per width, positive in compression [E L0]
    nu : Poisson's ratio [1]
    adhesive : whether surfaces attract each other; it does not change the friction law
    model : law of friction; the paper takes DI(mu=1)
    mu : friction parameter; None takes that of `model` [1]
    size : "quick" (seconds), or "paper" with 900 x 47 elements
    u_end : displacement of the plate at the end of the program, at time 1 [L0]
    s_cut : cut-off parameter of friction; None takes that of `model` [1]
    radius, height, half_width : of the cap [L0]
    max_tension, work : T_max / E and W_adh / (E L0) [1]
    material : constitutive law of the cap; None takes the nearly incompressible Neo-Hookean law
        with E = 1 and `nu`
    cells : elements along and across; None takes those of `size`
    friction_in_preload : whether friction acts from first contact on; False lets it begin with the
        shear
    penalty : tangential stiffness in stick [E / L0]; None takes ten times the stiffness of the
        normal law at its equilibrium gap

    Notes
    -----
    The paper gives the height alone; radius and width are assumed. The radius follows from the
    paper's detachment length 4.42 L0 if this is the contact length at pull-off without shear.

    Source: Mergel, Scheibert, Sauer 2021, section 5, Table 4.
    Verified by: tests/unit/solids/test_presets.py::test_cap_slides
    """

    normal_force: Annotated[float, FORCE] = 0.0
    nu: Annotated[float, POISSON] = 0.49
    adhesive: Annotated[bool, ADHESIVE] = True
    model: Annotated[AdhesiveFriction, MODEL] = field(default_factory=lambda: DI(mu=1.0))
    mu: Annotated[float | None, MU] = None
    size: Annotated[str, SIZE] = "quick"
    u_end: Annotated[float, EXTENT] = 5.0
    s_cut: Annotated[float | None, S_CUT] = None
    radius: Annotated[float, EXTENT] = 40.65
    height: Annotated[float, EXTENT] = 10.0
    half_width: Annotated[float, EXTENT] = 20.0
    max_tension: Annotated[float, EXTENT] = 0.165
    work: Annotated[float, EXTENT] = 0.0135
    material: Annotated[Material | None, _MATERIAL] = None
    cells: Annotated[tuple[int, int] | None, _CELLS] = None
    friction_in_preload: Annotated[bool, IN_PRELOAD] = True
    penalty: Annotated[float | None, PENALTY] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        if not self.adhesive and not self.normal_force > 0.0:
            why = "without adhesion the plate needs a compressive force to stay in contact."
            needs, try_ = "a number > 0 [E L0]", "give 0.5, or adhesive = True."
            raise ModelError("CapSliding.normal_force", self.normal_force, needs, why, try_)

    def assembled(self) -> Assembled:
        """Return the cap, its contact with the plate, and the plate's force and displacement."""
        quick = self.size == "quick"
        nx, ny = self.cells if self.cells is not None else ((220, 10) if quick else (900, 47))
        x = dense_between(nx, 0.28, 0.72, 4.0) if quick or nx < 500 else uniform(nx)
        y = graded(ny, 1.0 / 12.0)
        mesh = cap(self.radius, self.height, self.half_width, (nx, ny), x, y)
        adhesion = LennardJones.from_strength(self.max_tension, self.work, adhesive=self.adhesive)
        first = max(self.normal_force, 0.2)
        # the initial gap lies slightly below equilibrium, in the repulsive range of the law
        depth = 0.5 * first * (1.0 - self.nu**2) / self.half_width
        depth = min(depth, 0.9 * adhesion.gap_eq)
        contact = Contact(
            Boundary(0, "top"),
            RigidPlane((0.0, self.height + adhesion.gap_eq - depth), (0.0, -1.0)),
            adhesion,
            self.model,
            penalty=self.penalty,
            friction_from=0.0 if self.friction_in_preload else _LOADED,
        )
        body = self.material
        if body is None:
            body = NearlyIncompressible(1.0, self.nu)
        force = Program((0.0, _ATTRACTED, _LOADED), (-first, -first, -self.normal_force))
        attraction = (
            Program((0.0, _ATTRACTED), (0.0, 1.0)) if self.adhesive else Program((0.0,), (1.0,))
        )
        return Assembled(
            [Body(mesh, Q1N2(reduced=True), body)],
            [contact],
            [
                Driven(Rigid(0), 0, Program((_LOADED, 1.0), (0.0, self.u_end))),
                Loaded(Rigid(0), 1, force),
                Fixed(Boundary(0, "bottom")),
            ],
            attraction=attraction,
            readings=Readings(displacement=0, start=_LOADED),
            dimensionless=True,
        )


def with_numbers(
    model: AdhesiveFriction, mu: float | None, s_cut: float | None
) -> AdhesiveFriction:
    """Return the law `model` with `mu` and `s_cut` replaced, each unless it is None."""
    import dataclasses

    given = {name: v for name, v in (("mu", mu), ("s_cut", s_cut)) if v is not None}
    if not given or (isinstance(model, Frictionless) and given == {"mu": 0.0}):
        return model
    if isinstance(model, Frictionless) or not isinstance(model, (DI, EA)):
        why = "this law has no parameters mu and s_cut."
        needs, try_ = "a model with mu and s_cut, DI or EA", "leave mu and s_cut out."
        raise ModelError("model", type(model).__name__, needs, why, try_)
    changed: AdhesiveFriction = dataclasses.replace(model, **given)  # type: ignore[arg-type]
    return changed
