"""Adjoint of the variational equation: derivatives of one functional by all parameters.

Backward in time, s = t_end - t, the adjoint variables a of dx and b = m g of dv obey

    da/ds = -K g,      m dg/ds = a - C g - N mu'(w) g      with g = 0 for masses in stick.

The slope mu' of friction at the slip speed w acts as a damper that changes along the motion.
The derivative of the functional by a force on mass i is the integral of g_i over time. K and C act
through their symmetric stencils (each mass and its neighbours), so that the Taylor recursion of the
motion gives the series of a and g. The series of the slope is expanded about the end of a step. The
integrals are Gauss quadratures over each step. At an event the transposed saltation matrix acts on
(a, b). `adjoint` calls these kernels.

Arguments: p, s, `state` of `event_driven.state`; directions d, variations g and `log` of
`tangents.state`; recorded steps r; a holds the adjoint variables a and b in `a.x` and `a.v`, and
the series of a and g in `a.place` and `a.pull`. The kernels call these series y and z. i is a mass
from 0, c = i + 1 its column in arrays with walls, k a power of tau, q a direction.
Source: di Bernardo, Budd, Champneys, Kowalczyk 2008, section 2.5; Serban and Recuero 2019.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.series_kernels import FIT, load_at
from stiction.chains.event_driven.state import Events, Problem, Saved, Scratch, State
from stiction.chains.tangents.state import POINTS, SHAPE, Directions, Log, Variation
from stiction.chains.tangents.step_kernels import PAUSE, advance_fitted_tangents, advance_tangents
from stiction.laws.law_kernels import law_value
from stiction.numerics.arrays import Integers
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel

__all__ = ["Adjoint", "Recording", "advance_fitted_recorded", "advance_recorded", "go_back"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Gauss nodes in a step: products of two series of order 30 over 4 radians, to rounding
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
# longest part of a step in tau; the Gauss nodes are exact to rounding over it
_FARTHEST = 4.001
# largest change of a slip speed over a part of a step, over `Directions.slip_step`, which is 2^-15
# of the scale of the law: two scales. Chosen
_MOST_CHANGE = 2.0 / 2.0**-15
# rows of `Adjoint.node`
_X, _V, _ACCELERATION, _A, _G, _MU, _SLOPE = range(7)


class Recording(NamedTuple):
    """Recorded steps of a run, which the backward integration reads.

    time, tau : (steps,) start [s] and length in tau
    segment, events : (steps,) segment of the load, and number of events up to this step
    mode : (steps, n) modes
    base, load : (steps, order + 1, n + 2), (steps, order + 1) series of displacements and load
    mu, slope : (steps, n, order + 1) series of the law as in `Scratch.mu`, and of the slope of mu;
        empty for constant friction in slip
    filled : (1,) number of recorded steps
    """

    time: Floats
    tau: Floats
    segment: Ints
    events: Ints
    mode: Ints
    base: Floats
    load: Floats
    mu: Floats
    slope: Floats
    filled: Ints


class Adjoint(NamedTuple):
    """Adjoint variables a, b (`x`, `v`, (n + 2,)), and derivatives by all coefficients of a chain.

    Coefficients have the names of `Problem`; `plate_speed`, `belt` (1,). `place`, `pull`
    (order + 1, n + 2) are the series of a and g, `slope` (n, order + 1) that of the slope of mu
    backward in time. `node` (7, n + 2) are values at a quadrature node, in the rows _X to _SLOPE:
    displacement, velocity and acceleration of the motion, a, g, and the values of `Recording.mu`
    and of the slope. `shape` (m,) are derivatives in the given directions that change more of a law
    than mu_static and mu_kinetic.
    """

    x: Floats
    v: Floats
    mass: Floats
    link_k: Floats
    link_c: Floats
    load_vector: Floats
    plate_k: Floats
    plate_speed: Floats
    normal: Floats
    mu_static: Floats
    mu_kinetic: Floats
    belt: Floats
    segment_time: Floats
    segment_offset: Floats
    segment_rate: Floats
    sine_amplitude: Floats
    sine_frequency: Floats
    sine_phase: Floats
    place: Floats
    pull: Floats
    slope: Floats
    node: Floats
    shape: Floats


@kernel
def advance_recorded(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    d: Directions,
    g: Variation,
    log: Log,
    r: Recording,
    t_end: float,
) -> int:
    """Make steps until the recording r is full; return the code of the reason to stop."""
    now = state.progress[0]
    code = PAUSE
    while r.filled[0] < r.time.size and code == PAUSE:
        t, before = now.time, now.steps
        # one step at a time: its series are overwritten by the next
        code = advance_tangents(p, state, saved, events, s, d, g, log, t_end, 1)
        if now.steps > before:
            _record(p, state, s, g, log, r, t)
    return code


@kernel
def advance_fitted_recorded(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    d: Directions,
    g: Variation,
    log: Log,
    r: Recording,
    t_end: float,
) -> int:
    """Make steps of a chain with a user's load; else as `advance_recorded`."""
    now = state.progress[0]
    code = PAUSE
    while r.filled[0] < r.time.size and code == PAUSE:
        t, before = now.time, now.steps
        code = advance_fitted_tangents(p, state, saved, events, s, d, g, log, t_end, 1)
        if now.steps > before:
            _record(p, state, s, g, log, r, t)
    return code


@kernel
def _record(
    p: Problem, state: State, s: Scratch, g: Variation, log: Log, r: Recording, t: float
) -> None:
    """Record the step just made, which began at time `t`."""
    now, row = state.progress[0], r.filled[0]
    r.time[row], r.tau[row] = t, (now.time - t) * p.rate
    r.segment[row], r.events[row] = now.piece, log.filled[0]
    for i in range(p.mass.size):
        r.mode[row, i] = g.mode[i]
    for k in range(p.order + 1):
        r.load[row, k] = g.load[k]
        for c in range(p.mass.size + 2):
            r.base[row, k, c] = g.base[k, c]
    if not p.constant:
        last = p.order - 1 if p.share_address != 0 else FIT
        for i in range(p.mass.size):
            for k in range(p.order + 1):
                r.mu[row, i, k] = s.mu[i, k] if k < last else 0.0
                r.slope[row, i, k] = g.slope[i, k]
    r.filled[0] += 1


@kernel
def go_back(
    p: Problem,
    d: Directions,
    a: Adjoint,
    r: Recording,
    log: Log,
    before: Ints,
    events: int,
    seed: Floats,
) -> None:
    """Integrate the adjoint equation over the recorded steps, from the last to the first.

    Parameters
    ----------
    before, events : (n,) modes before the first of these steps, and number of events until then
    d, a, r, log : directions, adjoint variables and derivatives (updated), recorded steps, events
    seed : (events,) derivatives of the functional with respect to the times of the events
    """
    # backward in time: first the motion of a step, then the events at its start
    for row in range(r.filled[0] - 1, -1, -1):
        _step_back(p, d, a, r, row)
        first = r.events[row - 1] if row > 0 else events
        for event in range(r.events[row] - 1, first - 1, -1):
            mode = r.mode[row - 1] if row > 0 else before
            load = load_at(p, log.time[event], r.segment[row])
            _pass_event_back(p, a, log, event, mode, r.segment[row], load, seed[event])


@kernel
def _step_back(p: Problem, d: Directions, a: Adjoint, r: Recording, row: int) -> None:
    """Integrate the adjoint variables from the end of a recorded step to its start."""
    tau, n, moves = r.tau[row], p.mass.size, False
    for i in range(n):
        if r.mode[row, i] != 0 or p.mu_static[i] * p.normal[i] == 0.0:
            moves = True
        else:
            # the velocity in stick is that of the belt
            a.belt[0] += a.v[i + 1]
            a.v[i + 1] = 0.0
    if tau <= 0.0:
        return
    # parts of at most _FARTHEST, as in `series_kernels.propagate`
    parts = int(np.ceil(tau / _FARTHEST)) if moves else 1
    if not p.constant:
        # backward from the end of a step a growing slope of mu has an alternating series, which
        # loses digits where the slip speed changes by many times the scale of the law
        parts = max(parts, int(np.ceil(_change_of_speed(p, d, r, row) / _MOST_CHANGE)))
    width = tau / parts
    for part in range(parts):
        if not p.constant:
            _turn_slope(p, a, r, row, tau - part * width)
        _expand(p, a, r, row)
        _integrate(p, d, a, r, row, tau - part * width, width)
        for c in range(1, n + 1):
            # Horner's rule; b = m g
            place, pull = 0.0, 0.0
            for k in range(p.order, -1, -1):
                place, pull = place * width + a.place[k, c], pull * width + a.pull[k, c]
            a.x[c], a.v[c] = place, pull * p.mass[c - 1]


@kernel
def _free(p: Problem, r: Recording, row: int, i: int) -> bool:
    """Return whether mass `i` obeys its equation of motion in a step: it slips, or has no bound."""
    free: bool = r.mode[row, i] != 0 or p.mu_static[i] * p.normal[i] == 0.0
    return free


@kernel
def _change_of_speed(p: Problem, d: Directions, r: Recording, row: int) -> float:
    """Return a bound of the change of slip speeds in a step, over `slip_step` of the law."""
    tau, most = r.tau[row], 0.0
    for i in range(p.mass.size):
        if r.mode[row, i] != 0:
            change, power = 0.0, 1.0
            for k in range(2, p.order + 1):
                power *= tau
                change += k * abs(r.base[row, k, i + 1]) * power
            most = max(most, p.rate * change / d.slip_step[i])
    return most


@kernel
def _turn_slope(p: Problem, a: Adjoint, r: Recording, row: int, end: float) -> None:
    """Write the series of the slope of mu in the time back from `end` (Horner)."""
    top = p.order
    for i in range(p.mass.size):
        series = a.slope[i]
        for k in range(top + 1):
            series[k] = r.slope[row, i, k] if r.mode[row, i] != 0 else 0.0
        sign = 1.0
        for low in range(top):
            for k in range(top - 1, low - 1, -1):
                series[k] += end * series[k + 1]
            series[low] *= sign
            sign = -sign
        series[top] *= sign


@kernel
def _expand(p: Problem, a: Adjoint, r: Recording, row: int) -> None:
    """Write the series of the adjoint variables backward from the end of a step."""
    n, y, z = p.mass.size, a.place, a.pull
    for c in range(1, n + 1):
        y[0, c], z[0, c] = a.x[c], a.v[c] / p.mass[c - 1]
    for k in range(p.order):
        scale = 1.0 / (p.rate * (k + 1))
        for i in range(n):
            c = i + 1
            # da/ds: springs of links and plate on g
            left, right = z[k, c] - z[k, c - 1], z[k, c + 1] - z[k, c]
            force = p.link_k[c] * right - p.link_k[i] * left - p.plate_k[i] * z[k, c]
            y[k + 1, c] = force * scale
            z[k + 1, c] = 0.0
            if _free(p, r, row, i):
                # m dg/ds = a + dampers on g
                drag = p.link_c[c] * right - p.link_c[i] * left
                if not p.constant:
                    fall = 0.0
                    for j in range(k + 1):
                        fall += a.slope[i, k - j] * z[j, c]
                    drag -= p.normal[i] * fall
                z[k + 1, c] = (y[k, c] + drag) / p.mass[i] * scale


@kernel
def _integrate(
    p: Problem, d: Directions, a: Adjoint, r: Recording, row: int, end: float, width: float
) -> None:
    """Add the integrals over a part of a step that ends at `end` and is `width` long, in tau."""
    n, top, x, omega = p.mass.size, p.order, r.base[row], p.rate
    for q in range(_NODES.size):
        # `back` from the end of this part, `tau` from the start of the step
        back = 0.5 * width * (1.0 + _NODES[q])
        tau, weight = end - back, 0.5 * width * _WEIGHTS[q] / omega
        for c in range(1, n + 1):
            # place, velocity and acceleration of the motion, a and g of the adjoint
            place, speed, bend, y, z = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(top, -1, -1):
                y, z = y * back + a.place[k, c], z * back + a.pull[k, c]
                place = place * tau + x[k, c]
                if k > 0:
                    speed = speed * tau + k * x[k, c]
                if k > 1:
                    bend = bend * tau + k * (k - 1) * x[k, c]
            a.node[_X, c], a.node[_V, c] = place, omega * speed
            a.node[_ACCELERATION, c] = omega * omega * bend
            a.node[_A, c], a.node[_G, c] = y, z
            if not p.constant:
                mu, slope = 0.0, 0.0
                for k in range(top, -1, -1):
                    mu, slope = mu * tau + r.mu[row, c - 1, k], slope * tau + r.slope[row, c - 1, k]
                a.node[_MU, c], a.node[_SLOPE, c] = mu, slope
        load = 0.0
        for k in range(top, -1, -1):
            load = load * tau + r.load[row, k]
        _add_node(p, d, a, r, row, r.time[row] + tau / omega, load, weight)


@kernel
def _add_node(
    p: Problem,
    d: Directions,
    a: Adjoint,
    r: Recording,
    row: int,
    t: float,
    load: float,
    weight: float,
) -> None:
    """Add the derivatives by all coefficients at one quadrature node, of this time and weight [s].

    By a coefficient p of the force F_i they are the integral of g_i dF_i/dp over time.
    """
    n, x, v, z = p.mass.size, a.node[_X], a.node[_V], a.node[_G]
    total = 0.0
    for link in range(n + 1):
        # the force of a link acts on both its ends, with opposite signs
        pull = weight * (z[link + 1] - z[link])
        a.link_k[link] -= pull * (x[link + 1] - x[link])
        a.link_c[link] -= pull * (v[link + 1] - v[link])
    for i in range(n):
        c, force = i + 1, weight * z[i + 1]
        if not _free(p, r, row, i):
            # the displacement and velocity of a mass in stick depend on the belt speed, and act on
            # its neighbours through springs and dampers
            drag = p.link_c[c] * (z[c + 1] - z[c]) - p.link_c[i] * (z[c] - z[c - 1])
            a.belt[0] += weight * (a.node[_A, c] + drag)
            continue
        # g times the derivative of the force on the mass by each coefficient
        total += p.load_vector[i] * force
        a.load_vector[i] += force * load
        a.plate_k[i] += force * (p.plate_speed * t - x[c])
        a.plate_speed[0] += force * p.plate_k[i] * t
        a.mass[i] -= force * a.node[_ACCELERATION, c]
        if not p.constant:
            _add_friction(p, d, a, r.mode[row, i], i, force)
            continue
        a.mu_kinetic[i] -= r.mode[row, i] * force * p.normal[i]
        a.normal[i] -= r.mode[row, i] * force * p.mu_kinetic[i]
    _add_load(p, a, t, r.segment[row], total)


@kernel
def _add_friction(p: Problem, d: Directions, a: Adjoint, sign: int, i: int, force: float) -> None:
    """Add the derivatives of the friction -s N mu(w) of a mass at one node, times `force`."""
    if sign == 0:
        return
    mu, pull = a.node[_MU, i + 1], -sign * force * p.normal[i]
    a.belt[0] += force * p.normal[i] * a.node[_SLOPE, i + 1]
    speed, fitted = max(sign * (a.node[_V, i + 1] - p.belt), 0.0), p.share_address == 0
    share = 0.0 if fitted else mu
    if not fitted:
        # mu = mu_k + (mu_s - mu_k) e(w)
        a.mu_static[i] += pull * share
        a.mu_kinetic[i] += pull * (1.0 - share)
        mu = p.mu_kinetic[i] + (p.mu_static[i] - p.mu_kinetic[i]) * share
    a.normal[i] -= sign * force * mu
    for q in range(d.law.size):
        if d.law[q] != SHAPE:
            continue
        # `a.mu_static` and `a.mu_kinetic` contain the changes of mu_s and mu_k, which are
        # subtracted here
        low, high = d.mu_kinetic[q, i], d.mu_static[q, i]
        change = 0.0 if fitted else -low - (high - low) * share
        for j in range(POINTS):
            if d.law_weight[q, j] != 0.0:
                at = d.law_row[q, j] + i * p.law_step
                change += d.law_weight[q, j] * law_value(p.mu_address, speed, at)
        a.shape[q] += pull * change


@kernel
def _add_load(p: Problem, a: Adjoint, t: float, segment: int, force: float) -> None:
    """Add the derivatives of the load at time t, times `force`."""
    a.segment_offset[segment] += force
    a.segment_rate[segment] += force * (t - p.segment_time[segment])
    a.segment_time[segment] -= force * p.segment_rate[segment]
    for j in range(p.sine_amplitude.size):
        angle = p.sine_frequency[j] * t + p.sine_phase[j]
        a.sine_amplitude[j] += force * sin(angle)
        turn = force * p.sine_amplitude[j] * cos(angle)
        a.sine_frequency[j] += turn * t
        a.sine_phase[j] += turn


@kernel
def _pass_event_back(
    p: Problem,
    a: Adjoint,
    log: Log,
    row: int,
    mode: Integers,
    segment: int,
    load: float,
    seed: float,
) -> None:
    """Apply the transposed saltation of the event in entry `row` of the log.

    Parameters
    ----------
    mode : (n,) modes before the event
    segment, load : segment of the load, and its value then [N]
    seed : derivative of the functional with respect to the time of the event
    """
    i, before, after, rate = log.mass[row], log.before[row], log.after[row], log.rate[row]
    c, t = i + 1, log.time[row]
    # derivative of the functional by the time of the event: explicit part, and by the saltation
    by_time = seed + (a.v[c] * log.jump[row] if after != 0 else 0.0)
    # end of slip: dt = before (dv - dV) / rate
    if before != 0:
        moved = by_time * before / rate
        a.v[c] = moved if after == 0 else a.v[c] + moved
        a.belt[0] -= moved
        return
    # release: before the event the velocity of the mass was that of the belt
    a.belt[0] += a.v[c]
    a.v[c] = 0.0
    if rate == 0.0:
        # released by a jump of the load, or at the start: the time of the event is fixed
        return
    # dt = (d(mu_s N) - after dR) / rate: derivatives of the bound, then of the terms of R
    share = by_time / rate
    a.mu_static[i] += share * p.normal[i]
    a.normal[i] += share * p.mu_static[i]
    force, x, v = -after * share, log.x[row], log.v[row]
    for side in range(2):
        # the links on both sides; walls stand still
        link, other = i + side, i + 2 * side - 1
        place, speed = 0.0, 0.0
        if 0 <= other < p.mass.size:
            place, speed = x[other], v[other]
            a.x[other + 1] += force * p.link_k[link]
            # a neighbour in stick has the velocity of the belt
            if mode[other] == 0 and p.mu_static[other] * p.normal[other] > 0.0:
                a.belt[0] += force * p.link_c[link]
            else:
                a.v[other + 1] += force * p.link_c[link]
        a.x[c] -= force * p.link_k[link]
        a.belt[0] -= force * p.link_c[link]
        a.link_k[link] += force * (place - x[i])
        a.link_c[link] += force * (speed - v[i])
    a.x[c] -= force * p.plate_k[i]
    a.load_vector[i] += force * load
    a.plate_k[i] += force * (p.plate_speed * t - x[i])
    a.plate_speed[0] += force * p.plate_k[i] * t
    _add_load(p, a, t, segment, force * p.load_vector[i])
