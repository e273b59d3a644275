"""Equilibria of rods in contact with bodies and each other, along a history of loads and ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Audit, Check, Kind
from stiction.core.determinism import Loss
from stiction.core.ledger import Ledger
from stiction.errors import ModelError, SolveError
from stiction.laws.coulomb import Coulomb
from stiction.numerics.checks import numbers, shape_of
from stiction.rods.assembly import third_directors
from stiction.rods.contact.partners import RodPartner
from stiction.rods.rod import CosseratRod
from stiction.rods.wrapped.checks import (
    MOST_OVERLAP,
    check_bounds,
    check_fineness,
    check_friction,
    check_gaps,
    check_inertia,
    check_overlap,
    check_rods,
    check_supports,
    check_turn,
    overlap,
)
from stiction.rods.wrapped.contact import (
    OPEN,
    SLIP,
    STICK,
    Kinematics,
    force_and_moment,
    rotation_since,
)
from stiction.rods.wrapped.inertia import initial_velocity
from stiction.rods.wrapped.problem import TOUCHING, Solution, State, WrappedProblem

__all__ = ["WrappedPath", "wrapped_path"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# iterations of Newton's method up to which the next step is longer, and that factor; not in the
# first steps after one that failed
_FEW, _GROWTH, _CAUTIOUS = 8, 1.5, 4
# shortest step, over the longest
_SHORTEST = 2.0**-20
# resistance to slip in the first guess of friction, over mu c with c = `problem.stiffness`
_RESISTANCE = 0.1
# step, over the longest, below which rods without friction relax to their next equilibrium. Chosen
_SNAPS = 2.0**-6
# energy that a step without friction may lose, over the stored energy or the work in the step;
# beyond it, the step is halved. Chosen: a tenth of what the whole path may lose. And the
# displacements in half a step, over those in the step, that are continuous: 0.5 where the path is
# smooth, 1 - 0.5 ** 0.5 before a fold
_LOST, _HALF = 1e-4, (0.25, 0.85)
# step at which the loss of hold is located, over the longest
_LOCATED = 2.0**-10
# relative distance of friction from its bound that counts as none, where hold is lost
_AT_BOUND = 1e-3
# relaxation: drag of the first step over c, its factor after a step that fails, its bound over c,
# and the most steps. Chosen
_DRAG, _MORE_DRAG, _MOST_DRAG, _MOST_RELAXATIONS = 0.1, 3.0, 1e6, 1000
# its factor after a step of up to so many iterations. Chosen: few iterations mean that the rods
# have come near their equilibrium
_LESS_DRAG = ((3, 0.01), (6, 0.6), (9, 0.85))


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


class _Energies(NamedTuple):
    """Stored energy; work, (contact,) heat of friction, and heat of drag since the start [J].

    With inertia: kinetic energy, and what implicit Euler dissipates since the start.
    """

    stored: float
    work: float
    heat: Floats
    drag: float = 0.0
    kinetic: float = 0.0
    scheme: float = 0.0


class _Balance(NamedTuple):
    """Forces at a state, its supports, and energies with what the step to it loses [J].

    forces : of loads and supports, of bodies, and tractions
    inertial : (2, 3, slots) inertial forces and torques, zero without inertia [N], [N m]
    exchanged : sum of the absolute works of loads and supports at all nodes in the step [J]
    """

    forces: tuple[Floats, Floats, Floats]
    supports: Floats
    inertial: Floats
    energy: _Energies
    lost: float
    exchanged: float


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
    check_bounds(tolerance, steps, max_steps, max_iterations)
    why, try_ = "equilibria are found at rising times.", "give [0.0, 1.0]."
    times = numbers("wrapped_path.times", times, unit="s", why=why, try_=try_)
    if times.size < 2 or not (np.diff(times) > 0.0).all():
        got, needs = f"{times.tolist()}", "two rising times or more"
        raise ModelError("wrapped_path.times", got, needs, why, try_)
    rods = (rod,) if isinstance(rod, CosseratRod) or not isinstance(rod, Sequence) else tuple(rod)
    check_rods(rods, partners, self_contact=self_contact)
    check_turn(turn, rods, self_contact=self_contact)
    mu = check_friction(friction, rods)
    if inertia:
        check_inertia(rods)
    held = inertia or check_supports(rods, mu)
    problem = WrappedProblem(
        rods, partners, float(times[0]), tolerance, max_iterations, self_contact, turn
    )
    longest, rough = float(times[-1] - times[0]) / steps, friction is not None
    stepper = _Stepper(problem, mu, max_steps, longest, held=held, has_friction=rough)
    stepper.start(0.0 if settle else mu, inertia=inertia, settle=settle)
    for time in times[1:].tolist():
        stepper.advance(time)
        stepper.save()
        if stepper.losses and stepper.losses[-1].ends_run:
            break
    return stepper.path()


class _Stepper:
    """The state of rods on their path, its energies, and extremes over all steps."""

    def __init__(
        self,
        problem: WrappedProblem,
        mu: float,
        max_steps: int,
        longest: float,
        *,
        held: bool,
        has_friction: bool,
    ) -> None:
        self.problem, self.mu, self.max_steps = problem, mu, max_steps
        self.longest, self.held, self.has_friction = longest, held, has_friction
        self.state = problem.initial()
        self.solution: Solution
        self.forces: tuple[Floats, Floats, Floats]
        self.supports: Floats
        count = len(problem.contacts.node)
        self.energy = _Energies(0.0, 0.0, np.zeros(count))
        self.slip = np.zeros(count)
        self.inertial = np.zeros((2, *problem.static.r.shape))
        self.gap: Floats
        self.step_length = longest
        self.steps = self.iterations = 0
        self.worst = dict.fromkeys(
            ("residual", "beyond", "gained", "depth", "stuck", "overlap"), (0.0, 0.0)
        )
        self.saved: list[tuple[Any, ...]] = []
        # time [s], kinetic and stored energy, work, heat of friction, of drag and of the scheme [J]
        # of every step
        self.every: list[tuple[float, ...]] = []
        self.losses: list[Loss] = []

    def start(self, mu: float, *, inertia: bool, settle: bool) -> None:
        """Apply loads and natural curvature of the first time, from the given centreline."""
        problem = self.problem
        places = problem.placements(self.state.time)
        reference = problem.reference(self.state, self.state.time)
        at = problem.kinematics(reference, self.state.basis, places)
        check_gaps(at.gap, problem.contacts, problem.strands, len(problem.partners))
        check_overlap(problem.rods, [self.state.r[:, s.nodes].T for s in problem.strands])
        self._check_fineness(at, at.gap <= TOUCHING * problem.contacts.radius)
        if inertia and not settle:
            self.state, self.solution = problem.given_state(self.state)
        else:
            self._relax(self.state.time, mu)
        if inertia:
            velocity = initial_velocity(problem.rods, problem.static)
            self.state = self.state._replace(velocity=velocity)
        # the path of slip starts here
        self._accept(None)
        self.save()

    def _relax(self, time: float, mu: float) -> None:
        """Let the rods move from the given centreline against drag, until they rest.

        Loads and natural curvature act in full. The less a step of implicit Euler moves the rods,
        the less the drag of the next one: the motion is no model, its end is an equilibrium. So
        rods come to rest that no path of equilibria leads to, such as a knot tied in a straight
        rod, and rods that slide freely.
        """
        problem, drag = self.problem, _DRAG * self.problem.stiffness
        guess = self._guess(mu, time) if mu > 0.0 else None
        state = self.state
        for _ in range(_MOST_RELAXATIONS):
            found = problem.newton(state, time, mu=mu, drag=drag, guess=guess)
            guess = None
            if found is None:
                drag *= _MORE_DRAG
                if drag > _MOST_DRAG * problem.stiffness:
                    break
                continue
            state, solution = found
            taken = solution.iterations
            self.iterations += taken
            if solution.drag <= problem.tolerance:
                self.state, self.solution = found
                return
            drag *= next((factor for most, factor in _LESS_DRAG if taken <= most), 1.0)
        raise self._unsolved(f"a relaxation with the drag {drag:.3g} N/m")

    def _guess(self, mu: float, time: float) -> State | None:
        """Return the state with viscosity in place of friction, then limited to Coulomb's bound.

        Without forces of contact all bounds are zero, so no direction of slip is known.
        """
        problem, slow = self.problem, _RESISTANCE * mu * self.problem.stiffness
        found = problem.newton(self.state, time, mu=0.0, viscosity=slow)
        if found is None:
            return None
        traction = found[0].traction.copy()
        size, bound = np.linalg.norm(traction[:, 1:], axis=1), mu * traction[:, 0]
        traction[:, 1:] *= (bound / np.maximum(size, np.maximum(bound, 1e-300)))[:, None]
        return found[0]._replace(traction=traction)

    def advance(self, end: float) -> None:
        """Take steps to the time `end`, or to a loss; halve a step that fails."""
        cautious = 0
        while self.state.time < end:
            if self.steps >= self.max_steps:
                raise self._unsolved(f"{self.steps} steps, the most allowed")
            target = self.state.time + self.step_length
            # no step much shorter than the last
            target = end if target > end - 1e-3 * self.step_length else target
            touches = self.mu == 0.0 or (self.solution.laws.mode != OPEN).any()
            guess = None if touches else self._guess(self.mu, target)
            found = self.problem.newton(self.state, target, mu=self.mu, guess=guess)
            moves = self.state.velocity is not None
            if found is not None and self.mu == 0.0 and not moves:
                found = self._near(found, target)
            if found is None:
                self.step_length = 0.5 * (target - self.state.time)
                cautious = _CAUTIOUS
                if self._loses_hold(self.step_length):
                    return
                if self.step_length < _SHORTEST * self.longest:
                    raise self._unsolved(f"{self.steps} steps")
                if moves or self.mu > 0.0 or self.step_length > _SNAPS * self.longest:
                    continue
            before = self.state
            if found is None:
                self._relax(target, 0.0)
            else:
                self.state, self.solution = found
                self.iterations += self.solution.iterations
            self.steps += 1
            self._accept(before, snaps=found is None)
            if found is None:
                self.step_length = _SNAPS * self.longest
            cautious -= 1
            if self.solution.iterations <= _FEW and cautious <= 0:
                self.step_length = min(self.longest, _GROWTH * self.step_length)

    def _loses_hold(self, step: float) -> bool:
        """Return whether a failed step means that nothing holds the rod, and record that.

        With all friction at its bound a rod without held ends has a rigid motion.
        """
        if self.held or step > _LOCATED * self.longest:
            return False
        traction, closed = self.state.traction, self.solution.laws.mode != OPEN
        size, bound = np.linalg.norm(traction[:, 1:], axis=1), self.mu * traction[:, 0]
        if (size < (1.0 - _AT_BOUND) * bound)[closed].any():
            return False
        where = {"closed": int(closed.sum()), "open": int((~closed).sum())}
        self.losses.append(Loss(self.state.time, "no_continuation", where, "the path ends here"))
        return True

    def _unsolved(self, after: str) -> SolveError:
        if self.state.traction.any():
            mode = self.solution.laws.mode
            closed, sticks = int((mode != OPEN).sum()), int((mode == STICK).sum())
            after += f", with {sticks} of {closed} closed contacts in stick"
        found = self._path_so_far() if self.saved else None
        moves = self.state.velocity is not None
        sought = "state of motion" if moves else "equilibrium"
        why = "a rod can snap under dead loads, or roll freely on a body"
        why = "steps may also be too short for the rounding of places" if moves else why
        return SolveError(
            f"wrapped_path: got no {sought} beyond t = {self.state.time:.9g} s, after {after}; "
            "needs forces in balance.\n"
            f"Why: Newton's method did not converge, even with short steps; {why}.\n"
            "Try: a Driven or Clamped end, more elements or steps, or a stiffer twist.",
            path=found,
        )

    def _path_so_far(self) -> WrappedPath:
        """Return the path to the last equilibrium, which the iteration that failed has left."""
        if self.state.time > self.saved[-1][0]:
            self.problem.static.restore((self.state.r, self.state.q))
            self.save()
        return self.path()

    def _check_fineness(self, at: Kinematics, closed: npt.NDArray[np.bool_]) -> None:
        pairs = at.pairs
        touching = pairs.nodes[closed][pairs.share[closed] != 0.0]
        for rod, strand in enumerate(self.problem.strands, start=1):
            check_fineness(rod, self.state.r[:, strand.nodes].T, touching - strand.node)

    # ---- accounting

    def _balance(self, before: State | None, state: State, solution: Solution) -> _Balance:
        """Return forces and energies of a state that was just found, after a step from `before`."""
        problem, at = self.problem, solution.at
        loads = problem.loads_at(state.time)
        contacts = problem.contact_forces(at, state.traction)
        # what supports add to balance the rest
        supported = ~problem.static.free.reshape(-1, 2, 3).transpose(1, 2, 0)
        balance = problem.elastic() + loads + contacts
        resisted = 0.0 if state.velocity is None else problem.inertia.drag * state.velocity
        inertial = self._inertial(before, state, np.where(supported, 0.0, balance - resisted))
        supports = np.where(supported, inertial + resisted - balance, 0.0)
        stored, kinetic = problem.stored_energy(), problem.kinetic_energy(state)
        after = (loads + supports, self._pull_of_partners(state, at), state.traction)
        if before is None:
            energy = _Energies(stored, 0.0, self.energy.heat, 0.0, kinetic)
            return _Balance(after, supports, inertial, energy, 0.0, 0.0)
        mean = [0.5 * (x + y) for x, y in zip(self.forces, after, strict=True)]
        turn, _ = rotation_since(before.q.T, state.q.T)
        moves = np.stack([state.r - before.r, turn.T])
        each = mean[0] * moves
        work = float(each.sum()) + self._work_of_partners(before, state.time, mean[1])
        heat = -(mean[2][:, 1:] * at.slip).sum(axis=1)
        old, scheme, drag = self.energy, 0.0, 0.0
        if state.velocity is not None and before.velocity is not None:
            mean_velocity = 0.5 * (before.velocity + state.velocity)
            drag = float((problem.inertia.drag * mean_velocity * moves).sum())
            # the law of motion holds at the end of the step, work is that of mean forces
            scheme = problem.dissipated(before, state)
            scheme -= 0.5 * float(((inertial - self.inertial) * moves).sum())
            # contacts that close or open within the step
            scheme -= float((mean[2][:, 0] * (at.gap - self.gap)).sum())
        lost = old.stored + old.kinetic + work - stored - kinetic - float(heat.sum())
        lost -= scheme + drag
        sums = old.work + work, old.heat + heat, old.drag + drag
        energy = _Energies(stored, *sums, kinetic, old.scheme + scheme)
        return _Balance(after, supports, inertial, energy, lost, float(np.abs(each).sum()))

    def _inertial(self, before: State | None, state: State, unbalanced: Floats) -> Floats:
        """Return (2, 3, slots) inertial forces and torques at the end of a step.

        unbalanced : those at the start of the motion, where no support acts
        """
        if state.velocity is None:
            return np.zeros_like(unbalanced)
        if before is None:
            return unbalanced
        motion = self.problem.motion(before, state.time)
        assert motion is not None
        return motion.forces(state.velocity, state.q)

    def _near(self, found: tuple[State, Solution], end: float) -> tuple[State, Solution] | None:
        """Return the state that Newton's method found at `end`; None to halve the step, or to snap.

        A step to a distant equilibrium loses energy. So does one in which contact begins, but then
        half of the step moves the rods by about half as much.
        """
        balance, begin = self._balance(self.state, *found), self.state.time
        if abs(balance.lost) <= _LOST * max(balance.energy.stored, balance.exchanged):
            return found
        if end - begin > (1.0 + 1e-6) * _SNAPS * self.longest:
            return None
        half = self.problem.newton(self.state, 0.5 * (begin + end), mu=0.0)
        moved = [np.abs(one[0].r - self.state.r).max() for one in (half, found) if one is not None]
        if balance.lost > 0.0 and not (
            half is not None and _HALF[0] * moved[1] <= moved[0] <= _HALF[1] * moved[1]
        ):
            return None
        # the problem has the forces of the state that is accepted
        return self.problem.newton(self.state, end, mu=0.0)

    def _accept(self, before: State | None, *, snaps: bool = False) -> None:
        """Account for an accepted step: energies, slip, extremes.

        snaps : whether the step was a motion against drag. Its heat is the energy that the rods
            lose; a gain of energy is none, and remains as an imbalance
        """
        at, mode = self.solution.at, self.solution.laws.mode
        self._check_fineness(at, mode != OPEN)
        self.forces, self.supports, self.inertial, self.energy, lost, _ = self._balance(
            before, self.state, self.solution
        )
        self.gap = at.gap
        if before is not None:
            if snaps:
                drag = max(lost, 0.0)
                self.energy = self.energy._replace(drag=self.energy.drag + drag)
                self._note_snap(before, drag)
            self.slip = self.slip + np.linalg.norm(at.slip, axis=1) * (mode == SLIP)
            self._extremes()
        e = self.energy
        self.every.append(
            (self.state.time, e.kinetic, e.stored, e.work, float(e.heat.sum()), e.drag, e.scheme)
        )

    def _note_snap(self, before: State, drag: float) -> None:
        """Record the motion to another equilibrium, where none was found beside the last one.

        Rods without friction that slide freely meet such places too, without a change of energy.
        """
        moved = float(np.abs(self.state.r - before.r).max())
        where = {"largest displacement": moved, "heat of drag": drag}
        choice = "the next equilibrium, reached by a motion under viscous drag"
        units = {"largest displacement": "m", "heat of drag": "J"}
        self.losses.append(Loss(self.state.time, "limit_point", where, choice, units))

    def _pull_of_partners(self, state: State, at: Kinematics) -> Floats:
        """Return (partner, 2, 3) forces of bodies on the rod, and moments about their pivots."""
        problem = self.problem
        count, each = problem.contacts.bodies, len(problem.partners)
        force = force_and_moment(at, state.traction)[0][:count]
        points = state.r[:, problem.contacts.node[:count]].T
        points = points - problem.contacts.radius * at.normal[:count]
        return np.array(
            [
                [
                    force[j::each].sum(axis=0),
                    np.cross(points[j::each] - place.pivot, force[j::each]).sum(axis=0),
                ]
                for j, place in enumerate(problem.placements(state.time))
            ]
        )

    def _work_of_partners(self, before: State, time: float, pull: Floats) -> float:
        from scipy.spatial.transform import Rotation

        work, problem = 0.0, self.problem
        places = zip(problem.placements(before.time), problem.placements(time), strict=True)
        for (force, moment), (old, new) in zip(pull, places, strict=True):
            turn = Rotation.from_matrix(new.turn @ old.turn.T).as_rotvec()
            work += float(force @ (new.pivot - old.pivot) + moment @ turn)
        return work

    def _extremes(self) -> None:
        at, traction, mode = self.solution.at, self.state.traction, self.solution.laws.mode
        normal, size = traction[:, 0], np.linalg.norm(traction[:, 1:], axis=1)
        self.problem.elastic()
        power = (traction[:, 1:] * at.slip).sum(axis=1)
        slip = np.linalg.norm(at.slip, axis=1)
        values = {
            "residual": self.solution.residual,
            "beyond": float((size - self.mu * normal).max(initial=0.0))
            / self.problem.force_scale(),
            "gained": float(power.max(initial=0.0)),
            "depth": float(-at.gap.min(initial=0.0)),
            "stuck": float(slip[mode == STICK].max(initial=0.0)),
            "overlap": overlap(
                self.problem.rods, [self.state.r[:, x.nodes].T for x in self.problem.strands]
            ),
        }
        for name, value in values.items():
            # NaN replaces what was, and stays
            if not (value <= self.worst[name][0] or np.isnan(self.worst[name][0])):
                self.worst[name] = value, self.state.time

    # ---- results

    def _reactions(self) -> tuple[Floats, Floats]:
        """Return (rod, 2, 3) forces and moments of supports, see `WrappedPath`."""
        force, moment = np.zeros((2, len(self.problem.rods), 2, 3))
        for i, strand in enumerate(self.problem.strands):
            first, last = strand.node, strand.node + strand.elements
            middle = (first + last) // 2
            for k, part in enumerate((slice(first - 1, middle), slice(middle, last + 1))):
                arm = self.state.r[:, part] - self.state.r[:, [(first, last)[k]]]
                pull, turn = self.supports[:, :, part]
                force[i, k] = pull.sum(axis=1)
                moment[i, k] = (np.cross(arm, pull, axis=0) + turn).sum(axis=1)
        return force, moment

    def _velocity(self) -> Floats:
        """Return (3, slots) velocities of nodes, zero without inertia [m/s]."""
        velocity = self.state.velocity
        return np.zeros_like(self.state.r) if velocity is None else velocity[0]

    def save(self) -> None:
        """Record the state."""
        problem, at = self.problem, self.solution.at
        problem.elastic()  # leaves the forces of the elements in `scratch`
        static = problem.static
        n = static.scratch[0:3, static.elements]
        axis = third_directors(self.state.q)[:, static.elements]
        force, _ = force_and_moment(at, self.state.traction)
        self.saved.append(
            (
                self.state.time,
                self.state.r[:, static.nodes].T,
                self._velocity()[:, static.nodes].T,
                n.T.copy(),
                (n * axis).sum(axis=0),
                self.solution.laws.mode,
                at.gap,
                self.state.traction[:, 0],
                force,
                self.slip,
                *problem.largest_strains(),
                *self._reactions(),
                self.solution.residual,
                self.energy,
            )
        )

    def path(self) -> WrappedPath:
        """Return the results."""
        columns = list(zip(*self.saved, strict=True))
        arrays = [np.array(column) for column in columns[:-1]]
        time = arrays[0]
        energies = columns[-1]
        ledger = Ledger(
            time=time,
            kinetic=np.array([e.kinetic for e in energies]),
            stored=np.array([e.stored for e in energies]),
            external_work=np.array([e.work for e in energies]),
            friction_heat=np.array([e.heat for e in energies]),
            viscous_heat=np.array([e.drag for e in energies]),
            algorithmic=np.array([e.scheme for e in energies]),
        )
        contacts, static = self.problem.contacts, self.problem.static
        names = (
            *("time", "position", "velocity", "section_force", "tension", "mode", "gap"),
            *("normal_force", "contact_force", "slip", "strain", "bending_strain"),
            *("clamp_force", "clamp_moment", "residual"),
        )
        return WrappedPath(
            **dict(zip(names, arrays, strict=True)),
            elements=[rod.elements for rod in self.problem.rods],
            node=np.searchsorted(static.nodes, contacts.node),
            partner=contacts.partner,
            energy=ledger,
            audit=Audit(self._checks(self._ledger_of_steps())),
            steps=self.steps,
            iterations=self.iterations,
            losses=tuple(self.losses),
        )

    def _ledger_of_steps(self) -> Ledger:
        """Return the ledger of all steps, whose heat is that of all contacts together."""
        time, kinetic, stored, work, heat, drag, scheme = np.array(self.every).T
        return Ledger(
            time, kinetic, stored, work, heat[:, None], viscous_heat=drag, algorithmic=scheme
        )

    def _checks(self, ledger: Ledger) -> list[Check]:
        worst, tolerance = self.worst, self.problem.tolerance
        value, when = worst["residual"]
        note = "largest residual of forces and laws over the largest force in the rod"
        solved = bool(value <= tolerance)
        checks = [Check("contacts_solved", solved, value, tolerance, when, note, Kind.CONVERGENCE)]
        # strains at their rounding have an energy, which rods at rest may have alone
        floor = (
            0.5e-13 * self.problem.static.rounding * max(r.rest_length for r in self.problem.rods)
        )
        still = float(np.abs(ledger.imbalance).max()) <= floor
        value, limit = 0.0 if still else ledger.imbalance_rel, 1e-3
        note = "largest energy imbalance over the largest energy; falls as the step squared"
        checks.append(Check("ledger_closes", bool(value <= limit), value, limit, None, note))
        (value, when), limit = worst["depth"], 1e-6 * self.problem.contacts.radius
        note = "deepest node inside a body or a rod [m]"
        checks.append(Check("no_interpenetration", bool(value <= limit), value, limit, when, note))
        (value, when), limit = worst["overlap"], MOST_OVERLAP
        note = "deepest overlap of rods at nodes, or above 0.02 between nodes, over the radius"
        checks.append(Check("no_overlap", bool(value <= limit), value, limit, when, note))
        if not self.has_friction:
            return checks
        value, when = worst["beyond"]
        limit = 10.0 * tolerance
        note = "friction beyond its bound, over the largest force in the rod"
        checks.append(
            Check("friction_within_bound", bool(value <= limit), value, limit, when, note)
        )
        (value, when), limit = worst["gained"], 1e-8 * ledger.scale
        note = "largest positive work of friction in a step [J]; friction must dissipate"
        checks.append(Check("friction_dissipates", bool(value <= limit), value, limit, when, note))
        (value, when), limit = (
            worst["stuck"],
            1e-9 * max(rod.rest_length for rod in self.problem.rods),
        )
        note = "largest slip of a sticking contact in a step [m]"
        checks.append(Check("rolls_without_slip", bool(value <= limit), value, limit, when, note))
        return checks
