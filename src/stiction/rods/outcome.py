"""Run of rods from the arrays of an integration: results with names and units, events, audit.

`build_run` returns positions, motion and forces of rods and contacts at the saved times, the event
log, the energy ledger, and the checks of the audit. In the ledger the changes of kinetic and stored
energy, the heats, and the losses of impacts and of the scheme add up to the external work. The
steppers of `leapfrog` and `midpoint` call it with their records, a `RodHistory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.numerics.shown import counted
from stiction.rods.contact.overlap import MOST, body_name
from stiction.rods.contact.state import wave_speed
from stiction.rods.leapfrog import impact_kernels as ik
from stiction.rods.state import extremes_kernels as xk
from stiction.rods.supports.sliding_ends import check_sliding_ends

if TYPE_CHECKING:
    from stiction.rods.leapfrog.history import RodHistory
    from stiction.rods.model import Rods, RodSystem

__all__ = ["build_run"]

Floats = npt.NDArray[np.float64]

_KINDS = ("close", "open", "slip", "stick", "bounce", "end", "side", "fall")
_MODES = {-1: "none", 0: "open", 1: "roll", 2: "slip"}
_UNITS = {
    "s1": ("m", "contact point on the first rod, rest length from its start"),
    "s2": ("m", "contact point on the second rod, rest length from its start"),
    "s1_rate": ("m/s", "speed of the contact point along the first rod"),
    "s2_rate": ("m/s", "speed of the contact point along the second rod"),
    "lambda_n": ("N", "normal contact force, positive in tension"),
    "gap": ("m", "distance of the axes less both radii"),
    "rolling_residual": ("m/s", "mean slip velocity over a step while the contact rolls"),
    "friction_ratio": ("1", "tangential over normal contact force"),
    "det_A": ("1", "determinant of the tangency conditions; -sin^2 of the angle if straight"),
    "crossing_angle": ("rad", "angle between the rods at the contact"),
    "slip_speed": ("m/s", "speed of one surface over the other"),
    "contact_mode": ("1", "0 open, 1 rolls, 2 slips"),
    "line_contact": ("1", "1 for a point of a line contact between nearly parallel rods"),
    "at_end": ("1", "1 or 2: at an end of the first or the second rod, 3: of both"),
    "normal_force": ("N", "normal contact force, positive in compression"),
    "contact_force": ("N", "force on the first rod"),
    "slip_velocity": ("m/s", "of the first surface over the second"),
    "first_body": ("1", "number of the rod"),
    "second_body": ("1", "number of the rod, or of the rigid partner, numbered after all rods"),
    "contact_impact_loss": ("J", "energy lost in impacts of this contact, in total"),
    "contact_impulse": ("N s", "impulse of impacts on the first rod, in total"),
    "contact_point": ("m", "point where the surfaces touch, one radius from each axis"),
}


def build_run(system: RodSystem, rods: Rods, method: object, history: RodHistory) -> Run:
    """Return the run of `system`, assembled as `rods`, from its history."""
    single = len(rods.contacts) == 1 and rods.search is None
    variables = _variables(rods, history, single)
    kinetic, stored, work, viscous, impact, algorithmic = history.energy.T
    energy = Ledger(
        time=history.time,
        kinetic=kinetic,
        stored=stored,
        external_work=work,
        friction_heat=history.heat if history.heat.shape[1] else np.zeros((len(history.time), 1)),
        viscous_heat=viscous,
        impact_loss=impact,
        algorithmic=algorithmic,
    )
    final = {"x": history.position[-1].ravel()}
    if single:
        final = {name: history.contact[name][-1].copy() for name in ("s1", "s2", "lambda_n")}
    return Run.of(
        system,
        method,
        status=history.status,
        reason=history.reason,
        time=history.time,
        variables=variables,
        final=final,
        event_log=_event_log(history),
        energy=energy,
        checks=(*_checks(rods, history, energy), *history.checks),
        quantities=_quantities(history),
        stats={"events": len(history.events), **history.stats},
        citations=("strings",),
        size=counted(sum(rod.elements + 1 for rod in rods.rods), "node"),
    )


def _variables(rods: Rods, history: RodHistory, single: bool) -> dict[str, Variable]:
    """Return the variables; `single` drops the dimension of the only contact."""
    number = np.concatenate(
        [np.full(rod.elements + 1, b, dtype=np.int64) for b, rod in enumerate(rods.rods, 1)]
    )
    radius = np.array([rod.section.radius for rod in rods.rods])[number - 1]
    results = {
        "position": Variable(history.position, ("time", "node", "axis"), "m", "nodes of the axes"),
        "rod_of_node": Variable(number, ("node",), "1", "number of the rod"),
        "radius_of_node": Variable(radius, ("node",), "m", "radius of the rod"),
        "momentum": Variable(history.momentum[:, :3], ("time", "axis"), "kg m/s", "of all rods"),
        "angular_momentum": Variable(
            history.momentum[:, 3:], ("time", "axis"), "kg m^2/s", "of all rods about the origin"
        ),
    }
    results |= history.state
    if not history.contact["s1"].shape[1]:
        return results
    for name, (unit, meaning) in _UNITS.items():
        values = history.contact[name]
        dims: tuple[str, ...] = ("time", "contact") + (("axis",) if values.ndim == 3 else ())
        if single:
            values, dims = values[:, 0], ("time", *dims[2:])
        results[name] = Variable(values, dims, unit, meaning)
    return results


def _event_log(history: RodHistory) -> EventLog:
    """Return the event log of contacts."""
    events, ds = history.events, history.ds
    contact = events["contact"].copy()
    pairs = history.pairs[contact] - 1 if len(events) else np.zeros((0, 2), dtype=np.int64)
    closes, pressing = np.isin(events["kind"], (ik.CLOSES, ik.BOUNCES)), events["pressing"]
    columns = {
        "s1": events["place"][:, 0] * ds[pairs[:, 0]],
        "s2": events["place"][:, 1] * ds[pairs[:, 1]],
        "normal": np.where(closes, np.nan, pressing),
        "closing_speed": np.where(closes, pressing, np.nan),
        "slip_speed": events["slip_speed"].copy(),
    }
    units = {"s1": "m", "s2": "m", "normal": "N", "closing_speed": "m/s", "slip_speed": "m/s"}
    return EventLog(
        events["time"].copy(),
        contact + 1,
        [_MODES[mode] for mode in events["before"].tolist()],
        [_MODES[mode] for mode in events["after"].tolist()],
        [_KINDS[kind] for kind in events["kind"].tolist()],
        columns,
        units,
    )


def _checks(rods: Rods, history: RodHistory, energy: Ledger) -> list[Check]:
    """Return the audit checks of energy, contacts and rods."""
    limit = 1e-5
    imbalance = energy.imbalance_rel
    # energies of rods at rest are rounding errors of strains
    noise = 1e-26 * sum(rod.section.axial_stiffness * rod.rest_length for rod in rods.rods)
    if imbalance * energy.scale <= noise:
        imbalance = 0.0
    note = (
        "largest energy imbalance over the largest energy, at the saved times; the imbalance "
        "falls as the step squared"
    )
    results = [Check("ledger_closes", bool(imbalance <= limit), imbalance, limit, None, note)]
    contact = history.contact
    results.extend(_overlap(rods, history))
    if not contact["s1"].shape[1]:
        return results
    gained = float(np.max(-np.diff(energy.friction_heat, axis=0), initial=0.0))
    gained, allowed_gain = max(gained, history.given), 1e-8 * energy.scale
    note = "positive work of friction [J], in all steps; friction must dissipate"
    results.append(
        Check("friction_dissipates", bool(gained <= allowed_gain), gained, allowed_gain, None, note)
    )
    tension = _worst(history, "pull")
    note = (
        "largest normal force of a contact [N], positive in tension; only a bilateral contact "
        "can transmit tension"
    )
    noise = 1e-12 * max(rod.section.axial_stiffness for rod in rods.rods)
    results.append(
        Check(
            "normal_force_compressive",
            tension[0] <= noise,
            tension[0],
            noise,
            tension[1],
            note,
            kind=Kind.CONDITION,
        )
    )
    results.append(_not_parallel(history))
    depth, when = _worst(history, "depth")
    gap = (depth, when) if depth > 0.0 else (0.0, None)
    # sections without a radius, whose rods touch nothing, have NaN
    radii = [rod.section.radius for rod in rods.rods if rod.section.radius > 0.0]
    reach = 2.0 * min(radii, default=np.nan)
    note = "deepest interpenetration [m]"
    results.append(
        Check("no_interpenetration", gap[0] <= 1e-3 * reach, gap[0], 1e-3 * reach, gap[1], note)
    )
    results.append(_subsonic(rods, history))
    note = "largest slip velocity of a contact that rolls [m/s], of all steps"
    # forces in the rods are rounded relative to strains of one: in velocities, to the wave speed
    waves = max(wave_speed(rod.section) for rod in rods.rods)
    speed = max(1e-3 * waves, float(np.sqrt(2.0 * energy.scale / _mass(rods))))
    slow, limit = history.rolling, 1e-12 * speed
    results.append(Check("rolls_without_slip", bool(slow <= limit), slow, limit, None, note))
    if any(rod.slides for rod in rods.rods):
        results.append(check_sliding_ends(history))
    mu = _coefficients(rods, contact["s1"].shape[1])
    if np.isfinite(mu).any():
        results.append(_bounded(mu, history))
    return results


def _overlap(rods: Rods, history: RodHistory) -> list[Check]:
    """Return the check of penetration of all pairs with a radius, and the rods without one."""
    bare = [str(b) for b, rod in enumerate(rods.rods, 1) if not rod.section.radius > 0.0]
    results = []
    if bare:
        several = len(bare) > 1
        which = f"rod{'s' if several else ''} {', '.join(bare)}"
        note = f"{which}: {'sections' if several else 'a section'} without a radius"
        results.append(Check("no_overlap", None, None, MOST, None, note))
    if len(bare) < len(rods.rods):
        depth, when, a, b = history.overlap.tolist()
        note = (
            "deepest overlap of any two rods, in contact or not, over the smaller radius, at "
            "saved times and whenever a node has moved by a fraction of the radius"
        )
        if depth > 0.0:
            pair = " and ".join(body_name(int(n), len(rods.rods)) for n in (a, b))
            note += f"; {pair}"
        time = when if depth > 0.0 else None
        results.append(Check("no_overlap", depth <= MOST, depth, MOST, time, note))
    return results


def _coefficients(rods: Rods, slots: int) -> Floats:
    """Return (contacts,) coefficients of friction, declared contacts first."""
    laws = [contact.friction for contact in rods.contacts]
    laws += [None if rods.search is None else rods.search.friction] * (slots - len(laws))
    # one table per law: contacts share laws, and tables are slow to make
    each = {id(law): np.inf if law is None else float(law.table(1).mu_static[0]) for law in laws}
    return np.array([each[id(law)] for law in laws])


def _bounded(mu: Floats, history: RodHistory) -> Check:
    """Return the check of tangential forces and impulses against mu times the normal ones."""
    # without friction the ratio is rounding
    ratio = history.extremes["friction"]
    beyond = np.where(np.isfinite(mu), ratio - mu * (1.0 + 1e-6), -np.inf)
    contact = int(np.argmax(beyond))
    bound, (value, when) = float(mu[contact]), _worst(history, "friction", contact)
    note = "largest ratio of tangential to normal contact force"
    ok = value <= bound * (1.0 + 1e-6) + 1e-12
    if ok and history.excess > 1e-3 * bound + 1e-9:
        # forces at the ends of steps are within the bound, but impulses between them are not
        note = (
            "friction bound, plus the impulses of rolling steps beyond this bound over all "
            "normal impulses"
        )
        ok, value, when = False, bound + history.excess, None
    return Check("friction_within_bound", bool(ok), value, bound, when, note)


def _mass(rods: Rods) -> float:
    """Return the mass of all rods [kg]."""
    return sum(rod.section.line_density * rod.rest_length for rod in rods.rods)


def _not_parallel(history: RodHistory) -> Check:
    """Return the check of the angles at contact points of crossing rods."""
    least = float(np.sin(np.deg2rad(10.0)))
    value, when = _worst(history, "parallel")
    if history.parallel[0] < -value or (when is None and history.parallel[0] < 1.0):
        value, when = -float(history.parallel[0]), float(history.parallel[1])
    if when is None:
        note = "no contact point of crossing rods"
        return Check("rods_not_parallel", None, None, least, None, note, kind=Kind.AT_LEAST)
    note = "sine of the angle at contact points; below ten degrees rods have contact along a line"
    ok = bool(-value >= least)
    return Check("rods_not_parallel", ok, -value, least, when, note, kind=Kind.AT_LEAST)


def _subsonic(rods: Rods, history: RodHistory) -> Check:
    """Return the check of the speed of closed contacts along their rods."""
    ratio, when = _worst(history, "wave_ratio")
    waves = [wave_speed(rod.section) for rod in rods.rods]
    limit = min(waves)
    if when is not None:
        limit = waves[history.extremes[int(np.argmax(history.extremes["wave_ratio"]))].wave_body]
    speed = ratio * limit
    note = (
        "largest speed of a closed contact along a rod [m/s]; the limit is the speed of shear "
        "waves in this rod"
    )
    return Check("contact_subsonic", bool(speed < limit), speed, limit, when, note)


def _worst(
    history: RodHistory, name: str, contact: int | None = None
) -> tuple[float, float | None]:
    """Return the extreme value `name` of one contact or all, and its time; (0, None) if none."""
    values = history.extremes[name]
    c = int(np.argmax(values)) if contact is None else contact
    if values[c] == xk.NEVER:
        return 0.0, None
    return float(values[c]), float(history.extremes[f"{name}_time"][c])


def _quantities(history: RodHistory) -> dict[str, Quantity]:
    """Return the quantities of the run."""
    note = "kinetic energy removed by projecting the initial velocities on the rolling constraint"
    results = {"energy_projected": Quantity(history.projected, "J", note)}
    if history.contact["s1"].shape[1]:
        force = np.linalg.norm(history.contact["contact_force"], axis=2)
        largest = float(np.nanmax(force)) if np.isfinite(force).any() else 0.0
        results["largest_contact_force"] = Quantity(largest, "N", "over the saved times")
    return results
