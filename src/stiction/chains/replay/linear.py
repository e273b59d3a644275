"""Motion between events with constant friction: matrix exponential by Chebyshev polynomials.

Between events x'' is linear in x, x' and t, with sines. In tau = R t, with R above all frequencies,
the spectrum of its matrix B lies in the unit disc, along the imaginary axis, and

    exp(tau B) = J_0(tau) + 2 sum_k J_k(tau) P_k(B),   P_{k+1} = 2 B P_k + P_{k-1},

with Bessel functions J_k, which decay faster than any power of k beyond k = tau. B acts on
(x - x0, v / R), each (n,), with the displacements x0 at the start of the interval. Many intervals
are integrated at once, one column each; `compare` calls `ends` where kernels are not compiled.
Source: Tal-Ezer, Kosloff, J. Chem. Phys. 81 (1984) 3967.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.chains.replay.forces import Forces, Intervals

__all__ = ["ends", "rate_of", "terms"]

Floats = npt.NDArray[np.float64]

# numbers in one array of a batch of intervals: more would leave the cache
_BATCH = 9_600


def ends(forces: Forces, intervals: Intervals) -> tuple[Floats, Floats]:
    """Return (n, s) displacements [m] and velocities [m/s] at the ends of the intervals.

    Verified by: tests/unit/chains/replay/test_linear.py::test_against_the_matrix_exponential
    """
    n, s = intervals.x.shape
    size = max(32, _BATCH // n)
    if s <= size:
        return _batch(forces, intervals)
    x, v = np.empty((n, s)), np.empty((n, s))
    # batches of similar length, so that none has more terms than it needs
    order = np.argsort(intervals.t1 - intervals.t0, kind="stable")
    for first in range(0, s, size):
        part = order[first : first + size]
        x[:, part], v[:, part] = _batch(forces, intervals.part(part))
    return x, v


def rate_of(forces: Forces) -> float:
    """Return a rate R [1/s] above all frequencies, including those of the load."""
    waves = np.abs(forces.segments.angular_frequency)
    return max(forces.rate, float(waves.max(initial=0.0))) or 1.0


def _batch(forces: Forces, intervals: Intervals) -> tuple[Floats, Floats]:
    """Return (n, s) displacements and velocities at the ends, by the series on (x - x0, v / R).

    Only the change of x is summed, so that a large x0 loses no digits.
    """
    f, (n, s) = forces, intervals.x.shape
    rate = rate_of(f)
    tau = rate * (intervals.t1 - intervals.t0)
    top = terms(float(tau.max()))
    weight = _bessel(tau, top)
    gain = (intervals.mode != 0.0) / (f.mass * (rate * rate))
    order = _Order(f, intervals, gain, rate)
    parts = np.zeros((top + 1, 2, n, s))
    parts[0, 1] = intervals.v / rate
    for k in range(top):
        order.next(k, parts[k - 1], parts[k], parts[k + 1])
    parts *= weight[:, None, None, :]
    total = np.add.reduce(parts, axis=0)
    total[1] *= rate
    return intervals.x + total[0], total[1]


class _Order:
    """Recurrence from the polynomials of orders k - 1 and k to that of order k + 1."""

    def __init__(self, f: Forces, intervals: Intervals, gain: Floats, rate: float) -> None:
        p, self._f, self._rate = f.segments, f, rate
        still = np.empty_like(intervals.x)
        f.pull(intervals.x, None, still)
        still += f.push(intervals.t0, f.straight(intervals.t0, intervals.segment))
        still -= intervals.mode * f.kinetic
        still *= gain
        # the initial force contributes to every even order, its rate to every odd one
        self._still, self._twice = still, 2.0 * still
        self._gain, self._gain2 = gain, 2.0 * gain
        self._rising: Floats | None = None
        if p.rate.any() or (f.plate and f.plate_speed != 0.0):
            rise = p.rate[intervals.segment] if p.rate.size > 1 else p.rate
            rise = f.load_vector * rise + f.plate_k * f.plate_speed
            self._rising = (2.0 / rate) * rise * gain
        self._waves = _Waves(f, intervals.t0, rate) if p.amplitude.size else None

    def next(self, k: int, old: Floats, now: Floats, new: Floats) -> None:
        """Write the polynomial of order k + 1 to `new` from those of orders k - 1 and k.

        old, now, new : (2, n, s) polynomials of B applied to (x - x0, v / R)
        """
        speed = now[1] * self._rate if self._f.damped else None
        self._f.pull(now[0], speed, new[1])
        if self._waves is not None:
            new[1] += self._f.load_vector * self._waves.term(k)
        new[1] *= self._gain if k == 0 else self._gain2
        if k == 0:
            new[0] = now[1]
            new[1] += self._still
            return
        np.multiply(now[1], 2.0, out=new[0])
        if k % 2 == 0:
            new[1] += self._twice
        elif self._rising is not None:
            new[1] += k * self._rising
        new += old


class _Waves:
    """Polynomials P_k of the sines of the load."""

    def __init__(self, forces: Forces, t: Floats, rate: float) -> None:
        p = forces.segments
        angle = np.multiply.outer(p.angular_frequency, t) + p.phase[:, None]
        self._step = (p.angular_frequency / rate)[:, None]
        self._size = p.amplitude
        self._sine, self._cosine = np.sin(angle), np.cos(angle)
        self._old = (self._sine, self._cosine)

    def term(self, k: int) -> Floats:
        """Return the load [N] of order k, (s,), and advance to the next order."""
        here = self._size @ self._sine
        times = 1.0 if k == 0 else 2.0
        sine = times * self._step * self._cosine
        cosine = -times * self._step * self._sine
        if k > 0:
            sine, cosine = sine + self._old[0], cosine + self._old[1]
        self._old = (self._sine, self._cosine)
        self._sine, self._cosine = sine, cosine
        return np.asarray(here)


def terms(tau: float) -> int:
    """Return the number of terms whose remainder is below 1e-15, by J_k < (tau / 2)^k / k!."""
    k, size = 0, 1.0
    while k < 6 or size > 1e-15:
        k += 1
        size *= 0.5 * tau / k
    return k


def _bessel(tau: Floats, top: int) -> Floats:
    """Return (top + 1, s) weights J_0, 2 J_1, 2 J_2, ... at tau, by the midpoint rule.

    The rule is exact up to Bessel functions of order 4 q - k, which are below rounding.
    """
    q = (top + 1) // 2 + 5
    angle = (np.arange(q) + 0.5) * (0.5 * math.pi / q)
    phase = np.multiply.outer(np.sin(angle), tau)
    turns = np.multiply.outer(np.arange(top + 1), angle)
    weight = np.empty((top + 1, tau.size))
    weight[0::2] = (2.0 / q) * (np.cos(turns[0::2]) @ np.cos(phase))
    weight[1::2] = (2.0 / q) * (np.sin(turns[1::2]) @ np.sin(phase))
    weight[0] *= 0.5
    # beyond the order that an interval needs its weights are rounding. Damping makes the
    # polynomials grow there, and a batch has as many as its longest interval needs
    order = np.arange(1.0, top + 1.0)[:, None]
    negligible = np.cumprod(0.5 * tau / order, axis=0) < 1e-17
    weight[1:][negligible & (order > 6.0)] = 0.0
    return weight
