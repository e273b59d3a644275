"""Rolling strings: steps per second of `Characteristics`, and error against steps."""

from __future__ import annotations

import json

import numpy as np
from protocol import timed
from record import Record, record_all
from scenarios import FOLDER

import stiction as st
from stiction.exact.strings import symmetric_contact
from stiction.rods import RollingStrings, Sine

T_END = 100.0
WANTED = 2e5


def offset() -> RollingStrings:
    """Return case C: contact points apart, weak mobility."""
    return RollingStrings(G1=0.5, G2=0.5, s1=2.0, s2=2.5, u0=Sine(2, 1.0), nodes=2)


def symmetric() -> RollingStrings:
    """Return case B: one contact point, closed form."""
    return RollingStrings(s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=2)


def known_path() -> tuple[np.ndarray, np.ndarray] | None:
    """Return times and s1 of case C in the reference numbers; None where they are missing."""
    path = FOLDER / "rods.json"
    if not path.exists():
        return None
    case = json.loads(path.read_text())["C_fixed_offset_weak"]
    return np.array(case["t"]), np.array(case["s1"])


def measure(record: Record, name: str, system: RollingStrings, step: float, quick: bool) -> float:
    """Add one point and return its steps per second, set-up and output included."""
    known = known_path() if name == "offset" else None
    t = np.array([1.0, 5.0, 10.0, 20.0, 50.0, 100.0]) if known is None else known[0]
    method = st.Characteristics(step=step, check=False)
    budget = 0.5 if quick else 5.0
    seconds, runs, run = timed(
        lambda: st.solve(system, method, (0.0, T_END), save=[0.0, *t]), budget
    )
    path = run.data.s1.values[1:]
    error = None
    if known is not None:
        error = float(np.abs(path - known[1]).max())
    elif name == "symmetric":
        error = float(np.abs(path - symmetric_contact(t, 2.0, 1.0)).max())
    rate = run.stats["steps"] / seconds
    record.add(
        "strings",
        problem=name,
        step=step,
        steps=run.stats["steps"],
        corners=run.stats["corners_met"],
        seconds=seconds,
        runs=runs,
        steps_per_second=rate,
        error=error,
        energy_drift=run.energy.imbalance_rel,
    )
    return rate


def main(record: Record, quick: bool) -> None:
    steps = (1e-3,) if quick else (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)
    problems = (("symmetric", symmetric()), ("offset", offset()))
    rates = [
        measure(record, name, system, step, quick) for name, system in problems for step in steps
    ]
    slowest = min(rates)
    record.target(
        "steps of rolling strings per second, one core",
        f">= {WANTED:.0e}",
        f"{slowest:.2g} in the slowest run, set-up and fields included",
        slowest >= WANTED,
    )


if __name__ == "__main__":
    record_all("strings", __doc__, main)
