"""Quasistatic problem (Problem 2): friction, springs and dampers, no inertia.

    C x' + K x + N mu(|x'|) Sgn(x')  contains  b f(t),      x(0) = x0

with displacements x, dampers C, springs K, normal forces N, friction mu, load f and load weights b.
A belt or plate that moves adds its forces (`slip_frame`).

`solve_chain`, called by `Quasistatic.solve`, selects the algorithm: play operators (`play`),
eigenvectors of the slipping masses (`linear_slip`), or branches under friction that depends on the
slip rate (`nonlinear_slip`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import Elastic
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, build_run
from stiction.chains.quasistatic.friction_curve import FrictionCurve
from stiction.chains.quasistatic.load_path import LoadPath, finite_until, slope
from stiction.core.audit import Check
from stiction.core.run import Request, Run
from stiction.errors import ModelError, Status
from stiction.laws.friction import without_memory

if TYPE_CHECKING:
    from stiction.chains.methods import Quasistatic

__all__ = ["solve_chain"]

Floats = npt.NDArray[np.float64]

# limit of the audit line `inertia_negligible`
_SLOW_ENOUGH = 0.5
# chosen: fraction of the time up to which a load is finite that is not solved, because a load that
# grows without bound has no series there
_LEFT_OUT = 4e-5


def solve_chain(chain: Chain, method: Quasistatic, request: Request) -> Run:
    """Return the run of a chain: Problem 2, each mode solved exactly.

    Constant friction: in a chain with one wall and the load on the free end, without dampers, each
    spring force is the play operator of a load that does not jump. This is exact for every history,
    and costs O(n) per extremum of the load. With dampers, under a load that never decreases, the
    springs relax independently, in closed form and O(n). Other chains are solved by eigenvectors
    for each active set. All three are exact to rounding for loads of lines and sines; a user's load
    is fitted to `rtol`.

    Weakening friction: the problem may have several solutions. The run follows one branch, and
    reports as losses of determinism where others appear. Without dampers no continuous solution
    exists after the first onset of slip: the run ends there with status `no_continuation`.

    The initial velocities of the chain are not used: the velocity follows from the displacement.

    Source: Axioms 14(4) 299, Problem 2; formulas sheet, sections 1d, 1e and 3.
    Verified by: tests/unit/chains/quasistatic/test_run.py::test_sweeping_equals_play
    """
    without_memory(
        chain.law,
        "Quasistatic",
        "Quasistatic follows branches of one curve mu(v), but the states of this law change the "
        "curve in time.",
        "use ThetaStepper(step=...) with small masses.",
    )
    Elastic(chain, "Quasistatic")
    check_load(chain.load, request.t_start)
    until = finite_until(chain.load.segments(), request.t_start, request.t_end, method.load_samples)
    if until < request.t_end:
        return _until_last_finite_load(chain, method, request, until)
    weak = FrictionCurve.of(chain)
    if not chain.link_damping.any() and not weak.strengthens:
        _check_start(chain, request.t_start)
    history = _history(method, chain, request, weak)
    checks = (*history.checks, *_checks(chain, request, history))
    return build_run(chain, method, dataclasses.replace(history, checks=checks))


def _until_last_finite_load(
    chain: Chain, method: Quasistatic, request: Request, until: float
) -> Run:
    """Return the run up to slightly before the last time at which the load is finite."""
    end = until - _LEFT_OUT * (until - request.t_start)
    if end <= request.t_start:
        raise ModelError(
            type(chain.load).__name__,
            f"a load that is not finite just after the start, t = {request.t_start:.9g} s",
            "a finite force [N]",
            "an infinite or undefined load leaves no finite motion.",
            "let the run start where the load is finite.",
        )
    save = np.append(request.save[request.save < end], end)
    run = solve_chain(chain, method, dataclasses.replace(request, t_end=end, save=save))
    if not run.status.ok:
        return run
    reason = f"the load is not finite after t = {until:.9g} s"
    return dataclasses.replace(run, status=Status.NOT_FINITE, reason=reason)


def _history(
    method: Quasistatic, chain: Chain, request: Request, weak: FrictionCurve
) -> ChainHistory:
    """Return the history of a chain by the algorithm that fits its friction and its dampers."""
    from stiction.chains.quasistatic import play
    from stiction.chains.quasistatic.linear_slip import LinearSlip
    from stiction.chains.quasistatic.slip_frame import Frame
    from stiction.chains.quasistatic.stepper import SlipMotion, Stepper

    if weak.constant and play.is_play(chain, request):
        span = (request.t_start, request.t_end)
        bound = float(np.max(chain.stick_bound))
        path = LoadPath.of(chain.load, *span, method.load_samples, method.max_events, bound)
        return play.play_history(chain, request, path, method.max_events)
    frame = Frame(chain)
    slip: SlipMotion
    if weak.constant or not (weak.strengthens or chain.link_damping.any()):
        slip = LinearSlip(frame, may_slip=weak.constant)
    else:
        from stiction.chains.quasistatic.nonlinear_slip import NonlinearSlip

        slip = NonlinearSlip(frame, weak, method.choice, request)
    return Stepper(method, chain, request, frame, slip).run()


# chosen: a start may exceed the bounds by this fraction of the forces, as states of files with ten
# digits do; in the audit a value is correct within the second fraction
_OF_START, _OF_AUDIT = 1e-10, 1e-9


def _check_start(chain: Chain, t: float) -> None:
    """Raise ModelError for a start beyond the bounds of stick: without dampers it would jump."""
    drive = chain.drive(t, chain.x_start, np.zeros(chain.n_mass))
    excess = np.abs(drive) - chain.stick_bound
    i = int(np.argmax(excess))
    size = float(np.max(np.abs(drive) + chain.stick_bound))
    if excess[i] > _OF_START * size:
        raise ModelError(
            "Quasistatic",
            f"x0 with a force of {abs(drive[i]):.9g} N on mass {i + 1}, {excess[i]:.3g} N "
            f"above its friction bound at t = {t:.9g} s",
            "a start at which friction holds every mass, since there are no dampers",
            "without inertia and dampers only friction balances the forces, so the "
            "chain would have to jump at the start.",
            "start from StickSet(chain, f).nearest(x0).x, let the load start lower, or "
            "give the chain dampers.",
        )


# ---- the audit


def _checks(chain: Chain, request: Request, history: ChainHistory) -> list[Check]:
    """Return audit lines: bounds in stick, directions of slip, and whether inertia is small."""
    stuck = history.mode == 0
    bound = np.maximum(chain.stick_bound, np.finfo(float).tiny)
    ratio = np.where(stuck & (chain.stick_bound > 0.0), np.abs(history.friction) / bound, 0.0)
    worst = np.unravel_index(np.argmax(ratio), ratio.shape)
    slip = history.v - chain.belt_speed
    wrong = float(np.max(np.where(stuck, np.abs(slip), -slip * history.mode), initial=0.0))
    # the mean slip rate between two saved times is a lower bound of the largest one
    moved = np.diff(history.x, axis=0) - chain.belt_speed * np.diff(history.time)[:, None]
    means = moved / np.diff(history.time)[:, None]
    speed = max(float(np.max(np.abs(rate), initial=0.0)) for rate in (slip, means)) or 1.0
    return [
        Check(
            "stick_within_bound",
            bool(ratio[worst] <= 1.0 + _OF_AUDIT),
            float(ratio[worst]),
            1.0 + _OF_AUDIT,
            float(history.time[worst[0]]),
            "largest friction of a sticking mass divided by its static bound, at the saved times",
        ),
        Check(
            "slip_against_friction",
            bool(wrong <= _OF_AUDIT * speed),
            wrong,
            _OF_AUDIT * speed,
            None,
            "largest slip rate opposite to the direction of the slip mode, at the saved times "
            "[m/s]",
        ),
        _inertia_check(chain, request),
    ]


def _inertia_check(chain: Chain, request: Request) -> Check:
    """Return the audit line of inertia: the force of an overshoot over the friction bound.

    This force is the rate of the load, and of the forces by which plate and belt strain the springs
    of stuck masses, over omega_1, the slowest natural frequency. For a chain without friction it is
    divided by the largest load.
    """
    segments = chain.load.segments()
    # chosen: 256 times; a load that repeats this often or changes within one interval is missed
    t = np.linspace(request.t_start, request.t_end, 257)[:-1]
    drawn, carried = chain.plate_springs * chain.plate_speed, float(np.max(chain.stick_bound))
    pushed = np.multiply.outer(segments.at(t), chain.load_weights) + np.multiply.outer(t, drawn)
    what = "friction bound"
    if carried == 0.0:
        carried, what = float(np.max(np.abs(pushed))), "load, as there is no friction"
    elif chain.belt_speed != 0.0:
        # masses that stick move with the belt, and strain their springs
        along = np.full(chain.n_mass, chain.belt_speed)
        drawn = drawn - Elastic(chain, "Quasistatic").force(along)
    loaded = np.multiply.outer(slope(segments, t, 1e-4 * (t[1] - t[0])), chain.load_weights)
    rate = np.max(np.abs(loaded + drawn), axis=1)
    fastest = int(np.argmax(rate))
    overshoot = float(rate[fastest]) / _slowest_frequency(chain)
    value = 0.0 if overshoot == 0.0 else overshoot / carried if carried > 0.0 else math.inf
    return Check(
        "inertia_negligible",
        value <= _SLOW_ENOUGH,
        value,
        _SLOW_ENOUGH,
        float(t[fastest]),
        "ratio of the force of an inertial overshoot (rate of the forces / slowest natural "
        f"frequency) to the largest {what}; if the ratio is not small, compare the run with "
        "EventDriven",
    )


def _slowest_frequency(chain: Chain) -> float:
    """Return the slowest natural frequency [rad/s], from a few inverse iterations."""
    elastic, shape = Elastic(chain, "Quasistatic"), np.ones(chain.n_mass)
    for _ in range(8):
        shape = elastic.solve(chain.masses * shape)
        shape = shape / np.max(np.abs(shape))
    square = float(shape @ elastic.force(shape)) / float(shape @ (chain.masses * shape))
    return math.sqrt(square)
