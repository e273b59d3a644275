"""Solution of a whole chunk of a study in one call of compiled code, if the method supports it.

`Method.blocks` returns a function that solves many members at once (`core.block.Solve`), or None if
members must be solved one by one. Members without a valid result are solved again as single runs,
whose status and audit give the reason. `members.solve_chunk` calls `block_of`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.block import Block, Solve
from stiction.core.driver import saved_times
from stiction.core.method import Method
from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.io.scenario import Scenario
from stiction.studies.results import (
    STANDARD,
    Reading,
    fewest_saves,
    reduce_members,
    split_reduction,
)

if TYPE_CHECKING:
    from stiction.studies.members import Job

__all__ = ["Filling", "block_of"]

Array = npt.NDArray[Any]

Filling = Callable[[Sequence[Array], dict[str, Array]], npt.NDArray[np.bool_]]
"""A function of the swept values (m,) of each field and of the arrays of the members. It fills the
entries of valid members, and returns (m,) which members are valid."""


def block_of(job: Job) -> Filling | None:
    """Return the function that fills the arrays of a chunk; None if members are solved singly.

    Verified by: tests/unit/studies/test_blocks.py::test_the_same_as_one_by_one
    """
    scenario = job.scenario
    system, method = scenario.system, scenario.method
    # blocks return numbers, neither saved states over time nor functions of a run
    not_in_blocks = job.n_times or job.reading.functions
    if (
        not isinstance(method, Method)
        or type(method).blocks is Method.blocks
        or not_in_blocks
        or any(p.steps[0] != "system" for p in job.places)
    ):
        return None
    if any(not _is_numbers(c[p.path]) for p in job.places for c in job.columns):
        return None
    requested = list(job.reading.names) or _default_results(job)
    names = {name: split_reduction(name) for name in requested}
    save = _saved_at(scenario, job.reading)
    if save is None:
        return None
    paths = [p.steps[1:] for p in job.places]
    inner = sorted({name for _, name in names.values()} - set(STANDARD))
    solve: Solve | None = None
    # an error of the model is raised again, and reported, in the single runs
    with contextlib.suppress(ModelError):
        solve = method.blocks(system, Request(*scenario.t_span, save), paths, inner)
    if solve is None:
        return None

    def fill(columns: Sequence[Array], arrays: dict[str, Array]) -> npt.NDArray[np.bool_]:
        block = solve(columns)
        done = block.valid.copy()
        if not done.any():
            return done
        standard = _standard_results(block)
        for name, values in standard.items():
            arrays[name][done] = values[done]
        # a name such as "max(x)" is a reduction of the result "x"
        for name, (reduction, inside) in names.items():
            if name in arrays and name not in STANDARD:
                values = np.asarray(_result(block, standard, inside), dtype=np.float64)
                if reduction is not None:
                    values = reduce_members(reduction, values)
                if not _fill(arrays[name], values, done):
                    # solved singly, which reports what is left out
                    done[:] = False
        return done

    return fill


def _saved_at(scenario: Scenario, reading: Reading) -> Array | None:
    """Return the saved times; None if blocks of the system do not support them.

    A system with a number `fewest_saves` has results that do not depend on the saved times; without
    a request a study then saves this number of states, at both ends if it is 2.
    """
    fewest = fewest_saves(scenario.system, reading)
    if fewest is None:
        # results depend on the saved times, which must be those of a single run
        return saved_times(scenario.save, *scenario.t_span, scenario.system.state_size)
    save = np.array(scenario.t_span)
    return save if scenario.save is None and fewest == save.size else None


def _result(block: Block, standard: dict[str, Array], name: str) -> Array:
    """Return a result of all members; zero for a kind of event that cannot occur."""
    if name in STANDARD:
        return standard[name]
    if name not in block.results and name.startswith("events."):
        return np.zeros(block.valid.size)
    return block.results[name]


def _is_numbers(column: Array) -> bool:
    return column.dtype.kind in "fiu"


def _default_results(job: Job) -> list[str]:
    """Return the results of a study without requested names: those in its manifest."""
    swept = {place.path for place in job.places}
    return [name for name in job.manifest.variables if name not in swept and name not in STANDARD]


def _standard_results(block: Block) -> dict[str, Array]:
    """Return the standard results of valid members: they end with status 0, without a loss."""
    zero = np.zeros(block.valid.size)
    return {
        "status": zero,
        "reached": block.reached,
        "events": block.events,
        "losses": zero,
        "audit_failed": zero,
        "imbalance": block.imbalance,
    }


def _fill(entries: Array, values: Array, done: npt.NDArray[np.bool_]) -> bool:
    """Copy results into entries of another shape, padded with NaN; return whether all had room.

    Entries with another number of axes keep their NaN: members of a different shape have no common
    axes with those whose shape the entries were made for.
    """
    if entries.ndim != values.ndim:
        return not np.isfinite(values[done]).any()
    pairs = zip(entries.shape[1:], values.shape[1:], strict=True)
    part = tuple(slice(0, min(a, b)) for a, b in pairs)
    entries[(slice(None), *part)][done] = values[(slice(None), *part)][done]
    return all(a >= b for a, b in zip(entries.shape[1:], values.shape[1:], strict=True))
