"""The same bits: twice, from eight threads at once, with other saved times, in other units."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from forks import bits, different

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


def everything(run: st.Run) -> dict[str, Any]:
    """Return all that a run holds, as bytes or text."""
    return {
        **bits(run),
        "kinds": tuple(run.event_log.kind),
        "quantities": repr({name: q.value for name, q in run.quantities.items()}),
        "audit": repr(list(run.audit)),
        "determinism": repr(run.determinism),
    }


def events(found: dict[str, Any]) -> dict[str, Any]:
    """Return the times and kinds of the events."""
    return {key: found[key] for key in ("events", "kinds")}


def in_threads(names: list[str], count: int) -> list[dict[str, Any] | str]:
    """Return the bits of runs that were made at the same time."""
    found: list[dict[str, Any] | str] = [""] * count

    def work(i: int) -> None:
        try:
            found[i] = everything(solved(names[i % len(names)]))
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


def campaign(names: tuple[str, ...] = tuple(CASES)) -> tuple[str, int]:
    """Compare, and count the bits that differ and must not."""
    bad: list[str] = []
    once = {name: everything(solved(name)) for name in names}
    for name in names:
        if found := different(once[name], everything(solved(name))):
            bad.append(f"{name}, twice: {found}")
        if name.startswith("rod"):
            # steps of rods end at saved times
            continue
        log = events(once[name])
        others = {
            save: different(log, events(everything(solved(name, save)))) for save in (2, 11, 5001)
        }
        bad += [f"{name}, {save} saved times: {found}" for save, found in others.items() if found]
    mixed = [list(names) * THREADS, *([name] for name in names)]
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
    return f"{len(names)} cases, {len(bad)} differences", len(bad)
