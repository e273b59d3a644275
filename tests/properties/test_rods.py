"""Symmetries of two rods in contact, and energy for any start."""

import dataclasses

import numpy as np
from crossed import SECTION, crossed_rods
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import stiction as st
from stiction.rods.centreline import Straight
from stiction.rods.contact.model import RollingContact
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import GivenMotion

N, STEP, SPAN = 20, 1e-4, (0.0, 0.02)
part = some.floats(-1.0, 1.0, allow_nan=False)


def case(motions, turn=None, shift=(0.0, 0.0, 0.0), **contact):
    """Return crossed rods with node velocities, turned and moved as a whole."""
    turn = Rotation.identity() if turn is None else turn
    plain = crossed_rods(elements=N, **contact)
    rods = []
    for rod, velocity in zip(plain.rods, motions, strict=True):
        ends = [turn.apply(rod.nodes()[k]) + np.asarray(shift) for k in (0, -1)]
        motion = [GivenMotion(turn.apply(velocity))]
        rods.append(dataclasses.replace(rod, centreline=Straight(*ends), motion=motion))
    return Rods(rods, plain.contacts)


def motions(seed, size=0.3):
    """Return smooth random node velocities of both rods."""
    random = np.random.default_rng(seed)
    x = np.linspace(0.0, np.pi, N + 1)
    waves = np.stack([np.sin(k * x) for k in (1, 2, 3)])
    return [waves.T @ (size * random.standard_normal((3, 3))) for _ in range(2)]


def solved(system, step=STEP, span=SPAN):
    """Return the run."""
    return st.solve(system, RollingLeapfrog(step), span, save=11)


def assert_same(run, other, names=("s1", "s2", "lambda_n"), tolerance=1e-9):
    """Assert that contact data agree, the second with the names in order."""
    for mine, name in zip(("s1", "s2", "lambda_n"), names, strict=True):
        a, b = run.data[mine].values, other.data[name].values
        assert_allclose(b, a, rtol=0.0, atol=tolerance * max(1.0, np.abs(a).max()), err_msg=mine)


@settings(max_examples=8, deadline=None)
@given(some.integers(0, 99), some.tuples(part, part, part), some.tuples(part, part, part))
def test_turning_and_moving_everything_changes_nothing(seed, turn, shift):
    start = motions(seed)
    moved = case(start, Rotation.from_rotvec(3.0 * np.array(turn)), shift)
    assert_same(solved(case(start)), solved(moved))


@settings(max_examples=6, deadline=None)
@given(some.integers(0, 99))
def test_swapping_the_rods_swaps_the_places(seed):
    system = case(motions(seed))
    swapped = Rods(system.rods[::-1], system.contacts)
    assert_same(solved(system), solved(swapped), ("s2", "s1", "lambda_n"))


@settings(max_examples=6, deadline=None)
@given(some.integers(0, 99), part, part, part)
def test_units_do_not_matter(seed, length, mass, time):
    """Lengths, masses and times measured in other units."""
    a, m, t = (float(np.exp(x)) for x in (length, mass, time))
    start = motions(seed)
    system = case(start)
    section = dataclasses.replace(
        SECTION, radius=a * SECTION.radius, young=m / (a * t**2) * 1e6, density=m / a**3 * 1e3
    )
    rods = [
        dataclasses.replace(
            rod,
            section=section,
            centreline=Straight(a * rod.nodes()[0], a * rod.nodes()[-1]),
            length=a,
            motion=[GivenMotion(a / t * velocity)],
        )
        for rod, velocity in zip(system.rods, start, strict=True)
    ]
    other = Rods(rods, [RollingContact(0.5 * a, 0.5 * a)])
    run, scaled = solved(system), solved(other, STEP * t, (0.0, SPAN[1] * t))
    for name, unit in (("s1", a), ("s2", a), ("lambda_n", m * a / t**2)):
        values = run.data[name].values
        bound = 1e-9 * max(1.0, np.abs(values).max())
        assert_allclose(scaled.data[name].values / unit, values, rtol=0.0, atol=bound)


@settings(max_examples=10, deadline=None)
@given(some.integers(0, 999), some.sampled_from([0.0, 0.1, 0.5, 2.0]), some.floats(0.0, 1.0))
def test_any_start_closes_the_budget(seed, friction, restitution):
    system = case(motions(seed), friction=st.Coulomb(friction), restitution=restitution)
    run = solved(system, 5e-5, (0.0, 0.05))
    energy = run.energy
    assert run.status.name == "SOLVED"
    assert np.abs(energy.imbalance).max() <= 1e-3 * energy.scale
    assert np.all(np.diff(energy.friction_heat, axis=0) >= -1e-15 * energy.scale)
    assert np.all(np.diff(energy.impact_loss) >= -1e-15 * energy.scale)
    assert run.data.gap.values.min() >= -1e-6
