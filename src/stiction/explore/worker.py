"""The worker process that solves: it reads jobs and writes answers, one line of JSON each.

`python -m stiction.explore.worker` reads standard input and ends when that is closed. Output that
libraries print is redirected to standard error, because answers use standard output. `hub` starts
this process.

A job is {"id": number, "owner": page, "do": kind} with further keys by kind: "run" and "write"
have the `table` of a scenario, "run-folder" and "study-folder" a `path`, "figure" a `name`; "stop"
stops the job `id`. Answers are {"id", "progress", "note"}, {"id", "done": result}, and
{"id", "error"}.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from stiction.core.method import default_method, name_of
from stiction.core.run import Run
from stiction.errors import ModelError, Status, StictionError, explain
from stiction.explore.report import report_of_run, report_of_study
from stiction.io.scenario import Scenario, scenario_text, write_scenario
from stiction.io.scenario.reader import scenario_of
from stiction.io.store import load
from stiction.numerics.compiling.choosing import TooSlow, Trial, choose, note_ready, system_of
from stiction.numerics.compiling.folders import is_ready
from stiction.numerics.jit import GIVEN, use
from stiction.solve import solve

__all__ = ["Worker", "main"]

# shortest time between two reports of progress
_EVERY_S = 0.1
# a first run that took less is repeated, so that its time is without loading and compiling
_SOON_S = 3.0
# runs whose figures may be drawn
_MOST_RECENT = 4

Answer = Callable[[dict[str, Any]], None]


class Worker:
    """Runs the jobs of the pages one after the other.

    Parameters
    ----------
    answer : called with messages: `id`, and `progress` with `note`, `done`, or `error`

    Verified by: tests/unit/explore/test_session.py::test_from_a_slider_to_a_picture
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._recent_runs: dict[str, Run] = {}
        self._solved_kinds: set[str] = set()
        # numbers of the requests to be stopped
        self.stopped: set[int] = set()

    def do(self, asked: Mapping[str, Any]) -> None:
        """Run a job and send its result, or the reason of a refusal."""
        number = int(asked["id"])
        try:
            if number in self.stopped:
                raise KeyboardInterrupt
            self._answer({"id": number, "done": self._result_of(asked, number)})
        except StictionError as error:
            self._answer({"id": number, "error": str(error)})
        except MemoryError:
            self._answer({"id": number, "error": _TOO_LARGE})
        except KeyboardInterrupt:
            self._answer({"id": number, "error": "Stopped.", "stopped": True})

    def _result_of(self, asked: Mapping[str, Any], number: int) -> dict[str, Any]:
        """Return the result of a request, by its kind `do`."""
        what = asked["do"]
        if what == "run":
            scenario = scenario_of(asked["table"])
            return self._timed(scenario, number, str(asked.get("owner", "")))
        if what == "write":
            return {"text": write_scenario(scenario_of(asked["table"]))}
        if what == "run-folder":
            run = load(Path(asked["path"]))
            self._remember(str(asked.get("owner", "")), run)
            text = "" if run.system is None or run.method is None else _text(run)
            return {**report_of_run(run), "scenario": text}
        if what == "study-folder":
            from stiction.studies import Study

            return report_of_study(Study(asked["path"]))
        if what == "figure":
            return {"figure": self._figure(str(asked.get("owner", "")), str(asked["name"]))}
        raise AssertionError(what)

    def _timed(self, scenario: Scenario, number: int, owner: str) -> dict[str, Any]:
        """Return the report of a run, and the times [s] of solving (`seconds`) and reporting.

        The time of the report is `fixed`. A short first run of its kind is repeated, so that both
        times contain no loading of code.
        """
        while True:
            begin = time.perf_counter()
            run = self._solved(scenario, number)
            solved = time.perf_counter()
            message = report_of_run(run)
            end = time.perf_counter()
            kind = f"{run.system_name} by {run.method_name}"
            # kernels are compiled once; the first run of a kind also loads code
            compiling: Any = run.provenance.get("compile_s", 0.0)
            begin += float(compiling)
            if kind in self._solved_kinds or end - begin > _SOON_S:
                break
            self._solved_kinds.add(kind)
        self._solved_kinds.add(kind)
        self._remember(owner, run)
        return {**message, "seconds": max(solved - begin, 0.0), "fixed": end - solved}

    def _remember(self, owner: str, run: Run) -> None:
        """Store the last run of a page, and discard those of the pages that are idle longest."""
        self._recent_runs.pop(owner, None)
        self._recent_runs[owner] = run
        while len(self._recent_runs) > _MOST_RECENT:
            del self._recent_runs[next(iter(self._recent_runs))]

    def _figure(self, owner: str, name: str) -> str:
        """Return a figure of the last run as SVG."""
        import io

        run = self._recent_runs.get(owner)
        names = run.plot.NAMES if run is not None else ()
        if run is None or name not in names:
            needs = "one of " + ", ".join(names) if names else "an earlier run"
            why, try_ = "a figure shows the last run.", "press Run."
            raise ModelError("figure", repr(name)[:40], needs, why, try_)
        import matplotlib

        file = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "path"}):
            getattr(run.plot, name)().savefig(file, format="svg")
        return file.getvalue()

    def _solved(self, scenario: Scenario, number: int) -> Run:
        """Solve as `stiction run` does, but with compiled kernels wherever they are ready."""
        method = scenario.method or default_method(scenario.system)
        place = name_of(method)
        known = getattr(scenario.system, "plain_seconds", None)
        span = scenario.t_end - scenario.t_span[0]
        ours = GIVEN is None and place.startswith("stiction.")
        # kernels that are loaded once serve every move of a slider
        ready = ours and (is_ready(place) or is_ready(system_of(place)))
        plain_s = known(method, span) if known is not None else None
        mode, open_ = choose(place, "compiled" if ready else None, plain_s)
        use(mode)
        try:
            run = self._run(scenario, number, Trial(active=open_))
        except (TooSlow, ArithmeticError, ValueError) as error:
            # as `stiction run`: compiled code returns inf or NaN where plain Python raises
            if isinstance(error, StictionError) or not open_:
                raise
            self._answer({"id": number, "progress": 0.0, "note": _COMPILES})
            use("compiled")
            run = self._run(scenario, number, Trial(active=False))
        if run.status.complete and run.provenance["kernels"] == "compiled":
            note_ready(place)
        return run

    def _run(self, scenario: Scenario, number: int, trial: Trial) -> Run:
        """Solve with progress messages, until the request is stopped."""
        last = time.monotonic()

        def report(fraction: float, note: str) -> None:
            nonlocal last
            if number in self.stopped:
                raise KeyboardInterrupt
            trial.report(fraction)
            now = time.monotonic()
            if now - last >= _EVERY_S:
                last = now
                self._answer({"id": number, "progress": float(fraction), "note": str(note)})

        with np.errstate(all="ignore"), trial:
            run = solve(
                scenario.system,
                scenario.method,
                scenario.t_span,
                save=scenario.save,
                throw=False,
                progress=report,
            )
        if run.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return run


_COMPILES = "plain Python would take longer than compiling: kernels are compiled, once per machine"
_TOO_LARGE = explain(
    "memory",
    "a problem larger than this machine's memory",
    "arrays that fit",
    "a run keeps its system and every saved state in memory.",
    "fewer parts, or fewer saved states with solve.save.",
)


def _text(run: Run) -> str:
    return scenario_text(run)


def main() -> None:
    """Answer the jobs on standard input, line by line, until it is closed."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer = _message_writer(out)
    worker = Worker(answer)
    asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(worker, asked), daemon=True).start()
    answer({"id": 0, "done": {"ready": True}})
    while True:
        worker.do(asked.get())


def _message_writer(out: IO[bytes]) -> Answer:
    """Return a function that writes messages to `out`, one line of JSON each."""
    lock = threading.Lock()

    def answer(message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        try:
            with lock:
                out.write(line)
                out.flush()
        except BrokenPipeError:
            os._exit(0)

    return answer


def _listen(worker: Worker, asked: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Read jobs from standard input: add them to the queue, or record which are to stop."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["do"] == "stop":
            worker.stopped.add(int(message["id"]))
        else:
            asked.put(message)
    # standard input is closed: the parent has ended, so that nobody needs the current result
    os._exit(0)


if __name__ == "__main__":
    main()
