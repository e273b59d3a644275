"""Results of flows: variables, events, energy ledger, audit and quantities of a run.

`event_driven` passes the arrays of its integration as a `FlowHistory`; `build_run` makes the `Run`.
The audit evaluates the switching functions at the saved states, independently of the integration.
A run has t saved times, n states, m surfaces and e events; the axis `contact` counts surfaces.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Line
from stiction.core.determinism import Loss
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.numerics.shown import counted
from stiction.switching.flow.records import KINDS
from stiction.switching.model import SwitchingSystem

__all__ = ["CYCLE", "FlowHistory", "build_run", "energy_lines", "limits", "state_lines"]

Floats = npt.NDArray[np.float64]

_NAMES = {1.0: "+", -1.0: "-", 0.0: "slide"}
# two states this close, relative to the scale, belong to the same point of a cycle
CYCLE = 1e-6
# largest limits of checks, which are proportional to the tolerance: energy imbalance, distances
# over the size of the state, excess of a multiplier over its bound
_ENERGY_MOST, _OFF_MOST, _BEYOND_MOST = 1e-2, 1e-4, 1e-2


@dataclass(frozen=True, eq=False)
class FlowHistory:
    """Results of the event-driven method.

    Parameters
    ----------
    time : (t,) saved times
    x : (t, n) states
    signs : (t, m) signs of the surfaces; the multiplier in [-1, 1] on one
    sliding : (t, m) whether the state slides on the surface
    energy : (t, 3) external work, friction heat, viscous heat; None without energies
    events, states : (e,) events, see `flow.state`, and (e, n) the states there
    losses : losses of determinism, in order of time
    stats, status, reason : counts of work, how the run ended, and why
    checks : further checks of the audit
    futures : variables with the results of the other admissible choices, by name
    margin : smallest distance to a loss of uniqueness over the error of the run
    """

    time: Floats
    x: Floats
    signs: Floats
    sliding: npt.NDArray[np.bool_]
    energy: Floats | None
    events: npt.NDArray[np.void]
    states: Floats
    losses: Sequence[Loss]
    stats: Mapping[str, int | float]
    status: Status = Status.SOLVED
    reason: str = ""
    checks: Sequence[Check] = ()
    futures: Mapping[str, Variable] = field(default_factory=dict)
    margin: float = np.inf


def build_run(system: SwitchingSystem, method: object, history: FlowHistory) -> Run:
    """Return the Run of a flow history."""
    names, energy = system.state_names, _ledger(system, history)
    rtol = float(getattr(method, "rtol", 1e-12))
    dimensionless = system.time_unit == "1" and set(system.state_units) <= {"1"}
    unit = "1" if dimensionless else "J"
    lines = _lines(system, history, energy, unit, rtol)
    checks = (*(line.of_run() for line in lines), *history.checks)
    return Run.of(
        system,
        method,
        status=history.status,
        reason=history.reason,
        time=history.time,
        variables=_variables(system, history),
        final={name: float(history.x[-1, j]) for j, name in enumerate(names)},
        event_log=_event_log(system, history),
        energy=energy,
        losses=history.losses,
        loss_units={} if dimensionless else {"state": " | ".join(system.state_units)},
        margin=history.margin,
        checks=checks,
        quantities=_quantities(system, history),
        stats={"events": len(history.events), **history.stats, **_cost(system)},
        citations=system.citation_keys,
        time_unit=system.time_unit,
        energy_unit=unit,
        size=f"{counted(len(names), 'state')}, {counted(history.signs.shape[1], 'contact')}",
    )


def _variables(system: SwitchingSystem, history: FlowHistory) -> dict[str, Variable]:
    """Return states, modes, multipliers, outputs of the system and other futures, by name."""
    results = {}
    for j, (name, unit) in enumerate(zip(system.state_names, system.state_units, strict=True)):
        results[name] = Variable(history.x[:, j], ("time",), unit, f"state {name}")
    # the multiplier of a sliding surface becomes the mode 0; other signs are +1 or -1
    mode = np.where(history.sliding, 0.0, history.signs).astype(np.int8)
    results["mode"] = Variable(mode, ("time", "contact"), "1", "-1 h < 0, 0 slide, 1 h > 0")
    meaning = "sign of h, the multiplier in [-1, 1] while sliding"
    results["multiplier"] = Variable(history.signs, ("time", "contact"), "1", meaning)
    for name, (values, unit, meaning) in system.outputs(history.x, history.signs).items():
        dims = ("time",) if values.ndim == 1 else ("time", "contact")
        results[name] = Variable(values, dims, unit, meaning)
    return {**results, **history.futures}


def _event_log(system: SwitchingSystem, history: FlowHistory) -> EventLog:
    """Return the events, with states and multipliers before and after, and margins."""
    events, states = history.events, history.states.T
    units = _units_of_events(system.state_names, system.state_units)
    multipliers = (events["multiplier_before"], events["multiplier_after"], events["margin"])
    # the state is continuous: only the multiplier may jump at an event
    values = (*states.copy(), *states.copy(), *np.stack(multipliers))
    return EventLog(
        events["time"].copy(),
        events["surface"] + 1,
        [_NAMES[v] for v in events["before"].tolist()],
        [_NAMES[v] for v in events["after"].tolist()],
        [KINDS[v] for v in events["kind"].tolist()],
        dict(zip(units, values, strict=True)),
        dict(units),
    )


@functools.lru_cache(maxsize=64)
def _units_of_events(names: tuple[str, ...], units: tuple[str, ...]) -> dict[str, str]:
    """Return the columns of an event log in order, and their units.

    The margin of an event is its distance to a loss of uniqueness over the error of the run;
    infinity if there is none nearby.
    """
    unit = dict(zip(names, units, strict=True))
    after = {f"{name}_after": u for name, u in unit.items()}
    return {**unit, **after, "multiplier": "1", "multiplier_after": "1", "margin": "1"}


def _ledger(system: SwitchingSystem, history: FlowHistory) -> Ledger:
    """Return the energies at the saved times; an undefined ledger for a system without energy."""
    energies = system.energies(history.x)
    if energies is None or history.energy is None:
        return Ledger.undefined(history.time)
    kinetic, stored = energies
    return Ledger(
        time=history.time,
        kinetic=kinetic,
        stored=stored,
        external_work=history.energy[:, 0],
        friction_heat=history.energy[:, 1:2],
        viscous_heat=history.energy[:, 2],
    )


def limits(rtol: float) -> tuple[float, float, float]:
    """Return limits of the audit: energy imbalance, distances over sizes, multiplier.

    They are proportional to the tolerance `rtol`, within fixed bounds.
    """
    energy = min(max(1e-9, 1e3 * rtol), _ENERGY_MOST)
    near = min(max(1e-9, 10.0 * rtol), _OFF_MOST)
    return energy, near, 1.0 + min(max(1e-6, 1e3 * rtol), _BEYOND_MOST)


def energy_lines(imbalance: Any, scale: Any, given: Any, rtol: float, unit: str) -> list[Line]:
    """Return the checks of energy balance and of dissipation, for one run or many.

    Parameters
    ----------
    imbalance : energy imbalance of the ledger over the largest energy
    scale : the largest energy [unit]
    given : largest amount of negative friction heat between two saved states [unit]
    rtol : relative tolerance of the run
    unit : unit of energies
    """
    bound = limits(rtol)[0]
    heat_note = f"largest negative friction heat between saved states [{unit}]"
    note = "largest energy imbalance over the largest energy, at the saved times"
    return [
        Line("ledger_closes", imbalance, bound, note),
        Line("friction_dissipates", given, bound * scale, heat_note),
    ]


def state_lines(worst: Any, rtol: float, times: Sequence[float | None]) -> list[Line]:
    """Return the checks that saved states belong to a Filippov solution, for one run or many.

    Parameters
    ----------
    worst : `flow.inspection.Inspection`, one element or one of each member
    times : of the worst values
    """
    _, near, most = limits(rtol)
    distance = (
        "largest distance from the surface in sliding, over the size of the state, at the "
        "saved times"
    )
    other = (
        "largest |h| with the wrong sign for its mode, over the size of the state, at the "
        "saved times"
    )
    bound = (
        "largest multiplier in sliding, at the saved times; a Filippov solution has "
        "multipliers in [-1, 1]"
    )
    return [
        Line("stays_on_surface", worst["off"], near, distance, times[0]),
        Line("stays_on_its_side", worst["wrong_side"], near, other, times[1]),
        Line("multiplier_within_bound", worst["multiplier"], most, bound, times[2]),
    ]


def _lines(
    system: SwitchingSystem, history: FlowHistory, energy: Ledger, unit: str, rtol: float
) -> list[Line]:
    """Return the audit of the saved states, evaluated independently of the solver."""
    from stiction.switching.flow.inspection import Inspection, inspect_states

    lines = []
    if energy.defined:
        heat = energy.friction_heat
        given = (-(heat[1:] - heat[:-1])).max(initial=0.0)
        lines = energy_lines(energy.imbalance_rel, energy.scale, given, rtol, unit)
    c = system.compiled
    worst = Inspection.table()
    inspect_states(
        c.surface,
        c.gradient,
        c.params,
        *c.sizes_and_normals,
        c.k,
        np.ascontiguousarray(history.x),
        np.ascontiguousarray(history.signs),
        worst,
        0,
    )
    samples = list(worst.tolist()[0][3:])
    return lines + state_lines(worst[0], rtol, history.time[samples].tolist())


def _cost(system: SwitchingSystem) -> dict[str, int | float]:
    """Return the number of user functions that run as Python, and the cost of a call [s]."""
    functions = [c for c in system.compiled.keep if hasattr(c, "cost")]
    if not functions:
        return {}
    plain = [c for c in functions if not c.compiled]
    cost = max((c.cost for c in plain), default=0.0)
    return {"plain_functions": len(plain), "plain_call_s": float(cost)}


def _quantities(system: SwitchingSystem, history: FlowHistory) -> dict[str, Quantity]:
    """Return the first time of each kind of loss of determinism, and the period of a cycle."""
    from stiction.switching.flow.inspection import period_of

    unit = system.time_unit
    first: dict[str, float] = {}
    for loss in history.losses:
        first.setdefault(loss.kind, loss.time)
    results = {
        f"first_{kind}": Quantity(t, unit, "first time determinism is lost in this way")
        for kind, t in first.items()
    }
    cycle = CYCLE * np.asarray(system.compiled.scale)
    events: Any = history.events
    period = float(period_of(events, history.states, len(events), cycle))
    if period == period:
        results["period"] = Quantity(period, unit, "time between the last two equal events")
    return results
