"""Does any slender body buckle in silence? Random columns against Euler and against eigenvalues.

Columns of random slenderness, material, mesh, direction and support are pressed to several times
Euler's load in few or many steps, some of them with a small side force. A run passes in silence
if its last state has negative eigenvalues, counted by a dense solver of its own, and nothing was
reported. Where there is no side force, the first reported place is compared with Euler's load.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh
from tally import Tally

import stiction as st
from stiction import solids as so
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem, State
from stiction.solids.model import Readings

TAKES = {"guided": 1.0, "clamped": 4.0}


def column(rng: np.random.Generator) -> tuple[st.Solid, float, float, bool]:
    """Return a column, the strain it is pressed to, Euler's strain, and whether it is perfect."""
    slender = rng.uniform(20.0, 60.0)
    size, young = 10.0 ** rng.uniform(-6.0, 3.0), 10.0 ** rng.uniform(0.0, 11.0)
    poisson = rng.uniform(0.0, 0.4)
    held = str(rng.choice(list(TAKES)))
    upright = bool(rng.integers(2))
    euler = TAKES[held] * np.pi**2 / 12.0 / slender**2
    end = euler * rng.uniform(1.5, 12.0)
    long, thick = size * slender, size
    cells = (int(rng.integers(24, 49)), int(rng.integers(1, 4)))
    sides, along = (("bottom", "top"), 1) if upright else (("left", "right"), 0)
    shape = (thick, long, cells[::-1]) if upright else (long, thick, cells)
    near, far = (so.Boundary(0, name) for name in sides)
    conditions = [so.Driven(far, along, so.Program((0, 1), (0, -end * long))), so.Fixed(near)]
    if held == "clamped":
        conditions.append(so.Fixed(far, (1 - along,)))
    perfect = bool(rng.random() < 0.6)
    if not perfect:
        load = young / (1.0 - poisson**2) * thick * euler * 10.0 ** rng.uniform(-9.0, -3.0)
        place = (thick / 2, long / 2) if upright else (long / 2, thick / 2)
        conditions.append(so.Loaded(so.Nearest(0, place), 1 - along, so.Program((0.0,), (load,))))
    body = so.Body(so.rectangle(*shape), so.Q2(), so.NeoHookean(young, poisson))
    solid = st.Solid([body], [], conditions, readings=Readings(displacement=0, support=True))
    return solid, end, euler, perfect


def solved(solid: st.Solid, method: object) -> tuple[st.Run, int]:
    """Return the run, and how many eigenvalues of its last tangent are negative."""
    states = []
    add = Recorder.add

    def saved(self: Recorder, state: State, *given: object, **named: object) -> None:
        states.append(state)
        add(self, state, *given, **named)

    Recorder.add = saved
    try:
        run = st.solve(solid, method, throw=False)
    finally:
        Recorder.add = add
    problem, last = Problem(solid.assembled()), states[-1]
    _, matrix = problem.evaluate(last, last.u, last.time, None, data=True)
    dense = problem.reduced(matrix).toarray()
    return run, int(np.sum(eigvalsh(0.5 * (dense + dense.T)) < 0.0))


def campaign(cases: int = 200, seed: int = 0) -> tuple[str, int]:
    """Press columns; the first loss must be within 0.1 % of Euler's load, or his strain."""
    rng, tally = np.random.default_rng(seed), Tally()
    for case in range(cases):
        solid, end, euler, perfect = column(rng)
        steps = int(rng.choice([20, 400], p=[0.8, 0.2]))
        continued = rng.random() < 0.3
        method = (
            st.Continuation(steps=min(steps, 60))
            if continued
            else st.solids.Quasistatic(steps=steps)
        )
        run, negative = solved(solid, method)
        tally.add("columns")
        tally.add("ended early", not run.status.ok)
        reported = [loss for loss in run.determinism.losses if loss.kind == "bifurcation"]
        tally.must(reported or not negative, "silent", case, f"{negative} unstable modes", method)
        if perfect and reported:
            place = float(reported[0].where["program_time"]) * end / euler
            off, body = abs(place - 1.0), solid.bodies[0]
            # shear and the shortening before it buckles lower the load by about Euler's strain
            tally.most("off over Euler's strain", off / euler)
            here = (case, place, euler, body.mesh.cells.shape[0], body.material, method)
            tally.must(off <= max(1e-3, euler), "far from Euler's load", *here)
    return tally.result()
