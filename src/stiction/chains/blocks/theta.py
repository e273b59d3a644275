"""Theta scheme for a block: many chains that differ in a few numbers, in one kernel call.

Friction is constant in slip and set-valued in stick, the surface is at rest: a step solves
A w + mu N Sgn(w) containing q for the slip rates w at t + theta h (`theta.exact_kernels`). This
module prepares the arrays, audits the results and names them; the steps are in `theta_kernels`. A
member that cannot be solved here is repeated as a single run. Sweeps call `blocks_of` through
`ThetaStepper.blocks`.
"""

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
    stick_ratios,
)
from stiction.chains.blocks.outcome import Outcomes, in_parts, named, onsets
from stiction.chains.blocks.stack import Path, Stack, fits, stack_of
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import Kinds
from stiction.chains.theta.run import scheme_of
from stiction.chains.theta.setup import (
    begin_work,
    callbacks,
    first_modes,
    make_law,
    make_problem,
    make_saved,
    make_work,
)
from stiction.core.audit import Line
from stiction.core.block import Block, Solve, ledger_of
from stiction.core.run import Request
from stiction.numerics.jit import mode

if TYPE_CHECKING:
    from stiction.chains.blocks.theta_kernels import Ensemble
    from stiction.chains.methods import ThetaStepper
    from stiction.chains.theta.state import Problem

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# longer chains gain less, as in `theta.unchanged_kernels`
_MOST_MASSES = 32
# numbers in the arrays of one call, so that they fit into the cache
_MOST_NUMBERS = 400_000
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
_SUMS = ("kinetic", "stored", "work", "viscous", "algorithmic")
_CHECKS = ("energy_of_each_step", "steps_converged")


def blocks_of(
    chain: Chain,
    method: ThetaStepper,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return a function that solves chains that differ at `paths`; None if they need single runs.

    Its results equal those of `solve_exactly` to the last bit.

    Parameters
    ----------
    request : with two saved states, the first and the last
    paths : fields of the chain and below, see `stack.fits`
    names : requested results

    Verified by: tests/unit/chains/blocks/test_theta.py::test_the_same_as_single_runs
    """
    # vectorised steps exist for short chains on a surface at rest, under constant friction and
    # loads of lines and sines
    at_rest = chain.belt_speed == 0.0 and chain.plate_speed == 0.0
    at_rest = at_rest and not {"belt_speed", "plate_speed"} & {path[0] for path in paths}
    usual = at_rest and chain.law.constant and chain.n_mass <= _MOST_MASSES
    plain = chain.load.segments().function is None
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

    # chains per call, a multiple of the 32 chains of a group; a chain has some 45 numbers per mass
    size = max(32, _MOST_NUMBERS // (45 * (chain.n_mass + 1)) // 32 * 32)

    def solve(columns: Sequence[Array]) -> Block:
        with np.errstate(all="ignore"):
            stack = stack_of(chain, paths, columns)
        one = functools.partial(_solved, problem, method, request)
        return in_parts(stack, size, one, len(columns[0]))

    return solve


def _solved(problem: Problem, method: ThetaStepper, request: Request, stack: Stack) -> Block:
    """Return the results of the chains of a stack."""
    return _EnsembleRun(stack, problem, method, request).solve()


class _EnsembleRun:
    """The run of an ensemble (all chains of one kernel call): arrays, kernel call, results."""

    def __init__(
        self, stack: Stack, problem: Problem, method: ThetaStepper, request: Request
    ) -> None:
        load = stack.load
        varies = np.asarray(load.rate.any(axis=1) | load.amplitude.any(axis=1))
        varies |= np.ptp(load.offset, axis=1) > 0.0
        has_plates = np.asarray(stack.plate_springs.any(axis=1))
        # kernels have one flag for all chains
        self.alike = (varies == varies[0]) & (has_plates == has_plates[0])
        self.problem = problem._replace(steady=not varies[0], plates=bool(has_plates[0]))
        self.stack, self.method, self.request = stack, method, request
        self.ensemble = self._begin()

    def _begin(self) -> Ensemble:
        """Return the arrays, initialised as by `theta.setup.begin` for one chain."""
        from stiction.chains.blocks.theta_kernels import Ensemble
        from stiction.chains.theta import state
        from stiction.chains.theta.event_kernels import count_joined

        stack, p, t = self.stack, self.problem, self.request.t_start
        m, n = stack.masses.shape
        # modes and friction at the start, by the stick bounds
        work = make_work(stack, stack.load, stack.mu_kinetic, p, np.zeros((n, 0)))
        saved = make_saved(stack, stack.chain.law, self.request.save)
        start, u = np.full(m, t), stack.v_start
        drive = stack.drive(start, stack.x_start, u)
        free, mode = first_modes(drive, stack.stick_bound, u)
        full = stack.normal_forces * stack.mu_kinetic
        friction = np.where(mode == 0, -drive, -mode * full)
        begin_work(stack, p, work, saved, mode, friction, stack.load_at(start))
        work.progress["events"] = np.count_nonzero(free, axis=1)
        ensemble = Ensemble(
            work=work,
            saved=saved,
            of_progress=work.progress.view(np.float64).reshape(m, -1),
            code=np.zeros(m, np.int8),
            stop_time=np.full(m, np.nan),
            seen_time=np.full((m, n + 1), -np.inf),
            seen_modes=np.zeros((m, 2, n + 1), np.int8),
            onset=np.full((m, n + 1), np.nan),
            kinds=Kinds.table(m),
            values=np.zeros((n, 5)),
            changes=np.zeros((n, 3), np.int32),
        )
        # masses released at the start are events, which `count_joined` must know
        for b in np.flatnonzero(free.any(axis=1)).tolist():
            start = np.flatnonzero(free[b])
            changes = np.column_stack([start, np.zeros(start.size), mode[b, start]])
            events = state.Events(np.full((start.size, 5), t), changes.astype(np.int32), 0)
            seen = ensemble.seen_time[b], ensemble.seen_modes[b], ensemble.onset[b]
            count_joined(events, p.h, *seen, ensemble.kinds[b])
        return ensemble

    def solve(self) -> Block:
        """Advance all chains and return their results."""
        from stiction.chains.blocks.group_kernels import group_of
        from stiction.chains.blocks.theta_kernels import STOPPED, solve_steps

        ensemble, stack, t = self.ensemble, self.stack, self.request.t_start
        still = ensemble.work.progress["slipping"] == 0
        if still.any():
            # all masses stick from the start, for good
            still &= stack.sticks_for_good(np.full(stack.members, t), stack.x_start)
            ensemble.code[still], ensemble.stop_time[still] = STOPPED, t
        solve_steps(
            self.problem, ensemble, group_of(stack.masses.shape[1], stack.load.amplitude.shape[1])
        )
        rested = ensemble.code == STOPPED
        if rested.any():
            self._save_equilibrium(rested)
        return self._block(rested)

    def _save_equilibrium(self, rested: Flags) -> None:
        """Save the last state of stopped chains, as `ThetaIntegrator._save_equilibrium` does."""
        stack, p, work, saved = self.stack, self.problem, self.ensemble.work, self.ensemble.saved
        now, motion, n, t_end = work.progress, work.motion, p.n, np.full(stack.members, p.t_end)
        times = np.where(now["step"] >= p.n_step, p.t_end, p.t_start + now["step"] * p.h)
        x, heat = motion.x[:, :n], motion.heat[:, :n]
        change = stack.load_at(t_end) - stack.load_at(times)
        force = stack.drive(times, x, np.zeros_like(x)) + change[:, None] * stack.load_weights
        saved.x[rested, 1], saved.v[rested, 1], saved.mode[rested, 1] = x[rested], 0.0, 0
        saved.friction[rested, 1], saved.heat[rested, 1] = -force[rested], heat[rested]
        sums = np.stack([now[name] for name in _SUMS], axis=1)
        saved.sums[rested, 1] = sums[rested]

    def _block(self, rested: Flags) -> Block:
        """Return the audited results of all members.

        Members that the kernel could not complete here are invalid. `rested` (m,) is whether a
        chain stopped for good before the end.
        """
        from stiction.chains.blocks.theta_kernels import ENDED

        ensemble, stack, p = self.ensemble, self.stack, self.problem
        now, saved = ensemble.work.progress, ensemble.saved
        # a chain has stopped if no mass slipped after its stop
        stops = np.isfinite(ensemble.stop_time) & (now["slipping"] == 0)
        stops &= now["rest_since"] <= ensemble.stop_time
        outcomes = Outcomes(
            stack=stack,
            t_start=p.t_start,
            x=saved.x,
            v=saved.v,
            mode=saved.mode,
            friction=saved.friction,
            onset=onsets(stack, ensemble.onset[:, :-1], p.t_start),
            stop=np.where(stops, ensemble.stop_time, np.nan),
            kinds=ensemble.kinds,
            energy=ledger_of(saved.sums[:, :, :4], saved.heat, saved.sums[:, :, 4]),
            given=now["given"],
            stats=self._stats(),
            replayed=None,
        )
        done = (ensemble.code == ENDED) | rested
        valid = stack.valid & self.alike & done & (now["events"] < self.method.max_events)
        reached = np.full(stack.members, p.t_end)
        return outcomes.block(self._lines(outcomes), valid, outcomes.events + stops, reached)

    def _stats(self) -> dict[str, Array]:
        """Return the counts of work (m,) by the names _STATS."""
        p, now = self.problem, self.ensemble.work.progress
        steps, solves = now["step"], now["solves"]
        h, mean = np.full(steps.size, p.h), np.where(steps > 0, solves / np.maximum(steps, 1), 0.0)
        most, missed = now["most_solves"], (now["rescues"], now["misses"])
        columns = steps, h, solves, solves, mean, most, *missed
        return dict(zip(_STATS, columns, strict=True))

    def _lines(self, outcomes: Outcomes) -> list[Line]:
        """Return the lines of the audit of exact theta schemes."""
        stack, e, now = self.stack, outcomes.energy, self.ensemble.work.progress
        times = np.repeat(self.request.save[None], stack.members, axis=0)
        rounding = rounding_of_steps(
            (stack.link_stiffness.max(axis=1) + stack.plate_springs.max(axis=1))[:, None],
            np.abs(outcomes.x).max(axis=2),
            np.abs(stack.load_at(times)),
            self.ensemble.work.masses.inertia[:, :-1].max(axis=1)[:, None],
            np.abs(outcomes.v).max(axis=2),
        )
        bound = stack.stick_bound[:, None] + rounding[:, :, None]
        ratio = stick_ratios(outcomes.friction, outcomes.mode, bound)
        return [
            *step_lines(now["worst"], now["misses"]),
            *energy_lines(e.imbalance_rel, now["given"], e.scale),
            stick_line(ratio.max(axis=(1, 2))),
            mode_line(now["against"], np.abs(outcomes.v).max(axis=(1, 2))),
        ]
