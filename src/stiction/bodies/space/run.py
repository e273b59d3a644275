"""Moreau-Jean steps of rigid bodies in space.

`bodies.run.Stepper` does the steps. In space a step of length h moves bodies freely to its middle
(places on a line, rotation by `rotation.turn_freely`), adds loads and impulses there, and moves the
bodies freely to its end. Free motion conserves the energy, and loads and impulses do the work
h f . (v + v+) / 2 + r . (u + u+) / 2 with velocities before and after them: the ledger of a step
closes, as in the plane.

Source: Moreau 1988; Jean 1999; Strang 1968, SIAM J. Numer. Anal. 5, 506 (symmetric splitting).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiction.bodies.outcome import UNSEEN, assembled, of_hinges, of_springs, of_steps
from stiction.bodies.run import Stepper
from stiction.bodies.space.mechanics import SpatialMechanics
from stiction.bodies.space.model import SpatialBodies
from stiction.bodies.space.outcome import final_of, variables_of
from stiction.bodies.space.record import SpatialRecorder
from stiction.core.driver import run_to_end
from stiction.core.run import Request, Run

if TYPE_CHECKING:
    from stiction.bodies.methods import TimeStepper

__all__ = ["solve_in_space"]

_MODES = ("open", "stick", "slip")
_UNSEEN = UNSEEN + "; neither is the uniqueness of accelerations (Painleve's paradox)"


def solve_in_space(system: SpatialBodies, method: TimeStepper, request: Request) -> Run:
    """Return the run of `system` by time stepping."""
    m = SpatialMechanics(system)
    stepper = Stepper(system, method, request, m, SpatialRecorder)
    status, reason = run_to_end(stepper.steps(), request.progress, request.checkpoint)
    history = stepper.history(status, reason)
    record = history.record
    count = int(record.saved[0])
    q, v = record.q[:count], record.v[:count]
    turned, spin = m.to_frames(q, v)
    variables = variables_of(system, q[..., :3], turned, v[..., :3], spin)
    variables |= of_springs(m, record.save[:count], q, v)
    variables |= of_hinges(m, record, record.save[:count], q)
    return assembled(
        system,
        method,
        record,
        variables=variables,
        friction="on the first body, mean of the step",
        final=final_of(variables),
        modes=_MODES,
        **of_steps(system, history, _UNSEEN),
    )
