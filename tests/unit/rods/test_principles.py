"""Two principles for rolling: closed forms of both, and how they differ."""

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.rods.principles import (
    CrossedCylinders,
    Skate,
    VerticalDisk,
    dalembert,
    rough,
    vakonomic,
)

TIMES = np.linspace(0.0, 10.0, 101)


def turning_disk(turn=0.5, roll=1.0):
    """Return a disk with its start: it rolls along x and turns."""
    disk = VerticalDisk()
    return disk, [0.0, 0.0, 0.0, 0.0], [disk.radius * roll, 0.0, turn, roll]


def crossed(u, turn, y, heading=1.0):
    """Return crossed cylinders with a start that rolls: speed across the axis, turning, place."""
    rod = CrossedCylinders()
    spin = -(u - turn * y / np.sin(heading)) / rod.radius
    v = [-u * np.sin(heading), u * np.cos(heading), turn, spin]
    return rod, [0.0, y, heading, 0.0], v


def test_disk_against_its_closed_forms():
    disk, q, v = turning_disk()
    real = dalembert(disk, q, v, TIMES)
    circle = np.array([2.0 * np.sin(0.5 * TIMES), 2.0 * (1.0 - np.cos(0.5 * TIMES))])
    assert np.abs(real.q[:2] - circle).max() < 1e-10
    assert np.abs(real.q[2:] - np.array([0.5 * TIMES, TIMES])).max() < 1e-10
    # the vakonomic rate of roll follows the heading: (I + m R^2) roll' = C + R A cos(heading)
    other = vakonomic(disk, q, v, TIMES)
    rate = (0.5 + np.cos(other.q[2])) / 1.5
    assert np.abs(other.v[3] - rate).max() < 1e-9
    turning = 0.25 * other.v[2] ** 2 + 1.5 * rate**2
    assert np.ptp(turning) < 1e-9
    assert np.abs(other.q[:2] - circle).max() > 3.0


def test_the_multiplier_at_the_start_decides():
    disk, q, v = turning_disk()
    real = dalembert(disk, q, v, TIMES)
    # with m(0) = -m x'(0) the disk happens to roll as it should; every other value is wrong
    assert np.abs(vakonomic(disk, q, v, TIMES, [-1.0, 0.0]).q - real.q).max() < 1e-8
    ends = [vakonomic(disk, q, v, TIMES, [m, 0.0]).q[:2, -1] for m in (-2.0, -0.5, 0.0, 1.0)]
    gaps = [np.linalg.norm(end - real.q[:2, -1]) for end in ends]
    assert min(gaps) > 1.0
    apart = [np.linalg.norm(a - b) for i, a in enumerate(ends) for b in ends[:i]]
    assert min(apart) > 0.1


def test_straight_rolling_is_unstable_in_the_vakonomic_way():
    disk, q, v = turning_disk(turn=1e-7)
    times = np.linspace(0.0, 4.0, 41)
    growth = 1.0 * np.sqrt(disk.mass * disk.radius**2 / disk.heading_inertia)
    expected = 1e-7 / growth * np.sinh(growth * times)
    assert vakonomic(disk, q, v, times).q[2] == pytest.approx(expected, rel=1e-5, abs=1e-12)
    assert dalembert(disk, q, v, times).q[2] == pytest.approx(1e-7 * times, rel=1e-6, abs=1e-15)


def test_skate_against_its_closed_form():
    skate, q, v = Skate(), [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    real = dalembert(skate, q, v, TIMES)
    cycloid = [0.5 * np.sin(TIMES) ** 2, 0.5 * (TIMES - 0.5 * np.sin(2.0 * TIMES))]
    assert np.abs(real.q[:2] - np.array(cycloid)).max() < 1e-10
    # vakonomic with m(0) = 0: heading'' = (g t)^2 sin(2 heading) / 2, speed g t cos(heading)
    other = vakonomic(skate, q, v, TIMES)
    speed = other.v[0] * np.cos(other.q[2]) + other.v[1] * np.sin(other.q[2])
    assert np.abs(speed - TIMES * np.cos(other.q[2])).max() < 1e-8
    # on the slope a real skate never gets below g / (2 w^2); the other one does, far
    assert real.q[0].max() < 0.5 + 1e-10
    assert other.q[0].max() > 5.0


@pytest.mark.parametrize(("length", "duration"), [(1e-9, 1.0), (1e-6, 1e-3), (1e6, 1e4)])
def test_units_do_not_change_the_skate(length, duration):
    skate = Skate(pull=length / duration**2, inertia=length**2)
    q, v, times = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0 / duration], np.linspace(0.0, 4.0, 21)
    cycloid = [0.5 * np.sin(times) ** 2, 0.5 * (times - 0.5 * np.sin(2.0 * times))]
    found = dalembert(skate, q, v, duration * times).q[:2] / length
    np.testing.assert_allclose(found, cycloid, atol=1e-10)
    # friction 1e4 times that of the unit system gives the constraint up to 1e-4
    strong = rough(skate, q, v, duration * times, 1e4 / duration).q[:2] / length
    unit = rough(Skate(), q, [0.0, 0.0, 1.0], times, 1e4).q[:2]
    np.testing.assert_allclose(strong, unit, atol=1e-7)


def test_both_keep_energy_and_condition():
    skate, q, v = Skate(), [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    for motion in (dalembert(skate, q, v, TIMES), vakonomic(skate, q, v, TIMES)):
        assert np.ptp(motion.energy) < 1e-9
        assert motion.slip.max() < 1e-10


def test_crossed_cylinders_keep_their_integral():
    rod, q, v = crossed(0.5, 0.3, 0.05)
    times = np.linspace(0.0, 1.0, 51)

    def saved(motion):
        across = -motion.v[0] * np.sin(motion.q[2]) + motion.v[1] * np.cos(motion.q[2])
        return rod.spin_inertia * motion.v[3] - rod.radius * rod.mass * across

    real, other = dalembert(rod, q, v, times), vakonomic(rod, q, v, times)
    # the contact force turns the rod about its axis with the lever of its radius
    assert np.ptp(saved(real)) < 1e-12
    assert np.ptp(saved(other)) > 1e-3
    assert abs(rod.place(real.q)[-1] - rod.place(other.q)[-1]) > 0.02


def test_crossed_cylinders_without_turning_roll_straight():
    rod, q, v = crossed(0.5, 0.0, 0.0)
    times = np.linspace(0.0, 1.0, 11)
    for motion in (dalembert(rod, q, v, times), vakonomic(rod, q, v, times)):
        # the sheet: s2' = (a / sin phi) cos(phi) spin for a rod that only turns about its axis
        place = rod.radius * np.cos(1.0) / np.sin(1.0) * motion.q[3]
        assert rod.place(motion.q) == pytest.approx(place, abs=1e-12)


def test_strong_friction_gives_dalembert():
    rod, q, v = crossed(0.5, 0.3, 0.05)
    times = np.linspace(0.0, 1.0, 21)
    real, other = dalembert(rod, q, v, times), vakonomic(rod, q, v, times)
    far = [np.abs(rough(rod, q, v, times, c).q - real.q).max() for c in (1e2, 1e3, 1e4)]
    assert 9.0 < far[0] / far[1] < 11.0
    assert 9.0 < far[1] / far[2] < 11.0
    assert np.abs(rough(rod, q, v, times, 1e4).q - other.q).max() > 0.2


def test_slopes_are_derivatives():
    rng = np.random.default_rng(3)
    for body in (VerticalDisk(), Skate(), CrossedCylinders()):
        q = 0.7 + 0.3 * rng.random(body.masses.size)
        slope = body.condition_slope(q)
        for j in range(q.size):
            step = np.zeros(q.size)
            step[j] = 1e-6
            found = (body.condition(q + step) - body.condition(q - step)) / 2e-6
            assert np.abs(found - slope[:, :, j]).max() < 1e-8


def test_a_start_that_slips_is_refused():
    for speed in (1.0, 1e-13):
        with pytest.raises(ModelError, match="slips by"):
            dalembert(VerticalDisk(), [0.0] * 4, [speed, 0.0, 0.0, 0.0], TIMES)
    with pytest.raises(ModelError, match="slips by nan"):
        dalembert(CrossedCylinders(), [0.0] * 4, [0.0, 0.0, 1.0, 0.0], TIMES)
    with pytest.raises(ModelError, match="positive"):
        Skate(mass=-1.0)


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0]])
def test_times_increase(times):
    with pytest.raises(ModelError, match="increase strictly"):
        dalembert(Skate(), [0.0] * 3, [0.0] * 3, times)
