"""Branch selection in the limit of small inertia: the fast flow at constant displacements.

At constant displacements the velocities v obey the inclusion

    R  in  D dv/dz + C v + N mu(|v|) Sgn(v)

in a pseudo time z, with the drives R = q - K y (load q, springs K, slips y; `slip_frame`), dampers
C, friction mu(|v|) N, and a positive diagonal matrix D: the motion of small masses in the limit in
which displacements do not change. It is the gradient flow of a potential whose minima are the
stable branches. Its limit is the branch on which a quasistatic run continues. A stuck mass is
released only if its stick force exceeds the static bound, so the flow preserves stick as long as
possible.

D is chosen: D = diag(C) + N max |mu'|, which contains no mass, so that each velocity relaxes in a
pseudo time of about one. For one mass the limit does not depend on D. For more masses it may, where
the potential has several minima. The caller is `nonlinear_slip`.
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

# chosen: most steps of the flow, each by a factor of 4/3 at most where it leaves a maximum
_MOST = 20_000
# forces are evaluated this fraction of `lag` later than now: so short that forces change little,
# and so long that their change exceeds rounding
_EPS = 1e-8
# relative rounding error of a sum of forces
_ROUNDING = 1e-15
# velocities are constant if a step changes them by this fraction at most, some hundred roundings
_CONSTANT = 1e-13
# chosen: Newton's method is tried on every fourth step that changes velocities by 2 % at most
_NEARLY_CONSTANT, _TRY_EVERY = 0.02, 4
# chosen: a root is of the branch of the flow if it is within this fraction of its velocities
_NEAR_FLOW, _NEAR_LATER = 0.1, 1e-3
# chosen: room for the linear estimates of changes of velocity between now and the later moment
_ROOM_SLOW, _ROOM_MOVED = 10.0, 20.0
# chosen: a stick force counts as above its bound by this fraction of the bound
_ABOVE_BOUND = 1e-9


@dataclass(frozen=True, eq=False)
class FastFlow:
    """The flow of one chain.

    Parameters
    ----------
    frame : the chain
    weak : its friction curves mu(|v|) N
    damping : (n, n) matrix C
    """

    frame: Frame
    weak: FrictionCurve
    damping: Floats

    def settle(
        self, drive: Floats, drift: Floats, v: Floats, lag: float
    ) -> tuple[Floats, Signs] | None:
        """Return velocities and modes at the limit of the flow; None if it does not converge.

        The flow runs with the forces a moment eps later than now, because masses that are at their
        bound now have left it or not by then. Once modes are constant, Newton's method finds the
        root at the later moment, with these modes, and from it the root now.

        Parameters
        ----------
        drive, drift : (n,) R [N] and the rate of q [N/s] now
        v : (n,) initial velocities [m/s]; 0 is stick
        lag : a time [s] below the time scales of the chain; eps is 1e-8 `lag`
        """
        frame, weak = self.frame, self.weak
        eps = _EPS * lag
        rho = drive + eps * drift
        mass = self.damping.diagonal() + weak.bends
        lightest, force = float(np.min(mass)), float(np.max(np.abs(rho) + frame.bound))
        rounding = _ROUNDING * force / lightest
        slow = _ROOM_SLOW * eps * float(np.max(np.abs(drift))) / lightest + rounding
        v, step = self._seeded(rho, v), 1.0
        sign = np.where(frame.free, 1, np.sign(v)).astype(np.int8)
        for count in range(_MOST):
            # implicit step in z: friction is linearised in |w| about the present |v|, and the
            # inclusion of the step is solved exactly
            carried = np.where(v == 0.0, frame.bound, weak.force(v))
            # linearised friction, carried + bend (|w| - |v|), must not be negative at w = 0
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
            # with constant modes Newton's method ends the flow at its limit
            converged = change <= _CONSTANT * size + rounding
            tried = change <= _NEARLY_CONSTANT * size and count % _TRY_EVERY == _TRY_EVERY - 1
            if same and (converged or tried):
                root = self._polished((rho, drive), v, sign, slow)
                if root is not None:
                    return root, sign
                # the flow has a limit, but no isolated root is near it, as where a branch ends
                if converged:
                    return v, sign
        return None

    def _step(self, bend: Floats, lightest: float, last: float) -> float:
        """Return a pseudo time step in which no eigenvector grows by more than a third."""
        least = float(np.linalg.eigvalsh(self.damping + np.diag(bend))[0])
        # an implicit step multiplies an eigenvector by 1 / (1 + step least / D) <= 1 / (1 - 1/4)
        step = 0.25 * lightest / -least if least < 0.0 else np.inf
        # chosen: steps at most double, up to 1e6, where a step is one of Newton's method
        return float(min(step, 2.0 * last, 1e6))

    def _implicit(
        self, rho: Floats, bound: Floats, eps: float, diagonal: Floats, sign: Signs
    ) -> tuple[Floats, Signs]:
        """Return velocities (n,) and modes (n,) after an implicit step with linearised friction.

        They solve rho in (C + eps K + diag(diagonal)) v + bound Sgn(v); `sign` are first guesses
        of the modes.
        """
        frame = self.frame
        # C + eps K: until the later moment the springs change by eps v
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
        # chosen: 1e-4 of the speed over which friction weakens, so the slope is still that at 0
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
        if later is None or float(np.max(np.abs(later[0] - v))) > _NEAR_FLOW * size + slow:
            return None
        out = self._newton(targets[1], later[0], sign)
        if out is None:
            return None
        # bound of the change of velocity between the two times
        moved = _ROOM_MOVED * float(np.max(np.abs(targets[0] - targets[1]))) / later[1] + slow
        off = float(np.max(np.abs(out[0] - later[0])))
        if off > _NEAR_LATER * size + moved or (out[0] * sign < -moved)[~free].any():
            return None
        excess = np.abs(targets[0] - links_pull(self.frame.c, later[0])) - self.frame.bound
        if (excess > _ABOVE_BOUND * self.frame.bound)[sign == 0].any():
            return None
        # at a smooth onset of slip the root is exactly zero
        return np.where(free, out[0], sign * np.maximum(out[0] * sign, 0.0))

    def _newton(self, target: Floats, v: Floats, sign: Signs) -> tuple[Floats, float] | None:
        """Return the root of the balance of forces near v, and the smallest eigenvalue of H there.

        H = C + diag(N mu') of the slipping masses. None if H is not positive definite, because then
        the branch is unstable.
        """
        a = np.flatnonzero(sign)
        out, least = np.where(sign != 0, v, 0.0), np.inf
        if a.size == 0:
            return out, least
        c, size = self.damping[np.ix_(a, a)], float(np.max(np.abs(v)))
        for _ in range(25):  # chosen: Newton's method needs about 5 near its root
            h = c + np.diag(self.weak.slope(out)[a])
            least = float(np.linalg.eigvalsh(h)[0])
            if least <= 0.0:
                return None
            friction = sign[a] * self.weak.force(out)[a]
            step = np.linalg.solve(h, target[a] - friction - c @ out[a])
            out[a] += step
            if float(np.max(np.abs(step))) <= _ROUNDING * size:
                break
        return out, least
