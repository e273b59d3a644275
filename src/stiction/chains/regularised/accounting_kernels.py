"""What a step adds to the energies, and how far contacts creep."""

from __future__ import annotations

import math

from stiction.chains.regularised.collocation_kernels import STAGES, integrals
from stiction.chains.regularised.state import Contact, Model, Progress
from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel

__all__ = ["account", "creep", "turned"]


@kernel
def account(now: Progress, contacts: Table[Contact], done: Vector, t: float) -> None:
    """Add what a step did that ends at t: heat per mass, work, and viscous heat [J]."""
    n = contacts.size
    now.work += done[n]
    now.viscous += done[n + 1]
    given, since = 0.0, 0.0
    for i in range(n):
        contact = contacts[i]
        contact.heat += done[i]
        if contact.heat >= contact.most_heat:
            contact.most_heat, contact.most_heat_time = contact.heat, t
        if contact.most_heat - contact.heat > given:
            given, since = contact.most_heat - contact.heat, contact.most_heat_time
    if given > now.given:
        now.given, now.given_time = given, since


@kernel
def turned(contact: Contact, cycle: float) -> None:
    """Note that a mass turned round; without cycles of the drive, end half a cycle."""
    if cycle != 0.0:
        return
    half = contact.pending if contact.quiet == 1 else math.nan
    # the mid-ranges of two half cycles that follow each other differ by half of both
    mean = 0.5 * (contact.half + half)
    contact.creep += 0.0 if math.isnan(mean) else mean
    contact.half, contact.pending, contact.quiet = half, 0.0, 1


@kernel
def _broken(looks: Vector, force: Matrix, i: int, level: float) -> float:
    """Return the fraction of the step at which friction is first full; infinity for none."""
    for j in range(looks.size):
        high = abs(force[j, i])
        if high >= level:
            if j == 0:
                return looks[0]
            low = abs(force[j - 1, i])
            return looks[j - 1] + (level - low) / (high - low) * (looks[j] - looks[j - 1])
    return math.inf


@kernel
def _slip(plastic: Matrix, i: int, weight: Vector) -> float:
    total = 0.0
    for j in range(STAGES + 1):
        total += weight[j] * plastic[j, i]
    return total


@kernel
def creep(
    now: Progress,
    contacts: Table[Contact],
    model: Model,
    t: float,
    h: float,
    looks: Vector,
    force: Matrix,
    plastic: Matrix,
    weight: Matrix,
) -> None:
    """Count slip that does not come back while friction is far from what slip resists.

    Parameters
    ----------
    looks, force : (m,) fractions of the step, and (m, n) friction coefficients there
    plastic : (STAGES + 1, n) velocities of the slip that does not come back [m/s]
    weight : room for two rows of weights
    """
    start, period = model.numbers[0].t_start, model.numbers[0].cycle
    for i in range(contacts.size):
        if math.isnan(contacts[i].broken_time):
            share = _broken(looks, force, i, model.masses[i].full)
            if share < math.inf:
                contacts[i].broken_time = t + share * h
    begin = 0.0
    integrals(begin, weight[0])
    while True:
        # a run of whole cycles ends with a cycle, whatever rounding says
        end = start + (now.cycles + 1) * period
        ends = 0.0 < period < math.inf and end - 1e-9 * period <= t + h
        until = min(max((end - t) / h, 0.0), 1.0) if ends else 1.0
        integrals(until, weight[1])
        for i in range(contacts.size):
            contact, full = contacts[i], model.masses[i].full
            contact.pending += h * (_slip(plastic, i, weight[1]) - _slip(plastic, i, weight[0]))
            for j in range(looks.size):
                if begin <= looks[j] <= until and abs(force[j, i]) >= full:
                    contact.quiet = 0
            if ends:
                if contact.quiet == 1:
                    crept = 0.0 if math.isnan(contact.creep) else contact.creep
                    contact.creep = crept + contact.pending
                contact.pending, contact.quiet = 0.0, 1
        if not ends:
            return
        now.cycles += 1
        begin = until
        for j in range(STAGES + 1):
            weight[0, j] = weight[1, j]
