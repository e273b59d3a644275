"""Compiled integration between events for the replay, one interval after the other.

The equation is m x'' = R - mode N mu for slipping masses, with the forces R of links, plate and
load; a stuck mass moves with the belt. With friction independent of the slip rate the motion is a
matrix exponential, summed by Chebyshev polynomials (see `linear`); with other friction it is
integrated by a Runge-Kutta method of order 8 (see `smooth`). Both are independent of the Taylor
series of the event-driven method. p is the `Problem` of `event_driven.state`. `replay.compare` and
`blocks.replay_kernels` call them.

Both kernels hold vectors of the chain in the rows of one work array. Column c belongs to mass
c - 1; columns 0 and n + 1 belong to the walls and stay zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.state import Problem
from stiction.chains.replay.smooth import STAGES, TIMES, WEIGHTS
from stiction.laws.law_kernels import law_value
from stiction.numerics.callback import call
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel

__all__ = ["WORK_ROWS", "linear_ends", "smooth_ends"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Modes = npt.NDArray[np.int8]

_N_STAGES = 11
# work arrays have the shape (WORK_ROWS, n + 2)
WORK_ROWS = 4 + 2 * _N_STAGES
# rows in `linear_ends`. Three pairs, of which each row is followed by its partner: the polynomials
# P_{k-1}, P_k, P_{k+1} of B on (x - x0, v / R), which exchange their places
_FIRST_PAIR, _SECOND_PAIR, _THIRD_PAIR = 0, 2, 4
# sums of the series: x - x0 [m], v / R [m]
_SUM_X, _SUM_V = 6, 7
# 1 / (m R^2) [m/N], zero for stuck masses; times it the initial force [m], and its rate over R [m]
_GAIN, _FORCE, _FORCE_RATE = 8, 9, 10
# initial displacements [m]
_POSITION = 11
# rows in `smooth_ends`: x [m] and v [m/s] at the start of the step; at the stage; from _SLOPES on
# the derivatives of x [m/s] and of v [m/s^2] of all stages, in turn
_X, _V, _STAGE_X, _STAGE_V, _SLOPES = range(5)
# numbers per sine of the load at the end of `weight`: present terms of sin and cos, and the last
_PER_SINE = 4


@kernel
def linear_ends(
    p: Problem,
    rate: float,
    time: Floats,
    segment: Ints,
    start: Floats,
    mode: Modes,
    end: Floats,
    work: Floats,
    weight: Floats,
) -> None:
    """Write the end states of intervals with friction independent of the slip rate.

    Parameters
    ----------
    rate : above all frequencies [rad/s]
    time : (s, 2) start and end [s]
    segment : (s,) segment of the load
    start, end : (s, 2, n) displacements [m] and velocities [m/s]
    mode : (s, n)
    work : (WORK_ROWS, n + 2)
    weight : work array for the terms of the longest interval, and _PER_SINE numbers per sine

    Source: Tal-Ezer, Kosloff, J. Chem. Phys. 81 (1984) 3967.
    Verified by: tests/unit/chains/replay/test_linear.py::test_kernel_and_arrays_agree
    """
    for s in range(time.shape[0]):
        # intervals of stick need no series
        if _sticks(time, start, mode, s, end):
            continue
        tau = rate * (time[s, 1] - time[s, 0])
        top = _terms(tau)
        # exp(tau B) = J_0(tau) + 2 sum J_k(tau) P_k(B): `weight` gets J_0 and 2 J_k, see `linear`
        _bessel(tau, top, weight)
        _first_polynomial(p, rate, time[s, 0], segment[s], start, mode, s, work, weight)
        n = p.mass.size
        for c in range(n + 2):
            work[_SUM_X, c] = weight[0] * work[_FIRST_PAIR, c]
            work[_SUM_V, c] = weight[0] * work[_FIRST_PAIR + 1, c]
        # P_{k-1}, P_k, P_{k+1}; there is no P_{-1}, and its pair is zero
        old, now, new = _THIRD_PAIR, _FIRST_PAIR, _SECOND_PAIR
        for k in range(top):
            _next_polynomial(p, rate, k, old, now, new, work, weight)
            w = weight[k + 1]
            for c in range(1, n + 1):
                work[_SUM_X, c] += w * work[new, c]
                work[_SUM_V, c] += w * work[new + 1, c]
            old, now, new = now, new, old
        # the series sums x - x0 and v / R
        for i in range(n):
            end[s, 0, i] = start[s, 0, i] + work[_SUM_X, i + 1]
            end[s, 1, i] = rate * work[_SUM_V, i + 1]


@kernel
def _sticks(time: Floats, start: Floats, mode: Modes, s: int, end: Floats) -> bool:
    """Return whether all masses stick in interval s; if so, write its end: they move with the belt.

    time, start, mode, end : as for `linear_ends`
    """
    n = mode.shape[1]
    for i in range(n):
        if mode[s, i] != 0:
            return False
    for i in range(n):
        end[s, 0, i] = start[s, 0, i] + start[s, 1, i] * (time[s, 1] - time[s, 0])
        end[s, 1, i] = start[s, 1, i]
    return True


@kernel
def _first_polynomial(
    p: Problem,
    rate: float,
    t: float,
    segment: int,
    start: Floats,
    mode: Modes,
    s: int,
    work: Floats,
    weight: Floats,
) -> None:
    """Write the initial data of the series, for the rows from _FIRST_PAIR to _POSITION.

    Arguments are those of `linear_ends`, for interval s from t [s]. The first pair is P_0 of (x -
    x0, v / R), that is (0, v / R). The rows _GAIN, _FORCE and _FORCE_RATE hold 1 / (m R^2), this
    times the force at the start, and times the rate of that force over R. The end of `weight` gets
    sin and cos of each sine of the load, its terms of order 0.
    """
    n = p.mass.size
    for r in range(_POSITION):
        for c in range(n + 2):
            work[r, c] = 0.0
    for i in range(n):
        work[_POSITION, i + 1] = start[s, 0, i]
        work[_FIRST_PAIR + 1, i + 1] = start[s, 1, i] / rate
    work[_POSITION, 0] = 0.0
    work[_POSITION, n + 1] = 0.0
    # forces at the start without sines, and their rates by load and plate
    load = p.segment_offset[segment] + p.segment_rate[segment] * (t - p.segment_time[segment])
    for i in range(n):
        c = i + 1
        if mode[s, i] == 0:
            continue
        # stuck masses have no acceleration: their gain stays zero
        gain = 1.0 / (p.mass[i] * rate * rate)
        left = p.link_k[i] * (work[_POSITION, c] - work[_POSITION, c - 1])
        right = p.link_k[c] * (work[_POSITION, c + 1] - work[_POSITION, c])
        force = right - left + p.plate_k[i] * (p.plate_speed * t - work[_POSITION, c])
        force += p.load_vector[i] * load - mode[s, i] * p.normal[i] * p.mu_kinetic[i]
        work[_GAIN, c] = gain
        work[_FORCE, c] = gain * force
        rises = p.load_vector[i] * p.segment_rate[segment] + p.plate_k[i] * p.plate_speed
        work[_FORCE_RATE, c] = gain * rises / rate
    first = weight.size - _PER_SINE * p.sine_amplitude.size
    for j in range(p.sine_amplitude.size):
        angle = p.sine_frequency[j] * t + p.sine_phase[j]
        weight[first + _PER_SINE * j] = sin(angle)
        weight[first + _PER_SINE * j + 1] = cos(angle)
        weight[first + _PER_SINE * j + 2] = 0.0
        weight[first + _PER_SINE * j + 3] = 0.0


@kernel
def _next_polynomial(
    p: Problem, rate: float, k: int, old: int, now: int, new: int, work: Floats, weight: Floats
) -> None:
    """Write the polynomial of order k + 1 from those of orders k and k - 1.

    old, now, new : first rows in `work` of the pairs of orders k - 1, k and k + 1
    """
    n = p.mass.size
    # P_1 = B P_0, then P_{k+1} = 2 B P_k + P_{k-1}
    factor = 1.0 if k == 0 else 2.0
    # the force at the start contributes P_k(0), which is 1 for even k and 0 for odd ones; its rate
    # of change contributes P_k'(0), which is k for odd k and 0 for even ones
    steady = factor if k % 2 == 0 else 0.0
    rising = factor * k if k % 2 == 1 else 0.0
    load = _waves(p, rate, factor, weight)
    # apply B: links, dampers, plate springs and load to the polynomial of order k
    for i in range(n):
        c = i + 1
        left = p.link_k[i] * (work[now, c] - work[now, c - 1])
        right = p.link_k[c] * (work[now, c + 1] - work[now, c])
        left += p.link_c[i] * rate * (work[now + 1, c] - work[now + 1, c - 1])
        right += p.link_c[c] * rate * (work[now + 1, c + 1] - work[now + 1, c])
        force = right - left - p.plate_k[i] * work[now, c] + p.load_vector[i] * load
        work[new + 1, c] = (
            work[old + 1, c]
            + factor * work[_GAIN, c] * force
            + steady * work[_FORCE, c]
            + rising * work[_FORCE_RATE, c]
        )
        work[new, c] = work[old, c] + factor * work[now + 1, c]


@kernel
def _waves(p: Problem, rate: float, factor: float, weight: Floats) -> float:
    """Return the contribution of sines to the load of this order, and advance to the next order."""
    load = 0.0
    first = weight.size - _PER_SINE * p.sine_amplitude.size
    # the pair (sin, cos) follows the same recurrence, with B the generator of a rotation; `factor`,
    # 1 or 2, is that of B in it
    for j in range(p.sine_amplitude.size):
        a = first + _PER_SINE * j
        load += p.sine_amplitude[j] * weight[a]
        step = factor * p.sine_frequency[j] / rate
        sine = weight[a + 2] + step * weight[a + 1]
        cosine = weight[a + 3] - step * weight[a]
        weight[a + 2], weight[a + 3] = weight[a], weight[a + 1]
        weight[a], weight[a + 1] = sine, cosine
    return load


@kernel
def _terms(tau: float) -> int:
    """Return the number of terms whose remainder is below 1e-15, by J_k < (tau / 2)^k / k!."""
    k, size = 0, 1.0
    while k < 6 or size > 1e-15:
        k += 1
        size *= 0.5 * tau / k
    return k


@kernel
def _bessel(tau: float, top: int, weight: Floats) -> None:
    """Write J_0, 2 J_1, ..., 2 J_top at tau, by Miller's downward recurrence.

    The upward recurrence would amplify rounding. J_0 + 2 J_2 + 2 J_4 + ... = 1 normalises.
    """
    # first terms of the power series
    if tau < 1e-9:
        for k in range(top + 1):
            weight[k] = 0.0
        weight[0], weight[1] = 1.0, tau
        return
    above, here, total = 0.0, 1e-300, 0.0
    for k in range(top + 12, 0, -1):
        below = 2.0 * k / tau * here - above
        above, here = here, below
        if k - 1 <= top:
            weight[k - 1] = 2.0 * below
        if k % 2 == 1:
            total += 2.0 * below if k > 1 else below
        # rescale, so that the recurrence does not overflow
        if abs(here) > 1e200:
            above, here, total = above * 1e-250, here * 1e-250, total * 1e-250
            for j in range(k - 1, top + 1):
                weight[j] *= 1e-250
    weight[0] *= 0.5
    for k in range(top + 1):
        weight[k] /= total


@kernel
def smooth_ends(
    p: Problem,
    negative_speeds: bool,
    time: Floats,
    segment: Ints,
    parts: Ints,
    start: Floats,
    mode: Modes,
    end: Floats,
    work: Floats,
) -> None:
    """Write the end states of intervals, by the Runge-Kutta method of order 8.

    Parameters
    ----------
    negative_speeds : whether the formula of the law extends to negative speeds
    parts : (s,) number of steps of each interval
    time, segment, start, mode, end, work : as for `linear_ends`

    Source: Cooper, Verner, SIAM J. Numer. Anal. 9 (1972) 389.
    Verified by: tests/unit/chains/replay/test_smooth.py::test_kernel_and_arrays_agree
    """
    n = p.mass.size
    for r in range(work.shape[0]):
        work[r, 0] = 0.0
        work[r, n + 1] = 0.0
    for s in range(time.shape[0]):
        if _sticks(time, start, mode, s, end):
            continue
        h = (time[s, 1] - time[s, 0]) / parts[s]
        for i in range(n):
            work[_X, i + 1] = start[s, 0, i]
            work[_V, i + 1] = start[s, 1, i]
        # fixed steps: the caller halves them until results agree
        for part in range(parts[s]):
            t = time[s, 0] + part * h
            for j in range(_N_STAGES):
                _stage(
                    p, negative_speeds, t, h, segment[s], (time[s, 0], time[s, 1]), j, mode, s, work
                )
            for c in range(1, n + 1):
                # x and v at the end: weighted sums of the stages
                place, speed = work[_X, c], work[_V, c]
                for j in range(_N_STAGES):
                    w = h * WEIGHTS[j]
                    place += w * work[_SLOPES + 2 * j, c]
                    speed += w * work[_SLOPES + 1 + 2 * j, c]
                work[_X, c], work[_V, c] = place, speed
        for i in range(n):
            end[s, 0, i] = work[_X, i + 1]
            end[s, 1, i] = work[_V, i + 1]


@kernel
def _stage(
    p: Problem,
    negative_speeds: bool,
    t: float,
    h: float,
    segment: int,
    span: tuple[float, float],
    j: int,
    mode: Modes,
    s: int,
    work: Floats,
) -> None:
    """Write the derivatives of x and v of stage j to rows _SLOPES + 2 j and _SLOPES + 1 + 2 j.

    t, h : start and length of the step [s], in interval s, whose ends are `span` [s]
    """
    n, first, last = p.mass.size, span[0], span[1]
    # masses in the outer loop: sums over stages stay in registers
    for c in range(1, n + 1):
        place, speed = work[_X, c], work[_V, c]
        for q in range(j):
            w = h * STAGES[j, q]
            place += w * work[_SLOPES + 2 * q, c]
            speed += w * work[_SLOPES + 1 + 2 * q, c]
        work[_STAGE_X, c], work[_STAGE_V, c] = place, speed
    now = t + TIMES[j] * h
    load = p.segment_offset[segment] + p.segment_rate[segment] * (now - p.segment_time[segment])
    for q in range(p.sine_amplitude.size):
        load += p.sine_amplitude[q] * sin(p.sine_frequency[q] * now + p.sine_phase[q])
    if p.load_address != 0:
        # at a jump at either end take the value inside the interval
        within = max(now, first + 4.5e-16 * abs(first))
        load += call(p.load_address, min(within, last - 4.5e-16 * abs(last)))
    # x' = v; v' = (R - sigma N mu) / m for slipping masses
    for i in range(n):
        c = i + 1
        work[_SLOPES + 2 * j, c] = work[_STAGE_V, c]
        work[_SLOPES + 1 + 2 * j, c] = 0.0
        if mode[s, i] == 0:
            continue
        left = p.link_k[i] * (work[_STAGE_X, c] - work[_STAGE_X, c - 1])
        right = p.link_k[c] * (work[_STAGE_X, c + 1] - work[_STAGE_X, c])
        left += p.link_c[i] * (work[_STAGE_V, c] - work[_STAGE_V, c - 1])
        right += p.link_c[c] * (work[_STAGE_V, c + 1] - work[_STAGE_V, c])
        force = right - left + p.load_vector[i] * load
        force += p.plate_k[i] * (p.plate_speed * now - work[_STAGE_X, c])
        mu = p.mu_kinetic[i]
        if not p.constant:
            speed = mode[s, i] * (work[_STAGE_V, c] - p.belt)
            if not negative_speeds:
                speed = max(speed, 0.0)
            mu = law_value(p.mu_address, speed, p.law_start + i * p.law_step)
        work[_SLOPES + 1 + 2 * j, c] = (force - mode[s, i] * p.normal[i] * mu) / p.mass[i]
