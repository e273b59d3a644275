"""The examples of the literature as ready systems; lengths and stresses are ratios."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stiction.errors import ModelError, explain
from stiction.laws.adhesion import LennardJones
from stiction.laws.adhesive_friction import DI, EA, AdhesiveFriction, Frictionless
from stiction.numerics.checks import number, whole
from stiction.solids.conditions import Driven, Fixed, Nearest, Program
from stiction.solids.contact import Contact
from stiction.solids.elements import Q2N2
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh import rectangle
from stiction.solids.model import Assembled, Body, Readings, SolidSystem
from stiction.solids.partners import Boundary, RigidPlane

__all__ = ["StripPeeling"]

TRY = "leave it out for the default."

_SIZES = ("quick", "paper")


def check_size(name: str, size: object) -> None:
    """Refuse a size that is none of the known ones."""
    if size not in _SIZES:
        why = "the quick size takes seconds, the other is that of the paper."
        needs = " or ".join(repr(s) for s in _SIZES)
        raise ModelError(explain(f"{name}.size", repr(size), needs, why, "give 'quick'."))


def check_model(name: str, model: object) -> None:
    """Refuse what is no law of friction under adhesion."""
    if not isinstance(model, AdhesiveFriction):
        why = "it says how much tangential traction the interface carries."
        try_ = "for example EA(mu=0.01) or DI(mu=0.5)."
        raise ModelError(explain(f"{name}.model", repr(model), "DI, EA or Frictionless", why, try_))


@dataclass(frozen=True, eq=False)
class StripPeeling(SolidSystem):
    """A thick strip that adheres to a rigid plane and is peeled off at its right end.

    The strip is 200 long and 10 high in units of L0, with its left 150 in adhesion at the
    equilibrium gap; the middle of its right edge is driven upwards by `u_end`, held sideways,
    free to turn. Stresses are in units of Young's modulus E, forces per width in E L0.

    Parameters
    ----------
    model : law of friction; EA, DI or Frictionless
    size : "quick" in seconds, "paper" with 320 x 8 biquadratic elements
    u_end : displacement at the end of the program, at time 1 [L0]
    mu, s_cut : replace those of the model when given [1]
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
    size: str = "quick"
    u_end: float = 100.0
    mu: float | None = None
    s_cut: float | None = None
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
        for name in ("u_end", "max_tension", "work", "length", "height", "adhering"):
            value = number(
                f"StripPeeling.{name}",
                getattr(self, name),
                rule="positive",
                why="it is an extent, a strength or an end of the program.",
                try_=TRY,
            )
            object.__setattr__(self, name, value)
        if self.adhering > self.length:
            why = "the strip adheres with a part of its lower side."
            needs = f"at most the length {self.length}"
            raise ModelError(explain("StripPeeling.adhering", self.adhering, needs, why, TRY))
        _check_cells("StripPeeling", self.cells)
        NeoHookean(1.0, self.poisson)
        if self.penalty is not None:
            number(
                "StripPeeling.penalty",
                self.penalty,
                rule="positive",
                why="stick is stiff.",
                try_=TRY,
            )

    def assembled(self) -> Assembled:
        """Return the strip, the plane below it, and the drive of its end."""
        quick = self.size == "quick"
        nx, ny = self.cells if self.cells is not None else ((100, 2) if quick else (320, 8))
        adhesion = LennardJones.from_strength(self.max_tension, self.work)
        # the lower side is two boundaries: only its left part sees the plane
        part = self.adhering / self.length
        left = max(1, round(nx * (0.9 if part > 0.7 and not quick else part)))
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


def _check_cells(name: str, cells: object) -> None:
    if cells is None:
        return
    why = "the body is made of this many elements along and across."
    good = isinstance(cells, (tuple, list)) and len(cells) == 2
    if not good:
        needs, try_ = "two whole numbers", "give [100, 2]."
        raise ModelError(explain(f"{name}.cells", repr(cells), needs, why, try_))
    for value in cells:  # type: ignore[attr-defined]
        whole(f"{name}.cells", value, least=2, why=why, try_="give [100, 2].")


def with_numbers(
    model: AdhesiveFriction, mu: float | None, s_cut: float | None
) -> AdhesiveFriction:
    """Return the law with another mu or s_cut, where they are given."""
    import dataclasses

    given = {name: v for name, v in (("mu", mu), ("s_cut", s_cut)) if v is not None}
    if not given:
        return model
    if isinstance(model, Frictionless) or not isinstance(model, (DI, EA)):
        why = "the law has no such numbers."
        needs, try_ = "a model with mu and s_cut, DI or EA", "leave mu and s_cut out."
        raise ModelError(explain("model", type(model).__name__, needs, why, try_))
    return dataclasses.replace(model, **given)  # type: ignore[type-var]
