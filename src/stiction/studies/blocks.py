"""Blocks of members: whole chunks in one call of compiled code, where a system offers that.

`Method.blocks` returns a `core.block.Solve`, or None where members are to be solved one by one. So
are those of a block that are not sound: a run by itself says in words why.
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
from stiction.studies.keep import ALWAYS, parted, reduced

if TYPE_CHECKING:
    from stiction.studies.members import Job

__all__ = ["Filling", "block_of"]

Array = npt.NDArray[Any]

Filling = Callable[[Sequence[Array], dict[str, Array]], npt.NDArray[np.bool_]]
"""Takes (m,) swept values of each field and arrays of the members, fills what it can, and returns
(m,) which members are done."""


def block_of(job: Job) -> Filling | None:
    """Return what fills the arrays of a chunk at once; None where its members go one by one.

    Verified by: tests/unit/studies/test_blocks.py::test_the_same_as_one_by_one
    """
    scenario = job.scenario
    system, method = scenario.system, scenario.method
    other = job.rows or job.reading.functions
    if (
        not isinstance(method, Method)
        or type(method).blocks is Method.blocks
        or other
        or any(p.steps[0] != "system" for p in job.places)
    ):
        return None
    if any(not _is_numbers(c[p.path]) for p in job.places for c in job.columns):
        return None
    asked = list(job.reading.names) or _kept_by_default(job)
    names = {name: parted(name) for name in asked}
    save = _saved_at(scenario)
    if save is None:
        return None
    paths = [p.steps[1:] for p in job.places]
    inner = sorted({name for _, name in names.values()} - set(ALWAYS))
    solve: Solve | None = None
    # what is refused is refused member by member
    with contextlib.suppress(ModelError):
        solve = method.blocks(system, Request(*scenario.t_span, save), paths, inner)
    if solve is None:
        return None

    def fill(columns: Sequence[Array], arrays: dict[str, Array]) -> npt.NDArray[np.bool_]:
        block = solve(columns)
        done = block.sound
        if not done.any():
            return done
        always = _always(block)
        for name, values in always.items():
            arrays[name][done] = values[done]
        for name, (how, inside) in names.items():
            if name in arrays and name not in ALWAYS:
                values = np.asarray(_found(block, always, inside), dtype=np.float64)
                _fill(arrays[name], values if how is None else reduced(how, values), done)
        return done

    return fill


def _saved_at(scenario: Scenario) -> Array | None:
    """Return when members keep their state; None where blocks of the system do not know them."""
    few = getattr(scenario.system, "fewest_saves", None)
    if few is None:
        # results depend on these times, so that they are those of a single run
        return saved_times(scenario.save, *scenario.t_span, scenario.system.state_size)
    save = np.array(scenario.t_span)
    return save if scenario.save is None and few == save.size else None


def _found(block: Block, always: dict[str, Array], name: str) -> Array:
    """Return a result of all members; a kind of event that no member can have happened no times."""
    if name in ALWAYS:
        return always[name]
    if name not in block.results and name.startswith("events."):
        return np.zeros(block.sound.size)
    return block.results[name]


def _is_numbers(column: Array) -> bool:
    return column.dtype.kind in "fiu"


def _kept_by_default(job: Job) -> list[str]:
    """Return the results that a study keeps which asked for none: those in its manifest."""
    swept = {place.path for place in job.places}
    return [name for name in job.held.variables if name not in swept and name not in ALWAYS]


def _always(block: Block) -> dict[str, Array]:
    """Return what is kept of every run, for members that are sound."""
    zero = np.zeros(block.sound.size)
    return {
        "status": zero,
        "reached": block.reached,
        "events": block.events,
        "losses": zero,
        "audit_failed": zero,
        "imbalance": block.imbalance,
    }


def _fill(rows: Array, values: Array, done: npt.NDArray[np.bool_]) -> None:
    """Put results into rows of another length: what is missing stays NaN, the rest is cut."""
    if rows.ndim != values.ndim:
        return
    pairs = zip(rows.shape[1:], values.shape[1:], strict=True)
    part = tuple(slice(0, min(a, b)) for a, b in pairs)
    rows[(slice(None), *part)][done] = values[(slice(None), *part)][done]
