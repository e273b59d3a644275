"""Flows that switch: a block on a belt beside peers."""

from __future__ import annotations

import belt as belts
import numpy as np
from peers import Reply, ask
from protocol import timed
from record import Record, record_all
from scenarios import Answer

import stiction as st
from stiction.switching.ensembles.study import ensemble

GOOD = 1e-9


def add_point(record: Record, want: belts.Exact, who: tuple[str, str, str], reply: Reply) -> dict:
    """Add one point to the record and return it."""
    group, solver, setting = who
    point = {"problem": "belt", "group": group, "solver": solver, "setting": setting}
    if reply.failed is not None:
        point["failed"] = reply.failed
        record.add("point", **point)
        return point
    answer = reply.answer
    events = answer.events
    state, event = belts.errors(
        events, *(float(np.ravel(q)[-1]) for q in (answer.x, answer.v)), want
    )
    worst = state if event is None else max(state, event)
    point |= {"seconds": reply.seconds, "runs": reply.runs, "error": worst}
    point |= {"state_error": state, "event_error": event, "counts": reply.counts}
    point["events"] = None if events is None else len(events)
    record.add("point", **point)
    return point


def our_points(record: Record, belt: belts.Belt, want: belts.Exact, budget: float) -> list[dict]:
    """Measure ours as users call it, and the kernels alone, many blocks in one call."""
    system = st.BeltOscillator(belt.mu0, belt.alpha, belt.belt_speed)
    found = []
    for rtol in (1e-13, 1e-12, 1e-11, 1e-10, 3e-10, 1e-9, 3e-9, 1e-8):
        method = st.EventDriven(rtol=rtol)

        def call(method: st.EventDriven = method) -> st.Run:
            return st.solve(system, method, (0.0, belt.t_end), save=2)

        seconds, runs, run = timed(call, budget)
        log = run.event_log
        modes = {"+": 1, "-": -1, "slide": 0}
        events = [
            (float(t), 1, kind, modes[after])
            for t, kind, after in zip(log.time, log.kind, log.after, strict=True)
        ]
        answer = answer_of(run.final["x"], run.final["v"], events)
        reply = Reply(seconds, runs, answer, dict(run.stats))
        who = ("ours", "EventDriven", f"rtol {rtol:.0e}")
        found.append(add_point(record, want, who, reply) | {"rtol": rtol})
    best = loosest(found)
    if best is not None:
        kernels_alone(record, belt, want, best["rtol"])
    return found


def answer_of(x: np.ndarray, v: np.ndarray, events: list | None) -> Answer:
    """Return an answer in the form of the peers' replies."""
    return Answer(np.asarray(x), np.asarray(v), events)


def kernels_alone(record: Record, belt: belts.Belt, want: belts.Exact, rtol: float) -> None:
    """Measure the time per block of an ensemble on one core: no run, ledger and audit."""
    system, count = st.BeltOscillator(belt.mu0, belt.alpha, belt.belt_speed), 1000
    x0 = np.tile([0.0, belt.belt_speed], (count, 1))
    method = st.EventDriven(rtol=rtol)
    seconds, runs, found = timed(
        lambda: ensemble(system, x0, belt.t_end, method=method, workers=1), 2.0
    )
    answer = answer_of(found.state[:1, 0], found.state[:1, 1], None)
    reply = Reply(seconds / count, runs, answer, {"steps": int(found.steps[0])})
    add_point(record, want, ("ours", "ensemble of 1000, each", f"rtol {rtol:.0e}"), reply)


def loosest(points: list[dict]) -> dict | None:
    """Return the fastest point whose events and last state are good to 1e-9."""
    good = [p for p in points if "failed" not in p and p["error"] <= GOOD]
    return min(good, key=lambda p: p["seconds"]) if good else None


def belt_targets(record: Record, ours: list[dict], others: list[dict]) -> None:
    """Judge the block on a belt."""
    mine = loosest(ours)
    what = "belt to T = 20, error <= 1e-9 in all events and the last state"
    if mine is None:
        record.target(what, "<= 1 ms", "no run is that good", False)
        return
    record.target(
        f"{what}, warm, a compiled system",
        "<= 1 ms",
        f"{_shown(mine)}, {mine['setting']}, {mine['counts']['steps']} steps",
        mine["seconds"] <= 1e-3,
    )
    groups: dict[str, list[dict]] = {}
    for point in others:
        groups.setdefault(point["solver"], []).append(point)
    for solver, points in groups.items():
        if "smoothed" in solver:
            continue
        rival = loosest(points)
        if rival is None:
            record.target(f"belt against {solver}", "faster", "never that good", None)
            continue
        ratio = rival["seconds"] / mine["seconds"]
        record.target(
            f"belt against {solver}",
            "faster at error 1e-9",
            f"{ratio:.2g} times: {_shown(mine)} against {_shown(rival)}, {rival['setting']}",
            ratio > 1.0,
        )
    smooth = [p for p in others if "smoothed" in p["solver"] and "failed" not in p]
    if smooth:
        rival = min(smooth, key=lambda p: p["error"])
        ratio = rival["seconds"] / mine["seconds"]
        record.target(
            "belt against the most accurate smoothed LSODA",
            "faster at a smaller error",
            f"{ratio:.2g} times: {_shown(mine)} against {_shown(rival)}, {rival['setting']}",
            ratio > 1.0 and mine["error"] < rival["error"],
        )


def _shown(point: dict) -> str:
    return f"{1e3 * point['seconds']:.3g} ms at {point['error']:.0e}"


def against_peers(record: Record, quick: bool) -> None:
    """Measure the block on a belt with every solver."""
    belt, budget = belts.Belt(), 0.1 if quick else 0.5
    want = belts.exact(belt)
    record.add("reference", problem="belt", events=len(want.events), source="closed form")
    ours = our_points(record, belt, want, budget)
    others = []
    for peer in belts.peers(quick):
        reply = ask(peer, belt, budget)
        others.append(add_point(record, want, ("peer", peer.name, peer.setting), reply))
    belt_targets(record, ours, others)


if __name__ == "__main__":
    record_all("switching", __doc__, against_peers)
