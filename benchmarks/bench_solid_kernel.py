"""Residual and tangent of plane solids against those of an earlier state of the sources, in turns.

    git worktree add ../before 5259476^        (or any other state)
    python benchmarks/bench_solid_kernel.py ../before
    python benchmarks/bench_solid_kernel.py ../before --turns 12 --repeats 40

5259476 gave bodies of the plane and of space one kernel; `5259476^` is the kernel before. Each turn
is a process of its own for either state, one thread, and which comes first changes. A process
evaluates residual and tangent of a strip (2,737 nodes) and a cap (2,433), places a little off, over
and over; its time is the median of the faster half. Compared are the best and the median of all
turns. Wanted: at least 90 % of the speed before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WANTED = 0.9
_THREADS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM")


def child(repeats: int) -> None:
    """Measure the sources on the path, and print seconds per evaluation by case."""
    import numpy as np

    import stiction as st
    from stiction.solids.equilibria.problem import Problem

    found = {}
    for name, system in (("strip", st.StripPeeling(cells=(300, 2))), ("cap", st.CapSliding())):
        problem = Problem(system.assembled())
        state = problem.start(0.0)
        rng = np.random.default_rng(1)
        # smooth enough that no element turns inside out
        size = 1e-4 * float(np.ptp(problem.points, axis=0).min())
        u = state.u + size * rng.uniform(-1.0, 1.0, state.u.shape)
        taken = []
        for _ in range(repeats + 3):
            began = time.perf_counter()
            problem.evaluate(state, u, 0.1, None, data=True)
            taken.append(time.perf_counter() - began)
        half = sorted(taken[3:])[: max(repeats // 2, 1)]
        found[name] = {"s": statistics.median(half), "nodes": int(problem.size)}
    print(json.dumps(found))


def ask(tree: Path, repeats: int) -> dict[str, dict[str, float]]:
    """Return what a process with the sources of a tree measures."""
    threads = {f"{name}_THREADS": "1" for name in _THREADS}
    # each with kernels of its own
    kept = Path(tempfile.gettempdir()) / "stiction-kernels" / tree.name
    path = {"PYTHONPATH": str(tree / "src"), "STICTION_CACHE_DIR": str(kept)}
    words = [sys.executable, __file__, "--child", "--repeats", str(repeats)]
    made = subprocess.run(
        words, env={**os.environ, **threads, **path}, check=True, capture_output=True, text=True
    )
    found: dict[str, dict[str, float]] = json.loads(made.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure both states in turns, and print speeds."""
    parser = argparse.ArgumentParser(description="one kernel against the one before")
    parser.add_argument("before", nargs="?", type=Path, help="a work tree of the state before")
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.repeats)
        return
    if asked.before is None or not (asked.before / "src" / "stiction").is_dir():
        parser.error("give a work tree of the state before: git worktree add ../before 5259476^")
    trees = {"before": asked.before.resolve(), "now": HERE.parent}
    for tree in trees.values():
        # compile what there is to compile
        ask(tree, 1)
    taken: dict[str, list[dict[str, dict[str, float]]]] = {name: [] for name in trees}
    for turn in range(asked.turns):
        names = list(trees)[:: 1 if turn % 2 == 0 else -1]
        for name in names:
            taken[name].append(ask(trees[name], asked.repeats))
    for case in taken["now"][0]:
        told = {n: [one[case]["s"] for one in of] for n, of in taken.items()}
        nodes = [int(taken[n][0][case]["nodes"]) for n in trees]
        best = min(told["before"]) / min(told["now"])
        middle = statistics.median(told["before"]) / statistics.median(told["now"])
        times = ", ".join(f"{n} {1e3 * min(t):.3f} ms" for n, t in told.items())
        print(f"{case}, {nodes} nodes: {times}; speed {best:.1%} (best), {middle:.1%} (median)")
        print(f"   at least {WANTED:.0%}: {'yes' if best >= WANTED else 'NO'}", flush=True)


if __name__ == "__main__":
    main()
