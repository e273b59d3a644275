"""Gradients by the adjoint equation against derivatives along directions."""

import numpy as np
import pytest
from tangent_cases import derivatives, random_chain

import stiction as st
from stiction.chains.tangents.adjoint import seed_of

SPAN = (0.0, 3.0)


def test_both_modes_agree():
    compared = 0
    for seed in range(400, 460):
        chain, names = random_chain(np.random.default_rng(seed), laws=2)
        to = [*names, "x0"]
        found = chain.tangents(None, SPAN, to)
        if found.failures:
            continue
        of = [*chain.start_names, *(f"event_time[{j}]" for j in range(len(found.events)))]
        gradients = chain.gradients(None, SPAN, of, to)
        by = derivatives(found)[: len(of)]
        assert gradients.directions == found.directions
        np.testing.assert_allclose(gradients.by, by, atol=1e-11 * np.abs(by).max())
        compared += 1
    assert compared >= 55


def test_friction_that_depends_on_the_slip_speed():
    laws = set()
    for seed in (406, 431, 454, 516, 521, 546, 554, 576, 628):
        chain, names = random_chain(np.random.default_rng(seed), laws=3 if seed < 520 else 4)
        to = [*names, "x0"]
        found = chain.tangents(None, SPAN, to)
        of = [*chain.start_names, *(f"event_time[{j}]" for j in range(len(found.events)))]
        gradients = chain.gradients(None, SPAN, of, to)
        by = derivatives(found)[: len(of)]
        assert np.isfinite(by).all()
        np.testing.assert_allclose(gradients.by, by, atol=1e-11 * np.abs(by).max())
        laws.add(type(chain.law).__name__)
    assert laws == {"ExponentialWeakening", "Stribeck"}


def test_a_long_run_is_recorded_in_parts():
    n = 60
    chain = st.Chain(mass=1.0, n=n, stiffness=25.0, law=st.Coulomb(0.02), v0=np.arange(n) / n)
    to = [*(f"mass[{i}]" for i in range(n)), "law.mu"]
    found = chain.tangents(None, (0.0, 20.0), to)
    assert not found.failures
    gradients = chain.gradients(None, (0.0, 20.0), ["x[7]", "v[59]"], to)
    expected = found.final_by[[7, n + 59]]
    np.testing.assert_allclose(gradients.by, expected, atol=1e-10 * np.abs(expected).max())


def test_a_motion_that_is_a_polynomial():
    chain = st.Chain(
        mass=[1.0, 1.0], stiffness=[100.0], law=st.Coulomb(0.01), v0=3.0, supports="none"
    )
    to = ["x0", "mass[1]", "stiffness[0]", "law.mu"]
    found = chain.tangents(None, (0.0, 9.0), to)
    gradients = chain.gradients(None, (0.0, 9.0), chain.start_names, to)
    np.testing.assert_allclose(gradients.by, found.final_by, atol=1e-10)


@pytest.mark.parametrize("of", [["x", "event_time[1]"], ["event_time"], ["event_time", "v"]])
def test_sensitivities_go_backward(of):
    chain, names = random_chain(np.random.default_rng(405), laws=1)
    forward = st.sensitivities(chain, t_span=SPAN, of=of, to=names)
    backward = st.sensitivities(chain, t_span=SPAN, of=of, to=names, adjoint=True)
    assert len(backward.of) > 1
    assert forward.of == backward.of
    assert forward.units_of == backward.units_of
    np.testing.assert_allclose(backward.by, forward.by, atol=1e-11 * np.abs(forward.by).max())
    np.testing.assert_array_equal(backward.values, forward.values)


def test_a_user_load():
    load = st.UserLoad(lambda t: 3.0 * t * t + (t > 1.0), breakpoints=[1.0])
    to = ["x0", "law.mu", "mass[0]", "load_vector[1]"]
    for start in (8.0, 0.0):
        chain = st.Chain(
            mass=[1.0, 2.0], stiffness=[4.0, 6.0], law=st.Coulomb(0.1), v0=start, load=load
        )
        found = chain.tangents(None, (0.0, 3.0), to)
        assert not found.failures
        gradients = chain.gradients(None, (0.0, 3.0), chain.start_names, to)
        np.testing.assert_array_equal(gradients.run.final, found.final)
        scale = np.abs(found.final_by).max()
        np.testing.assert_allclose(gradients.by, found.final_by, atol=1e-11 * scale)


def test_places_without_a_derivative():
    block = st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), x0=1.0, gravity=10.0)
    found = block.gradients(None, (0.0, 4.0), ["x[0]"], ["v0[0]", "law.mu", "belt_speed"])
    np.testing.assert_allclose(found.by, [[np.nan, -10.0, np.nan]], rtol=1e-11)
    tied = block.with_parameter("law.mu", 0.08)
    found = tied.gradients(None, (0.0, 4.0), ["x[0]"], ["law.mu"])
    assert found.run.failures
    assert np.isnan(found.by).all()
    # a mass without friction that never rests has a derivative by friction (to one side)
    free = block.with_parameter("law.mu", 0.0)
    found = free.gradients(None, (0.0, 1.0), ["x[0]"], ["law.mu", "x0[0]"])
    expected = [[2.5 * (1.0 - np.cos(2.0)), np.cos(2.0)]]
    np.testing.assert_allclose(found.by, expected, rtol=1e-11)
    assert not found.run.failures
    held = st.Chain(mass=[1.0], stiffness=[4.0], law=st.Coulomb(0.1), normal_force=0.0)
    forward = held.tangents(None, (0.0, 0.5), ["normal_force[0]"])
    found = held.gradients(None, (0.0, 0.5), held.start_names, ["normal_force[0]"])
    assert np.isnan(found.by).all()
    assert found.run.failures == forward.failures != ()


def test_what_has_no_adjoint_is_refused():
    law = st.laws.Dahl.examples()[0]
    chain = st.Chain(mass=[1.0], stiffness=[1.0], law=law, v0=1.0)
    with pytest.raises(st.ModelError, match="set-valued law"):
        chain.gradients(None, SPAN, ["x[0]"], ["mass[0]"])
    plain = st.Chain(mass=[1.0], stiffness=[1.0], law=st.Coulomb(0.1), v0=1.0)
    with pytest.raises(st.ModelError, match="no adjoint"):
        plain.gradients(st.ThetaStepper(step=0.1), SPAN, ["x[0]"], ["mass[0]"])
    with pytest.raises(st.ModelError, match="at the end, and of times of events"):
        plain.gradients(None, SPAN, ["friction_heat[0]"], ["mass[0]"])
    # a list of the names that is cut says so
    with pytest.raises(st.ModelError, match=r"v\[7\] \.\.\."):
        seed_of("x", st.Chain(mass=[1.0] * 12, stiffness=1.0), 0)


def test_a_start_without_a_derivative_says_why():
    """Both modes give the same reason, and NaN in the same column alone."""
    block = st.Chain(mass=[1.0], stiffness=[4.0], law=st.Coulomb(0.09), x0=1.0, gravity=10.0)
    to, span = ["law.mu", "v0[0]"], (0.0, 0.3)
    forward = st.sensitivities(block, None, span, of=["x[0]"], to=to)
    backward = st.sensitivities(block, None, span, of=["x[0]"], to=to, adjoint=True)
    assert [one.kind for one in forward.failures] == ["start on the surface"]
    assert backward.failures == forward.failures
    np.testing.assert_array_equal(np.isnan(backward.by), [[False, True]])
    np.testing.assert_allclose(backward.by[0, 0], forward.by[0, 0], rtol=1e-12)
