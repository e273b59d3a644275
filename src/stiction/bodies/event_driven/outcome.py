"""Build the `Run` of an event-driven integration: status, audit, losses of determinism, counts.

`bodies.outcome.run_of` makes the variables, events and ledger, as for time steps.
`run.solve_events` calls `build_run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.bodies import outcome as shared
from stiction.bodies.contacts import Surfaces
from stiction.bodies.event_driven.record import EventRecorder
from stiction.bodies.model import RigidBodies
from stiction.core.audit import Check, Kind, Line
from stiction.core.ledger import Ledger
from stiction.core.run import Run
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.bodies.methods import EventDriven

__all__ = ["History", "build_run"]

# largest drift of a closed gap, and largest overlap, over the smallest thickness. Chosen: the drift
# is an error of the run, the overlap also that of given positions
_DRIFT, _OVERLAP = 1e-10, 1e-6
_UNSEEN = "for groups of more than four contacts, the uniqueness of accelerations is not decided"
# the solution that a run takes, in the order of `bodies.record.LOSSES`
_CHOICES = (
    "the run ends",
    "the accelerations with the smallest contact forces",
    "the accelerations that were computed, although rounding could select others",
)


# entries of `History.counts`
STEPS, AT_ONCE, REDUCED, MOST_CONTACTS, SETTLED, UNDECIDED = range(6)
# rows of `History.worst`
ERROR, OVERLAP, DRIFT = range(3)


@dataclass(frozen=True, eq=False)
class History:
    """Results of the integration.

    Attributes
    ----------
    record : saved states, pairs, events
    surfaces : of bodies and supports
    worst : (3, 2) rows ERROR to DRIFT: largest relative residual of a contact problem, and largest
        overlap and drift of a closed gap over the smallest thickness of a body; with their times
        [s]
    counts : (6,) STEPS to UNDECIDED: steps, events at the last time, impacts with reduced
        restitution, most contacts at once, 1 after the modes at the start were found, groups whose
        accelerations may not be unique
    status, reason : how it ended
    """

    record: EventRecorder
    surfaces: Surfaces
    worst: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    status: Status
    reason: str


def build_run(system: RigidBodies, method: EventDriven, h: History) -> Run:
    """Return the run with the results of the integration."""
    # accumulations are recorded before they end
    events = h.record.events.rows
    h.record.events.rows = events[np.argsort(events["time"], kind="stable")]
    return shared.run_of(
        system,
        method,
        h.record,
        h.surfaces,
        status=h.status,
        reason=h.reason,
        checks=lambda energy: _checks(system, h, energy),
        losses=shared.losses_of(system, h.record, _CHOICES),
        unseen=_UNSEEN if h.counts[UNDECIDED] else "",
        stats={
            "steps": int(h.counts[STEPS]),
            "contacts": int(h.counts[MOST_CONTACTS]),
            "restitution_reduced": int(h.counts[REDUCED]),
        },
    )


def _checks(system: RigidBodies, h: History, energy: Ledger) -> tuple[Check, ...]:
    """Return the audit: each line has a value, its limit, a text and a time."""
    (error, at_error), (overlap, at_overlap), (drift, at_drift) = h.worst.tolist()
    lines = (
        shared.ledger_line(system, energy),
        Line(
            "contact_problems_solved",
            error,
            shared.RESIDUAL,
            "largest relative residual of the contact problems of impacts and of accelerations",
            at_error,
            Kind.CONVERGENCE,
        ),
        Line(
            "no_overlap",
            overlap,
            _OVERLAP,
            "deepest overlap of a contact that closes, over the smallest thickness of a body",
            at_overlap,
        ),
        Line(
            "closed_gaps_constant",
            drift,
            _DRIFT,
            "largest drift of a closed gap in a step, over the smallest thickness of a body; a "
            "smaller rtol reduces the drift",
            at_drift,
        ),
    )
    return tuple(line.of_run() for line in lines)
