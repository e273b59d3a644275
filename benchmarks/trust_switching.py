"""Touches of a surface beside the futures that are known exactly: is a run right, or does it say?

Each case is a flow in coordinates (u, w) with u' = 1, whose orbits above the surface w = 0 are
known: a valley of w whose floor lies `delta` above it. Below the surface the flow leads away
(the futures split) or back (they do not). The case is turned, stretched and shifted at random,
and the floor lies anywhere from far below the tolerance to far above it, on both sides.

Run: python benchmarks/trust_switching.py --cases 10000
"""

from __future__ import annotations

import argparse
import collections
import time
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np

import stiction as st
from stiction.errors import SolveError
from stiction.methods import EventDriven
from stiction.switching.model import Compiled, SwitchingSystem

SIGNATURE = "void(CPointer(float64), CPointer(float64), CPointer(float64), CPointer(float64))"
# entries of p: the map x -> (u, w) and its inverse, the speed of time, then the valley
TO, BACK, PACE, SHAPE, DEEP, WIDE, AWAY, ZERO = 0, 6, 10, 11, 12, 13, 14, 15
PARABOLA, COSINE, GROWING, DRIFTING = range(4)


@numba.cfunc(SIGNATURE)
def field(x_at, s_at, p_at, out_at):
    """Return x' of (u, w)' = (1, w') on one side, in the coordinates x."""
    x, s = numba.carray(x_at, (2,)), numba.carray(s_at, (1,))
    p, out = numba.carray(p_at, (16,)), numba.carray(out_at, (2,))
    u = p[0] * x[0] + p[1] * x[1] + p[2] - p[15]
    w = p[3] * x[0] + p[4] * x[1] + p[5]
    if s[0] < 0.0:
        dw = p[14]
    elif p[11] == 0.0:
        dw = 2.0 * p[12] * u
    elif p[11] == 1.0:
        dw = p[12] * p[13] * np.sin(p[13] * u)
    elif p[11] == 2.0:
        dw = 2.0 * p[12] * u * (1.0 + p[13] * w)
    else:
        dw = 2.0 * p[12] * u * np.exp(p[13] * u)
    out[0] = p[10] * (p[6] + p[7] * dw)
    out[1] = p[10] * (p[8] + p[9] * dw)


@numba.cfunc(SIGNATURE)
def surface(x_at, s_at, p_at, out_at):
    """Switch at w = 0."""
    x, p = numba.carray(x_at, (2,)), numba.carray(p_at, (16,))
    out = numba.carray(out_at, (1,))
    out[0] = p[3] * x[0] + p[4] * x[1] + p[5]


@dataclass(frozen=True, eq=False, repr=False)
class Valley(SwitchingSystem):
    """One case: numbers `p`, a start and the sizes of the states."""

    p: tuple[float, ...] = ()
    x0: object = None
    scale: tuple[float, ...] = (1.0, 1.0)
    mode: str | None = None

    @property
    def state_names(self) -> tuple[str, ...]:
        """Two states."""
        return ("x1", "x2")

    def compile(self) -> Compiled:
        """Return the compiled functions."""
        p = np.array(self.p)
        return Compiled(
            field=field.address,
            surface=surface.address,
            gradient=0,
            power=0,
            params=p,
            n=2,
            m=1,
            plane=p[None, 3:5].copy(),
            scale=np.array(self.scale),
            keep=(),
        )


def height(p: np.ndarray, u: float, floor: float) -> float:
    """Return w above the valley's bottom u = 0, whose floor is `floor`."""
    shape, deep, wide = int(p[SHAPE]), p[DEEP], p[WIDE]
    if shape == PARABOLA:
        return floor + deep * u * u
    if shape == COSINE:
        return floor + deep * (2.0 * np.sin(0.5 * wide * u) ** 2)
    if shape == GROWING:
        return floor + (1.0 + wide * floor) * np.expm1(deep * wide * u * u) / wide
    z = wide * u
    # 2 deep / wide^2 (e^z (z - 1) + 1), by its series where it cancels
    if abs(z) > 0.3:
        rise = np.exp(z) * (z - 1.0) + 1.0
    else:
        rise, term = 0.0, 1.0
        for k in range(2, 30):
            term *= z / (k if k > 2 else 1.0) if k > 2 else z * z / 2.0
            rise += (k - 1.0) * term
    return floor + 2.0 * deep / wide**2 * rise


def landing(p: np.ndarray, floor: float, begin: float) -> float:
    """Return the u < 0 at which the orbit with this floor (< 0) comes to w = 0."""
    low, high = begin, 0.0
    for _ in range(200):
        u = 0.5 * (low + high)
        if height(p, u, floor) > 0.0:
            low = u
        else:
            high = u
    return 0.5 * (low + high)


def make_valley(
    rng: np.random.Generator, rtol: float
) -> tuple[Valley, float, float, np.ndarray, np.ndarray]:
    """Return a case, the end time, delta in tolerances of h, and the ends of both futures."""
    shape = int(rng.integers(4))
    deep, wide = 10.0 ** rng.uniform(-1, 1), rng.uniform(0.3, 2.0)
    away = -(10.0 ** rng.uniform(-1, 1)) * (1.0 if rng.random() < 0.8 else -1.0)
    begin, end = -rng.uniform(0.3, 2.0), rng.uniform(0.2, 1.0)
    if shape == COSINE:
        begin, end = max(begin, -2.8 / wide), min(end, 2.8 / wide)
    if shape == GROWING:
        wide = min(wide, 2.0 / (deep * begin * begin))
    unit = 10.0 ** rng.uniform(-2, 2)
    angle, stretch = rng.uniform(0, 2 * np.pi), 10.0 ** rng.uniform(-0.5, 0.5)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    back = unit * turn @ np.array([[1.0, rng.uniform(-1, 1)], [0.0, stretch]])
    to = np.linalg.inv(back)
    shift = unit * rng.uniform(-1, 1, 2) * 10.0 ** rng.uniform(-2, 0.5)
    pace = 10.0 ** rng.uniform(-2, 2)
    p = np.zeros(16)
    p[0:2], p[2], p[3:5], p[5] = to[0], -to[0] @ shift, to[1], -to[1] @ shift
    p[6:10], p[PACE], p[SHAPE], p[DEEP], p[WIDE], p[AWAY] = (
        back[[0, 0, 1, 1], [0, 1, 0, 1]],
        pace,
        shape,
        deep,
        wide,
        away,
    )
    # one tolerance of h where the valley is lowest
    lowest = shift + back @ np.array([0.0, 0.0])
    tolerance = rtol * float(np.abs(to[1]) @ (unit + np.abs(lowest)))
    delta = tolerance * 10.0 ** rng.uniform(-4, 5) * (1.0 if rng.random() < 0.5 else -1.0)
    if rng.random() < 0.05:
        delta = 0.0
    # it starts above the surface
    delta = max(delta, -0.5 * height(p, begin, 0.0))
    start = shift + back @ np.array([begin, height(p, begin, delta)])
    # what rounding makes of the start belongs to the case
    u, w = to @ (start - shift)
    floor = delta + (w - height(p, u, delta))
    stays = shift + back @ np.array([end, height(p, end, floor)])
    at = landing(p, min(floor, 0.0), begin) if floor < 0.0 else 0.0
    if away > 0.0:
        falls = shift + back @ np.array([end, height(p, end, 0.0)])
    else:
        falls = shift + back @ np.array([end, away * (end - at)])
    system = Valley(p=tuple(p), x0=start, scale=(unit, unit))
    ends = (stays, falls) if floor > 0.0 else (falls, stays)
    return system, (end - u) / pace, floor / tolerance, np.array(ends[0]), np.array(ends[1])


# entries of p of an orbit: a linear and a quadratic part, a constant one; the normal of the surface
# and its level, how much it is bent, and the field below it
LINEAR, SQUARE, CONSTANT, NORMAL, LEVEL, BEND, BELOW = 0, 9, 18, 21, 24, 25, 26


@numba.cfunc(SIGNATURE)
def orbit_field(x_at, s_at, p_at, out_at):
    """Return x' = A x + B (x sin x) + c above, a constant below."""
    x, s = numba.carray(x_at, (3,)), numba.carray(s_at, (1,))
    p, out = numba.carray(p_at, (29,)), numba.carray(out_at, (3,))
    for i in range(3):
        total = p[18 + i]
        for j in range(3):
            total += p[3 * i + j] * x[j] + p[9 + 3 * i + j] * x[j] * np.sin(x[j])
        out[i] = total if s[0] > 0.0 else p[26 + i]


@numba.cfunc(SIGNATURE)
def orbit_surface(x_at, s_at, p_at, out_at):
    """Switch where the level of a plane is reached; bent functions have the same zeros."""
    x, p = numba.carray(x_at, (3,)), numba.carray(p_at, (29,))
    out = numba.carray(out_at, (1,))
    h = p[21] * x[0] + p[22] * x[1] + p[23] * x[2] - p[24]
    out[0] = h * (1.0 + p[25] * (x[0] * x[0] + x[1] * x[1]) + p[25] * h * h)


@dataclass(frozen=True, eq=False, repr=False)
class Orbit(Valley):
    """A flow in three states whose orbits are known from a finer integration alone."""

    scale: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Three states."""
        return ("x1", "x2", "x3")

    def compile(self) -> Compiled:
        """Return the compiled functions."""
        p = np.array(self.p)
        plane = p[None, NORMAL:LEVEL].copy() if p[BEND] == 0.0 else None
        return Compiled(
            field=orbit_field.address,
            surface=orbit_surface.address,
            gradient=0,
            power=0,
            params=p,
            n=3,
            m=1,
            plane=plane,
            scale=np.ones(3),
            keep=(),
        )


def make_orbit(rng: np.random.Generator, rtol: float) -> tuple:
    """Return a case as `make_valley` does; the orbits are SciPy's, as fine as they get."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import brentq

    while True:
        linear = rng.normal(size=(3, 3)) + rng.uniform(-1.0, 1.0) * np.eye(3)
        square, constant = 0.5 * rng.normal(size=(3, 3)), rng.normal(size=3)
        start, normal = rng.normal(size=3), rng.normal(size=3)
        span = rng.uniform(1.0, 4.0)

        def rate(_, x, a=linear, b=square, c=constant):
            return a @ x + b @ (x * np.sin(x)) + c

        found = solve_ivp(
            rate, (0.0, span), start, "DOP853", rtol=3e-14, atol=1e-15, dense_output=True
        )
        if not found.success or np.max(np.abs(found.y)) > 30.0:
            continue
        times = np.linspace(0.0, span, 400)
        levels = normal @ found.sol(times)
        k = int(np.argmin(levels))
        if not 20 < k < 360 or levels[-1] - levels[k] < 0.05 or levels[0] - levels[k] < 0.05:
            continue
        # the lowest point, by orbits that end there: the dense output is not good enough
        low = float(times[k])
        for _ in range(4):
            at = _to(rate, start, low)
            ahead = (normal @ rate(0, at + 1e-4 * rate(0, at)) - normal @ rate(0, at)) / 1e-4
            low -= float(normal @ rate(0, at)) / float(ahead)
        at = _to(rate, start, low)
        if abs(normal @ rate(0, at)) < 1e-9 and ahead > 0.05:
            break
    tolerance = rtol * float(np.abs(normal) @ (1.0 + np.abs(at)))
    floor = tolerance * 10.0 ** rng.uniform(-4, 5) * (1.0 if rng.random() < 0.5 else -1.0)
    floor = min(max(floor, -0.02), 0.04)
    level = float(normal @ at) - floor
    below = -normal / (normal @ normal) * rng.uniform(0.3, 2.0) + 0.3 * np.cross(normal, start)
    p = (*linear.ravel(), *square.ravel(), *constant, *normal, level)
    system = Orbit(p=(*p, 0.3 if rng.random() < 0.5 else 0.0, *below), x0=start)
    stays, when = _to(rate, start, span), low
    if floor < 0.0:
        when = brentq(lambda t: float(normal @ found.sol(t)) - level, 0.0, low, xtol=1e-15)
    falls = _to(rate, start, when) + below * (span - when)
    ends = (stays, falls) if floor > 0.0 else (falls, stays)
    return system, span, floor / tolerance, ends[0], ends[1]


def _to(rate: Callable, start: np.ndarray, t: float) -> np.ndarray:
    """Return the state at t."""
    from scipy.integrate import solve_ivp

    return solve_ivp(rate, (0.0, t), start, "DOP853", rtol=3e-14, atol=1e-15).y[:, -1]


def verdict(case: tuple, rtol: float) -> tuple[str, float]:
    """Return what the run says of a case beside the exact one, and the margin it tells."""
    system, t_end, _, right, other = case
    try:
        run = st.solve(system, EventDriven(rtol=rtol, max_steps=20_000), t_span=(0.0, t_end))
    except SolveError as error:
        return str(error).split("Why: ")[1].split(":")[0].splitlines()[0], np.inf
    if run.determinism.losses:
        return run.determinism.losses[0].kind, run.determinism.margin
    if run.status.name != "SOLVED":
        return run.status.name, run.determinism.margin
    found = np.array([float(np.ravel(run.final[name])[0]) for name in system.state_names])
    apart = float(np.max(np.abs(right - other)))
    off = float(np.max(np.abs(found - right)))
    near = max(0.1 * apart, 1e4 * rtol * system.scale[0])
    return ("right" if off <= near else "WRONG"), run.determinism.margin


def main() -> None:
    """Print, for each tolerance, how the runs stand to the exact futures by distance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--orbits", action="store_true", help="flows without a closed form")
    options = parser.parse_args()
    make = make_orbit if options.orbits else make_valley
    # a finer integration knows nothing below its own error
    for rtol in (1e-10, 1e-8, 1e-6) if options.orbits else (1e-11, 1e-8, 1e-6):
        rng, begun = np.random.default_rng(options.seed), time.perf_counter()
        table: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        bands = ((1e-2, "< 0.01"), (1.0, "0.01 - 1"), (100.0, "1 - 100"), (np.inf, "> 100"))
        for number in range(options.cases):
            case = make(rng, rtol)
            what, margin = verdict(case, rtol)
            band = next(name for limit, name in bands if abs(case[2]) <= limit)
            split = "no split" if make is not make_orbit and case[0].p[AWAY] > 0.0 else "split"
            table[f"{split}, {band}"][what] += 1
            if what not in ("right", "undecided", "fold"):
                print(f"  case {number}: {what}, {case[2]:.3g} tolerances, margin {margin:.3g}")
        print(f"rtol {rtol:g}, {options.cases} cases, {time.perf_counter() - begun:.0f} s")
        for name in sorted(table):
            print(f"  {name:22s} {dict(table[name])}")


if __name__ == "__main__":
    main()
