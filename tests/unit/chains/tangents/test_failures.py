"""Places without a derivative are reported where they are constructed, and nowhere else."""

from types import SimpleNamespace

import numpy as np
import pytest

import stiction as st
from stiction.chains.tangents.event_kernels import _note
from stiction.chains.tangents.state import START, Failure

MARGIN = 1.1e-8  # of the threshold: what an event function must pass zero by


def numbers(seed):
    """Return mass, stiffness, coefficient, gravity and rate of a block, and its angular speed."""
    rng = np.random.default_rng(seed)
    m, k = rng.uniform(0.3, 4.0), 10.0 ** rng.uniform(-0.5, 2.0)
    return m, k, rng.uniform(0.05, 0.9), rng.uniform(1.0, 12.0), rng.uniform(0.1, 4.0)


def block(m, k, mu, g, **fields):
    return st.Chain(mass=[m], stiffness=[k], law=st.Coulomb(mu), gravity=g, **fields)


def grazing_slip(seed, depth=0.0):
    """A block that slips under a ramp with v = c (1 + (1 + depth) cos w t)."""
    m, k, mu, g, rate = numbers(seed)
    w, c = np.sqrt(k / m), rate / k
    load = st.Ramp(rate, start=mu * m * g)
    chain = block(m, k, mu, g, load=load, v0=c * (2.0 + depth))
    return chain, 1.3 * np.pi / w, np.pi / w


def grazing_onset(seed, depth=0.0):
    """A block that sticks under a sine whose largest force is its bound."""
    m, k, mu, g, rate = numbers(seed)
    load = st.chains.Sine(mu * m * g * (1.0 + depth), rate, 0.0)
    return block(m, k, mu, g, load=load), 0.75 * np.pi / rate, 0.5 * np.pi / rate


def onsets_together(seed, shift=0.0):
    """Two masses between two walls whose bounds a load reaches at the same time."""
    m, k, mu, g, rate = numbers(seed)
    bound = mu * m * g
    chain = st.Chain(
        mass=[m, m],
        stiffness=k,
        law=st.Coulomb(mu),
        load=st.Ramp(rate),
        load_vector=[1.0, 0.7],
        supports="both",
        normal_force=[bound / mu, 0.7 * bound / mu * (1.0 + shift)],
    )
    return chain, 1.5 * bound / rate, bound / rate


def stop_at_the_bound(seed, shift=0.0):
    """A block that stops where its spring pulls with its bound: x0 = 5 mu N / k."""
    m, k, mu, g, _ = numbers(seed)
    x0 = (5.0 + shift) * mu * m * g / k
    half = np.pi / np.sqrt(k / m)
    return block(m, k, mu, g, x0=x0), 2.5 * half, 2.0 * half


def start_at_the_bound(seed, shift=0.0):
    """A block that starts at rest with its spring at the bound."""
    m, k, mu, g, _ = numbers(seed)
    return block(m, k, mu, g, x0=(1.0 + shift) * mu * m * g / k), 1.0, 0.0


def onset_at_a_breakpoint(seed, shift=0.0):
    """A load whose slope changes at the instant at which it breaks stick."""
    m, k, mu, g, rate = numbers(seed)
    onset = mu * m * g / rate
    knee = onset * (1.0 + shift)
    load = st.chains.PiecewiseLinear([0.0, knee, 3.0 * knee], [0.0, rate * knee, 9.0 * rate * knee])
    return block(m, k, mu, g, load=load), onset + min(onset, np.sqrt(m / k)), onset


CASES = {
    "grazing": (grazing_slip, grazing_onset),
    "degenerate thresholds": (onsets_together, stop_at_the_bound, start_at_the_bound),
    "event at a breakpoint": (onset_at_a_breakpoint,),
}
ALL = [(kind, case) for kind, cases in CASES.items() for case in cases]


@pytest.mark.parametrize(("kind", "case"), ALL)
def test_every_constructed_case_is_reported(kind, case):
    for seed in range(170):
        chain, t_end, when = case(seed)
        found = chain.tangents(None, (0.0, t_end), ["law.mu", "stiffness[0]"])
        assert found.failures, seed
        first = found.failures[0]
        assert first.kind == kind, (seed, first)
        assert abs(first.time - when) < 1e-5 * max(t_end, 1.0), (seed, first)
        assert first.reason.startswith("mass ")
        # what follows is no plausible number
        assert np.isnan(found.final_by).all()
        assert all(np.isnan(e.time_by).all() for e in found.events if e.time > first.time)
        # the end of the run itself is right
        np.testing.assert_array_equal(found.final, chain.tangents(None, (0.0, t_end), ()).final)


@pytest.mark.parametrize("case", [case for _, case in ALL])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_none_is_reported_beyond_ten_margins(case, sign):
    for seed in range(85):
        m, k, mu, g, rate = numbers(seed)
        shift = 10.0 * MARGIN
        if case is grazing_slip:
            # its margin is a fraction of the speed that the forces can cause
            force = 4.0 * mu * m * g + 3.0 * rate * np.sqrt(m / k) * 2.0 * np.pi
            shift *= 1.0 + force / np.sqrt(k * m) / (rate / k)
        chain, t_end, when = case(seed, sign * shift)
        if case is grazing_onset:
            # slip so slow that it is no more than rounding of what the forces can cause comes later
            t_end = when * (1.0 - 4e-4)
        found = chain.tangents(None, (0.0, t_end), ["law.mu", "stiffness[0]"])
        assert not found.failures, (seed, found.failures)
        assert np.isfinite(found.final_by).all()


def test_near_grazing_the_time_of_an_event_is_still_right():
    for seed in range(40):
        chain, _, when = grazing_onset(seed, 10.0 * MARGIN)
        found = chain.tangents(None, (0.0, 1.1 * when), ["load.amplitude"])
        ratio, rate = 1.0 + 10.0 * MARGIN, chain.load.angular_frequency
        expected = -1.0 / (rate * chain.load.amplitude * np.sqrt(ratio**2 - 1.0))
        assert abs(found.events[0].time_by[0] / expected - 1.0) < 1e-6
        assert found.events[0].time < when


def test_a_run_that_ends_at_an_event():
    m, k, mu, g, rate = numbers(3)
    found = block(m, k, mu, g, load=st.Ramp(rate)).tangents(
        None, (0.0, mu * m * g / rate), ["law.mu"]
    )
    assert [one.kind for one in found.failures] == ["event at the end"]
    assert np.isnan(found.final_by).all()


def test_a_static_drop_leaves_the_start_open_to_one_side():
    """At rest between both bounds a small velocity slips on to one side and sticks to the other."""
    law = st.StaticKinetic(0.4, 0.2)
    chain = st.Chain(mass=[1.0], stiffness=[1.0], gravity=10.0, law=law, load=st.Constant(3.0))
    found = chain.tangents(None, (0.0, 1.0), ["v0[0]", "law.mu_static", "x0[0]"])
    assert [one.kind for one in found.failures] == ["start on the surface"]
    np.testing.assert_array_equal(found.final_by[:, 0], np.nan)
    np.testing.assert_array_equal(found.final_by[:, 1:], [[0.0, 1.0], [0.0, 0.0]])
    # a start that is varied as a whole stays in stick
    whole = chain.tangents(None, (0.0, 1.0), ["x0"])
    assert not whole.failures
    np.testing.assert_array_equal(whole.final_by, [[1.0, 0.0], [0.0, 0.0]])
    gradients = chain.gradients(None, (0.0, 1.0), ["x[0]"], ["x0", "v0[0]"])
    np.testing.assert_array_equal(gradients.by, [[1.0, 0.0, np.nan]])
    within = chain.with_parameter("load.value", 1.0).tangents(None, (0.0, 1.0), ["v0[0]"])
    assert not within.failures
    np.testing.assert_array_equal(within.final_by, 0.0)


def test_masses_without_friction():
    """They have no events, and at rest no derivative by a coefficient that is zero."""
    chain = st.Chain(mass=[1.0], stiffness=[4.0], law=st.Coulomb(0.0), x0=1.0)
    found = chain.tangents(None, (0.0, 3.0), ["x0", "stiffness[0]", "law.mu"])
    c, s = np.cos(6.0), np.sin(6.0)
    np.testing.assert_allclose(found.final_by[:, :2], [[c, s / 2], [-2 * s, c]], atol=1e-12)
    np.testing.assert_allclose(found.final_by[0, 2], -s * 3.0 / 4.0, atol=1e-12)
    # by a turn half the friction of a mass moves it on by 2 mu N / k: three half turns begin
    assert not found.failures
    rest = st.Chain(mass=[1.0], stiffness=[4.0], law=st.Coulomb(0.0))
    found = rest.tangents(None, (0.0, 1.0), ["x0[0]", "law.mu"])
    assert [one.kind for one in found.failures] == ["mass at rest without friction"]
    np.testing.assert_allclose(found.final_by[0, 0], np.cos(2.0), atol=1e-13)
    assert np.isnan(found.final_by[0, 1])


def test_failures_beyond_the_room_are_dropped():
    log = SimpleNamespace(failure=Failure.table(2), failed=np.zeros(1, np.int64))
    for k in range(4):
        _note.plain(log, 0.5 * k, START, k, 1.0 + k, 2.0 + k)
    assert log.failed[0] == 2
    rows = [tuple(row[name] for name in log.failure.dtype.names) for row in log.failure]
    assert rows == [(0.0, 1.0, 2.0, START, 0), (0.5, 2.0, 3.0, START, 1)]
