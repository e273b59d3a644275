"""Problems of cosseratbench 0.3 by this package and by the solvers it has adapters for.

python bench_cosserat.py [catenary cantilever pendulum crossing twist]

Errors are those that cosseratbench measures, at its own numbers of elements. A solver that is not
installed, or whose model lacks what a problem needs, is named as such.
"""

from __future__ import annotations

import sys

from cosseratbench.experiment import Experiment
from cosseratbench.registry import load_experiment, load_solver
from cosseratbench.solver import Solver
from peer_cosseratbench import StictionSolver

PROBLEMS = ("catenary", "cantilever", "pendulum", "crossing", "twist")
PEERS = ("pyelastica", "mujoco")


def told(experiment: Experiment, solver: Solver | None) -> str:
    """Return the measures of one solver on one problem, or why there are none."""
    if solver is None:
        return "not installed"
    scenario = experiment.build(**{p.name: p.default for p in experiment.parameters})
    size = {"n_elements": experiment.n_elements, "n_frames": experiment.n_frames}
    try:
        trajectory = solver.run(scenario, **size)
    except NotImplementedError as error:
        return f"not supported: {error}"
    except (FloatingPointError, ValueError) as error:
        return f"failed: {str(error).splitlines()[0]}"
    found = {name: float(f(scenario, trajectory)) for name, f in experiment.metrics.items()}
    return ", ".join(f"{name} {value:.3e}" for name, value in found.items())


def peer(name: str) -> Solver | None:
    """Return a peer; None where it is not installed."""
    try:
        return load_solver(name)
    except ImportError:
        return None


def main(names: tuple[str, ...]) -> None:
    """Print a line for each problem and solver."""
    for name in names:
        experiment = load_experiment(name)
        for label in ("stiction", *PEERS):
            solver = StictionSolver() if label == "stiction" else peer(label)
            size = experiment.n_elements
            print(f"{name:11} {label:11} n = {size}: {told(experiment, solver)}", flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or PROBLEMS)
