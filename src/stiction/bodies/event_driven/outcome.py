"""Builds the run of event-driven rigid bodies."""

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

# of the smallest thickness; the last is that of given places
_DRIFT, _OVERLAP = 1e-10, 1e-6
_UNSEEN = "whether accelerations of groups of more than four contacts are unique is not decided"
_CHOICES = (
    "the run ends",
    "the accelerations with the smallest contact forces",
    "what the law gives without regard to rounding",
)


@dataclass(frozen=True, eq=False)
class History:
    """Results of the integration.

    Attributes
    ----------
    record : saved states, pairs, events
    surfaces : of bodies and supports
    worst : (3, 2) largest residual, overlap and drift of a closed gap, with their times
    counts : steps, events at the last time, impacts with reduced restitution, most contacts,
        whether the start was settled, groups whose accelerations may not be unique
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
        checks=lambda energy: _checks(h, energy),
        losses=shared.losses_of(system, h.record, _CHOICES),
        unseen=_UNSEEN if h.counts[5] else "",
        stats={
            "steps": int(h.counts[0]),
            "contacts": int(h.counts[3]),
            "restitution_reduced": int(h.counts[2]),
        },
    )


def _checks(h: History, energy: Ledger) -> tuple[Check, ...]:
    (error, at_error), (overlap, at_overlap), (drift, at_drift) = h.worst.tolist()
    lines = (
        Line("ledger_closes", energy.imbalance_rel, shared.LEDGER),
        Line(
            "contact_problems_solved",
            error,
            shared.RESIDUAL,
            "largest residual of the contact problem of an impact, relative",
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
            "largest drift of a closed gap in a step, over the smallest thickness; a smaller rtol "
            "lessens it",
            at_drift,
        ),
    )
    return tuple(line.of_run() for line in lines)
