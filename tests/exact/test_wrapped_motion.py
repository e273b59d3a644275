"""Motion of rods in contact: sliding and rolling on a plane, a beam, a turning drum, units."""

import dataclasses

import numpy as np
import pytest
from wrapped_cases import capstan, wrapped_path

import stiction as st
from stiction.errors import ModelError
from stiction.rods import (
    CircularSection,
    CosseratRod,
    CylinderPartner,
    Driven,
    Free,
    LineForce,
    Pinned,
    PlanePartner,
    PointForce,
    RigidMotion,
    SineVelocity,
    Straight,
)

MU, G = 0.3, 9.81
SECTION = CircularSection(0.01, 1e6)
FLOOR = PlanePartner([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])


def thrown(velocity, steps, *, start=0.0, unit=1.0, elements=8, times=(0.0, 0.1, 0.5)):
    """Return the path of a rod that starts on the floor with a velocity, up to the last time."""
    section = CircularSection(0.01 * unit, 1e6 / unit, density=SECTION.density / unit**3)
    rod = CosseratRod(
        section, Straight([0, 0, 0.01 * unit], [0.2 * unit, 0, 0.01 * unit]), elements=elements,
        left=Free(), right=Free(), motion=[RigidMotion(np.multiply(velocity, unit).tolist())],
        loads=[LineForce([0.0, 0.0, -section.line_density * G * unit])],
    )  # fmt: skip
    times = start + np.array(times)
    law = st.Coulomb(MU)
    return wrapped_path(rod, [FLOOR], times, friction=law, inertia=True, steps=steps)


def test_a_rod_that_slides_along_itself():
    """v = v0 - mu g t, stop and exact rest; the place has an error of first order in the step."""
    exact, errors = 1.0 / (2.0 * MU * G), []
    for steps in (50, 100):
        path = thrown([1.0, 0.0, 0.0], steps)
        assert path.audit.ok
        np.testing.assert_allclose(path.velocity[1, :, 0], 1.0 - MU * G * 0.1, rtol=1e-9)
        np.testing.assert_allclose(path.velocity[2], 0.0, atol=1e-12)
        moved = path.position[2, :, 0] - path.position[0, :, 0]
        np.testing.assert_allclose(moved, moved.mean(), rtol=1e-5)
        errors.append(exact - moved.mean())
        assert path.energy.imbalance_rel < 1e-9
        heat = path.energy.total_friction_heat[-1] + path.energy.algorithmic[-1]
        assert heat == pytest.approx(path.energy.kinetic[0], rel=1e-6)
    assert errors[0] == pytest.approx(2.0 * errors[1], rel=0.01)
    assert 0.0 < errors[1] < 0.02 * exact


def test_saved_times_may_be_close_to_each_other():
    """Inertial forces over a short step have the rounding of places, over its square."""
    times = (0.0, 0.01, 0.01 + 1e-6, 0.02)
    path = thrown([1.0, 0.0, 0.0], 5, times=times)
    assert path.audit.ok
    mean = np.average(path.velocity[:, :, 0], axis=1, weights=[1.0] + [2.0] * 7 + [1.0])
    np.testing.assert_allclose(mean, 1.0 - MU * G * np.array(times), rtol=1e-8)


def test_a_rod_that_slides_across_itself_rolls():
    """Two thirds of the velocity remain, whatever mu is, and the rod rolls without slip."""
    path = thrown([0.0, 1.0, 0.0], 50)
    assert path.audit.ok
    np.testing.assert_allclose(path.velocity[2, :, 1], 2.0 / 3.0, rtol=1e-8)
    assert set(path.mode[2].tolist()) == {1}
    # translation, and rotation with half of it
    kinetic = 0.75 * (2.0 / 3.0) ** 2 * 0.2 * SECTION.line_density
    assert path.energy.kinetic[2] == pytest.approx(kinetic, rel=1e-7)
    assert path.energy.imbalance_rel < 1e-9


def test_units_and_start_time():
    """In another unit of length, and from another time on, the same motion."""
    path = thrown([0.8, 0.6, 0.0], 25)
    for start, unit in ((-40.0, 1.0), (0.0, 1e3)):
        other = thrown([0.8, 0.6, 0.0], 25, start=start, unit=unit)
        assert other.steps == path.steps
        np.testing.assert_allclose(other.velocity, path.velocity * unit, atol=1e-8 * unit)


def test_a_beam_that_vibrates():
    """A pinned beam in its first mode: error of first order, of second after extrapolation."""
    length, found = 1.0, []
    frequency = np.pi**2 * np.sqrt(SECTION.bending_stiffness / SECTION.line_density)
    quarter = 0.5 * np.pi / frequency
    for steps in (40, 80):
        beam = CosseratRod(
            SECTION, Straight([0, 0, 0], [length, 0, 0]), elements=20, left=Pinned(),
            right=Pinned(), motion=[SineVelocity(1, [0.0, 0.0, 1e-3])],
        )  # fmt: skip
        low = PlanePartner([0.0, 0.0, -1.0], [0.0, 0.0, 1.0])
        path = wrapped_path(beam, [low], [0.0, quarter], inertia=True, steps=steps)
        assert path.audit.ok
        found.append(float(path.position[1, 10, 2]) * frequency / 1e-3)
    # the scheme damps by exp(-w^2 h t / 2)
    assert found[0] == pytest.approx(np.exp(-0.5 * (0.5 * np.pi) ** 2 / 40), rel=5e-3)
    assert 2.0 * found[1] - found[0] == pytest.approx(1.0, rel=5e-3)


def test_a_rod_in_flight_keeps_its_momentum():
    """Without contact the mean velocity is constant, also of a rod that turns and deforms."""
    rod = CosseratRod(
        SECTION, Straight([0, 0, 1.0], [0.3, 0, 1.0]), elements=10, left=Free(), right=Free(),
        motion=[RigidMotion([1.0, 2.0, 0.5], [0.0, 3.0, 1.0]), SineVelocity(2, [0.0, 0.0, 0.1])],
    )  # fmt: skip
    path = wrapped_path(rod, [FLOOR], [0.0, 0.1], inertia=True, settle=False, steps=20)
    weights = np.ones(11)
    weights[[0, -1]] = 0.5
    mean = np.einsum("n,tnk->tk", weights, path.velocity) / 10.0
    np.testing.assert_allclose(mean[1], mean[0], atol=1e-9)
    assert path.audit.ok


def test_a_rod_that_falls_flat():
    """All nodes of a rod without tension meet the floor in one step, and rest on it."""
    rod = CosseratRod(
        SECTION, Straight([0, 0, 0.02], [0.2, 0, 0.02]), elements=8, left=Free(), right=Free(),
        loads=[LineForce([0.0, 0.0, -SECTION.line_density * G])],
    )  # fmt: skip
    path = wrapped_path(rod, [FLOOR], [0.0, 0.06], inertia=True, settle=False, steps=12)
    assert path.audit.ok
    np.testing.assert_allclose(path.position[-1, :, 2], SECTION.radius, rtol=1e-9)
    weight = SECTION.line_density * G * 0.2
    assert path.normal_force[-1].sum() == pytest.approx(weight, rel=1e-8)


def test_two_rods_that_collide():
    """Momentum is conserved at an impact with friction, also in short steps; rods at rest rest."""
    still = CosseratRod(
        SECTION, Straight([0.01, -0.1, 0.03], [0.01, 0.1, 0.03]), elements=10, left=Free(),
        right=Free(), natural_curvature=None,
    )  # fmt: skip
    moving = dataclasses.replace(
        still, centreline=Straight([-0.1, 0, 0], [0.1, 0, 0]),
        motion=[RigidMotion([0.3, 0.1, 1.0], [0.0, 0.0, 1.0])],
    )  # fmt: skip
    law = st.Coulomb(MU)
    more = {"friction": law, "inertia": True, "settle": False}
    path = wrapped_path([moving, still], [], [0.0, 0.02], steps=160, **more)
    assert (path.mode[-1] != 0).any() or path.energy.total_friction_heat[-1] > 0.0
    weights = np.ones(11)
    weights[[0, -1]] = 0.5
    total = np.einsum("n,tnk->tk", np.tile(weights, 2), path.velocity) / 10.0
    np.testing.assert_allclose(total[1], [0.3, 0.1, 1.0], atol=1e-9)
    assert {c.check: c.ok for c in path.audit.checks}["contacts_solved"]
    rest = wrapped_path([still], [FLOOR], [0.0, 0.02], steps=5, **more)
    assert rest.audit.ok
    assert np.abs(rest.velocity).max() < 1e-9


def turning_drum(speed, steps):
    """Return the path of a rope that is held on a drum that starts to turn, and the ratio."""
    rope, drum, ratio = capstan(MU, np.pi, 0.02, np.pi / 40, pull=0.0)
    section = dataclasses.replace(rope.section, mass=0.1, inertia=1e-5)
    rope = dataclasses.replace(rope, section=section, drag=3.0, rotational_drag=1.2e-3)
    drum = dataclasses.replace(drum, angular_velocity=[0.0, 0.0, -speed])
    times = np.linspace(0.0, 1.0, 41)
    law = st.Coulomb(MU)
    return wrapped_path(rope, [drum], times, friction=law, inertia=True, steps=steps), ratio


def test_a_drum_that_turns():
    """The rope slips on the whole drum: the ratio of forces is that of the capstan."""
    path, ratio = turning_drum(0.01, 100)
    assert path.audit.ok
    assert 2.45 < path.force_ratio[12:].min() < path.force_ratio[12:].max() < 2.57
    np.testing.assert_allclose(path.force_ratio[16:], ratio, rtol=1e-3)
    assert path.energy.imbalance_rel < 1e-6
    contacts = path.mode[-1] != 0
    assert (path.mode[-1][contacts] == 2).all()


def test_a_rope_holds_below_the_capstan_ratio_and_slides_above():
    """The loaded end rises to .97 and 1.03 of the closed form in half a second."""
    slips = []
    for factor in (0.97, 1.03):
        rope, drum, ratio = capstan(MU, np.pi, 0.02, np.pi / 24)
        ahead = np.array(rope.right.velocity)
        ahead /= np.linalg.norm(ahead)
        pull = PointForce(ahead.tolist(), at=1.0, times=[0.0, 0.5], factors=[1.0, factor * ratio])
        section = dataclasses.replace(rope.section, mass=0.1, inertia=1e-5)
        rope = dataclasses.replace(
            rope, right=Free(), loads=[*rope.loads, pull], section=section, drag=1.0
        )
        path = wrapped_path(
            rope, [drum], [0.0, 0.5, 1.0], friction=st.Coulomb(MU), inertia=True, steps=50
        )
        assert path.audit.ok
        slips.append(path.slip[2] - path.slip[1])
    # vibrations of the strands die away, and some nodes slip a little longer
    assert slips[0].max() < 5e-5
    assert slips[1].max() > 1e-3


def test_internal_damping_is_refused():
    """A rod with a retardation time has no model here; without inertia it has no effect."""
    rod = CosseratRod(SECTION, Straight([0, 0, 0.01], [1, 0, 0.01]), internal_damping=1e-3)
    with pytest.raises(ModelError, match=r"rods\[1\].internal_damping"):
        wrapped_path(rod, [FLOOR], [0.0, 1.0], inertia=True)


def test_a_driven_end_does_work():
    """An end that pulls a rod over the floor works against friction: the ledger closes."""
    rod = CosseratRod(
        SECTION, Straight([0, 0, 0.01], [0.2, 0, 0.01]), elements=8, left=Free(),
        right=Driven(velocity=[0.1, 0.0, 0.0], hold="section"),
        loads=[LineForce([0.0, 0.0, -SECTION.line_density * G])],
    )  # fmt: skip
    law = st.Coulomb(MU)
    path = wrapped_path(rod, [FLOOR], [0.0, 0.5], friction=law, inertia=True, steps=50)
    assert path.audit.ok
    friction = MU * path.normal_force[-1].sum()
    assert path.clamp_force[-1, 0, 1, 0] == pytest.approx(friction, rel=1e-3)
    assert path.energy.imbalance_rel < 1e-6


def test_a_cylinder_that_carries_a_rod():
    """A rod across a cylinder that moves with it does not slip, and gains its velocity."""
    rod = CosseratRod(
        SECTION, Straight([-0.1, 0, 0.06], [0.1, 0, 0.06]), elements=8, left=Free(), right=Free(),
        loads=[LineForce([0.0, 0.0, -SECTION.line_density * G])],
    )  # fmt: skip
    drum = CylinderPartner([0, -1, 0], [0, 1, 0], 0.05, velocity=[0.02, 0.0, 0.0])
    law = st.Coulomb(MU)
    path = wrapped_path(
        rod, [drum], [0.0, 0.05], friction=law, inertia=True, settle=False, steps=25
    )
    middle = path.velocity[-1, 4]
    # reason: the ends of the rod bend down and swing, and its middle turns with them
    assert middle[0] == pytest.approx(0.02, rel=0.05)
    assert path.audit.ok
