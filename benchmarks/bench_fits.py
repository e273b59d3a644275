"""Fits beside the truth: errors, coverage of intervals, reports of undetermined parameters, times.

For every law 200 tests are drawn: its numbers within 10 % of a middle, an offset, a drift, noise of
1 % of the largest force. One hundred tests each of four kinds do not determine some parameters.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from fit_errors import errors_of, rows_of
from record import Record, record_all

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fit_cases import Case, cases, fields, unknown_cases

import stiction as st
from stiction.fits import Free, SpringDrive
from stiction.fits.parameters import OF_LAWS

ROWS = 300
SETS, UNKNOWN_SETS = 200, 100
# an interval of 95 % that is right covers within these, at 200 sets (binomial, 1 in 1,000)
COVERED = (0.90, 0.99)
FAR = 5.0


def varied(case: Case, rng: np.random.Generator) -> Case:
    """Return the case with another law: each number that is fitted within 10 %."""
    fitted = OF_LAWS[type(case.law).__name__]
    numbers = {
        name: value * rng.uniform(0.9, 1.1) if name in fitted else value
        for name, value in fields(case.law).items()
    }
    return dataclasses.replace(case, law=type(case.law)(**numbers))


def one(task: tuple[str, int]) -> dict:
    """Fit one identifiable test; return errors, and what was reported of each parameter."""
    name, seed = task
    case = cases(ROWS)[name]
    fitted = [f.name for f in dataclasses.fields(case.law)]
    case = varied(case, np.random.default_rng([seed, 1]))
    start = time.process_time()
    found = st.fit(case.drawn(seed), type(case.law), case.rig)
    known = errors_of(found, {e.name: case.truth[e.name] for e in found.estimates})
    assert set(fitted) >= {n for n in known if not n.startswith("rig.")}
    return {"name": name, "seed": seed, "seconds": time.process_time() - start, "known": known}


def untold(task: tuple[str, int]) -> dict:
    """Fit one test that does not determine some parameters; return those without a report."""
    name, seed = task
    case, lost = unknown_cases(ROWS)[name]
    found = st.fit(case.drawn(seed), type(case.law), case.rig)
    silent = [n for n in lost if not found[n].message]
    return {"name": name, "seed": seed, "silent": silent}


def identifiable(record: Record, found: Iterable[dict], sets: int) -> None:
    """Add a row for each parameter of each law, and the verdicts."""
    by_law: dict[str, list[dict]] = {}
    for one_fit in found:
        by_law.setdefault(one_fit["name"], []).append(one_fit)
    rows = [row for law, fits in by_law.items() for row in rows_of(fits, law=law)]
    for row in rows:
        record.add("fit", **row)
    of_laws = [
        r for r in rows if not r["parameter"].startswith("rig.o") and r["parameter"] != "rig.drift"
    ]
    worst = max(of_laws, key=lambda r: r["median_error"])
    reported = f"{100 * worst['median_error']:.2f} % ({worst['law']}, {worst['parameter']})"
    record.target(
        f"fits: median error, {sets} sets a law, 1 % noise", "<= 2 %", reported,
        worst["median_error"] <= 0.02,
    )  # fmt: skip
    far = max(rows, key=lambda r: r["farthest"])
    reported = f"{far['farthest']:.2f} ({far['law']}, {far['parameter']})"
    record.target("fits: farthest from the truth", "<= 5 errors", reported, far["farthest"] <= FAR)
    least, most = (pick(r["covered"] for r in rows) for pick in (min, max))
    outside = [r for r in rows if not COVERED[0] <= r["covered"] <= COVERED[1]]
    reported = f"{100 * least:.1f} to {100 * most:.1f} %, {len(outside)} of {len(rows)} outside"
    record.target(
        "fits: intervals of 95 % cover, each parameter", "90 to 99 %", reported, not outside
    )
    alarms = sum(
        any(k["reported"] for k in f["known"].values()) for fits in by_law.values() for f in fits
    )
    reported = f"{alarms} of {sum(map(len, by_law.values()))}"
    record.target("fits: known parameters reported as unknown", "0", reported, alarms == 0)


def unidentifiable(record: Record, found: Iterable[dict]) -> None:
    """Add how often undetermined parameters were reported."""
    by_case: dict[str, list[dict]] = {}
    for one_fit in found:
        by_case.setdefault(one_fit["name"], []).append(one_fit)
    for name, fits in by_case.items():
        silent = [f["seed"] for f in fits if f["silent"]]
        record.add("unknown", name=name, sets=len(fits), silent=len(silent), seeds=silent)
        reported = f"{len(fits) - len(silent)} of {len(fits)}"
        record.target(
            f"fits: reported, {name}", f"{len(fits)} of {len(fits)}", reported, not silent
        )


def slider(record: Record) -> None:
    """Add the time of a fit of four parameters to 2,000 points of a spring-driven slider."""
    when = np.linspace(0.0, 4.0, 2000)
    rig = SpringDrive(Free(start=1e3), Free(start=1.0), offset=0.0, drift=0.0)
    case = Case(
        st.StaticKinetic(0.4, 0.25),
        when,
        0.02 * np.sin(3.0 * when),
        rig,
        SpringDrive(1e3, 1.0, offset=0.0, drift=0.0),
    )
    st.fit(case.drawn(0), st.StaticKinetic, rig)
    start = time.process_time()
    st.fit(case.drawn(1), st.StaticKinetic, rig)
    spent = time.process_time() - start
    record.target(
        "fits: four parameters, 2,000 points, slider", "<= 20 s", f"{spent:.1f} s", spent <= 20.0
    )


def long_file(record: Record, rows: int) -> None:
    """Add the time of reading a long CSV."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        with path.open("w") as file:
            file.write("time [s],displacement [mm],force [N]\n")
            for first in range(0, rows, 1000):
                lines = (
                    f"{k / 1000:.3f},{k % 97 / 1000:.3f},{k % 13}\n"
                    for k in range(first, first + 1000)
                )
                file.write("".join(lines))
        start = time.process_time()
        curve = st.fits.read_curve(path, normal_force=10.0)
        spent = time.process_time() - start
    record.add("read", rows=rows, saved=len(np.asarray(curve.force)), seconds=spent)


def main(record: Record, quick: bool) -> None:
    """Fit everything on all cores, then time on one."""
    sets, unknown_sets = (4, 4) if quick else (SETS, UNKNOWN_SETS)
    slider(record)
    long_file(record, 10**5 if quick else 10**7)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        lost = [(name, seed) for name in unknown_cases(8) for seed in range(unknown_sets)]
        unidentifiable(record, pool.map(untold, lost, chunksize=5))
        tasks = [(name, seed) for seed in range(sets) for name in cases(8)]
        identifiable(record, pool.map(one, tasks, chunksize=4), sets)


if __name__ == "__main__":
    record_all("fits", __doc__, main)
