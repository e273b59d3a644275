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

from dataclasses import dataclass, field

from stiction.errors import ModelError, explain
from stiction.laws.smoothed import SmoothSign, SquareRootSign
from stiction.numerics.checks import BYTES_OF_EVENT, MOST_WORK, Record, check_counts, number

__all__ = ["RegularizedTheta", "ThetaStepper"]


@dataclass(frozen=True, eq=False, repr=False)
class ThetaStepper(Record):
    """Theta scheme with set-valued friction solved exactly in each step.

    The modes of all masses follow from an active set method over a tridiagonal M-matrix,
    started from those of the last step: hardly ever more than two linear solves. A stuck
    mass is given the velocity of the belt; for theta < 1 that takes out the kinetic energy
    with which it would ring for ever, which the ledger counts as `algorithmic`.

    Weakening friction makes the problem of a step unique only for steps shorter than
    m_i / (theta N_i L), with L the rate at which mu falls; the audit says when the step is
    longer. With a jump between static and kinetic friction a mass sticks as long as it
    can: where its velocity passes zero within a step, its static bound decides whether it
    sticks or turns round, under every law but one that is constant. Where the forces on it
    are nearer to that bound than the error of the step, which is of first order in h for
    theta > 1/2, it may take the other side until the step is shorter. Its release is late by
    up to one step. With constant friction and theta = 1/2 a mass that comes to rest may be
    reported to reverse for one step before it sticks.

    A law without stick (Dahl, LuGre, ...) is solved by Newton's method in each step, its states
    by the same scheme; theta = 1 where they are faster than the step. See `Radau` for its rest.

    Parameters
    ----------
    step : [s] > 0, no longer than the time span; shortened so that a whole number of steps
        fills it
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


@dataclass(frozen=True, eq=False, repr=False)
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
    step : [s] > 0, no longer than the time span; shortened so that a whole number of steps
        fills it
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
    each = {"max_events": BYTES_OF_EVENT}
    most = {"max_steps": MOST_WORK, "max_events": MOST_WORK}
    rules = [(name, 1, most.get(name, 1_000_000), each.get(name, 0)) for name in names]
    check_counts(method, *rules)
