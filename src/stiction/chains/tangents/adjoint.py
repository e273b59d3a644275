"""Gradients of single quantities of an event-driven run: the adjoint equation, backward in time.

One backward integration gives the derivatives of one quantity by all parameters, so that the cost
does not grow with their number. Backward in time, s = t_end - t, the adjoint variables a, b = m g
of the variations dx, dv obey da/ds = -K g, m dg/ds = a - C g - N mu' g, with stiffness K, damping
C, slope mu' of friction and g = 0 in stick (`adjoint_kernels`). A direction is a parameter, or a
component of the start, with respect to which derivatives are taken. `EventDriven.gradients` calls
this module.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.run import refuse
from stiction.chains.tangents.directions import expanded, laid_out
from stiction.chains.tangents.run import TangentRun, check_law, check_span, failure_of, units_of
from stiction.chains.tangents.state import FRICTIONLESS, START
from stiction.core.tangents import Gradients, NotDifferentiable
from stiction.errors import ModelError, nearest

if TYPE_CHECKING:
    from stiction.chains.methods import EventDriven
    from stiction.chains.model import Chain
    from stiction.chains.tangents.adjoint_kernels import Adjoint, Recording
    from stiction.chains.tangents.state import Directions

__all__ = ["RecordedRun", "event_driven_gradients", "seed_of"]

Floats = npt.NDArray[np.float64]

# numbers of one block of recorded steps, and bytes of all blocks. Chosen
_NUMBERS = 2_000_000
_MOST_BYTES = 2 << 30


def event_driven_gradients(
    chain: Chain,
    method: EventDriven,
    t_span: tuple[float, float],
    of: Sequence[str],
    to: Sequence[str],
) -> Gradients:
    """Return the derivatives of the quantities `of` with respect to the directions `to`.

    The run is recorded; the adjoint equation is integrated backward once for each quantity.

    Raises
    ------
    ModelError : if a name is unknown, or the law has states or no stick.
    SolveError : if the run ends early.

    Source: di Bernardo, Budd, Champneys, Kowalczyk 2008, section 2.5.
    Verified by: tests/unit/chains/tangents/test_adjoint.py::test_both_modes_agree
    """
    span, (names, whole) = check_span(t_span), expanded(chain, to)
    check_law(chain)
    refuse(chain, method, span[0])
    with np.errstate(all="ignore"):
        run = RecordedRun(chain, method, span, (), np.zeros(0, np.int64))
        forward = run.run()
        # `parts` holds addresses of these laws
        parts, start, _laws = laid_out(chain, names, whole, run.law, span)
        every = [f"event_time[{j}]" for j in range(len(run.events))]
        of = [one for name in of for one in (every if name == "event_time" else [name])]
        by = np.empty((len(of), len(names)))
        for row, name in enumerate(of):
            # chain rule: the derivatives by start and coefficients, times those of the directions
            a = run.back(parts, *seed_of(name, chain, len(run.events)))
            fields = a._asdict()
            by[row] = np.concatenate([a.x[1:-1], a.v[1:-1]]) @ start + a.shape
            for field, values in parts._asdict().items():
                if field in fields:
                    by[row] += np.reshape(values, (len(names), -1)) @ fields[field]
    if forward.failures:
        by[:] = np.nan
    lost, reasons = _without_derivative(chain, run, start, parts)
    by[:, lost] = np.nan
    forward = dataclasses.replace(forward, failures=(*reasons, *forward.failures))
    return Gradients(tuple(of), by, forward, names, units_of(chain, names))


def seed_of(name: str, chain: Chain, events: int) -> tuple[Floats, Floats]:
    """Return derivatives of a quantity by the state at the end (2 n,), and by the times of events.

    One of them is 1: the adjoint equation starts from them.
    """
    n, state, times = chain.n_mass, np.zeros(2 * chain.n_mass), np.zeros(max(events, 1))
    names = [*chain.start_names, *(f"event_time[{j}]" for j in range(events))]
    if name not in names:
        needs = "one of " + ", ".join(names[:20]) + (" ..." if len(names) > 20 else "")
        why = (
            "gradients are taken of displacements and velocities at the end, and of times of "
            "events."
        )
        raise ModelError("Chain.gradients.of", repr(name), needs, why, nearest(name, names))
    at = names.index(name)
    if at < 2 * n:
        state[at] = 1.0
    else:
        times[at - 2 * n] = 1.0
    return state, times


def _without_derivative(
    chain: Chain, run: RecordedRun, start: Floats, parts: Directions
) -> tuple[npt.NDArray[np.bool_], list[NotDifferentiable]]:
    """Return (m,) which of m directions have no derivative at the start or at rest, and why.

    start : (2 n, m) derivatives of the start; `parts` those of the coefficients

    The recorded run carries no directions, so that `event_kernels` cannot test them.
    """
    t = run.t_span[0]
    n, bound, belt, whole = chain.n_mass, chain.stick_bound, parts.belt, parts.whole
    drive = np.abs(chain.drive(t, chain.x_start, chain.v_start))
    slow = chain.friction.mu_kinetic * chain.normal_forces if chain.law.has_jump else bound
    rests = chain.v_start == chain.belt_speed
    open_start = rests & (bound > 0.0) & (drive >= slow)
    # if the start is varied as a whole, masses in stick remain in stick
    kinked = open_start[:, None] & ((drive > bound)[:, None] | (whole == 0))
    kinked = (start[n:] != belt) & kinked
    bound_by = parts.mu_static * chain.normal_forces
    bound_by = bound_by + chain.friction.mu_static * parts.normal
    rest = run.times_of_rest()
    free = (np.isfinite(rest) & (bound_by != 0.0)).T
    reasons = [
        failure_of(START, int(i), t, float(drive[i]), float(slow[i]))
        for i in np.flatnonzero(kinked.any(axis=1))
    ]
    reasons += [
        failure_of(FRICTIONLESS, int(i), float(rest[i])) for i in np.flatnonzero(free.any(axis=1))
    ]
    return (kinked | free).any(axis=0), reasons


class RecordedRun(TangentRun):
    """A run whose steps are recorded for the backward pass."""

    def _advance_all(self) -> int:
        """Make and record all steps; return the code with which the kernel stopped."""
        from stiction.chains.tangents import adjoint_kernels as ak
        from stiction.chains.tangents import step_kernels as tk

        one, p, n = self.steps, self.problem, self.chain.n_mass
        self.first_mode = self.variation.mode.copy()
        self.recordings: list[Recording] = []
        fitted, laws = p.fitted or p.load_address != 0, 0 if p.constant else n
        advance = ak.advance_fitted_recorded if fitted else ak.advance_recorded
        code, bytes_of_step = tk.PAUSE, 8 * (p.order + 1) * (n + 3 + 2 * laws)
        size = max(20, min(2000, _NUMBERS * 8 // bytes_of_step))
        # one block of recorded steps per call
        while code in (tk.PAUSE, tk.EVENTS_FULL) and one.now.steps < one.most_steps:
            if self.log.filled[0] + n > self.log.time.size:
                self._grow()
            if len(self.recordings) * size * bytes_of_step > _MOST_BYTES:
                raise ModelError(
                    "Chain.gradients",
                    f"{one.now.steps} steps of {n} masses",
                    "steps that fit into 2 GiB",
                    "all steps are recorded for the backward pass.",
                    "a shorter time span, or Chain.tangents.",
                )
            self.recordings.append(_recording(size, p.order, n, laws))
            code = advance(
                *(p, one.state, one.saved, one.events, one.scratch),
                *(self.directions, self.variation, self.log, self.recordings[-1]),
                self.t_span[1],
            )
            one.load_call.check()
            one.law.check()
            self.law.check()
        self._drain()
        return int(code)

    def _grow(self) -> None:
        """Double the room for events in the log, which the backward pass needs as a whole."""
        log = self.log
        grown: dict[str, Any] = {
            name: np.concatenate([value, np.empty_like(value)])
            for name, value in log._asdict().items()
            if name not in ("filled", "failure", "failed")
        }
        self.log = log._replace(**grown)

    def times_of_rest(self) -> Floats:
        """Return (n,) when each mass without friction rests for the first time; inf for never."""
        first, free = np.full(self.chain.n_mass, np.inf), self.chain.stick_bound == 0.0
        for one in self.recordings:
            made = slice(0, int(one.filled[0]))
            rests = free & (one.mode[made] == 0) & (one.tau[made] > 0.0)[:, None]
            times = np.where(rests, one.time[made, None], np.inf)
            first = np.minimum(first, times.min(axis=0, initial=np.inf))
        return first

    def back(self, parts: Directions, state: Floats, times: Floats) -> Adjoint:
        """Return the adjoint variables at the start, and the derivatives in all numbers.

        Parameters
        ----------
        parts : the directions, of which those that change the shape of a law are read
        state, times : see `seed_of`
        """
        from stiction.chains.tangents import adjoint_kernels as ak

        p, n = self.problem, self.chain.n_mass
        sizes = {name: value for name, value in p._asdict().items() if name in ak.Adjoint._fields}
        arrays = {name: np.zeros(np.size(value)) for name, value in sizes.items()}
        a = ak.Adjoint(
            x=np.concatenate([[0.0], state[:n], [0.0]]),
            v=np.concatenate([[0.0], state[n:], [0.0]]),
            place=np.zeros((p.order + 1, n + 2)),
            pull=np.zeros((p.order + 1, n + 2)),
            slope=np.zeros((0 if p.constant else n, p.order + 1)),
            node=np.zeros((7, n + 2)),
            shape=np.zeros(parts.law.size),
            **arrays,
        )
        # block after block, backward; each needs the modes and the number of events before it
        for j in range(len(self.recordings) - 1, -1, -1):
            mode, events = self.first_mode, 0
            for earlier in self.recordings[:j][::-1]:
                if earlier.filled[0] > 0:
                    last = int(earlier.filled[0]) - 1
                    mode, events = earlier.mode[last], int(earlier.events[last])
                    break
            ak.go_back(p, parts, a, self.recordings[j], self.log, mode, events, times)
        self.law.check()
        return a


def _recording(size: int, order: int, n: int, laws: int) -> Recording:
    """Return empty arrays for `size` steps; `laws` is n, or 0 for constant friction in slip."""
    from stiction.chains.tangents.adjoint_kernels import Recording

    return Recording(
        time=np.empty(size),
        tau=np.empty(size),
        segment=np.empty(size, np.int64),
        events=np.empty(size, np.int64),
        mode=np.empty((size, n), np.int64),
        base=np.empty((size, order + 1, n + 2)),
        load=np.empty((size, order + 1)),
        mu=np.empty((size, laws, order + 1)),
        slope=np.empty((size, laws, order + 1)),
        filled=np.zeros(1, np.int64),
    )
