"""Random chains by several methods: the same answer, and promises saved by each of them."""

import dataclasses

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from properties_chains import LAWS, between, chains

import stiction

MODEST = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
SMOOTH = st.one_of(
    st.builds(stiction.Coulomb, between(0.05, 0.8)),
    st.builds(
        lambda k, d, v: stiction.ExponentialWeakening(k + d, k, v),
        between(0.05, 0.4),
        between(0.0, 0.2),
        between(0.3, 2.0),
    ),
)


def soft(chain):
    """Return the chain with springs that a step of a millisecond resolves."""
    springs = np.minimum(np.broadcast_to(chain.stiffness, chain.n_spring), 100.0)
    return dataclasses.replace(chain, stiffness=springs)


@MODEST
@given(chain=chains(laws=SMOOTH), theta=st.sampled_from([0.5, 0.75, 1.0]))
def test_theta_comes_to_the_event_driven_answer(chain, theta):
    """The error stays below a first-order bound made of the forces that act.

    A mass that stops inside a step is out of step by at most its acceleration times h.
    """
    chain, step, t_end = soft(chain), 5e-4, 1.0
    exact = stiction.solve(chain, stiction.EventDriven(), (0.0, t_end), save=101)
    run = stiction.solve(chain, stiction.ThetaStepper(step, theta), (0.0, t_end), save=101)
    assert run.stats["unconverged_steps"] == 0
    error = np.max(np.abs(run.variables["x"].values - exact.variables["x"].values))
    v = exact.variables["v"].values
    acceleration = np.max(np.abs(np.diff(v, axis=0))) / 0.01
    bound = np.max(chain.stick_bound / chain.masses)
    assert error <= step * (2.0 * (acceleration + bound) * t_end + np.max(np.abs(v)))


@MODEST
@given(
    chain=chains(laws=LAWS),
    theta=st.sampled_from([0.5, 0.6, 1.0]),
    step=st.sampled_from([1e-3, 1e-2, 0.1]),
)
def test_theta_keeps_its_ledger_at_any_step(chain, theta, step):
    run = stiction.solve(chain, stiction.ThetaStepper(step, theta), (0.0, 2.0), save=41)
    assert run.energy.step_imbalance_rel <= 1e-12
    slack = 1e-11 * max(run.energy.scale, 1e-290)
    assert (np.diff(run.energy.friction_heat, axis=0) >= -slack).all()
    assert (np.diff(np.atleast_1d(run.energy.algorithmic)) >= -slack).all()


@MODEST
@given(chain=chains(laws=SMOOTH), theta=st.sampled_from([0.0, 0.5, 1.0]))
def test_smoothed_scheme_keeps_its_ledger(chain, theta):
    chain = soft(chain)
    method = stiction.chains.RegularizedTheta(1e-3, theta, smoothing=1e-2)
    run = stiction.solve(chain, method, (0.0, 0.5), save=11, throw=False)
    assume(run.status.ok)
    assert run.energy.step_imbalance_rel <= 1e-12


@MODEST
@given(chain=chains(laws=SMOOTH, belt=False), theta=st.sampled_from([0.5, 1.0]))
def test_theta_mirror_image(chain, theta):
    mirrored = dataclasses.replace(
        chain, load_vector=-chain.load_weights, x0=-chain.x_start, v0=-chain.v_start
    )
    method = stiction.ThetaStepper(1e-2, theta)
    one = stiction.solve(chain, method, (0.0, 1.0), save=2)
    two = stiction.solve(mirrored, method, (0.0, 1.0), save=2)
    np.testing.assert_array_equal(one.final["x"], -two.final["x"])
