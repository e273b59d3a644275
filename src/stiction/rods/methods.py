"""The methods that solve rods, a rod on a plane and strings.

Each holds its numbers and imports its engine where it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.core.fields import Count, Flag, Limit, Positive
from stiction.core.method import Method
from stiction.errors import ModelError
from stiction.rods.model import RodSystem
from stiction.rods.plane.model import RodOnPlane
from stiction.rods.strings.model import MOST_CELLS, RollingStrings

if TYPE_CHECKING:
    from stiction.core.block import Solve
    from stiction.core.run import Request, Run

__all__ = [
    "BumpStrands",
    "Characteristics",
    "PlaneLeapfrog",
    "RollingLeapfrog",
    "RollingMidpoint",
]

_WHY_STEP = "an explicit scheme takes steps of this length."
_LEAPFROG_STEP = Positive("s", _WHY_STEP, "leave it out for a fraction of the stability limit.")
_PLANE_STEP = Positive("s", _WHY_STEP, "leave it out for a quarter of the limit.")
_WHY_FRACTION = "beyond the limit the fastest wave of the elements grows without bound."
_FRACTION = Positive("1", _WHY_FRACTION, "give 0.5.", most=1.0)
_PLANE_FRACTION = Positive("1", _WHY_FRACTION, "give 0.25.", most=1.0)
_SHAKE = Flag("gaps are constrained or not.", "give True.")
_STEP = Positive("s", "time goes forward.", "for example 1e-3.")
_RESIDUAL = Positive("1", "a step is solved to this tolerance.", "for example 1e-11.")
_TRY = "leave the default."
_ADVANCE = Positive("1", "time goes forward.", _TRY)
_BEND = Positive("1", "steps are shortened where the path bends more.", _TRY)
_MARGIN = Positive("1", "steps shrink with the distance to the end, without a limit.", _TRY)
_CHECK = Flag("the second solve is made or not.")
_BUMP = Positive("1", "a bump is wide.", _TRY)
_CELLS = Count(4, "they resolve the bump.", most=MOST_CELLS)
_CROSSING = Positive("1", "waves cross the bump in one unit of it.", "give 0.2.", most=1.0)
_LUMPED = Flag("masses are lumped or not.")


@dataclass(frozen=True, eq=False, repr=False)
class RollingLeapfrog(Method):
    """Kick and drift, with the contact forces that the mean velocity of a kick asks for.

    v+ = v- + h M^-1 (f + J^T l) with J (v+ + v-) = 0 while all contacts roll whatever happens; then
    all elements move as free rotors, exactly. Contacts that may slip or open take two half kicks a
    step, with the forces of Coulomb's law at its start and impulses that stop the slip of rolling
    contacts at its end; steps end at changes of mode. Order 2, in the times of events too; linear
    and angular momentum of free rods are conserved to rounding, the energy error is O(h^2) and does
    not grow.

    Parameters
    ----------
    step : [s], shortened so that saved times are met; None takes `fraction` of the stability limit
    fraction : of the stability limit, when no step is given [1]; None is a fortieth where contacts
        roll whatever happens, an eightieth where one may slip or open, half of that where impacts
        have restitution. An error in the ledger falls with its square: 5e-4 at half the limit and
        3e-7 at an eightieth for crossed rods that slip
    shake : hold the gap of closed contacts at every step; without it the gap drifts by O(h^2)
    max_steps : bound on the work; a run that needs more is refused

    Source: formulas sheet of the rods paper, section 6.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    solves: ClassVar[tuple[type, ...]] = (RodSystem,)

    step: Annotated[float | None, _LEAPFROG_STEP] = None
    fraction: Annotated[float | None, _FRACTION] = None
    shake: Annotated[bool, _SHAKE] = True
    max_steps: Annotated[int, Limit()] = 200_000_000

    def solve(self, system: RodSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.rods.leapfrog.velocity_verlet import run_leapfrog

        return run_leapfrog(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class RollingMidpoint(Method):
    """Implicit midpoint rule with the rolling condition at the middle of every step.

    2 M (u / h - v) / h = f(middle) + J^T l and J u = 0, u the change of place and angle over a
    step. Order 2, no limit on the step: waves shorter than a step are slowed, not damped.
    Linear and angular momentum of free rods are conserved to the tolerance of the iteration. The
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

    solves: ClassVar[tuple[type, ...]] = (RodSystem,)

    step: Annotated[float, _STEP]
    tolerance: Annotated[float, _RESIDUAL] = 1e-11
    max_iterations: Annotated[int, Limit(2, 10_000)] = 30

    def as_leapfrog(self) -> RollingLeapfrog:
        """Return the parameters of the shared stepper: the step and a bound on the work."""
        return RollingLeapfrog(self.step, shake=False)

    def solve(self, system: RodSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.rods.midpoint.run import run_midpoint

        return run_midpoint(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class PlaneLeapfrog(Method):
    """Half kick, drift, half kick; steps end at impacts, contacts obey their law in between.

    The law is asked of the velocity between two half kicks of equal impulses: rolling does no
    work and the heat of slip is never negative, both exactly. Order 2.

    Parameters
    ----------
    step : longest step [s]; None takes `fraction` of the stability limit of the free rod
    fraction : of that limit, when no step is given [1]; beyond about one half the short steps
        before impacts let the energy grow, which the audit reports
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT

    Source: formulas sheet of the rods paper, section 6, here in its synchronous form.
    Verified by: tests/exact/test_rolling_on_a_plane.py::test_energy_error_is_of_second_order
    """

    solves: ClassVar[tuple[type, ...]] = (RodOnPlane,)

    step: Annotated[float | None, _PLANE_STEP] = None
    fraction: Annotated[float, _PLANE_FRACTION] = 0.25
    max_steps: Annotated[int, Limit()] = 50_000_000

    def solve(self, system: RodOnPlane, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.rods.plane.run import run_on_plane

        return run_on_plane(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class Characteristics(Method):
    """Exact scattering at the contact, Runge-Kutta steps of order 4 for its path.

    On smooth data whose contact starts without a kick the error falls as step^4. Scattering has
    no memory: a corner of the data, or of the contact force at the start, never gets smoother.
    Each passage makes four of it, each about half as strong. Steps land on the strong ones, so
    that order 4 holds until the allowance `corners` is spent; the weak ones left over add an
    error that falls as step^2.

    Parameters
    ----------
    step : longest step [1]; shorter ones near the ends
    tolerance : largest third difference of s'/c in a step [1]; where the path bends more,
        steps are shortened, to step/256 at least
    corners : about how many corners steps land on
    check : solve again with twice the step, and say in the audit how far the paths differ
    end_margin : the run ends where a contact point is nearer to a fixed end, over the length
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT

    Source: formulas sheet of the rods paper, section 5.
    Verified by: tests/convergence/test_strings.py::test_order_four,
    tests/exact/test_strings.py::test_offset_contact_points
    """

    solves: ClassVar[tuple[type, ...]] = (RollingStrings,)

    step: Annotated[float, _ADVANCE] = 1.25e-4
    tolerance: Annotated[float, _BEND] = 1e-3
    # four queues for each of two integrations, each with four places per corner
    corners: Annotated[int, Limit(0, 1_000_000, 256)] = 4000
    check: Annotated[bool, _CHECK] = True
    end_margin: Annotated[float, _MARGIN] = 1e-5
    max_steps: Annotated[int, Limit()] = 2_000_000

    def check_step(self, system: RollingStrings) -> None:
        """Refuse a step that is too long or too short for these strings."""
        turn = 2.0 * max(
            length / c for length, c in zip(system.lengths, system.speeds, strict=True)
        )
        if turn / self.step > self.max_steps:
            raise ModelError(
                "Characteristics.step",
                self.step,
                f"at least {turn / self.max_steps:.3g}",
                "shorter steps use up max_steps before a wave has returned from its end.",
                "take a longer step, or a larger max_steps.",
            )

    def solve(self, system: RollingStrings, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.rods.strings.characteristics import solve_strings

        return solve_strings(system, self, request)

    def blocks(
        self,
        system: RollingStrings,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return what solves many members at once; None where it cannot."""
        from stiction.rods.strings.blocks.members import blocks_of

        return blocks_of(system, self, request, paths, names)


@dataclass(frozen=True, eq=False, repr=False)
class BumpStrands(Method):
    """Strands in their normal modes, joined by a Gaussian instead of at a point.

    The error is of first order in the width of the bump; use `Characteristics` for numbers, and
    this method to check them, for drag, and for contact over a width. Energy is
    conserved at every width up to the time steps, which are of order 4.

    Parameters
    ----------
    bump_width : standard deviation of the bump [1]; it must fit six times between contact and end
    cells : of each strand, at least 1.5 for each width; two for each width when None
    step : longest time step, in crossing times of the bump by the faster wave [1]
    lumped : take the frequencies of a chain of `cells` equal masses, whose short waves are slow;
        else those of the continuous string

    Raises
    ------
    ModelError : on a width, step or number of cells that cannot be used.

    Source: Gay-Balmaz, Putkaradze 2012, (11)-(13); formulas sheet, sections 3 and 5.
    Verified by: tests/convergence/test_strands.py::test_first_order_in_the_width
    """

    solves: ClassVar[tuple[type, ...]] = (RollingStrings,)

    bump_width: Annotated[float, _BUMP] = 0.02
    cells: Annotated[int | None, _CELLS] = None
    step: Annotated[float, _CROSSING] = 0.2
    lumped: Annotated[bool, _LUMPED] = False

    def solve(self, system: RollingStrings, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.rods.strings.strands import solve_strands

        return solve_strands(system, self, request)
