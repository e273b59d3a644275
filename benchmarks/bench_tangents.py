"""Derivatives of chains by five parameters, and by any number: kernel time over that of the run.

Chains of 3 and 50 masses vibrate, stick and slip under a sine. Both runs go through the same steps,
in turns, and the best of many counts. Parameters that move events are among the five.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from record import Record, record_all

import stiction as st
from stiction.chains.event_driven.step_kernels import first_modes
from stiction.chains.methods import EventDriven
from stiction.chains.tangents.adjoint import RecordedRun, seed_of
from stiction.chains.tangents.run import TangentRun

SPAN = (0.0, 30.0)
METHOD = EventDriven(replay=False)
LAWS = {
    "Coulomb": (st.Coulomb(0.2), ["law.mu"]),
    "StaticKinetic": (st.StaticKinetic(0.25, 0.2), ["law.mu_static"]),
    "ExponentialWeakening": (st.ExponentialWeakening(0.3, 0.2, 0.5), ["law.v_scale"]),
}
OTHERS = ["stiffness[1]", "damping[0]", "mass[2]", "load.amplitude"]


def chain_of(n: int, law: st.laws.Friction) -> st.Chain:
    """Return a chain of n masses that moves from the start."""
    rng = np.random.default_rng(0)
    return st.Chain(
        mass=rng.uniform(0.8, 1.2, n),
        stiffness=rng.uniform(20.0, 30.0, n),
        damping=0.1,
        law=law,
        load=st.chains.Sine(8.0, 1.3),
        x0=rng.uniform(-0.3, 0.3, n),
        v0=rng.uniform(-1.0, 1.0, n),
    )


def prepared(chain: st.Chain, names: Sequence[str], carries: bool) -> Callable[[], int]:
    """Return a call that makes all steps of a fresh run, with variations or without."""
    run = TangentRun(chain, METHOD, SPAN, tuple(names), np.zeros(len(names), np.int64))
    if carries:
        return lambda: len(run.run().failures)
    first_modes(run.problem, run.steps.state)
    return lambda: int(not run.steps.advance().ok)


def seconds(call: Callable[[], int]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    failed = call()
    spent = time.perf_counter() - start
    assert failed == 0
    return spent


def ratios(record: Record, quick: bool) -> None:
    """Measure runs with and without variations in turns."""
    for n in (3, 50):
        for name, (law, moved) in LAWS.items():
            chain, best = chain_of(n, law), [np.inf, np.inf]
            for _ in range(5 if quick else 60):
                for j, carries in enumerate((False, True)):
                    best[j] = min(best[j], seconds(prepared(chain, moved + OTHERS, carries)))
            ratio = best[1] / best[0]
            record.add("tangents", n=n, law=name, run=best[0], tangents=best[1], ratio=ratio)
            what = f"derivatives by 5 parameters, {n} masses, {name}: time over that of the run"
            record.target(what, "<= 3", f"{ratio:.2f}", bool(ratio <= 3.0))


def adjoint(record: Record, quick: bool) -> None:
    """Measure a recorded run and the way back from one quantity beside the run alone."""
    for n in (3, 50):
        chain, best = chain_of(n, LAWS["Coulomb"][0]), [np.inf, np.inf]
        for _ in range(5 if quick else 60):
            best[0] = min(best[0], seconds(prepared(chain, (), False)))
            run = RecordedRun(chain, METHOD, SPAN, (), np.zeros(0, np.int64))
            start = time.perf_counter()
            run.run()
            run.back(*seed_of("x[0]", chain, len(run.events)))
            best[1] = min(best[1], time.perf_counter() - start)
        ratio = best[1] / best[0]
        record.add("adjoint", n=n, run=best[0], adjoint=best[1], ratio=ratio)
        what = f"gradient of one quantity, {n} masses, Coulomb: time over that of the run"
        record.target(what, "<= 8", f"{ratio:.2f}", bool(ratio <= 8.0))


if __name__ == "__main__":
    record_all("tangents", __doc__ or "", ratios, adjoint)
