"""The committed table, RESULTS.md, made from the points of every script."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "accuracy",
    "scaling",
    "cli",
    "cold",
    "switching",
    "switching_ensemble",
    "studies",
    "blocks",
    "two_workers",
    "strings",
    "rods",
    "cosserat",
    "solid_assembly",
    "solids",
    "solids_space",
    "solids_cap",
    "linear_solvers",
    "counts",
    "faults",
    "seas",
    "fits",
    "fit_scenarios",
)

HEAD = """# Measured

Made by `make bench`; every number comes from a line of `benchmarks/results/*.jsonl`. Times are the
best of several warm runs, the ratio is to `EventDriven` with its defaults. The error is that of the
worst mass at the worst sample time, over the largest displacement or velocity; errors of onsets and
events are in seconds. How the solvers were set up is said in `benchmarks/README.md`.
"""


def points() -> dict[str, list[dict]]:
    """Return the points of each script that has been run."""
    found = {}
    for name in SCRIPTS:
        path = HERE / "results" / f"{name}.jsonl"
        if path.exists():
            found[name] = [json.loads(line) for line in path.read_text().splitlines()]
    return found


def write() -> str:
    """Write RESULTS.md and return its name."""
    found = points()
    parts = [HEAD, _machines(found)]
    every = [line for lines in found.values() for line in lines]
    parts.append(_targets(every))
    if "accuracy" in found:
        parts.append(_accuracy(found["accuracy"]))
    if "scaling" in found:
        parts.append(_scaling(found["scaling"]))
    if "cli" in found:
        parts.append(_commands(found["cli"]))
    if "cold" in found:
        parts.append(_cold(found["cold"]))
    if "switching" in found:
        parts.append(_switching(found["switching"]))
    if "switching_ensemble" in found:
        parts.append(_ensembles(found["switching_ensemble"]))
    if "studies" in found:
        parts.append(_studies(found["studies"], found.get("blocks", [])))
    if "rods" in found:
        parts.append(_rods(found["rods"]))
    if "cosserat" in found:
        parts.append(_cosserat(found["cosserat"]))
    if "solid_assembly" in found:
        parts.append(_assembly(found["solid_assembly"]))
    if "solids" in found:
        parts.append(_solids(found["solids"]))
    if "solids_space" in found:
        parts.append(_spheres(found["solids_space"]))
    if "solids_cap" in found:
        parts.append(_caps(found["solids_cap"]))
    if "linear_solvers" in found:
        parts.append(_linear(found["linear_solvers"]))
    if "counts" in found:
        parts += [_counts(found["counts"]), _newton(found["counts"]), _energy(found["counts"])]
        parts.append(_flow_counts(found["counts"]))
    if "faults" in found:
        parts.append(_faults(found["faults"]))
    if "seas" in found:
        parts.append(_seas(found["seas"]))
    if "fits" in found:
        parts.append(_fits(found["fits"]))
    if "fit_scenarios" in found:
        parts.append(_scenario_fits(found["fit_scenarios"]))
    path = HERE / "RESULTS.md"
    path.write_text("\n".join(parts))
    return path.name


# ---- parts


def _machines(found: dict[str, list[dict]]) -> str:
    rows, versions = [], {}
    for name, lines in found.items():
        m = lines[0]
        where = f"{m['processor']}, {m['cores']} cores, {m['system']}, Python {m['python']}"
        busy = f"{m['load_before']} / {m.get('load_after')}"
        script = f"bench_{name}.py"
        script = script if (HERE / script).exists() else f"{name}.py"
        rows.append((f"`{script}`", m["date"], m["commit"], where, busy))
        versions |= m["versions"]
        for line in lines:
            versions |= line.get("versions", {}) if line["kind"] == "point" else {}
    versions.pop("python", None)
    table = _table(("script", "date", "commit", "machine", "load before / after"), rows)
    names = ", ".join(f"{name} {value or 'not installed'}" for name, value in versions.items())
    return f"{table}\n{names}.\n"


def _targets(lines: list[dict]) -> str:
    rows = [
        (line["what"], line["wanted"], line["measured"], _VERDICT[line["met"]])
        for line in lines
        if line["kind"] == "target"
    ]
    return "## Numbers to be reached\n\n" + _table(("what", "wanted", "measured", ""), rows)


_VERDICT = {True: "met", False: "**missed**", None: "not measured"}


def _accuracy(lines: list[dict]) -> str:
    parts = ["## Error against work\n"]
    for about in (line for line in lines if line["kind"] == "reference"):
        parts.append(f"### {about['title']}\n")
        parts.append(
            f"Reference: {about['source']}. The dense modal solution of `modal.py` agrees with it "
            f"within {about['modal_state']:.0e}, onsets within {about['modal_onset']:.0e} s.\n"
        )
        mine = [p for p in lines if p["kind"] == "point" and p["problem"] == about["problem"]]
        unit = next((p["seconds"] for p in mine if p["solver"] == "EventDriven"), None)
        rows = [_accuracy_row(p, unit, about["events"]) for p in mine]
        head = ("solver", "setting", "time", "ratio", "error", "onsets [s]", "events [s]", "work")
        parts.append(_table(head, rows))
    return "\n".join(parts)


def _accuracy_row(p: dict, unit: float | None, n_events: int) -> tuple[str, ...]:
    name = f"**{p['solver']}**" if p["group"] == "ours" else p["solver"]
    if "failed" in p:
        return (name, p["setting"], "-", "-", p["failed"], "", "", "")
    events = "-"
    if p["events"] is not None:
        events = _error(p["event_error"])
        if isinstance(p["event_error"], str):
            events = f"other sequence ({p['events']}, not {n_events})"
    ratio = "-" if unit is None else f"{p['seconds'] / unit:.3g}"
    return (
        name,
        p["setting"],
        _time(p["seconds"]),
        ratio,
        _error(p["state_error"]),
        _error(p["onset_error"]),
        events,
        _work(p["counts"]),
    )


def _work(counts: dict) -> str:
    names = {
        "steps": "steps",
        "restarts": "restarts",
        "right_sides": "right sides",
        "solves": "solves",
        "iterations": "iterations",
        "unconverged": "unconverged",
        "unconverged_steps": "unconverged",
    }
    shown = [f"{counts[k]} {n}" for k, n in names.items() if counts.get(k)]

    return ", ".join(shown)


def _scaling(lines: list[dict]) -> str:
    steps = [line for line in lines if line["kind"] == "step"]
    rows = []
    for p in steps:
        setting = f"theta {p['theta']:g}" + (f", {p['formulation']}" if "formulation" in p else "")
        name = f"**{p['solver']}**" if p["group"] == "ours" else p["solver"]
        each = f"{1e9 * p['seconds_per_step']:.0f} ns"
        solves = f"{p['solves'] / p['steps']:.4f}" if "solves" in p else "-"
        rows.append((name, p["problem"], setting, each, solves, str(p.get("unconverged", "-"))))
    head = ("solver", "problem", "setting", "per step", "solves per step", "unconverged")
    parts = ["## Cost of a step, three masses\n", _table(head, rows)]
    sizes = [line for line in lines if line["kind"] == "size"]
    rows = [
        (
            p["chain"],
            f"10^{len(str(p['n'])) - 1}",
            f"{p['steps']:,}",
            f"{1e9 * p['per_mass']:.1f} ns",
            f"{p['solves'] / p['steps']:.2f}",
            f"{p['most']}" if "most" in p else "-",
            f"{p['events']:,}",
            str(p["unconverged"]),
        )
        for p in sizes
    ]
    head = (
        "chain",
        "n",
        "steps",
        "per mass and step",
        "solves per step",
        "most",
        "events",
        "unconv.",
    )
    parts += ["## Cost of a step, n masses (`ThetaStepper`, theta 0.5)\n", _table(head, rows)]
    rows = [
        (f"{p['n']:,}", str(p["steps"]), f"{p['growth_bytes'] / 2**20:.1f} MiB")
        for p in lines
        if p["kind"] == "memory" and "growth_bytes" in p
    ]
    head = ("masses", "steps", "growth of peak memory")
    parts += ["## Memory of a run that stores two states\n", _table(head, rows)]
    return "\n".join(parts)


def _commands(lines: list[dict]) -> str:
    rows = [
        (f"`{p['name']}`", p["failed"] or f"{p['seconds']:.2f} s")
        for p in lines
        if p["kind"] == "command"
    ]
    return "## Command line, warm\n\n" + _table(("command", "time"), rows)


def _cold(lines: list[dict]) -> str:
    head = ("scenario, from a wheel with kernels", "first run", "warm", "over it, in units")
    rows = [
        (f"`{p['name']}`", f"{p['first']:.2f} s", f"{p['warm']:.2f} s", f"{p['over']:.2f}")
        for p in lines
        if p["kind"] == "from wheel"
    ]
    return "## First runs, processor time\n\n" + _table(head, rows)


def _counts(lines: list[dict]) -> str:
    keys = ("steps", "expansions", "solves", "most_iterations", "unconverged_steps", "events")
    rows = [
        (p["problem"], p["method"], *(f"{p[key]:,}" if key in p else "-" for key in keys))
        for p in lines
        if p["kind"] == "count"
    ]
    head = (
        "problem",
        "method",
        "steps",
        "series",
        "solves",
        "most per step",
        "unconverged",
        "events",
    )
    return "## Counts of work\n\n" + _table(head, rows)


def _newton(lines: list[dict]) -> str:
    found = [p for p in lines if p["kind"] == "newton"]
    columns = sorted({(p["step"], p["theta"]) for p in found}, reverse=True)
    cells = {(p["width"], p["step"], p["theta"], p["line_search"]): p for p in found}
    rows = []
    for width in sorted({p["width"] for p in found}, reverse=True):
        for line_search in (False, True):
            row = [f"{width:.0e}", "line search" if line_search else "plain"]
            for step, theta in columns:
                p = cells[width, step, theta, line_search]
                lost = f", **{100 * p['unconverged'] / p['steps']:.1f} % unconverged**"
                row.append(f"{p['mean']:.2f} ({p['most']})" + (lost if p["unconverged"] else ""))
            rows.append(tuple(row))
    head = ("width [m/s]", "Newton", *(f"h = {h:.0e}, theta {theta:g}" for h, theta in columns))
    return (
        "## Newton iterations against smoothing (`RegularizedTheta`, baseline)\n\n"
        "Mean per step, in brackets the most in one step; at most 50 are allowed.\n\n"
        + _table(head, rows)
    )


def _energy(lines: list[dict]) -> str:
    rows = [
        (
            p["problem"],
            p["method"],
            "-" if p["theta"] is None else f"{p['theta']:g}",
            _error(p["step_imbalance"]),
            _error(p["imbalance"]),
            f"{p['taken']:.1e}",
        )
        for p in lines
        if p["kind"] == "energy"
    ]
    head = ("problem", "method", "theta", "worst step", "whole run", "taken by the scheme")
    return (
        "## How well the energy closes\n\nImbalance over the largest energy; the last column is "
        "what the scheme itself takes out (negative: creates).\n\n" + _table(head, rows)
    )


# ---- flows that switch


def _switching(lines: list[dict]) -> str:
    mine = [p for p in lines if p["kind"] == "point"]
    good = [p for p in mine if p["solver"] == "EventDriven" and p["error"] <= 1e-9]
    unit = min((p["seconds"] for p in good), default=None)
    rows = []
    for p in mine:
        name = f"**{p['solver']}**" if p["group"] == "ours" else p["solver"]
        if "failed" in p:
            rows.append((name, p["setting"], "-", "-", p["failed"], "", ""))
            continue
        ratio = "-" if unit is None else f"{p['seconds'] / unit:.3g}"
        errors = (_error(p["state_error"]), _error(p["event_error"]))
        counts = _work(p["counts"])
        rows.append((name, p["setting"], _time(p["seconds"]), ratio, *errors, counts))
    head = ("solver", "setting", "time", "ratio", "last state", "event times", "work")
    parts = [
        "## A block on a belt to T = 20, five events\n",
        "Reference: closed form. The ratio is to the fastest `EventDriven` run whose errors are "
        "all below 1e-9.\n",
        _table(head, rows),
    ]
    rows = [
        (p["call"], p["failed"], "", "")
        if "failed" in p
        else (
            p["call"],
            _time(p["cold"]),
            _time(p["warm"]),
            _time(p["loading"]),
        )
        for p in lines
        if p["kind"] == "first_call"
    ]
    head = ("first call of a process", "empty kernel cache", "filled", "import stiction")
    parts += ["## Flows that switch: the first call\n", _table(head, rows)]
    return "\n".join(parts)


def _ensembles(lines: list[dict]) -> str:
    rows = [
        (
            f"{p['count']:,}",
            str(p["workers"]),
            _time(p["seconds_each"]),
            f"{p['steps']:.1f}",
            f"{p['events']:.2f}",
            str(p["load"]),
        )
        for p in lines
        if p["kind"] == "ensemble"
    ]
    head = ("trajectories", "cores used", "each", "steps", "events on the way", "load")
    parts = ["## The wheel from its escaping region to the line, rtol 1e-8\n", _table(head, rows)]
    parts += [
        f"Against rtol 1e-12, {p['count']:,} trajectories: {100 * p['same']:.3f} % have the same "
        f"events; of these the time of the hit differs by {p['time_error']:.1e} at worst, "
        f"{p['time_99']:.1e} for 99 %, {p['time_median']:.1e} in the median, and the place by "
        f"{p['state_error']:.1e} at worst. The strict runs take {p['steps_strict']:.1f} steps.\n"
        for p in lines
        if p["kind"] == "ensemble_error"
    ]
    return "\n".join(parts)


def _flow_counts(lines: list[dict]) -> str:
    keys = ("steps", "rejected", "events")
    rows = [
        (p["problem"], p["method"], *(f"{p[key]:,}" for key in keys))
        for p in lines
        if p["kind"] == "flow_count"
    ]
    return "## Counts of work, flows that switch\n\n" + _table(
        ("problem", "method", "steps", "rejected", "events"), rows
    )


# ---- rods


def _rods(lines: list[dict]) -> str:
    rows = []
    for p in (line for line in lines if line["kind"] == "rods"):
        name = f"**{p['solver']}**" if p.get("group") == "ours" else p["solver"]
        if "failed" in p:
            rows.append((name, str(p["elements"]), p["failed"], "", "", "", ""))
            continue
        limit = "-" if p["step_limit"] is None else _time(p["step_limit"])
        speed = f"{p['us_per_step']:.3g} us", f"{p['node_steps_per_second']:.2g}"
        drift = _error(p["energy_drift"])
        rows.append((name, str(p["elements"]), *speed, _time(p["step"]), limit, drift))
    head = ("solver", "elements", "per step", "node-steps/s", "step", "longest step", "energy")
    return (
        "## Two crossed rods in contact\n\n"
        "Rolling contact and a search for more of them, beside a penalty contact without friction. "
        "The energy is the largest change within 1 s at this step; that of the peer counts what "
        "its penalty springs hold.\n\n" + _table(head, rows)
    )


def _cosserat(lines: list[dict]) -> str:
    rows = []
    for p in (line for line in lines if line["kind"] == "cosserat"):
        name = f"**{p['solver']}**" if p["solver"].startswith("stiction") else p["solver"]
        measures = p.get("measures", {})
        errors = [
            f"{k.removesuffix('_error')} {v:.2e}" for k, v in measures.items() if "error" in k
        ]
        told = p.get("failed") or ", ".join(errors)
        spent = _time(p["processor_seconds"]) if "processor_seconds" in p else ""
        rows.append((p["problem"], name, str(p["elements"]), told, spent))
    head = ("problem", "solver", "elements", "errors", "processor time")
    return (
        "## Problems of cosseratbench 0.3\n\n"
        "Errors as cosseratbench measures them, at its own numbers of elements. *Exact*: what the "
        "same measures say of an exact answer: the reference of the catenary has no bending, and "
        "the lift of the crossing is read half an element beside the middle. Less than that is "
        "errors that cancel.\n\n" + _table(head, rows)
    )


# ---- solids


def _assembly(lines: list[dict]) -> str:
    case = next(p for p in lines if p["kind"] == "assembly_case")
    unit = next(p["seconds"] for p in lines if p.get("group") == "ours")
    rows = []
    for p in (line for line in lines if line["kind"] == "assembly"):
        name = f"**{p['solver']}**" if p["group"] == "ours" else p["solver"]
        if "failed" in p:
            rows.append((name, p["setting"], p["failed"], "", "", "", ""))
            continue
        times = _time(p["seconds"]), _time(p["median"]), f"{p['seconds'] / unit:.3g}"
        errors = _error(p["residual_error"]), _error(p["product_error"])
        rows.append((name, p["setting"], *times, *errors))
    head = ("program", "setting", "best", "median", "ratio", "residual", "K v")
    return (
        f"## Residual and tangent of {case['elements']:,} Neo-Hookean Q1 elements\n\n"
        f"A bent block in plane strain, {case['unknowns']:,} unknowns, one thread; the last two "
        "columns are the distance from the same in plain NumPy.\n\n" + _table(head, rows)
    )


def _linear(lines: list[dict]) -> str:
    points = [p for p in lines if p["kind"] == "linear_solver"]
    good = [p for p in points if "failed" not in p]
    unit, rows = good[0]["seconds"], []
    for p in points:
        name = f"**{p['solver']}**" if p["group"] == "ours" else p["solver"]
        if "failed" in p:
            rows.append((name, p["setting"], p["failed"], "", "", "", ""))
            continue
        times = [_time(p[key]) for key in ("first", "factorise", "solve")]
        ratio = f"{p['seconds'] / unit:.3g}"
        rows.append((name, p["setting"], *times, ratio, _error(p["residual"])))
    head = ("solver", "setting", "first", "then factorise", "then solve", "ratio", "residual")
    return (
        f"## Direct solves of {good[0]['unknowns']:,} unknowns\n\n"
        "An elastic strip under a rigid plate with friction, unsymmetric, "
        f"{good[0]['entries']:,} entries; matrices of one pattern one after another, one "
        "right-hand side each. First: analysis, factors and solution of the first matrix; then: "
        "the best of later ones. The ratio is that of factors and solution.\n\n"
        + _table(head, rows)
    )


def _solids(lines: list[dict]) -> str:
    rows = []
    for p in (line for line in lines if line["kind"] == "solid_solve"):
        who = p["what"], f"{p['method'][0]}, {p['solver']}"
        if "failed" in p:
            rows.append((*who, p["failed"], "", "", "", ""))
            continue
        times = f"{p['seconds']:.0f} s", f"{p['cpu_seconds']:.0f} s"
        work = p["work"] + (f", {p['factorisations']} factorisations" if "unknowns" in p else "")
        memory = f"{p['peak_bytes'] / 2**30:.2f} GiB"
        rows.append((*who, *times, work, memory, f"{p['load'][0]} / {p['load'][1]}"))
    head = ("solve", "method", "wall", "processor", "work", "peak memory", "load before / after")
    return (
        "## Whole solves of solids at the paper's sizes\n\n"
        "From set-up to results, kernels compiled beforehand; processor time adds up all threads, "
        "those that wait for each other included. Memory is that of the whole process.\n\n"
        + _table(head, rows)
    )


def _spheres(lines: list[dict]) -> str:
    pressed = [
        (
            str(p["cells_on_radius"]),
            f"{p['law_over_approach']:g}",
            f"{p['block_over_radius']:g}",
            str(p["unknowns"]),
            f"{100.0 * p['force_error']:+.2f} %",
            f"{100.0 * p['peak_pressure_error']:+.2f} %",
            _time(p["cpu"]),
        )
        for p in lines
        if p["kind"] == "hertz"
    ]
    drawn = [
        (
            f"{p['tabor']:g}",
            str(p["cells_on_radius"]),
            str(p["unknowns"]),
            f"{p['pull_off']:.4f}",
            f"{p['exact']:.4f}",
            f"{100.0 * p['error']:+.2f} %",
            ", ".join(p["audit_failed"]) or "holds",
            _time(p["cpu"]),
        )
        for p in lines
        if p["kind"] == "pull-off"
    ]
    cells = "cells on a"
    head = (cells, "law / approach", "block / a", "unknowns", "force", "peak pressure", "CPU")
    other = ("Tabor number", cells, "unknowns", "pull-off", "on rings", "error", "audit", "CPU")
    return (
        "## Spheres on a block in space\n\nPressed: force for the radius of the pressure, and the "
        "largest pressure, over those of Hertz.\n\n"
        + _table(head, pressed)
        + "\n\nDrawn off: the largest pull over pi W R, beside the self-consistent one on a "
        "half space.\n\n" + _table(other, drawn)
    )


def _caps(lines: list[dict]) -> str:
    rows = [
        (
            " x ".join(str(n) for n in p["cells"]),
            f"{p['normal_force']:g}",
            str(p["unknowns"]),
            p["solver"],
            str(p["iterations"]),
            str(p["factorisations"]),
            f"{100.0 * p['loss']:.2f} %",
            _time(p["cpu"]),
            _time(p["wall"]),
            f"{p['peak_bytes'] / 2**30:.2f} GiB",
        )
        for p in lines
        if p["kind"] == "run"
    ]
    head = ("cells", "normal force", "unknowns", "solver", "Newton", "factorisations")
    head += ("loss of area", "CPU", "wall", "memory")
    return (
        "## The sheared cap in space\n\nHalf of it, without adhesion, load and shear to full "
        "sliding and beyond, one thread beside other work.\n\n" + _table(head, rows)
    )


def _studies(lines: list[dict], members: list[dict]) -> str:
    rows = [
        (
            p["what"],
            f"{p['members']:,}",
            _time(p["seconds"]),
            _time(2.0 * p["seconds"] / p["members"]),
            _beside(p),
        )
        for p in lines
        if p["kind"] == "sweep"
    ]
    head = ("sweep", "members", "two workers", "of a core, each", "beside")
    blocks = [
        (p["what"], f"{p['members']:,}", _time(p["each"]), _time(p["alone"]))
        for p in members
        if p["kind"] == "blocks"
    ]
    other = ("sweep", "members", "in blocks, of a core, each", "one by one")
    second = "\n" + _table(other, blocks) if blocks else ""
    return "## Studies\n\n" + _table(head, rows) + second


def _beside(p: dict) -> str:
    """Return what a member of a sweep is compared with."""
    if "alone" in p:
        return _time(p["alone"]) + " alone"
    if "kernels" in p:
        return _time(p["kernels"] / p["members"]) + " in kernels"
    return f"{100.0 * p['lost']:.3g} % lose determinism"


def _faults(lines: list[dict]) -> str:
    rows = [
        (p["who"], f"{p['rtol']:.0e}", _time(p["seconds"]), _error(p["error"]))
        for p in lines
        if p["kind"] == "slider"
    ]
    many = [
        (
            f"{p['cells']:,}",
            f"{p['onsets']:,}",
            _time(p["seconds"]),
            f"{p['steps']:,}",
            _error(p["ledger"]),
            _error(p["balance"]),
        )
        for p in lines
        if p["kind"] == "events"
    ]
    head = ("cells", "onsets", "CPU", "steps", "ledger", "balance of stress")
    return (
        "## Recurrence of a slider with rate and state\n\nThe error is that of the time from onset "
        "to onset, 585.48 s.\n\n"
        + _table(("solver", "rtol", "time", "error [s]"), rows)
        + "\nLong runs of faults, rtol 1e-8 for the slider and 1e-6 for lines.\n\n"
        + _table(head, many)
    )


def _seas(lines: list[dict]) -> str:
    earthquakes = [
        (
            f"{p['width']:g} m",
            f"{p['first']:.7e}",
            f"{p['slip']:.4f}",
            f"{p['log_speed']:.4f}",
            f"{p['stress']:.4f}",
            str(p["events"]),
            f"{p['recurrence']:.4e}",
            _time(p["seconds"]) if "seconds" in p else "-",
        )
        for p in lines
        if p["kind"] == "bp1"
    ]
    # all of the submission that is at hand
    earthquakes.append(
        ("HBI, 10 m", "6.1965193e+09", "37.5159", "-15.1720", "28.5546", "15", "-", "-")
    )
    names = ("slip", "speed", "stress", "pressure", "state")
    injected = [
        (
            f"{p['width']:g} m",
            str(p["station"]),
            *(f"{100 * p[n]:.2f} % ({100 * p[f'within_{n}']:.1f} %)" for n in names),
            f"{100 * p['peak_off']:+.3f} %",
            _time(p["seconds"]),
        )
        for p in lines
        if p["kind"] == "bp6"
    ]
    head = ("cells", "first event [s]", "slip [m]", "log10 V", "stress [MPa]", "events")
    columns = ("cells", "station", "slip", "slip rate", "stress", "pressure", "state")
    return (
        "## Benchmarks of the SEAS community\n\nBP1-QD at the surface, at 4.2218916e10 s, and its "
        "events until 4.30e10 s.\n\n"
        + _table((*head, "last recurrences [s]", "CPU"), earthquakes)
        + "\nBP6-QD-A: largest difference to the submission of CYCLAPS from three days on, over "
        "its value then (in brackets: samples of the whole series within 1 %), and that of the "
        "time of the largest slip rate.\n\n"
        + _table((*columns, "time of the largest rate", "CPU"), injected)
    )


def _fits(lines: list[dict]) -> str:
    rows = [
        (
            p["law"],
            f"`{p['parameter']}`",
            f"{100.0 * p['median_error']:.2f} %",
            f"{p['farthest']:.2f}",
            f"{100.0 * p['covered']:.1f} %",
            str(p["told"]),
            _time(p["seconds"]),
        )
        for p in lines
        if p["kind"] == "fit"
    ]
    head = ("law", "parameter", "median error", "farthest", "covered", "told", "time of a fit")
    return (
        "## Fits of drawn tests\n\n300 rows (steps of speed and LuGre: 900), noise of 1 %, offset "
        "and drift; farthest in standard errors; covered by the interval of 95 %; told as "
        "unknown.\n\n" + _table(head, rows)
    )


def _scenario_fits(lines: list[dict]) -> str:
    rows = [
        (
            p["scenario"],
            f"`{p['parameter']}`",
            str(p["sets"]),
            f"{100.0 * p['median_error']:.2f} %",
            f"{p['farthest']:.2f}",
            f"{100.0 * p['covered']:.1f} %",
            str(p["told"]),
            _time(p["seconds"]),
        )
        for p in lines
        if p["kind"] == "fit"
    ]
    head = ("scenario", "field", "sets", "median error", "farthest", "covered", "told", "CPU")
    return (
        "## Fits of whole scenarios\n\n120 rows, noise of 1 % of the change of force; farthest "
        "in standard errors; covered by the interval of 95 %; told as unknown.\n\n"
        + _table(head, rows)
    )


# ---- words


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"


def _error(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:.1e}"


if __name__ == "__main__":
    print(write())
