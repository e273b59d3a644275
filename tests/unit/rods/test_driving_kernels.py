"""Kernels of clamps and loads against rigid motion by SciPy's rotations."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction.rods import driving_kernels as kernels
from stiction.rods.rod_kernels import MATERIAL_ROWS, material_of

pytestmark = pytest.mark.usefixtures("plain_kernels")

TIMES, FACTORS = np.array([1.0, 2.0, 4.0]), np.array([0.5, 2.5, 1.5])
NONE = np.zeros(0)
# slots: a node, a frame, a node that slides
NODE, FRAME, SLIDES = 1, 2, 3


@pytest.mark.parametrize(
    ("t", "factor", "slope"),
    [
        (0.0, 0.5, 0.0), (1.0, 0.5, 2.0), (1.5, 1.5, 2.0), (2.0, 2.5, -0.5), (3.0, 2.0, -0.5),
        (4.0, 1.5, 0.0), (9.0, 1.5, 0.0),
    ],
)  # fmt: skip
def test_histories_are_piecewise_linear(t, factor, slope):
    assert kernels.load_factor(TIMES, FACTORS, 0, 3, t) == pytest.approx(factor)
    assert kernels.load_slope(TIMES, FACTORS, 0, 3, t) == pytest.approx(slope)
    # a part of the entries is a history of its own; none is constant
    assert kernels.load_factor(TIMES, FACTORS, 1, 3, 0.0) == 2.5
    assert kernels.load_factor(TIMES, FACTORS, 0, 2, 9.0) == 2.5
    assert kernels.load_factor(TIMES, FACTORS, 2, 2, t) == 1.0


def drives(history=False, rise=0.5, since=0.25):
    """Return a driven node, frame and sliding node of one clamp."""
    rng = np.random.default_rng(3)
    made = kernels.Drive.table(3)
    frame = rng.normal(size=4)
    starts = [rng.normal(size=4), frame / np.linalg.norm(frame), rng.normal(size=4)]
    spin = np.array([0.3, -1.1, 0.7])
    if history:
        spin /= np.linalg.norm(spin)
    for k, slot in enumerate((NODE, FRAME, SLIDES)):
        d = made[k]
        d.slot, d.is_frame, d.slides = slot, int(slot == FRAME), int(slot == SLIDES)
        d.first, d.last = 0, 3 if history else 0
        d.origin[:], d.velocity[:] = [0.1, 0.2, 0.3], [0.0] * 3 if history else [1.0, -2.0, 0.5]
        d.spin[:], d.start[:], d.rise, d.since = spin, starts[k], rise, since
    return made


def path(d, late):
    """Return by what a motion is multiplied, its rate, and the rate of that."""
    if d.last > d.first:
        knots = np.searchsorted(TIMES, late, side="right")
        inside = 0 < knots < 3
        slope = np.diff(FACTORS) / np.diff(TIMES)
        return np.interp(late, TIMES, FACTORS), slope[knots - 1] if inside else 0.0, 0.0
    if late < d.rise:
        return 0.5 * late**2 / d.rise, late / d.rise, 1.0 / d.rise
    return late - 0.5 * d.rise, 1.0, 0.0


def turn(d, tau):
    return Rotation.from_rotvec(np.array(d.spin) * tau)


def place(d, tau):
    """Return where a node of a clamp is: it moves and turns about its origin."""
    origin, start = np.array(d.origin), np.array(d.start)[:3]
    return origin + tau * np.array(d.velocity) + turn(d, tau).apply(start - origin)


def rotation(q):
    w, x, y, z = q
    return Rotation.from_quat([x, y, z, w])


def state(seed=1):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(4, 5))
    q /= np.linalg.norm(q, axis=0)
    return rng.normal(size=(3, 5)), q, rng.normal(size=(3, 5)), rng.normal(size=(3, 5))


LATE = [-0.1, 0.1, 0.3, 0.5, 1.5, 3.0, 5.0]


@pytest.mark.parametrize("late", LATE[1:])
@pytest.mark.parametrize("history", [False, True])
def test_paths_and_rates(late, history):
    d = drives(history)[0]
    tau, rate, grow = path(d, late)
    assert kernels.profile_of(d, TIMES, FACTORS, late) == pytest.approx(tau)
    assert kernels.rate_of(d, TIMES, FACTORS, late) == pytest.approx((rate, grow))


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("now", [0.3, 0.6, 1.5, 2.7])
@pytest.mark.parametrize("h", [0.01, 0.2])
def test_a_step_ends_where_the_clamp_is_then(history, now, h):
    r, q, v, p = state()
    before = p.copy()
    made = drives(history)
    kernels.follow_clamps(r, q, v, p, made, TIMES, FACTORS, now, h)
    node, frame = made[0], made[1]
    late = now - node.since + h
    tau = path(node, late)[0]
    np.testing.assert_allclose(
        r[:, NODE] + h * v[:, NODE], place(node, tau), rtol=1e-10, atol=1e-12
    )
    # a frame turns by the mean rate of the step; its axial part counts twice
    back = path(frame, late - h)[0] if late - h >= 0.0 else 0.0
    mean = (tau - back) / h
    spin = mean * np.array(frame.spin)
    axis = rotation(q[:, FRAME]).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(p[:, FRAME], spin + (spin @ axis) * axis, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(p[:, [0, NODE, SLIDES, 4]], before[:, [0, NODE, SLIDES, 4]])


def test_the_first_step_may_begin_a_rounding_before_the_start():
    end, steps = 0.03, 28
    h = end / steps
    early = end - steps * h
    assert early < 0.0
    r, q, v, p = state()
    made = drives(rise=0.0, since=0.0)
    kernels.follow_clamps(r, q, v, p, made, NONE, NONE, early, h)
    node, spin = made[0], np.array(made[1].spin)
    np.testing.assert_allclose(r[:, NODE] + h * v[:, NODE], place(node, h), rtol=1e-10, atol=1e-12)
    axis = rotation(q[:, FRAME]).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(p[:, FRAME], spin + (spin @ axis) * axis, rtol=1e-12)
    assert kernels.profile_of(node, NONE, NONE, early) == 0.0
    assert kernels.rate_of(node, NONE, NONE, early) == (1.0, 0.0)


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("now", [0.25, 0.3, 1.5, 2.7])
def test_frames_are_turned_from_their_start(history, now):
    _, q, _, _ = state()
    before = q.copy()
    made = drives(history)
    kernels.place_frames(q, made, TIMES, FACTORS, now)
    d = made[1]
    tau = path(d, now - d.since)[0]
    wanted = turn(d, tau) * rotation(np.array(d.start))
    assert (wanted * rotation(q[:, FRAME]).inv()).magnitude() == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(q[:, FRAME]) == pytest.approx(1.0)
    np.testing.assert_array_equal(q[:, [0, 1, 3, 4]], before[:, [0, 1, 3, 4]])


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("now", [0.4, 1.5, 2.7])
def test_velocities_and_rates_are_derivatives_of_the_place(history, now):
    """By differences of the rigid motion."""
    made = drives(history)
    d, frame = made[0], made[1]
    r, q, v, p = state()
    tau = path(d, now - d.since)[0]
    r[:, NODE] = place(d, tau)
    kernels.clamp_velocities(r, q, v, p, made, TIMES, FACTORS, now)
    h = 1e-4
    at = [place(d, path(d, now + k * h - d.since)[0]) for k in (-1, 0, 1)]
    np.testing.assert_allclose(v[:, NODE], (at[2] - at[0]) / (2.0 * h), rtol=1e-6, atol=1e-6)
    _, rate, grow = path(frame, now - frame.since)
    axis = rotation(q[:, FRAME]).apply([0.0, 0.0, 1.0])
    spin = rate * np.array(frame.spin)
    np.testing.assert_allclose(p[:, FRAME], spin + (spin @ axis) * axis, rtol=1e-12, atol=1e-13)

    def twice(k):
        late = (rate + k * h * grow) * np.array(frame.spin)
        d3 = Rotation.from_rotvec(k * h * spin).apply(axis)
        return late + (late @ d3) * d3

    av, ap = np.ones((3, 5)), np.ones((3, 5))
    slides = av[:, SLIDES].copy()
    kernels.clamp_rates(r, q, av, ap, made, TIMES, FACTORS, now)
    # the axis of the frame turns with the clamp
    change = (twice(1) - twice(-1)) / (2.0 * h)
    np.testing.assert_allclose(ap[:, FRAME], change, rtol=1e-6, atol=1e-6)
    bend = (at[2] - 2.0 * at[1] + at[0]) / h**2
    np.testing.assert_allclose(av[:, NODE], bend, rtol=1e-5, atol=1e-5)
    along = np.array(made[2].spin)
    np.testing.assert_allclose(av[:, SLIDES], (along @ slides) * along, rtol=1e-12)


def test_what_slides_keeps_its_axial_part():
    _, _, v, _ = state()
    before = v.copy()
    made = drives()
    kernels.hold_slides(v, made)
    along = np.array(made[2].spin)
    np.testing.assert_allclose(v[:, SLIDES], (along @ before[:, SLIDES]) * along, rtol=1e-12)
    np.testing.assert_array_equal(v[:, :SLIDES], before[:, :SLIDES])


def test_energy_and_power_of_what_is_driven():
    """m v^2 / 2, and J (|w|^2 + w_axis^2) / 2: the inertia about the axis counts twice."""
    r, q, v, p = state()
    f, t = np.random.default_rng(7).normal(size=(2, 3, 5))
    mat = np.random.default_rng(8).uniform(0.5, 2.0, (MATERIAL_ROWS, 5))
    rod, made = material_of(mat), drives()
    axis = rotation(q[:, FRAME]).apply([0.0, 0.0, 1.0])
    spin = p[:, FRAME] - 0.5 * (p[:, FRAME] @ axis) * axis
    turning = 0.5 * rod.inertia[FRAME] * (spin @ spin + (spin @ axis) ** 2)
    moving = 0.5 * rod.mass[NODE] * (v[:, NODE] @ v[:, NODE])
    assert kernels.clamp_energy(q, v, p, mat, made) == pytest.approx(moving + turning)
    power = f[:, NODE] @ v[:, NODE] + t[:, FRAME] @ spin
    assert kernels.clamp_power(q, v, p, f, t, made) == pytest.approx(power)
    reported = kernels.spatial_spin(q, p, FRAME)
    np.testing.assert_allclose(reported, [*spin, *axis], rtol=1e-12)
    # all slots at once, as work of loads is counted
    total = float((f * v).sum())
    for i in range(5):
        a = rotation(q[:, i]).apply([0.0, 0.0, 1.0])
        total += t[:, i] @ (p[:, i] - 0.5 * (p[:, i] @ a) * a)
    for run in (kernels.power.plain, kernels.power.py_func):
        assert run(q, v, p, f, t) == pytest.approx(total)
    assert r.shape == (3, 5)
