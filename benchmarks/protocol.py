"""How a solver in another process is asked and answers: one JSON object each way.

Needs NumPy only, so that it also runs in the interpreter of a peer that is not ours.

    question: {"problem": {...}, "settings": {...}, "budget": seconds}
    answer:   {"seconds": best, "runs": how many, "x": [...], "v": [...],
               "events": [...] or null, "onset": [...] or null, "counts": {...},
               "versions": {...}}, or {"failed": why}
"""

import json
import sys
import time

import numpy as np

MOST_RUNS = 20


def timed(call, budget):
    """Return (best seconds, runs, result) of a warm call.

    The first run compiles and loads and is never counted. A call that takes longer than
    `budget` is timed once.
    """
    call()
    spent, times = 0.0, []
    while not times or (spent < budget and len(times) < MOST_RUNS):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
        spent += times[-1]
    return min(times), len(times), result


def tridiagonal(problem):
    """Return the dense stiffness matrix of a chain held at the left."""
    spring = np.array([*problem["stiffness"], 0.0])
    matrix = np.diag(spring[:-1] + spring[1:])
    return matrix - np.diag(spring[1:-1], 1) - np.diag(spring[1:-1], -1)


def bounds(problem):
    """Return the friction bound mu m g of each mass [N]."""
    return problem["mu"] * np.array(problem["mass"]) * problem["gravity"]


def serve(prepare, versions):
    """Answer one question from standard input on standard output.

    `prepare(problem, settings)` returns a call without arguments that solves the problem
    and returns a dict with x, v and whatever else of the answer it has.
    """
    question = json.load(sys.stdin)
    call = prepare(question["problem"], question["settings"])
    try:
        seconds, runs, result = timed(call, question["budget"])
    except (ArithmeticError, RuntimeError, ValueError) as failure:
        print(json.dumps({"failed": f"{type(failure).__name__}: {failure}"}))
        return
    answer = {"events": None, "onset": None, "counts": {}, **result}
    answer |= {"seconds": seconds, "runs": runs, "versions": versions}
    print(json.dumps(answer, default=plain))


def plain(value):
    """Return an array or number of NumPy as JSON has it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"no JSON for {type(value).__name__}")
