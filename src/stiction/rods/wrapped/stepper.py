"""Steps of rods along a history of loads, ends and bodies: equilibria, or motion.

`problem` solves for the state at the end of a step: balance of forces with Signorini's and
Coulomb's laws. A step that fails is halved; after few iterations the next one is longer. The first
equilibrium is the end of a motion against artificial drag. Work and friction heat are trapezoidal
sums over steps. `outcome.run_wrapped` calls `Stepper.run`. Source:
docs/decisions/41-wrapped-rods.md.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, check_arrays, check_count, like, unpacking
from stiction.core.determinism import Loss
from stiction.core.driver import Pause
from stiction.core.interrupts import uninterrupted
from stiction.errors import ModelError, SolveError, Status
from stiction.laws.coulomb import Coulomb
from stiction.rods.assembly import third_directors
from stiction.rods.contact.partners import RodPartner
from stiction.rods.rod import CosseratRod
from stiction.rods.wrapped.checks import (
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

if TYPE_CHECKING:
    from stiction.rods.methods import ImplicitContact

__all__ = ["ENERGIES", "Row", "Stepper"]

Floats = npt.NDArray[np.float64]

# energies of a row besides the heat of friction, see `_Energies`
ENERGIES = ("stored", "work", "drag", "kinetic", "scheme")

# iterations of Newton's method up to which the next step is longer, and that factor; not in the
# first steps after one that failed
_FEW, _GROWTH, _CAUTIOUS = 8, 1.5, 4
# shortest step, over the longest
_SHORTEST = 2.0**-20
# most by which a body or an end turns in a step [rad]: after a whole turn a node that slipped would
# be where it was. Chosen
_MOST_TURN = 0.5 * np.pi
# resistance to slip in the first guess of friction, over mu c with c = `problem.stiffness`
_RESISTANCE = 0.1
# step, over the longest, below which rods without friction, and held rods with friction, relax to
# their next equilibrium. Chosen
_SNAPS, _SLIPS = 2.0**-6, 2.0**-14
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
# pairs (most iterations of a step, factor of the drag after it). Chosen: few iterations mean that
# the rods have come near their equilibrium
_LESS_DRAG = ((3, 0.01), (6, 0.6), (9, 0.85))


class _Energies(NamedTuple):
    """Energies at a time, sums from the start [J].

    stored : elastic energy
    work, drag : work of loads, supports and bodies; heat of drag
    heat : (contact,) heat of friction
    kinetic, scheme : with inertia: kinetic energy; dissipation by implicit Euler
    """

    stored: float
    work: float
    heat: Floats
    drag: float = 0.0
    kinetic: float = 0.0
    scheme: float = 0.0


class _Balance(NamedTuple):
    """Forces at a state, its supports, and energies with the loss in the step to it [J].

    forces : (2, 3, slots) of loads and supports; (partner, 2, 3) of bodies, with moments about
        their pivots; (contact, 3) of contacts [N], [N m]
    supports : (2, 3, slots) forces and torques of the supports [N], [N m]
    lost : energy lost in the step [J]
    inertial : (2, 3, slots) inertial forces and torques, zero without inertia [N], [N m]
    exchanged : sum of the absolute works of loads and supports at all nodes in the step [J]
    """

    forces: tuple[Floats, Floats, Floats]
    supports: Floats
    inertial: Floats
    energy: _Energies
    lost: float
    exchanged: float


class Row(NamedTuple):
    """A saved state; units are those of the variables of the run.

    position, velocity : (node, 3)
    section_force, tension : (element, 3), (element,)
    mode, gap, normal_force, slip, heat : (contact,) heat of friction since the start [J]
    contact_force, contact_point : (contact, 3), one radius from the node towards the other axis
    clamp_force, clamp_moment : (rod, 2, 3)
    energy : `ENERGIES` [J]
    """

    time: float
    position: Floats
    velocity: Floats
    section_force: Floats
    tension: Floats
    mode: npt.NDArray[np.int64]
    gap: Floats
    normal_force: Floats
    contact_force: Floats
    contact_point: Floats
    slip: Floats
    strain: float
    bending_strain: float
    clamp_force: Floats
    clamp_moment: Floats
    residual: float
    heat: Floats
    energy: Floats


class Stepper:
    """The state of rods on their path, its energies, and extremes over all steps.

    Parameters
    ----------
    rods, partners : as of `Rods`
    friction : Coulomb's law
    self_contact : whether each rod may touch itself
    every_step : whether states are saved after each step
    method : `Quasistatic` or `ImplicitEuler`
    times : (t,) rising; states are saved there [s]
    """

    def __init__(
        self,
        rods: Sequence[CosseratRod],
        partners: Sequence[RodPartner],
        friction: Coulomb,
        method: ImplicitContact,
        times: Floats,
        *,
        self_contact: bool,
        every_step: bool,
    ) -> None:
        check_rods(rods, partners, self_contact=self_contact)
        check_turn(method, rods, self_contact=self_contact)
        self.mu = check_friction(friction, rods)
        if method.inertia:
            check_inertia(rods)
        self.held = method.inertia or check_supports(rods, self.mu)
        start, bounds = float(times[0]), (method.tolerance, method.max_iterations)
        self.problem = problem = WrappedProblem(
            rods, partners, start, *bounds, self_contact, method.turn
        )
        self.method, self.times, self.every_step = method, times, every_step
        self.longest = self.step_length = method.longest_step(start, float(times[-1]))
        turning = [*partners, *(end for rod in rods for end in (rod.left, rod.right))]
        spins = [float(np.linalg.norm(getattr(x, "angular_velocity", 0.0))) for x in turning]
        # longest step in which nothing turns by more than `_MOST_TURN`
        self.turning = _MOST_TURN / max(max(spins), 1e-300)
        self.state = problem.initial()
        self.solution: Solution
        self.forces: tuple[Floats, Floats, Floats]
        self.supports: Floats
        count = len(problem.contacts.node)
        self.energy = _Energies(0.0, 0.0, np.zeros(count))
        self.slip = np.zeros(count)
        self.inertial = np.zeros((2, *problem.static.r.shape))
        self.at: Kinematics
        # (contact,) heat of friction [J] and slip [m] of the last motion against drag
        self.relaxed = 0.0 * self.slip, 0.0 * self.slip
        self.residual = 0.0
        self.gap, self.mode = np.zeros(count), np.zeros(count, dtype=np.int64)
        self.steps = self.iterations = self.cautious = 0
        # largest value over all steps and its time [s]
        self.worst = dict.fromkeys(
            ("residual", "beyond", "gained", "depth", "stuck", "overlap"), (0.0, 0.0)
        )
        self.saved: list[Row] = []
        # time [s], kinetic and stored energy, work, heat of friction, of drag and of the scheme [J]
        # of every step
        self.every: list[tuple[float, ...]] = []
        self.losses: list[Loss] = []

    def run(
        self, checkpoint: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> Generator[Pause, None, tuple[Status, str]]:
        """Save states at all times, or up to where the path ends; return status and reason.

        Parameters
        ----------
        checkpoint : arrays of a run that was interrupted; None for a new run

        Raises
        ------
        SolveError : where not even the state at the first time is found.
        """
        if checkpoint is None:
            method = self.method
            mu = 0.0 if method.settle else self.mu
            yield from self._start(mu, inertia=method.inertia, settle=method.settle)
        else:
            self._resume(checkpoint)
        for time in self.times[self.times > self.saved[-1].time].tolist():
            status, reason = yield from self._advance(time)
            if status is not Status.SOLVED:
                self._save_last()
                return status, reason
            self._save()
        return Status.SOLVED, ""

    def _start(self, mu: float, *, inertia: bool, settle: bool) -> Generator[Pause, None, None]:
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
            if failed := (yield from self._relax(self.state.time, mu)):
                raise SolveError(self.unsolved(failed))
        if inertia:
            velocity = initial_velocity(problem.rods, problem.static)
            self.state = self.state._replace(velocity=velocity)
        # the path of slip starts here
        self._accept(None)
        self._save()

    def _relax(self, time: float, mu: float) -> Generator[Pause, None, str]:
        """Let the rods move from where they are against drag, until they rest; "" if they do.

        Loads and natural curvature act in full. The less a step of implicit Euler moves the rods,
        the less the drag of the next one: the motion is no model, its end is an equilibrium. So
        rods come to rest that no path of equilibria leads to, such as a knot tied in a straight
        rod, and rods that slide freely.
        """
        problem, drag = self.problem, _DRAG * self.problem.stiffness
        guess = self._guess(mu, time) if mu > 0.0 else None
        state = self.state
        self.relaxed = 0.0 * self.slip, 0.0 * self.slip
        for count in range(_MOST_RELAXATIONS):
            yield Pause(self._done(), f"step {count + 1} of a motion against drag")
            found = problem.newton(state, time, mu=mu, drag=drag, guess=guess)
            guess = None
            if found is None:
                drag *= _MORE_DRAG
                if drag > _MOST_DRAG * problem.stiffness:
                    break
                continue
            state, solution = found
            heat = -(state.traction[:, 1:] * solution.at.slip).sum(axis=1)
            length = np.linalg.norm(solution.at.slip, axis=1) * (solution.laws.mode == SLIP)
            self.relaxed = self.relaxed[0] + heat, self.relaxed[1] + length
            taken = solution.iterations
            self.iterations += taken
            if solution.drag <= problem.tolerance:
                self.state, self.solution = found
                return ""
            drag *= next((factor for most, factor in _LESS_DRAG if taken <= most), 1.0)
        return f"a relaxation with the drag {drag:.3g} N/m"

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

    def _advance(self, end: float) -> Generator[Pause, None, tuple[Status, str]]:
        """Take steps to the time `end`, or to a loss; halve a step that fails.

        Returns
        -------
        SOLVED, or how the path ends, and why.
        """
        while self.state.time < end:
            yield Pause(self._done(), f"{self.steps} steps", self.packed)
            if self.steps >= self.method.max_steps:
                when = f"at t = {self.state.time:.9g} s"
                return Status.WORK_LIMIT, f"{self.steps} steps, the most allowed, ended {when}"
            target = self.state.time + min(self.step_length, self.turning)
            # no step much shorter than the last
            target = end if target > end - 1e-3 * self.step_length else target
            with uninterrupted():
                found = self._try(target)
            moves = self.state.velocity is not None
            if found is None:
                self.step_length = 0.5 * (target - self.state.time)
                self.cautious = _CAUTIOUS
                if self._loses_hold(self.step_length):
                    return Status.NO_CONTINUATION, "all friction is at its bound, and loads rise"
                if self.step_length < _SHORTEST * self.longest:
                    return Status.UNCONVERGED, self.unsolved(f"{self.steps} steps")
                snaps = _SLIPS if self.mu > 0.0 else _SNAPS
                if moves or not self.held or self.step_length > snaps * self.longest:
                    continue
                if self.mu > 0.0:
                    # the motion starts where steps have become too short to go on
                    longer = min(_SNAPS * self.longest, self.turning)
                    target = min(self.state.time + longer, end)
            before = self.state
            if found is not None:
                self.state, self.solution = found
                self.iterations += self.solution.iterations
            elif failed := (yield from self._relax(target, self.mu)):
                return Status.UNCONVERGED, self.unsolved(failed)
            try:
                self._accept(before, snaps=found is None)
            except ModelError as error:
                # contact reached a place where the elements are too long
                self.state = before
                reason = str(error).replace(".\nWhy:", ", because")
                return Status.UNCONVERGED, reason.replace("\nTry:", " Try:")
            self.steps += 1
            if self.every_step and self.state.time < end:
                self._save()
            if found is None:
                self.step_length = _SNAPS * self.longest
            self.cautious -= 1
            if self.solution.iterations <= _FEW and self.cautious <= 0:
                self.step_length = min(self.longest, _GROWTH * self.step_length)
        return Status.SOLVED, ""

    def _try(self, target: float) -> tuple[State, Solution] | None:
        """Return the state after a step to the time `target`; None if the step is too long."""
        touches = self.mu == 0.0 or (self.mode != OPEN).any()
        guess = None if touches else self._guess(self.mu, target)
        found = self.problem.newton(self.state, target, mu=self.mu, guess=guess)
        if found is not None and self.mu == 0.0 and self.state.velocity is None:
            found = self._near(found, target)
        return found

    def _done(self) -> float:
        """Return the completed fraction of the time span [1]."""
        begin, end = float(self.times[0]), float(self.times[-1])
        return (self.state.time - begin) / (end - begin)

    def _loses_hold(self, step: float) -> bool:
        """Return whether a failed step means that nothing holds the rod, and record that.

        With all friction at its bound a rod without held ends has a rigid motion.
        """
        if self.held or step > _LOCATED * self.longest:
            return False
        traction, closed = self.state.traction, self.mode != OPEN
        size, bound = np.linalg.norm(traction[:, 1:], axis=1), self.mu * traction[:, 0]
        if (size < (1.0 - _AT_BOUND) * bound)[closed].any():
            return False
        where = {"closed": int(closed.sum()), "open": int((~closed).sum())}
        self.losses.append(Loss(self.state.time, "no_continuation", where, "the path ends here"))
        return True

    def unsolved(self, after: str) -> str:
        """Return the message where no further state is found."""
        if self.state.traction.any():
            closed, sticks = int((self.mode != OPEN).sum()), int((self.mode == STICK).sum())
            after += f", with {sticks} of {closed} closed contacts in stick"
        moves = self.state.velocity is not None
        sought = "state of motion" if moves else "equilibrium"
        why = "a rod can snap under dead loads, or roll freely on a body"
        why = "steps may be too short for the rounding of places" if moves else why
        return (
            f"got no {sought} beyond t = {self.state.time:.9g} s, after {after}; "
            f"needs forces in balance, but {why}.\n"
            "Why: Newton's method did not converge, even with short steps.\n"
            "Try: a Driven or Clamped end, settle=False if friction alone holds the rods, "
            "more elements or steps, or a stiffer twist."
        )

    def _save_last(self) -> None:
        """Save the last state on the path, which the iteration that failed has left."""
        if self.state.time > self.saved[-1].time:
            self.problem.static.restore((self.state.r, self.state.q))
            self._save()

    def _check_fineness(self, at: Kinematics, closed: npt.NDArray[np.bool_]) -> None:
        """Raise ModelError if an axis turns too much at nodes in closed contacts (k,)."""
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
        # forces of supports balance all others
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

        snaps : whether the step was a snap, a motion against drag to another equilibrium. The
            energy that the rods lose in it is heat; a gain is no heat, and remains as an imbalance
        """
        at, mode = self.solution.at, self.solution.laws.mode
        self._check_fineness(at, mode != OPEN)
        self.mode, old = mode, self.energy
        self.forces, self.supports, self.inertial, self.energy, lost, _ = self._balance(
            before, self.state, self.solution
        )
        self.at, self.gap, self.residual = at, at.gap, self.solution.residual
        if before is not None:
            slid = np.linalg.norm(at.slip, axis=1) * (mode == SLIP)
            if snaps:
                # friction acted in the whole motion, not only in its last step
                heat, slid = self.relaxed
                lost += float((self.energy.heat - old.heat - heat).sum())
                drag = max(lost, 0.0)
                self.energy = self.energy._replace(heat=old.heat + heat, drag=old.drag + drag)
                self._note_snap(before, drag)
            self.slip = self.slip + slid
            self._extremes()
        e = self.energy
        self.every.append(
            (self.state.time, e.kinetic, e.stored, e.work, float(e.heat.sum()), e.drag, e.scheme)
        )

    def _note_snap(self, before: State, drag: float) -> None:
        """Record a snap: the motion to another equilibrium, where none was found near the last.

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
        """Return the work [J] of bodies in a step to `time`; `pull` (partner, 2, 3) mean forces."""
        from scipy.spatial.transform import Rotation

        work, problem = 0.0, self.problem
        places = zip(problem.placements(before.time), problem.placements(time), strict=True)
        for (force, moment), (old, new) in zip(pull, places, strict=True):
            turn = Rotation.from_matrix(new.turn @ old.turn.T).as_rotvec()
            work += float(force @ (new.pivot - old.pivot) + moment @ turn)
        return work

    def _extremes(self) -> None:
        """Update `worst`, the extremes over all steps and their times, by the present state."""
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
        """Return (rod, 2, 3) forces of supports, and moments about the end nodes."""
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

    def _save(self) -> None:
        """Record the state."""
        problem, state, energy = self.problem, self.state, self.energy
        problem.elastic()  # leaves the forces of the elements in `scratch`
        static = problem.static
        n = static.scratch[0:3, static.elements]
        axis = third_directors(state.q)[:, static.elements]
        force, _ = force_and_moment(self.at, state.traction)
        contacts = problem.contacts
        point = state.r[:, contacts.node].T - contacts.radius * self.at.pairs.normal
        strain, bending_strain = problem.largest_strains()
        clamp_force, clamp_moment = self._reactions()
        self.saved.append(
            Row(
                time=state.time,
                position=state.r[:, static.nodes].T,
                velocity=self._velocity()[:, static.nodes].T,
                section_force=n.T.copy(),
                tension=(n * axis).sum(axis=0),
                mode=self.mode,
                gap=self.gap,
                normal_force=state.traction[:, 0],
                contact_force=force,
                contact_point=point,
                slip=self.slip,
                strain=strain,
                bending_strain=bending_strain,
                clamp_force=clamp_force,
                clamp_moment=clamp_moment,
                residual=self.residual,
                heat=energy.heat,
                energy=np.array([getattr(energy, name) for name in ENERGIES]),
            )
        )

    # ---- checkpoint

    def packed(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state as arrays of a checkpoint."""
        arrays = {name: np.array(value) for name, value in self._numbers().items()}
        for name in Row._fields:
            arrays[f"row_{name}"] = np.array([getattr(row, name) for row in self.saved])
        arrays["every"] = np.array(self.every)
        losses = [(x.time, x.kind, dict(x.where), x.choice, dict(x.units)) for x in self.losses]
        arrays["losses"] = np.array(json.dumps(losses))
        return arrays

    def _numbers(self) -> dict[str, Any]:
        """Return the variables that a step reads and changes, by name."""
        state, energy = self.state, self.energy
        loads, bodies, _ = self.forces
        moves = {} if state.velocity is None else {"velocity": state.velocity}
        return {
            **{name: getattr(state, name) for name in ("r", "q", "traction", "basis")},
            **moves,
            "clock": np.array([state.time, self.step_length]),
            "counts": np.array([self.steps, self.iterations, self.cautious]),
            "mode": self.mode,
            "gap": self.gap,
            "residual": np.array(self.residual),
            "loads": loads,
            "bodies": bodies,
            "supports": self.supports,
            "inertial": self.inertial,
            "slip": self.slip,
            "heat": energy.heat,
            "energy": np.array([getattr(energy, name) for name in ENERGIES]),
            "worst": np.array(list(self.worst.values())),
        }

    def _resume(self, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the state of a checkpoint."""
        problem, count = self.problem, len(self.slip)
        if self.method.inertia:
            velocity = np.zeros((2, *problem.static.r.shape))
            self.state = self.state._replace(velocity=velocity)
        loads = np.zeros((2, *problem.static.r.shape))
        bodies, rods = np.zeros((len(problem.partners), 2, 3)), len(problem.rods)
        self.forces, self.supports = (loads, bodies, self.state.traction), loads
        arrays = {name: like(np.asarray(x)) for name, x in self._numbers().items()}
        nodes, elements = len(problem.static.nodes), len(problem.static.elements)
        shapes = {
            **dict.fromkeys(("position", "velocity"), (nodes, 3)),
            "section_force": (elements, 3), "tension": (elements,),
            **dict.fromkeys(("contact_force", "contact_point"), (count, 3)),
            **dict.fromkeys(("mode", "gap", "normal_force", "slip", "heat"), (count,)),
            **dict.fromkeys(("clamp_force", "clamp_moment"), (rods, 2, 3)),
            "energy": (len(ENERGIES),),
        }  # fmt: skip
        for name in Row._fields:
            kind = "i8" if name == "mode" else "f8"
            arrays[f"row_{name}"] = Form(("saved", *shapes.get(name, ())), kind)
        arrays["every"], arrays["losses"] = Form(("steps", 7)), Form((), "U")
        check_arrays(saved, arrays)
        most = self.method.max_steps + 1 if self.every_step else len(self.times) - 1
        known = check_count("row_time", len(saved["row_time"]), 1, most)
        with unpacking():
            self.losses = [Loss(*loss) for loss in json.loads(str(saved["losses"]))]
        time, self.step_length = saved["clock"].tolist()
        self.steps, self.iterations, self.cautious = saved["counts"].tolist()
        r, q, traction, basis = (saved[name].copy() for name in ("r", "q", "traction", "basis"))
        self.state = State(r, q, traction, basis, time, saved.get("velocity"))
        self.mode, self.gap, self.residual = saved["mode"], saved["gap"], float(saved["residual"])
        self.forces = saved["loads"], saved["bodies"], self.state.traction
        self.supports, self.inertial, self.slip = (
            saved[name] for name in ("supports", "inertial", "slip")
        )
        energies = dict(zip(ENERGIES, saved["energy"].tolist(), strict=True))
        self.energy = _Energies(heat=saved["heat"], **energies)
        self.worst = dict(zip(self.worst, map(tuple, saved["worst"].tolist()), strict=True))
        self.every = list(map(tuple, saved["every"].tolist()))
        rows = [saved[f"row_{name}"] for name in Row._fields]
        self.saved = [Row(*row) for row in zip(*rows, strict=True)][:known]
        problem.static.restore((self.state.r, self.state.q))
        reference = problem.reference(self.state, time)
        self.at = problem.kinematics(reference, self.state.basis, problem.placements(time))
