"""The method that solves a flow, and what runs it.

A system names the functions that run its methods; the code of a method is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.core.block import BlockMaker, Solve
    from stiction.core.run import Request, Run, Runner
    from stiction.methods import EventDriven
    from stiction.switching.model import PiecewiseSmooth

__all__ = ["SOLVED_BY", "SOLVED_IN_BLOCKS"]


def event_driven(flow: PiecewiseSmooth, method: EventDriven, request: Request) -> Run:
    """Return the run of `flow` by `EventDriven`."""
    from stiction.switching.event_driven import solve_event_driven

    return solve_event_driven(flow, method, request)


def event_driven_block(
    flow: PiecewiseSmooth,
    method: EventDriven,
    request: Request,
    paths: Sequence[tuple[str | int, ...]],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many members at once; None where it cannot."""
    from stiction.switching.ensembles.members import blocks_of

    return blocks_of(flow, method, request, paths, names)


SOLVED_BY: Mapping[str, Runner] = {"EventDriven": event_driven}
SOLVED_IN_BLOCKS: Mapping[str, BlockMaker] = {"EventDriven": event_driven_block}
