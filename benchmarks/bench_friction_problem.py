"""Frictional contact problems of other projects: seconds to a residual of 1e-8, beside Siconos.

Files of ../shared/external/friction_contact. Every solver starts from zero, uses one thread, and is
judged by our certificate; of Siconos' own tolerances the loosest that passes counts. Besides,
projected Gauss-Seidel alone and ADMM, both of our own.
"""

from __future__ import annotations

import dataclasses
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from peers import talk
from record import Record, record_all
from scipy.sparse import bsr_array, diags_array
from scipy.sparse.linalg import splu

import stiction as st
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.cones import project
from stiction.numerics.friction_problem.gauss_seidel import swept
from stiction.numerics.friction_problem.problem import FrictionProblem

HERE = Path(__file__).resolve()
SHARED = Path(os.environ.get("STICTION_SHARED", HERE.parents[2] / "shared"))
WANTED, RUNS, ENOUGH, TIMEOUT = 1e-8, 5, 2.0, 20.0
PEERS = {
    2: ("FRICTION_2D_NSGS", "FRICTION_2D_CPG", "FRICTION_2D_LEMKE"),
    3: ("FRICTION_3D_NSGS", "FRICTION_3D_NSN_AC", "FRICTION_3D_ADMM", "FRICTION_3D_PROX"),
    5: ("ROLLING_FRICTION_3D_NSGS", "ROLLING_FRICTION_3D_ADMM"),
}


def ours(problem: FrictionProblem) -> tuple[float, float]:
    """Return seconds and residual."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        solved = problem.solve(tol=WANTED)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:]), solved.residual


def sweeps_alone(problem: FrictionProblem) -> tuple[float, float]:
    """Return the same for Gauss-Seidel sweeps, in tens."""
    local = problem.local
    r, start = np.zeros_like(local.q), time.perf_counter()
    while residual(local, r) > WANTED and time.perf_counter() - start < ENOUGH:
        r, _ = swept(local, r, 10)
    return time.perf_counter() - start, residual(local, r)


def admm(problem: FrictionProblem) -> tuple[float, float]:
    """Return the same for ADMM: one factorisation, and projections, with slip of the last step."""
    local = problem.local
    n, k, step = local.q.size, local.n_tangent, float(np.exp(-np.log(local.rho).mean()))
    r, z, y = np.zeros((3, *local.q.shape))
    start = time.perf_counter()
    factors = splu((bsr_array(local.matrix) + step * diags_array(np.ones(n))).tocsc())
    while time.perf_counter() - start < ENOUGH:
        for _ in range(10):
            q, u = local.q.copy(), local.velocities(z)
            q[:, 0] += local.mu * np.linalg.norm(u[:, 1 : 1 + k], axis=1)
            q[:, 0] += local.rolling * np.linalg.norm(u[:, 1 + k :], axis=1)
            r = factors.solve((step * (z - y) - q).ravel()).reshape(r.shape)
            before = r + y
            for c, row in enumerate(before):
                project(row, k, local.mu[c], local.rolling[c], z[c])
            y = before - z
        if residual(local, z) <= WANTED:
            break
    return time.perf_counter() - start, residual(local, z)


def peer(problem: FrictionProblem, file: Path, solver: str) -> tuple[float, float] | None:
    """Return the same for a solver of Siconos; None where it fails."""
    size = problem.local.q.shape[1]
    for tol in (1e-6, 1e-8, 1e-10, 1e-12, 1e-14):
        asked = {"file": str(file), "size": size, "solver": solver, "tol": tol}
        asked |= {"most": 20_000, "runs": RUNS, "enough": ENOUGH}
        answer = talk("peer_friction_problem.py", asked, TIMEOUT, "siconos.kernel")
        if "failed" in answer:
            return None
        r = np.reshape(answer["r"], problem.local.q.shape)
        error = residual(problem.local, r) if np.isfinite(r).all() else math.inf
        if error <= WANTED:
            return statistics.median(answer["seconds"]), error
    return None


def point(problem: FrictionProblem, file: Path) -> dict[str, object]:
    """Return seconds of every solver, none where it misses the residual, and residuals of ours."""
    found: dict[str, object] = {}
    own: dict[str, Callable[[FrictionProblem], tuple[float, float]]] = {
        "ours": ours,
        "sweeps": sweeps_alone,
        "admm": admm,
    }
    for name, solver in own.items():
        seconds, error = solver(problem)
        found[name] = seconds if error <= WANTED else None
        found[f"{name}_residual"] = error
    peers, failed = {}, []
    for name in PEERS[problem.local.q.shape[1]]:
        short, answer = name.partition("_")[2], peer(problem, file, name)
        if answer is None:
            failed.append(short)
        else:
            peers[short] = answer[0]
    fastest = min(peers, key=lambda name: peers[name]) if peers else None
    found |= {"siconos": peers[fastest] if fastest else None, "siconos_solver": fastest or "none"}
    return found | {"siconos_failed": ", ".join(failed) or "none", "siconos_all": peers}


def measure(record: Record, quick: bool) -> None:
    """Time all files."""
    ratios, slow = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((SHARED / "external/friction_contact").glob("*.*")):
            problem = st.friction_problem(path)
            if problem.n_contact == 0 or (quick and problem.n_contact > 10):
                continue
            file = Path(folder) / "problem.dat"
            dataclasses.replace(problem, masses=None).write(file)
            found = point(problem, file)
            name = path.name.partition(".")[0]
            record.add("friction", problem=name, contacts=problem.n_contact, **found)
            mine, theirs = found["ours"], found["siconos"]
            if not isinstance(mine, float):
                slow = math.inf
            elif isinstance(theirs, float) and theirs >= 1e-3:
                ratios.append(mine / theirs)
            elif isinstance(theirs, float):
                slow = max(slow, mine)
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        record.target(
            "frictional contact against the fastest of Siconos' solvers, where that takes 1 ms",
            "geometric mean <= 1, none above 10",
            f"{mean:.2f} over {len(ratios)}, the worst {max(ratios):.2f}",
            mean <= 1.0 and max(ratios) <= 10.0,
        )
    record.target(
        "smaller frictional contact problems",
        "<= 1 ms each",
        f"{1e3 * slow:.2f} ms at most",
        slow <= 1e-3,
    )


if __name__ == "__main__":
    record_all("friction_problem", __doc__, measure)
