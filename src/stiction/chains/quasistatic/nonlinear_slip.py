"""Quasistatic slip under friction that depends on the slip rate, with dampers: branches.

Slip follows one branch (`slip_branch`) until a mass stops, a stuck mass is released or the branch
ends at a fold. It continues on the branch that small inertia selects (`fast_flow`). Other
admissible branches are reported as losses of determinism where they appear. A branch is a solution
v of C v + N mu(|v|) Sgn(v) = R that depends continuously on the drive R = q - K y: slip rates v,
slips y, dampers C, springs K, load q, normal forces N. `quasistatic.run` passes
this class to the integrator `stepper`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.chains.branching import MOST_MASSES, Branch, least_slip_force, velocities
from stiction.chains.policies import BranchChoice
from stiction.chains.quasistatic.fast_flow import FastFlow
from stiction.chains.quasistatic.friction_curve import FrictionCurve
from stiction.chains.quasistatic.slip_branch import Arc, Event, SlipBranch
from stiction.chains.quasistatic.slip_frame import Frame, LoadSeries
from stiction.chains.quasistatic.stepper import SlipMotion, Stepper, reserve
from stiction.core.audit import Check, Kind
from stiction.core.checkpoint import saved_array
from stiction.core.determinism import Loss
from stiction.core.run import Request
from stiction.errors import ModelError, Status

__all__ = ["NonlinearSlip"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Index = npt.NDArray[np.intp]

# chosen: largest number of masses, because every step takes dense eigenvalues; number of times in a
# run at which other branches are searched beside its events
_MOST, _SEARCH_TIMES = 200, 32
# a damping matrix whose smallest eigenvalue is below this fraction of the largest one is singular;
# time constants below the second fraction of the largest one are rounding
_SINGULAR, _NO_TIME_CONSTANT = 1e-12, 1e-14
# chosen: the velocity jumps if it changes by this fraction; branches differ by the second fraction
# of their speed, both far above the errors of roots
_JUMPS, _OTHER_BRANCH = 1e-3, 1e-5
# smallest relative tolerance of DOP853, some 100 roundings, near the least that SciPy admits
_LEAST_RTOL = 3e-14
# chosen: absolute tolerance over the relative one, in units of the speeds, so that components which
# are a hundredth of the others are still resolved
_ATOL_OVER_RTOL = 1e-2
# chosen: steps are shortened by this factor, because their dense output is less accurate
_SHORTER = 0.6
# chosen: a slip rate is zero at an event within this fraction of the largest one, above the error
# of the located event
_STOPPED = 1e-9


class NonlinearSlip(SlipMotion):
    """Slip of one chain under friction that depends on speed.

    Parameters
    ----------
    frame, weak : the chain and its friction curve
    choice : which branch to take where several are admissible
    request : time span

    Attributes
    ----------
    seed : (n,) velocities [m/s] from which the fast flow starts at the next decision
    lag : a time [s] below the time scales of chain and load
    least : smallest force that slip of one mass can carry [N]; 0 for more masses
    open : whether other branches exist and are reported already
    chosen : whether the branch choice has left stick
    unsure : whether the velocity has jumped since the last report
    """

    unsettled: ClassVar[str] = "branches"

    def __init__(
        self, frame: Frame, weak: FrictionCurve, choice: BranchChoice, request: Request
    ) -> None:
        self.frame, self.weak, self.choice, self.request = frame, weak, choice, request
        self.damping = frame.chain.damping_matrix()
        self._check_solvable()
        self.flow = FastFlow(frame, weak, self.damping)
        self.unique = weak.unique(self.damping)
        # number of masses among which other branches are searched, 0 if the velocity is unique
        self.search_size = 0 if self.unique >= 0.0 else frame.n
        self.seed, self.lag = np.zeros(frame.n), self._lag()
        self.least = least_slip_force(weak, self.damping[0, 0]) if frame.n == 1 else 0.0
        self.open, self.chosen, self.unsure = False, False, False

    def _check_solvable(self) -> None:
        """Raise ModelError for chains too long, or with motions that nothing resists."""
        n = self.frame.n
        if n > _MOST:
            raise ModelError(
                "Quasistatic",
                f"{n} masses under friction that depends on speed",
                f"at most {_MOST}",
                "every step needs the eigenvalues of a dense matrix.",
                "use ThetaStepper(step=...) for long chains.",
            )
        # friction that rises with the slip rate resists like a damper
        rises = self.weak.bends if self.weak.strengthens else np.zeros(n)
        eigen = np.linalg.eigvalsh(self.damping + np.diag(rises))
        if eigen[0] <= _SINGULAR * eigen[-1]:
            raise ModelError(
                "Quasistatic",
                "friction that does not rise strictly with the slip rate on every mass, and "
                "dampers that do not resist every motion of the other masses",
                "dampers that resist every motion, or none at all",
                "motions without resistance would jump at the first slip, and the others would "
                "not.",
                "give every spring, one of them to a wall, a damping > 0; or use "
                "ThetaStepper(step=...).",
            )

    def _lag(self) -> float:
        """Return a time [s] below the time scales of the chain and of the load."""
        from scipy.linalg import eigh

        stiffness = self.frame.chain.stiffness_matrix()
        span = self.request.t_end - self.request.t_start
        tau = eigh(self.damping + np.diag(self.weak.bends), stiffness, eigvals_only=True)
        shortest = float(tau[tau > _NO_TIME_CONSTANT * tau[-1]][0])
        return min(shortest, span, 1.0 / max(self.frame.fastest, 1e-300))

    def decision_times(self) -> Floats:
        """Return times [s] of the branch choice, and at which branches are searched."""
        times = [np.array([self.choice.first_time()])]
        if 1 < self.search_size <= MOST_MASSES:
            times.append(np.linspace(self.request.t_start, self.request.t_end, _SEARCH_TIMES + 1))
        return np.concatenate(times)

    # ---- checkpoint

    def pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return further arrays of a checkpoint."""
        return {"seed": self.seed, "branch": np.array([self.open, self.chosen, self.unsure])}

    def unpack(self, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the arrays of `pack`."""
        self.seed = saved_array(saved, "seed", (self.frame.n,))
        flags = saved_array(saved, "branch", (3,), "b").tolist()
        self.open, self.chosen, self.unsure = flags

    # ---- the active set

    def decide(self, s: Stepper, load: LoadSeries) -> Status | None:
        """Select the branch from here on, by the fast flow from the velocities before."""
        frame = self.frame
        r, drift = frame.drive(s.t, s.y), frame.drift(load, s.t)
        found = self.flow.settle(r, drift, self.seed, self.lag)
        if found is None:
            s.reason = f"no branch was found at t = {s.t:.9g} s"
            return Status.UNCONVERGED
        v, mode = found
        if not self.chosen and not mode.any() and self.choice.leaves(s.t):
            # from large velocities the flow converges to the fastest stable branch
            above = self.flow.settle(r, drift, self._above(2.0 * r), self.lag)
            if above is not None and above[1].any():
                v, mode = above
                self.chosen = True
        jump = float(np.max(np.abs(v - s.v)))
        size = float(np.max(np.abs(v) + np.abs(s.v), initial=0.0))
        self.unsure = self.unsure or (jump > _JUMPS * size and s.steps > 0)
        s.v, self.seed, s.mode = v, v, mode
        return None

    def _above(self, r: Floats) -> Floats:
        """Return velocities [m/s] above those of all branches, from which the flow starts."""
        undamped = np.where(self.damping.diagonal() > 0.0, 0.0, self.weak.bends)
        return np.asarray(np.linalg.solve(self.damping + np.diag(undamped), r))

    # ---- other branches

    def report_branches(self, s: Stepper, load: LoadSeries) -> None:
        """Record a loss of determinism when other branches appear; not again until they vanish."""
        if self.unique >= 0.0:
            return
        frame, t = self.frame, s.t
        r = frame.drive(t, s.y)
        if frame.n > MOST_MASSES:
            self._report_jump(s, r)
            return
        # slightly later, as in the fast flow, so that branches that appear at this instant are
        # distinct
        soon = r + 1e-8 * self.lag * (frame.drift(load, t) - frame.stiff(s.v))
        found, now = (velocities(frame.chain, self.weak, drive) for drive in (soon, r))
        speed = float(np.max(np.abs([b.velocity for b in found]), initial=0.0)) or 1.0
        others = [b for b in found if np.max(np.abs(b.velocity - s.v)) > _OTHER_BRANCH * speed]
        if others and not self.open:
            found = now if _count_distinct(now, speed) == _count_distinct(found, speed) else found
            where: dict[str, object] = {
                "velocities": [b.velocity.tolist() for b in found],
                "branches": [b.kind for b in found],
                "load": float(frame.segments.at(t)),
                "x": (s.y + frame.belt * t).tolist(),
            }
            s.losses.append(Loss(t, "quasistatic_branches", where, self._continuation(s)))
        self.open = bool(others)

    def _continuation(self, s: Stepper) -> str:
        if s.mode.any():
            return "left stick, as `choice` requires" if self.chosen else "continued to slip"
        return "continued to stick"

    def _report_jump(self, s: Stepper, r: Floats) -> None:
        """Record a loss of determinism where the velocity jumped, in chains too long to search."""
        if not self.unsure:
            return
        self.unsure = False
        where: dict[str, object] = {
            "velocities": [s.v.tolist()],
            "load": float(self.frame.segments.at(s.t)),
            "drive": r.tolist(),
            "note": f"other branches are searched for up to {MOST_MASSES} masses only",
        }
        continuation = "jumped to the branch that small inertia selects"
        s.losses.append(Loss(s.t, "quasistatic_branches", where, continuation))

    def reserves(self, force: Floats) -> Floats:
        """Return the distances to the two forces at which branches of one mass appear or vanish."""
        if self.frame.n > 1:
            return force[:0]
        gap = reserve(np.full(2, self.least), np.concatenate([-force, force]))
        # set the first coefficients to zero if the series starts at a root within rounding
        gap[np.abs(gap) <= 1e-12 * (np.abs(force).sum() + self.frame.bound[0])] = 0.0
        first = np.argmax(gap != 0.0, axis=1)
        return np.asarray(gap * np.sign(gap[[0, 1], first])[:, None])

    # ---- the motion

    def integrate_slip(self, s: Stepper, a: Index, load: LoadSeries) -> bool:
        """Integrate along the branch to its next event; return whether to decide the branch."""
        from scipy.integrate import DOP853

        end, rtol = s.end_of(load), max(s.method.rtol, _LEAST_RTOL)
        branch = SlipBranch(self.frame, self.weak, load, end, a, s.mode, s.y, s.v)
        atol = _ATOL_OVER_RTOL * rtol * np.append(np.full(a.size, self._speed(s.v)), s.span)
        start = np.append(s.v[a], s.t)
        solver = DOP853(branch.rates, 0.0, start, np.inf, rtol=rtol, atol=atol)  # type: ignore[arg-type]
        # an event function can end the segment once it has been positive
        armed = branch.reserves(start[:, None])[:, 0] > 0.0
        while True:
            pace = float(branch.rates(0.0, solver.y)[-1])
            if pace > 0.0:
                # not far beyond the end of the interval of the load
                remaining = 1.1 * max(end - float(solver.y[-1]), 1e-12 * s.span)
                solver.h_abs = min(solver.h_abs, remaining / pace)
            solver.step()
            solver.h_abs *= _SHORTER
            dense, u = solver.dense_output(), (float(solver.t_old), float(solver.t))
            at, event, armed = branch.first_event(dense, u, armed)
            s.record(Arc(branch, dense, (u[0], at)))
            if event is not None or s.steps >= s.method.max_steps:
                break
        # state at the event: rates, slips from the balance of forces, and masses that stop
        z, timed = dense(at), event == Event.LOAD_ENDS
        v, s.t = z[:-1], end if timed else float(z[-1])
        small = _STOPPED * float(np.max(np.abs(v), initial=0.0))
        s.y = branch.places(v[:, None], np.array([s.t]))[:, 0]
        rates = branch.full(v)
        s.force = -branch.friction(v[:, None], s.y[:, None], np.array([s.t]))[:, 0]
        stops = (np.abs(rates) <= small) | (rates * s.mode <= 0.0)
        s.v = np.where(stops & ~self.frame.free, 0.0, rates)
        self.seed = branch.pushed(v) if event == Event.BRANCH_ENDS else s.v
        return event is not None and (not timed or end == s.limit(load.t))

    def _speed(self, v: Floats) -> float:
        """Return a scale of slip rates [m/s], at least 1e-3 of that of the law (chosen)."""
        scale = float(np.max(self.weak.table.v_scale)) if self.weak.bends.any() else 0.0
        return max(float(np.max(np.abs(v))), 1e-3 * scale, 1e-300)

    # ---- the audit

    def checks(self) -> list[Check]:
        """Return lines of the audit."""
        value, what = self.unique, "smallest eigenvalue of C - diag(N max|mu'|) [N s/m]"
        if not np.isfinite(value):
            # no damper compensates a jump; report its size instead
            value, what = -self.weak.jump, "minus the largest jump of friction at rest [N]"
        return [
            Check(
                "velocity_unique",
                self.unique >= 0.0,
                value,
                0.0,
                None,
                f"{what}; below 0 several motions may solve the problem, see determinism",
                kind=Kind.CONDITION,
            ),
            Check(
                "branches_searched",
                self.search_size <= MOST_MASSES,
                float(self.search_size),
                float(MOST_MASSES),
                None,
                "number of masses for which other branches may exist, 0 if the velocity is unique; "
                "above the limit branches are not searched",
                kind=Kind.CONDITION,
            ),
        ]


def _count_distinct(found: list[Branch], speed: float) -> int:
    """Return the number of distinct branches, given in order of speed."""
    sizes = [float(np.abs(branch.velocity).sum()) for branch in found]
    return 1 + sum(b - a > _OTHER_BRANCH * speed for a, b in itertools.pairwise(sizes))
