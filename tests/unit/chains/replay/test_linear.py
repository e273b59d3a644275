"""Chebyshev polynomials of a replay against the matrix exponential."""

import numpy as np
import pytest
from scipy.linalg import expm

from stiction import Chain, Constant, Coulomb, EventDriven, solve
from stiction.chains import Ramp, Sine, SumOf
from stiction.chains.replay import linear
from stiction.chains.replay.forces import Forces, Intervals
from stiction.numerics import jit


def stretches(n, count, rng, longest, belt=0.0):
    """Return random stretches of n masses, of a part of `longest` [s] each."""
    mode = rng.integers(-1, 2, (n, count)).astype(np.float64)
    v = np.where(mode == 0.0, belt, belt + mode * rng.uniform(0.0, 2.0, (n, count)))
    t0 = rng.uniform(0.0, 3.0, count)
    t1 = t0 + longest * rng.random(count)
    return Intervals(t0, t1, rng.normal(0.0, 1.0, (n, count)), v, mode, np.zeros(count, int))


def by_exponential(chain, given):
    """Return the ends: the state, 1, t and each sine with its cosine as one linear system."""
    n, (x, v) = chain.n_mass, (given.x.copy(), given.v.copy())
    p = chain.load.segments()
    k, c, m = chain.stiffness_matrix(), chain.damping_matrix(), chain.masses
    mu = chain.friction.mu_kinetic * chain.normal_forces
    for s in range(given.t0.size):
        mode, t = given.mode[:, s], given.t0[s]
        on = (mode != 0.0) / m
        size = 2 * n + 2 + 2 * p.amplitude.size
        a, y = np.zeros((size, size)), np.zeros(size)
        a[:n, n : 2 * n] = np.eye(n)
        a[n : 2 * n, :n], a[n : 2 * n, n : 2 * n] = -k * on[:, None], -c * on[:, None]
        offset = p.offset[0] - p.rate[0] * p.time[0]
        a[n : 2 * n, 2 * n] = on * (chain.load_weights * offset - mode * mu)
        rise = chain.load_weights * p.rate[0] + chain.plate_springs * chain.plate_speed
        a[n : 2 * n, 2 * n + 1] = on * rise
        a[2 * n + 1, 2 * n] = 1.0
        y[:n], y[n : 2 * n], y[2 * n], y[2 * n + 1] = x[:, s], v[:, s], 1.0, t
        for j, (size_of, w, phase) in enumerate(
            zip(p.amplitude, p.angular_frequency, p.phase, strict=True)
        ):
            at = 2 * n + 2 + 2 * j
            a[n : 2 * n, at] = on * chain.load_weights * size_of
            a[at, at + 1], a[at + 1, at] = w, -w
            y[at], y[at + 1] = np.sin(w * t + phase), np.cos(w * t + phase)
        y = expm(a * (given.t1[s] - t)) @ y
        x[:, s], v[:, s] = y[:n], y[n : 2 * n]
    return x, v


@pytest.mark.parametrize("n", [1, 3, 12])
@pytest.mark.parametrize("damping", [0.0, 0.8])
def test_against_the_matrix_exponential(n, damping):
    rng = np.random.default_rng(n)
    chain = Chain(
        mass=rng.uniform(0.3, 3.0, n),
        stiffness=rng.uniform(3.0, 30.0, n),
        damping=damping,
        load=SumOf([Ramp(0.7, 2.0), Sine(3.0, 2.2, 0.4), Sine(-1.0, 5.0, 1.0)]),
        law=Coulomb(rng.uniform(0.1, 0.4, n)),
        plate_stiffness=rng.uniform(0.0, 3.0, n),
        plate_speed=0.3,
        belt_speed=0.2,
    )
    forces = Forces(chain)
    given = stretches(n, 40, rng, (4.0 if damping else 12.0) / forces.rate, belt=0.2)
    x, v = linear.ends(forces, given)
    right_x, right_v = by_exponential(chain, given)
    np.testing.assert_allclose(x, right_x, atol=2e-12)
    np.testing.assert_allclose(v, right_v, atol=2e-12 * forces.rate)


def test_weights_are_bessel_functions():
    from scipy.special import jv

    tau = np.array([0.0, 1e-12, 0.3, 2.0, 7.0])
    top = linear.terms(7.0)
    weight = linear._bessel(tau, top)
    right = jv(np.arange(top + 1)[:, None], tau) * np.where(np.arange(top + 1) == 0, 1, 2)[:, None]
    np.testing.assert_allclose(weight, right, atol=1e-14)


@pytest.mark.parametrize("n", [3, 12])
def test_kernel_and_arrays_agree(n):
    """The value of a replay is rounding both with kernels and without."""
    chain = Chain(
        mass=1.0, n=n, stiffness=20.0, damping=0.1, load=Constant(4.0 * n), law=Coulomb(0.1)
    )
    values = []
    for mode in ("compiled", "plain"):
        with jit.running(mode):
            run = solve(chain, EventDriven(), (0.0, 2.0), save=11)
        values += [check.value for check in run.audit if check.check == "replay_agrees"]
    assert len(values) == 2
    assert max(values) < 1e-13


def test_short_intervals_of_a_batch_with_a_long_one_are_as_exact_as_alone():
    """Damping makes polynomials of high order grow, which a short interval does not need."""
    chain = Chain(mass=[1.0] * 3, stiffness=20.0, damping=2.0, law=Coulomb(0.25), load=Ramp(0.1))
    n, lengths = chain.n_mass, np.array([6.0, 0.08, 0.5, 0.0])
    forces, still = Forces(chain), np.zeros((n, lengths.size))
    mode = np.ones((n, lengths.size)) * (lengths < 1.0)  # the long interval is one of stick
    given = Intervals(0.0 * lengths, lengths, still, 0.3 * mode, mode, np.zeros(4, int))
    x, v = linear.ends(forces, given)
    for s in range(lengths.size):
        alone = linear.ends(forces, given.part(np.array([s])))
        np.testing.assert_allclose(x[:, s], alone[0][:, 0], atol=1e-13)
        np.testing.assert_allclose(v[:, s], alone[1][:, 0], atol=1e-12)
