"""Ensembles of the wheel: time per trajectory to the line h = g = 0, and how good they are."""

from __future__ import annotations

import os
import time

import numpy as np
from protocol import timed
from record import Record, load, record_all

import stiction as st
from stiction.switching.ensembles.study import EnsembleResult, ensemble
from stiction.switching.wheel.escapes import escaping_points

LOOSE, STRICT = st.EventDriven(rtol=1e-8), st.EventDriven(rtol=1e-12)
# the part of the escaping region from which every exit meets the line, soon
R_LOW, R_HIGH, T_END = 0.152, 0.186, 500.0


def exits(count: int) -> tuple[st.WheelOnTurntable, np.ndarray, np.ndarray]:
    """Return exits of the escaping region, even in r and omega, to a random side each."""
    wheel = st.WheelOnTurntable()
    x = escaping_points(wheel, count, R_LOW, R_HIGH, seed=1)
    return wheel, x, np.where(np.random.default_rng(2).random(count) < 0.5, 1.0, -1.0)


def solved(starts: tuple, method: st.EventDriven, workers: int) -> EnsembleResult:
    """Return what became of the starts."""
    wheel, x, sides = starts
    return ensemble(wheel, x, T_END, sides=sides, method=method, workers=workers)


def cost(record: Record, quick: bool) -> None:
    """Measure the time per trajectory on one core and on two, in turns."""
    count = 2_000 if quick else 20_000
    starts = exits(count)
    best = {1: float("inf"), 2: float("inf")}
    # in turns, so that both see the same machine
    for _ in range(1 if quick else 4):
        for workers in best:
            seconds, _, found = timed(lambda w=workers: solved(starts, LOOSE, w), 0.1)
            best[workers] = min(best[workers], seconds / count)
    line = float(found.ended("codim2_line").mean())
    steps, events = float(found.steps.mean()), float(found.counts.sum(axis=1).mean())
    for workers, each in best.items():
        record.add(
            "ensemble",
            count=count,
            workers=workers,
            seconds_each=each,
            steps=steps,
            events=events,
            line=line,
            load=load(),
        )
    record.target(
        f"wheel, {count:,} exits to the first hit of the line, rtol 1e-8, one core",
        "<= 100 us each",
        f"{1e6 * best[1]:.1f} us, {steps:.1f} steps, {100 * line:.2f} % meet the line",
        best[1] <= 100e-6,
    )
    ratio = best[1] / best[2]
    cores = os.cpu_count() or 1
    record.target(
        "the same on two cores",
        "near-linear: >= 1.8 times",
        f"{ratio:.2f} times, {1e6 * best[2]:.1f} us",
        ratio >= 1.8 if cores >= 2 else None,
    )


def million(record: Record, quick: bool) -> None:
    """Measure one large ensemble on all cores, once."""
    count = 20_000 if quick else 1_000_000
    starts = exits(count)
    begin = time.perf_counter()
    found = solved(starts, LOOSE, os.cpu_count() or 1)
    seconds = time.perf_counter() - begin
    ends = {ending.end: ending.count for ending in found.statistics()}
    record.add("ensemble_once", count=count, seconds=seconds, ends=ends, load=load())
    words = ", ".join(f"{number:,} {end}" for end, number in ends.items())
    record.target(
        f"wheel, {count:,} exits on {os.cpu_count()} cores",
        "10^6 in <= 2 minutes",
        f"{seconds:.1f} s: {words}",
        None if quick else seconds <= 120.0,
    )


def accuracy(record: Record, quick: bool) -> None:
    """Compare rtol 1e-8 with rtol 1e-12: same events, and how far the hit is off."""
    count = 1_000 if quick else 20_000
    starts = exits(count)
    loose, strict = (solved(starts, method, os.cpu_count() or 1) for method in (LOOSE, STRICT))
    same = (loose.counts == strict.counts).all(axis=1) & (loose.code == strict.code)
    time_off = np.abs(loose.time - strict.time)[same]
    state_off = np.abs(loose.state - strict.state).max(axis=1)[same]
    point = {
        "count": count,
        "same": float(same.mean()),
        "time_error": float(time_off.max()),
        "time_median": float(np.median(time_off)),
        "time_99": float(np.quantile(time_off, 0.99)),
        "state_error": float(state_off.max()),
        "steps": float(loose.steps.mean()),
        "steps_strict": float(strict.steps.mean()),
    }
    record.add("ensemble_error", **point)


if __name__ == "__main__":
    record_all("switching_ensemble", __doc__, cost, accuracy, million)
