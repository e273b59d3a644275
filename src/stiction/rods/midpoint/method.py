"""The implicit midpoint rule for very slender rods, free or in perfect rolling contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stiction.numerics.checks import Record, check_counts, number

if TYPE_CHECKING:
    pass

__all__ = ["RollingMidpoint"]


@dataclass(frozen=True, eq=False, repr=False)
class RollingMidpoint(Record):
    """Implicit midpoint rule with the rolling condition at the middle of every step.

    2 M (u / h - v) / h = f(middle) + J^T l and J u = 0, u the change of place and angle over a
    step. Order 2, no limit on the step: waves shorter than a step are slowed, not damped.
    Linear and angular momentum of free rods are kept to the tolerance of the iteration. The
    explicit leapfrog is faster wherever its limit h ~ a sqrt(rho / (k G)) does not hurt.

    Parameters
    ----------
    step : [s], shortened so that saved times are met
    tolerance : of the residual of a step, relative to the forces in it [1]
    max_iterations : of Newton's method per step; a run that needs more ends with UNCONVERGED

    Source: formulas sheet of the rods paper, sections 3 and 6.
    Verified by: tests/convergence/test_midpoint.py::test_second_order

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.RollingMidpoint(step=1e-3).tolerance
    1e-11
    """

    step: float
    tolerance: float = 1e-11
    max_iterations: int = 30

    def __post_init__(self) -> None:
        for name, unit in (("step", "s"), ("tolerance", "1")):
            number(
                f"RollingMidpoint.{name}",
                getattr(self, name),
                rule="positive",
                unit=unit,
                why="a step is solved to this tolerance.",
                try_="for example step = 1e-3, tolerance = 1e-11.",
            )
        check_counts(self, ("max_iterations", 2, 10_000, 0))
