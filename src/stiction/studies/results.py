"""Results that a study saves for each member: named numbers and arrays of its run.

A name is a quantity of the run, such as `stop_time`, or GROUP.NAME for final states, energies,
events, statistics and audit, such as `energy.friction_heat`. Reductions such as `max(NAME)` turn a
list into a number.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.catalogue import MEASURES, attribute
from stiction.core.run import Measure, Run
from stiction.errors import ScenarioError, Status, explain, nearest

__all__ = [
    "ABSENT",
    "STANDARD",
    "STATUSES",
    "Reading",
    "Result",
    "UnknownResult",
    "fewest_saves",
    "largest_entry",
    "reduce_members",
    "results_of",
    "split_reduction",
    "standard_results",
    "trajectories_of",
    "without_run",
]

Array = npt.NDArray[Any]

_ENDS = tuple(status.value for status in Status if status is not Status.UNTRUSTED)
# saved studies store indices into this tuple: new entries go to its end
STATUSES = (*_ENDS, "refused", "error", "died", Status.UNTRUSTED.value)
"""Status of a member: that of its run, or "refused" (values that the model does not admit), "error"
(an exception), "died" (its process ended)."""
ABSENT = -1
"""Status of a member that is not solved yet."""

STANDARD = {
    "status": ("int8", "1", "status, an index into `flag_meanings`; -1 if not solved yet"),
    "reached": ("float64", "", "time that was reached"),
    "events": ("int32", "1", "number of events"),
    "losses": ("int32", "1", "number of losses of determinism"),
    "audit_failed": ("int16", "1", "lines of the audit that failed"),
    "imbalance": ("float64", "1", "largest imbalance of the ledger over the largest energy"),
}
"""Results that are saved for every member: {name: (type, unit, meaning)}."""

_CALL = re.compile(r"(?:(\w+)\((.+)\)|(.+))")
_REDUCED = ("min", "max", "mean", "sum", "first", "last", "count")
_GROUPS = ("final", "energy", "events", "times", "gaps", "measured", "stats", "audit")
# lists of variable length, which need a reduction
_LISTS = ("times", "gaps")


@dataclass(frozen=True, eq=False)
class Result:
    """One result of a run.

    Parameters
    ----------
    values : a number, or an array
    dims : names of its axes
    unit, meaning : unit and meaning of the values
    """

    values: Array
    dims: tuple[str, ...]
    unit: str
    meaning: str = ""


@dataclass(frozen=True)
class Reading:
    """The results that are saved.

    Parameters
    ----------
    names : names of quantities; or final.NAME, energy.COLUMN, events.KIND (number of events),
        stats.NAME, audit.CHECK. The reductions min(), max(), mean(), sum(), first(), last() and
        count() turn a list into a number. times.KIND, the times of events of a kind, and gaps.KIND,
        their differences, need a reduction. measured.NAME is a function of the run that the
        catalogue lists for the system in `MEASURES`
    functions : functions of a run that return {name: number or array}
    """

    names: tuple[str, ...] = ()
    functions: tuple[Callable[[Run], Mapping[str, object]], ...] = ()

    @classmethod
    def of(cls, results: object) -> Reading:
        """Return the reading of a name, a function, or a sequence of them."""
        given = (results,) if isinstance(results, str) or callable(results) else results
        if not isinstance(given, Sequence) or not all(
            isinstance(k, str) or callable(k) for k in given
        ):
            needs, why = (
                "names of results, or functions of a run",
                "these results are saved for each member.",
            )
            try_ = 'for example results=("stop_time", "max(onset_force)", "energy.friction_heat").'
            raise ScenarioError("results", repr(results), needs, why, try_)
        names = tuple(dict.fromkeys(str(k) for k in given if isinstance(k, str)))
        return cls(names, tuple(k for k in given if not isinstance(k, str)))


def fewest_saves(system: object, reading: Reading) -> int | None:
    """Return how many states a member saves; None for as many as a single run.

    A system says by `fewest_saves` that its results do not depend on the times at which states are
    saved, and by `of_saved_states` which results do. A function of a run gets all states of a
    single run, whose maxima it may take.

    Verified by: tests/unit/studies/test_results.py::test_states_are_saved_where_a_result_needs_them
    """
    dependent = getattr(system, "of_saved_states", ())
    asked = any(split_reduction(name)[1] in dependent for name in reading.names)
    return None if asked or reading.functions else getattr(system, "fewest_saves", None)


def results_of(
    run: Run, reading: Reading, *, lenient: bool = False, taken: Collection[str] = ()
) -> dict[str, Result]:
    """Return the requested results of a run, without the standard ones.

    Parameters
    ----------
    lenient : whether names that this run does not have are omitted; another member may have them
    taken : further names that a function must not return, beside those of other results

    Raises
    ------
    ScenarioError : if a name is unknown; the message gives the nearest name. If two results have
        the same name, or a result is no number.

    Verified by: tests/unit/studies/test_results.py::test_results_by_name
    """
    names = reading.names
    if not names and not reading.functions:
        names = _defaults(run)
    results = {}
    for name in names:
        try:
            results[name] = _named(run, name)
        except UnknownResult:
            if not lenient:
                raise
    for function in reading.functions:
        made: object = function(run)
        if not isinstance(made, Mapping):
            needs, why = "a dictionary {name: number or array}", "each result has a name."
            where = getattr(function, "__name__", "results")
            raise ScenarioError(where, type(made).__name__, needs, why, "return a dictionary.")
        for name, value in made.items():
            if name in results or name in STANDARD or name in taken:
                why = "another result or a swept field of the study has this name."
                raise ScenarioError(
                    "results", repr(name), "a new name", why, f"for example 'my {name}'."
                )
            results[str(name)] = _array(str(name), value, "", "")
    return results


def standard_results(run: Run) -> dict[str, float]:
    """Return the results that are saved for every run."""
    return {
        "status": STATUSES.index(run.status.value),
        "reached": run.t_end,
        "events": len(run.event_log),
        "losses": len(run.determinism.losses),
        "audit_failed": len(run.audit.failed),
        "imbalance": run.energy.imbalance_rel if run.energy.defined else np.nan,
    }


def without_run(status: Array) -> npt.NDArray[np.bool_]:
    """Return which members have no run, and so no number of events: not solved yet, or failed."""
    failed = [STATUSES.index(word) for word in ("refused", "error", "died")]
    return np.isin(status, [ABSENT, *failed])


def largest_entry(values: Array) -> Array:
    """Return the largest finite entry of each member, NaN without one: a list is drawn by it."""
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    known = np.isfinite(flat)
    largest = np.where(known, flat, -np.inf).max(axis=1, initial=-np.inf)
    return np.asarray(np.where(known.any(axis=1), largest, np.nan))


def trajectories_of(run: Run, n_times: int) -> dict[str, Result]:
    """Return the saved arrays of a run at `n_times` times; NaN after its end."""
    results = {"time": Result(_padded(run.time, n_times), ("row",), run.time_unit, "time")}
    for name, variable in run.variables.items():
        if "time" in variable.dims and variable.values.dtype.kind in "fiub":
            axis = variable.dims.index("time")
            values = np.moveaxis(variable.values.astype(np.float64), axis, 0)
            dims = ("row", *(d for d in variable.dims if d != "time"))
            label = f"{name}_over_time"
            results[label] = Result(_padded(values, n_times), dims, variable.unit, variable.meaning)
    return results


def _padded(values: Array, n_times: int) -> Array:
    made = np.full((n_times, *values.shape[1:]), np.nan)
    made[: len(values)] = values[:n_times]
    return made


def _defaults(run: Run) -> tuple[str, ...]:
    """Return the names of all numeric results; those of the final state if there are none.

    Results that depend on the saved states are left out, because members save few.
    """
    names = []
    dependent = getattr(run.system, "of_saved_states", ())
    for name, quantity in run.quantities.items():
        if name not in dependent and (quantity.value is None or _is_numeric(quantity.value)):
            names.append(name)
    return tuple(names) or tuple(f"final.{name}" for name in run.final)


def _is_numeric(value: object) -> bool:
    """Return whether a value is a number, or a list of numbers or None."""
    if isinstance(value, list | tuple):
        return all(v is None or _is_numeric(v) for v in value)
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind == "O":
        return _is_numeric(value.tolist())
    if isinstance(value, int | float):  # an integer may be too large for an array of integers
        return True
    return np.asarray(value).dtype.kind in "fiub"


def split_reduction(name: str) -> tuple[str | None, str]:
    """Split "max(NAME)" into reduction and name; the reduction is None for a plain name."""
    match = _CALL.fullmatch(name.strip())
    how, inner = (match[1], match[2] or match[3]) if match else (None, name)
    return how, inner.strip()


def reduce_members(how: str, values: Array) -> Array:
    """Reduce the results (m, ...) of m members to one number each, (m,).

    Verified by: tests/unit/studies/test_blocks.py::test_reductions_are_those_of_one_run
    """
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    if how == "count":
        return np.asarray(np.isfinite(flat).sum(axis=1), dtype=np.float64)
    if how == "sum":
        return np.asarray(np.nansum(flat, axis=1))
    reduced = np.full(len(flat), np.nan)
    if flat.shape[1] == 0:
        return reduced
    if how in ("first", "last"):
        return np.asarray(flat[:, 0 if how == "first" else -1])
    known = np.isfinite(flat).any(axis=1)
    if how == "mean":
        reduced[known] = np.nanmean(flat[known], axis=1)
    else:
        over = np.fmin if how == "min" else np.fmax
        reduced[known] = over.reduce(flat[known], axis=1)
    return reduced


def _named(run: Run, name: str) -> Result:
    """Return the result of a name, such as `stop_time` or `max(x)`, with its reduction."""
    how, inner = split_reduction(name)
    if how is not None and how not in _REDUCED:
        needs, why = "one of " + ", ".join(_REDUCED), "a reduction turns a list into a number."
        raise ScenarioError(f"results: {name}", repr(how), needs, why, nearest(how, _REDUCED))
    group = inner.partition(".")[0]
    if how is None and group in _LISTS:
        got, needs = repr(name), "a reduction of this list, such as " + f"first({name})"
        why = "the number of events differs between members."
        raise ScenarioError("results", got, needs, why, f"save mean({name}).")
    result = _result(run, inner)
    if how is None:
        return result
    (value,) = reduce_members(how, result.values[None])
    unit = "1" if how == "count" else result.unit
    return Result(np.asarray(value), (), unit, f"{how} of {result.meaning or inner}")


def _result(run: Run, name: str) -> Result:
    """Return the result of a name without a reduction."""
    group, dot, inner = name.partition(".")
    if dot and group in _GROUPS:
        return _of_group(run, group, inner)
    if name in STANDARD:
        return _array(name, standard_results(run)[name], STANDARD[name][1], STANDARD[name][2])
    if name not in run.quantities:
        raise _unknown_result(name, [*run.quantities, *STANDARD, *(f"{g}.NAME" for g in _GROUPS)])
    quantity = run.quantities[name]
    return _array(name, quantity.value, quantity.unit, quantity.meaning)


def _of_group(run: Run, group: str, name: str) -> Result:
    """Return the result GROUP.NAME; the groups are listed in `Reading`."""
    if group == "events":
        # a kind without events counts zero
        count = sum(1 for kind in run.event_log.kind if kind == name)
        return Result(np.asarray(float(count)), (), "1", f"events of the kind {name}")
    if group in _LISTS:
        is_of_kind = np.array([kind == name for kind in run.event_log.kind], dtype=bool)
        times = np.asarray(run.event_log.time, dtype=np.float64)[is_of_kind]
        meaning = f"time of events of the kind {name}"
        if group == "gaps":
            times, meaning = np.diff(times), f"time between events of the kind {name}"
        return Result(times, ("event",), run.time_unit, meaning)
    if group == "measured":
        return _measured(run, name)
    if group == "audit":
        lines = {check.check: check.value for check in run.audit}
        if name not in lines:
            raise _unknown_result(f"audit.{name}", [f"audit.{n}" for n in lines])
        return _array(name, lines[name], "", f"value of the line {name} of the audit")
    if group == "stats":
        known: Mapping[str, Any] = run.stats
        unit = "1"
    elif group == "energy":
        known, unit = run.energy.columns(), run.energy_unit
    else:
        known, unit = run.final, ""
    if name not in known:
        raise _unknown_result(f"{group}.{name}", [f"{group}.{n}" for n in known])
    if group == "energy":
        return Result(np.asarray(float(known[name][-1])), (), unit, f"{name} at the end")
    if group == "final" and name in run.variables:
        variable = run.variables[name]
        dims = tuple(d for d in variable.dims if d != "time")
        values = np.asarray(known[name], dtype=np.float64)
        # a scalar state is a list of length one
        values = values.reshape(values.shape[values.ndim - len(dims) :])
        return Result(values, dims, variable.unit, f"{variable.meaning} at the end")
    return _array(name, known[name], unit, "")


def _measured(run: Run, name: str) -> Result:
    """Return a measure of the system of a run; it may solve further runs."""
    names = [run.system_name, *(base.__name__ for base in type(run.system).__mro__)]
    known = next((MEASURES[name] for name in names if name in MEASURES), {})
    if name not in known:
        raise _unknown_result(
            f"measured.{name}", [f"measured.{n}" for n in known] or [*run.quantities]
        )
    measure: Measure = attribute(known[name], name)
    measured = measure(run)
    return _array(name, measured.value, measured.unit, measured.meaning)


def _array(name: str, value: object, unit: str, meaning: str) -> Result:
    """Return a number or a list as an array of floats, NaN for None."""
    values = None
    if value is None or _is_numeric(value):
        with contextlib.suppress(ValueError):  # lists of different lengths
            values = np.array(value, dtype=np.float64)
    if values is None:
        needs = "a number, or nested lists of numbers with equal lengths"
        why = "results of members are stored as arrays of numbers."
        try_ = "leave this result out, or compute numbers from it by a function."
        raise ScenarioError(f"results: {name}", repr(value), needs, why, try_)
    dims = tuple(f"{name}_{k}" if k else f"{name}_place" for k in range(values.ndim))
    return Result(values, dims, unit, meaning)


class UnknownResult(ScenarioError):
    """A result that a run does not have."""


def _unknown_result(name: str, known: Sequence[str]) -> UnknownResult:
    needs, why = "a result of these runs: " + ", ".join(known), "a result is saved for each member."
    return UnknownResult(explain("results", repr(name), needs, why, nearest(name, known)))
