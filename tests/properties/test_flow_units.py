"""A sliding flow is the same in all units: of each state, of the time, of each h."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stiction as st

FEW = settings(max_examples=4, deadline=None)
POWERS = some.integers(-9, 9).map(lambda power: 10.0**power)
TIME = 6.0


def curve(states, time, heights, gradient):
    """Slides along x = 0.4 sin 3 y with y = t."""
    (a, b), (size,) = states, heights
    known = {}
    if gradient:
        known["h_gradient"] = lambda x: (size / a, -1.2 * size / b * math.cos(3.0 * x[1] / b))
    return st.PiecewiseSmooth(
        h=lambda x: size * (x[0] / a - 0.4 * math.sin(3.0 * x[1] / b)),
        f_plus=lambda x: (-3.0 * a / time, b / time),
        f_minus=lambda x: (3.0 * a / time, b / time),
        x0=[0.5 * a, 0.0],
        scale=[a, b],
        **known,
    )


def driven(states, time, heights, gradient):
    """Slides along x = 0.4 sin 3 t, where the functions take the time."""
    (a,), (size,) = states, heights
    known = {}
    if gradient:
        known["h_gradient"] = lambda t, x, p: (
            size / a,
            -1.2 * size / time * math.cos(3.0 * t / time),
        )
    return st.PiecewiseSmooth(
        h=lambda t, x, p: size * (x[0] / a - 0.4 * math.sin(3.0 * t / time)),
        f_plus=lambda t, x, p: (-3.0 * a / time,),
        f_minus=lambda t, x, p: (3.0 * a / time,),
        x0=[0.5 * a],
        scale=[a, time],
        **known,
    )


def edge(states, time, heights, gradient):
    """Slides along the edge x = 0.4 sin 3 z, y = 0.3 cos 2 z of two surfaces, with z = t."""
    (a, b, c), (one, two) = states, heights
    known = {}
    if gradient:
        known["h_gradient"] = lambda x: (
            one / a,
            0.0,
            -1.2 * one / c * math.cos(3.0 * x[2] / c),
            0.0,
            two / b,
            0.6 * two / c * math.sin(2.0 * x[2] / c),
        )
    return st.PiecewiseSmooth(
        h=[
            lambda x: one * (x[0] / a - 0.4 * math.sin(3.0 * x[2] / c)),
            lambda x: two * (x[1] / b - 0.3 * math.cos(2.0 * x[2] / c)),
        ],
        f=lambda x, s: (
            (-3.0 * s[0] + 0.5 * s[1]) * a / time,
            (-2.0 * s[1] - 0.4 * s[0]) * b / time,
            c / time,
        ),
        x0=[0.5 * a, -0.6 * b, 0.0],
        scale=[a, b, c],
        **known,
    )


def block(states, time, heights, gradient):
    """Sticks to a belt and slips, again and again."""
    (a, b), (size,) = states, heights
    known = {"h_gradient": lambda x: (0.0, size / b)} if gradient else {}
    return st.PiecewiseSmooth(
        h=lambda x: size * (x[1] / b - 0.3),
        f_plus=lambda x: (x[1] / b * a / time, (-x[0] / a - 0.5) * b / time),
        f_minus=lambda x: (x[1] / b * a / time, (-x[0] / a + 0.5) * b / time),
        x0=[a, 0.0],
        scale=[a, b],
        **known,
    )


def solved(make, states, time, heights, gradient):
    """Return the last state and the times of events, in units of their own."""
    flow = make(states, time, heights, gradient)
    run = st.solve(flow, t_span=(0.0, TIME * time), save=3)
    assert run.status is st.Status.SOLVED
    assert run.audit.ok
    assert not run.determinism.losses
    each = np.array([run.variables[name].values for name in flow.start_names]).T
    return each / np.array(states), np.asarray(run.event_log.time) / time


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("make", [curve, driven, edge, block])
def test_sliding_is_the_same_in_all_units(make, gradient):
    number, surfaces = {driven: (1, 1), edge: (3, 2)}.get(make, (2, 1))
    ones = (1.0,) * number
    x, events = solved(make, ones, 1.0, ones[:surfaces], gradient)
    assert len(events) >= surfaces

    @FEW
    @given(POWERS, some.tuples(*[POWERS] * number), some.tuples(*[POWERS] * surfaces))
    def same(time, states, heights):
        y, times = solved(make, states, time, heights, gradient)
        assert y == pytest.approx(x, abs=1e-11)
        assert times == pytest.approx(events, abs=1e-11)

    same()


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("size", [1e-6, 1e-9])
def test_small_states_slide_exactly(size, gradient):
    """Against the place of the surface: 1e-11 of the size of each state, at every size."""
    x, _ = solved(curve, (size, 1.0), 1.0, (1.0,), gradient)
    assert x[-1] == pytest.approx([0.4 * math.sin(3.0 * TIME), TIME], abs=1e-11)
