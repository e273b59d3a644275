"""The other programs: which settings they run with, and how they are asked.

Every peer runs in a process of its own, is warmed up before it is timed, and gives the
best of several runs. Each is set up as its documentation advises, or better where that
turned out faster; what was tried is said in README.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scenarios import Answer, Problem

HERE = Path(__file__).resolve().parent
# wall time after which a point is given up [s]
LONGEST = 240.0


@dataclass(frozen=True)
class Peer:
    """One point: a program with its settings, and their names in the table."""

    name: str
    setting: str
    script: str
    settings: dict


@dataclass(frozen=True)
class Reply:
    """What a peer said; `failed` says why there is nothing else."""

    seconds: float = float("nan")
    runs: int = 0
    answer: Answer | None = None
    counts: dict | None = None
    versions: dict | None = None
    failed: str | None = None


def ask(peer: Peer, problem: Problem, budget: float = 2.0) -> Reply:
    """Run a peer on a problem; a program that is missing or gives up is a reply too."""
    module = "siconos.kernel" if peer.script == "peer_siconos.py" else ""
    question = {"problem": problem.plain(), "settings": peer.settings, "budget": budget}
    said = talk(peer.script, question, LONGEST, module)
    if "failed" in said:
        return Reply(failed=said["failed"])
    events, onset = said["events"], said["onset"]
    answer = Answer(
        np.array(said["x"]),
        np.array(said["v"]),
        None if events is None else [(e[0], e[1], e[2], e[3]) for e in events],
        None if onset is None else np.array(onset, float),
    )
    return Reply(said["seconds"], said["runs"], answer, said["counts"], said["versions"])


def talk(
    script: str, question: dict, seconds: float, module: str = "", threads: str = "1", **more: Any
) -> dict:
    """Return what a script in its own process says; {"failed": why} where it does not.

    Parameters
    ----------
    question : a JSON object for its standard input; the answer is the last line that it prints
    seconds : after which it is given up
    module : of a peer that has an interpreter of its own
    threads : of BLAS and others; two on such small matrices only get in each other's way
    more : for `subprocess.run`
    """
    python = interpreter(module) if module else sys.executable
    if python is None:
        return {"failed": "not installed"}
    # a compiler that comes with a peer lies beside our interpreter
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # another interpreter has libraries of its own
    env = {k: v for k, v in os.environ.items() if not module or k != "PYTHONPATH"}
    env |= {f"{name}_NUM_THREADS": threads for name in _THREADS if threads}
    words = {"input": json.dumps(question), "capture_output": True, "text": True}
    try:
        run = subprocess.run(
            [python, str(HERE / script)], env=env | {"PATH": path}, timeout=seconds, **words, **more
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {seconds:.0f} s"}
    if run.returncode == 0:
        return json.loads(run.stdout.splitlines()[-1])
    last = last_line(run.stderr)
    missing = last.startswith("ModuleNotFoundError")
    return {"failed": "not installed" if missing else f"ended with code {run.returncode}: {last}"}


_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NGS")


def last_line(text: str) -> str:
    """Return what a failed program said last; the lines before name places on this machine."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


@cache
def interpreter(module: str) -> str | None:
    """Return a Python that has a module: that of SICONOS_PYTHON and the like, or the system's."""
    variable = f"{module.partition('.')[0].upper()}_PYTHON"
    for python in (os.environ.get(variable), "/usr/bin/python3"):
        if python is None or not Path(python).exists():
            continue
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


# ---- the settings


def smoothed(method: str, width: float, rtol: float) -> Peer:
    """SciPy with friction mu N tanh(v / width)."""
    name = "SciPy odeint (LSODA)" if method == "odeint" else f"SciPy solve_ivp {method}"
    settings = {
        "kind": "smoothed",
        "method": method,
        "width": width,
        "rtol": rtol,
        "atol": rtol * 1e-2,
    }
    return Peer(name, f"tanh {width:.0e}, rtol {rtol:.0e}", "peer_scipy.py", settings)


def restarted(rtol: float, max_step: float | None) -> Peer:
    """SciPy with set-valued friction: stop at each event, start again."""
    settings = {
        "kind": "events",
        "method": "DOP853",
        "rtol": rtol,
        "atol": rtol * 1e-2,
        "max_step": 1e300 if max_step is None else max_step,
        "most_events": 2000,
    }
    more = "" if max_step is None else f", max_step {max_step:.0e}"
    return Peer(
        "SciPy DOP853, events + restart", f"rtol {rtol:.0e}{more}", "peer_scipy.py", settings
    )


def nivp_fixed(step: float, solver: str) -> Peer:
    """solve-nivp with the trapezoidal rule, its most accurate fixed step here."""
    settings = {"method": "trapezoidal", "solver": solver, "adaptive": False, "step": step}
    return Peer(
        "solve-nivp", f"trapezoidal, {_NIVP[solver]}, h = {step:.0e}", "peer_nivp.py", settings
    )


def nivp_adaptive(step: float, rtol: float) -> Peer:
    """solve-nivp as in its friction example: composite rule, adaptive steps."""
    solver = "semismooth_newton"
    settings = {"method": "composite", "solver": solver, "adaptive": True, "step": step}
    setting = f"composite, {_NIVP[solver]}, adaptive, rtol {rtol:.0e}"
    return Peer("solve-nivp", setting, "peer_nivp.py", {**settings, "rtol": rtol})


def siconos(step: float, formulation: str = "relay", solver: str = "AVI_CAOFERRIS") -> Peer:
    """Siconos: Moreau-Jean time stepping with theta = 1/2."""
    settings = {"step": step, "theta": 0.5, "formulation": formulation, "solver": solver}
    setting = f"{formulation}, theta 0.5, h = {step:.0e}"
    return Peer("Siconos time stepping", setting, "peer_siconos.py", settings)


_NIVP = {"semismooth_newton": "Newton", "VI": "VI"}


def peers(problem: Problem) -> list[Peer]:
    """Return the points that are measured on a problem."""
    if problem.n == 3:
        return [
            *(smoothed("odeint", 1e-8, rtol) for rtol in (1e-6, 1e-7, 1e-9, 1e-12)),
            *(smoothed("LSODA", 1e-8, rtol) for rtol in (1e-6, 1e-9)),
            smoothed("odeint", 1e-4, 1e-6),
            smoothed("LSODA", 1e-4, 1e-6),
            smoothed("Radau", 1e-8, 1e-6),
            smoothed("Radau", 1e-4, 1e-6),
            *(restarted(rtol, None) for rtol in (1e-6, 1e-9, 1e-12)),
            nivp_fixed(1e-2, "semismooth_newton"),
            nivp_fixed(2e-3, "semismooth_newton"),
            nivp_adaptive(1e-2, 1e-3),
            siconos(1e-3, "contact", "NSGS"),
            *(siconos(step) for step in (1e-2, 1e-3, 1e-4)),
        ]
    return [
        *(smoothed("odeint", 1e-8, rtol) for rtol in (1e-6, 1e-9, 1e-12)),
        smoothed("LSODA", 1e-8, 1e-9),
        smoothed("odeint", 1e-4, 1e-6),
        smoothed("Radau", 1e-4, 1e-6),
        *(restarted(1e-9, max_step) for max_step in (3e-4, 1e-4)),
        nivp_fixed(1e-3, "VI"),
        nivp_fixed(2e-4, "VI"),
        siconos(1e-3, "contact", "NSGS"),
        *(siconos(step, "relay", "PGS") for step in (1e-3, 1e-4, 2e-5)),
    ]
