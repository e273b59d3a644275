"""Methods for rods, a rod on a plane, and strings: their parameters.

Rods: `RollingLeapfrog` (explicit), `RollingMidpoint` (implicit), and for contact along arcs
`Quasistatic` and `ImplicitEuler`; a rod on a plane: `PlaneLeapfrog`; strings: `Characteristics`,
`BumpStrands`. Each `solve` imports the integrator when it runs.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.core.fields import Count, Flag, Limit, Positive
from stiction.core.method import Method
from stiction.errors import ModelError
from stiction.rods.model import RodSystem
from stiction.rods.plane.model import RodOnPlane
from stiction.rods.strings.model import MOST_CELLS, RollingStrings
from stiction.rods.strings.shapes import narrowest

if TYPE_CHECKING:
    from stiction.core.block import Solve
    from stiction.core.run import Request, Run

__all__ = [
    "BumpStrands",
    "Characteristics",
    "ImplicitEuler",
    "PlaneLeapfrog",
    "Quasistatic",
    "RollingLeapfrog",
    "RollingMidpoint",
]

_WHY_STEP = "an explicit scheme takes steps of this length."
_LEAPFROG_STEP = Positive(
    "s", _WHY_STEP, "leave this value out for a fraction of the stability limit."
)
_PLANE_STEP = Positive("s", _WHY_STEP, "leave this value out for a quarter of the stability limit.")
_WHY_FRACTION = "beyond the stability limit the fastest wave of the elements grows without bound."
_FRACTION = Positive("1", _WHY_FRACTION, "give 0.5.", most=1.0)
_PLANE_FRACTION = Positive("1", _WHY_FRACTION, "give 0.25.", most=1.0)
_SHAKE = Flag("True constrains the gaps of contacts.", "give True.")
_STEP = Positive("s", "time goes forward.", "for example 1e-3.")
_RESIDUAL = Positive("1", "a step is solved to this tolerance.", "for example 1e-11.", most=1e-2)
_TRY = "leave the default."
_ADVANCE = Positive("1", "time goes forward.", _TRY)
_BEND = Positive(
    "1", "steps with a larger third difference of the contact speed are shortened.", _TRY
)
_MARGIN = Positive(
    "1", "the run ends at this distance from an end, because steps shrink with the distance.", _TRY
)
_CHECK = Flag("True repeats the run with twice the step as a check.")
_BUMP = Positive("1", "the contact acts over this width.", _TRY)
_CELLS = Count(4, "the cells resolve the bump.", most=MOST_CELLS)
_CROSSING = Positive(
    "1",
    "a step of 1 is the time in which the faster wave crosses the width of the bump.",
    "give 0.2.",
    most=1.0,
)
_LUMPED = Flag("True lumps the masses.")
_STEPS = Limit(most=1_000_000)
_TURN = Positive("m", "each node may touch every turn of its rod once.", "give None.")
_SETTLE = Flag("True applies the first loads without friction.")
_FORCES = Positive(
    "1", "Newton's method balances forces to this tolerance.", "give 1e-8.", most=1e-2
)


@dataclass(frozen=True, eq=False, repr=False)
class RollingLeapfrog(Method):
    """Explicit leapfrog for rods in contact: kick (velocities) and drift (positions).

    If all contacts are bilateral and roll, a step is v+ = v- + h M^-1 (f + J^T l) with
    J (v+ + v-) = 0, followed by a drift in which elements move as free rotors, exactly. Here v- and
    v+ are velocities before and after the kick, M masses and inertias, f elastic forces and loads,
    l contact forces, and u = J v is the slip velocity. If contacts may slip
    or open, a step is half kick, drift, half kick (velocity Verlet): the first half kick has the
    forces of Coulomb's law, the second one impulses that stop the slip of rolling contacts. Steps
    are split at mode changes. The order is 2, also of event times. Linear and angular momentum of
    free rods are conserved to rounding; the energy error is O(h^2) and does not grow.

    Parameters
    ----------
    step : h [s], shortened to reach saved times; None means `fraction` of the stability limit
    fraction : step over the stability limit, if no step is given [1]. None means 1/40 for bilateral
        rolling contacts, 1/80 if a contact may slip or open, 1/160 if impacts have restitution. The
        error of the energy ledger falls with its square: for slipping crossed rods 5e-4 at 1/2 and
        3e-7 at 1/80
    shake : correct the gaps of closed contacts in every step; without it gaps drift by O(h^2)
    max_steps : bound on the work; a run that needs more steps raises an error

    Source: formulas sheet (docs/formulas/rods.md), section 6.
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
    """Implicit midpoint rule with the rolling constraint at the middle of every step.

    A step of length h solves 2 M (u / h - v) / h = f(midpoint) + J^T l and J u = 0 for the change u
    of positions and angles and the contact forces l: M masses and inertias, v velocities at its
    start, f elastic forces and loads, J the matrix of the slip velocity. The order is 2, and the
    step has no stability limit: waves with periods shorter than a step are slowed, not damped.
    Linear and angular momentum of free rods are conserved to the tolerance of the iteration. The
    explicit leapfrog is faster unless its limit h ~ a sqrt(rho / (k G)) is too small, for slender
    rods of radius a.

    Parameters
    ----------
    step : h [s], shortened to reach saved times
    tolerance : of the residual of a step, relative to the forces in it [1]; torques count over the
        rest length of their rod
    max_iterations : of Newton's method per step; a run that needs more ends with UNCONVERGED

    Raises
    ------
    ModelError : if contacts may slip or open, an end slides, or there are rigid partners.

    Source: formulas sheet (docs/formulas/rods.md), sections 3 and 6.
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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ImplicitContact(Method):
    """Base class of `Quasistatic` and `ImplicitEuler`: rods in contact along arcs.

    Each node may touch each rigid partner, and the axes of other rods; contacts open and close, and
    stick or slip by Coulomb's law exactly: 0 <= lambda_n _|_ gap >= 0 for the normal force, and
    |lambda_t| <= mu lambda_n for friction, at its bound and against the slip where there is one. A
    step is solved by Newton's method for positions, frames and tractions together; a step that
    fails is halved. In a step, driven ends and partners turn by a quarter turn at most.
    """

    solves: ClassVar[tuple[type, ...]] = (RodSystem,)
    inertia: ClassVar[bool]
    keeps_steps: ClassVar[bool] = True

    turn: Annotated[float | None, _TURN] = None
    settle: Annotated[bool, _SETTLE] = True
    tolerance: Annotated[float, _FORCES] = 1e-8
    max_iterations: Annotated[int, Limit(2, 10_000)] = 20
    max_steps: Annotated[int, Limit()] = 10_000

    @abc.abstractmethod
    def longest_step(self, start: float, end: float) -> float:
        """Return the longest step of a path from `start` to `end` [s]."""

    def solve(self, system: RodSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.rods.wrapped.outcome import run_wrapped

        return run_wrapped(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class Quasistatic(ImplicitContact):
    """Equilibria of rods in contact along arcs, with the history of stick and slip.

    At the first time loads and natural curvature act in full, and the rods move from the given
    centrelines against drag until they rest. Then ends and partners move and loads follow their
    histories. Contacts are those of `Rods.search`, whose friction must be given.

    Parameters
    ----------
    steps : least number of steps; a step also ends at each saved time. Without saved times, all
        steps are saved
    turn : arc length of rod in one winding of a coil around a partner [m]. With it and
        self-contact each node has one possible contact with every later winding of its rod; None:
        with the closest place of its rod alone
    settle : whether the rods take their loads of the first time without friction, as if they were
        shaken; otherwise friction acts from the given centrelines on
    tolerance : of unbalanced forces and of the laws of contact, over the largest force in the rods
    max_iterations : of Newton's method; a step that needs more is halved
    max_steps : bound on the work; a run that reaches it ends with WORK_LIMIT

    Source: docs/decisions/41-wrapped-rods.md; Alart and Curnier 1991.
    Verified by: tests/exact/test_wrapped_rods.py::test_capstan
    """

    inertia: ClassVar[bool] = False

    steps: Annotated[int, _STEPS] = 50

    def longest_step(self, start: float, end: float) -> float:
        """Return the longest step of a path from `start` to `end` [s]."""
        return (end - start) / self.steps


@dataclass(frozen=True, eq=False, repr=False)
class ImplicitEuler(ImplicitContact):
    """Motion of rods in contact along arcs, in steps of implicit Euler.

    The method is of first order, and dissipates: `energy.algorithmic` of the run. Stick, rolling
    and the bound of friction are as exact as in `Quasistatic`. Contacts are those of `Rods.search`,
    whose friction must be given.

    Parameters
    ----------
    step : longest step [s]. Without saved times, all steps are saved
    turn : see `Quasistatic` [m]
    settle : whether the motion starts from the equilibrium without friction under the loads of the
        first time; otherwise from the given centrelines
    tolerance : of unbalanced forces and of the laws of contact, over the largest force in the rods
    max_iterations : of Newton's method; a step that needs more is halved
    max_steps : bound on the work; a run that reaches it ends with WORK_LIMIT

    Source: docs/decisions/41-wrapped-rods.md, "Motion".
    Verified by: tests/exact/test_wrapped_motion.py::test_a_rod_that_slides_along_itself
    """

    inertia: ClassVar[bool] = True

    step: Annotated[float, _STEP]

    def longest_step(self, start: float, end: float) -> float:
        """Return the longest step [s]."""
        return self.step


@dataclass(frozen=True, eq=False, repr=False)
class PlaneLeapfrog(Method):
    """Velocity Verlet for a rod on a plane: half kick, drift, half kick; steps end at impacts.

    Two half kicks with equal impulses surround each saved velocity, and Coulomb's law holds for
    this velocity. So rolling does no work, and friction heat is never negative, both exactly. The
    order is 2.

    Parameters
    ----------
    step : longest step [s]; None means `fraction` of the stability limit of the free rod
    fraction : step over that limit, if no step is given [1]; above about 1/2 the energy may grow in
        the short steps before impacts, which the audit reports
    max_steps : bound on the work; a run that reaches it ends with WORK_LIMIT

    Source: formulas sheet (docs/formulas/rods.md), section 6, here in its synchronous form.
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
    """Method of characteristics: exact scattering at the contact, Runge-Kutta steps for its path.

    The order is 4 for smooth initial data without a jump of the contact force at the start. A
    corner (kink) of the data never becomes smoother: each passage of the contact makes four corners
    of it, each about half as strong. Steps end at the strong ones, so order 4 holds until the
    number `corners` is used up; the weak ones add an error that falls as step^2.

    Parameters
    ----------
    step : longest time step [1]; steps near the ends are shorter. A `Bump` in the data must be
        wider than a wave travels in one step, in two with `check`
    tolerance : largest third difference of s'/c in a step [1], with the speed s' of the contact and
        the wave speed c; steps with larger ones are shortened, to step/256 at least
    corners : approximate number of corners at which steps end
    check : solve again with twice the step; the audit reports the difference of the paths
    end_margin : a run ends if a contact point is closer to a fixed end, over the length [1]
    max_steps : bound on the work; a run that reaches it ends with WORK_LIMIT

    Source: formulas sheet (docs/formulas/rods.md), section 5.
    Verified by: tests/convergence/test_strings.py::test_order_four,
    tests/exact/test_strings.py::test_offset_contact_points
    """

    solves: ClassVar[tuple[type, ...]] = (RollingStrings,)

    step: Annotated[float, _ADVANCE] = 1.25e-4
    tolerance: Annotated[float, _BEND] = 1e-3
    # bytes per corner: four queues for each of two integrations, each with four entries per corner
    corners: Annotated[int, Limit(0, 1_000_000, 256)] = 4000
    check: Annotated[bool, _CHECK] = True
    end_margin: Annotated[float, _MARGIN] = 1e-5
    max_steps: Annotated[int, Limit()] = 2_000_000

    def check_step(self, system: RollingStrings) -> None:
        """Raise ModelError for a step that is too short for these strings."""
        delays = 2.0 if system.ends == "fixed" else 1.0
        pairs = list(zip(system.lengths, system.speeds, strict=True))
        turn = delays * max(length / c for length, c in pairs)
        least = turn / self.max_steps
        if self.step < least:
            raise ModelError(
                "Characteristics.step",
                self.step,
                f"at least {least!r}",
                "shorter steps reach max_steps before a wave has returned from an end.",
                "take a longer step, or a larger max_steps.",
            )
        # of each wave a step samples four points; the second solve has twice the step
        steps = 2.0 if self.check else 1.0
        for name, i in (("u0", 0), ("v0", 1), ("u_t0", 0), ("v_t0", 1)):
            width = narrowest(getattr(system, name))
            most = width / (steps * system.speeds[i])
            if self.step > most:
                raise ModelError(
                    "Characteristics.step",
                    self.step,
                    f"at most {most!r}",
                    f"longer steps miss the bump of width {width!r} in {name}.",
                    "take a shorter step, or a wider bump.",
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
        """Return a function that solves many strings at once; see `blocks.members.blocks_of`."""
        from stiction.rods.strings.blocks.members import blocks_of

        return blocks_of(system, self, request, paths, names)


@dataclass(frozen=True, eq=False, repr=False)
class BumpStrands(Method):
    """Strings (strands) in their normal modes, in contact over a Gaussian instead of at a point.

    The error is of first order in the width of the Gaussian. Use `Characteristics` for accurate
    results, and this method to check them, for drag, and for contact over a width. Energy is
    conserved at every width up to the error of the time steps, which have order 4.

    Parameters
    ----------
    bump_width : standard deviation of the Gaussian [1]; at most a sixth of the distance of the
        contact from an end
    cells : number of cells of each strand, at least 1.5 per width; None means two per width
    step : longest time step, over the time in which the faster wave crosses the width [1]
    lumped : use the frequencies of a chain of `cells` equal masses, whose short waves are slow;
        else those of the continuous string

    Raises
    ------
    ModelError : if width, step or number of cells are not admissible.

    Source: Gay-Balmaz, Putkaradze 2012, (11)-(13); formulas sheet (docs/formulas/rods.md), sections
    3 and 5.
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
