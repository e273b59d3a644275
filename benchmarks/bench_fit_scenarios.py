"""Fits of whole scenarios beside the truth: errors, how often intervals cover, what a fit takes.

Of every scenario sets are drawn: the fields that are fitted within 10 % of a middle, noise of 1 %
of the largest change of force, and an offset of the chain. Strips are small: a fit takes seconds.
Four parameters of a chain are found by searches with derivatives of runs, with differences of runs,
and by SciPy's Nelder-Mead method, from the same starts.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from fit_errors import errors_of, rows_of
from record import Record
from scipy.optimize import minimize

import stiction as st
from stiction.core.method import default_method
from stiction.fits import Curve, Free, Simulated, fit_scenario
from stiction.fits.problem import Problem
from stiction.fits.search import minimised
from stiction.fits.simulated import RunProblem
from stiction.io.scenario import Scenario, read_scenario
from stiction.studies.fields import changed, current, place_of

ROWS = 120
FAR = 5.0
STRIP = ["system.cells=[10, 2]", "system.u_end=2", "method.steps=3"]


@dataclasses.dataclass(frozen=True)
class Case:
    """A scenario, the force that is compared along something, and what is found of it."""

    scenario: Callable[[], Scenario]
    force: str
    along: str
    rows: int
    free: tuple[str, ...]
    offset: float = 0.0


def _chain() -> Scenario:
    return dataclasses.replace(read_scenario("slip-wave"), t_end=8.0)


def _strip(*changes: str) -> Callable[[], Scenario]:
    return lambda: read_scenario("strip-peeling", [*STRIP, *changes])


CASES = {
    "three masses, Coulomb": Case(_chain, "x[2]", "time", 400, ("law.mu", "stiffness"), 2e-3),
    "strip under EA: friction": Case(_strip(), "force_x", "displacement", 10, ("model.mu",)),
    "strip under DI: friction": Case(
        _strip("system.model={type='DI', mu=0.01}"), "force_x", "displacement", 10, ("model.mu",)
    ),
}
SETS = {
    "three masses, Coulomb": 200,
    "strip under EA: friction": 50,
    "strip under DI: friction": 50,
}


def one(task: tuple[str, int]) -> dict:
    """Draw a set, fit it, and return how far each number is from the truth."""
    name, seed = task
    case = CASES[name]
    scenario, rng = case.scenario(), np.random.default_rng([seed, 7])
    places = [place_of(scenario, path) for path in case.free]
    middle = [_value(scenario, path) for path in case.free]
    truth = [value * rng.uniform(0.9, 1.1) for value in middle]
    run = changed(scenario, places, truth).solve(save=case.rows)
    name_of, _, inside = case.force.partition("[")
    force = np.asarray(run.data[name_of])
    force = force[:, int(inside[:-1])] if inside else force
    x = np.asarray(run.time if case.along == "time" else run.data[case.along])
    at = np.linspace(x[0], x[-1], ROWS + 2)[1:-1]
    measured = np.interp(at, x, force) + case.offset
    measured = measured + rng.normal(0.0, 0.01 * np.ptp(force), ROWS)
    offset = Free() if case.offset else 0.0
    what = {"force": case.force, "along": case.along, "rows": case.rows}
    rig = Simulated(scenario, **what, offset=offset, drift=0.0)
    begin = time.process_time()
    curve = Curve(force=measured, time=at, displacement=at, title="drawn")
    found = fit_scenario(curve, rig, list(case.free))
    wanted = dict(zip(case.free, truth, strict=True))
    wanted |= {"rig.offset": case.offset} if case.offset else {}
    known = errors_of(found, wanted)
    return {"name": name, "seed": seed, "seconds": time.process_time() - begin, "known": known}


def _value(scenario: Scenario, path: str) -> float:
    return float(current(scenario, place_of(scenario, path)))


def reported(record: Record, name: str, fits: list[dict]) -> None:
    """Add a row for each number of a scenario, and the verdicts."""
    rows = list(rows_of(fits, scenario=name))
    for row in rows:
        record.add("fit", **row)
    mine = [r for r in rows if not r["parameter"].startswith("rig.")]
    worst = max(r["median_error"] for r in mine)
    what = f"fits of scenarios: {name}, {len(fits)} sets"
    record.target(f"{what}, median error", "<= 2 %", f"{100 * worst:.2f} %", bool(worst <= 0.02))
    far = max(r["farthest"] for r in rows)
    record.target(f"{what}, farthest", "<= 5 errors", f"{far:.2f}", bool(far <= FAR))
    # of so few sets the band of a right interval is wider than 90 to 99 %: binomial, 1 in 1,000
    least, most = (pick(r["covered"] for r in rows) for pick in (min, max))
    low = 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / len(fits))
    span = f"{100 * least:.1f} to {100 * most:.1f} %"
    record.target(f"{what}, 95 % cover", f">= {100 * low:.0f} %", span, bool(least >= low))
    alarms = sum(r["reported"] for r in rows)
    record.target(f"{what}, reported as unknown", "0", f"{alarms}", alarms == 0)


class ByDifferences(RunProblem):
    """The same problem with a Jacobian by differences of runs."""

    def prepare(self, y: np.ndarray, profiled: tuple[int, float] | None = None) -> None:
        """Compute nothing in advance."""

    def jacobian(self, y: np.ndarray, profiled: tuple[int, float] | None = None) -> np.ndarray:
        """Return d residuals / d coordinates."""
        return Problem.jacobian(self, y, profiled)


def searched(problem: RunProblem, start: np.ndarray, simplex: bool) -> tuple[np.ndarray, int, list]:
    """Return the optimum from one start, the number of runs, and processor and wall time."""
    begun, wall, before = time.process_time(), time.perf_counter(), problem.evaluations
    if simplex:
        options = {"xatol": 1e-8, "fatol": 1e-13, "maxfev": 5000, "maxiter": 5000}

        def misfit(y: np.ndarray) -> float:
            r = problem.residuals(y)
            return float(r @ r)

        y = minimize(misfit, start, method="Nelder-Mead", options=options).x
    else:
        y = minimised(problem, start).y
    spent = [time.process_time() - begun, time.perf_counter() - wall]
    return problem.coordinates.physical(y), problem.evaluations - before, spent


def four_parameters(record: Record, starts: int) -> None:
    """Add runs and times of three kinds of searches for four parameters of a chain."""
    truth = {"law.mu": 0.2, "stiffness": 25.0, "damping": 0.2, "load.amplitude": 8.0}
    load = st.chains.Sine(8.0, 1.3)
    chain = st.Chain(mass=1.0, n=3, stiffness=25.0, damping=0.2, law=st.Coulomb(0.2), load=load)
    scenario = dataclasses.replace(
        read_scenario("slip-wave"), system=chain, method=default_method(chain), t_end=12.0
    )
    run = scenario.solve(save=400)
    at = np.linspace(0.05, 11.95, 200)
    force = np.interp(at, run.time, np.asarray(run.data["x"])[:, 2])
    rng = np.random.default_rng(5)
    force = force + rng.normal(0.0, 0.01 * np.ptp(force), at.size)
    curve = Curve(force=force, time=at, displacement=at)
    rig = Simulated(scenario, force="x[2]", rows=400, offset=0.0, drift=0.0)
    kinds = {"derivatives": RunProblem, "differences": ByDifferences, "Nelder-Mead": ByDifferences}
    found: dict[str, list[tuple[np.ndarray, int, list]]] = {kind: [] for kind in kinds}
    for _ in range(starts):
        free = {k: Free(start=v * rng.uniform(0.8, 1.2)) for k, v in truth.items()}
        for kind, problem_of in kinds.items():
            problem = problem_of([curve], rig, free)
            begin = problem.coordinates.coordinates(
                np.array([q.start for q in problem.parameters], dtype=np.float64)
            )
            found[kind].append(searched(problem, begin, kind == "Nelder-Mead"))
    best = np.median([one[0] for one in found["derivatives"]], axis=0)
    for kind, searches in found.items():
        off = max(float(np.abs(one[0] / best - 1.0).max()) for one in searches)
        runs, cpu, wall = np.median([[one[1], *one[2]] for one in searches], axis=0).tolist()
        record.add("four", search=kind, starts=starts, runs=runs, cpu=cpu, wall=wall, off=off)
    medians = {
        kind: np.median([[one[1], *one[2]] for one in searches], axis=0)
        for kind, searches in found.items()
    }
    # a simplex may stop before the optimum
    off = float(np.median([np.abs(one[0] / best - 1.0).max() for one in found["Nelder-Mead"]]))
    what = f"four parameters, {starts} starts, derivatives beside Nelder-Mead"
    record.target(f"{what}: optima", "<= 1e-6", f"{off:.1e}", off <= 1e-6)
    ratios = medians["Nelder-Mead"] / medians["derivatives"]
    record.target(f"{what}: runs", ">= 5 times", f"{ratios[0]:.1f}", bool(ratios[0] >= 5.0))
    record.target(f"{what}: wall time", ">= 2 times", f"{ratios[2]:.1f}", bool(ratios[2] >= 2.0))


def main() -> None:
    """Fit all sets, on as many processes as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few sets, nothing written")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--part", type=float, default=1.0, help="of the sets")
    given = parser.parse_args()
    record = Record("fit_scenarios", given.quick)
    four_parameters(record, 2 if given.quick else 20)
    with ProcessPoolExecutor(given.workers) as pool:
        for name, sets in SETS.items():
            count = 2 if given.quick else max(2, round(given.part * sets))
            tasks = [(name, seed) for seed in range(count)]
            reported(record, name, list(pool.map(one, tasks)))
    record.close()


if __name__ == "__main__":
    main()
