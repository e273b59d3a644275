"""Bodies in space beside closed forms: Hertz on refined meshes, and the sheared cap.

python benchmarks/solids_space.py [--quick] [hertz] [cap]
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from record import Record

import stiction as st
from stiction.laws import LennardJones
from stiction.solids import (
    Q1N2,
    Boundary,
    CapSliding3D,
    Contact,
    Driven,
    Fixed,
    NeoHookean,
    Program,
    Readings,
    Rigid,
    RigidSphere,
    Solid,
    SweptBody,
    rectangle,
)
from stiction.solids.equilibria.problem import Problem

# a sphere of radius one on a block of nu = 0.3; the contact's radius of Hertz, and the block's size
RADIUS, SIZE, POISSON = 0.05, 0.6, 0.3
MODULUS = 1.0 / (1.0 - POISSON**2)
FORCE = 4.0 / 3.0 * MODULUS * RADIUS**3
# fine cells reach this far beyond the contact; outside they grow by this factor
BEYOND, GROWTH = 1.25, 1.7


def lines(fine: float, stop: float) -> np.ndarray:
    """Return places from 0 to SIZE, in steps of `fine` up to `stop` and growing ones after."""
    made = list(np.linspace(0.0, stop, max(2, round(stop / fine)) + 1))
    step = fine
    while made[-1] < SIZE:
        step *= GROWTH
        made.append(made[-1] + step)
    kept = np.array(made)
    kept[kept > stop] = stop + (kept[kept > stop] - stop) * (SIZE - stop) / (kept[-1] - stop)
    kept[-1] = SIZE
    return kept


def hertz(cells: int, depth: float) -> dict:
    """Return the contact of a rigid sphere on a quarter of a block, pressed as deep as Hertz says.

    Radius and force are compared with each other: both know less of the block's size than the
    approach does. The radius is that of the pressure; the place up to which the gap is within reach
    of the law lies farther out, by the length of the law over the approach to the power 2/3.

    Parameters
    ----------
    cells : on the radius of contact
    depth : length of the normal law over the approach of Hertz
    """
    fine = RADIUS / cells
    wide, high = lines(fine, BEYOND * RADIUS), lines(fine, 2.0 * fine)
    mesh = rectangle(
        SIZE,
        SIZE,
        (wide.size - 1, high.size - 1),
        (0.0, -SIZE),
        wide / SIZE,
        np.append(0.0, 1.0 - high[-2::-1] / SIZE),
    )
    element = Q1N2(reduced=True, contact_points=3)
    body = SweptBody(mesh, wide, element, NeoHookean(1.0, POISSON))
    strength, length = 0.03, depth * RADIUS**2
    law = LennardJones.from_strength(strength, strength * length, adhesive=False)
    ball = RigidSphere((0.0, 1.0 + law.gap_eq, 0.0), 1.0)
    conditions = [
        Fixed(Boundary(0, "bottom"), (0, 1, 2)),
        Fixed(Boundary(0, "left"), (0,)),
        Fixed(Boundary(0, "back"), (2,)),
        Driven(Rigid(0), 1, Program((0.0, 1.0), (0.0, -(RADIUS**2)))),
    ]
    solid = Solid(
        [body],
        [Contact(Boundary(0, "top"), ball, law)],
        conditions,
        readings=Readings(displacement=3, support=True),
        dimensionless=True,
    )
    wall, cpu = time.perf_counter(), time.process_time()
    run = st.solve(solid, st.Quasistatic(steps=4), t_span=(0.0, 1.0))
    area = 4.0 * float(run.data["nominal_area"].values[-1])
    known = run.data["normal_traction"].values[-1]
    share = known * Problem(solid.assembled()).passes[0].own.areas.ravel()
    square = sum(run.data[f"surface_{axis}"].values[-1] ** 2 for axis in "xz")
    # of Hertz' pressure the mean square distance is two fifths of that of the edge
    radius = math.sqrt(2.5 * float((share * square).sum() / share.sum()))
    pressure = float(known.max())
    force = 4.0 * abs(float(run.data["force_y"].values[-1]))
    peak = 1.5 * force / (math.pi * radius**2)
    return {
        "cells_on_radius": cells,
        "law_over_approach": depth,
        "unknowns": run.stats["unknowns"],
        "radius": radius / RADIUS,
        "radius_where_near": math.sqrt(area / math.pi) / RADIUS,
        "force": force / FORCE,
        "force_error": force / FORCE * (RADIUS / radius) ** 3 - 1.0,
        "peak_pressure_error": pressure / peak - 1.0,
        "audit_failed": [c.check for c in run.audit.checks if not c.ok],
        "iterations": run.stats["newton_iterations"],
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


def sheared(cells: tuple[int, int, int], steps: int) -> dict:
    """Return what the sheared cap does on a mesh."""
    cap = CapSliding3D(cells=cells)
    wall, cpu = time.perf_counter(), time.process_time()
    run = st.solve(cap, st.Quasistatic(steps=steps), t_span=(0.0, 1.0))
    area, force = run.data["contact_area"].values, np.abs(run.data["force_x"].values)
    begin = int(np.flatnonzero(run.data["displacement"].values > 0.0)[0]) - 1
    return {
        "cells": cells,
        "unknowns": run.stats["unknowns"],
        "area_at_rest": 2.0 * float(area[begin]),
        "area_sliding": 2.0 * float(area[-1]),
        "loss": 1.0 - float(area[-1] / area[begin]),
        "force_sliding": 2.0 * float(force[-1]),
        "full_sliding_at": run.quantities["full_sliding_at"].value,
        "ledger": run.energy.imbalance_rel,
        "audit_failed": [c.check for c in run.audit.checks if not c.ok],
        "iterations": run.stats["newton_iterations"],
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


def main() -> None:
    """Measure what is named, or all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("parts", nargs="*", default=["hertz", "cap"])
    given = parser.parse_args()
    record = Record("solids_space", given.quick)
    if "hertz" in given.parts:
        best = {}
        for cells in (4, 6) if given.quick else (4, 6, 9):
            best = hertz(cells, 0.05)
            record.add("hertz", **best)
        worst = abs(best["force_error"])
        record.target("Hertz: force for a radius", "1 %", f"{100 * worst:.2f} %", worst <= 0.01)
    if "cap" in given.parts:
        meshes = [(10, 2, 5), (16, 3, 8), (22, 4, 12)]
        for cells in meshes[: 2 if given.quick else 3]:
            record.add("cap", **sheared(cells, 20))
    record.close()


if __name__ == "__main__":
    main()
