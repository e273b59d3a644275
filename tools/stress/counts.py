"""Counts beyond reason, each in a process of its own: refused in time and within the memory.

Every whole number of every system and method that a scenario can hold, and what is saved. The
same is asked of all that has a count, functions included, by tests/unit/test_bounds.py.
"""

from __future__ import annotations

import dataclasses
import re
import resource
import time
from functools import partial

from forks import answer

import stiction as st
from stiction.catalogue import CATALOGUE, attribute

SECONDS, BYTES = 1.0, 500 << 20
HUGE = (10**9, 10**12, 2**62)
# bounds on the time a run takes; what they are does no harm
STEPS = {"max_steps": HUGE[1:]}
BASES = {
    "Chain": "slip-wave",
    "RelayFeedback": "relay-feedback",
    "RollingStrings": "string-symmetric",
    "CrossedRods": "rods-crossed",
    "RodOnFixedRod": "rods-on-rod",
    "RodNet": "rods-net",
    "Braid": "rods-braid",
    "TighteningKnot": "rods-knot",
    "StripPeeling": "strip-peeling",
    "CapSliding": "cap-sliding",
}
METHODS = {
    "chains.EventDriven": ("baseline", ""),
    "chains.Quasistatic": ("quasistatic-ramp", ""),
    "chains.RegularizedTheta": ("baseline", ", step=1e-3, theta=0.5, smoothing=1e-3"),
    "chains.ThetaStepper": ("baseline", ", step=1e-3"),
    "switching.EventDriven": ("relay-feedback", ""),
    "rods.Characteristics": ("string-symmetric", ""),
    "rods.BumpStrands": ("string-symmetric", ""),
    "rods.RollingLeapfrog": ("rods-crossed", ""),
    "rods.RollingMidpoint": ("rods-crossed", ", step=1e-4"),
    "rods.PlaneLeapfrog": ("rod-on-plane", ""),
    "solids.Quasistatic": ("strip-peeling", ""),
    "solids.Continuation": ("strip-peeling", ""),
}


def whole_numbers(name: str, kind: str) -> list[tuple[str, bool]]:
    """Return the fields of a class that hold whole numbers, and whether a field is a pair."""
    fields = dataclasses.fields(attribute(CATALOGUE[kind].names[name], name))
    return [
        (f.name, "tuple[int, int]" in str(f.type))
        for f in fields
        if f.init and re.search(r"\bint\b", str(f.type))
    ]


def cases() -> list[tuple[str, tuple[str, ...]]]:
    """Return a scenario and changes for every count beyond reason."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for system, base in BASES.items():
        for field, pair in whole_numbers(system, "System"):
            for value in HUGE:
                if system == "Chain":
                    found.append(("slip-wave", ("system.mass=1.0", f"system.n={value}")))
                    continue
                texts = (f"[{value}, 3]", f"[3, {value}]") if pair else (str(value),)
                found += [(base, (f"system.{field}={text}",)) for text in texts]
    for label, (base, rest) in METHODS.items():
        room, _, method = label.partition(".")
        for field, _ in whole_numbers(method, f"{room}.Method"):
            for value in STEPS.get(field, HUGE):
                table = f"method={{type='{method}', {field}={value}{rest}}}"
                found.append((base, (table,)))
    found += [(base, (f"solve.save={v}",)) for base in ("baseline", "rods-crossed") for v in HUGE]
    return found


def tried(name: str, changes: tuple[str, ...]) -> str:
    """Return whether a scenario is refused in time and within the memory, or what it does."""
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = "SOLVED"
    try:
        st.read_scenario(name, changes).solve(throw=False)
    except st.StictionError as error:
        said = "refused" if "Why:" in str(error) and "Try:" in str(error) else str(error)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
        said = f"{type(error).__name__}: {error}"[:200]
    spent = time.process_time() - begin
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if said == "refused" and (spent > SECONDS or grown > BYTES):
        said = f"refused after {spent:.1f} s and {grown >> 20} MiB"
    return said


def campaign() -> tuple[str, int]:
    """Count what is not refused."""
    # what every child needs is loaded once, and is no part of what a refusal costs
    for base in {*BASES.values(), "baseline"}:
        st.read_scenario(base)
    bad, all_ = 0, cases()
    for name, changes in all_:
        said = answer(partial(tried, name, changes), 30.0)
        bad += said != "refused"
        if said != "refused":
            print(name, *changes, said, flush=True)
    counted = f"{len(all_)} counts beyond reason"
    return f"{counted}, {bad} not refused within {SECONDS} s and 500 MiB", bad
