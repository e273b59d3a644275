"""Derivatives of chains and flows by five parameters: kernel time over that of the run.

Chains of 3 and 50 masses vibrate, stick and slip under a sine. Both runs go through the same steps,
in turns, and the best of many counts. Parameters that move events are among the five. Chains also
have the adjoint, for any number of parameters.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from record import Record, record_all

import stiction as st
from stiction.chains.event_driven.step_kernels import first_modes
from stiction.chains.methods import EventDriven
from stiction.chains.tangents.adjoint import RecordedRun, seed_of
from stiction.chains.tangents.directions import laid_out
from stiction.chains.tangents.run import TangentRun
from stiction.switching.flow import trajectory
from stiction.switching.tangents import mode as flow_tangents

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
    """Measure a recorded run and the backward pass from one quantity beside the run alone."""
    for n, name in itertools.product((3, 50), ("Coulomb", "ExponentialWeakening")):
        law, moved = LAWS[name]
        chain, best, names = chain_of(n, law), [np.inf, np.inf], moved + OTHERS
        for _ in range(5 if quick else 60):
            best[0] = min(best[0], seconds(prepared(chain, (), False)))
            run = RecordedRun(chain, METHOD, SPAN, (), np.zeros(0, np.int64))
            parts, _, laws = laid_out(chain, names, np.zeros(len(names), np.int64), run.law, SPAN)
            start = time.perf_counter()
            run.run()
            run.back(parts, *seed_of("x[0]", chain, len(run.events)))
            best[1] = min(best[1], time.perf_counter() - start)
            # `parts` holds addresses of these laws
            del laws
        ratio = best[1] / best[0]
        record.add("adjoint", n=n, law=name, run=best[0], adjoint=best[1], ratio=ratio)
        what = f"gradient of one quantity, {n} masses, {name}: time over that of the run"
        record.target(what, "<= 8", f"{ratio:.2f}", bool(ratio <= 8.0))


VALUES = {"p.friction": 0.5, "p.cubic": 0.3, "p.spring": 2.0, "p.coupling": 0.4, "p.offset": 0.1}


def side(s: float) -> Callable[..., list[float]]:
    """Return a nonlinear field on the side s."""

    def field(x: np.ndarray, p: tuple[float, ...]) -> list[float]:
        a, b, c = x[0], x[1], x[2]
        return [
            -0.2 * a + b - s * p.friction + p.cubic * math.sin(b),
            -p.spring * a - 0.1 * b + 0.5 * c,
            -0.4 * c + p.coupling * a - s * 0.2 + p.cubic * a * c / (1.0 + c * c),
        ]

    return field


def in_python(field: Callable[..., list[float]]) -> Callable[..., list[float]]:
    """Return the same field in a form that Numba cannot compile."""

    def called(x: np.ndarray, p: tuple[float, ...]) -> list[float]:
        return list(map(float, [str and value for value in field(x, p)]))

    return called


def nonlinear(wrap: Callable[..., Callable[..., list[float]]]) -> st.PiecewiseSmooth:
    """Return a flow of three states that crosses and slides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return st.PiecewiseSmooth(
            h=lambda x, p: x[1] + 0.3 * x[2] - p.offset,
            f_plus=wrap(side(1.0)),
            f_minus=wrap(side(-1.0)),
            x0=[3.0, 0.5, 0.2],
            parameters={name.removeprefix("p."): value for name, value in VALUES.items()},
        )


FLOWS = {
    "relay, linear": (
        st.switching.RelayFeedback(x0=(1.0, 0.2, 0.1)),
        10.0,
        ["pole", "gain", "x0"],
    ),
    "two blocks": (
        st.switching.TwoBlockStickSlip(x0=(0.3, 0.1, 0.1, 0.5)),
        10.0,
        ["mass[0]", "friction[1]", "coupling", "belt_speed", "stiffness[0]"],
    ),
    "wheel": (
        st.WheelOnTurntable(x0=(0.705371, 0.03, -0.9)),
        0.5,
        ["mu", "kappa", "omega0", "gamma", "beta"],
    ),
    "nonlinear, compiled": (nonlinear(lambda f: f), 10.0, list(VALUES)),
    "nonlinear, in Python": (nonlinear(in_python), 10.0, list(VALUES)),
}


def timed(spent: list[float], module: object, name: str) -> None:
    """Let the kernel of a module add its seconds to `spent`."""
    kernel = getattr(module, name)

    def call(*arguments: object) -> object:
        start = time.perf_counter()
        found = kernel(*arguments)
        spent[0] += time.perf_counter() - start
        return found

    setattr(module, name, call)


def flows(record: Record, quick: bool) -> None:
    """Measure the kernels of the run, and those of the derivatives beside them."""
    run, beside = [0.0], [0.0]
    timed(run, trajectory.loop, "advance")
    for name in ("variational", "derivatives", "evaluate", "begin_mode"):
        timed(beside, flow_tangents, name)
    for name, (flow, end, to) in FLOWS.items():
        best = [np.inf, np.inf]
        for _ in range(5 if quick else 200):
            run[0], beside[0] = 0.0, 0.0
            found = flow.tangents(None, (0.0, end), to)
            assert not found.failures
            best = [min(best[0], run[0]), min(best[1], run[0] + beside[0])]
        ratio = best[1] / best[0]
        events = len(found.events)
        record.add("flows", flow=name, events=events, run=best[0], tangents=best[1], ratio=ratio)
        what = f"derivatives by 5 parameters, flow {name}: kernel time over that of the run"
        record.target(what, "<= 3", f"{ratio:.2f}", bool(ratio <= 3.0))


if __name__ == "__main__":
    record_all("tangents", __doc__ or "", ratios, adjoint, flows)
