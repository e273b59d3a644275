"""Run a chain whose contacts never stick, and say how far they crept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stiction.chains.audit import step_lines
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents, build_run
from stiction.chains.regularised import integrator as wk
from stiction.chains.regularised.equations import ALMOST, Motion
from stiction.chains.regularised.radau import March
from stiction.chains.regularised.state import Progress
from stiction.chains.regularised.theta import Steps
from stiction.core.audit import Check
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Request, Run
from stiction.errors import ModelError
from stiction.laws.friction import ForceLaw

if TYPE_CHECKING:
    from stiction.chains.methods import EventDriven, Radau, ThetaStepper

__all__ = ["solve_creep"]

# a step factorises a band of fifteen rows per mass
MOST_MASSES = 2_000


def solve_creep(chain: Chain, method: Radau, request: Request) -> Run:
    """Return the run of `chain` under a law without stick; what `Radau` asks a chain for.

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
            "its steps are those of a smooth system, and stick is not smooth.",
            "use EventDriven(), or ThetaStepper(step=...).",
        )
    _short_enough("Radau", chain)
    check_load(chain.load, request.t_start)
    walk = March(Motion(chain, law, request), method, request)
    walk.run()
    return build_run(chain, method, request, _history(chain, law, walk))


def _short_enough(where: str, chain: Chain) -> None:
    if chain.n_mass > MOST_MASSES:
        raise ModelError(
            where,
            f"{chain.n_mass} masses",
            f"at most {MOST_MASSES} under a law without stick",
            "every step factors a matrix with two rows and more per mass.",
            "take fewer masses, or a law with stick and ThetaStepper(step=...).",
        )


def solve_in_place(chain: Chain, method: EventDriven, request: Request) -> Run:
    """Return the run of a chain without stick for a user who asked for `EventDriven`."""
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
    walk = Steps(Motion(chain, law, request), method, request)
    walk.run()
    return build_run(chain, method, request, _history(chain, law, walk))


def _history(chain: Chain, law: ForceLaw, walk: wk.Walk) -> ChainHistory:
    tables, now, motion = walk.tables, walk.now, walk.motion
    rows = int(now.saved)
    time, states = walk.time[:rows].copy(), tables.kept[:rows]
    sums, heat = tables.sums[:rows], tables.heat[:rows]
    if not walk.status.ok and now.time > time[-1]:
        time = np.append(time, now.time)
        states, heat = np.vstack([states, tables.y]), np.vstack([heat, tables.contacts["heat"]])
        ends = motion.energies(float(now.time), tables.y)[:2]
        sums = np.vstack([sums, [now.work, now.viscous, now.lost, *ends]])
    x, w, z = motion.parts(states)
    signs = np.sign(w)
    answered = np.empty_like(w)
    for row, y in enumerate(states):
        motion.read(y)
        answered[row] = motion.friction(y)
    creep = tables.contacts["creep"]
    return ChainHistory(
        time=time,
        x=x,
        v=w + chain.belt_speed,
        mode=signs.astype(np.int8),
        friction=answered,
        state=z[..., None],
        events=_events(tables.events.rows),
        stop_time=None,
        energy=Ledger(
            time=time,
            kinetic=sums[:, 3],
            stored=sums[:, 4],
            external_work=sums[:, 0],
            friction_heat=heat,
            viscous_heat=sums[:, 1],
            algorithmic=sums[:, 2],
            step_imbalance_rel=_worst(walk) if isinstance(walk, Steps) else None,
        ),
        stats=_stats(walk),
        status=walk.status,
        reason=walk.reason,
        checks=tuple(_checks(law, walk, creep)),
        quantities=_quantities(chain, law, walk, creep),
        given=_given(now),
    )


def _stats(walk: wk.Walk) -> dict[str, float]:
    now = walk.now
    done, rounds = int(now.steps), int(now.rounds)
    if isinstance(walk, Steps):
        missed = int(now.misses)
        return {
            "steps": done,
            "step": walk.h,
            "newton_iterations": rounds,
            "unconverged_steps": missed,
        }
    rejected = int(now.rejected)
    return {"steps": done, "rejected_steps": rejected, "newton_iterations": rounds}


def _worst(walk: wk.Walk) -> float:
    """Return the largest imbalance of one step over the largest energy [1]."""
    return float(walk.now.worst / max(walk.now.largest, np.finfo(float).tiny))


def _given(now: Progress) -> tuple[float, float | None]:
    at = float(now.given_time)
    return float(now.given), None if np.isnan(at) else at


def _events(rows: wk.Floats) -> RawEvents:
    before = rows[:, 2].astype(np.int64)
    return RawEvents(
        time=rows[:, 0],
        mass=rows[:, 1].astype(np.int64),
        before=before,
        after=-before,
        x=rows[:, 3],
        v=rows[:, 4],
        friction_left=rows[:, 5],
        friction_right=rows[:, 5].copy(),
    )


def _checks(law: ForceLaw, walk: wk.Walk, creep: wk.Floats) -> Iterator[Check]:
    if isinstance(walk, Steps):
        yield from _step_checks(walk)
    lengths = law.creep_length(walk.motion.p)
    if lengths is None:
        note = "the law creeps under any load, and names no deflection at which it breaks away"
        yield Check("rest_does_not_drift", None, None, 1.0, None, note)
        return
    if np.isnan(creep).all():
        note = (
            f"no contact stayed below {ALMOST:g} of what slip resists for a whole cycle of the "
            "load after the first; let the run hold two cycles"
        )
        yield Check("rest_does_not_drift", None, None, 1.0, None, note)
        return
    share = np.abs(creep) / lengths
    worst = int(np.nanargmax(share))
    over = "whole cycles of the load" if walk.cycle else "half cycles of its motion"
    yield Check(
        "rest_does_not_drift",
        bool(share[worst] <= 1.0),
        float(share[worst]),
        1.0,
        None,
        f"how far a contact crept over {over} under loads below {ALMOST:g} of what slip "
        f"resists, over the deflection at which it breaks away: {abs(float(creep[worst])):.3g} m "
        f"of mass {worst + 1}, which stick would have held; ElastoPlastic does not creep",
    )


def _step_checks(walk: Steps) -> Iterator[Check]:
    now, misses = walk.now, int(walk.now.misses)
    at = float(now.worst_time)
    for line in step_lines(
        _worst(walk),
        misses,
        worst_time=None if np.isnan(at) else at,
        missed_time=float(now.missed_time) if misses else None,
    ):
        yield line.of_run()


def _quantities(
    chain: Chain, law: ForceLaw, walk: wk.Walk, creep: wk.Floats
) -> dict[str, Quantity]:
    times = walk.tables.contacts["broken_time"]
    onset = [None if np.isnan(t) else float(t) for t in times]
    force = [None if t is None else float(chain.load.at(t)) for t in onset]
    near = f"friction came within {100 * (1 - ALMOST):.0f} % of what slip resists"
    found = {
        "onset_time": Quantity(onset, "s", f"when {near}, mass 1 first", absent="never slipped"),
        "onset_force": Quantity(force, "N", f"load when {near}"),
    }
    if law.creep_length(walk.motion.p) is not None:
        meaning = "slip of each mass that did not come back, under loads that stick would have held"
        values = [None if np.isnan(c) else float(c) for c in creep]
        found["creep"] = Quantity(values, "m", meaning, absent="no whole cycle to compare")
    return found
