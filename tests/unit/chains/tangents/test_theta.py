"""Derivatives of the discrete map of the theta scheme."""

import numpy as np
import pytest
from tangent_cases import derivatives, differenced, random_chain

import stiction as st

SPAN = (0.0, 1.5)


@pytest.mark.parametrize("theta", [0.5, 0.8, 1.0])
def test_random_chains(theta):
    count, worst = 0, 0.0
    for seed in range(12):
        method = st.ThetaStepper(step=0.02, theta=theta)
        chain, names = random_chain(np.random.default_rng(200 + seed))
        found = chain.tangents(method, SPAN, names)
        assert not found.failures
        by = derivatives(found)
        scale = np.abs(by).max()
        for q, name in enumerate(names):
            difference = differenced(chain, name, method, SPAN, found.order, 1e-9 * scale)
            if difference is not None and difference[1] < 1e-9 * scale:
                count += 1
                worst = max(worst, np.abs(by[:, q] - difference[0]).max() / scale)
    assert count >= 40
    # steps are solved to 1e-13, which the differences of two runs magnify
    assert worst < 2e-8


def test_variations_leave_the_run_as_it_is():
    chain, names = random_chain(np.random.default_rng(3))
    method = st.ThetaStepper(step=0.01)
    run, found = st.solve(chain, method, SPAN, save=2), chain.tangents(method, SPAN, names)
    end = np.concatenate([run.data.x.values[-1], run.data.v.values[-1]])
    np.testing.assert_array_equal(found.final, end)
    # (the log of the run leaves out what was taken back in the next step)
    assert set(np.round(run.events["time"], 9)) <= {round(e.time, 9) for e in found.events}


def test_a_run_with_as_many_events_as_allowed_has_derivatives():
    block = st.Chain(mass=[1.0], stiffness=[10.0], normal_force=1.0, law=st.Coulomb(0.3), x0=[2.0])
    many = len(block.tangents(st.ThetaStepper(step=1e-2), (0.0, 3.0), ["law.mu"]).events)
    for most in (many, many - 1):
        method = st.ThetaStepper(step=1e-2, max_events=most)
        if st.solve(block, method, (0.0, 3.0), save=2, throw=False).status is st.Status.SOLVED:
            assert most == many
            assert len(block.tangents(method, (0.0, 3.0), ["law.mu"]).events) == many
        else:
            assert most < many
            with pytest.raises(st.SolveError, match="needs a run up to 3 s"):
                block.tangents(method, (0.0, 3.0), ["law.mu"])


def test_they_tend_to_the_exact_ones():
    """At theta = 1/2 the derivatives of a block that turns and sticks have order one or more."""
    block = st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), x0=1.0, gravity=10.0)
    errors = []
    for step in (1e-2, 1e-3, 1e-4):
        found = block.tangents(st.ThetaStepper(step=step), (0.0, 4.0), ["law.mu", "stiffness[0]"])
        exact = [-10.0, 4 * 0.1 * 2.0 * 10.0 / 64.0]
        errors.append(np.abs(found.final_by[0] - exact).max())
        assert found.final_by[1].tolist() == [0.0, 0.0]
    assert errors[2] < 0.1 * errors[0] < 1e-3


def test_a_step_at_the_bound_is_reported():
    block = st.Chain(
        mass=[1.0], stiffness=[1.0], law=st.Coulomb(0.5), gravity=10.0, load=st.Constant(5.0)
    )
    found = block.tangents(st.ThetaStepper(step=0.1), (0.0, 1.0), ["law.mu"])
    assert [one.kind for one in found.failures] == ["degenerate thresholds"]
    assert np.isnan(found.final_by).all()


def test_a_mass_at_rest_without_friction():
    """It obeys its equation of motion; its friction, which would hold it, has no derivative."""
    chain = st.Chain(
        mass=[1.0, 2.0],
        stiffness=[4.0, 5.0],
        law=st.Coulomb([0.0, 0.3]),
        load=st.Ramp(rate=9.0),
        load_vector=[0.0, 1.0],
    )
    method, span = st.ThetaStepper(step=1e-2), (0.0, 1.5)
    found = chain.tangents(method, span, ["x0[0]", "x0[1]", "load.rate", "law.mu[0]", "law.mu[1]"])
    assert [(one.kind, one.time) for one in found.failures] == [
        ("mass at rest without friction", 0.0)
    ]
    assert np.isnan(found.final_by[:, 3]).all()
    for q in (0, 1, 2, 4):
        name = found.directions[q]
        at = chain.parameter(name)
        ends = [
            chain.with_parameter(name, at + change).tangents(method, span, ()).final
            for change in (1e-5, -1e-5)
        ]
        np.testing.assert_allclose(found.final_by[:, q], (ends[0] - ends[1]) / 2e-5, atol=1e-7)


@pytest.mark.parametrize("start", [0.0, 1000.0])
def test_a_breakpoint_at_the_end_of_a_step(start):
    """The map has a kink there: the derivative is the mean of both sides, near the exact one."""
    method, span, name = st.ThetaStepper(step=0.01), (start, start + 0.6), "load.time[1]"
    load = st.chains.PiecewiseLinear(start + np.array([0.0, 0.3, 0.35]), [0.0, 9.0, 0.0])
    block = st.Chain(
        mass=[1.0], stiffness=[4.0], law=st.Coulomb(0.05), gravity=10.0, v0=3.0, load=load
    )
    by = block.tangents(method, span, [name]).final_by[:, 0]
    ends = [
        block.with_parameter(name, start + 0.3 + shift).tangents(method, span, ()).final
        for shift in (1e-8, -1e-8)
    ]
    np.testing.assert_allclose(by, (ends[0] - ends[1]) / 2e-8, atol=1e-6)
    exact = block.tangents(None, span, [name]).final_by[:, 0]
    np.testing.assert_allclose(by, exact, atol=0.01)  # reason: of second order in the step
