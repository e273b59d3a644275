"""Impacts: restitution, accumulation, energy, losses of determinism."""

import numpy as np
import pytest

import stiction as st

B = st.bodies


def balls(e, places, speeds, **others):
    bodies = [
        B.RigidBody(B.Disc(0.1), position=[x, 0.0], velocity=[v, 0.0])
        for x, v in zip(places, speeds, strict=True)
    ]
    return B.RigidBodies(bodies, gravity=[0.0, 0.0], restitution=e, **others)


def end(system, t=1.0, h=1e-3):
    run = st.solve(system, B.TimeStepper(h), (0.0, t), save=2)
    return run, run.variables["velocity"].values[-1, :, 0]


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_two_balls_obey_newtons_law(e):
    run, v = end(balls(e, [-0.4, 0.0], [1.0, 0.0]))
    np.testing.assert_allclose(v, [0.5 * (1.0 - e), 0.5 * (1.0 + e)], atol=1e-14)
    assert run.energy.impact_loss[-1] == pytest.approx(0.25 * (1.0 - e * e), abs=1e-13)
    assert run.determinism.status == "deterministic"
    assert run.quantities["impacts"].value == 1


def test_the_cradle_reports_that_two_outcomes_are_admissible():
    run, v = end(balls(1.0, [-0.5, 0.0, 0.2], [1.0, 0.0, 0.0]))
    np.testing.assert_allclose(v, [-1 / 3, 2 / 3, 2 / 3], rtol=1e-12)
    (loss,) = run.determinism.losses
    assert loss.kind == "simultaneous_impacts"
    assert loss.where == {
        "impact_of": "body 1 and body 2",
        "while_in_contact": "body 2 and body 3",
    }
    # with a gap between the others one impact follows the other, and nothing is lost
    run, v = end(balls(1.0, [-0.5, 0.0, 0.21], [1.0, 0.0, 0.0]))
    np.testing.assert_allclose(v, [0.0, 0.0, 1.0], atol=1e-12)
    assert run.determinism.status == "deterministic"


def test_each_cradle_reports_its_loss():
    """Two cradles at one time; a ball that hits two balls at once is one loss."""
    bodies = [
        B.RigidBody(B.Disc(0.1), position=[x, y], velocity=[v, 0.0])
        for y in (0.0, 5.0)
        for x, v in ((-0.305, 1.0), (0.0, 0.0), (0.2, 0.0))
    ]
    side = 0.1 * 3.0**0.5
    bodies += [
        B.RigidBody(B.Disc(0.1), position=[x, 10.0 + y], velocity=[v, 0.0])
        for x, y, v in ((-0.105 - side, 0.0, 1.0), (0.0, 0.1, 0.0), (0.0, -0.1, 0.0))
    ]
    system = B.RigidBodies(bodies, gravity=[0.0, 0.0], restitution=1.0)
    run = st.solve(system, B.TimeStepper(1e-2), (0.0, 0.15), save=2)
    hits = [loss.where["impact_of"] for loss in run.determinism.losses]
    assert hits == ["body 1 and body 2", "body 4 and body 5", "body 7 and body 8"]


def test_a_ball_that_bounces_comes_to_rest():
    """It rests after sqrt(2 h / g) (1 + e) / (1 - e), to ten steps."""
    e, g, height = 0.5, 10.0, 0.45
    exact = np.sqrt(2.0 * height / g) * (1.0 + e) / (1.0 - e)
    for h in (2e-3, 5e-4, 1.25e-4):
        ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.1 + height])
        system = B.RigidBodies([ball], [B.Support()], gravity=[0.0, -g], restitution=e)
        run = st.solve(system, B.TimeStepper(h), (0.0, 1.6), save=2)
        last = run.events["time"][run.events["kind"] == "impact"].iloc[-1]
        assert abs(last - exact) < 10.0 * h
        assert run.quantities["bodies_at_rest"].value == 1
        # reason: impacts are late by up to half a step
        assert run.energy.impact_loss[-1] == pytest.approx(g * height, abs=0.1 * h)


def test_newtons_law_creates_no_energy():
    """Kane's pendulum of rods is not here: a rod that falls on its end with slip shows the same."""
    reduced = 0
    rng = np.random.default_rng(5)
    for _ in range(60):
        a = rng.uniform(0.2, 1.4)
        size = 0.5 * (np.sin(a) + 0.02 * np.cos(a))
        rod = B.RigidBody(
            B.Box(1.0, 0.02), position=[0.0, size + 0.02], angle=a,
            velocity=[rng.uniform(-5.0, 5.0), -1.0], spin=rng.uniform(-5.0, 5.0),
        )  # fmt: skip
        system = B.RigidBodies(
            [rod], [B.Support()], gravity=[0.0, 0.0], restitution=0.9, law=st.Coulomb(1.5)
        )
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.05), save=20, throw=False)
        total = run.energy.kinetic
        assert (np.diff(total) <= 1e-12 * total[0]).all()
        reduced += run.stats["restitution_reduced"]
    assert reduced > 0


def test_groups_do_not_feel_each_other():
    """A rod that falls on its end, and a ball far away that bounces in the same step."""
    a = 0.82969
    rod = B.RigidBody(
        B.Box(1.0, 0.02), position=[0.0, 0.5 * (np.sin(a) + 0.02 * np.cos(a)) + 0.02], angle=a,
        velocity=[0.63038, -1.0], spin=-0.08216,
    )  # fmt: skip
    ends = []
    for mass in (None, 1.0, 1e-3):
        others = [] if mass is None else [
            B.RigidBody(B.Disc(0.1), mass=mass, position=[50.0, 0.121], velocity=[0.0, -1.0])
        ]  # fmt: skip
        system = B.RigidBodies(
            [rod, *others], [B.Support()], gravity=[0.0, 0.0], restitution=0.9, law=st.Coulomb(1.5)
        )
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.05), save=2, throw=False)
        assert run.stats["restitution_reduced"] == 1
        ends.append([run.final[name][0] for name in ("velocity_x", "velocity_y", "spin")])
        assert run.final["velocity_y"][1:].tolist() == pytest.approx([0.9] * len(others))
    np.testing.assert_array_equal(ends[1], ends[0])
    np.testing.assert_array_equal(ends[2], ends[0])


def test_an_impact_with_friction_divides_its_loss():
    """A disc that lands while it spins: the loss of the step is that of the impact."""
    disc = B.RigidBody(B.Disc(0.1), position=[0.0, 0.2], velocity=[0.0, -1.0], spin=30.0)
    system = B.RigidBodies([disc], [B.Support()], gravity=[0.0, 0.0], law=st.Coulomb(0.3))
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.3), save=50)
    # p_n = 1, p_t = 0.3 opposes the slip of 3 m/s
    v = run.variables["velocity"].values[-1, 0]
    np.testing.assert_allclose(v, [-0.3, 0.0], atol=1e-13)
    assert run.variables["spin"].values[-1, 0] == pytest.approx(30.0 - 0.3 * 0.1 / 0.005, rel=1e-12)
    assert run.energy.total_friction_heat[-1] == 0.0
    before, after = 0.5 + 0.5 * 0.005 * 900.0, 0.5 * 0.09 + 0.5 * 0.005 * 24.0**2
    assert run.energy.impact_loss[-1] == pytest.approx(before - after, rel=1e-12)
    assert run.audit.ok


def test_the_loss_of_contacts_that_are_pushed():
    """A disc that leaves a wall is pushed back by another one: all energy is lost in impacts."""
    bodies = [
        B.RigidBody(B.Disc(0.1), position=[x, 0.0], velocity=[v, 0.0])
        for x, v in ((0.1 - 1e-7, 0.5), (0.3 - 2e-7, -2.0))
    ]
    wall = B.Support(B.HalfPlane([1.0, 0.0]))
    run, v = end(B.RigidBodies(bodies, [wall], gravity=[0.0, 0.0]), 1e-6, 1e-7)
    np.testing.assert_allclose(v, 0.0, atol=1e-14)
    assert run.energy.impact_loss[-1] == pytest.approx(0.5 * (0.25 + 4.0), rel=1e-12)
    assert abs(run.energy.algorithmic[-1]) < 1e-12


@pytest.mark.parametrize("frame", np.linspace(0.05, 1.2, 24).tolist())
def test_rounding_is_no_impact(frame):
    """A box is thrown along a slope on which it lies."""
    along, normal = [np.cos(frame), np.sin(frame)], np.array([-np.sin(frame), np.cos(frame)])
    box = B.RigidBody(
        B.Box(1.0, 0.5), position=0.25 * normal, angle=frame, velocity=-3.0 * np.array(along)
    )
    run, _ = end(B.RigidBodies([box], [B.Support(B.HalfPlane(normal))]), 0.01)
    assert run.events["kind"].tolist() == ["contact"]
    assert run.energy.impact_loss[-1] == 0.0
