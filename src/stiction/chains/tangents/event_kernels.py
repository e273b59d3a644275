"""Jumps of the variations at events, and times at which the run has no derivative.

The variations are the derivatives of the state with respect to directions (initial state and
parameters). An event at h(t, x, v) = 0 moves by dt = -dh / h' under a perturbation, with h' along
the motion before it, and the variation jumps by (f_before - f_after) dt (the saltation matrix). All
forces but friction are continuous, so only the velocity variation of the mass concerned jumps. The
velocity of a mass that stops and sticks is then that of the belt. The caller is `step_kernels`.

Arguments: p, s and `state` are those of `event_driven.state`; d, g and `log` (directions,
variations, log) those of `tangents.state`. i is a mass from 0, c = i + 1 its column in arrays with
walls, q a direction. t [s] is the time of the event, `load` the load there [N], `slope` its rate
[N/s], `segment` its segment. R, the drive, is the sum of all forces on a mass but friction, mu_s N
its static bound, s the sign of slip and w the slip rate. `g.x_event`, `g.v_event` are the state
just before the event, `g.mode` its modes, `g.x[q]`, `g.v[q]` the variations in direction q.
Source: di Bernardo, Budd, Champneys, Kowalczyk 2008, section 2.5.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.records import drive_of, friction_of
from stiction.chains.event_driven.series_kernels import load_at
from stiction.chains.event_driven.state import Problem, Scratch
from stiction.chains.event_driven.threshold_kernels import THRESHOLD, force_size, jumps, speed_size
from stiction.chains.tangents.series_kernels import load_derivative
from stiction.chains.tangents.state import (
    BREAKPOINT,
    END,
    FRICTIONLESS,
    GRAZING,
    POINTS,
    START,
    THRESHOLDS,
    Directions,
    Log,
    Variation,
)
from stiction.laws.law_kernels import law_value
from stiction.numerics.jit import kernel

__all__ = ["at_end", "at_start", "check_end", "find_grazing", "find_undefined", "pass_events"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# rounding of a slip rate or a drive, over the sum of its terms
_ROUNDING = 3e-14
# an event is grazing where the error of its function moves its rate by more than this fraction
_UNSURE = 1e-4
# thresholds this near to each other, as fractions of the forces, or in radians of the fastest
# vibration, are degenerate
_NEAR, _SOON = 1e-10, 1e-10


@kernel
def _fail(g: Variation, log: Log, t: float, kind: int, i: int, value: float, limit: float) -> None:
    """Record a time without a derivative; all variations end there."""
    _note(log, t, kind, i, value, limit)
    g.last[2] = 1.0
    for q in range(g.x.shape[0]):
        _end(g, q)


@kernel
def _note(log: Log, t: float, kind: int, i: int, value: float, limit: float) -> None:
    """Record a failure, if the log has room for one more."""
    if log.failed[0] < len(log.failure):
        row = log.failure[log.failed[0]]
        row.time, row.kind, row.mass, row.value, row.limit = t, kind, i, value, limit
        log.failed[0] += 1


@kernel
def _end(g: Variation, q: int) -> None:
    """End the variation in direction `q`: from here on it is NaN."""
    for c in range(g.x.shape[1]):
        g.x[q, c] = g.v[q, c] = np.nan
    for i in range(g.heat.shape[1]):
        g.heat[q, i] = np.nan


@kernel
def _acceleration(p: Problem, g: Variation, t: float, load: float, i: int) -> float:
    """Return the acceleration of a mass before the event; walls and masses in stick have none."""
    if i < 0 or i >= p.mass.size:
        return 0.0
    mode = g.mode[i]
    if mode == 0 and p.mu_static[i] * p.normal[i] > 0.0:
        return 0.0
    force = drive_of(p, g.x_event, g.v_event, load, t, i)
    if mode != 0:
        force += friction_of(p, mode, force, g.v_event[i + 1], i)
    value: float = force / p.mass[i]
    return value


@kernel
def _drive_rate(p: Problem, g: Variation, t: float, load: float, slope: float, i: int) -> float:
    """Return the time derivative of the drive of mass `i` before the event [N/s]."""
    c, v = i + 1, g.v_event
    left, right = _acceleration(p, g, t, load, i - 1), _acceleration(p, g, t, load, i + 1)
    middle = _acceleration(p, g, t, load, i)
    # springs by velocities, dampers by accelerations
    before = p.link_k[i] * (v[c] - v[c - 1]) + p.link_c[i] * (middle - left)
    after = p.link_k[c] * (v[c + 1] - v[c]) + p.link_c[c] * (right - middle)
    rate: float = after - before + p.load_vector[i] * slope + p.plate_k[i] * (p.plate_speed - v[c])
    return rate


@kernel
def _jerk(
    p: Problem, d: Directions, g: Variation, t: float, load: float, slope: float, i: int
) -> float:
    """Return the derivative of the acceleration of a mass before the event [m/s^3]."""
    if i < 0 or i >= p.mass.size:
        return 0.0
    mode = g.mode[i]
    if mode == 0 and p.mu_static[i] * p.normal[i] > 0.0:
        return 0.0
    rate = _drive_rate(p, g, t, load, slope, i)
    # friction changes with the slip rate: d/dt of s N mu(s w) is N mu' dw/dt
    if mode != 0 and not p.constant:
        speed = abs(g.v_event[i + 1] - p.belt)
        fall = law_value(d.slope_address, speed, p.law_start + i * p.law_step)
        rate -= p.normal[i] * fall * _acceleration(p, g, t, load, i)
    value: float = rate / p.mass[i]
    return value


@kernel
def _drive_bend(
    p: Problem, d: Directions, g: Variation, s: Scratch, t: float, load: float, i: int
) -> float:
    """Return the second time derivative of the drive of mass `i` before the event [N/s^2]."""
    c, slope = i + 1, s.load[1] * p.rate
    left, right = _acceleration(p, g, t, load, i - 1), _acceleration(p, g, t, load, i + 1)
    middle = _acceleration(p, g, t, load, i)
    # springs by accelerations, dampers by jerks
    bend = p.link_k[c] * (right - middle) - p.link_k[i] * (middle - left) - p.plate_k[i] * middle
    if p.link_c[i] > 0.0 or p.link_c[c] > 0.0:
        here = _jerk(p, d, g, t, load, slope, i)
        bend += p.link_c[c] * (_jerk(p, d, g, t, load, slope, i + 1) - here)
        bend -= p.link_c[i] * (here - _jerk(p, d, g, t, load, slope, i - 1))
    # coefficient 2 of the load in tau is half its second derivative
    total: float = bend + 2.0 * p.load_vector[i] * s.load[2] * p.rate * p.rate
    return total


@kernel
def _drive_by(
    p: Problem, d: Directions, g: Variation, q: int, t: float, load: float, i: int
) -> float:
    """Return the derivative of the drive of mass `i`; `g.load_by` holds that of the load."""
    c, dx, dv, x, v = i + 1, g.x[q], g.v[q], g.x_event, g.v_event
    left = p.link_k[i] * (dx[c] - dx[c - 1]) + p.link_c[i] * (dv[c] - dv[c - 1])
    right = p.link_k[c] * (dx[c + 1] - dx[c]) + p.link_c[c] * (dv[c + 1] - dv[c])
    force: float = right - left - p.plate_k[i] * dx[c]
    if d.load[q] != 0:
        force += p.load_vector[i] * g.load_by[0]
    # partial derivatives by springs, dampers, load vector and plate
    if d.mechanics[q] != 0:
        left = d.link_k[q, i] * (x[c] - x[c - 1]) + d.link_c[q, i] * (v[c] - v[c - 1])
        right = d.link_k[q, c] * (x[c + 1] - x[c]) + d.link_c[q, c] * (v[c + 1] - v[c])
        force += right - left + d.load_vector[q, i] * load
        force += d.plate_k[q, i] * (p.plate_speed * t - x[c]) + p.plate_k[i] * d.plate_speed[q] * t
    return force


@kernel
def _bound_by(p: Problem, d: Directions, q: int, i: int) -> float:
    """Return the derivative of the static bound mu_s N of mass `i`."""
    value: float = d.mu_static[q, i] * p.normal[i] + p.mu_static[i] * d.normal[q, i]
    return value


@kernel
def at_start(
    p: Problem, d: Directions, g: Variation, log: Log, t: float, segment: int, mode: Ints
) -> None:
    """Test the variations of masses with zero slip rate at the start; in stick set dv to dV.

    mode : (n,) modes just after the start; V is the belt speed
    """
    load = load_at(p, t, segment)
    for i in range(p.mass.size):
        bound = p.mu_static[i] * p.normal[i]
        if g.v_event[i + 1] != p.belt or bound == 0.0:
            continue
        drive = drive_of(p, g.x_event, g.v_event, load, t, i)
        size, excess = force_size(p, g.x_event, g.v_event, load, t, i), abs(drive) - bound
        # at its bound a mass sticks to one side of the start and slips to the other
        if abs(excess) <= _NEAR * size:
            _fail(g, log, t, THRESHOLDS, i, abs(excess), _NEAR * size)
            return
        # under a law with a jump the friction of a slipping mass is the lower, kinetic one
        slow = p.mu_kinetic[i] * p.normal[i] if jumps(p, i) else bound
        for q in range(g.x.shape[0]):
            within = mode[i] == 0 and d.whole[q] == 1
            if g.v[q, i + 1] != d.belt[q] and abs(drive) >= slow and not within:
                # perturbed to one side the mass slips on; to the other it reverses or sticks
                _note(log, t, START, i, abs(drive), slow)
                _end(g, q)
            elif mode[i] == 0:
                g.v[q, i + 1] = d.belt[q]


@kernel
def pass_events(
    p: Problem,
    d: Directions,
    g: Variation,
    s: Scratch,
    log: Log,
    t: float,
    segment: int,
    mode: Ints,
) -> None:
    """Let the variations jump where modes change at time t, from `g.mode` to `mode`.

    The functions of the event use the state before it, `g.x_event` and `g.v_event`.
    """
    count = 0
    for i in range(p.mass.size):
        if mode[i] != g.mode[i] and p.mu_static[i] * p.normal[i] > 0.0:
            count += 1
    if count == 0:
        return
    load = load_at(p, t, segment)
    # the time of an onset of slip at the start, or at a jump of the load, is fixed
    fixed = t == p.start or (segment > 0 and t == p.segment_time[segment])
    for i in range(p.mass.size):
        if mode[i] == g.mode[i] or p.mu_static[i] * p.normal[i] == 0.0:
            continue
        gap = (t - g.last[0]) * p.rate
        # a variation may change the order of two events that agree within rounding
        if not fixed and (count > 1 or gap <= _SOON + 1e-15 * abs(t) * p.rate):
            gap = 0.0 if count > 1 else gap
            _fail(g, log, t, THRESHOLDS, i, gap / p.rate, _SOON / p.rate)
        # the adjoint needs the state at the event
        row = log.filled[0]
        log.time[row], log.mass[row], log.after[row], log.before[row] = t, i, mode[i], g.mode[i]
        for c in range(p.mass.size):
            log.x[row, c], log.v[row, c] = g.x_event[c + 1], g.v_event[c + 1]
        _pass_one(p, d, g, s, log, t, load, segment, mode[i], i)
        log.filled[0] += 1
    g.last[0] = t


@kernel
def _pass_one(
    p: Problem,
    d: Directions,
    g: Variation,
    s: Scratch,
    log: Log,
    t: float,
    load: float,
    segment: int,
    after: int,
    i: int,
) -> None:
    """Write the derivatives of the time of one event of mass i, and apply its saltation.

    `after` is the mode after the event. At the start and at a breakpoint the time of a release is
    fixed.
    """
    before, row, bound = g.mode[i], log.filled[0], p.mu_static[i] * p.normal[i]
    drive = drive_of(p, g.x_event, g.v_event, load, t, i)
    size, excess = force_size(p, g.x_event, g.v_event, load, t, i), abs(drive) - bound
    at_start = t == p.start
    at_breakpoint = segment > 0 and t == p.segment_time[segment]
    # at a breakpoint only a release by a jump of the drive beyond its bound has a derivative
    if at_breakpoint and not at_start and (before != 0 or excess <= _NEAR * size):
        _fail(g, log, t, BREAKPOINT, i, abs(excess), _NEAR * size)
    # a mass that stops at its bound sticks if perturbed to one side, and reverses if to the other
    if before != 0 and abs(excess) <= _NEAR * size:
        _fail(g, log, t, THRESHOLDS, i, abs(excess), _NEAR * size)
    rate = 1.0
    if not (at_breakpoint or at_start):
        rate = _rate_of_event(p, d, g, s, log, t, load, before, after, i)
    # without a jump in friction a released mass begins without acceleration
    moves = before != 0 or jumps(p, i)
    acceleration_after = 0.0
    if after != 0 and moves:
        acceleration_after = (drive + friction_of(p, after, drive, p.belt, i)) / p.mass[i]
    acceleration_before = _acceleration(p, g, t, load, i)
    log.jump[row] = acceleration_before - acceleration_after
    log.rate[row] = 0.0 if before == 0 and (at_breakpoint or at_start) else rate
    for q in range(g.x.shape[0]):
        # dt = -dh / h', h the slip rate or the margin to the bound; dt = 0 for an event at a fixed
        # time
        time_by = 0.0
        if before != 0:
            time_by = before * (g.v[q, i + 1] - d.belt[q]) / rate
        elif not (at_breakpoint or at_start):
            load_derivative(p, d, q, t, segment, g.load_by)
            change = _bound_by(p, d, q, i) - after * _drive_by(p, d, g, q, t, load, i)
            time_by = change / rate
        elif np.isnan(g.v[q, i + 1]):
            time_by = np.nan
        log.time_by[row, q] = time_by
        # saltation of the velocity: (a_before - a_after) dt, and in stick the belt's (NaN remains
        # NaN)
        if after == 0:
            g.v[q, i + 1] = d.belt[q] + 0.0 * g.v[q, i + 1]
        else:
            g.v[q, i + 1] += (acceleration_before - acceleration_after) * time_by


@kernel
def _rate_of_event(
    p: Problem,
    d: Directions,
    g: Variation,
    s: Scratch,
    log: Log,
    t: float,
    load: float,
    before: int,
    after: int,
    i: int,
) -> float:
    """Return the rate at which the event function of a mass passes zero.

    It is the slip rate of a slipping mass, and the excess |R| - mu_s N of a stuck one. A rate that
    its error may change in sign is recorded as grazing.
    """
    slope, size = s.load[1] * p.rate, force_size(p, g.x_event, g.v_event, load, t, i)
    # excess |R| - mu_s N of a stuck mass, slip speed of the others: rate, curvature and error
    if before == 0:
        rate = after * _drive_rate(p, g, t, load, slope, i)
        bend = abs(_drive_bend(p, d, g, s, t, load, i))
        error = THRESHOLD * p.mu_static[i] * p.normal[i] + _ROUNDING * size
    else:
        rate = -before * _acceleration(p, g, t, load, i)
        bend = abs(_jerk(p, d, g, t, load, slope, i))
        error = _ROUNDING * speed_size(p, g.x_event, g.v_event, size, t, i)
    # least rate at which the error leaves the rate certain (docs/decisions/39)
    least = math.sqrt(2.0 * bend * error / _UNSURE)
    if not rate > least:
        _fail(g, log, t, GRAZING, i, rate, least)
    return rate


@kernel
def find_grazing(
    p: Problem, g: Variation, s: Scratch, log: Log, t: float, tau: float, mode: Ints
) -> None:
    """Record where a slip rate or a drive grazed its threshold within a step of length tau."""
    last = tau + 1e-13 * max(1.0, tau)
    for i in range(p.mass.size):
        if s.grazing[i] <= last and p.mu_static[i] * p.normal[i] > 0.0:
            _fail(g, log, t + s.grazing[i] / p.rate, GRAZING, i, 0.0, _ROUNDING)


@kernel
def find_undefined(p: Problem, d: Directions, g: Variation, log: Log, t: float, mode: Ints) -> None:
    """Record masses at rest without friction, in directions that change their zero friction."""
    for i in range(p.mass.size):
        if mode[i] != 0 or p.mu_static[i] * p.normal[i] > 0.0:
            continue
        for q in range(g.x.shape[0]):
            if _bound_by(p, d, q, i) != 0.0 and not np.isnan(g.x[q, 0]):
                _note(log, t, FRICTIONLESS, i, 0.0, 0.0)
                _end(g, q)


@kernel
def check_end(p: Problem, g: Variation, log: Log, t: float, segment: int, mode: Ints) -> None:
    """Record an event at the end of the run: there the state has one-sided derivatives only.

    mode : (n,) modes at the end, `g.mode` those before
    """
    load = load_at(p, t, segment)
    for i in range(p.mass.size):
        bound = p.mu_static[i] * p.normal[i]
        if bound == 0.0:
            continue
        size = force_size(p, g.x_event, g.v_event, load, t, i)
        if g.mode[i] == 0:
            gap, limit = bound - abs(drive_of(p, g.x_event, g.v_event, load, t, i)), _NEAR * size
        else:
            gap = abs(g.v_event[i + 1] - p.belt)
            limit = _NEAR * speed_size(p, g.x_event, g.v_event, size, t, i)
        if mode[i] != g.mode[i] or gap <= limit:
            _fail(g, log, t, END, i, gap, limit)


@kernel
def at_end(
    p: Problem, d: Directions, g: Variation, t: float, segment: int, rate: Floats, force_by: Floats
) -> None:
    """Write the velocities and accelerations at the end, and the derivatives of friction forces.

    Parameters
    ----------
    rate : (2 n,) velocities [m/s] and accelerations [m/s^2]
    force_by : (m, n) derivatives of the friction forces on the masses
    """
    n, load = p.mass.size, load_at(p, t, segment)
    for i in range(n):
        rate[i], rate[n + i] = g.v_event[i + 1], _acceleration(p, g, t, load, i)
    for q in range(g.x.shape[0]):
        load_derivative(p, d, q, t, segment, g.load_by)
        for i in range(n):
            mode, c = g.mode[i], i + 1
            if mode == 0:
                # in stick friction balances the drive
                bound = p.mu_static[i] * p.normal[i]
                force_by[q, i] = -_drive_by(p, d, g, q, t, load, i) if bound > 0.0 else 0.0
                continue
            mu, mu_by = p.mu_kinetic[i], d.mu_kinetic[q, i]
            # in slip it is -s N mu(s w)
            if not p.constant:
                speed, row = abs(g.v_event[c] - p.belt), p.law_start + i * p.law_step
                mu = law_value(p.mu_address, speed, row)
                mu_by = law_value(d.slope_address, speed, row) * mode * (g.v[q, c] - d.belt[q])
                if d.law[q] != 0:
                    for j in range(POINTS):
                        if d.law_weight[q, j] != 0.0:
                            at = d.law_row[q, j] + i * p.law_step
                            mu_by += d.law_weight[q, j] * law_value(p.mu_address, speed, at)
            # (a variation that ended has NaN here too)
            ended = 0.0 * g.x[q, c]
            force_by[q, i] = ended - mode * (d.normal[q, i] * mu + p.normal[i] * mu_by)
