"""Stick is exact: no creep in a hundred thousand steps, alone, stacked, leaning, on a belt."""

import numpy as np
import pytest

import stiction as st

B = st.bodies


def drift(system, steps=2000, h=1e-3):
    run = st.solve(system, B.TimeStepper(h), (0.0, steps * h), save=5)
    assert run.audit.ok
    place = np.concatenate(
        [run.variables["position"].values, run.variables["angle"].values[..., None]], axis=2
    )
    return np.abs(place - place[0]).max(), run


def tilted(angle, mu, count=1, restitution=0.0):
    """Return boxes on top of each other on a slope."""
    n = np.array([-np.sin(angle), np.cos(angle)])
    boxes = [
        B.RigidBody(B.Box(1.0, 0.5), position=(0.25 + 0.5 * k) * n, angle=angle)
        for k in range(count)
    ]
    return B.RigidBodies(
        boxes, [B.Support(B.HalfPlane(n))], law=st.Coulomb(mu), restitution=restitution
    )


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("count", [1, 4])
def test_bodies_that_stick_rest_to_the_last_bit(count, restitution):
    for angle in (0.0, 0.1, 0.31, -0.2):
        moved, run = drift(tilted(angle, 0.5, count, restitution), 500)
        assert moved == 0.0
        assert run.energy.total_friction_heat[-1] == 0.0
        assert not run.variables["velocity"].values.any()


def test_bodies_that_only_lean_on_each_other_rest_together():
    """Two planks, each of which would fall alone."""
    a, length, width = 0.3, 1.0, 0.02
    half = np.array([0.5 * length * np.sin(a), 0.5 * length * np.cos(a)])
    foot = 0.5 * width * np.array([np.cos(a), np.sin(a)])
    # the lower outer corner of each stands on the floor, and the upper inner corners meet
    low = np.array([-half[0], -half[1]]) + np.array([foot[0], -foot[1]])
    top = np.array([half[0], half[1]]) + np.array([foot[0], -foot[1]])
    place = np.array([-top[0], -low[1]])
    planks = [
        B.RigidBody(B.Box(width, length), position=place, angle=-a),
        B.RigidBody(B.Box(width, length), position=[-place[0], place[1]], angle=a),
    ]
    system = B.RigidBodies(planks, [B.Support()], law=st.Coulomb(0.6))
    assert B.rests(system).may
    moved, run = drift(system, 200)
    assert run.quantities["bodies_at_rest"].value == 2
    assert moved < 1e-3


def test_a_body_that_slides_neither_lifts_nor_turns():
    cube = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5], velocity=[6.0, 0.0])
    run = st.solve(B.RigidBodies([cube], [B.Support()]), B.TimeStepper(1e-3), (0.0, 2.0))
    assert not np.ptp(run.variables["position"].values[:, 0, 1])
    assert not run.variables["angle"].values.any()


def test_a_disc_that_rolls_stays_on_the_floor():
    disc = B.RigidBody(B.Disc(0.3), position=[0.0, 0.3], velocity=[1.0, 0.0], spin=-1.0 / 0.3)
    run = st.solve(B.RigidBodies([disc], [B.Support()]), B.TimeStepper(1e-3), (0.0, 2.0))
    assert not np.ptp(run.variables["position"].values[:, 0, 1])
    np.testing.assert_allclose(run.variables["velocity"].values[:, 0, 0], 1.0, rtol=1e-12)
    assert set(run.events["to"]) == {"stick"}


def test_a_body_on_a_belt_has_its_velocity():
    belt = B.Support(velocity=[0.7, 0.0])
    box = B.RigidBody(B.Box(1.0, 0.5), position=[0.0, 0.25])
    run = st.solve(B.RigidBodies([box], [belt]), B.TimeStepper(1e-3), (0.0, 1.0))
    assert run.variables["velocity"].values[-1].tolist() == [[0.7, 0.0]]
    # the belt does the work of the kinetic energy and of the heat, each m V^2 / 2
    assert run.energy.external_work[-1] == pytest.approx(0.49, rel=1e-2)
    assert run.energy.total_friction_heat[-1] == pytest.approx(0.245, rel=1e-2)
    assert run.audit.ok


def test_a_body_that_rests_beside_a_belt():
    """A box is pressed against a wall that moves upwards along itself, and stays on the floor."""
    box = B.RigidBody(B.Box(0.5, 0.5), position=[0.25, 0.25], force=[-20.0, 0.0])
    wall = B.Support(B.HalfPlane([1.0, 0.0]), velocity=[0.0, 1.0])
    for supports in ([B.Support(), wall], [wall, B.Support()]):
        system = B.RigidBodies([box], supports, law=st.Coulomb(0.2))
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 2.0), save=5)
        assert not run.variables["velocity"].values.any()
        assert not run.variables["spin"].values.any()
        assert run.events["kind"].tolist() == ["contact", "contact"]


def test_a_disc_on_a_belt_rolls_and_is_not_fixed():
    """Friction m v = I w / r = p: the disc ends at a third of the belt's velocity."""
    disc = B.RigidBody(B.Disc(0.1), position=[0.0, 0.1])
    belt = B.Support(velocity=[0.9, 0.0])
    run = st.solve(B.RigidBodies([disc], [belt]), B.TimeStepper(1e-3), (0.0, 1.0))
    np.testing.assert_allclose(run.variables["velocity"].values[-1, 0], [0.3, 0.0], atol=1e-13)
    assert run.variables["spin"].values[-1, 0] == pytest.approx(6.0, rel=1e-12)


def test_a_group_on_the_floor_beside_free_bodies():
    boxes = [
        B.RigidBody(B.Box(1.0, 0.5), position=[0.0, 0.25]),
        B.RigidBody(B.Box(1.0, 0.5), position=[5.0, 3.0]),
    ]
    run = st.solve(B.RigidBodies(boxes, [B.Support()]), B.TimeStepper(1e-3), (0.0, 0.2))
    v = run.variables["velocity"].values[-1]
    assert v[0].tolist() == [0.0, 0.0]
    assert v[1, 1] == pytest.approx(-9.81 * 0.2, rel=1e-12)


def test_what_rests_is_saved_to_the_end():
    """A box that lands rests for the rest of the run: its later states cost nothing."""
    box = B.RigidBody(B.Box(1.0, 0.5), position=[0.0, 0.35])
    system = B.RigidBodies([box], [B.Support()])
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 50.0), save=101)
    assert run.t_end == 50.0
    assert run.stats["steps"] == 50000
    long, short = run.variables, st.solve(system, B.TimeStepper(1e-3), (0.0, 0.5), save=2).variables
    np.testing.assert_array_equal(long["position"].values[-1], short["position"].values[-1])
    np.testing.assert_allclose(long["normal_force"].values[-1], [9.81], rtol=1e-12)
    assert run.energy.imbalance_rel < 1e-12
