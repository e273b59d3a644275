"""Hinges of rigid bodies: points that two parts share, with friction of a pin that turns in a hole.

The rows G give the velocities of the pins on the first parts relative to the second ones. A step
prescribes G v+ = g, and the forces of the hinges that achieve it are eliminated: velocities v
without them become v + M^-1 G^T A^-1 (g - G v) with A = G M^-1 G^T, and forces of contacts act
through the mobility

    P = M^-1 - M^-1 G^T A^-1 G M^-1

in place of M^-1. G is taken at the middle of the step of length h. Where velocities satisfy the
hinges at both ends of the step, G v is (h / 2) b before it and -(h / 2) b after it to first order;
b is the relative acceleration of the pins by the rotation of their parts. So

    g = -(h / 2) b - d / (2 h)

with the gap d of the pin at the begin of the step. Gaps are of second order in h; twice the gap
divided by h instead of half of it would not decay.

The pin has the radius R and touches its hole along one line. Friction there turns the force F of
the hinge by the angle arctan(mu) at most; its moment is at most R |F| sin(arctan(mu)).

Source: Pfeiffer, Glocker 1996, Multibody Dynamics with Unilateral Contacts (constraints eliminated
from the contact problem).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.blocks import Local, local_of
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.solver import solve_local

if TYPE_CHECKING:
    from stiction.bodies.model import RigidBodies

__all__ = ["Hinges", "PinFriction", "Pins", "contact_rows"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

# eigenvalues of A below this fraction of the largest one are zero. Chosen
_SINGULAR = 1e-13
# iterations for the forces that bound the friction of pins, and their relative tolerance. Chosen:
# each iteration decreases the error by the radius of the pin over the size of the body
_ROUNDS, _CONVERGED = 60, 1e-13
# a pin sticks whose slip, and whose friction below its bound, differ by less and more than this
# fraction of the slip without friction, and of the bound. Chosen
_INSIDE = 1e-9


class Hinges:
    """The hinges of a system; places (..., m, 3) are those of bodies, then of supports.

    Attributes
    ----------
    ends : (h, 2) numbers of the parts, from 0; the first one is a body
    flipped : (h,) -1 where the user's first part is the second one here, else 1
    radius, mu : (h,) of the pins [m], coefficients of friction [1]
    sine : (h,) of the friction angle; 0 without friction
    """

    def __init__(self, system: RigidBodies) -> None:
        hinges, pose = system.hinges, system.places()
        ends = np.array([[h.first, h.second] for h in hinges], dtype=np.int64) - 1
        flip = ends[:, 0] >= system.n
        self.flipped = np.where(flip, -1.0, 1.0)
        self.ends = np.where(flip[:, None], ends[:, ::-1], ends)
        self.radius = np.array([h.radius for h in hinges])
        mu = np.array([0.0 if h.law is None else float(h.law.mu) for h in hinges])  # type: ignore[arg-type]
        self.sine = np.sin(np.arctan(mu))
        self.n, self.reach = system.n, max(b.shape.reach for b in system.bodies)
        self.inverse = np.zeros((len(pose), 3))
        self.inverse[: self.n] = [
            [1.0 / b.mass, 1.0 / b.mass, 1.0 / b.moment_of_inertia] for b in system.bodies
        ]
        apart = np.array([h.at for h in hinges])[:, None] - pose[self.ends, :2]
        cos, sin = np.cos(pose[self.ends, 2]), np.sin(pose[self.ends, 2])
        # in the frames of the parts
        self._points = np.stack(
            [
                cos * apart[..., 0] + sin * apart[..., 1],
                cos * apart[..., 1] - sin * apart[..., 0],
            ],
            axis=-1,
        )

    def arms(self, pose: Floats) -> Floats:
        """Return (..., h, 2, 2) vectors from the centres of the parts to the pins [m]."""
        angle = pose[..., self.ends, 2]
        cos, sin = np.cos(angle), np.sin(angle)
        x, y = self._points[..., 0], self._points[..., 1]
        return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)

    def _arms_halfway(self, pose: Floats) -> Floats:
        """Return (h, 2, 2) vectors from the centres of the parts to the middle of the gap [m]."""
        middle = self.places(pose).mean(axis=1, keepdims=True)
        return np.asarray(middle - pose[self.ends, :2])

    def places(self, pose: Floats) -> Floats:
        """Return (..., h, 2, 2) places of the pins on both parts [m]."""
        return np.asarray(pose[..., self.ends, :2] + self.arms(pose))

    def gaps(self, pose: Floats) -> Floats:
        """Return (..., h, 2) vectors from the pins on the second parts to those on the first."""
        at = self.places(pose)
        return np.asarray(at[..., 0, :] - at[..., 1, :])

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

    def levers(self, count: int) -> Floats:
        """Return (h, 3 m) rows of the velocities at which the surfaces of the pins slip.

        count : of parts
        """
        out, every = np.zeros((len(self.ends), count, 3)), np.arange(len(self.ends))
        out[every, self.ends[:, 0], 2] += self.radius
        out[every, self.ends[:, 1], 2] -= self.radius
        return out.reshape(len(self.ends), -1)

    def bias(self, pose: Floats, v: Floats) -> Floats:
        """Return (h, 2) relative accelerations of the pins without those of the parts [m/s^2].

        v : (m, 3) velocities of bodies, then of supports
        """
        centripetal = -(v[self.ends, 2:] ** 2) * self.arms(pose)
        return np.asarray(centripetal[:, 0] - centripetal[:, 1])

    def links(self) -> Table[Contact]:
        """Return the hinges as contacts of which the numbers of the parts alone are set."""
        out = Contact.table(len(self.ends))
        out["first"], out["second"] = self.ends.T
        return out

    def pins(
        self, pose: Floats, v: Floats, free: Floats, gaps: Floats, h: float, rounding: float
    ) -> Pins:
        """Return the hinges in a step.

        Parameters
        ----------
        pose : (m, 3) in the middle of the step
        v, free : (m, 3) velocities before it, and after it without impulses
        gaps : (h, 2) at the begin of the step [m]
        rounding : gaps up to which are zero [m]
        """
        closing = np.where(np.abs(gaps) <= rounding, 0.0, gaps) / (2.0 * h)
        rows = self.rows(pose)
        back = rows * self.inverse.ravel()
        inverted = np.asarray(np.linalg.pinv(back @ rows.T, rcond=_SINGULAR, hermitian=True))
        target = -0.5 * h * self.bias(pose, v) - closing
        # rotation by the rounding of velocities is none: parts that rest stay where they are
        fastest = float((np.abs(rows) @ np.abs(free.ravel())).max())
        target[np.abs(target) <= np.finfo(np.float64).eps * fastest] = 0.0
        mobility = np.diag(self.inverse.ravel()) - back.T @ inverted @ back
        none = np.zeros((len(rows) // 2, 2))
        made = Pins(
            self,
            self._arms_halfway(pose),
            rows,
            back,
            inverted,
            target,
            mobility,
            self.levers(len(pose)),
            free,
            none,
        )
        moving, forces = made.project(free)
        return made._replace(moving=moving, forces=forces)


class PinFriction(NamedTuple):
    """Solution of a contact problem with friction of pins.

    Attributes
    ----------
    r, u : (c, 2) impulses of contacts [N s], velocities after them [m/s]
    friction : (f,) impulses at the surfaces of the pins [N s]
    error : residual, relative
    work : (2,) sweeps and linear systems
    """

    r: Floats
    u: Floats
    friction: Floats
    error: float
    work: Wholes


class Pins(NamedTuple):
    """The hinges of a step, with what eliminates their forces.

    Attributes
    ----------
    hinges : of the system
    arms : (h, 2, 2) from the centres of the parts to the points where forces act [m]
    rows, back : (2 h, 3 m) G, and G M^-1
    inverted : (2 h, 2 h) A^-1
    target : (h, 2) velocities G v+ after the step [m/s]
    mobility : (3 m, 3 m) P
    levers : (h, 3 m) rows of the velocities of slip of the pins
    moving, forces : (m, 3) velocities after the step with the impulses of hinges alone, and these
        (h, 2) [N s]
    """

    hinges: Hinges
    arms: Floats
    rows: Floats
    back: Floats
    inverted: Floats
    target: Floats
    mobility: Floats
    levers: Floats
    moving: Floats
    forces: Floats

    def project(self, v: Floats) -> tuple[Floats, Floats]:
        """Return velocities (m, 3) with the forces of the hinges, and their impulses (h, 2)."""
        impulse = self.inverted @ (self.target.ravel() - self.rows @ v.ravel())
        moved = v.ravel() + self.back.T @ impulse
        # once more: what is left is rounding of the first velocities
        more = self.inverted @ (self.target.ravel() - self.rows @ moved)
        moved = moved + self.back.T @ more
        return moved.reshape(v.shape), (impulse + more).reshape(-1, 2)

    def apply(self, v: Floats, friction: Floats) -> tuple[Floats, Floats]:
        """Return velocities with friction of pins (h,) and the forces of hinges, and impulses.

        Returns
        -------
        (m, 3) velocities, and (h, 3) impulses on the first parts along x and y, and at the pins.
        """
        rubbed = v + (friction @ self.levers).reshape(v.shape) * self.hinges.inverse
        moved, impulses = self.project(rubbed)
        return moved, np.column_stack([impulses, friction])

    def heat(self, mean: Floats, friction: Floats) -> Floats:
        """Return (h,) heat of friction of the pins in a step [J]; mean (m, 3) velocities."""
        return np.asarray(-friction * (self.levers @ mean.ravel()))

    def work(self, mean: Floats, impulses: Floats) -> float:
        """Return the work of the impulses (h, 3) of hinges on relative velocities of pins [J]."""
        return float(impulses[:, :2].ravel() @ (self.rows @ mean.ravel()))

    def resting(self, v: Floats, impulses: Floats) -> Table[Contact]:
        """Return hinges whose parts do not turn, as contacts that stick.

        They have the rows of such contacts, but for signs. A pin that sticks in its hole is two of
        them, at different points.

        Parameters
        ----------
        v, impulses : (m, 3) velocities after the step, and (h, 3) impulses
        """
        still = (self.target == 0.0).all(axis=1)
        slip = np.abs(self.levers @ v.ravel())
        inside = np.abs(impulses[:, 2]) < (1.0 - _INSIDE) * self.hinges.sine * np.hypot(
            *impulses[:, :2].T
        )
        sticks = still & inside & (slip <= _INSIDE * np.abs(self.levers @ self.moving.ravel()))
        which = np.append(np.flatnonzero(still), np.flatnonzero(sticks))
        out = self.hinges.links()[which]
        out["normal"] = [1.0, 0.0]
        out["arm_first"], out["arm_second"] = np.swapaxes(self.arms[which], 0, 1)
        for name in ("arm_first", "arm_second"):
            out[name][int(still.sum()) :, 0] += self.hinges.reach
        return out

    def problem(self, rows: Floats, q: Floats, mu: Floats) -> Local:
        """Return the contact problem with velocities q (c, 2) before the forces of contacts.

        rows : (2 c, 3 m) of the contacts
        """
        w = rows @ self.mobility @ rows.T
        return local_of(0.5 * (w + w.T), q, mu, np.zeros(len(q)), 1)

    def solve(
        self, contacts: Floats, q: Floats, mu: Floats, which: Wholes, tolerance: float
    ) -> PinFriction:
        """Return the impulses of contacts and the friction of pins.

        A pin is a contact whose normal impulse is that of its hinge. This depends on the impulses
        of contacts and pins, and is found by iteration.

        Parameters
        ----------
        contacts : (2 c, 3 m) rows
        q, mu : (c, 2) and (c,) velocities without impulses of contacts and pins, coefficients of
            friction
        which : (f,) numbers of the hinges with friction
        tolerance : relative
        """
        c, f = len(mu), len(which)
        rows = np.zeros((2 * (c + f), self.rows.shape[1]))
        rows[: 2 * c], rows[2 * c + 1 :: 2] = contacts, self.levers[which]
        w = rows @ self.mobility @ rows.T
        w, normal = 0.5 * (w + w.T), np.arange(2 * c, 2 * (c + f), 2)
        # a normal velocity that is zero for the given impulse
        own = float(np.diag(w).max())
        w[normal, normal] = own
        slip = self.levers[which] @ self.moving.ravel()
        mu, pressed = np.append(mu, self.hinges.sine[which]), np.hypot(*self.forces[which].T)
        r, through = np.zeros((c + f, 2)), self.inverted @ self.back
        work = np.zeros(2, dtype=np.int64)
        local = local_of(w, np.zeros_like(r), mu, np.zeros(c + f), 1)
        for _ in range(_ROUNDS):
            full = np.concatenate([q, np.stack([-own * pressed, slip], axis=1)])
            local = local._replace(q=full)
            found, done = solve_local(local, r, tolerance * float(np.linalg.norm(full)))
            r = found.r
            work += done.sweeps, done.linear_systems
            hinge = self.forces - (through @ (rows.T @ r.ravel())).reshape(-1, 2)
            before, pressed = pressed, np.hypot(*hinge[which].T)
            change = float(np.abs(pressed - before).max())
            if change <= _CONVERGED * float(pressed.max()):
                break
        error = max(residual(local, r), change / (float(pressed.max()) or 1.0))
        return PinFriction(r[:c], found.u[:c], r[c:, 1], error, work)


def contact_rows(contacts: Table[Contact], count: int) -> Floats:
    """Return (2 c, 3 m) rows J of contacts, normal and tangential in turn; count m of parts."""
    normal = np.asarray(contacts["normal"])
    tangent, every = np.stack([normal[:, 1], -normal[:, 0]], axis=1), np.arange(len(contacts))
    out = np.zeros((len(contacts), 2, count, 3))
    for name, sign in (("first", 1.0), ("second", -1.0)):
        part, arm = contacts[name], np.asarray(contacts[f"arm_{name}"])
        for i, along in enumerate((normal, tangent)):
            out[every, i, part, :2] = sign * along
            out[every, i, part, 2] = sign * (arm[:, 0] * along[:, 1] - arm[:, 1] * along[:, 0])
    return out.reshape(2 * len(contacts), 3 * count)
