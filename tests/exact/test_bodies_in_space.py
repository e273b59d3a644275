"""Rigid bodies in space against closed forms."""

import numpy as np
import pytest

import stiction as st
from stiction.bodies.space import rotation as rot

B = st.bodies
G = 9.81


def about(axis, angle):
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis])


def on_slope(factor, frame, mu=0.5, **others):
    """Return a box on its four corners on a slope of tangent factor * mu, and directions."""
    slope, turn = np.arctan(factor * mu), rot.matrices(frame)
    down = turn @ np.array([np.cos(slope), 0.0, -np.sin(slope)])
    normal = turn @ np.array([np.sin(slope), 0.0, np.cos(slope)])
    box = B.SpatialBody(
        B.Cuboid(1.0, 0.8, 0.6), 2.0, 0.3 * normal,
        orientation=rot.product(frame, about([0, 1, 0], slope)), **others,
    )  # fmt: skip
    floor = B.SpatialSupport(B.HalfSpace(normal))
    gravity = turn @ np.array([0.0, 0.0, -G])
    system = B.SpatialBodies([box], [floor], gravity=gravity, law=st.Coulomb(mu))
    return system, down, G * (np.sin(slope) - mu * np.cos(slope))


FRAMES = [np.eye(4)[0], *np.random.default_rng(0).normal(size=(3, 4))]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_box_on_a_slope(frame):
    """At .999 mu it does not move in 10^6 steps, at 1.001 mu it slides with g (sin - mu cos)."""
    frame = frame / np.linalg.norm(frame)
    system, _, _ = on_slope(0.999, frame)
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 1000.0), save=5)
    assert run.stats["steps"] == 1_000_000
    for name in ("position", "orientation", "velocity", "spin"):
        assert not np.ptp(run.variables[name].values, axis=0).any()
    assert not run.variables["velocity"].values.any()
    system, down, acceleration = on_slope(1.001, frame)
    run = st.solve(system, B.TimeStepper(2e-3), (0.0, 0.1), save=5)
    speed = acceleration * run.time[:, None] * down
    np.testing.assert_allclose(run.variables["velocity"].values[:, 0], speed, atol=1e-14)
    np.testing.assert_allclose(run.variables["spin"].values, 0.0, atol=1e-14)
    assert run.audit.ok


def test_a_box_that_slides_up_a_slope_stays():
    """Every step of a box that comes to rest below the friction bound moves it by nothing after."""
    frame = FRAMES[1] / np.linalg.norm(FRAMES[1])
    _, down, _ = on_slope(0.8, frame)
    system, down, _ = on_slope(0.8, frame, velocity=-0.2 * down)
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 1.0), save=11)
    assert run.events["kind"].tolist() == ["contact", "stop"]
    place = run.variables["position"].values
    assert not np.ptp(place[2:], axis=0).any()
    assert (place[1] != place[0]).any()


def test_a_sphere_rolls():
    """From 2 v0 / (7 mu g) on at 5/7 v0; the place is of second order in the step."""
    mu, direction = 0.3, np.array([0.6, 0.8, 0.0])
    at = 2.0 / (7.0 * mu * G)
    ball = B.SpatialBody(B.Sphere(0.1), position=[0.0, 0.0, 0.1], velocity=direction)
    system = B.SpatialBodies([ball], [B.SpatialSupport()], law=st.Coulomb(mu))
    exact = at - 0.5 * mu * G * at**2 + 5.0 / 7.0 * (0.2 - at)
    errors = []
    # the end of slip lies at the same place in its step
    for h in (at / 10.25, at / 100.25):
        steps = round(0.2 / h)
        run = st.solve(system, B.TimeStepper(h), (0.0, steps * h), save=2)
        np.testing.assert_allclose(
            run.variables["velocity"].values[-1, 0], 5.0 / 7.0 * direction, atol=1e-13
        )
        turned = np.cross([0.0, 0.0, 1.0], 5.0 / 7.0 * direction) / 0.1
        np.testing.assert_allclose(run.variables["spin"].values[-1, 0], turned, atol=1e-12)
        moved = run.variables["position"].values[-1, 0] - run.variables["position"].values[0, 0]
        assert moved[2] == 0.0
        errors.append(abs(np.linalg.norm(moved) - exact - 5.0 / 7.0 * (steps * h - 0.2)))
    assert np.log(errors[0] / errors[1]) / np.log(100.25 / 10.25) == pytest.approx(2.0, abs=0.01)


def test_a_cube_slides_and_stops():
    """It does not lift, and stops within the step of v / (mu g), after v^2 / (2 mu g)."""
    cube = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[0.0, 0.0, 0.5], velocity=[6.0, 0, 0])
    system = B.SpatialBodies([cube], [B.SpatialSupport()], law=st.Coulomb(0.5))
    run = st.solve(system, B.TimeStepper(4e-3), (0.0, 1.5), save=301)
    x = run.variables["position"].values[:, 0]
    assert not np.ptp(x[:, 2])
    stop = float(run.events["time"][run.events["kind"] == "stop"].iloc[0])
    assert 0.0 <= stop - 6.0 / (0.5 * G) < 4e-3
    assert abs(x[-1, 0] - 36.0 / G) < 0.5 * 0.5 * G * 16e-6  # mu g h^2 / 2, of the last step
    np.testing.assert_allclose(x[:, 1], 0.0, atol=1e-13)
    np.testing.assert_allclose(run.variables["spin"].values, 0.0, atol=1e-12)
    assert not run.variables["velocity"].values[-1].any()


def test_a_sphere_rolls_off_a_sphere():
    """It leaves at cos = 10/17 cos of the start, and contacts that roll stay closed until then."""
    start = 0.2
    ball = B.SpatialBody(B.Sphere(0.1), position=[1.1 * np.sin(start), 0.0, 1.1 * np.cos(start)])
    big = B.SpatialSupport(B.Sphere(1.0))
    system = B.SpatialBodies([ball], [big], law=st.Coulomb(50.0))
    run = st.solve(system, B.TimeStepper(4e-3), (0.0, 1.0), save=251)
    kinds = run.events["kind"].tolist()
    assert kinds.count("separation") == 1
    assert "impact" not in kinds
    at = float(run.events["time"][run.events["kind"] == "separation"].iloc[0])
    x, z = (np.interp(at, run.time, run.variables["position"].values[:, 0, i]) for i in (0, 2))
    # reason: the event is one of a step, and the last contact is weak
    assert np.arctan2(x, z) == pytest.approx(np.arccos(10.0 / 17.0 * np.cos(start)), abs=2e-2)
    assert run.energy.impact_loss[-1] == 0.0
    assert run.energy.imbalance_rel < 1e-12


def test_a_block_of_spheres_rests():
    """216 spheres in a corner: after their first step, whose forces are not unique, none moves."""
    radius, n = 0.1, 6
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    bodies = [B.SpatialBody(B.Sphere(radius), position=p) for p in (2.0 * grid + 1.0) * radius]
    walls = [
        B.SpatialSupport(B.HalfSpace(sign * row), position=(1.0 - sign) * radius * n * row)
        for row in np.eye(3)
        for sign in (1.0, -1.0)
    ]
    system = B.SpatialBodies(bodies, walls[:-1], gravity=[1.0, 0.5, -G])
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 100.0), save=3)
    assert run.audit.ok
    assert run.stats["contacts"] == 3 * n * n * (n - 1) + 5 * n * n
    place = run.variables["position"].values
    np.testing.assert_allclose(place[1], place[0], atol=1e-15)
    np.testing.assert_array_equal(place[2], place[1])
    assert not run.variables["velocity"].values[1:].any()
