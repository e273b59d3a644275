"""The leapfrog: ends, loads and damping in the ledger, decay of a mode, what is refused."""

import numpy as np
import pytest
from crossed import ACROSS, ALONG, SECTION, UP, crossed_rods
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import stiction as st
from stiction.errors import ModelError
from stiction.rods.centreline import Straight
from stiction.rods.contact.model import RollingContact
from stiction.rods.methods import RollingLeapfrog, RollingMidpoint
from stiction.rods.model import Rods
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    Driven,
    Free,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    RigidMotion,
    SineVelocity,
)
from stiction.rods.section import CircularSection


def one(**more):
    """Return a single straight rod of 20 elements along x."""
    given = {"elements": 20, **{k: v for k, v in more.items() if k != "gravity"}}
    rod = CosseratRod(SECTION, Straight(-0.5 * ALONG, 0.5 * ALONG), **given)
    return Rods([rod], gravity=more.get("gravity", (0.0, 0.0, 0.0)))


def solved(system, step, end=0.1, save=51):
    """Return the run."""
    return st.solve(system, RollingLeapfrog(step), (0.0, end), save=save)


RISE = {"times": (0.0, 0.03, 0.06), "factors": (0.0, 1.0, 0.2)}
PLUCK = [SineVelocity(1, 0.5 * UP), SineVelocity(2, 0.3 * ALONG)]
CASES = {
    "driven": {"left": Driven([0.1, 0.2, 0.0], [0.0, 0.5, 1.0], rise=0.02)},
    "driven at once": {"right": Driven([0.0, 0.1, 0.1], [0.3, 0.0, 0.0]), "motion": PLUCK},
    "lifted": {"left": Driven(0.5 * UP, rise=0.02), "right": Free(), "gravity": (0.0, 0.0, -9.81)},
    "gravity": {"right": Free(), "gravity": (0.0, 0.0, -9.81)},
    "gravity on a moving rod": {"motion": PLUCK, "gravity": (0.0, 0.0, -9.81)},
    "pinned": {"left": Pinned(), "right": Pinned(), "motion": PLUCK},
    "line force": {"loads": [LineForce(2.0 * ACROSS, **RISE)]},
    "point force": {"right": Free(), "loads": [PointForce(0.5 * UP + ACROSS, 1.0, **RISE)]},
    "point moment": {"right": Free(), "loads": [PointMoment(0.01 * UP, 1.0, **RISE)]},
    "drag": {"motion": PLUCK, "drag": 3.0, "rotational_drag": 1e-3},
    "internal damping": {"motion": PLUCK, "internal_damping": 1e-4},
}


@pytest.mark.parametrize("name", CASES)
def test_the_ledger_closes_with_second_order(name):
    errors = []
    for step in (5e-5, 2.5e-5):
        energy = solved(one(**CASES[name]), step).energy
        errors.append(np.abs(energy.imbalance).max() / energy.scale)
        assert np.all(np.diff(energy.viscous_heat) >= -1e-15)
    assert errors[1] < 1e-4
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_ends_are_held():
    run = solved(one(left=Clamped(hold="element"), right=Pinned(), motion=PLUCK), 1e-4)
    x = run.data.position.values
    assert_allclose(x[:, [0, 1, -1]], x[[0]][:, [0, 1, -1]].repeat(51, 0), rtol=0, atol=0)
    assert np.abs(x[:, -2] - x[0, -2]).max() > 1e-4


@pytest.mark.parametrize("method", [RollingLeapfrog(1e-4), RollingMidpoint(2e-3)])
def test_a_driven_end_has_its_prescribed_motion(method):
    # the rise ends within a step of the midpoint rule
    end = Driven([0.1, 0.2, 0.0], [0.0, 0.0, 1.0], rise=0.041, hold="element")
    run = st.solve(one(left=end), method, (0.0, 0.1), save=51)
    t = run.time
    way = np.where(t < 0.041, 0.5 * t**2 / 0.041, t - 0.0205)
    x, rate = run.data.position.values, np.minimum(t / 0.041, 1.0)
    frame = Rotation.from_quat(run.data.frame.values[:, 0], scalar_first=True)
    turned = (frame * frame[0].inv()).as_rotvec()
    assert_allclose(turned, np.outer(way, [0.0, 0.0, 1.0]), rtol=0, atol=1e-12)
    speed = np.outer(rate, [0.1, 0.2, 0.0])
    assert_allclose(run.data.velocity.values[:, 0], speed, rtol=0, atol=1e-12)
    spin = np.outer(rate, [0.0, 0.0, 1.0])
    assert_allclose(run.data.angular_velocity.values[:, 0], spin, rtol=0, atol=1e-12)
    assert_allclose(x[:, 0] - x[0, 0], np.outer(way, [0.1, 0.2, 0.0]), rtol=0, atol=1e-12)
    arm = np.stack([np.cos(way), np.sin(way), 0.0 * way], axis=1) * 0.05
    assert_allclose(x[:, 1] - x[:, 0], arm, rtol=0, atol=1e-6)


def test_a_clamp_turns_about_any_axis():
    speed, spin = np.array([0.1, -0.2, 0.3]), np.array([2.0, 3.0, -4.0])
    way = np.array([2.0, 1.0, -2.0]) / 3.0
    end = Driven(speed, spin, hold="element")
    skew = CosseratRod(SECTION, Straight(0.0 * way, way), elements=20, left=end)
    run = solved(Rods([skew], gravity=(0.0, 0.0, 0.0)), 1e-4)
    t, x = run.time, run.data.position.values
    assert_allclose(x[:, 0] - x[0, 0], np.outer(t, speed), rtol=0, atol=1e-12)
    arm = Rotation.from_rotvec(np.outer(t, spin)).apply(0.05 * way)
    assert_allclose(x[:, 1] - x[:, 0], arm, rtol=0, atol=1e-6)


def test_a_free_rod_falls():
    run = solved(one(left=Free(), right=Free(), gravity=(0.0, 1.0, -9.81)), 1e-4)
    moved = run.data.position.values - run.data.position.values[0]
    way = 0.5 * run.time[:, None, None] ** 2 * np.array([0.0, 1.0, -9.81])
    assert_allclose(moved, np.broadcast_to(way, moved.shape), rtol=0, atol=1e-13)
    # the work of constant forces is exact, from the first half kick on
    assert run.energy.imbalance_rel <= 1e-12


@pytest.mark.parametrize("kind", ["drag", "internal_damping"])
def test_a_mode_of_stretching_decays_as_in_closed_form(kind):
    """Between pinned ends the nodes of a rod that only stretches are a chain of springs."""
    n, mode = 20, 1
    value = {"drag": 10.0, "internal_damping": 1e-3}[kind]
    damped = one(
        left=Pinned(), right=Pinned(), motion=[SineVelocity(mode, 1e-3 * ALONG)], **{kind: value}
    )
    omega = 2.0 * n * np.sin(0.5 * mode * np.pi / n)
    omega *= np.sqrt(SECTION.axial_stiffness / SECTION.line_density)
    rate = 0.5 * value / SECTION.line_density
    if kind == "internal_damping":
        rate = 0.5 * value * omega**2
    ring = np.sqrt(omega**2 - rate**2)
    run = solved(damped, 1e-5, 0.1, 101)
    moved = run.data.position.values[:, n // 2, 0] - run.data.position.values[0, n // 2, 0]
    exact = 1e-3 * np.exp(-rate * run.time) * np.sin(ring * run.time) / ring
    assert_allclose(moved, exact, rtol=0, atol=1e-4 * np.abs(exact).max())
    assert run.energy.viscous_heat[-1] > 0.1 * run.energy.kinetic[0]


def test_the_work_of_a_clamp_with_drag_is_of_second_order():
    end = Driven(0.5 * UP)
    runs = [solved(one(left=end, drag=50.0), step, 0.01, 2) for step in (5e-5, 2.5e-5, 1.25e-5)]
    for name in ("external_work", "viscous_heat"):
        first, second, third = (getattr(run.energy, name)[-1] for run in runs)
        assert abs(first - second) > 3.5 * abs(second - third)


@pytest.mark.parametrize(("friction", "drag"), [(st.Coulomb(0.3), 1.0), (None, 50.0)])
def test_damped_contact_closes_the_ledger(friction, drag):
    system = crossed_rods(friction=friction)
    drag = {"drag": drag, "internal_damping": 1e-5}
    rods = [CosseratRod(**{**fields(rod), **drag}) for rod in system.rods]
    errors = []
    for step in (5e-5, 2.5e-5):
        energy = solved(Rods(rods, system.contacts), step).energy
        errors.append(np.abs(energy.imbalance).max() / energy.kinetic.max())
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] > 3.0


def test_drag_on_a_contact_does_not_depend_on_saved_times():
    # the first interval has steps far shorter than the others
    system = crossed_rods(elements=20)
    rods = [CosseratRod(**{**fields(system.rods[0]), "drag": 500.0}), system.rods[1]]
    ends = [
        st.solve(Rods(rods, system.contacts), RollingLeapfrog(fraction=0.1), (0.0, 0.02), save=save)
        for save in ([0.0, 0.02], [0.0, 1e-7, 0.02])
    ]
    one_, two = (run.data.position.values[-1] for run in ends)
    assert np.abs(one_ - two).max() < 2e-6


def test_contacts_with_the_same_point_are_refused():
    system = crossed_rods(elements=20)
    with pytest.raises(ModelError, match="RollingContact 2: got the same contact point"):
        st.solve(Rods(system.rods, system.contacts * 2), RollingLeapfrog(), (0.0, 1e-3))
    # the same two rods in the other order; the point is not at the same element of both
    rods = [system.rods[0], CosseratRod(**{**fields(system.rods[1]), "elements": 16})]
    turned = [RollingContact(0.5, 0.5), RollingContact(0.5, 0.5, first=2, second=1)]
    with pytest.raises(ModelError, match="RollingContact 2: got the same contact point"):
        st.solve(Rods(rods, turned), RollingLeapfrog(), (0.0, 1e-3))


def fields(record):
    """Return the fields of a frozen record."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 0.0}, "step"),
        ({"step": np.nan}, "step"),
        ({"fraction": 1.5}, "at most 1"),
        ({"shake": 1}, "True or False"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_methods_are_refused(given, message):
    with pytest.raises(ModelError, match=message):
        RollingLeapfrog(**given)


def test_too_much_work_is_refused():
    with pytest.raises(ModelError, match="at least 1000 for this time span"):
        st.solve(one(), RollingLeapfrog(1e-4, max_steps=999), (0.0, 0.1))
    with pytest.raises(ModelError, match="for this time span"):
        st.solve(one(), RollingLeapfrog(fraction=5e-324), (0.0, 0.1))
    with pytest.raises(ModelError, match=r"RollingMidpoint\.step: got 1e-12 s"):
        st.solve(one(), RollingMidpoint(1e-12), (0.0, 0.1))


def test_other_systems_are_refused():
    with pytest.raises(ModelError, match=r"rods\.RollingLeapfrog: got .*; needs a RodSystem"):
        st.solve(st.switching.RelayFeedback(), RollingLeapfrog(1e-4), (0.0, 0.1))


@pytest.mark.parametrize("method", [RollingLeapfrog(), RollingMidpoint(2e-5)])
@pytest.mark.parametrize("damping", [0.0, 2e-3])
@pytest.mark.parametrize(
    ("velocity", "spin"),
    [((0.3, 0.0, 1.0), (0.0, 0.0, 0.0)), ((0.0, 0.0, 0.0), (25.0, 0.0, 0.0))],
)
@pytest.mark.parametrize("begin", [0.0, -7.0])
def test_clamps_that_move_from_the_start_have_their_energy(method, damping, velocity, spin, begin):
    """A rod that moves rigidly with both its clamps: no strain, so no heat and no work."""
    ends = Driven(velocity=velocity, angular_velocity=spin)
    rod = CosseratRod(
        CircularSection(0.01, 1e6),
        Straight([0, 0, 0], [0.5, 0, 0]),
        elements=8,
        left=ends,
        right=ends,
        motion=[RigidMotion(velocity, spin)],
        internal_damping=damping,
    )
    run = st.solve(Rods([rod]), method, (begin, begin + 0.01), save=3)
    section, density = CircularSection(0.01, 1e6), 1000.0
    mass = density * section.area * 0.5
    whole = 0.5 * mass * np.dot(velocity, velocity)
    whole += 0.5 * mass * 0.5 * 0.01**2 * np.dot(spin, spin)
    energy = run.energy
    assert energy.kinetic == pytest.approx(whole, rel=1e-9)
    assert abs(energy.viscous_heat[-1]) < 1e-12 * whole
    assert abs(energy.external_work[-1]) < 1e-8 * whole
    assert run.audit.ok
