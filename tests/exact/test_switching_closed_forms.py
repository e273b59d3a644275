"""The closed forms of switching systems against reference numbers and against themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from references import reference

from stiction.exact import switching as exact

PAPER = exact.Turntable(
    d=1.0,
    m=1.0,
    c1=0.001,
    c2=0.001,
    beta=0.05,
    r0=0.1,
    omega0=-1.0,
    mu=1.0,
    gamma=-0.75 * np.pi,
)
# another wheel, so that no check rests on d = m = mu = 1
OTHER = exact.Turntable(
    d=0.8, m=1.7, c1=0.02, c2=0.05, beta=0.11, r0=0.07, omega0=-1.3, mu=0.6, gamma=-2.1
)


def complex_step(function, x, i):
    """Return d function / d x_i to machine precision."""
    moved = np.asarray(x, dtype=complex)
    moved[i] += 1e-30j
    return function(moved).imag / 1e-30


def test_belt_cycle():
    belt = reference("switching.json")["belt"]
    cycle = exact.belt_cycle(belt["mu0"], belt["alpha"], belt["vb"])
    assert_allclose(cycle.slip_time, float(belt["slip_time"]), rtol=1e-15, atol=1e-14)
    assert_allclose(cycle.period, float(belt["period"]), rtol=1e-15, atol=1e-14)
    assert_allclose(cycle.x_stick, 1.0 - 0.5 * cycle.stick_time, rtol=1e-15)


def test_belt_cycle_by_another_route():
    # the motion itself by a Taylor series in small steps, which shares no formula
    alpha, vb, mu0 = 0.3, 0.4, 1.0
    cycle = exact.belt_cycle(mu0, alpha, vb)
    x, v = mu0, vb
    n = 200
    step = cycle.slip_time / n
    for _ in range(n):
        terms = [x, v]
        for j in range(14):
            forced = mu0 - alpha * vb if j == 0 else 0.0
            terms.append(alpha * terms[-1] - terms[-2] + forced)
        powers = step ** np.arange(16) / np.cumprod([1, *range(1, 16)])
        x, v = float(np.dot(terms, powers)), float(np.dot(terms[1:], powers[:15]))
    assert_allclose([x, v], [cycle.x_stick, vb], atol=1e-12)


def test_belt_without_weakening_has_the_free_period():
    assert_allclose(exact.belt_cycle(1.0, 0.0, 0.5).slip_time, 2.0 * np.pi, rtol=1e-15)
    with pytest.raises(ValueError, match="alpha"):
        exact.belt_cycle(1.0, -0.1, 0.5)
    with pytest.raises(ValueError, match="below -mu0"):
        exact.belt_cycle(1.0, 0.9, 5.0)


def test_relay_half_period():
    known = reference("switching.json")["relay_1_over_s+1_cubed"]["half_period"]
    assert_allclose(exact.relay_half_period(), float(known), rtol=1e-15, atol=4e-15)
    with pytest.raises(ValueError, match="at least 3"):
        exact.relay_half_period(2)


@pytest.mark.parametrize("order", [3, 4, 5, 6])
def test_relay_cycle_closes(order):
    # the states of n lags in a row, moved by the matrix exponential
    half = exact.relay_half_period(order)
    matrix = np.eye(order, k=-1) - np.eye(order)
    nilpotent, flow = np.eye(order), np.zeros((order, order))
    for j in range(order):
        flow += nilpotent
        nilpotent = nilpotent @ np.eye(order, k=-1) * half / (j + 1)
    flow *= np.exp(-half)
    pushed = np.linalg.solve(matrix, (flow - np.eye(order)) @ -np.eye(order)[0])
    start = np.linalg.solve(-np.eye(order) - flow, pushed)
    assert abs(start[-1]) < 1e-13
    assert matrix[-1] @ start > 0.0  # y rises through zero when the relay goes to -1


def test_normal_form_arrival():
    known = reference("switching.json")["normal_form"]
    _, y, z = known["slide_start"]
    time = exact.sliding_arrival(known["J1"], known["J2"], (z, y))
    assert abs(time - known["arrival_time_exact"]) < 1e-14
    with pytest.raises(ValueError, match="case 1"):
        exact.sliding_arrival(1.2, 1.5, (z, y))


def test_sliding_orbit():
    j1, j2, start = -1.2, -1.5, (0.1, 0.3)
    points, time = exact.sliding_orbit([0.0, 0.7, 400.0], j1, j2, start)
    assert_allclose(points[0], start, rtol=1e-15)
    assert_allclose(time[-1], exact.sliding_arrival(j1, j2, start), rtol=1e-14)
    # the field itself, by differences in s
    near, when = exact.sliding_orbit(0.7 + 1e-5 * np.array([-1.0, 1.0]), j1, j2, start)
    velocity = (near[1] - near[0]) / (when[1] - when[0])
    z, y = points[1]
    assert_allclose(velocity, [(j1 * z + y) / (z + y), (z + j2 * y) / (z + y)], rtol=1e-9)
    values = np.array(exact.sliding_eigenvalues(j1, j2))
    assert_allclose(values, np.linalg.eigvalsh([[j1, 1.0], [1.0, j2]])[::-1], rtol=1e-14)
    vector = np.array([values[0] - j2, 1.0])
    assert_allclose(np.array([[j1, 1.0], [1.0, j2]]) @ vector, values[0] * vector, rtol=1e-14)
    # with J1 J2 = 1 one eigenvalue is zero: (1, 1) is at rest in s
    assert_allclose(exact.sliding_orbit([1.0], -1.0, -1.0, (1.0, 1.0))[1], [2.0], rtol=1e-14)


def test_crossing_maps():
    j1, j2 = -1.2, -1.5
    assert_allclose(exact.crossing_multipliers(j1, j2), [5.0, 0.2], rtol=1e-14)
    assert_allclose(exact.crossing_ray(j1, j2), -0.4, rtol=1e-14)
    y, z, first = exact.crossing_map(1, j1, j2, -1.0, 0.4)
    y, z, second = exact.crossing_map(-1, j1, j2, y, z)
    assert_allclose([y, z], [-5.0, 2.0], rtol=1e-14)
    assert first > 0.0
    assert second > 0.0
    # h vanishes at both ends of a flight: h = -(y t + t^2 / 2) through h > 0
    assert_allclose(-(-1.0 * first + 0.5 * first**2), 0.0, atol=1e-15)
    inside = exact.crossing_multipliers(0.5, 0.5)
    assert_allclose(np.abs(inside), 1.0, rtol=1e-14)
    for pair in ((0.5, 0.5), (0.5, np.nan), (2.0, 2.0)):
        with pytest.raises(ValueError, match="J1 J2 > 1"):
            exact.crossing_ray(*pair)


def test_two_fold_reference():
    known = reference("switching.json")
    place = known["parameters"]
    fold = exact.wheel_two_fold(PAPER, place["r_star"], place["omega_star"])
    names = {
        "v_star": "v",
        "g_star": "g",
        "Kpp": "kpp",
        "Kpm": "kpm",
        "Kmp": "kmp",
        "Kmm": "kmm",
        "J1": "j1",
        "J2": "j2",
    }
    for key in ("v_star", "kappa", "k2", "g_star", *names, "lambda1", "lambda2"):
        assert_allclose(getattr(fold, names.get(key, key)), float(known[key]), rtol=1e-12)
    rates = [float(value) for value in known["desing_eigs"]]
    assert_allclose([fold.rate1, fold.rate2], rates, rtol=1e-12)
    assert fold.case == known["case"]


def test_stiffness_is_the_printed_one():
    # equation (11) of the paper as printed, for a wheel whose numbers all differ
    t, r, w = OTHER, 0.21, -1.33
    sin, cos = np.sin(t.gamma), np.cos(t.gamma)
    fold = exact.wheel_two_fold(t, r, w)
    v, inertia = fold.v, t.beta**2 + r**2
    p2 = t.d * r * cos + inertia * sin
    inner = t.c1 * r * w + t.c2 * t.d * r * v
    inner += t.m * (r**2 * (v * (w + t.omega0) - t.d * w**2) + t.beta**2 * v * (t.omega0 - w))
    printed = (sin * inertia * (t.m * r * w**2 - t.c2 * v) - cos * inner) / ((r - t.r0) * p2)
    assert_allclose(fold.k2, printed, rtol=1e-13)
    assert_allclose(
        fold.kappa,
        -np.sign(fold.g)
        * (2.0 * r**2 + t.beta**2 * (1.0 - np.cos(2.0 * t.gamma)))
        / (2.0 * r * cos),
        rtol=1e-13,
    )


def test_flags_of_figure_4():
    known = reference("switching.json")["fig4_rows"]
    grid = np.meshgrid(known["r_star"], known["omega_star"])
    fold = exact.wheel_two_fold(PAPER, *grid)
    for name, rows in known["flags"].items():
        assert np.array_equal(fold.flags[name], np.array(rows, dtype=bool)), name
    region = fold.case == 1
    every = np.logical_and.reduce([fold.flags[name] for name in "bcdef"])
    assert np.array_equal(region, every)
    one = exact.wheel_two_fold(PAPER, known["r_star"][3], known["omega_star"][2])
    assert one.kpm == fold.kpm[2, 3]


@pytest.mark.parametrize("table", [PAPER, OTHER])
def test_lie_parts_and_gradients(table):
    kappa, k2, sign = 0.27, 2.2, -1.0
    x = np.array([0.19, -0.03, 1.03 * table.omega0])

    def slip_velocity(state):
        r, v, w = state
        turn = w - table.omega0
        lateral = -(v - table.d * turn) * np.sin(table.gamma)
        return lateral - r * turn * np.cos(table.gamma)

    f0, f_lam = exact.field_parts(table, kappa, k2, sign, x)
    slope = np.array([complex_step(slip_velocity, x, i) for i in range(3)])
    a, b = exact.lie_parts(table, kappa, k2, sign, x)
    # A does not know v and omega: the terms of grad h . f_lam cancel
    assert_allclose([a, b], [slope @ f_lam, slope @ f0], rtol=1e-12)
    grad_a, grad_b = exact.lie_gradients(table, kappa, k2, sign, x)
    for i in range(3):
        for part, grad in ((0, grad_a), (1, grad_b)):
            by_step = complex_step(
                lambda y, part=part: exact.lie_parts(table, kappa, k2, sign, y)[part], x, i
            )
            assert_allclose(grad[i], by_step, rtol=1e-13, atol=1e-16)


def test_field_parts():
    # from Newton's law instead: appendix A with the signs that dissipate
    t, kappa, k2, sign = OTHER, 0.3, 2.0, 1.0
    r, v, w = 0.2, 0.1, -1.1
    sin, cos = np.sin(t.gamma), np.cos(t.gamma)
    f0, f_lam = exact.field_parts(t, kappa, k2, sign, [r, v, w])
    for force in (0.0, 0.7):
        rates = (f0 + force * f_lam) / (t.m * (t.beta**2 + r**2))
        _, v_t, w_t = rates
        spring = -k2 * (r - t.r0) - t.c2 * v
        slit = t.m * (-r * w_t + t.d * w**2 - 2.0 * v * w) + force * cos
        disk = -t.c1 * w + t.d * spring + r * slit + sign * kappa * force
        assert_allclose(rates[0], v, rtol=1e-15)
        assert_allclose(t.m * (v_t - t.d * w_t - r * w**2), spring + force * sin, rtol=1e-12)
        assert_allclose(t.m * t.beta**2 * w_t, disk, rtol=1e-11, atol=1e-14)


def test_all_two_folds():
    fold = exact.wheel_two_fold(PAPER, 0.1859, -1.037)
    found = exact.two_folds_of(PAPER, float(fold.kappa), float(fold.k2))
    assert 1 <= len(found) <= 4
    here = np.array([fold.r, fold.v, fold.omega])
    assert np.min(np.max(np.abs(found - here), axis=1)) < 1e-12
    again = exact.wheel_two_fold(PAPER, found[:, 0], found[:, 2])
    assert_allclose(again.kappa, fold.kappa, rtol=1e-9)
    assert_allclose(again.k2, fold.k2, rtol=1e-9)
    assert_allclose(again.v, found[:, 1], rtol=1e-9)
    # the paper: only one of them takes determinism away
    assert np.sum(again.case == 1) == 1


def test_the_papers_count_of_two_folds():
    # "at most four" is true of one rolling direction, and "only one of them" was true there in
    # 30000 random wheels; both directions together may have eight, and two of them
    eight = exact.Turntable(
        d=0.3, m=1.0, c1=0.02, c2=0.04, beta=0.7, r0=-0.9, omega0=1.1, mu=1.0, gamma=-1.9
    )
    two = exact.Turntable(
        d=0.4, m=1.0, c1=0.02, c2=0.06, beta=0.8, r0=0.8, omega0=-0.7, mu=1.0, gamma=1.9
    )
    for table, kappa, k2, count, lost in ((eight, 4.9, 0.1, 8, 1), (two, 4.7, 0.3, 6, 2)):
        found = exact.two_folds_of(table, kappa, k2)
        assert len(found) == count
        for x in found:
            g = x[0] * (x[2] - table.omega0) / np.sin(table.gamma)
            a, b = exact.lie_parts(table, kappa, k2, np.sign(g), x)
            assert max(abs(a), abs(b)) < 1e-14
        folds = exact.wheel_two_fold(table, found[:, 0], found[:, 2])
        assert np.sum(folds.case == 1) == lost
        assert np.sum((folds.case == 1) & (folds.g > 0.0)) <= 1
        assert np.sum(folds.g > 0.0) <= 4
