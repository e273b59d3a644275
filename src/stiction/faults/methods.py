"""The method that solves a fault or a slider, and what runs it.

A system names the functions that run its methods; the code of a method is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.core.block import BlockMaker, Solve
    from stiction.core.run import Request, Run, Runner
    from stiction.faults.model import Cycles, FaultSystem, SpringSlider

__all__ = ["SOLVED_BY", "SOLVED_IN_BLOCKS"]


def cycles(fault: FaultSystem, method: Cycles, request: Request) -> Run:
    """Return the run of `fault` by `Cycles`."""
    from stiction.faults.run import run_cycles

    return run_cycles(fault, method, request)


def cycles_block(
    slider: SpringSlider,
    method: Cycles,
    request: Request,
    paths: Sequence[tuple[str | int, ...]],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many members at once; None where it cannot."""
    from stiction.faults.members import blocks_of

    return blocks_of(slider, method, request, paths, names)


SOLVED_BY: Mapping[str, Runner] = {"Cycles": cycles}
SOLVED_IN_BLOCKS: Mapping[str, BlockMaker] = {"Cycles": cycles_block}
