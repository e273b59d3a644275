"""The one-screen summary of a run that `print(run)` and the command line show.

It lists status, results, final state, events, ledger, determinism, audit and cost. Notebooks show
the same text as HTML. `screen` joins the lines of the functions below, each of which returns those
of one subject; `Run.__str__`, `stiction run` and `stiction show` call it.
"""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stiction.core.audit import Check
from stiction.core.events import NUMBERED
from stiction.errors import Status
from stiction.numerics.shown import plural, table_html

if TYPE_CHECKING:
    from stiction.core.run import Quantity, Run

__all__ = ["doubts", "screen", "shown_html"]

# text is wrapped at _WIDTH; a line that cannot be wrapped, such as that of a loss, is cut at
# _MOST_WIDTH, the width of a wide terminal
_WIDTH, _MOST_WIDTH = 92, 100
# lines for the final state
_MOST_OF_STATE = 2
_MOST_ROWS = 6
_MOST_LOSSES = 3
_MOST_FAILED = 2
_MOST_RESULTS = 4
_MOST_EVENTS = 20
_INDENT = "  "
# statistics that are times
_TIMES = ("step", "step_limit", "shortest_step", "longest_step")


def screen(run: Run) -> str:
    """Return the one-screen summary of a run.

    Verified by: tests/unit/core/test_summary.py::test_fits_on_one_screen
    """
    lines = [
        *_head(run),
        *_unverified(run),
        *_table(run),
        *_words(run),
        *_final(run),
        _events(run),
        *_ledger(run),
        *_determinism(run),
        *_audit(run),
        *_cost(run),
    ]
    return "\n".join(lines)


def shown_html(run: Run) -> str:
    """Return the summary as HTML: the first line is green, or red if the run has warnings.

    The first events, all results and the audit are folded below it. Text is escaped.

    Verified by: tests/unit/core/test_summary.py::test_notebooks_show_what_is_folded
    """
    first, _, others = screen(run).partition("\n")
    valid = run.status is Status.SOLVED and not doubts(run)
    # legible on white and on black
    colour = "#1a8754" if valid else "#d6336c"
    log, unit = run.event_log, _unit(run.time_unit)
    rows = [
        (f"{log.time[k]:.9g}{unit}", str(log.contact[k]), log.before[k], log.after[k], log.kind[k])
        for k in range(min(len(log), _MOST_EVENTS))
    ]
    more = f", the first {len(rows)}" if len(rows) < len(log) else ""
    folded = [
        (f"{len(log)} events{more}", table_html(("time", "contact", "from", "to", "kind"), rows)),
        (f"{len(run.quantities)} results", _results(run)),
        (f"{len(tuple(run.audit))} checks", run.audit._repr_html_()),
    ]
    details = "".join(
        f"<details><summary>{html.escape(what)}</summary>{inside}</details>"
        for what, inside in folded
    )
    head = f'<strong style="color:{colour}">{html.escape(first)}</strong>'
    return f"<div><pre>{head}\n{html.escape(others)}</pre>{details}</div>"


def _results(run: Run) -> str:
    """Return all results as an HTML table."""
    rows = [(name, q.value, q.unit, q.meaning) for name, q in run.quantities.items()]
    return table_html(("quantity", "value", "unit", "meaning"), rows)


def doubts(run: Run) -> list[str]:
    """Return the warnings about a finished run: failed checks of the audit, lost determinism.

    Verified by: tests/scenarios/test_strict.py::test_strict_runs_exit_with_three
    """
    warnings = [f"the audit line {check.check} failed" for check in run.audit.failed]
    if run.determinism.losses:
        warnings.append("determinism was lost")
    return warnings


def _head(run: Run) -> list[str]:
    """Return status, audit, system, method and time span; after an early end the reason too."""
    span = f"t = {_short(run.time[0])} ... {_short(run.t_end)}{_unit(run.time_unit)}"
    if _scaled(run):
        span = f"scaled {span}"
    elif run.time_unit == "1":
        span = f"{span}, dimensionless"
    size = f"{run.size}, " if run.size else ""
    what = f"{run.system_name} by {run.method_name}, {size}{span}"
    word = run.status.value.upper().replace("_", " ")
    # status and audit are independent
    head = _truncated(f"{word}, audit {'held' if run.audit.ok else 'FAILED'}: {what}")
    if run.status is Status.SOLVED:
        return [head]
    wanted = ""
    if run.asked is not None:
        wanted = f"; requested end time {_short(run.asked[-1])}{_unit(run.time_unit)}"
    return [head, *_wrapped("why", f"{run.reason}{wanted}"), *_wrapped("try", run.advice)]


def _scaled(run: Run) -> bool:
    """Return whether times are scaled while other variables have units."""
    return run.time_unit == "1" and any(_unit(v.unit) for v in run.variables.values())


def _clock(run: Run) -> str:
    """Return the text after a time: its unit, " (scaled)", or nothing."""
    return " (scaled)" if _scaled(run) else _unit(run.time_unit)


def _unverified(run: Run) -> list[str]:
    """Return a warning for a run from files without valid digests."""
    return _wrapped("UNVERIFIED", run.unverified)[:3] if run.unverified else []


def _dims(run: Run) -> dict[str, int]:
    """Return the length of every axis of the data."""
    sizes: dict[str, int] = {}
    for variable in run.variables.values():
        sizes.update(zip(variable.dims, variable.values.shape, strict=True))
    return sizes


def _unit(unit: str) -> str:
    """Return the unit after a space; "" for a dimensionless number."""
    return "" if unit in ("", "1") else f" {unit}"


def _line(label: str, text: str) -> str:
    """Return a line with its label in the first 12 columns."""
    return f"{label:<12} {text}".rstrip()


def _unbroken(label: str, text: str) -> list[str]:
    """Return the text as lines that do not separate a number from its unit."""
    # no-break spaces join a number and its unit
    bound = re.sub(r"(?<=[\d.]) (?=[^\d\s])|(?<=[a-z]) (?=[-\d])", "\xa0", text)
    return [line.replace("\xa0", " ") for line in _wrapped(label, bound)]


def _wrapped(label: str, text: str) -> list[str]:
    """Return a text as lines of `_WIDTH` characters, the first one with the label."""
    first, *others = textwrap.wrap(text, _WIDTH - 13) or [""]
    return [_line(label, first), *(_line("", line) for line in others)]


# ---- the table of results per mass, contact, ...: one row for each


def _table(run: Run) -> list[str]:
    """Return the results that have one number per mass, contact, ... as columns of a table."""
    columns = {
        name: q
        for name, q in run.quantities.items()
        if isinstance(q.value, (list, tuple)) and q.value and _is_flat(q.value)
    }
    if not columns:
        return []
    count = len(_listed(next(iter(columns.values()))))
    picks, skipped = _picks(count)
    noun = _noun(run, count)
    titles, widths, shown = [noun], [max(5, len(noun))], []
    for name, q in columns.items():
        title = f"{name.replace('_', ' ')} [{q.unit}]"
        width = max(len(title), 13)
        fits = sum(widths) + 2 * len(widths) + width <= _WIDTH
        if fits and len(_listed(q)) == count:
            titles.append(title)
            widths.append(width)
            # such as an onset of slip; the reason of another missing value does not fit a cell
            shown.append((_listed(q), "never" if q.absent.startswith("never") else "-"))
    lines = [_aligned(titles, widths)]
    for i in picks:
        cells = [str(i + 1), *(_cell(column[i], empty) for column, empty in shown)]
        lines.append(_aligned(cells, widths))
    if skipped:
        at = _MOST_ROWS // 2 + 1
        more = f"{skipped} more {plural(noun)}: events.csv, summary.json"
        lines.insert(at, f"{_INDENT}{'...':>{widths[0]}}  {more}")
    missed = sum(1 for value in shown[0][0] if value is None)
    if missed and skipped:
        what = next(iter(columns.values())).absent or "without a value"
        lines.append(f"{_INDENT}{missed} of {count} {plural(noun)} {what}")
    return lines


def _noun(run: Run, count: int) -> str:
    """Return the noun of the rows of the table: the numbered axis with `count` entries."""
    sizes = _dims(run)
    return next((dim for dim in NUMBERED if sizes.get(dim) == count), "part")


def _is_flat(values: Sequence[object]) -> bool:
    """Return whether all entries are numbers or None."""
    return all(value is None or isinstance(value, int | float) for value in values)


def _listed(quantity: Quantity) -> Sequence[object]:
    """Return the entries of a list; none for another value."""
    value = quantity.value
    return value if isinstance(value, (list, tuple)) else ()


def _picks(count: int) -> tuple[list[int], int]:
    """Return the numbers of the rows that are shown, and how many are not."""
    if count <= _MOST_ROWS + 1:
        return list(range(count)), 0
    half = _MOST_ROWS // 2
    return [*range(half), *range(count - half, count)], count - _MOST_ROWS


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row of the table, with its cells at the right of their columns."""
    return _INDENT + "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)).rstrip()


def _cell(value: object, empty: str) -> str:
    """Return a number as text, `empty` for None."""
    return empty if value is None else _short(value, 7)


# ---- the lines


def _words(run: Run) -> list[str]:
    """Return lines for the results that are one number or word."""
    lines = []
    for name, q in run.quantities.items():
        if isinstance(q.value, (list, tuple)) or (q.value is None and not q.absent):
            continue
        if q.value is None:
            lines.append(_line(q.label or name, q.absent))
            continue
        shown = _short(q.value, 9) if isinstance(q.value, int | float) else str(q.value)
        unit = _unit(q.unit)
        meaning = f": {q.meaning}" if q.meaning else ""
        text = f"{shown}{unit}{meaning}" if q.label else f"{name} = {shown}{unit}{meaning}"
        lines.append(_truncated(_line(q.label or "result", text)))
    return lines[:_MOST_RESULTS]


def _final(run: Run) -> list[str]:
    """Return lines for the final state, as many of its single numbers as `_MOST_OF_STATE` hold."""
    single = {
        name: float(np.ravel(values)[-1])
        for name, values in run.final.items()
        if name in run.variables and run.variables[name].dims == ("time",)
    }
    if not single:
        return []
    parts = (
        f"{name} = {_short(value, 9)}{_unit(run.variables[name].unit)}".replace(" ", "\xa0")
        for name, value in single.items()
    )
    lines = _wrapped("last state", ", ".join(parts))
    if len(lines) > _MOST_OF_STATE:
        lines = [*lines[: _MOST_OF_STATE - 1], f"{lines[_MOST_OF_STATE - 1]} ..."]
    if _scaled(run):
        lines += _wrapped("units", "times are scaled; velocities are per second of physical time")
    return [line.replace("\xa0", " ") for line in lines]


def _events(run: Run) -> str:
    """Return the line with the number of events of each kind."""
    if not len(run.event_log):
        return _line("events", "none")
    counts = Counter(run.event_log.kind)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    return _line("events", f"{len(run.event_log)} ({kinds})")


def _ledger(run: Run) -> list[str]:
    """Return lines for the imbalance of energy, and the final work, heats and losses."""
    energy, unit = run.energy, _unit(run.energy_unit)
    if not energy.defined:
        return [_line("ledger", "this system has no energy")]
    closes = f"closes to {energy.imbalance_rel:.1e} of {_short(energy.scale)}{unit}"
    if energy.step_imbalance_rel is not None:
        closes += f", each step to {energy.step_imbalance_rel:.1e} of it"
    columns = energy.columns()
    parts = [
        f"{label} {_short(columns[name][-1])}{unit}"
        for name, label in (
            ("external_work", "work"),
            ("friction_heat", "friction"),
            ("viscous_heat", "dampers"),
            ("algorithmic", "scheme"),
        )
        if columns[name][-1] != 0.0
    ]
    return _unbroken("ledger", "; ".join([closes, ", ".join(parts)]) if parts else closes)


def _determinism(run: Run) -> list[str]:
    """Return lines for the first losses of determinism: time, kind, place and choice."""
    losses = run.determinism.losses
    if not losses:
        return _wrapped("determinism", run.determinism.words + _nearest(run))
    times = "once" if len(losses) == 1 else f"{len(losses)} times"
    lines = [_line("DETERMINISM", f"lost {times}: {run.determinism.words}")]
    unit = _clock(run)
    for loss in losses[:_MOST_LOSSES]:
        units = {key: _unit(loss.units.get(key, "")) for key in loss.where}
        places = {key: text + units[key] for key, x in loss.where.items() if (text := _few(x))}
        choice = loss.taken
        what = f"{_INDENT}t = {_short(loss.time)}{unit}  {loss.kind}"
        # the choice is more important than the last entry of the location
        while len(what + _listing(places) + choice) > _MOST_WIDTH and len(places) > 1:
            places.pop(next(reversed(places)))
        lines.append(_truncated(what + _listing(places) + choice))
    if len(losses) > _MOST_LOSSES:
        lines.append(f"{_INDENT}... {len(losses) - _MOST_LOSSES} more in summary.json")
    return lines


def _nearest(run: Run) -> str:
    """Return how near the run came to a loss of uniqueness, in units of its error."""
    margin = run.determinism.margin
    if margin == math.inf:
        return ""
    return f"; nearest loss of uniqueness: {_short(margin)} times the error away"


def _listing(places: Mapping[str, str]) -> str:
    """Return names and texts as ", name text, name text"."""
    return "".join(f", {key} {text}" for key, text in places.items())


def _few(value: object) -> str:
    """Return up to four numbers as text; "" for longer lists and other values."""
    if isinstance(value, (list, tuple)):
        parts = [_few(entry) for entry in value]
        return " | ".join(parts) if all(parts) and len(parts) <= 4 else ""
    return _short(value) if isinstance(value, int | float) else ""


def _audit(run: Run) -> list[str]:
    """Return lines for the checks that failed, held, or were not made."""
    failed = run.audit.failed
    lines = [line for check in failed[:_MOST_FAILED] for line in _failure(check, _clock(run))]
    if len(failed) > _MOST_FAILED:
        lines.append(_line("AUDIT FAILED", f"{len(failed) - _MOST_FAILED} more in summary.json"))
    held, unknown = run.audit.held, run.audit.not_checked
    parts = [f"{len(held)} held: {', '.join(check.check for check in held)}"] if held else []
    if unknown:
        why = ", ".join(f"{check.check} ({check.note})" for check in unknown)
        parts.append(f"{len(unknown)} not checked: {why}")
    if parts:
        lines.extend(_wrapped("audit", "; ".join(parts)))
    return lines or [_line("audit", "nothing was checked")]


def _failure(check: Check, clock: str) -> list[str]:
    """Return lines for a failed check: value, limit, time and meaning."""
    unit = _unit(check.unit)
    value = "" if check.value is None else f" {check.value:.3g}{unit}"
    limit = "" if check.limit is None else f" (limit {check.limit:.3g}{unit})"
    when = "" if check.time is None else f" at t = {_short(check.time)}{clock}"
    note = f": {check.note}" if check.note else ""
    return _wrapped("AUDIT FAILED", f"{check.check}{value}{limit}{when}{note}")[:2]


def _cost(run: Run) -> list[str]:
    """Return lines for the computing time and the counts of work."""
    times = {name: _unit(run.time_unit) for name in _TIMES}
    # counts of zero are omitted, except those of events and steps
    counts = [
        f"{name.replace('_', ' ')} {_short(value)}{times.get(name, '')}"
        for name, value in run.stats.items()
        if value or name in ("events", "steps")
    ]
    given = run.provenance
    # runs of earlier versions record the wall time only
    solving, compiling = given.get("solve_s", given.get("wall_s")), given.get("compile_s")
    spent = [f"{_short(solving, 3)} s"] if isinstance(solving, int | float) else []
    if isinstance(compiling, int | float) and compiling >= 0.1:
        spent = [*spent[:1], f"and {_short(compiling, 3)} s to compile"]
    head = "; ".join(part for part in (" ".join(spent), ", ".join(counts)) if part)
    lines = _unbroken("cost", head)
    while len(lines) > 2:
        counts.pop()
        lines = _unbroken("cost", "; ".join([" ".join(spent), ", ".join(counts)]))
    return lines


def _short(value: object, digits: int = 6) -> str:
    """Return a number as text with that many significant digits."""
    if isinstance(value, int):
        return str(value)
    return f"{float(value):.{digits}g}"  # type: ignore[arg-type]


def _truncated(line: str) -> str:
    """Return a line of at most `_MOST_WIDTH` characters."""
    return line if len(line) <= _MOST_WIDTH else f"{line[: _MOST_WIDTH - 3]}..."
