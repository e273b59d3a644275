"""Equilibria of rods in contact with bodies and each other, along a history of loads and ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Audit, Check, Kind
from stiction.core.determinism import Loss
from stiction.core.driver import run_to_end
from stiction.core.ledger import Ledger
from stiction.errors import ModelError, SolveError, Status
from stiction.laws.coulomb import Coulomb
from stiction.numerics.checks import numbers, shape_of
from stiction.rods.contact.partners import RodPartner
from stiction.rods.methods import ImplicitEuler, Quasistatic
from stiction.rods.rod import CosseratRod
from stiction.rods.wrapped.checks import MOST_OVERLAP
from stiction.rods.wrapped.stepper import ENERGIES, Row, Stepper

__all__ = ["WrappedPath", "checks_of", "path_of", "wrapped_path"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WrappedPath:
    """Equilibria, or with inertia states of motion, of wrapped rods at given times.

    A contact is a pair of a node and a body, or of a node and the axis of a rod. Nodes and elements
    of several rods follow one another.

    Parameters
    ----------
    time : (t,) [s]
    elements : number of elements of each rod
    position : (t, node, 3) [m]
    velocity : (t, node, 3) zero without inertia [m/s]
    section_force : (t, element, 3) force of what follows on what comes before, in space [N]
    tension : (t, element) its component along the axis [N]
    node, partner : (contact,) numbers from 0 of node and body of each contact; rods count after the
        bodies
    mode : (t, contact) 0 open, 1 stick, 2 slip
    gap : (t, contact) [m]
    normal_force : (t, contact) [N]
    contact_force : (t, contact, 3) on the node, friction included [N]
    slip : (t, contact) length of the path of slip since the start [m]
    strain : (t,) largest strain of stretch and shear [1]
    bending_strain : (t,) largest curvature times the radius [1]
    clamp_force, clamp_moment : (t, rod, 2, 3) reactions of the supports of start and end on each
        rod, in space: force [N], and moment about the end node [N m]
    residual : (t,) largest unbalanced force, or torque over the element length, over the largest
        force in the rod [1]
    energy : the ledger of energies; its heat of dampers is that of drag, without inertia at each
        `limit_point`: the energy that the rods lose there
    audit : checks over all steps
    steps, iterations : number of accepted steps, and of iterations of Newton's method
    losses : `no_continuation` where the path ends before the last time, since all friction is at
        its bound and loads rise beyond it; `limit_point` where rods without friction moved to
        another equilibrium, or slid freely along themselves
    """

    time: Floats
    elements: Sequence[int]
    position: Floats
    velocity: Floats
    section_force: Floats
    tension: Floats
    node: Ints
    partner: Ints
    mode: Ints
    gap: Floats
    normal_force: Floats
    contact_force: Floats
    slip: Floats
    strain: Floats
    bending_strain: Floats
    clamp_force: Floats
    clamp_moment: Floats
    residual: Floats
    energy: Ledger
    audit: Audit
    steps: int
    iterations: int
    losses: Sequence[Loss] = ()

    @property
    def force_ratio(self) -> Floats:
        """(t,) force in the last element of the first rod over that in its first element [1]."""
        size = np.linalg.norm(self.section_force, axis=2)
        return np.asarray(size[:, self.elements[0] - 1] / size[:, 0])

    def nodes_of(self, rod: int) -> slice:
        """Return where the nodes of a rod, from 0, are in `position`."""
        first = sum(self.elements[:rod]) + rod
        return slice(first, first + self.elements[rod] + 1)

    def end_load(self, about: Sequence[float] = (0.0, 0.0, 0.0)) -> tuple[Floats, Floats]:
        """Return (t, 3) force of the supports of all last ends [N], and moment about a point [N m].

        about : [m]
        """
        why, try_ = "it is a point in space.", "give (0.0, 0.0, 0.0)."
        if shape_of(about) != (3,):
            raise ModelError("end_load.about", repr(about), "three numbers [m]", why, try_)
        point = numbers("end_load.about", about, unit="m", why=why, try_=try_)
        last = [self.nodes_of(rod).stop - 1 for rod in range(len(self.elements))]
        force, arm = self.clamp_force[:, :, 1], self.position[:, last] - point
        moment = self.clamp_moment[:, :, 1] + np.cross(arm, force)
        return force.sum(axis=1), moment.sum(axis=1)


def wrapped_path(
    rod: CosseratRod | Sequence[CosseratRod],
    partners: Sequence[RodPartner],
    times: Sequence[float] | Floats,
    *,
    friction: Coulomb | None = None,
    self_contact: bool = False,
    turn: float | None = None,
    settle: bool = True,
    inertia: bool = False,
    steps: int = 50,
    tolerance: float = 1e-8,
    max_iterations: int = 20,
    max_steps: int = 10_000,
) -> WrappedPath:
    """Return the equilibria of rods in contact with rigid bodies and each other, at `times`.

    At the first time the loads of that time and the natural curvature act in full, and the rods
    move from the given centreline against drag until they rest. Then ends and bodies move, and
    loads follow their histories, without inertia. Contacts of the nodes open and close; where they
    are closed they stick or slip by Coulomb's law, with the slip of all steps as history.

    Parameters
    ----------
    rod : one rod, or several of one radius, in contact with each other, those with the shortest
        elements first: their nodes meet the axes of later ones; ends `Free`, `Pinned`, `Clamped` or
        `Driven`; the section needs a radius. Friction may hold rods with free ends
    partners : rigid bodies, fixed or driven; may be empty where rods touch each other
    times : rising; velocities of ends and bodies start at the first [s]
    friction : Coulomb's law of all contacts; None for no friction
    self_contact : whether each rod meets itself, beyond half a circle of contact along it
    turn : length of a turn of a rod around a body [m]; each node may then touch every turn of its
        rod once, instead of only the closest
    settle : whether the rod takes its loads of the first time without friction, as if it was
        shaken; otherwise with friction from the given centreline on
    inertia : whether the rods have mass: the path is then their motion in steps of implicit Euler,
        which is of first order and dissipates (`energy.algorithmic`). It starts with the velocities
        of `motion` from the equilibrium, or with settle = False from the given centreline
    steps : least number of steps
    tolerance : of unbalanced forces and of the laws of contact, over the largest force in the rod
    max_iterations : of Newton's method; a step that needs more is halved
    max_steps : bound on the work

    Raises
    ------
    ModelError : for a rod or friction that cannot be solved, a rod that starts in a body or in
        another rod, and elements too long for the curvature at a contact, at the start or on the
        path.
    SolveError : where no equilibrium is found nearby, even with steps halved 20 times; its `path`
        is the WrappedPath up to there. Where dead loads overcome the friction that alone holds a
        rod, the path ends with a loss instead.

    Source: docs/decisions/41-wrapped-rods.md; Alart and Curnier 1991.
    Verified by: tests/exact/test_wrapped_rods.py::test_capstan
    """
    why, try_ = "equilibria are found at rising times.", "give [0.0, 1.0]."
    times = numbers("wrapped_path.times", times, unit="s", why=why, try_=try_)
    if times.size < 2 or not (np.diff(times) > 0.0).all():
        got, needs = f"{times.tolist()}", "two rising times or more"
        raise ModelError("wrapped_path.times", got, needs, why, try_)
    rods = (rod,) if isinstance(rod, CosseratRod) or not isinstance(rod, Sequence) else tuple(rod)
    bounds: dict[str, Any] = {
        "turn": turn,
        "settle": settle,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "max_steps": max_steps,
    }
    quasistatic = Quasistatic(steps, **bounds)
    span = float(times[-1] - times[0])
    method = ImplicitEuler(span / quasistatic.steps, **bounds) if inertia else quasistatic
    stepper = Stepper(rods, partners, friction, method, times, self_contact=self_contact)
    status, reason = run_to_end(stepper.run())
    if status not in (Status.SOLVED, Status.NO_CONTINUATION):
        stepper.save_last()
        raise SolveError(f"wrapped_path: {reason}", path=path_of(stepper))
    return path_of(stepper)


def path_of(stepper: Stepper) -> WrappedPath:
    """Return the saved states of a stepper, its ledger and its audit."""
    rows = dict(zip(Row._fields, map(np.array, zip(*stepper.saved, strict=True)), strict=True))
    heat, energies = rows.pop("heat"), dict(zip(ENERGIES, rows.pop("energy").T, strict=True))
    ledger = Ledger(
        time=rows["time"],
        kinetic=energies["kinetic"],
        stored=energies["stored"],
        external_work=energies["work"],
        friction_heat=heat,
        viscous_heat=energies["drag"],
        algorithmic=energies["scheme"],
    )
    contacts, static = stepper.problem.contacts, stepper.problem.static
    return WrappedPath(
        **rows,
        elements=[rod.elements for rod in stepper.problem.rods],
        node=np.searchsorted(static.nodes, contacts.node),
        partner=contacts.partner,
        energy=ledger,
        audit=Audit(checks_of(stepper)),
        steps=stepper.steps,
        iterations=stepper.iterations,
        losses=tuple(stepper.losses),
    )


def _ledger_of_steps(stepper: Stepper) -> Ledger:
    """Return the ledger of all steps, whose heat is that of all contacts together."""
    time, kinetic, stored, work, heat, drag, scheme = np.array(stepper.every).T
    return Ledger(time, kinetic, stored, work, heat[:, None], viscous_heat=drag, algorithmic=scheme)


def checks_of(stepper: Stepper) -> list[Check]:
    """Return the checks of the audit, over all steps."""
    worst, tolerance, problem = stepper.worst, stepper.problem.tolerance, stepper.problem
    ledger = _ledger_of_steps(stepper)
    value, when = worst["residual"]
    note = "largest residual of forces and laws over the largest force in the rod"
    solved = bool(value <= tolerance)
    checks = [Check("contacts_solved", solved, value, tolerance, when, note, Kind.CONVERGENCE)]
    # strains at their rounding have an energy, which rods at rest may have alone
    floor = 0.5e-13 * problem.static.rounding * max(r.rest_length for r in problem.rods)
    still = float(np.abs(ledger.imbalance).max()) <= floor
    value, limit = 0.0 if still else ledger.imbalance_rel, 1e-3
    note = "largest energy imbalance over the largest energy; falls as the step squared"
    checks.append(Check("ledger_closes", bool(value <= limit), value, limit, None, note))
    (value, when), limit = worst["depth"], 1e-6 * problem.contacts.radius
    note = "deepest node inside a body or a rod [m]"
    checks.append(Check("no_interpenetration", bool(value <= limit), value, limit, when, note))
    (value, when), limit = worst["overlap"], MOST_OVERLAP
    note = "deepest overlap of rods at nodes, or above 0.02 between nodes, over the radius"
    checks.append(Check("no_overlap", bool(value <= limit), value, limit, when, note))
    if not stepper.has_friction:
        return checks
    value, when = worst["beyond"]
    limit = 10.0 * tolerance
    note = "friction beyond its bound, over the largest force in the rod"
    checks.append(Check("friction_within_bound", bool(value <= limit), value, limit, when, note))
    (value, when), limit = worst["gained"], 1e-8 * ledger.scale
    note = "largest positive work of friction in a step [J]; friction must dissipate"
    checks.append(Check("friction_dissipates", bool(value <= limit), value, limit, when, note))
    (value, when), limit = (
        worst["stuck"],
        1e-9 * max(rod.rest_length for rod in problem.rods),
    )
    note = "largest slip of a sticking contact in a step [m]"
    checks.append(Check("rolls_without_slip", bool(value <= limit), value, limit, when, note))
    return checks
