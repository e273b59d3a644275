"""What is kept of each member: named results of its run as numbers of one shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.catalogue import MEASURES, attribute
from stiction.core.run import Measure, Run
from stiction.errors import ScenarioError, Status, explain, nearest

__all__ = [
    "ABSENT",
    "ALWAYS",
    "STATUSES",
    "Kept",
    "Reading",
    "Unknown",
    "always_of",
    "kept_of",
    "parted",
    "reduced",
    "trajectories_of",
]

Array = npt.NDArray[Any]

_ENDS = tuple(status.value for status in Status if status is not Status.UNTRUSTED)
# last, because studies of earlier versions hold places in this list
STATUSES = (*_ENDS, "refused", "error", "died", Status.UNTRUSTED.value)
"""How a member ended: as runs do; refused by the model; an error in it; its process died."""
ABSENT = -1
"""The status of a member that was not solved yet."""

ALWAYS = {
    "status": ("int8", "1", "how the member ended, a place in `flag_meanings`; -1 for not yet"),
    "reached": ("float64", "", "time that was reached"),
    "events": ("int32", "1", "number of events"),
    "losses": ("int32", "1", "how often determinism was lost"),
    "audit_failed": ("int16", "1", "lines of the audit that failed"),
    "imbalance": ("float64", "1", "largest imbalance of the ledger over the largest energy"),
}
"""What is kept of every member: {name: (type, unit, meaning)}."""

_CALL = re.compile(r"(?:(\w+)\((.+)\)|(.+))")
_REDUCED = ("min", "max", "mean", "sum", "first", "last", "count")
_GROUPS = ("final", "energy", "events", "times", "gaps", "measured", "stats", "audit")
# lists as long as a run has events: one number is made of each
_LISTS = ("times", "gaps")


@dataclass(frozen=True, eq=False)
class Kept:
    """One result of a run.

    Parameters
    ----------
    values : a number, or an array
    dims : names of its axes
    unit, meaning : what it is
    """

    values: Array
    dims: tuple[str, ...]
    unit: str
    meaning: str = ""


@dataclass(frozen=True)
class Reading:
    """Which results are kept.

    Parameters
    ----------
    names : of quantities; or final.NAME, energy.COLUMN, events.KIND, stats.NAME, audit.CHECK;
        each may stand in min(), max(), mean(), sum(), first(), last() or count(). Only there
        times.KIND, when events of a kind happened, and gaps.KIND, the times between them.
        measured.NAME is what the catalogue lists for the system in `MEASURES`
    functions : take a run and return {name: number or array}
    """

    names: tuple[str, ...] = ()
    functions: tuple[Callable[[Run], Mapping[str, object]], ...] = ()

    @classmethod
    def of(cls, keep: object) -> Reading:
        """Return what a user asked for: a name, a function, or several of them."""
        given = (keep,) if isinstance(keep, str) or callable(keep) else keep
        if not isinstance(given, Sequence) or not all(
            isinstance(k, str) or callable(k) for k in given
        ):
            needs, why = "names of results, or functions of a run", "they are kept of each member."
            try_ = 'for example keep=("stop_time", "max(onset_force)", "energy.friction_heat").'
            raise ScenarioError("keep", repr(keep), needs, why, try_)
        names = tuple(dict.fromkeys(k for k in given if isinstance(k, str)))
        return cls(names, tuple(k for k in given if not isinstance(k, str)))


def kept_of(run: Run, reading: Reading, *, lenient: bool = False) -> dict[str, Kept]:
    """Return what is kept of a run, without what is always kept.

    Parameters
    ----------
    lenient : leave out names that this run does not have: another member may

    Raises
    ------
    ScenarioError : if a name is not known; the message names the nearest.

    Verified by: tests/unit/studies/test_keep.py::test_results_by_name
    """
    names = reading.names
    if not names and not reading.functions:
        names = _defaults(run)
    found = {}
    for name in names:
        try:
            found[name] = _named(run, name)
        except Unknown:
            if not lenient:
                raise
    for function in reading.functions:
        made: object = function(run)
        if not isinstance(made, Mapping):
            needs, why = "a dictionary {name: number or array}", "each of them is kept by name."
            where = getattr(function, "__name__", "keep")
            raise ScenarioError(where, type(made).__name__, needs, why, "return one.")
        for name, value in made.items():
            found[str(name)] = _array(str(name), value, "", "")
    return found


def always_of(run: Run) -> dict[str, float]:
    """Return what is kept of every run."""
    return {
        "status": STATUSES.index(run.status.value),
        "reached": run.t_end,
        "events": len(run.event_log),
        "losses": len(run.determinism.losses),
        "audit_failed": len(run.audit.failed),
        "imbalance": run.energy.imbalance_rel if run.energy.defined else np.nan,
    }


def trajectories_of(run: Run, rows: int) -> dict[str, Kept]:
    """Return the saved arrays of a run over `rows` rows of time; NaN where it ended before."""
    found = {"time": Kept(_rows(run.time, rows), ("row",), run.time_unit, "time")}
    for name, variable in run.variables.items():
        if "time" in variable.dims and variable.values.dtype.kind in "fiub":
            axis = variable.dims.index("time")
            values = np.moveaxis(variable.values.astype(np.float64), axis, 0)
            dims = ("row", *(d for d in variable.dims if d != "time"))
            label = f"{name}_over_time"
            found[label] = Kept(_rows(values, rows), dims, variable.unit, variable.meaning)
    return found


def _rows(values: Array, rows: int) -> Array:
    made = np.full((rows, *values.shape[1:]), np.nan)
    made[: len(values)] = values[:rows]
    return made


def _defaults(run: Run) -> tuple[str, ...]:
    """Return the names of all results that are numbers; those of the last state if none is."""
    names = []
    for name, quantity in run.quantities.items():
        if quantity.value is None or _is_numeric(quantity.value):
            names.append(name)
    return tuple(names) or tuple(f"final.{name}" for name in run.final)


def _is_numeric(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(v is None or _is_numeric(v) for v in value)
    return isinstance(value, int | float | np.ndarray | np.number)


def parted(name: str) -> tuple[str | None, str]:
    """Return how a result is made one number, None for as it is, and its name within."""
    match = _CALL.fullmatch(name.strip())
    how, inner = (match[1], match[2] or match[3]) if match else (None, name)
    return how, inner.strip()


def reduced(how: str, values: Array) -> Array:
    """Return one number (m,) of the results (m, ...) of each of many runs.

    Verified by: tests/unit/studies/test_blocks.py::test_reductions_are_those_of_one_run
    """
    rows = values.reshape(len(values), int(np.prod(values.shape[1:])))
    if how == "count":
        return np.asarray(np.isfinite(rows).sum(axis=1), dtype=np.float64)
    if how == "sum":
        return np.asarray(np.nansum(rows, axis=1))
    found = np.full(len(rows), np.nan)
    if rows.shape[1] == 0:
        return found
    if how in ("first", "last"):
        return np.asarray(rows[:, 0 if how == "first" else -1])
    known = np.isfinite(rows).any(axis=1)
    if how == "mean":
        found[known] = np.nanmean(rows[known], axis=1)
    else:
        over = np.fmin if how == "min" else np.fmax
        found[known] = over.reduce(rows[known], axis=1)
    return found


def _named(run: Run, name: str) -> Kept:
    how, inner = parted(name)
    if how is not None and how not in _REDUCED:
        needs, why = "one of " + ", ".join(_REDUCED), "it makes one number of a list."
        raise ScenarioError(f"keep: {name}", repr(how), needs, why, nearest(how, _REDUCED))
    group = inner.partition(".")[0]
    if how is None and group in _LISTS:
        got, needs = repr(name), "one number of it, such as " + f"first({name})"
        why = "members have different numbers of events."
        raise ScenarioError("keep", got, needs, why, f"keep mean({name}).")
    found = _found(run, inner)
    if how is None:
        return found
    (value,) = reduced(how, found.values[None])
    unit = "1" if how == "count" else found.unit
    return Kept(np.asarray(value), (), unit, f"{how} of {found.meaning or inner}")


def _found(run: Run, name: str) -> Kept:
    group, dot, inner = name.partition(".")
    if dot and group in _GROUPS:
        return _of_group(run, group, inner)
    if name in ALWAYS:
        return _array(name, always_of(run)[name], ALWAYS[name][1], ALWAYS[name][2])
    if name not in run.quantities:
        raise _unknown(name, [*run.quantities, *ALWAYS, *(f"{g}.NAME" for g in _GROUPS)])
    quantity = run.quantities[name]
    return _array(name, quantity.value, quantity.unit, quantity.meaning)


def _of_group(run: Run, group: str, name: str) -> Kept:
    if group == "events":
        # a kind that did not happen is no error: it happened no times
        count = sum(1 for kind in run.event_log.kind if kind == name)
        return Kept(np.asarray(float(count)), (), "1", f"events of the kind {name}")
    if group in _LISTS:
        is_of_kind = np.array([kind == name for kind in run.event_log.kind], dtype=bool)
        times = np.asarray(run.event_log.time, dtype=np.float64)[is_of_kind]
        meaning = f"time of events of the kind {name}"
        if group == "gaps":
            times, meaning = np.diff(times), f"time between events of the kind {name}"
        return Kept(times, ("event",), run.time_unit, meaning)
    if group == "measured":
        return _measured(run, name)
    if group == "audit":
        lines = {check.check: check.value for check in run.audit}
        if name not in lines:
            raise _unknown(f"audit.{name}", [f"audit.{n}" for n in lines])
        return _array(name, lines[name], "", f"value of the line {name} of the audit")
    if group == "stats":
        known: Mapping[str, Any] = run.stats
        unit = "1"
    elif group == "energy":
        known, unit = run.energy.columns(), run.energy_unit
    else:
        known, unit = run.final, ""
    if name not in known:
        raise _unknown(f"{group}.{name}", [f"{group}.{n}" for n in known])
    if group == "energy":
        return Kept(np.asarray(float(known[name][-1])), (), unit, f"{name} at the end")
    if group == "final" and name in run.variables:
        variable = run.variables[name]
        dims = tuple(d for d in variable.dims if d != "time")
        values = np.asarray(known[name], dtype=np.float64)
        # a state of one number stands in a list of one
        values = values.reshape(values.shape[values.ndim - len(dims) :])
        return Kept(values, dims, variable.unit, f"{variable.meaning} at the end")
    return _array(name, known[name], unit, "")


def _measured(run: Run, name: str) -> Kept:
    """Return what the system of a run offers to measure, which may take runs of its own."""
    names = [run.system_name, *(base.__name__ for base in type(run.system).__mro__)]
    known = next((MEASURES[name] for name in names if name in MEASURES), {})
    if name not in known:
        raise _unknown(f"measured.{name}", [f"measured.{n}" for n in known] or [*run.quantities])
    measure: Measure = attribute(known[name], name)
    found = measure(run)
    return _array(name, found.value, found.unit, found.meaning)


def _array(name: str, value: object, unit: str, meaning: str) -> Kept:
    """Return a number or a list as an array of floats, NaN for None."""
    if value is not None and not _is_numeric(value):
        needs, why = "numbers", "members are kept as arrays."
        try_ = "leave it out, or keep numbers of it by a function."
        raise ScenarioError(f"keep: {name}", repr(value), needs, why, try_)
    values = np.array(value, dtype=np.float64)
    dims = tuple(f"{name}_{k}" if k else f"{name}_place" for k in range(values.ndim))
    return Kept(values, dims, unit, meaning)


class Unknown(ScenarioError):
    """A result that a run does not have."""


def _unknown(name: str, known: Sequence[str]) -> Unknown:
    needs, why = "a result of these runs: " + ", ".join(known), "it is kept of each member."
    return Unknown(explain("keep", repr(name), needs, why, nearest(name, known)))
