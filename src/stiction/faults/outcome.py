"""Run of a fault or slider from the arrays of the integration: results, energy ledger, audit.

`build_run` computes slip, slip speed, state, friction and shear stress of every cell at the saved
times, the events (onsets and arrests), recurrence times, energies, and the checks of the audit.
`run.run_cycles` calls it. Functions that end in `_line` and `cycles_of` are for blocks of
`members`, too. Arrays have t saved times and n cells. The balance of stress of each cell is
sigma mu + eta V = tau0 + K s: effective normal stress sigma, friction mu, radiation damping eta,
slip speed V, initial shear stress tau0, stiffness K, and slip s less that of the plates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind, Line
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.faults.model import Cells, Fault, FaultSystem, SpringSlider
from stiction.faults.state import Progress
from stiction.laws.rate_and_state import RateAndState
from stiction.numerics.shown import counted

if TYPE_CHECKING:
    from stiction.faults.methods import Cycles

__all__ = [
    "EXTREMES",
    "History",
    "balance_line",
    "build_run",
    "cycles_of",
    "distance_from_steady_sliding",
    "is_stable",
    "ledger_line",
    "start_line",
]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# limits of the residual of the balance over the normal stress, of the relative energy imbalance.
# Chosen
_BALANCE_LIMIT, _LEDGER_LIMIT = 1e-5, 1e-6
# at a smaller distance from steady sliding, rounding determines when slip becomes unstable. Chosen
_LEAST_DISTANCE = 1e-9
# cells per process zone: three, as Day et al. 2005 and the benchmark's authors advise
_CELLS_PER_ZONE = 3.0
# extremes of the fastest cell: fields of `Progress` for the least and the largest, unit
EXTREMES = {
    "slip_speed": ("v_least", "v_most", "m/s"),
    "state": ("age_least", "age_most", "s"),
    "friction": ("mu_least", "mu_most", "1"),
}


@dataclass(frozen=True, eq=False)
class History:
    """Results of the integration.

    Parameters
    ----------
    time : (t,) saved times [s]
    states : (t, 4 n + 2), layout as in `rate_kernels.rates`
    stress : (t, n) change of the elastic stress since the start, K s [Pa]
    profiles : (p, n) slip less that of the plates at the first p events [m]; p = 0 for a slider
    events, trace : structured arrays with the fields of `state.Event` and `state.Sample`
    progress : step control at the end
    status, reason : why the integration ended
    """

    time: Floats
    states: Floats
    stress: Floats
    events: Array
    trace: Array
    profiles: Floats
    progress: Progress
    status: Status
    reason: str


def build_run(given: FaultSystem, system: Cells, method: Cycles, h: History) -> Run:
    """Return the run of the system `given`, whose cells are `system`.

    The shear stress is sigma mu + eta V; slip is the integrated one plus the motion of the plates.
    """
    n = system.n
    speed, age = np.exp(h.states[:, :n]), np.exp(h.states[:, n : 2 * n])
    relative_slip, heat = h.states[:, 2 * n : 3 * n], h.states[:, 3 * n : 4 * n]
    mu = system.law.coefficient(speed, age)
    pressure = system.pore_pressure(h.time)
    sigma = system.sigma - pressure
    shear = mu * sigma + system.damping * speed
    energy = _ledger(system, h, shear, relative_slip, heat)
    slip = relative_slip + system.plate_speed * (h.time - h.time[0])[:, None]
    each = ("time", "contact")
    place = (np.arange(n) + 0.5) * system.width
    where = "depth" if system.surface == "free" else "position along the fault"
    return Run.of(
        given,
        method,
        time=h.time,
        status=h.status,
        reason=h.reason,
        variables={
            "slip": Variable(slip, each, "m", "of each cell since the start"),
            "slip_speed": Variable(speed, each, "m/s", "of each cell"),
            "state": Variable(age, each, "s", "age of the contacts of each cell"),
            "friction": Variable(mu, each, "1", "coefficient of friction"),
            "shear_stress": Variable(shear, each, "Pa", "on each cell"),
            **_pressure(system, pressure),
            **_trace(system, h),
            **_profiles(system, h),
            "place": Variable(place, ("contact",), "m", f"{where} of the middle of each cell"),
        },
        final={"slip": slip[-1].copy(), "slip_speed": speed[-1].copy(), "state": age[-1].copy()},
        event_log=_events(system, h),
        energy=energy,
        checks=_checks(system, h, energy, np.abs(shear - shear[0] - h.stress) / sigma),
        quantities=_quantities(h),
        stats={
            "events": len(h.events),
            "steps": int(h.progress.steps),
            "rejected": int(h.progress.rejected),
            "evaluations": int(h.progress.asked) + 1,
        },
        citations=(),
        size=counted(n, "cell"),
        energy_unit=system.energy_unit,
    )


def _pressure(system: Cells, pressure: Floats) -> dict[str, Variable]:
    """Return the pore pressure of a fault with injection."""
    if not len(system.fluid):
        return {}
    what = "mean over each cell, minus the pressure before injection"
    return {"pore_pressure": Variable(pressure, ("time", "contact"), "Pa", what)}


def _trace(system: Cells, h: History) -> dict[str, Variable]:
    """Return the trace of the fastest cell, sampled where it changes."""
    t, along = h.trace["time"], ("sample",)
    slip = h.trace["slip"] + system.plate_speed * (t - h.time[0])
    return {
        "trace_time": Variable(t, along, "s", "end of a step that changed the fastest cell"),
        "trace_step": Variable(h.trace["step"], along, "s", "length of the step that ended then"),
        "trace_speed": Variable(h.trace["speed"], along, "m/s", "of the fastest cell"),
        "trace_state": Variable(h.trace["age"], along, "s", "of the fastest cell"),
        "trace_friction": Variable(h.trace["friction"], along, "1", "of the fastest cell"),
        "trace_slip": Variable(slip, along, "m", "of the fastest cell"),
    }


def _profiles(system: Cells, h: History) -> dict[str, Variable]:
    """Return the slip of all cells at the first events: onset, arrest, onset, ..."""
    if not len(h.profiles):
        return {}
    at = h.events["time"][: len(h.profiles)]
    slip = h.profiles + system.plate_speed * (at - h.time[0])[:, None]
    return {
        "slip_at_event": Variable(slip, ("event", "contact"), "m", "at the first events"),
        "event_time": Variable(at.copy(), ("event",), "s", "of these events"),
    }


def _ledger(
    system: Cells, h: History, shear: Floats, relative_slip: Floats, heat: Floats
) -> Ledger:
    """Return the energy ledger, per area of a slider [J/m^2], per length of a fault [J/m].

    With s the slip less that of the plates and tau = tau0 + K s, the stored energy is
    -(tau0 + K s / 2) . s, and the power of the plates is tau times their speed.
    """
    n, width = system.n, system.width
    stored = -((shear[0] + 0.5 * h.stress) * relative_slip).sum(axis=1) * width
    return Ledger(
        time=h.time,
        kinetic=np.zeros(h.time.size),
        stored=stored,
        external_work=h.states[:, 4 * n + 1] * width,
        friction_heat=heat * width,
        viscous_heat=h.states[:, 4 * n] * width,
    )


def _events(system: Cells, h: History) -> EventLog:
    """Return the event log: onsets and arrests with quantities of the fastest cell."""
    events = h.events
    up = events["up"] == 1
    slip = events["slip"] + system.plate_speed * (events["time"] - h.time[0])
    return EventLog(
        time=events["time"].copy(),
        contact=events["cell"] + 1,
        before=["creep" if u else "rupture" for u in up],
        after=["rupture" if u else "creep" for u in up],
        kind=["onset" if u else "arrest" for u in up],
        columns={
            "slip_speed": events["speed"].copy(),
            "friction": events["friction"].copy(),
            "state": events["age"].copy(),
            "mean_slip": slip,
            "largest_slip": events["largest"].copy(),
        },
        units={
            "slip_speed": "m/s",
            "friction": "1",
            "state": "s",
            "mean_slip": "m",
            "largest_slip": "m",
        },
    )


def ledger_line(imbalance: Any) -> Line:
    """Return the audit line of the energy ledger, for one run or a block."""
    note = (
        "energy imbalance over the energy, at the saved times; a smaller rtol reduces the imbalance"
    )
    return Line("ledger_closes", imbalance, _LEDGER_LIMIT, note)


def balance_line(drift: Any, time: float | None = None) -> Line:
    """Return the audit line of the balance of stress, for one run or a block."""
    note = (
        "difference between the elastic stress and the sum of friction and damping, over the "
        "normal stress; a smaller rtol reduces the difference"
    )
    return Line("stress_balances", drift, _BALANCE_LIMIT, note, time)


def start_line(distance: Any, stable: Any) -> Line:
    """Return the audit line of the distance of the start from unstable steady sliding."""
    note = (
        "distance from steady sliding in ln V and ln theta; at unstable steady sliding only "
        "rounding errors start an instability: give another speed_start"
    )
    return Line(
        "starts_apart_from_unstable_sliding",
        distance,
        _LEAST_DISTANCE,
        note,
        kind=Kind.AT_LEAST,
        exempt=stable,
    )


def _checks(system: Cells, h: History, energy: Ledger, residual: Floats) -> tuple[Check, ...]:
    """Return the audit checks.

    residual : (t, n) residuals of the balance of stress over the effective normal stress
    """
    worst = np.unravel_index(int(np.argmax(residual)), residual.shape)
    imbalance, drift = energy.imbalance_rel, float(residual[worst])
    at: float | None = float(h.time[worst[0]])
    # drift before a projection
    before_projection = float(h.progress.off_balance)
    if before_projection > drift:
        drift, at = before_projection, None
    lines = [ledger_line(imbalance), balance_line(drift, at)]
    # fixed plates have no steady sliding
    if system.plate_speed > 0.0:
        each = distance_from_steady_sliding(system.law, system.plate_speed, *system.start())
        distance = float(each.max())
        lines.append(start_line(distance, distance <= _LEAST_DISTANCE and is_stable(system)))
    checks = [line.of_run() for line in lines]
    if isinstance(system, Fault):
        cells = system.process_zone / system.width
        checks.append(
            Check(
                "cells_resolve_process_zone",
                bool(cells >= _CELLS_PER_ZONE),
                cells,
                _CELLS_PER_ZONE,
                None,
                "number of cells in the length G L / (b sigma), with G / (1 - nu) in place of G "
                "for in-plane slip; if there are too few, single cells slip alone: give more cells",
                kind=Kind.AT_LEAST,
            )
        )
        if system.shear_speed is None:
            note = "shear_speed is not given"
            checks.append(Check("slip_below_wave_speed", None, None, 0.01, None, note))
        else:
            ratio = float(h.progress.v_peak) / system.shear_speed
            checks.append(
                Check(
                    "slip_below_wave_speed",
                    bool(ratio <= 0.01),
                    ratio,
                    0.01,
                    None,
                    "largest slip speed over the speed of shear waves, which are not modelled",
                )
            )
    return tuple(checks)


def distance_from_steady_sliding(
    law: RateAndState, plate: Floats | float, speed: Floats, age: Floats
) -> Floats:
    """Return (n,) distances of speeds [m/s] and states [s] from steady sliding, in logarithms.

    Steady sliding has V = `plate` and theta = L / V; the larger difference of ln V and ln theta.
    """
    steady = law.spread(speed.size)["length"] / speed
    return np.maximum(np.abs(np.log(speed / plate)), np.abs(np.log(age / steady)))


def is_stable(system: Cells) -> bool:
    """Return whether steady sliding is known to be stable: k > k_c, or b <= a everywhere."""
    if isinstance(system, SpringSlider):
        return system.spring > system.critical_stiffness
    p = system.law.spread(system.n)
    return bool(np.all(p["b"] <= p["a"]))


def cycles_of(events: Array) -> tuple[int, Floats]:
    """Return the number of onsets, and the recurrence times from the second onset on [s]."""
    onsets = events[events["up"] == 1]
    # the first cycle depends on the initial state
    later = onsets[1:]
    return len(onsets), np.diff(later["time"]) + np.diff(later["time_low"])


def _quantities(h: History) -> dict[str, Quantity]:
    """Return onsets, recurrence times, and extremes of the fastest cell."""
    onsets, gaps = cycles_of(h.events)
    recurrence = float(gaps.mean()) if gaps.size else None
    since = "since the second onset" if onsets > 1 else "since the start"
    quantities = {
        "onsets": Quantity(onsets, "1", "number of times that the largest speed became seismic"),
        "recurrence": Quantity(
            recurrence,
            "s",
            "mean time between onsets, from the second onset on",
            "fewer than three onsets",
        ),
        "recurrence_spread": Quantity(
            float(np.ptp(gaps)) if gaps.size else None,
            "s",
            "longest minus shortest time between these onsets",
        ),
    }
    for name, (low, high, unit) in EXTREMES.items():
        quantities[f"least_{name}"] = Quantity(
            float(getattr(h.progress, low)), unit, f"of the fastest cell, {since}"
        )
        quantities[f"largest_{name}"] = Quantity(
            float(getattr(h.progress, high)), unit, f"of the fastest cell, {since}"
        )
    return quantities
