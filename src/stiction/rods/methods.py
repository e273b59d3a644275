"""The methods that solve rods, a rod on a plane and strings, and what runs each of them.

A system names the functions that run its methods; the code of a method is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.core.block import BlockMaker, Solve
    from stiction.core.run import Measure, Quantity, Request, Run, Runner
    from stiction.rods.leapfrog.method import RollingLeapfrog
    from stiction.rods.midpoint.method import RollingMidpoint
    from stiction.rods.model import RodSystem
    from stiction.rods.plane.model import PlaneLeapfrog, RodOnPlane
    from stiction.rods.strings.characteristics import Characteristics
    from stiction.rods.strings.model import RollingStrings
    from stiction.rods.strings.strands import BumpStrands

__all__ = [
    "ON_PLANE_SOLVED_BY",
    "RODS_SOLVED_BY",
    "STRINGS_IN_BLOCKS",
    "STRINGS_MEASURES",
    "STRINGS_SOLVED_BY",
]


def leapfrog(rods: RodSystem, method: RollingLeapfrog, request: Request) -> Run:
    """Return the run of `rods` by `RollingLeapfrog`."""
    from stiction.rods.leapfrog.halves import run_leapfrog

    return run_leapfrog(rods, method, request)


def midpoint(rods: RodSystem, method: RollingMidpoint, request: Request) -> Run:
    """Return the run of `rods` by `RollingMidpoint`."""
    from stiction.rods.midpoint.run import run_midpoint

    return run_midpoint(rods, method, request)


def leapfrog_on_plane(rod: RodOnPlane, method: PlaneLeapfrog, request: Request) -> Run:
    """Return the run of `rod` by `PlaneLeapfrog`."""
    from stiction.rods.plane.run import run_on_plane

    return run_on_plane(rod, method, request)


def characteristics(strings: RollingStrings, method: Characteristics, request: Request) -> Run:
    """Return the run of `strings` by `Characteristics`."""
    from stiction.rods.strings.characteristics import solve_strings

    return solve_strings(strings, method, request)


def strands(strings: RollingStrings, method: BumpStrands, request: Request) -> Run:
    """Return the run of `strings` by `BumpStrands`."""
    from stiction.rods.strings.strands import solve_strands

    return solve_strands(strings, method, request)


def characteristics_block(
    strings: RollingStrings,
    method: Characteristics,
    request: Request,
    paths: Sequence[tuple[str | int, ...]],
    names: Sequence[str],
) -> Solve | None:
    """Return what solves many members at once; None where it cannot."""
    from stiction.rods.strings.blocks.members import blocks_of

    return blocks_of(strings, method, request, paths, names)


def lyapunov(run: Run) -> Quantity:
    """Return the Lyapunov exponent of a run of strings."""
    from stiction.rods.strings.chaos import measured_exponent

    return measured_exponent(run)


def lyapunov_error(run: Run) -> Quantity:
    """Return the error of the Lyapunov exponent."""
    from stiction.rods.strings.chaos import measured_error

    return measured_error(run)


RODS_SOLVED_BY: Mapping[str, Runner] = {
    "RollingLeapfrog": leapfrog,
    "RollingMidpoint": midpoint,
}
ON_PLANE_SOLVED_BY: Mapping[str, Runner] = {"PlaneLeapfrog": leapfrog_on_plane}
STRINGS_SOLVED_BY: Mapping[str, Runner] = {
    "Characteristics": characteristics,
    "BumpStrands": strands,
}
STRINGS_IN_BLOCKS: Mapping[str, BlockMaker] = {"Characteristics": characteristics_block}
# what a study may keep beside the results of a run, as "measured.NAME"
STRINGS_MEASURES: Mapping[str, Measure] = {
    "lyapunov": lyapunov,
    "lyapunov_error": lyapunov_error,
}
