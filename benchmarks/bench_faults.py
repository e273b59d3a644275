"""Faults: error against work of a slider beside SciPy, time of one right-hand side, many events."""

from __future__ import annotations

import time

import numpy as np
from protocol import timed
from record import Record, record_all
from scipy.integrate import solve_ivp

import stiction as st
from stiction.faults import Cycles, Fault, SpringSlider, StrikeSlipFault
from stiction.laws import AgeingLaw

# converged to all digits that are shown: rtol 1e-13
RECURRENCE = 585.483917811
SLIDER = SpringSlider(
    AgeingLaw(a=0.01, b=0.025, length=1e-5, regularised=False),
    impedance=2e10 / 6000.0,
    speed_start=9e-7,
    state_start=10.0,
)
T_END = 3000.0


def logarithms(t: float, y: np.ndarray) -> list[float]:
    """Return the rates of ln V and ln theta of the same slider, for SciPy."""
    v = np.exp(y[0])
    q = np.exp(-y[1]) - v / 1e-5
    return [(2e9 * (1e-6 - v) - 5e6 * 0.025 * q) / (5e6 * 0.01 + 2e10 / 6000.0 * v), q]


def onset(t: float, y: np.ndarray) -> float:
    """Return zero where the speed passes a millimetre a second."""
    return float(y[0] - np.log(1e-3))


onset.direction = 1.0


def slider(record: Record, quick: bool) -> None:
    """Compare error and time of a recurrence."""
    budget = 0.3 if quick else 3.0
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
        seconds, _, run = timed(
            lambda rtol=rtol: st.solve(SLIDER, Cycles(rtol=rtol), (0.0, T_END), save=2), budget
        )
        off = abs(run.quantities["recurrence"].value - RECURRENCE)
        record.add("slider", who="Cycles", rtol=rtol, seconds=seconds, error=off)
    start = [np.log(9e-7), np.log(10.0)]
    for method in ("DOP853", "LSODA", "Radau"):
        for rtol in (1e-8, 1e-10):
            begin = time.perf_counter()
            done = solve_ivp(
                logarithms, (0.0, T_END), start, method, rtol=rtol, atol=rtol, events=onset
            )
            seconds = time.perf_counter() - begin
            off = abs(float(np.diff(done.t_events[0][1:]).mean()) - RECURRENCE)
            record.add("slider", who=f"SciPy {method}", rtol=rtol, seconds=seconds, error=off)


def right_hand_side(record: Record, quick: bool) -> None:
    """Time one evaluation of all rates, transforms included, over the number of cells."""
    for n in (1000, 10_000, 100_000):
        fault, cpu = StrikeSlipFault(cells=n), time.process_time
        run = st.solve(fault, Cycles(rtol=1e-6, max_steps=30), (0.0, 1e8), save=2, throw=False)
        begin = cpu()
        run = st.solve(fault, Cycles(rtol=1e-6, max_steps=60), (0.0, 1e8), save=2, throw=False)
        each = 1e3 * (cpu() - begin) / run.stats["evaluations"]
        record.add("right_hand_side", cells=n, ms=each)
        if n == 10_000:
            what = "fault of 10^4 cells: one right-hand side, CPU of one core"
            record.target(what, "<= 3 ms", f"{each:.2f} ms", each <= 3.0)


def events(record: Record, quick: bool) -> None:
    """Follow a slider and 32 cells for many cycles, and the benchmark on 10^4 cells for some."""
    many = 200 if quick else 10_000
    law = AgeingLaw(a=0.01, b=0.02, length=8e-3)
    line = Fault(law, cells=32, length=1600.0, normal_stress=50e6, speed_start=2e-9)
    fine = StrikeSlipFault(cells=800 if quick else 10_000)
    # each with the time from event to event, and how many are wanted
    for system, cycle, wanted in (
        (SLIDER, 586.0, many),
        (line, 1.0502e9, many // 10 if quick else many),
        (fine, 2.6e9, 5),
    ):
        begin = time.process_time()
        # the last event is a whole one
        end = cycle * (wanted + 2)
        run = st.solve(system, Cycles(rtol=1e-8 if system is SLIDER else 1e-6), (0.0, end), save=2)
        seconds, cells = time.process_time() - begin, run.data["slip"].shape[-1]
        seen = int(run.quantities["onsets"].value)
        off, failed = run.energy.imbalance_rel, [c.check for c in run.audit if c.ok is False]
        # the second cycle still remembers the start; of the recurrence, not in seconds
        each = run.quantities["recurrence"].value
        spread = run.quantities["recurrence_spread"].value / each
        balance = next(c.value for c in run.audit if c.check == "stress_balances")
        record.add(
            "events", cells=cells, onsets=seen, seconds=seconds, ledger=off, balance=balance,
            recurrence=each, spread=spread, steps=run.stats["steps"], failed=failed,
        )  # fmt: skip
        reported = f"{seen:,} in {seconds:.0f} s of CPU, ledger {off:.0e}, balance {balance:.0e}"
        reported += f", failed: {', '.join(failed)}" if failed else ", audit held"
        held = seen >= wanted and not failed
        record.target(f"faults: events of {cells:,} cells", f">= {wanted:,}", reported, held)


if __name__ == "__main__":
    record_all("faults", __doc__, slider, right_hand_side, events)
