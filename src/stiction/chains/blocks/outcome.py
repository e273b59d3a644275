"""Audit, ledger and quantities of many chains at once, from the arrays of their kernels.

The operations and their order are those of one run (`chains.outcome`, `event_driven.losses`,
`core.ledger`), so that the results agree to the last bit. The callers are `blocks.event_driven` and
`blocks.theta`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.audit import energy_lines, slip_line, stick_line, stick_ratios
from stiction.chains.blocks.stack import Stack
from stiction.chains.model import Chain
from stiction.chains.outcome import Kinds
from stiction.core.audit import Line
from stiction.core.block import Block, Energies
from stiction.core.ledger import COLUMNS
from stiction.numerics.arrays import Table

__all__ = ["Outcomes", "in_parts", "named", "onsets"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_CHECKS = ("ledger_closes", "friction_dissipates", "stick_within_bound", "slip_against_friction")


def named(chain: Chain, names: Sequence[str], stats: Sequence[str]) -> bool:
    """Return whether blocks of such chains provide all these results.

    Parameters
    ----------
    stats : counters of the method, and other results of its blocks
    """
    results = {"onset_time", "onset_force", "critical_force", "stop_time", "final.x", "final.v"}
    results |= {f"energy.{name}" for name in COLUMNS}
    results |= {"stats.events", *stats} | {f"audit.{name}" for name in _CHECKS}
    if chain.law.has_jump:
        results.add("stick_above_kinetic")
    return all(name in results or name.startswith("events.") for name in names)


def in_parts(stack: Stack | None, size: int, solve: Callable[[Stack], Block], m: int) -> Block:
    """Return the results of m chains, solved `size` at a time; without a stack none is valid."""
    if stack is None:
        none = np.zeros(m, bool)
        return Block(none, none, none, none, {})
    with np.errstate(all="ignore"):
        parts = [solve(stack.part(slice(k, k + size))) for k in range(0, m, size)]
    every = {name: np.concatenate([p.results[name] for p in parts]) for name in parts[0].results}
    return Block(
        valid=np.concatenate([p.valid for p in parts]),
        reached=np.concatenate([p.reached for p in parts]),
        events=np.concatenate([p.events for p in parts]),
        imbalance=np.concatenate([p.imbalance for p in parts]),
        results=every,
    )


def onsets(stack: Stack, first: Floats, t_start: float) -> Floats:
    """Return the onset of slip of each mass (m, n) [s]; the start for masses that slip then.

    first : (m, n) first onsets after the start [s], NaN for none
    """
    moves = stack.v_start != stack.belt_speed[:, None]
    return np.where(moves, t_start, first)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Results of kernels for m chains.

    Parameters
    ----------
    stack : the chains
    t_start : [s]
    x, v, mode, friction : (m, samples, n) saved states
    onset : (m, n) first slips [s], NaN for none
    stop : (m,) time from which all masses stick for good [s]; NaN if they do not
    kinds : (m,) numbers of events of each kind
    energy : the ledger
    given : (m,) energy that friction returned to the masses in all steps [J]
    stats : counts of work, (m,) each
    replayed : (m, 2) largest difference between the run and its replay, and the limit of this
        difference; None without a replay
    """

    stack: Stack
    t_start: float
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    friction: Floats
    onset: Floats
    stop: Floats
    kinds: Table[Kinds]
    energy: Energies
    given: Floats
    stats: Mapping[str, Array]
    replayed: Floats | None

    @property
    def events(self) -> Ints:
        """(m,) numbers of events, without the stop of a chain."""
        return np.asarray(self.kinds["slip"] + self.kinds["stick"] + self.kinds["reverse"])

    def lines(self) -> list[Line]:
        """Return the lines of the audit of event-driven runs.

        Where a single run would apply a second, weaker test, a chain fails here and is repeated as
        a single run.
        """
        e = self.energy
        ratio = stick_ratios(self.friction, self.mode, self.stack.stick_bound[:, None])
        lines = [
            *energy_lines(e.imbalance_rel, self.given, e.scale),
            stick_line(ratio.max(axis=(1, 2))),
            slip_line(self.v - self.stack.belt_speed[:, None, None], self.mode),
        ]
        if self.replayed is not None:
            lines.append(Line("replay_agrees", *self.replayed.T))
        return lines

    def block(self, lines: Sequence[Line], valid: Flags, events: Ints, reached: Floats) -> Block:
        """Return the block; of the members `valid` those stay valid that pass every audit line."""
        results = self.results()
        for line in lines:
            results[f"audit.{line.check}"] = np.asarray(line.value, dtype=np.float64)
            valid = valid & line.holds
        return Block(valid, reached, events, self.energy.imbalance_rel, results)

    def results(self) -> dict[str, Array]:
        """Return the named results of all members."""
        stack, e = self.stack, self.energy
        # names as in `chains.outcome.build_run`; NaN stands for an absent value
        slips = np.isfinite(self.onset)
        force = np.where(slips, stack.load_at(np.where(slips, self.onset, self.t_start)), np.nan)
        stops = np.isfinite(self.stop)
        results: dict[str, Array] = {
            "onset_time": self.onset,
            "onset_force": force,
            "critical_force": stack.critical_force(),
            "stop_time": self.stop,
            "final.x": self.x[:, -1],
            "final.v": self.v[:, -1],
            "stats.events": self.events,
            "events.stop": stops.astype(np.float64),
        }
        results |= e.at_end()
        results |= {f"events.{kind}": self.kinds[kind] for kind in Kinds.__annotations__}
        results |= {f"stats.{name}": values for name, values in self.stats.items()}
        if stack.chain.law.has_jump:
            kinetic = (stack.mu_kinetic * stack.normal_forces)[:, None]
            excess = np.where(self.mode == 0, np.abs(self.friction) - kinetic, -np.inf)
            results["stick_above_kinetic"] = np.maximum(excess.max(axis=(1, 2)), 0.0)
        return results
