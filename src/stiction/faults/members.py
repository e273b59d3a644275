"""Blocks of spring sliders of a study, which `Cycles` solves in one kernel call.

A study varies fields of a `SpringSlider` and of its law; each set of values is a member.
Slip speed V and state theta of a slider satisfy sigma mu(V, theta) + eta V = tau0 - k s, with
normal stress sigma, radiation damping eta, initial shear stress tau0, spring k, and slip s less
that of the plates. `blocks_of` converts b members to arrays of length b,
`member_kernels.integrate_sliders` integrates them one after the other, and `_BlockSolver` computes
the named results, energies and audit checks, which equal those of single runs. `core.block` defines
blocks; `methods.Cycles.blocks` calls `blocks_of`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.block import Block, Energies, Solve, ledger_of
from stiction.core.ledger import COLUMNS
from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.faults.model import SpringSlider
from stiction.faults.outcome import (
    EXTREMES,
    balance_line,
    cycles_of,
    distance_from_steady_sliding,
    is_stable,
    ledger_line,
    start_line,
)
from stiction.faults.run import cells_of, method_state_of, start_of
from stiction.faults.state import Event, Progress
from stiction.laws.rate_and_state import RateAndState
from stiction.numerics.jit import mode

if TYPE_CHECKING:
    from stiction.faults.member_kernels import BlockResults, InitialValues
    from stiction.faults.methods import Cycles

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Path = tuple[str | int, ...]

_STATS = ("steps", "rejected")
_CHECKS = ("ledger_closes", "stress_balances", "starts_apart_from_unstable_sliding")
# initial size of the buffer of events of all members
_ROOM = 4096


def blocks_of(
    system: SpringSlider,
    method: Cycles,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return a function that solves many sliders that differ at `paths`; None if unsupported.

    The function takes one list of values per path. Its results equal those of `run_cycles` to the
    last bit.

    Parameters
    ----------
    request : with two saved times, the first and the last
    paths : varied fields: numbers of the slider, and a, b, length and mu0 of its law
    names : requested results, such as "recurrence" and "final.slip"

    Verified by: tests/unit/faults/test_members.py::test_the_same_as_single_runs
    """
    usual = request.save.size == 2 and request.checkpoint is None and mode() == "compiled"
    if not usual or not all(_fits(system, path) for path in paths):
        return None
    known = {"onsets", "recurrence", "recurrence_spread"}
    known |= {f"{end}_{name}" for end in ("least", "largest") for name in EXTREMES}
    known |= {f"final.{name}" for name in ("slip", "slip_speed", "state")}
    known |= {f"energy.{name}" for name in COLUMNS}
    known |= {f"stats.{name}" for name in ("events", "evaluations", *_STATS)}
    known |= {f"audit.{name}" for name in _CHECKS}
    if not all(name in known or name.startswith("events.") for name in names):
        return None
    return _BlockSolver(system, method, request, paths).solve


def _fits(system: SpringSlider, path: Path) -> bool:
    """Return whether the field at this path is a number that may differ between members."""
    owner, name = system.law if path[0] == "law" else system, str(path[-1])
    given = getattr(owner, name, None) if len(path) == 1 + (path[0] == "law") else None
    # a law has one reference speed for all cells: it must be equal for all members
    return isinstance(given, float | int) and not isinstance(given, bool) and name != "speed0"


class _Sliders(NamedTuple):
    """b sliders, their law with lists of b values; (b,) initial speeds [m/s], states [s]."""

    each: Sequence[SpringSlider]
    law: RateAndState
    speed: Floats
    age: Floats


class _BlockSolver:
    """Solves a block of sliders in the arrays of one slider."""

    def __init__(
        self, system: SpringSlider, method: Cycles, request: Request, paths: Sequence[Path]
    ) -> None:
        self.system, self.method, self.request, self.paths = system, method, request, paths
        self.arrays = method_state_of(system, method, request)

    def solve(self, columns: Sequence[Array]) -> Block:
        """Return the results of all members; a column holds the values at one path."""
        from stiction.faults.member_kernels import integrate_sliders

        members = zip(*(column.tolist() for column in columns), strict=True)
        made = [self._member(values) for values in members]
        valid = np.array([one is not None for one in made])
        with np.errstate(all="ignore"):
            sliders = _as_cells([one or self.system for one in made])
            given = self._starts(sliders)
            results = _buffers(len(made), valid)
            stiffness, begin, most = np.zeros((1, 1)), 0, self.method.max_steps
            while begin < len(made):
                begin = integrate_sliders(self.arrays, stiffness, given, most, begin, results)
                if begin < len(made):
                    events = Event.table(2 * len(results.events))
                    events[: len(results.events)] = results.events
                    results = results._replace(events=events)
            return self._block(sliders, given, results)

    def _member(self, values: Sequence[float]) -> SpringSlider | None:
        """Return the slider with these values; None if they are not admissible."""
        pairs = list(zip(self.paths, values, strict=True))
        own: dict[str, Any] = {str(path[0]): value for path, value in pairs if len(path) == 1}
        of_law: dict[str, Any] = {str(path[1]): value for path, value in pairs if len(path) == 2}
        try:
            law = dataclasses.replace(self.system.law, **of_law)
            return dataclasses.replace(self.system, law=law, **own)
        except ModelError:
            return None

    def _starts(self, sliders: _Sliders) -> InitialValues:
        """Return initial values and parameters of the sliders for the kernel."""
        from stiction.faults.member_kernels import InitialValues

        progress = start_of(self.system, self.method, self.request)
        # members have no trace
        progress[0].apart = np.inf
        each, law, speed, age = sliders
        sigma, eta, spring, plate = np.array(
            [(one.normal_stress, one.damping, one.spring, one.plate_speed) for one in each],
            dtype=np.float64,
        ).T.copy()
        cells = cells_of(law, sigma, eta)
        cells["stress_start"] = law.coefficient(speed, age) * sigma + eta * speed
        cells["speed"] = speed
        return InitialValues(np.log(speed), np.log(age), spring, plate, cells, progress)

    def _block(self, sliders: _Sliders, given: InitialValues, computed: BlockResults) -> Block:
        """Return named results with the energies and audit checks of single runs.

        `computed.states` (b, 2, 6) has ln V, ln theta, s, friction heat, radiated energy and work
        of the plates, at the start and at the end.
        """
        states, progress = computed.states, computed.progress
        # (b, 2) values at the start and at the end, as `outcome.build_run` computes them
        speed, age = (np.exp(np.ascontiguousarray(states[:, :, k])) for k in (0, 1))
        relative_slip, eta, sigma = states[:, :, 2], given.cells["eta"], given.cells["sigma"]
        friction = sliders.law.coefficient
        mu = np.stack([friction(speed[:, k].copy(), age[:, k].copy()) for k in (0, 1)], axis=1)
        shear = mu * sigma[:, None] + eta[:, None] * speed
        stress = -given.spring[:, None] * relative_slip
        # columns: kinetic, stored, external work, viscous heat
        sums = np.zeros((len(progress), 2, 4))
        sums[:, :, 1] = -((shear[:, :1] + 0.5 * stress) * relative_slip)
        sums[:, :, 2], sums[:, :, 3] = states[:, :, 5], states[:, :, 4]
        energy = ledger_of(sums, states[:, :, 3:4])
        residual = np.abs(shear - shear[:, :1] - stress) / sigma[:, None]
        balance = np.maximum(residual.max(axis=1), progress["off_balance"])
        distance = distance_from_steady_sliding(
            sliders.law, given.plate, sliders.speed, sliders.age
        )
        stable = np.array([is_stable(one) for one in sliders.each])
        lines = (
            ledger_line(energy.imbalance_rel),
            balance_line(balance),
            start_line(distance, stable),
        )
        holds = computed.done == 1
        for line in lines:
            holds &= line.holds
        events = np.diff(computed.first)
        holds &= events <= self.method.max_events
        results = self._results(given, computed, energy, np.stack([speed, age], axis=2)[:, -1])
        results |= {f"audit.{line.check}": line.value for line in lines}
        results["stats.events"] = events
        results |= {f"stats.{name}": progress[name] for name in _STATS}
        results["stats.evaluations"] = progress["asked"] + 1
        reached = np.full(len(progress), self.request.save[-1])
        return Block(holds, reached, events, energy.imbalance_rel, results)

    def _results(
        self, given: InitialValues, computed: BlockResults, energy: Energies, final: Floats
    ) -> dict[str, Array]:
        """Return the named results of the members, each an array of length b.

        final : (b, 2) slip speed [m/s] and state [s] at the end
        """
        m, progress = len(computed.done), computed.progress
        onsets, mean, spread = np.zeros(m), np.full(m, np.nan), np.full(m, np.nan)
        for k in np.flatnonzero(computed.done == 1).tolist():
            onsets[k], gaps = cycles_of(computed.events[computed.first[k] : computed.first[k + 1]])
            if gaps.size:
                mean[k], spread[k] = gaps.mean(), np.ptp(gaps)
        slid = given.plate * (self.request.save[-1] - self.request.save[0])
        results: dict[str, Array] = {
            "onsets": onsets,
            "recurrence": mean,
            "recurrence_spread": spread,
            "final.slip": (computed.states[:, -1, 2] + slid)[:, None],
            "final.slip_speed": final[:, :1],
            "final.state": final[:, 1:],
            "events.onset": onsets,
            "events.arrest": np.diff(computed.first) - onsets,
        }
        for name, (low, high, _) in EXTREMES.items():
            results[f"least_{name}"], results[f"largest_{name}"] = progress[low], progress[high]
        return results | energy.at_end()


def _as_cells(each: Sequence[SpringSlider]) -> _Sliders:
    """Return b sliders as the cells of one law with lists of parameters."""
    numbers = [one.law.spread(1) for one in each]
    lists: dict[str, Any] = {
        name: np.concatenate([p[name] for p in numbers]) for name in numbers[0]
    }
    speed, age = np.hstack([one.start() for one in each])
    return _Sliders(each, dataclasses.replace(each[0].law, **lists), speed, age)


def _buffers(m: int, valid: Flags) -> BlockResults:
    """Return empty results of m sliders; invalid ones are marked to be skipped."""
    from stiction.faults.member_kernels import BlockResults

    return BlockResults(
        # inadmissible members are skipped
        done=np.where(valid, 0, -1).astype(np.int8),
        states=np.zeros((m, 2, 6)),
        progress=Progress.table(m),
        first=np.zeros(m + 1, np.int64),
        events=Event.table(_ROOM),
    )
