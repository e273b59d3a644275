"""Laws without stick against integrations of 30 digits, which share no code with the package.

A mass on a spring is released and turns round several times. The reference integrates each stretch
between two reversals by Gauss collocation of order 24 in mpmath, with 40 digits, and finds the
reversals by Newton's method. Needs mpmath; a law takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
from tally import Tally

import stiction as st
from stiction.chains import Radau

mp.mp.dps = 40
STAGES = 12
K, M, NORMAL = mp.mpf(2000), mp.mpf(1), mp.mpf("9.81")
T_END = 0.2


def gauss() -> tuple[Any, list[Any]]:
    """Return the matrix and the weights of Gauss collocation on [0, 1]."""
    near = np.polynomial.legendre.leggauss(STAGES)[0].tolist()
    c = [(1 + mp.findroot(lambda x: mp.legendre(STAGES, x), r)) / 2 for r in near]
    v = mp.matrix(STAGES, STAGES)
    w = mp.matrix(STAGES, STAGES)
    for i in range(STAGES):
        for k in range(STAGES):
            v[i, k], w[i, k] = c[i] ** k, c[i] ** (k + 1) / (k + 1)
    rhs = mp.matrix([mp.mpf(1) / (k + 1) for k in range(STAGES)])
    return w * v**-1, list(mp.lu_solve(v.T, rhs))


Rates = Callable[[list[Any], int, int], list[Any]]


def dahl(y: list[Any], s: int, r: int) -> list[Any]:
    """dz/dt = w (1 - sigma z s / mu)."""
    sigma, mu = mp.mpf(2000), mp.mpf("0.3")
    x, v, z = y
    return [v, (-K * x - NORMAL * sigma * z) / M, v * (1 - sigma * z * s / mu)]


def lugre(y: list[Any], s: int, r: int) -> list[Any]:
    """The bristles of the paper."""
    sigma, s1, s2 = mp.mpf(2000), mp.mpf(30), mp.mpf("0.04")
    low, high, scale = mp.mpf("0.1"), mp.mpf("0.15"), mp.mpf("0.001")
    x, v, z = y
    g = low + (high - low) * mp.exp(-((v / scale) ** 2))
    rate = v - sigma * s * v * z / g
    return [v, (-K * x - NORMAL * (sigma * z + s1 * rate + s2 * v)) / M, rate]


def bouc(y: list[Any], s: int, r: int) -> list[Any]:
    """Bouc's law with power 2."""
    sigma, a, beta, gamma = mp.mpf(2000), mp.mpf(1), mp.mpf("3e7"), mp.mpf("1e7")
    x, v, z = y
    rate = a * v - beta * s * v * r * z * z - gamma * v * z * z
    return [v, (-K * x - NORMAL * sigma * z) / M, rate]


# the equations, the law, whether the sign of z matters, and the step of the reference
LAWS: dict[str, tuple[Rates, Any, bool, str]] = {
    "Dahl": (dahl, st.laws.Dahl(2000.0, 0.3), False, "0.0004"),
    "LuGre": (lugre, st.laws.LuGre(2000.0, 30.0, 0.04, 0.15, 0.1, 0.001), False, "0.0001"),
    "BoucWen": (bouc, st.laws.BoucWen(2000.0, 1.0, 3e7, 1e7, 2), True, "0.0004"),
}


def step(f: Rates, y: list[Any], h: Any, s: int, r: int, a: Any, b: list[Any]) -> list[Any]:
    """Return the end of a step, by Newton's method with the derivative at its start."""
    size, tiny = len(y), mp.mpf(10) ** -20
    at_start = f(y, s, r)
    matrix = mp.eye(size * STAGES)
    for d in range(size):
        moved = list(y)
        moved[d] += tiny
        column = [(p - q) / tiny for p, q in zip(f(moved, s, r), at_start, strict=True)]
        for i in range(STAGES):
            for j in range(STAGES):
                for e in range(size):
                    matrix[i * size + e, j * size + d] -= h * a[i, j] * column[e]
    inverse = matrix**-1
    stages = [list(y) for _ in range(STAGES)]
    for _ in range(100):
        slopes = [f(at, s, r) for at in stages]
        off = mp.matrix(size * STAGES, 1)
        for i in range(STAGES):
            for d in range(size):
                sum_of = mp.fsum(a[i, j] * slopes[j][d] for j in range(STAGES))
                off[i * size + d] = stages[i][d] - y[d] - h * sum_of
        change = inverse * off
        for i in range(STAGES):
            for d in range(size):
                stages[i][d] -= change[i * size + d]
        if mp.norm(change, mp.inf) < mp.mpf(10) ** -34:
            break
    slopes = [f(at, s, r) for at in stages]
    return [y[d] + h * mp.fsum(b[j] * slopes[j][d] for j in range(STAGES)) for d in range(size)]


def reference(f: Rates, monitor_z: bool, h: Any) -> tuple[list[Any], list[Any]]:
    """Return the state at the end and the times of reversal."""
    a, b = gauss()
    y, t, s, r, turns = [mp.mpf("0.01"), mp.mpf(0), mp.mpf(0)], mp.mpf(0), -1, -1, []
    end = mp.mpf(T_END)
    while t < end:
        now = min(h, end - t)
        new = step(f, y, now, s, r, a, b)
        which = [k for k, side in ((1, s), (2, r)) if (k == 1 or monitor_z) and new[k] * side < 0]
        if which:
            best = None
            for k in which:
                tau = now / 2
                for _ in range(60):
                    at = step(f, y, tau, s, r, a, b)
                    move = at[k] / f(at, s, r)[k]
                    tau -= move
                    if abs(move) < mp.mpf(10) ** -34:
                        break
                if best is None or tau < best[0]:
                    best = (tau, k)
            assert best is not None
            tau, k = best
            y, t = step(f, y, tau, s, r, a, b), t + tau
            y[k] = mp.mpf(0)
            if k == 1:
                s = -s
                turns.append(t)
            else:
                r = -r
        else:
            y, t = new, t + now
    return y, turns


def campaign(laws: tuple[str, ...] = tuple(LAWS)) -> tuple[str, int]:
    """Print the differences at three tolerances; at the finest they must be below 1e-8."""
    tally = Tally()
    for name in laws:
        f, law, monitor, h = LAWS[name]
        want, turns = reference(f, monitor, mp.mpf(h))
        chain = st.Chain(mass=[1.0], stiffness=2000.0, law=law, x0=0.01, gravity=9.81)
        for rtol in (1e-9, 1e-11, 1e-12):
            run = st.solve(chain, Radau(rtol=rtol), t_span=(0.0, T_END))
            found = [run.final["x"][0], run.final["v"][0], run.final["deflection"][0]]
            scale = [0.01, 0.4, 1e-4]
            off = max(abs(float(b - a)) / s for a, b, s in zip(found, want, scale, strict=True))
            times, late = run.event_log.time, np.inf
            if len(times) == len(turns):
                late = np.max(np.abs(times - np.array([float(t) for t in turns])))
            line = f"{name:18} rtol {rtol:.0e}: {len(turns)} reversals, state {off:.1e}"
            print(f"{line}, times {late:.1e} s, {run.stats['steps']} steps", flush=True)
            tally.must(rtol > 1e-12 or off <= 1e-8, "state", line)
            tally.most(f"{name} at {rtol:g}", off)
        print("   reference", [mp.nstr(v, 25) for v in want], [mp.nstr(t, 22) for t in turns[:3]])
    return tally.result()
