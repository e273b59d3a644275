"""Bodies in space beside closed forms: spheres that are pressed, drawn off and sheared.

python benchmarks/solids_space.py [--quick] [hertz] [jkr] [mindlin]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from record import Record

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from axisymmetric_oracle import pull_off as self_consistent
from sphere_cases import hertz, mindlin, pull_off

from stiction.numerics.linear_solvers import CachedFactors, Pardiso, fastest

# cells on the radius of contact
PRESSED = (4, 6, 9)
# with the length of the law over the approach, and the size of the blocks over the radius
SHEARED = ((3, 0.3, 12.0), (4, 0.3, 12.0), (6, 0.3, 12.0), (6, 0.1, 24.0))
DRAWN = {0.5: (2, 3, 4), 1.0: (3, 4, 6), 2.0: (6, 9)}


def timed(made: Callable[..., dict], *given: float, **more: object) -> dict:
    """Return what a case finds, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = made(*given, **more)
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return found | spent


def balls(record: Record, quick: bool) -> None:
    """Add a pressed sphere on refined meshes, with a stiffer law, and in a larger block."""
    for cells in PRESSED[: 2 if quick else 3]:
        best = timed(hertz, cells)
        record.add("hertz", **best)
    if not quick:
        record.add("hertz", **timed(hertz, 6, law_over_approach=0.05))
        record.add("hertz", **timed(hertz, 6, size=24.0))
        record.add("hertz", **timed(hertz, 6, radius=0.05))
    worst = abs(best["force_error"])
    record.target(
        "Hertz in space: force for a radius", "1 %", f"{100 * worst:.2f} %", worst <= 0.01
    )


def pulls(record: Record, quick: bool) -> None:
    """Add spheres that are drawn off, beside the self-consistent answer."""
    for tabor, meshes in DRAWN.items():
        exact = self_consistent(tabor, rings=250)
        for cells in meshes[: 1 if quick else 3]:
            found = timed(pull_off, tabor, cells)
            error = found["pull_off"] / exact - 1.0
            record.add("pull-off", **found, exact=exact, error=error)
        record.target(
            f"pull-off of a sphere, Tabor number {tabor:g}, against rings on a half space",
            "2 %",
            f"{100.0 * error:+.2f} % ({found['pull_off']:.4f} against {exact:.4f} pi W R)",
            bool(abs(error) <= 0.02),
        )


def slips(record: Record, quick: bool) -> None:
    """Add two equal spheres under shear, beside Cattaneo and Mindlin, up to 0.9 of full sliding."""
    worn = CachedFactors(worn=24, direct=Pardiso(threads=1))
    solver = worn if isinstance(fastest(), Pardiso) else None
    for cells, law, size in SHEARED[: 1 if quick else None]:
        found = timed(mindlin, cells, law_over_approach=law, size=size, solver=solver)
        part = np.array(found["part"])
        partial = part < 0.9
        stuck = np.array(found["stuck"])[partial] / np.array(found["stuck_of_mindlin"])[partial]
        went = np.array(found["displacement_over_mindlin"])[partial]
        worst = {"stuck": np.abs(stuck - 1.0).max(), "displacement": np.abs(went - 1.0).max()}
        record.add("mindlin", **found, **{f"{key}_error": float(v) for key, v in worst.items()})
    for key, name in (("stuck", "radius of stick"), ("displacement", "tangential displacement")):
        record.target(
            f"Cattaneo and Mindlin, two equal spheres: {name}",
            "2 %",
            f"{100.0 * worst[key]:.2f} %",
            bool(worst[key] <= 0.02),
        )


def main() -> None:
    """Measure what is named, or all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("parts", nargs="*", default=["hertz", "jkr", "mindlin"])
    given = parser.parse_args()
    record = Record("solids_space", given.quick)
    if "hertz" in given.parts:
        balls(record, given.quick)
    if "jkr" in given.parts:
        pulls(record, given.quick)
    if "mindlin" in given.parts:
        slips(record, given.quick)
    record.close()


if __name__ == "__main__":
    main()
