"""One problem in many systems of units: the same numbers to 1e-8, the same iterations but for one.

Lengths from 1e-12 m to 1e6 m and moduli from 1e-6 to 1e15 Pa, for load steps with springs,
pressure, stages, a turning circle, two bodies by the two-half-pass, arc length and motion.
"""

from __future__ import annotations

import numpy as np
from tally import Tally

import stiction as st
from stiction import solids as so
from stiction.laws import EA, LennardJones

UNITS = [(1e-12, 1e15), (1e-12, 1e-6), (1e-9, 1e9), (1e-6, 1e6), (1.0, 1.0), (1.0, 1e15)]
UNITS += [(1e3, 1e-6), (1e6, 1e15), (1e6, 1e-6), (1e-3, 2e11)]


def parts(m: float, pa: float) -> dict[str, object]:
    """Return every problem in units of length m and stress pa."""
    law = LennardJones.from_strength(0.05 * pa, 0.01 * pa * m)
    block = so.Body(so.rectangle(2.0 * m, m, (8, 4)), so.Q1(), so.NeoHookean(pa, 0.3))
    foot, top = so.Fixed(so.Boundary(0, "bottom")), so.Boundary(0, "top")
    plate = so.RigidPlane((0.0, m + law.gap_eq), (0.0, -1.0))
    down = so.Driven(so.Rigid(0), 1, so.Program((0.0, 0.5), (0.0, -0.05 * m)))
    aside = so.Driven(so.Rigid(0), 0, so.Program((0.5, 1.0), (0.0, 0.05 * m)))

    def touching(*more: object, partner: object = plate, stages: object = ()) -> st.Solid:
        contact = so.Contact(top, partner, law, EA(0.4))
        return st.Solid([block], [contact], [foot, *more], stages=stages)

    circle = so.RigidCircle((m, m + law.gap_eq + 0.8 * m), 0.8 * m)
    raised = so.rectangle(2.0 * m, m, (7, 3), (0.0, m + law.gap_eq))
    upper = so.Body(raised, so.Q1(), so.NeoHookean(pa, 0.3))
    pair = so.Contact(top, so.Boundary(1, "bottom"), law, EA(0.4))
    above = so.Boundary(1, "top")
    both = [
        foot,
        so.Driven(above, 1, so.Program((0.0, 0.5), (0.0, -0.05 * m))),
        so.Driven(above, 0, so.Program((0.5, 1.0), (0.0, 0.05 * m))),
    ]
    spring = so.Spring(so.Rigid(0), 0, 0.3 * pa, so.Program((0.5, 1.0), (0.0, 0.1 * m)))
    wind = so.Pressure(so.Boundary(0, "left"), so.Program((0.0, 1.0), (0.0, 0.02 * pa)))
    turned = so.Turned(so.Rigid(0), so.Program((0.5, 1.0), (0.0, 0.05)))
    stages = [so.Stage(0.5, [down]), so.Stage(1.0, [aside])]
    steps, alpha = st.solids.Quasistatic(steps=20), st.solids.GeneralisedAlpha(steps=40)
    lift = so.Driven(so.Rigid(0), 1, so.Program((0.0, 1.0), (0.0, 0.3 * m)))
    # density in units in which a second stays one
    heavy = 1e-3 * pa / m**2
    return {
        "driven": (touching(down, aside), steps),
        "spring": (touching(down, spring), steps),
        "pressure": (touching(down, aside, wind), steps),
        "stages": (touching(stages=stages), steps),
        "drum": (touching(down, turned, partner=circle), steps),
        "two bodies": (st.Solid([block, upper], [pair], both), steps),
        "arc length": (touching(lift), st.Continuation(steps=20)),
        "motion": (so.MovingSolid(touching(down, spring, wind), heavy, 5.0), alpha),
        "motion, stages": (so.MovingSolid(touching(stages=stages), heavy, 5.0), alpha),
    }


def numbers(run: st.Run, m: float, pa: float) -> dict[str, np.ndarray]:
    """Return what is compared, without units."""
    found = {
        "force_x": run.variables["force_x"].values / (pa * m),
        "force_y": run.variables["force_y"].values / (pa * m),
        "gap": run.variables["gap"].values / m,
        "traction": run.variables["normal_traction"].values / pa,
        "stored": run.energy.stored / (pa * m**2),
    }
    return {name: np.asarray(values) for name, values in found.items()}


def compare(name: str, tally: Tally) -> None:
    """Compare one problem in all systems of units."""
    system, method = parts(1.0, 1.0)[name]
    base = st.solve(system, method, throw=False)
    known, count = numbers(base, 1.0, 1.0), int(base.stats["newton_iterations"])
    print(f"{name}: {base.status.name}, {count} iterations", flush=True)
    for m, pa in UNITS:
        run = st.solve(*parts(m, pa)[name], throw=False)
        here = f"{name} at {m:g} m, {pa:g} Pa"
        if not tally.must(run.status is base.status, "status", here, run.status.name, run.reason):
            continue
        for what, values in numbers(run, m, pa).items():
            there = np.isfinite(known[what])
            same = values.shape == there.shape and (there == np.isfinite(values)).all()
            if not tally.must(same, "other samples", here, what):
                continue
            # a force that vanishes is measured by the other one
            size = np.abs(known["force_y" if what == "force_x" else what][there]).max()
            off = np.abs(values - known[what])[there].max() / max(float(size), 1e-300)
            tally.most("difference", off)
            tally.must(off < 1e-8, "other numbers", here, what, off)
        more = abs(int(run.stats["newton_iterations"]) - count)
        tally.most("iterations more or less", more)
        tally.must(more <= 1, "other iterations", here, more)


def campaign(problems: tuple[str, ...] = ("all",)) -> tuple[str, int]:
    """Compare the problems that are named."""
    tally = Tally()
    for name in parts(1.0, 1.0) if problems == ("all",) else problems:
        compare(name, tally)
    return tally.result()
