"""Dynamic problem by the theta scheme with a fixed step: exact or smoothed friction.

    x_{l+1} - x_l = h v_theta
    M (v_{l+1} - v_l) / h + C v_theta + K x_theta + N mu(|w|) s = b f_theta,  w = v_theta - V

where s_theta = theta s_{l+1} + (1 - theta) s_l. `ThetaStepper` takes s from the set-valued
sign of the slip w, `RegularizedTheta` a smooth function of it. Both keep the discrete
energy identity of the scheme to rounding in every step (formulas sheet, section 5): what
the scheme itself takes out, (theta - 1/2)(|dv|_M^2 + |dx|_K^2), is the ledger's column
`algorithmic`.

A step costs O(n) in time, a run O(n) in memory beside the saved states and the events.
Events carry the end time of the step in which a mode changed, so they are late by up to
one step. States at save times inside a step lie on the straight line between its ends,
and so does the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.outcome import build_run
from stiction.errors import ModelError, explain
from stiction.laws.coulomb import LawKind
from stiction.laws.smoothed import SmoothSign, SquareRootSign
from stiction.numerics.checks import Record, number, whole
from stiction.results.audit import Check
from stiction.results.run import Request, Run

if TYPE_CHECKING:
    from stiction.chains._theta.march import March

__all__ = ["RegularizedTheta", "ThetaStepper"]

Floats = npt.NDArray[np.float64]

_STEP_IMBALANCE = 1e-12
_NO_FORCE = 1e-200
# numbers looked at together when saved states are checked
_BLOCK = 1_000_000
# slip speeds at which a user's law is searched for its steepest fall
_SPEEDS = np.concatenate([[0.0], np.geomspace(1e-9, 1e3, 241)])


@dataclass(frozen=True, eq=False)
class ThetaStepper(Record):
    """Theta scheme with set-valued friction solved exactly in each step.

    The modes of all masses follow from an active set method over a tridiagonal M-matrix,
    started from those of the last step: hardly ever more than two linear solves. A stuck
    mass is given the velocity of the belt; for theta < 1 that takes out the kinetic energy
    with which it would ring for ever, which the ledger counts as `algorithmic`.

    Weakening friction makes the problem of a step unique only for steps shorter than
    m_i / (theta N_i L), with L the rate at which mu falls; the audit says when the step is
    longer. With a jump between static and kinetic friction a mass sticks as long as it
    can, and its release is late by up to one step. With theta = 1/2 a mass that comes to
    rest may be reported to reverse for one step before it sticks.

    Parameters
    ----------
    step : [s] > 0; shortened so that a whole number of steps fills the time span
    theta : between 1/2 and 1. 1/2 takes no energy out of vibrations and is of second order
        between events; 1 damps what the step does not resolve. The default, 1/2, has by
        far the smaller error in chains that vibrate
    max_solves : linear solves allowed in one step after the active set gave up; a step
        that needs more is counted as unconverged
    max_steps, max_events : bounds on the work; more steps are refused, a run with more
        events ends with WORK_LIMIT

    Raises
    ------
    ModelError : on a step that is not positive or a theta outside [1/2, 1].

    Source: formulas sheet of the chains paper, section 5.
    Verified by: tests/exact/test_theta_references.py::test_exact_friction_converges
    """

    step: float
    theta: float = 0.5
    max_solves: int = 1_000
    max_steps: int = 1_000_000_000
    max_events: int = 10_000_000

    def __post_init__(self) -> None:
        _check_step(self, 0.5)
        _check_bounds(self, "max_solves", "max_steps", "max_events")

    def solve(self, chain: Chain, request: Request) -> Run:
        """Return the run of `chain`; the method of `stiction.solve`."""
        from stiction.chains._theta.march import March
        from stiction.chains._theta.setup import Scheme

        _check_chain(self, chain)
        scheme = Scheme(
            name=type(self).__name__,
            step=self.step,
            theta=self.theta,
            most_iterations=self.max_solves,
            tolerance=1e-13,
            max_steps=self.max_steps,
            max_events=self.max_events,
        )
        march = March(scheme, chain, request)
        march.run()
        checks = [*_common_checks(march), *_exact_checks(march)]
        return build_run(chain, self, request, march.history(checks))


@dataclass(frozen=True, eq=False)
class RegularizedTheta(Record):
    """Theta scheme with smoothed friction, as in the literature; masses creep, never stick.

    Each step is solved by Newton's method. A step that does not converge is taken as it
    is, counted, and reported in the audit with its time. theta = 0 is the explicit Euler
    method and needs no solve.

    There is no stick to report, so there are no `stick` events and no stop. A mass counts
    as slipping from the first step in which its slip speed exceeds `onset_at` times the
    smoothing (where friction has reached 0.995 of its full value by the default shape);
    a `reverse` is reported when it exceeds it in the other direction. A law with a jump
    keeps its kinetic value only, which the audit says.

    Parameters
    ----------
    step : [s] > 0; shortened so that a whole number of steps fills the time span
    theta : between 0 and 1; below 1/2 the scheme creates energy
    smoothing : width eps of the smoothed sign [m/s], > 0
    shape : the smoothed sign
    line_search : whether Newton steps are shortened until the residual falls
    max_iterations : Newton iterations allowed in one step
    tolerance : largest residual of a mass over the forces on it [1]
    onset_at : slip speed, in units of `smoothing`, from which a mass counts as slipping
    max_steps, max_events : bounds on the work

    Raises
    ------
    ModelError : on a step, smoothing or tolerance that is not positive, or a theta
        outside [0, 1].

    Source: Axioms 14(4) 299, the numerical scheme; formulas sheet, section 5.
    Verified by: tests/convergence/test_theta.py::test_order_with_smoothed_friction
    """

    step: float
    theta: float
    smoothing: float
    shape: SmoothSign = field(default_factory=SquareRootSign)
    line_search: bool = True
    max_iterations: int = 50
    tolerance: float = 1e-13
    onset_at: float = 10.0
    max_steps: int = 1_000_000_000
    max_events: int = 10_000_000

    def __post_init__(self) -> None:
        _check_step(self, 0.0)
        _check_bounds(self, "max_iterations", "max_steps", "max_events")
        _positive(self, "smoothing", "m/s", "a sign of no width is not smooth.", "1e-3.")
        _positive(self, "tolerance", "", "a residual of zero is never met.", "1e-12.")
        _positive(self, "onset_at", "", "every mass creeps from the start.", "10.0.")
        if not isinstance(self.shape, SmoothSign):
            raise ModelError(
                explain(
                    "RegularizedTheta.shape",
                    repr(self.shape),
                    "a SmoothSign",
                    "friction is smoothed by it.",
                    "SquareRootSign() or TanhSign().",
                )
            )

    def solve(self, chain: Chain, request: Request) -> Run:
        """Return the run of `chain`; the method of `stiction.solve`."""
        from stiction.chains._theta.march import March
        from stiction.chains._theta.setup import Scheme

        _check_chain(self, chain)
        scheme = Scheme(
            name=type(self).__name__,
            step=self.step,
            theta=self.theta,
            most_iterations=self.max_iterations,
            tolerance=self.tolerance,
            max_steps=self.max_steps,
            max_events=self.max_events,
            shape=self.shape,
            smoothing=self.smoothing,
            line_search=self.line_search,
            creep=self.onset_at * self.smoothing,
        )
        march = March(scheme, chain, request)
        march.run()
        checks = [*_common_checks(march), *_smooth_checks(march, self)]
        return build_run(chain, self, request, march.history(checks))


# ---- the audit


def _common_checks(march: March) -> Iterator[Check]:
    tk, clock, counter = march.tk, march.work.clock, march.work.counter
    worst, misses = float(clock[tk.WORST]), int(counter[tk.MISSES])
    yield Check(
        "energy_of_each_step",
        worst <= _STEP_IMBALANCE,
        worst,
        _STEP_IMBALANCE,
        float(clock[tk.WORST_TIME]),
        "largest imbalance of one step over the largest energy",
    )
    size = f", worst residual {float(clock[tk.WORST_MISS]):.2g}" if misses else ""
    yield Check(
        "steps_converged",
        misses == 0,
        float(misses),
        0.0,
        float(clock[tk.FIRST_MISS]) if misses else None,
        f"steps that did not converge; the time is that of the first{size}",
    )
    chain, h, theta = march.chain, march.problem.h, march.scheme.theta
    rate = float(np.max(theta * _steepest_fall(chain) / chain.masses))
    if rate > np.finfo(float).tiny:
        yield Check(
            "step_below_weakening_limit",
            h * rate < 1.0,
            h,
            1.0 / rate,
            None,
            "a longer step has no unique solution under this weakening friction [s]",
        )


def _exact_checks(march: March) -> Iterator[Check]:
    chain = march.chain
    rows = int(march.work.counter[march.tk.NEXT_SAVE])
    worst, time = 0.0, None
    block = max(1, _BLOCK // chain.n_mass)
    for first in range(0, rows, block):
        part = slice(first, min(first + block, rows))
        allowed = chain.stick_bound + _rounding(march, part)[:, None]
        share = np.abs(march.saved.friction[part]) / np.maximum(allowed, _NO_FORCE)
        share[march.saved.mode[part] != 0] = 0.0
        here = share.max(axis=1)
        if here.max() > worst:
            worst, time = float(here.max()), float(march.saved.time[first + here.argmax()])
    limit = 1.0 + 1e-9
    note = "friction of stuck masses over the static bound"
    yield Check("stick_within_bound", worst <= limit, worst, limit, time, note)


def _rounding(march: March, part: slice) -> Floats:
    """Return what rounding can make of a force at each saved time [N]."""
    chain, saved, row = march.chain, march.saved, march.tk.INERTIA
    time, inertia = saved.time[part], float(np.max(march.work.f[row, : chain.n_mass]))
    stiff = 2.0 * float(np.max(chain.link_stiffness) + np.max(chain.plate_springs))
    reach = np.max(np.abs(saved.x[part]), axis=1) + np.abs(chain.plate_speed * time)
    speed = np.max(np.abs(saved.v[part] - chain.belt_speed), axis=1)
    force = stiff * reach + np.abs(chain.load.at(time)) + inertia * speed
    return np.asarray(1e-12 * force)


def _smooth_checks(march: March, method: RegularizedTheta) -> Iterator[Check]:
    chain, h, theta = march.chain, march.problem.h, method.theta
    table = chain.friction
    if table.kind is LawKind.STATIC_KINETIC:
        lost = float(np.max(table.mu_static - table.mu_kinetic))
        note = "static minus kinetic coefficient: a smoothed law has no static friction"
        yield Check("static_friction_kept", lost == 0.0, lost, 0.0, None, note)
    if theta >= 0.5:
        return
    steepest = float(method.shape.slope(0.0, method.smoothing))
    rate = float(np.max(chain.stick_bound / chain.masses)) * steepest
    if rate > 0.0:
        limit = 2.0 / ((1.0 - 2.0 * theta) * rate)
        note = "with a longer step the scheme chatters about zero slip [s]"
        yield Check("step_resolves_smoothing", h <= limit, h, limit, None, note)
    rows = int(march.work.counter[march.tk.NEXT_SAVE])
    created = float(-np.min(march.saved.sums[:rows, 4]))
    note = "energy the scheme created [J]; theta >= 1/2 creates none"
    yield Check("scheme_creates_no_energy", created <= 0.0, created, 0.0, None, note)


def _steepest_fall(chain: Chain) -> Floats:
    """Return N_i times the rate at which mu falls with slip speed, per mass [N s/m]."""
    table = chain.friction
    if table.kind is LawKind.EXPONENTIAL:
        fall = (table.mu_static - table.mu_kinetic) / table.v_scale
    elif table.kind is LawKind.USER and table.derivative is not None:
        steepest = min(float(table.derivative(float(speed))) for speed in _SPEEDS)
        fall = np.full(chain.n_mass, max(-steepest, 0.0))
    else:
        fall = np.zeros(chain.n_mass)
    return np.asarray(fall * chain.normal_forces)


# ---- checks at the door


def _check_step(method: ThetaStepper | RegularizedTheta, least: float) -> None:
    name = type(method).__name__
    _positive(method, "step", "s", "time must go forward.", "1e-3.")
    why = "outside it the scheme is unstable, or creates energy."
    if least == 0.0:
        why = "it weighs the end of a step against its start."
    theta = number(f"{name}.theta", method.theta, why=why, try_="0.5 or 1.0.")
    if not least <= theta <= 1.0:
        try_ = "0.5 for the least loss, 1.0 for the most damping."
        if least > 0.0:
            try_ += " RegularizedTheta takes values below 1/2."
        needs = f"a number between {least:g} and 1"
        raise ModelError(explain(f"{name}.theta", theta, needs, why, try_))
    object.__setattr__(method, "theta", theta)


def _positive(method: Record, name: str, unit: str, why: str, try_: str) -> None:
    where = f"{type(method).__name__}.{name}"
    value = getattr(method, name)
    clean = number(where, value, rule="positive", unit=unit, why=why, try_=f"for example {try_}")
    object.__setattr__(method, name, clean)


def _check_bounds(method: Record, *names: str) -> None:
    for name in names:
        where = f"{type(method).__name__}.{name}"
        why, try_ = "the work of a run is bounded.", "leave the default."
        whole(where, getattr(method, name), least=1, why=why, try_=try_)


def _check_chain(method: Record, chain: object) -> None:
    if not isinstance(chain, Chain):
        raise ModelError(
            explain(
                type(method).__name__,
                type(chain).__name__,
                "a Chain",
                "this method uses the tridiagonal structure of a chain.",
                "give the system's own method.",
            )
        )
