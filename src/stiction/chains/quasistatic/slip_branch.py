"""One solution branch of a quasistatic chain under friction that depends on the slip rate.

On it, C v + sigma N mu(|v|) = q(t) - K y for the masses that slip. The derivative in time
is H v' = q' - K v with H = C + diag(N mu'), and the branch ends where H becomes singular.
In the parameter s with dt = det(H) ds everything stays smooth up to there:

    dv/ds = adj(H) (q' - K v),      dt/ds = det(H),

with the adjugate adj(H) = det(H) H^-1, so the end (a fold of the branch) is reached without loss of
digits. Displacements follow from the balance of forces. y is the slip and v = y' the slip rate
(`slip_frame`), C and K are damping and stiffness, sigma the signs of slip, N mu(|v|) the friction
force, q the load; the caller is `nonlinear_slip`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.quasistatic.friction_curve import FrictionCurve
from stiction.chains.quasistatic.slip_frame import Frame, LoadSeries

__all__ = ["Arc", "Event", "SlipBranch"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
Dense = Callable[[Floats], Floats]

# fractions of an integrator step at which event functions are evaluated
_SAMPLES = np.linspace(0.0, 1.0, 9)[1:]


class Event(enum.IntEnum):
    """Events that end a segment of slip, numbered as the rows of `SlipBranch.reserves`.

    The interval of the load ends; the branch ends at a fold, det H = 0; the mode of a mass ends
    (all further rows).
    """

    LOAD_ENDS = 0
    BRANCH_ENDS = 1
    MODE_ENDS = 2


@dataclass(eq=False)
class SlipBranch:
    """The branch through one state.

    Parameters
    ----------
    frame, weak : the chain and its friction
    load, end : power series of the load, and the end of its interval [s]
    a, mode : indices of slipping masses, and the modes of all
    y, v : (n,) slips [m] and slip rates [m/s] at the start
    """

    frame: Frame
    weak: FrictionCurve
    load: LoadSeries
    end: float
    a: npt.NDArray[np.intp]
    mode: Signs
    y: Floats
    v: Floats
    _over: float = 0.0

    def __post_init__(self) -> None:
        slipping_block = np.ix_(self.a, self.a)
        self.c = self.frame.chain.damping_matrix()[slipping_block]
        self.k = self.frame.chain.stiffness_matrix()[slipping_block]
        self.sizes = np.linalg.eigvalsh(self.c + np.diag(self.weak.bends[self.a]))
        self.sign = self.mode[self.a]

    def full(self, part: Floats) -> Floats:
        """Return velocities (n, ...) of all masses from (len(a), ...) of the slipping ones."""
        v = np.zeros((self.frame.n, *part.shape[1:]))
        v[self.a] = part
        return v

    def slopes(self, part: Floats) -> Floats:
        """Return d(mu N)/d|v| of the slipping masses."""
        return np.asarray(self.weak.slope(self.full(part))[self.a])

    def rates(self, _: float, z: Floats) -> Floats:
        """Return d(v, t)/ds for z = (v, t) of the slipping masses.

        adj(H) and det(H) are products of eigenvalues of H. Each eigenvalue is divided by a constant
        of its size (`sizes`), which scales s and avoids overflow.
        """
        v, t = z[:-1], float(z[-1])
        load_rate = self.frame.drift(self.load, t)[self.a] - self.k @ v
        if v.size == 1:
            only = np.append(load_rate, self.c[0, 0] + self.slopes(v)[0])
            return np.asarray(only / self.sizes[0])
        eigen, shapes = np.linalg.eigh(self.c + np.diag(self.slopes(v)))
        ratio = eigen / self.sizes
        others = np.array([np.prod(np.delete(ratio, i)) for i in range(ratio.size)])
        dv = shapes @ (others / self.sizes * (shapes.T @ load_rate))
        return np.append(dv, np.prod(ratio))

    def time_rate(self, part: Floats) -> Floats:
        """Return dt/ds for (len(a), m) velocities."""
        slopes = self.slopes(part)
        if self.a.size == 1:
            return np.asarray((self.c[0, 0] + slopes[0]) / self.sizes[0])
        h = self.c + np.einsum("im,ij->mij", slopes, np.eye(self.a.size))
        return np.asarray(np.prod(np.linalg.eigvalsh(h) / self.sizes, axis=1))

    def places(self, part: Floats, t: Floats) -> Floats:
        """Return (n, m) slips: constant for stuck masses, others from the balance of forces."""
        y = np.repeat(self.y[:, None], t.size, axis=1)
        y[self.a] = 0.0
        carried = self._force(part, y, t) - self.mode[:, None] * self.weak.force(self.full(part))
        y[self.a] = np.linalg.solve(self.k, carried[self.a])
        return y

    def friction(self, part: Floats, y: Floats, t: Floats) -> Floats:
        """Return (n, m) friction on the masses."""
        slid = -self.mode[:, None] * self.weak.force(self.full(part))
        return np.where(self.mode[:, None] != 0, slid, -self._force(part, y, t))

    def _force(self, part: Floats, y: Floats, t: Floats) -> Floats:
        """Return (n, m) forces q - K y - C v."""
        frame = self.frame
        q = np.multiply.outer(frame.load_vector, self.load.at(t))
        q += frame.q0[:, None] + np.multiply.outer(frame.q1, t)
        return np.asarray(q - frame.stiff(y) - frame.damp(self.full(part)))

    # ---- events

    def reserves(self, z: Floats) -> Floats:
        """Return event functions at z = (v, t), each positive before its event.

        The event functions are: time to the end of the load interval, det H, slip rates in the
        direction of slip, and stick reserves. A chain of one mass has one more, which vanishes when
        |q - K y| equals the static bound: there the stick branch appears or vanishes.
        """
        v, t, frame = z[:-1], z[-1], self.frame
        stuck = np.flatnonzero(self.mode == 0)
        slips = np.where(frame.free[self.a, None], 1.0, self.sign[:, None] * v)
        values = [self.end - t, self.time_rate(v), *slips]
        if stuck.size or frame.n == 1:
            friction = self.friction(v, self.places(v, t), t)
            values += list(frame.bound[stuck, None] - np.abs(friction[stuck]))
        if frame.n == 1 and not frame.free[0]:
            # stick becomes admissible, or inadmissible, where the drive passes the bound
            over = np.abs(frame.damp(self.full(v))[0] - friction[0]) - frame.bound[0]
            self._over = self._over or self._side(float(over[0]))
            values.append(self._over * over)
        return np.array(values)

    def _side(self, over: float) -> float:
        """Return whether stick is inadmissible (1) or admissible (-1) just after the start."""
        # at the bound within the error of the located event (chosen), its rate decides
        if abs(over) > 1e-9 * self.frame.bound[0]:
            return 1.0 if over > 0.0 else -1.0
        rate = self.frame.drift(self.load, self.load.t) - self.frame.stiff(self.v)
        return 1.0 if self.mode[0] * rate[0] > 0.0 else -1.0

    def first_event(
        self, dense: Dense, span: tuple[float, float], armed: Flags
    ) -> tuple[float, Event | None, Flags]:
        """Return parameter and kind of the first event of a step, and the armed functions.

        Parameters
        ----------
        dense, span : the step: (v, t) as a function of s, and its first and last s
        armed : functions of `reserves` that have been positive; only these can have an event
        """
        from scipy.optimize import brentq

        # the first sample at which an event function is negative; its root by Brent's method
        u = np.append(span[0], span[0] + (span[1] - span[0]) * _SAMPLES)
        values = self.reserves(dense(u[1:]))
        hit = (values <= 0.0) & armed[:, None]
        if not hit.any():
            return span[1], None, armed | (values[:, -1] > 0.0)
        k = int(np.argmax(hit.any(axis=0)))
        best, first = np.inf, -1
        for row in np.flatnonzero(hit[:, k]).tolist():

            def gap(at: float, row: int = row) -> float:
                return float(self.reserves(dense(np.array([at])))[row, 0])

            low, high = gap(u[k]), gap(u[k + 1])
            at = float(u[k] if low <= 0.0 else u[k + 1])
            if low > 0.0 > high:
                # to rounding: SciPy admits no rtol below four roundings
                at = float(brentq(gap, u[k], u[k + 1], xtol=1e-300, rtol=1e-15))
            if at < best:
                best, first = at, row
        return best, Event(min(first, Event.MODE_ENDS)), armed

    def pushed(self, v: Floats) -> Floats:
        """Return velocities just beyond the fold of a branch, on the side of the fast flow."""
        slopes = self.slopes(v)
        shape = np.linalg.eigh(self.c + np.diag(slopes))[1][:, 0]
        # along the null vector of H the potential is cubic: it decreases with the speeds
        direction = -np.sign(float(shape @ (self.sign * np.abs(slopes))))
        # chosen: a hundredth of the speed, clearly beyond the fold
        out = self.full(v + direction * 1e-2 * float(np.max(np.abs(v))) * shape)
        return np.where(out * self.mode < 0.0, 0.0, out)


@dataclass(eq=False)
class Arc:
    """An integrator step along a branch, as a segment."""

    branch: SlipBranch
    dense: Dense
    u: tuple[float, float]
    nodes: int = 10

    def parameter(self, t: Floats) -> Floats:
        """Return the parameter of the segment at the times `t` [s]."""
        low, high = np.full(t.size, self.u[0]), np.full(t.size, self.u[1])
        for _ in range(60):  # more than the 53 digits of a number
            middle = 0.5 * (low + high)
            early = self.dense(middle)[-1] < t
            low, high = np.where(early, middle, low), np.where(early, high, middle)
        return np.asarray(0.5 * (low + high))

    def state(self, u: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return the state at the values u (m,) of the stage variable.

        They are time [s] and dt/du (m,); slip [m], slip rate [m/s] and friction [N] (n, m).
        """
        z = self.dense(u)
        v, t = z[:-1], z[-1]
        y = self.branch.places(v, t)
        friction = self.branch.friction(v, y, t)
        return t, self.branch.time_rate(v), y, self.branch.full(v), friction
