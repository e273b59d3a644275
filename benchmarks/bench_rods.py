"""Two crossed rods in contact: node-steps per second with the search on, beside PyElastica."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from peers import Peer, ask
from protocol import timed
from record import Record, record_all

import stiction as st
from stiction.rods import ContactSearch, CrossedRods, RodSystem

WANTED = 2e6
# how many times faster than the peer each size is to be
RATIOS = {40: 10.0, 100: 20.0, 200: 30.0}
# calls short enough that some of them are not disturbed by other programs
PEER_STEPS = 200
# the time in which a step that is too long has to show itself [s]
PEER_SPAN = 0.1
DRIFT_SPAN = 1.0


@dataclass(frozen=True)
class Crossing:
    """The reference case of crossed rods, in numbers for a peer; steps are not part of it."""

    elements: int
    length: float = 1.0
    radius: float = 0.02
    density: float = 1000.0
    young: float = 1e6
    poisson: float = 0.5
    stretch: float = 1.02
    degrees: float = 60.0
    contact_stiffness: float = 1e4

    def plain(self) -> dict:
        return dict(vars(self))

    def system(self) -> RodSystem:
        """Return the same for our package, with a search for further contacts."""
        crossed = CrossedRods(
            angle=np.deg2rad(self.degrees),
            stretch=self.stretch,
            radius=self.radius,
            length=self.length,
            young=self.young,
            poisson=self.poisson,
            density=self.density,
            elements=self.elements,
        )
        return replace(crossed.assembled(), search=ContactSearch(max_contacts=8))


def step_of(system: RodSystem) -> tuple[float, float]:
    """Return the stability limit [s] and half of it."""
    tiny = st.solve(system, st.RollingLeapfrog(), (0.0, 1e-6), save=2)
    limit = float(tiny.stats["step_limit"])
    return limit, 0.5 * limit


def energy_drift(system: RodSystem, step: float) -> float:
    """Return the largest change of kinetic plus stored energy, over that at the start."""
    run = st.solve(system, st.RollingLeapfrog(step=step), (0.0, DRIFT_SPAN), save=21)
    total = np.asarray(run.energy.kinetic) + np.asarray(run.energy.stored)
    return float(np.abs(total / total[0] - 1.0).max())


def ours(record: Record, case: Crossing, quick: bool) -> tuple[float, float]:
    """Add our point; return microseconds per step and the step [s]."""
    system = case.system()
    limit, step = step_of(system)
    # so many that setting up and collecting results hardly count
    method, span = st.RollingLeapfrog(step=step), (0.0, 20_000 * step)
    seconds, runs, run = timed(lambda: st.solve(system, method, span, save=2), 0.5 if quick else 6)
    done = run.stats["steps"]
    record.add(
        "rods",
        solver="RollingLeapfrog",
        group="ours",
        elements=case.elements,
        step=step,
        step_limit=limit,
        steps=done,
        searches=run.stats["searches"],
        seconds=seconds,
        runs=runs,
        us_per_step=1e6 * seconds / done,
        node_steps_per_second=2 * (case.elements + 1) * done / seconds,
        energy_drift=energy_drift(system, step),
    )
    return 1e6 * seconds / done, step


def peer(record: Record, case: Crossing, step: float, quick: bool) -> float | None:
    """Add the peer's point at the same step; return microseconds per step, None if it failed."""
    steps = PEER_STEPS
    speed = {"task": "speed", "step": step, "steps": steps}
    reply = ask(Peer("PyElastica", "", "peer_pyelastica.py", speed), case, 0.5 if quick else 6.0)
    if reply.failed is not None:
        record.add("rods", solver="PyElastica", elements=case.elements, failed=reply.failed)
        return None
    found = {}
    if not quick:
        # the search goes up from a step that is surely stable, a quarter of our limit
        settings = {"task": "limit", "low": 0.5 * step, "span": PEER_SPAN}
        settings |= {"step": step, "drift_span": DRIFT_SPAN}
        found = ask(Peer("PyElastica", "", "peer_pyelastica.py", settings), case, 0.0).counts or {}
    each = 1e6 * reply.seconds / steps
    record.add(
        "rods",
        solver="PyElastica",
        group="peer",
        elements=case.elements,
        step=step,
        step_limit=found.get("step_limit"),
        steps=steps,
        seconds=reply.seconds,
        runs=reply.runs,
        us_per_step=each,
        node_steps_per_second=2e6 * (case.elements + 1) / each,
        energy_drift=found.get("energy_drift"),
        versions=reply.versions,
    )
    return each


def main(record: Record, quick: bool) -> None:
    slowest = np.inf
    for elements, wanted in RATIOS.items():
        case = Crossing(elements)
        mine, step = ours(record, case, quick)
        slowest = min(slowest, 2e6 * (elements + 1) / mine)
        theirs = peer(record, case, step, quick)
        ratio = None if theirs is None else theirs / mine
        record.target(
            f"a step of two rods of {elements} elements, search on, against PyElastica",
            f">= {wanted:.0f} times faster",
            "not measured" if ratio is None else f"{ratio:.1f} times",
            None if ratio is None else ratio >= wanted,
        )
    record.target(
        "node-steps of two rods in contact per second, one core, search on",
        f">= {WANTED:.0e}",
        f"{slowest:.2g} in the slowest run, set-up and results included",
        bool(slowest >= WANTED),
    )


if __name__ == "__main__":
    record_all("rods", __doc__, main)
