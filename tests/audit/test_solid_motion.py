"""What the audit asks of moving solids and of linear solves fails here, beside where it holds."""

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, solved

import stiction as st
from stiction.laws import LennardJones
from stiction.numerics.direct import factors
from stiction.numerics.direct.superlu import SuperLUFactors
from stiction.solids import (
    Q1,
    Q2,
    Body,
    Boundary,
    Contact,
    Fixed,
    GeneralisedAlpha,
    LinearElastic,
    Loaded,
    MovingSolid,
    Nearest,
    Program,
    RigidPlane,
    SuperLU,
    Traction,
    rectangle,
)


def thrown(radius, steps, tolerance=None):
    """Return a run of a block that is held on its left and thrown away from there."""
    body = Body(rectangle(1.0, 1.0, (4, 1)), Q1(), LinearElastic(1.0, 0.0))
    solid = st.Solid([body], [], [Fixed(Boundary(0, "left"))], dimensionless=True)
    moving = MovingSolid(solid, velocity=[(0.1, 0.0)])
    method = GeneralisedAlpha(radius, steps=steps, tolerance=tolerance)
    return solved(moving, method, (0.0, 8.0))


@pytest.mark.fails_audit("solids", "numerical_dissipation_small")
def test_long_steps_without_what_is_left_of_high_frequencies():
    run = thrown(0.0, 12)
    worst = np.abs(run.energy.algorithmic).max()
    check_fails(
        run,
        "numerical_dissipation_small",
        value=worst / run.energy.scale,
        limit=0.05,
        beside=("motion_resolved",),
    )
    check_holds(thrown(1.0, 12), "numerical_dissipation_small", beside=("motion_resolved",))


@pytest.mark.fails_audit("solids", "motion_resolved")
def test_steps_as_long_as_the_motion():
    check_fails(thrown(1.0, 6), "motion_resolved", limit=1e-2)
    check_holds(thrown(1.0, 100, 1e-3), "motion_resolved")


def test_the_ledger_of_a_motion_has_a_limit_of_its_own(monkeypatch):
    """A mass that is not that of the motion leaves it open."""
    from stiction.solids.dynamics import balance

    check_holds(thrown(1.0, 12), "ledger_closes", beside=("motion_resolved",))
    true = balance.MovingProblem.kinetic
    monkeypatch.setattr(balance.MovingProblem, "kinetic", lambda p, v: 1.01 * true(p, v))
    check_fails(thrown(1.0, 12), "ledger_closes", limit=1e-6, beside=("motion_resolved",))


def pulled(program):
    """Return a run of a block that is pulled off a plane without tension."""
    law = LennardJones.from_strength(0.05, 1e-4, adhesive=False)
    body = Body(rectangle(1.0, 0.5, (2, 1), (0.0, law.gap_eq)), Q1(), LinearElastic(1.0, 0.0))
    contact = Contact(Boundary(0, "bottom"), RigidPlane((0.0, 0.0), (0.0, 1.0)), law)
    pull = Traction(Boundary(0, "top"), 1, program)
    solid = st.Solid([body], [contact], [pull], dimensionless=True)
    return st.solve(MovingSolid(solid), GeneralisedAlpha(steps=50), (0.0, 1.0), throw=False)


@pytest.mark.fails_audit("solids", "starts_in_equilibrium")
def test_a_force_from_the_first_moment_on_that_nothing_resists():
    check_fails(pulled(Program((0.0,), (1e-3,))), "starts_in_equilibrium", value=1.0, limit=1e-9)
    check_holds(pulled(Program((0.0, 0.1), (0.0, 1e-3))), "starts_in_equilibrium")


@pytest.mark.fails_audit("solids", "linear_solves_accurate")
def test_factors_that_are_off_and_never_refined(monkeypatch):
    def run():
        body = Body(rectangle(1.0, 1.0, (2, 2)), Q2(), LinearElastic(1.0, 0.0))
        load = Loaded(Nearest(0, (1.0, 1.0)), 0, Program((0.0, 1.0), (0.0, 1e-3)))
        solid = st.Solid([body], [], [Fixed(Boundary(0, "left")), load], dimensionless=True)
        return solved(solid, st.solids.Quasistatic(steps=2, solver=SuperLU()))

    check_holds(run(), "linear_solves_accurate")
    monkeypatch.setattr(factors, "MOST_REFINEMENTS", 0)
    apply = SuperLUFactors.apply
    monkeypatch.setattr(SuperLUFactors, "apply", lambda f, b: apply(f, b) * (1.0 + 3e-9))
    check_fails(run(), "linear_solves_accurate", limit=1e-10)
