"""The problems that are measured, their reference answers, and the one error measure.

A problem is plain numbers, so that every solver gets the same ones, those in another
interpreter too. Masses are numbered from 1, mass n carries the load f(t) = f0 + rate t.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1].parent / "shared" / "reference"


@dataclass(frozen=True)
class Problem:
    """A chain with constant friction, held at the left, from rest. SI units.

    Parameters
    ----------
    name, title : short and readable
    mass, stiffness : (n,) [kg], [N/m]; spring 1 is at the wall
    mu, gravity : friction coefficient [1], [m/s^2]
    f0, rate : load f0 + rate t on mass n [N], [N/s]
    t_end : [s]
    samples : times at which the state is asked for [s], the last is t_end
    case : name of the case in the reference file
    """

    name: str
    title: str
    mass: tuple[float, ...]
    stiffness: tuple[float, ...]
    mu: float
    f0: float
    rate: float
    t_end: float
    samples: tuple[float, ...]
    case: str
    gravity: float = 9.81

    @property
    def n(self) -> int:
        """Number of masses."""
        return len(self.mass)

    def plain(self) -> dict:
        """Return the numbers for a solver in another process."""
        return asdict(self)


@dataclass(frozen=True)
class Answer:
    """What a solver returned; what it does not give is None.

    Parameters
    ----------
    x, v : (samples, n) states at the sample times [m], [m/s]
    events : rows (time, mass, kind, mode) after t = 0, in order; modes -1, 0, 1
    onset : (n,) first slip of each mass [s]; NaN where it never slips
    """

    x: np.ndarray
    v: np.ndarray
    events: list[tuple[float, int, str, int]] | None = None
    onset: np.ndarray | None = None


@dataclass(frozen=True)
class Reference:
    """The answer that counts as exact, and where it comes from.

    `n_events` may exceed the number of listed events: then the first ones are compared.
    """

    answer: Answer
    n_events: int
    source: str


@dataclass(frozen=True)
class Errors:
    """How far an answer is from the reference; None where there is nothing to compare.

    Parameters
    ----------
    state : largest error of a displacement or a velocity at any sample time, each over the
        largest of its kind in the reference [1]
    onset : largest error of a first slip [s]; infinite if the wrong masses slip
    event : largest error of an event time [s]; infinite if the sequence differs
    events : number of events found
    """

    state: float
    onset: float | None
    event: float | None
    events: int | None


BASELINE = Problem(
    name="baseline",
    title="Baseline: n = 3, constant load, 24 events, stops at 8.07 s (T = 10 s)",
    mass=(1.0,) * 3,
    stiffness=(20.0,) * 3,
    mu=0.05,
    f0=10.0,
    rate=0.0,
    t_end=10.0,
    samples=(1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
    case="A_baseline_const",
)
SLIP_WAVE = Problem(
    name="slip-wave",
    title="Slip wave: n = 3, slowly rising load (T = 8 s)",
    mass=(1.0,) * 3,
    stiffness=(20.0,) * 3,
    mu=0.25,
    f0=0.0,
    rate=1.0,
    t_end=8.0,
    samples=(2.5, 5.0, 7.5, 8.0),
    case="B_ramp_1",
)
STEP_WAVE = Problem(
    name="step-wave",
    title="Step wave: n = 50, sudden load, 265 events (T = 0.2 s)",
    mass=(0.02,) * 50,
    stiffness=(5000.0,) * 50,
    mu=0.3,
    f0=4.0,
    rate=0.0,
    t_end=0.2,
    samples=(0.02, 0.05, 0.1, 0.2),
    case="D_wave50_step",
)
PROBLEMS = (BASELINE, SLIP_WAVE, STEP_WAVE)


def errors(answer: Answer, reference: Reference) -> Errors:
    """Return how far `answer` is from the reference: the one measure for every solver."""
    want = reference.answer
    parts = [
        np.max(np.abs(got - exact)) / np.max(np.abs(exact))
        for got, exact in ((answer.x, want.x), (answer.v, want.v))
    ]
    # NaN would be lost in a comparison; it is the largest error there is
    state = float(max(np.inf if np.isnan(part) else part for part in parts))
    events = None if answer.events is None else len(answer.events)
    return Errors(state, _onset_error(answer, want), _event_error(answer, reference), events)


def _onset_error(answer: Answer, want: Answer) -> float | None:
    if answer.onset is None or want.onset is None:
        return None
    if not np.array_equal(np.isnan(answer.onset), np.isnan(want.onset)):
        return float("inf")
    return float(np.nanmax(np.abs(answer.onset - want.onset), initial=0.0))


def _event_error(answer: Answer, reference: Reference) -> float | None:
    if answer.events is None or reference.answer.events is None:
        return None
    if len(answer.events) != reference.n_events:
        return float("inf")
    worst = 0.0
    for got, want in zip(answer.events, reference.answer.events, strict=False):
        if tuple(got[1:]) != tuple(want[1:]):
            return float("inf")
        worst = max(worst, abs(got[0] - want[0]))
    return worst


@cache
def reference(problem: Problem) -> Reference:
    """Return the exact answer: the project's reference numbers, or our own dense solution.

    The reference file lies beside the checkout and is not part of it. Without it the
    modal solution of `modal.py` is used, which shares no code with the package.
    """
    path = FOLDER / "chains.json"
    if path.exists():
        return _from_file(problem, json.loads(path.read_text())[problem.case])
    return modal_reference(problem)


def modal_reference(problem: Problem) -> Reference:
    """Return the answer of the dense modal solution."""
    from modal import solve

    x, v, events = solve(problem)
    answer = Answer(x, v, events, onsets(problem.n, events, slips_at_start(problem)))
    return Reference(answer, len(events), "dense modal solution (benchmarks/modal.py)")


def _from_file(problem: Problem, case: dict) -> Reference:
    given = (case["m"], case["k"], case["mu_s"], case["g"], case["T"])
    ours = (problem.mass, problem.stiffness, problem.mu, problem.gravity, problem.t_end)
    if any(not np.array_equal(a, b) for a, b in zip(given, ours, strict=True)):
        raise ValueError(f"{problem.name}: the reference file describes another chain")
    known = {float(t): state for t, state in case["samples_xv"].items()}
    known[problem.t_end] = (case["x_final"], case["v_final"])
    states = [known[t] for t in problem.samples]
    answer = Answer(
        x=np.array([s[0] for s in states]),
        v=np.array([s[1] for s in states]),
        events=[(row[0], row[1], row[2], row[3]) for row in case["events"]],
        onset=np.array([np.nan if t is None else t for t in case["first_slip"]]),
    )
    found = Reference(answer, case["n_events"], "shared reference numbers (chains.json)")
    listed = len(answer.events or ())
    return found if listed == found.n_events else _completed(problem, found, listed)


def _completed(problem: Problem, found: Reference, listed: int) -> Reference:
    """Return a reference whose event list was cut short, with the rest from the modal solution."""
    modal = modal_reference(problem)
    error = errors(modal.answer, found).event
    if error is None or not error <= 1e-12:
        raise ValueError(f"{problem.name}: the modal solution has other events: {error}")
    answer = replace(found.answer, events=modal.answer.events)
    return replace(
        found, answer=answer, source=f"{found.source}, events from {listed + 1} on: modal"
    )


def slips_at_start(problem: Problem) -> list[int]:
    """Return the masses, from 1, that slip from t = 0 on: here only the loaded one can."""
    bound = problem.mu * problem.mass[-1] * problem.gravity
    return [problem.n] if abs(problem.f0) > bound else []


def onsets(n: int, events: list[tuple[float, int, str, int]], at_start: list[int]) -> np.ndarray:
    """Return the first slip of each mass from a list of events [s]."""
    first = np.full(n, np.nan)
    first[[mass - 1 for mass in at_start]] = 0.0
    for time, mass, kind, _ in events:
        if kind == "slip" and np.isnan(first[mass - 1]):
            first[mass - 1] = time
    return first
