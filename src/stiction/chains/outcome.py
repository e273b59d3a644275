"""The `Run` of a chain, from the arrays that a method computed: names, units, audit, quantities.

Every method for chains computes a `ChainHistory`; `build_run` turns it into a run with events,
ledger and audit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.audit import energy_lines
from stiction.chains.model import Chain
from stiction.chains.replay.trajectory import Trajectory
from stiction.core.audit import Check
from stiction.core.determinism import Loss
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.numerics.arrays import Struct
from stiction.numerics.shown import counted

__all__ = ["ChainHistory", "Kinds", "LateEvents", "RawEvents", "build_run"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MODES = {-1: "slip-", 0: "stick", 1: "slip+"}
_LOSS_UNITS = {"velocities": "m/s", "x": "m", "load": "N", "drive": "N", "bound": "N"}

# the names of modes from -1 on, and the kinds of events
_MODES = np.array(list(MODES.values()), dtype=object)
_KINDS = np.array(["slip", "stick", "reverse"], dtype=object)
# number of events whose names are converted at once
_PART = 16_384


class Kinds(Struct):
    """Numbers of events: onsets of slip, stops, and reversals."""

    slip: int
    stick: int
    reverse: int


@dataclass(frozen=True, eq=False)
class RawEvents:
    """Mode changes as kernels record them, in order of time.

    Parameters
    ----------
    time : (m,) [s]
    mass : (m,) index from 0
    before, after : (m,) modes -1 (slip-), 0 (stick), 1 (slip+)
    x, v : (m,) displacement [m] and velocity [m/s] of the mass; both are continuous
    friction_left, friction_right : (m,) friction force on the mass [N] on both sides
    """

    time: Floats
    mass: Ints
    before: npt.NDArray[np.integer[Any]]
    after: npt.NDArray[np.integer[Any]]
    x: Floats
    v: Floats
    friction_left: Floats
    friction_right: Floats


@dataclass(frozen=True, eq=False)
class LateEvents:
    """Mode changes that are assembled on first access, because there may be millions.

    Parameters
    ----------
    count : number of events
    onset : (n,) first onset of slip of each mass [s]; NaN without one
    read : returns the events
    """

    count: int
    onset: Floats
    read: Callable[[], RawEvents]


@dataclass(frozen=True, eq=False)
class ChainHistory:
    """Arrays that a method of chains computed.

    Parameters
    ----------
    time : (t,) saved times [s], the last one is the time reached
    x, v : (t, n) displacements [m], velocities [m/s]
    mode : (t, n) -1 slip-, 0 stick, 1 slip+
    friction : (t, n) friction force on each mass [N]
    events : mode changes
    stop_time : time from which all masses stick for good [s]; None if they do not
    energy : the ledger at the saved times
    state : (t, n, n_state) states of the contacts, for a law with states
    trajectory : states between the samples, for a replay; None without one
    bound : (t, n) static bound of each contact [N], for such a law
    given : energy that friction returned to the masses in all steps [J] and its first time [s];
        None to compute it from the saved states
    status, reason : how the run ended
    stats : counters of work
    checks, losses : audit lines and losses of determinism
    inertia : whether initial velocities are used
    """

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    friction: Floats
    events: RawEvents | LateEvents
    stop_time: float | None
    energy: Ledger
    stats: Mapping[str, int | float]
    status: Status = Status.SOLVED
    reason: str = ""
    checks: Sequence[Check] = field(default=())
    losses: Sequence[Loss] = field(default=())
    state: Floats | None = None
    bound: Floats | None = None
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    trajectory: Trajectory | None = None
    given: tuple[float, float | None] | None = None
    inertia: bool = True

    def all_events(self) -> RawEvents:
        """Return the events, assembled if they were not."""
        return self.events.read() if isinstance(self.events, LateEvents) else self.events


def build_run(chain: Chain, method: object, history: ChainHistory) -> Run:
    """Return the Run of a chain history, with the quantities every chain method shares."""
    # load at the first slip of each mass, and in the limit of a slowly rising load
    onset = _onset_times(chain, history)
    slipped, load = ~np.isnan(onset), np.zeros(chain.n_mass)
    # one vectorised call: a call per mass would take seconds for a million masses
    load[slipped] = chain.load.at(onset[slipped])
    critical = chain.critical_force()
    quantities = {
        "onset_time": Quantity(
            _where(onset, onset),
            "s",
            "first slip of each mass, mass 1 first",
            absent="never slipped",
        ),
        "onset_force": Quantity(_where(onset, load), "N", "load at the first slip of each mass"),
        "critical_force": Quantity(
            None if critical is None else critical.tolist(),
            "N",
            "load at which each mass would slip under a slowly rising load and static friction",
        ),
        "stop_time": Quantity(
            history.stop_time,
            "s",
            "time from which all masses stick for good",
            absent="none: a mass slips at the end, or may slip later",
            label="stop",
        ),
        **history.quantities,
    }
    if chain.law.has_jump:
        quantities["stick_above_kinetic"] = _stick_rule(chain, history)
    return Run.of(
        chain,
        method,
        status=history.status,
        reason=history.reason,
        time=history.time,
        variables=_variables(chain, history, critical),
        final={
            "x": history.x[-1].copy(),
            "v": history.v[-1].copy(),
            **{name: value.values[-1].copy() for name, value in _states(chain, history).items()},
        },
        event_log=_event_log(history.events, history.stop_time),
        energy=history.energy,
        losses=history.losses,
        loss_units=_LOSS_UNITS,
        checks=(*_energy_checks(history), *history.checks, *_replay(chain, method, history)),
        quantities=quantities,
        stats={"events": _count(history.events), **history.stats},
        citations=("chains",),
        size=counted(chain.n_mass, "mass"),
    )


def _onset_times(chain: Chain, history: ChainHistory) -> Floats:
    """Return the first onset of slip of each mass (n,) [s]; NaN without one."""
    events = history.events
    if isinstance(events, LateEvents):
        times = events.onset.copy()
    else:
        # in reverse order, so that the first slip of a mass is assigned last
        slips = np.flatnonzero(events.before == 0)[::-1]
        times = np.full(chain.n_mass, np.nan)
        times[events.mass[slips]] = events.time[slips]
    if history.inertia:
        times[chain.v_start != chain.belt_speed] = history.time[0]
    return times


def _where(known: Floats, values: Floats) -> list[float | None]:
    """Return the entries of `values` as a list, with None where `known` is NaN."""
    listed: list[float | None] = values.tolist()
    for i in np.flatnonzero(np.isnan(known)).tolist():
        listed[i] = None
    return listed


def _count(events: RawEvents | LateEvents) -> int:
    return events.count if isinstance(events, LateEvents) else len(events.time)


def _event_log(events: RawEvents | LateEvents, stop_time: float | None) -> EventLog:
    if isinstance(events, RawEvents):
        return _named(events, stop_time)
    count = events.count + (stop_time is not None)
    return EventLog.late(count, functools.partial(_named_late, events, stop_time))


def _named_late(events: LateEvents, stop_time: float | None) -> EventLog:
    return _named(events.read(), stop_time)


def _named(raw: RawEvents, stop_time: float | None) -> EventLog:
    """Return the events with names of modes and kinds, and with the stop of all masses, if any."""
    kinds: list[str] = []
    before: list[str] = []
    after: list[str] = []
    # vectorised, because a vibrating chain may have an event per mass in every second step, and
    # in parts that fit into the caches
    for first in range(0, raw.time.size, _PART):
        old, new = (modes[first : first + _PART] + 1 for modes in (raw.before, raw.after))
        kinds += _KINDS[np.where(old == 1, 0, np.where(new == 1, 1, 2))].tolist()
        before += _MODES[old].tolist()
        after += _MODES[new].tolist()
    time, contact = raw.time, raw.mass + 1
    columns = {
        "x": raw.x,
        "v": raw.v,
        "friction_left": raw.friction_left,
        "friction_right": raw.friction_right,
    }
    if stop_time is not None:
        at = int(np.searchsorted(time, stop_time, side="right"))
        time = np.insert(time, at, stop_time)
        contact = np.insert(contact, at, 0)
        for names, name in ((before, "stick"), (after, "stick"), (kinds, "stop")):
            names.insert(at, name)
        columns = {name: np.insert(column, at, np.nan) for name, column in columns.items()}
    units = {"x": "m", "v": "m/s", "friction_left": "N", "friction_right": "N"}
    return EventLog(time, contact, before, after, kinds, columns, units)


def _variables(chain: Chain, history: ChainHistory, critical: Floats | None) -> dict[str, Variable]:
    """Return the saved arrays by name, with axes, units and labels: time series and constants."""
    series, each = ("time", "mass"), ("mass",)
    load = np.asarray(chain.load.at(history.time))
    table = chain.friction
    fresh = " at the start" if chain.law.states else ""
    constants = {
        "mass_value": Variable(chain.masses, each, "kg", "mass"),
        "normal_force": Variable(chain.normal_forces, each, "N", "normal force"),
        "mu_static": Variable(table.mu_static, each, "1", f"static friction coefficient{fresh}"),
        "mu_kinetic": Variable(table.mu_kinetic, each, "1", f"kinetic friction coefficient{fresh}"),
        "load_weight": Variable(chain.load_weights, each, "1", "weight of the load"),
        "place": Variable(
            chain.spacing * np.arange(1, chain.n_mass + 1), each, "m", "place at rest"
        ),
        "link_stiffness": Variable(
            chain.link_stiffness, ("link",), "N/m", "stiffness of links, walls included"
        ),
        "link_damping": Variable(
            chain.link_damping, ("link",), "N s/m", "damping of links, walls included"
        ),
    }
    if chain.belt_speed != 0.0:
        constants["belt_speed"] = Variable(
            np.array(chain.belt_speed), (), "m/s", "speed of the surface under the masses"
        )
    if chain.plate_springs.any():
        constants["plate_stiffness"] = Variable(
            chain.plate_springs, each, "N/m", "stiffness of the springs to the plate"
        )
        constants["plate_place"] = Variable(
            chain.plate_speed * history.time, ("time",), "m", "displacement of the plate"
        )
    if critical is not None:
        constants["critical_force"] = Variable(critical, each, "N", "quasistatic onset load")
    return {
        "x": Variable(history.x, series, "m", "displacement"),
        "v": Variable(history.v, series, "m/s", "velocity"),
        "mode": Variable(history.mode, series, "1", "-1 slip-, 0 stick, 1 slip+"),
        "friction": Variable(history.friction, series, "N", "friction force on the mass"),
        "load": Variable(load, ("time",), "N", "load f(t)"),
        **_states(chain, history),
        **_bounds(history),
        **constants,
    }


def _states(chain: Chain, history: ChainHistory) -> dict[str, Variable]:
    """Return one variable per state of the law."""
    if history.state is None:
        return {}
    return {
        state.name: Variable(history.state[:, :, j], ("time", "mass"), state.unit, state.label)
        for j, state in enumerate(chain.law.states)
    }


def _bounds(history: ChainHistory) -> dict[str, Variable]:
    """Return the variable of the static bounds, which change in time under a law with states."""
    if history.bound is None:
        return {}
    text = "static bound of the friction force of each contact"
    return {"stick_bound": Variable(history.bound, ("time", "mass"), "N", text)}


def _energy_checks(history: ChainHistory) -> list[Check]:
    """Return the audit lines on energy, from all steps if the method summed the returned heat."""
    energy = history.energy
    if history.given is not None:
        given, time = history.given
        lines = energy_lines(energy.imbalance_rel, given, energy.scale, time=time)
    else:
        given = np.max(-np.diff(energy.friction_heat, axis=0), initial=0.0)
        lines = energy_lines(energy.imbalance_rel, given, energy.scale, seen="saved states")
    return [line.of_run() for line in lines]


def _replay(chain: Chain, method: Any, history: ChainHistory) -> list[Check]:
    """Return the audit line of the replay, which only event-driven runs have."""
    if not hasattr(method, "replay") or not chain.law.sticks:
        return []
    from stiction.chains.replay.compare import MOST_MASSES, replay_check

    trajectory, why = history.trajectory, ""
    if history.status is Status.NOT_FINITE or (
        trajectory is not None and not np.isfinite(trajectory.x).all()
    ):
        why = "a number of the run is not finite"
    elif trajectory is None:
        why = f"the chain has more than {MOST_MASSES} masses; replay=True requests the check"
        why = "replay=False" if method.replay is False else why
    if why or trajectory is None:
        return [Check("replay_agrees", None, None, None, None, why)]
    return [replay_check(chain, history, trajectory, method.rtol)]


def _stick_rule(chain: Chain, history: ChainHistory) -> Quantity:
    """Return the largest friction in stick above the kinetic friction of the same mass.

    In these states slip was admissible too; the stick rule selected stick: a mass sticks as long
    as it can.
    """
    kinetic = chain.friction.mu_kinetic * chain.normal_forces
    stuck = history.mode == 0
    excess = np.where(stuck, np.abs(history.friction) - kinetic, -np.inf)
    meaning = (
        "largest excess of the friction of a sticking mass over its kinetic friction, at the "
        "saved times; above 0, a law with a jump also allows slip, and the run follows the "
        "solution that sticks"
    )
    return Quantity(max(float(excess.max()), 0.0), "N", meaning)
