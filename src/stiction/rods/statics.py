"""Rods at rest under dead loads: load steps, and paths of equilibria through limit points.

The rod is that of the dynamic methods but for a sixteenth of an element in the joints at its
clamps: half an element joins a clamp to the first frame, so that errors fall with the square of the
element length and can be extrapolated. Dynamics move a sixteenth of it to the next joint.
"""

from __future__ import annotations

import functools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import kept_array, put_back
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Checkpoint
from stiction.errors import ModelError, SolveError
from stiction.numerics.checks import number, whole
from stiction.numerics.continuation import advance, bordered, located, place_at
from stiction.numerics.jit import quiet
from stiction.rods import rod_kernels as rk
from stiction.rods.assembly import (
    clamp_frame,
    end_distances,
    end_lengths,
    end_shares,
    first_frames,
)
from stiction.rods.resting.ends import TurnedEnds, refuse_loose, rotate
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    Turned,
)

__all__ = ["Equilibrium", "Path", "equilibrium", "follow_path"]

Floats = npt.NDArray[np.float64]

_BAND = 11
_BALANCE = "forces are balanced by Newton's method to this tolerance."


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A rod at rest.

    Parameters
    ----------
    factor : of the loads of the rod [1]
    position : (elements + 1, 3) nodes [m]
    frame : (elements, 4) quaternions of the frames, w first
    energy : elastic energy [J]
    residual : largest force that is not balanced, over the largest load [1]
    iterations : of Newton's method, for this state
    softest : smallest eigenvalue of the tangent stiffness [N/m, with angles times an element]
    stiffest : largest entry of its diagonal, the scale of its rounding
    conservative : whether the loads have an energy; dead moments have none in space
    """

    factor: float
    position: Floats
    frame: Floats
    energy: float
    residual: float
    iterations: int
    softest: float
    stiffest: float = 1.0
    conservative: bool = True

    @property
    def stable(self) -> bool | None:
        """Whether the energy has a minimum there, None under moments, which have no energy.

        A direction that costs nothing, such as turning a bent round column about its axis,
        counts as stable.
        """
        if not self.conservative:
            return None
        return self.softest > -1e-9 * self.stiffest


@dataclass(frozen=True, eq=False)
class Path:
    """Equilibria in the order in which they were found, and where the path turned back.

    Parameters
    ----------
    states : equilibria
    losses : limit points, at which a slow load has no equilibrium nearby to go on with; `time`
        is the load factor
    """

    states: Sequence[Equilibrium]
    losses: Sequence[Loss] = field(default_factory=tuple)

    @property
    def factor(self) -> Floats:
        """(k,) load factors [1]."""
        return np.array([state.factor for state in self.states])

    @property
    def tip(self) -> Floats:
        """(k, 3) positions of the last node [m]."""
        return np.array([state.position[-1] for state in self.states])


def equilibrium(
    rod: CosseratRod,
    *,
    steps: int = 10,
    start: Equilibrium | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 40,
    checkpoint: Checkpoint | None = None,
) -> Equilibrium:
    """Return the rod at rest under its full loads, which grow in `steps` load steps.

    So does the natural curvature, from that of the centreline: a slender rod that is naturally a
    ring is far from the straight line in which it may be given.

    Parameters
    ----------
    rod : its loads act at factor 1, whatever their history in time; ends that are `Turned` have
        turned by their last angle there, and by parts of it before
    start : where Newton's method starts, at full load; None grows the load from zero
    tolerance : of the unbalanced force over the largest load
    checkpoint : where to leave the state between load steps; None for nowhere

    Raises
    ------
    ModelError : if the rod is not held, or nothing loads it.
    SolveError : if a load step does not converge even after it was halved ten times.

    Source: formulas sheet of the rods paper, section 3, without inertia.
    Verified by: tests/exact/test_rod_equilibria.py::test_cantilever_under_end_moment
    """
    number("equilibrium.tolerance", tolerance, rule="positive", why=_BALANCE, try_="give 1e-9.")
    where, most = "equilibrium.max_iterations", 10_000
    whole(where, max_iterations, least=2, most=most, why=_BALANCE, try_="give 40.")
    solver = _Solver(rod, tolerance, max_iterations)
    why = "loads grow in steps."
    whole("equilibrium.steps", steps, least=1, most=1_000_000, why=why, try_="give 10.")
    if start is not None:
        solver.take(start)
        if not solver.newton(1.0):
            raise _unconverged(1.0)
        return solver.state(1.0)
    # half a radian at once at most, so that no turn is lost
    turn = max(solver.turned.angle, solver.natural_turn, 0.5)
    factor, step, halvings = 0.0, min(1.0 / steps, 0.5 / turn), 0
    left = None if checkpoint is None else checkpoint.load()
    if left is not None:
        factor, step, halvings = solver.take_up(left)
    run_to_end(_load_steps(solver, factor, step, halvings), checkpoint=checkpoint)
    return solver.state(1.0)


def _load_steps(
    solver: _Solver, factor: float, step: float, halvings: int
) -> Generator[Pause, None, None]:
    """Load a rod from a factor of its loads to all of them."""
    while factor < 1.0 - 1e-12:
        pack = functools.partial(solver.pack, factor, step, halvings)
        yield Pause(factor, f"{100.0 * factor:.3g} % of the load", pack)
        kept = solver.keep()
        wanted = min(1.0, factor + step)
        solver.curve(wanted)
        if solver.newton(wanted):
            factor = wanted
            continue
        solver.restore(kept)
        step *= 0.5
        halvings += 1
        if halvings > 10:
            raise _unconverged(wanted)


def follow_path(
    rod: CosseratRod,
    *,
    arc: float = 0.05,
    most: int = 200,
    largest_factor: float = 1.0,
    start: Equilibrium | None = None,
    tolerance: float = 1e-9,
    checkpoint: Checkpoint | None = None,
) -> Path:
    """Return equilibria along the path of loads, through limit points.

    Parameters
    ----------
    arc : length of a step; displacement over rest length, angles and load factor all count
    most : equilibria at most
    largest_factor : the path ends where the load factor leaves [-largest, largest]
    start : equilibrium it starts from; None starts without loads
    checkpoint : where to leave what was found between two steps; None for nowhere

    Raises
    ------
    SolveError : if a step does not converge even after it was halved ten times.

    Verified by: tests/exact/test_rod_equilibria.py::test_path_through_a_limit_point
    """
    number("follow_path.arc", arc, rule="positive", why="steps go forward.", try_="give 0.05.")
    number("follow_path.tolerance", tolerance, rule="positive", why=_BALANCE, try_="give 1e-9.")
    why, each = "every loop is bounded.", 200.0 * (rod.elements + 1)
    whole("follow_path.most", most, least=1, each=each, why=why, try_="give 200.")
    solver = _Solver(rod, tolerance, 40)
    factor = 0.0
    if start is not None:
        solver.take(start)
        factor = start.factor
    curve = _LoadPath(solver)
    upward = np.append(np.zeros(solver.size), 1.0)
    left = None if checkpoint is None else checkpoint.load()
    if left is not None:
        states, tangent, losses = _taken_up(solver, left)
        factor, size, _ = solver.take_up(left)
    else:
        if not (solver.newton(factor) if start is not None else solver.release(factor)):
            raise _unconverged(factor)
        states, losses = [solver.state(factor)], []
        size, tangent = arc, upward
    place = place_at(curve, _Shape(*solver.keep(), factor), tangent)

    def pack() -> dict[str, Any]:
        solver.restore(place.u[:2])
        kept = _packed(states, place.tangent, losses)
        return {**solver.pack(place.u.factor, size, 0), **kept}

    def arcs() -> Generator[Pause, None, None]:
        nonlocal place, size
        while len(states) < most and abs(place.u.factor) <= largest_factor:
            yield Pause(len(states) / most, f"{len(states)} equilibria", pack)
            found = advance(curve, place, size, longest=arc)
            if found is None:
                raise _unconverged(place.u.factor)
            before, (place, step, size) = place, found
            solver.iterations = step.iterations
            states.append(curve.state(place.u))
            rises = before.tangent[-1], place.tangent[-1]
            if (rises[0] > 0.0) != (rises[1] > 0.0):
                rise = functools.partial(curve.rise, tangent=before.tangent)
                limit = located(curve, before, step.step, rise, rises)
                # where none is found between, the last one before is as near as it is known
                losses.append(curve.limit_point(before.u if limit is None else limit[1]))

    run_to_end(arcs(), checkpoint=checkpoint)
    return Path(tuple(states), tuple(losses))


_NUMBERS = ("factor", "energy", "residual", "iterations", "softest", "stiffest")


def _packed(
    states: Sequence[Equilibrium], tangent: Floats, losses: Sequence[Loss]
) -> dict[str, npt.NDArray[Any]]:
    """Return what of a path a checkpoint keeps."""
    return {
        "position": np.array([state.position for state in states]),
        "frame": np.array([state.frame for state in states]),
        "found": np.array([[float(getattr(s, name)) for name in _NUMBERS] for s in states]),
        "tangent": tangent,
        "lost": np.array([[loss.time, *loss.where["tip"]] for loss in losses]).reshape(-1, 4),  # type: ignore[misc]
    }


def _taken_up(
    solver: _Solver, left: Mapping[str, npt.NDArray[Any]]
) -> tuple[list[Equilibrium], Floats, list[Loss]]:
    """Return equilibria, the last tangent and limit points of a checkpoint, as `_packed`."""
    found = kept_array(left, "found", (None, len(_NUMBERS)))
    position = kept_array(left, "position", (len(found), solver.slots - 1, 3))
    frame = kept_array(left, "frame", (len(found), *left["frame"].shape[1:]))
    conservative = not bool(solver.torque.any())
    states = []
    for place, turn, row in zip(position, frame, found.tolist(), strict=True):
        given = {**dict(zip(_NUMBERS, row, strict=True)), "iterations": int(row[3])}
        states.append(Equilibrium(position=place, frame=turn, conservative=conservative, **given))
    tangent = kept_array(left, "tangent", (solver.size + 1,))
    lost = kept_array(left, "lost", (None, 4)).tolist()
    return states, tangent, [_loss(tuple(row[1:]), row[0]) for row in lost]


def _loss(tip: tuple[float, ...], factor: float) -> Loss:
    where = {"tip": tip, "load_factor": factor}
    return Loss(factor, "limit_point", where, "the path was followed by its length")


def _unconverged(factor: float) -> SolveError:
    return SolveError(
        f"equilibrium: got no solution at load factor {factor:.6g}; needs forces in balance.\n"
        "Why: Newton's method did not converge, even with load steps halved ten times.\n"
        "Try: more steps, a start near the solution, or follow_path past a limit point."
    )


class _Solver:
    """Arrays of one rod with a slot before and behind it for its clamps."""

    def __init__(self, rod: CosseratRod, tolerance: float, max_iterations: int) -> None:
        self.rod, self.tolerance, self.max_iterations = rod, tolerance, max_iterations
        n = rod.elements
        refuse_loose(rod)
        self.turned = TurnedEnds(rod)
        self.slots = n + 2
        self.size = 6 * self.slots
        nodes = rod.nodes()
        hint = None if rod.first_director is None else np.asarray(rod.first_director)
        frames = first_frames(nodes, hint)
        self.r = np.zeros((3, self.slots))
        self.r[:, 1:] = nodes.T
        self.r[:, 0] = nodes[0] - (nodes[1] - nodes[0])
        self.q = np.zeros((4, self.slots))
        self.q[0] = 1.0
        self.q[:, 1:-1] = frames
        self.turned.into(self.r, self.q)
        self.mat = self._table()
        self.turned.take(self.q)
        self.force, self.torque = self._loads()
        largest = float(np.abs(self.force).max())
        self.scale = max(largest, float(np.abs(self.torque).max()) / rod.rest_length)
        # what turning an end does to the rod
        bends = self.turned.angle * rod.section.bending_stiffness / rod.rest_length**2
        self.scale = max(self.scale, bends)
        if self.scale == 0.0:
            raise ModelError(
                "equilibrium.rod",
                "a rod without loads",
                "LineForce, PointForce or PointMoment on it, or a Turned end",
                "without loads it stays where it is.",
                "give loads = [PointForce([0, 0, -1])].",
            )
        # rounding of strains as a force
        self.rounding = 1e-13 * rod.section.axial_stiffness
        self.scratch, self.work = np.zeros((24, self.slots)), np.zeros((10, self.slots))
        rows = rk.material_of(self.mat)
        movable = np.array([rows.free, rows.turns]) > 0.0
        self.free = np.repeat(movable, 3, axis=0).T.ravel()
        self.turned.hold(self.free)

    def _table(self) -> Floats:
        rod, section, n = self.rod, self.rod.section, self.rod.elements
        ds = rod.rest_length / n
        mat = np.zeros((rk.MATERIAL_ROWS, self.slots))
        rows = rk.material_of(mat)
        rows.length[:], rows.inverse_length[:] = ds, 1.0 / ds
        rows.shear[1 : n + 1] = section.shear_stiffness
        rows.axial[1 : n + 1] = section.axial_stiffness
        lengths = end_lengths(rod)
        joints = 1 + np.arange(n + 1)[lengths > 0.0]
        rows.bend[joints] = section.bending_stiffness / (ds * lengths[joints - 1])
        rows.twist[joints] = section.twist_stiffness / (ds * lengths[joints - 1])
        for end, ghost, inner, other in ((rod.left, 0, 1, 2), (rod.right, n + 1, n, n - 1)):
            if isinstance(end, Clamped | Turned):
                self.q[:, ghost] = clamp_frame(self.q[:, inner], self.q[:, other])
        for i in joints:
            rows.angle[:, i] = rk.joint_angle(self.q, i)
        self.given_angles = rows.angle.copy()
        self.natural_angles = self.given_angles.copy()
        if rod.natural_curvature is not None:
            turns = np.outer(rod.natural_curvature, ds * end_distances(rod)[joints - 1])
            self.natural_angles[:, joints] = turns
        rows.angle[:] = self.natural_angles
        rows.free[1:], rows.turns[1 : n + 1] = 1.0, 1.0
        for end, node, beside, frame in ((rod.left, 1, 2, 1), (rod.right, n + 1, n, n)):
            if isinstance(end, Clamped | Pinned | Turned) and node not in self.turned.sliding:
                rows.free[node] = 0.0
            if isinstance(end, Clamped) and end.hold == "element":
                rows.free[beside], rows.turns[frame] = 0.0, 0.0
        return mat

    def _loads(self) -> tuple[Floats, Floats]:
        n, ds = self.rod.elements, self.rod.rest_length / self.rod.elements
        force, torque = np.zeros((3, self.slots)), np.zeros((3, self.slots))
        for load in self.rod.loads:
            if isinstance(load, LineForce):
                force[:, 1:] += np.outer(load.force, ds * end_shares(self.rod))
            elif isinstance(load, PointForce):
                force[:, 1 + round(load.at * n)] += load.force
            elif isinstance(load, PointMoment):
                torque[:, 1 + min(int(load.at * n), n - 1)] += load.moment
        return rotate(self.turned.way, force), rotate(self.turned.way, torque)

    # ---- states

    def keep(self) -> tuple[Floats, Floats]:
        """Return a copy of the state."""
        return self.r.copy(), self.q.copy()

    def restore(self, kept: tuple[Floats, Floats]) -> None:
        """Take back a state that `keep` returned."""
        self.r[:], self.q[:] = kept

    def take(self, start: Equilibrium) -> None:
        """Start from an equilibrium of a rod with as many elements."""
        if len(start.position) != self.rod.elements + 1:
            needs = f"{self.rod.elements + 1} nodes"
            why, try_ = "Newton's method starts from its nodes.", "start from the same rod."
            got = f"{len(start.position)} nodes"
            raise ModelError("equilibrium.start", got, needs, why, try_)
        self.r[:, 1:], self.q[:, 1:-1] = start.position.T, start.frame.T
        self.turned.into(self.r[:, 1:], self.q[:, 1:-1])

    def state(self, factor: float) -> Equilibrium:
        """Return the present state."""
        right = self.unbalanced(factor)
        # behind the last slot, where the joint of a clamp is, the sum wants another one
        r, q = (np.pad(x, ((0, 0), (0, 1)), mode="edge") for x in (self.r, self.q))
        energy = rk.stored_energy(r, q, np.pad(self.mat, ((0, 0), (0, 1))))
        position, frame = self.turned.back(self.r[:, 1:], self.q[:, 1:-1])
        return Equilibrium(
            factor=factor,
            position=np.ascontiguousarray(position.T),
            frame=np.ascontiguousarray(frame.T),
            energy=float(energy),
            residual=float(np.abs(right).max()) / self.scale,
            iterations=self.iterations,
            softest=self.softest(),
            stiffest=float(np.abs(self.stiffness()[_BAND]).max()),
            conservative=not bool(self.torque.any()),
        )

    iterations = 0

    # ---- checkpoint

    def pack(self, *numbers: float) -> dict[str, npt.NDArray[Any]]:
        """Return the state and three numbers: load factor, step, how often it was halved."""
        return {"r": self.r, "q": self.q, "numbers": np.array(numbers)}

    def take_up(self, left: Mapping[str, npt.NDArray[Any]]) -> tuple[float, float, int]:
        """Take up a state; return load factor, step, how often it was halved."""
        put_back({"r": self.r, "q": self.q}, left)
        factor, step, halvings = kept_array(left, "numbers", (3,)).tolist()
        return factor, step, int(halvings)

    # ---- natural curvature

    @property
    def natural_turn(self) -> float:
        """How far the natural curvature turns one end against the other [rad]."""
        return float(np.linalg.norm(self.natural_angles - self.given_angles, axis=0).sum())

    def curve(self, part: float) -> None:
        """Set natural angles of the joints, from those of the given shape to those of the rod."""
        angles = self.given_angles + part * (self.natural_angles - self.given_angles)
        rk.material_of(self.mat).angle[:] = angles

    def release(self, factor: float) -> bool:
        """Find balance at a load factor while the natural curvature grows; return whether so."""
        part, step = 0.0, 0.5 / max(self.natural_turn, 0.5)
        while part < 1.0 - 1e-12:
            kept, wanted = self.keep(), min(1.0, part + step)
            self.curve(wanted)
            if self.newton(factor):
                part = wanted
                continue
            self.restore(kept)
            step *= 0.5
            if step < 1e-6:
                return False
        return True

    # ---- equations

    def unbalanced(self, factor: float) -> Floats:
        """Return forces and torques of free unknowns, six per slot."""
        n, m, f, t = (self.scratch[3 * k : 3 * k + 3] for k in range(4))
        self.turned.turn(self.q, factor)
        with quiet():
            rk.elastic(self.r, self.q, self.mat, n, m, f, t)
        total = np.vstack([f + factor * self.force, t + factor * self.torque])
        return np.asarray(total.T.ravel() * self.free)

    def stiffness(self) -> Floats:
        """Return the tangent stiffness in diagonal form."""
        from stiction.rods.driving_kernels import Switches
        from stiction.rods.midpoint.kernels import banded, difference_forces

        flags = Switches(damped=False, retarded=False, loaded=False, shake=False)
        zero = np.zeros(self.size)
        with quiet():
            table = difference_forces(
                self.r, self.q, self.mat, self.work[0], flags, zero, 1.0, self.scratch, self.work
            )
            # the table differentiates by unknowns that count half
            matrix = np.asarray(banded(2.0 * table, self.mat, self.q, 1.0))
        self.turned.hold_rows(matrix, _BAND)
        return matrix

    def softest(self) -> float:
        """Return the smallest eigenvalue of the symmetric part of the tangent, angles scaled."""
        from scipy.linalg import eigvals_banded

        matrix, ds = self.stiffness(), float(rk.material_of(self.mat).length[0])
        unit = np.tile([1.0, 1.0, 1.0, ds, ds, ds], self.slots)
        lower = np.zeros((_BAND + 1, self.size))
        for k in range(_BAND + 1):
            above = matrix[_BAND - k, k:]
            below = matrix[_BAND + k, : self.size - k]
            pair = 0.5 * (above + below) / (unit[k:] * unit[: self.size - k])
            lower[k, : self.size - k] = pair
        # held unknowns have a one there, which must not count as soft
        lower[0, ~self.free] = float(np.abs(lower[0]).max())
        return float(eigvals_banded(lower, lower=True, select="i", select_range=(0, 0))[0])

    def move(self, step: Floats) -> None:
        """Add an increment of all unknowns to the state."""
        from stiction.rods.midpoint.kernels import turned

        change = np.ascontiguousarray((step * self.free).reshape(-1, 6))
        self.r += change[:, :3].T
        turned(self.q.copy(), change, 1.0, self.q)

    def tolerated(self, factor: float) -> float:
        """Return the force that counts as balanced: the tolerance, or rounding."""
        return max(self.tolerance * self.scale * max(abs(factor), 1.0), self.rounding)

    def newton(self, factor: float) -> bool:
        """Bring the state into balance at a load factor; return whether that worked."""
        from scipy.linalg import solve_banded

        for iteration in range(self.max_iterations):
            right = self.unbalanced(factor)
            if not np.isfinite(right).all():
                return False
            if iteration > 0 and np.abs(right).max() <= self.tolerated(factor):
                self.iterations = iteration
                return True
            try:
                step = solve_banded((_BAND, _BAND), self.stiffness(), right, check_finite=False)
            except np.linalg.LinAlgError:
                return False
            self.move(_limited(step))
        return False

    def load_at(self, factor: float) -> Floats:
        """Return what a change of the load factor adds to forces and torques, over the change."""
        load = np.vstack([self.force, self.torque]).T.ravel() * self.free
        if self.turned.angle > 0.0:
            # elastic forces that follow the clamps, by a difference
            small = 1e-5 / self.turned.angle
            ahead, behind = self.unbalanced(factor + small), self.unbalanced(factor - small)
            load = (ahead - behind) / (2.0 * small)
            self.turned.turn(self.q, factor)
        return load


class _Shape(NamedTuple):
    """Places (3, slots) and frames (4, slots) of a rod, and its load factor."""

    r: Floats
    q: Floats
    factor: float


class _Stiffness(NamedTuple):
    """The stiffness of a rod and its load, by unknowns scaled with `weight`, and the factor."""

    matrix: Floats
    load: Floats
    weight: Floats

    def tangent(self, before: Floats | None) -> Floats:
        """Return the unit step along the path, on the side of `before`."""
        along = np.append(self.weight * self._solved(self.load), 1.0)
        along /= np.linalg.norm(along)
        return -along if before is not None and float(along @ before) < 0.0 else along

    def solve(self, row: Floats, right: Floats) -> Floats:
        """Return the step that takes a residual away, and has this part along the row."""
        both = self.weight[:, None] * self._solved(np.column_stack([right[:-1], -self.load]))
        return np.append(*bordered(both, row[:-1], float(row[-1]), float(right[-1])))

    def _solved(self, right: Floats) -> Floats:
        from scipy.linalg import solve_banded

        return np.asarray(solve_banded((_BAND, _BAND), self.matrix, right, check_finite=False))


class _LoadPath:
    """The equilibria of a rod under its loads times a factor, as `numerics.continuation` asks.

    Displacements count over the rest length, angles and the load factor as they are.
    """

    def __init__(self, solver: _Solver) -> None:
        self.solver = solver
        length, slots = solver.rod.rest_length, solver.slots
        self.weight = np.tile([1.0 / length] * 3 + [1.0] * 3, slots) / np.sqrt(slots)

    def residual(self, u: _Shape) -> Floats:
        """Return forces and torques that are not balanced, with the sign of the stiffness."""
        self.solver.restore(u[:2])
        return -self.solver.unbalanced(u.factor)

    def tolerance(self, u: _Shape) -> float:
        """Return the force that counts as balanced."""
        return self.solver.tolerated(u.factor)

    def linearised(self, u: _Shape) -> _Stiffness:
        """Return the stiffness at a shape."""
        self.solver.restore(u[:2])
        load = self.solver.load_at(u.factor)
        return _Stiffness(self.solver.stiffness(), load, self.weight)

    def moved(self, u: _Shape, step: Floats) -> _Shape:
        """Return the shape after a scaled step."""
        self.solver.restore(u[:2])
        self.solver.move(step[:-1] / self.weight)
        return _Shape(*self.solver.keep(), u.factor + float(step[-1]))

    def state(self, u: _Shape) -> Equilibrium:
        """Return the equilibrium of a shape."""
        self.solver.restore(u[:2])
        return self.solver.state(u.factor)

    def rise(self, u: _Shape, tangent: Floats) -> float:
        """Return how the load factor changes along the path, on the side of a tangent."""
        return float(self.linearised(u).tangent(tangent)[-1])

    def limit_point(self, u: _Shape) -> Loss:
        """Return a limit point of the load."""
        tip = self.solver.turned.back(u.r[:, -1:], u.q[:, -2:-1])[0][:, 0]
        return _loss(tuple(float(x) for x in tip), u.factor)


def _limited(step: Floats) -> Floats:
    """Return a Newton step with no rotation above half a radian."""
    largest = float(np.abs(step.reshape(-1, 6)[:, 3:]).max(initial=0.0))
    return step * min(1.0, 0.5 / largest) if largest > 0.0 else step
