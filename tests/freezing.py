"""What every built-in scenario gave before the package was rearranged, and what it gives now.

::

    python tests/freezing.py          # writes tests/frozen/outputs.json, compiled kernels
    python tests/freezing.py belt     # writes the entries of some scenarios only

An entry holds words, which must be the same, and numbers. A number may differ by the largest of
1e-9 of its scale, a tenth of its `error` (its difference to a run with tolerances or steps ten
times smaller), and ten times its `rounding` (its difference to runs in which one number of the
system is changed by 1e-15): residuals that are rounding alone have no other scale. `agreeing`
counts the leading events that such a change leaves as they are, and only these are compared.
`growth` is how much a change by 1e-9 of that number has grown in the state, over the last tenth of
the run. Beyond 1e4 a scenario is chaotic; it is solved and compared until its change has grown so
much, which is 9.2 Lyapunov times.
"""

import dataclasses
import json
import math
import re
import sys
import time as clock
from collections import Counter
from itertools import takewhile
from pathlib import Path

import numpy as np

from stiction.core.method import default_method
from stiction.errors import StictionError
from stiction.io.scenario import built_in, read_scenario
from stiction.numerics.jit import use

FILE = Path(__file__).with_name("frozen") / "outputs.json"
LEAST, CHAOTIC, QUICK = 1e-9, 1e4, 1.5
# the file was written on an Intel processor, where every number must be as it was. Elsewhere
# libraries round otherwise: ratios of the audit change by some eps, and rounding decides in a
# scenario, with the code of that day, too: leading events that agree, errors between numbers
FLOOR = 10 * float(np.finfo(float).eps)
ELSEWHERE = {"rods-braid": (16, 10.0)}
MOST, HALF, PICKED = 200, 100, 7
# which number of a system is changed: one that no start or symmetry was tuned to
CHANGED = {
    "BeltOscillator": "alpha",
    "Braid": "radius",
    "CapSliding": "u_end",
    "CapSliding3D": "u_end",
    "Capstan": "tension",
    "Chain": "gravity",
    "CrossedRods": "radius",
    "InjectedFault": "diffusivity",
    "MovingSolid": "drag",
    "NormalForm": "J1",
    "RelayFeedback": "pole",
    "RigidBodies": "law.mu",
    "RodNet": "radius",
    "RodOnFixedRod": "offset",
    "RodOnPlane": "rod.section.young",
    "RollingStrings": "F",
    "SpatialBodies": "law.mu",
    "SpringSlider": "spring",
    "StaticJumpOscillator": "mu_static",
    "StrikeSlipFault": "normal_stress",
    "StripPeeling": "u_end",
    "TapePeeling": "u_end",
    "TighteningKnot": "radius",
    "TwoBlockStickSlip": "coupling",
    "TwoCylinders": "u_end",
    "WheelOnTurntable": "mu",
    # wave speeds that are equal must stay equal; a chain without weight
    "string-breakdown": "u_t0.height",
    "quasistatic-branches": "normal_force",
}
# rates of strings jump at the fronts of waves: one that arrives later is no growth
FRONTS = {"u_t", "v_t"}
STEPS, TOLERANCES = ("step", "part"), ("rtol", "tolerance", "newton_tolerance", "work_tolerance")


# checks of the audit that have another name since; their values are compared as they are
RENAMED = {
    "cubic_unique": "contact_velocity_unique",
    "contact_presses": "normal_force_compressive",
    "forces_above_floor": "residual_above_roundoff",
    "half_passes_balance": "two_half_pass_balance",
    "passes_reciprocal": "action_reaction_balance",
    "scheme_loss_small": "numerical_dissipation_small",
    "scheme_takes_little": "numerical_dissipation_small",
}


def frozen():
    """Return the file, with the names of today."""
    text = FILE.read_text(encoding="utf-8")
    for old, new in RENAMED.items():
        text = re.sub(rf'(?<="|\s){old}(?=")', new, text)
    return json.loads(text)


# ---- what a run gives


def outputs(run):
    """Return the words and the numbers of a run."""
    log, span = run.event_log, run.t_end - float(run.time[0])
    names = [
        f"{contact} {before} > {after}: {kind}"
        for contact, before, after, kind in zip(
            log.contact, log.before, log.after, log.kind, strict=True
        )
    ]
    words = {
        "status": run.status.value,
        "system": run.system_name,
        "method": run.method_name,
        "energy": run.energy.defined,
        "events": _ends(names),
        "kinds": dict(Counter(log.kind)),
        "losses": [loss.kind for loss in run.determinism.losses],
        "audit": {one.check: None if one.ok is None else bool(one.ok) for one in run.audit},
        "limits": {one.check: _limit(one.limit) for one in run.audit},
    }
    numbers = {
        "t_end": _row(run.t_end, span),
        "events": _row(_ends(list(log.time)), span),
        "losses": _row([loss.time for loss in run.determinism.losses], span),
    }
    for name, quantity in run.quantities.items():
        numbers[f"quantity {name} [{quantity.unit}]"] = _row(quantity.value)
    for name, values in run.final.items():
        whole = run.variables[name].values if name in run.variables else values
        numbers[f"final {name}"] = _row(_few(values), np.nanmax(np.abs(whole), initial=0.0))
    if run.energy.defined:
        for name, column in run.energy.columns().items():
            numbers[f"energy {name}"] = _row(column[-1], run.energy.scale)
    for check in run.audit:
        scale = np.nanmax(np.abs(_floats([check.value, check.limit])), initial=0.0)
        numbers[f"audit {check.check}"] = _row([check.value, check.limit], scale)
    return {"words": words, "numbers": numbers}


def _limit(value):
    """Return a limit to three digits: one that scales with the energies of a run may move a bit."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.3g}")


def _ends(values):
    return values if len(values) <= MOST else [*values[:HALF], *values[-HALF:]]


def _few(values):
    """Return an array, or where it is long its root mean square and some of its entries."""
    values = np.ravel(values)
    if values.size <= MOST:
        return values
    picked = values[np.linspace(0, values.size - 1, PICKED).astype(int)]
    return [np.sqrt(np.mean(values**2)), *picked]


def _row(value, scale=None):
    if isinstance(value, str):
        return {"value": value}
    values = [float(x) for x in _floats(value)]
    scale = max(map(abs, filter(math.isfinite, values)), default=0.0) if scale is None else scale
    return {"value": [x if math.isfinite(x) else None for x in values], "scale": float(scale)}


def _floats(value):
    """Return numbers as an array, NaN where there is none."""
    return np.ravel(np.array(value, dtype=object)).astype(float)


# ---- comparison


def at_home():
    """Return whether this is a processor of the kind on which the file was written."""
    about = Path("/proc/cpuinfo")
    return not about.exists() or "AuthenticAMD" not in about.read_text()


def elsewhere(scenario):
    """Return what a scenario may do on another processor; None where it must be as it was."""
    return None if at_home() else ELSEWHERE.get(scenario)


def allowed(row, name="", scenario=""):
    """Return by how much a number may differ."""
    there = elsewhere(scenario)
    part = 0.1 if there is None else there[1]
    floor = FLOOR if name.startswith("audit ") and not at_home() else 0.0
    error = part * row["error"] if row["error"] else 0.0
    return max(LEAST * row["scale"], error, 10 * row["rounding"], floor)


def compared(entry, scenario=""):
    """Return how many of the saved events are compared, and whether that is all of them."""
    every, agreeing = sum(entry["words"]["kinds"].values()), entry["agreeing"]
    if (there := elsewhere(scenario)) is not None:
        return there[0], False
    steady = agreeing == every
    return (MOST if steady else min(agreeing, HALF if every > MOST else MOST)), steady


def differences(entry, now, scenario=""):
    """Return what is no longer as it was, one line each."""
    (most, steady), found = compared(entry, scenario), []
    for name in sorted({*entry["words"], *now["words"]}):
        old, new = (tree["words"].get(name) for tree in (entry, now))
        if name == "events":
            old, new = old[:most], new[:most]
        if old != new and (steady or name != "kinds"):
            found.append(f"{name}: {_short(old, new)} became {_short(new, old)}")
    for name in sorted({*entry["numbers"], *now["numbers"]}):
        old, new = (tree["numbers"].get(name) for tree in (entry, now))
        if old is None or new is None:
            found.append(f"{name} is new" if old is None else f"{name} is gone")
            continue
        end = most if name == "events" else None
        far = _apart(old["value"][:end], new["value"][:end])
        if not far <= (0.0 if isinstance(old["value"], str) else allowed(old, name, scenario)):
            found.append(
                f"{name}: {_short(old['value'], new['value'])} became "
                f"{_short(new['value'], old['value'])}, {far:.2g} apart"
            )
    return found


def _apart(old, new):
    """Return the largest difference; inf where there is a number in one of them only."""
    if isinstance(old, str) or isinstance(new, str):
        return 0.0 if old == new else math.inf
    x, y = _floats(old), _floats(new)
    if x.shape != y.shape or (np.isnan(x) != np.isnan(y)).any():
        return math.inf
    return float(np.nanmax(np.abs(x - y), initial=0.0))


def _short(one, other):
    """Return the first entry of a list or table that differs from another one."""
    if isinstance(one, dict) and isinstance(other, dict):
        one, other = sorted(one.items()), sorted(other.items())
    if isinstance(one, list) and isinstance(other, list):
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        )
        return f"entry {same} {one[same]!r}" if same < len(one) else f"{len(one)} entries"
    return repr(one)


# ---- writing


def entry_of(name):
    """Return the entry of a scenario: its outputs, and what their differences mean."""
    system = read_scenario(name).system
    path = CHANGED.get(name) or CHANGED[type(system).__name__]
    value = system
    for key in path.split("."):
        value = getattr(value, key)
    value = float(np.ravel(value)[0])

    def solved(part, *more):
        change = f"system.{path}={value * (1.0 + part)!r}"
        return read_scenario(name, [*([change] if part else []), *more]).solve(throw=False)

    run, moved = solved(0.0), solved(LEAST)
    grown, until = growth(run, moved)
    extra = () if until is None else (f"solve.t_end={until!r}",)
    if extra:
        run = solved(0.0, *extra)
    begin = clock.perf_counter()
    shaken = [solved(part, *extra) for part in (1e-15, -1e-15)]
    spent = (clock.perf_counter() - begin) / 2
    agree = min(agreeing(run.event_log, one.event_log) for one in shaken)
    entry = {**outputs(run), "agreeing": agree}
    fine, by = refined(name, run, extra)
    finer = outputs(fine) if fine is not None and fine.status is run.status else None
    for key, row in entry["numbers"].items():
        if isinstance(row["value"], str):
            continue
        end = compared(entry)[0] if key == "events" else None
        near = [_between(row, outputs(one), key, end) for one in shaken]
        row["rounding"] = max((x for x in near if x is not None), default=0.0)
        row["error"] = finer and _between(row, finer, key, end)
        if key == "events" and finer and finer["words"][key][:end] != entry["words"][key][:end]:
            row["error"] = None
    return {
        **entry,
        "changed": path,
        "error_by": by if finer else f"{by}: no such run",
        "growth": float(f"{grown:.3g}"),
        "slow": spent > QUICK,
        "until": until,
    }


def _between(row, tree, key, end):
    """Return how far numbers of two runs are apart, None where one of them lacks some."""
    far = _apart(row["value"][:end], tree["numbers"].get(key, {"value": []})["value"][:end])
    return far if far < math.inf else None


def agreeing(log, other):
    """Return how many leading events are the same."""
    rows = (zip(x.contact, x.before, x.after, x.kind, strict=True) for x in (log, other))
    pairs = zip(*rows, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def growth(run, moved):
    """Return the growth of a change by 1e-9 over the last tenth, and when it passed 1e4, or None.

    Medians over time: a sample between an event and the same event of the other run is no growth.
    """
    rows = min(run.time.size, moved.time.size)
    grown = np.zeros(rows)
    for name in ({*run.final, "position"} - FRONTS) & set(run.variables):
        x, y = (one.variables[name].values[:rows].reshape(rows, -1) for one in (run, moved))
        if run.variables[name].dims[0] == "time" and x.shape == y.shape:
            x, y = np.nan_to_num(x), np.nan_to_num(y)
            scale = max(np.abs(x).max(), np.finfo(float).tiny)
            grown = np.maximum(grown, np.abs(x - y).max(axis=1) / scale / LEAST)
    for block in np.array_split(np.arange(rows), 20):
        if block.size and np.median(grown[block]) > CHAOTIC:
            return float(np.median(grown[-(rows // 10 or 1) :])), float(run.time[block[0]])
    return float(np.median(grown[-(rows // 10 or 1) :])), None


def refined(name, run, extra):
    """Return the run with a step or tolerances ten times smaller, and what was made smaller."""
    scenario = read_scenario(name, extra)
    method = scenario.method or default_method(scenario.system)
    fields = {one.name: getattr(method, one.name) for one in dataclasses.fields(method)}
    if "step" in fields and not any(fields.get(key) for key in STEPS):
        fields["step"] = run.stats["step"]
    keys = [key for key in STEPS if fields.get(key)] or [k for k in TOLERANCES if fields.get(k)]
    smaller = {key: fields[key] / 10 for key in keys}
    if "rtol" in smaller:
        smaller["rtol"] = max(smaller["rtol"], 1e-14)
    by = ", ".join(f"{key} = {value:.3g}" for key, value in smaller.items())
    if fields.get("max_steps"):
        smaller["max_steps"] = 10 * fields["max_steps"]
    try:
        method = dataclasses.replace(method, **smaller)
        return dataclasses.replace(scenario, method=method).solve(throw=False), by
    except StictionError:
        return None, by


def text(value, indent=""):
    """Return JSON with sorted keys: a row of numbers is one line where it fits."""
    inner = f"{indent} "
    if isinstance(value, dict) and not {"value"} & set(value):
        rows = (f"{inner}{json.dumps(k)}: {text(value[k], inner)}" for k in sorted(value))
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}" if value else "{}"
    if isinstance(value, dict):
        rest = (f', "{k}": {_rounded(value[k], 3)}' for k in sorted(set(value) - {"value"}))
        return f'{{"value": {text(value["value"], inner)}{"".join(rest)}}}'
    if isinstance(value, list):
        lines = [""]
        for one in (text(one) for one in value):
            full = len(lines[-1]) + len(one) > 110
            lines[-1] += ", " * bool(lines[-1]) * (not full) + "," * full
            lines += [""] * full
            lines[-1] += one
        return "[" + f"\n{inner}".join(lines) + "]"
    # twelve digits: a thousandth of the least difference that counts
    return _rounded(value, 12)


def _rounded(value, digits):
    return repr(float(f"{value:.{digits}g}")) if isinstance(value, float) else json.dumps(value)


def main(names):
    """Write the entries of the named scenarios, of all for none."""
    use("compiled")
    # entries that are not named stay as they stand, with the names of their time
    tree = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"scenarios": {}}
    for name in names or built_in():
        begin = clock.perf_counter()
        entry = tree["scenarios"][name] = entry_of(name)
        every = sum(entry["words"]["kinds"].values())
        sys.stdout.write(
            f"{name:<24} {clock.perf_counter() - begin:6.1f} s, growth {entry['growth']:.2g}, "
            f"{entry['agreeing']} of {every} events agree, {entry['error_by']}\n"
        )
        sys.stdout.flush()
        tree["chaotic"] = {
            key: {"until": one["until"], "lyapunov_time": one["until"] / math.log(CHAOTIC)}
            for key, one in tree["scenarios"].items()
            if one["until"] is not None
        }
        FILE.write_text(text(tree) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
