"""Run of strings from the arrays of a method: variables, energy ledger, event, audit.

Strings u(x, t) and v(x, t) touch at x = s1 and s2 with the force lam; <v_t> is the mean of v_t on
both sides of the contact. `characteristics` and `strands` fill a `StringHistory`; `build_run`
returns the run with it, so that the results of both methods have the same names. All numbers are
dimensionless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.numerics.shown import counted
from stiction.rods.strings.model import RollingStrings

__all__ = ["LEDGER_LIMIT", "StringHistory", "build_run", "grid"]

Floats = npt.NDArray[np.float64]

LEDGER_LIMIT = 1e-9
_HARMONIC = "(2/l) times the integral with sin(2 pi x / l); on fixed ends that is the second mode"


@dataclass(frozen=True, eq=False)
class StringHistory:
    """Results of a method for strings.

    Parameters
    ----------
    time : (t,) saved times
    contact : (t, 2) contact points s1 and s2
    velocity : (t,) contact velocity <v_t>
    force : (t,) contact force lam
    harmonics : (t, 2) u1 and v1, coefficients of sin(2 pi x / l)
    fields : u, v, u_t, v_t, each (t, node) on `grid`
    energy : (t, 2) energies of u and v
    kinetic : (t,) kinetic energy of both strings
    shared : (t,) half the bilinear form of the energies of u and v: (u + v) / sqrt(2) has the
        energy (E_u + E_v) / 2 + shared; None for different strings
    friction_heat, viscous_heat : (t,) heat of the rolling resistance and of the drag
    event : kind of the event that ended the run early; "" for none
    checks, stats : audit checks, and counts by name
    status, reason : why the integration ended
    ledger_limit : limit of the relative energy imbalance
    agrees_until : time up to which a solution with twice the step has the same path; None if not
        computed
    doubt : why the time of the event is not determined; "" if it is
    """

    time: Floats
    contact: Floats
    velocity: Floats
    force: Floats
    harmonics: Floats
    fields: tuple[Floats, Floats, Floats, Floats]
    energy: Floats
    kinetic: Floats
    shared: Floats | None
    friction_heat: Floats
    viscous_heat: Floats
    event: str
    checks: Sequence[Check]
    stats: Mapping[str, int | float]
    status: Status = Status.SOLVED
    reason: str = ""
    ledger_limit: float = LEDGER_LIMIT
    agrees_until: float | None = None
    doubt: str = ""


def grid(system: RollingStrings, i: int) -> Floats:
    """Return (nodes,) positions of the saved fields of string i, 0 for u, 1 for v.

    Fixed ends are included; on a circle the end equals the start and is omitted.
    """
    around = system.ends == "periodic"
    return np.linspace(0.0, system.lengths[i], system.nodes, endpoint=not around)


def build_run(system: RollingStrings, method: object, history: StringHistory) -> Run:
    """Return the run of `system` with the results of a method."""
    variables = _variables(system, history)
    total = history.energy.sum(axis=1)
    energy = Ledger(
        time=history.time,
        kinetic=history.kinetic,
        stored=total - history.kinetic,
        external_work=np.zeros(history.time.size),
        friction_heat=history.friction_heat[:, None],
        viscous_heat=history.viscous_heat,
    )
    closed, limit = energy.imbalance_rel, history.ledger_limit
    note = "largest energy imbalance over the largest energy, at the saved times"
    check = Check("ledger_closes", bool(closed <= limit), closed, limit, None, note)
    quantities = {}
    if history.event:
        meaning = "time at which the model ends"
        t_last = None if history.doubt else float(history.time[-1])
        quantities[f"{history.event}_time"] = Quantity(t_last, "1", meaning, history.doubt)
    if history.agrees_until is not None:
        meaning = "time up to which the path is the same with twice the step, to 1e-6 of the length"
        quantities["agrees_until"] = Quantity(history.agrees_until, "1", meaning)
    return Run.of(
        system,
        method,
        status=history.status,
        reason=history.reason,
        time=history.time,
        variables=variables,
        final={
            name: variables[name].values[-1:].reshape(-1).copy()
            for name in ("s1", "s2", "u", "v", "u_t", "v_t")
        },
        event_log=_event_log(variables, history),
        energy=energy,
        checks=(*history.checks, check),
        quantities=quantities,
        stats={"events": int(bool(history.event)), **history.stats},
        citations=("strings",),
        time_unit="1",
        energy_unit="1",
        size=counted(system.nodes, "node"),
    )


def _variables(system: RollingStrings, history: StringHistory) -> dict[str, Variable]:
    """Return the variables of the run."""
    rates = np.outer(history.velocity, system.mobilities)
    around = ", not wrapped around the circle" if system.ends == "periodic" else ""
    series = {
        "s1": (history.contact[:, 0], f"contact point on u{around}"),
        "s2": (history.contact[:, 1], f"contact point on v{around}"),
        "s1_rate": (rates[:, 0], "velocity of the contact point on u"),
        "s2_rate": (rates[:, 1], "velocity of the contact point on v"),
        "contact_force": (history.force, "lam: the force on u is -lam, the force on v is F lam"),
        "u1": (history.harmonics[:, 0], f"first harmonic of u: {_HARMONIC}"),
        "v1": (history.harmonics[:, 1], f"first harmonic of v: {_HARMONIC}"),
        "energy_u": (history.energy[:, 0], "energy of u"),
        "energy_v": (history.energy[:, 1], "energy of v"),
    }
    if history.shared is not None:
        half = 0.5 * history.energy.sum(axis=1)
        series["energy_P"] = (half + history.shared, "energy of (u + v) / sqrt(2)")
        series["energy_M"] = (half - history.shared, "energy of (u - v) / sqrt(2)")
    variables = {
        name: Variable(np.ascontiguousarray(values), ("time",), "1", meaning)
        for name, (values, meaning) in series.items()
    }
    names = ("displacement of u", "displacement of v", "velocity of u", "velocity of v")
    for name, values, meaning in zip(("u", "v", "u_t", "v_t"), history.fields, names, strict=True):
        variables[name] = Variable(values, ("time", "node"), "1", meaning)
    for i, name in enumerate("xy"):
        variables[name] = Variable(grid(system, i), ("node",), "1", f"places along {'uv'[i]}")
    for name, pair in (("wave_speed", system.speeds), ("length", system.lengths)):
        word = f"{name.replace('_', ' ')} of u and of v"
        variables[name] = Variable(np.array(pair), ("string",), "1", word)
    return variables


def _event_log(variables: Mapping[str, Variable], history: StringHistory) -> EventLog:
    """Return the event log: the event that ended the run early, if any."""
    if not history.event:
        return EventLog()
    names = ("s1", "s2", "s1_rate", "s2_rate", "contact_force")
    return EventLog(
        time=history.time[-1:].copy(),
        contact=np.ones(1, dtype=np.int64),
        before=["rolls"],
        after=["none"],
        kind=[history.event],
        columns={name: variables[name].values[-1:].copy() for name in names},
        units=dict.fromkeys(names, "1"),
    )
