"""Quasistatic slip under constant friction: a linear equation, summed as power series.

With a constant active set, the slipping masses A obey

    C_AA y_A' + K_AA y_A = q_A(t) - sigma_A mu N_A - K_AS y_S ,

with slips y, dampers C, springs K, friction mu N, stuck masses S, directions sigma of slip, and the
load q of `slip_frame`. The generalised eigenvectors V of
(C_AA, K_AA), with V'K V = 1 and V'C V = diag(tau), turn them into scalar equations

    tau eta' + eta = pi(t),     y_A = V eta,     pi = V' times the right side.

A time constant tau may be zero (no damper acts on that shape: a sweeping process), small (a
decaying transient) or large. Each equation is summed as a power series, on steps that resolve the
transients that have not decayed. The next active set follows from an implicit step of infinitesimal
length, a strictly convex problem with one solution (`active_set`). `run` passes `LinearSlip` to
`stepper`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.quasistatic.active_set import (
    ActiveSetSelection,
    EventState,
    tridiagonal_solver,
)
from stiction.chains.quasistatic.slip_frame import Frame, LoadSeries
from stiction.chains.quasistatic.stepper import SlipMotion, Stepper
from stiction.core.determinism import Loss
from stiction.errors import ModelError, Status

__all__ = ["LinearSlip"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

# a transient has decayed after this many time constants: exp(-40) = 4e-18 is below rounding
_DEAD = 40.0
# a step spans this many of the shortest time constants that have not decayed
_CONSTANTS = 3.0
# a damper's time constant below this fraction of the largest one counts as none
_NO_DAMPER = 1e-12
# largest number of damped masses. Chosen: each mode takes the eigenvectors of a dense matrix
_MOST_DENSE = 600


class LinearSlip(SlipMotion):
    """Slip of one chain under constant friction.

    Parameters
    ----------
    frame : the chain
    may_slip : False for weakening friction without dampers, which has no continuous solution
        after the first onset of slip
    """

    def __init__(self, frame: Frame, *, may_slip: bool) -> None:
        self.frame, self.may_slip = frame, may_slip
        self.damped = bool(frame.c.any())
        if self.damped and frame.n > _MOST_DENSE:
            raise ModelError(
                "Quasistatic",
                f"{frame.n} masses with dampers",
                f"at most {_MOST_DENSE}, or no dampers",
                "with dampers every mode needs the eigenvectors of a dense matrix; only a "
                "load that never falls, with one wall and no stress at the start, is solved "
                "link by link.",
                "use ThetaStepper(step=...) for long damped chains.",
            )
        tau = self._shapes(np.arange(frame.n))[0] if self.damped else np.empty(0)
        self.longest = float(np.max(tau, initial=0.0))
        self.decider = ActiveSetSelection(frame, tau[tau > _NO_DAMPER * self.longest])

    # ---- the active set

    def decide(self, s: Stepper, load: LoadSeries) -> Status | None:
        """Set the active set of `s`; return the status of the run if there is none."""
        frame = self.frame
        push = frame.push_series(load)[:, 1:]
        # some 50 roundings of the coefficients; those of a fit have ten times larger errors
        noise = 1e-14 * float(np.max(np.abs(push).sum(axis=1)))
        if frame.segments.function is not None:
            noise += 1e-13 * float(np.max(np.abs(load.terms)))
        r = frame.drive(s.t, s.y)
        moment = EventState(r, s.mode, s.ended, s.jumped, s.v, s.force, push[:, :2], load.h, noise)
        new = self.decider.next_modes(moment)
        if new is None:
            return self._no_continuation(s, r, "the solution would jump: no damper limits its rate")
        if not self.may_slip and (new[~frame.free] != 0).any():
            return self._no_continuation(
                s, r, "friction weakens with slip and no damper balances it"
            )
        s.mode = new
        return None

    def _no_continuation(self, s: Stepper, r: Floats, why: str) -> Status:
        """Record that no continuous motion follows from drives r [N]; return the status."""
        frame, t = self.frame, s.t
        i = int(np.argmax(np.abs(r) - frame.bound))
        s.reason = f"{why}: mass {i + 1} at t = {t:.9g} s"
        where = {
            "contact": i + 1,
            "drive": float(r[i]),
            "bound": float(frame.bound[i]),
            "load": float(frame.segments.at(t)),
            "x": (s.y + frame.belt * t).tolist(),
        }
        s.losses.append(Loss(t, "no_continuation", where, "the run ends here"))
        return Status.NO_CONTINUATION

    # ---- the motion

    def integrate_slip(self, s: Stepper, a: Index, load: LoadSeries) -> bool:
        """Integrate slip of the masses `a`; return whether the active set must be decided."""
        frame, tau, v = self.frame, np.empty(0), np.empty((0, 0))
        if self.damped:
            tau, v = self._shapes(a)
            dead = self._dead(s, tau)
            alive = tau[~dead]
            load = load.shortened(min(load.h, _CONSTANTS * float(np.min(alive, initial=np.inf))))
        residue = frame.push_series(load)
        residue[:, 0] -= s.mode * frame.bound + frame.stiff(s.y)
        slip = np.zeros_like(residue)
        if self.damped:
            slip[a] = v @ _relaxed(v.T @ residue[a], tau / load.h, dead)
        else:
            slip[a] = tridiagonal_solver(frame.k, frame.plate)(a, residue[a])
        return s.step(load, slip)

    def _shapes(self, a: Index) -> tuple[Floats, Floats]:
        """Return time constants tau (m,) [s] and shapes V (m, m), columns, of the m masses a.

        V'KV = 1 and V'CV = diag(tau).
        """
        from scipy.linalg import eigh

        frame, eye = self.frame, np.eye(self.frame.n)[:, a]
        tau, v = eigh(frame.damp(eye)[a], frame.stiff(eye)[a])
        longest = self.longest if a.size < frame.n else float(tau[-1])
        return np.where(tau > _NO_DAMPER * longest, tau, 0.0), v

    def _dead(self, s: Stepper, tau: Floats) -> npt.NDArray[np.bool_]:
        """Return the shapes without transient: undamped ones, and those that have decayed."""
        # without its transient a shape is a series in tau d/dt, each term at most 0.02 of the term
        # before: nine terms reach rounding. Chosen
        quiet = self.frame.fastest * tau <= 0.02
        if self.frame.segments.function is not None:
            quiet &= tau <= 0.02 * s.window
        return np.asarray((tau == 0.0) | (quiet & (s.t - s.begun > _DEAD * tau)))


def _relaxed(pi: Floats, x: Floats, dead: npt.NDArray[np.bool_]) -> Floats:
    """Return the (shapes, count) series of the solutions of x eta' + eta = pi with eta = 0 at 0.

    Parameters
    ----------
    pi : (shapes, count) coefficients of the right sides
    x : (shapes,) time constants over the length of the step
    dead : (shapes,) True for shapes whose transient has decayed: the slow solution remains
    """
    eta, live, last = np.zeros_like(pi), ~dead, pi.shape[1] - 1
    for k in range(last):
        eta[live, k + 1] = (pi[live, k] - eta[live, k]) / (x[live] * (k + 1))
    # after the transient the slow solution remains: eta = pi - tau pi' + tau^2 pi'' - ...
    eta[dead, last] = pi[dead, last]
    for k in range(last - 1, -1, -1):
        eta[dead, k] = pi[dead, k] - x[dead] * (k + 1) * eta[dead, k + 1]
    return eta
