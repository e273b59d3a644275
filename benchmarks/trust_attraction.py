"""Sliding that stops attracting, on one surface and where two meet: is it told, and when?

::

    python benchmarks/trust_attraction.py 200 1        # how many cases of each kind, seed

Where two surfaces meet the rates in the four corners are A + B (t + c sin(w t)), with numbers so
drawn that staying is the only way at first. The time at which the first other way opens is
bisected on the enumeration of `trust_corners`, which shares no code with the package. On one
surface both rates vanish at one moment: a two-fold, behind which the region repels.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import trust_corners as exact

import stiction as st

END = 3.0


def field(x, s):
    k = (0 if s[0] > 0.0 else 8) + (0 if s[1] > 0.0 else 4)
    g = x[2] + x[19] * math.sin(x[20] * x[2])
    out = np.zeros(21)
    out[0], out[1], out[2] = x[3 + k] + g * x[5 + k], x[4 + k] + g * x[6 + k], 1.0
    return out


def up(x):
    out = np.zeros(8)
    out[0] = -(x[3] - x[1]) * (x[4] + x[5] * x[1] * x[1])
    out[1], out[2] = 1.0, x[2] * 0.3 + x[0]
    return out


def down(x):
    out = np.zeros(8)
    out[0] = (x[3] - x[1]) * (x[6] + x[7] * math.sin(x[1]) * math.sin(x[1]))
    out[1], out[2] = 1.0, 1.0 - x[2]
    return out


def corners(numbers, t):
    """Return (4, 3) the rates in the corners at a time, in units of 1e-12."""
    g = t + numbers[16] * math.sin(numbers[17] * t)
    a = numbers[:16].reshape(4, 2, 2)
    f = a[:, 0] + g * a[:, 1]
    return np.hstack([np.rint(f * 1e12).astype(object), np.full((4, 1), 0, dtype=object)])


def open_at(numbers, t):
    """Return how many ways beside the first sliding vector are open."""
    return len(exact.ways(corners(numbers, t))) - 1


def first_opening(numbers):
    """Return when another way opens first: a fine grid, then halving; None if none does."""
    grid = np.linspace(0.0, END, 1501)
    for low, high in zip(grid[:-1], grid[1:], strict=True):
        if open_at(numbers, high) != 0:
            for _ in range(50):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if open_at(numbers, middle) != 0 else (middle, high)
            return high
    return None


def draw(rng):
    """Return numbers with which staying is the only way at the start."""
    while True:
        f = np.array(exact.random_field(rng), dtype=float)[:, :2] / 1000.0
        rise = rng.normal(0.0, 0.7, (4, 2))
        wave = rng.choice([0.0, 0.0, 0.5]), rng.uniform(1.0, 6.0)
        numbers = np.array([*np.stack([f, rise], 1).ravel(), *wave])
        found = exact.ways(corners(numbers, 0.0))
        if len(found) == 1 and found[0][0] == "stay":
            return numbers


def intersections(count, rng):
    """Compare `count` cases where two surfaces meet; return how they came out."""
    h = [lambda x: x[0], lambda x: x[1]]
    system = st.PiecewiseSmooth(h=h, f=field, x0=[0.0] * 21)
    tally = {"told": 0, "silent": 0, "early": 0, "off": 0.0, "never": 0, "left before": 0}
    while tally["told"] + tally["silent"] < count:
        numbers = draw(rng)
        when = first_opening(numbers)
        object.__setattr__(system, "x0", np.array([0.0, 0.0, 0.0, *numbers]))
        run = st.solve(system, st.EventDriven(), t_span=(0.0, END), throw=False)
        losses = run.determinism.losses
        left = run.events["time"].min() if len(run.events) else math.inf
        if when is None or left < when:
            # staying ended before, through its own fold
            tally["never" if when is None else "left before"] += 1
            if losses and losses[0].time < min(left, when or math.inf) - 1e-9:
                tally["early"] += 1
                print("EARLY", numbers.tolist(), losses, when)
            continue
        if not losses:
            tally["silent"] += 1
            print("SILENT", numbers.tolist(), when, run.status)
            continue
        tally["told"] += 1
        off = abs(losses[0].time - when)
        tally["off"] = max(tally["off"], off)
        if off > 1e-9:
            print("OFF", off, numbers.tolist(), losses[0].time, when)
    return tally


def surfaces(count, rng):
    """Compare `count` cases on one surface; return how they came out."""
    system = st.PiecewiseSmooth(h=lambda x: x[0], f_plus=up, f_minus=down, x0=[0.0] * 8)
    tally = {"told": 0, "silent": 0, "off": 0.0}
    for _ in range(count):
        when = rng.uniform(0.3, 2.7)
        numbers = [when, *rng.uniform([0.2, 0.0, 0.2, 0.0], [2.0, 1.0, 2.0, 1.0])]
        object.__setattr__(system, "x0", np.array([0.0, 0.0, 0.2, *numbers]))
        run = st.solve(system, st.EventDriven(), t_span=(0.0, END), throw=False)
        losses = run.determinism.losses
        tally["told" if losses else "silent"] += 1
        off = abs(losses[0].time - when) if losses else 0.0
        tally["off"] = max(tally["off"], off)
        if off > 1e-9 or not losses:
            print("SURFACE", numbers, run.status, run.reason, losses[:1])
    return tally


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(seed)
    print("surfaces", surfaces(count, rng), flush=True)
    print("intersections", intersections(count, rng))


if __name__ == "__main__":
    main()
