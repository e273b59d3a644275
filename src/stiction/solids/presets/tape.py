"""The tape of the literature as a ready system; lengths are in L0, tensions in E T."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

from stiction.core.fields import Count, Finite, Flag, Positive
from stiction.errors import ModelError
from stiction.laws.adhesion import LennardJones
from stiction.laws.adhesive_friction import EA, AdhesiveFriction
from stiction.solids.conditions import Condition, Driven, Fixed, Program
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.membranes.model import Membrane
from stiction.solids.membranes.patch import FACE, flat_patch
from stiction.solids.mesh.model import BYTES_OF_CELL
from stiction.solids.model import Assembled, Readings, SolidSystem
from stiction.solids.presets.plane import (
    EXTENT,
    MODEL,
    MU,
    PENALTY,
    S_CUT,
    SIZE,
    WHY_CELLS,
    with_numbers,
)

__all__ = ["TapePeeling"]

# friction holds the stretched tape from before the start
_ALWAYS = -1.0

_ANGLE = Positive("degrees", "the end is peeled off, not pushed in.", below=180.0)
_PRESTRETCH = Finite(
    "1", "the tape is attached stretched by it; below one it would wrinkle at once.", least=1.0
)
_CELLS = Count(1, WHY_CELLS, "give [100, 2].", each=BYTES_OF_CELL, size=2)
_WIDTH = Flag("the width is fixed or it is not.", "give True.")


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
    The paper gives neither length nor width: both are assumed, and the end is taken to be clamped
    to a stiff bar. Poisson's ratio of the paper's table has no meaning for an incompressible
    membrane; E T = 3 mu T is taken.

    Source: Mergel, Scheibert, Sauer 2021, section 4.3, Table 3.
    Verified by: tests/unit/solids/membranes/test_tape.py::test_tape_peels
    """

    model: Annotated[AdhesiveFriction, MODEL] = field(default_factory=lambda: EA(mu=0.05))
    mu: Annotated[float | None, MU] = None
    s_cut: Annotated[float | None, S_CUT] = None
    size: Annotated[str, SIZE] = "quick"
    u_end: Annotated[float, EXTENT] = 14.0
    angle: Annotated[float, _ANGLE] = 45.0
    length: Annotated[float, EXTENT] = 24.0
    width: Annotated[float, EXTENT] = 8.0
    prestretch: Annotated[float, _PRESTRETCH] = 1.001
    max_tension: Annotated[float, EXTENT] = 0.617849
    work: Annotated[float, EXTENT] = 0.153324
    cells: Annotated[tuple[int, int] | None, _CELLS] = None
    held_sideways: Annotated[bool, _WIDTH] = False
    clamped: Annotated[bool, _WIDTH] = True
    penalty: Annotated[float | None, PENALTY] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "model", with_numbers(self.model, self.mu, self.s_cut))
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
        displacements = (self.u_end * math.cos(turn), self.u_end * math.sin(turn))
        conditions: list[Condition] = [
            Driven(end, k, Program((0.0, 1.0), (0.0, u))) for k, u in enumerate(displacements)
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
