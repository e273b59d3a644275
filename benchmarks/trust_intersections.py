"""Random fields at codimension-2 intersections, against exact enumeration of exit directions.

Every field is four constant vectors with three decimals, so that exit directions are counted
in rational arithmetic (`stiction.exact.intersections`). Each is run from the intersection and,
where a half surface or a quadrant leads to it, from a point of that; with Stop, Leave to both
sides, and Sample.
"""

from __future__ import annotations

import time

import numpy as np
from tally import Tally

import stiction as st
from stiction.exact.intersections import HALVES, QUADRANTS, exit_directions, half_surface

END, ARRIVAL = 1.0, 0.2
POLICIES = {"+": 1, "-": -1, "sample": None}


def field(x, s):
    """Return x' for the state (x1, x2, x3, twelve numbers)."""
    k = (0 if s[0] > 0.0 else 6) + (0 if s[1] > 0.0 else 3)
    out = np.zeros(15)
    out[0], out[1], out[2] = x[3 + k], x[4 + k], x[5 + k]
    return out


def random_fields(rng):
    """Return (4, 3) vectors in thousandths; a quarter of them turn around the middle."""
    f = rng.integers(-2000, 2001, (4, 3))
    f[f == 0] = 1
    if rng.random() < 0.25:
        way = rng.choice([-1, 1])
        for c, (a, b) in enumerate(QUADRANTS):
            f[c, 0], f[c, 1] = -way * b * abs(f[c, 0]), way * a * abs(f[c, 1])
    return f


class Intersection:
    """One compiled flow for all fields, and how the comparisons came out."""

    def __init__(self):
        h = [lambda x: x[0], lambda x: x[1]]
        self.system = st.PiecewiseSmooth(h=h, f=field, x0=[0.0] * 15)
        self.tally = Tally()

    def run(self, f, x0, policy=None):
        """Return the run from (x1, x2, 0)."""
        object.__setattr__(self.system, "x0", np.array([*x0, 0.0, *(f.ravel() / 1000.0)]))
        method = st.EventDriven(policy=policy, max_events=100_000, max_steps=400_000)
        return st.solve(self.system, method, t_span=(0.0, END), throw=False)

    def check(self, f, x0=(0.0, 0.0), begin=0.0, before=(0.0, 0.0, 0.0)):
        """Compare one start; it is where the surfaces meet, at `before`, from `begin` on."""
        found, run, tally = exit_directions(f), self.run(f, x0), self.tally
        lost, label = run.determinism.losses, (x0, f.tolist(), found)
        tally.add("unique" if len(found) == 1 else "not unique")
        if not found:
            self.tally.fault("nothing leads on", *label)
        elif len(found) > 1 and not lost:
            self.tally.fault("non-unique called deterministic", *label)
        elif len(found) > 1:
            on_time = abs(lost[0].time - begin) <= 1e-9
            tally.must(on_time, "reported at another time", lost[0].time, *label)
            self.follow(f, x0, begin, np.array(before), found)
        elif lost or run.status.name != "SOLVED":
            self.tally.fault("unique refused", run.status, run.reason, *label)
        else:
            want = np.array(before) + (END - begin) * np.array(found[0].flow) / 1000.0
            off = float(np.max(np.abs(end_of(run) - want)))
            tally.most("error", off)
            tally.must(off <= 1e-9, "unique wrong", off, *label)

    def follow(self, f, x0, begin, before, found):
        """See that policies take something open, to the wanted side, without hanging."""
        for name, side in POLICIES.items():
            seed = self.tally.counts["not unique"]
            policy = st.switching.Sample(seed=seed) if side is None else st.switching.Leave(name)
            began = time.perf_counter()
            run, label = self.run(f, x0, policy), (name, x0, f.tolist(), found)
            spent = time.perf_counter() - began
            self.tally.most("seconds", spent)
            self.tally.add("policies")
            may = [w for w in found if side is None or side in w.signs or w.kind == "spiral"]
            if run.status.name == "STOPPED":
                self.tally.must(not may, "stopped though open", run.reason, *label)
                continue
            if run.status.name != "SOLVED":
                self.tally.fault("hangs", run.status, run.reason, *label)
                continue
            choice = run.determinism.losses[0].choice
            taken = [w for w in may if w.kind == choice.split()[0].strip(",")]
            ends = [before + (END - begin) * np.array(w.flow) / 1000.0 for w in taken if w.flow]
            if not taken:
                self.tally.fault("took what is not open", choice, *label)
            elif taken[0].kind in ("slip", "slide"):
                off = min(float(np.max(np.abs(end_of(run) - e))) for e in ends)
                self.tally.must(off <= 1e-9, "ended elsewhere", off, choice, *label)


def end_of(run):
    """Return the last (x1, x2, x3)."""
    return np.array([float(np.ravel(run.final[f"x{k}"])[-1]) for k in (1, 2, 3)])


def campaign(fields: int = 2000, seed: int = 1) -> tuple[str, int]:
    """Run as many fields as asked."""
    rng, case = np.random.default_rng(seed), Intersection()
    for _ in range(fields):
        f = random_fields(rng)
        case.check(f)
        for e in range(4):
            kind, flow, outward = half_surface(f, e)
            if kind == 1 and outward < 0:
                x0 = [0.0, 0.0]
                x0[1 if e < 2 else 0] = -ARRIVAL * float(outward) / 1000.0 * sum(HALVES[e])
                case.check(f, x0, ARRIVAL, (0.0, 0.0, ARRIVAL * float(flow[2]) / 1000.0))
                break
        for c, signs in enumerate(QUADRANTS):
            if signs[0] * f[c, 0] < 0 and signs[1] * f[c, 1] < 0:
                x0 = -ARRIVAL * f[c, :2] / 1000.0
                case.check(f, x0.tolist(), ARRIVAL, (0.0, 0.0, ARRIVAL * f[c, 2] / 1000.0))
                break
    return case.tally.result()
