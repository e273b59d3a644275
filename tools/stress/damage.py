"""Saved runs of five kinds, damaged at random: refused, or read with the same numbers, in time.

Each trial changes one file of a copy and reads it in a process of its own, once as it is and once
with `unverified=True`, which must refuse or say that the run is not verified.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from forks import answer

import stiction as st
from stiction.core.summary import screen
from stiction.errors import StictionError

KINDS = ("slip-wave", "wheel-through-plus", "rods-crossed", "string-offset", "strip-peeling")
MOST_S = 40.0
FINE = ("refused", "same", "reported")


def flip(data: bytearray, rng: random.Random) -> bytes:
    """Turn one bit over."""
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def other_byte(data: bytearray, rng: random.Random) -> bytes:
    """Replace one byte."""
    data[rng.randrange(len(data))] = rng.randrange(256)
    return data


def cut(data: bytearray, rng: random.Random) -> bytes:
    """Leave the end out."""
    return data[: rng.randrange(len(data))]


def zero(data: bytearray, rng: random.Random) -> bytes:
    """Lose a block of the disk."""
    size = rng.choice([512, 4096])
    k = rng.randrange(len(data))
    data[k : k + size] = bytes(len(data[k : k + size]))
    return data


def swap(data: bytearray, rng: random.Random) -> bytes:
    """Leave a part out, or put it behind the rest."""
    k, j = sorted(rng.randrange(len(data)) for _ in "ab")
    return data[:k] + data[j:] + data[k:j]


def longer(data: bytearray, rng: random.Random) -> bytes:
    """Add to the end."""
    return data + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 600)))


def empty(data: bytearray, rng: random.Random) -> bytes:
    """Leave nothing."""
    return b""


def deep(data: bytearray, rng: random.Random) -> bytes:
    """Write what a parser descends into without end."""
    return b"[" * 200_000


def digit(data: bytearray, rng: random.Random) -> bytes:
    """Change one digit, as somebody who knows what to change would."""
    places = [k for k, byte in enumerate(data) if 48 <= byte <= 57]
    if places:
        data[rng.choice(places)] = rng.randrange(48, 58)
    return data


HOWS: dict[str, Callable[[bytearray, random.Random], bytes]] = {
    how.__name__: how for how in (flip, other_byte, cut, zero, swap, longer, empty, deep, digit)
}


def harm(path: Path, other: Path, rng: random.Random) -> str:
    """Damage a file, and return how; `other` is the file of that name in another run."""
    how = rng.choice([*HOWS, "flip", "flip", "zero", "delete", "folder", "pipe", "foreign"])
    before = path.read_bytes()
    if how in HOWS:
        path.write_bytes(HOWS[how](bytearray(before), rng))
        return "none" if path.read_bytes() == before else how
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "foreign" and other.exists():
        shutil.copy(other, path)
    return how


def content(run: st.Run) -> dict[str, Any]:
    """Return everything that a run reports, as bytes and text."""

    def bits(values: Any) -> bytes:
        return np.asarray(values).tobytes()

    log = run.event_log
    return {
        "screen": screen(run),
        "variables": {k: (bits(v.values), v.unit, v.dims) for k, v in run.variables.items()},
        "energy": {k: bits(v) for k, v in run.energy.columns().items()},
        "heat": bits(run.energy.friction_heat),
        "time": bits(run.time),
        "events": (bits(log.time), bits(log.contact), (*log.before, *log.after, *log.kind)),
        "columns": {k: bits(v) for k, v in log.columns.items()},
        "final": {k: bits(v) for k, v in run.final.items()},
        "quantities": repr({k: (q.value, q.unit) for k, q in run.quantities.items()}),
        "rest": repr((run.determinism.losses, list(run.audit), dict(run.stats))),
        "objects": repr((run.system, run.method, run.provenance, run.status, run.t_end)),
    }


def judge(folder: Path, good: dict[str, Any], unverified: bool) -> str:
    """Return what reading a folder ends in, from inside a process of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = st.load(folder, unverified=unverified)
            found = content(run)
    except StictionError as error:
        return "refused" if str(folder) in str(error) else f"UNNAMED {error}"
    if run.unverified:
        return "reported"
    return "same" if found == good else f"SILENT {[k for k in good if found[k] != good[k]]}"


def make(root: Path) -> dict[str, Path]:
    """Solve and save a run of each kind."""
    folders = {}
    for name in KINDS:
        folders[name] = st.read_scenario(name).solve().save(root / name)
    return folders


def campaign(trials: int = 1000, seed: int = 1) -> tuple[str, int]:
    """Count the trials that end in something else than a refusal or the same numbers."""
    root, rng = Path(tempfile.mkdtemp()), random.Random(seed)
    longest, folders = 0.0, make(root)
    goods = {name: content(st.load(folder)) for name, folder in folders.items()}
    counts: dict[str, Counter[str]] = {"verified": Counter(), "unverified": Counter()}
    for trial in range(trials):
        name = KINDS[trial % len(KINDS)]
        copy = root / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folders[name], copy)
        file = rng.choice(sorted(path.name for path in copy.iterdir()))
        how = harm(copy / file, folders[KINDS[(trial + 1) % len(KINDS)]] / file, rng)
        for reading, count in counts.items():
            start = time.perf_counter()
            # reading changed files takes a process more: less often
            if reading == "unverified" and trial % 4:
                continue
            said = answer(partial(judge, copy, goods[name], reading == "unverified"), MOST_S)
            longest = max(longest, time.perf_counter() - start)
            count[said.split()[0]] += 1
            if said.split()[0] not in FINE:
                print(name, file, how, reading, said, flush=True)
    shutil.rmtree(root)
    # an unverified run says so; a verified one may not
    bad = counts["verified"]["reported"]
    bad += sum(n for c in counts.values() for word, n in c.items() if word not in FINE)
    ends = ", ".join(f"{reading}: {dict(count)}" for reading, count in counts.items())
    return f"{trials} trials, {bad} to repair, the longest {longest:.1f} s; {ends}", bad
