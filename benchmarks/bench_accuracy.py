"""Error against work: every solver on the same problems, judged by one error measure."""

from __future__ import annotations

import numpy as np
from peers import Reply, ask, peers
from protocol import timed
from record import Record, record_all
from scenarios import (
    BASELINE,
    PROBLEMS,
    STEP_WAVE,
    Answer,
    Problem,
    errors,
    modal_reference,
    reference,
)

import stiction as st

MODE = {"slip+": 1, "stick": 0, "slip-": -1}


def chain_of(problem: Problem) -> st.Chain:
    """Return the problem as our chain."""
    return st.Chain(
        mass=problem.mass,
        stiffness=problem.stiffness,
        gravity=problem.gravity,
        load=st.Ramp(problem.rate, start=problem.f0),
        law=st.Coulomb(problem.mu),
    )


def answer_of(problem: Problem, run: st.Run, with_events: bool) -> Answer:
    """Return a run at the sample times, with its event list."""
    rows = np.searchsorted(run.time, problem.samples)
    if not np.array_equal(run.time[rows], problem.samples):
        raise ValueError("the run was not saved at the sample times")
    log = run.event_log
    events = [
        (float(t), int(mass), kind, MODE[after])
        for t, mass, kind, after in zip(log.time, log.contact, log.kind, log.after, strict=True)
        if mass > 0 and t > 0.0
    ]
    onset = [np.nan if t is None else t for t in run.quantities["onset_time"].value]
    return Answer(
        x=run.variables["x"].values[rows],
        v=run.variables["v"].values[rows],
        events=events if with_events else None,
        onset=np.array(onset),
    )


def ours(problem: Problem) -> list[tuple[str, str, object]]:
    """Return our methods with their names in the table; steps are as long as a peer's."""
    methods: list[tuple[str, str, object]] = [
        ("EventDriven", "default", st.EventDriven()),
        ("EventDriven", "rtol 1e-06, order 12", st.chains.EventDriven(rtol=1e-6, order=12)),
    ]
    scale = 1.0 if problem.n == 3 else 0.01
    for theta, steps in ((0.5, (1e-2, 1e-3, 1e-4, 1e-5)), (1.0, (1e-3, 1e-4))):
        for step in steps:
            h = step * scale
            name = f"theta {theta:g}, h = {h:.0e}"
            methods.append(("ThetaStepper", name, st.ThetaStepper(step=h, theta=theta)))
    for width, step in ((1e-3, 1e-3), (1e-5, 1e-4)):
        h = step * scale
        method = st.chains.RegularizedTheta(step=h, theta=0.5, smoothing=width)
        name = f"theta 0.5, width {width:.0e}, h = {h:.0e}"
        methods.append(("RegularizedTheta", name, method))
    return methods


def measure_ours(problem: Problem, method: object, budget: float, save: object) -> Reply:
    """Return what one of our methods took and found."""
    chain, span = chain_of(problem), (0.0, problem.t_end)
    seconds, runs, run = timed(lambda: st.solve(chain, method, span, save=save), budget)
    smooth = isinstance(method, st.chains.RegularizedTheta)
    answer = None if save is None else answer_of(problem, run, with_events=not smooth)
    return Reply(seconds, runs, answer, dict(run.stats), {})


def add_point(record: Record, problem: Problem, who: tuple[str, str, str], reply: Reply) -> dict:
    """Add one point to the record and return its numbers."""
    group, solver, setting = who
    point = {"problem": problem.name, "group": group, "solver": solver, "setting": setting}
    if reply.failed is not None:
        record.add("point", **point, failed=reply.failed)
        return point
    found = errors(reply.answer, reference(problem))
    point |= {
        "seconds": reply.seconds,
        "runs": reply.runs,
        "state_error": found.state,
        "onset_error": found.onset,
        "event_error": found.event,
        "events": found.events,
        "counts": reply.counts,
    }
    if reply.versions:
        point["versions"] = reply.versions
    record.add("point", **point)
    return point


def check_reference(record: Record, problem: Problem) -> None:
    """Compare the reference with the dense modal solution, two codes that share nothing."""
    first, second = reference(problem), modal_reference(problem)
    found = errors(second.answer, first)
    record.add(
        "reference",
        problem=problem.name,
        title=problem.title,
        source=first.source,
        events=first.n_events,
        modal_state=found.state,
        modal_onset=found.onset,
    )


def targets(record: Record, points: list[dict], plain: dict[str, float]) -> None:
    """Judge the numbers that are to be reached."""
    best = {
        p["problem"]: p
        for p in points
        if p["solver"] == "EventDriven" and p["setting"] == "default"
    }
    base, wave = best[BASELINE.name], best[STEP_WAVE.name]
    seconds = plain[BASELINE.name]
    worst = max(base["state_error"], base["event_error"])
    record.target(
        "baseline n = 3, T = 10, EventDriven, warm, 1001 saved states",
        "<= 5 ms, error <= 1e-10 with the full event list",
        f"{1e3 * seconds:.2f} ms, state {base['state_error']:.1e}, "
        f"{base['events']} events within {base['event_error']:.1e} s",
        seconds <= 5e-3 and worst <= 1e-10 and base["events"] == 24,
    )
    seconds = plain[STEP_WAVE.name]
    record.target(
        "n = 50 step wave, all 50 onsets, EventDriven, warm, 1001 saved states",
        "<= 1e-9 s absolute, <= 0.3 s",
        f"{wave['onset_error']:.1e} s, {seconds:.4f} s",
        wave["onset_error"] <= 1e-9 and seconds <= 0.3,
    )
    lsoda = [
        p
        for p in points
        if p["problem"] == BASELINE.name
        and ("LSODA" in p["solver"] and "tanh 1e-08" in p["setting"])
        and "failed" not in p
    ]
    if not lsoda:
        record.target("against SciPy LSODA", ">= 15 times faster", "no LSODA run", None)
        return
    least = min(p["state_error"] for p in lsoda)
    good = [p for p in lsoda if p["state_error"] <= 10.0 * least]
    rows = (
        ("the usual call, solve_ivp", [p for p in good if "solve_ivp" in p["solver"]]),
        ("the leanest call, odeint", [p for p in good if "odeint" in p["solver"]]),
        ("any LSODA run, however inaccurate", lsoda),
    )
    for name, runs in rows:
        if not runs:
            continue
        rival = min(runs, key=lambda p: p["seconds"])
        ratio = rival["seconds"] / base["seconds"]
        record.target(
            f"baseline against SciPy LSODA, tanh 1e-8: {name}",
            ">= 15 times faster at a smaller error",
            f"{ratio:.1f} times: {_shown(base)} against {_shown(rival)}, {rival['setting']}",
            ratio >= 15.0 and base["state_error"] < rival["state_error"],
        )


def _shown(point: dict) -> str:
    return f"{1e3 * point['seconds']:.2f} ms at {point['state_error']:.0e}"


def main(record: Record, quick: bool) -> None:
    budget = 0.2 if quick else 2.0
    points, plain = [], {}
    for problem in PROBLEMS:
        check_reference(record, problem)
        for solver, setting, method in ours(problem):
            reply = measure_ours(problem, method, budget, problem.samples)
            points.append(add_point(record, problem, ("ours", solver, setting), reply))
        # as a user calls it, with the 1001 states that are saved by default
        plain[problem.name] = measure_ours(problem, st.EventDriven(), budget, None).seconds
        for peer in peers(problem):
            if quick and ("nivp" in peer.script or problem is STEP_WAVE):
                continue
            reply = ask(peer, problem, budget)
            who = ("peer", peer.name, peer.setting)
            points.append(add_point(record, problem, who, reply))
    targets(record, points, plain)


if __name__ == "__main__":
    record_all("accuracy", __doc__, main)
