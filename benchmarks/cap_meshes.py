"""What is fitted to the sheared cap on several meshes, with observed orders and error bars.

    python benchmarks/cap_meshes.py [--quick] LOG...

Every LOG ends with the line of JSON that `solids_cap.py` prints. Runs of one normal force are a
family of meshes; runs of one mesh with several forces give exponents of the area at rest.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from record import Record
from scipy.optimize import brentq

# losses below this are noise of the mesh, and are not fitted in logarithms
_LEAST = 2e-3


def sheared_rows(run: dict) -> slice:
    """Return the rows from the begin of the shear to full sliding."""
    moved = np.array(run["displacement"])
    full = run["full_sliding_at"]
    last = moved.size - 1 if full is None else int(np.argmin(np.abs(moved - full)))
    return slice(run["begin"], last + 1)


def power(force: np.ndarray, loss: np.ndarray) -> float:
    """Return the exponent of a loss that grows as a power of the force."""
    mine = loss > _LEAST
    return float(np.polyfit(np.log(force[mine]), np.log(loss[mine]), 1)[0])


def square(force: np.ndarray, values: np.ndarray) -> float:
    """Return c of the best values[0] - c force^2."""
    return float(np.sum((values[0] - values) * force**2) / np.sum(force**4))


def fitted(run: dict) -> dict[str, float]:
    """Return numbers of one run: areas, loss, axes, and what is fitted to them.

    alpha : of the area, A = A0 - alpha F^2; xi : of the length along the motion, L = L0 - xi F^2
    eta : 1 - L / L0 as a power of F; eta_area : 1 - A / A0 as a power of F
    """
    rows = sheared_rows(run)
    force, area, along, across = (
        np.array(run[key])[rows] for key in ("force", "area", "along", "across")
    )
    return {
        "area_at_rest": float(area[0]),
        "area_sliding": float(area[-1]),
        "loss": float(1.0 - area[-1] / area[0]),
        "length_loss": float(1.0 - along[-1] / along[0]),
        "width_loss": float(1.0 - across[-1] / across[0]),
        "force_sliding": float(force[-1]),
        "lifted": run["split"]["lifted"],
        "laid": run["split"]["laid"],
        "in_plane": run["split"]["in_plane"],
        "alpha": square(force, area),
        "xi": square(force, 2.0 * along),
        "eta": power(force, 1.0 - along / along[0]),
        "eta_area": power(force, 1.0 - area / area[0]),
    }


def spread(sizes: np.ndarray, values: np.ndarray) -> dict[str, float | None]:
    """Return the observed order of three values, coarse to fine, their limit and an error bar.

    Without an order (values that are not monotone, or come together too slowly) the bar is
    the largest difference between meshes.
    """
    a, b, c = values[-3:]
    ha, hb, hc = sizes[-3:]
    bar = {"order": None, "limit": None, "bar": float(np.ptp(values[-3:]))}
    if (a - b) * (b - c) <= 0.0:
        return bar

    def off(p: float) -> float:
        return float((ha**p - hb**p) * (b - c) - (hb**p - hc**p) * (a - b))

    if off(0.2) * off(8.0) >= 0.0:
        return bar
    p = float(brentq(off, 0.2, 8.0))
    limit = float(c - (b - c) / (hb**p - hc**p) * hc**p)
    return {"order": p, "limit": limit, "bar": abs(float(c) - limit)}


def main() -> None:
    """Gather runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="print, and write nothing")
    parser.add_argument("logs", type=Path, nargs="+")
    given = parser.parse_args()
    record = Record("solids_cap", given.quick)
    runs = [json.loads(path.read_text().strip().splitlines()[-1]) for path in given.logs]
    runs.sort(key=lambda run: (run["normal_force"], run["adhesive"], run["unknowns"]))
    for run in runs:
        record.add("run", **run, fitted=fitted(run))
    # one mesh may come with several solvers: the direct one counts, where it ran
    runs.sort(key=lambda run: run["solver"] != "pardiso")
    each = {(r["normal_force"], r["adhesive"], *r["cells"]): r for r in reversed(runs)}
    runs = sorted(each.values(), key=lambda run: run["unknowns"])
    for force, adhesive in sorted({(run["normal_force"], run["adhesive"]) for run in runs}):
        family = [r for r in runs if (r["normal_force"], r["adhesive"]) == (force, adhesive)]
        if len(family) < 3:
            continue
        sizes = np.array([1.0 / np.sqrt(r["cells"][0] * r["cells"][2]) for r in family])
        found = [fitted(r) for r in family]
        for key in found[0]:
            values = np.array([f[key] for f in found])
            record.add(
                "mesh",
                what=key,
                normal_force=force,
                adhesive=adhesive,
                unknowns=[r["unknowns"] for r in family],
                values=values.tolist(),
                **spread(sizes, values),
            )
    loads(record, runs)
    verdicts(record, runs)
    record.close()


def loads(record: Record, runs: list[dict]) -> None:
    """Add exponents of alpha and xi by the area at rest, from several forces on one mesh."""
    for cells in sorted({(tuple(r["cells"]), r["adhesive"]) for r in runs}):
        mine = [fitted(r) for r in runs if (tuple(r["cells"]), r["adhesive"]) == cells]
        if len(mine) < 3:
            continue
        area = np.log([f["area_at_rest"] for f in mine])
        found = {
            f"{key}_by_area": float(np.polyfit(area, np.log([f[key] for f in mine]), 1)[0])
            for key in ("alpha", "xi")
        }
        record.add("loads", cells=cells[0], adhesive=cells[1], forces=len(mine), **found)


class Asked(NamedTuple):
    """What is asked of a cap from so many unknowns on: iterations, minutes, memory."""

    unknowns: int
    iterations: int
    minutes: float
    gibibytes: int


ASKED = (Asked(58_000, 400, 45.0, 4), Asked(190_000, 400, 240.0, 8))


def verdicts(record: Record, runs: list[dict]) -> None:
    """Add what was asked of large caps, each of which is to slide in full."""
    for run in sorted(runs, key=lambda run: run["unknowns"]):
        asked = [a for a in ASKED if run["unknowns"] >= a.unknowns]
        if not asked:
            continue
        want, what = asked[-1], f"sheared cap, half model, {run['unknowns']:,} unknowns: "
        full = run["status"] == "SOLVED" and run["full_sliding_at"] is not None
        cpu, wall, held = run["cpu"] / 60.0, run["wall"] / 60.0, run["peak_bytes"] / 2**30
        record.target(
            what + "Newton iterations to full sliding",
            f"<= {want.iterations}",
            str(run["iterations"]),
            full and run["iterations"] <= want.iterations,
        )
        record.target(
            what + "processor time, one thread",
            f"<= {want.minutes:g} min",
            f"{cpu:.1f} min, {wall:.1f} min of wall beside other work",
            full and cpu <= want.minutes,
        )
        record.target(
            what + "memory",
            f"<= {want.gibibytes} GiB",
            f"{held:.2f} GiB",
            full and held <= want.gibibytes,
        )


if __name__ == "__main__":
    main()
