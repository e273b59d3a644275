"""Bodies of kernels of steps for runs without a compiler: looks at all masses at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven import plain_series as ps
from stiction.chains.event_driven.state import (
    Problem,
    Scratch,
    State,
)

__all__ = ["active", "heat_up", "may_meet_an_event", "norms", "start_series"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def active(p: Problem, state: State, s: Scratch) -> int:
    """List the masses whose motion or drive changes with time."""
    moves = state.mode != 0
    lively = moves | (p.belt != 0.0)
    lively[1:] |= moves[:-1]
    lively[:-1] |= moves[1:]
    if p.load_address != 0 or s.load[1:].any():
        lively |= p.share != 0.0
    if p.plate_speed != 0.0:
        lively |= p.plate_k != 0.0
    found = np.flatnonzero(lively)
    s.active[: found.size] = found
    return found.size


def start_series(p: Problem, state: State, s: Scratch, count: int) -> None:
    """Write the state as the first two coefficients and clear those of the active masses."""
    s.x[0], s.x[1] = state.x, state.v / p.rate
    columns = s.active[:count]
    for shift in range(3):
        s.x[2 : p.order + 1, columns + shift] = 0.0


def norms(x: Floats, active: Ints, count: int, top: int, norm: Floats) -> None:
    """Write the largest coefficient of each order."""
    sizes = np.abs(x[: top + 1, active[:count] + 1])
    norm[: top + 1] = np.fmax.reduce(sizes, axis=1, initial=0.0)


def heat_up(state: State, s: Scratch, count: int, size: int, tau: float) -> None:
    """Add the friction heat of a step to every moving mass."""
    now = state.progress[0]
    moving = s.active[:count][state.mode[s.active[:count]] != 0]
    if moving.size > 0:
        gains = ps.column_sums(s.heat[:, moving], size, tau)
        state.heat[moving] += gains
        # one by one: the order of the sum is that of the loop
        for gain in gains[gains < 0.0].tolist():
            if now.given == 0.0:
                now.given_time = now.time
            now.given -= gain


def may_meet_an_event(p: Problem, state: State, s: Scratch, count: int, tau: float) -> Ints:
    """Return the active masses whose series do not exclude an event up to tau by their size."""
    found = s.active[:count]
    mode, lead = state.mode[found], state.lead[found]
    bound = p.mu_static[found] * p.normal[found]
    stays = (mode == 0) & (bound <= 0.0)
    for one in (1, 0):
        looked = (lead == 0) & (mode != 0 if one else (mode == 0) & (bound > 0.0))
        at = found[looked]
        if at.size == 0:
            continue
        size = p.order if one else p.order - 1
        powers = np.multiply.accumulate(np.concatenate([[1.0], np.full(size - 1, tau)]))[:, None]
        if one:
            k = ps.whole(1, size + 1)[:, None]
            series = mode[looked] * p.rate * k * s.x[1 : size + 1, at + 1]
            least = series[0] - mode[looked] * p.belt
        else:
            series = s.drive[:size, at]
            least = np.minimum(bound[looked] - series[0], bound[looked] + series[0])
        swing = np.add.accumulate(np.abs(series[1:] * powers[1:]), axis=0)[-1]
        stays[looked] = least > swing
    return np.asarray(found[~stays])
