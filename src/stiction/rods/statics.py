"""Static equilibria of geometrically exact rods under dead loads, and continuation of their path.

`equilibrium` increases the loads in steps, each solved by Newton's method with a banded tangent.
`follow_path` follows equilibria through limit points by pseudo-arclength continuation. The discrete
rod is that of dynamics (`rod_kernels`), with one slot before and one after it for clamps. Unknowns
are six per slot: displacement of the node and rotation vector of the frame. A Newton step solves
K du = f(u) + factor * loads, with the elastic forces f and the tangent stiffness K = -df/du by
central differences. `wrapped.bundle` uses `StaticRod` for rods in contact.

Source: formulas sheet (docs/formulas/rods.md), section 3, without inertia.
"""

from __future__ import annotations

import functools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import put_back, saved_array
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
    first_frames,
    tributary_lengths,
)
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    Turned,
)
from stiction.rods.supports.rotating_ends import RotatingEnds, check_supports, rotate

__all__ = ["BAND", "Equilibrium", "Path", "StaticRod", "equilibrium", "follow_path"]

Floats = npt.NDArray[np.float64]

BAND = 11  # half bandwidth of K: unknowns of neighbouring slots couple, six each
_BALANCE = "Newton's method solves the equilibrium of forces to this tolerance."


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A static equilibrium of a rod.

    Parameters
    ----------
    factor : load factor [1]
    position : (elements + 1, 3) nodes [m]
    frame : (elements, 4) quaternions of the frames, w first
    energy : elastic energy [J]
    residual : largest unbalanced force, or moment over the rest length, over the largest load [1]
    iterations : iterations of Newton's method
    softest : smallest eigenvalue of the tangent stiffness, with angles times the element length
        [N/m]
    stiffest : largest entry of its diagonal, the scale of its rounding errors
    conservative : whether the loads have a potential energy; dead moments do not
    clamp_force, clamp_moment : (2, 3) reactions of the supports of start and end on the rod, in
        space: force [N], and moment about the end node [N m]; 0 at a free end
    """

    factor: float
    position: Floats
    frame: Floats
    energy: float
    residual: float
    iterations: int
    softest: float
    clamp_force: Floats
    clamp_moment: Floats
    stiffest: float = 1.0
    conservative: bool = True

    @property
    def stable(self) -> bool | None:
        """Whether the energy has a minimum; None under moments, which have no potential energy.

        A direction of zero stiffness, such as the rotation of a bent round column about its axis,
        counts as stable.
        """
        if not self.conservative:
            return None
        return self.softest > -1e-9 * self.stiffest


@dataclass(frozen=True, eq=False)
class Path:
    """Equilibria along a path of loads, and its limit points.

    Parameters
    ----------
    states : equilibria in the order of the path
    losses : limit points, beyond which a slowly increasing load has no equilibrium nearby; their
        `time` is the load factor
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
    """Return the equilibrium of a rod under its full loads, reached in `steps` load steps.

    The natural curvature grows with the loads, from that of the given centreline to that of the
    rod. So a slender rod whose natural shape is a ring may be given as a straight line.

    Parameters
    ----------
    rod : its loads act with factor 1, independent of their histories; ends that are `Turned` have
        the last angle of their history
    steps : number of load steps
    start : initial state of Newton's method at full load; None: the load increases from zero
    tolerance : of the unbalanced force over the largest load [1]
    max_iterations : of Newton's method in a load step
    checkpoint : stores the state between load steps; None for no checkpoint

    Raises
    ------
    ModelError : if supports allow a rigid motion, or the given shape is the equilibrium because
        there are no loads.
    SolveError : if a load step does not converge even after it was halved ten times.

    Source: formulas sheet (docs/formulas/rods.md), section 3, without inertia.
    Verified by: tests/exact/test_rod_equilibria.py::test_cantilever_under_end_moment
    """
    number("equilibrium.tolerance", tolerance, rule="positive", why=_BALANCE, try_="give 1e-9.")
    where, most = "equilibrium.max_iterations", 10_000
    whole(where, max_iterations, least=2, most=most, why=_BALANCE, try_="give 40.")
    static = _loaded(rod, tolerance, max_iterations)
    why = "loads grow in steps."
    whole("equilibrium.steps", steps, least=1, most=1_000_000, why=why, try_="give 10.")
    if start is not None:
        static.set_state(start)
        if not static.newton(1.0):
            raise _unconverged(1.0)
        return static.state(1.0)
    # at most half a radian in a load step: larger rotations could converge to another branch
    rotation = max(static.ends.angle, static.natural_turn, 0.5)
    factor, step, halvings = 0.0, min(1.0 / steps, 0.5 / rotation), 0
    stored = None if checkpoint is None else checkpoint.load()
    if stored is not None:
        factor, step, halvings = static.resume(stored)
    run_to_end(_load_steps(static, factor, step, halvings), checkpoint=checkpoint)
    return static.state(1.0)


def _load_steps(
    static: StaticRod, factor: float, step: float, halvings: int
) -> Generator[Pause, None, None]:
    """Increase the load factor to 1; halve a step in which Newton's method fails."""
    while factor < 1.0 - 1e-12:
        pack = functools.partial(static.pack, factor, step, halvings)
        yield Pause(factor, f"{100.0 * factor:.3g} % of the load", pack)
        saved = static.copy_state()
        target = min(1.0, factor + step)
        static.set_natural_curvature(target)
        if static.newton(target):
            factor = target
            continue
        static.restore(saved)
        step *= 0.5
        halvings += 1
        if halvings > 10:
            raise _unconverged(target, ", even with load steps halved ten times")


def follow_path(
    rod: CosseratRod,
    *,
    arc: float = 0.05,
    max_points: int = 200,
    max_factor: float = 1.0,
    start: Equilibrium | None = None,
    tolerance: float = 1e-9,
    checkpoint: Checkpoint | None = None,
) -> Path:
    """Return equilibria along the path of loads, through limit points.

    Parameters
    ----------
    rod : as of `equilibrium`
    arc : arclength of a step [1], in displacements over the rest length, angles, and load factor
    max_points : largest number of equilibria
    max_factor : the path ends if the load factor leaves [-max_factor, max_factor]; may be infinite
    start : first equilibrium; None starts without loads
    tolerance : of the unbalanced force over the largest load [1]
    checkpoint : stores the path between steps; None for no checkpoint

    Raises
    ------
    SolveError : if a step fails even after ten halvings; its `path` is the Path up to there.

    Verified by: tests/exact/test_rod_equilibria.py::test_path_through_a_limit_point
    """
    number("follow_path.arc", arc, rule="positive", why="a step has a length.", try_="give 0.05.")
    number("follow_path.tolerance", tolerance, rule="positive", why=_BALANCE, try_="give 1e-9.")
    why, each = "the number of equilibria is bounded.", 200.0 * (rod.elements + 1)
    whole("follow_path.max_points", max_points, least=1, each=each, why=why, try_="give 200.")
    why = "the path ends beyond this load factor."
    if not (np.isscalar(max_factor) and max_factor == np.inf):
        number("follow_path.max_factor", max_factor, rule="nonnegative", why=why, try_="give 1.0.")
    static = _loaded(rod, tolerance, 40)
    factor = 0.0
    if start is not None:
        static.set_state(start)
        factor = start.factor
    load_path = _LoadPath(static)
    upward = np.append(np.zeros(static.size), 1.0)
    stored = None if checkpoint is None else checkpoint.load()
    if stored is not None:
        states, tangent, losses = _resumed_path(static, stored)
        factor, size, _ = static.resume(stored)
    else:
        if not (
            static.newton(factor) if start is not None else static.solve_as_curvature_grows(factor)
        ):
            raise _unconverged(factor)
        states, losses = [static.state(factor)], []
        size, tangent = arc, upward
    point = place_at(load_path, _Configuration(*static.copy_state(), factor), tangent)

    def pack() -> dict[str, Any]:
        static.restore(point.u[:2])
        saved = _path_arrays(states, point.tangent, losses)
        return {**static.pack(point.u.factor, size, 0), **saved}

    def continuation() -> Generator[Pause, None, None]:
        nonlocal point, size
        while len(states) < max_points and abs(point.u.factor) <= max_factor:
            yield Pause(len(states) / max_points, f"{len(states)} equilibria", pack)
            result = advance(load_path, point, size, longest=arc)
            if result is None:
                found = Path(tuple(states), tuple(losses))
                raise _unconverged(point.u.factor, ", even with steps halved ten times", found)
            before, (point, step, size) = point, result
            static.iterations = step.iterations
            states.append(load_path.state(point.u))
            rises = before.tangent[-1], point.tangent[-1]  # its sign changes at a limit point
            if (rises[0] > 0.0) != (rises[1] > 0.0):
                load_rate = functools.partial(load_path.load_rate, tangent=before.tangent)
                limit = located(load_path, before, step.step, load_rate, rises)
                # without a root between, the last equilibrium approximates the limit point
                losses.append(load_path.limit_point(before.u if limit is None else limit[1]))

    run_to_end(continuation(), checkpoint=checkpoint)
    return Path(tuple(states), tuple(losses))


_NUMBERS = ("factor", "energy", "residual", "iterations", "softest", "stiffest")


def _path_arrays(
    states: Sequence[Equilibrium], tangent: Floats, losses: Sequence[Loss]
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a path for a checkpoint.

    For k equilibria: position (k, nodes, 3), frame (k, elements, 4), found (k, 6) the numbers of
    `_NUMBERS`, clamp (k, 2, 2, 3) forces and moments of both ends; tangent (unknowns + 1,) of the
    last one; lost (limit points, 4) load factor and position of the last node.
    """
    return {
        "position": np.array([state.position for state in states]),
        "frame": np.array([state.frame for state in states]),
        "found": np.array([[float(getattr(s, name)) for name in _NUMBERS] for s in states]),
        "clamp": np.array([[state.clamp_force, state.clamp_moment] for state in states]),
        "tangent": tangent,
        "lost": np.array([[loss.time, *loss.where["tip"]] for loss in losses]).reshape(-1, 4),  # type: ignore[misc]
    }


def _resumed_path(
    static: StaticRod, stored: Mapping[str, npt.NDArray[Any]]
) -> tuple[list[Equilibrium], Floats, list[Loss]]:
    """Return equilibria, the last tangent and limit points of a checkpoint, see `_path_arrays`."""
    numbers = saved_array(stored, "found", (None, len(_NUMBERS)))
    position = saved_array(stored, "position", (len(numbers), static.slots - 1, 3))
    frame = saved_array(stored, "frame", (len(numbers), *stored["frame"].shape[1:]))
    clamp = saved_array(stored, "clamp", (len(numbers), 2, 2, 3))
    conservative = not bool(static.torque.any())
    states = []
    for nodes, frames, both, values in zip(position, frame, clamp, numbers.tolist(), strict=True):
        given = {**dict(zip(_NUMBERS, values, strict=True)), "iterations": int(values[3])}
        given |= {"clamp_force": both[0], "clamp_moment": both[1]}
        states.append(Equilibrium(position=nodes, frame=frames, conservative=conservative, **given))
    tangent = saved_array(stored, "tangent", (static.size + 1,))
    lost = saved_array(stored, "lost", (None, 4)).tolist()
    return states, tangent, [_loss(tuple(tip), factor) for factor, *tip in lost]


def _loss(tip: tuple[float, ...], factor: float) -> Loss:
    """Return the record of a limit point: position of the last node [m], load factor."""
    where = {"tip": tip, "load_factor": factor}
    return Loss(factor, "limit_point", where, "the path was followed by its arclength")


def _unconverged(factor: float, halved: str = "", found: Path | None = None) -> SolveError:
    """Return the error of a load step without convergence, with the path up to it."""
    return SolveError(
        f"equilibrium: got no solution at load factor {factor:.6g}; needs forces in equilibrium.\n"
        f"Why: Newton's method did not converge{halved}.\n"
        "Try: more steps, a start near the solution, or follow_path past a limit point.",
        path=found,
    )


def _loaded(rod: CosseratRod, tolerance: float, max_iterations: int) -> StaticRod:
    """Return the equations of a rod; ModelError if its supports or its loads do not suffice."""
    check_supports(rod)
    static = StaticRod(rod, tolerance, max_iterations)
    if static.scale == 0.0:
        raise ModelError(
            "equilibrium.rod",
            "a rod without loads",
            "LineForce, PointForce or PointMoment on the rod, a Turned end, or another natural "
            "shape",
            "without loads the given shape is in equilibrium.",
            "give loads = [PointForce([0, 0, -1])].",
        )
    return static


class StaticRod:
    """State and equations of one rod, with one slot before and one after it for its clamps.

    Attributes
    ----------
    slots, size : elements + 2, and 6 unknowns per slot; node k is in slot k + 1, counted from 0,
        and so is element k; slots 0 and elements + 1 hold the frames of clamps
    r, q : (3, slots) nodes [m], (4, slots) quaternions of frames
    mat : (14, slots) table of `rod_kernels.Material`
    force, torque : (3, slots) loads at factor 1 [N], [N m]
    scale : largest load, the unit of residuals [N]
    free : (6 slots,) whether an unknown is free
    """

    def __init__(self, rod: CosseratRod, tolerance: float, max_iterations: int) -> None:
        self.rod, self.tolerance, self.max_iterations = rod, tolerance, max_iterations
        n = rod.elements
        self.ends = RotatingEnds(rod)
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
        self.ends.to_solution(self.r, self.q)
        self.mat = self._table()
        self.ends.set_initial_frames(self.q)
        self.force, self.torque = self._loads()
        largest = float(np.abs(self.force).max())
        self.scale = max(largest, float(np.abs(self.torque).max()) / rod.rest_length)
        # scale of the bending forces under rotation of an end
        bends = self.ends.angle * rod.section.bending_stiffness / rod.rest_length**2
        self.scale = max(self.scale, bends)
        if self.scale == 0.0:
            self.scale = self._natural_scale(nodes)
        # torques over the rest length are compared with forces over 1
        self.arm = np.tile(np.repeat([1.0, rod.rest_length], 3), self.slots)
        # rounding of strains as a force
        self.rounding = 1e-13 * rod.section.axial_stiffness
        self.scratch, self.work = np.zeros((24, self.slots)), np.zeros((10, self.slots))
        rows = rk.material_of(self.mat)
        movable = np.array([rows.free, rows.turns]) > 0.0
        self.free = np.repeat(movable, 3, axis=0).T.ravel()
        self.ends.fix_sliding_nodes(self.free)

    def _natural_scale(self, nodes: Floats) -> float:
        """Return the scale of forces by which the rod leaves its given shape without loads [N]."""
        rod = self.rod
        lengths = np.linalg.norm(np.diff(nodes, axis=0), axis=1)
        strain = float(np.abs(lengths * rod.elements / rod.rest_length - 1.0).max())
        # below these values the shapes differ by rounding
        bends = (
            rod.section.bending_stiffness / rod.rest_length**2 if self.natural_turn > 1e-9 else 0.0
        )
        stretches = rod.section.axial_stiffness if strain > 1e-12 else 0.0
        return max(self.natural_turn * bends, strain * stretches)

    def _table(self) -> Floats:
        """Return the table of materials, see `rod_kernels.Material`; set the frames of clamps."""
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
        rows.bend2[joints] = section.second_bending_stiffness / (ds * lengths[joints - 1])
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
            if isinstance(end, Clamped | Pinned | Turned) and node not in self.ends.sliding:
                rows.free[node] = 0.0
            if isinstance(end, Clamped) and end.hold == "element":
                rows.free[beside], rows.turns[frame] = 0.0, 0.0
        return mat

    def _loads(self) -> tuple[Floats, Floats]:
        """Return (3, slots) forces [N] and torques [N m] of the loads at factor 1."""
        n, ds = self.rod.elements, self.rod.rest_length / self.rod.elements
        force, torque = np.zeros((3, self.slots)), np.zeros((3, self.slots))
        for load in self.rod.loads:
            if isinstance(load, LineForce):
                force[:, 1:] += np.outer(load.force, ds * tributary_lengths(self.rod))
            elif isinstance(load, PointForce):
                force[:, 1 + round(load.at * n)] += load.force
            elif isinstance(load, PointMoment):
                torque[:, 1 + min(int(load.at * n), n - 1)] += load.moment
        return rotate(self.ends.rotation, force), rotate(self.ends.rotation, torque)

    # ---- states

    def copy_state(self) -> tuple[Floats, Floats]:
        """Return copies of positions (3, slots) and frames (4, slots)."""
        return self.r.copy(), self.q.copy()

    def restore(self, saved: tuple[Floats, Floats]) -> None:
        """Set a state that `copy_state` returned."""
        self.r[:], self.q[:] = saved

    def set_state(self, start: object) -> None:
        """Set the state to an equilibrium; its rod must have as many elements."""
        if not isinstance(start, Equilibrium):
            why, try_ = (
                "Newton's method starts from this equilibrium.",
                "give the result of `equilibrium`.",
            )
            raise ModelError("equilibrium.start", repr(start), "an Equilibrium", why, try_)
        if len(start.position) != self.rod.elements + 1:
            needs = f"{self.rod.elements + 1} nodes"
            why = "Newton's method starts from the nodes of this equilibrium."
            try_ = "start from the same rod."
            got = f"{len(start.position)} nodes"
            raise ModelError("equilibrium.start", got, needs, why, try_)
        self.r[:, 1:], self.q[:, 1:-1] = start.position.T, start.frame.T
        self.ends.to_solution(self.r[:, 1:], self.q[:, 1:-1])

    def state(self, factor: float) -> Equilibrium:
        """Return the present state, at this load factor, as an equilibrium."""
        right = self.unbalanced(factor)
        # the energy of the joint of the last clamp needs one more slot
        r, q = (np.pad(x, ((0, 0), (0, 1)), mode="edge") for x in (self.r, self.q))
        energy = rk.stored_energy(r, q, np.pad(self.mat, ((0, 0), (0, 1))))
        position, frame = self.ends.from_solution(self.r[:, 1:], self.q[:, 1:-1])
        clamp_force, clamp_moment = self.reactions(factor)
        return Equilibrium(
            factor=factor,
            position=np.ascontiguousarray(position.T),
            frame=np.ascontiguousarray(frame.T),
            energy=float(energy),
            residual=self.largest(right) / self.scale,
            iterations=self.iterations,
            softest=self.smallest_eigenvalue(),
            stiffest=float(np.abs(self.stiffness()[BAND]).max()),
            conservative=not bool(self.torque.any()),
            clamp_force=clamp_force,
            clamp_moment=clamp_moment,
        )

    iterations = 0

    # ---- checkpoint

    def pack(self, *numbers: float) -> dict[str, npt.NDArray[Any]]:
        """Return arrays for a checkpoint; `numbers` are load factor, step, number of halvings."""
        return {"r": self.r, "q": self.q, "numbers": np.array(numbers)}

    def resume(self, stored: Mapping[str, npt.NDArray[Any]]) -> tuple[float, float, int]:
        """Restore a state; return load factor, step, number of halvings."""
        put_back({"r": self.r, "q": self.q}, stored)
        factor, step, halvings = saved_array(stored, "numbers", (3,)).tolist()
        return factor, step, int(halvings)

    # ---- natural curvature

    @property
    def natural_turn(self) -> float:
        """Rotation of one end relative to the other by the natural curvature [rad]."""
        return float(np.linalg.norm(self.natural_angles - self.given_angles, axis=0).sum())

    def set_natural_curvature(self, fraction: float) -> None:
        """Set natural angles of the joints, from the given shape (0) to those of the rod (1)."""
        angles = self.given_angles + fraction * (self.natural_angles - self.given_angles)
        rk.material_of(self.mat).angle[:] = angles

    def solve_as_curvature_grows(self, factor: float) -> bool:
        """Solve at a load factor as the natural curvature grows; return success."""
        fraction, step = 0.0, 0.5 / max(self.natural_turn, 0.5)
        while fraction < 1.0 - 1e-12:
            saved, target = self.copy_state(), min(1.0, fraction + step)
            self.set_natural_curvature(target)
            if self.newton(factor):
                fraction = target
                continue
            self.restore(saved)
            step *= 0.5
            if step < 1e-6:
                return False
        return True

    # ---- equations

    def elastic(self) -> Floats:
        """Return (6, slots) elastic forces on nodes [N] and torques on frames [N m]."""
        n, m, f, t = (self.scratch[3 * k : 3 * k + 3] for k in range(4))
        with quiet():
            rk.elastic(self.r, self.q, self.mat, n, m, f, t)
        # the kernel omits the last frame, that of the clamp at the end
        t[:, -1] = -m[:, -1]
        return np.vstack([f, t])

    def unbalanced(self, factor: float) -> Floats:
        """Return (6 slots,) unbalanced forces [N] and torques [N m]; 0 for fixed unknowns."""
        return np.asarray(self._forces(factor).T.ravel() * self.free)

    def _forces(self, factor: float) -> Floats:
        """Return (6, slots) elastic forces and torques, and loads, at a load factor."""
        self.ends.rotate_clamps(self.q, factor)
        return self.elastic() + factor * np.vstack([self.force, self.torque])

    def reactions(self, factor: float) -> tuple[Floats, Floats]:
        """Return (2, 3) reactions of the supports of start and end, see `Equilibrium`."""
        reaction = np.where(self.free.reshape(-1, 6).T, 0.0, -self._forces(factor))
        middle, force, moment = self.slots // 2, np.zeros((2, 3)), np.zeros((2, 3))
        for k, (part, end) in enumerate(((slice(middle), 1), (slice(middle, None), -1))):
            arm = self.r[:, part] - self.r[:, [end]]
            lever = np.cross(arm, reaction[:3, part], axis=0)
            force[k] = reaction[:3, part].sum(axis=1)
            moment[k] = (lever + reaction[3:, part]).sum(axis=1)
        return self.ends.back(force.T).T, self.ends.back(moment.T).T

    def stiffness(self) -> Floats:
        """Return the tangent stiffness in banded storage, (23, 6 slots)."""
        from stiction.rods.driving_kernels import Switches
        from stiction.rods.midpoint.kernels import banded, difference_forces

        flags = Switches(damped=False, retarded=False, loaded=False, shake=False)
        zero = np.zeros(self.size)
        with quiet():
            table = difference_forces(
                self.r, self.q, self.mat, self.work[0], flags, zero, 1.0, self.scratch, self.work
            )
            # `difference_forces` differentiates by half of each unknown
            matrix = np.asarray(banded(2.0 * table, self.mat, self.q, 1.0))
        self.ends.constrain_matrix(matrix, BAND)
        return matrix

    def smallest_eigenvalue(self) -> float:
        """Return the smallest eigenvalue of the symmetric tangent, with angles times ds [N/m]."""
        from scipy.linalg import eigvals_banded

        matrix, ds = self.stiffness(), float(rk.material_of(self.mat).length[0])
        unit = np.tile([1.0, 1.0, 1.0, ds, ds, ds], self.slots)
        lower = np.zeros((BAND + 1, self.size))
        for k in range(BAND + 1):
            above = matrix[BAND - k, k:]
            below = matrix[BAND + k, : self.size - k]
            pair = 0.5 * (above + below) / (unit[k:] * unit[: self.size - k])
            lower[k, : self.size - k] = pair
        # fixed unknowns have a unit diagonal: replace it by a large stiffness
        lower[0, ~self.free] = float(np.abs(lower[0]).max())
        return float(eigvals_banded(lower, lower=True, select="i", select_range=(0, 0))[0])

    def apply_increment(self, step: Floats) -> None:
        """Add an increment (6 slots,) of all unknowns to the state; fixed ones do not change."""
        from stiction.rods.midpoint.kernels import turned

        change = np.ascontiguousarray((step * self.free).reshape(-1, 6))
        self.r += change[:, :3].T
        turned(self.q.copy(), change, 1.0, self.q)

    def largest(self, unbalanced: Floats) -> float:
        """Return the largest of forces, and of torques over the rest length, (6 slots,) [N]."""
        return float(np.abs(unbalanced / self.arm).max())

    def force_tolerance(self, factor: float) -> float:
        """Return the largest residual of an equilibrium [N]: the tolerance, or rounding."""
        return max(self.tolerance * self.scale * max(abs(factor), 1.0), self.rounding)

    def newton(self, factor: float) -> bool:
        """Solve for equilibrium at a load factor by Newton's method; return success."""
        from scipy.linalg import solve_banded

        for iteration in range(self.max_iterations):
            right = self.unbalanced(factor)
            if not np.isfinite(right).all():
                return False
            if iteration > 0 and self.largest(right) <= self.force_tolerance(factor):
                self.iterations = iteration
                return True
            try:
                step = solve_banded((BAND, BAND), self.stiffness(), right, check_finite=False)
            except np.linalg.LinAlgError:
                return False
            self.apply_increment(_limited(step))
        return False

    def load_vector(self, factor: float) -> Floats:
        """Return (6 slots,) derivatives of forces and torques by the load factor."""
        load = np.vstack([self.force, self.torque]).T.ravel() * self.free
        if self.ends.angle > 0.0:
            # rotating clamps change elastic forces: central difference
            increment = 1e-5 / self.ends.angle
            forward, backward = (
                self.unbalanced(factor + increment),
                self.unbalanced(factor - increment),
            )
            load = (forward - backward) / (2.0 * increment)
            self.ends.rotate_clamps(self.q, factor)
        return load


class _Configuration(NamedTuple):
    """Positions (3, slots) and frames (4, slots) of a rod, and its load factor."""

    r: Floats
    q: Floats
    factor: float


class _Stiffness(NamedTuple):
    """The tangent of the path: stiffness and load vector, in unknowns scaled by `weight`.

    Residuals are forces, and torques over `arm`, the rest length of the rod for these, else 1.
    """

    matrix: Floats
    load: Floats
    weight: Floats
    arm: Floats

    def tangent(self, before: Floats | None) -> Floats:
        """Return the unit step along the path, on the side of `before`."""
        along = np.append(self.weight * self._solve(self.load), 1.0)
        along /= np.linalg.norm(along)
        return -along if before is not None and float(along @ before) < 0.0 else along

    def solve(self, row: Floats, right: Floats) -> Floats:
        """Solve the bordered system: the residual, and one further equation `row`."""
        right_hand = np.column_stack([self.arm * right[:-1], -self.load])
        both = self.weight[:, None] * self._solve(right_hand)
        return np.append(*bordered(both, row[:-1], float(row[-1]), float(right[-1])))

    def _solve(self, right: Floats) -> Floats:
        """Return the solution of the stiffness for one or more right-hand sides."""
        from scipy.linalg import solve_banded

        return np.asarray(solve_banded((BAND, BAND), self.matrix, right, check_finite=False))


class _LoadPath:
    """Equilibria of a rod under its loads times a factor, for `numerics.continuation`.

    The arclength scales displacements by the rest length, angles and the load factor by 1.
    """

    def __init__(self, static: StaticRod) -> None:
        self.static = static
        length, slots = static.rod.rest_length, static.slots
        self.weight = np.tile([1.0 / length] * 3 + [1.0] * 3, slots) / np.sqrt(slots)

    def residual(self, u: _Configuration) -> Floats:
        """Return unbalanced forces, torques over `arm`, with the sign of the stiffness."""
        self.static.restore(u[:2])
        return np.asarray(-self.static.unbalanced(u.factor) / self.static.arm)

    def tolerance(self, u: _Configuration) -> float:
        """Return the largest residual of an equilibrium."""
        return self.static.force_tolerance(u.factor)

    def linearised(self, u: _Configuration) -> _Stiffness:
        """Return stiffness and load vector at a configuration."""
        self.static.restore(u[:2])
        load = self.static.load_vector(u.factor)
        return _Stiffness(self.static.stiffness(), load, self.weight, self.static.arm)

    def moved(self, u: _Configuration, step: Floats) -> _Configuration:
        """Return the configuration after a scaled step."""
        self.static.restore(u[:2])
        self.static.apply_increment(step[:-1] / self.weight)
        return _Configuration(*self.static.copy_state(), u.factor + float(step[-1]))

    def state(self, u: _Configuration) -> Equilibrium:
        """Return the equilibrium of a configuration."""
        self.static.restore(u[:2])
        return self.static.state(u.factor)

    def load_rate(self, u: _Configuration, tangent: Floats) -> float:
        """Return the derivative of the load factor by the arclength, oriented by a tangent."""
        return float(self.linearised(u).tangent(tangent)[-1])

    def limit_point(self, u: _Configuration) -> Loss:
        """Return a limit point of the load."""
        tip = self.static.ends.from_solution(u.r[:, -1:], u.q[:, -2:-1])[0][:, 0]
        return _loss(tuple(float(x) for x in tip), u.factor)


def _limited(step: Floats) -> Floats:
    """Return a Newton step, scaled so that rotations are at most half a radian."""
    largest = float(np.abs(step.reshape(-1, 6)[:, 3:]).max(initial=0.0))
    return step * min(1.0, 0.5 / largest) if largest > 0.0 else step
