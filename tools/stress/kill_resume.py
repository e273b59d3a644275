"""Kill -9 at random times, resume, and compare with a run that was left alone, bit by bit.

Thirteen families: chains event by event, by theta steps, quasistatic on one side and on both, with
bristles; faults; flows; strings; rods in contact and on a plane; rods at rest; solids by load steps
and along arcs.

Usage: python tools/stress/kill_resume.py [FAMILY ...] [--kills N] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import stiction as st
from stiction.cli.run import Job, run_job
from stiction.core.determinism import Loss
from stiction.io.checkpoint_file import FileCheckpoint

THETA = "method={type='ThetaStepper', step=1e-5, theta=0.6}"
CASES = {
    "chains-event": ("burridge-knopoff", "solve.t_end=600", "solve.save=101"),
    "chains-theta": (
        *("detachment-wave", "system.n=2000", "system.mass=5e-4", "system.stiffness=2e5"),
        *("system.spacing=5e-4", THETA, "solve.save=21"),
    ),
    "chains-quasi": (
        *("quasistatic-reversal", "system.mass=1e-3", "system.n=3000", "system.damping=0.0"),
        *(
            "system.load={type='Sine', amplitude=9.0, angular_frequency=40.0}",
            "solve.t_end=5",
            "solve.save=51",
        ),
    ),
    "chains-sweep": (
        *("quasistatic-reversal", "system.supports='both'", "system.mass=1e-3", "system.n=10"),
        *("system.damping=0.0", "solve.t_end=3", "solve.save=51"),
        "system.load={type='Sine', amplitude=9.0, angular_frequency=40.0}",
    ),
    "chains-creep": (
        *("baseline", "solve.t_end=1", "solve.save=201"),
        "system.law={type='LuGre', sigma0=1e4, sigma1=30.0, sigma2=0.04, mu_static=0.15, \
mu_kinetic=0.1, v_scale=1e-3}",
    ),
    "faults": ("earthquake-cycles", "solve.t_end=1e10", "solve.save=41"),
    "switching": ("belt-oscillator", "solve.t_end=15000", "solve.save=101"),
    "strings": ("string-symmetric", "method.step=2.5e-5", "solve.t_end=20", "solve.save=51"),
    "rods": ("rods-crossed", "solve.t_end=0.1"),
    "rods-plane": ("rod-on-plane",),
    "solids-qs": ("strip-peeling", "method.steps=10", "system.u_end=6"),
    "solids-cont": ("strip-peeling", "method={type='Continuation'}", "system.u_end=1.5"),
    "statics": (),
}
SAME = ("status", "final", "energy", "determinism", "audit", "quantities", "t_end")


def path_of_an_arch(folder: str, checkpoint: FileCheckpoint) -> int:
    """Follow an arch through its limit points and save what was found; return an exit code."""
    arch = st.rods.CosseratRod(
        st.rods.CircularSection(0.02, 8e6, 0.5, 1000.0),
        st.rods.Arc(
            [0.0, 0.0, 0.0],
            [np.cos(0.4), np.sin(0.4), 0.0],
            [np.sin(0.4), -np.cos(0.4), 0.0],
            1.25,
            0.8,
        ),
        elements=40,
        natural_curvature=None,
        loads=[st.rods.PointForce([0.0, -60.0, 0.0], at=0.5)],
    )
    path = st.rods.follow_path(arch, arc=0.01, most=150, checkpoint=checkpoint)

    def told(loss: Loss) -> list[object]:
        return [loss.time, loss.kind, list(loss.where["tip"])]  # type: ignore[call-overload]

    rows = [[s.factor, s.energy, s.residual, s.softest, *s.position.ravel()] for s in path.states]
    fresh = Path(f"{folder}.fresh")
    fresh.write_text(json.dumps([rows, [told(loss) for loss in path.losses]]))
    fresh.rename(folder)
    checkpoint.remove()
    return 0


def job_of(family: str, out: str, *, resume: bool, every: float) -> Callable[[], int]:
    """Return what a child does: one run, saved as `out`."""
    if family == "statics":
        place = Path(f".{out}.checkpoint")
        kept = FileCheckpoint(place, "arch", resume=resume, every=every)
        return lambda: path_of_an_arch(out, kept)
    name, *changes = CASES[family]
    job = Job(name, changes, out, figures=False, resume=resume, quiet=True, every=every)
    return lambda: run_job(job)


class Child:
    """A fork that makes one run, so that its start is not paid for again."""

    def __init__(self, here: Path, task: Callable[[], int]) -> None:
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 99
            try:
                os.chdir(here)
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, 1)
                code = task()
            finally:
                os._exit(code)

    def over(self) -> bool:
        """Whether it ended by itself."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self) -> int:
        """Wait for its end and return its exit code."""
        while not self.over():
            time.sleep(0.002)
        return self.code if self.code is not None else -1

    def kill(self) -> None:
        """End it as a power failure would."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.code = -9


def written_at(place: Path) -> int:
    """Return when a file was written last [ns]; 0 if it is not there, or no longer."""
    try:
        return place.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def differences(whole: Path, other: Path) -> list[str]:
    """Return what of two results is not the same to the last bit."""
    if whole.is_file():
        return [] if whole.read_bytes() == other.read_bytes() else ["the path"]
    a, b = st.load(whole), st.load(other)
    found = [
        f"variable {name}"
        for name, v in a.variables.items()
        if name not in b.variables or v.values.tobytes() != b.variables[name].values.tobytes()
    ]
    columns = b.energy.columns()
    found += [
        f"energy {k}" for k, c in a.energy.columns().items() if c.tobytes() != columns[k].tobytes()
    ]
    if (whole / "events.csv").read_bytes() != (other / "events.csv").read_bytes():
        found.append("events")
    one, two = (json.loads((f / "summary.json").read_text()) for f in (whole, other))
    found += [f"summary {key}" for key in SAME if one[key] != two[key]]
    found += [f"stats {k}" for k, v in one["stats"].items() if v != two["stats"].get(k)]
    return found


def campaign(family: str, kills: int, seconds: float, here: Path) -> tuple[int, int, int]:
    """Kill and resume; return the number of kills, of wrong results and of leftovers."""
    Child(here, job_of(family, "warm", resume=False, every=1e9)).wait()
    begin = time.monotonic()
    code = Child(here, job_of(family, "whole", resume=False, every=1e9)).wait()
    span = time.monotonic() - begin
    rng = random.Random(sum(map(ord, family)))
    place, done, wrong, finished = here / ".long.checkpoint", 0, 0, 0
    begin = time.monotonic()
    while done < kills and time.monotonic() - begin < seconds:
        child = Child(here, job_of(family, "long", resume=place.exists(), every=0.02))
        stop = time.monotonic() + rng.uniform(0.0, 1.2 * span)
        if rng.random() < 0.5:
            # soon after a new checkpoint
            before = written_at(place)
            while not child.over() and written_at(place) in (0, before):
                time.sleep(0.001)
            stop = time.monotonic() + rng.uniform(0.0, 0.3 * span)
        while not child.over() and time.monotonic() < stop:
            time.sleep(0.001)
        if not child.over():
            child.kill()
            done += 1
        elif child.code != code:
            wrong += 1
            print(f"{family}: exit code {child.code}, not {code}", flush=True)
        if (here / "long").exists():
            finished += 1
            bad = differences(here / "whole", here / "long")
            wrong += bool(bad)
            if bad:
                print(f"{family}: {bad[:8]}", flush=True)
            shutil.rmtree(here / "long") if (here / "long").is_dir() else (here / "long").unlink()
    last = Child(here, job_of(family, "long", resume=place.exists(), every=1e9)).wait()
    wrong += last != code or bool(differences(here / "whole", here / "long"))
    left = {path.name for path in here.iterdir()} - {"whole", "long", "warm"}
    print(
        f"{family:14s} {done} kills, {finished + 1} results, {wrong} wrong, {len(left)} leftovers "
        f"{sorted(left)}; the run takes {span:.1f} s",
        flush=True,
    )
    return done, wrong, len(left)


def main() -> int:
    """Run the campaign over the families that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=list(CASES))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600.0, help="for each family")
    given = parser.parse_args()
    kills = bad = rest = short = 0
    for family in given.families:
        here = Path(tempfile.mkdtemp(prefix=f"kill-{family}-"))
        done, wrong, left = campaign(family, given.kills, given.seconds, here)
        kills, bad, rest = kills + done, bad + wrong, rest + left
        short += done < given.kills
        shutil.rmtree(here)
    print(f"{kills} kills, {len(given.families)} families, {bad} wrong results, {rest} leftovers")
    return int(bool(bad + rest + short))


if __name__ == "__main__":
    sys.exit(main())
