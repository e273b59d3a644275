"""The examples of the literature as ready systems; lengths and stresses are ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from stiction.errors import ModelError
from stiction.laws.adhesion import LennardJones
from stiction.laws.adhesive_friction import DI, EA, AdhesiveFriction, Frictionless
from stiction.numerics.checks import fits, number, whole
from stiction.solids.conditions import Driven, Fixed, Loaded, Nearest, Program, Rigid
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.elements.kinds import Q1H, Q1N2, Q2N2
from stiction.solids.materials import Material, NearlyIncompressible, NeoHookean
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
from stiction.solids.model import Assembled, Body, Readings, SolidSystem, yes_or_no

__all__ = ["CapSliding", "StripPeeling", "TwoCylinders"]

TRY = "leave it out for the default."

_SIZES = ("quick", "paper")


def check_size(name: str, size: object) -> None:
    """Refuse a size that is none of the known ones."""
    if size not in _SIZES:
        why = "the quick size takes seconds, the other is that of the paper."
        needs = " or ".join(repr(s) for s in _SIZES)
        raise ModelError(f"{name}.size", repr(size), needs, why, "give 'quick'.")


def check_model(name: str, model: object) -> None:
    """Refuse what is no law of friction under adhesion."""
    if not isinstance(model, AdhesiveFriction):
        why = "it says how much tangential traction the interface carries."
        try_ = "for example EA(mu=0.01) or DI(mu=0.5)."
        raise ModelError(f"{name}.model", repr(model), "DI, EA or Frictionless", why, try_)


@dataclass(frozen=True, eq=False, repr=False)
class StripPeeling(SolidSystem):
    """A thick strip that adheres to a rigid plane and is peeled off at its right end.

    The strip is 200 long and 10 high in units of L0, with its left 150 in adhesion at the
    equilibrium gap; the middle of its right edge is driven upwards by `u_end`, held sideways,
    free to turn. Stresses are in units of Young's modulus E, forces per width in E L0.

    Parameters
    ----------
    model : law of friction; EA, DI or Frictionless
    mu, s_cut : replace those of the model when given [1]
    size : "quick" in seconds, "paper" with 320 x 8 biquadratic elements
    u_end : displacement at the end of the program, at time 1 [L0]
    poisson : Poisson's ratio of the strip [1]
    max_tension : T_max / E [1]
    work : W_adh / (E L0) [1]
    length, height, adhering : of the strip [L0]
    cells : elements along and across; None takes those of the size
    horizontal : pull along the plane instead of away from it
    penalty : tangential stiffness in stick [E / L0]; None takes ten times that of the law

    Notes
    -----
    The paper gives the adhering length alone; 200 x 10 and the way the end is held are
    assumed.

    Source: Mergel, Scheibert, Sauer 2021, section 4.1, Table 1; section 6 for horizontal.
    Verified by: tests/unit/solids/test_presets.py::test_strip_peels
    """

    model: AdhesiveFriction = field(default_factory=lambda: EA(mu=0.01))
    mu: float | None = None
    s_cut: float | None = None
    size: str = "quick"
    u_end: float = 100.0
    poisson: float = 0.2
    max_tension: float = 0.0617849
    work: float = 0.0153324
    length: float = 200.0
    height: float = 10.0
    adhering: float = 150.0
    cells: tuple[int, int] | None = None
    horizontal: bool = False
    penalty: float | None = None

    def __post_init__(self) -> None:
        check_model("StripPeeling", self.model)
        check_size("StripPeeling", self.size)
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        names = ("u_end", "max_tension", "work", "length", "height", "adhering")
        check_positive(self, names)
        if self.adhering > self.length:
            why = "the strip adheres with a part of its lower side."
            needs = f"at most the length {self.length}"
            raise ModelError("StripPeeling.adhering", self.adhering, needs, why, TRY)
        yes_or_no("StripPeeling.horizontal", self.horizontal, "it is pulled along or away.")
        check_cells("StripPeeling", self.cells)
        NeoHookean(1.0, self.poisson)
        check_penalty(self)

    def assembled(self) -> Assembled:
        """Return the strip, the plane below it, and the drive of its end."""
        quick = self.size == "quick"
        nx, ny = self.cells if self.cells is not None else ((180, 2) if quick else (320, 8))
        adhesion = LennardJones.from_strength(self.max_tension, self.work)
        # the lower side is two boundaries: only its left part sees the plane
        part = self.adhering / self.length
        left = max(1, round(nx * (0.9 if part > 0.7 else part)))
        left = min(max(left, 1), nx - 1) if part < 1.0 else nx
        x = np.concatenate(
            [np.linspace(0.0, part, left + 1), np.linspace(part, 1.0, nx - left + 1)[1:]]
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

    Units are the radius R and Young's modulus E. The bases are 2 R - overlap apart. The lower
    base is held; the upper one starts R to the left and moves right by `u_end`.

    Parameters
    ----------
    model : law of friction; DI, EA or Frictionless
    mu, s_cut : replace those of the model when given [1]
    overlap : nominal overlap [R], below 2 - sqrt(3)
    size : "quick" in seconds, "paper" with about 1500 elements per cylinder
    u_end : displacement of the upper base at the end of the program, at time 1 [R]
    stretch : whether tractions thin with the partner's surface; the paper takes J = 1
    poisson : Poisson's ratio [1]
    max_tension, work : T_max / E and W_adh / (E R) [1]
    penalty : tangential stiffness in stick [E / R]; None takes ten times that of the law

    Notes
    -----
    That the cylinders are halves with bases 1.75 R apart is assumed.

    Source: Mergel, Scheibert, Sauer 2021, section 4.2, Table 2.
    Verified by: tests/unit/solids/test_presets.py::test_cylinders_are_symmetric
    """

    model: AdhesiveFriction = field(default_factory=Frictionless)
    mu: float | None = None
    overlap: float = 0.25
    size: str = "quick"
    u_end: float = 2.0
    s_cut: float | None = None
    stretch: bool = False
    poisson: float = 0.3
    max_tension: float = 0.0313868
    work: float = 1.94722e-4
    penalty: float | None = None

    def __post_init__(self) -> None:
        check_model("TwoCylinders", self.model)
        check_size("TwoCylinders", self.size)
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        check_positive(self, ("u_end", "overlap", "max_tension", "work"))
        yes_or_no("TwoCylinders.stretch", self.stretch, "tractions thin or they do not.")
        most = 2.0 - np.sqrt(3.0)
        if self.overlap >= most:
            why = "the cylinders, R beside each other, must not touch at the start."
            needs = f"less than 2 - sqrt(3) = {most:.6g} [R]"
            raise ModelError("TwoCylinders.overlap", self.overlap, needs, why, TRY)
        NeoHookean(1.0, self.poisson)
        check_penalty(self)

    def assembled(self) -> Assembled:
        """Return the two cylinders, their contact, and what moves."""
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


# when the attraction is there, and when the normal force has its value
_ATTRACTED, _LOADED = 0.1, 0.3


@dataclass(frozen=True, eq=False, repr=False)
class CapSliding(SolidSystem):
    """A soft cap under a rigid plate: pressed or pulled by a constant force, then sheared.

    Units are L0 and Young's modulus E. The base of the cap is held. In the program's first
    tenth the attraction grows while the plate is pressed on lightly, until 0.3 the normal force
    goes to its value, and then the plate moves sideways by `u_end`.

    Parameters
    ----------
    normal_force : on the plate, per width, positive in compression [E L0]
    nu : Poisson's ratio [1]
    adhesive : whether tension acts; without it friction keeps its value
    model : law of friction; the paper takes DI(mu=1)
    mu : replaces that of the model when given [1]
    size : "quick" in seconds, "paper" with 900 x 47 elements
    u_end : displacement of the plate at the end of the program, at time 1 [L0]
    s_cut : replaces that of the model when given [1]
    radius, height, half_width : of the cap [L0]
    max_tension, work : T_max / E and W_adh / (E L0) [1]
    material : another material of the same body; None takes the nearly incompressible
        Neo-Hookean one of E = 1 and `nu`
    cells : elements along and across; None takes those of the size
    friction_in_preload : whether friction acts from the first touch on, as a law without a switch
        does; False lets it begin with the shear
    penalty : tangential stiffness in stick [E / L0]; None takes ten times that of the law

    Notes
    -----
    The paper gives the height alone. Radius and width are assumed: the radius follows from
    the paper's detachment length 4.42 L0 if that is the shear-free pull-off.

    Source: Mergel, Scheibert, Sauer 2021, section 5, Table 4.
    Verified by: tests/unit/solids/test_presets.py::test_cap_slides
    """

    normal_force: float = 0.0
    nu: float = 0.49
    adhesive: bool = True
    model: AdhesiveFriction = field(default_factory=lambda: DI(mu=1.0))
    mu: float | None = None
    size: str = "quick"
    u_end: float = 5.0
    s_cut: float | None = None
    radius: float = 40.65
    height: float = 10.0
    half_width: float = 20.0
    max_tension: float = 0.165
    work: float = 0.0135
    material: Material | None = None
    cells: tuple[int, int] | None = None
    friction_in_preload: bool = True
    penalty: float | None = None

    def __post_init__(self) -> None:
        check_model("CapSliding", self.model)
        check_size("CapSliding", self.size)
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        names = ("u_end", "radius", "height", "half_width", "max_tension", "work")
        check_positive(self, names)
        why = "the plate is pressed on or pulled by it."
        force = number("CapSliding.normal_force", self.normal_force, why=why, try_="give 0.")
        object.__setattr__(self, "normal_force", force)
        for name in ("adhesive", "friction_in_preload"):
            value: object = getattr(self, name)
            if not isinstance(value, bool):
                why = "it is so or it is not."
                raise ModelError(f"CapSliding.{name}", repr(value), "a bool", why, TRY)
        if not self.adhesive and not self.normal_force > 0.0:
            why = "without adhesion nothing but pressure keeps the plate on the cap."
            needs, try_ = "a number > 0 [E L0]", "give 0.5, or adhesive = True."
            raise ModelError("CapSliding.normal_force", self.normal_force, needs, why, try_)
        NearlyIncompressible(1.0, self.nu)
        material: object = self.material
        if material is not None and not isinstance(material, Material):
            why, try_ = "the cap is made of it.", "leave it out."
            where = "CapSliding.material"
            raise ModelError(where, repr(material), "a Material", why, try_)
        check_cells("CapSliding", self.cells)
        check_penalty(self)

    def assembled(self) -> Assembled:
        """Return the cap, the plate above it, its force and its path."""
        quick = self.size == "quick"
        nx, ny = self.cells if self.cells is not None else ((220, 10) if quick else (900, 47))
        x = dense_between(nx, 0.28, 0.72, 4.0) if quick or nx < 500 else uniform(nx)
        y = graded(ny, 1.0 / 12.0)
        mesh = cap(self.radius, self.height, self.half_width, (nx, ny), x, y)
        adhesion = LennardJones.from_strength(self.max_tension, self.work, adhesive=self.adhesive)
        first = max(self.normal_force, 0.2)
        # a little into the wall of the law, never through it
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


def check_positive(system: SolidSystem, names: tuple[str, ...]) -> None:
    """Refuse fields that are no positive numbers."""
    for name in names:
        where = f"{type(system).__name__}.{name}"
        why = "it is an extent, a strength or an end of the program."
        value = number(where, getattr(system, name), rule="positive", why=why, try_=TRY)
        object.__setattr__(system, name, value)


def check_penalty(system: SolidSystem) -> None:
    """Refuse a penalty that is no positive number."""
    value = getattr(system, "penalty", None)
    if value is not None:
        where = f"{type(system).__name__}.penalty"
        why = "it is the tangential stiffness of the interface in stick."
        number(where, value, rule="positive", why=why, try_=TRY)


def check_cells(name: str, cells: object, least: int = 2) -> None:
    """Refuse what is no number of elements along and across."""
    if cells is None:
        return
    why = "the body is made of this many elements along and across."
    good = isinstance(cells, (tuple, list)) and len(cells) == 2
    if not good:
        needs, try_ = "two whole numbers", "give [100, 2]."
        raise ModelError(f"{name}.cells", repr(cells), needs, why, try_)
    for value in cells:  # type: ignore[attr-defined]
        whole(f"{name}.cells", value, least=least, why=why, try_="give [100, 2].")
    fits(f"{name}.cells", math.prod(cells), BYTES_OF_CELL, "give [100, 2].")  # type: ignore[call-overload]


def with_numbers(
    model: AdhesiveFriction, mu: float | None, s_cut: float | None
) -> AdhesiveFriction:
    """Return the law with another mu or s_cut, where they are given."""
    import dataclasses

    given = {name: v for name, v in (("mu", mu), ("s_cut", s_cut)) if v is not None}
    if not given or (isinstance(model, Frictionless) and given == {"mu": 0.0}):
        return model
    if isinstance(model, Frictionless) or not isinstance(model, (DI, EA)):
        why = "the law has no such numbers."
        needs, try_ = "a model with mu and s_cut, DI or EA", "leave mu and s_cut out."
        raise ModelError("model", type(model).__name__, needs, why, try_)
    changed: AdhesiveFriction = dataclasses.replace(model, **given)  # type: ignore[arg-type]
    return changed
