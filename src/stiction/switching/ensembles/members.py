"""Members of a study: many flows that differ in a few numbers, solved in one call of a kernel.

A member is one flow of a sweep over initial states or parameters. The kernels of `EventDriven`
integrate all members with the steps and events of single runs. `EventDriven.blocks` offers this to
a study; a member with a loss of determinism or a failed audit is repeated as a single run.
`blocks_of` selects the flows for which this is possible, `_BlockSolver` fills the arrays of the
kernel `member_kernels.follow_members` and forms the results (`core.block.Block`) from its saved
states.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.block import Block, Solve, ledger_of
from stiction.core.ledger import COLUMNS
from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.numerics.jit import mode
from stiction.switching.model import SwitchingSystem

if TYPE_CHECKING:
    from stiction.switching.ensembles.member_kernels import MemberResults
    from stiction.switching.methods import EventDriven

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Path = tuple[str | int, ...]

# largest number of events, and of passes of the integration loop, of one member; as in a single run
_EVENTS, _PASSES = 512, 5000
_AUDIT = (
    "ledger_closes",
    "friction_dissipates",
    "stays_on_surface",
    "stays_on_its_side",
    "multiplier_within_bound",
)


def blocks_of(
    system: SwitchingSystem,
    method: EventDriven,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return a solver of many flows that differ at `paths`; None if they need single runs.

    Results equal those of `solve_event_driven` bitwise. The solver exists for compiled systems with
    energies, without a policy, a given mode, a checkpoint or user functions.

    Parameters
    ----------
    request : time span; it must save two states, the first and the last
    paths : the numbers that differ: components of the initial state, such as `("x0", 0)`, or
        fields whose value is one float, such as `("omega0",)`
    names : names of the requested results

    Verified by: tests/unit/switching/ensembles/test_members.py::test_the_same_as_single_runs
    """
    usual = method.policy is None and system.mode is None and request.checkpoint is None
    usual = usual and request.save.size == 2 and mode() == "compiled"
    if not usual or not all(_is_number(system, path) for path in paths):
        return None
    c = system.compiled
    plain = c.power and not c.stiff and system.start_names == system.state_names
    if not plain or any(hasattr(f, "check") for f in c.keep) or not _has_energy(system):
        return None
    known = {"period", "stats.events", "stats.steps", "stats.rejected"}
    known |= {f"final.{name}" for name in system.state_names}
    known |= {f"energy.{name}" for name in COLUMNS}
    known |= {f"audit.{name}" for name in _AUDIT}
    if not all(name in known or name.startswith("events.") for name in names):
        return None
    solver = _BlockSolver(system, method, request, paths)
    return solver.solve


def _has_energy(system: SwitchingSystem) -> bool:
    """Return whether the system defines kinetic and stored energy."""
    return system.energies(system.start_state()[None]) is not None


def _is_number(system: SwitchingSystem, path: Path) -> bool:
    """Return whether a path names a component of the initial state, or a field of type float."""
    if path[0] == "x0":
        return len(path) == 2 and system.x0 is not None
    field = getattr(system, str(path[0]), None)
    return len(path) == 1 and isinstance(field, float) and not isinstance(field, bool)


class _BlockSolver:
    """Solves flows that differ in a few numbers."""

    def __init__(
        self, system: SwitchingSystem, method: EventDriven, request: Request, paths: Sequence[Path]
    ) -> None:
        from stiction.switching.ensembles.member_kernels import InitialArrays
        from stiction.switching.flow.records import Flow
        from stiction.switching.flow.trajectory import Tolerance
        from stiction.switching.outcome import CYCLE

        self.system, self.method, self.request, self.paths = system, method, request, paths
        longest = np.inf if method.max_step is None else float(method.max_step)
        tolerance = Tolerance(method.rtol, method.atol, longest).array()
        stored = min(_EVENTS, max(method.max_events, 3) + 2)
        c = system.compiled
        self.flow = flow = Flow(c, tolerance, request.save, stored, energies=True)
        flow.progress.t_start = request.t_start
        scale = np.asarray(c.scale)
        self.fresh = InitialArrays(
            flow.work.progress.copy(),
            flow.functions.copy(),
            flow.vectors.copy(),
            *c.sizes_and_normals,
            CYCLE * scale,
        )

    def solve(self, columns: Sequence[Array]) -> Block:
        """Return the results of all members.

        Parameters
        ----------
        columns : for each of `paths` the (members,) values
        """
        from stiction.switching.ensembles.member_kernels import follow_members

        m, c = len(columns[0]), self.system.compiled
        x = np.repeat(self.system.start_state()[None], m, axis=0)
        params = np.repeat(c.params[None], m, axis=0)
        valid, fields = np.ones(m, bool), {}
        for path, column in zip(self.paths, columns, strict=True):
            if path[0] == "x0":
                x[:, int(path[1])] = column
            else:
                fields[str(path[0])] = column
        # invalid members are repeated as single runs, which raise the error
        valid &= np.isfinite(x).all(axis=1)
        others = self._others(fields, m, params, valid) if fields else []
        results = _empty_results(m, c.n, c.m)
        x[~valid] = np.nan
        with np.errstate(all="ignore"):
            most = min(_PASSES, self.method.steps_allowed())
            follow_members(*self.flow.arrays, self.fresh, x, self.flow.p, params, most, results)
            return self._block(results, valid, others)

    def _others(
        self, fields: dict[str, Array], m: int, params: Floats, valid: Flags
    ) -> list[SwitchingSystem]:
        """Return the systems of all members; fill `params` (m, p), and `valid` (m,)."""
        systems, c = [], self.system.compiled
        for k in range(m):
            one = self.system
            try:
                values = {name: column[k].item() for name, column in fields.items()}
                one = dataclasses.replace(self.system, **values)  # type: ignore[type-var]
                valid[k] &= _differ_in_numbers(c, one.compiled)
                params[k] = one.compiled.params
            except ModelError:
                valid[k] = False
            systems.append(one)
        return systems

    def _block(
        self, results: MemberResults, valid: Flags, others: Sequence[SwitchingSystem]
    ) -> Block:
        """Return audit verdicts and named results of the members."""
        from stiction.switching.flow.records import KINDS
        from stiction.switching.outcome import energy_lines, state_lines

        system, m, rtol = self.system, len(results.done), float(self.method.rtol)
        n = system.compiled.n
        # axis 1 of `saved`: the start, the requested end, and the end reached; axis 2: the time, n
        # states, three energies (external work, friction heat, viscous heat), m signs
        states = np.ascontiguousarray(results.saved[:, :, 1 : n + 1])
        # kinetic and stored energy, external work, viscous heat, as `ledger_of` takes them
        sums = np.zeros((m, 3, 4))
        if others:
            for k, one in enumerate(others):
                sums[k, :, :2] = np.transpose(one.energies(states[k]) or ())
        else:
            every = states.reshape(-1, n)
            sums[:, :, :2] = np.transpose(system.energies(every) or ()).reshape(m, 3, 2)
        work, heat, viscous = (results.saved[:, :, 1 + n + k] for k in range(3))
        sums[:, :, 2], sums[:, :, 3] = work, viscous
        energy = ledger_of(sums, heat[:, :, None])
        # largest decrease of the friction heat between samples: energy that friction returned
        given = np.max(-(heat[:, 1:] - heat[:, :-1]), axis=1, initial=0.0)
        lines = energy_lines(energy.imbalance_rel, energy.scale, given, rtol, "J")
        lines += state_lines(results.worst, rtol, (None, None, None))
        holds = valid & (results.done == 1)
        for line in lines:
            holds &= line.holds
        events = results.kinds.sum(axis=1)
        holds &= events < self.method.max_events
        values: dict[str, Array] = {
            "period": results.period,
            "stats.events": events,
            "stats.steps": results.counts[:, 0],
            "stats.rejected": results.counts[:, 1],
            **{
                f"final.{name}": results.saved[:, 2, 1 + i]
                for i, name in enumerate(system.state_names)
            },
            **energy.at_end(),
            **{f"events.{kind}": results.kinds[:, k] for k, kind in enumerate(KINDS)},
            **{f"audit.{line.check}": line.value for line in lines},
        }
        return Block(holds, results.saved[:, 2, 0], events, energy.imbalance_rel, values)


def _differ_in_numbers(one: Any, other: Any) -> bool:
    """Return whether two compiled systems differ in their parameters only."""
    names = ("field", "surface", "gradient", "power", "n", "m", "k", "line", "stiff")
    same = all(getattr(one, name) == getattr(other, name) for name in names)
    same = same and one.plane_is_sure == other.plane_is_sure
    sizes = np.array_equal(one.scale, other.scale) and one.params.size == other.params.size
    planes = (one.plane is None) == (other.plane is None)
    return bool(same and sizes and planes) and (
        one.plane is None or np.array_equal(one.plane, other.plane)
    )


def _empty_results(m: int, n: int, surfaces: int) -> MemberResults:
    """Return the arrays that the kernel fills, for m members of n states."""
    from stiction.switching.ensembles.member_kernels import MemberResults
    from stiction.switching.flow.inspection import Inspection
    from stiction.switching.flow.records import KINDS

    return MemberResults(
        done=np.zeros(m, np.int8),
        saved=np.zeros((m, 3, 1 + n + 3 + surfaces)),
        worst=Inspection.table(m),
        counts=np.zeros((m, 2), np.int64),
        kinds=np.zeros((m, len(KINDS)), np.int64),
        period=np.full(m, np.nan),
    )
