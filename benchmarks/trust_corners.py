"""Random corner fields where two surfaces meet, against exact enumeration of what leads on.

::

    python benchmarks/trust_corners.py 2000 1        # how many fields, seed

Every field is four constant vectors, one for each combination of signs; the vectors have three
decimals, so that the ways on from the origin are counted in rational arithmetic: corners, half
surfaces, spirals, and the roots of the bilinear pair (the sign of a root of a quadratic against
a rational number is rational too). Each is run from the origin and, where a half surface leads
in, from a point of it; with Stop, Leave to both sides, and Sample. Imports no kernel of ours.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import numpy as np

import stiction as st

SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
HALVES = ((0, 1), (0, -1), (1, 0), (-1, 0))
END = 1.0


def field(x, s):
    k = (0 if s[0] > 0.0 else 6) + (0 if s[1] > 0.0 else 3)
    out = np.zeros(15)
    out[0], out[1], out[2] = x[3 + k], x[4 + k], x[5 + k]
    return out


def random_field(rng):
    """Return (4, 3) vectors in thousandths; a quarter of them turn around the origin."""
    f = rng.integers(-2000, 2001, (4, 3))
    f[f == 0] = 1
    if rng.random() < 0.25:
        way = rng.choice([-1, 1])
        for c, (a, b) in enumerate(SIGNS):
            f[c, 0], f[c, 1] = -way * b * abs(f[c, 0]), way * a * abs(f[c, 1])
    return f


def half(f, e):
    """Return whether half surface e attracts (1), repels (-1) or neither (0), and its flow."""
    a, b = HALVES[e]
    k = 0 if a == 0 else 1
    pair = [c for c, s in enumerate(SIGNS) if s[1 - k] == (b if a == 0 else a)]
    up, down = (pair if SIGNS[pair[0]][k] == 1 else pair[::-1])
    lp, lm = Fraction(int(f[up, k])), Fraction(int(f[down, k]))
    kind = 1 if lp < 0 < lm else -1 if lm < 0 < lp else 0
    if not kind:
        return 0, None, None
    share = lm / (lm - lp)
    flow = [share * int(f[up, d]) + (1 - share) * int(f[down, d]) for d in range(3)]
    return kind, flow, (b if a == 0 else a) * flow[1 - k]


def roots(f):
    """Return the admissible (u, v) of the bilinear pair, exactly counted, as floats."""
    rows = []
    for k in range(2):
        g = {s: Fraction(int(f[c, k])) for c, s in enumerate(SIGNS)}
        rows.append([
            sum(v for v in g.values()),
            sum(s[0] * v for s, v in g.items()),
            sum(s[1] * v for s, v in g.items()),
            sum(s[0] * s[1] * v for s, v in g.items()),
        ])
    (a0, a1, a2, a3), (b0, b1, b2, b3) = rows
    found = []

    def cut(which):
        """Coefficients of the quadratic for u (0) or v (1)."""
        if which == 0:
            return b1 * a3 - b3 * a1, b0 * a3 + b1 * a2 - b2 * a1 - b3 * a0, b0 * a2 - b2 * a0
        return b2 * a3 - b3 * a2, b0 * a3 + b2 * a1 - b1 * a2 - b3 * a0, b0 * a1 - b1 * a0

    def bracket(q, w):
        """Return isolated rational brackets, narrow, of the real roots of a quadratic."""
        a, b, c = q
        if a == 0:
            return [(-c / b, -c / b)] if b else []
        disc = b * b - 4 * a * c
        if disc < 0:
            return []
        scale = 10**w
        low = Fraction(isqrt(disc * scale * scale), scale)
        high = low + Fraction(1, scale)
        ends = [((-b + low) / (2 * a), (-b + high) / (2 * a))]
        ends.append(((-b - low) / (2 * a), (-b - high) / (2 * a)))
        return [tuple(sorted(e)) for e in ends]

    for lo, hi in bracket(cut(0), 60):
        u = (lo + hi) / 2
        d1, d2 = a2 + a3 * u, b2 + b3 * u
        v = -(a0 + a1 * u) / d1 if abs(d1) >= abs(d2) else -(b0 + b1 * u) / d2
        if abs(u) <= 1 and abs(v) <= 1:
            found.append((float(u), float(v)))
    return found


def isqrt(value):
    import math

    return math.isqrt(value.numerator // value.denominator)


def ways(f):
    """Return every way on from the origin: (kind, signs, flow)."""
    found = []
    for c, (a, b) in enumerate(SIGNS):
        if a * f[c, 0] > 0 and b * f[c, 1] > 0:
            found.append(("slip", SIGNS[c], [int(v) for v in f[c]]))
    for e in range(4):
        kind, flow, out = half(f, e)
        if kind and out > 0:
            found.append(("slide" if kind > 0 else "escape", HALVES[e], flow))
    for u, v in roots(f):
        weights = [0.25 * (1 + a * u) * (1 + b * v) for a, b in SIGNS]
        found.append(("stay", (0, 0), [sum(w * g for w, g in zip(weights, f[:, d])) for d in range(3)]))
    for way in (1, -1):
        # corners in the order in which they are passed, growing over shrinking distance
        grow = shrink = Fraction(1)
        turning = True
        for c, (a, b) in enumerate(SIGNS):
            g = (a * int(f[c, 0]), b * int(f[c, 1]))
            first = (a * b == 1) == (way == 1)
            falls, rises = (g[0], g[1]) if first else (g[1], g[0])
            turning = turning and falls < 0 < rises
            grow, shrink = grow * rises, shrink * falls
        if turning and grow > shrink:
            found.append(("spiral", (0, 0), None))
    return found


class Case:
    def __init__(self):
        h = [lambda x: x[0], lambda x: x[1]]
        self.system = st.PiecewiseSmooth(h=h, f=field, x0=[0.0] * 15)

    def run(self, f, x0, policy=None):
        start = np.array([*x0, *(f.ravel() / 1000.0)])
        object.__setattr__(self.system, "x0", start)
        method = st.EventDriven(policy=policy, max_events=100_000, max_steps=400_000)
        return st.solve(self.system, method, t_span=(0.0, END), throw=False)


def end_of(run):
    return np.array([float(np.ravel(run.final[f"x{k}"])[-1]) for k in (1, 2, 3)])


def check(case, f, x0, arrive, tally):
    """Compare one start with the enumeration."""
    found = ways(f)
    stop = case.run(f, x0)
    lost = stop.determinism.status == "lost"
    label = f"{'arrival' if arrive else 'start'} {f.tolist()}"
    tally["unique" if len(found) == 1 else "not unique"] += 1
    if not found:
        tally["nothing"] += 1
        return
    if len(found) > 1 and not lost:
        tally["non-unique called deterministic"] += 1
        print("CALLED DETERMINISTIC", label, found)
        return
    if len(found) == 1:
        if lost or stop.status.name != "SOLVED":
            tally["unique refused"] += 1
            print("REFUSED", label, stop.status, stop.reason, found)
            return
        left = END - arrive
        there = np.array([0.0, 0.0, float(x0[2])]) if not arrive else case.arrived
        want = there + left * np.array([float(v) for v in found[0][2]]) / 1000.0
        off = float(np.max(np.abs(end_of(stop) - want)))
        tally["largest error"] = max(tally["largest error"], off)
        if off > 1e-9:
            tally["unique wrong"] += 1
            print("WRONG", label, end_of(stop), want, found)
        return
    told = stop.determinism.losses[0]
    if abs(told.time - arrive) > 1e-9:
        tally["told late"] += 1
        print("LATE", label, told.time, arrive)
    follow(case, f, x0, arrive, found, label, tally)


def follow(case, f, x0, arrive, found, label, tally):
    """Follow what policies take: something open, to the wanted side, and without hanging."""
    base = case.arrived if arrive else np.zeros(3)
    policies = {"+": st.switching.Leave("+"), "-": st.switching.Leave("-")}
    policies |= {"sample": st.switching.Sample(seed=tally["not unique"])}
    for name, policy in policies.items():
        began = time.perf_counter()
        run = case.run(f, x0, policy)
        tally["slowest"] = max(tally["slowest"], time.perf_counter() - began)
        tally["policies"] += 1
        choice = run.determinism.losses[0].choice if run.determinism.losses else ""
        if run.status.name not in ("SOLVED", "STOPPED"):
            tally["hangs"] += 1
            print("HANGS", name, label, run.status, run.reason)
            continue
        side = {"+": 1, "-": -1}.get(name)
        sided = [w for w in found if side is None or side in w[1] or w[0] == "spiral"]
        if run.status.name == "STOPPED":
            if sided:
                tally["wrong stop"] += 1
                print("STOPPED", name, label, run.reason, found)
            continue
        kind = choice.split()[0].strip(",")
        if kind not in [w[0] for w in sided]:
            tally["wrong way"] += 1
            print("WAY", name, label, choice, found)
            continue
        ends = [base + (END - arrive) * np.array([float(v) for v in w[2]]) / 1000.0
                for w in sided if w[2] is not None and w[0] == kind]
        if kind in ("slip", "slide") and ends:
            off = min(float(np.max(np.abs(end_of(run) - e))) for e in ends)
            if off > 1e-9:
                tally["way left"] += 1
                print("LEFT", name, label, choice, end_of(run), ends)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng, case = np.random.default_rng(seed), Case()
    names = ("unique", "not unique", "nothing", "non-unique called deterministic", "unique refused",
             "unique wrong", "told late", "hangs", "wrong stop", "wrong way", "way left",
             "policies", "largest error", "slowest")
    tally = dict.fromkeys(names, 0)
    began = time.perf_counter()
    for _ in range(count):
        f = random_field(rng)
        check(case, f, (0.0, 0.0, 0.0), 0.0, tally)
        for e in range(4):
            kind, flow, out = half(f, e)
            if kind == 1 and out < 0:
                far = 0.2 * float(-out) / 1000.0
                x0 = [0.0, 0.0, 0.0]
                x0[1 if e < 2 else 0] = far * (1.0 if e % 2 == 0 else -1.0)
                case.arrived = np.array([0.0, 0.0, 0.2 * float(flow[2]) / 1000.0])
                check(case, f, tuple(x0), 0.2, tally)
                break
    print(tally, f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
