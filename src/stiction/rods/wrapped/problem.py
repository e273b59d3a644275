"""The equations of rods in contact with bodies and rods at the end of a step, by Newton's method.

Unknowns are displacements of nodes, rotation vectors of frames, and tractions lambda of contacts:
forces [N], one normal and two tangential components. At the end of a step

    f_elastic + f_loads + f_contacts(lambda) - (p - p_0) / h - C w = 0

for forces and torques. The last two terms are in motion only (`inertia`): rates of the momenta p,
p_0 at the start of the step of length h, and drag, the coefficients C times the velocities w. The
contacts obey Signorini's and Coulomb's laws (`contact.laws`). A semismooth Newton method solves
both together, with a sparse LU factorisation. Only closed contacts enter; contacts close and open
when forces balance to 1e-3 (docs/decisions/41). `stepper` calls `WrappedProblem.newton`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.rods import rod_kernels as rk
from stiction.rods.assembly import tributary_lengths
from stiction.rods.contact.partners import RodPartner
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    Driven,
    LineForce,
    PointForce,
    PointMoment,
    RodLoad,
)
from stiction.rods.statics import BAND
from stiction.rods.supports.rotating_ends import product
from stiction.rods.wrapped.bundle import StaticRods
from stiction.rods.wrapped.contact import (
    Kinematics,
    Laws,
    Pairs,
    blocks,
    force_and_moment,
    kinematics,
    laws,
    only,
    rotation_since,
    tangential_basis,
)
from stiction.rods.wrapped.inertia import Inertia, Motion
from stiction.rods.wrapped.obstacles import Placement, elapsed, placement_at
from stiction.rods.wrapped.pairs import Contacts, Reference, Strand, all_pairs, contacts_of

if TYPE_CHECKING:
    from scipy.sparse import csc_array

__all__ = ["TOUCHING", "Solution", "State", "WrappedProblem"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# longest rotation of a Newton step [rad]
_MOST_TURN = 0.3
# depth at which a contact between rods closes, over the radius, whether forces balance or not
_DEEP = 0.02
# gap up to which a contact counts as closed at the start of a step, over the radius
TOUCHING = 1e-6


class State(NamedTuple):
    """Where rods and contacts are at a time.

    r, q : (3, slots), (4, slots) nodes and frames
    traction : (k, 3) lambda of the contacts [N]
    basis : (k, 3, 2) their tangential bases
    time : since the start [s]
    velocity : (2, 3, slots) of nodes, and angular velocities of frames; None without inertia
    """

    r: Floats
    q: Floats
    traction: Floats
    basis: Floats
    time: float
    velocity: Floats | None = None


class Solution(NamedTuple):
    """Result of Newton's method.

    at, laws : of the contacts
    residual : largest unbalanced force, or torque over the element length, over the largest force
        in the rod [1]
    drag : largest force or torque of drag in that balance, likewise [1]
    iterations : of Newton's method
    """

    at: Kinematics
    laws: Laws
    residual: float
    drag: float
    iterations: int


class _Given(NamedTuple):
    """State at the start of a step, and loads and laws at its end.

    start : rods at the start, moved with each body
    loads : (2, 3, slots) forces [N] and torques [N m] of the loads at the end
    places : poses of the bodies at the end
    mu, viscosity, stiffness : of the contact laws, see `laws`
    drag : artificial resistance of nodes, see `newton` [N/m]
    """

    start: Reference
    loads: Floats
    places: list[Placement]
    mu: float
    viscosity: float
    drag: float
    stiffness: tuple[float, float]
    motion: Motion | None = None


class _Trial(NamedTuple):
    """Residuals of a configuration: of forces and torques `right`, and of laws.

    at, traction : geometry of the k contacts, and their forces (k, 3) [N]
    closed : (k,) whether a contact is taken as closed
    right : (6 slots,) unbalanced forces and torques of the unknowns [N], [N m]
    size : norm of both, with torques over the element length [N]
    """

    at: Kinematics
    traction: Floats
    closed: Bools
    right: Floats
    law: Laws
    size: float


class _Moved(NamedTuple):
    """An end that moves like a rigid body.

    nodes, frames : slots that move with it
    r, q : their positions [m] and quaternions at the start
    """

    end: Driven
    nodes: tuple[int, ...]
    frames: tuple[int, ...]
    r: Floats
    q: Floats


def quaternion(vector: Floats) -> Floats:
    """Return the unit quaternion (4,) of a rotation vector, w first."""
    half = 0.5 * np.asarray(vector)
    angle = float(np.linalg.norm(half))
    return np.array([np.cos(angle), *np.sinc(angle / np.pi) * half])


class WrappedProblem:
    """Equations of rods at a time, given their state at the start of the step."""

    def __init__(
        self,
        rods: Sequence[CosseratRod],
        partners: Sequence[RodPartner],
        start: float,
        tolerance: float,
        max_iterations: int,
        self_contact: bool = False,
        turn: float | None = None,
    ) -> None:
        self.rods, self.partners, self.start_time = rods, partners, start
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.static = StaticRods([_at_rest(rod) for rod in rods], tolerance, max_iterations)
        self.inertia = Inertia.of(rods, self.static)
        self.moved, self.loads, self.strands = [], [], []
        rows = rk.material_of(self.static.mat)
        for rod, offset in zip(rods, self.static.offsets, strict=False):
            self.moved += self._moved_ends(rod, offset)
            self.loads += self._loads(rod, offset)
            nodes = np.arange(offset + 1, offset + rod.elements + 2)
            self.strands.append(Strand(offset + 1, rod.elements, nodes[rows.free[nodes] > 0.0]))
        self.contacts: Contacts = contacts_of(
            rods, self.strands, len(partners), self_contact=self_contact, turn=turn
        )
        self.stiffness = min(rod.section.axial_stiffness / rod.rest_length for rod in rods)
        self.longest = max(rod.rest_length for rod in rods)

    def _moved_ends(self, rod: CosseratRod, offset: int) -> list[_Moved]:
        """Return the driven ends of a rod, whose first slot, that of a clamp, is `offset`."""
        n, static, o = rod.elements, self.static, offset
        moved = []
        for end, node, beside, ghost, inner in (
            (rod.left, o + 1, o + 2, o, o + 1),
            (rod.right, o + n + 1, o + n, o + n + 1, o + n),
        ):
            if isinstance(end, Driven):
                section = end.hold == "section"
                nodes, frames = (node,) if section else (node, beside), ghost if section else inner
                slots = list(nodes)
                moved.append(
                    _Moved(
                        end,
                        nodes,
                        (frames,),
                        static.r[:, slots].copy(),
                        static.q[:, [frames]].copy(),
                    )
                )
        return moved

    def _loads(self, rod: CosseratRod, offset: int) -> list[tuple[Floats, RodLoad]]:
        """Return (2, 3, slots) forces and torques of each load at factor 1, and the load."""
        n, ds, loads = rod.elements, rod.rest_length / rod.elements, []
        lengths, first = ds * tributary_lengths(rod), offset + 1
        for load in rod.loads:
            parts = np.zeros((2, 3, self.static.slots))
            if isinstance(load, LineForce):
                parts[0, :, first : first + n + 1] = np.outer(load.force, lengths)
            elif isinstance(load, PointForce):
                parts[0, :, first + round(load.at * n)] = load.force
            elif isinstance(load, PointMoment):
                parts[1, :, first + min(int(load.at * n), n - 1)] = load.moment
            loads.append((parts, load))
        return loads

    # ---- loads, bodies and ends at a time

    def loads_at(self, time: float) -> Floats:
        """Return (2, 3, slots) forces and torques of all loads."""
        total = np.zeros((2, 3, self.static.slots))
        for parts, load in self.loads:
            steady = not len(load.times)
            total += parts * (1.0 if steady else np.interp(time, load.times, load.factors))
        return total

    def placements(self, time: float) -> list[Placement]:
        """Return where the bodies are."""
        return [placement_at(partner, time - self.start_time) for partner in self.partners]

    def initial(self) -> State:
        """Return the given configuration, without forces of contact."""
        state, count = self.static.copy_state(), len(self.contacts.node)
        traction, basis = np.zeros((count, 3)), np.zeros((count, 3, 2))
        reference = self.reference(State(*state, traction, basis, self.start_time), self.start_time)
        pairs = self._pairs(reference, self.placements(self.start_time))
        return State(*state, traction, tangential_basis(pairs.normal), self.start_time)

    def set_ends(self, time: float) -> None:
        """Move the driven ends to where they are at a time."""
        r, q = self.static.r, self.static.q
        for end, nodes, frames, r0, q0 in self.moved:
            since = elapsed(time - self.start_time, end.rise)
            turn = quaternion(since * np.asarray(end.angular_velocity))
            pivot = r0[:, :1]
            arm = _rotated(turn, r0 - pivot)
            r[:, list(nodes)] = pivot + since * np.asarray(end.velocity)[:, None] + arm
            q[:, list(frames)] = product(turn, q0)

    # ---- one step

    def reference(self, state: State, time: float) -> Reference:
        """Return the state at the start of a step, moved to `time` with each body."""
        from scipy.spatial.transform import Rotation

        c, each = self.contacts, len(self.partners)
        count = c.bodies
        r = state.r[:, c.node[:count]].T.copy()
        q = np.moveaxis(state.q[:, c.frame[:count]], 0, -1).copy()
        basis = state.basis.copy()
        places = zip(self.placements(state.time), self.placements(time), strict=True)
        for j, (before, after) in enumerate(places):
            turn = after.turn @ before.turn.T
            here = slice(j, count, each)
            r[here] = after.pivot + (r[here] - before.pivot) @ turn.T
            basis[here] = turn @ basis[here]
            x, y, z, w = Rotation.from_matrix(turn).as_quat()
            frames = q[here]
            q[here] = product(np.array([w, x, y, z]), frames.reshape(-1, 4).T).T.reshape(
                frames.shape
            )
        return Reference(r, q, basis, state.r, state.q)

    def _pairs(self, start: Reference, places: Sequence[Placement]) -> Pairs:
        """Return the geometry of all contacts in the present state, for bodies at `places`."""
        return all_pairs(self.contacts, self.strands, self.partners, places, start, self.static.r)

    def kinematics(
        self, start: Reference, basis: Floats, places: Sequence[Placement]
    ) -> Kinematics:
        """Return gaps and slip of the present state since the reference `start`."""
        pairs = self._pairs(start, places)
        return kinematics(pairs, self.static.q.T[pairs.frames], basis)

    def elastic(self) -> Floats:
        """Return (2, 3, slots) elastic forces on nodes and torques on frames."""
        return self.static.elastic().reshape(2, 3, -1)

    def contact_forces(self, at: Kinematics, traction: Floats) -> Floats:
        """Return (2, 3, slots) forces and torques of the contacts on nodes and frames."""
        pairs, total = at.pairs, np.zeros((2, 3, self.static.slots))
        force, moment = force_and_moment(at, traction)
        np.add.at(total[0].T, pairs.nodes, pairs.share[:, :, None] * force[:, None])
        np.add.at(total[1].T, pairs.frames, pairs.weight[:, :, None] * moment[:, None])
        return total

    def stored_energy(self) -> float:
        """Return the elastic energy [J]."""
        static = self.static
        # the energy of the joint of the last clamp needs one more slot
        r, q = (np.pad(x, ((0, 0), (0, 1)), mode="edge") for x in (static.r, static.q))
        return float(rk.stored_energy(r, q, np.pad(static.mat, ((0, 0), (0, 1)))))

    def largest_strains(self) -> tuple[float, float]:
        """Return the largest strain of stretch and shear, and curvature times the radius [1]."""
        static, rods = self.static, self.rods
        rows = rk.material_of(static.mat)
        n = np.linalg.norm(static.scratch[0:3], axis=0)[static.elements]
        softest = np.minimum(rows.axial, rows.shear)[static.elements]
        joints = np.flatnonzero(rows.bend > 0.0)
        turn = [rk.joint_angle(static.q, int(i)) - rows.angle[:, i] for i in joints]
        owner = np.searchsorted(static.offsets, joints, side="right") - 1
        bending = np.array([rod.section.bending_stiffness for rod in rods])[owner]
        curvature = np.linalg.norm(np.array(turn)[:, :2], axis=1) * rows.bend[joints] / bending
        return float((n / softest).max()), float(curvature.max(initial=0.0)) * self.contacts.radius

    def force_scale(self) -> float:
        """Return the force [N] of which residuals are at most `tolerance`, after `elastic`.

        It is the largest force in the rod, or the force of strains at their rounding.
        """
        n = self.static.scratch[0:3]
        largest = float(np.sqrt((n * n).sum(axis=0).max()))
        return max(largest, self.static.rounding / self.tolerance)

    def newton(
        self,
        start: State,
        time: float,
        *,
        mu: float,
        viscosity: float = 0.0,
        drag: float = 0.0,
        guess: State | None = None,
    ) -> tuple[State, Solution] | None:
        """Return the state at a time, from that at the start of the step; None without success.

        Parameters
        ----------
        mu : coefficient of friction [1]
        viscosity : see `laws` [N/m]
        drag : resistance of each node to its displacement in the step [N/m]; that of a frame to its
            rotation is the same times the square of the radius
        guess : first iterate; None for the state at the start of the step
        """
        static, first = self.static, start if guess is None else guess
        static.restore((first.r, first.q))
        static.set_natural_curvature(1.0)
        self.elastic()
        # slip across a rod meets its tension and inertia only, much less than its axial stiffness
        across = self.stiffness if drag > 0.0 else self.force_scale() / self.longest
        motion, rounding = self.motion(start, time), 0.0
        if motion is not None:
            rounding = motion.rounding(start.r)
            across = max(
                across, self.inertia.least_at_surface(self.contacts.radius) / motion.length**2
            )
        self.set_ends(time)
        loads, places = self.loads_at(time), self.placements(time)
        reference = self.reference(start, time)
        stiffness = self.stiffness, across
        given = _Given(reference, loads, places, mu, viscosity, drag, stiffness, motion)
        # at the start slip is zero: what slipped in the last step is at its bound, and slips on
        basis = reference.basis if guess is None else guess.basis
        trial = self._trial(given, basis, first.traction, None, slides=True)
        for iteration in range(self.max_iterations):
            if not np.isfinite(trial.size):
                return None
            scale = max(self.force_scale(), rounding / self.tolerance)
            if iteration > 0 and trial.size <= 1e-3 * scale:
                # contacts close and open only where the others obey their laws
                trial = self._trial(given, trial.at.basis, trial.traction, None)
            worst = max(static.largest(trial.right), trial.law.error) / scale
            if iteration > 0 and worst <= self.tolerance:
                if self._pass_through(trial.at):
                    return None
                moves = self.displacements(reference)
                velocity = None if motion is None else moves / motion.length
                found = *static.copy_state(), trial.traction, trial.at.basis, time, velocity
                state = State(*found)
                resists = drag * self._resisted(moves).reshape(6, -1).T.ravel()
                resistance = static.largest(resists) / scale
                return state, Solution(trial.at, trial.law, worst, resistance, iteration)
            step = self._step(trial, drag, motion)
            if step is None:
                return None
            trial = self._moved_by(given, trial, step)
            deep = ~trial.closed & (trial.at.gap < -_DEEP * self.contacts.radius)
            deep[: self.contacts.bodies] = False
            if deep.any():
                # without them the rods would find the equilibrium of rods that pass each other
                trial = self._trial(given, trial.at.basis, trial.traction, trial.closed | deep)
        return None

    def _pass_through(self, at: Kinematics) -> bool:
        """Return whether a node has moved to the other side of a rod in a step.

        The separation of the same two points of the rods has then changed its side.
        """
        rods = slice(self.contacts.bodies, None)
        normal = at.pairs.normal[rods]
        distance = at.gap[rods] + 2.0 * self.contacts.radius
        before = distance - (at.pairs.moved[rods] * normal).sum(axis=1)
        return bool((before < 0.0).any())

    def _trial(
        self,
        given: _Given,
        basis: Floats,
        traction: Floats,
        closed: Bools | None,
        *,
        slides: bool = False,
    ) -> _Trial:
        """Return the residuals of the present state; None takes the contacts that press."""
        at = self.kinematics(given.start, basis, given.places)
        if closed is None:
            # rounding must not decide which contacts of the given shape are closed
            near = 0.0 if traction.any() else TOUCHING * self.contacts.radius
            closed = traction[:, 0] - self.stiffness * (at.gap - near) > 0.0
        traction = np.where(closed[:, None], traction, 0.0)
        total = self.elastic() + given.loads + self.contact_forces(at, traction)
        if given.drag > 0.0:
            total -= given.drag * self._resisted(self.displacements(given.start))
        if given.motion is not None:
            velocity = self.displacements(given.start) / given.motion.length
            total -= given.motion.forces(velocity, self.static.q) + self.inertia.drag * velocity
        right = np.concatenate([total[0], total[1]]).T.ravel() * self.static.free
        law = laws(
            at,
            traction,
            given.mu,
            given.stiffness,
            closed,
            slides=slides,
            viscosity=given.viscosity,
        )
        size = float(np.hypot(np.linalg.norm(right / self.static.arm), np.linalg.norm(law.inner)))
        return _Trial(at, traction, closed, right, law, size)

    def displacements(self, start: Reference) -> Floats:
        """Return (2, 3, slots) displacements of nodes and rotation vectors of frames in a step."""
        turn, _ = rotation_since(start.frames.T, self.static.q.T)
        return np.stack([self.static.r - start.nodes, turn.T])

    def _resisted(self, moves: Floats) -> Floats:
        """Return displacements, and rotations times the square of the radius."""
        return np.asarray(moves * np.array([1.0, self.contacts.radius**2])[:, None, None])

    def motion(self, start: State, time: float) -> Motion | None:
        """Return the step from `start` to a time; None without inertia."""
        if start.velocity is None:
            return None
        momentum = self.inertia.momentum(start.velocity, start.q)
        return Motion(self.inertia, time - start.time, momentum)

    def kinetic_energy(self, state: State) -> float:
        """Return the kinetic energy [J], zero without inertia."""
        if state.velocity is None:
            return 0.0
        return 0.5 * float((self.inertia.momentum(state.velocity, state.q) * state.velocity).sum())

    def dissipated(self, before: State, state: State) -> float:
        """Return the kinetic energy that implicit Euler dissipates in a step [J]."""
        assert before.velocity is not None
        assert state.velocity is not None
        after = self.inertia.momentum(state.velocity, state.q)
        change = after - self.inertia.momentum(before.velocity, before.q)
        return 0.5 * float((change * (state.velocity - before.velocity)).sum())

    def given_state(self, state: State) -> tuple[State, Solution]:
        """Return a state that no forces need to balance, with its open and closed contacts."""
        loads, places = self.loads_at(state.time), self.placements(state.time)
        reference, stiffness = self.reference(state, state.time), (self.stiffness, self.stiffness)
        given = _Given(reference, loads, places, 0.0, 0.0, 0.0, stiffness)
        trial = self._trial(given, state.basis, state.traction, None)
        return state, Solution(trial.at, trial.law, 0.0, 0.0, 0)

    def _moved_by(self, given: _Given, before: _Trial, step: tuple[Floats, Floats]) -> _Trial:
        """Take a Newton step, shortened to a rotation.

        A search along it for a smaller residual would stop at the first stretch of a slender rod,
        which the next steps undo.
        """
        change, more = step
        largest = float(np.abs(change.reshape(-1, 6)[:, 3:]).max())
        factor = min(1.0, _MOST_TURN / largest) if largest > 0.0 else 1.0
        # a step may diverge to what is not finite, which ends the iteration
        with np.errstate(over="ignore", invalid="ignore"):
            self.static.apply_increment(factor * change)
            traction = before.traction + factor * more
            return self._trial(given, before.at.basis, traction, before.closed)

    def _step(
        self, trial: _Trial, drag: float, motion: Motion | None
    ) -> tuple[Floats, Floats] | None:
        """Return the Newton step of all unknowns, and of the tractions (k, 3)."""
        from scipy.sparse.linalg import splu

        closed, size = trial.closed, self.static.size
        law = trial.law.residual[closed]
        try:
            matrix = self._matrix(trial, drag, motion)
            step = splu(matrix).solve(np.append(trial.right, -law.ravel()))
        except RuntimeError:
            return None
        more = np.zeros_like(trial.traction)
        more[closed] = step[size:].reshape(-1, 3)
        return (step[:size], more) if np.isfinite(step).all() else None

    def _matrix(self, trial: _Trial, drag: float, motion: Motion | None) -> csc_array:
        """Return Newton's matrix: of forces by unknowns and tractions, and of the laws by both.

        Only closed contacts enter: open ones have no traction.
        """
        from scipy.sparse import coo_array, csc_array, dia_array

        closed, size = trial.closed, self.static.size
        at = only(trial.at, closed)
        by_gap, by_slip, by_traction = (x[closed] for x in trial.law[2:5])
        offsets = BAND - np.arange(2 * BAND + 1)
        elastic = dia_array((self.static.stiffness(), offsets), shape=(size, size)).tocoo()
        by, pairs = blocks(at, trial.traction[closed]), at.pairs
        three = np.arange(3)
        node = 6 * pairs.nodes[:, :, None] + three
        frame = 6 * pairs.frames[:, :, None] + 3 + three
        own = (size + 3 * np.arange(len(node))[:, None] + three)[:, None]
        normal = pairs.share[:, :, None] * pairs.normal[:, None]
        law_by_node = by_gap[:, None, :, None] * normal[:, :, None]
        law_by_node = law_by_node + by_slip[:, None] @ by.slip_by_node
        # per contact: three rows of each of i, three columns of each of j
        entries = [
            (node, node, -by.force_by_node),
            (node, own, -by.force[:, :, None]),
            (frame, node, -by.moment_by_node),
            (frame, own, -by.moment[:, :, None]),
            (own, own, by_traction[:, None, None]),
            (own, node, law_by_node[:, None]),
            (own, frame, (by_slip[:, None] @ by.slip_by_frame)[:, None]),
        ]
        rows, columns = [], []
        for i, j, value in entries:
            rows.append(np.broadcast_to(i[:, :, None, :, None], value.shape).ravel())
            columns.append(np.broadcast_to(j[:, None, :, None, :], value.shape).ravel())
        row, column = np.concatenate(rows), np.concatenate(columns)
        values = np.concatenate([value.ravel() for _, _, value in entries])
        free = np.concatenate([self.static.free, np.ones(own.size, dtype=bool)])
        # the banded matrix has ones for fixed unknowns
        there = free[row] & free[column] & (values != 0.0)
        where = np.concatenate([elastic.coords, [row[there], column[there]]], axis=1)
        total = size + own.size
        every = np.concatenate([elastic.data, values[there]])
        if drag > 0.0:
            where, every = self._with_drag(where, every, drag)
        if motion is not None:
            moving = np.flatnonzero(self.static.free)
            at_free, added = motion.inertia.entries(self.static.q, motion.length, moving)
            where, every = np.hstack([where, at_free]), np.concatenate([every, added])
        return csc_array(coo_array((every, tuple(where)), shape=(total, total)))

    def _with_drag(self, where: Ints, values: Floats, drag: float) -> tuple[Ints, Floats]:
        """Return places and values of a matrix with the resistance of the free unknowns."""
        free = np.flatnonzero(self.static.free)
        resists = np.where(free % 6 < 3, drag, drag * self.contacts.radius**2)
        return np.hstack([where, np.vstack([free, free])]), np.concatenate([values, resists])


def _at_rest(rod: CosseratRod) -> CosseratRod:
    """Return the rod with clamps in place of driven ends, and without loads."""
    left, right = (
        Clamped(hold=end.hold) if isinstance(end, Driven) else end for end in (rod.left, rod.right)
    )
    return dataclasses.replace(rod, loads=(), left=left, right=right)


def _rotated(q: Floats, x: Floats) -> Floats:
    """Return vectors (3, k) rotated by a unit quaternion."""
    twice = 2.0 * np.cross(q[1:, None], x, axis=0)
    return np.asarray(x + q[0] * twice + np.cross(q[1:, None], twice, axis=0))
