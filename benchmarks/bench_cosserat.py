"""Problems of cosseratbench 0.3 by this package and by the solvers it has adapters for.

python bench_cosserat.py [--quick]

Errors are those that cosseratbench measures, at its own numbers of elements. A solver that is not
installed, or whose model lacks what a problem needs, is named as such. Ours stands there twice, as
it comes and with two choices by name, the same for every problem. `exact` is what the same measures
say of an exact answer, see `cosserat_exact.py`. It needs `cosseratbench[pyelastica]` and MuJoCo 3
(`mujoco<4`: cosseratbench 0.3 writes cables in a form that MuJoCo 4 refuses).
"""

from __future__ import annotations

import time

from cosserat_exact import EXACT
from cosseratbench.experiment import Experiment
from cosseratbench.registry import load_experiment, load_solver
from cosseratbench.solver import Solver
from cosseratbench.trajectory import Trajectory
from peer_cosseratbench import StictionSolver
from record import Record, record_all

PROBLEMS = ("catenary", "cantilever", "pendulum", "crossing", "twist")
PEERS = ("pyelastica", "mujoco")
# the same for every problem
NAMED = {"end_correction": 0.1, "contact_curve": "fitted"}
CHOSEN = "stiction, " + ", ".join(f"{name} = {value}" for name, value in NAMED.items())


def measured(experiment: Experiment, trajectory: Trajectory) -> dict[str, float]:
    """Return what cosseratbench measures."""
    return {n: float(f(experiment.scenario, trajectory)) for n, f in experiment.metrics.items()}


def solved(experiment: Experiment, solver: Solver | None) -> dict[str, object]:
    """Return the measures of one solver on one problem, or why there are none."""
    if solver is None:
        return {"failed": "not installed"}
    size = {"n_elements": experiment.n_elements, "n_frames": experiment.n_frames}
    begin = time.process_time()
    try:
        trajectory = solver.run(experiment.scenario, **size)
    except NotImplementedError as error:
        return {"failed": f"not supported: {error}"}
    except (FloatingPointError, ValueError) as error:
        return {"failed": str(error).splitlines()[0]}
    spent = time.process_time() - begin
    return {"measures": measured(experiment, trajectory), "processor_seconds": round(spent, 2)}


def solver_of(name: str) -> Solver | None:
    """Return a solver; None where it is not installed."""
    if name == "stiction":
        return StictionSolver()
    if name == CHOSEN:
        return StictionSolver(**NAMED)
    try:
        return load_solver(name)
    except ImportError:
        return None


def judge(record: Record, name: str, found: dict[str, dict[str, object]], us: str) -> None:
    """Add a verdict for each error: ours beside the best of the peers."""
    ours = found[us].get("measures", {})
    for measure, value in ours.items():
        if not measure.endswith("_error"):
            continue
        peers = {p: found[p]["measures"][measure] for p in PEERS if "measures" in found[p]}
        if not peers:
            continue
        best = min(peers, key=peers.__getitem__)
        reported = f"{value:.3e}; {best} {peers[best]:.3e}"
        if "exact" in found:
            reported += f"; an exact answer {found['exact']['measures'][measure]:.3e}"
        what = f"cosseratbench 0.3, {name}: {measure}{us.removeprefix('stiction')}"
        record.target(what, "at most the best peer's", reported, bool(value <= peers[best]))


def main(record: Record, quick: bool) -> None:
    """Measure every problem by every solver."""
    for name in PROBLEMS[1:2] if quick else PROBLEMS:
        experiment = load_experiment(name)
        ours = ("stiction", CHOSEN)
        found = {label: solved(experiment, solver_of(label)) for label in (*ours, *PEERS)}
        if name in EXACT:
            trajectory = EXACT[name](experiment.scenario, experiment.n_elements)
            found["exact"] = {"measures": measured(experiment, trajectory)}
        for label, point in found.items():
            size = experiment.n_elements
            record.add("cosserat", problem=name, solver=label, elements=size, **point)
        for us in ours:
            judge(record, name, found, us)


if __name__ == "__main__":
    record_all("cosserat", __doc__, main)
