"""The corrections to the paper's string equations, each against the motion or an identity."""

import numpy as np
from numpy.testing import assert_allclose

from stiction.rods.strings.strand_motion import StrandPair, strand_motion

TWO_PI = 2.0 * np.pi
WIDTH = 0.1
MODE = np.arange(1, 7)


def none(x):
    return 0.0 * x


def strings(**change):
    given = {
        "speed": (1.0, 1.0),
        "length": (TWO_PI, TWO_PI),
        "mobility": (0.8, 0.8),
        "ratio": 1.0,
        "start": (2.0, 2.0),
        "periodic": False,
        "drag": 0.0,
        "resistance": 0.0,
        "shapes": (lambda x: np.sin(x) + 0.2 * np.sin(1.5 * x), none),
        "rates": (none, none),
    }
    return StrandPair(**{**given, **change})


def around(pair, t, h=2e-3):
    return strand_motion(pair, np.array([0.0, t - h, t, t + h]), WIDTH, step=0.1), h


def at_contact(run, amplitude, row=2):
    """Return the mean of the sum of the modes at s1."""
    k = 0.5 * np.arange(1, amplitude.size + 1)
    return float(amplitude @ (np.sin(k * run.s[row, 0]) * np.exp(-0.5 * (k * WIDTH) ** 2)))


def test_factor_of_the_force_on_the_difference():
    """(18): M_tt - c^2 M_xx = -2 lam delta(x - s), where the print has +2 lam."""
    run, h = around(strings(), 3.0)
    m = (run.amplitude[:, 0] - run.amplitude[:, 1])[1:, :6]
    k = 0.5 * MODE
    left = (m[2] - 2.0 * m[1] + m[0]) / h**2 + k**2 * m[1]
    mode = np.sin(k * run.s[2, 0]) * np.exp(-0.5 * (k * WIDTH) ** 2)
    right = 2.0 / TWO_PI * run.contact_force[2] * mode
    assert_allclose(left, -2.0 * right, atol=1e-5)
    assert np.abs(right).max() > 0.05


def test_sum_is_free_and_moves_the_contact_by_its_rate():
    """(19): s' = (G / 2) P_t(s, t), where the text has P; and P obeys the free wave equation."""
    run, h = around(strings(), 3.0)
    p = run.amplitude.sum(axis=1)[1:]
    k = 0.5 * MODE
    bend = (p[2, :6] - 2.0 * p[1, :6] + p[0, :6]) / h**2 + k**2 * p[1, :6]
    assert_allclose(bend, 0.0, atol=2e-6)
    rate = at_contact(run, run.velocity[2].sum(axis=0))
    place = at_contact(run, run.amplitude[2].sum(axis=0))
    assert_allclose(run.rates[2], 0.4 * rate, rtol=1e-8)
    assert abs(run.rates[2, 0] - 0.4 * place) > 0.05
    slope = (run.s[3, 0] - run.s[1, 0]) / (2.0 * h)
    assert_allclose(slope, 0.4 * rate, atol=1e-6)


def test_second_contact_follows_its_own_string():
    """(16): s2' = G2 <v_t>, not G2 <u_t>; they differ when F is not 1."""
    pair = strings(ratio=0.6, mobility=(0.5, 0.7), start=(2.0, 2.6))
    run = strand_motion(pair, np.array([0.0, 1.0]), WIDTH)
    k = 0.5 * np.arange(1, run.amplitude.shape[2] + 1)
    shape = np.sin(k * run.s[1, 1]) * np.exp(-0.5 * (k * WIDTH) ** 2)
    assert_allclose(run.rates[1, 1], 0.7 * (run.velocity[1, 1] @ shape), rtol=1e-10)
    assert_allclose(run.rates[1, 0] / 0.5, 0.6 * run.rates[1, 1] / 0.7, rtol=1e-10)
    assert abs(run.rates[1, 1]) > 0.05


def flux(c, rate, before, force):
    """Return dE/dt of a string with a force -force at a contact moving at `rate`, and <u_t>.

    before: the incoming waves R-, L+; u_t = (R + L) / 2, energy density (R^2 + L^2) / 4.
    """
    right, left = before
    out_right, out_left = right - force / (c - rate), left - force / (c + rate)
    gain = (c - rate) * (out_right**2 - right**2) + (c + rate) * (out_left**2 - left**2)
    return 0.25 * gain, 0.25 * (right + out_left + out_right + left)


def test_mean_velocity_conserves_energy_and_one_sided_does_not():
    """Power of the contact for the mean rule: zero; for one side: the formula of the page."""
    random = np.random.default_rng(4)
    for _ in range(20):
        F, lam = random.uniform(0.3, 2.0), random.standard_normal()
        c = random.uniform(0.8, 1.5)
        rate_u, rate_v = random.uniform(-0.7, 0.7, 2) * c
        gain_u, mean_u = flux(c, rate_u, random.standard_normal(2), lam)
        gain_v, mean_v = flux(c, rate_v, random.standard_normal(2), -F * lam)
        assert_allclose(gain_u, -lam * mean_u, atol=1e-12)
        assert_allclose(gain_v, F * lam * mean_v, atol=1e-12)
        # u_t^+ = F v_t^+ : half the jumps [u_t] = -s1' lam / (c^2 - s1'^2), [v_t] alike
        half_u = -0.5 * rate_u * lam / (c**2 - rate_u**2)
        half_v = 0.5 * rate_v * F * lam / (c**2 - rate_v**2)
        # a free mean of u makes the one-sided rule hold
        mean_u = F * (mean_v + half_v) - half_u
        power = -lam * mean_u + F * lam * mean_v
        terms = rate_u / (c**2 - rate_u**2) + F**2 * rate_v / (c**2 - rate_v**2)
        assert_allclose(power, -0.5 * lam**2 * terms, atol=1e-12)
        assert abs(power) > 0.0


def test_fold_of_the_contact_cubic():
    """F = c = G2 = 1, G1 = 0, w_v = 0: w_u = 2 V - V^3 turns back at V = 0.816, below c / G2."""
    V = np.linspace(0.0, 1.0, 100_001)
    w = 2.0 * V - V**3
    left = (w - V) * 1.0
    right = V * (1.0 - V**2)
    assert_allclose(left, right, atol=1e-14)
    turn = V[np.argmax(w)]
    assert_allclose(turn, np.sqrt(2.0 / 3.0), atol=1e-5)


def test_delay_closure_at_fixed_ends():
    """An incoming wave is the outgoing one that was reflected: u vanishes at the end."""
    run = strand_motion(strings(), np.array([0.0, 7.0]), WIDTH)
    k = 0.5 * np.arange(1, run.amplitude.shape[2] + 1)
    for x in (0.0, TWO_PI):
        shape = np.sin(k * x)
        slope = k * np.cos(k * x)
        u_t, u_x = run.velocity[1, 0] @ shape, run.amplitude[1, 0] @ slope
        assert_allclose(u_t - u_x, -(u_t + u_x), atol=1e-10)
        assert abs(u_x) > 1e-3
