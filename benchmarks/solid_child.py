"""One whole solve of a solid in a process of its own: time, counts and peak memory, as JSON.

    question: {"preset": name, "fields": {...}, "model": [name, {...}], "method": [name, {...}],
               "solver": name, "warm": time, "turn": whether to stop where the program turns back}

The process keeps memory that it frees, as `stiction run` does. A few steps of the same preset in
its quick size come first: they compile and load what is needed.
"""

import json
import sys
import time

import numpy as np
from memory_child import forget_peak, peak

import stiction as st


class Turned(Exception):
    """The path has passed its first limit point."""


class Monitor:
    """Looks at the progress of a path: where the program's time rises no more, it has turned."""

    def __init__(self, stop):
        self.stop, self.most, self.note = stop, -1.0, ""

    def __call__(self, done, note):
        # within a step the last value is reported again
        if note.endswith("Newton iterations"):
            if self.stop and done <= self.most:
                raise Turned
            self.most, self.note = done, note


def system(question, **more):
    """Return the system."""
    name, fields = question["model"]
    preset = getattr(st, question["preset"])
    return preset(model=getattr(st, name)(**fields), **{**question["fields"], **more})


def method(question):
    """Return the method with its solver."""
    name, fields = question["method"]
    return getattr(st.solids, name)(**fields, solver=getattr(st.solids, question["solver"])())


def marks(run):
    """Return where sliding is full, how contact shrinks, and how well energy closes."""
    found = {name: quantity.value for name, quantity in run.quantities.items()}
    names = ("full_sliding_at", "contact_length_initial", "contact_length_final")
    imbalance = float(run.energy.imbalance_rel)
    displacement = float(np.asarray(run.data["displacement"])[-1])
    saved = {name: found[name] for name in names}
    return {**saved, "displacement": displacement, "imbalance": imbalance}


def main():
    question = json.load(sys.stdin)
    st.solve(system(question, size="quick"), method(question), (0.0, question["warm"]))
    forget_peak()
    monitor, answer = Monitor(question["turn"]), {}
    ready, how = system(question), method(question)
    start, work = time.perf_counter(), time.process_time()
    try:
        run = st.solve(ready, how, (0.0, 1.0), throw=False, progress=monitor)
        answer = {"status": run.status.name, "reason": run.reason, **run.stats, **marks(run)}
    except Turned:
        answer = {"status": "TURNED", "limit_point_at": monitor.most * ready.u_end}
    seconds, cpu = time.perf_counter() - start, time.process_time() - work
    answer |= {"seconds": seconds, "cpu_seconds": cpu, "peak_bytes": peak(), "work": monitor.note}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
