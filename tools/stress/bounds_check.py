"""Small versions of the built-in scenarios with every index of every kernel checked.

Compiled code that reads or writes outside an array ends in an IndexError here, and in silence
elsewhere. Kernels with such checks are saved separately, and are made at the first run.
Numba reads NUMBA_BOUNDSCHECK=1 where it is imported.
"""

from __future__ import annotations

import time
import traceback

import stiction as st

RODS = ("solve.save=3",)
PRESETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("baseline", ()),
    ("burridge-knopoff", ("solve.t_end=10",)),
    ("theta-half", ()),
    ("energy-balance", ()),
    ("quasistatic-reversal", ()),
    ("quasistatic-branches", ()),
    ("belt", ()),
    ("belt-oscillator", ()),
    ("wheel-slips-then-slides", ()),
    ("wheel-recurrent", ()),
    ("normal-form", ()),
    ("two-block-stick-slip", ()),
    ("relay-feedback", ()),
    ("string-symmetric", ()),
    ("string-plucked", ()),
    ("rods-crossed", ("solve.t_end=0.005", *RODS)),
    ("rods-slip", ("solve.t_end=0.02", *RODS)),
    ("rod-on-plane", ("solve.t_end=0.02", *RODS)),
    ("rods-net", ("solve.t_end=0.002", *RODS)),
    ("rods-on-rod", ("solve.t_end=0.01", *RODS)),
    ("rods-knot", ("solve.t_end=0.002", *RODS)),
    ("rods-braid", ("solve.t_end=0.002", *RODS)),
    ("strip-peeling", ("method.steps=2", "system.u_end=2.0")),
    ("cap-sliding", ("method.steps=2", "system.u_end=0.1")),
    ("cylinders", ("method.steps=2",)),
    ("strip-peeling", ("method={type='Continuation'}", "system.u_end=0.5")),
)


def campaign(names: tuple[str, ...] = ("all",)) -> tuple[str, int]:
    """Run every preset, or those that are named; count those out of bounds."""
    from numba.core import config

    if config.BOUNDSCHECK != 1:
        return "bounds are not checked: NUMBA_BOUNDSCHECK is not 1", 1
    bad, runs = 0, 0
    for name, changes in PRESETS:
        if names != ("all",) and name not in names:
            continue
        begin, runs = time.process_time(), runs + 1
        scenario = st.read_scenario(name, changes)
        try:
            status = scenario.solve(throw=False).status.value
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            bad += 1
            status = f"{type(error).__name__}: {str(error)[:200]}\n{traceback.format_exc()[-600:]}"
        print(f"{name:26s} {status}  {time.process_time() - begin:.1f} s", flush=True)
    return f"{runs} runs with bounds checked, {bad} failed", bad
