"""Runs of a solid by load steps, by arclength continuation, and by time steps with inertia.

The methods in `methods` call these functions. Each takes a system, a method and the request (times
of start, end and samples), builds the discrete equations, lets the stepper follow the program of
loads, and returns the `Run` built from the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiction.errors import Status
from stiction.solids.dynamics.problem import MovingProblem
from stiction.solids.dynamics.stepper import TimeStepper
from stiction.solids.equilibria.arclength import follow_path
from stiction.solids.equilibria.load_steps import LoadStepper
from stiction.solids.equilibria.problem import Problem
from stiction.solids.outcome.run import build_run

if TYPE_CHECKING:
    from stiction.core.run import Request, Run
    from stiction.solids.dynamics.model import MovingSolid
    from stiction.solids.methods import Continuation, GeneralisedAlpha, Quasistatic
    from stiction.solids.model import SolidSystem

__all__ = ["run_continuation", "run_motion", "run_quasistatic"]


def run_quasistatic(system: SolidSystem, method: Quasistatic, request: Request) -> Run:
    """Return the run of a solid by load steps."""
    problem = Problem(system.assembled())
    problem.work_tolerance = method.work_tolerance
    problem.check_tolerance("Quasistatic", method.newton_tolerance)
    stepper = LoadStepper(problem, method, request)
    stepper.run()
    return build_run(system, method, problem, stepper.record)


def run_continuation(system: SolidSystem, method: Continuation, request: Request) -> Run:
    """Return the run of a solid by load steps and pseudo-arclength continuation."""
    problem = Problem(system.assembled())
    problem.check_soft("Continuation")
    problem.check_tolerance("Continuation", method.newton_tolerance)
    return build_run(system, method, problem, follow_path(problem, method, request).record)


def run_motion(system: MovingSolid, method: GeneralisedAlpha, request: Request) -> Run:
    """Return the run of a solid with mass by time steps."""
    problem = MovingProblem(system, method.lumped)
    problem.check_soft("GeneralisedAlpha")
    problem.check_tolerance("GeneralisedAlpha", method.newton_tolerance)
    stepper = TimeStepper(problem, method, request)
    stepper.run()
    unit = "1" if problem.assembled.dimensionless else "s"
    if stepper.record.status is Status.SOLVED and not stepper.record.path:
        stepper.record.status = Status.UNCONVERGED
    return build_run(system, method, problem, stepper.record, stepper.checks(), unit)
