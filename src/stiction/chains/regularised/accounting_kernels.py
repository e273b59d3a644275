"""Energies of a step, and creep: irreversible slip below gross slip, over cycles of the load.

Powers and plastic slip rates are integrated over a step by the weights of Radau's collocation
(`collocation_kernels`). Gross slip means friction above a fraction of its steady-state value. The
irreversible slip of a mass in a cycle of the load, or in a half cycle between reversals of slip,
counts as creep if there was no gross slip in it. A contact has the irreversible slip `pending` of
the present cycle or half cycle, that of the previous half cycle, `half`, and `quiet`, 1 without
gross slip so far (`state.Contact`). `step_kernels` and `theta` call these kernels.
"""

from __future__ import annotations

import math

from stiction.chains.regularised.collocation_kernels import STAGES, integrals
from stiction.chains.regularised.state import Contact, Model, Progress
from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel

__all__ = ["account", "creep", "end_half_cycle"]


@kernel
def account(now: Progress, contacts: Table[Contact], done: Vector, t: float) -> None:
    """Add the energies of a step that ends at t.

    done : (n + 2,) friction heat of each mass, external work, viscous heat [J]
    """
    n = contacts.size
    now.work += done[n]
    now.viscous += done[n + 1]
    given, since = 0.0, 0.0
    for i in range(n):
        contact = contacts[i]
        contact.heat += done[i]
        # heat below its maximum has been returned by friction
        if contact.heat >= contact.most_heat:
            contact.most_heat, contact.most_heat_time = contact.heat, t
        if contact.most_heat - contact.heat > given:
            given, since = contact.most_heat - contact.heat, contact.most_heat_time
    if given > now.given:
        now.given, now.given_time = given, since


@kernel
def end_half_cycle(contact: Contact, cycle: float) -> None:
    """Record the creep of the half cycle that ends at a reversal, if the load has no cycles."""
    if cycle != 0.0:
        return
    half = contact.pending if contact.quiet == 1 else math.nan
    # drift per half cycle: the mean of the signed slips of two successive half cycles
    mean = 0.5 * (contact.half + half)
    contact.creep += 0.0 if math.isnan(mean) else mean
    contact.half, contact.pending, contact.quiet = half, 0.0, 1


@kernel
def _broken(fractions: Vector, force: Matrix, i: int, level: float) -> float:
    """Return the fraction of the step at which mass i reaches gross slip; infinity for none.

    Gross slip is a friction coefficient of at least `level`; `force` are its values at `fractions`.
    """
    for j in range(fractions.size):
        high = abs(force[j, i])
        if high >= level:
            if j == 0:
                return fractions[0]
            # linear interpolation between two samples
            low = abs(force[j - 1, i])
            return fractions[j - 1] + (level - low) / (high - low) * (
                fractions[j] - fractions[j - 1]
            )
    return math.inf


@kernel
def _slip(plastic: Matrix, i: int, weight: Vector) -> float:
    """Return the irreversible slip of mass i per length of the step [m/s].

    plastic, weight : (STAGES + 1, n) irreversible slip rates [m/s], and (STAGES + 1,) weights
    """
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
    fractions: Vector,
    force: Matrix,
    plastic: Matrix,
    weight: Matrix,
) -> None:
    """Integrate the irreversible slip of a step; count it as creep where there is no gross slip.

    Cycles of the load end at t_start + k period. A step that contains such times is divided there.

    Parameters
    ----------
    t, h : start and length of the step [s]
    fractions, force : (m,) fractions of the step, and (m, n) friction coefficients there
    plastic : (STAGES + 1, n) irreversible slip rates [m/s]
    weight : work array for two rows of weights
    """
    start, period = model.numbers[0].t_start, model.numbers[0].cycle
    for i in range(contacts.size):
        # first time of gross slip, by linear interpolation between samples
        if math.isnan(contacts[i].broken_time):
            fraction = _broken(fractions, force, i, model.masses[i].full)
            if fraction < math.inf:
                contacts[i].broken_time = t + fraction * h
    begin = 0.0
    integrals(begin, weight[0])
    while True:
        # the end of a run of whole cycles is the end of a cycle, within rounding
        end = start + (now.cycles + 1) * period
        ends = 0.0 < period < math.inf and end - 1e-9 * period <= t + h
        until = min(max((end - t) / h, 0.0), 1.0) if ends else 1.0
        integrals(until, weight[1])
        for i in range(contacts.size):
            contact, full = contacts[i], model.masses[i].full
            contact.pending += h * (_slip(plastic, i, weight[1]) - _slip(plastic, i, weight[0]))
            # gross slip within the cycle: its slip is not creep
            for j in range(fractions.size):
                if begin <= fractions[j] <= until and abs(force[j, i]) >= full:
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
