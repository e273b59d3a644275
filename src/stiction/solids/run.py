"""Solve a solid by one of its methods, and tell what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiction.errors import Status
from stiction.solids.equilibria.arclength import follow_path
from stiction.solids.equilibria.load_steps import March
from stiction.solids.equilibria.problem import Problem
from stiction.solids.motion.problem import MovingProblem
from stiction.solids.motion.stepper import Motion
from stiction.solids.outcome.run import build_run

if TYPE_CHECKING:
    from stiction.core.run import Request, Run
    from stiction.solids.methods import Continuation, GeneralisedAlpha, Quasistatic
    from stiction.solids.model import SolidSystem
    from stiction.solids.motion.model import MovingSolid

__all__ = ["run_continuation", "run_motion", "run_quasistatic"]


def run_quasistatic(system: SolidSystem, method: Quasistatic, request: Request) -> Run:
    """Return the run of a solid, load step by load step."""
    problem = Problem(system.assembled())
    problem.work_tolerance = method.work_tolerance
    problem.check_tolerance("Quasistatic", method.newton_tolerance)
    march = March(problem, method, request)
    march.run()
    return build_run(system, method, problem, march.record)


def run_continuation(system: SolidSystem, method: Continuation, request: Request) -> Run:
    """Return the run of a solid along its path of equilibria."""
    problem = Problem(system.assembled())
    problem.check_soft("Continuation")
    problem.check_tolerance("Continuation", method.newton_tolerance)
    return build_run(system, method, problem, follow_path(problem, method, request).record)


def run_motion(system: MovingSolid, method: GeneralisedAlpha, request: Request) -> Run:
    """Return the run of a solid with mass, step of time by step of time."""
    problem = MovingProblem(system, method.lumped)
    problem.check_soft("GeneralisedAlpha")
    problem.check_tolerance("GeneralisedAlpha", method.newton_tolerance)
    march = Motion(problem, method, request)
    march.run()
    unit = "1" if problem.assembled.dimensionless else "s"
    if march.record.status is Status.SOLVED and not march.record.path:
        march.record.status = Status.UNCONVERGED
    return build_run(system, method, problem, march.record, march.checks(), unit)
