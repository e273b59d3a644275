"""Faults against submissions to two benchmarks of the SEAS community, over the size of cells."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from record import Record, record_all
from scipy.interpolate import CubicSpline

import stiction as st
from stiction.faults import Cycles, InjectedFault, StrikeSlipFault

ROOT = Path(__file__).resolve().parents[1]
# all that is at hand of the submission of HBI to BP1-QD (cells of 10 m): the station at the surface
HBI = {"first": 6.1965193e9, "slip": 37.5159, "log_speed": -15.1720, "stress": 28.5546}
HBI_TIME, HBI_EVENTS, HBI_END = 4.2218916e10, 15, 4.30e10
# stations of the submission of CYCLAPS to BP6-QD-A, by its pore pressure: file, number, place [m]
STATIONS = (("00", 0, 9.765625), ("05", 5, 488.28125))
# before three days the first fluid arrives, and a grid is late by its cells
LATE = 2.5e5


def cycles(record: Record, quick: bool) -> None:
    """Run BP1-QD on three grids; compare the surface, where slip is even in depth."""
    for n in (400,) if quick else (800, 1600, 3200):
        begin = time.process_time()
        fault, save = StrikeSlipFault(cells=n), [0.0, HBI_TIME, HBI_END]
        run = st.solve(fault, Cycles(rtol=1e-6), (0.0, HBI_END), save=save)
        seconds = time.process_time() - begin
        first, second = (
            {name: run.variables[name].values[1, i] for name in ("slip", "slip_speed")}
            | {"stress": run.variables["shear_stress"].values[1, i] / 1e6}
            for i in (0, 1)
        )
        found = {name: float(9.0 * first[name] - second[name]) / 8.0 for name in first}
        onsets = run.events.time[run.events.kind == "onset"].to_numpy()
        found = {
            "first": float(onsets[0]),
            "slip": found["slip"],
            "log_speed": float(np.log10(found["slip_speed"])),
            "stress": found["stress"],
        }
        record.add(
            "bp1", cells=n, width=4e4 / n, **found, events=len(onsets), last=float(onsets[-1]),
            recurrence=float(np.diff(onsets)[-4:].mean()), seconds=seconds,
            ledger=run.energy.imbalance_rel, failed=[c.check for c in run.audit.failed],
        )  # fmt: skip
        if n == 3200:
            off = {name: found[name] - HBI[name] for name in HBI}
            met = abs(off["first"]) < 1e-3 * HBI["first"] and abs(off["slip"]) < 1e-3 * HBI["slip"]
            what = f"{off['first']:+.1e} s, {off['slip']:+.4f} m, {len(onsets)} events"
            met = met and len(onsets) == HBI_EVENTS
            record.target("BP1-QD beside HBI: first event, slip, events", "within .1 %", what, met)


def series(file: str, number: int) -> np.ndarray:
    """Return time, slip, log10 of the rate, stress, pressure, log10 of the state of a submission.

    The whole of it lies beside the checkout and is no part of the repository; else the rows that
    tests have.
    """
    whole = ROOT.parent / "shared" / "external" / "faults" / f"Dublanchet_fltst_strk_{file}.txt"
    if not whole.exists():
        rows = np.loadtxt(ROOT / "tests" / "reference" / "seas_bp6.txt")
        return rows[rows[:, 0] == number, 1:]
    lines = (line for line in whole.read_text().splitlines() if line and line[0] not in "#t")
    words = (line.split() for line in lines)
    rows = np.array([[float(x) for x in one] for one in words if len(one) == 7])
    _, first = np.unique(rows[:, 0], return_index=True)
    return rows[first][:, [0, 1, 2, 3, 4, 6]]


def top(time: np.ndarray, values: np.ndarray) -> float:
    """Return where a parabola through the five samples around the largest is highest."""
    i = int(np.argmax(values))
    near = slice(i - 2, i + 3)
    bend, slope, _ = np.polyfit(time[near] - time[i], values[near], 2)
    return float(time[i] - 0.5 * slope / bend)


def injection(record: Record, quick: bool) -> None:
    """Run BP6-QD-A on four grids; compare both stations at all times of the submission."""
    wanted = {number: series(file, number) for file, number, _ in STATIONS}
    save = np.unique(np.concatenate([[0.0], *(rows[:, 0] for rows in wanted.values())]))
    for n in (256,) if quick else (512, 1024, 2048, 4096):
        begin = time.process_time()
        run = st.solve(InjectedFault(cells=n), Cycles(rtol=1e-6), (0.0, save[-1]), save=save)
        seconds = time.process_time() - begin
        z = run.variables["place"].values - 20e3
        right = z > 0.0
        for _, number, place in STATIONS:
            rows = wanted[number]
            at = np.searchsorted(run.time, rows[:, 0])

            def mine(name: str, place=place, at=at, right=right, run=run, z=z) -> np.ndarray:
                values = run.variables[name].values[np.ix_(at, right)]
                if name not in ("slip_speed", "state"):
                    return CubicSpline(z[right], values, axis=1)(place)
                return np.exp(CubicSpline(z[right], np.log(values), axis=1)(place))

            pairs = {
                "slip": (mine("slip"), rows[:, 1]),
                "speed": (mine("slip_speed"), 10.0 ** rows[:, 2]),
                "stress": (mine("shear_stress") / 1e6, rows[:, 3]),
                "pressure": (mine("pore_pressure") / 1e6, rows[:, 4]),
                "state": (mine("state"), 10.0 ** rows[:, 5]),
            }
            given = rows[:, 0] > 0.0
            late = rows[:, 0] > LATE
            off = {
                name: np.abs(ours - theirs)[given] / np.maximum(np.abs(theirs[given]), 1e-300)
                for name, (ours, theirs) in pairs.items()
            }
            peaks = [top(rows[:, 0], np.log(v)) for v in pairs["speed"]]
            record.add(
                "bp6", cells=n, width=4e4 / n, station=number, samples=int(given.sum()),
                **{name: float(values[late[given]].max()) for name, values in off.items()},
                **{f"within_{name}": float((v <= 0.01).mean()) for name, v in off.items()},
                peak=peaks[0], peak_off=peaks[0] / peaks[1] - 1.0, seconds=seconds,
                ledger=run.energy.imbalance_rel, failed=[c.check for c in run.audit.failed],
            )  # fmt: skip
            if n == 4096:
                most = max(float(off[name][late[given]].max()) for name in off if name != "state")
                reported = f"{100 * most:.2f} %; times {100 * abs(peaks[0] / peaks[1] - 1):.3f} %"
                what = f"BP6-QD-A, station {number}: slip, rate, stress, pressure; largest rate"
                met = most <= 0.01 and abs(peaks[0] / peaks[1] - 1.0) <= 0.005
                record.target(what, "1 %; .5 %", reported, met)
                share = float((off["state"] <= 0.01).mean())
                what = f"BP6-QD-A, station {number}: samples whose state is within 1 %"
                record.target(what, "all", f"{100 * share:.2f} %", share == 1.0)


if __name__ == "__main__":
    record_all("seas", __doc__, injection, cycles)
