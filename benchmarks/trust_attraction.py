"""Sliding that stops attracting, on one surface and where two meet: is it reported, and when?

At an intersection of two surfaces the rates in the four quadrants are A + B (t + c sin(w t)). The
numbers are drawn so that codimension-2 sliding is the only exit direction at first. Exact
enumeration (`stiction.exact.intersections`), which shares no code with the kernels, must find no
other direction 1e-9 before the reported loss, one 1e-9 after it, and none earlier on a grid.
The one surface is curved; both rates vanish where a state that moves along it comes to a level,
at a time known by quadrature: a two-fold, behind which the region repels.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from tally import Tally
from trust_intersections import random_fields

import stiction as st
from stiction.exact.intersections import exit_directions

END, NEAR = 3.0, 1e-9


def field(x, s):
    """Return x' for the state (x1, x2, t, eighteen numbers)."""
    k = (0 if s[0] > 0.0 else 8) + (0 if s[1] > 0.0 else 4)
    g = x[2] + x[19] * math.sin(x[20] * x[2])
    out = np.zeros(21)
    out[0], out[1], out[2] = x[3 + k] + g * x[5 + k], x[4 + k] + g * x[6 + k], 1.0
    return out


def curved(x):
    """Return h of a curved surface."""
    return x[0] - math.sin(x[1]) / 3.0


def pace(x, c):
    """Return the time that x2 takes per unit."""
    return 1.0 / (1.0 + c * math.sin(x))


def up(x):
    """Return x' above the surface x1 = sin(x2) / 3; the rate of h falls to zero as x2 -> x4."""
    out, speed = np.zeros(9), 1.0 + x[8] * math.sin(x[1])
    out[0] = math.cos(x[1]) / 3.0 * speed - (x[3] - x[1]) * (x[4] + x[5] * x[1] * x[1])
    out[1], out[2] = speed, x[2] * 0.3 + x[0]
    return out


def down(x):
    """Return x' below it."""
    out, speed = np.zeros(9), 1.0 + x[8] * math.sin(x[1])
    out[0] = math.cos(x[1]) / 3.0 * speed + (x[3] - x[1]) * (x[6] + x[7] * math.sin(x[1]) ** 2)
    out[1], out[2] = speed, 1.0 - x[2]
    return out


def rates(numbers, t):
    """Return (4, 3) the rates in the quadrants at a time, in units of 1e-12."""
    g = t + numbers[16] * math.sin(numbers[17] * t)
    a = numbers[:16].reshape(4, 2, 2)
    f = a[:, 0] + g * a[:, 1]
    return np.hstack([np.rint(f * 1e12).astype(object), np.full((4, 1), 0, dtype=object)])


def open_at(numbers, t):
    """Return how many ways beside the first sliding vector are open."""
    return len(exit_directions(rates(numbers, t))) - 1


def open_before(numbers, end):
    """Return whether another way is open somewhere on a grid up to a time."""
    grid = np.arange(1, 151) / 150.0 * END
    return any(open_at(numbers, t) > 0 for t in grid[grid < end])


def draw(rng):
    """Return numbers with which staying is the only way at the start."""
    while True:
        f = np.array(random_fields(rng), dtype=float)[:, :2] / 1000.0
        rise = rng.normal(0.0, 0.7, (4, 2))
        wave = rng.choice([0.0, 0.0, 0.5]), rng.uniform(1.0, 6.0)
        numbers = np.array([*np.stack([f, rise], 1).ravel(), *wave])
        found = exit_directions(rates(numbers, 0.0))
        if len(found) == 1 and found[0].kind == "codim2_sliding":
            return numbers


def intersections(count, rng, tally):
    """Compare `count` losses where two surfaces meet with the enumeration around them."""
    h = [lambda x: x[0], lambda x: x[1]]
    system = st.PiecewiseSmooth(h=h, f=field, x0=[0.0] * 21)
    while tally.counts["reported"] < count:
        numbers = draw(rng)
        object.__setattr__(system, "x0", np.array([0.0, 0.0, 0.0, *numbers]))
        run = st.solve(system, st.EventDriven(), t_span=(0.0, END), throw=False)
        losses, label = run.determinism.losses, numbers.tolist()
        # what slides on one surface or leaves has left where they meet
        left = run.events["time"].min() if len(run.events) else END
        if not losses or losses[0].time > left:
            tally.add("left alone")
            tally.must(not open_before(numbers, left - NEAR), "silent", label, left, run.status)
            continue
        when = losses[0].time
        tally.add("reported")
        if tally.must(open_at(numbers, when + NEAR) > 0, "false", label, when):
            late = open_at(numbers, when - NEAR) > 0 or open_before(numbers, when - NEAR)
            tally.must(not late, "late", label, when)


def surfaces(count, rng, tally):
    """Compare `count` cases on one surface with the time known by quadrature."""
    system = st.PiecewiseSmooth(h=curved, f_plus=up, f_minus=down, x0=[0.0] * 9)
    for _ in range(count):
        level = rng.uniform(0.3, 2.0)
        numbers = [level, *rng.uniform([0.2, 0.0, 0.2, 0.0, -0.6], [2.0, 1.0, 2.0, 1.0, 0.6])]
        when = quad(pace, 0.0, level, args=(numbers[-1],), epsabs=1e-14)[0]
        object.__setattr__(system, "x0", np.array([0.0, 0.0, 0.2, *numbers]))
        run = st.solve(system, st.EventDriven(), t_span=(0.0, 1.5 * END), throw=False)
        losses = run.determinism.losses
        off = abs(losses[0].time - when) if losses else np.inf
        tally.add("surfaces")
        tally.most("off on a surface", off)
        tally.must(off <= NEAR, "surface", numbers, run.status, run.reason, losses[:1], when)


def campaign(cases: int = 200, seed: int = 1) -> tuple[str, int]:
    """Run as many cases of each kind as asked."""
    rng, tally = np.random.default_rng(seed), Tally()
    surfaces(cases, rng, tally)
    intersections(cases, rng, tally)
    return tally.result()
