"""Orders of the theta schemes, from below and from above."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stiction as st

BASELINE = st.Chain(
    mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.05)
)


def order(steps, errors):
    """Return the slope of log error over log step."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def on_a_fast_belt():
    """Return a mass that always slips backwards on a belt, and its exact place at time t."""
    mass, k, mu, normal = 2.0, 50.0, 0.3, 7.0
    chain = st.Chain(
        mass=mass, stiffness=k, normal_force=normal, law=st.Coulomb(mu), belt_speed=5.0, n=1
    )
    omega = np.sqrt(k / mass)
    return chain, lambda t: mu * normal / k * (1.0 - np.cos(omega * t))


@pytest.mark.parametrize(("theta", "expected"), [(0.5, 2.0), (0.75, 1.0), (1.0, 1.0)])
def test_order_between_events(theta, expected):
    chain, exact = on_a_fast_belt()
    steps = 1e-2 / 2.0 ** np.arange(5)
    errors = []
    for step in steps:
        run = st.solve(chain, st.ThetaStepper(float(step), theta), (0.0, 1.7), save=2)
        errors.append(abs(run.final["x"][0] - exact(1.7)))
    assert expected - 0.1 < order(steps, errors) < expected + 0.1


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_order_with_events(theta):
    """Globally first order for every theta: a mode changes somewhere inside a step.

    Where in the step is chance, so errors are averaged over steps of nearly one length.
    """
    times = np.array([1.0, 2.0, 4.0])
    exact = st.solve(BASELINE, st.EventDriven(), (0.0, 4.0), save=times).variables["x"].values
    means, bases = [], np.array([8e-3, 8e-5])
    for base in bases:
        errors = []
        for step in base * np.linspace(1.0, 1.6, 13):
            run = st.solve(BASELINE, st.ThetaStepper(step, theta), (0.0, 4.0), save=times)
            errors.append(np.max(np.abs(run.variables["x"].values - exact)))
        means.append(np.mean(errors))
    assert 0.85 < order(bases, means) < 1.15


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_weakening_friction_has_the_same_order(theta):
    law = st.ExponentialWeakening(0.08, 0.05, 0.2)
    chain = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Constant(10.0), law=law)
    exact = st.solve(chain, st.EventDriven(), (0.0, 2.0), save=2).final["x"]
    means, bases = [], np.array([4e-3, 4e-5])
    for base in bases:
        errors = []
        for step in base * np.linspace(1.0, 1.6, 9):
            run = st.solve(chain, st.ThetaStepper(step, theta), (0.0, 2.0), save=2)
            errors.append(np.max(np.abs(run.final["x"] - exact)))
        means.append(np.mean(errors))
    assert 0.8 < order(bases, means) < 1.2


@pytest.mark.parametrize(
    ("theta", "expected"), [(0.0, 1.0), (0.25, 1.0), (0.5, 2.0), (0.75, 1.0), (1.0, 1.0)]
)
@pytest.mark.parametrize("shape", [st.laws.SquareRootSign(), st.laws.TanhSign()])
def test_order_with_smoothed_friction(theta, expected, shape):
    """A smoothed law wide enough to be resolved leaves a smooth problem: full order."""
    mass, k, c, mu, width = np.array([1.0, 2.0]), np.array([20.0, 30.0]), 0.4, 0.3, 0.5
    chain = st.Chain(
        mass=mass, stiffness=k, damping=c, law=st.Coulomb(mu), load=st.chains.Sine(15.0, 3.0)
    )
    normal = mass * 9.81

    def right_side(t, y):
        x, v = y[:2], y[2:]
        tension = k * np.diff(x, prepend=0.0) + c * np.diff(v, prepend=0.0)
        force = np.append(np.diff(tension), 15.0 * np.sin(3.0 * t) - tension[-1])
        return np.concatenate([v, (force - mu * normal * shape.sign(v, width)) / mass])

    out = solve_ivp(right_side, (0.0, 2.0), np.zeros(4), method="DOP853", rtol=1e-12, atol=1e-14)
    steps = 4e-3 / 2.0 ** np.arange(4)
    errors = []
    for step in steps:
        method = st.chains.RegularizedTheta(float(step), theta, width, shape=shape)
        run = st.solve(chain, method, (0.0, 2.0), save=2)
        assert run.stats["unconverged_steps"] == 0
        errors.append(np.max(np.abs(run.final["x"] - out.y[:2, -1])))
    assert expected - 0.1 < order(steps, errors) < expected + 0.1
