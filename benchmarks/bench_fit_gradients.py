"""Fits of four parameters of a chain: Jacobians of runs against differences and Nelder-Mead.

From 20 starts within 20 % of the truth the same least squares are minimised three times: with the
derivatives that runs carry along, with differences of runs (`fits` without derivatives), and by
SciPy's Nelder-Mead method, which uses none. A run with derivatives counts as one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from record import Record, record_all

import stiction as st
from stiction.fits import Curve, Simulated
from stiction.fits.search import minimised
from stiction.fits.simulated import RunProblem
from stiction.io.scenario import Scenario
from stiction.studies.fields import changed, place_of

FREE = ("law.mu", "stiffness", "damping", "load.amplitude")
TRUTH = np.array([0.22, 22.0, 0.4, 30.0])
STARTS, ROWS = 20, 200


def scenario_of(n: int, t_end: float) -> Scenario:
    """Return a damped chain under a sine."""
    chain = st.Chain(
        n=n,
        mass=np.linspace(0.8, 1.2, n),
        stiffness=20.0,
        damping=0.5,
        law=st.Coulomb(0.2),
        load=st.chains.Sine(28.0, 0.7),
        gravity=10.0,
    )
    return Scenario(chain, st.EventDriven(), t_end)


def problem_of(n: int, t_end: float) -> RunProblem:
    """Return the least squares for a test with noise of 1 %."""
    scenario = scenario_of(n, t_end)
    true = changed(scenario, [place_of(scenario, x) for x in FREE], TRUTH.tolist())
    run, name = true.solve(save=400), f"x[{n - 1}]"
    x, at = np.asarray(run.data.x)[:, -1], np.linspace(0.01 * t_end, 0.99 * t_end, ROWS)
    noise = np.random.default_rng(5).normal(0.0, 0.01 * np.ptp(x), ROWS)
    curve = Curve(force=np.interp(at, run.time, x) + noise, time=at, displacement=at)
    rig = Simulated(scenario, force=name, offset=0.0, drift=0.0)
    return RunProblem([curve], rig, FREE)


def exact(problem: RunProblem, y: np.ndarray) -> np.ndarray:
    """Minimise with the derivatives of runs."""
    return minimised(problem, y).y


def differences(problem: RunProblem, y: np.ndarray) -> np.ndarray:
    """Minimise with differences of runs, as fits do where runs have no derivatives."""
    problem._slopes_of_run = lambda values: None
    problem.tolerance = RunProblem.tolerance
    return minimised(problem, y).y


def nelder_mead(problem: RunProblem, y: np.ndarray) -> np.ndarray:
    """Minimise by the simplex method of Nelder and Mead, to 1e-7 of the parameters."""
    from scipy.optimize import minimize

    def misfit(y: np.ndarray) -> float:
        r = problem.residuals(y)
        return float(r @ r)

    problem._slopes_of_run = lambda values: None
    options = {"xatol": 1e-8, "fatol": 1e-12, "maxfev": 4000}
    return minimize(misfit, y, method="Nelder-Mead", options=options).x


METHODS: dict[str, Callable] = {
    "derivatives": exact,
    "differences": differences,
    "Nelder-Mead": nelder_mead,
}


def one(n: int, t_end: float, start: np.ndarray, name: str) -> dict:
    """Return values, runs and seconds of one search."""
    problem = problem_of(n, t_end)
    y = problem.coordinates.coordinates(TRUTH * start)
    before, begin = problem.evaluations, time.perf_counter()
    end = METHODS[name](problem, y)
    spent = time.perf_counter() - begin
    r = problem.residuals(end)
    return {
        "values": problem.coordinates.physical(end),
        "runs": problem.evaluations - before,
        "seconds": spent,
        "misfit": float(r @ r),
    }


def fits(record: Record, quick: bool) -> None:
    """Search from all starts by all methods in turns."""
    for n, t_end in ((3, 30.0),) if quick else ((3, 30.0), (10, 40.0)):
        rng, found = np.random.default_rng(11), {name: [] for name in METHODS}
        for _ in range(4 if quick else STARTS):
            start = rng.uniform(0.8, 1.2, TRUTH.size)
            for name in METHODS:
                found[name].append(one(n, t_end, start, name))
        best = min(f["misfit"] for all_ in found.values() for f in all_)
        top = min((f for f in found["derivatives"]), key=lambda f: f["misfit"])["values"]
        median = {}
        for name, all_ in found.items():
            off = [float(np.abs(f["values"] / top - 1.0).max()) for f in all_]
            same = [f["misfit"] <= best * (1.0 + 1e-3) for f in all_]
            median[name] = {
                key: float(np.median([f[key] for f in all_])) for key in ("runs", "seconds")
            }
            record.add(
                "fit",
                n=n,
                method=name,
                **median[name],
                at_best=sum(same),
                starts=len(all_),
                off=float(np.max([x for x, ok in zip(off, same, strict=True) if ok])),
            )
        off = max(
            float(np.abs(f["values"] / top - 1.0).max())
            for name in ("derivatives", "Nelder-Mead")
            for f in found[name]
            if f["misfit"] <= best * (1.0 + 1e-3)
        )
        ours, what = median["derivatives"], f"fit of 4 parameters, {n} masses"
        record.target(f"{what}: optima, relative difference", "<= 1e-6", f"{off:.1e}", off <= 1e-6)
        for name in ("differences", "Nelder-Mead"):
            for key, wanted in (("runs", 5.0), ("seconds", 2.0)):
                ratio = median[name][key] / ours[key]
                record.target(
                    f"{what}: {key} of {name} over those with derivatives, median",
                    f">= {wanted:g}", f"{ratio:.1f}", bool(ratio >= wanted),
                )  # fmt: skip


if __name__ == "__main__":
    record_all("fit_gradients", __doc__ or "", fits)
