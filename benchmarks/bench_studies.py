"""Studies: members a second, what goes beside the kernels, memory."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from record import Record, load, record_all

import stiction as st
from stiction.chains.blocks import event_driven_kernels
from stiction.chains.blocks.event_driven import blocks_of
from stiction.core.run import Request

# the example of DESIGN.md
CHAIN = st.Chain(
    mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Ramp(rate=1.0), law=st.Coulomb(mu=0.25)
)
SPAN = (0.0, 8.0)
RESULTS = ("max(onset_force)", "final.x", "events.slip")


def frictions(count: int) -> np.ndarray:
    """Return coefficients of friction, evenly spread."""
    return np.linspace(0.1, 0.4, count)


def swept(sweep: st.Sweep, workers: int, **given: object) -> tuple[float, st.studies.Study]:
    """Return the wall time of a sweep into a new folder, and the study."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        study = sweep.run(Path(folder) / "study", workers=workers, **given)
        seconds = time.perf_counter() - begin
        # read before the folder goes
        study.table  # noqa: B018
        return seconds, study


def in_kernels(count: int) -> float:
    """Return the processor time that the kernels of so many ramps take, on one core [s]."""
    request = Request(*SPAN, np.array(SPAN))
    solve = blocks_of(CHAIN, st.EventDriven(), request, [("law", "mu")], [])
    values, real, spent = frictions(count), event_driven_kernels.solve_motions, [0.0]
    solve([values[:2]])

    def timed(*given: object) -> None:
        begin = time.process_time()
        real(*given)
        spent[0] += time.process_time() - begin

    event_driven_kernels.solve_motions = timed
    try:
        solve([values])
    finally:
        event_driven_kernels.solve_motions = real
    return spent[0]


def ramps(record: Record, quick: bool) -> None:
    """Sweep DESIGN's ramp over its friction: members a second, and what goes beside the kernels."""
    count, cores = 2_000 if quick else 10_000, 2
    sweep = st.Sweep(CHAIN, {"law.mu": frictions(count)}, t_span=SPAN, results=RESULTS)
    # once for what is compiled or loaded
    swept(st.Sweep(CHAIN, {"law.mu": frictions(8)}, t_span=SPAN, results=RESULTS), 1)
    best = {1: np.inf, cores: np.inf}
    for _ in range(1 if quick else 5):
        for workers in best:
            seconds, study = swept(sweep, workers)
            best[workers] = min(best[workers], seconds)
            assert study.complete
            assert not any(study.counts().values())
    kernels = in_kernels(count)
    over = 1e3 * (cores * best[cores] - kernels) / count
    record.add(
        "sweep", what="ramp", members=count, seconds=best[cores], one=best[1], kernels=kernels,
        over=over, load=load(),
    )  # fmt: skip
    what = f"{count:,} ramps of three masses, friction varied, {cores} cores, store included"
    measured = f"{best[cores]:.2f} s ({1e3 * kernels / count:.3f} ms a member in kernels)"
    met = None if quick else best[cores] <= 6.0
    record.target(what, "10^4 in <= 6 s", measured, met)
    what = "the same: (workers x wall - kernel time) / members"
    record.target(what, "<= .3 ms", f"{over:.3f} ms", None if quick else over <= 0.3)


def processor_time() -> float:
    """Return what this process and all that ended under it have spent on processors [s]."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    reported = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in reported)


def peak_memory(cores: int) -> float:
    """Return the most memory that this process and its workers have held together [GiB]."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    own, theirs = (resource.getrusage(kind).ru_maxrss / 2**20 for kind in kinds)
    return own + cores * theirs


def wheels(record: Record, quick: bool) -> None:
    """Stream wheels that slip and slide, with audit and ledger each, and compare with one by one.

    Starts lie widely around the paper's; some meet a two-fold or the line h = g = 0 and are
    solved alone, with words for what happened.
    """
    count, cores = 4_000 if quick else 1_000_000, 2
    span, method = (0.0, 5.0), st.EventDriven(rtol=1e-8)
    keep = ("final.r", "final.v", "final.omega", "events.slide", "energy.friction_heat")

    def sweep_of(members: int) -> st.Sweep:
        rng = np.random.default_rng(1)
        places = {"x0[0]": (0.1, 0.3), "x0[1]": (-0.2, 0.2), "x0[2]": (-1.1, -0.9)}
        fields = {path: rng.uniform(*ends, members) for path, ends in places.items()}
        paired = st.studies.Paired()
        wheel = st.WheelOnTurntable()
        return st.Sweep(wheel, fields, design=paired, t_span=span, results=keep, method=method)

    swept(sweep_of(8), 1)
    spent = processor_time()
    seconds, study = swept(sweep_of(count), cores)
    spent = (processor_time() - spent) / count
    assert study.complete
    counts = study.counts()
    memory = peak_memory(cores)
    lost = counts["determinism"] / count
    record.add(
        "sweep", what="wheels", members=count, seconds=seconds, each=spent, lost=lost,
        memory=memory, load=load(),
    )  # fmt: skip
    measured = f"{seconds:.1f} s, {1e6 * spent:.0f} us of a core a member"
    measured += f"; {100 * lost:.2f} % lose determinism"
    what = f"{count:,} wheels (rtol 1e-8) by Sweep, audit and ledger each, {cores} cores, streamed"
    record.target(what, "10^6 in <= 75 s", measured, None if quick else seconds <= 75.0)
    within = None if quick else memory <= 2.0
    record.target("the same: peak memory of all processes", "<= 2 GiB", f"{memory:.2f} GiB", within)


def steps(record: Record, quick: bool) -> None:
    """Stream three-mass chains of 10^4 fixed steps, and compare one core with two."""
    count, cores = 4_000 if quick else 1_000_000, 2
    method = st.ThetaStepper(step=8e-4)

    def sweep_of(members: int) -> st.Sweep:
        fields = {"law.mu": frictions(members)}
        return st.Sweep(CHAIN, fields, t_span=SPAN, results=RESULTS, method=method)

    swept(sweep_of(8), 1)
    spent = processor_time()
    seconds, study = swept(sweep_of(count), cores)
    spent = (processor_time() - spent) / count
    assert study.complete
    assert not any(study.counts().values())
    memory = peak_memory(cores)
    begin = time.process_time()
    st.solve(CHAIN, method, SPAN, save=2)
    alone = time.process_time() - begin
    record.add(
        "sweep", what="theta", members=count, seconds=seconds, alone=alone, each=spent,
        memory=memory, load=load(),
    )  # fmt: skip
    measured = f"{seconds:.1f} s, {1e6 * spent:.0f} us of a core a member ({1e6 * alone:.0f} alone)"
    what = f"{count:,} three-mass chains of 10^4 steps, {cores} cores, streamed"
    record.target(what, "10^6 in <= 2 min", measured, None if quick else seconds <= 120.0)
    within = None if quick else memory <= 2.0
    record.target("the same: peak memory of all processes", "<= 2 GiB", f"{memory:.2f} GiB", within)


if __name__ == "__main__":
    record_all("studies", __doc__, ramps, steps, wheels)
