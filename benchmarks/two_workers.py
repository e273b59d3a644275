"""Two workers against one, for a quiet machine: turns of the same study.

::

    python benchmarks/two_workers.py            # seven turns of 200,000 chains, six minutes
    python benchmarks/two_workers.py --quick    # one turn of 2,000, to see that it runs
"""

from __future__ import annotations

import multiprocessing
import os
import time

import numpy as np
from bench_studies import CHAIN, RESULTS, SPAN, frictions, swept
from record import Record, load, record_all

import stiction as st


def workers(record: Record, quick: bool) -> None:
    """Compare two workers with one, over a study that is long beside what begins it."""
    count, cores = 2_000 if quick else 200_000, 2
    fields = {"law.mu": frictions(count)}
    method = st.ThetaStepper(step=8e-4)
    sweep = st.Sweep(CHAIN, fields, t_span=SPAN, results=RESULTS, method=method)
    swept(st.Sweep(CHAIN, {"law.mu": frictions(8)}, t_span=SPAN, results=RESULTS, method=method), 1)
    half = st.Sweep(
        CHAIN, {"law.mu": frictions(count // cores)}, t_span=SPAN, results=RESULTS, method=method
    )
    # in turns, so that all meet the same machine; who comes first changes. Beside them what two
    # processes reach that share nothing: a virtual core is slower while the other one works
    ways = {
        "one": lambda: swept(sweep, 1)[0],
        "two": lambda: swept(sweep, cores)[0],
        "apart": lambda: apart(half, cores),
    }
    turns = []
    for turn in range(1 if quick else 7):
        order = list(ways) if turn % 2 == 0 else list(reversed(ways))
        wall = {name: ways[name]() for name in order}
        turns.append([wall[name] for name in ways])
        record.add("pair", members=count, **wall, load=load())
    one, two, alone = np.array(turns).T
    ratio, most = float(np.median(one / two)), float(np.median(one / alone))
    middle = dict(
        zip(ways, (float(np.median(column)) for column in (one, two, alone)), strict=True)
    )
    record.add("workers", members=count, **middle, load=load())
    what = f"{count:,} of these chains: two workers against one, store included"
    known = not quick and (os.cpu_count() or 1) >= cores
    met = ratio >= 1.8 if known else None
    reported = f"{ratio:.2f} times; {most:.2f} by two processes that share nothing"
    record.target(what, ">= 1.8 times", reported, met)


def apart(sweep: st.Sweep, cores: int) -> float:
    """Return the wall time of processes, each with the sweep and a folder of its own [s]."""
    context = multiprocessing.get_context("fork")
    crew = [context.Process(target=swept, args=(sweep, 1)) for _ in range(cores)]
    begin = time.perf_counter()
    for process in crew:
        process.start()
    for process in crew:
        process.join()
    return time.perf_counter() - begin


if __name__ == "__main__":
    record_all("two_workers", __doc__, workers)
