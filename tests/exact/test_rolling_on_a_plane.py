"""A rod on a plane against the closed forms of rigid cylinders, and its energy when elastic."""

import numpy as np
import pytest
from plane_oracle import RollingRod

import stiction as st
from stiction.exact.rolling_cylinder import (
    incline_acceleration,
    rolling_bound,
    slide_time,
    slip_heat,
)
from stiction.rods.centreline import Arc, Straight
from stiction.rods.methods import PlaneLeapfrog
from stiction.rods.plane.model import RodOnPlane
from stiction.rods.rod import CosseratRod, Free, RigidMotion, SineVelocity
from stiction.rods.section import CircularSection

G, RADIUS, LENGTH = 9.81, 0.02, 0.5
SECTION = CircularSection(RADIUS, 1e6, density=1000.0)
MASS = SECTION.line_density * LENGTH


def straight(*motion, height=0.0, elements=8):
    """Return a straight free rod along y that touches the plane, or stands above it."""
    ends = [0.0, -LENGTH / 2, RADIUS + height], [0.0, LENGTH / 2, RADIUS + height]
    return CosseratRod(
        SECTION, Straight(*ends), elements=elements, left=Free(), right=Free(), motion=motion
    )


def incline(angle, mu, rod=None, **more):
    """Return a rod on a slope; None rolls without slip."""
    friction = None if mu is None else st.Coulomb(mu)
    gravity = [G * np.sin(angle), 0.0, -G * np.cos(angle)]
    return RodOnPlane(rod or straight(), friction=friction, gravity=gravity, **more)


def solved(system, t_end=0.3, part=0.25, save=7):
    """Return the run."""
    return st.solve(system, PlaneLeapfrog(fraction=part), (0.0, t_end), save=save)


def fallen(part, mu=0.3, **more):
    """Return the run of an arch that falls over, bends, bounces, slips and rolls."""
    arc = Arc([0.0, -0.25, RADIUS + 0.02], [0.0, 1.0, 0.1], [1.0, 0.0, 0.0], 0.6, 0.9)
    motion = RigidMotion([0.3, 0.0, 0.0])
    rod = CosseratRod(
        SECTION, arc, elements=8, left=Free(), right=Free(), motion=motion, natural_curvature=None
    )
    return solved(incline(0.0, mu, rod, **more), 0.15, part, 51)


@pytest.mark.parametrize("mu", [None, 1e6, 0.12])
def test_rolling_down_an_incline(mu):
    assert 0.09 < rolling_bound(0.3) < 0.12
    run = solved(incline(0.3, mu))
    acceleration = incline_acceleration(0.3, 1e6 if mu is None else mu, G)
    assert acceleration == pytest.approx(2.0 / 3.0 * G * np.sin(0.3), rel=1e-15)
    x = run.data["position"].values[:, :, 0]
    assert np.abs(x - 0.5 * acceleration * run.time[:, None] ** 2).max() < 1e-12
    assert (run.data["contact_mode"] == 1).all()
    ratio = run.data["friction_ratio"].values
    assert np.abs(ratio - rolling_bound(0.3)).max() < 1e-9
    assert run.energy.imbalance_rel < 1e-12
    assert run.energy.total_friction_heat[-1] < 1e-14
    assert run.audit.ok


@pytest.mark.parametrize("mu", [0.09, 0.05, 0.0])
def test_slipping_down_an_incline(mu):
    run = solved(incline(0.3, mu))
    acceleration = incline_acceleration(0.3, mu, G)
    x = run.data["position"].values[:, :, 0]
    assert np.abs(x - 0.5 * acceleration * run.time[:, None] ** 2).max() < 1e-12
    # the rod turns by 2 mu g cos / a, so that the surface slips at the difference
    slip = (acceleration - 2.0 * mu * G * np.cos(0.3)) * run.time[-1]
    assert run.data["slip_speed"].values[-1] == pytest.approx(slip, rel=1e-10)
    heat = mu * MASS * G * np.cos(0.3) * 0.5 * slip * run.time[-1]
    assert run.energy.total_friction_heat[-1] == pytest.approx(heat, rel=1e-9, abs=1e-15)
    assert run.energy.imbalance_rel < 1e-11


def test_thrown_cylinder_slides_then_rolls():
    v0, mu = 1.0, 0.2
    run = solved(incline(0.0, mu, straight(RigidMotion([v0, 0.0, 0.0]))))
    rolls_at = slide_time(v0, mu, G)
    events = run.events
    assert set(events["kind"]) == {"stick"}
    assert np.abs(events["time"] - rolls_at).max() <= 1.5 * run.stats["step"]
    assert run.data["momentum"].values[-1, 0] / MASS == pytest.approx(2.0 / 3.0 * v0, rel=1e-12)
    lost = slip_heat(MASS, v0)
    assert run.energy.total_friction_heat[-1] == pytest.approx(lost, rel=1e-5)
    assert run.energy.imbalance_rel < 1e-11
    assert (np.diff(run.energy.friction_heat, axis=0) >= 0.0).all()


def test_dropped_rod_bounces_by_its_restitution():
    height, e = 0.05, 0.5
    run = solved(incline(0.0, 0.3, straight(height=height), restitution=e), 0.3)
    first = np.sqrt(2.0 * height / G)
    second = first * (1.0 + 2.0 * e)
    times = np.unique(run.events["time"].to_numpy())
    assert times[:2] == pytest.approx([first, second], abs=1e-12)
    drop = MASS * G * height
    after = (run.time > first) & (run.time < second)
    assert run.energy.impact_loss[after] == pytest.approx((1.0 - e**2) * drop, rel=1e-9)
    assert run.energy.imbalance_rel < 1e-10


def test_a_spinning_rod_is_stopped_by_slip():
    # turning about the vertical: torque mu g sum m |s|, the exact one of the nodes
    spin, mu, n = 6.0, 0.2, 8
    run = solved(incline(0.0, mu, straight(RigidMotion(angular_velocity=[0, 0, spin]))), 0.1)
    s = np.linspace(-LENGTH / 2, LENGTH / 2, n + 1)
    share = np.where(np.abs(s) > 0.99 * LENGTH / 2, 0.5, 1.0) * MASS / n
    inertia = share @ s**2 + LENGTH * SECTION.line_inertia
    rate = spin - mu * G * (share @ np.abs(s)) / inertia * run.time
    ends = run.data["position"].values[:, -1] - run.data["position"].values[:, 0]
    turned = np.unwrap(np.arctan2(ends[:, 1], ends[:, 0])) - np.pi / 2
    expected = 0.5 * (spin + rate) * run.time
    # reason: the rod bends under its friction, by 1e-2 of a radius at this stiffness
    assert turned == pytest.approx(expected, abs=3e-3)
    assert turned[-1] > 0.4


def test_limits_of_no_friction_and_of_much():
    free = fallen(0.25, mu=0.0)
    assert free.energy.total_friction_heat[-1] == 0.0
    assert np.ptp(free.data["momentum"].values[:, :2], axis=0).max() < 1e-12
    much, perfect = fallen(0.25, mu=1e9), fallen(0.25, mu=None)
    x = much.data["position"].values, perfect.data["position"].values
    assert np.abs(x[0] - x[1])[:20].max() < 1e-9
    assert (much.data["contact_mode"] != 2).all()


@pytest.mark.parametrize("more", [{}, {"restitution": 0.5}, {"tangential_restitution": 0.5}])
def test_an_elastic_rod_that_rolls_slips_and_lifts_conserves_energy(more):
    run = fallen(0.05, **more)
    assert run.energy.imbalance_rel < 2e-4
    assert (np.diff(run.energy.friction_heat, axis=0) >= 0.0).all()
    assert (np.diff(run.energy.impact_loss) >= -1e-12).all()
    assert run.energy.impact_loss[-1] > 0.0
    kinds = {"bounce"} if more.get("restitution") else {"close", "open"}
    assert set(run.events["kind"]) >= kinds
    assert run.data["gap"].values.min() > -1e-6 * RADIUS
    assert run.audit.ok


def test_the_budget_closes_to_a_millionth_in_second_order():
    # 186 events; the error falls by four with each halving through all of them
    runs = [fallen(part) for part in (0.025, 0.0125, 0.00625)]
    errors = [np.abs(run.energy.imbalance).max() / run.energy.kinetic.max() for run in runs]
    assert {1, 2} <= set(np.unique(runs[-1].data["contact_mode"]))
    assert errors[-1] < 5e-7
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert ((orders > 1.8) & (orders < 2.2)).all()


def test_energy_error_is_of_second_order():
    # in-plane bending of a rod that rolls: all nodes keep touching, no event
    rolls = RigidMotion([0.2, 0.0, 0.0], [0.0, 0.2 / RADIUS, 0.0])
    rod = straight(rolls, SineVelocity(2, [0.01, 0.0, 0.0]))
    errors = []
    for step in (2e-4, 1e-4, 5e-5):
        run = st.solve(incline(0.0, None, rod), PlaneLeapfrog(step), (0.0, 0.05), save=11)
        assert (run.data["contact_mode"] == 1).all()
        errors.append(np.abs(run.energy.imbalance).max())
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert ((orders > 1.8) & (orders < 2.2)).all()


def test_an_elastic_rod_rolls_like_its_dense_equations():
    n, t = 6, 0.02
    motion = [RigidMotion([0.3, 0.0, 0.0]), SineVelocity(2, [0.05, 0.0, 0.0])]
    rod = straight(*motion, elements=n)
    shear, axial = SECTION.shear_stiffness, SECTION.axial_stiffness
    bend, twist = SECTION.bending_stiffness, SECTION.twist_stiffness
    oracle = RollingRod(
        n,
        LENGTH / n,
        RADIUS,
        np.array([shear, shear, axial]),
        np.array([bend, bend, twist]),
        SECTION.line_density,
        SECTION.line_inertia * np.array([1.0, 1.0, 2.0]),
    )
    nodes = rod.nodes()
    frame = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    velocity = sum(part.velocity_at(nodes) for part in motion)
    expected = oracle.run(nodes, np.tile(frame, (n, 1, 1)), velocity, np.zeros((n, 3)), t)
    errors = []
    for step in (1e-4, 5e-5, 2.5e-5):
        run = st.solve(incline(0.0, None, rod), PlaneLeapfrog(step), (0.0, t), save=2)
        assert (run.data["contact_mode"] == 1).all()
        errors.append(np.abs(run.data["position"].values[-1] - expected).max())
    # the rod bends by 5e-4 m
    assert errors[-1] < 1e-9
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert ((orders > 1.8) & (orders < 2.2)).all()
