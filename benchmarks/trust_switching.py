"""Touches of a surface beside the futures that are known exactly: is a run right, or does it say?

Each case is a flow in coordinates (u, w) with u' = 1, whose orbits above the surface w = 0 are
known: a valley of w whose floor lies `delta` above it. Below the surface the flow leads away
(the futures split) or back (they do not). The case is turned, stretched and shifted at random,
and the floor lies anywhere from far below the tolerance to far above it, on both sides.

Other flows are nonlinear and in three states, and grow; their orbits are known from extrapolation
in 80-bit numbers, and which future is right from the lowest point of the orbit.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np
from tally import Tally

import stiction as st
from stiction.errors import SolveError
from stiction.switching.methods import EventDriven
from stiction.switching.model import Compiled, SwitchingSystem

# steps of an orbit in 80-bit numbers, and columns of the extrapolation
STEPS, COLUMNS = 40, 9
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

    functions = (field, surface)
    size = 2

    @property
    def state_names(self) -> tuple[str, ...]:
        """Return x1, x2 and so on."""
        return tuple(f"x{k + 1}" for k in range(self.size))

    def plane(self, p: np.ndarray) -> np.ndarray | None:
        """Return the normal of the surface, None where it is bent."""
        return p[None, 3:5].copy()

    def compile(self) -> Compiled:
        """Return the compiled functions."""
        p, (rates, level) = np.array(self.p), self.functions
        return Compiled(
            field=rates.address,
            surface=level.address,
            gradient=0,
            power=0,
            params=p,
            n=self.size,
            m=1,
            plane=self.plane(p),
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

    functions = (orbit_field, orbit_surface)
    size = 3

    def plane(self, p: np.ndarray) -> np.ndarray | None:
        """Return the normal of the surface, None where it is bent."""
        return p[None, NORMAL:LEVEL].copy() if p[BEND] == 0.0 else None


class Smooth:
    """An orbit of the field above in 64 bits of mantissa, by extrapolated midpoint steps.

    Parameters
    ----------
    a, b, c : the linear and the quadratic part and the constant one
    start : (3,) where it begins
    span : how long it goes
    """

    def __init__(
        self, a: np.ndarray, b: np.ndarray, c: np.ndarray, start: np.ndarray, span: float
    ) -> None:
        self.parts = tuple(np.asarray(part, dtype=np.longdouble) for part in (a, b, c))
        self.h = np.longdouble(span) / STEPS
        self.states, self.off = [np.asarray(start, dtype=np.longdouble)], np.longdouble(0.0)
        for _ in range(STEPS):
            end, off = self._step(self.states[-1], self.h)
            self.states.append(end)
            self.off = max(self.off, off)
            if not np.max(np.abs(end)) <= 30.0:
                self.off = np.longdouble(np.inf)
                break

    def rate(self, x: np.ndarray) -> np.ndarray:
        """Return x'."""
        a, b, c = self.parts
        return (a * x + b * (x * np.sin(x))).sum(axis=1) + c

    def at(self, t: float) -> np.ndarray:
        """Return the state at t."""
        k = min(int(t / self.h), STEPS - 1)
        return self._step(self.states[k], np.longdouble(t) - k * self.h)[0]

    def _step(self, x: np.ndarray, h: np.longdouble) -> tuple[np.ndarray, np.longdouble]:
        """Return the state after a step, and how far the last two columns are apart."""
        row: list[np.ndarray] = []
        for j in range(1, COLUMNS + 1):
            d = h / (2 * j)
            before, here = x, x + d * self.rate(x)
            for _ in range(2 * j - 1):
                before, here = here, before + 2 * d * self.rate(here)
            new = [(before + here + d * self.rate(here)) / 2]
            for k, old in enumerate(row):
                ratio = np.longdouble(j) / (j - k - 1)
                new.append(new[k] + (new[k] - old) / (ratio * ratio - 1))
            row = new
        return row[-1], np.max(np.abs(row[-1] - row[-2]))


def make_orbit(rng: np.random.Generator) -> Callable[[float], tuple]:
    """Return what makes a case, as `make_valley` does, of an orbit and a tolerance."""
    while True:
        linear = rng.normal(size=(3, 3)) + rng.uniform(-1.0, 1.0) * np.eye(3)
        square, constant = 0.5 * rng.normal(size=(3, 3)), rng.normal(size=3)
        start, normal = rng.normal(size=3), rng.normal(size=3)
        span = rng.uniform(1.0, 4.0)
        orbit = Smooth(linear, square, constant, start, span)
        if not orbit.off < 1e-16:
            continue
        levels = np.array([normal @ state for state in orbit.states], dtype=np.float64)
        k = int(np.argmin(levels))
        if not STEPS > k > 0 or min(levels[0], levels[-1]) - levels[k] < 0.05:
            continue
        # the lowest point is where the level does not change
        low = _root(lambda t, o=orbit, n=normal: n @ o.rate(o.at(t)), orbit.h, k)
        if low is not None:
            break
    at, share, sign = orbit.at(low), rng.uniform(-4, 5), 1.0 if rng.random() < 0.5 else -1.0
    leads = -normal / (normal @ normal) * rng.uniform(0.3, 2.0) + 0.3 * np.cross(normal, start)
    bend = 0.3 if rng.random() < 0.5 else 0.0

    def case(rtol: float) -> tuple:
        tolerance = rtol * float(np.abs(normal) @ (1.0 + np.abs(at)))
        level = float(normal @ at - min(max(sign * tolerance * 10.0**share, -0.02), 0.04))
        floor = float(normal @ at - level)
        p = (*linear.ravel(), *square.ravel(), *constant, *normal, level, bend, *leads)
        stays, when = orbit.states[-1], low
        if floor < 0.0:
            first = int(np.argmax(levels < level)) or k
            when = _root(lambda t: level - normal @ orbit.at(t), orbit.h, first - 1, low)
        falls = orbit.at(when) + leads * (span - when)
        ends = (stays, falls) if floor > 0.0 else (falls, stays)
        right, other = (np.asarray(end, dtype=np.float64) for end in ends)
        return Orbit(p=p, x0=start), span, floor / tolerance, right, other

    return case


def _root(
    rises: Callable[[float], np.longdouble], h: np.longdouble, k: int, end: float | None = None
) -> np.longdouble | None:
    """Return where a function rises through zero around node k, None where it does not."""
    low, high = max(k - 1, 0) * h, (k + 1) * h if end is None else min((k + 2) * h, end)
    below, above = rises(low), rises(high)
    if not below < 0.0 <= above:
        return None if end is None else high
    middle, side = low, 0
    for _ in range(100):
        # regula falsi, with half the value of an end that stays
        middle = low - below * (high - low) / (above - below)
        value = rises(middle)
        if value < 0.0:
            low, below, above = middle, value, above / 2 if side < 0 else above
        else:
            high, above, below = middle, value, below / 2 if side > 0 else below
        side = -1 if value < 0.0 else 1
        if abs(value) <= 1e-19 or high - low <= 1e-18 * h:
            break
    return middle


def verdict(case: tuple, rtol: float) -> tuple[str, float]:
    """Return what the run says of a case beside the exact one, and the margin it reports."""
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


def judge(cases: list[Callable[[float], tuple]], rtol: float, orbits: bool, tally: Tally) -> None:
    """Print how the runs stand to the exact futures, by distance from the surface."""
    table: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    bands = ((1e-2, "< 0.01"), (1.0, "0.01 - 1"), (100.0, "1 - 100"), (np.inf, "> 100"))
    for number, made in enumerate(cases):
        case = made(rtol)
        what, margin = verdict(case, rtol)
        band = next(name for limit, name in bands if abs(case[2]) <= limit)
        split = "no split" if not orbits and case[0].p[AWAY] > 0.0 else "split"
        table[f"{split}, {band}"][what] += 1
        tally.add(what)
        if what not in ("right", "undecided", "fold"):
            print(f"  case {number}: {what}, {case[2]:.3g} tolerances, margin {margin:.3g}")
        tally.faults += what == "WRONG"
    print(f"rtol {rtol:g}, {len(cases)} {'orbits' if orbits else 'valleys'}")
    for name in sorted(table):
        print(f"  {name:22s} {dict(table[name])}", flush=True)


def campaign(valleys: int = 10_000, orbits: int = 1000, seed: int = 1) -> tuple[str, int]:
    """Judge valleys and orbits at three tolerances; none may be wrong in silence."""
    tally, rng = Tally(), np.random.default_rng(seed)
    known = [make_orbit(rng) for _ in range(orbits)]
    for rtol in (1e-11, 1e-8, 1e-6):
        rng = np.random.default_rng(seed)
        judge([partial(make_valley, rng) for _ in range(valleys)], rtol, False, tally)
        judge(known, rtol, True, tally)
    return tally.result()
