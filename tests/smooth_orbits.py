"""Folds, flips and Neimark-Sacker bifurcations of switched flows in closed form.

The field switches at the zeros of sin(s), s = w t + phase. In units of the phase it is

    x' = a x + r J x + (e x1^2 + q, u x1),    then    x' = -D x + r' J x + (c, 0),

with J a quarter turn. Without e the map of a period is linear with the factor exp(pi (a + r J))
times that of the second half. With e = 1 and a = r = 0 the first half is a Riccati equation.
Length, time, frame and origin are drawn as well.
"""

import dataclasses

import numpy as np

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)
TURN = 2.0 * np.pi


def clock(t, x, p):
    return np.sin(p.w * t + p.phase)


def field(side):
    def rate(t, x, p):
        a = (p.cos * (x[0] - p.o1) + p.sin * (x[1] - p.o2)) / p.size
        b = (p.cos * (x[1] - p.o2) - p.sin * (x[0] - p.o1)) / p.size
        if side > 0.0:
            da = p.a * a - p.r * b + p.e * a * a + p.q
            db = p.a * b + p.r * a + p.u * a - p.v * b
        else:
            da = -p.d1 * a - p.r2 * b + p.c
            db = -p.d2 * b + p.r2 * a
        da, db = p.w * p.size * da, p.w * p.size * db
        return [p.cos * da - p.sin * db, p.sin * da + p.cos * db]

    return rate


NAMES = [
    "cos",
    "sin",
    "o1",
    "o2",
    "size",
    "w",
    "phase",
    "a",
    "r",
    "e",
    "q",
    "u",
    "v",
    "d1",
    "d2",
    "r2",
    "c",
]
FLOW = st.PiecewiseSmooth(
    h=clock,
    f_plus=field(1.0),
    f_minus=field(-1.0),
    x0=[1.0, 0.5],
    parameters=dict.fromkeys(NAMES, 1.0),
)


def period(system):
    return TURN / system.parameter("p.w")


def fold(rng):
    """Fixed points of (x + q s)/(1 - x s) + c with s = tan(pi sqrt q)/sqrt q: a quadratic."""
    root = rng.uniform(0.1, 0.35)
    q, slope = root * root, np.tan(np.pi * root) / root
    jump = 2.0 * (1.0 - np.sqrt(1.0 + q * slope * slope)) / slope
    v = rng.uniform(0.3, 1.0)
    parts = {"e": 1.0, "q": q, "u": rng.uniform(0.2, 1.0), "v": v, "d2": rng.uniform(0.3, 1.0)}

    def at(values, c):
        """Return a at time 0 on the lower orbit."""
        total, s = np.pi * c, values["phase"]
        low = (total - np.sqrt(total * total - 4.0 * (q + total / slope))) / 2.0
        if s >= np.pi:
            return (low - total) + c * (s - np.pi)
        t = np.tan(root * s) / root
        return (low + q * t) / (1.0 - low * t)

    return "p.c", jump / np.pi, {**parts, "c": jump / np.pi}, at


def flip(rng):
    """Half a turn, then decay in two directions: multipliers -exp(pi (a - d))."""
    d, far = rng.uniform(0.05, 0.3), rng.uniform(0.4, 1.0)
    parts = {"r": 1.0, "q": rng.uniform(0.2, 1.0), "d1": d, "d2": far, "c": 0.3}
    return "p.a", d, {**parts, "a": d}, lambda values, a: 0.0


def neimark_sacker(rng):
    """A turn by an angle in each half: multipliers exp(pi (a - d) +- i pi (r + r'))."""
    d, angle = rng.uniform(0.05, 0.3), rng.uniform(0.1, 0.9)
    first = rng.uniform(0.0, 1.0)
    parts = {"r": angle * first, "r2": angle * (1.0 - first), "d1": d, "d2": d, "c": 0.3}
    return "p.a", d, {**parts, "a": d, "q": rng.uniform(0.2, 1.0)}, lambda values, a: 0.0


def branch_of(draw, seed):
    rng = np.random.default_rng(seed)
    name, exact, parts, at = draw(rng)
    turn, unit, rate = rng.uniform(0.0, TURN), *(10.0 ** rng.uniform(-3.0, 3.0, 2))
    values = {
        **dict.fromkeys(NAMES, 0.0),
        "cos": np.cos(turn),
        "sin": np.sin(turn),
        "o1": unit * rng.uniform(-1.0, 1.0),
        "o2": unit * rng.uniform(-1.0, 1.0),
        "size": unit,
        "w": rate,
        "phase": rng.uniform(0.0, TURN),
        **parts,
    }
    start = exact - 0.01
    a = at(values, start)
    guess = [values["o1"] + unit * np.cos(turn) * a, values["o2"] + unit * np.sin(turn) * a]
    values[name.removeprefix("p.")] = start
    flow = dataclasses.replace(FLOW, scale=unit, parameters=values)
    cycle = st.find_cycle(flow, guess, METHOD, period=period)
    return exact, st.continue_cycle(cycle, name, (exact - 0.012, exact + 0.012))
