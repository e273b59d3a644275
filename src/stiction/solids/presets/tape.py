"""Peeling of an adhesive tape, a membrane: `TapePeeling`, after Mergel et al. 2021, section 4.3.

It expands a few numbers into a membrane, a contact and boundary conditions (`assembled`), which
`equilibria.problem` discretises. Lengths are in units of L0, tensions in E T with Young's modulus E
and thickness T. The scenario `tape-peeling` uses it.
"""

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

# a time before any start of a run: friction holds the stretched tape from the first state on
_ALWAYS = -1e300

_ANGLE = Positive("degrees", "the end must move away from the plane.", below=180.0)
_PRESTRETCH = Finite(
    "1", "the membrane has this initial stretch, and wrinkles at stretches below 1.", least=1.0
)
_CELLS = Count(1, WHY_CELLS, "give [100, 2].", each=BYTES_OF_CELL, size=2)
_WIDTH = Flag("True fixes the width.", "give True.")


@dataclass(frozen=True, eq=False, repr=False)
class TapePeeling(SolidSystem):
    """A soft tape, a membrane, that adheres to a rigid plane and is peeled off at its right end.

    The tape lies along the first axis; the second axis points away from the plane. One half is
    solved, from the plane of symmetry to the free edge. The tape adheres in a stretched state, held
    by friction, and its right end is displaced by `u_end` at `angle` to the plane. Lengths are in
    units of L0, forces in E T L0, with the thickness T.

    Parameters
    ----------
    model : law of friction that acts under tension; EA or DI
    mu, s_cut : friction parameter and cut-off parameter; None takes those of `model` [1]
    size : "quick", or "paper" with 90 x 6 elements of half the tape
    u_end : displacement of the end along its direction at the end of the program, at time 1 [L0]
    angle : of the displacement to the plane [degrees], between 0 and 180
    length, width : of the attached tape [L0]
    prestretch : initial stretch of the tape along both directions [1]
    max_tension : T_max L0 / (E T) [1]
    work : W_adh / (E T) [1]
    cells : elements along and across half the tape; None takes those of `size`
    held_sideways : fix the width everywhere, as in a very wide tape
    clamped : fix the width of the pulled end; the film is slightly compressed at its corners
    penalty : tangential stiffness in stick [E T / L0^3]; None takes ten times the stiffness of the
        normal law at its equilibrium gap

    Notes
    -----
    Length, width and the clamped end are assumed; the paper does not give them. Poisson's ratio in
    the paper's table does not apply to an incompressible membrane: E T = 3 mu T with the shear
    modulus mu.

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
        """Refuse friction that acts under pressure alone: the contact of a membrane has none."""
        law = LennardJones.from_strength(self.max_tension, self.work)
        # between the gap of equilibrium and the end of friction
        gap = 0.5 * (law.gap_eq + min(self.model.gap_cut(law), law.gap_max))
        acts = gap > law.gap_eq and float(self.model.threshold(gap, law)) > 0.0
        if self.prestretch > 1.0 and not acts:
            got = repr(self.model)
            why = (
                "a membrane has no contact pressure: the gap is at least the equilibrium gap "
                f"{law.gap_eq:.4g}. With friction that needs pressure the tape would contract "
                "and slide."
            )
            needs = "friction that acts under tension, as EA and DI with mu > 0 and s_cut > 0"
            where = f"{type(self).__name__}.model"
            raise ModelError(where, got, needs, why, "give EA(mu=0.05, s_cut=1).")

    def assembled(self) -> Assembled:
        """Return half the tape, its contact with the plane, and the displacement of its end."""
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
        # the right end is displaced along the direction of the angle
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
