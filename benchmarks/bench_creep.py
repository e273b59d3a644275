"""Chains without stick: time at equal error beside SciPy's LSODA and Radau, and many masses.

A block on a spring under a ramp and under a sine, laws of Dahl and LuGre, also with very stiff
contacts. The error is the largest difference of displacement or velocity at 21 times from DOP853 at
1e-13, over the largest of its kind. Peers see the same smooth right-hand side, without events.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
from protocol import timed
from record import Record, record_all
from scipy.integrate import solve_ivp

import stiction as st
from stiction.chains import Radau, Sine

NORMAL, STIFFNESS = 9.81, 20.0
T_END, TIMES = 5.0, np.linspace(0.0, 5.0, 21)
LAWS = {
    "Dahl": st.laws.Dahl(1e4, 0.3),
    "Dahl, stiff": st.laws.Dahl(2e5, 0.3),
    "LuGre": st.laws.LuGre(1e4, 31.6, 0.04, 0.15, 0.1, 1e-3),
    "LuGre, stiff": st.laws.LuGre(1e5, 100.0, 0.04, 0.15, 0.1, 1e-3),
}
LOADS = {"ramp": st.Ramp(rate=1.0), "sine": Sine(4.0, 2.0)}
PEERS = {"LSODA": (1e-6, 1e-8, 1e-10, 1e-12), "Radau": (1e-5, 1e-7)}


def right_side(law: st.laws.Friction, load: str) -> Callable[[float, np.ndarray], list[float]]:
    """Return the rates of x, v and z, written for plain numbers."""
    sine, sigma = load == "sine", float(law.sigma0)

    def dahl(t: float, y: np.ndarray) -> list[float]:
        x, v, z = y.tolist()
        force = 4.0 * np.sin(2.0 * t) if sine else t
        return [v, force - STIFFNESS * x - NORMAL * sigma * z, v - sigma * abs(v) * z / 0.3]

    def lugre(t: float, y: np.ndarray) -> list[float]:
        x, v, z = y.tolist()
        g = 0.1 + 0.05 * np.exp(-np.square(v / 1e-3))
        rate = v - sigma * abs(v) * z / g
        friction = NORMAL * (sigma * z + law.sigma1 * rate + 0.04 * v)
        return [v, (4.0 * np.sin(2.0 * t) if sine else t) - STIFFNESS * x - friction, rate]

    return dahl if isinstance(law, st.laws.Dahl) else lugre


def off(found: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest difference of displacement or velocity over the largest of its kind."""
    sizes = np.abs(reference[:2]).max(axis=1)
    return float((np.abs(found[:2] - reference[:2]).max(axis=1) / sizes).max())


def exact(f: Callable[[float, np.ndarray], list[float]]) -> np.ndarray:
    """Return x, v and z at all times, from time to time: between steps DOP853 is of order 7."""
    found = [np.zeros(3)]
    for span in itertools.pairwise(TIMES):
        found.append(solve_ivp(f, span, found[-1], "DOP853", rtol=1e-13, atol=1e-18).y[:, -1])
    return np.array(found).T


def ours(record: Record, case: str, chain: st.Chain, reference: np.ndarray, budget: float) -> None:
    """Measure our method, and compare it with the peers at its error, or at their least."""
    peers: dict[str, list[tuple[float, float]]] = {}
    for line in record.lines:
        if line["kind"] == "creep" and line["case"] == case:
            peers.setdefault(line["who"], []).append((line["error"], line["seconds"]))
    for rtol in (1e-8, 1e-11):
        method = Radau(rtol=rtol)
        seconds, _, run = timed(
            lambda method=method: st.solve(chain, method, (0.0, T_END), save=TIMES), budget
        )
        error = off(np.stack([run.data.x.values[:, 0], run.data.v.values[:, 0]]), reference)
        ratios = {}
        for who, found in peers.items():
            errors, times = np.log(np.array(sorted(found))).T
            same = float(np.exp(np.interp(np.log(error), errors, times)))
            ratios[who.split()[1].lower()] = same / seconds
        record.add(
            "creep_ratio", case=case, rtol=rtol, error=error, seconds=seconds,
            steps=run.stats["steps"], **ratios,
        )  # fmt: skip
        reported = ", ".join(f"{ratio:.1f} of {who}" for who, ratio in ratios.items())
        if rtol == 1e-8:
            what = f"{case}: time of SciPy at equal error over ours, rtol 1e-8"
            record.target(what, "> 1", reported, min(ratios.values()) > 1.0)


def equal_error(record: Record, quick: bool) -> None:
    """Compare error and time of one block."""
    for (name, law), (kind, load) in itertools.product(LAWS.items(), LOADS.items()):
        f, case = right_side(law, kind), f"{name}, {kind}"
        reference = exact(f)
        for who, tolerances in PEERS.items():
            for rtol in tolerances[: 2 if quick else None]:
                begin = time.perf_counter()
                y = solve_ivp(
                    f, (0.0, T_END), np.zeros(3), who, TIMES, rtol=rtol, atol=1e-5 * rtol
                ).y
                seconds = time.perf_counter() - begin
                record.add(
                    "creep", case=case, who=f"SciPy {who}", rtol=rtol, error=off(y, reference),
                    seconds=seconds,
                )  # fmt: skip
        chain = st.Chain(mass=[1.0], stiffness=STIFFNESS, load=load, law=law)
        ours(record, case, chain, reference, 0.2 if quick else 2.0)


def many_masses(record: Record, quick: bool) -> None:
    """Measure the processor time of a step of 1, 10 and 50 masses."""
    for n in (1, 10, 50):
        for name, law in LAWS.items():
            chain = st.Chain(
                mass=np.ones(n), stiffness=4e3, damping=0.1, load=Sine(20.0, 3.0), law=law
            )
            times = []
            for _ in range(4):
                begin = time.process_time()
                run = st.solve(chain, Radau(rtol=1e-8), (0.0, 0.2), save=2)
                times.append(time.process_time() - begin)
            each = 1e6 * min(times) / run.stats["steps"]
            record.add("creep_step", law=name, masses=n, us=each, steps=run.stats["steps"])


if __name__ == "__main__":
    record_all("creep", __doc__, equal_error, many_masses)
