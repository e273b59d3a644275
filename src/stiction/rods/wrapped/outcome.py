"""Run of rods wrapped around bodies and each other: results, energy ledger, audit.

`run_wrapped` is called by `Quasistatic` and `ImplicitEuler`: it makes a `stepper.Stepper`, runs it
to the end, and converts its saved rows (`stepper.Row`) to variables, ledger and audit. A step
solves the balance of forces with Signorini's and Coulomb's laws (`problem`). The checks compare the
extremes over all steps, `Stepper.worst`, a value and its time by name, with their limits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.driver import run_to_end
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Request, Run, Variable
from stiction.errors import ModelError, SolveError
from stiction.laws.coulomb import Coulomb
from stiction.numerics.checks import fits
from stiction.numerics.shown import counted
from stiction.rods.contact.partners import CylinderPartner, PlanePartner, SpherePartner
from stiction.rods.rod import CosseratRod, LineForce
from stiction.rods.state.record import partner_variables
from stiction.rods.wrapped.checks import MOST_OVERLAP
from stiction.rods.wrapped.contact import OPEN
from stiction.rods.wrapped.obstacles import placement_at
from stiction.rods.wrapped.stepper import ENERGIES, Row, Stepper

if TYPE_CHECKING:
    from stiction.rods.methods import ImplicitContact
    from stiction.rods.model import Rods, RodSystem

__all__ = ["run_wrapped"]

Floats = npt.NDArray[np.float64]

_NODE, _ELEMENT, _ROD, _CONTACT = ("node", "axis"), ("element",), ("rod", "end"), ("contact",)
# name: (entry of `Row`, dimensions after time, unit, meaning)
_COLUMNS: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "position": ("position", _NODE, "m", "nodes of the axes"),
    "velocity": ("velocity", _NODE, "m/s", "of the nodes; zero in equilibrium"),
    "internal_force": (
        "section_force", (*_ELEMENT, "axis"), "N",
        "elastic, of the part of the rod after this place on the part before",
    ),
    "tension": ("tension", _ELEMENT, "N", "component of the internal force along the axis"),
    "clamp_force": ("clamp_force", (*_ROD, "axis"), "N", "of the support of each end on the rod"),
    "clamp_moment": ("clamp_moment", (*_ROD, "axis"), "N m", "of the support, about the end node"),
    "contact_mode": ("mode", _CONTACT, "1", "0 open, 1 stick, 2 slip"),
    "gap": ("gap", _CONTACT, "m", "distance of the surfaces"),
    "normal_force": ("normal_force", _CONTACT, "N", "positive in compression"),
    "contact_force": (
        "contact_force", (*_CONTACT, "axis"), "N", "on the node, friction included"
    ),
    "contact_point": (
        "contact_point", (*_CONTACT, "axis"), "m", "one radius from the node; NaN if open"
    ),
    "slip_length": ("slip", _CONTACT, "m", "length of the path of slip since the start"),
    "strain": ("strain", (), "1", "largest strain of stretch and shear"),
    "bending_strain": ("bending_strain", (), "1", "largest curvature times radius"),
    "residual": ("residual", (), "1", "largest unbalanced force over the largest force in rods"),
}  # fmt: skip
_UNSEEN = {
    False: "other equilibria under the same loads are not searched for",
    True: "impacts and forces that are not unique are not searched for",
}


def run_wrapped(system: RodSystem, method: ImplicitContact, request: Request) -> Run:
    """Return the run of `system`.

    Raises
    ------
    ModelError : for rods, contacts or friction that the method does not solve.
    SolveError : if not even the state at the first time is found.
    """
    rods, name = system.assembled(), type(method).__name__
    friction, self_contact = _contacts_of(rods, name)
    if method.inertia:
        rods.check_stiffness()
    loaded = [_with_weight(rod, rods.gravity) for rod in rods.rods]
    stepper = Stepper(
        loaded,
        rods.partners,
        friction,
        method,
        request.save,
        self_contact=self_contact,
        every_step=request.every_step,
    )
    # memory of the saved states: `Row` has up to 13 numbers for each contact, and 10 for each node
    numbers = 16 * len(stepper.slip) + 16 * len(stepper.problem.static.nodes)
    saves = len(request.save)
    if request.every_step:
        saves = math.ceil((request.t_end - request.t_start) / stepper.longest) + 1
    fits("solve.save", saves, 8.0 * numbers, "save fewer states.")
    checkpoint = request.checkpoint
    steps = stepper.run(None if checkpoint is None else checkpoint.load())
    try:
        status, reason = run_to_end(steps, request.progress, checkpoint)
    except SolveError as error:
        raise SolveError(f"{name}: {error}") from None
    rows = dict(zip(Row._fields, map(np.array, zip(*stepper.saved, strict=True)), strict=True))
    units: dict[str, str] = {}
    for loss in stepper.losses:
        units |= loss.units
    return Run.of(
        system,
        method,
        status=status,
        # the advice of the status follows it
        reason=reason.partition(".\n")[0],
        time=rows["time"],
        variables=_variables(rods, stepper, rows),
        final={"position": rows["position"][-1]},
        event_log=EventLog(),
        energy=_ledger_of_rows(rows),
        checks=_checks(stepper),
        losses=stepper.losses,
        loss_units=units,
        unseen=_UNSEEN[method.inertia],
        quantities=_quantities(rods, rows),
        stats={"steps": stepper.steps, "iterations": stepper.iterations},
        citations=("strings",),
        size=counted(sum(rod.elements + 1 for rod in rods.rods), "node"),
    )


def _contacts_of(rods: Rods, name: str) -> tuple[Coulomb, bool]:
    """Return friction and whether rods may touch themselves; refuse declared contacts."""
    if rods.contacts:
        got, needs = f"{len(rods.contacts)} declared contacts", "none"
        why = "in this method every node may touch partners and rods, and contacts open and close."
        try_ = "leave out contacts and give search = ContactSearch(friction), or RollingLeapfrog."
        raise ModelError("Rods.contacts", got, needs, why, try_)
    search = rods.search
    if search is None or search.friction is None:
        got = "None" if search is None else "a ContactSearch without friction"
        needs = "a ContactSearch with friction"
        why = f"{name} does not constrain contacts to roll."
        try_ = "give ContactSearch(Coulomb(0.3)), or Coulomb(0.0) for contacts without friction."
        raise ModelError("Rods.search", got, needs, why, try_)
    if search.restitution or search.tangential_restitution:
        got, needs = "restitution", "none"
        why, try_ = "a step of an implicit method has no impact.", "leave this value out."
        raise ModelError("Rods.search.restitution", got, needs, why, try_)
    return search.friction, search.self_contact


def _with_weight(rod: CosseratRod, gravity: Sequence[float] | Floats) -> CosseratRod:
    """Return the rod with its weight among its loads."""
    if not np.any(gravity):
        return rod
    weight = LineForce(rod.section.line_density * np.asarray(gravity, dtype=np.float64))
    return dataclasses.replace(rod, loads=[*rod.loads, weight])


def _variables(rods: Rods, stepper: Stepper, rows: Mapping[str, Floats]) -> dict[str, Variable]:
    """Return the variables of the run."""
    bodies, counts = len(rods.partners), [rod.elements + 1 for rod in rods.rods]
    owner = np.repeat(np.arange(1, len(counts) + 1), counts)
    radius = np.array([rod.section.radius for rod in rods.rods])[owner - 1]
    contacts, static = stepper.problem.contacts, stepper.problem.static
    node = np.searchsorted(static.nodes, contacts.node)
    # rods first, then partners, as in `Rods`; partners count first in the problem
    other = contacts.partner + 1
    other = other + np.where(other <= bodies, len(counts), -bodies)
    results = {
        name: Variable(rows[row], ("time", *dims), unit, meaning)
        for name, (row, dims, unit, meaning) in _COLUMNS.items()
    }
    results["contact_point"].values[rows["mode"] == OPEN] = np.nan
    last = np.cumsum(counts) - 1
    force, arm = rows["clamp_force"][:, :, 1], rows["position"][:, last]
    moment = rows["clamp_moment"][:, :, 1] + np.cross(arm, force)
    for name, values, unit, meaning in (
        ("end_force", force, "N", "of the supports of all last ends"),
        ("end_moment", moment, "N m", "of these supports, about the origin"),
    ):
        results[name] = Variable(values.sum(axis=1), ("time", "axis"), unit, meaning)
    constant = {
        "rod_of_node": (owner, "node", "1", "number of the rod"),
        "radius_of_node": (radius, "node", "m", "radius of the rod"),
        "node_of_contact": (node + 1, "contact", "1", "number of the node"),
        "first_body": (owner[node], "contact", "1", "number of the rod"),
        "second_body": (other, "contact", "1", "number of the rod or, after all rods, the partner"),
    }
    for name, (values, dim, unit, meaning) in constant.items():
        results[name] = Variable(values, (dim,), unit, meaning)
    return results | _partners(rods, rows["time"], float(stepper.times[0]))


def _partners(rods: Rods, times: Floats, start: float) -> dict[str, Variable]:
    """Return where rigid partners are."""
    if not rods.partners:
        return {}
    points = np.zeros((len(times), len(rods.partners), 2, 3))
    shapes = {CylinderPartner: 1, SpherePartner: 2, PlanePartner: 3}
    for j, partner in enumerate(rods.partners):
        far = partner.points[-1]
        if isinstance(partner, PlanePartner):
            far = partner.points[0] + np.asarray(partner.normal) / np.linalg.norm(partner.normal)
        for k, time in enumerate(times.tolist()):
            place = placement_at(partner, time - start)
            points[k, j] = place.pivot, place.pivot + place.turn @ (far - partner.points[0])
    kind = np.array([shapes[type(partner)] for partner in rods.partners], dtype=np.int64)
    radius = np.array([getattr(partner, "radius", 0.0) for partner in rods.partners])
    return partner_variables(points, kind, radius)


def _quantities(rods: Rods, rows: Mapping[str, Floats]) -> dict[str, Quantity]:
    """Return the quantities of the run."""
    force = np.linalg.norm(rows["section_force"][-1], axis=1)
    ratio = float(force[rods.rods[0].elements - 1] / force[0]) if force[0] > 0.0 else None
    meaning = "force in the last element of the first rod over the force in its first element"
    strain, bending = float(rows["strain"].max()), float(rows["bending_strain"].max())
    return {
        "force_ratio": Quantity(ratio, "1", meaning),
        "largest_strain": Quantity(strain, "1", "of stretch and shear, at saved times"),
        "largest_bending_strain": Quantity(bending, "1", "curvature times radius, at saved times"),
    }


def _ledger_of_rows(rows: Mapping[str, Floats]) -> Ledger:
    """Return the ledger at the saved times."""
    energies = dict(zip(ENERGIES, rows["energy"].T, strict=True))
    return Ledger(
        time=rows["time"],
        kinetic=energies["kinetic"],
        stored=energies["stored"],
        external_work=energies["work"],
        friction_heat=rows["heat"],
        viscous_heat=energies["drag"],
        algorithmic=energies["scheme"],
    )


def _ledger_of_steps(stepper: Stepper) -> Ledger:
    """Return the ledger of all steps, whose heat is that of all contacts together."""
    time, kinetic, stored, work, heat, drag, scheme = np.array(stepper.every).T
    return Ledger(time, kinetic, stored, work, heat[:, None], viscous_heat=drag, algorithmic=scheme)


def _checks(stepper: Stepper) -> list[Check]:
    """Return the checks of the audit, over all steps."""
    worst, tolerance, problem = stepper.worst, stepper.problem.tolerance, stepper.problem
    ledger = _ledger_of_steps(stepper)
    value, when = worst["residual"]
    note = "largest residual of forces and laws over the largest force in the rod"
    solved = bool(value <= tolerance)
    checks = [Check("contacts_solved", solved, value, tolerance, when, note, Kind.CONVERGENCE)]
    # strains at their rounding have an energy, and forces at theirs do work: rods at rest, or
    # carried without load, may have these alone
    moved = max(float(np.abs(x.position - stepper.saved[0].position).max()) for x in stepper.saved)
    longest = max(r.rest_length for r in problem.rods)
    floor = problem.static.rounding * (0.5e-13 * longest + moved)
    still = float(np.abs(ledger.imbalance).max()) <= floor
    value, limit = 0.0 if still else ledger.imbalance_rel, 1e-3
    note = (
        "largest energy imbalance over the largest energy; the imbalance falls as the step squared"
    )
    checks.append(Check("ledger_closes", bool(value <= limit), value, limit, None, note))
    (value, when), limit = worst["depth"], 1e-6 * problem.contacts.radius
    note = "deepest node inside a body or a rod [m]"
    checks.append(Check("no_interpenetration", bool(value <= limit), value, limit, when, note))
    (value, when), limit = worst["overlap"], MOST_OVERLAP
    note = (
        "deepest overlap of rods over the radius; between nodes only overlaps above 0.02 are "
        "counted"
    )
    checks.append(Check("no_overlap", bool(value <= limit), value, limit, when, note))
    if not stepper.mu > 0.0:
        return checks
    value, when = worst["beyond"]
    limit = 10.0 * tolerance
    note = "largest excess of friction over its bound, divided by the largest force in the rod"
    checks.append(Check("friction_within_bound", bool(value <= limit), value, limit, when, note))
    (value, when), limit = worst["gained"], max(1e-8 * ledger.scale, floor)
    note = "largest positive work of friction in a step [J]; friction must dissipate"
    checks.append(Check("friction_dissipates", bool(value <= limit), value, limit, when, note))
    (value, when), limit = worst["stuck"], 1e-9 * longest
    note = "largest slip of a sticking contact in a step [m]"
    checks.append(Check("rolls_without_slip", bool(value <= limit), value, limit, when, note))
    return checks
