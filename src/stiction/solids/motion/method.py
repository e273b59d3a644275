"""The generalised alpha method: what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stiction.errors import ModelError, explain
from stiction.methods import check_newton
from stiction.numerics.checks import Record, check_counts, number
from stiction.numerics.linear_solvers import LinearSolver

__all__ = ["GeneralisedAlpha", "Weights"]


class Weights(NamedTuple):
    """The numbers of the scheme: alpha_m, alpha_f, beta, gamma."""

    mass: float
    force: float
    beta: float
    gamma: float


@dataclass(frozen=True, eq=False, repr=False)
class GeneralisedAlpha(Record):
    """Motion of solids with inertia, implicit, of second order, with damping of high frequencies.

    Steps are as long as their local error and Newton's method allow; every step tells what the
    scheme itself took out of the energy.

    Parameters
    ----------
    spectral_radius : what is left of the highest frequencies after a step, 0 to 1; 1 is the
        trapezoidal rule, without numerical dissipation in linear motion
    steps : the longest step is the time span over this
    tolerance : local error of a step over the range of adhesion, or without contact over the
        largest displacement so far, and beyond the mean of each body over the largest one beyond
        that [1]; None keeps steps as long as Newton's method lets them
    lumped : whether masses are diagonal
    stability : count the ways in which balance is unstable after every step, without friction, and
        tell one that the motion does not take; it costs a factorisation a step
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT
    max_cuts : how often the longest step may be halved before the run gives up
    newton_tolerance : residual over the forces in balance [1]
    max_iterations : of Newton's method in one step
    solver : the sparse solver; None takes the fastest at hand

    Source: Chung, Hulbert 1993; error of a step: Zienkiewicz, Xie 1991.
    Verified by: tests/unit/solids/motion/test_motion.py::test_order_in_time
    """

    spectral_radius: float = 0.8
    steps: int = 200
    tolerance: float | None = 1e-3
    lumped: bool = False
    stability: bool = True
    max_steps: int = 100_000
    max_cuts: int = 24
    newton_tolerance: float = 1e-9
    max_iterations: int = 20
    solver: LinearSolver | None = None

    def __post_init__(self) -> None:
        where, try_ = "GeneralisedAlpha.spectral_radius", "give 0.8."
        why = "it is what is left of the highest frequencies after a step."
        value = number(where, self.spectral_radius, rule="nonnegative", why=why, try_=try_)
        if value > 1.0:
            raise ModelError(explain(where, value, "a number from 0 to 1", why, try_))
        object.__setattr__(self, "spectral_radius", value)
        if self.tolerance is not None:
            where, why = "GeneralisedAlpha.tolerance", "steps are as long as it allows."
            number(where, self.tolerance, rule="positive", why=why, try_="give 1e-3, or None.")
        lumped: object = self.lumped
        if not isinstance(lumped, bool):
            where, why = "GeneralisedAlpha.lumped", "masses are diagonal or they are not."
            raise ModelError(explain(where, repr(lumped), "True or False", why, "give False."))
        stability: object = self.stability
        if not isinstance(stability, bool):
            where, why = "GeneralisedAlpha.stability", "unstable ways are counted or not."
            raise ModelError(explain(where, repr(stability), "True or False", why, "give True."))
        check_counts(
            self,
            ("steps", 1, 10_000_000, 0),
            ("max_steps", 1, 100_000_000, 0),
            ("max_cuts", 0, 60, 0),
            ("max_iterations", 2, 10_000, 0),
        )
        check_newton("GeneralisedAlpha", self.newton_tolerance, self.solver)

    def weights(self) -> Weights:
        """Return the weights of the scheme.

        Source: Chung, Hulbert 1993, eqs (17), (18), (25).
        """
        r = self.spectral_radius
        mass, force = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        return Weights(mass, force, 0.25 * (1.0 - mass + force) ** 2, 0.5 - mass + force)
