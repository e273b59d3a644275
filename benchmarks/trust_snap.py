"""Snap-off with inertia against the energy that continuation sets free: strip and cap.

::

    python benchmarks/trust_snap.py [strip | cap]

The support is driven slowly to just beyond the limit point and held there, until drag has
brought the solid to rest on the far branch. Heat of drag and what the scheme took since the
limit point is the energy set free; continuation knows it from both branches, beforehand.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import stiction as st
from stiction.solids import (
    Boundary,
    Continuation,
    Driven,
    Fixed,
    GeneralisedAlpha,
    MovingSolid,
    Program,
    Readings,
    Rigid,
    Solid,
)

# how far beyond the limit point supports are held
BEYOND = 1.002


def strip(times, values):
    """A short strip on a plane without friction, lifted at its end."""
    parts = st.StripPeeling(
        length=30.0,
        adhering=20.0,
        height=4.0,
        cells=(60, 2),
        model=st.laws.Frictionless(),
    ).assembled()
    drive, held = parts.conditions
    conditions = [Driven(drive.where, 1, Program(times, values)), held]
    return Solid(
        parts.bodies, parts.contacts, conditions, readings=parts.readings, dimensionless=True
    )


def cap(times, values):
    """A coarse cap under a plate without friction that is pulled away."""
    parts = st.CapSliding(model=st.laws.Frictionless(), cells=(60, 6)).assembled()
    return Solid(
        parts.bodies,
        parts.contacts,
        [
            Driven(Rigid(0), 1, Program(times, values)),
            Fixed(Rigid(0), (0,)),
            Fixed(Boundary(0, "bottom")),
        ],
        attraction=parts.attraction,
        readings=Readings(displacement=0, start=times[0]),
        dimensionless=True,
    )


def predicted(run) -> tuple[float, float]:
    """Return the displacement at which supports are held, and the energy set free there."""
    e, u = run.energy, run.variables["displacement"].values
    total, force = e.stored + e.adhesive, run.variables["force_y"].values
    first = int(np.argmax(np.diff(u) < 0.0))
    # the parabola through three points around the limit point
    near = np.arange(first - 1, first + 2)
    way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(u[near]), np.diff(total[near])))])
    bend, slope, level = np.polyfit(way, u[near], 2)
    top = -0.5 * slope / bend
    limit = float(np.polyval([bend, slope, level], top))
    at_limit = float(np.polyval(np.polyfit(way, total[near], 2), top))
    held = BEYOND * limit
    back = first + int(np.argmax(np.diff(u[first:]) > 0.0))
    after = float(np.interp(held, u[back:], total[back:]))
    return held, at_limit + abs(float(force[first])) * (held - limit) - after


def set_free(run, begin: float) -> float:
    """Return what drag and the scheme took from a time on, and what still moves."""
    e = run.energy
    lost = e.kinetic + e.viscous_heat + e.algorithmic
    return float(lost[-1] - np.interp(begin, e.time, lost))


def compare(make, start, u_end, steps, density, drag, tolerance) -> tuple[float, float, float]:
    """Return the energy predicted, that of motion, and the imbalance of its ledger."""
    path = st.solve(make((start, 1.0), (0.0, u_end)), Continuation(steps=steps))
    held, energy = predicted(path)
    end = 1.0 + 40.0 / drag
    method = GeneralisedAlpha(steps=round(100 * end), tolerance=tolerance)
    moving = MovingSolid(make((start, 1.0, end), (0.0, held, held)), density, drag)
    run = st.solve(moving, method, (0.0, end))
    return energy, set_free(run, start + (1.0 - start) / BEYOND), run.energy.imbalance_rel


CASES = {
    "strip": (strip, 0.0, 30.0, 240, 1e-10, 100.0, 3e-3),
    "cap": (cap, 0.1, 1.5, 200, 1e-8, 400.0, 3e-3),
}


def main() -> None:
    """Print a line for each case."""
    for name in sys.argv[1:] or CASES:
        begin = time.process_time()
        energy, moved, closed = compare(*CASES[name])
        print(
            f"{name}: continuation {energy:.6g}, motion {moved:.6g}, "
            f"ratio {moved / energy:.4f}, ledger {closed:.1e}, "
            f"{time.process_time() - begin:.0f} s of CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
