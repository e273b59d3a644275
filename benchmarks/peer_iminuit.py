"""Intervals of ten laws beside MINOS of iminuit, from the same curves: ends over the half width.

    PYTHONPATH=FOLDER_OF_IMINUIT python benchmarks/peer_iminuit.py

MINOS gives none (`none`) where its search fails or passes a better fit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import f

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fit_cases import cases

import stiction as st

ROWS, SEED = 300, 0


def minos(found: st.fits.Fit) -> dict[str, tuple[float, float] | None]:
    """Return the ends that MINOS gives to the parameters of a fit, at the same level."""
    from iminuit import Minuit

    problem = found.problem
    best = np.array([e.value for e in found.estimates])
    size = np.array([e.error for e in found.estimates])
    names = [f"p{k}" for k in range(best.size)]

    def cost(x: np.ndarray) -> float:
        r = problem.residuals(problem.coordinates.coordinates(best + size * np.asarray(x)))
        return float(r @ r) / found.noise**2

    search = Minuit(cost, np.zeros(best.size), name=names)
    search.errordef = f.ppf(0.95, 1, found.freedom)
    search.strategy = 2
    search.migrad()
    ends: dict[str, tuple[float, float] | None] = {}
    for k, estimate in enumerate(found.estimates):
        try:
            # None is the drop of errordef
            search.minos(names[k], cl=None)
            error = search.merrors[names[k]]
        except RuntimeError:
            ends[estimate.name] = None
            continue
        centre = best[k] + size[k] * search.values[k]
        low, high = centre + size[k] * error.lower, centre + size[k] * error.upper
        ends[estimate.name] = (low, high) if error.is_valid else None
    return ends


def main() -> None:
    """Compare each parameter of each law, and print the largest difference."""
    largest, compared, none = 0.0, 0, 0
    for name, case in cases(ROWS).items():
        found = st.fit(case.drawn(SEED), type(case.law), case.rig)
        theirs = minos(found)
        for e in found.estimates:
            ends = theirs[e.name]
            if ends is None:
                none += 1
                print(f"{name:22}{e.name:16} none")
                continue
            off = max(abs(e.low - ends[0]), abs(e.high - ends[1])) / (0.5 * (e.high - e.low))
            largest, compared = max(largest, off), compared + 1
            print(f"{name:22}{e.name:16}{off:9.1e}")
    print(f"{compared} intervals, {none} without MINOS, largest difference {largest:.2g}")


if __name__ == "__main__":
    main()
