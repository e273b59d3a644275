"""One problem on two processes: what `benchmarks/solids_mpi.py` finds is what one process finds.

It takes an interpreter with mpi4py, and mpiexec. That of the tests is asked, or the one that
STICTION_MPI_PYTHON names: see the page of bodies in space.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PYTHON = os.environ.get("STICTION_MPI_PYTHON", sys.executable)
LAUNCHER = shutil.which("mpiexec") or shutil.which("mpirun")


def missing():
    """Return what is not there, in words; nothing where all is there."""
    if LAUNCHER is None:
        return "mpiexec is not installed (Debian: openmpi-bin)"
    asked = [PYTHON, "-c", "import mpi4py.MPI"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return f"{PYTHON} cannot import mpi4py.MPI: {last}"
    return ""


def on(processes, cells=2):
    """Return what the benchmark reports on so many processes."""
    # Open MPI: root may run it, and more processes than cores
    mine = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(
            part for part in (str(ROOT / "src"), os.environ.get("PYTHONPATH")) if part
        ),
    }
    script = str(ROOT / "benchmarks" / "solids_mpi.py")
    command = [str(LAUNCHER), "-n", str(processes), PYTHON, script, str(cells)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | mine, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_two_processes_find_what_one_finds():
    lacks = missing()
    if lacks:
        pytest.skip(lacks)
    one, two = on(1), on(2)
    assert (one["processes"], two["processes"]) == (1, 2)
    assert one["unknowns"] == two["unknowns"] == 1105
    assert one["steps"] == two["steps"]
    # the same bits on both processes, so that they take the same decisions
    assert two["alike"]
    assert two["force"] == pytest.approx(one["force"], rel=1e-9)
    assert two["stored"] == pytest.approx(one["stored"], rel=1e-9)
    # neither has more of the elimination than .7 of what one process does
    whole = one["parts"][0]["operations"]
    assert max(part["operations"] for part in two["parts"]) < 0.7 * whole
