"""The same bits: twice, from eight threads at once, with other saved times, in other units.

Usage: python tools/stress/bits.py [NAME ...]
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

import stiction as st

CASES: dict[str, tuple[str, ...]] = {
    "baseline": (),
    "burridge-knopoff": ("solve.t_end=20",),
    "theta-half": (),
    "energy-balance": (),
    "quasistatic-reversal": (),
    "belt-oscillator": (),
    "two-block-stick-slip": (),
    "wheel-slips-then-slides": (),
    "string-symmetric": (),
    "rod-on-plane": ("solve.t_end=0.05",),
    "rods-crossed": ("solve.t_end=0.005",),
}
THREADS = 8


def solved(name: str, save: int | None = None) -> st.Run:
    """Return the run of a case."""
    scenario = st.read_scenario(name, CASES[name])
    return scenario.solve(throw=False, **({} if save is None else {"save": save}))


def bits(run: st.Run) -> dict[str, Any]:
    """Return everything a run says, as bytes or text."""
    return {
        **{name: v.values.tobytes() for name, v in run.variables.items()},
        **{f"energy {name}": c.tobytes() for name, c in run.energy.columns().items()},
        **events(run),
        "quantities": repr({name: q.value for name, q in run.quantities.items()}),
        "audit": repr(list(run.audit)),
        "determinism": repr(run.determinism),
    }


def events(run: st.Run) -> dict[str, Any]:
    """Return the moments and kinds of the events."""
    return {"moments": run.event_log.time.tobytes(), "kinds": tuple(run.event_log.kind)}


def different(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """Return the names of what differs."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def in_threads(names: list[str], count: int) -> list[dict[str, Any] | str]:
    """Return the bits of runs that were made at the same time."""
    found: list[dict[str, Any] | str] = [""] * count

    def work(i: int) -> None:
        try:
            found[i] = bits(solved(names[i % len(names)]))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
            found[i] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def scaled(power: int, method: object) -> st.Run:
    """Return the run of one chain whose forces and masses are scaled by a power of two."""
    by = 2.0**power
    chain = st.Chain(
        mass=[by, 2.0 * by, 0.5 * by],
        stiffness=20.0 * by,
        damping=0.1 * by,
        load=st.Ramp(rate=4.0 * by),
        law=st.Coulomb(mu=0.1),
    )
    return st.solve(chain, method, (0.0, 4.0), save=41, throw=False)


def main() -> int:
    """Compare; return 1 if a bit differs that must not."""
    names = sys.argv[1:] or list(CASES)
    bad: list[str] = []
    once = {name: bits(solved(name)) for name in names}
    for name in names:
        if found := different(once[name], bits(solved(name))):
            bad.append(f"{name}, twice: {found}")
        log = {key: once[name][key] for key in ("moments", "kinds")}
        if name.startswith("rod"):
            # steps of rods end at saved times
            continue
        others = {save: different(log, events(solved(name, save))) for save in (2, 11, 5001)}
        bad += [f"{name}, {save} saved times: {found}" for save, found in others.items() if found]
    mixed = [names * THREADS, *([name] for name in names)]
    for group in mixed:
        count = len(group) if len(group) > 1 else THREADS
        for i, got in enumerate(in_threads(group, count)):
            name = group[i % len(group)]
            if isinstance(got, str) or (found := different(once[name], got)):
                bad.append(f"{name}, in threads: {got if isinstance(got, str) else found}")
    for method in (st.EventDriven(), st.ThetaStepper(step=1e-3)):
        places = scaled(0, method).variables["x"].values
        for power in (-300, -40, 40, 300):
            other = scaled(power, method).variables["x"].values
            if not np.array_equal(places, other):
                bad.append(f"{type(method).__name__}, forces times 2^{power}")
    for line in dict.fromkeys(bad):
        print(line)
    print(f"{len(names)} cases, {len(bad)} differences")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
