"""Runs of the theta scheme with the derivatives of its discrete map.

The steps are those of `theta.exact_kernels`: each solves A w + mu N Sgn(w) containing q for the
slip rates w. `theta_kernels` differentiates each of them, at a fixed set of sticking masses, by the
implicit function theorem: A dw = dq - dA w - s d(mu N) in slip with sign s, dw = 0 in stick.
`ThetaStepper.tangents` calls this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.tangents.directions import expanded, laid_out
from stiction.chains.tangents.run import check_span, failure_of, incomplete, label_of, units_of
from stiction.chains.tangents.state import FRICTIONLESS
from stiction.chains.theta.integrator import ThetaIntegrator
from stiction.chains.theta.run import scheme_of
from stiction.chains.theta.setup import begin
from stiction.core.run import Request
from stiction.core.tangents import EventTangent, NotDifferentiable, QuantityTangent, Tangents
from stiction.laws.friction import with_stick, without_memory

if TYPE_CHECKING:
    from stiction.chains.methods import ThetaStepper
    from stiction.chains.model import Chain
    from stiction.chains.tangents.theta_kernels import Variation

__all__ = ["theta_tangents"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MASS_STEPS_PER_CALL = 200_000


def theta_tangents(
    chain: Chain, method: ThetaStepper, t_span: tuple[float, float], to: Sequence[str]
) -> Tangents:
    """Return the end of a run of the theta scheme and its derivatives in the directions `to`.

    The derivatives are those of the discrete map, with the set of sticking masses fixed in each
    step. Events lie at the ends of steps, so that the derivatives of their times are zero.
    Where a parameter moves a breakpoint of the load that lies at the end of a step, the map has a
    kink, and the derivative is the mean of both sides.

    Raises
    ------
    ModelError : if a name is no direction, or the law has states or no stick.
    SolveError : if the run ends early.

    Source: implicit function theorem; formulas sheet of the chains paper, section 5.
    Verified by: tests/unit/chains/tangents/test_theta.py::test_random_chains
    """
    check_span(t_span)
    with_stick(chain.law, "Chain.tangents")
    without_memory(
        chain.law,
        "Chain.tangents",
        "derivatives of the states of a law are not implemented.",
        "use a law without states.",
    )
    with np.errstate(all="ignore"):
        return _followed(chain, method, t_span, *expanded(chain, to))


def _followed(
    chain: Chain,
    method: ThetaStepper,
    t_span: tuple[float, float],
    names: tuple[str, ...],
    whole: Ints,
) -> Tangents:
    """Make all steps and return the derivatives in the directions `names`.

    The kernel returns at each change of modes, which is recorded here, and after `chunk` steps.
    """
    from stiction.chains.tangents import theta_kernels as tk

    integrator = ThetaIntegrator(scheme_of(method), chain, Request(*t_span, save=np.array(t_span)))
    p, work, now, n = integrator.problem, integrator.work, integrator.now, chain.n_mass
    directions, start, _laws = laid_out(chain, names, whole, integrator.law, t_span)
    bound_by = directions.mu_static * chain.normal_forces
    g = _variation(bound_by + chain.friction.mu_static * directions.normal)
    g.x[:, 1:-1], g.v[:, 1:-1] = start[:n].T, start[n:].T
    begin(chain, integrator.scheme, p, work, integrator.saved, integrator.events)
    advance = tk.advance_exact_tangents if p.constant else tk.advance_weakening_tangents
    chunk, found = max(20, _MASS_STEPS_PER_CALL // n), list[EventTangent]()
    code = tk.PAUSE
    while True:
        # mode changes of the last call, then the next steps
        for i, _, after in integrator.events.changes[: int(now.events)].tolist():
            state = np.concatenate([work.motion.x[:n], work.motion.slip_rate[:n] + p.belt])
            time = EventTangent(integrator.time, label_of(after, i), state, np.zeros(len(names)))
            found.append(time)
        now.events = 0
        if code in (tk.DONE, tk.NOT_FINITE) or len(found) > method.max_events:
            break
        code = advance(p, work, integrator.saved, integrator.events, directions, g, chunk)
        for call in integrator.calls.values():
            call.check()
        integrator.law.check()
    if code != tk.DONE:
        raise incomplete(float(integrator.time), t_span[1])
    return _result(chain, integrator, names, g, found)


def _result(
    chain: Chain,
    integrator: ThetaIntegrator,
    names: tuple[str, ...],
    g: Variation,
    found: list[EventTangent],
) -> Tangents:
    """Return the results; derivatives are NaN if a stick force equalled its bound in a step."""
    p, motion, n = integrator.problem, integrator.work.motion, chain.n_mass
    x, v = motion.x[:n].copy(), motion.slip_rate[:n] + p.belt
    failures = list[NotDifferentiable]()
    by = np.concatenate([g.x[:, 1:-1], g.v[:, 1:-1]], axis=1).T
    if not np.isnan(g.margin[0]):
        by = np.full_like(by, np.nan)
        g.heat[:] = np.nan
        failures = [_open_set(g.margin)]
    if not np.isnan(g.rest[0]):
        failures.append(failure_of(FRICTIONLESS, int(g.rest[1]), float(g.rest[0])))
    quantities = tuple(
        QuantityTangent(f"friction_heat[{i}]", "J", float(motion.heat[i]), g.heat[:, i].copy())
        for i in range(n)
    )
    return Tangents(
        directions=names,
        start=p.t_start,
        end=p.t_end,
        final=np.concatenate([x, v]),
        final_by=by,
        rate=np.concatenate([v, (v - g.velocity[1:-1]) / p.h]),
        events=tuple(found),
        failures=tuple(failures),
        quantities=quantities,
        units=units_of(chain, names),
    )


def _open_set(margin: Floats) -> NotDifferentiable:
    """Return the failure `Variation.margin`: a step whose set of sticking masses is undecided."""
    time, mass, share = margin.tolist()
    reason = f"mass {int(mass) + 1}: its friction in stick equals its bound to {abs(share):.2g}"
    return NotDifferentiable(time, "degenerate thresholds", reason)


def _variation(bound_by: Floats) -> Variation:
    """Return zero variations, from the (m, n) derivatives of the static bounds."""
    from stiction.chains.tangents.theta_kernels import Variation

    m, n = bound_by.shape
    return Variation(
        x=np.zeros((m, n + 2)),
        v=np.zeros((m, n + 2)),
        heat=np.zeros((m, n)),
        place=np.zeros(n + 2),
        velocity=np.zeros(n + 2),
        pivot=np.zeros(n),
        right=np.zeros(n),
        margin=np.full(3, np.nan),
        rest=np.full(2, np.nan),
        bound_by=bound_by,
    )
