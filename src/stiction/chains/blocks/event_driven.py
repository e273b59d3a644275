"""Event-driven solution of a block: many chains that differ in a few numbers, in one kernel call.

Each chain of the block, a member, is integrated by the kernels of a single run of `EventDriven`:
m x'' = R - mode mu N in slip, x' = V in stick, with the forces R of links, plate and load, the belt
speed V and constant friction mu N.
This module prepares their arrays, audits the results and names them; the loop over members is in
`event_driven_kernels`. A member that cannot be solved here is repeated as a single run. Sweeps call
`blocks_of` through `EventDriven.blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.blocks.outcome import Outcomes, in_parts, named, onsets
from stiction.chains.blocks.stack import Path, Stack, fits, stack_of
from stiction.chains.event_driven.run import EventDrivenIntegrator, saved_states
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import Kinds
from stiction.chains.replay.compare import jumps_of
from stiction.core.block import Block, Solve, ledger_of
from stiction.core.run import Request
from stiction.numerics.jit import mode

if TYPE_CHECKING:
    from stiction.chains.blocks.event_driven_kernels import Members, Records
    from stiction.chains.blocks.replay_kernels import ReplayWork
    from stiction.chains.methods import EventDriven

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# in longer chains the kernels take most of the time of a single run, so a block gains nothing
_MOST_MASSES = 100
# longer runs are left to single runs, which stop early if they progress too slowly
_MOST_STEPS = 10_000
# largest number of entries in the parameters and results of one call
_MOST_NUMBERS = 4_000_000
# entries in the work array of series terms, besides those of sinusoidal loads
_ROOM_FOR_TERMS = 512
_NAMES = ("steps", "expansions", "grazings")


def blocks_of(
    chain: Chain,
    method: EventDriven,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return a function that solves chains that differ at `paths`; None if they need single runs.

    Its results equal those of `solve_event_driven` to the last bit.

    Parameters
    ----------
    request : with two saved states, the first and the last
    paths : the numbers that differ: fields of the chain, of its law or of its load, such as
        ("mass", 2) or ("law", "mu"); see `stack.fits`
    names : requested results

    Verified by: tests/unit/chains/blocks/test_event_driven.py::test_the_same_as_single_runs
    """
    usual = method.policy is None and chain.law.constant and chain.n_mass <= _MOST_MASSES
    segments = chain.load.segments()
    plain = segments.function is None and request.save.size == 2 and request.checkpoint is None
    if not (usual and plain and fits(chain, paths)) or mode() == "plain":
        return None
    # the replay, a second integration that verifies the run, cannot cross a jump of the load
    if jumps_of(segments.time).size:
        return None
    check_load(chain.load, request.t_start)
    member_solver = _MemberSolver(chain, method, request)
    more = [f"stats.{name}" for name in (*_NAMES, "order")]
    if member_solver.integrator.events.track.time.size:
        more.append("audit.replay_agrees")
    if not named(chain, names, more):
        return None

    # members per call: parameters and results of a member have some 60 numbers per mass
    size = max(1, _MOST_NUMBERS // (60 * chain.n_mass))

    def solve(columns: Sequence[Array]) -> Block:
        with np.errstate(all="ignore"):
            stack = stack_of(chain, paths, columns)
        return in_parts(stack, size, member_solver.solve, len(columns[0]))

    return solve


class _MemberSolver:
    """Solves blocks of chains with the work arrays of one chain."""

    def __init__(self, chain: Chain, method: EventDriven, request: Request) -> None:
        self.method, self.request = method, request
        self.integrator = integrator = EventDrivenIntegrator(method, chain, request)
        rows = integrator.events.track.time.size
        self.replay_work = _replay_work(
            max(rows, 1), chain.n_mass, chain.load.segments().amplitude.size
        )

    def solve(self, stack: Stack) -> Block:
        """Return the results of all members."""
        from stiction.chains.blocks.event_driven_kernels import solve_motions

        integrator, request, m = self.integrator, self.request, stack.members
        raw = _raw(m, stack.masses.shape[1], request.save)
        members = _members(stack)
        most = min(_MOST_STEPS, integrator.most_steps), self.method.max_events
        solve_motions(
            integrator.problem,
            members,
            integrator.state,
            integrator.events,
            integrator.scratch,
            self.replay_work,
            raw,
            (request.t_start, request.t_end),
            most,
        )
        return self._block(stack, raw)

    def _block(self, stack: Stack, raw: Records) -> Block:
        """Return the block: audit the members, and name their results."""
        m, t_end, saved = stack.members, self.request.t_end, raw.saved
        sums = saved.kinetic, saved.stored, saved.work, saved.viscous
        stays_stuck = np.isfinite(raw.stop_state[:, -1]) & (raw.done == 1)
        stop = np.full(m, np.nan)
        if stays_stuck.any():
            for_good = stack.sticks_for_good(raw.stop_state[:, -1], raw.stop_state[:, :-1])
            stop[stays_stuck & for_good] = raw.stop_state[stays_stuck & for_good, -1]
        outcomes = Outcomes(
            stack=stack,
            t_start=self.request.t_start,
            x=saved.x,
            v=saved.v,
            mode=saved.mode,
            friction=saved.friction,
            onset=onsets(stack, raw.onset, self.request.t_start),
            stop=stop,
            kinds=raw.kinds,
            energy=ledger_of(np.stack(sums, axis=2), saved.heat),
            given=raw.returned,
            stats={
                **{name: raw.counts[:, k] for k, name in enumerate(_NAMES)},
                "order": np.full(m, self.method.order),
            },
            replayed=raw.replayed if self.integrator.events.track.time.size else None,
        )
        valid = stack.valid & (raw.done == 1)
        return outcomes.block(
            outcomes.lines(), valid, outcomes.events + np.isfinite(stop), np.full(m, t_end)
        )


def _members(stack: Stack) -> Members:
    """Return the arrays of the chains that kernels read, by the formulas of single runs.

    `rate` is a bound of the fastest frequency plus the fastest decay rate, by Gershgorin's theorem
    for M^-1 K and M^-1 C; `response` is 1 / (sqrt(k/m) + c/m) of the links at each mass.
    """
    from stiction.chains.blocks.event_driven_kernels import Members

    k, c, m = stack.link_stiffness, stack.link_damping, stack.masses
    stiff = np.sqrt(np.max(2.0 * (k[:, :-1] + k[:, 1:] + 0.5 * stack.plate_springs) / m, axis=1))
    damp = np.max(2.0 * (c[:, :-1] + c[:, 1:]) / m, axis=1)
    rate = stiff + damp + 0.0
    rate[rate == 0.0] = 1.0
    rates = np.sqrt((k[:, :-1] + k[:, 1:] + stack.plate_springs) / m) + (c[:, :-1] + c[:, 1:]) / m
    response = 1.0 / np.maximum(rates, np.finfo(float).tiny)
    p, names = stack.load, Members._fields[: Members._fields.index("segment_time")]
    load = p.time, p.offset, p.rate, p.amplitude, p.angular_frequency, p.phase
    given = (getattr(stack, name) for name in names)
    return Members._make((*given, *load, rate, response))


def _raw(m: int, n: int, save: Floats) -> Records:
    """Return empty results of m chains of n masses."""
    from stiction.chains.blocks.event_driven_kernels import Records

    return Records(
        done=np.zeros(m, np.int8),
        saved=saved_states(n, save, (m,)),
        returned=np.zeros(m),
        onset=np.full((m, n), np.nan),
        stop_state=np.full((m, n + 1), np.nan),
        kinds=Kinds.table(m),
        counts=np.zeros((m, 3), np.int64),
        replayed=np.zeros((m, 2)),
    )


def _replay_work(rows: int, n: int, sines: int) -> ReplayWork:
    """Return work arrays of a replay, for `rows` states of the trajectory of n masses.

    sines : number of sines of the load
    """
    from stiction.chains.blocks.replay_kernels import ReplayWork
    from stiction.chains.replay.kernels import WORK_ROWS

    both = rows + 2
    return ReplayWork(
        follows=np.ones(rows, np.bool_),
        # there may be more events than states of the trajectory
        numbers=np.arange(max(1024, 4 * n)),
        steps=np.zeros(both, np.int64),
        sample=np.zeros(2, np.int64),
        before=np.zeros(2, np.int64),
        segment=np.zeros(both, np.int64),
        time=np.zeros((both, 2)),
        start=np.zeros((both, 2, n)),
        goal=np.zeros((both, 2, n)),
        end=np.zeros((both, 2, n)),
        mode=np.zeros((both, n), np.int8),
        drive=np.zeros((rows, n)),
        sliding=np.zeros((2, n)),
        hold=np.zeros(n),
        bound=np.zeros(n),
        zero=np.zeros(n),
        worst=np.zeros((7, 2)),
        work=np.zeros((WORK_ROWS, n + 2)),
        weight=np.zeros(_ROOM_FOR_TERMS + 4 * sines),
    )
