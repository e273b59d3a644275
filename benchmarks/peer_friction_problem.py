"""Siconos' solvers of frictional contact problems, for its own interpreter: NumPy and siconos only.

question: {"file": path, "size": 2, 3 or 5, "solver": name, "tol": ..., "most": ..., "runs": ...}
answer:   {"seconds": [...], "r": [...], "info": ...}
"""

import json
import sys
import time

import numpy as np
import siconos.numerics as numerics

KINDS = {
    2: ("frictionContact", "fc2d_driver"),
    3: ("frictionContact", "fc3d_driver"),
    5: ("rollingFrictionContact", "rolling_fc3d_driver"),
}


def main():
    """Answer one question; its solvers print, so that the answer is the last line."""
    asked = json.load(sys.stdin)
    kind, driver = KINDS[asked["size"]]
    problem = getattr(numerics, f"{kind}_new_from_filename")(asked["file"])
    n = asked["size"] * problem.numberOfContacts
    seconds = []
    for _ in range(asked["runs"]):
        options = numerics.SolverOptions(getattr(numerics, f"SICONOS_{asked['solver']}"))
        options.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = asked["most"]
        options.dparam[numerics.SICONOS_DPARAM_TOL] = asked["tol"]
        r, u = np.zeros(n), np.zeros(n)
        start = time.perf_counter()
        info = getattr(numerics, driver)(problem, r, u, options)
        seconds.append(time.perf_counter() - start)
        if seconds[-1] > asked["enough"]:
            break
    print(json.dumps({"seconds": seconds, "r": r.tolist(), "info": int(info)}))


if __name__ == "__main__":
    main()
