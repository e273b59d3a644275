"""Sliding bifurcations of forced orbits in closed form, on random instances.

With the phase s = w t + phase and the distance q from the surface the flow is

    q' = w (-k q + g(s) + b -+ F+-),    y' = w (q - d y),    g(s) = cos s + B cos(2 s + psi).

Without k an arc off the surface is an integral of g, so that phases of events can be drawn and B,
F+ and F- follow from linear equations. Length, time, frame and origin are drawn as well.

Source: di Bernardo et al. 2008, section 8.1 (conditions of the four bifurcations).
"""

import dataclasses

import numpy as np

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)
TURN = 2.0 * np.pi


def distance(t, x, p):
    return p.c * (x[0] - p.o1) + p.s * (x[1] - p.o2)


def field(side):
    def rate(t, x, p):
        q = (p.c * (x[0] - p.o1) + p.s * (x[1] - p.o2)) / p.size
        y = (p.c * (x[1] - p.o2) - p.s * (x[0] - p.o1)) / p.size
        phase = p.w * t + p.phase
        push = np.cos(phase) + p.B * np.cos(2.0 * phase + p.psi) + p.b
        friction = p.plus if side > 0.0 else -p.minus
        dq = p.w * p.size * (push - p.k * q - friction)
        dy = p.w * p.size * (q - p.d * y)
        return [p.c * dq - p.s * dy, p.s * dq + p.c * dy]

    return rate


NAMES = ("c", "s", "o1", "o2", "size", "w", "phase", "k", "d", "B", "psi", "b", "plus", "minus")
FLOW = st.PiecewiseSmooth(
    h=distance,
    f_plus=field(1.0),
    f_minus=field(-1.0),
    x0=[1.0, 0.5],
    parameters=dict.fromkeys(NAMES, 1.0),
)


class Forcing:
    """g and its integral."""

    def __init__(self, ratio, psi):
        self.ratio, self.psi = ratio, psi

    def __call__(self, s):
        return np.cos(s) + self.ratio * np.cos(2.0 * s + self.psi)

    def integral(self, s):
        return np.sin(s) + 0.5 * self.ratio * np.sin(2.0 * s + self.psi)

    def slope(self, s):
        return -np.sin(s) - 2.0 * self.ratio * np.sin(2.0 * s + self.psi)


def balanced(first, last, psi):
    """Return g whose integral over an arc is that of its value at the start."""
    span = last - first
    single = np.sin(last) - np.sin(first) - np.cos(first) * span
    double = 0.5 * (np.sin(2.0 * last + psi) - np.sin(2.0 * first + psi))
    double -= np.cos(2.0 * first + psi) * span
    return Forcing(-single / double, psi)


def clear(values):
    """Return whether values are positive, and not small at a minimum inside."""
    inside = values[1:-1][(values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])]
    return (values > 0.0).all() and (inside > 0.2).all()


def crossing_sliding(rng):
    """Draw an orbit + - that crosses to + where the field of + is tangent."""
    first, psi = rng.uniform(0.0, TURN, 2)
    last = first + rng.uniform(1.0, 5.0)
    g, b = balanced(first, last, psi), rng.uniform(-1.0, 1.0)
    below = (g.integral(last) - g.integral(first)) / (TURN - (last - first))
    plus, minus = b + g(first), below - b
    above = np.linspace(first, last, 400)[2:-2]
    under = np.linspace(last, first + TURN, 400)[2:-2]
    valid = (
        abs(g.ratio) < 2.0
        and g.slope(first) > 0.2
        and clear(g.integral(above) - g.integral(first) - g(first) * (above - first))
        and clear(g.integral(last) - g.integral(under) - below * (under - last))
        and g(first) + below > 0.2
        and max(g(last) - g(first), g(last) + below) < -0.2
    )
    return valid, {"B": g.ratio, "psi": psi, "b": b, "plus": plus, "minus": minus}


def switching_sliding(rng):
    """Draw an orbit that arrives from + and slides where the field of - is tangent."""
    first, psi = rng.uniform(0.0, TURN, 2)
    last = first + rng.uniform(1.0, 5.0)
    g, b = balanced(first, last, psi), rng.uniform(-1.0, 1.0)
    above = np.linspace(first, last, 400)[2:-2]
    slides = g(np.linspace(last, first + TURN, 400)[2:-2])
    valid = (
        abs(g.ratio) < 2.0
        and min(g.slope(first), g.slope(last)) > 0.2
        and clear(g.integral(above) - g.integral(first) - g(first) * (above - first))
        and clear(g(first) - slides)
        and clear(slides - g(last))
        and g(first) - g(last) > 0.2
    )
    parts = {"plus": b + g(first), "minus": -b - g(last)}
    return valid, {"B": g.ratio, "psi": psi, "b": b, **parts}


def adding_sliding(rng):
    """Draw an orbit whose sliding segment reaches the edge of the sliding region inside."""
    touch, psi = rng.uniform(0.0, TURN, 2)
    g, b = Forcing(-np.sin(touch) / (2.0 * np.sin(2.0 * touch + psi)), psi), rng.uniform(-1.0, 1.0)
    bend = -np.cos(touch) - 4.0 * g.ratio * np.cos(2.0 * touch + psi)
    s = touch + np.linspace(0.0, TURN, 4001)
    off = g(s) - g(touch)
    leaves = np.flatnonzero((off[:-1] <= 0.0) & (off[1:] > 0.0))
    leaves = leaves[(leaves > 200) & (leaves < 3800)]
    valid = abs(g.ratio) < 2.0 and bend < -0.2 and leaves.size == 1
    if valid:
        # from there q is the integral of g - g(touch); it comes back before the touch
        k = int(leaves[0])
        height = np.cumsum(off[k:])[2:]
        back = np.flatnonzero(height <= 0.0)
        valid = back.size > 0 and back[0] + k < 3600 and g.slope(s[k]) > 0.2
        valid = valid and clear(height[: back[0] - 1]) and clear(-off[back[0] + k : 3990])
    return valid, {"B": g.ratio, "psi": psi, "b": b, "plus": b + g(touch), "minus": 4.0}


def grazing_sliding(rng):
    """Draw an orbit above the surface that touches it; unstable for k < 0."""
    k, plus = rng.uniform(0.1, 0.6) * rng.choice([-1.0, 1.0]), rng.uniform(0.0, 1.0)
    b = plus + k / np.hypot(k, 1.0)
    return True, {"k": k, "B": 0.0, "psi": 0.0, "b": b, "plus": plus, "minus": 4.0}


def drawn(draw, seed):
    """Return the flow at a bifurcation and its orbit's state at time 0 where it is explicit."""
    rng = np.random.default_rng(seed)
    valid, parts = False, {}
    while not valid:
        valid, parts = draw(rng)
    angle, unit, rate = (
        rng.uniform(0.0, TURN),
        10.0 ** rng.uniform(-3, 3),
        10.0 ** rng.uniform(-3, 3),
    )
    values = {
        "k": 0.0,
        "d": rng.uniform(0.5, 1.0),
        "c": np.cos(angle),
        "s": np.sin(angle),
        "o1": unit * rng.uniform(-1.0, 1.0),
        "o2": unit * rng.uniform(-1.0, 1.0),
        "size": unit,
        "w": rate,
        "phase": rng.uniform(0.0, TURN),
        **parts,
    }
    return dataclasses.replace(FLOW, scale=unit, parameters=values), values


def period(system):
    return TURN / system.parameter("p.w")


def response(values, b):
    """Return the state at time 0 of the orbit that stays above the surface."""
    k, s = values["k"], values["phase"]
    wave = np.exp(1j * s) / (k + 1j)
    q = (b - values["plus"]) / k + wave.real
    y = (b - values["plus"]) / (k * values["d"]) + (wave / (values["d"] + 1j)).real
    c, sn, size = values["c"], values["s"], values["size"]
    return [
        values["o1"] + size * (c * q - sn * y),
        values["o2"] + size * (sn * q + c * y),
    ]


def branch_of(draw, seed):
    flow, values = drawn(draw, seed)
    exact, width = values["b"], 0.005
    if draw is grazing_sliding:
        start = exact + 0.8 * width * np.sign(values["k"])
        cycle = st.find_cycle(
            flow.with_parameters(b=start), response(values, start), METHOD, period=period
        )
    else:
        start = exact - 0.8 * width
        guess = [values["o1"], values["o2"] + 0.3 * values["size"]]
        cycle = st.find_cycle(
            flow.with_parameters(b=start), guess, METHOD, period=period, settle=40.0 / values["w"]
        )
    return exact, values, st.continue_cycle(cycle, "p.b", (exact - width, exact + width))
