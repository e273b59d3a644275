"""The committed table, RESULTS.md, made from the points of every script."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

HEAD = """# Measured

Made by `make bench`; every number comes from a line of `benchmarks/results/*.jsonl`. Times are the
best of several warm runs, the ratio is to `EventDriven` with its defaults. The error is that of the
worst mass at the worst sample time, over the largest displacement or velocity; errors of onsets and
events are in seconds. `benchmarks/README.md` describes the settings of the solvers.
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
    every = [line for lines in found.values() for line in lines]
    parts = [HEAD, _machines(found), TARGETS.make(every)]
    parts += [part.make(found[part.script]) for part in PARTS if part.script in found]
    path = HERE / "RESULTS.md"
    path.write_text("\n".join(parts))
    return path.name


# ---- tables of points


class _Words(string.Formatter):
    """Texts with a point's values, as `{seconds:time}` or `{loss:.2f %}`; a dash for none."""

    def get_value(self, key: int | str, args: Sequence, kwargs: Mapping) -> object:
        """Return a value of the point, or one that follows from others."""
        return _DERIVED[key](kwargs) if key in _DERIVED else kwargs.get(key)

    def format_field(self, value: object, spec: str) -> str:
        """Return a value as its column shows it."""
        if spec == "error":
            return _error(value)
        if value is None:
            return "-"
        if spec == "time":
            return _time(value)
        form, _, unit = spec.rpartition(" ")
        if unit in _SCALES and form:
            return f"{_SCALES[unit] * value:{form}} {unit}"
        return super().format_field(value, spec)


_SCALES = {"%": 100.0, "ns": 1e9, "GiB": 2.0**-30, "MiB": 2.0**-20}


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"


def _error(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:.1e}"


def _said(text: str, point: dict) -> str:
    return _Words().vformat(text, (), point)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


@dataclass(frozen=True)
class Grid:
    """A table with a row for every point of a kind.

    Parameters
    ----------
    script, kind : of the points
    text : what stands above the table, with values of the first point that did not fail
    head, row : titles of the columns, and what they show of a point, divided by ` | `
    failed : how many columns a point that failed fills, and which one says why
    more : values that the points have besides, from all lines of the script
    """

    script: str
    kind: str
    text: str
    head: str
    row: str
    failed: tuple[int, int] = (0, 0)
    more: Callable[[list[dict]], dict] = lambda lines: {}

    def make(self, lines: list[dict]) -> str:
        """Return the text and the table."""
        more = self.more(lines)
        mine = [{**p, **more} for p in lines if p["kind"] == self.kind]
        first = next((p for p in mine if "failed" not in p), {})
        return _said(self.text, first) + _table(self.head.split(" | "), map(self._cells, mine))

    def _cells(self, p: dict) -> list[str]:
        columns, (known, at) = self.row.split(" | "), self.failed
        if not at or "failed" not in p:
            return [_said(column, p) for column in columns]
        cells = [*(_said(column, p) for column in columns[:known]), *["-"] * (at - known)]
        return [*cells, p["failed"], *[""] * (len(columns) - at - 1)]


class Part(NamedTuple):
    """What a function makes of the points of a script."""

    script: str
    make: Callable[[list[dict]], str]


def _solver(p: dict) -> str:
    """Return the name of a solver, ours in bold."""
    ours = p.get("group") == "ours" or p["solver"].startswith("stiction")
    return f"**{p['solver']}**" if ours else p["solver"]


def _ratio(p: dict) -> str:
    return "-" if p["unit"] is None else f"{p['seconds'] / p['unit']:.3g}"


def _work(p: dict) -> str:
    names = {
        "steps": "steps",
        "restarts": "restarts",
        "right_sides": "right sides",
        "solves": "solves",
        "iterations": "iterations",
        "unconverged": "unconverged",
        "unconverged_steps": "unconverged",
    }
    return ", ".join(f"{p['counts'][k]} {n}" for k, n in names.items() if p["counts"].get(k))


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


_VERDICT = {True: "met", False: "**missed**", None: "not measured"}
TARGETS = Grid(
    "",
    "target",
    "## Numbers to be reached\n\n",
    "what | wanted | measured | ",
    "{what} | {wanted} | {measured} | {verdict}",
)


def _accuracy(lines: list[dict]) -> str:
    parts = ["## Error against work\n"]
    for about in (line for line in lines if line["kind"] == "reference"):
        mine = [p for p in lines if p["kind"] == "point" and p["problem"] == about["problem"]]
        unit = next((p["seconds"] for p in mine if p["solver"] == "EventDriven"), None)
        text = (
            "### {title}\n\nReference: {source}. The dense modal solution of `modal.py` agrees "
            "with it within {modal_state:.0e}, onsets within {modal_onset:.0e} s.\n\n"
        )
        grid = Grid(
            "accuracy",
            "point",
            "",
            "solver | setting | time | ratio | error | onsets [s] | events [s] | work",
            "{by} | {setting} | {seconds:time} | {ratio} | {state_error:error} | "
            "{onset_error:error} | {sequence} | {counted}",
            (2, 4),
            lambda _, unit=unit, about=about: {"unit": unit, "n_events": about["events"]},
        )
        parts.append(_said(text, about) + grid.make(mine))
    return "\n".join(parts)


def _sequence(p: dict) -> str:
    """Return the error of event times, or that there were other events."""
    if p["events"] is not None and isinstance(p["event_error"], str):
        return f"other sequence ({p['events']}, not {p['n_events']})"
    return "-" if p["events"] is None else _error(p["event_error"])


def _scheme(p: dict) -> str:
    return f"theta {p['theta']:g}" + (f", {p['formulation']}" if "formulation" in p else "")


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
            rows.append(row)
    head = ("width [m/s]", "Newton", *(f"h = {h:.0e}, theta {theta:g}" for h, theta in columns))
    return (
        "## Newton iterations against smoothing (`RegularizedTheta`, baseline)\n\n"
        "Mean per step, in brackets the most in one step; at most 50 are allowed.\n\n"
        + _table(head, rows)
    )


def _strict(lines: list[dict]) -> str:
    """Return what a strict tolerance says of the ensemble."""
    text = (
        "Against rtol 1e-12, {count:,} trajectories: {same:.3f %} have the same events; of these "
        "the time of the hit differs by {time_error:.1e} at worst, {time_99:.1e} for 99 %, "
        "{time_median:.1e} in the median, and the place by {state_error:.1e} at worst. The strict "
        "runs take {steps_strict:.1f} steps.\n"
    )
    return "\n".join(_said(text, p) for p in lines if p["kind"] == "ensemble_error")


def _fastest(lines: list[dict]) -> dict:
    """Return the time of the fastest exact run on the belt."""
    mine = [p for p in lines if p["kind"] == "point" and p["solver"] == "EventDriven"]
    return {"unit": min((p["seconds"] for p in mine if p["error"] <= 1e-9), default=None)}


def _errors_of_rods(p: dict) -> str:
    measures = p.get("measures", {})
    errors = [f"{k.removesuffix('_error')} {v:.2e}" for k, v in measures.items() if "error" in k]
    return p.get("failed") or ", ".join(errors)


def _processor_time(p: dict) -> str:
    return _time(p["processor_seconds"]) if "processor_seconds" in p else ""


def _case_of_assembly(lines: list[dict]) -> dict:
    case = next(p for p in lines if p["kind"] == "assembly_case")
    unit = next(p["seconds"] for p in lines if p.get("group") == "ours")
    return {"elements": case["elements"], "unknowns": case["unknowns"], "unit": unit}


def _first_solver(lines: list[dict]) -> dict:
    good = (p for p in lines if p["kind"] == "linear_solver" and "failed" not in p)
    return {"unit": next(good)["seconds"]}


def _work_of_solids(p: dict) -> str:
    return p["work"] + (f", {p['factorisations']} factorisations" if "unknowns" in p else "")


def _beside(p: dict) -> str:
    """Return what a member of a sweep is compared with."""
    if "alone" in p:
        return _time(p["alone"]) + " alone"
    if "kernels" in p:
        return _time(p["kernels"] / p["members"]) + " in kernels"
    return f"{100.0 * p['lost']:.3g} % lose determinism"


def _earthquakes(lines: list[dict]) -> str:
    grid = Grid(
        "seas",
        "bp1",
        "## Benchmarks of the SEAS community\n\nBP1-QD at the surface, at 4.2218916e10 s, and its "
        "events until 4.30e10 s.\n\n",
        "cells | first event [s] | slip [m] | log10 V | stress [MPa] | events | "
        "last recurrences [s] | CPU",
        "{width:g} m | {first:.7e} | {slip:.4f} | {log_speed:.4f} | {stress:.4f} | {events} | "
        "{recurrence:.4e} | {seconds:time}",
    )
    # all of the submission that is at hand
    peer = ("HBI, 10 m", "6.1965193e+09", "37.5159", "-15.1720", "28.5546", "15", "-", "-")
    return grid.make(lines) + "| " + " | ".join(peer) + " |\n"


# values of a row that follow from others, by the name that rows use
_DERIVED: dict[int | str, Callable[[Mapping], object]] = {
    "by": _solver,
    "ratio": _ratio,
    "counted": _work,
    "verdict": lambda p: _VERDICT[p["met"]],
    "sequence": _sequence,
    "scheme": _scheme,
    "solves_per_step": lambda p: p["solves"] / p["steps"] if "solves" in p else None,
    "power_of_ten": lambda p: f"10^{len(str(p['n'])) - 1}",
    "run_time": lambda p: p["failed"] or f"{p['seconds']:.2f} s",
    "core_time": lambda p: 2.0 * p["seconds"] / p["members"],
    "beside": _beside,
    "rod_errors": _errors_of_rods,
    "processor_time": _processor_time,
    "solid_work": _work_of_solids,
    "audit": lambda p: ", ".join(p["audit_failed"]) or "holds",
    "mesh": lambda p: " x ".join(str(n) for n in p["cells"]),
}


# ---- what is shown of every script, in the order of the page

PARTS: tuple[Grid | Part, ...] = (
    Part("accuracy", _accuracy),
    Grid(
        "scaling",
        "step",
        "## Cost of a step, three masses\n\n",
        "solver | problem | setting | per step | solves per step | unconverged",
        "{by} | {problem} | {scheme} | {seconds_per_step:.0f ns} | {solves_per_step:.4f} | "
        "{unconverged}",
    ),
    Grid(
        "scaling",
        "size",
        "## Cost of a step, n masses (`ThetaStepper`, theta 0.5)\n\n",
        "chain | n | steps | per mass and step | solves per step | most | events | unconv.",
        "{chain} | {power_of_ten} | {steps:,} | {per_mass:.1f ns} | {solves_per_step:.2f} | "
        "{most} | {events:,} | {unconverged}",
    ),
    Grid(
        "scaling",
        "memory",
        "## Memory of a run that stores two states\n\n",
        "masses | steps | growth of peak memory",
        "{n:,} | {steps} | {growth_bytes:.1f MiB}",
    ),
    Grid(
        "cli",
        "command",
        "## Command line, warm\n\n",
        "command | time",
        "`{name}` | {run_time}",
    ),
    Grid(
        "cold",
        "from wheel",
        "## First runs, processor time\n\n",
        "scenario, from a wheel with kernels | first run | warm | over it, in units",
        "`{name}` | {first:.2f} s | {warm:.2f} s | {over:.2f}",
    ),
    Grid(
        "switching",
        "point",
        "## A block on a belt to T = 20, five events\n\nReference: closed form. The ratio is to "
        "the fastest `EventDriven` run whose errors are all below 1e-9.\n\n",
        "solver | setting | time | ratio | last state | event times | work",
        "{by} | {setting} | {seconds:time} | {ratio} | {state_error:error} | {event_error:error} "
        "| {counted}",
        (2, 4),
        _fastest,
    ),
    Grid(
        "switching_ensemble",
        "ensemble",
        "## The wheel from its escaping region to the line, rtol 1e-8\n\n",
        "trajectories | cores used | each | steps | events on the way | load",
        "{count:,} | {workers} | {seconds_each:time} | {steps:.1f} | {events:.2f} | {load}",
    ),
    Part("switching_ensemble", _strict),
    Grid(
        "studies",
        "sweep",
        "## Studies\n\n",
        "sweep | members | two workers | of a core, each | beside",
        "{what} | {members:,} | {seconds:time} | {core_time:time} | {beside}",
    ),
    Grid(
        "blocks",
        "blocks",
        "",
        "sweep | members | in blocks, of a core, each | one by one",
        "{what} | {members:,} | {each:time} | {alone:time}",
    ),
    Grid(
        "rods",
        "rods",
        "## Two crossed rods in contact\n\nRolling contact and a search for more of them, beside "
        "a penalty contact without friction. The energy is the largest change within 1 s at this "
        "step; that of the peer counts what its penalty springs hold.\n\n",
        "solver | elements | per step | node-steps/s | step | longest step | energy",
        "{by} | {elements} | {us_per_step:.3g} us | {node_steps_per_second:.2g} | {step:time} | "
        "{step_limit:time} | {energy_drift:error}",
        (2, 2),
    ),
    Grid(
        "cosserat",
        "cosserat",
        "## Problems of cosseratbench 0.3\n\nErrors as cosseratbench measures them, at its own "
        "numbers of elements. *Exact*: what the same measures say of an exact answer: the "
        "reference of the catenary has no bending, and the lift of the crossing is read half an "
        "element beside the middle. Less than that is errors that cancel.\n\n",
        "problem | solver | elements | errors | processor time",
        "{problem} | {by} | {elements} | {rod_errors} | {processor_time}",
    ),
    Grid(
        "solid_assembly",
        "assembly",
        "## Residual and tangent of {elements:,} Neo-Hookean Q1 elements\n\nA bent block in plane "
        "strain, {unknowns:,} unknowns, one thread; the last two columns are the distance from "
        "the same in plain NumPy.\n\n",
        "program | setting | best | median | ratio | residual | K v",
        "{by} | {setting} | {seconds:time} | {median:time} | {ratio} | {residual_error:error} | "
        "{product_error:error}",
        (2, 2),
        _case_of_assembly,
    ),
    Grid(
        "solids",
        "solid_solve",
        "## Whole solves of solids at the paper's sizes\n\nFrom set-up to results, kernels "
        "compiled ahead of time; processor time adds up all threads, also those that wait "
        "included. Memory is that of the whole process.\n\n",
        "solve | method | wall | processor | work | peak memory | load before / after",
        "{what} | {method[0]}, {solver} | {seconds:.0f} s | {cpu_seconds:.0f} s | {solid_work} | "
        "{peak_bytes:.2f GiB} | {load[0]} / {load[1]}",
        (2, 2),
    ),
    Grid(
        "solids_space",
        "hertz",
        "## Spheres on a block in space\n\nPressed: force for the radius of the pressure, and the "
        "largest pressure, over those of Hertz.\n\n",
        "cells on a | law / approach | block / a | unknowns | force | peak pressure | CPU",
        "{cells_on_radius} | {law_over_approach:g} | {block_over_radius:g} | {unknowns} | "
        "{force_error:+.2f %} | {peak_pressure_error:+.2f %} | {cpu:time}",
    ),
    Grid(
        "solids_space",
        "pull-off",
        "\nDrawn off: the largest pull over pi W R, beside the self-consistent one on a half "
        "space.\n\n",
        "Tabor number | cells on a | unknowns | pull-off | on rings | error | audit | CPU",
        "{tabor:g} | {cells_on_radius} | {unknowns} | {pull_off:.4f} | {exact:.4f} | {error:+.2f "
        "%} | {audit} | {cpu:time}",
    ),
    Grid(
        "solids_cap",
        "run",
        "## The sheared cap in space\n\nHalf of it, without adhesion, load and shear to full "
        "sliding and beyond, one thread beside other work.\n\n",
        "cells | normal force | unknowns | solver | Newton | factorisations | loss of area | CPU "
        "| wall | memory",
        "{mesh} | {normal_force:g} | {unknowns} | {solver} | {iterations} | {factorisations} | "
        "{loss:.2f %} | {cpu:time} | {wall:time} | {peak_bytes:.2f GiB}",
    ),
    Grid(
        "linear_solvers",
        "linear_solver",
        "## Direct solves of {unknowns:,} unknowns\n\nAn elastic strip under a rigid plate with "
        "friction, unsymmetric, {entries:,} entries; matrices of one pattern one after another, "
        "one right-hand side each. First: analysis, factors and solution of the first matrix; "
        "then: the best of later ones. The ratio is that of factors and solution.\n\n",
        "solver | setting | first | then factorise | then solve | ratio | residual",
        "{by} | {setting} | {first:time} | {factorise:time} | {solve:time} | {ratio} | "
        "{residual:error}",
        (2, 2),
        _first_solver,
    ),
    Grid(
        "friction_problem",
        "friction",
        "## Frictional contact problems\n\nSeconds from zero to a residual of 1e-8 in the "
        "certificate, median of five, one thread. Sweeps and ADMM alone had two seconds, each of "
        "Siconos' solvers 20.\n\n",
        "problem | contacts | ours | sweeps alone | ADMM | Siconos | its fastest solver | failed",
        "{problem} | {contacts} | {ours:time} | {sweeps:time} | {admm:time} | {siconos:time} | "
        "{siconos_solver} | {siconos_failed}",
    ),
    Grid(
        "counts",
        "count",
        "## Counts of work\n\n",
        "problem | method | steps | series | solves | most per step | unconverged | events",
        "{problem} | {method} | {steps:,} | {expansions:,} | {solves:,} | {most_iterations:,} | "
        "{unconverged_steps:,} | {events:,}",
    ),
    Part("counts", _newton),
    Grid(
        "counts",
        "flow_count",
        "## Counts of work, flows that switch\n\n",
        "problem | method | steps | rejected | events",
        "{problem} | {method} | {steps:,} | {rejected:,} | {events:,}",
    ),
    Grid(
        "faults",
        "slider",
        "## Recurrence of a slider with rate and state\n\nThe error is that of the time from "
        "onset to onset, 585.48 s.\n\n",
        "solver | rtol | time | error [s]",
        "{who} | {rtol:.0e} | {seconds:time} | {error:error}",
    ),
    Grid(
        "faults",
        "events",
        "Long runs of faults, rtol 1e-8 for the slider and 1e-6 for lines.\n\n",
        "cells | onsets | CPU | steps | ledger | balance of stress",
        "{cells:,} | {onsets:,} | {seconds:time} | {steps:,} | {ledger:error} | {balance:error}",
    ),
    Grid(
        "creep",
        "creep_ratio",
        "## Chains without stick\n\nA block on a spring for 5 s; the error is that of "
        "displacement or velocity over its largest value; then the time of SciPy at the same "
        "error, or at its least, over ours.\n\n",
        "case | rtol | error | time | steps | LSODA | Radau",
        "{case} | {rtol:.0e} | {error:error} | {seconds:time} | {steps:,} | {lsoda:.1f} | "
        "{radau:.1f}",
    ),
    Grid(
        "creep",
        "creep_step",
        "A step of `Radau` at rtol 1e-8.\n\n",
        "law | masses | steps | CPU of a step",
        "{law} | {masses} | {steps:,} | {us:.1f} us",
    ),
    Part("seas", _earthquakes),
    Grid(
        "seas",
        "bp6",
        "BP6-QD-A: largest difference to the submission of CYCLAPS from three days on, over its "
        "value then (in brackets: samples of the whole series within 1 %), and that of the time "
        "of the largest slip rate.\n\n",
        "cells | station | slip | slip rate | stress | pressure | state | time of the largest "
        "rate | CPU",
        "{width:g} m | {station} | {slip:.2f %} ({within_slip:.1f %}) | {speed:.2f %} "
        "({within_speed:.1f %}) | {stress:.2f %} ({within_stress:.1f %}) | {pressure:.2f %} "
        "({within_pressure:.1f %}) | {state:.2f %} ({within_state:.1f %}) | {peak_off:+.3f %} | "
        "{seconds:time}",
    ),
    Grid(
        "fits",
        "fit",
        "## Fits of drawn tests\n\n300 rows (steps of speed and LuGre: 900), noise of 1 %, offset "
        "and drift; farthest in standard errors; covered by the interval of 95 %; reported as "
        "unknown.\n\n",
        "law | parameter | median error | farthest | covered | reported | time of a fit",
        "{law} | `{parameter}` | {median_error:.2f %} | {farthest:.2f} | "
        "{covered:.1f %} | {reported} "
        "| {seconds:time}",
    ),
    Grid(
        "fit_scenarios",
        "fit",
        "## Fits of whole scenarios\n\n120 rows, noise of 1 % of the change of force; farthest in "
        "standard errors; covered by the interval of 95 %; reported as unknown.\n\n",
        "scenario | field | sets | median error | farthest | covered | reported | CPU",
        "{scenario} | `{parameter}` | {sets} | {median_error:.2f %} | {farthest:.2f} | "
        "{covered:.1f %} | {reported} | {seconds:time}",
    ),
)
SCRIPTS = (
    *("accuracy", "scaling", "cli", "cold", "switching", "switching_ensemble", "studies"),
    *("blocks", "two_workers", "strings", "rods", "cosserat", "solid_assembly", "solids"),
    *("solids_space", "solids_cap", "linear_solvers", "counts", "faults", "creep", "seas"),
    *("friction_problem", "fits", "fit_scenarios"),
)


if __name__ == "__main__":
    print(write())
