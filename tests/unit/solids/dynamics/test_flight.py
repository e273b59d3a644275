"""Bodies in flight: the frame changes nothing, and what is thrown begins where it is."""

import numpy as np
import pytest

import stiction as st
from stiction.laws import LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    Fixed,
    GeneralisedAlpha,
    LinearElastic,
    MovingSolid,
    NeoHookean,
    Program,
    RigidPlane,
    Traction,
    rectangle,
)

LEFT, RIGHT = Boundary(0, "left"), Boundary(0, "right")
PULL = (0.0, 0.2, 0.22, 6.0)


def bar(velocity, steps=20):
    """A bar that is pulled at both ends for a while, standing or in flight."""
    body = Body(rectangle(1.0, 0.1, (20, 1)), Q1(), LinearElastic(1.0, 0.0))
    pulls = [
        Traction(where, 0, Program(PULL, (0.0, sign, 0.0, 0.0)))
        for where, sign in ((LEFT, -0.01), (RIGHT, 0.01))
    ]
    moving = MovingSolid(st.Solid([body], [], pulls, dimensionless=True), velocity=[(velocity, 0)])
    return st.solve(moving, GeneralisedAlpha(steps=steps), (0.0, 6.0))


def stretch(run):
    x = run.data["drawn_position"].values[..., 0]
    return np.ptp(x, axis=1) - 1.0


@pytest.mark.parametrize("velocity", [0.1, 3.0])
def test_flight_changes_no_error(velocity):
    """Errors are reported beside how bodies change their shape, not beside how far they fly."""
    rest, flies = bar(0.0), bar(velocity)
    assert flies.stats["steps"] == rest.stats["steps"]
    np.testing.assert_allclose(stretch(flies), stretch(rest), rtol=0.0, atol=1e-9)
    checks = [{c.check: c.value for c in run.audit.checks} for run in (rest, flies)]
    assert checks[1]["motion_resolved"] == pytest.approx(checks[0]["motion_resolved"], rel=1e-6)


@pytest.mark.parametrize(
    ("modulus", "density", "side", "speed", "end"),
    [
        (1.0, 1.0, 1.0, 0.1, 2.0),
        (1.0, 1.0, 1.0, 0.3, 2.0),
        (1.0, 1.0, 1.0, 10.0, 2.0),
        (1e4, 1e3, 0.05, 3.0, 0.1),
        (200e9, 7.8e3, 0.05, 300.0, 0.1),
    ],
)
def test_nothing_happens_to_a_body_in_flight(modulus, density, side, speed, end):
    body = Body(rectangle(side, 0.5 * side, (4, 2)), Q1(), NeoHookean(modulus, 0.3))
    moving = MovingSolid(st.Solid([body]), density, velocity=[(speed, 0.0)])
    run = st.solve(moving, GeneralisedAlpha(steps=200), (0.0, end))
    assert run.stats["steps"] == 200
    assert run.audit.ok
    x = run.data["drawn_position"].values
    np.testing.assert_allclose(x[-1], x[0] + [speed * end, 0.0], rtol=0.0, atol=1e-9 * speed * end)


@pytest.mark.parametrize("gaps", [1.1, 2.0, 20.0])
def test_what_is_thrown_begins_where_it_is(gaps):
    law = LennardJones.from_strength(0.05, 2e-3)
    body = Body(rectangle(1.0, 0.5, (4, 2)), Q1(), NeoHookean(1.0, 0.3))
    plane = RigidPlane((0.0, -gaps * law.gap_eq), (0.0, 1.0))
    solid = st.Solid([body], [Contact(Boundary(0, "bottom"), plane, law)])
    moving = MovingSolid(solid, velocity=[(0.0, 0.05)])
    run = st.solve(moving, GeneralisedAlpha(steps=20), (0.0, 0.5))
    assert run.data["gap"].values[0] == pytest.approx(gaps * law.gap_eq, rel=1e-12)
    assert run.energy.imbalance_rel < 1e-6


def test_what_nothing_holds_begins_where_it_is():
    """A force from the first moment on: the centre moves as F t^2 / 2 m."""
    body = Body(rectangle(1.0, 0.5, (4, 2)), Q1(), NeoHookean(1.0, 0.3))
    pull = Traction(RIGHT, 0, Program((0.0,), (5e-4,)))
    for held in ([pull], [pull, Fixed(Boundary(1, "bottom"))]):
        bodies = [body, Body(rectangle(1.0, 0.5, (2, 2), (3.0, 0.0)), Q1(), NeoHookean(1.0, 0.3))]
        solid = st.Solid(bodies[: len(held)], [], held, dimensionless=True)
        run = st.solve(MovingSolid(solid), GeneralisedAlpha(steps=50), (0.0, 4.0))
        assert run.audit.ok
        # the mean over cells of the same size is the centre, exactly
        cells = run.data["drawn_cell"].values
        cells = cells[run.data["body_of_drawn"].values[cells[:, 0]] == 1]
        centre = run.data["drawn_position"].values[-1][cells].mean(axis=(0, 1))
        force, mass = 5e-4 * 0.5, 0.5
        direction = 0.5 * force / mass * 4.0**2
        np.testing.assert_allclose(centre, [0.5 + direction, 0.25], rtol=0.0, atol=1e-9)


def test_what_is_thrown_and_pressed_begins_in_balance():
    """A block pressed on a plane and thrown along it does not bounce."""
    law = LennardJones.from_strength(0.05, 2e-3)
    body = Body(rectangle(1.0, 0.5, (4, 2)), Q1(), NeoHookean(1.0, 0.3))
    plane = RigidPlane((0.0, -law.gap_eq), (0.0, 1.0))
    press = Traction(Boundary(0, "top"), 1, Program((0.0,), (-2e-2,)))
    solid = st.Solid([body], [Contact(Boundary(0, "bottom"), plane, law)], [press])
    moving = MovingSolid(solid, velocity=[(0.05, 0.0)])
    run = st.solve(moving, GeneralisedAlpha(steps=20), (0.0, 2.0))
    high = run.data["drawn_position"].values[..., 1].max(axis=1)
    np.testing.assert_allclose(high, high[0], rtol=0.0, atol=1e-9)
    assert high[0] < 0.4999
