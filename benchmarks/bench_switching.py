"""Flows that switch: numbers of the two-fold, event sequences, a block on a belt beside peers."""

from __future__ import annotations

import json
from dataclasses import fields

import belt as belts
import numpy as np
from first_call import first_calls
from peers import Reply, ask
from protocol import timed
from record import Record, record_all
from scenarios import FOLDER, Answer

import stiction as st
from stiction.exact.switching import Turntable, belt_cycle, relay_half_period, wheel_two_fold
from stiction.switching.ensembles.study import ensemble

WITHOUT = "no reference numbers beside the checkout"
# what the reference calls its last events, in the words of the event list
ENDS = {"TWOFOLD": "two_fold", "CODIM2:slip": "codim2_line"}
GOOD = 1e-9


def references() -> dict | None:
    """Return the reference numbers for flows that switch; None where they are missing."""
    path = FOLDER / "switching.json"
    return json.loads(path.read_text()) if path.exists() else None


# ---- numbers of the two-fold


def two_fold_numbers(r_star: float, omega_star: float) -> dict[str, dict[str, float]]:
    """Return every number of the two-fold by name, from each of our three sources."""
    wheel = st.WheelOnTurntable()
    table = Turntable(**{part.name: getattr(wheel, part.name) for part in fields(Turntable)})
    sheet = wheel_two_fold(table, r_star, omega_star)
    ours = wheel.two_folds_at(r_star, omega_star)
    names = ("kpp", "kpm", "kmp", "kmm", "j1", "j2", "v", "kappa", "k2", "g")
    local = ("lambda1", "lambda2", "rate1", "rate2")
    found = {
        "closed forms": {name: getattr(sheet, name) for name in (*names, *local)},
        "WheelOnTurntable": {name: getattr(ours, name) for name in names},
    }
    found["WheelOnTurntable"] |= dict(zip(local, (*ours.eigenvalues, *ours.rates), strict=True))
    # sees nothing but the values of h and of both fields
    point = st.two_fold(wheel, (0.18, -0.03, -1.03))
    black = {"kpp": point.Kpp, "kpm": point.Kpm, "kmp": point.Kmp, "kmm": point.Kmm}
    black |= {"j1": point.J1, "j2": point.J2, "v": point.x[1]}
    black |= dict(zip(local, (*point.eigenvalues, *point.rates), strict=True))
    found["two_fold, from values of the fields alone"] = black
    return found


def compare_two_fold(record: Record, known: dict | None) -> None:
    """Compare those numbers with the reference, each relative to its own size."""
    wanted = "1e-12 relative"
    if known is None:
        record.target("the two-fold of the wheel: K, J, eigenvalues, v*", wanted, WITHOUT, None)
        return
    keys = {f"k{a}{b}": f"K{a}{b}" for a in "pm" for b in "pm"}
    keys |= {"j1": "J1", "j2": "J2", "v": "v_star", "kappa": "kappa", "k2": "k2", "g": "g_star"}
    want = {name: float(known[key]) for name, key in keys.items()}
    want |= {"lambda1": float(known["lambda1"]), "lambda2": float(known["lambda2"])}
    want["rate1"], want["rate2"] = (float(value) for value in known["desing_eigs"])
    place = (known["parameters"]["r_star"], known["parameters"]["omega_star"])
    for source, row in two_fold_numbers(*place).items():
        off = {name: float(abs(v / want[name] - 1.0)) for name, v in row.items()}
        worst = max(off, key=lambda name: off[name])
        record.add("two_fold", source=source, errors=off)
        record.target(
            f"the two-fold of the wheel, {len(off)} numbers: {source}",
            wanted,
            f"{off[worst]:.1e} ({worst})",
            bool(off[worst] <= 1e-12),
        )


def compare_flags(record: Record, known: dict | None) -> None:
    """Count the flags of Fig. 4 that are as in the reference."""
    what, wanted = "flags of Fig. 4 on the reference grid", "all equal"
    if known is None:
        record.target(what, wanted, WITHOUT, None)
        return
    rows = known["fig4_rows"]
    ours = st.WheelOnTurntable().fig4_flags(rows["r_star"], rows["omega_star"])
    flags = {name: np.array(flag, dtype=bool) for name, flag in rows["flags"].items()}
    equal = sum(int((ours[name] == flag).sum()) for name, flag in flags.items())
    total = sum(flag.size for flag in flags.values())
    record.target(what, wanted, f"{equal} of {total}", equal == total)


# ---- sequences of events, and closed forms


def compare_sequences(record: Record, known: dict | None) -> None:
    """Compare events of the wheel with the reference trajectories."""
    wanted = "identical, times 2e-8, states 1e-8"
    if known is None:
        record.target("event sequences of the wheel", wanted, WITHOUT, None)
        return
    for name, case in known["wheel_trajectories"].items():
        want = case["events"][1:]
        wheel = st.WheelOnTurntable(x0=[float(a) for a in case["x0"]], mode=case["mode"])
        for rtol in (1e-12, 1e-10):
            run = st.solve(wheel, st.EventDriven(rtol=rtol), (case["t0"], 20.0), save=2)
            rows = run.events[run.events["kind"] != "escaping_start"]
            moves = zip(rows["kind"], rows["from"], rows["to"], strict=True)
            words = [k if k in ENDS.values() else f"{old}->{new}" for k, old, new in moves]
            same = words == [ENDS.get(word, word) for _, word, _ in want]
            time = state = float("inf")
            if same:
                time = float(np.abs(rows["time"] - [row[0] for row in want]).max())
                found = rows[["r", "v", "omega"]].to_numpy()
                state = float(np.abs(found - [row[2] for row in want]).max())
            record.add("sequence", case=name, rtol=rtol, time=time, state=state, **run.stats)
            record.target(
                f"wheel, {name.replace('_', ' ')}, rtol {rtol:.0e}: {len(want)} events",
                wanted,
                f"{'identical' if same else 'other events'}, times {time:.1e}, states {state:.1e}",
                same and time <= 2e-8 and state <= 1e-8,
            )


def compare_closed_forms(record: Record, known: dict | None) -> None:
    """Compare times of the classic systems with closed forms, and these with the reference."""
    fine = st.EventDriven(rtol=1e-13)
    period, half = belt_cycle(1.0, 0.1, 0.5).period, relay_half_period(3)
    if known is not None:
        given = (
            float(known["belt"]["period"]),
            float(known["relay_1_over_s+1_cubed"]["half_period"]),
        )
        for what, ours, number in zip(("belt", "relay"), (period, half), given, strict=True):
            record.add("closed_form", what=what, error=abs(ours - number))
    run = st.solve(st.BeltOscillator(), fine, (0.0, 20.0), save=2)
    found = [("belt, period", run.quantities["period"].value, period, 1e-12)]
    run = st.solve(st.switching.RelayFeedback(), fine, (0.0, 60.0), save=2)
    times = run.event_log.time[[kind == "cross" for kind in run.event_log.kind]]
    found.append(("relay 1/(s + 1)^3, half a period", float(np.diff(times)[-1]), half, 1e-11))
    run = st.solve(st.switching.NormalForm(-1.2, -1.5), fine, (0.0, 20.0), save=2)
    found.append(("normal form, arrival at the two-fold", run.t_end, 1.1375, 1e-13))
    for what, value, want, limit in found:
        error = float(abs(value - want))
        record.target(f"{what}, rtol 1e-13", f"{limit:.0e}", f"{error:.1e}", error <= limit)


# ---- the block on a belt beside peers


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


def main(record: Record, quick: bool) -> None:
    known = references()
    compare_two_fold(record, known)
    compare_flags(record, known)
    compare_sequences(record, known)
    compare_closed_forms(record, known)
    against_peers(record, quick)
    first_calls(record, quick)


if __name__ == "__main__":
    record_all("switching", __doc__, main)
