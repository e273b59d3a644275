"""Run of rods in contact along arcs: results with names and units, energy ledger, audit."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.driver import run_to_end
from stiction.core.events import EventLog
from stiction.core.run import Quantity, Request, Run, Variable
from stiction.errors import ModelError, SolveError, Status
from stiction.laws.coulomb import Coulomb
from stiction.numerics.shown import counted
from stiction.rods.contact.partners import CylinderPartner, PlanePartner, SpherePartner
from stiction.rods.rod import CosseratRod, LineForce
from stiction.rods.wrapped.obstacles import placement_at
from stiction.rods.wrapped.path import WrappedPath, checks_of, path_of
from stiction.rods.wrapped.stepper import Stepper

if TYPE_CHECKING:
    from stiction.rods.methods import ImplicitContact
    from stiction.rods.model import Rods, RodSystem

__all__ = ["run_wrapped"]

Floats = npt.NDArray[np.float64]

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
    loaded = [_with_weight(rod, rods.gravity) for rod in rods.rods]
    stepper = Stepper(
        loaded, rods.partners, friction, method, request.save, self_contact=self_contact
    )
    checkpoint = request.checkpoint
    steps = stepper.run(None if checkpoint is None else checkpoint.load())
    try:
        status, reason = run_to_end(steps, request.progress, checkpoint)
    except SolveError as error:
        raise SolveError(f"{name}: {error}") from None
    if status is not Status.SOLVED:
        stepper.save_last()
    path = path_of(stepper)
    variables = _variables(rods, path, request.t_start)
    units: dict[str, str] = {}
    for loss in path.losses:
        units |= loss.units
    return Run.of(
        system,
        method,
        status=status,
        reason=reason.splitlines()[0] if reason else "",
        time=path.time,
        variables=variables,
        final={"position": path.position[-1]},
        event_log=EventLog(),
        energy=path.energy,
        checks=checks_of(stepper),
        losses=path.losses,
        loss_units=units,
        unseen=_UNSEEN[method.inertia],
        quantities=_quantities(path),
        stats={"steps": path.steps, "iterations": path.iterations},
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
        why, try_ = "a step of an implicit method has no impact.", "leave it out."
        raise ModelError("Rods.search.restitution", got, needs, why, try_)
    return search.friction, search.self_contact


def _with_weight(rod: CosseratRod, gravity: Sequence[float] | Floats) -> CosseratRod:
    """Return the rod with its weight among its loads."""
    if not np.any(gravity):
        return rod
    weight = LineForce(rod.section.line_density * np.asarray(gravity, dtype=np.float64))
    return dataclasses.replace(rod, loads=[*rod.loads, weight])


def _variables(rods: Rods, path: WrappedPath, start: float) -> dict[str, Variable]:
    """Return the arrays of a path as variables of the run."""
    bodies, contact, time = len(rods.partners), ("contact",), ("time", "contact")
    counts = [rod.elements + 1 for rod in rods.rods]
    owner = np.repeat(np.arange(1, len(counts) + 1), counts)
    radius = np.array([rod.section.radius for rod in rods.rods])[owner - 1]
    # rods first, then partners, as in `Rods`; partners count first in a path
    is_body = path.partner < bodies
    other = np.where(is_body, len(counts) + 1 + path.partner, 1 + path.partner - bodies)
    results = {
        "position": Variable(path.position, ("time", "node", "axis"), "m", "nodes of the axes"),
        "velocity": Variable(path.velocity, ("time", "node", "axis"), "m/s", "of the nodes"),
        "rod_of_node": Variable(owner, ("node",), "1", "number of the rod"),
        "radius_of_node": Variable(radius, ("node",), "m", "radius of the rod"),
        "internal_force": Variable(
            path.section_force,
            ("time", "element", "axis"),
            "N",
            "elastic, of the part after it on the part before it",
        ),
        "tension": Variable(path.tension, ("time", "element"), "N", "along the axis"),
        "clamp_force": Variable(
            path.clamp_force, ("time", "rod", "end", "axis"), "N", "reactions of supports"
        ),
        "clamp_moment": Variable(
            path.clamp_moment, ("time", "rod", "end", "axis"), "N m", "about the end node"
        ),
        "node_of_contact": Variable(path.node + 1, contact, "1", "number of the node"),
        "first_body": Variable(owner[path.node], contact, "1", "number of the rod"),
        "second_body": Variable(
            other, contact, "1", "number of the rod, or of the rigid partner, after all rods"
        ),
        "contact_mode": Variable(path.mode, time, "1", "0 open, 1 stick, 2 slip"),
        "gap": Variable(path.gap, time, "m", "distance of the surfaces"),
        "normal_force": Variable(path.normal_force, time, "N", "positive in compression"),
        "contact_force": Variable(
            path.contact_force, (*time, "axis"), "N", "on the node, friction included"
        ),
        "slip_length": Variable(path.slip, time, "m", "path of slip since the start"),
    }
    return results | _partners(rods, path, start)


def _partners(rods: Rods, path: WrappedPath, start: float) -> dict[str, Variable]:
    """Return where rigid partners are."""
    if not rods.partners:
        return {}
    points = np.zeros((len(path.time), len(rods.partners), 2, 3))
    shapes = {CylinderPartner: 1, SpherePartner: 2, PlanePartner: 3}
    for j, partner in enumerate(rods.partners):
        far = partner.points[-1]
        if isinstance(partner, PlanePartner):
            far = partner.points[0] + np.asarray(partner.normal) / np.linalg.norm(partner.normal)
        for k, time in enumerate(path.time.tolist()):
            place = placement_at(partner, time - start)
            points[k, j] = place.pivot, place.pivot + place.turn @ (far - partner.points[0])
    kind = np.array([shapes[type(partner)] for partner in rods.partners], dtype=np.int64)
    radius = np.array([getattr(partner, "radius", 0.0) for partner in rods.partners])
    meaning = "ends of a cylinder; centre of a sphere; a plane, and a point above it"
    each, words = ("partner",), "1 a cylinder, 2 a sphere, 3 a plane"
    return {
        "partner_point": Variable(points, ("time", "partner", "end", "axis"), "m", meaning),
        "partner_shape": Variable(kind, each, "1", words),
        "partner_radius": Variable(radius, each, "m", "0 of a plane"),
    }


def _quantities(path: WrappedPath) -> dict[str, Quantity]:
    """Return the quantities of the run."""
    strain = "largest strain of stretch and shear at saved times"
    bending = "largest curvature times the radius at saved times"
    ratio = "force in the last element of the first rod over that in its first, at the end"
    return {
        "force_ratio": Quantity(float(path.force_ratio[-1]), "1", ratio),
        "strain": Quantity(float(path.strain.max()), "1", strain),
        "bending_strain": Quantity(float(path.bending_strain.max()), "1", bending),
    }
