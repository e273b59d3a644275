"""Derivatives of event-driven runs of chains against differences, closed forms."""

import os

import numpy as np
import pytest
from tangent_cases import derivatives, differenced, random_chain, values

import stiction as st
from stiction.numerics.jit import running

METHOD = st.EventDriven()
SPAN = (0.0, 3.0)


def compared(seed):
    """Return how many derivatives of a random chain were compared, and the worst error."""
    chain, names = random_chain(np.random.default_rng(seed))
    found = chain.tangents(METHOD, SPAN, names)
    if found.failures:
        # an undamped mass between masses in stick comes to rest for an instant once a period
        assert {one.kind for one in found.failures} == {"grazing"}, (seed, found.failures)
        assert not chain.link_damping.any()
        return 0, 0.0
    by, count, worst = derivatives(found), 0, 0.0
    scale = np.abs(by).max()
    for q, name in enumerate(names):
        difference = differenced(chain, name, METHOD, SPAN, found.order, 1e-9 * scale)
        # near a change of the order of events no difference is exact enough to judge 1e-8 by
        if difference is not None and difference[1] < 2e-9 * scale:
            count += 1
            worst = max(worst, np.abs(by[:, q] - difference[0]).max() / scale)
    return count, worst


def test_random_chains():
    found = [compared(seed) for seed in range(20)]
    assert sum(count for count, _ in found) >= 80
    assert max(worst for _, worst in found) < 1e-8


# a quarter of them takes minutes; HYPOTHESIS_PROFILE=explore takes all
@pytest.mark.parametrize("part", range(4 if os.environ.get("HYPOTHESIS_PROFILE") else 1))
def test_a_thousand_random_chains(part):
    found = [compared(seed) for seed in range(1000 + 250 * part, 1250 + 250 * part)]
    assert sum(count for count, _ in found) >= 1050
    assert max(worst for _, worst in found) < 1e-8


def test_variations_leave_the_run_as_it_is():
    chain, names = random_chain(np.random.default_rng(3))
    run, found = st.solve(chain, METHOD, SPAN, save=2), chain.tangents(METHOD, SPAN, names)
    end = np.concatenate([run.data.x.values[-1], run.data.v.values[-1]])
    np.testing.assert_array_equal(found.final, end)
    times = [event.time for event in found.events]
    np.testing.assert_array_equal(times, run.events["time"])
    assert found.order == tuple(
        f"{mode} {contact}"
        for mode, contact in zip(run.events["to"], run.events["contact"], strict=True)
    )
    heat = [q.value for q in found.quantities if q.name.startswith("friction_heat")]
    np.testing.assert_allclose(sum(heat), run.ledger.friction_heat.values[-1].sum(), rtol=1e-13)


@pytest.mark.parametrize("seed", [3, 5, 7, 11])
def test_saved_derivatives_are_those_of_shorter_runs(seed):
    """In stick, in slip, under laws that depend on the slip speed, at both ends."""
    chain, names = random_chain(np.random.default_rng(seed))
    save = [0.0, 0.41, 1.37, 2.9, SPAN[1]]
    found = chain.tangents(METHOD, SPAN, names, save)
    assert not found.failures
    np.testing.assert_array_equal(found.times, save)
    np.testing.assert_array_equal(found.states[-1], found.final)
    scale = np.abs(found.states_by).max()
    np.testing.assert_allclose(found.states_by[-1], found.final_by, atol=1e-13 * scale)
    for k, end in enumerate(save[1:-1], 1):
        shorter = chain.tangents(METHOD, (0.0, end), names)
        np.testing.assert_allclose(found.states[k], shorter.final, atol=1e-11)
        np.testing.assert_allclose(found.states_by[k], shorter.final_by, atol=1e-10 * scale)


def test_saved_times_lie_within_the_run():
    chain, names = random_chain(np.random.default_rng(3))
    with pytest.raises(st.ModelError, match="within the run"):
        chain.tangents(METHOD, SPAN, names, [1.0, 3.5])
    with pytest.raises(st.ModelError, match="at the end of a run only"):
        chain.tangents(st.ThetaStepper(0.01), SPAN, names, [1.0])


def test_plain_and_compiled_kernels_agree():
    # also with fewer directions than masses
    for seed, count, end in ((1, 5, 3.0), (4, 5, 3.0), (9, 5, 3.0), (2, 1, 0.5)):
        chain, names = random_chain(np.random.default_rng(seed))
        to, span = names[:count], (0.0, end)
        with running("plain"):
            plain = derivatives(chain.tangents(METHOD, span, to))
        compiled = derivatives(chain.tangents(METHOD, span, to))
        np.testing.assert_allclose(plain, compiled, atol=1e-10 * np.abs(compiled).max())


# ---- closed forms


def test_a_block_that_turns_once_and_sticks():
    """It stops at x0 - 4 mu m g / k at t = 2 pi sqrt(m / k); the stuck velocity has none."""
    m, k, mu, g = 2.0, 8.0, 0.1, 10.0
    block = st.Chain(mass=[m], stiffness=[k], law=st.Coulomb(mu), x0=1.0, gravity=g)
    to = ["law.mu", "mass[0]", "stiffness[0]", "x0[0]", "gravity"]
    found = block.tangents(METHOD, (0.0, 4.0), to)
    assert found.order == ("slip- 1", "slip+ 1", "stick 1")
    expected = [-4 * m * g / k, -4 * mu * g / k, 4 * mu * m * g / k**2, 1.0, -4 * mu * m / k]
    np.testing.assert_allclose(found.final_by[0], expected, rtol=1e-11)
    np.testing.assert_array_equal(found.final_by[1], 0.0)
    period = 2 * np.pi * np.sqrt(m / k)
    by_time = [0.0, period / (2 * m), -period / (2 * k), 0.0, 0.0]
    np.testing.assert_allclose(found.events[2].time_by, by_time, atol=1e-11)
    # friction in stick is k x, and its derivative is that of k x
    force = {q.name: q for q in found.quantities}["friction_force[0]"]
    by_force = k * np.array(expected) + np.array([0, 0, found.final[0], 0, 0])
    np.testing.assert_allclose(force.by, by_force, rtol=1e-10, atol=1e-10)


def test_onset_under_a_ramp():
    """A ramp f = r t breaks stick at t = mu_s m g / r."""
    m, mu, rate, g = 1.5, 0.3, 2.0, 10.0
    law = st.StaticKinetic(mu, 0.2)
    block = st.Chain(mass=[m], stiffness=[5.0], law=law, load=st.Ramp(rate), gravity=g)
    to = ["law.mu_static", "law.mu_kinetic", "mass[0]", "load.rate", "load.start", "stiffness[0]"]
    found = block.tangents(METHOD, (0.0, 3.0), to)
    assert found.order[0] == "slip+ 1"
    onset = mu * m * g / rate
    expected = [m * g / rate, 0.0, mu * g / rate, -onset / rate, -1 / rate, 0.0]
    np.testing.assert_allclose(found.events[0].time_by, expected, atol=1e-12)


@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_stick_slip_on_a_belt(drop):
    """A block on a belt sticks, slips and sticks again; the closed form by complex steps."""
    start, v, g = 0.2, 0.25, 10.0
    at = [0.3 + drop, 0.3, 4.0, 1.0, start]
    law = st.StaticKinetic(at[0], at[1])
    block = st.Chain(
        mass=[at[3]], stiffness=[at[2]], law=law, belt_speed=v, gravity=g, x0=start, v0=v
    )
    t_end = 5.6 if drop else 2.6
    to = ["law.mu_static", "law.mu_kinetic", "stiffness[0]", "mass[0]", "x0[0]"]
    found = block.tangents(METHOD, (0.0, t_end), to)

    def end(mu_s, mu_k, k, m, x0):
        top, centre, w = mu_s * m * g / k, mu_k * m * g / k, np.sqrt(k / m)
        since = t_end - (top - x0) / v
        if since.real < 0.0:
            return x0 + v * t_end
        # it slips until its velocity is that of the belt again
        stop = 2.0 * (np.pi - np.arctan((top - centre) * w / v)) / w
        if since.real > stop.real:
            return 2.0 * centre - top + v * (since - stop)
        return centre + (top - centre) * np.cos(w * since) + v / w * np.sin(w * since)

    small = 1e-30
    ends = [end(*(x + 1j * small * (j == q) for j, x in enumerate(at))) for q in range(5)]
    assert abs(found.final[0] - ends[0].real) < 1e-13
    expected = [x.imag / small for x in ends]
    assert found.order == (("slip- 1", "stick 1") if drop else ("slip- 1",))
    assert not found.failures
    rows = slice(None) if drop else slice(2, None)  # without a drop the two coefficients are one
    np.testing.assert_allclose(found.final_by[0, rows], expected[rows], rtol=1e-11, atol=1e-12)


def test_steady_slip_whose_variation_vibrates():
    """A chain that slides as a whole is a polynomial in time; its variations are not."""
    chain = st.Chain(
        mass=[1.0, 1.0], stiffness=[100.0], law=st.Coulomb(0.01), v0=3.0, supports="none"
    )
    found = chain.tangents(METHOD, (0.0, 9.0), ["x0[0]", "v0[1]", "mass[1]"])
    assert not found.failures
    t, w = 9.0, np.sqrt(200.0)
    by_x0 = 0.5 * (1 + np.cos(w * t)), 0.5 * (1 - np.cos(w * t))
    np.testing.assert_allclose(found.final_by[:2, 0], by_x0, atol=1e-11)
    by_v0 = 0.5 * (t - np.sin(w * t) / w), 0.5 * (t + np.sin(w * t) / w)
    np.testing.assert_allclose(found.final_by[:2, 1], by_v0, atol=1e-11)
    # friction is in proportion to the mass, so that both go on alike
    np.testing.assert_allclose(found.final_by[:, 2], 0.0, atol=1e-12)


def test_without_directions_the_order_of_events_is_there():
    chain, _ = random_chain(np.random.default_rng(5))
    found = chain.tangents(METHOD, SPAN, ())
    assert found.final_by.shape == (2 * chain.n_mass, 0)
    assert found.order
    assert values(found).size > 2 * chain.n_mass


def test_the_whole_start():
    chain, _ = random_chain(np.random.default_rng(7))
    n = chain.n_mass
    found = chain.tangents(METHOD, SPAN, ["x0"])
    assert found.directions[0] == "x0[0]"
    assert found.directions[-1] == f"v0[{n - 1}]"
    one = chain.tangents(METHOD, SPAN, [f"v0[{n - 1}]"])
    np.testing.assert_array_equal(found.final_by[:, -1], one.final_by[:, 0])
    again = chain.at_state(np.concatenate([chain.x_start, chain.v_start]))
    np.testing.assert_array_equal(again.tangents(METHOD, SPAN, ()).final, found.final)


@pytest.mark.parametrize("law", [st.Coulomb(0.1), st.StaticKinetic(0.12, 0.1)])
def test_several_masses_that_start_to_slip_together(law):
    """They do so at fixed times: at the start, and where a user's load jumps."""
    jump = st.UserLoad(lambda t: 9.0 * (t >= 0.5), breakpoints=[0.5])
    for load, x0 in ((st.Constant(0.0), [0.5, -0.4]), (jump, [0.0, 0.0])):
        chain = st.Chain(
            mass=[1.0, 2.0], stiffness=20.0, law=law, load=load, x0=x0, load_vector=[1.0, -1.0]
        )
        to = ["mass[0]", "stiffness[1]", "gravity"]
        found = chain.tangents(METHOD, (0.0, 0.9), to)
        assert not found.failures
        assert {event.time for event in found.events[:2]} == {0.5 if x0[0] == 0.0 else 0.0}
        for q, name in enumerate(to):
            expected, error = differenced(chain, name, METHOD, (0.0, 0.9), found.order, 1e-11)
            assert error < 1e-9
            np.testing.assert_allclose(derivatives(found)[:, q], expected, atol=1e-8)


# ---- what is refused


def test_methods_and_laws_without_derivatives_are_refused():
    chain = st.Chain(mass=[1.0], stiffness=[1.0], law=st.Coulomb(0.1), v0=1.0)
    with pytest.raises(st.ModelError, match="carry no derivatives"):
        chain.tangents(st.Quasistatic(), SPAN, ["law.mu"])
    with pytest.raises(st.ModelError, match="end after the start"):
        chain.tangents(METHOD, (1.0, 1.0), ["law.mu"])
    ageing = st.laws.AgeingCoulomb(0.3, 0.02, 1.0, 1e-3)
    with pytest.raises(st.ModelError, match="EventDriven"):
        st.Chain(mass=[1.0], stiffness=[1.0], law=ageing).tangents(METHOD, SPAN, ["x0"])
    dahl = st.laws.Dahl.examples()[0]
    with pytest.raises(st.ModelError, match="set-valued law"):
        st.Chain(mass=[1.0], stiffness=[1.0], law=dahl).tangents(METHOD, SPAN, ["x0"])
    few = st.EventDriven(max_steps=1)
    with pytest.raises(st.SolveError, match="a run up to"):
        chain.tangents(few, (0.0, 50.0), ["x0"])


def test_coefficients_of_weakening_friction():
    """Series of the law: both coefficients, which enter mu by their difference and apart."""
    law = st.laws.ExponentialWeakening(0.4, 0.25, 0.5)
    block = st.Chain(mass=[1.0], stiffness=[4.0], law=law, v0=1.0, gravity=10.0)
    span, small = (0.0, 0.15), 1e-5
    found = block.tangents(METHOD, span, ["law.mu_static", "law.mu_kinetic"])
    for q, name in enumerate(found.directions):
        ends = []
        for sign in (1.0, -1.0):
            other = block.with_parameter(name, block.parameter(name) + sign * small)
            final = st.solve(other, METHOD, span).final
            ends.append([final["x"][0], final["v"][0]])
        difference = (np.array(ends[0]) - ends[1]) / (2.0 * small)
        np.testing.assert_allclose(found.final_by[:, q], difference, rtol=1e-7)
