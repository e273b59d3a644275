"""The sheared cap in space on one mesh: load and shear to full sliding, with counts and split.

    python benchmarks/solids_cap.py [--steps N] [--adhesive] [--solver NAME] [--keep FILE]
        [--resume FOLDER] NX NY NZ
    python benchmarks/cap_meshes.py LOG...

The first prints one line of JSON: iterations, CPU, wall, peak memory; area, axes of the ellipse of
the same moments at every row, and by what the area changed. Integration points are saved in FILE
(.npz). With a FOLDER the state of the run is left there every minute, and taken up again by the
next call with the same words; CPU and wall are then those of the last call. The second gathers such
lines of several meshes, each from a process of its own: what is fitted to them, and how it changes
with the mesh.

Of a contact that was C and is C', with J the stretch of area, the loss is split as Lengiewicz et
al. 2020 name its mechanisms: lifted (points of C that are not in C', at their J of before), laid
(points of C' that were not in C, at their J of now), and in-plane (what J does in both).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from memory_child import forget_peak, peak

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.numerics.linear_solvers import CachedFactors, Multigrid, Pardiso, SuperLU
from stiction.solids import CapSliding3D
from stiction.solids.contact import sweeps as k
from stiction.solids.equilibria import history

SOLVERS = {
    "pardiso": Pardiso(threads=1),
    "superlu": SuperLU(),
    "multigrid": Multigrid(),
    "cached": CachedFactors(direct=Pardiso(threads=1)),
    # a solution takes a sixtieth of the time of factors
    "worn": CachedFactors(worn=24, direct=Pardiso(threads=1)),
}
SAVED = {"gap": k.GAP, "stretch": k.OWN_STRETCH, "weight": k.WEIGHT, "x": k.X, "z": k.Z}


class Rows:
    """Saves the contact points at every sample of a run, in a folder if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self.points: dict[float, np.ndarray] = {}
        self.folder, self.limit = folder, 0.0
        for file in sorted(folder.glob("*.npy")) if folder is not None else ():
            self.points[float(file.stem)] = np.load(file)
        self.contact_areas = history.contact_areas

    def __call__(self, problem, number, trial, t):
        """Return what `contact_areas` returns, and keep the points."""
        self.limit = float(problem.passes[number].contact.adhesion.gap_max)
        found = trial.point_values[number][:, list(SAVED.values())].T.copy()
        self.points[float(t)] = found
        if self.folder is not None:
            np.save(self.folder / f"{float(t)!r}.npy", found)
        print(f"t = {t:.4f}, {time.process_time():.0f} s of CPU", flush=True)
        return self.contact_areas(problem, number, trial, t)


def split(before: np.ndarray, now: np.ndarray, limit: float) -> dict[str, float]:
    """Return parts of the area of `before`: what was lifted, laid, and lost within the plane."""
    gap, stretch, weight = before[:3]
    gap_now, stretch_now = now[:2]
    was, is_ = gap < limit, gap_now < limit
    whole = float((weight * stretch)[was].sum())
    lifted = float((weight * stretch)[was & ~is_].sum())
    laid = float((weight * stretch_now)[is_ & ~was].sum())
    within = float((weight * (stretch - stretch_now))[was & is_].sum())
    return {"lifted": lifted / whole, "laid": laid / whole, "in_plane": within / whole}


def ellipse(now: np.ndarray, limit: float) -> tuple[float, float]:
    """Return the half axes, along and across the motion, of the ellipse of the same moments."""
    gap, stretch, weight, x, z = now
    w = np.where(gap < limit, weight * stretch, 0.0)
    if not w.any():
        return 0.0, 0.0
    middle = float(np.average(x, weights=w))
    # the half that is solved lies on one side of the plane of symmetry
    return (
        float(2.0 * np.sqrt(np.average((x - middle) ** 2, weights=w))),
        float(2.0 * np.sqrt(np.average(z**2, weights=w))),
    )


def sheared(
    cap: CapSliding3D, method: st.Quasistatic, keep: Path | None, folder: Path | None = None
) -> dict:
    """Return what the sheared cap does on a mesh, and what it took."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    rows, state = Rows(folder), None
    if folder is not None:
        state = FileCheckpoint(folder / "state", repr((cap, method)), resume=True, every=60.0)
    history.contact_areas = rows
    forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        run = st.solve(cap, method, t_span=(0.0, 1.0), throw=False, checkpoint=state)
    finally:
        history.contact_areas = rows.contact_areas
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    area, force = run.data["contact_area"].values, np.abs(run.data["force_x"].values)
    moved = run.data["displacement"].values
    begin = int(np.flatnonzero(moved > 0.0)[0]) - 1
    points = np.array([rows.points[float(t)] for t in run.data["time"].values])
    if keep is not None:
        np.savez_compressed(keep, points=points, limit=rows.limit, area=area, force=force)
    axes = [ellipse(row, rows.limit) for row in points]
    full = run.quantities.get("full_sliding_at")
    return {
        "cells": cap.cells,
        "normal_force": cap.normal_force,
        "adhesive": cap.adhesive,
        "unknowns": run.stats["unknowns"],
        "status": run.status.name,
        "iterations": run.stats["newton_iterations"],
        "factorisations": run.stats["factorisations"],
        "steps": run.stats["steps"],
        "linear_iterations": run.stats.get("linear_iterations"),
        **spent,
        "peak_bytes": peak(),
        "begin": begin,
        "displacement": moved.tolist(),
        "force": (2.0 * force).tolist(),
        "area": (2.0 * area).tolist(),
        "nominal": (2.0 * run.data["nominal_area"].values).tolist(),
        "sticking": (2.0 * run.data["sticking_area"].values).tolist(),
        "along": [a for a, _ in axes],
        "across": [c for _, c in axes],
        "loss": 1.0 - float(area[-1] / area[begin]),
        "split": split(points[begin], points[-1], rows.limit),
        "full_sliding_at": None if full is None else full.value,
        "ledger": run.energy.imbalance_rel,
        "audit_failed": [c.check for c in run.audit.checks if c.ok is False],
    }


def main() -> None:
    """Shear one cap."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--adhesive", action="store_true")
    parser.add_argument("--force", type=float, default=10.0)
    parser.add_argument("--solver", choices=sorted(SOLVERS), default="pardiso")
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--resume", type=Path, default=None)
    parser.add_argument("cells", type=int, nargs=3)
    given = parser.parse_args()
    small = CapSliding3D(cells=(2, 1, 1), adhesive=given.adhesive)
    # it compiles and loads what is needed
    st.solve(small, st.solids.Quasistatic(steps=4), t_span=(0.0, 0.4), throw=False)
    cap = CapSliding3D(cells=tuple(given.cells), adhesive=given.adhesive, normal_force=given.force)
    method = st.solids.Quasistatic(steps=given.steps, solver=SOLVERS[given.solver])
    reported = sheared(cap, method, given.keep, given.resume)
    print(json.dumps(reported | {"solver": given.solver}))


if __name__ == "__main__":
    main()
