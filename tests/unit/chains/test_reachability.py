"""Initial data that arrive exactly at a given state of rest."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stiction import (
    Chain,
    Constant,
    Coulomb,
    EventDriven,
    ExponentialWeakening,
    ModelError,
    Ramp,
    StaticKinetic,
    StickSet,
    UserFriction,
    reach,
    solve,
)
from stiction.exact import chains as exact


def random_case(seed):
    """Return a chain and a state of rest: n, masses, springs, dampers and laws at random."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    laws = [
        Coulomb(rng.uniform(0.05, 0.3, n)),
        Coulomb(0.1),
        ExponentialWeakening(0.3, 0.1, 0.2),
        StaticKinetic(0.3, 0.2),
    ]
    chain = Chain(
        mass=rng.uniform(0.5, 3.0, n),
        stiffness=rng.uniform(5.0, 50.0, n),
        damping=rng.choice([0.0, 1.0]) * rng.uniform(0.0, 1.0, n),
        law=laws[seed % 4],
        load=Constant(rng.uniform(-10.0, 10.0)),
    )
    stick = StickSet(chain)
    if seed % 5 == 0:
        vertices = stick.vertices()
        return chain, vertices[int(rng.integers(len(vertices)))]
    return chain, stick.sample(1, seed)[0]


def forward(chain, found):
    """Integrate forwards with fixed directions, by SciPy, without any code of ours."""
    k, c, m = chain.stiffness_matrix(), chain.damping_matrix(), chain.masses
    n = chain.n_mass
    push = chain.load_weights * chain.load.at(0.0)

    def rate(t, z):
        x, v = z[:n], z[n:]
        mu = chain.friction.mu_kinetic
        if isinstance(chain.law, ExponentialWeakening):
            # continued through v = 0, so that the integrator sees no kink at the arrival
            mu = mu + 0.2 * np.exp(-found.sigma * v / 0.2)
        if isinstance(chain.law, UserFriction):
            mu = chain.law.coefficient(v)
        force = push - k @ x - c @ v - found.sigma * mu * chain.normal_forces
        return np.concatenate([v, force / m])

    z0 = np.concatenate([found.x0, found.v0])
    end = solve_ivp(rate, (0.0, found.duration), z0, method="DOP853", rtol=1e-13, atol=1e-15)
    return end.y[:n, -1], end.y[n:, -1], end.y[n:]


@pytest.mark.parametrize("seed", range(40))
def test_arrives_at_forty_states(seed):
    chain, x_star = random_case(seed)
    found = reach(chain, x_star)
    scale = max(1.0, np.abs(found.x0).max())
    x, v, path = forward(chain, found)
    np.testing.assert_allclose(x, x_star, atol=2e-12 * scale, rtol=0)
    np.testing.assert_allclose(v, 0.0, atol=1e-11 * scale)
    # every mass moves in its direction all the way
    assert (path[:, :-1] * found.sigma[:, None] > 0.0).all()
    assert np.abs(found.v0).min() > 0.0
    # the event-driven method arrives too, and then everything sticks
    run = solve(found.chain, EventDriven(), (0.0, 1.5 * found.duration))
    np.testing.assert_allclose(run.final["x"], x_star, atol=1e-12 * scale, rtol=0)
    np.testing.assert_array_equal(run.final["v"], np.zeros(chain.n_mass))
    assert (run.event_log.time <= found.duration * (1 + 1e-6)).all()


def test_interior_and_boundary_are_distinguished():
    chain = Chain(mass=[1.0] * 3, stiffness=20.0, law=Coulomb(0.05), load=Constant(10.0))
    stick = StickSet(chain)
    inside = reach(chain, stick.projections().center)
    assert inside.interior
    assert "only a motion that starts in this state" in inside.why_not_quasistatic
    assert "0.4905 N at mass 1 (100 %" in inside.why_not_quasistatic
    edge = reach(chain, stick.bounds()[0])
    assert not edge.interior
    assert "never arrives in finite time" in edge.why_not_quasistatic
    weak = dataclasses.replace(chain, law=ExponentialWeakening(0.05, 0.02, 0.1))
    assert "branches" in reach(weak, stick.projections().center).why_not_quasistatic


def test_first_order_velocities():
    """Shortly before the arrival the velocities are those of the proof."""
    chain = Chain(mass=[1.0, 2.0], stiffness=20.0, law=Coulomb(0.1), load=Constant(3.0))
    x_star = StickSet(chain).sample(1, seed=3)[0]
    s = 1e-5
    found = reach(chain, x_star, duration=s)
    drive = StickSet(chain).drive(x_star)
    v, sigma = exact.arrival_velocity(s, drive, chain.stick_bound, chain.masses)
    np.testing.assert_allclose(found.v0, v, rtol=1e-4)
    np.testing.assert_array_equal(found.sigma, sigma)


def test_long_durations_are_refused_with_the_limit():
    chain = Chain(mass=[1.0, 2.0], stiffness=20.0, law=Coulomb(0.1), load=Constant(3.0))
    x_star = StickSet(chain).sample(1, seed=3)[0]
    default = reach(chain, x_star)
    longest = default.longest
    assert default.duration == 0.5 * longest
    found = reach(chain, x_star, duration=0.99 * longest)
    np.testing.assert_allclose(forward(chain, found)[0], x_star, atol=1e-11)
    with pytest.raises(ModelError, match="change its direction"):
        reach(chain, x_star, duration=50.0 * longest)


def test_plate_springs_and_two_walls():
    chain = Chain(
        mass=[1.0, 2.0, 1.0],
        stiffness=[10.0, 20.0, 20.0, 5.0],
        supports="both",
        plate_stiffness=[0.0, 3.0, 1.0],
        law=Coulomb(0.1),
        load=Constant(2.0),
    )
    for x_star in StickSet(chain).sample(5, seed=9):
        found = reach(chain, x_star)
        np.testing.assert_allclose(forward(chain, found)[0], x_star, atol=1e-12)


def test_users_friction():
    law = UserFriction(lambda v: 0.2 + 0.1 / (1.0 + v), lambda v: -0.1 / (1.0 + v) ** 2)
    chain = Chain(mass=[1.0, 2.0], stiffness=20.0, law=law, load=Constant(3.0))
    x_star = StickSet(chain).sample(1, seed=3)[0]
    found = reach(chain, x_star)
    np.testing.assert_allclose(forward(chain, found)[0], x_star, atol=1e-11)


def test_a_mass_without_friction_comes_along():
    chain = Chain(
        mass=[1.0, 1.0, 1.0], stiffness=20.0, law=Coulomb([0.1, 0.0, 0.1]), load=Constant(1.0)
    )
    x_star = StickSet(chain).sample(1, seed=1)[0]
    found = reach(chain, x_star, duration=0.05)
    np.testing.assert_allclose(forward(chain, found)[0], x_star, atol=1e-12)


def test_what_cannot_be_reached_is_refused():
    chain = Chain(mass=[1.0], stiffness=20.0, law=Coulomb(0.1), load=Constant(3.0))
    with pytest.raises(ModelError, match=r"StickSet.nearest"):
        reach(chain, [1.0])
    with pytest.raises(ModelError, match="constant load"):
        reach(dataclasses.replace(chain, load=Ramp(1.0)), [0.0])
    assert reach(dataclasses.replace(chain, load=Ramp(1.0)), [0.15], force=3.0).interior
    with pytest.raises(ModelError, match="no friction"):
        reach(Chain(mass=[1.0], stiffness=20.0), [0.0])
    with pytest.raises(ModelError, match="belt"):
        reach(dataclasses.replace(chain, belt_speed=1.0), [0.15])
    with pytest.raises(ModelError, match="plate"):
        reach(dataclasses.replace(chain, plate_stiffness=1.0, plate_speed=1.0), [0.14])
    with pytest.raises(ModelError, match="a Chain"):
        reach("chain", [0.0])
