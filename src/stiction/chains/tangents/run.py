"""Event-driven runs of chains with first derivatives, by the variational equation.

The variations dx, dv are the derivatives of displacements and velocities with respect to
directions: components of the initial state, and parameters. They obey the linearised equation of
motion between events (`series_kernels`) and jump by saltation matrices at events (`event_kernels`).
`core.tangents` defines the results. `EventDriven.tangents` calls this module.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.run import EventDrivenIntegrator, refuse
from stiction.chains.tangents.directions import expanded, laid_out
from stiction.chains.tangents.parameters import unit_of
from stiction.chains.tangents.state import (
    BREAKPOINT,
    END,
    FRICTIONLESS,
    GRAZING,
    START,
    THRESHOLDS,
    Failure,
    Log,
    Variation,
)
from stiction.core.run import Request
from stiction.core.tangents import (
    EventTangent,
    NotDifferentiable,
    QuantityTangent,
    Tangents,
    times_of,
)
from stiction.errors import ModelError, SolveError, explain
from stiction.laws.compiled import CompiledLaw
from stiction.numerics.checks import numbers

if TYPE_CHECKING:
    from stiction.chains.methods import EventDriven
    from stiction.chains.model import Chain

__all__ = [
    "check_law",
    "check_span",
    "event_driven_tangents",
    "failure_of",
    "incomplete",
    "label_of",
    "units_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MODES = {-1: "slip-", 0: "stick", 1: "slip+"}
_EVENT_ROWS, _FAILURE_ROWS = 256, 64
# kernels return after this many steps of one mass, so that Ctrl-C is handled
_MASS_STEPS_PER_CALL = 100_000
_KINDS = {
    GRAZING: (
        "grazing",
        "it passes its threshold at a rate of {value:.3g}; a derivative needs more than "
        "{limit:.3g}",
    ),
    THRESHOLDS: (
        "degenerate thresholds",
        "two thresholds differ by {value:.3g}, which is within their error {limit:.3g}: the order "
        "of the two events is not defined",
    ),
    BREAKPOINT: (
        "event at a breakpoint",
        "the event coincides with a breakpoint of the load; the rates before and after it differ",
    ),
    START: (
        "start on the surface",
        "it starts with zero slip rate under a force of {value:.6g} N, not below its friction in "
        "slip of {limit:.6g} N: variations of its velocity of either sign have different effects",
    ),
    END: (
        "event at the end",
        "at the end its distance {value:.3g} to the threshold is within the error {limit:.3g}",
    ),
    FRICTIONLESS: (
        "mass at rest without friction",
        "any small friction would hold it: at zero friction there is no derivative with respect "
        "to friction",
    ),
}


def event_driven_tangents(
    chain: Chain,
    method: EventDriven,
    t_span: tuple[float, float],
    to: Sequence[str],
    save: Sequence[float] | Floats = (),
) -> Tangents:
    """Return the end of an event-driven run and its derivatives with respect to the directions.

    The derivatives of the state at the times `save` are returned too.

    Raises
    ------
    ModelError : if a name is no direction, or the law has states or no stick.
    SolveError : if the run ends early.

    Source: di Bernardo, Budd, Champneys, Kowalczyk 2008, section 2.5.
    Verified by: tests/unit/chains/tangents/test_event_driven.py::test_random_chains
    """
    t_start, t_end = check_span(t_span)
    check_law(chain)
    refuse(chain, method, t_start)
    times = times_of(save, t_start, t_end)
    with np.errstate(all="ignore"):
        return TangentRun(chain, method, (t_start, t_end), *expanded(chain, to), times).run()


def check_law(chain: Chain) -> None:
    """Raise ModelError unless friction is set-valued at rest."""
    if not chain.law.sticks:
        raise ModelError(
            "Chain.tangents",
            type(chain.law).__name__,
            "a set-valued law, whose friction in stick has any value up to a bound",
            "the derivatives pass through events of stick and slip, which this law does not have.",
            "use Coulomb, StaticKinetic, ExponentialWeakening or Stribeck.",
        )


def incomplete(t: float, t_end: float) -> SolveError:
    """Return the error for a run that ended at time t, before t_end [s]."""
    got, needs = f"a run that ended at t = {t:.9g} s", f"a run up to {t_end:.9g} s"
    why = "the derivatives are those of the complete run."
    try_ = "call solve() with the same arguments: the run that it returns gives the reason."
    return SolveError(explain("Chain.tangents", got, needs, why, try_))


def check_span(t_span: tuple[float, float]) -> tuple[float, float]:
    """Return start and end; raise ModelError unless time goes forward."""
    where, why, try_ = "Chain.tangents.t_span", "a run goes forward in time.", "take (0.0, 8.0)."
    span = numbers(where, t_span, size=2, per="end", unit="s", why=why, try_=try_)
    t_start, t_end = span.tolist()
    if not t_end > t_start:
        raise ModelError(where, repr(t_span), "an end after the start [s]", why, try_)
    return t_start, t_end


def label_of(mode: int, mass: int) -> str:
    """Return the label of an event: the mode that begins and the mass, numbered from 1."""
    return f"{_MODES[int(mode)]} {int(mass) + 1}"


def units_of(chain: Chain, names: Sequence[str]) -> dict[str, str]:
    """Return units of time, of the directions and of the components of the start."""
    units = {"time": "s"} | {name: unit_of(chain, name) for name in names}
    return units | {x: "m" if x.startswith("x") else "m/s" for x in chain.start_names}


class TangentRun:
    """One run: the buffers of steps and variations, the loop over kernel calls, the result."""

    def __init__(
        self,
        chain: Chain,
        method: EventDriven,
        t_span: tuple[float, float],
        names: tuple[str, ...],
        whole: Ints,
        times: Floats | None = None,
    ) -> None:
        save = np.empty(0) if times is None else times
        request = Request(*t_span, save=save if save.size else np.array(t_span))
        plain = dataclasses.replace(method, replay=False)
        self.chain, self.method, self.names, self.t_span = chain, method, names, t_span
        self.steps = EventDrivenIntegrator(plain, chain, request)
        self.law = self.steps.law
        if not chain.law.constant:
            self.law = CompiledLaw(chain.friction, ("mu", "share", "slope"))
        # the slope is read from the same rows as the coefficient
        self.problem = self.steps.problem._replace(
            law_start=self.law.start,
            law_step=self.law.step,
            mu_address=self.law.mu,
            share_address=self.law.share,
        )
        self.directions, start, self.laws = laid_out(chain, names, whole, self.law, t_span)
        n, m, order = chain.n_mass, len(names), method.order
        self.variation = _variation(n, m, order, chain.law.constant, save)
        self.variation.x[:, 1:-1], self.variation.v[:, 1:-1] = start[:n].T, start[n:].T
        self.log = _log(n, m)
        self.events: list[EventTangent] = []

    def run(self) -> Tangents:
        """Return the derivatives."""
        from stiction.chains.event_driven.step_kernels import first_modes
        from stiction.chains.tangents import step_kernels as tk
        from stiction.chains.tangents.event_kernels import at_end

        one, p = self.steps, self.problem
        first_modes(p, one.state)
        self.variation.mode[:] = one.state.shown
        if self._advance_all() != tk.DONE:
            t = float(one.now.time)
            raise incomplete(t, self.t_span[1])
        rate, force_by = np.empty(2 * self.chain.n_mass), np.empty((len(self.names), p.mass.size))
        v, segment = self.variation, int(one.now.piece)
        at_end(p, self.directions, v, self.t_span[1], segment, rate, force_by)
        return self._result(rate, force_by)

    def _advance_all(self) -> int:
        """Make all steps; return the code with which the last call of the kernel stopped."""
        from stiction.chains.tangents import step_kernels as tk

        one, p = self.steps, self.problem
        fitted = p.fitted or p.load_address != 0
        advance = tk.advance_fitted_tangents if fitted else tk.advance_tangents
        chunk = max(20, _MASS_STEPS_PER_CALL // self.chain.n_mass)
        code = tk.PAUSE
        while code in (tk.PAUSE, tk.EVENTS_FULL):
            # some steps per call, then errors of user's functions are raised and events collected
            now = one.now
            if now.steps >= one.most_steps or len(self.events) >= self.method.max_events:
                break
            code = advance(
                *(p, one.state, one.saved, one.events, one.scratch),
                *(self.directions, self.variation, self.log),
                self.t_span[1],
                min(chunk, one.most_steps - int(now.steps)),
            )
            one.load_call.check()
            one.law.check()
            self.law.check()
            self._drain()
        return int(code)

    def _drain(self) -> None:
        """Move events out of the kernel's buffer."""
        log = self.log
        for row in range(int(log.filled[0])):
            label = label_of(log.after[row], log.mass[row])
            state = np.concatenate([log.x[row], log.v[row]])
            self.events.append(
                EventTangent(float(log.time[row]), label, state, log.time_by[row].copy())
            )
        log.filled[0] = 0

    def _result(self, rate: Floats, force_by: Floats) -> Tangents:
        """Return the results, with (components, directions) arrays of derivatives.

        `rate` and `force_by` are those of `event_kernels.at_end`.
        """
        v, state, saved = self.variation, self.steps.state, self.steps.saved
        by = np.concatenate([v.x[:, 1:-1], v.v[:, 1:-1]], axis=1).T
        quantities = [
            QuantityTangent(
                f"friction_force[{i}]", "N", float(saved.friction[-1, i]), force_by[:, i]
            )
            for i in range(self.chain.n_mass)
        ]
        quantities += [
            QuantityTangent(f"friction_heat[{i}]", "J", float(state.heat[i]), v.heat[:, i].copy())
            for i in range(self.chain.n_mass)
        ]
        many = v.save.size
        states = np.concatenate([saved.x[:many], saved.v[:many]], axis=1)
        states_by = np.concatenate([v.saved_x, v.saved_v], axis=2).transpose(0, 2, 1)
        return Tangents(
            directions=self.names,
            start=self.t_span[0],
            end=self.t_span[1],
            final=np.concatenate([state.x[1:-1], state.v[1:-1]]),
            final_by=by,
            rate=rate,
            events=tuple(self.events),
            failures=tuple(self._failures()),
            quantities=tuple(quantities),
            units=units_of(self.chain, self.names),
            times=v.save,
            states=states,
            states_by=states_by,
        )

    def _failures(self) -> list[NotDifferentiable]:
        """Return the times without a derivative, in order."""
        found = []
        for row in self.log.failure[: int(self.log.failed[0])]:
            numbers = (float(row[name]) for name in ("time", "value", "limit"))
            found.append(failure_of(int(row["kind"]), int(row["mass"]), *numbers))
        return sorted(found, key=lambda one: one.time)


def failure_of(
    code: int, mass: int, time: float, value: float = 0.0, limit: float = 0.0
) -> NotDifferentiable:
    """Return the failure of a code of `state` at a mass, counted from 0."""
    kind, reason = _KINDS[code]
    text = f"mass {mass + 1}: {reason.format(value=value, limit=limit)}"
    return NotDifferentiable(time, kind, text)


def _variation(n: int, m: int, order: int, constant: bool, save: Floats) -> Variation:
    """Return zero variations of n masses in m directions, and work arrays; see `Variation`."""
    terms, many = order + 1, 0 if constant else m
    law = 0 if constant else n
    return Variation(
        x=np.zeros((m, n + 2)),
        v=np.zeros((m, n + 2)),
        heat=np.zeros((m, n)),
        mode=np.zeros(n, np.int64),
        x_event=np.zeros(n + 2),
        v_event=np.zeros(n + 2),
        base=np.zeros((terms, n + 2)),
        load=np.zeros(terms),
        mu=np.zeros((law, terms)),
        slope=np.zeros((law, terms)),
        mu_by=np.zeros((many, law, terms)),
        trial=np.zeros((law, terms)),
        series=np.zeros((terms, n + 2)),
        load_by=np.zeros(terms),
        speed=np.zeros(terms),
        of_speed=np.zeros((law, terms)),
        of_force=np.zeros((law, terms)),
        power=np.zeros(2 * terms),
        moving=np.zeros(n, np.int64),
        # time of the last event, whether the start is passed, whether all variations ended
        last=np.array([-np.inf, 0.0, 0.0]),
        save=save,
        saved_x=np.full((save.size, m, n), np.nan),
        saved_v=np.full((save.size, m, n), np.nan),
        saves=np.zeros(1, np.int64),
    )


def _log(n: int, m: int) -> Log:
    """Return an empty buffer of events with their derivatives in m directions, and of failures."""
    rows = _EVENT_ROWS + 2 * n
    return Log(
        time=np.empty(rows),
        mass=np.empty(rows, np.int64),
        after=np.empty(rows, np.int64),
        before=np.empty(rows, np.int64),
        time_by=np.empty((rows, m)),
        rate=np.empty(rows),
        jump=np.empty(rows),
        x=np.empty((rows, n)),
        v=np.empty((rows, n)),
        filled=np.zeros(1, np.int64),
        failure=Failure.table(_FAILURE_ROWS + 2 * n),
        failed=np.zeros(1, np.int64),
    )
