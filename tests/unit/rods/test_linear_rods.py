"""The linear rods against the energy, the rolling condition and the tangency they linearise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from references import reference
from scipy.interpolate import BSpline
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from stiction.errors import ModelError
from stiction.rods.linear_rods import (
    CrossedRods,
    _axes,
    _contact_places,
    _matrices,
    _rolling,
    linear_crossed_rods,
)

SMALL = CrossedRods(elements=18, angle=1.1, contact=(0.47, 0.52))


def case_g(rods):
    """Return the initial velocities of reference case G."""
    x = np.linspace(0.0, 1.0, rods.elements + 1)
    middle = 0.5 * (x[1:] + x[:-1])
    velocity, spin = np.zeros((2, x.size, 3)), np.zeros((2, middle.size, 3))
    # e_z x d_1 is along y
    velocity[0, :, 1] = 0.7 * np.sin(2.0 * np.pi * x) + 0.5 * np.sin(np.pi * x)
    velocity[0, :, 2] = np.sin(np.pi * x)
    spin[0, :, 0] = 2.0 * np.sin(np.pi * middle)
    return velocity, spin


def large_energy(rods, x):
    """Return the elastic energy of both rods at any amplitude, rotations as vectors."""
    n, spacing = rods.elements, rods.length / rods.elements
    stiff, bend, _, _ = rods.section
    nodes = x[: 6 * (n + 1)].reshape(2, n + 1, 3)
    turns = x[6 * (n + 1) :].reshape(2, n, 3)
    total = 0.0
    for rod in range(2):
        straight = np.outer(np.arange(n + 1) * spacing * (1.0 + rods.stretch), [0.0, 0.0, 1.0])
        frames = Rotation.from_rotvec(turns[rod])
        strain = frames.inv().apply(np.diff(straight + nodes[rod], axis=0) / spacing)
        strain[:, 2] -= 1.0
        curvature = (frames[:-1].inv() * frames[1:]).as_rotvec() / spacing
        total += 0.5 * spacing * float((strain**2 @ stiff).sum() + (curvature**2 @ bend).sum())
    return total


def test_stiffness_is_the_hessian_of_the_energy():
    stiffness, free = _matrices(SMALL)[1:]
    random = np.random.default_rng(1)
    for scale in ((1.0, 0.0), (0.0, 1.0), (0.1, 1.0)):
        x = np.zeros(stiffness.shape[0])
        x[free] = random.standard_normal(free.size)
        x[: 6 * 19] *= scale[0]
        x[6 * 19 :] *= scale[1]
        step = 3e-4
        ends = large_energy(SMALL, step * x) + large_energy(SMALL, -step * x)
        second = (ends - 2.0 * large_energy(SMALL, 0.0 * x)) / step**2
        assert_allclose(x @ stiffness @ x, second, rtol=1e-5)


def curve(rods, rod, x):
    """Return the contact curve of a displaced rod, as SciPy's cubic spline, in space."""
    n, spacing = rods.elements, rods.length / rods.elements
    t = rods.directions[rod]
    lift = np.array([0.0, 0.0, 2.0 * rods.radius * rod])
    straight = np.outer((np.arange(n + 1) * spacing - 0.5) * (1.0 + rods.stretch), t) + lift
    w = x[: 6 * (n + 1)].reshape(2, n + 1, 3)[rod] @ _axes(t)
    return BSpline(spacing * np.arange(-2, n + 3), straight + w, 3)


def test_contact_moves_as_tangency_demands():
    """The contact of curves bent by a small amount, found by Newton, in both directions."""
    rods = CrossedRods(elements=18, angle=1.1, contact=(0.5, 0.5))
    size, free = _matrices(rods)[1].shape[0], _matrices(rods)[2]
    x = np.zeros(size)
    x[free] = 1e-2 * np.random.default_rng(2).standard_normal(free.size)

    def contact(y):
        one, two = curve(rods, 0, y), curve(rods, 1, y)

        def uneven(s):
            apart = two(s[1]) - one(s[0])
            return [apart @ one(s[0], 1), apart @ two(s[1], 1)]

        return fsolve(uneven, rods.contact, xtol=1e-14)

    step = 1e-4
    found = (contact(step * x) - contact(-step * x)) / (2.0 * step)
    assert_allclose(contact(0.0 * x), rods.contact, atol=1e-12)
    assert_allclose(_contact_places(rods, x[None, :])[0], found, rtol=1e-5)


def test_axes_are_right_handed():
    """Rotations are vectors only there."""
    for t in SMALL.directions:
        assert_allclose(np.linalg.det(_axes(t)), 1.0, atol=1e-15)
        assert_allclose(_axes(t)[2], t)


def test_rolling_transmits_no_slip_to_a_rigid_pair():
    """A rigid motion of both rods together slips nowhere."""
    roll = _rolling(SMALL)
    n, spacing = 18, 1.0 / 18
    omega, drift = np.array([0.3, -0.7, 0.9]), np.array([0.1, 0.2, -0.4])
    places = SMALL.contact
    x = []
    for rod, t in enumerate(SMALL.directions):
        lift = np.array([0.0, 0.0, 2.0 * SMALL.radius * rod])
        at = np.outer(np.arange(n + 1) * spacing - places[rod], t) + lift
        x.append((drift + np.cross(omega, at)) @ _axes(t).T)
    frames = [np.tile(_axes(t) @ omega, (n, 1)) for t in SMALL.directions]
    rate = np.concatenate([np.ravel(part) for part in (*x, *frames)])
    assert_allclose(roll @ rate, 0.0, atol=1e-14)


def test_equations_of_motion_by_differences():
    """The returned motion obeys M x'' + K x = J^T lam and J x' = 0, and starts as asked."""
    velocity, spin = case_g(SMALL)
    mass, stiffness, free = _matrices(SMALL)
    roll, step = _rolling(SMALL), 2e-6
    motion = linear_crossed_rods(SMALL, 0.03 + step * np.arange(-1.0, 2.0), velocity, spin)
    axes = np.stack([_axes(t) for t in SMALL.directions])
    parts = (motion.displacement, motion.rotation)
    local = [np.einsum("rij,trkj->trki", axes, part).reshape(3, -1) for part in parts]
    x = np.concatenate(local, axis=1)
    inertia = mass * (x[2] - 2.0 * x[1] + x[0]) / step**2
    forces = roll.T @ motion.contact_force[1] - stiffness @ x[1]
    assert_allclose(inertia[free], forces[free], atol=1e-4 * np.abs(forces).max())
    assert_allclose(roll @ x.T, 0.0, atol=1e-15)
    start = linear_crossed_rods(SMALL, np.array([0.0, step]), velocity, spin)
    far = np.abs(start.displacement[1, 0, 3] / step - velocity[0, 3]).max()
    assert far < 1e-4 * np.abs(velocity).max()


def test_start_is_that_of_the_reference():
    """Kinetic energy after the projection, which masses, spline and rolling condition decide."""
    rods = CrossedRods()
    motion = linear_crossed_rods(rods, np.array([0.0]), *case_g(rods))
    known = reference("rods.json")["G_two_crossed_rods_3d"]
    assert_allclose(motion.kinetic, known["K0"], rtol=1e-14)
    assert motion.s1[0] == 0.5
    assert_allclose(motion.contact_force, 0.0, atol=1e-12)


def test_motion_is_linear_and_its_modes_are_stable():
    times = np.linspace(0.0, 0.2, 5)
    velocity, spin = case_g(SMALL)
    one = linear_crossed_rods(SMALL, times, velocity, spin)
    two = linear_crossed_rods(SMALL, times, 2.0 * velocity, 2.0 * spin)
    assert_allclose(two.s1 - 0.47, 2.0 * (one.s1 - 0.47), rtol=1e-10, atol=1e-15)
    assert_allclose(two.contact_force, 2.0 * one.contact_force, rtol=1e-9, atol=1e-9)
    assert one.frequencies.size == 2 * (15 * 3 + 16 * 3) - 3
    assert one.frequencies.min() > 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"elements": 5},
        {"elements": 100_000},
        {"radius": -1.0},
        {"poisson": 0.6},
        {"stretch": -0.1},
        {"angle": 0.1},
        {"angle": 4.0},
        {"contact": (0.1, 0.5)},
        {"young": float("nan")},
    ],
)
def test_bad_rods_are_refused(change):
    with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
        CrossedRods(**change)


def test_bad_velocities_are_refused():
    velocity, spin = case_g(SMALL)
    with pytest.raises(ModelError, match="velocity"):
        linear_crossed_rods(SMALL, np.zeros(1), velocity[0], spin)
    with pytest.raises(ModelError, match="spin"):
        linear_crossed_rods(SMALL, np.zeros(1), velocity, spin * np.nan)
    with pytest.raises(ModelError, match="spin"):
        linear_crossed_rods(SMALL, np.zeros(1), velocity, "a")
    for time in ([0.0, np.nan], 1.0, [[0.0, 1.0]]):
        with pytest.raises(ModelError, match=r"linear_crossed_rods\.time"):
            linear_crossed_rods(SMALL, time, velocity, spin)
