"""Hinges of rigid bodies: points that two parts share, with friction of a pin that turns in a hole.

Hinges are bilateral constraints at the level of velocities. `Hinges` has the geometry of those of a
system, `HingeStep` eliminates their forces in one step of `run.Stepper`. The rows G give the
velocities of the pins on the first parts relative to the second ones. A step prescribes G v+ = g,
and the forces of the hinges that achieve it are eliminated: velocities v without them become

    v + M^-1 G^T A^-1 (g - G v),   A = G M^-1 G^T,

with the mass matrix M, and forces of contacts act through the mobility
P = M^-1 - M^-1 G^T A^-1 G M^-1 in place of M^-1. G is taken at the middle of the step of length h.
Where velocities satisfy the hinges at both ends of the step, G v is (h / 2) b before it and
-(h / 2) b after it to first order; b is the relative acceleration of the pins by the rotation of
their parts. So

    g = -(h / 2) b - d / (2 h)

with the gap d of the pin at the begin of the step. The last term lets errors of the gap decay by
half in each step; with 2 d / h they would not decay.

The pin has the radius R and touches its hole along one line. Friction there turns the force F of
the hinge by the angle arctan(mu) at most; its moment is at most R |F| sin(arctan(mu)) (the circle
of friction). The pin is then a contact with the normal impulse |F| and the coefficient
sin(arctan(mu)); a fixed-point iteration determines |F| (`HingeStep.solve`).

Source: Pfeiffer, Glocker 1996, Multibody Dynamics with Unilateral Contacts (constraints eliminated
from the contact problem).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.bodies.joints.springs import turned
from stiction.errors import ModelError
from stiction.numerics.arrays import Struct, Table
from stiction.numerics.friction_problem.blocks import Local, local_of
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.solver import solve_local

if TYPE_CHECKING:
    from stiction.bodies.mechanics import Mechanics
    from stiction.bodies.model import Hinge
    from stiction.bodies.space.mechanics import SpatialMechanics

__all__ = ["HingeStep", "Hinges", "PinFriction", "refuse_hinges"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

# least singular value of the scaled conditions below which hinges at the start lock, and below
# which a value counts as zero in a step. Chosen
_LOCKED, _SINGULAR = 1e-9, 1e-10
# numbers of iterations for the forces that bound the friction of pins at which whole steps, half
# steps and Broyden's method end, and their relative tolerance, above that of the contact problems.
# Chosen
_WHOLE, _HALF, _ROUNDS, _CONVERGED = 10, 50, 80, 6e-11
# relative tolerance of contact problems with pins, above that of others: pins of one mechanism have
# a singular W, and rounding ends the decrease of the residual. Chosen
_TOLERANCE = 3e-11
# parts stop in a step that turn slower after it than this fraction of before. Chosen
_STOPS = 1e-2
# a pin sticks if its slip is below the first fraction of the velocity of the pin without impulses
# and its friction below its bound by that fraction, or if its slip is below the second. Chosen
_INSIDE, _SLIP = 1e-9, 1e-13


class Hinges:
    """The hinges of a system; places (..., m, 3) are those of bodies, then of supports.

    A hinge gives k = 2 conditions. `bodies.space.hinges` has those in space, with d = 3 components
    of a point instead of 2, k = 6, and 7 and 6 numbers of a place and a velocity instead of 3.

    Parameters
    ----------
    pose : (m, 3) places at the start
    inverse : (m, 3) inverse masses and moments of inertia, zero of supports
    reach : (m,) sizes of bodies, then of supports [m]
    n_body : number of bodies

    Attributes
    ----------
    ends : (h, 2) numbers of the parts, from 0; the first one is a body
    flipped : (h,) -1 where the user's first part is the second one here, else 1
    radius, reach : (h,) of the pins, and sizes of the first parts [m]
    mu, sine : (h,) coefficients of friction, and sines of the friction angles; 0 without friction
    """

    components: ClassVar[int] = 2
    contact: ClassVar[type[Struct]] = Contact

    def __init__(
        self, hinges: Sequence[Hinge], pose: Floats, inverse: Floats, reach: Floats, n_body: int
    ) -> None:
        ends = np.array([[h.first, h.second] for h in hinges], dtype=np.int64) - 1
        flip = ends[:, 0] >= n_body
        self.flipped = np.where(flip, -1.0, 1.0)
        self.ends = np.where(flip[:, None], ends[:, ::-1], ends)
        self.radius = np.array([h.radius for h in hinges])
        self.mu = np.array([0.0 if h.law is None else float(h.law.mu) for h in hinges])  # type: ignore[arg-type]
        self.sine = np.sin(np.arctan(self.mu))
        self.reach, self.inverse = reach[self.ends[:, 0]], inverse
        at = np.array([h.at for h in hinges], dtype=np.float64)
        # in the frames of the parts
        self._points = self._in_frames(pose, at[:, None] - pose[self.ends, : self.components])

    def _in_frames(self, pose: Floats, vectors: Floats) -> Floats:
        """Return vectors (h, 2, d) in the frames of both parts; given in the axes of the system."""
        return turned(-pose[self.ends, 2], vectors)

    def arms(self, pose: Floats) -> Floats:
        """Return (..., h, 2, d) vectors from the centres of the parts to the pins [m]."""
        return turned(pose[..., self.ends, 2], self._points)

    def _arms_halfway(self, pose: Floats) -> Floats:
        """Return (h, 2, d) vectors from the centres of the parts to the middle of the gap [m]."""
        middle = self.middle(pose)[:, None]
        return np.asarray(middle - pose[self.ends, : self.components])

    def places(self, pose: Floats) -> Floats:
        """Return (..., h, 2, d) places of the pins on both parts [m]."""
        return np.asarray(pose[..., self.ends, : self.components] + self.arms(pose))

    def middle(self, pose: Floats) -> Floats:
        """Return (..., h, d) places of the hinges, halfway in their gaps [m]."""
        return np.asarray(self.places(pose).mean(axis=-2))

    def gaps(self, pose: Floats) -> Floats:
        """Return (..., h, k) vectors from the pins on the second parts to the first ones [m]."""
        at = self.places(pose)
        return np.asarray(at[..., 0, :] - at[..., 1, :])

    def along(self, pose: Floats, gaps: Floats) -> Floats:
        """Return components (h, k) of gaps along the directions of the conditions at `pose`.

        In the plane these directions are x and y at all places.
        """
        return gaps

    def rows(self, pose: Floats) -> Floats:
        """Return (2 h, 3 m) rows G of the relative velocities of the pins, along x and y.

        The forces of a hinge act at one point, halfway in its gap, so that they conserve momenta.
        """
        arms, count = self._arms_halfway(pose), len(self.ends)
        out, every = np.zeros((count, 2, len(pose), 3)), np.arange(count)
        for side, sign in ((0, 1.0), (1, -1.0)):
            part, arm = self.ends[:, side], arms[:, side]
            out[every, 0, part, 0] += sign
            out[every, 1, part, 1] += sign
            out[every, 0, part, 2] -= sign * arm[:, 1]
            out[every, 1, part, 2] += sign * arm[:, 0]
        return out.reshape(2 * count, -1)

    def motions(self, pose: Floats, v: Floats, k: int) -> list[tuple[str, str, Floats]]:
        """Return velocities that both parts of hinge k must share, for messages.

        Each entry has a name, a unit, and the values (2, d) on both parts.

        v : (m, 3) velocities of bodies, then of supports
        """
        arms, moving = self.arms(pose)[k], v[self.ends[k]]
        around = moving[:, 2:] * np.stack([-arms[:, 1], arms[:, 0]], axis=1)
        return [("a pin with the velocities", "m/s", moving[:, :2] + around)]

    def levers(self, pose: Floats) -> Floats:
        """Return (h, 3 m) rows of the slip velocities R (w_1 - w_2) of the pins, with spins w."""
        out, every = np.zeros((len(self.ends), len(pose), 3)), np.arange(len(self.ends))
        out[every, self.ends[:, 0], 2] += self.radius
        out[every, self.ends[:, 1], 2] -= self.radius
        return out.reshape(len(self.ends), -1)

    def bias(self, pose: Floats, v: Floats) -> Floats:
        """Return (h, 2) relative accelerations b of the pins at constant velocities [m/s^2].

        They are centripetal: -w^2 arm on the first part minus that on the second.

        v : (m, 3) velocities of bodies, then of supports
        """
        centripetal = -(v[self.ends, 2:] ** 2) * self.arms(pose)
        return np.asarray(centripetal[:, 0] - centripetal[:, 1])

    def bearings(self, pose: Floats) -> Floats:
        """Return (h, s, d, k) forces of the s bearings of a pin by unit forces of its conditions.

        In the plane a pin has one bearing, s = 1, whose force is that of the hinge. The friction of
        a pin is at most its sine times the sum of their magnitudes.
        """
        return np.tile(np.eye(2), (len(self.ends), 1, 1, 1))

    def loads(self, pose: Floats, forces: Floats) -> Floats:
        """Return forces on the first parts, and moments of friction, (h, 3) [N], [N m].

        forces : (h, 3) along x and y, and friction at the pins [N]
        """
        return np.column_stack([forces[:, :2], self.radius * forces[:, 2]])

    def links(self, which: Wholes | slice = slice(None)) -> Table[Any]:
        """Return hinges as contacts of which only the numbers of the parts are set, for groups."""
        ends = self.ends[which]
        out = self.contact.table(len(ends))
        out["first"], out["second"] = ends.T
        return out

    def contact_rows(self, contacts: Table[Any], count: int) -> Floats:
        """Return (2 c, 3 m) rows J of contacts, normal and tangential in turn.

        count : of parts
        """
        normal = np.asarray(contacts["normal"])
        tangent, every = np.stack([normal[:, 1], -normal[:, 0]], axis=1), np.arange(len(contacts))
        out = np.zeros((len(contacts), 2, count, 3))
        for name, sign in (("first", 1.0), ("second", -1.0)):
            part, arm = contacts[name], np.asarray(contacts[f"arm_{name}"])
            for i, along in enumerate((normal, tangent)):
                out[every, i, part, :2] = sign * along
                out[every, i, part, 2] = sign * (arm[:, 0] * along[:, 1] - arm[:, 1] * along[:, 0])
        return out.reshape(2 * len(contacts), 3 * count)

    def resting(self, pose: Floats, still: Wholes, stuck: Wholes) -> Table[Any]:
        """Return hinges as contacts that stick and have the same conditions.

        A pin that sticks in its hole has a second contact at a distance, which excludes rotation.

        Parameters
        ----------
        still, stuck : numbers of the hinges whose parts do not turn, and of those that stick
        """
        which = np.append(still, stuck)
        out = self.links(which)
        out["normal"] = [1.0, 0.0]
        out["arm_first"], out["arm_second"] = np.swapaxes(self._arms_halfway(pose)[which], 0, 1)
        for name in ("arm_first", "arm_second"):
            out[name][len(still) :, 0] += self.reach[stuck]
        return out

    def _turning(self, v: Floats) -> Floats:
        """Return (h,) velocities of the pins by the rotation of their parts [m/s]; v (m, 3)."""
        size = np.linalg.norm(self._points, axis=-1)
        return np.asarray((np.abs(v[self.ends, 2]) * size).max(axis=1))

    def step(
        self, pose: Floats, v: Floats, free: Floats, gaps: Floats, h: float, rounding: float
    ) -> HingeStep:
        """Return the hinges in a step: G, its singular value decomposition and the right side g.

        Parameters
        ----------
        pose : (m, 3) in the middle of the step
        v, free : (m, 3) velocities before it, and after it without impulses
        gaps : (h, k) at the begin of the step [m]
        h : length of the step [s]
        rounding : gaps up to this size are zero [m]
        """
        gaps = np.where(np.abs(gaps) <= rounding, 0.0, gaps)
        closing = self.along(pose, gaps) / (2.0 * h)
        rows = self.rows(pose)
        # A = D^-1 U s^2 U^T D^-1 with the singular values s of D G M^-1/2; D makes its rows unit
        # vectors
        root = np.sqrt(self.inverse.ravel())
        length = _lengths(rows * root)
        u, s, v_t = np.linalg.svd(rows * root / length, full_matrices=False)
        regular = s > _SINGULAR
        u, s, v_t = u[:, regular] / length, s[regular], v_t[regular]
        target = -0.5 * h * self.bias(pose, v) - closing
        speed = (np.abs(rows) @ np.abs(free.ravel())).reshape(target.shape).max(axis=1)
        # where no part turns the gap stays, and closing it would move parts that rest. Rotation by
        # the rounding of velocities is none
        target[self._turning(v) <= np.finfo(np.float64).eps * speed] = 0.0
        made = HingeStep(
            hinges=self,
            pose=pose,
            free=free,
            rows=rows,
            root=root,
            factors=(u, s, v_t),
            target=target,
            levers=self.levers(pose),
            bearings=self.bearings(pose),
            speed=speed,
            moving=free,
            forces=np.zeros_like(target),
        )
        moving, forces = made.project(free)
        return made._replace(moving=moving, forces=forces)


class PinFriction(NamedTuple):
    """Solution of a contact problem with friction of pins.

    Attributes
    ----------
    r, u : (c, d) impulses of contacts [N s], velocities after them [m/s]
    friction : (f,) impulses at the surfaces of the pins [N s]
    error : residual, relative
    work : (2,) sweeps and linear systems
    """

    r: Floats
    u: Floats
    friction: Floats
    error: float
    work: Wholes


class HingeStep(NamedTuple):
    """The hinges of a step, and the factors that eliminate their forces.

    Attributes
    ----------
    hinges : of the system
    pose : (m, 3) in the middle of the step
    free : (m, 3) velocities after the step without impulses
    rows, root : (k h, 3 m) G, and (3 m,) diagonal of M^-1/2
    factors : D U, the singular values s, and V^T of D G M^-1/2 = U s V^T, without those that are 0
    target : (h, k) velocities G v+ after the step [m/s]
    levers : (h, 3 m) rows of the velocities of slip of the pins
    bearings : (h, s, d, k) as of `Hinges.bearings`
    speed : (h,) bounds of the velocities of the pins without impulses [m/s]
    moving, forces : (m, 3) velocities after the step with the impulses of hinges alone, and these
        (h, k) [N s]
    """

    hinges: Hinges
    pose: Floats
    free: Floats
    rows: Floats
    root: Floats
    factors: tuple[Floats, Floats, Floats]
    target: Floats
    levers: Floats
    bearings: Floats
    speed: Floats
    moving: Floats
    forces: Floats

    def stopped(self, before: Floats, after: Floats, *, unsolved: bool) -> HingeStep | None:
        """Return the step for hinges whose parts stop turning in it; None if there are none.

        The conditions of the step are those of velocities before it. Where parts stop, these would
        move contacts and pins that stick.

        Parameters
        ----------
        before, after : (m, 3) velocities before and after the step
        unsolved : whether the contact problem was not solved: any part may stop
        """
        turned = self.hinges._turning(before)
        stops = unsolved | (self.hinges._turning(after) <= _STOPS * turned)
        if not (self.target[stops] != 0.0).any():
            return None
        made = self._replace(target=np.where(stops[:, None], 0.0, self.target))
        moving, forces = made.project(self.free)
        return made._replace(moving=moving, forces=forces)

    def project(self, v: Floats) -> tuple[Floats, Floats]:
        """Return velocities (m, 3) that satisfy G v = g, and the impulses (h, k) that give them.

        They are v + M^-1 G^T A^-1 (g - G v), by the singular value decomposition.
        """
        u, s, v_t = self.factors
        moved, impulse = v.ravel(), np.zeros(self.target.size)
        # twice: what is left is rounding of the first velocities. Through V^T they have an error of
        # 1 / s only, and not 1 / s^2
        for _ in range(2):
            change = u.T @ (self.target.ravel() - self.rows @ moved) / s
            moved, impulse = moved + self.root * (v_t.T @ change), impulse + u @ (change / s)
        return moved.reshape(v.shape), impulse.reshape(self.target.shape)

    def _moved(self, rows: Floats) -> Floats:
        """Return rows H = J M^-1/2 (I - V V^T); J P J^T = H H^T is then positive semidefinite.

        V has orthonormal columns, the right singular vectors of D G M^-1/2.
        """
        _, _, v_t = self.factors
        scaled = rows * self.root
        return np.asarray(scaled - (scaled @ v_t.T) @ v_t)

    def apply(self, v: Floats, friction: Floats) -> tuple[Floats, Floats, float]:
        """Add friction of pins and forces of hinges to velocities v (m, 3).

        friction : (h,) impulses at the surfaces of the pins [N s]

        Returns
        -------
        (m, 3) velocities; (h, k + 1) impulses of the conditions on the first parts, and at the
        pins; and the largest relative error of the velocities of the pins.
        """
        rubbed = v + (friction @ self.levers).reshape(v.shape) * self.hinges.inverse
        moved, impulses = self.project(rubbed)
        left = np.abs(self.rows @ moved.ravel() - self.target.ravel())
        scale = np.abs(self.rows) @ np.abs(rubbed.ravel()) + np.abs(self.target.ravel())
        # rounding of the fastest part reaches all hinges of its mechanism
        error = float(left.max() / (scale.max() or 1.0))
        return moved, np.column_stack([impulses, friction]), error

    def heat(self, mean: Floats, friction: Floats) -> Floats:
        """Return (h,) heat of friction of the pins in a step [J]; mean (m, 3) velocities."""
        return np.asarray(-friction * (self.levers @ mean.ravel()))

    def work(self, mean: Floats, impulses: Floats) -> float:
        """Return the work of the impulses (h, k + 1) of the conditions on mean (m, 3) [J]."""
        return float(impulses[:, :-1].ravel() @ (self.rows @ mean.ravel()))

    def pressed(self, impulses: Floats) -> Floats:
        """Return (h,) sums of the magnitudes of the impulses of bearings [N s]; impulses (h, k)."""
        each = self.bearings @ impulses[:, None, :, None]
        return np.asarray(np.linalg.norm(each[..., 0], axis=-1).sum(axis=-1))

    def resting(self, v: Floats, impulses: Floats) -> Table[Any]:
        """Return hinges whose parts do not turn, as contacts that stick.

        Parameters
        ----------
        v, impulses : (m, 3) velocities after the step, and (h, k + 1) impulses
        """
        still = (self.target == 0.0).all(axis=1)
        slip = np.abs(self.levers @ v.ravel())
        bound = self.hinges.sine * self.pressed(impulses[:, :-1])
        inside = np.abs(impulses[:, -1]) < (1.0 - _INSIDE) * bound
        stuck = (inside & (slip <= _INSIDE * self.speed)) | (slip <= _SLIP * self.speed)
        second = np.flatnonzero(still & stuck & (self.hinges.sine > 0.0))
        return self.hinges.resting(self.pose, np.flatnonzero(still), second)

    def problem(self, rows: Floats, q: Floats, mu: Floats) -> Local:
        """Return the contact problem with velocities q (c, d) before the forces of contacts.

        rows : (d c, 3 m) of the contacts
        """
        half = self._moved(rows)
        return local_of(half @ half.T, q, mu, np.zeros(len(q)), q.shape[1] - 1)

    def solve(
        self, contacts: Floats, q: Floats, mu: Floats, which: Wholes,
        farthest_inside: Callable[[Floats, Floats, Floats], tuple[float, Floats]],
    ) -> PinFriction:  # fmt: skip
        """Return the impulses of contacts and the friction of pins.

        A pin is a contact whose normal impulse p is the sum over its bearings. As p depends on the
        impulses of contacts and pins, it is the root of F(r(p)) - p, with the solution r(p) of the
        contact problem for given p: fixed-point iteration, then Broyden's method.

        Parameters
        ----------
        contacts : (d c, 3 m) rows
        q, mu : (c, d) and (c,) velocities without impulses of contacts and pins, coefficients of
            friction
        which : (f,) numbers of the hinges with friction
        farthest_inside : as of `event_driven.modes`
        """
        # without contacts pins have one direction of slip in space too; else a second one without
        # velocity
        c, f, d = len(mu), len(which), q.shape[1] if len(mu) else 2
        # contacts, then pins: their tangential row is the lever, their normal row is zero
        rows = np.zeros((d * (c + f), self.rows.shape[1]))
        rows[: d * c], rows[d * c + 1 :: d] = contacts, self.levers[which]
        half = self._moved(rows)
        w, normal = half @ half.T, np.arange(d * c, d * (c + f), d)
        # a normal velocity that is zero for the given impulse
        own = np.maximum(np.diag(w)[normal + 1], 1e-6 * np.diag(w).max())
        for at in (normal, normal + d - 1)[: d - 1]:
            w[at, at] = own
        mu = np.append(mu, self.hinges.sine[which])
        pressed, through = self.pressed(self.forces)[which], self._through()
        r, full = np.zeros((c + f, d)), np.zeros((c + f, d))
        full[:c] = q.reshape(-1, d)
        full[c:, 1] = self.levers[which] @ self.moving.ravel()
        work = np.zeros(2, dtype=np.int64)
        local = local_of(w, full, mu, np.zeros(c + f), d - 1)
        # fixed-point iteration for the forces of the hinges: whole steps, then half steps, which
        # do not alternate, then Broyden's method
        inverse, last, off = -np.eye(f), pressed, np.zeros(f)
        for k in range(_ROUNDS):
            full[c:, 0] = -own * pressed
            local = local._replace(q=full.copy())
            goal = _TOLERANCE * float(np.linalg.norm(full))
            found, done = solve_local(local, r, goal)
            r = found.r
            work += done.sweeps, done.linear_systems
            # impulses of hinges with those of contacts and pins, and the defect `off`
            hinge = self.forces - (through @ (rows.T @ r.ravel())).reshape(self.forces.shape)
            before, off = off, self.pressed(hinge)[which] - pressed
            change, size = float(np.abs(off).max()), float(np.abs(pressed + off).max())
            if change <= _CONVERGED * size:
                break
            if k == _WHOLE:
                inverse *= 0.5
                if d == 2 and np.abs(found.u).max() <= _INSIDE * float(np.abs(full).max()):
                    r = _inside(w, r, found.u, mu, c, farthest_inside)
            # Broyden's update of the inverse of the derivative (Sherman and Morrison)
            if k >= _HALF:
                moved = pressed - last
                predicted = inverse @ (off - before)
                weight = float(moved @ predicted)
                if weight != 0.0:
                    inverse = inverse + np.outer(moved - predicted, moved @ inverse) / weight
            last, pressed = pressed, np.maximum(pressed - inverse @ off, 0.0)
        error = max(residual(local, r), change / (size or 1.0))
        return PinFriction(
            r[:c].reshape(q.shape), found.u[:c].reshape(q.shape), r[c:, 1], error, work
        )

    def _through(self) -> Floats:
        """Return (k h, 3 m) impulses of hinges that balance unit impulses on the parts."""
        u, s, v_t = self.factors
        return np.asarray((u / s) @ v_t * self.root)


def _inside(
    w: Floats, r: Floats, u: Floats, mu: Floats, c: int,
    farthest_inside: Callable[[Floats, Floats, Floats], tuple[float, Floats]],
) -> Floats:  # fmt: skip
    """Return impulses (c + f, 2) without velocities, farthest inside the friction bounds.

    Where nothing slips but for rounding u (c + f, 2), impulses r of contacts and pins may not be
    unique. The iteration would move along them as long as a pin is at its bound.

    w : (2 (c + f), 2 (c + f)) W of c contacts, then f pins; mu (c + f,)
    """
    free_columns = np.ones(len(w), dtype=bool)
    free_columns[2 * c :: 2] = False
    left, values, v_t = np.linalg.svd(w[:, free_columns])
    rank = int((values > _SINGULAR * values.max(initial=0.0)).sum())
    # changes of impulses without effect on velocities; normal impulses of pins are given
    free = np.zeros((len(w), len(v_t) - rank))
    free[free_columns] = v_t[rank:].T
    still = r.ravel().copy()
    still[free_columns] -= v_t[:rank].T @ (left[:, :rank].T @ u.ravel() / values[:rank])
    r = still.reshape(r.shape)
    margin, moved = farthest_inside(r, free, mu)
    return moved if margin > 0.0 else r


def _lengths(rows: Floats) -> Floats:
    """Return (n, 1) lengths of rows; 1 of rows of zeros."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(length > 0.0, length, 1.0)


def refuse_hinges(system: str, m: Mechanics | SpatialMechanics, rounded: float) -> None:
    """Raise a ModelError if hinges lock, or the velocities of their parts do not agree.

    Parameters
    ----------
    system : name of its class
    m : its masses and hinges
    rounded : relative error of velocities in models
    """
    hinges, (q, v) = m.hinges, m.start()
    if hinges is None:
        return
    pose, moving = m.pose(0.0, q), m.velocity(v).ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        rows = hinges.rows(pose)
        scaled = rows * np.sqrt(hinges.inverse).ravel()
        lengths = _lengths(scaled)
    if not (np.isfinite(scaled).all() and np.isfinite(lengths).all()):
        got, needs = "a hinge too far from the parts that it joins", "distances with finite squares"
        why = "the squares of the distances overflow."
        raise ModelError(f"{system}.hinges", got, needs, why, "correct `at`, or change the unit.")
    scaled /= lengths
    values = np.linalg.svd(scaled, compute_uv=False)
    conditions = int(scaled.any(axis=1).sum())
    if conditions > scaled.shape[1] or values[conditions - 1] <= _LOCKED:
        got = "hinges that lock the bodies or each other"
        needs = "hinges whose conditions are independent"
        why = "forces of hinges that lock each other are not determined."
        try_ = (
            "remove a hinge, move it out of the line or position in which it locks, or in space "
            "give ball joints in place of pins."
        )
        raise ModelError(f"{system}.hinges", got, needs, why, try_)
    apart = np.linalg.norm((rows @ moving).reshape(len(hinges.ends), -1), axis=1)
    k, largest = int(np.argmax(apart)), float(np.abs(rows * moving).max())
    if apart[k] <= rounded * largest:
        return
    for name, unit, each in hinges.motions(pose, m.velocity(v), k):
        first, second = each
        if np.abs(first - second).max() > 0.1 * rounded * np.abs(each).max():
            both = [
                f"[{', '.join(f'{x:.6g}' for x in value)}] {unit} on part {part + 1}"
                for part, value in zip(hinges.ends[k], each, strict=True)
            ]
            got, needs = f"{name} {' and '.join(both)}", "the same value on both parts"
            why = (
                "the velocity of a point is the velocity of the centre of mass plus spin times "
                "lever arm."
            )
            try_ = "change `velocity` or `spin` of a part."
            raise ModelError(f"{system}.hinges[{k}]", got, needs, why, try_)
