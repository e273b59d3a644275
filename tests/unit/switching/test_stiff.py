"""Implicit steps for stiff flows: order, stiffness without cost, and the same events."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stiction as st
from stiction.switching.flow.tableau import RADAU, RADAU_NODES


def fast_friction(rate, **more):
    """Return x' = -R (x - cos t) - s R / 2: it follows cos t -+ 1/2, or slides on x = 0."""
    return st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda t, x, p: [-p.rate * (x[0] - np.cos(t)) - 0.5 * p.rate],
        f_minus=lambda t, x, p: [-p.rate * (x[0] - np.cos(t)) + 0.5 * p.rate],
        x0=[0.5],
        parameters={"rate": rate},
        **more,
    )


def robertson(**more):
    """Return Robertson's reaction, with a surface that it does not meet."""

    return st.PiecewiseSmooth(
        h=lambda x: x[0] + 1.0,
        f_plus=robertson_field,
        f_minus=robertson_field,
        x0=[1.0, 0.0, 0.0],
        scale=[1.0, 1e-4, 1.0],
        **more,
    )


def test_order_and_stiffness():
    # steps of fixed length: order 5 for a flow that is not stiff
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 9.0,
        f_plus=lambda x: [x[1], -np.sin(x[0])],
        f_minus=lambda x: [x[1], -np.sin(x[0])],
        x0=[1.0, 0.5],
        stiff=True,
    )
    exact = solve_ivp(
        lambda _t, x: [x[1], -np.sin(x[0])], (0, 4), [1.0, 0.5], "DOP853", rtol=1e-13, atol=1e-14
    ).y[0, -1]
    errors = []
    for longest in (0.1, 0.05, 0.025):
        run = st.solve(flow, st.EventDriven(rtol=1e-5, max_step=longest), t_span=(0.0, 4.0))
        assert run.stats["steps"] < 4.0 / longest + 5
        errors.append(abs(run.final["x1"] - exact))
    # reason: an observed order over two halvings of the step
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([5.0, 5.0], abs=0.6)


def test_a_stiff_reaction():
    run = st.solve(robertson(stiff=True), st.EventDriven(rtol=1e-8), t_span=(0.0, 1e4))
    exact = solve_ivp(
        lambda _t, x: robertson_field(x), (0.0, 1e4), [1.0, 0.0, 0.0], "Radau",
        rtol=1e-11, atol=[1e-13, 1e-17, 1e-13],
    ).y[:, -1]  # fmt: skip
    found = np.array([run.final[name] for name in ("x1", "x2", "x3")])
    assert found == pytest.approx(exact, rel=1e-6)
    assert run.stats["steps"] < 400


def robertson_field(x):
    a, b, c = 0.04 * x[0], 1e4 * x[1] * x[2], 3e7 * x[1] * x[1]
    return [-a + b, a - b - c, c]


@pytest.mark.parametrize("rate", [1e3, 1e5, 1e7])
def test_sliding_friction_of_any_stiffness(rate):
    run = st.solve(fast_friction(rate, stiff=True), st.EventDriven(rtol=1e-10), t_span=(0.0, 3.0))
    assert run.audit.ok
    assert run.determinism.status == "deterministic"
    assert run.events["kind"].tolist() == ["slide", "leave"]
    # in slip it follows R (R cos t + sin t) / (R^2 + 1) -+ 1/2; on the surface cos t = -+ 1/2
    lag = np.arctan(1.0 / rate)
    follow = np.cos(lag)
    assert run.events["time"][0] == pytest.approx(np.arccos(0.5 / follow) + lag, abs=2e-8)
    assert run.events["time"][1] == pytest.approx(2.0 * np.pi / 3.0, abs=1e-9)
    start = -(follow * np.cos(2.0 * np.pi / 3.0 - lag) + 0.5)
    end = follow * np.cos(3.0 - lag) + 0.5 + start * np.exp(-rate * (3.0 - 2.0 * np.pi / 3.0))
    assert run.final["x1"] == pytest.approx(end, abs=1e-8)
    assert run.stats["steps"] < 2000


def test_the_same_as_explicit_steps_where_both_can():
    span = (0.0, 3.0)
    stiff = st.solve(fast_friction(50.0, stiff=True), st.EventDriven(rtol=1e-10), t_span=span)
    usual = st.solve(fast_friction(50.0), st.EventDriven(rtol=1e-12), t_span=span)
    assert stiff.events["kind"].tolist() == usual.events["kind"].tolist()
    assert stiff.events["time"].to_numpy() == pytest.approx(
        usual.events["time"].to_numpy(), abs=1e-8
    )
    both = [run.variables["x1"].values for run in (stiff, usual)]
    assert both[0] == pytest.approx(both[1], abs=1e-7)


def test_plain_and_compiled_steps_agree():
    from stiction.numerics.jit import running

    ends = []
    for mode in ("plain", "compiled"):
        with running(mode):
            system = fast_friction(1e4, stiff=True)
            run = st.solve(system, st.EventDriven(rtol=1e-7), t_span=(0.0, 1.5), save=2)
            ends.append([run.final["x1"], *run.events["time"]])
    assert ends[0] == pytest.approx(ends[1], rel=1e-10)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_tableau_of_radau_integrates_powers(power):
    # collocation: sum_j a_ij c_j^(k-1) = c_i^k / k for k up to the number of stages
    nodes, weights = np.array(RADAU_NODES), np.array(RADAU)
    np.testing.assert_allclose(weights @ nodes ** (power - 1), nodes**power / power, atol=1e-15)
