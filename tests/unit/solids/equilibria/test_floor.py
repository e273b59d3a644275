"""What rounding leaves of the residual: an estimate, a floor at the door, and advice."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import EA, Frictionless, LennardJones
from stiction.numerics.linear_solvers import fastest
from stiction.solids import (
    Q1,
    Q1N2,
    Q2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    Loaded,
    Nearest,
    NearlyIncompressible,
    NeoHookean,
    Program,
    RigidCircle,
    RigidPlane,
    rectangle,
)
from stiction.solids.equilibria.newton import Limits, solve_step
from stiction.solids.equilibria.problem import Problem
from stiction.solids.model import Readings


def bent(element, material, cells=(16, 4), moved=1e-4, size=1.0):
    right = Boundary(0, "right")
    held = [Driven(right, 1, Program((0, 1), (0, moved * size))), Fixed(Boundary(0, "left"))]
    body = Body(rectangle(4.0 * size, size, cells), element, material)
    return st.Solid([body], [], held, readings=Readings(displacement=0, support=True))


@pytest.mark.parametrize("size", [1.0, 1e-9])
@pytest.mark.parametrize(
    ("element", "material"),
    [
        (Q1(), NeoHookean(1.0, 0.3)),
        (Q1(), NeoHookean(1.0, 0.49)),
        (Q2(reduced=True), NearlyIncompressible(1.0, 0.499)),
        (Q1(reduced=True), NearlyIncompressible(1.0, 0.4999)),
        (Q2(reduced=True), NearlyIncompressible(1.0, 0.49999)),
    ],
)
def test_residuals_stop_at_the_floor(element, material, size):
    problem = Problem(bent(element, material, size=size).assembled())
    never = Limits(0.0, 10)
    outcome = solve_step(problem, problem.start(0.0), 1.0, None, never, fastest().start())
    # forces are far below their floor here, which the residuals are reported over
    stops = float(np.median(outcome.residuals[-4:])) * problem.force_floor
    assert 0.02 * problem.rounding < stops < problem.rounding


def test_a_tolerance_below_the_floor_is_refused():
    system = bent(Q2(reduced=True), NearlyIncompressible(1.0, 0.4999))
    with pytest.raises(ModelError, match=r"newton_tolerance: got 2e-13.*the effect of rounding"):
        st.solve(system, st.solids.Quasistatic(steps=2, newton_tolerance=2e-13))
    with pytest.raises(ModelError, match=r"Continuation\.newton_tolerance"):
        st.solve(system, st.Continuation(steps=2, newton_tolerance=2e-13))


@pytest.mark.parametrize("nu", [0.4995, 0.4999, 0.49999])
def test_nearly_incompressible_bodies_converge_at_the_default(nu):
    run = st.solve(bent(Q2(reduced=True), NearlyIncompressible(1.0, nu), moved=0.05), steps(2))
    reference = st.solve(
        bent(Q2(reduced=True), NearlyIncompressible(1.0, nu), moved=0.05), steps(2, 1e-6)
    )
    assert run.status.ok
    assert run.audit.ok
    np.testing.assert_allclose(run.data["force_y"][-1], reference.data["force_y"][-1], rtol=1e-5)


@pytest.mark.parametrize(("size", "stress"), [(1.0, 1.0), (1e-9, 1e9), (1e6, 1e-6)])
@pytest.mark.parametrize("partner", ["none", "plane", "circle", "body"])
@pytest.mark.parametrize("far", [0.0, 2.0, -10.0])
def test_bodies_without_forces_are_solved(size, stress, partner, far):
    """What is carried along, or lies where it is in balance, has forces of rounding alone."""
    law = LennardJones.from_strength(0.05 * stress, 0.01 * stress * size, adhesive=False)
    mesh = rectangle(2.0 * size, size, (8, 4), (0.0, law.gap_eq))
    bodies = [Body(mesh, Q1(), NeoHookean(stress, 0.3))]
    # the circle and the body are left behind, the plane is not
    partners = {"plane": RigidPlane(), "circle": RigidCircle((size, -size), size)}
    direction = Program((0, 1), (0, far * size))
    held = [Driven(Nearest(0, (0.0, size)), 0, direction), Fixed(Nearest(0, (0.0, size)), (1,))]
    held.append(Driven(Nearest(0, (0.0, 0.5 * size)), 0, direction))
    if partner == "body":
        lower = rectangle(6.0 * size, size, (24, 4), (-2.0 * size, -size))
        bodies.append(Body(lower, Q1(), NeoHookean(stress, 0.3)))
        held.append(Fixed(Boundary(1, "bottom")))
        partners["body"] = Boundary(1, "top")
    touching = [Contact(Boundary(0, "bottom"), p, law) for n, p in partners.items() if n == partner]
    run = st.solve(st.Solid(bodies, touching, held), steps(1))
    assert run.status is st.Status.SOLVED
    checks = {check.check: check for check in run.audit}
    assert checks["residual_above_roundoff"].ok is None
    assert checks["ledger_closes"].value == 0.0
    # a force that is given is no rounding, and nothing balances this one
    push = Loaded(Nearest(0, (2.0 * size, size)), 0, Program((0, 1), (0, 1e-14 * size * stress)))
    run = st.solve(st.Solid(bodies, touching, [*held, push]), steps(1), throw=False)
    assert run.status is st.Status.UNTRUSTED
    assert "residual_above_roundoff" in run.reason


def steps(count, tolerance=1e-9):
    return st.solids.Quasistatic(steps=count, newton_tolerance=tolerance)


def test_advice_at_the_floor_is_to_ask_for_less():
    system = bent(Q2(reduced=True), NearlyIncompressible(1.0, 0.49999), moved=0.05)
    run = st.solve(system, steps(1, 1e-11), throw=False)
    assert not run.status.ok
    assert "ask for a larger newton_tolerance" in run.reason


def block(size, stress, partner, friction, method):
    """A block pressed and sheared, with every length times `size` and every stress `stress`."""
    law = LennardJones.from_strength(0.05 * stress, 0.01 * stress * size)
    mesh = rectangle(6.0 * size, 2.0 * size, (8, 2), (-3.0 * size, law.gap_eq))
    top, bottom = Boundary(0, "top"), Boundary(0, "bottom")
    solid = st.Solid(
        [Body(mesh, Q1N2(), NeoHookean(stress, 0.4))],
        [Contact(bottom, partner, law, friction)],
        [
            Driven(top, 0, Program((0, 1, 2), (0, 0, 0.6 * size))),
            Driven(top, 1, Program((0, 1), (0, -0.03 * size))),
        ],
        readings=Readings(displacement=0),
    )
    return st.solve(solid, method, t_span=(0, 2))


UNITS = [
    (1e-12, 1e15),
    (1e-10, 1e11),
    (1e-9, 1e9),
    (1e-9, 1e-6),
    (1e-6, 2e6),
    (1e-3, 1e5),
    (1.0, 1e15),
    (1e3, 1e-3),
    (1e6, 1e-6),
    (1e6, 1e12),
]


def forces(run):
    return np.stack([run.data["force_x"].values, run.data["force_y"].values])


def test_units_do_not_matter():
    cases = [
        (lambda size: RigidPlane(), EA(mu=0.3), steps(6)),
        (lambda size: RigidCircle((0.0, -40.0 * size), 40.0 * size), EA(mu=0.3), steps(6)),
        (lambda size: RigidPlane(), Frictionless(), st.Continuation(steps=12)),
    ]
    for partner, friction, method in cases:
        one = block(1.0, 1.0, partner(1.0), friction, method)
        largest = np.abs(forces(one)).max()
        for size, stress in UNITS:
            other = block(size, stress, partner(size), friction, method)
            off = np.abs(forces(other) / (size * stress) - forces(one)).max()
            assert off <= 1e-8 * largest
            counts = [run.stats["newton_iterations"] for run in (one, other)]
            assert abs(counts[1] - counts[0]) <= 1
            assert [c.ok for c in other.audit.checks] == [c.ok for c in one.audit.checks]
