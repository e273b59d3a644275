"""Newton's coefficient of restitution, reduced where the law with friction would add energy.

Source: Kane 1984 (the paradox of Newton's law with friction).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["without_gain"]

Floats = npt.NDArray[np.float64]

_HALVINGS = 40


class _Impulses(Protocol):
    @property
    def r(self) -> Floats: ...

    @property
    def before(self) -> Floats: ...

    @property
    def after(self) -> Floats: ...


Solved = TypeVar("Solved", bound=_Impulses)


def without_gain(
    solve: Callable[[float], Solved], scale: Callable[[Solved], float], most: float
) -> tuple[Solved, bool]:
    """Return impulses that add no energy, and whether restitution was reduced for that.

    Parameters
    ----------
    solve : returns impulses, and velocities before and after them, with a part of the restitution
    scale : returns the size of the work of impulses [J]
    most : energy that counts as added, over that work [1]; infinite without restitution

    Verified by: tests/unit/bodies/test_impacts.py::test_newtons_law_creates_no_energy
    """
    found = solve(1.0)
    # infinity times the work of impulses that are all zero is no number
    if np.isinf(most):
        return found, False
    work = scale(found)
    # a contact that opens within a step does work without any restitution
    if _gain(found) <= most * work or _gain(solve(0.0)) > most * work:
        return found, False
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _gain(solve(middle)) > 0.0 else (middle, high)
    return solve(low), True


def _gain(found: _Impulses) -> float:
    """Return the energy that the impulses add [J]."""
    return 0.5 * float((found.r * (found.before + found.after)).sum())
