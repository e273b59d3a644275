"""The methods that solve solids, and what runs each of them.

A system names the functions that run its methods; the code of a method is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.core.run import Request, Run, Runner
    from stiction.methods import Quasistatic
    from stiction.solids.continuation import Continuation
    from stiction.solids.model import SolidSystem
    from stiction.solids.motion.method import GeneralisedAlpha
    from stiction.solids.motion.model import MovingSolid

__all__ = ["MOVING_SOLVED_BY", "SOLVED_BY"]


def quasistatic(solid: SolidSystem, method: Quasistatic, request: Request) -> Run:
    """Return the run of `solid` by `Quasistatic`."""
    from stiction.solids.equilibria.load_steps import run_quasistatic

    return run_quasistatic(solid, method, request)


def continuation(solid: SolidSystem, method: Continuation, request: Request) -> Run:
    """Return the run of `solid` by `Continuation`."""
    from stiction.solids.equilibria.arcs import run_continuation

    return run_continuation(solid, method, request)


def generalised_alpha(solid: MovingSolid, method: GeneralisedAlpha, request: Request) -> Run:
    """Return the run of `solid` by `GeneralisedAlpha`."""
    from stiction.solids.motion.march import run_motion

    return run_motion(solid, method, request)


SOLVED_BY: Mapping[str, Runner] = {
    "Quasistatic": quasistatic,
    "Continuation": continuation,
}
MOVING_SOLVED_BY: Mapping[str, Runner] = {**SOLVED_BY, "GeneralisedAlpha": generalised_alpha}
