"""Branch selection in the limit of small inertia: the fast flow at constant displacements.

At constant displacements the velocities v, with a small diagonal mass matrix D, obey the inclusion

    R  in  D v' + C v + N mu(|v|) Sgn(v),

the gradient flow of a potential whose minima are the stable branches. Its limit is the branch on
which a quasistatic run continues. A stuck mass is released only if its stick force exceeds the
static bound, so the flow preserves stick as long as possible. The caller is `nonlinear_slip`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import links_pull
from stiction.chains.quasistatic.active_set import tridiagonal_solver
from stiction.chains.quasistatic.friction_curve import FrictionCurve
from stiction.chains.quasistatic.slip_frame import Frame
from stiction.chains.signed_qp import signed_minimum

__all__ = ["FastFlow"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

_MOST = 20_000
_EPS = 1e-8


@dataclass(frozen=True, eq=False)
class FastFlow:
    """The flow of one chain.

    Parameters
    ----------
    frame : the chain
    weak : its friction
    damping : (n, n) matrix C
    """

    frame: Frame
    weak: FrictionCurve
    damping: Floats

    def settle(
        self, drive: Floats, drift: Floats, v: Floats, lag: float
    ) -> tuple[Floats, Signs] | None:
        """Return velocities and modes at the limit of the flow; None if it does not converge.

        Parameters
        ----------
        drive, drift : (n,) R [N] and the rate of q [N/s] now
        v : (n,) initial velocities [m/s]; 0 is stick
        lag : a time [s] below the time scales of the chain; modes are decided by the forces 1e-8
            lag after now
        """
        frame, weak = self.frame, self.weak
        eps = _EPS * lag
        rho = drive + eps * drift
        mass = self.damping.diagonal() + weak.bends
        lightest, force = float(np.min(mass)), float(np.max(np.abs(rho) + frame.bound))
        rounding = 1e-15 * force / lightest
        slow = 10.0 * eps * float(np.max(np.abs(drift))) / lightest + rounding
        v, step = self._seeded(rho, v), 1.0
        sign = np.where(frame.free, 1, np.sign(v)).astype(np.int8)
        for count in range(_MOST):
            carried = np.where(v == 0.0, frame.bound, weak.force(v))
            bend = np.minimum(weak.slope(v), carried / np.maximum(np.abs(v), 1e-300))
            bend = np.where(v == 0.0, np.maximum(bend, 0.0), bend)
            step = self._step(bend, lightest, step)
            inertia = mass / step
            new, new_sign = self._implicit(
                rho + inertia * v, carried - bend * np.abs(v), eps, inertia + bend, sign
            )
            change, size = float(np.max(np.abs(new - v))), float(np.max(np.abs(new)))
            same = np.array_equal(sign, new_sign)
            v, sign = new, new_sign
            at_rest = change <= 1e-13 * size + rounding
            if same and (at_rest or (change <= 0.02 * size and count % 4 == 3)):
                root = self._polished((rho, drive), v, sign, slow)
                if root is not None:
                    return root, sign
                if at_rest:
                    return v, sign
        return None

    def _step(self, bend: Floats, lightest: float, last: float) -> float:
        """Return a pseudo time step in which no mode grows by more than about a third."""
        least = float(np.linalg.eigvalsh(self.damping + np.diag(bend))[0])
        step = 0.25 * lightest / -least if least < 0.0 else np.inf
        return float(min(step, 2.0 * last, 1e6))

    def _implicit(
        self, rho: Floats, bound: Floats, eps: float, diagonal: Floats, sign: Signs
    ) -> tuple[Floats, Signs]:
        """Return the velocities after an implicit step with linearised friction."""
        frame = self.frame
        link, plate = frame.c + eps * frame.k, eps * frame.plate + diagonal
        return signed_minimum(
            lambda w: np.asarray(links_pull(link, w) + plate * w),
            tridiagonal_solver(link, plate),
            rho,
            bound,
            sign,
            frame.free,
        )

    def _seeded(self, rho: Floats, v: Floats) -> Floats:
        """Perturb masses that must slip, where v = 0 is a maximum of the potential."""
        frame, weak = self.frame, self.weak
        stick_force = rho - links_pull(frame.c, v)
        leaves = (v == 0.0) & (np.abs(stick_force) > frame.bound) & ~frame.free
        slope = self.damping.diagonal() + weak.slope(np.zeros(frame.n))
        scale = np.asarray(weak.table.v_scale)
        return np.where(leaves & (slope < 0.0), np.sign(stick_force) * 1e-4 * scale, v)

    def _polished(
        self, targets: tuple[Floats, Floats], v: Floats, sign: Signs, slow: float
    ) -> Floats | None:
        """Return the root of the balance of forces with these modes near v, by Newton's method.

        Parameters
        ----------
        targets : forces a moment later and now [N]
        v, sign : velocities and modes of the flow
        slow : speed [m/s] below which a mass may stick now
        """
        size, free = float(np.max(np.abs(v))), self.frame.free
        later = self._newton(targets[0], v, sign)
        if later is None or float(np.max(np.abs(later[0] - v))) > 0.1 * size + slow:
            return None
        out = self._newton(targets[1], later[0], sign)
        if out is None:
            return None
        # bound of the change of velocity between the two times
        moved = 20.0 * float(np.max(np.abs(targets[0] - targets[1]))) / later[1] + slow
        off = float(np.max(np.abs(out[0] - later[0])))
        if off > 1e-3 * size + moved or (out[0] * sign < -moved)[~free].any():
            return None
        stick_force = np.abs(targets[0] - links_pull(self.frame.c, later[0])) - self.frame.bound
        if (stick_force > 1e-9 * self.frame.bound)[sign == 0].any():
            return None
        # at a smooth onset of slip the root is exactly zero
        return np.where(free, out[0], sign * np.maximum(out[0] * sign, 0.0))

    def _newton(self, target: Floats, v: Floats, sign: Signs) -> tuple[Floats, float] | None:
        """Return the root of the balance of forces near v, and the smallest eigenvalue of H there.

        None if H is not positive definite, because then the branch is unstable.
        """
        a = np.flatnonzero(sign)
        out, least = np.where(sign != 0, v, 0.0), np.inf
        if a.size == 0:
            return out, least
        c, size = self.damping[np.ix_(a, a)], float(np.max(np.abs(v)))
        for _ in range(25):
            h = c + np.diag(self.weak.slope(out)[a])
            least = float(np.linalg.eigvalsh(h)[0])
            if least <= 0.0:
                return None
            friction = sign[a] * self.weak.force(out)[a]
            step = np.linalg.solve(h, target[a] - friction - c @ out[a])
            out[a] += step
            if float(np.max(np.abs(step))) <= 1e-15 * size:
                break
        return out, least
