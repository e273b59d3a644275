"""Painleve's paradox in time steps: states without an acceleration, or with several.

A time step has impulses where the contact law has no acceleration, and takes one solution of
several. Both can occur where the friction of a contact that slips changes the sign of its inverse
effective mass,

    p = W_nn - mu s W_nt <= 0,   W_nn = sum 1 / m + a_t^2 / I,   W_nt = -sum a_t a_n / I,

with the coefficient of friction mu, the direction s of slip, and sums over both bodies of mass m
and moment of inertia I. a_n and a_t are normal and tangential components of their arms to the
contact. Groups of contacts with such a contact are examined as `EventDriven` examines them at an
event: all modes are enumerated (`event_driven.modes`). `run.Stepper` calls `paradoxes` at the end
of each step.

Source: Genot, Brogliato 1999, Eur. J. Mech. A/Solids 18, 653 (Painleve's rod).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.bodies.event_driven import kinematics as kin
from stiction.bodies.event_driven.modes import (
    MOST_COMBINATIONS,
    Found,
    combinations,
    modes_of_groups,
)
from stiction.bodies.impulse_kernels import group_contacts
from stiction.bodies.mechanics import Mechanics
from stiction.numerics.arrays import Table

__all__ = ["paradoxes"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# a contact is examined if p over W_nn is below this: Painleve's boundary is p = 0, and p at the end
# of a step differs a little from that in it. Chosen
_NEAR = 0.05


def paradoxes(
    m: Mechanics, contacts: Table[Contact], slip: Wholes, pose: Floats, time: float, q: Floats,
    v: Floats,
) -> Iterator[tuple[Table[Contact], Found | None]]:  # fmt: skip
    """Yield the groups that may have no acceleration or several, and the result for each.

    None stands for groups with too many contacts.

    Parameters
    ----------
    contacts : (c,) with a normal velocity of zero, as found at `pose`
    slip : (c,) direction of slip, 1 or -1; 0 where contacts stick
    pose : (m, 3) places of bodies and supports
    time, q, v : from the start [s], places and velocities of bodies

    Verified by: tests/exact/test_rigid_bodies.py::test_painleves_rod_in_time_steps
    """
    near = _near_paradox(m, contacts, slip)
    if not near.any():
        return
    group = np.zeros(len(contacts), dtype=np.int64)
    group_contacts(contacts, m.n, group)
    for g in np.unique(group[near]):
        at = np.flatnonzero(group == g)
        if combinations(slip[at]) > MOST_COMBINATIONS:
            yield contacts[at], None
            continue
        closed = kin.Closed.table(len(at))
        for k, c in enumerate(at.tolist()):
            closed[k] = kin.closed_contact(m.surfaces, contacts[c], pose)
        for _, found in modes_of_groups(m, closed, time, q, v, slip[at]):
            yield contacts[at], found


def _near_paradox(m: Mechanics, contacts: Table[Contact], slip: Wholes) -> npt.NDArray[np.bool_]:
    """Return which contacts have an inverse effective mass near zero or below."""
    if not slip.any():
        return np.zeros(len(slip), dtype=bool)
    normal = np.asarray(contacts["normal"])
    w_nn, w_nt = np.zeros(len(slip)), np.zeros(len(slip))
    for name in ("first", "second"):
        arm, inverse = np.asarray(contacts[f"arm_{name}"]), m.inverse[contacts[name]]
        moment = arm[:, 0] * normal[:, 1] - arm[:, 1] * normal[:, 0]
        w_nn += inverse[:, 0] + inverse[:, 2] * moment**2
        # the tangent is the normal turned clockwise
        w_nt -= inverse[:, 2] * moment * (arm * normal).sum(axis=1)
    return np.asarray((slip != 0) & (w_nn - m.mu(contacts) * slip * w_nt <= _NEAR * w_nn))
