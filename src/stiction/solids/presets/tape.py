"""The tape of the literature as a ready system; lengths are in L0, tensions in E T."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from stiction.errors import ModelError
from stiction.laws.adhesion import LennardJones
from stiction.laws.adhesive_friction import EA, AdhesiveFriction
from stiction.numerics.checks import number
from stiction.solids.conditions import Condition, Driven, Fixed, Program
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.membranes.model import Membrane
from stiction.solids.membranes.patch import FACE, flat_patch
from stiction.solids.model import Assembled, Readings, SolidSystem, yes_or_no
from stiction.solids.presets.plane import (
    TRY,
    check_cells,
    check_model,
    check_penalty,
    check_positive,
    check_size,
    with_numbers,
)

__all__ = ["TapePeeling"]

# friction holds the stretched tape from before the start
_ALWAYS = -1.0


@dataclass(frozen=True, eq=False, repr=False)
class TapePeeling(SolidSystem):
    """A soft tape, a membrane, that adheres to a rigid plane and is peeled off at its right end.

    The tape lies along the first axis, the second one points away from the plane. One half is
    solved, from the plane of symmetry to the free edge. It adheres stretched, held by friction,
    and its right end moves by `u_end` at `angle` to the plane. Lengths are in units of L0,
    forces in E T L0, with the thickness T.

    Parameters
    ----------
    model : law of friction that acts under tension; EA or DI
    mu, s_cut : replace those of the model when given [1]
    size : "quick", or "paper" with 90 x 6 elements of half the tape
    u_end : displacement of the end, along its direction, at the end of the program, at time 1 [L0]
    angle : of the motion to the plane [degrees], between 0 and 180
    length, width : of the attached tape [L0]
    prestretch : of the attached tape, along and across [1]
    max_tension : T_max L0 / (E T) [1]
    work : W_adh / (E T) [1]
    cells : elements along and across half the tape; None takes those of the size
    held_sideways : keep the width everywhere, as in a very wide tape
    clamped : keep the width of the pulled end; the film is compressed a little at its corners
    penalty : tangential stiffness in stick [E T / L0^3]; None takes ten times that of the law

    Notes
    -----
    The paper tells neither length nor width: both are assumed, and the end is taken to be clamped
    to a stiff bar. Poisson's ratio of the paper's table has no meaning for an incompressible
    membrane; E T = 3 mu T is taken.

    Source: Mergel, Scheibert, Sauer 2021, section 4.3, Table 3.
    Verified by: tests/unit/solids/membranes/test_tape.py::test_tape_peels
    """

    model: AdhesiveFriction = field(default_factory=lambda: EA(mu=0.05))
    mu: float | None = None
    s_cut: float | None = None
    size: str = "quick"
    u_end: float = 14.0
    angle: float = 45.0
    length: float = 24.0
    width: float = 8.0
    prestretch: float = 1.001
    max_tension: float = 0.617849
    work: float = 0.153324
    cells: tuple[int, int] | None = None
    held_sideways: bool = False
    clamped: bool = True
    penalty: float | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_model(name, self.model)
        check_size(name, self.size)
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
        check_positive(self, ("u_end", "length", "width", "max_tension", "work", "angle"))
        if not self.angle < 180.0:
            why, needs = "the end is peeled off, not pushed in.", "an angle below 180 [degrees]"
            raise ModelError(f"{name}.angle", self.angle, needs, why, TRY)
        why = "it is the stretch of the attached tape."
        value = number(f"{name}.prestretch", self.prestretch, why=why, try_=TRY)
        object.__setattr__(self, "prestretch", value)
        Membrane(prestretch=value)
        for field_ in ("held_sideways", "clamped"):
            yes_or_no(f"{name}.{field_}", getattr(self, field_), "the width is kept or it is not.")
        check_cells(name, self.cells, least=1)
        check_penalty(self)
        self._check_friction()

    def _check_friction(self) -> None:
        """Refuse friction that needs pressure: a membrane is never pressed on its plane."""
        law = LennardJones.from_strength(self.max_tension, self.work)
        cut = getattr(self.model, "s_cut", 1.0)
        if self.prestretch > 1.0 and (not hasattr(self.model, "mu") or not cut > 0.0):
            got = f"{type(self.model).__name__}" + (f"(s_cut={cut:g})" if cut <= 0.0 else "")
            why = (
                "a membrane never presses on its plane: its gap is at least that of equilibrium, "
                f"{law.gap_eq:.4g}, and friction that needs pressure leaves it to shrink and slide."
            )
            needs = "friction that acts under tension, s_cut > 0"
            where = f"{type(self).__name__}.model"
            raise ModelError(where, got, needs, why, "give EA(mu=0.05, s_cut=1).")

    def assembled(self) -> Assembled:
        """Return half the tape, the plane below it, and the drive of its end."""
        cells = self.cells
        if cells is None:
            cells = (72, 4) if self.size == "quick" else (90, 6)
        adhesion = LennardJones.from_strength(self.max_tension, self.work)
        start = (0.0, adhesion.gap_eq, 0.0)
        patch = flat_patch(self.length, 0.5 * self.width, cells, start)
        tape = Membrane(patch, prestretch=self.prestretch)
        contact = Contact(
            Boundary(0, FACE),
            RigidPlane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            adhesion,
            self.model,
            penalty=self.penalty,
            friction_from=_ALWAYS,
        )
        end, turn = Boundary(0, "right"), math.radians(self.angle)
        ways = (self.u_end * math.cos(turn), self.u_end * math.sin(turn))
        conditions: list[Condition] = [
            Driven(end, k, Program((0.0, 1.0), (0.0, way))) for k, way in enumerate(ways)
        ]
        if self.held_sideways:
            conditions.append(Fixed(Boundary(0, FACE), (2,)))
        else:
            conditions.append(Fixed(Boundary(0, "front"), (2,)))
            if self.clamped:
                conditions.append(Fixed(end, (2,)))
        return Assembled(
            [tape],
            [contact],
            conditions,
            readings=Readings(displacement=0, support=True),
            dimensionless=True,
        )
