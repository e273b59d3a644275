"""Rods on rigid cylinders, spheres and planes, fixed and driven, against rigid bodies."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st
from stiction.rods import (
    CircularSection,
    ContactSearch,
    CosseratRod,
    CylinderPartner,
    Free,
    PlanePartner,
    RigidMotion,
    RollingContact,
    SpherePartner,
    Straight,
)
from stiction.rods.assembly import assemble
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.observe_kernels import contact_rates, slip_drift
from stiction.rods.contact.state import ContactState
from stiction.rods.rod_kernels import drift

G, SLOPE, LENGTH = 9.81, 0.3, 0.4
DOWN = (G * math.sin(SLOPE), 0.0, -G * math.cos(SLOPE))
ROLLS = 2.0 / 3.0 * G * math.sin(SLOPE)


def stiff(radius, height, young=1e8, motion=(), elements=16, **more):
    """Return a free rod along y at a height."""
    line = Straight((0.0, -0.5 * LENGTH, height), (0.0, 0.5 * LENGTH, height))
    section = CircularSection(radius, young, density=1000.0)
    ends = {"left": Free(), "right": Free()}
    return CosseratRod(section, line, elements=elements, motion=motion, **ends, **more)


def solved(rod, partner, touch=None, gravity=DOWN, t_end=0.1, part=0.5, **more):
    """Return the run of one rod and one partner."""
    touches = () if touch is None else [touch]
    system = st.Rods([rod], touches, gravity=gravity, partners=[partner], **more)
    return st.solve(system, st.RollingLeapfrog(fraction=part), (0.0, t_end), save=21)


def acceleration(run):
    """Return the acceleration of the centre of mass along x."""
    x = run.data.position.values[:, :, 0]
    middle = 0.5 * (x[:, 1:] + x[:, :-1]).mean(axis=1)
    return 2.0 * np.polyfit(run.time, middle, 2)[0]


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 4.0])
def test_a_stiff_rod_rolls_down_a_cylinder(ratio):
    # 2/3 g sin(slope), whatever the radii
    fixed = CylinderPartner((-0.2, 0.0, 0.0), (0.4, 0.0, 0.0), 0.02 * ratio)
    touch = RollingContact(0.2, 0.2, friction=st.Coulomb(1.0))
    run = solved(stiff(0.02, 0.02 * (1.0 + ratio)), fixed, touch)
    assert acceleration(run) == pytest.approx(ROLLS, rel=1e-4)
    assert run.audit.ok
    assert np.nanmax(run.data.rolling_residual.values) <= 1e-12
    assert_allclose(run.data.contact_point.values[0], [0.0, 0.0, 0.02 * ratio], atol=1e-14)


def test_a_rod_rolls_down_a_plane():
    touch = RollingContact(0.2, 0.0, friction=st.Coulomb(1.0))
    run = solved(stiff(0.02, 0.02), PlanePartner(), touch)
    assert acceleration(run) == pytest.approx(ROLLS, rel=1e-4)
    # it lies in the plane too where a search finds all its points
    search = ContactSearch(friction=st.Coulomb(1.0))
    found = solved(stiff(0.02, 0.02, young=1e7), PlanePartner(), t_end=0.03, search=search)
    assert acceleration(found) == pytest.approx(ROLLS, rel=1e-4)


@pytest.mark.parametrize("spin", [(0.0, 0.0, 5.0), (3.0, 2.0, 0.0), (1.0, -2.0, 4.0)])
def test_drift_of_slip_on_a_turning_plane_is_its_rate_along_the_free_motion(spin):
    touch = RollingContact(0.2, 0.0, friction=st.Coulomb(1.0))
    plane = PlanePartner((0.3, 0.1, 0.0), velocity=(0.3, 0.1, 0.2), angular_velocity=spin)
    rods = st.Rods([stiff(0.02, 0.02)], [touch], partners=[plane])
    f = assemble(rods)
    random, own = np.random.default_rng(3), slice(0, f.first[1])
    f.v[:, own] = random.standard_normal(f.v[:, own].shape)
    f.p[:, own] = random.standard_normal(f.p[:, own].shape)

    def slip_after(time):
        r, q, k = f.r.copy(), f.q.copy(), ContactState(rods, f).contacts[0]
        drift(r, q, f.v, f.p, time)
        assert ck.locate(r, k) == ck.INSIDE
        return np.array(ck.slip_velocity(q, k, f.v, f.p))

    contact, out, eps = ContactState(rods, f).contacts[0], np.zeros(10), 1e-6
    ck.locate(f.r, contact)
    slip_drift(f.q, contact, f.v, f.p, *contact_rates(f.v, contact), out)
    change = (slip_after(eps) - slip_after(-eps)) / (2.0 * eps)
    assert_allclose(out[:3], change, rtol=0.0, atol=1e-7 * np.abs(change).max())


def test_a_rod_rolls_on_a_tilting_plane_with_the_force_of_its_acceleration():
    # on a plane that tilts at the rate W about the line of contact, the centre of a rod of radius a
    # moves at v - W a over it: Coriolis's acceleration -2 W (v - W a), centripetal one -W^2 a
    v, spin = 0.5, -1.0
    rolls = RigidMotion((v, 0.0, 0.0), (0.0, v / 0.02, 0.0))
    touch = RollingContact(0.2, 0.0, friction=st.Coulomb(2.0))
    plane = PlanePartner(angular_velocity=(0.0, spin, 0.0))
    rod = stiff(0.02, 0.02, young=1e6, motion=[rolls], elements=8)
    weight = (0.0, 0.0, -G)
    at_rest, tilting = (
        solved(rod, one, touch, weight, 1e-4).data.contact_force.values[0]
        for one in (PlanePartner(), plane)
    )
    expected = -2.0 * spin * (v - spin * 0.02) - spin**2 * 0.02
    assert tilting[2] / at_rest[2] == pytest.approx(1.0 + expected / G, rel=1e-6)


@pytest.mark.parametrize("partner", ["sphere", "cylinder"])
def test_force_on_a_turning_partner_is_the_rate_of_momentum_of_the_rod(partner):
    # the angular velocity is oblique to the axis of the partner: its frames precess
    spin, centre, end = (6.0, 0.0, 8.0), (0.0, 0.01, 0.0), (0.4, 0.01, 0.0)
    if partner == "sphere":
        one, pivot = SpherePartner(centre, 0.05, angular_velocity=spin), centre
    else:
        pivot = (-0.2, 0.01, 0.0)
        one = CylinderPartner(pivot, end, 0.05, angular_velocity=spin)
    rolls = RigidMotion(tuple(np.cross(spin, np.subtract((0.0, 0.01, 0.05), pivot))))
    rod = stiff(0.02, 0.07, young=1e6, motion=[rolls], elements=8)
    touch = RollingContact(0.21, 0.2, friction=st.Coulomb(50.0))
    system = st.Rods([rod], [touch], gravity=(0.0, 0.0, -G), partners=[one])
    run = st.solve(system, st.RollingLeapfrog(step=2e-6), (0.0, 4e-5), save=21)
    weight = LENGTH * rod.section.line_density * np.array([0.0, 0.0, -G])
    rate = np.gradient(run.data.momentum.values, run.time, axis=0)[4:-4] - weight
    force = run.data.contact_force.values[4:-4].reshape(-1, 3)
    assert_allclose(rate, force, rtol=0.0, atol=1e-6 * np.abs(force).max())


def test_rolling_without_slip_on_a_partner_that_accelerates_is_of_second_order():
    ball = SpherePartner((0.0, 0.01, 0.0), 0.05, angular_velocity=(6.0, 0.0, 8.0), rise=4e-3)
    rod, touch = stiff(0.02, 0.07, young=1e5, elements=8), RollingContact(0.21, 0.0)
    system = st.Rods([rod], [touch], gravity=(0.0, 0.0, -G), partners=[ball])
    runs = [
        st.solve(system, st.RollingLeapfrog(step=h), (0.0, 6.4e-4), save=41)
        for h in (1.6e-5, 8e-6, 4e-6)
    ]
    first, second, third = (run.data.momentum.values[-1] for run in runs)
    ratio = np.abs(first - second).max() / np.abs(second - third).max()
    assert ratio == pytest.approx(4.0, rel=0.01)
    # the recorded force is the rate of momentum
    weight = LENGTH * rod.section.line_density * np.array([0.0, 0.0, -G])
    rate = np.gradient(runs[-1].data.momentum.values, runs[-1].time, axis=0)[2:-2] - weight
    force = runs[-1].data.contact_force.values[2:-2].reshape(-1, 3)
    assert_allclose(rate, force, rtol=0.0, atol=1e-3 * np.abs(force).max())


@pytest.mark.parametrize("mu", [0.05, 50.0])
def test_work_and_heat_of_friction_on_a_partner_that_accelerates_are_of_second_order(mu):
    # it slips with the small coefficient, and rolls with the large one
    ball = SpherePartner((0.0, 0.01, 0.0), 0.05, angular_velocity=(6.0, 0.0, 8.0), rise=4e-3)
    rod = stiff(0.02, 0.07, young=1e5, elements=8)
    touch = RollingContact(0.21, 0.0, friction=st.Coulomb(mu))
    system = st.Rods([rod], [touch], gravity=(0.0, 0.0, -G), partners=[ball])
    ledgers = [
        st.solve(system, st.RollingLeapfrog(step=h), (0.0, 6.4e-4), save=3, throw=False).energy
        for h in (1.6e-5, 8e-6, 4e-6)
    ]
    for values in (
        [one.external_work[-1] for one in ledgers],
        [one.friction_heat[-1, 0] + one.algorithmic[-1] for one in ledgers],
    ):
        assert abs(values[0] - values[1]) > 3.5 * abs(values[1] - values[2])


def test_a_tip_bounces_off_a_sphere():
    # along its axis, at 1 m/s, onto the top of a sphere: an elastic impact of the end node
    section = CircularSection(0.02, 1e6, density=1000.0)
    ends = {"left": Free(), "right": Free()}
    line = Straight((0.0, 0.0, 0.055), (0.0, 0.0, 0.455))
    rod = CosseratRod(section, line, elements=10, motion=[RigidMotion((0.0, 0.0, -1.0))], **ends)
    search = ContactSearch(friction=st.Coulomb(0.3))
    ball, free = SpherePartner((0.0, 0.0, 0.0), 0.03), (0.0, 0.0, 0.0)
    # the impact shakes nodes as fast as they can: 1.9e-3 of the energy are missing at part=0.5
    run = solved(rod, ball, gravity=free, part=0.03, search=search)
    assert run.audit.ok
    first = run.events.iloc[0]
    assert first.kind == "close"
    assert first.time == pytest.approx(0.005, abs=1e-9)
    assert first.closing_speed == pytest.approx(1.0, rel=1e-9)
    assert run.data.position.values[:, 0, 2].min() > 0.05 - 1e-9
    # it comes back, up to what the end node lost
    assert run.data.momentum.values[-1, 2] > 0.8 * 0.4 * section.line_density


@pytest.mark.parametrize("rise", [0.0, 0.01])
def test_a_belt_carries_a_rod_with_a_third_of_its_speed(rise):
    # mu g t until the slip V - 3 mu g t is none: v = V / 3 of a solid cylinder
    belt = PlanePartner(velocity=(0.3, 0.0, 0.0), rise=rise)
    search = ContactSearch(friction=st.Coulomb(0.5))
    rod = stiff(0.02, 0.02, young=2e7, elements=12)
    run = solved(rod, belt, gravity=(0.0, 0.0, -G), t_end=0.04, search=search)
    mass = LENGTH * rod.section.line_density
    speed = run.data.momentum.values[-1, 0] / mass
    assert speed == pytest.approx(0.1, rel=1e-3)
    if rise == 0.0:
        # the drive gives m V^2 / 3, half of it heat
        assert run.energy.external_work[-1] == pytest.approx(mass * 0.03, rel=1e-2)
        assert run.energy.friction_heat[-1].sum() == pytest.approx(mass * 0.015, rel=1e-2)
    assert run.energy.imbalance_rel < 1e-4


def test_a_drum_drives_a_rod_in_contact():
    # no slip: the surface of the drum and the rod keep one speed, 8 rad/s times 0.05 m
    drum = CylinderPartner((0.0, -0.5, 0.0), (0.0, 0.5, 0.0), 0.05, angular_velocity=(0, 8.0, 0))
    line = Straight((-0.2, 0.0, 0.07), (0.2, 0.0, 0.07))
    section = CircularSection(0.02, 1e8, density=1000.0)
    motion = [RigidMotion((0.4, 0.0, 0.0))]
    rod = CosseratRod(section, line, elements=12, left=Free(), right=Free(), motion=motion)
    touch = RollingContact(0.2, 0.5, friction=None)
    run = solved(rod, drum, touch, gravity=(0.0, 0.0, 0.0), t_end=0.01)
    speed = run.data.momentum.values[:, 0] / (LENGTH * section.line_density)
    assert_allclose(speed, 0.4, rtol=1e-9)
    assert run.data.s1.values[-1] == pytest.approx(0.2 - 0.4 * 0.01, rel=1e-9)
    assert abs(run.energy.external_work[-1]) <= 1e-12


def test_a_bounce_beside_a_contact_that_a_belt_drags_closes_the_ledger():
    line = Straight((-0.2, 0.0, 0.01), (0.2, 0.0, 0.014))
    section = CircularSection(0.01, 3e6, density=1000.0)
    rod = CosseratRod(section, line, elements=16, left=Free(), right=Free())
    belt, mu = PlanePartner(velocity=(0.3, 0.0, 0.0)), st.Coulomb(0.2)
    near = RollingContact(0.05, 0.0, friction=mu)
    far = RollingContact(0.35, 0.0, friction=mu, restitution=0.5)
    system = st.Rods([rod], [near, far], partners=[belt], gravity=(0.0, 0.0, -G))
    # the ends of the rod, without contacts, overlap the belt
    run = st.solve(system, st.RollingLeapfrog(step=2e-5), (0.0, 0.028), save=15, throw=False)
    assert run.events["kind"].tolist() == ["close", "slip", "bounce"]
    assert run.energy.imbalance_rel <= 2e-4


def test_drag_on_a_rod_that_a_plane_lifts_is_the_work_of_the_plane():
    rod = stiff(0.02, 0.02, young=1e6, elements=10, motion=[RigidMotion((0, 0, 0.2))], drag=20.0)
    lift, search = PlanePartner(velocity=(0, 0, 0.2)), ContactSearch(friction=st.Coulomb(0.3))
    run = solved(rod, lift, gravity=(0, 0, -G), t_end=0.01, part=0.1, search=search)
    assert run.energy.viscous_heat[-1] == pytest.approx(20.0 * LENGTH * 0.2**2 * 0.01, rel=1e-9)
    assert run.energy.imbalance_rel < 1e-10


class Ball(SpherePartner):
    """A partner of a user."""


def test_partners_of_derived_classes_are_bodies():
    rod = stiff(0.02, 0.07, young=1e6, motion=[RigidMotion((0.0, 0.0, -1.0))])
    search, free = ContactSearch(friction=st.Coulomb(0.3)), (0.0, 0.0, 0.0)
    run = solved(rod, Ball((0.0, 0.0, 0.0), 0.04), gravity=free, t_end=0.012, search=search)
    assert run.events.kind.iloc[0] == "close"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: CylinderPartner((0, 0, 0), (0, 0, 0), 0.1), "CylinderPartner.end"),
        (lambda: CylinderPartner((0, 0, 0), (1, 0, 0), 0.0), "CylinderPartner.radius"),
        (lambda: SpherePartner((0, 0, 0), -1.0), "SpherePartner.radius"),
        (lambda: SpherePartner((0, 0, 0), 1.0, rise=-1.0), "SpherePartner.rise"),
        (lambda: PlanePartner(normal=(0, 0, 0)), "PlanePartner.normal"),
    ],
)
def test_bad_partners_are_refused(make, what):
    with pytest.raises(st.ModelError, match=what.replace(".", r"\.")):
        make()


def test_the_midpoint_rule_knows_no_partners():
    system = st.Rods([stiff(0.02, 0.03)], partners=[PlanePartner()])
    with pytest.raises(st.ModelError, match="rigid partners"):
        st.solve(system, st.rods.RollingMidpoint(1e-4), (0.0, 1e-3), save=2)


def test_partners_are_second_in_a_contact():
    with pytest.raises(st.ModelError, match="then partners, which are second"):
        st.Rods([stiff(0.02, 0.02)], [RollingContact(0.2, 0.2, 2, 1)], partners=[PlanePartner()])
