"""Checkpoints damaged at random, and whole ones with one wrong array: refused, or the same bits.

First bytes of a checkpoint are changed, as a disk does. Then one array is changed and the file
written anew with a right digest, as another version or a program would: the array is emptied,
doubled, made NaN, of another type, left out, or one is added. A run that goes on all the same is
told apart by its bits. It is silent if they are others though its status, its checks and what it
lost are those of the run that was left alone; LAWFUL names the arrays whose numbers another run
may well have kept.

Usage: python tools/stress/damage_checkpoint.py [TRIALS] [SEED] [FAMILY ...]
"""

from __future__ import annotations

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


class Keeping(FileCheckpoint):
    """A checkpoint of which every state is kept."""

    count = 0

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep a copy."""
        super().save(state)
        self.count += 1
        shutil.copy(self.path, f"{self.path}.{self.count}")


def told(run: st.Run) -> list[object]:
    """Return what a run says of itself."""
    checks = [(check.check, check.ok) for check in run.audit.checks]
    return [run.status, checks, [(loss.time, loss.kind) for loss in run.determinism.losses]]


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
            "text": lambda a=array: np.full(a.shape, "text"),
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
        for field in (array.dtype.names or ()) if array.size else ():
            of_floats = array[field].dtype.kind == "f"
            for how, value in (
                (("NaN", np.nan), ("infinite", np.inf)) if of_floats else (("negative", -2),)
            ):
                wrong = array.copy()
                wrong[field] = value
                yield how, f"{name}.{field}", {**rest, name: wrong}
    yield "added", "something", {**state, "something": np.zeros(3)}


def main(trials: int, seed: int, families: list[str]) -> int:
    """Return how many checkpoints led to a traceback, a crash, a hang, or other bits unnoticed."""
    root, rng = Path(tempfile.mkdtemp()), random.Random(seed)
    counts: Counter[tuple[str, str, str]] = Counter()
    bad = 0
    for family in families:
        name, sets = FAMILIES[family]
        scenario = st.read_scenario(name, sets)
        kept = Keeping(root / family, family, every=0.0)
        run = solved(scenario, kept)
        whole, said_whole = bits(run), told(run)
        if not kept.count:
            print(family, "leaves no checkpoint", flush=True)
            continue
        path, middle = root / "x", Path(f"{root / family}.{max(1, kept.count // 2)}")

        def judge(
            s: st.Scenario = scenario,
            w: dict[str, bytes] = whole,
            t: list[object] = said_whole,
            f: str = family,
        ) -> str:
            try:
                run = solved(s, FileCheckpoint(root / "x", f, resume=True, every=1e9))
            except StictionError:
                return "refused"
            return "same" if bits(run) == w else "SILENT" if told(run) == t else "told"

        shutil.copy(middle, path)
        state = FileCheckpoint(path, family, resume=True).load()
        if state is None or apart(judge) != "same":
            raise SystemExit(f"{family}: an undamaged checkpoint does not lead to the same bits")
        for _ in range(trials // len(families)):
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
            if said not in ("refused", "same", "told") and (family, array) not in LAWFUL:
                bad += 1
                print(family, array, how, said, flush=True)
    shutil.rmtree(root)
    for key, count in sorted(counts.items()):
        print(*key, count)
    print(f"{sum(counts.values())} damaged checkpoints of {len(families)} families, {bad} to mend")
    return bad


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    named = [word for word in sys.argv[1:] if not word.isdecimal()]
    sys.exit(1 if main(*(numbers + [300, 1][len(numbers) :]), named or list(FAMILIES)) else 0)
