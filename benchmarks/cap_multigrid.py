"""Multigrid on a tangent of the sheared cap in space: iterations, CPU and memory.

    python benchmarks/cap_multigrid.py [--at T] NX NY NZ

The cap of `solids_cap.py` is pressed and sheared up to the program time T (0.6 is well into the
shear); there the next tangent, in contact and with friction, is solved for a right-hand side at
random, to 1e-6 of it. One line of JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass

import numpy as np
from solids_cap import SOLVERS

import stiction as st
from stiction.numerics.iterative.cached import CachedFactorsWorkspace
from stiction.numerics.linear_solvers import CachedFactors, Multigrid, Pardiso
from stiction.solids import CapSliding3D


class ClosestPoints(Exception):
    """The tangent, and what its unknowns stand for."""


class Monitored(CachedFactorsWorkspace):
    """Solves as ever, until the program time comes."""

    now, at, layout = 0.0, 1.0, None

    def describe(self, layout):
        """Keep what the unknowns stand for."""
        self.layout = layout

    def _factorise(self, pattern, data):
        if Monitored.now >= Monitored.at:
            raise ClosestPoints(pattern.matrix(data), self.layout)
        return super()._factorise(pattern, data)


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(CachedFactors):
    """Saved factors whose workspace is monitored."""

    def start(self):
        """Return the workspace of one run."""
        return Monitored(self.tolerance, self.max_iterations, self.worn, self.direct)


def noted(t, _):
    """Note the program time of the last step."""
    Monitored.now = float(t)


def main() -> None:
    """Shear a cap, and solve with its tangent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", type=float, default=0.6)
    parser.add_argument("cells", type=int, nargs=3)
    given = parser.parse_args()
    Monitored.at = given.at
    worn = SOLVERS["worn"]
    solver = Monitoring(worn=worn.worn, direct=worn.direct)
    cap = CapSliding3D(cells=tuple(given.cells), normal_force=10.0)
    try:
        st.solve(
            cap, st.solids.Quasistatic(steps=20, solver=solver), t_span=(0.0, 1.0), progress=noted
        )
    except ClosestPoints as found:
        matrix, layout = found.args
    b = np.random.default_rng(0).standard_normal(matrix.shape[0])
    cpu = time.process_time()
    multigrid = Multigrid(tolerance=1e-6, direct=Pardiso(threads=1), direct_below=0)
    space = multigrid.start()
    space.describe(layout)
    x = space.factorise(matrix).apply(b)
    reported = {
        "cells": given.cells,
        "unknowns": matrix.shape[0],
        "at": Monitored.now,
        "unsymmetric": float(abs(matrix - matrix.T).max() / abs(matrix).max()),
        "iterations": space.reported()["linear_iterations"],
        "fallbacks": space.reported()["linear_fallbacks"],
        "residual": float(np.linalg.norm(matrix @ x - b) / np.linalg.norm(b)),
        "cpu": time.process_time() - cpu,
        "bytes": space.reported()["solver_bytes"],
    }
    print(json.dumps(reported))


if __name__ == "__main__":
    main()
