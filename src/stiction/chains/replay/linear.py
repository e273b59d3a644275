"""Motion under friction that does not depend on speed: the exponential, by Chebyshev polynomials.

While nobody changes mode, x'' is linear in x, x' and t, with sines. In tau = R t, with R above
all frequencies, its matrix B has its spectrum in the unit disc, along the imaginary axis, and

    exp(tau B) = J_0(tau) + 2 sum_k J_k(tau) P_k(B),   P_{k+1} = 2 B P_k + P_{k-1},

with Bessel functions J_k, which vanish faster than any power of k beyond tau. Many stretches of
a run are done at once. Source: Tal-Ezer, Kosloff, J. Chem. Phys. 81 (1984) 3967.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.chains.replay.forces import Forces, Stretches

__all__ = ["ends"]

Floats = npt.NDArray[np.float64]

# numbers in one array of a bunch of stretches: more do not stay near the processor
_BUNCH = 12_000


def ends(forces: Forces, given: Stretches) -> tuple[Floats, Floats]:
    """Return (n, s) displacements [m] and velocities [m/s] at the ends of the stretches.

    Verified by: tests/unit/chains/replay/test_linear.py::test_against_the_matrix_exponential
    """
    n, s = given.x0.shape
    x, v = np.empty((n, s)), np.empty((n, s))
    # those of like length together, so that none asks for more terms than it needs
    size = max(32, _BUNCH // (n + 2))
    if s <= size:
        return _bunch(forces, given)
    order = np.argsort(given.t1 - given.t0, kind="stable")
    for first in range(0, s, size):
        part = order[first : first + size]
        x[:, part], v[:, part] = _bunch(forces, given.part(part))
    return x, v


def _bunch(forces: Forces, given: Stretches) -> tuple[Floats, Floats]:
    f, (n, s), pieces = forces, given.x0.shape, forces.pieces
    rate = max(f.rate, float(np.max(np.abs(pieces.angular_frequency), initial=0.0)))
    tau = rate * (given.t1 - given.t0)
    top = _terms(float(tau.max()))
    weight = _bessel(tau, top)
    push = (given.mode != 0) / (f.mass * rate * rate)
    # forces of the start, which the motion since then only adds to
    still = f.drive(given.x0, np.zeros((n, s)), given.t0, f.straight(given.t0, given.piece))
    still -= given.mode * f.kinetic
    still *= push
    rises = bool(pieces.rate.any()) or (f.plate and f.plate_speed != 0.0)
    rising = np.zeros(1)
    if rises:
        rising = f.share * (pieces.rate[given.piece] / rate)
        rising = (rising + f.plate_k * (f.plate_speed / rate)) * push
    waves = _Waves(f, given.t0, rate)
    # [0] x - x0 and [1] v / rate, with a wall at either end
    old, now, new = (np.zeros((2, n + 2, s)) for _ in range(3))
    old[1, 1:-1] = given.v0 / rate
    total, part = old * weight[0], np.empty((2, n + 2, s))
    twice, link_c = 2.0 * push, f.link_c * rate
    pull, drag = np.empty((n + 1, s)), np.empty((n + 1, s))
    for k in range(top):
        # `new` = B P_k and what pushes at this order; P_0 is in `old` at first
        held, force = (old if k == 0 else now), new[1, 1:-1]
        np.subtract(held[0, 1:], held[0, :-1], out=pull)
        pull *= f.link_k
        if f.damped:
            np.subtract(held[1, 1:], held[1, :-1], out=drag)
            drag *= link_c
            pull += drag
        np.subtract(pull[1:], pull[:-1], out=force)
        if f.plate:
            force -= f.plate_k * held[0, 1:-1]
        if waves.any:
            force += f.share * waves.term(k)
        force *= push if k == 0 else twice
        if k == 0:
            new[0] = held[1]
            force += still
        else:
            np.multiply(held[1], 2.0, out=new[0])
            if k % 2 == 0:
                force += 2.0 * still
            elif rises:
                force += (2.0 * k) * rising
            new += old
        np.multiply(new, weight[k + 1], out=part)
        total += part
        if k == 0:
            now, new = new, now
        else:
            old, now, new = now, new, old
    return given.x0 + total[0, 1:-1], rate * total[1, 1:-1]


class _Waves:
    """The sines of the load, which have polynomials P_k of their own."""

    def __init__(self, forces: Forces, t: Floats, rate: float) -> None:
        p = forces.pieces
        angle = np.multiply.outer(p.angular_frequency, t) + p.phase[:, None]
        self.any = p.amplitude.size > 0
        self._step = (p.angular_frequency / rate)[:, None]
        self._size = p.amplitude
        self._sine, self._cosine = np.sin(angle), np.cos(angle)
        self._old = (self._sine, self._cosine)

    def term(self, k: int) -> Floats:
        """Return the load [N] of order k, (s,), and go on to the next."""
        here = self._size @ self._sine
        times = 1.0 if k == 0 else 2.0
        sine = times * self._step * self._cosine
        cosine = -times * self._step * self._sine
        if k > 0:
            sine, cosine = sine + self._old[0], cosine + self._old[1]
        self._old = (self._sine, self._cosine)
        self._sine, self._cosine = sine, cosine
        return np.asarray(here)


def _terms(tau: float) -> int:
    """Return how many terms leave out less than rounding: J_k < (e tau / 2 k)^k."""
    k = max(6, int(tau))
    while k * math.log(max(0.5 * math.e * tau, 1e-12) / k) > -41.0:
        k += 1
    return k


def _bessel(tau: Floats, top: int) -> Floats:
    """Return (top + 1, s) weights J_0, 2 J_1, 2 J_2, ... at tau, by the midpoint rule.

    For functions of this kind the rule is exact but for Bessel functions of order 4 q - k.
    """
    q = (top + 1) // 2 + 5
    angle = (np.arange(q) + 0.5) * (0.5 * math.pi / q)
    phase = np.multiply.outer(np.sin(angle), tau)
    turns = np.multiply.outer(np.arange(top + 1), angle)
    weight = np.empty((top + 1, tau.size))
    weight[0::2] = (2.0 / q) * (np.cos(turns[0::2]) @ np.cos(phase))
    weight[1::2] = (2.0 / q) * (np.sin(turns[1::2]) @ np.sin(phase))
    weight[0] *= 0.5
    return weight
