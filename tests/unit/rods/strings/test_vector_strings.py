"""The linear vector model against point scattering, the scalar strands and finite differences."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError, SolveError
from stiction.rods.linear_rods import CrossedRods
from stiction.rods.strings.strand_motion import strand_motion
from stiction.rods.strings.strand_state import StrandPair
from stiction.rods.strings.vector_strings import VectorStrings, vector_motion


def circular(**change):
    """Return strings with the V and Q of a circular section, scaled to speeds near one."""
    stiff, bend, line, turn = CrossedRods(radius=0.1, young=1.0, density=1.0).section
    inertia = np.diag(np.concatenate([np.full(3, line), turn])) / line
    stiffness = np.diag(np.concatenate([stiff, bend])) / line
    rate = np.zeros((6, 2))
    rate[:, 0] = [0.02, -0.03, 0.01, 0.2, 0.1, -0.3]
    rate[:, 1] = [0.01, 0.02, -0.02, -0.1, 0.3, 0.2]
    given = {"radius": 0.1, "angle": 1.1, "s1": 0.45, "s2": 0.55, "rate1": rate}
    return VectorStrings(inertia, stiffness, **{**given, **change})


def free_motion(system, rod, s, t, rate):
    """Return (t, 6) phi_t of the waves that started with `rate`, as if there were no contact."""
    c, shapes = system.waves
    amplitude = shapes.T @ system.inertia @ rate
    k = np.arange(1, rate.shape[1] + 1) * np.pi / system.length
    swing = np.cos(c[:, None, None] * k[:, None] * t)
    return np.einsum("mn,nk,nkt,kt->tm", shapes, amplitude, swing, np.sin(np.outer(k, s)))


def test_force_of_the_point_contact():
    """Before an echo the force is that of the 3 x 3 scattering, with the moving contact."""
    system = circular()
    times = np.linspace(0.0, 0.24, 4)
    force, wanted = [], []
    for width in (0.02, 0.01, 0.005):
        run = vector_motion(system, times, width)
        one = free_motion(system, 0, run.s1, times, system.rate1)
        grip = system.grips[0] @ np.linalg.inv(system.waves[1])
        point = [
            -np.linalg.solve(system.impedance(*rates), grip @ w)
            for rates, w in zip(run.rates, one, strict=True)
        ]
        force.append(run.contact_force[1:])
        wanted.append(np.array(point)[1:])
    gaps = [f - w for f, w in zip(force, wanted, strict=True)]
    sizes = [np.abs(gap).max() for gap in gaps]
    order = np.log2(sizes[0] / sizes[1]), np.log2(sizes[1] / sizes[2])
    assert 0.7 < order[0] < 1.3
    assert 0.85 < order[1] < 1.15
    assert np.abs(2.0 * gaps[2] - gaps[1]).max() < 0.4 * sizes[2]


def test_rolling_holds_and_energy_stays():
    system = circular()
    run = vector_motion(system, np.linspace(0.0, 3.0, 7), 0.03, step=0.1)
    shapes = system.waves[1]
    one, two = (grip @ np.linalg.inv(shapes) for grip in system.grips)
    slip = run.motion[:, 0] @ one.T + run.motion[:, 1] @ two.T
    assert_allclose(slip, 0.0, atol=1e-14)
    assert_allclose(run.energy, run.energy[0], rtol=2e-7)
    assert np.ptp(run.s1) > 1e-4


def test_order_in_the_step():
    system, times = circular(), np.array([0.0, 0.8])
    ends = [vector_motion(system, times, 0.04, step=h).s1[-1] for h in (0.4, 0.2, 0.1)]
    order = np.log2(abs(ends[0] - ends[1]) / abs(ends[1] - ends[2]))
    assert 3.5 < order < 4.6


def test_contact_stays_tangential():
    """Finite differences of kappa . r' give what the contact moves by, with the delta in it."""
    system, h = circular(), 1e-4
    whole = vector_motion(system, np.array([0.0, 0.3 - h, 0.3, 0.3 + h]), 0.03, step=0.05)
    change = (whole.tilt[3] - whole.tilt[1]) / (2.0 * h)
    kappa, t2 = np.array([0.0, 0.2, 0.0]), system.turn[:, 2]
    spin = whole.motion[2, 0, 3:] + system.turn @ whole.motion[2, 1, 3:]
    apart = 0.5 * np.cross(spin, kappa)
    rate1, rate2 = whole.rates[2]
    cosine = np.cos(system.angle)
    left = [
        apart[2] + change[0] - rate1 + cosine * rate2,
        apart @ t2 + change[1] - cosine * rate1 + rate2,
    ]
    assert_allclose(left, 0.0, atol=1e-6 * np.abs(whole.rates).max())


def test_mobility_of_twist():
    """Rods that only twist move the contact by the physical G of the formulas sheet."""
    system = circular()
    u_t, v_t, none = 0.3, -0.7, np.zeros((2, 3))
    motion = np.zeros((2, 6))
    motion[0, 5], motion[1, 5] = u_t, v_t
    by = system.radius / np.sin(system.angle)
    cosine = np.cos(system.angle)
    wanted = [by * (v_t + cosine * u_t), by * (u_t + cosine * v_t)]
    assert_allclose(system.contact_rates(motion, none, none), wanted, rtol=1e-13)


def test_waves_of_a_general_pair():
    """Speeds of coupled V and Q, from the generalised eigenproblem."""
    random = np.random.default_rng(3)
    a, b = random.standard_normal((2, 6, 6))
    inertia, stiffness = a @ a.T + 6.0 * np.eye(6), b @ b.T + np.eye(6)
    c, shapes = VectorStrings(inertia, stiffness).waves
    assert_allclose(stiffness @ shapes, inertia @ shapes * c**2, atol=1e-12)
    assert_allclose(shapes.T @ inertia @ shapes, np.eye(6), atol=1e-13)


@pytest.mark.parametrize(
    "change",
    [
        {"inertia": -np.eye(6)},
        {"stiffness": np.ones((6, 6))},
        {"stiffness": np.eye(5)},
        {"inertia": np.eye(6) + np.eye(6, k=1)},
        {"angle": 0.05},
        {"s1": 1.5},
        {"radius": float("nan")},
        {"rate1": np.zeros((5, 2))},
    ],
)
def test_bad_strings_are_refused(change):
    with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
        dataclasses.replace(circular(), **change)


def test_bad_bumps_are_refused():
    with pytest.raises(ModelError, match="width"):
        vector_motion(circular(), np.array([0.0, 1.0]), 0.2)
    with pytest.raises(ModelError, match="width"):
        vector_motion(circular(), np.array([0.0, 1.0]), -0.1)
    with pytest.raises(ModelError, match="modes"):
        vector_motion(circular(), np.array([0.0, 1.0]), 1e-5)
    for time, width, more in (
        ([], 0.04, {}),
        ([0.0, 0.05, 0.03], 0.04, {}),
        ([0.0, np.nan], 0.04, {}),
        ([0.0, 0.05], None, {}),
        ([0.0, 0.05], 0.04, {"step": -1.0}),
        ([0.0, 0.05], 0.04, {"step": 100.0}),
    ):
        with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
            vector_motion(circular(), time, width, **more)


def test_contact_near_an_end_stops():
    system = circular(rate1=60.0 * circular().rate1)
    with pytest.raises(SolveError, match=r"Why.*\nTry"):
        vector_motion(system, np.array([0.0, 5.0]), 0.03)


def test_one_wave_is_the_reduced_string():
    """Thin rods that move towards each other alone: F = 1, a contact that stays, one speed c."""
    rate = np.zeros((6, 2))
    rate[1] = 0.1, -0.2
    thin = circular(radius=1e-9, angle=np.pi / 2.0, rate1=rate)
    times, width = np.linspace(0.0, 2.0, 5), 0.03
    run = vector_motion(thin, times, width)
    c = np.sqrt(thin.stiffness[1, 1] / thin.inertia[1, 1])

    def none(x):
        return 0.0 * x

    pair = StrandPair(
        speed=(c, c),
        length=(1.0, 1.0),
        mobility=(0.0, 0.0),
        ratio=1.0,
        start=(0.45, 0.55),
        periodic=False,
        drag=0.0,
        resistance=0.0,
        shapes=(none, none),
        rates=(lambda x: 0.1 * np.sin(np.pi * x) - 0.2 * np.sin(2.0 * np.pi * x), none),
    )
    strands = strand_motion(pair, times, width)
    assert_allclose(run.contact_force[:, 1], -strands.contact_force, atol=1e-6)
    assert_allclose(run.contact_force[:, [0, 2]], 0.0, atol=1e-9)
    assert_allclose(run.modes[:, 1, 1, :4], strands.amplitude[:, 1, :4], atol=1e-8)
    assert np.abs(strands.contact_force).max() > 0.05
