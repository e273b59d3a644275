"""Kill -9 at random times, resume, and compare with a run that was left alone, bit by bit.

Thirteen families: chains event by event, by theta steps, quasistatic on one side and on both, with
bristles; faults; flows; strings; rods in contact and on a plane; rods at rest; solids by load steps
and along arcs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from forks import Fork, bits, different

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
    path = st.rods.follow_path(arch, arc=0.01, max_points=150, checkpoint=checkpoint)

    def reported(loss: Loss) -> list[object]:
        return [loss.time, loss.kind, list(loss.where["tip"])]  # type: ignore[call-overload]

    rows = [[s.factor, s.energy, s.residual, s.softest, *s.position.ravel()] for s in path.states]
    fresh = Path(f"{folder}.fresh")
    fresh.write_text(json.dumps([rows, [reported(loss) for loss in path.losses]]))
    fresh.rename(folder)
    checkpoint.remove()
    return 0


def run(family: str, here: Path, out: str, resume: bool, every: float) -> str:
    """Make one run in a folder, saved as `out`; return the exit code."""
    os.chdir(here)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if family == "statics":
        place = Path(f".{out}.checkpoint")
        saved = FileCheckpoint(place, "arch", resume=resume, every=every)
        return str(path_of_an_arch(out, saved))
    name, *changes = CASES[family]
    job = Job(name, changes, out, figures=False, resume=resume, quiet=True, every=every)
    return str(run_job(job))


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
    found = different(*(bits(st.load(folder)) for folder in (whole, other)))
    if (whole / "events.csv").read_bytes() != (other / "events.csv").read_bytes():
        found.append("events")
    one, two = (json.loads((f / "summary.json").read_text()) for f in (whole, other))
    found += [f"summary {key}" for key in SAME if one[key] != two[key]]
    found += [f"stats {k}" for k, v in one["stats"].items() if v != two["stats"].get(k)]
    return found


def killed(family: str, kills: int, seconds: float, here: Path, seed: int) -> tuple[int, int, int]:
    """Kill and resume; return the number of kills, of wrong results and of leftovers."""
    task = partial(run, family, here)
    Fork(partial(task, "warm", False, 1e9)).answer()
    begin = time.monotonic()
    code = Fork(partial(task, "whole", False, 1e9)).answer()
    span = time.monotonic() - begin
    rng = random.Random(seed + sum(map(ord, family)))
    place, done, wrong, finished = here / ".long.checkpoint", 0, 0, 0
    begin = time.monotonic()
    while done < kills and time.monotonic() - begin < seconds:
        child = Fork(partial(task, "long", place.exists(), 0.02))
        wait = rng.uniform(0.0, 1.2 * span)
        if rng.random() < 0.5:
            # soon after a new checkpoint
            before = written_at(place)
            while not child.over() and written_at(place) in (0, before):
                time.sleep(0.001)
            wait = rng.uniform(0.0, 0.3 * span)
        if not child.over(wait):
            child.kill()
            done += 1
        elif (got := child.answer()) != code:
            wrong += 1
            print(f"{family}: exit code {got or child.code}, not {code}", flush=True)
        if (here / "long").exists():
            finished += 1
            bad = differences(here / "whole", here / "long")
            wrong += bool(bad)
            if bad:
                print(f"{family}: {bad[:8]}", flush=True)
            shutil.rmtree(here / "long") if (here / "long").is_dir() else (here / "long").unlink()
    last = Fork(partial(task, "long", place.exists(), 1e9)).answer()
    wrong += last != code or bool(differences(here / "whole", here / "long"))
    left = {path.name for path in here.iterdir()} - {"whole", "long", "warm"}
    print(
        f"{family:14s} {done} kills, {finished + 1} results, {wrong} wrong, {len(left)} leftovers "
        f"{sorted(left)}; the run takes {span:.1f} s",
        flush=True,
    )
    return done, wrong, len(left)


def campaign(
    families: tuple[str, ...] = tuple(CASES), kills: int = 50, seconds: float = 600.0, seed: int = 0
) -> tuple[str, int]:
    """Kill and resume runs of each family, for so many seconds at most; count what is wrong."""
    done = bad = rest = short = 0
    for family in families:
        with tempfile.TemporaryDirectory(prefix=f"kill-{family}-") as here:
            count, wrong, left = killed(family, kills, seconds, Path(here), seed)
        done, bad, rest, short = done + count, bad + wrong, rest + left, short + (count < kills)
    counted = f"{done} kills, {len(families)} families"
    return f"{counted}, {bad} wrong results, {rest} leftovers", bad + rest + short
