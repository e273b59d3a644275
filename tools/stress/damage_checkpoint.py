"""Checkpoints damaged at random, and whole ones with one wrong array: refused, or the same bits.

First bytes of a checkpoint are changed, as a disk does. Then one array is changed and the file
written anew with a right digest, as another version or a program would: the array is emptied,
doubled, made NaN, of another type, left out, or one is added. A run that goes on all the same is
told apart by its bits; they can differ where the numbers might have been kept by another run, such
as NaN where a contact is open.

Usage: python tools/stress/damage_checkpoint.py [TRIALS] [SEED]
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from damage import HOWS, apart

import stiction as st
from stiction.errors import StictionError
from stiction.results.checkpoint import FileCheckpoint

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
}
# what no numbers can look like; another place or mode that might be one cannot be told
OF_ANOTHER_FORM = ("emptied", "text", "single", "left out")
Arrays = dict[str, np.ndarray[Any, Any]]


class Keeping(FileCheckpoint):
    """A checkpoint of which every state is kept."""

    count = 0

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep a copy."""
        super().save(state)
        self.count += 1
        shutil.copy(self.path, f"{self.path}.{self.count}")


def bits(run: st.Run) -> dict[str, bytes]:
    """Return the numbers of a run as bytes."""
    return {
        **{k: np.asarray(v.values).tobytes() for k, v in run.variables.items()},
        **{k: v.tobytes() for k, v in run.energy.columns().items()},
        "events": run.event_log.time.tobytes(),
    }


def solved(scenario: st.Scenario, checkpoint: FileCheckpoint) -> st.Run:
    """Return the run of a scenario."""
    return st.solve(
        scenario.system,
        scenario.method,
        scenario.t_span,
        save=scenario.save,
        throw=False,
        checkpoint=checkpoint,
    )


def changed(state: Arrays) -> Iterator[tuple[str, str, Arrays]]:
    """Yield how and where a state was changed, and what it is then."""
    for name, array in state.items():
        rest = {key: value for key, value in state.items() if key != name}
        yield "left out", name, rest
        hows: dict[str, Callable[[], Any]] = {
            "emptied": lambda a=array: a.ravel()[:0],
            "doubled": lambda a=array: np.concatenate([a.ravel()] * 2),
            "longer": lambda a=array: np.concatenate([a, a]) if a.ndim else a[None],
            "text": lambda a=array: a.astype("U5"),
        }
        if array.dtype.kind == "f" and array.size:
            hows["NaN"] = lambda a=array: a * np.nan
            hows["infinite"] = lambda a=array: a + np.inf
            hows["single"] = lambda a=array: a.astype(np.float32)
        if array.dtype.kind == "i" and array.size:
            hows["huge"] = lambda a=array: a + 2**40 if a.dtype.itemsize == 8 else a + 100
            hows["negative"] = lambda a=array: -1 - abs(a)
        for how, make in hows.items():
            yield how, name, {**rest, name: make()}
    yield "added", "something", {**state, "something": np.zeros(3)}


def main(trials: int, seed: int) -> int:
    """Return how many checkpoints led to a traceback, a crash, a hang, or other bits unnoticed."""
    root, rng = Path(tempfile.mkdtemp()), random.Random(seed)
    counts: Counter[tuple[str, str, str]] = Counter()
    bad = 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for family, (name, sets) in FAMILIES.items():
        scenario = st.read_scenario(name, sets)
        kept = Keeping(root / family, family, every=0.0)
        whole = bits(solved(scenario, kept))
        if not kept.count:
            print(family, "leaves no checkpoint", flush=True)
            continue
        path, middle = root / "x", Path(f"{root / family}.{max(1, kept.count // 2)}")

        def judge(s: st.Scenario = scenario, w: dict[str, bytes] = whole, f: str = family) -> str:
            try:
                checkpoint = FileCheckpoint(root / "x", f, resume=True, every=1e9)
                return "same" if bits(solved(s, checkpoint)) == w else "other bits"
            except StictionError:
                return "refused"

        shutil.copy(middle, path)
        state = FileCheckpoint(path, family, resume=True).load()
        if state is None or apart(judge) != "same":
            raise SystemExit(f"{family}: an undamaged checkpoint does not lead to the same bits")
        for _ in range(trials // len(FAMILIES)):
            how = rng.choice([*HOWS, "flip", "flip", "flip"])
            path.write_bytes(HOWS[how](bytearray(middle.read_bytes()), rng))
            said = apart(judge)
            counts[family, "bytes", said.split()[0]] += 1
            if said not in ("refused", "same"):
                bad += 1
                print(family, how, said, flush=True)
        for how, array, wrong in changed(state):
            FileCheckpoint(path, family).save(wrong)
            said = apart(judge)
            counts[family, how, said] += 1
            if said not in ("refused", "same"):
                bad += said != "other bits" or how in OF_ANOTHER_FORM
                print(family, array, how, said, flush=True)
    shutil.rmtree(root)
    for key, count in sorted(counts.items()):
        print(*key, count)
    print(f"{sum(counts.values())} damaged checkpoints of {len(FAMILIES)} families, {bad} to mend")
    return bad


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(1 if main(*(given + [300, 1][len(given) :])) else 0)
