"""Checkpoints damaged at random, and whole ones with one wrong array: refused, or the same bits.

First bytes of a checkpoint are changed, as a disk does. Then one array is changed and the file
written anew with a right digest, as another version or a program would: the array is emptied,
doubled, made NaN, of another type, left out, or one is added. A run that goes on all the same is
recognised by its bits. It is silent if they are others though its status, its checks and what it
lost are those of the run that was left alone; LAWFUL names the arrays whose numbers another run
may well have saved.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from damage import HOWS, MOST_S
from forks import answer, bits, reported
from memories import Memory

import stiction as st
from stiction.errors import StictionError
from stiction.io.checkpoint_file import FileCheckpoint

FAMILIES: dict[str, tuple[str, list[str]]] = {
    "chains": ("burridge-knopoff", ["solve.t_end=40", "solve.save=21"]),
    "theta": ("theta-half", ["solve.save=101"]),
    "switching": ("belt-oscillator", ["solve.t_end=2000", "solve.save=21"]),
    "rods": ("rods-crossed", ["solve.t_end=0.01", "solve.save=5"]),
    "quasistatic": ("quasistatic-reversal", []),
    "sweep": ("quasistatic-reversal", ["system.supports='both'"]),
    "slide": ("quasistatic-branches", []),
    "rod-on-plane": ("rod-on-plane", ["solve.t_end=0.02", "solve.save=6"]),
    "strings": ("string-offset", []),
    "strands": (
        "string-symmetric",
        ["method={type='BumpStrands', bump_width=0.08}", "solve.t_end=0.05", "solve.save=41"],
    ),
    "solids": ("strip-peeling", ["method.steps=3", "system.u_end=2.0"]),
    "arcs": ("strip-peeling", ["method={type='Continuation'}", "system.u_end=1.0"]),
    "faults": ("spring-slider", ["solve.t_end=700", "solve.save=21"]),
}
# a mass at rest may stick, or be about to slide either way: all three are states of a chain
LAWFUL = {
    *(("chains", name) for name in ("state_mode", "state_shown", "saved_mode")),
    *(("slide", name) for name in ("seen_mode", "modes")),
}
Arrays = dict[str, np.ndarray[Any, Any]]


def changed(state: Arrays) -> Iterator[tuple[str, str, Arrays]]:
    """Yield how and where a state was changed, and what it is then."""
    for name, array in state.items():
        rest = {key: value for key, value in state.items() if key != name}
        yield "left out", name, rest
        wrong: dict[str, Any] = {
            "emptied": array.ravel()[:0],
            "doubled": np.concatenate([array.ravel()] * 2),
            "longer": np.concatenate([array, array]) if array.ndim else array[None],
            "text": np.full(array.shape, "text"),
        }
        if array.dtype.kind == "f" and array.size:
            wrong |= {"NaN": array * np.nan, "infinite": array + np.inf}
            wrong["single"] = array.astype(np.float32)
        if array.dtype.kind == "i" and array.size:
            wrong["huge"] = array + (2**40 if array.dtype.itemsize == 8 else 100)
            wrong["negative"] = -1 - abs(array)
        for how, values in wrong.items():
            yield how, name, {**rest, name: values}
        for field in (array.dtype.names or ()) if array.size else ():
            of_floats = array[field].dtype.kind == "f"
            odd = {"NaN": np.nan, "infinite": np.inf} if of_floats else {"negative": -2}
            for how, value in odd.items():
                filled = array.copy()
                filled[field] = value
                yield how, f"{name}.{field}", {**rest, name: filled}
    yield "added", "something", {**state, "something": np.zeros(3)}


def judge(scenario: st.Scenario, whole: st.Run, path: Path, family: str) -> str:
    """Return how a run from the checkpoint at `path` ends beside the undisturbed run."""
    try:
        checkpoint = FileCheckpoint(path, family, resume=True, every=1e9)
        run = scenario.solve(throw=False, checkpoint=checkpoint)
    except StictionError:
        return "refused"
    if bits(run) == bits(whole):
        return "same"
    return "SILENT" if reported(run) == reported(whole) else "reported"


def campaign(
    trials: int = 300, seed: int = 1, families: tuple[str, ...] = tuple(FAMILIES)
) -> tuple[str, int]:
    """Count the checkpoints that lead to an error, a crash, a hang, or other bits unnoticed."""
    root, rng = Path(tempfile.mkdtemp()), random.Random(seed)
    counts: Counter[tuple[str, str, str]] = Counter()
    bad = 0
    for family in families:
        scenario = st.read_scenario(*FAMILIES[family])
        saved = Memory()
        whole = scenario.solve(throw=False, checkpoint=saved)
        if not saved.pages:
            print(family, "leaves no checkpoint", flush=True)
            continue
        path, middle = root / "x", root / family
        FileCheckpoint(middle, family).save(saved.pages[max(1, len(saved.pages) // 2) - 1])
        judged = partial(judge, scenario, whole, path, family)
        shutil.copy(middle, path)
        state = FileCheckpoint(path, family, resume=True).load()
        if state is None or answer(judged, MOST_S) != "same":
            raise SystemExit(f"{family}: an undamaged checkpoint does not lead to the same bits")
        for _ in range(trials // len(families)):
            how = rng.choice([*HOWS, "flip", "flip", "flip"])
            path.write_bytes(HOWS[how](bytearray(middle.read_bytes()), rng))
            said = answer(judged, MOST_S)
            counts[family, "bytes", said.split()[0]] += 1
            if said not in ("refused", "same"):
                bad += 1
                print(family, how, said, flush=True)
        for how, array, wrong in changed(state):
            FileCheckpoint(path, family).save(wrong)
            said = answer(judged, MOST_S)
            counts[family, how, said] += 1
            if said not in ("refused", "same", "reported") and (family, array) not in LAWFUL:
                bad += 1
                print(family, array, how, said, flush=True)
    shutil.rmtree(root)
    for key, count in sorted(counts.items()):
        print(*key, count)
    total = f"{sum(counts.values())} damaged checkpoints of {len(families)} families"
    return f"{total}, {bad} to repair", bad
