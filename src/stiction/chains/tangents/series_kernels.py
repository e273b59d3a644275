"""The variational equation of a chain within one step, by the Taylor series of the run.

Between events a variation (dx, dv) of a mass that slips obeys

    m dx'' = dT_right - dT_left + b df - kp dx - s N (mu' s dw + dmu/dp) + dF/dp

with the sign s of its slip rate w, the slope mu' of mu(|w|), and the change dF/dp of the force by
the coefficients of the chain (mass, springs, dampers, load vector, normal force) with a parameter
p; T are the link forces, b f the load, kp the plate springs, N the normal force; in stick dv is the
variation of the belt speed. The Taylor series of the variation follows from the recursion of the
motion, whose stencil couples neighbours only. `step_kernels` calls `prepare` and `propagate` in
each step.

Arguments: p, s of `event_driven.state`; directions d and variations g of `tangents.state`. i is a
mass from 0, c = i + 1 its column in arrays with walls, q a direction, k a power of the scaled time
tau = p.rate (t - t0), `sign` the sign of slip.
Source: Leine and Nijmeijer 2004, section 7.1; docs/decisions/08 for the series.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.series_kernels import FIT, FIT_NODES, fit_coefficients
from stiction.chains.event_driven.state import Problem, Scratch
from stiction.chains.tangents.state import POINTS, SHAPE, Directions, Variation
from stiction.laws.law_kernels import law_value, share_term
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel

__all__ = ["FORWARD", "load_derivative", "prepare", "propagate", "slip_speed_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# forward difference of sixth order at 0, 1, ..., 6 steps, and of second order at 0, 1, 2 steps,
# which is exact to 3e-10 at the steps that series of laws take
FORWARD = np.array([-49 / 20, 6.0, -15 / 2, 20 / 3, -15 / 4, 6 / 5, -1 / 6])
_BY_SPEED = np.array([-3 / 2, 2.0, -1 / 2])
# radians of the fastest vibration within which terms of order 30 fall below rounding: the longest
# step of a vibrating chain, 4, and the rounding of time
_FARTHEST = 4.001


@kernel
def prepare(p: Problem, d: Directions, g: Variation, s: Scratch, mode: Ints, tau: float) -> int:
    """Copy the series of a step of length tau; return the number of masses that do not stick."""
    top, count = p.order, 0
    for c in range(p.mass.size + 2):
        g.base[0, c], g.base[1, c] = s.x[0, c], s.x[1, c]
    for k in range(top + 1):
        g.load[k] = s.load[k]
    for i in range(p.mass.size):
        slips = mode[i] != 0
        # of a mass in stick only displacement and velocity are read: its higher coefficients are
        # zero, but `s.x` may hold old ones
        for k in range(2, top + 1):
            g.base[k, i + 1] = s.x[k, i + 1] if slips else 0.0
        # a mass without friction obeys its equation of motion at rest too
        if slips or p.mu_static[i] * p.normal[i] == 0.0:
            g.moving[count] = i
            count += 1
    if p.constant:
        return count
    for a in range(count):
        i = g.moving[a]
        for k in range(top + 1):
            g.mu[i, k] = g.slope[i, k] = 0.0
        for q in range(g.x.shape[0]):
            for k in range(top + 1):
                g.mu_by[q, i, k] = 0.0
        if mode[i] == 0:
            continue
        # mu, its slope and its derivatives along the motion: by the recursion of the law, or fitted
        if p.share_address != 0:
            _expand_law(p, d, g, s, mode[i], i)
        else:
            _fit_law(p, d, g, s, mode[i], i, tau)
    return count


@kernel
def _expand_law(p: Problem, d: Directions, g: Variation, s: Scratch, sign: int, i: int) -> None:
    """Write the series of mu, of its slope and of its derivatives, where the law has series.

    The recursion holds for a shifted slip rate and for a changed parameter as well, so that its
    results can be differenced term by term.

    Verified by:
    tests/unit/chains/tangents/test_event_driven.py::test_coefficients_of_weakening_friction
    """
    top, row = p.order - 1, p.law_start + i * p.law_step
    drop, speed = p.mu_static[i] - p.mu_kinetic[i], sign * (p.rate * g.base[1, i + 1] - p.belt)
    # mu = mu_k + (mu_s - mu_k) e(w), with the series of e from the run
    for k in range(top):
        g.mu[i, k] = drop * s.mu[i, k]
    g.mu[i, 0] += p.mu_kinetic[i]
    # slope by a forward difference of second order in the slip speed, whose first point is the run
    for k in range(top):
        g.slope[i, k] = drop * _BY_SPEED[0] / d.slip_step[i] * s.mu[i, k]
    for j in range(1, _BY_SPEED.size):
        _share_series(p, g, sign, speed + j * d.slip_step[i], i, row)
        for k in range(top):
            g.slope[i, k] += drop * _BY_SPEED[j] / d.slip_step[i] * g.trial[i, k]
    # derivatives by parameters of e: finite differences (`directions`); by mu_k and mu_s: exact
    for q in range(g.x.shape[0]):
        if d.law[q] == 0:
            continue
        low, high = d.mu_kinetic[q, i], d.mu_static[q, i]
        for j in range(POINTS):
            if d.law[q] == SHAPE and d.law_weight[q, j] != 0.0:
                _share_series(p, g, sign, speed, i, d.law_row[q, j] + i * p.law_step)
                for k in range(top):
                    g.mu_by[q, i, k] += drop * d.law_weight[q, j] * g.trial[i, k]
        for k in range(top):
            g.mu_by[q, i, k] += (high - low) * s.mu[i, k]
        g.mu_by[q, i, 0] += low


@kernel
def _share_series(p: Problem, g: Variation, sign: int, speed: float, i: int, row: int) -> None:
    """Write the series of the law's weakening function e, from a slip speed on, to `g.trial`."""
    for k in range(p.order - 1):
        term = share_term(p.share_address, k, speed, sign * p.rate, g.base, g.trial, i, row)
        g.trial[i, k] = term


@kernel(allocates=True)
def _fit_law(
    p: Problem, d: Directions, g: Variation, s: Scratch, sign: int, i: int, tau: float
) -> None:
    """Write polynomials of mu, of its slope and of its derivatives, fitted on the step."""
    speeds, values, row = np.empty(FIT), np.empty(FIT), p.law_start + i * p.law_step
    # the fit of mu is that of the run; its slip speeds at the nodes
    for k in range(FIT):
        g.mu[i, k] = s.mu[i, k]
        speeds[k] = max(slip_speed_of(p, g.base, sign, i, FIT_NODES[k] * tau), 0.0)
    for k in range(FIT):
        values[k] = law_value(d.slope_address, speeds[k], row)
    fit_coefficients(values, tau, g.slope[i])
    # differences of the formula at these speeds
    for q in range(g.x.shape[0]):
        if d.law[q] == 0:
            continue
        for k in range(FIT):
            values[k] = 0.0
            for j in range(POINTS):
                if d.law_weight[q, j] != 0.0:
                    at = d.law_row[q, j] + i * p.law_step
                    values[k] += d.law_weight[q, j] * law_value(p.mu_address, speeds[k], at)
        fit_coefficients(values, tau, g.mu_by[q, i])


@kernel
def slip_speed_of(p: Problem, base: Floats, sign: int, i: int, tau: float) -> float:
    """Return the slip speed of mass i at `tau` of the series `base` (K, n + 2), K - 1 the order."""
    v = 0.0
    for k in range(base.shape[0] - 1, 0, -1):
        v = v * tau + k * base[k, i + 1]
    speed: float = sign * (p.rate * v - p.belt)
    return speed


@kernel
def load_derivative(p: Problem, d: Directions, q: int, t: float, segment: int, f: Floats) -> None:
    """Fill f with the series in tau of the load's derivative with respect to direction `q`."""
    for k in range(f.size):
        f[k] = 0.0
    f[0] = d.segment_offset[q, segment] + d.segment_rate[q, segment] * (t - p.segment_time[segment])
    # a breakpoint that comes later by dt shifts its segment: -rate dt
    f[0] -= p.segment_rate[segment] * d.segment_time[q, segment]
    f[1] = d.segment_rate[q, segment] / p.rate
    for j in range(p.sine_amplitude.size):
        angle = p.sine_frequency[j] * t + p.sine_phase[j]
        parts = (sin(angle), cos(angle), -sin(angle), -cos(angle))
        # A cos(w t + phi) (t dw + dphi), and A cos(w t + phi) dw tau / rate, which is one order
        # higher
        turn = p.sine_amplitude[j] * (d.sine_frequency[q, j] * t + d.sine_phase[q, j])
        drift = p.sine_amplitude[j] * d.sine_frequency[q, j] / p.rate
        factor = 1.0
        for k in range(f.size):
            f[k] += factor * (d.sine_amplitude[q, j] * parts[k % 4] + turn * parts[(k + 1) % 4])
            if k + 1 < f.size:
                f[k + 1] += factor * drift * parts[(k + 1) % 4]
            factor *= p.sine_frequency[j] / (p.rate * (k + 1))


@kernel
def propagate(
    p: Problem,
    d: Directions,
    g: Variation,
    mode: Ints,
    t: float,
    segment: int,
    tau: float,
    count: int,
) -> None:
    """Advance all variations by a step from t of length tau; `g.moving` lists `count` masses.

    mode, segment : (n,) modes, and segment of the load in the step
    """
    parts = 1
    if g.x.shape[0] > 0 and count > 0 and tau > _FARTHEST:
        # so long a step has a motion that is a polynomial; its variations may vibrate
        parts = int(np.ceil(tau / _FARTHEST))
    width = tau / parts
    for part in range(parts):
        now = t + part * width / p.rate
        if not p.constant:
            _find_moments(p, g, mode, width, count)
        passed = _saves_until(g, now + width / p.rate)
        for q in range(g.x.shape[0]):
            _expand(p, d, g, mode, now, segment, q, count)
            for row in range(g.saves[0], passed):
                _save(p, g, row, q, (g.save[row] - now) * p.rate)
            _move(p, d, g, mode, q, width, count)
        g.saves[0] = passed
        if part + 1 < parts:
            _recentre(p, g, width, count)


@kernel
def _saves_until(g: Variation, end: float) -> int:
    """Return the number of save times that lie before or at `end`, to rounding."""
    passed: int = g.saves[0]
    while passed < g.save.size and g.save[passed] <= end + 4e-16 * abs(end):
        passed += 1
    return passed


@kernel
def _save(p: Problem, g: Variation, row: int, q: int, tau: float) -> None:
    """Save the variation in direction `q` at `tau` of its series."""
    for i in range(p.mass.size):
        place, speed = 0.0, 0.0
        for k in range(p.order, 0, -1):
            place = (place + g.series[k, i + 1]) * tau
            speed = speed * tau + k * g.series[k, i + 1]
        g.saved_x[row, q, i], g.saved_v[row, q, i] = g.series[0, i + 1] + place, p.rate * speed


@kernel
def _expand(
    p: Problem, d: Directions, g: Variation, mode: Ints, t: float, segment: int, q: int, count: int
) -> None:
    """Write the series of the variation in direction `q`."""
    top, omega, y, x = p.order, p.rate, g.series, g.base
    # begin with the variation; of masses in stick no higher term follows
    for c in range(p.mass.size + 2):
        y[0, c], y[1, c] = g.x[q, c], g.v[q, c] / omega
        for k in range(2, top + 1):
            y[k, c] = 0.0
    load, acts, loads = g.load_by, d.mechanics[q] != 0, d.load[q] != 0
    if loads:
        load_derivative(p, d, q, t, segment, load)
    link_k, link_c, plate_k, mass, moving = p.link_k, p.link_c, p.plate_k, p.mass, g.moving
    constant = p.constant
    for k in range(top - 1):
        rate = omega * (k + 1)
        scale = 1.0 / (omega * omega * (k + 1) * (k + 2))
        for a in range(count):
            i = moving[a]
            c = i + 1
            # the stencil of the motion, for the variation
            left = link_k[i] * (y[k, c] - y[k, c - 1])
            right = link_k[c] * (y[k, c + 1] - y[k, c])
            left += link_c[i] * rate * (y[k + 1, c] - y[k + 1, c - 1])
            right += link_c[c] * rate * (y[k + 1, c + 1] - y[k + 1, c])
            force = right - left - plate_k[i] * y[k, c]
            if loads:
                force += p.load_vector[i] * load[k]
            # the forces of the motion change with springs, dampers, load vector and plate
            if acts:
                force += _own_force(p, d, x, g.load, q, k, i, t)
            # constant friction has no term but the first
            if mode[i] != 0 and (k == 0 or not constant):
                force -= _friction_term(p, d, g, mode[i], q, k, i)
            # inertia: dm times the acceleration of the motion
            if acts:
                force -= d.mass[q, i] * x[k + 2, c] / scale
            y[k + 2, c] = force / mass[i] * scale


@kernel
def _own_force(
    p: Problem, d: Directions, x: Floats, load: Floats, q: int, k: int, i: int, t: float
) -> float:
    """Return term k of dF/dp, the force on mass `i` by changes of the coefficients of the chain."""
    c, rate = i + 1, p.rate * (k + 1)
    left = d.link_k[q, i] * (x[k, c] - x[k, c - 1])
    right = d.link_k[q, c] * (x[k, c + 1] - x[k, c])
    left += d.link_c[q, i] * rate * (x[k + 1, c] - x[k + 1, c - 1])
    right += d.link_c[q, c] * rate * (x[k + 1, c + 1] - x[k + 1, c])
    plate, plate_by = 0.0, 0.0
    if k == 0:
        plate, plate_by = p.plate_speed * t, d.plate_speed[q] * t
    elif k == 1:
        plate, plate_by = p.plate_speed / p.rate, d.plate_speed[q] / p.rate
    force: float = right - left + d.load_vector[q, i] * load[k]
    force += d.plate_k[q, i] * (plate - x[k, c]) + p.plate_k[i] * plate_by
    return force


@kernel
def _friction_term(
    p: Problem, d: Directions, g: Variation, sign: int, q: int, k: int, i: int
) -> float:
    """Return term k of the derivative of s N mu(s w) for a mass that slips with sign s."""
    c = i + 1
    if p.constant:
        by: float = d.normal[q, i] * p.mu_kinetic[i] + p.normal[i] * d.mu_kinetic[q, i]
        return sign * by
    # two independent sums, which the processor computes in parallel
    even, odd, y, slope = 0.0, 0.0, g.series, g.slope
    # product of the series of the slope of mu and of the varied slip rate
    for j in range(0, k, 2):
        even += slope[i, k - j] * (j + 1) * y[j + 1, c]
        odd += slope[i, k - j - 1] * (j + 2) * y[j + 2, c]
    if k % 2 == 0:
        even += slope[i, 0] * (k + 1) * y[k + 1, c]
    total = sign * (p.rate * (even + odd) - slope[i, k] * d.belt[q])
    g.trial[i, k] = total + g.mu_by[q, i, k]
    force: float = d.normal[q, i] * g.mu[i, k] + p.normal[i] * g.trial[i, k]
    return sign * force


@kernel
def _move(
    p: Problem, d: Directions, g: Variation, mode: Ints, q: int, tau: float, count: int
) -> None:
    """Evaluate the variation in direction `q` at the end of the step, and its friction heat."""
    top, y = p.order, g.series
    for c in range(1, p.mass.size + 1):
        # in stick the velocity is that of the belt
        g.x[q, c] += tau * y[1, c]
    for a in range(count):
        i = g.moving[a]
        c = i + 1
        place, speed = 0.0, 0.0
        for k in range(top, 0, -1):
            place = (place + y[k, c]) * tau
            speed = speed * tau + k * y[k, c]
        if mode[i] != 0:
            g.heat[q, i] += _heat_of(p, d, g, mode[i], q, i, tau, place)
        g.x[q, c] = y[0, c] + place
        g.v[q, c] = p.rate * speed


@kernel
def _heat_of(
    p: Problem, d: Directions, g: Variation, sign: int, q: int, i: int, tau: float, place: float
) -> float:
    """Return the derivative of the friction heat of a step; `place` is the change of dx in it."""
    c, top, span, x, y = i + 1, p.order, tau / p.rate, g.base, g.series
    if p.constant:
        # constant friction: the heat is N mu times the slip of the step
        distance = 0.0
        for k in range(top, 0, -1):
            distance = (distance + x[k, c]) * tau
        mu, mu_by = p.mu_kinetic[i], d.mu_kinetic[q, i]
        heat: float = (d.normal[q, i] * mu + p.normal[i] * mu_by) * (distance - p.belt * span)
        heat += p.normal[i] * mu * (place - d.belt[q] * span)
        return sign * heat
    # the power is linear in the variation: its integral is a sum over moments of the motion
    total: float = -g.of_force[i, 0] * d.belt[q] / p.rate
    for k in range(top - 1):
        # the derivative of mu, which the series of the variation left in `trial`
        force_by = p.normal[i] * g.trial[i, k] + d.normal[q, i] * g.mu[i, k]
        total += force_by * g.of_speed[i, k] + (k + 1) * y[k + 1, c] * g.of_force[i, k]
    return sign * total


@kernel
def _find_moments(p: Problem, g: Variation, mode: Ints, tau: float, count: int) -> None:
    """Write the moments of the slip rate and of the friction force of each slipping mass.

    Moment k of f is the integral of f(t) t^k over a step of length tau.
    """
    top, power = p.order, tau
    # power[k] is the integral of t^(k - 1)
    for k in range(1, 2 * top):
        g.power[k] = power / k
        power *= tau
    for a in range(count):
        i = g.moving[a]
        if mode[i] == 0:
            continue
        for j in range(top - 1):
            g.speed[j] = (j + 1) * g.base[j + 1, i + 1]
        g.speed[0] -= p.belt / p.rate
        g.speed[top - 1] = 0.0
        for k in range(top - 1):
            # a series times t^k, integrated term by term, in four independent sums, which the
            # processor computes in parallel; the last term of either series is zero
            one, two, three, four = 0.0, 0.0, 0.0, 0.0
            for j in range(0, top - 1, 2):
                low, high = g.power[k + j + 1], g.power[k + j + 2]
                one += g.speed[j] * low
                two += g.mu[i, j] * low
                three += g.speed[j + 1] * high
                four += g.mu[i, j + 1] * high
            g.of_speed[i, k], g.of_force[i, k] = one + three, p.normal[i] * (two + four)


@kernel
def _recentre(p: Problem, g: Variation, by: float, count: int) -> None:
    """Expand the series of the motion, the load and the law about `by` instead of 0 (Horner)."""
    top = p.order
    for r in range(top):
        for k in range(top - 1, r - 1, -1):
            g.load[k] += by * g.load[k + 1]
            for c in range(1, p.mass.size + 1):
                g.base[k, c] += by * g.base[k + 1, c]
            if p.constant:
                continue
            for a in range(count):
                i = g.moving[a]
                g.mu[i, k] += by * g.mu[i, k + 1]
                g.slope[i, k] += by * g.slope[i, k + 1]
                for q in range(g.x.shape[0]):
                    g.mu_by[q, i, k] += by * g.mu_by[q, i, k + 1]
