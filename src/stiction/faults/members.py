"""Blocks of sliders on springs that `Cycles` solves in one call, and what is told of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.block import Block, Energies, Solve, ledger_of
from stiction.core.ledger import COLUMNS
from stiction.core.run import Request
from stiction.faults.model import SpringSlider
from stiction.faults.outcome import EXTREMES, balance_line, ledger_line, start_line
from stiction.faults.run import cells_of, march_of, start_of
from stiction.faults.state import Event, Progress
from stiction.numerics.jit import mode

if TYPE_CHECKING:
    from stiction.faults.member_kernels import Found, Starts
    from stiction.faults.methods import Cycles

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Path = tuple[str | int, ...]

_STATS = ("steps", "rejected")
_CHECKS = ("ledger_closes", "stress_balances", "starts_apart_from_unstable_sliding")
_OF_SLIDER = {
    "normal_stress": "positive",
    "spring": "positive",
    "plate_speed": "positive",
    "impedance": "nonnegative",
    "speed_start": "positive",
    "state_start": "positive",
}
_OF_LAW = {"a": "positive", "b": "nonnegative", "length": "positive", "mu0": "positive"}
# events for which there is room at first, of all members together
_ROOM = 4096


def blocks_of(
    system: SpringSlider,
    method: Cycles,
    request: Request,
    paths: Sequence[Path],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many sliders that differ at `paths`; None where it cannot.

    The numbers are those of `run_cycles`, to the last bit.

    Parameters
    ----------
    request : with two saved states, the first and the last
    paths : fields of the slider that hold a number, and a, b, length and mu0 of its law
    names : results that will be asked for

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
    return _Crew(system, method, request, paths).solve


def _fits(system: SpringSlider, path: Path) -> bool:
    owner: object = system
    if len(path) == 2 and path[0] == "law" and path[1] in _OF_LAW:
        owner = system.law
    elif len(path) != 1 or path[0] not in _OF_SLIDER:
        return False
    given = getattr(owner, str(path[-1]))
    return isinstance(given, float | int)


@dataclasses.dataclass(frozen=True, eq=False)
class _Sliders:
    """The numbers of b sliders, (b,) each, and whether they make one; units as in the models."""

    sound: Flags
    given: dict[str, Floats]
    law: dict[str, Floats]
    speed: Floats
    age: Floats


class _Crew:
    """Arrays of one slider, for one after the other."""

    def __init__(
        self, system: SpringSlider, method: Cycles, request: Request, paths: Sequence[Path]
    ) -> None:
        self.system, self.method, self.request, self.paths = system, method, request, paths
        self.march = march_of(system, method, request)

    def solve(self, columns: Sequence[Array]) -> Block:
        """Return what is told of all members."""
        from stiction.faults.member_kernels import march_sliders

        with np.errstate(all="ignore"):
            sliders = self._sliders(columns)
            given = self._starts(sliders)
            found = _room(len(columns[0]), sliders.sound)
            stiffness, begin, most = np.zeros((1, 1)), 0, self.method.max_steps
            while begin < sliders.sound.size:
                begin = march_sliders(self.march, stiffness, given, most, begin, found)
                if begin < sliders.sound.size:
                    events = Event.table(2 * len(found.events))
                    events[: len(found.events)] = found.events
                    found = found._replace(events=events)
            return self._block(sliders, given, found)

    def _sliders(self, columns: Sequence[Array]) -> _Sliders:
        m, system = len(columns[0]), self.system
        sound = np.ones(m, bool)
        given = {name: getattr(system, name) for name in _OF_SLIDER}
        law = {name: getattr(system.law, name) for name in _OF_LAW}
        for path, column in zip(self.paths, columns, strict=True):
            name, values = str(path[-1]), np.asarray(column, dtype=np.float64)
            rule = (_OF_SLIDER if len(path) == 1 else _OF_LAW)[name]
            sound &= np.isfinite(values) & (values > 0.0 if rule == "positive" else values >= 0.0)
            (given if len(path) == 1 else law)[name] = values
        for owner in (given, law):
            for name, values in owner.items():
                if values is not None:
                    owner[name] = np.array(np.broadcast_to(values, m), dtype=np.float64)
        speed = given["plate_speed"] if given["speed_start"] is None else given["speed_start"]
        age = law["length"] / speed if given["state_start"] is None else given["state_start"]
        return _Sliders(sound, given, law, speed, age)

    def _starts(self, sliders: _Sliders) -> Starts:
        from stiction.faults.member_kernels import Starts

        given, law, own = sliders.given, sliders.law, self.system.law
        progress = start_of(self.system, self.method, self.request)
        # nobody reads a trace
        progress[0].apart = np.inf
        cells = cells_of(own, law, given["normal_stress"], given["impedance"])
        stress = self._friction(sliders, sliders.speed, sliders.age) * given["normal_stress"]
        cells["stress_start"] = stress + given["impedance"] * sliders.speed
        cells["speed"] = sliders.speed
        return Starts(
            log_speed=np.log(sliders.speed),
            log_age=np.log(sliders.age),
            spring=given["spring"],
            plate=given["plate_speed"],
            cells=cells,
            progress=progress,
        )

    def _friction(self, sliders: _Sliders, speed: Floats, age: Floats) -> Floats:
        """Return mu of every slider, by the formula of its law."""
        # without the checks: some members may be no law, and are left to single runs
        law = object.__new__(type(self.system.law))
        for f in dataclasses.fields(law):
            value = sliders.law.get(f.name, getattr(self.system.law, f.name))
            object.__setattr__(law, f.name, value)
        return law.coefficient(speed, age)

    def _block(self, sliders: _Sliders, given: Starts, found: Found) -> Block:
        """Judge the members as the audit does, and name their results."""
        states, progress = found.states, found.progress
        speed, age = (np.exp(np.ascontiguousarray(states[:, :, k])) for k in (0, 1))
        ahead, eta, sigma = states[:, :, 2], given.cells["eta"], given.cells["sigma"]
        mu = np.stack(
            [
                self._friction(sliders, np.ascontiguousarray(speed[:, k]), age[:, k].copy())
                for k in (0, 1)
            ],
            axis=1,
        )
        shear = mu * sigma[:, None] + eta[:, None] * speed
        stress = -given.spring[:, None] * ahead
        sums = np.zeros((len(progress), 2, 4))
        sums[:, :, 1] = -((shear[:, :1] + 0.5 * stress) * ahead)
        sums[:, :, 2], sums[:, :, 3] = states[:, :, 5], states[:, :, 4]
        energy = ledger_of(sums, states[:, :, 3:4])
        off = np.abs(shear - shear[:, :1] - stress) / sigma[:, None]
        balance = np.maximum(off.max(axis=1), progress["off_balance"])
        apart, stable = self._apart(sliders)
        lines = ledger_line(energy.imbalance_rel), balance_line(balance), start_line(apart, stable)
        holds = sliders.sound & (found.done == 1)
        for line in lines:
            holds &= line.holds
        events = np.diff(found.first)
        holds &= events <= self.method.max_events
        results = self._results(sliders, found, energy, np.stack([speed, age], axis=2)[:, -1])
        results |= {f"audit.{line.check}": line.value for line in lines}
        results["stats.events"] = events
        results |= {f"stats.{name}": progress[name] for name in _STATS}
        results["stats.evaluations"] = progress["asked"] + 1
        reached = np.full(len(progress), self.request.save[-1])
        return Block(holds, reached, events, energy.imbalance_rel, results)

    def _apart(self, sliders: _Sliders) -> tuple[Floats, Flags]:
        """Return the distance from even sliding, and whether that is known to be stable."""
        given, law = sliders.given, sliders.law
        even = law["length"] / sliders.speed
        off = np.abs(np.log(sliders.speed / given["plate_speed"]))
        apart = np.maximum(off, np.abs(np.log(sliders.age / even)))
        drop = (law["b"] - law["a"]) * given["normal_stress"]
        critical = (drop - given["impedance"] * given["plate_speed"]) / law["length"]
        return apart, np.asarray(given["spring"] > critical)

    def _results(
        self, sliders: _Sliders, found: Found, energy: Energies, final: Floats
    ) -> dict[str, Array]:
        m, progress = len(found.done), found.progress
        onsets, mean, spread = np.zeros(m), np.full(m, np.nan), np.full(m, np.nan)
        up = found.events["up"] == 1
        for k in np.flatnonzero(found.done == 1).tolist():
            rows = slice(found.first[k], found.first[k + 1])
            rising = found.events[rows][up[rows]]
            later = rising[1:]
            gaps = np.diff(later["time"]) + np.diff(later["time_low"])
            onsets[k] = len(rising)
            if gaps.size:
                mean[k], spread[k] = gaps.mean(), np.ptp(gaps)
        slid = sliders.given["plate_speed"] * (self.request.save[-1] - self.request.save[0])
        results: dict[str, Array] = {
            "onsets": onsets,
            "recurrence": mean,
            "recurrence_spread": spread,
            "final.slip": (found.states[:, -1, 2] + slid)[:, None],
            "final.slip_speed": final[:, :1],
            "final.state": final[:, 1:],
            "events.onset": onsets,
            "events.arrest": np.diff(found.first) - onsets,
        }
        for name, (low, high, _) in EXTREMES.items():
            results[f"least_{name}"], results[f"largest_{name}"] = progress[low], progress[high]
        return results | energy.at_end()


def _room(m: int, sound: Flags) -> Found:
    from stiction.faults.member_kernels import Found

    return Found(
        # what cannot be a slider is never begun
        done=np.where(sound, 0, -1).astype(np.int8),
        states=np.zeros((m, 2, 6)),
        progress=Progress.table(m),
        first=np.zeros(m + 1, np.int64),
        events=Event.table(_ROOM),
    )
