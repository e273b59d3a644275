"""Runs of chains under laws without stick, with an audit of creep below gross slip.

`solve_creep` uses Radau collocation, `solve_in_steps` the theta scheme; the methods of chains call
them. Friction is a function phi(w, z) of slip rate w and contact state z, so the motion solves an
ordinary differential equation y' = f(t, y), with y of displacements, slip rates and states
(`equations`). Gross slip means friction above 0.99 of its steady-state value. Creep is the
irreversible slip per cycle of the load in a contact that would stick under a set-valued law.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stiction.chains.audit import step_lines
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents, build_run
from stiction.chains.regularised import integrator as base
from stiction.chains.regularised.equations import ALMOST, Equations
from stiction.chains.regularised.radau import RadauIntegrator
from stiction.chains.regularised.state import Progress
from stiction.chains.regularised.theta import ThetaIntegrator
from stiction.core.audit import Check
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Request, Run
from stiction.errors import ModelError
from stiction.laws.friction import ForceLaw

if TYPE_CHECKING:
    from stiction.chains.methods import EventDriven, Radau, ThetaStepper

__all__ = ["solve_creep"]

# a step factorises a banded matrix with fifteen unknowns per mass
MOST_MASSES = 2_000


def solve_creep(chain: Chain, method: Radau, request: Request) -> Run:
    """Return the run of `chain` under a law without stick, by Radau collocation.

    Raises
    ------
    ModelError : if the law has a set of stick states, or the chain is too long.

    Verified by: tests/unit/chains/regularised/test_references.py::test_thirty_digits
    """
    law = chain.law
    if not isinstance(law, ForceLaw):
        raise ModelError(
            "Radau",
            type(law).__name__,
            "a law without stick: Dahl, LuGre, ElastoPlastic, BoucWen, RateAndStateFriction",
            "Radau integrates smooth systems, and stick is not smooth.",
            "use EventDriven(), or ThetaStepper(step=...).",
        )
    _short_enough("Radau", chain)
    check_load(chain.load, request.t_start)
    integrator = RadauIntegrator(Equations(chain, law, request), method, request)
    integrator.run()
    return build_run(chain, method, _history(chain, law, integrator))


def _short_enough(where: str, chain: Chain) -> None:
    """Raise ModelError for a chain with too many masses."""
    if chain.n_mass > MOST_MASSES:
        raise ModelError(
            where,
            f"{chain.n_mass} masses",
            f"at most {MOST_MASSES} under a law without stick",
            "every step factorises a matrix with fifteen unknowns per mass.",
            "take fewer masses, or a law with stick and ThetaStepper(step=...).",
        )


def solve_in_place(chain: Chain, method: EventDriven, request: Request) -> Run:
    """Return the run of a chain without stick in place of `EventDriven`.

    Raises
    ------
    ModelError : if a replay is asked for.
    """
    if method.replay:
        raise ModelError(
            "EventDriven.replay",
            "True for a law without stick",
            "None or False",
            "this motion is solved by Radau, which has no replay.",
            "leave replay out; to verify the run, compare it with a smaller rtol.",
        )
    return solve_creep(chain, method.without_stick(), request)


def solve_in_steps(chain: Chain, method: ThetaStepper, request: Request) -> Run:
    """Return the run of a chain without stick by the theta scheme.

    Raises
    ------
    ModelError : if the chain is too long, or the steps too many.

    Verified by: tests/unit/chains/regularised/test_theta.py::test_order_against_radau
    """
    law = chain.law
    assert isinstance(law, ForceLaw)
    _short_enough("ThetaStepper", chain)
    check_load(chain.load, request.t_start)
    integrator = ThetaIntegrator(Equations(chain, law, request), method, request)
    integrator.run()
    return build_run(chain, method, _history(chain, law, integrator))


def _history(chain: Chain, law: ForceLaw, integrator: base.Integrator) -> ChainHistory:
    """Return the history of a run; the state at which a failed run ended is its last sample."""
    tables, now, equations = integrator.tables, integrator.now, integrator.equations
    samples = int(now.saved)
    time, states = integrator.time[:samples].copy(), tables.kept[:samples]
    sums, heat = tables.sums[:samples], tables.heat[:samples]
    if not integrator.status.ok and now.time > time[-1]:
        time = np.append(time, now.time)
        states, heat = np.vstack([states, tables.y]), np.vstack([heat, tables.contacts["heat"]])
        ends = equations.energies(float(now.time), tables.y)[:2]
        sums = np.vstack([sums, [now.work, now.viscous, now.lost, *ends]])
    work, viscous, algorithmic, kinetic, stored = sums.T
    # a law without stick has no mode stick: modes are the signs of the slip rates
    x, w, z = equations.parts(states)
    signs = np.sign(w)
    friction = np.empty_like(w)
    for sample, y in enumerate(states):
        equations.read(y)
        friction[sample] = equations.friction(y)
    creep = tables.contacts["creep"]
    return ChainHistory(
        time=time,
        x=x,
        v=w + chain.belt_speed,
        mode=signs.astype(np.int8),
        friction=friction,
        state=z[..., None],
        events=_events(tables.events.rows),
        stop_time=None,
        energy=Ledger(
            time=time,
            kinetic=kinetic,
            stored=stored,
            external_work=work,
            friction_heat=heat,
            viscous_heat=viscous,
            algorithmic=algorithmic,
            step_imbalance_rel=_worst(integrator)
            if isinstance(integrator, ThetaIntegrator)
            else None,
        ),
        stats=_stats(integrator),
        status=integrator.status,
        reason=integrator.reason,
        checks=tuple(_checks(law, integrator, creep)),
        quantities=_quantities(chain, law, integrator, creep),
        given=_given(now),
    )


def _stats(integrator: base.Integrator) -> dict[str, float]:
    """Return the counts of work."""
    now = integrator.now
    done, rounds = int(now.steps), int(now.rounds)
    if isinstance(integrator, ThetaIntegrator):
        missed = int(now.misses)
        return {
            "steps": done,
            "step": integrator.h,
            "newton_iterations": rounds,
            "unconverged_steps": missed,
        }
    rejected = int(now.rejected)
    return {"steps": done, "rejected_steps": rejected, "newton_iterations": rounds}


def _worst(integrator: base.Integrator) -> float:
    """Return the largest imbalance of one step over the largest energy [1]."""
    return float(integrator.now.worst / max(integrator.now.largest, np.finfo(float).tiny))


def _given(now: Progress) -> tuple[float, float | None]:
    """Return the energy that friction returned [J], and the time from which it did [s]."""
    at = float(now.given_time)
    return float(now.given), None if np.isnan(at) else at


def _events(log: base.Floats) -> RawEvents:
    """Return the reversals, from the columns of `Tables.events`."""
    before = log[:, 2].astype(np.int64)
    return RawEvents(
        time=log[:, 0],
        mass=log[:, 1].astype(np.int64),
        before=before,
        after=-before,
        x=log[:, 3],
        v=log[:, 4],
        friction_left=log[:, 5],
        friction_right=log[:, 5].copy(),
    )


def _checks(law: ForceLaw, integrator: base.Integrator, creep: base.Floats) -> Iterator[Check]:
    """Yield the audit lines of the steps of a theta scheme, and of creep (n,) [m]."""
    if isinstance(integrator, ThetaIntegrator):
        yield from _step_checks(integrator)
    lengths = law.creep_length(integrator.equations.p)
    if lengths is None:
        note = "the law creeps under any load, and has no breakaway deflection"
        yield Check("no_creep_in_stick", None, None, 1.0, None, note)
        return
    if np.isnan(creep).all():
        note = (
            f"no contact stayed below {ALMOST:g} of steady-state friction for a whole cycle of the "
            "load after the first; run at least two cycles"
        )
        yield Check("no_creep_in_stick", None, None, 1.0, None, note)
        return
    # creep of each mass over the slip at which contacts yield
    ratio = np.abs(creep) / lengths
    worst = int(np.nanargmax(ratio))
    over = "whole cycles of the load" if integrator.cycle else "half cycles of its motion"
    yield Check(
        "no_creep_in_stick",
        bool(ratio[worst] <= 1.0),
        float(ratio[worst]),
        1.0,
        None,
        f"creep over {over} under forces below {ALMOST:g} of steady-state friction, divided by "
        f"the breakaway deflection: mass {worst + 1} crept by {abs(float(creep[worst])):.3g} m. "
        "Coulomb friction would hold this mass, and ElastoPlastic does not creep",
    )


def _step_checks(integrator: ThetaIntegrator) -> Iterator[Check]:
    """Yield the audit lines of energy and convergence of the steps of a theta scheme."""
    now, misses = integrator.now, int(integrator.now.misses)
    at = float(now.worst_time)
    for line in step_lines(
        _worst(integrator),
        misses,
        worst_time=None if np.isnan(at) else at,
        missed_time=float(now.missed_time) if misses else None,
    ):
        yield line.of_run()


def _quantities(
    chain: Chain, law: ForceLaw, integrator: base.Integrator, creep: base.Floats
) -> dict[str, Quantity]:
    """Return onset times and forces by the level of gross slip, and the creep of each mass."""
    times = integrator.tables.contacts["broken_time"]
    onset = [None if np.isnan(t) else float(t) for t in times]
    force = [None if t is None else float(chain.load.at(t)) for t in onset]
    near = f"friction first came within {100 * (1 - ALMOST):.0f} % of steady-state friction"
    quantities = {
        "onset_time": Quantity(onset, "s", f"when {near}, mass 1 first", absent="never slipped"),
        "onset_force": Quantity(force, "N", f"load when {near}"),
    }
    if law.creep_length(integrator.equations.p) is not None:
        meaning = "irreversible slip of each mass, under forces below steady-state friction"
        values = [None if np.isnan(c) else float(c) for c in creep]
        quantities["creep"] = Quantity(values, "m", meaning, absent="no whole cycle to compare")
    return quantities
