"""The methods that solve a chain, and what runs each of them.

A system names the functions that run its methods; the code of a method is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.chains.creep.method import Radau
    from stiction.chains.model import Chain
    from stiction.chains.theta.methods import RegularizedTheta, ThetaStepper
    from stiction.core.block import BlockMaker, Solve
    from stiction.core.run import Request, Run, Runner
    from stiction.methods import EventDriven, Quasistatic

__all__ = ["SOLVED_BY", "SOLVED_IN_BLOCKS"]


def event_driven(chain: Chain, method: EventDriven, request: Request) -> Run:
    """Return the run of `chain` by `EventDriven`."""
    from stiction.chains.event_driven.run import solve_event_driven

    return solve_event_driven(chain, method, request)


def theta(chain: Chain, method: ThetaStepper, request: Request) -> Run:
    """Return the run of `chain` by `ThetaStepper`."""
    from stiction.chains.theta.run import solve_exactly

    return solve_exactly(chain, method, request)


def regularised_theta(chain: Chain, method: RegularizedTheta, request: Request) -> Run:
    """Return the run of `chain` by `RegularizedTheta`."""
    from stiction.chains.theta.run import solve_smoothed

    return solve_smoothed(chain, method, request)


def quasistatic(chain: Chain, method: Quasistatic, request: Request) -> Run:
    """Return the run of `chain` by `Quasistatic`."""
    from stiction.chains.quasistatic.run import solve_chain

    return solve_chain(chain, method, request)


def radau(chain: Chain, method: Radau, request: Request) -> Run:
    """Return the run of `chain` by `Radau`."""
    from stiction.chains.creep.run import solve_creep

    return solve_creep(chain, method, request)


def event_driven_block(
    chain: Chain,
    method: EventDriven,
    request: Request,
    paths: Sequence[tuple[str | int, ...]],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many members at once; None where it cannot."""
    from stiction.chains.blocks.motions import blocks_of

    return blocks_of(chain, method, request, paths, names)


def theta_block(
    chain: Chain,
    method: ThetaStepper,
    request: Request,
    paths: Sequence[tuple[str | int, ...]],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many members at once; None where it cannot."""
    from stiction.chains.blocks.steps import blocks_of

    return blocks_of(chain, method, request, paths, names)


SOLVED_BY: Mapping[str, Runner] = {
    "EventDriven": event_driven,
    "ThetaStepper": theta,
    "RegularizedTheta": regularised_theta,
    "Quasistatic": quasistatic,
    "Radau": radau,
}
SOLVED_IN_BLOCKS: Mapping[str, BlockMaker] = {
    "EventDriven": event_driven_block,
    "ThetaStepper": theta_block,
}
