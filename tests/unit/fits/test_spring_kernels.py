"""Kernels of a pulled slider: rates by balance of forces, steps of order four, events by hand."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from stiction.fits.predicting import spring_kernels as kernels
from stiction.fits.predicting.law_kernels import (
    BOUC_WEN,
    DAHL,
    LUGRE,
    RATE_STATE,
    STRIBECK,
    coefficient,
)

pytestmark = pytest.mark.usefixtures("plain_kernels")
K, M, N, ETA, DRIVE = 20.0, 0.5, 3.0, 0.7, 0.4
STUCK = 0.5
LAWS = {
    "stribeck": (STRIBECK, [0.4, 0.3, 0.2, 1.0, 0.1, STUCK]),
    "stribeck, squared": (STRIBECK, [0.4, 0.3, 0.2, 2.0, 0.1, STUCK]),
    "dahl": (DAHL, [50.0, 0.4, 1.0]),
    "dahl, squared": (DAHL, [50.0, 0.4, 2.0]),
    "lugre": (LUGRE, [50.0, 0.3, 0.05, 0.5, 0.3, 0.2, 1.0]),
    "bouc-wen": (BOUC_WEN, [50.0, 1.2, 60.0, 30.0, 1.0]),
    "bouc-wen, squared": (BOUC_WEN, [50.0, 1.2, 6000.0, 3000.0, 2.0]),
    "ageing": (RATE_STATE, [0.01, 0.015, 0.002, 0.6, 0.3, 0.0, 0.0]),
    "slip": (RATE_STATE, [0.01, 0.015, 0.002, 0.6, 0.3, 1.0, 1.0]),
}


def law(name):
    code, p = LAWS[name]
    return code, np.array(p)


def rig(mass=M):
    return np.array([K, mass, N, ETA, 0.0])


def slope(name, w, z, s):
    """Return dz/dt of a law with memory, as its authors write it."""
    code, p = law(name)
    if code == DAHL:
        left = 1.0 - s * p[0] * z / p[1]
        return w * left if p[2] == 1.0 else w * left * abs(left)
    if code == LUGRE:
        g = p[4] + (p[3] - p[4]) * math.exp(-abs(w) / p[5])
        return w - p[0] * abs(w) * z / g
    power = p[4]
    return p[1] * w - p[2] * abs(w) * abs(z) ** (power - 1.0) * z - p[3] * w * abs(z) ** power


@pytest.mark.parametrize("s", [1.0, -1.0])
@pytest.mark.parametrize("name", ["stribeck", "stribeck, squared"])
def test_rates_of_a_slider_under_a_curve(name, s):
    """m w' = k u - N mu(|w|) sign: the curve falls to its foot and rises with the speed."""
    code, p = law(name)
    u, w = 0.3, s * 0.15
    power = p[3]
    mu = p[1] + (p[0] - p[1]) * math.exp(-((0.15 / p[2]) ** power)) + p[4] * 0.15
    found = kernels._rates(code, p, rig(), DRIVE, s, u, w, 0.0)
    assert found == pytest.approx((DRIVE - w, (K * u - N * s * mu) / M, 0.0))
    # a speed against the sign of slip counts as none
    found = kernels._rates(code, p, rig(), DRIVE, s, u, -w, 0.0)
    assert found[1] == pytest.approx((K * u - N * s * p[0]) / M)


@pytest.mark.parametrize("w", [0.15, -0.15])
@pytest.mark.parametrize("z", [0.004, -0.004])
@pytest.mark.parametrize(
    "name", ["dahl", "dahl, squared", "lugre", "bouc-wen", "bouc-wen, squared"]
)
def test_rates_of_a_slider_on_bristles(name, w, z):
    code, p = law(name)
    s = math.copysign(1.0, w)
    rate = slope(name, w, z, s)
    friction = p[0] * z + (p[1] * rate + p[2] * w if code == LUGRE else 0.0)
    found = kernels._rates(code, p, rig(), DRIVE, s, 0.3, w, z)
    assert found == pytest.approx((DRIVE - w, (K * 0.3 - N * friction) / M, rate))


@pytest.mark.parametrize("drive", [0.4, -0.4])
@pytest.mark.parametrize("name", ["dahl", "bouc-wen"])
def test_without_a_mass_the_spring_balances_the_bristles(name, drive):
    """k u' = N sigma0 z', and z' is that of the slip."""
    code, p = law(name)
    z, s = 0.003, math.copysign(1.0, drive)
    stretched, none, rate = kernels._rates(code, p, rig(0.0), drive, s, 0.1, 0.0, z)
    slip = drive - stretched
    assert none == 0.0
    assert slip * s > 0.0
    assert K * stretched == pytest.approx(N * p[0] * rate)
    assert rate == pytest.approx(slope(name, slip, z, s))


@pytest.mark.parametrize("name", ["ageing", "slip"])
@pytest.mark.parametrize("v", [0.05, 1e-4])
def test_rate_and_state_satisfies_the_balance(name, v):
    """d(N mu + eta v)/dt = k (drive - v), with mu by differences along the motion."""
    code, p = law(name)
    w, z = math.log(v), math.log(0.03)
    stretched, dw, dz = kernels._rates(code, p, rig(), DRIVE, 1.0, 0.0, w, z)
    assert stretched == pytest.approx(DRIVE - v)
    x = v * 0.03 / p[2]
    assert dz == pytest.approx((1.0 - x if name == "ageing" else -x * math.log(x)) / 0.03)
    h = 1e-6 / max(abs(dw), abs(dz))
    ends = [
        N * coefficient(code, p, math.exp(w + e * dw), z + e * dz) + ETA * math.exp(w + e * dw)
        for e in (h, -h)
    ]
    assert (ends[0] - ends[1]) / (2.0 * h) == pytest.approx(K * (DRIVE - v), rel=1e-5)


def test_a_step_of_a_linear_motion_is_a_taylor_polynomial():
    """Runge-Kutta of order four, on a system y' = A y + b: the exponential up to h^4."""
    code, p = STRIBECK, np.array([0.3, 0.3, 0.2, 1.0, 0.0, STUCK])
    a = np.array([[0.0, -1.0], [K / M, 0.0]])
    b = np.array([DRIVE, -N * 0.3 / M])
    y, h = np.array([0.1, 0.2]), 0.13
    f, wanted, factor = a @ y + b, y.copy(), 1.0
    for power in range(1, 5):
        factor *= h / power
        wanted = wanted + factor * np.linalg.matrix_power(a, power - 1) @ f
    found = kernels._step(code, p, rig(), DRIVE, 1.0, h, *y, 0.0)
    assert found == pytest.approx((*wanted, 0.0), rel=1e-14)


@pytest.mark.parametrize("name", ["dahl", "lugre", "bouc-wen, squared", "ageing", "slip"])
def test_steps_are_of_order_four(name):
    """Halving a step divides what it misses of the motion by about 2^4 over a given time."""
    code, p = law(name)
    start = (0.02, math.log(0.3), math.log(0.01)) if code == RATE_STATE else (0.02, 0.3, 0.002)
    span = 2e-3

    def at(count):
        y = start
        for _ in range(count):
            y = kernels._step(code, p, rig(), DRIVE, 1.0, span / count, *y)
        return np.array(y)

    best = at(64)
    misses = [np.abs(at(count) - best).max() for count in (1, 2)]
    assert 10.0 < misses[0] / misses[1] < 26.0


def oscillation():
    """A slider under constant friction: a sine about its middle, with the end at rest."""
    return STRIBECK, np.array([0.3, 0.3, 0.2, 1.0, 0.0, STUCK])


def test_the_time_at_which_the_speed_is_zero():
    code, p = oscillation()
    middle, omega = N * 0.3 / K, math.sqrt(K / M)
    # w = w0 cos + (u0 - middle) omega sin
    u0, w0 = middle - 0.02, 0.05
    t = math.atan2(w0, 0.02 * omega) / omega
    found = kernels._root_time(code, p, rig(), 0.0, 1.0, 1.2 * t, u0, w0, 0.0, True)
    # reason: a step of order four stands for the sine
    assert found == pytest.approx(t, rel=3e-3)
    assert kernels._step(code, p, rig(), 0.0, 1.0, found, u0, w0, 0.0)[1] == pytest.approx(
        0.0, abs=1e-12
    )
    h, u, w, z = kernels._step_to_event(code, p, rig(), 0.0, 1.0, 1.2 * t, u0, w0, 0.0)
    assert (h, w, z) == (found, 0.0, 0.0)
    assert u == pytest.approx(kernels._step(code, p, rig(), 0.0, 1.0, h, u0, w0, 0.0)[0])
    # where the speed keeps its sign the step is taken whole
    h, *rest = kernels._step_to_event(code, p, rig(), 0.0, 1.0, 0.5 * t, u0, w0, 0.0)
    assert h == 0.5 * t
    assert rest == list(kernels._step(code, p, rig(), 0.0, 1.0, 0.5 * t, u0, w0, 0.0))


def test_a_contact_that_becomes_straight_ends_a_step():
    code, p = law("bouc-wen")
    h = 0.05
    found, _, _, z = kernels._step_to_event(code, p, rig(), DRIVE, 1.0, h, 0.1, 0.3, -0.003)
    assert 0.0 < found < h
    assert z == 0.0
    *_, end = kernels._step(code, p, rig(), DRIVE, 1.0, found, 0.1, 0.3, -0.003)
    assert end == pytest.approx(0.0, abs=1e-13)


def test_a_slider_below_its_bound_sticks():
    code, p = oscillation()
    state = (0.5 * N * 0.3 / K, 0.0, 0.0)
    assert kernels._step_to_event(code, p, rig(), 0.0, 1.0, 0.01, *state) == (0.0, *state)
    # without a mass a speed has no sign to lose
    code, p = law("dahl")
    h, *_ = kernels._step_to_event(code, p, rig(0.0), DRIVE, 1.0, 1e-3, 0.1, 0.0, 0.003)
    assert h == 1e-3


@pytest.mark.parametrize(
    ("w", "rate", "sign"), [(0.1, -1.0, 1.0), (-0.1, 1.0, -1.0), (0.0, 2.0, 1.0), (0.0, 0.0, 1.0),
                            (0.0, -2.0, -1.0)],
)  # fmt: skip
def test_signs_of_slip(w, rate, sign):
    assert kernels._sign(w, rate) == sign


BOUND = STUCK * N / K


@pytest.mark.parametrize(
    ("drive", "left", "u", "stays"),
    [
        (0.0, 2.0, 0.01, (2.0, 0.01)),
        # it reaches the bound state_after (bound - u) / drive
        (0.1, 9.0, 0.01, ((BOUND - 0.01) / 0.1, BOUND)),
        (-0.1, 9.0, 0.01, ((BOUND + 0.01) / 0.1, -BOUND)),
        (0.1, 0.2, 0.01, (0.2, 0.03)),
        # what the bound does not hold slips at once, wherever the end moves
        (0.1, 1.0, BOUND + 0.01, (0.0, BOUND + 0.01)),
        (-0.1, 1.0, BOUND + 0.01, (0.0, BOUND + 0.01)),
        (0.0, 1.0, -BOUND - 0.01, (0.0, -BOUND - 0.01)),
    ],
)
def test_duration_of_stick(drive, left, u, stays):
    _, p = law("stribeck")
    assert kernels._stick_time(p, rig(), drive, left, u) == pytest.approx(stays)


@pytest.mark.parametrize("w", [0.15, 2.0])
def test_the_fastest_rate_bounds_the_motion(w):
    """The curve's steepest fall, (top - foot) / scale, while it falls; bristles that yield."""
    code, p = law("stribeck")
    fall = abs(p[0] - p[1]) / p[2] if w < 6.0 * p[2] else 0.0
    wanted = math.sqrt(K / M) + N * (p[4] + fall) / M
    assert kernels._fastest_rate(code, p, rig(), DRIVE, w, 0.0) == pytest.approx(wanted)
    code, p = law("dahl")
    wanted = math.sqrt((K + N * p[0]) / M) + p[0] / p[1] * w
    assert kernels._fastest_rate(code, p, rig(), DRIVE, -w, 0.0) == pytest.approx(wanted)
    assert kernels._fastest_rate(code, p, rig(0.0), -DRIVE, w, 0.0) == pytest.approx(
        p[0] / p[1] * DRIVE
    )
    code, p = law("lugre")
    g = p[4] + (p[3] - p[4]) * math.exp(-w / p[5])
    wanted = math.sqrt((K + N * p[0]) / M) + p[0] / g * w + N * (p[1] + p[2]) / M
    assert kernels._fastest_rate(code, p, rig(), DRIVE, w, 0.0) == pytest.approx(wanted)
    code, p = law("bouc-wen")
    wanted = math.sqrt((K + N * p[0]) / M) + (p[2] + p[3]) * w
    assert kernels._fastest_rate(code, p, rig(), DRIVE, w, 0.01) == pytest.approx(wanted)
    code, p = law("bouc-wen, squared")
    both = p[2] + p[3]
    for z in (0.001, 0.5):
        yields = max(both * z, math.sqrt(p[1] * both))
        wanted = math.sqrt((K + N * p[0]) / M) + yields * w
        # reason: a part in 10^9 keeps the rate off zero
        found = kernels._fastest_rate(code, p, rig(), DRIVE, w, -z)
        assert found == pytest.approx(wanted, rel=1e-6)
    code, p = law("ageing")
    direct = N * p[0] + ETA * w
    wanted = (w + DRIVE) * (1.0 / p[2] + K / direct) + math.exp(-0.5) + w / p[2] * N * p[1] / direct
    assert kernels._fastest_rate(code, p, rig(), -DRIVE, math.log(w), 0.5) == pytest.approx(wanted)


def pulled(name, x, t, start, *, mass=M, normal=None):
    code, p = law(name) if isinstance(name, str) else name
    out = np.zeros(x.size)
    normal = np.full(x.size, N) if normal is None else normal
    dt, dx = np.diff(t, prepend=t[0]), np.diff(x, prepend=x[0])
    counts = kernels.follow_spring(code, p, rig(mass), np.array(start), dt, dx, normal, out)
    return out, counts


def test_a_stuck_slider_stretches_its_spring():
    t = np.linspace(0.0, 1.0, 5)
    x = 0.05 * t
    out, (events, steps) = pulled("stribeck", x, t, (0.01, 0.0, 0.0))
    assert out == pytest.approx(K * (0.01 + x))
    assert (events, steps) == (0, 0)


def test_a_slider_breaks_away_at_the_bound_and_slips_as_an_oscillator():
    """Constant friction below the bound: from u = bound, m w' = k u - N mu, u' = drive - w."""
    mu = 0.3
    given = (STRIBECK, np.array([mu, mu, 0.2, 1.0, 0.0, STUCK]))
    begin = 0.25
    t = np.array([0.0, begin, begin + 0.05, begin + 0.1])
    drive = BOUND / begin
    out, (events, steps) = pulled(given, drive * t, t, (0.0, 0.0, 0.0))
    assert out[1] == pytest.approx(STUCK * N)
    a = np.array([[0.0, -1.0, drive], [K / M, 0.0, -N * mu / M], [0.0, 0.0, 0.0]])
    for i, late in ((2, 0.05), (3, 0.1)):
        u = (expm(a * late) @ [BOUND, 0.0, 1.0])[0]
        assert out[i] == pytest.approx(K * u, rel=1e-6)
    assert events == 1
    assert steps >= 2


def test_a_slider_that_stops_within_its_bound_sticks():
    """After half a period of slip the spring is as far below its middle as it was above."""
    mu = 0.3
    given = (STRIBECK, np.array([mu, mu, 0.2, 1.0, 0.0, STUCK]))
    middle, half = N * mu / K, math.pi / math.sqrt(K / M)
    t = np.array([0.0, 1.5 * half, 2.5 * half])
    out, (events, _) = pulled(given, 0.0 * t, t, (middle + 0.02, 0.0, 0.0))
    # it begins stuck within its bound
    assert out == pytest.approx([K * (middle + 0.02)] * 3)
    assert events == 0
    out, (events, _) = pulled(given, 0.0 * t, t, (middle + 0.02, 1e-9, 0.0))
    assert out[1:] == pytest.approx([K * (middle - 0.02)] * 2, rel=1e-5)
    assert events == 1


@pytest.mark.parametrize("name", ["dahl", "lugre", "bouc-wen"])
def test_bristles_come_to_even_sliding(name):
    """At a constant speed the spring feels the friction of that speed, on a steady normal force."""
    code, p = law(name)
    t = np.linspace(0.0, 4.0, 41)
    out, _ = pulled(name, DRIVE * t, t, (0.0, 0.0, 0.0))
    steady = {
        DAHL: p[1],
        LUGRE: p[4] + (p[3] - p[4]) * math.exp(-DRIVE / p[5]) + p[2] * DRIVE
        if code == LUGRE
        else 0,
        BOUC_WEN: p[0] * p[1] / (p[2] + p[3]) if code == BOUC_WEN else 0,
    }[code]
    # what swings about it dies away, or goes round it
    assert out[-10:].mean() == pytest.approx(N * steady, rel=1e-2)


def test_the_felt_force_is_that_of_the_row():
    code, p = law("ageing")
    v, theta = 0.3, 0.01
    start = (0.0, math.log(v), math.log(theta))
    out = np.zeros(1)
    normal = np.array([2.0])
    kernels.follow_spring(code, p, rig(), np.array(start), np.zeros(1), np.zeros(1), normal, out)
    # a ln(v / v0) + mu0 + b ln(theta v0 / L), and what waves carry away
    mu = p[3] + p[0] * math.log(v / p[4]) + p[1] * math.log(theta * p[4] / p[2])
    assert out[0] == pytest.approx(2.0 * mu + ETA * v)


def test_what_cannot_be_followed_is_no_number(monkeypatch):
    monkeypatch.setattr(kernels, "_MOST_STEPS", 3)
    monkeypatch.setattr(kernels, "_MOST_EACH", 1)
    t = np.linspace(0.0, 1.0, 4)
    out, (_, steps) = pulled("dahl", DRIVE * t, t, (0.0, 0.0, 0.0))
    assert steps == 5
    assert math.isfinite(out[0])
    assert np.isnan(out[1:]).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("back", [0.0, 0.02])
def test_a_falling_normal_force_ends_stick(sign, back):
    """The end rests or moves back; the slider slips to the other side of kinetic friction."""
    code, p = law("stribeck")
    p = np.array([0.4, 0.4, p[2], p[3], 0.0, 0.5])
    # it holds 0.45 of 4 N, and slips between the rows at which the normal force is 2 N
    t, normal = np.linspace(0.0, 30.0, 4), np.array([4.0, 4.0, 2.0, 2.0])
    u = sign * 0.45 * 4.0 / K
    end = -back * np.array([0.0, 0.0, 0.0, 1.0]) * u
    out, (events, _) = pulled((code, p), end, t, (u, 0.0, 0.0), normal=normal)
    assert out[:2] == pytest.approx(K * u)
    # the mean normal force of the row is 3 N: u goes to 2 mu_k N / k - u, and sticks
    assert out[2] == pytest.approx(2.0 * 0.4 * 3.0 * sign - K * u, rel=1e-6)
    assert events == 2
    assert out[3] == pytest.approx(out[2] - back * K * u, rel=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_falling_normal_force_ends_the_stick_of_a_slider_without_mass(sign):
    p, normal = np.array([0.5, 0.4]), np.array([10.0, 6.0, 2.0])
    out = np.zeros(3)
    dx = sign * np.array([0.0, -0.5, 0.0])
    events = kernels.massless_stick_slip(p, 1.0, sign * 4.0, dx, normal, out)
    # 3.5 N exceed 3 N: one drop of 1.2 N; 2.3 N exceed 1 N: four drops of 0.4 N
    assert out == pytest.approx(sign * np.array([4.0, 2.3, 0.7]))
    assert events == 5
    assert (np.abs(out) <= 0.5 * normal + 1e-12).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_saw(sign):
    """From the bound it drops by 2 (mu_s - mu_k) N, as often as the motion asks for."""
    p, stiffness = np.array([0.5, 0.4]), 10.0
    normal = np.full(5, 4.0)
    dx = sign * np.array([0.0, 0.15, 0.1, 0.2, -0.1])
    out = np.zeros(5)
    # the bound is 2, the drop 0.8: 1.5, then 2.5 - 0.8, then 3.7 - 3 * 0.8 and back
    events = kernels.massless_stick_slip(p, stiffness, 0.0, dx, normal, out)
    assert out == pytest.approx(sign * np.array([0.0, 1.5, 1.7, 1.3, 0.3]))
    assert events == 4
    # what slips evenly stays at its bound
    out = np.zeros(3)
    events = kernels.massless_stick_slip(
        np.array([0.5, 0.5]), 10.0, 1.0, sign * np.array([0, 0.3, -0.1]), np.full(3, 4.0), out
    )
    assert events == 0
    assert out == pytest.approx([1.0, 2.0, 1.0] if sign > 0 else [1.0, -2.0, -1.0])
