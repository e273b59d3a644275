"""The results of a run or a study as a page shows them: plain text, tables, and the movie.

`worker` sends these dictionaries to the page as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stiction.core.ledger import COLUMNS
from stiction.core.run import Run
from stiction.core.summary import doubts, screen
from stiction.errors import ModelError, Status

__all__ = ["report_of_run", "report_of_study"]

_MOST_EVENTS = 500
_MOST_LOSSES = 100
_MOST_CHECKS = 200


def report_of_run(run: Run) -> dict[str, Any]:
    """Return the summary, tables and movie of a run as values that JSON can encode.

    Returns
    -------
    A dictionary: `screen` (the summary), `verdicts` (lists of a name, whether it is good, and a
    text), `tables` (title, column heads, rows of text, note), `page` (HTML of the player; "" if
    there is none, with the reason in `why`) and `figures` (names).

    Verified by: tests/unit/explore/test_report.py::test_a_run_is_reported
    """
    page, why = "", ""
    names: tuple[str, ...] = ()
    try:
        figures = run.plot
        names = figures.NAMES
        page = figures.player().text
    except ModelError as error:
        why = str(error)
    text = screen(run)
    return {
        "kind": "run",
        "head": text.partition("\n")[0],
        "sound": run.status is Status.SOLVED and not doubts(run),
        "screen": text,
        "verdicts": _verdicts(run),
        "tables": [_events(run), _ledger(run), _losses(run), _audit(run), _results(run)],
        "page": page,
        "why": why,
        "figures": list(names),
    }


def report_of_study(study: Any) -> dict[str, Any]:
    """Return the summary and the movie of a study, in the form of `report_of_run`."""
    from stiction.studies.figures import StudyFigures
    from stiction.studies.study import screen as words

    page, why = "", ""
    try:
        page = StudyFigures(study).player().text
    except ModelError as error:
        why = str(error)
    text = words(study)
    intact = study.complete and not study.damaged
    progress = f"{study.solved} of {study.members} members are solved"
    return {
        "kind": "study",
        "head": study.title or "a study",
        "sound": intact,
        "screen": text,
        "verdicts": [["members", intact, progress]],
        "tables": [],
        "page": page,
        "why": why,
        "figures": [],
    }


def _verdicts(run: Run) -> list[list[object]]:
    """Return status, determinism, audit and ledger, each [name, whether it is good, text]."""
    unit = _unit(run.time_unit)
    status = f"solved until t = {run.t_end:.6g}{unit}"
    if run.status is not Status.SOLVED:
        word = run.status.value.replace("_", " ")
        status = f"{word} at t = {run.t_end:.6g}{unit}: {run.reason}"
    losses = run.determinism.losses
    future = run.determinism.words
    if losses:
        times = "once" if len(losses) == 1 else f"{len(losses)} times"
        future = f"lost {times}, first at t = {losses[0].time:.6g}{unit}: {losses[0].kind}"
    checks = list(run.audit)
    failed = [check.check for check in run.audit.failed]
    audit = f"failed: {', '.join(failed)}" if failed else f"{len(run.audit.held)} assumptions held"
    unknown = [check.check for check in run.audit.not_checked]
    audit += f"; not checked: {', '.join(unknown)}" if unknown else ""
    energy = "this system has no energy"
    closes = [check for check in checks if check.check.startswith("ledger")]
    if run.energy.defined:
        size = f"{run.energy.scale:.6g}{_unit(run.energy_unit)}"
        energy = f"closes to {run.energy.imbalance_rel:.1e} of {size}"
    return [
        ["run", run.status.ok, status],
        ["determinism", not losses, future],
        ["audit", not failed, audit if checks else "nothing was checked"],
        ["ledger", all(check.ok is not False for check in closes), energy],
    ]


def _table(title: str, head: list[str], rows: list[list[str]], more: int = 0) -> dict[str, Any]:
    """Return a table of the page; `more` is the number of rows that are not in it."""
    note = f"{more} more are in the files of a saved run" if more > 0 else ""
    return {"title": title, "head": head, "rows": rows, "note": note}


def _events(run: Run) -> dict[str, Any]:
    """Return the table of events."""
    log = run.event_log
    shown = min(len(log), _MOST_EVENTS)
    names = list(log.columns)
    head = [f"time{_bracket(run.time_unit)}", "contact", "from", "to", "kind"]
    head += [f"{name}{_bracket(log.units.get(name, ''))}" for name in names]
    rows = [
        [
            f"{log.time[k]:.9g}",
            str(log.contact[k]),
            str(log.before[k]),
            str(log.after[k]),
            str(log.kind[k]),
            *(_word(log.columns[name][k]) for name in names),
        ]
        for k in range(shown)
    ]
    return _table(f"events ({len(log)})", head, rows, len(log) - shown)


def _ledger(run: Run) -> dict[str, Any]:
    """Return the table of energies at start and end that are not always zero."""
    rows = []
    if run.energy.defined:
        for name, values in run.energy.columns().items():
            if name == "imbalance" or (values != 0.0).any():
                rows.append([COLUMNS[name], _word(values[0]), _word(values[-1])])
    return _table("ledger", ["energy", f"start{_bracket(run.energy_unit)}", "end"], rows)


def _losses(run: Run) -> dict[str, Any]:
    """Return the table of the first losses of determinism."""
    losses = run.determinism.losses
    rows = [
        [f"{loss.time:.9g}", loss.kind, _places(loss.where, loss.units), loss.choice]
        for loss in losses[:_MOST_LOSSES]
    ]
    head = [f"time{_bracket(run.time_unit)}", "kind", "where", "taken"]
    return _table(f"losses of determinism ({len(losses)})", head, rows, len(losses) - _MOST_LOSSES)


def _audit(run: Run) -> dict[str, Any]:
    """Return the table of audit checks."""
    checks = run.audit.by_verdict
    rows = [
        [
            check.check,
            check.verdict,
            _word(check.value),
            _word(check.limit),
            "" if check.unit == "1" else check.unit,
            check.note,
        ]
        for check in checks[:_MOST_CHECKS]
    ]
    head = ["assumption", "verdict", "worst", "limit", "unit", "meaning"]
    return _table(f"audit ({len(checks)})", head, rows, len(checks) - _MOST_CHECKS)


def _results(run: Run) -> dict[str, Any]:
    rows = [
        [name, _word(q.value), "" if q.unit == "1" else q.unit, q.meaning]
        for name, q in run.quantities.items()
    ]
    return _table(f"results ({len(rows)})", ["quantity", "value", "unit", "meaning"], rows)


def _places(where: Mapping[str, object], units: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {_word(x)}{_unit(units.get(key, ''))}" for key, x in where.items())


def _word(value: object) -> str:
    """Return a number with six digits, the first six entries of a list, or a text unchanged."""
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value):
        entries = list(value)
        shown = ", ".join(_word(entry) for entry in entries[:6])
        return f"{shown}, ... ({len(entries)})" if len(entries) > 6 else shown
    try:
        return f"{float(value):.6g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(value)


def _unit(unit: str) -> str:
    return "" if unit in ("", "1") else f" {unit}"


def _bracket(unit: str) -> str:
    return "" if unit in ("", "1") else f" [{unit}]"
