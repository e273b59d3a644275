"""Blocks of chains that `EventDriven` solves in one call, and what is reported of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.blocks.outcome import Outcomes, in_parts, named, onsets
from stiction.chains.blocks.stack import Path, Stack, fits, stack_of
from stiction.chains.event_driven.run import Solver, saved_states
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import Kinds
from stiction.chains.replay.compare import jumps_of
from stiction.core.block import Block, Solve, ledger_of
from stiction.core.run import Request
from stiction.numerics.jit import mode

if TYPE_CHECKING:
    from stiction.chains.blocks.event_driven_kernels import Many, Records
    from stiction.chains.blocks.replay_kernels import Second
    from stiction.chains.methods import EventDriven

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# of more masses the kernels take so long that nothing else counts
_MOST_MASSES = 100
# beyond so many steps a run is judged on its way, which runs of single chains do
_MOST_STEPS = 10_000
# numbers that are reported of the members of one call, and those that describe them
_MOST_NUMBERS = 4_000_000
_ROOM_FOR_TERMS = 512
_NAMES = ("steps", "expansions", "touches")


def blocks_of(
    chain: Chain,
    method: EventDriven,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many chains that differ at `paths`; None where it cannot.

    The numbers are those of `solve_event_driven`, to the last bit.

    Parameters
    ----------
    request : with two saved states, the first and the last
    paths : fields of the chain and below, see `stack.fits`
    names : results that will be asked for

    Verified by: tests/unit/chains/blocks/test_event_driven.py::test_the_same_as_single_runs
    """
    usual = method.policy is None and chain.law.constant and chain.n_mass <= _MOST_MASSES
    pieces = chain.load.pieces()
    plain = pieces.function is None and request.save.size == 2 and request.checkpoint is None
    if not (usual and plain and fits(chain, paths)) or mode() == "plain":
        return None
    # a replay leaves out the moment at which a line jumps
    if jumps_of(pieces.time).size:
        return None
    check_load(chain.load, request.t_start)
    crew = _Crew(chain, method, request)
    more = [f"stats.{name}" for name in (*_NAMES, "order")]
    if crew.solver.events.track.time.size:
        more.append("audit.replay_agrees")
    if not named(chain, names, more):
        return None

    size = max(1, _MOST_NUMBERS // (60 * chain.n_mass))

    def solve(columns: Sequence[Array]) -> Block:
        with np.errstate(all="ignore"):
            stack = stack_of(chain, paths, columns)
        return in_parts(stack, size, crew.solve, len(columns[0]))

    return solve


class _Crew:
    """Work space for one chain after the other."""

    def __init__(self, chain: Chain, method: EventDriven, request: Request) -> None:
        self.method, self.request = method, request
        self.solver = solver = Solver(method, chain, request)
        rows = solver.events.track.time.size
        self.second = _second(max(rows, 1), chain.n_mass, chain.load.pieces().amplitude.size)

    def solve(self, stack: Stack) -> Block:
        """Return what is reported of all members."""
        from stiction.chains.blocks.event_driven_kernels import solve_motions

        solver, request, m = self.solver, self.request, stack.members
        raw = _raw(m, stack.masses.shape[1], request.save)
        many = _many(stack)
        most = min(_MOST_STEPS, solver.most_steps), self.method.max_events
        solve_motions(
            solver.problem,
            many,
            solver.state,
            solver.events,
            solver.scratch,
            self.second,
            raw,
            (request.t_start, request.t_end),
            most,
        )
        return self._block(stack, raw)

    def _block(self, stack: Stack, raw: Records) -> Block:
        """Judge the members as the audit does, and name their results."""
        m, t_end, saved = stack.members, self.request.t_end, raw.saved
        sums = saved.kinetic, saved.stored, saved.work, saved.viscous
        rests = np.isfinite(raw.rest[:, -1]) & (raw.done == 1)
        stop = np.full(m, np.nan)
        if rests.any():
            found = stack.rests_for_good(raw.rest[:, -1], raw.rest[:, :-1])
            stop[rests & found] = raw.rest[rests & found, -1]
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
            given=raw.given,
            stats={
                **{name: raw.counts[:, k] for k, name in enumerate(_NAMES)},
                "order": np.full(m, self.method.order),
            },
            replayed=raw.replayed if self.solver.events.track.time.size else None,
        )
        sound = stack.sound & (raw.done == 1)
        return outcomes.block(
            outcomes.lines(), sound, outcomes.events + np.isfinite(stop), np.full(m, t_end)
        )


def _many(stack: Stack) -> Many:
    """Return the chains as kernels read them; the rates are those of `EventDriven` alone."""
    from stiction.chains.blocks.event_driven_kernels import Many

    k, c, m = stack.link_stiffness, stack.link_damping, stack.masses
    stiff = np.sqrt(np.max(2.0 * (k[:, :-1] + k[:, 1:] + 0.5 * stack.plate_springs) / m, axis=1))
    damp = np.max(2.0 * (c[:, :-1] + c[:, 1:]) / m, axis=1)
    rate = stiff + damp + 0.0
    rate[rate == 0.0] = 1.0
    way = np.sqrt((k[:, :-1] + k[:, 1:] + stack.plate_springs) / m) + (c[:, :-1] + c[:, 1:]) / m
    response = 1.0 / np.maximum(way, np.finfo(float).tiny)
    p, names = stack.load, Many._fields[: Many._fields.index("piece_time")]
    load = p.time, p.offset, p.rate, p.amplitude, p.angular_frequency, p.phase
    given = (getattr(stack, name) for name in names)
    return Many._make((*given, *load, rate, response))


def _raw(m: int, n: int, save: Floats) -> Records:
    from stiction.chains.blocks.event_driven_kernels import Records

    return Records(
        done=np.zeros(m, np.int8),
        saved=saved_states(n, save, (m,)),
        given=np.zeros(m),
        onset=np.full((m, n), np.nan),
        rest=np.full((m, n + 1), np.nan),
        kinds=Kinds.table(m),
        counts=np.zeros((m, 3), np.int64),
        replayed=np.zeros((m, 2)),
    )


def _second(rows: int, n: int, sines: int) -> Second:
    from stiction.chains.blocks.replay_kernels import Second
    from stiction.chains.replay.kernels import WORK_ROWS

    both = rows + 2
    return Second(
        follows=np.ones(rows, np.bool_),
        # the log may be longer than the track
        numbers=np.arange(max(1024, 4 * n)),
        steps=np.zeros(both, np.int64),
        row=np.zeros(2, np.int64),
        before=np.zeros(2, np.int64),
        piece=np.zeros(both, np.int64),
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
