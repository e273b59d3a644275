"""Blocks of chains that `ThetaStepper` solves in one call, and what is told of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.audit import (
    energy_lines,
    mode_line,
    rounding_of_steps,
    step_lines,
    stick_line,
    stick_shares,
)
from stiction.chains.blocks.stack import Path, Stack, fits, stack_of
from stiction.chains.blocks.told import Kinds, Told, in_parts, named, onsets
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.theta.run import scheme_of
from stiction.chains.theta.setup import callbacks, make_law, make_problem
from stiction.core.audit import Line
from stiction.core.block import Block, Solve, ledger_of
from stiction.core.run import Request
from stiction.numerics.jit import mode

if TYPE_CHECKING:
    from stiction.chains.blocks.step_kernels import Lot
    from stiction.chains.methods import ThetaStepper
    from stiction.chains.theta.state import Problem

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# more masses have less to gain, as in `theta.quiet_kernels`
_MOST_MASSES = 32
# numbers of the tables of one call: they stay near the processor
_MOST_NUMBERS = 400_000
_SAME = 1e-9
_STATS = (
    "steps",
    "step",
    "solves",
    "newton_iterations",
    "mean_iterations",
    "most_iterations",
    "rescued_steps",
    "unconverged_steps",
)
_CHECKS = ("energy_of_each_step", "steps_converged")


def blocks_of(
    chain: Chain,
    method: ThetaStepper,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many chains that differ at `paths`; None where it cannot.

    The numbers are those of `solve_exactly`, to the last bit.

    Parameters
    ----------
    request : with two saved states, the first and the last
    paths : fields of the chain and below, see `stack.fits`
    names : results that will be asked for

    Verified by: tests/unit/chains/blocks/test_steps.py::test_the_same_as_single_runs
    """
    at_rest = chain.belt_speed == 0.0 and chain.plate_speed == 0.0
    at_rest = at_rest and not {"belt_speed", "plate_speed"} & {path[0] for path in paths}
    usual = at_rest and chain.law.constant and chain.n_mass <= _MOST_MASSES
    plain = chain.load.pieces().function is None
    plain = plain and request.save.size == 2 and request.checkpoint is None
    if not (usual and plain and fits(chain, paths)) or mode() == "plain":
        return None
    more = [f"stats.{name}" for name in _STATS] + [f"audit.{name}" for name in _CHECKS]
    if not named(chain, names, more):
        return None
    check_load(chain.load, request.t_start)
    scheme = scheme_of(method)
    law = make_law(chain, request, scheme)
    problem = make_problem(chain, request, scheme, callbacks(chain, scheme), law)

    size = max(32, _MOST_NUMBERS // (45 * (chain.n_mass + 1)) // 32 * 32)

    def solve(columns: Sequence[Array]) -> Block:
        with np.errstate(all="ignore"):
            stack = stack_of(chain, paths, columns)
        one = functools.partial(_solved, problem, method, request)
        return in_parts(stack, size, one, len(columns[0]))

    return solve


def _solved(problem: Problem, method: ThetaStepper, request: Request, stack: Stack) -> Block:
    return _Lot(stack, problem, method, request).solve()


class _Lot:
    """Some chains, as kernels step them."""

    def __init__(
        self, stack: Stack, problem: Problem, method: ThetaStepper, request: Request
    ) -> None:
        varies = np.asarray(stack.piece_rate.any(axis=1) | stack.amplitude.any(axis=1))
        varies |= np.ptp(stack.piece_offset, axis=1) > 0.0
        held = np.asarray(stack.plate_k.any(axis=1))
        # what is one number for all chains in the kernels
        self.alike = (varies == varies[0]) & (held == held[0])
        self.problem = problem._replace(steady=not varies[0], plates=bool(held[0]))
        self.stack, self.method, self.request = stack, method, request
        self.friction = self._begin()

    def _begin(self) -> Floats:
        """Make the tables, and return the friction at the start, as `theta.setup.begin` does."""
        from stiction.chains.blocks.step_kernels import note_event

        stack, p, t = self.stack, self.problem, self.request.t_start
        start = np.full(stack.members, t)
        u, drive = stack.v0 - 0.0, stack.drive(start, stack.x0, stack.v0)
        free = (u == 0.0) & (np.abs(drive) > stack.bound * (1.0 + 1e-14))
        sides = np.where(free, np.sign(drive), np.sign(u))
        full = stack.normal * stack.mu_kinetic
        self.lot = lot = _tables(stack, p, self.request, sides)
        now = lot.progress
        now["slipping"] = np.count_nonzero(sides, axis=1)
        pieces = (stack.piece_time <= t).sum(axis=1) - 1
        now["piece"] = np.maximum(pieces, 0)
        now["events"] = np.count_nonzero(free, axis=1)
        now["saved"] = 1
        edge = np.zeros((stack.members, 1))
        now["load"] = stack.load_at(start)
        now["rest_since"] = t
        stretch = np.diff(np.concatenate([edge, stack.x0, edge], axis=1), axis=1)
        plate = 0.0 - stack.x0
        stored = np.sum(stack.link_k * stretch**2, axis=1)
        stored = stored + np.sum(stack.plate_k * plate**2, axis=1)
        now["kinetic"] = 0.5 * np.sum(stack.mass * stack.v0**2, axis=1)
        now["stored"] = 0.5 * stored
        seen = 0.5 * np.sum(stack.mass * u**2, axis=1)
        both = np.maximum(now["kinetic"], now["stored"])
        now["scale"] = np.maximum(both, seen)
        now["save_at"] = self.request.save[1] - _SAME * p.h
        self.energy = np.stack([now["kinetic"], now["stored"]], axis=1)
        for b, i in zip(*np.nonzero(free), strict=True):
            note_event(lot, int(b), int(i), 0.0, float(sides[b, i]), t, p.h)
        self.sides = sides
        return np.where(sides == 0.0, -drive, -sides * full)

    def solve(self) -> Block:
        """Step all chains and return what is told of them."""
        from stiction.chains.blocks.group_kernels import group_of
        from stiction.chains.blocks.step_kernels import RESTED, solve_steps

        lot, stack, t = self.lot, self.stack, self.request.t_start
        still = lot.progress["slipping"] == 0
        if still.any():
            # at rest from the start, and for good
            still &= stack.rests_for_good(np.full(stack.members, t), stack.x0)
            lot.code[still], lot.rest_time[still] = RESTED, t
            lot.last[still, :, 0], lot.last[still, :, 3] = stack.x0[still], 0.0
            lot.sums[still, :2] = self.energy[still]
        group = group_of(stack.mass.shape[1], stack.amplitude.shape[1])
        solve_steps(self.problem, lot, group)
        return self._block()

    def _block(self) -> Block:
        from stiction.chains.blocks.step_kernels import ENDED, RESTED

        lot, stack, p = self.lot, self.stack, self.problem
        m, t_end, now = stack.members, self.request.t_end, lot.progress
        rested, step = lot.code == RESTED, now["step"]
        last = lot.last[:, :, 2].copy()
        if rested.any():
            found = np.where(step >= p.n_step, t_end, p.t_start + step * p.h)
            x, v = lot.last[:, :, 0], np.zeros_like(last)
            change = stack.load_at(np.full(m, t_end)) - stack.load_at(found)
            force = -(stack.drive(found, x, v) + change[:, None] * stack.share)
            last[rested] = force[rested]
        stops = np.isfinite(lot.rest_time) & (now["slipping"] == 0)
        stops &= now["rest_since"] <= lot.rest_time
        stop = np.where(stops, lot.rest_time, np.nan)
        sums = np.zeros((m, 2, lot.sums.shape[1]))
        sums[:, 0, :2], sums[:, 1] = self.energy, lot.sums
        heat = np.stack([np.zeros_like(last), lot.last[:, :, 3]], axis=1)
        told = Told(
            stack=stack,
            t_start=p.t_start,
            x=np.stack([stack.x0, lot.last[:, :, 0]], axis=1),
            v=np.stack([stack.v0, lot.last[:, :, 1]], axis=1),
            mode=np.stack([self.sides.astype(np.int8), lot.last_mode], axis=1),
            friction=np.stack([self.friction, last], axis=1),
            onset=onsets(stack, lot.onset, p.t_start),
            stop=stop,
            kinds=lot.kinds,
            energy=ledger_of(sums[:, :, :4], heat, sums[:, :, 4]),
            given=now["given"],
            stats=self._stats(),
            replayed=None,
        )
        done = (lot.code == ENDED) | rested
        sound = stack.sound & self.alike & done & (now["events"] < self.method.max_events)
        return told.block(self._lines(told), sound, told.events + stops, np.full(m, t_end))

    def _stats(self) -> dict[str, Array]:
        p, now = self.problem, self.lot.progress
        steps, solves = now["step"], now["solves"]
        h, mean = np.full(steps.size, p.h), np.where(steps > 0, solves / np.maximum(steps, 1), 0.0)
        most, missed = now["most_solves"], (now["rescues"], now["misses"])
        columns = steps, h, solves, solves, mean, most, *missed
        return dict(zip(_STATS, columns, strict=True))

    def _lines(self, told: Told) -> list[Line]:
        """Return the lines of the audit of exact theta schemes."""
        stack, e, now = self.stack, told.energy, self.lot.progress
        times = np.repeat(self.request.save[None], stack.members, axis=0)
        rounding = rounding_of_steps(
            (stack.link_k.max(axis=1) + stack.plate_k.max(axis=1))[:, None],
            np.abs(told.x).max(axis=2),
            np.abs(stack.load_at(times)),
            self.lot.masses.inertia[:, :-1].max(axis=1)[:, None],
            np.abs(told.v).max(axis=2),
        )
        bound = stack.bound[:, None] + rounding[:, :, None]
        share = stick_shares(told.friction, told.mode, bound)
        return [
            *step_lines(now["worst"], now["misses"]),
            *energy_lines(e.imbalance_rel, now["given"], e.scale),
            stick_line(share.max(axis=(1, 2))),
            mode_line(now["against"], np.abs(told.v).max(axis=(1, 2))),
        ]


def _tables(stack: Stack, p: Problem, request: Request, sides: Floats) -> Lot:
    """Return the tables of many chains, each as `theta.setup.make_work` makes it of one."""
    from stiction.chains.blocks.step_kernels import Lot
    from stiction.chains.theta import state

    m, n = stack.mass.shape
    inertia = stack.mass / (p.h * (p.theta or 1.0))
    saved = state.Saved(
        time=np.array(request.save),
        x=np.zeros((2, n)),
        v=np.zeros((2, n)),
        mode=np.zeros((2, n), np.int8),
        friction=np.zeros((2, n)),
        heat=np.zeros((2, n)),
        sums=np.zeros((2, state.N_SUMS)),
        state=np.zeros((2, n, 0)),
    )
    progress = state.Progress.table(m)
    lot = Lot(
        f=np.zeros((m, state.F_ROWS, n + 1)),
        m=np.zeros((m, state.M_ROWS, n + 1), np.int8),
        pieces=np.zeros(stack.piece_time.shape, state.LoadPiece.fields_type),
        sines=np.zeros(stack.amplitude.shape, state.Sine.fields_type),
        progress=progress,
        of_progress=progress.view(np.float64).reshape(m, -1),
        stick_bound=np.ascontiguousarray(stack.bound),
        saved=saved,
        code=np.zeros(m, np.int8),
        rest_time=np.full(m, np.nan),
        last=np.zeros((m, n, 4)),
        last_mode=np.zeros((m, n), np.int8),
        sums=np.zeros((m, state.N_SUMS)),
        seen=np.zeros((m, n, 3)),
        onset=np.full((m, n), np.nan),
        kinds=Kinds.table(m),
        values=np.zeros((n, 5)),
        marks=np.zeros((n, 3), np.int32),
        lists=state.Listed.table(n + 1),
    )
    for name in ("time", "offset", "rate"):
        lot.pieces[name] = getattr(stack, f"piece_{name}")
    for name in ("amplitude", "frequency", "phase"):
        lot.sines[name] = getattr(stack, name)
    masses, motion, modes = lot.masses, lot.motion, lot.modes
    for row, values in (
        (masses.mass, stack.mass),
        (masses.stiffness, stack.link_k),
        (masses.damping, stack.link_c),
        (masses.share, stack.share),
        (masses.plate_stiffness, stack.plate_k),
        (masses.normal_force, stack.normal),
        (masses.mu_kinetic, stack.mu_kinetic),
        (masses.inertia, inertia),
        (masses.pivot, inertia + p.theta * p.h * stack.plate_k),
        (masses.stick_bound, stack.bound),
        (lot.system.coupling, stack.link_c + p.theta * p.h * stack.link_k),
        (motion.x, stack.x0),
        (motion.slip_rate, stack.v0),
    ):
        row[:, : values.shape[1]] = values
    modes.free[:], modes.now[:, :n] = 1, sides
    return lot
