"""Event-driven steps of the motion and of its variations (derivatives of the state).

Each step of the motion is made by `chains.event_driven.step_kernels`. Then the variations are
advanced over the same step: at events they jump by saltation matrices (`event_kernels`, which names
the source), between events they obey the variational equation, in Taylor series (`series_kernels`).
A variation is the derivative of the state (x, v) with respect to a direction, a component of the
initial state or a parameter.
`run` and `adjoint_kernels` call these kernels.

Arguments: the run has the problem p, `state`, samples, events and work arrays s of
`event_driven.state`; its derivatives have the directions d, the variations g and the `log` of
`tangents.state`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.state import Events, Problem, Saved, Scratch, State
from stiction.chains.event_driven.step_kernels import (
    ALL_STUCK,
    DONE,
    EVENTS_FULL,
    NOT_FINITE,
    PAUSE,
    advance,
    advance_fitted,
)
from stiction.chains.tangents.event_kernels import (
    at_start,
    check_end,
    find_grazing,
    find_undefined,
    pass_events,
)
from stiction.chains.tangents.series_kernels import prepare, propagate
from stiction.chains.tangents.state import Directions, Log, Variation
from stiction.numerics.jit import kernel

__all__ = ["DONE", "EVENTS_FULL", "PAUSE", "advance_fitted_tangents", "advance_tangents"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def advance_tangents(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    d: Directions,
    g: Variation,
    log: Log,
    t_end: float,
    steps: int,
) -> int:
    """Advance a chain and its variations by at most `steps` steps; return the reason to stop."""
    for _ in range(steps):
        if log.filled[0] + p.mass.size > log.time.size:
            return EVENTS_FULL
        t, before = _ready(state, s, g), state.progress[0].steps
        code = advance(p, state, saved, events, s, t_end, 1, events.time.size)
        code = _follow(p, state, s, d, g, log, t, code, before)
        if code != PAUSE:
            return code
    return PAUSE


@kernel
def advance_fitted_tangents(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    d: Directions,
    g: Variation,
    log: Log,
    t_end: float,
    steps: int,
) -> int:
    """Advance a chain with a user's load or a law without a series; else as `advance_tangents`."""
    for _ in range(steps):
        if log.filled[0] + p.mass.size > log.time.size:
            return EVENTS_FULL
        t, before = _ready(state, s, g), state.progress[0].steps
        code = advance_fitted(p, state, saved, events, s, t_end, 1, events.time.size)
        code = _follow(p, state, s, d, g, log, t, code, before)
        if code != PAUSE:
            return code
    return PAUSE


@kernel
def _ready(state: State, s: Scratch, g: Variation) -> float:
    """Copy the state at the start of a step to `g`, and return its time."""
    now = state.progress[0]
    # events are recorded in the log of the variations; the buffers of the run are emptied
    now.events = now.touch_rows = 0
    for c in range(state.x.size):
        g.x_event[c], g.v_event[c] = state.x[c], state.v[c]
    for i in range(s.grazing.size):
        # the step does not write these entries for inactive masses
        s.grazing[i] = s.root[i] = np.inf
    return now.time


@kernel
def _follow(
    p: Problem,
    state: State,
    s: Scratch,
    d: Directions,
    g: Variation,
    log: Log,
    t: float,
    code: int,
    before: int,
) -> int:
    """Advance the variations over the step that the motion made from time `t`."""
    now, mode = state.progress[0], state.shown
    if code == DONE:
        check_end(p, g, log, t, now.piece, mode)
        return DONE
    made = now.steps > before
    if not made and code != ALL_STUCK:
        return code
    # before the first step: masses at rest
    if t == p.start and g.last[1] == 0.0:
        at_start(p, d, g, log, t, now.piece, mode)
        g.last[1] = 1.0
    # modes change at the start of the step, before its motion
    pass_events(p, d, g, s, log, t, now.piece, mode)
    for i in range(p.mass.size):
        g.mode[i] = mode[i]
    if code == ALL_STUCK:
        # the kernel reports an equilibrium once: the next call makes the step
        now.rest_seen = 1
        return PAUSE
    # the motion of the step, whose series are still in `s`
    tau = (now.time - t) * p.rate
    if tau > 0.0 and g.last[2] == 0.0:
        find_undefined(p, d, g, log, t, mode)
        count = prepare(p, d, g, s, mode, tau)
        propagate(p, d, g, mode, t, now.piece, tau, count)
    find_grazing(p, g, s, log, t, tau, mode)
    return NOT_FINITE if code == NOT_FINITE else PAUSE
