"""A pressed sphere in space on several processes: elements and elimination are shared out.

    mpirun -n 2 python benchmarks/solids_mpi.py [CELLS]

Each process runs the same program. It integrates a range of the elements of every kind
(`mpi_shares.py`) and eliminates the unknowns that it alone has (`mpi_halves.py`). Contact is a
small part, and found by all. What is not shared out: places of nodes and the pattern of the matrix.

It needs mpi4py, which Debian has as python3-mpi4py. Debian's OpenBLAS may not know a new processor
and take kernels of an old one: OPENBLAS_CORETYPE=SkylakeX names them.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from mpi_halves import Halves
from mpi_shares import SPENT, WORLD, share_out

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from sphere_cases import on_a_block

import stiction as st
from stiction.laws import LennardJones
from stiction.solids import Program
from stiction.solids.equilibria.problem import Problem

RADIUS = 0.025


def main() -> None:
    """Press a sphere, and let the first process print what was found."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    share_out()
    law = LennardJones.from_strength(0.03, 0.003 * RADIUS**2, adhesive=False)
    down, fine = Program((0.0, 1.0), (0.0, -(RADIUS**2))), RADIUS / cells
    solid = on_a_block(
        law, down, fine, 1.5 * RADIUS, 12.0 * RADIUS, 1.0 + 2.4 / cells, 0.75 * cells
    )
    solver = Halves(Problem(solid.assembled()))
    WORLD.Barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    run = st.solve(solid, st.solids.Quasistatic(steps=4, solver=solver), t_span=(0.0, 1.0))
    times = [WORLD.gather(t) for t in (time.perf_counter() - wall, time.process_time() - cpu)]
    force, stored = (float(v) for v in (run.data["force_y"].values[-1], run.energy.stored[-1]))
    same, parts = WORLD.gather((force, stored)), WORLD.gather(SPENT)
    if WORLD.rank == 0:
        reported = {"processes": WORLD.size, "unknowns": run.stats["unknowns"]}
        reported |= {"force": force, "stored": stored, "alike": len(set(same)) == 1}
        reported |= {
            "wall": max(times[0]),
            "cpu": times[1],
            "steps": run.stats["newton_iterations"],
        }
        # of each process, what it did while it waited for none
        reported["work"] = [c - p["exchange"][1] for c, p in zip(times[1], parts, strict=True)]
        reported["parts"] = parts
        print(json.dumps(reported, default=float))


if __name__ == "__main__":
    main()
