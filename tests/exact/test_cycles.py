"""Periodic orbits by shooting, against closed forms."""

import numpy as np
import pytest

import stiction as st
from stiction.exact.switching import belt_cycle, relay_half_period

METHOD = st.switching.EventDriven(rtol=1e-13)


def forced(side):
    return lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - side * p.f]


DEN_HARTOG = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=forced(1.0),
    f_minus=forced(-1.0),
    x0=[0.5, 0.2],
    parameters={"r": 0.7, "f": 0.3},
)


def period(system):
    return 2.0 * np.pi / system.parameter("p.r")


def multipliers_of(r, f, amplitude, phase):
    """Return the squares of the roots of z^2 - (1 + rho) cos(pi/r) z + rho."""
    rho = (amplitude - np.cos(phase) - f) / (amplitude - np.cos(phase) + f)
    return np.roots([1.0, -(1.0 + rho) * np.cos(np.pi / r), rho]) ** 2, rho


@pytest.mark.parametrize(
    ("r", "f", "amplitude", "modulus"),
    [
        (0.7, 0.3, 1.88569985041425, 0.509801088788811),
        (0.9, 0.6, 3.66141638219527, 0.663464651508529),
        (1.3, 0.4, 1.20090061235759, 0.670717125215088),
        (2.0, 0.3, 0.297676184991529, 0.59750580788142),
    ],
)
def test_den_hartog(r, f, amplitude, modulus):
    flow = DEN_HARTOG.with_parameters(r=r, f=f)
    cycle = st.find_cycle(flow, (1.0, 0.5), METHOD, period=period, settle=40.0)
    turns = [event.state[0] for event in cycle.events]
    assert np.abs(turns) == pytest.approx([amplitude, amplitude], abs=1e-12)
    right = next(event for event in cycle.events if event.state[0] > 0.0)
    expected, rho = multipliers_of(r, f, amplitude, r * right.time)
    assert rho == pytest.approx(modulus, abs=1e-12)
    assert np.sort_complex(cycle.multipliers) == pytest.approx(np.sort_complex(expected), abs=1e-10)
    assert cycle.stable
    assert not cycle.autonomous
    assert cycle.period == pytest.approx(2.0 * np.pi / r)


def test_belt():
    cycle = st.find_cycle(st.BeltOscillator(), (0.0, 0.5), METHOD)
    assert cycle.period == pytest.approx(belt_cycle(1.0, 0.1, 0.5).period, abs=1e-11)
    assert cycle.period == pytest.approx(6.43947489010524, abs=1e-11)
    # the orbit sticks: every perturbation is forgotten
    assert cycle.multipliers.tolist() == [0.0]
    assert cycle.trivial == pytest.approx(1.0, abs=1e-10)
    assert cycle.order == ("slide 1: - to slide", "leave 1: slide to -")
    assert cycle.run().final["x"] == pytest.approx(cycle.state[0], abs=1e-11)


def test_relay():
    cycle = st.find_cycle(st.switching.RelayFeedback(), (1.0, 0.2, 0.1), METHOD)
    assert cycle.period == pytest.approx(2.0 * relay_half_period(3), abs=1e-11)
    assert cycle.period == pytest.approx(3.67975067086480, abs=1e-11)
    expected = [0.147448763703711, 1.08911222037e-4]
    assert cycle.multipliers == pytest.approx(expected, abs=1e-10)


def test_wheel():
    start = (0.705371, 0.026210, -0.911041)
    cycle = st.find_cycle(st.WheelOnTurntable(), start, METHOD)
    assert cycle.period == pytest.approx(3.635583, abs=1e-6)
    landing = next(event for event in cycle.events if event.label.startswith("slide"))
    assert landing.state == pytest.approx(start, abs=2e-6)
    assert cycle.multipliers[1] == 0.0
    assert abs(cycle.multipliers[0]) < 1.0


@pytest.mark.parametrize("nodes", [1, 2, 5, 11])
def test_nodes_change_nothing(nodes):
    few = st.find_cycle(st.switching.RelayFeedback(), (1.0, 0.2, 0.1), METHOD, nodes=nodes)
    assert few.multipliers == pytest.approx([0.147448763703711, 1.08911222037e-4], abs=1e-11)


def test_a_force_needs_its_period():
    with pytest.raises(st.ModelError, match="period of the force"):
        st.find_cycle(DEN_HARTOG, (1.0, 0.5), METHOD, settle=20.0)


def test_a_wrong_period_of_the_force():
    flow = DEN_HARTOG.with_parameters(r=0.9, f=0.6)
    wrong = "does not return in the second period(.|\n)*correct `period`, or give a multiple"
    with pytest.raises(st.SolveError, match=wrong):
        st.find_cycle(flow, (1.0, 0.5), METHOD, period=5.0, settle=60.0)
    right = st.find_cycle(flow, (1.0, 0.5), METHOD, period=2.0 * period(flow), settle=60.0)
    assert right.period == pytest.approx(period(flow), rel=1e-15)
    # a number does not follow the frequency of the force
    fixed = st.find_cycle(flow, (1.0, 0.5), METHOD, period=period(flow), settle=60.0)
    branch = st.continue_cycle(fixed, "p.r", (0.85, 0.95))
    assert len(branch.cycles) == 1
    assert all("second period" in end for end in branch.ends)


@pytest.mark.parametrize(("nodes", "guess"), [(1, (0.2, 0.1)), (4, (1.0, 0.5))])
def test_a_block_at_rest_has_no_cycle(nodes, guess):
    flow = DEN_HARTOG.with_parameters(r=0.9, f=1.5)
    with pytest.raises(st.SolveError, match=r"the equilibrium \[.*needs a state that moves"):
        st.find_cycle(flow, guess, METHOD, period=period, nodes=nodes)


def test_rest_for_an_instant_is_no_equilibrium():
    """x' = sin t - y, y' = -y with the node at t = pi, where both rates vanish."""
    smooth = st.PiecewiseSmooth(
        h=lambda x: x[0] + 100.0,
        f_plus=lambda t, x: [np.sin(t) - 0.5 * (x[0] + np.cos(t)), -x[1]],
        f_minus=lambda x: [0.0, 0.0],
        x0=[1.0, 0.0],
    )
    cycle = st.find_cycle(smooth, (-1.0, 0.0), METHOD, period=2.0 * np.pi, nodes=1)
    assert cycle.state[0] == pytest.approx(1.0, abs=1e-11)
    assert cycle.multipliers[0] == pytest.approx(np.exp(-np.pi), abs=1e-11)


def test_a_multiplier_on_the_unit_circle_is_neutral():
    """A mass on a spring without friction and damping, forced at another frequency."""
    free = DEN_HARTOG.with_parameters(f=0.0, r=0.7)
    cycle = st.find_cycle(free, (1.0 / 0.51, 0.0), METHOD, period=period)
    assert np.abs(cycle.multipliers) == pytest.approx([1.0, 1.0], abs=1e-10)
    assert ", neutral, " in repr(cycle)
    belt = st.find_cycle(st.BeltOscillator(), (0.0, 0.5), METHOD)
    assert ", stable, " in repr(belt)


@pytest.mark.parametrize("settle", [-1.0, np.nan, np.inf, "long"])
def test_settle_is_a_time(settle):
    with pytest.raises(st.ModelError, match=r"find_cycle\.settle: got .* needs one number >= 0"):
        st.find_cycle(st.BeltOscillator(), (0.0, 0.5), METHOD, settle=settle)


@pytest.mark.parametrize("value", [None, 0.0, np.nan, "7"])
def test_a_function_returns_the_period(value):
    with pytest.raises(
        st.ModelError, match=r"find_cycle\.period\(system\): got .* positive number"
    ):
        st.find_cycle(DEN_HARTOG, (1.0, 0.5), METHOD, period=lambda system: value)


def test_an_orbit_of_another_size_is_no_guess():
    belt = st.find_cycle(st.BeltOscillator(), (0.0, 0.5), METHOD)
    with pytest.raises(st.ModelError, match="an orbit with 2 states; needs an orbit with 3 states"):
        st.find_cycle(st.switching.RelayFeedback(), belt, METHOD)


@pytest.mark.parametrize(
    ("guess", "period"),
    [
        ([[1.0, 0.5], [0.0, 0.5]], None),
        ([[1.0, 0.5, 0.0]], 7.0),
        ([[1.0, 0.5], [0.0]], 7.0),
        ([[1.0, 0.5], [0.0, np.nan]], 7.0),
        (np.empty((0, 2)), 7.0),
    ],
)
def test_several_states_need_a_period_and_one_size(guess, period):
    with pytest.raises(st.ModelError, match=r"find_cycle\.guess: got "):
        st.find_cycle(DEN_HARTOG, guess, METHOD, period=period)


def test_the_nearest_miss_is_reported():
    away = st.PiecewiseSmooth(
        h=lambda x: x[0] - 50.0,
        f_plus=lambda x: [1.0, 0.0],
        f_minus=lambda x: [x[0], 2.0 * x[1] + 1.0],
        x0=[1.0, 0.0],
    )
    with pytest.raises(st.SolveError, match="without a recurrent event"):
        st.find_cycle(away, (1.0, 0.0))
    drift = st.PiecewiseSmooth(
        h=lambda x: x[0] + 50.0,
        f_plus=lambda t, x: [1.0 + np.cos(t), 0.1],
        f_minus=lambda t, x: [1.0, 0.0],
        x0=[1.0, 0.0],
    )
    with pytest.raises(st.SolveError, match=r"gap of .* at the state"):
        st.find_cycle(drift, (1.0, 0.0), period=2.0 * np.pi)
    with pytest.raises(st.ModelError, match="derivatives"):
        st.find_cycle(st.CrossedRods(), (1.0, 0.0))
    with pytest.raises(st.ModelError, match="guess"):
        st.find_cycle(st.BeltOscillator(), (1.0, 0.0, 0.0))


@pytest.mark.parametrize("settle", [0.0, 200.0])
def test_a_run_that_comes_to_rest_ends_the_search(settle):
    focus = st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: [-x[0] - x[1], x[0] - 1.0],
        f_minus=lambda x: [0.6 * x[0] - x[1], x[0] - 1.0],
        x0=[1.0, 0.1],
    )
    with pytest.raises(st.SolveError, match=r"the equilibrium \[.*needs a state that moves"):
        st.find_cycle(focus, (1.0, -0.9), METHOD, settle=settle)


def test_a_fast_motion():
    """Belt friction in units in which x and x' differ by more than 1e7 in size."""
    length, time = 1e-5, 1e-8
    speed = 0.3 * length / time

    def slip(side):
        def field(x):
            force = 0.2 + 0.15 / (1.0 + abs(x[1] * time / length - 0.3))
            return [x[1], (-x[0] / length - side * force) * length / time**2]

        return field

    start, scale = [0.05 * length, 0.99 * speed], [length, length / time]
    flow = st.PiecewiseSmooth(lambda x: x[1] - speed, slip(1.0), slip(-1.0), x0=start, scale=scale)
    # the period with length = time = 1
    expected = 6.413147335132507
    assert st.find_cycle(flow, start).period == pytest.approx(expected * time, rel=1e-12)


@pytest.mark.parametrize(
    ("guess", "hint"),
    [
        ([0.1, 1e-12], "on a slow belt the preceding interval of stick"),
        ([0.0, 1e-12], "the sizes of the orbit, or a `settle`"),
        ([1.0, 1e-12], "the sizes of the states of the orbit as `scale`"),
    ],
)
def test_a_belt_that_is_too_slow(guess, hint):
    with pytest.raises(st.SolveError, match=hint):
        st.find_cycle(st.BeltOscillator(belt_speed=1e-12), guess)
