"""Scenarios with mistakes and odd numbers, read and solved in children within bounds.

Built-in scenarios of all five families are changed at one to three places: plausible numbers
over many decades, which reach the solvers, or NaN, other types, missing and unknown keys, broken
text, which must not. Whatever comes out is a run or a refusal in four parts; no other error, no
NaN in a run that says solved, no warning of a library, no run beyond ten seconds of the processor.
One in five is solved once more from a checkpoint that it left on its way, to the same bits.

Each scenario is small and says how many steps it may take, a second's work or so, and no mutant
may ask for more than four times as many of anything: whoever goes on beyond ten seconds does not
keep within its bounds.
"""

from __future__ import annotations

import collections
import copy
import gc
import json
import math
import os
import random
import resource
import select
import signal
import time
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from forks import Fork, bits, columns, different, reported
from memories import Memory

import stiction as st
from stiction.io.scenario import read_scenario, write_scenario
from stiction.io.scenario.built_in import built_in
from stiction.numerics.checks import MOST_WORK

SECONDS, BYTES, SLOW = 10.0, 6 << 30, "BEYOND 10 S"
WORK, MORE = "method.max_steps", 4
SHORT = {"solve.t_end": 0.002, "solve.save": 3, WORK: 20_000}
SMALL = {"method.steps": 2, "method.max_halvings": 4, WORK: 6}
SHORTER = {**SHORT, "solve.t_end": 0.001}
EVENTS = 10_000
STEPS = {
    "chains": 30_000,
    "theta": 200_000,
    "quasistatic": 2000,
    "switching": 100_000,
    # each loss of determinism costs as much as hundreds of steps
    "wheel": 40_000,
    "strings": 400_000,
}
PLAIN = {
    "chains": "baseline slip-wave slip-wave-damped theta-0 theta-half theta-one energy-balance "
    "belt quasistatic-ramp quasistatic-reversal stick-set quasistatic-branches reachability "
    "random-friction",
    "switching": "belt-oscillator normal-form relay-feedback static-jump-oscillator "
    "two-block-stick-slip wheel-gamma-0 wheel-gamma-90 wheel-recurrent wheel-slips-then-slides "
    "wheel-physical-time",
    "strings": "string-symmetric string-offset string-periodic string-plucked string-breakdown",
}
FAMILIES: dict[str, tuple[int, dict[str, dict[str, Any]]]] = {
    "chains": (
        40,
        {
            **{name: {} for name in PLAIN["chains"].split()},
            "burridge-knopoff": {"solve.t_end": 5.0},
            "ramp-wave-50": {"solve.t_end": 2.0},
            "detachment-wave": {"solve.t_end": 0.3},
        },
    ),
    "switching": (22, {name: {} for name in PLAIN["switching"].split()}),
    "strings": (12, {name: {} for name in PLAIN["strings"].split()}),
    "rods": (
        14,
        {
            **dict.fromkeys(("rods-crossed", "rods-slip", "rod-on-plane"), SHORT),
            **dict.fromkeys(("rods-net", "rods-knot"), SHORTER),
            "rods-on-rod": SHORT,
        },
    ),
    "solids": (
        12,
        {
            "strip-peeling": {**SMALL, "system.u_end": 1.0},
            "cap-sliding": {**SMALL, "system.u_end": 0.1},
            "cylinders": {**SMALL, "system.u_end": 0.1},
        },
    ),
}
# edges where nothing touches, and a condition that holds while a contact rolls
ABSENT = {"contact_left", "contact_right", "rolling_residual"}
# of which there may be many
COUNTS = {"n", "nodes", "elements", "cell_elements", "rows", "columns", "corners", "steps", "save"}
COUNTS |= {"load_samples", "order"}
ODD: list[Any] = [
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 0.0, -0.0, -1.0, 1, 0, -1, 2),
    *(3, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 1e-12, 1e12, 1e5, 1e-5, 0.5, "", "x", "1.0"),
    *("a\nb", "../../../etc/passwd", "nan", True, False, [], [1.0], [1.0, 2.0], [1.0, math.nan]),
    *([0.0] * 1000, [1e308] * 3, [[1.0], [2.0]], ["a"], {}, {"type": "Chain"}, {"type": 3}),
    *({"type": ""}, {"type": "Coulomb", "mu": 1e-300}, {"a": {"b": {"c": 1}}}),
]
SETTINGS = [
    *("system.law.mu=", "=3", "system=1", "system.mass=[1,2,4", "a.b.c.d=1", "solve.t_end=1e-300"),
    *("system..mass=1", "system.law={}", "system.law.mu=nan", "\x00=1"),
    "method={type='Quasistatic', max_steps=12, max_events=10000}",
    *("method={type='EventDriven', rtol=0}", "solve.save=1", "solve.save=[0,0]", "solve.mode='x'"),
    *("solve.x0=[1,2,3]", "solve.t_start=5", "method={type='Continuation', max_steps=12}"),
    "method={type='ThetaStepper', step=1e-3, theta=0.5, max_steps=200000}",
    "method={type='RollingMidpoint'}",
    "system.law={type='ExponentialWeakening', mu_static=0.3, mu_kinetic=0.1, v_scale=1e-12}",
    "system.load={type='Sine', amplitude=1e9, angular_frequency=1e6}",
    *("system.mass=" + "[" * 500, "method={type='Characteristics', max_steps=400000}"),
    "method={type='BumpStrands'}",
    "method={type='RegularizedTheta', step=1e-3, theta=0.5, smoothing=1e-3}",
]


def put(table: dict[str, Any], path: str, value: Any) -> None:
    """Set the entry of a dotted path."""
    *owners, key = path.split(".")
    for name in owners:
        table = table.setdefault(name, {})
    table[key] = value


def base_of(family: str, name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario with all fields of its system and method written out."""
    table = tomllib.loads(built_in()[name].read_text("utf-8"))
    for key in ("title", "paper", "figure", "note"):
        table.pop(key, None)
    full = tomllib.loads(write_scenario(read_scenario(name)))
    for part in ("system", "method"):
        if part in full:
            table[part] = {**full[part], **table.get(part, {})}
    steps = STEPS.get(name.split("-")[0], STEPS.get(family))
    for path, value in {**({WORK: steps} if steps else {}), **changes}.items():
        put(table, path, value)
    if "max_events" in table.get("method", {}):
        table["method"]["max_events"] = EVENTS // 10 if steps == STEPS["quasistatic"] else EVENTS
    return table


def leaves(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all entries."""
    if isinstance(table, dict):
        return [leaf for key, value in table.items() for leaf in leaves(value, (*path, key))]
    return [path]


def other(rng: random.Random, value: Any) -> Any:
    """Return a plausible number, or list of numbers, in place of one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, list) and value and all(isinstance(x, int | float) for x in value):
        at = rng.randrange(len(value))
        return [other(rng, x) if i == at else x for i, x in enumerate(value)]
    if not isinstance(value, int | float):
        return value
    chance = rng.random()
    if chance < 0.45:
        new = value * 10.0 ** rng.uniform(-6.0, 6.0)
    elif chance < 0.6:
        new = -float(value)
    elif chance < 0.8:
        new = value * rng.uniform(0.5, 2.0)
    else:
        new = rng.choice([1e-300, 1e300, 1e-15, 1e15, 1e-9, 1e9, value + 1.0, 0.0])
    if isinstance(value, int) and rng.random() < 0.8:
        return int(min(max(new, -1e9), 1e9))
    return float(new)


def within(key: str, value: Any, before: Any) -> Any:
    """Return a value that asks for no more work than may be asked for; absurd ones stay."""
    numbers = (int, float)
    if not (type(value) in numbers and type(before) in numbers and value < MOST_WORK):
        return value
    if key.startswith("max_"):
        return min(value, before)
    if key in COUNTS:
        return min(value, MORE * before)
    return min(float(value), 50.0) if key == "t_end" else value


class Mutants:
    """Scenarios with mistakes, each given by its seed.

    Parameters
    ----------
    families : which of them
    """

    def __init__(self, families: list[str]) -> None:
        self.weights = {name: FAMILIES[name][0] for name in families}
        self.bases = {
            family: [
                (name, base_of(family, name, more)) for name, more in FAMILIES[family][1].items()
            ]
            for family in families
        }

    def made(self, seed: int) -> tuple[str, str, str, list[str]]:
        """Return family, name, text and settings of one."""
        rng = random.Random(seed)
        family = rng.choices(list(self.weights), weights=list(self.weights.values()))[0]
        name, base = rng.choice(self.bases[family])
        table, settings, numeric = json.loads(json.dumps(base)), [], rng.random() < 0.6
        for _ in range(rng.choice([1, 1, 2, 3])):
            paths = [p for p in leaves(table) if p[0] != "solve" or rng.random() < 0.3]
            path = rng.choice(paths or [("solve", "t_end")])
            owner = table
            for key in path[:-1]:
                owner = owner[key]
            self._change(rng, owner, path[-1], settings, numeric=numeric)
        text = tomli_w.dumps(table)
        if not numeric and rng.random() < 0.15:
            letters = list(text)
            for _ in range(rng.randrange(1, 6)):
                letters[rng.randrange(len(letters))] = rng.choice(
                    ["", "\n", "[", "=", '"', "9" * 50]
                )
            text = "".join(letters)
        return family, name, text, settings

    @staticmethod
    def _change(
        rng: random.Random, owner: dict[str, Any], key: str, settings: list[str], *, numeric: bool
    ) -> None:
        value, chance = owner.get(key), rng.random()
        if numeric:
            owner[key] = within(key, other(rng, value), value)
        elif chance < 0.6:
            owner[key] = within(key, copy.deepcopy(rng.choice(ODD)), value)
        elif chance < 0.7 and not key.startswith("max_"):
            owner.pop(key, None)
        elif chance < 0.8:
            owner[f"{key}x"] = value
        elif chance < 0.9:
            owner[key] = [value, value]
        else:
            settings.append(rng.choice(SETTINGS))


def holes(run: st.Run) -> set[str]:
    """Return what of a run is not finite, but for what is NaN where nothing touches or rolls."""
    known = run.variables
    apart = np.isnan(known["gap"].values) if "gap" in known else np.zeros(0, dtype=bool)
    found = {f"energy.{k}" for k, c in columns(run).items() if not np.isfinite(c).all()}
    for name, v in known.items():
        here = apart.any() and v.values.shape[: apart.ndim] == apart.shape
        values = v.values[~apart] if here else v.values
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            found.add(name)
    for name, v in run.final.items():
        here = name in known and apart[-1:].any()
        if not here and not np.isfinite(np.asarray(v, dtype=np.float64)).all():
            found.add(f"final.{name}")
    return {name for name in found if name.removeprefix("final.") not in ABSENT}


def solved(text: str, settings: list[str], again: int) -> tuple[st.Run, str]:
    """Return the run of a scenario, and what differs when it goes on from the state saved there.

    Parameters
    ----------
    again : the turn of that state; 0 for not at all
    """
    scenario = read_scenario(text, settings)
    if not again:
        return scenario.solve(throw=False), ""
    saved = Memory(turn=again)
    run = scenario.solve(throw=False, checkpoint=saved)
    if saved.state is None:
        return run, ""
    other_run = scenario.solve(throw=False, checkpoint=Memory(saved.state, turn=0))
    one, two = ({**bits(each), **reported(each)} for each in (run, other_run))
    return run, ", ".join(different(one, two))


def trial(text: str, settings: list[str], again: int = 0) -> dict[str, Any]:
    """Read and solve one scenario; return what became of it."""
    found: dict[str, Any] = {"holes": []}
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run, apart = solved(text, settings, again)
            str(run)
            found |= {"kind": f"status {run.status.value}", "holes": sorted(holes(run))}
            found["ok"] = run.status.ok
            if apart:
                found |= {"kind": "OTHER BITS when it goes on", "said": apart}
        except st.StictionError as error:
            said = str(error)
            found["kind"] = "refused" if "Why:" in said and "Try:" in said else "BARE REFUSAL"
            found["said"] = said[:300]
        except MemoryError:
            found["kind"] = "OUT OF MEMORY"
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
            found |= {
                "kind": f"FOREIGN {type(error).__name__}",
                "said": traceback.format_exc()[-900:],
            }
    listed = {f"{w.category.__name__}: {str(w.message)[:80]}" for w in caught}
    return {**found, "warned": sorted(listed), "cpu": time.process_time() - begin}


def bounded(text: str, settings: list[str], again: int) -> str:
    """Make one trial with bounded time and memory; return what became of it, as JSON."""
    # a run that goes on is a second run
    most = math.ceil(SECONDS) * (2 if again else 1)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 2))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return json.dumps(trial(text, settings, again))


def ended(fork: Fork) -> dict[str, Any]:
    """Return what became of a trial."""
    if text := fork.answer():
        found: dict[str, Any] = json.loads(text)
        return found
    over = -fork.code in (signal.SIGXCPU, signal.SIGKILL)
    kind = SLOW if over else f"CRASHED by {-fork.code}"
    return {"kind": kind, "holes": [], "warned": [], "cpu": SECONDS}


def finished(
    seeds: range, mutants: Mutants, workers: int, end: float
) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """Make the trials, so many at a time; yield seed, family, name and what became of each."""
    left, running = iter(seeds), {}
    while True:
        while len(running) < workers and time.monotonic() < end:
            seed = next(left, None)
            if seed is None:
                break
            family, name, text, settings = mutants.made(seed)
            again = 0 if seed % 5 else 1 + seed // 5 % 7
            fork = Fork(partial(bounded, text, settings, again))
            running[fork.pipe] = (seed, family, name, fork)
        if not running:
            return
        for ready in select.select(list(running), [], [])[0]:
            *which, fork = running.pop(ready)
            yield *which, ended(fork)


def usual_holes(mutants: Mutants) -> dict[str, set[str]]:
    """Solve every base, which loads the kernels; return what is not finite in it by design."""
    found = {}
    for bases in mutants.bases.values():
        for name, table in bases:
            found[name] = holes(read_scenario(tomli_w.dumps(table)).solve(throw=False))
    return found


def campaign(
    trials: int = 20_000,
    seed: int = 1,
    families: tuple[str, ...] = tuple(FAMILIES),
    log: str = "",
    seconds: float = math.inf,
    workers: int = os.cpu_count() or 1,
) -> tuple[str, int]:
    """Make the trials, for so many seconds at most, and count what came of them."""
    mutants = Mutants(list(families))
    usual = usual_holes(mutants)
    gc.freeze()
    kinds: collections.Counter[str] = collections.Counter()
    count = bad = 0
    lines = []
    first, end = seed * 1_000_000, time.monotonic() + seconds
    for number, family, name, found in finished(
        range(first, first + trials), mutants, workers, end
    ):
        silent = set(found["holes"]) - usual[name] if found.get("ok") else set()
        count += 1
        kinds[f"{family}: {found['kind']}"] += 1
        kinds["foreign"] += found["kind"].split()[0].isupper() and found["kind"] != SLOW
        kinds["beyond 10 s"] += found["kind"] == SLOW
        kinds["warned"] += bool(found["warned"])
        kinds["silent NaN"] += bool(silent)
        if found["kind"].split()[0].isupper() or silent or found["warned"]:
            bad += 1
            print(number, name, found["kind"], sorted(silent), found["warned"], flush=True)
        lines.append(json.dumps({"seed": number, "family": family, "name": name, **found}))
    if log:
        Path(log).write_text("\n".join([*lines, ""]))
    for what, many in sorted(kinds.items()):
        print(f"{many:6d} {what}")
    return f"{count} solves, {bad} to repair", bad
