"""Kernels at switching surfaces, on random surfaces whose gradients are known."""

import numpy as np
import pytest

from stiction import solve
from stiction.switching.flow import rates, surfaces
from stiction.switching.flow.state import EXTRA, GRAD, PLUS, TRIAL, Y
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import PiecewiseSmooth

SIZES = (1.0, 2.0, 0.5)


def planes(normals, heights):
    """Return a flow of three states with two planes, on each of which f jumps."""
    (a, b), (c, d) = normals.tolist(), heights.tolist()
    return PiecewiseSmooth(
        h=[
            lambda x: a[0] * x[0] + a[1] * x[1] + a[2] * x[2] - c,
            lambda x: b[0] * x[0] + b[1] * x[1] + b[2] * x[2] - d,
        ],
        f=lambda x, s: (1.0 - 0.5 * s[0] + x[1], s[0] - 2.0 * s[1], 0.3 + 0.7 * s[1] - x[0]),
        x0=[3.0, 2.0, 1.0],
        scale=SIZES,
    )


def bowls():
    """Return a flow with a sphere of radius 2 about the origin and a saddle."""
    return PiecewiseSmooth(
        h=[
            lambda x: x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 4.0,
            lambda x: x[2] - x[0] * x[1] + 0.25 * x[1] * x[1],
        ],
        f=lambda x, s: (1.0 - 0.5 * s[0] + x[1], s[0] - 2.0 * s[1], 0.3 + 0.7 * s[1] - x[0]),
        x0=[3.0, 2.0, 1.0],
        scale=SIZES,
    )


def gradients_of_bowls(x):
    return np.array([2.0 * x, [-x[1], 0.5 * x[1] - x[0], 1.0]])


def at(system, x, sides=None):
    """Return what kernels take, with the state at x, on the sides where it is if not reported."""
    if sides is None:
        sides = np.sign(system.surfaces_at(x))
    path = Trajectory(system, Tolerance(1e-8), np.array([0.0, 1.0]))
    path.place(0.0, np.asarray(x, dtype=float), np.asarray(sides))
    return path.flow.work, path.flow.vectors


def random_planes(seed):
    random = np.random.default_rng(seed)
    return random, planes(random.normal(size=(2, 3)), random.normal(size=2))


@pytest.mark.parametrize("seed", range(5))
def test_planes_are_planes_over_any_step(seed):
    random, system = random_planes(seed)
    for far, step in ((1.0, 1.0), (1.0, 1e-6), (1e3, 1e-6), (1e-3, 1e2), (1e4, 0.0)):
        x = far * random.normal(size=3)
        work, a = at(system, x)
        assert work.progress[0].plane != 0
        a[Y, :3], a[TRIAL, :3] = x, x + step * random.normal(size=3)
        assert surfaces.is_plane(work)


def test_intervals_between_events_count_from_the_placement():
    _, system = random_planes(0)
    path = Trajectory(system, Tolerance(1e-8), np.empty(0))
    path.place(1000.0, np.zeros(3), np.ones(2))
    assert path.flow.progress.last_arrival == 1000.0


@pytest.mark.parametrize("which", [0, 1])
def test_a_bent_surface_is_no_plane(which):
    # h = (the plane) + bend x_3^2, the bend in one of both; its gradient is taken at x_3 = 0
    bend = [0.0, 0.0]
    bend[which] = 1e-3
    first, second = bend
    system = PiecewiseSmooth(
        h=[lambda x: x[0] - 2.0 + first * x[2] ** 2, lambda x: x[1] + 1.0 + second * x[2] ** 2],
        f=lambda x, s: (-s[0], -s[1], 1.0),
        x0=[3.0, 2.0, 0.0],
    )
    work, a = at(system, system.x0)
    a[GRAD, :6] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    a[TRIAL, :3] = [3.5, 2.5, 0.0]
    assert surfaces.is_plane(work)
    a[TRIAL, 2] = 0.1
    assert not surfaces.is_plane(work)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("i", [0, 1])
def test_projection_is_along_the_scaled_gradient(i, seed):
    # least step in units of the scale: dx_j ~ S_j^2 dh/dx_j, and the surface is met to rounding
    random = np.random.default_rng(seed)
    system, x = bowls(), random.normal(size=3)
    x *= 2.0 / np.linalg.norm(x)
    if i == 1:
        x[2] = x[0] * x[1] - 0.25 * x[1] ** 2
    start = x + 1e-6 * random.normal(size=3)
    sides = [1.0, 1.0]
    sides[i] = 0.0
    work, a = at(system, x, sides)
    a[Y, :3] = start
    before = system.surfaces_at(start)[i]
    surfaces.project(work, i)
    assert abs(system.surfaces_at(a[Y, :3])[i]) <= 1e-14
    way = np.array(SIZES) ** 2 * gradients_of_bowls(x)[i]
    expected = -before * way / (way @ gradients_of_bowls(x)[i])
    np.testing.assert_allclose(a[Y, :3] - start, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(5))
def test_rates_of_each_surface_are_gradient_times_field(seed):
    random = np.random.default_rng(seed)
    system, x, field = bowls(), random.normal(size=3), random.normal(size=3)
    work, a = at(system, x)
    rates.normals(work, Y, GRAD)
    a[PLUS, :3] = field
    expected = gradients_of_bowls(x) @ field
    found = [rates.lie_derivative(work, i, PLUS) for i in (0, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)])
def test_what_ends_a_mode_is_positive_in_it(signs):
    # |h| of each surface and 1; |k| of each kink; 1 for the time, which no slide ends
    one, two = signs
    system = PiecewiseSmooth(
        h=[lambda x: one * (x[0] + 2.0), lambda x: two * (x[1] + 3.0)],
        f=lambda x, s: (s[0], s[1], 1.0),
        kinks=[lambda x: one * (x[2] + 5.0), lambda x: two * (x[2] - 7.0)],
        x0=[1.0, 1.0, 1.0],
    )
    work, a = at(system, system.x0)
    a[EXTRA] = -9.0
    a[TRIAL] = -9.0
    rates.event_values(work, Y, TRIAL)
    assert a[TRIAL, :7].tolist() == [3.0, 4.0, 1.0, 1.0, 6.0, 6.0, 1.0]


def test_on_two_surfaces_the_product_combination_stays_on_both():
    # f = d + B s with constant columns: 0 = N (d + B lam) gives lam, and x' = d + B lam
    random = np.random.default_rng(4)
    for _ in range(6):
        normals, drift = random.normal(size=(2, 3)), 0.1 * random.normal(size=3)
        jumps = -np.linalg.pinv(normals) @ (np.eye(2) + 0.1 * random.normal(size=(2, 2)))
        lam = np.linalg.solve(normals @ jumps, -normals @ drift)
        if np.abs(lam).max() > 0.9:
            continue
        rows, jump, add = normals.tolist(), jumps.tolist(), drift.tolist()
        system = PiecewiseSmooth(
            h=[
                lambda x, n=rows[0]: n[0] * x[0] + n[1] * x[1] + n[2] * x[2],
                lambda x, n=rows[1]: n[0] * x[0] + n[1] * x[1] + n[2] * x[2],
            ],
            f=lambda x, s, d=add, b=jump: [
                d[j] + b[j][0] * s[0] + b[j][1] * s[1] for j in range(3)
            ],
            x0=[0.0, 0.0, 0.0],
        )
        work, a = at(system, np.zeros(3), (0.0, 0.0))
        assert rates.multipliers(work, Y, TRIAL)
        np.testing.assert_allclose(a[EXTRA, :2], lam, atol=1e-10)
        np.testing.assert_allclose(a[TRIAL, :3], drift + jumps @ lam, atol=1e-10)


def test_a_plane_costs_no_rejected_step():
    """A surface given as a function is a plane until a step contradicts it."""
    flow = PiecewiseSmooth(
        h=lambda x: x[0] - 2.0 + 0.5 * x[1],
        f_plus=lambda x: [-1.0, 0.5],
        f_minus=lambda x: [1.0, 0.5],
        x0=[5.0, 0.0],
    )
    assert solve(flow, t_span=(0.0, 1.0)).stats["rejected"] == 0


def test_kinks_are_events_in_all_units_and_at_late_times():
    for amplitude, start in ((1.0, 0.0), (1e-8, 0.0), (1e-5, 1e6)):
        oscillator = PiecewiseSmooth(
            h=lambda t, x, p: x[0] + 10.0 * p[0],
            f=lambda t, x, s, p: (x[1], -x[0]),
            kinks=[lambda t, x, p: x[0] * x[0] - 0.25 * p[0] * p[0]],
            x0=[amplitude, 0.0],
            scale=[amplitude, amplitude, 1.0],
            parameters=[amplitude],
        )
        run = solve(oscillator, t_span=(start, start + 20.0), save=2)
        # x = A cos(t - start) is +-A/2 at pi/3, 2 pi/3, 4 pi/3, ...
        angles = np.pi * np.array([k + c for k in range(7) for c in (1 / 3, 2 / 3)])[:13]
        assert list(run.event_log.kind) == ["kink"] * 13
        found = np.array(run.event_log.time) - start
        np.testing.assert_allclose(found, angles, atol=1e-6 + 4e-16 * start)


@pytest.mark.parametrize("frequency", [61, 63, 64, 65, 127, 128, 192, 1000])
def test_gradients_by_differences_do_not_alias(frequency):
    def h(t, x, p):
        return x[0] - 1e-3 * np.sin(2.0 * np.pi * p[0] * t)

    flow = PiecewiseSmooth(
        h=h, f=lambda t, x, s, p: [-s[0]], x0=[0.0], parameters=[float(frequency)]
    )
    assert flow.compiled.plane is None
    omega = 2.0 * np.pi * frequency
    for x in (0.0, 1.0):
        rate = flow.gradient([x, 0.001])[0, 1]
        assert rate == pytest.approx(-1e-3 * omega * np.cos(0.001 * omega), rel=1e-9)


def test_undefined_trial_states_are_counted_alike_at_late_times():
    # a state that has decayed below the tolerance: long trial steps reach x < 0
    decay = PiecewiseSmooth(
        h=lambda t, x: x[1] + 10.0,
        f=lambda t, x, s: (-100.0 * x[0] if x[0] > 0.0 else np.nan, 0.0),
        x0=[1.0, 0.0],
    )
    run = solve(decay, t_span=(1e6, 1e6 + 3.0), save=2)
    assert run.stats["rejected"] > 220
