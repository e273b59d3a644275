"""Saving a run to a folder and loading it: `Run.save`, `stiction run` and `stiction.load`.

The folder is written atomically. Its files are `summary.json` (status, final state, energies,
determinism, audit, quantities and cost), `events.csv` (events), `run.nc` (trajectory and ledger),
`scenario.toml` (the scenario, which reproduces the run), `snapshots.vtkhdf` (deformed bodies for
ParaView) and `figures/`. `summary.json` has the digests of all files except figures.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
import math
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stiction.core.audit import Audit, Check, Kind
from stiction.core.determinism import Determinism, Loss
from stiction.core.events import EventLog
from stiction.core.files import UNREADABLE, check_readable, regular
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import ModelError, Status, StictionError, StoreError, explain
from stiction.io.contents import FIGURES, SNAPSHOTS, SUMMARY, holds_valid
from stiction.io.digests import sealed
from stiction.io.netcdf import read_netcdf, write_netcdf
from stiction.io.output import OUTPUT
from stiction.io.staging import Claim, claimed, staged, whereabouts
from stiction.io.vtkhdf import has_snapshots, write_vtkhdf

__all__ = ["DrawingInterrupted", "FiguresError", "load", "save"]

_EVENTS, _ARRAYS, _SCENARIO = "events.csv", "run.nc", "scenario.toml"
# variables of runs of earlier versions, and their names of today
_RENAMED = {"load_share": "load_weight"}
_MOST_FAILED = 9
_MOST_READS = 5
_HEAD = ("time", "contact", "from", "to", "kind")


class FiguresError(StoreError):
    """The run is saved, but its figures could not be drawn or written."""


class DrawingInterrupted(KeyboardInterrupt):
    """Ctrl-C interrupted the drawing of figures; the argument is the folder of the saved run."""


def save(
    run: Run,
    path: Path | Claim,
    *,
    overwrite: bool = False,
    scenario: str | None = None,
    draw: Callable[[Path], object] | None = None,
) -> Path:
    """Write `run` to the folder `path` and return the folder.

    A failed run does not replace a valid one: it is written to a folder beside it whose name ends
    in `.failed`, and that one is returned.

    Parameters
    ----------
    run : the run
    path : a folder that does not exist yet, or the lock (`Claim`) on such a folder
    overwrite : replace an existing result; a claim has its own flag
    scenario : TOML text of the scenario; derived from the run if None
    draw : function that writes figures into a folder. If it fails, the run is saved without
        figures, and the error is raised

    Raises
    ------
    ModelError : if the run has values that no file can hold; nothing is written.
    StoreError : if the folder exists or cannot be written.
    FiguresError : if the figures could not be drawn or written; the run is saved.
    DrawingInterrupted : if Ctrl-C interrupted the drawing; the run is saved.

    Verified by: tests/unit/io/test_store.py::test_round_trip
    """
    if scenario is None:
        from stiction.io.scenario import scenario_text

        scenario = run.scenario or scenario_text(run)
    if not isinstance(path, Claim):
        with claimed(path, overwrite=overwrite) as claim:
            return save(run, claim, scenario=scenario, draw=draw)
    summary = _checked(run)
    if not run.status.ok and holds_valid(path.path):
        with _beside(path) as claim:
            _write(run, claim, {**summary, "instead_of": path.path.name}, scenario, draw)
            return claim.path
    _write(run, path, summary, scenario, draw)
    return path.path


@contextlib.contextmanager
def _beside(claim: Claim) -> Iterator[Claim]:
    """Yield the claim to a folder for a failed run beside a valid result."""
    for number in range(1, _MOST_FAILED + 1):
        name = f"{claim.path.name}.failed" + (f"-{number}" if number > 1 else "")
        with contextlib.ExitStack() as stack:
            try:
                beside = stack.enter_context(claimed(claim.path.with_name(name), overwrite=True))
            except StoreError:
                if number == _MOST_FAILED:
                    raise
                continue
            if not holds_valid(beside.path):
                yield beside
                return
    got, needs = "other results under every such name", f"a folder such as {claim.path.name}.failed"
    why = "a failed run does not replace a valid one, and is saved beside it."
    raise StoreError(str(claim.path), got, needs, why, "remove results that you do not need.")


def _write(
    run: Run,
    claim: Claim,
    summary: Mapping[str, object],
    scenario: str,
    draw: Callable[[Path], object] | None,
) -> None:
    """Write all files of a run to the claimed folder.

    An error of the figures is raised after the numbers are saved.
    """
    undrawn: BaseException | None = None
    with staged(claim) as folder:
        names = [_EVENTS, _ARRAYS, _SCENARIO]
        _write_events(run.event_log, folder / _EVENTS)
        try:
            write_netcdf(run, folder / _ARRAYS, _details(run))
        except (TypeError, ValueError) as error:
            raise _unwritable("variables", error) from error
        (folder / _SCENARIO).write_text(scenario, encoding="utf-8")
        if has_snapshots(run):
            write_vtkhdf(run, folder / SNAPSHOTS)
            names.append(SNAPSHOTS)
        text = _json(sealed(summary, folder, names))
        (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
        try:
            if draw is not None:
                draw(folder / FIGURES)
        except BaseException as error:  # noqa: BLE001 - raised when the numbers are saved
            # an error in drawing, or Ctrl-C, must not lose the run
            undrawn = error
            shutil.rmtree(folder / FIGURES, ignore_errors=True)
    if isinstance(undrawn, Exception):
        raise _undrawn(claim.path, undrawn) from undrawn
    if isinstance(undrawn, KeyboardInterrupt):
        raise DrawingInterrupted(claim.path) from undrawn
    if undrawn is not None:
        raise undrawn


def _undrawn(path: Path, error: Exception) -> FiguresError:
    """Return the error for figures that could not be drawn."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    got = f"no figures ({text.splitlines()[0].rstrip('.')})"
    needs = "figures that can be drawn, and a folder that can be written"
    why = "the figures could not be drawn or written; the run itself is saved and complete."
    try_ = f"remove the cause, such as a full disk, and run stiction plot {shlex.quote(str(path))}."
    return FiguresError(explain(str(path), got, needs, why, try_))


def _unwritable(what: str, error: Exception) -> ModelError:
    got = f"values that no file can hold ({error})".replace("\n", " ")
    needs = "numbers, arrays of numbers, and words, as the documentation of Run and Variable says"
    why = "a saved run must be read back; nothing is written."
    return ModelError(f"Run.{what}", got, needs, why, "change what the method puts into its run.")


def load(path: str | Path, *, unverified: bool = False) -> Run:
    """Return the run that was saved in the folder `path`.

    The digests of the files are checked before a file is read. `system` and `method` are built from
    `scenario.toml`; they are None if that file names an object that only Python can hold.

    Parameters
    ----------
    path : the folder
    unverified : whether files that were changed after they were saved are read, as far as possible;
        the field `unverified` of the run names these files

    Raises
    ------
    StoreError : if the folder has no saved run, or a file of the run is missing, damaged or was
        changed.

    Verified by: tests/unit/io/test_store.py::test_round_trip
    """
    for _ in range(_MOST_READS):
        folder = whereabouts(Path(path))
        before = _stamp(folder)
        try:
            run = _load(folder, unverified)
        except StoreError:
            if _stamp(folder) == before:
                raise
        else:
            if _stamp(folder) == before:
                return run
    got = "a run that was replaced repeatedly while it was read"
    why = "all files must belong to the same run."
    raise StoreError(
        str(path), got, "a saved run that does not change", why, "wait, and try again."
    )


def _stamp(folder: Path) -> tuple[int, ...]:
    """Return inode, time and size of the summary, which change if the run is replaced."""
    try:
        status = (folder / SUMMARY).stat()
    except (OSError, ValueError):
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _load(folder: Path, unverified: bool) -> Run:
    """Return the run in a folder; StoreError if it is damaged, unless `unverified` admits that."""
    from stiction.io.summary_schema import check_summary
    from stiction.io.verify import examine, refusal

    verdict = examine(folder)
    if verdict.summary is None or (verdict.suspect and not unverified):
        raise refusal(verdict)
    summary, file = verdict.summary, SUMMARY
    try:
        check_summary(summary)
        file = _ARRAYS
        if verdict.doubt:
            check_readable(folder / file)
        variables, energy, details = read_netcdf(folder / file)
        file = _EVENTS
        log = _read_events(folder / file, details["event_units"])
        file = SUMMARY
        doubt = verdict.doubt or str(summary.get("unverified", ""))
        return _run_of(summary, (variables, energy, details), log, _objects(folder), doubt)
    except UNREADABLE as error:
        name = f"{type(error).__name__}: {error}".splitlines()[0]
        raise StoreError(
            str(folder / file),
            f"a file that cannot be read ({name})",
            "a saved run as it was written",
            "the file is missing, truncated or changed.",
            f"run it again: stiction run {shlex.quote(str(folder / _SCENARIO))} "
            "--out another folder.",
        ) from error


def _run_of(
    summary: dict[str, Any],
    arrays: tuple[dict[str, Variable], Ledger, dict[str, Any]],
    log: EventLog,
    objects: tuple[object | None, object | None, str],
    doubt: str,
) -> Run:
    """Return the run from the contents of its files."""
    variables, energy, details = arrays
    variables = {_RENAMED.get(name, name): v for name, v in variables.items()}
    time = variables.pop("time").values
    asked = variables.pop("asked").values if "asked" in variables else time
    return Run(
        system=objects[0],
        method=objects[1],
        system_name=summary["system"],
        method_name=summary["method"],
        status=Status(summary["status"]),
        reason=details["reason"],
        t_end=float(summary["t_end"]),
        time=time,
        variables=variables,
        final={k: _number_or_array(v) for k, v in summary["final"].items()},
        event_log=log,
        energy=energy,
        determinism=_determinism(summary, details),
        audit=Audit(
            tuple(
                _check(check, note)
                for check, note in zip(summary["audit"], details["notes"], strict=True)
            )
        ),
        quantities={
            name: Quantity(
                q["value"],
                q["unit"],
                details["meanings"].get(name, ""),
                **details.get("words", {}).get(name, {}),
            )
            for name, q in summary["quantities"].items()
        },
        stats={k: math.nan if v is None else v for k, v in summary["stats"].items()},
        provenance=summary["provenance"],
        citations=tuple(details["citations"]),
        asked=asked,
        output=OUTPUT,
        scenario=objects[2],
        time_unit=details["time_unit"],
        energy_unit=details["energy_unit"],
        size=details.get("size", ""),
        unverified=doubt,
    )


def _objects(folder: Path) -> tuple[object | None, object | None, str]:
    """Return system, method and "" for a saved run; or None, None and the text of its scenario."""
    path = folder / _SCENARIO
    if not regular(path):
        return None, None, ""
    from stiction.io.scenario import read_scenario

    try:
        scenario = read_scenario(path)
    except (StictionError, *UNREADABLE):
        # results can be loaded and drawn without them
        return None, None, path.read_text("utf-8", "replace")
    return scenario.system, scenario.method, ""


# ---- summary.json


def _checked(run: Run) -> dict[str, object]:
    """Return the content of summary.json as `load` reads it; ModelError if it would be refused."""
    from stiction.io.summary_schema import check_summary

    try:
        summary: dict[str, object] = json.loads(_json(_summary(run)))
        check_summary(summary)
    except (TypeError, ValueError) as error:
        raise _unwritable("save", error) from error
    return summary


def _summary(run: Run) -> dict[str, object]:
    """Return the content of `summary.json`, without digests."""
    energy: dict[str, object] = {k: column[-1] for k, column in run.energy.columns().items()}
    energy["imbalance_rel"] = run.energy.imbalance_rel
    if not run.energy.defined:
        energy = dict.fromkeys(energy)
    return {
        "status": run.status.value,
        **({} if run.status is Status.SOLVED else {"reason": run.reason}),
        "system": run.system_name,
        "method": run.method_name,
        "t_end": run.t_end,
        "final": run.final,
        "energy": energy,
        "determinism": {
            "status": run.determinism.status,
            **_margin(run.determinism.margin),
            "losses": [
                {"time": x.time, "kind": x.kind, "where": x.where, "choice": x.choice}
                for x in run.determinism.losses
            ],
        },
        "audit": [
            {
                "check": c.check,
                "ok": c.ok,
                "value": c.value,
                "limit": c.limit,
                "time": c.time,
                "kind": c.kind.value,
            }
            for c in run.audit
        ],
        "quantities": {
            name: {"value": q.value, "unit": q.unit} for name, q in run.quantities.items()
        },
        "stats": run.stats,
        "provenance": run.provenance,
        **({"unverified": run.unverified} if run.unverified else {}),
    }


def _details(run: Run) -> dict[str, object]:
    """Return the data that `summary.json` does not hold; `run.nc` stores them."""
    return {
        "reason": run.reason,
        "citations": list(run.citations),
        "notes": [check.note for check in run.audit],
        "meanings": {name: q.meaning for name, q in run.quantities.items()},
        "words": {
            name: {"absent": q.absent, "label": q.label}
            for name, q in run.quantities.items()
            if q.absent or q.label
        },
        "size": run.size,
        "unseen": run.determinism.unseen,
        "loss_units": [dict(loss.units) for loss in run.determinism.losses],
        "event_units": dict(run.event_log.units),
        "step_imbalance_rel": run.energy.step_imbalance_rel,
    }


def _determinism(summary: Mapping[str, Any], details: Mapping[str, Any]) -> Determinism:
    """Return the losses of determinism from the summary and the details in `run.nc`."""
    saved = summary["determinism"]
    # runs of earlier versions have no units there
    units = details.get("loss_units", [{}] * len(saved["losses"]))
    pairs = zip(saved["losses"], units, strict=True)
    losses = tuple(Loss(**loss, units=unit) for loss, unit in pairs)
    margin, unseen = float(saved.get("margin", math.inf)), str(details.get("unseen", ""))
    return Determinism(losses, margin, unseen)


def _check(saved: Mapping[str, Any], note: str) -> Check:
    """Return a check of the audit from its entry in the summary."""
    # runs of earlier versions have no kinds
    check = Check(**{**saved, "kind": Kind(saved.get("kind", "at_most"))}, note=note)
    if check.ok is False and check.value is None and check.limit is not None:
        # the file has null for infinity and NaN, which fail every limit
        return dataclasses.replace(check, value=math.nan)
    return check


def _margin(margin: float) -> dict[str, float]:
    """Return {"margin": margin}; an empty dictionary if it is infinite."""
    return {"margin": margin} if math.isfinite(margin) else {}


def _number_or_array(saved: object) -> Any:
    """Return a saved final state as a number or an array; entries of None become NaN."""
    values = np.array(saved, dtype=np.float64)
    return values if values.ndim else float(values)


def _json(value: object, indent: str = "") -> str:
    """Return `value` as JSON, lists of numbers on one line, NaN and infinity as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    inner = indent + "  "
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        lines = (f"{inner}{json.dumps(str(k))}: {_json(v, inner)}" for k, v in value.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)):
        if any(isinstance(entry, (Mapping, list, tuple)) for entry in value):
            lines = (inner + _json(entry, inner) for entry in value)
            return "[\n" + ",\n".join(lines) + f"\n{indent}]"
        return "[" + ", ".join(_json(entry) for entry in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    return json.dumps(value)


# ---- events.csv


def _write_events(log: EventLog, path: Path) -> None:
    """Write the events as CSV: time, contact, modes and kind, then the state columns."""
    columns = [_cells(column) for column in log.columns.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*_HEAD, *log.columns))
        writer.writerows(
            zip(
                _cells(log.time),
                log.contact.tolist(),
                log.before,
                log.after,
                log.kind,
                *columns,
                strict=True,
            )
        )


def _cells(column: Any) -> list[object]:
    # an empty cell for a missing number
    return ["" if value != value else value for value in column.tolist()]


def _read_events(path: Path, units: Mapping[str, str]) -> EventLog:
    """Return the events that `_write_events` wrote; `units` are those of the state columns."""
    if not regular(path):
        raise FileNotFoundError(2, "no such file")
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file))
    if tuple(head[: len(_HEAD)]) != _HEAD:
        raise ValueError(f"unexpected columns {head}")
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(head)
    time, contact, before, after, kind, *states = cells
    columns = {
        name: np.array([float(cell or "nan") for cell in column])
        for name, column in zip(head[len(_HEAD) :], states, strict=True)
    }
    return EventLog(
        np.array([float(t) for t in time]),
        np.array([int(c) for c in contact], dtype=np.int64),
        before,
        after,
        kind,
        columns,
        units,
    )
