"""Derivatives of runs that start shortly before an event, or in sliding, or end at an event."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)
# an event this long after the start is far away; every nearer start has the same event
FAR = 1e-3


def side(s):
    return lambda x, p: [
        p.a * x[0] + x[1] + 0.3 * s,
        -x[0] + p.b * x[2] - 0.7 * s + np.sin(x[1]),
        -0.4 * x[2] + x[0] - s * (p.c + 0.2 * x[1]),
    ]


SMOOTH = st.PiecewiseSmooth(
    h=lambda x, p: x[1] + 0.3 * x[2] - p.d,
    f_plus=side(1.0),
    f_minus=side(-1.0),
    x0=[1.0, 0.5, 0.2],
    parameters={"a": -0.2, "b": 0.6, "c": 0.3, "d": 0.1},
)
KINKED = st.PiecewiseSmooth(
    h=lambda x: x[0] - 30.0,
    f_plus=lambda x: [-1.0, 0.0],
    f_minus=lambda x, p: [x[1], -p.k * x[0] - 0.5 * max(x[0] - p.c, 0.0)],
    kinks=lambda x, p: x[0] - p.c,
    x0=[1.0, 0.0],
    parameters={"k": 1.2, "c": 0.2},
)
WHEEL = st.WheelOnTurntable(x0=(0.705371, 0.03, -0.9))
# system, centre and spread of its starts, end of its run, directions
FLOWS = {
    "smooth": (SMOOTH, [0.0, 0.0, 0.0], 1.0, 5.0, ("x0", "p.a", "p.c", "p.d")),
    "kinked": (KINKED, [0.0, 0.0], 1.0, 5.0, ("x0", "p.k", "p.c")),
    "wheel": (WHEEL, [0.705, 0.03, -0.9], 0.01, 4.0, ("x0", "mu", "kappa", "omega0")),
    "belt": (st.BeltOscillator(), [0.0, 0.0], 1.0, 8.0, ("x0", "mu0", "belt_speed")),
    "blocks": (
        st.switching.TwoBlockStickSlip(),
        [0.0, 0.0, 0.0, 0.0],
        0.5,
        8.0,
        ("x0", "mass[0]", "friction[1]", "coupling"),
    ),
}


def before_events(system, span, to, rng):
    """Yield the label of each event, the distance of a start from it, and the two derivatives.

    The derivative from a start far before the event is the product of that from there to the near
    start, without an event, and of that from the near start.
    """
    events = system.tangents(METHOD, span, ()).events
    times = [span[0], *(event.time for event in events), span[1]]
    for k, event in enumerate(events):
        far = min(FAR, 0.5 * (event.time - times[k]))
        end = event.time + min(0.3, 0.5 * (times[k + 2] - event.time))
        start = system.at_state(system.tangents(METHOD, (span[0], event.time - far), ()).final)
        if not np.isfinite(start.x0).all():
            return
        whole = start.tangents(METHOD, (event.time - far, end), to)
        for distance in 10.0 ** rng.uniform(-13.0, np.log10(far), 3):
            first = start.tangents(METHOD, (event.time - far, event.time - distance), to)
            if whole.failures or first.failures or first.events:
                continue
            near = start.at_state(first.final)
            second = near.tangents(METHOD, (event.time - distance, end), to)
            n = first.final.size
            product = second.final_by[:, :n] @ first.final_by
            product[:, n:] += second.final_by[:, n:]
            yield event.label, distance, second, whole.final_by, product


@pytest.mark.parametrize("name", FLOWS)
def test_a_start_before_an_event_is_right_or_reported(name):
    system, centre, spread, end, to = FLOWS[name]
    rng, right, reported, labels = np.random.default_rng(5), 0, 0, set()
    for _ in range(8):
        flow = system.at_state(np.array(centre) + spread * rng.normal(size=len(centre)))
        for label, distance, run, expected, product in before_events(flow, (0.0, end), to, rng):
            if run.failures:
                # these starts are on the surface, or their sliding ends within rounding
                assert run.failures[0].kind in {"start on a surface", "grazing"}
                assert distance < 1e-7
                reported += 1
                continue
            off = np.abs(product - expected).max() / np.abs(expected).max()
            assert off < 1e-8, (label, distance)
            right += 1
            labels |= {label.split()[0]}
    assert right > 2 * reported
    assert right >= 18
    assert labels >= ({"kink"} if name == "kinked" else {"slide"})


def on_one_side(system, name, span, step):
    """Return the derivative of the end towards one side by extrapolated differences of runs."""
    points = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    value = system.parameter(name)
    ends = np.array(
        [
            system.with_parameter(name, value + p * step).tangents(METHOD, span, ()).final
            for p in points
        ]
    )
    slopes = (ends[1:] - ends[0]) / (step * points[1:, None])
    weights = [np.prod([q / (q - p) for q in points[1:] if q != p]) for p in points[1:]]
    return np.array(weights) @ slopes


def surfaces(mixed):
    """Two surfaces with sliding along both; `mixed` is the part of x' that both change at once."""
    return st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x, p: x[1] + 0.3 * x[0] + p.a * x[2]],
        f=lambda x, s: [
            -s[0] - 0.1 * s[1] + 0.2,
            -s[1] + 0.3 * s[0] + 0.1,
            2.0 * s[0] + s[1] - x[2] + x[0] * x[1] + mixed * s[0] * s[1],
        ],
        x0=[0.0, 0.0, 0.0],
        parameters={"a": 0.2},
    )


@pytest.mark.parametrize("name", ["wheel", "two surfaces"])
def test_a_start_in_sliding_has_the_same_derivative_on_both_sides(name):
    flow, to = surfaces(0.0), ("x0", "p.a")
    if name == "wheel":
        # it slides from t = 3.348 to 3.543
        flow, to = WHEEL.at_state(WHEEL.tangents(METHOD, (0.0, 3.4), ()).final), ("x0", "mu")
    span = (0.0, 0.05)
    found = flow.tangents(METHOD, span, to)
    assert found.failures == ()
    assert found.order == ()
    for j, direction in enumerate(found.directions):
        for step in (1e-5, -1e-5):
            expected = on_one_side(flow, direction, span, step)
            np.testing.assert_allclose(found.final_by[:, j], expected, rtol=1e-7, atol=1e-8)


def test_a_start_on_two_surfaces_whose_jumps_do_not_add_up_is_reported():
    found = surfaces(0.5).tangents(METHOD, (0.0, 0.5), ("x0",))
    assert [one.kind for one in found.failures] == ["start on a surface"]
    assert np.isnan(found.final_by).all()


@pytest.mark.parametrize("distance", [1e-10, 1e-8, 1e-7, 3e-6, 7e-6, 1e-4])
def test_differences_do_not_cross_a_kink(distance):
    before, after = np.array([[0.0, 1.0], [-1.2, 0.0]]), np.array([[0.0, 1.0], [-1.7, 0.0]])
    start = expm(-before * distance) @ [0.2, 1.0]
    found = KINKED.at_state(start).tangents(METHOD, (0.0, distance + 0.3), ("x0",))
    assert found.order == ("kink",)
    expected = expm(0.3 * after) @ expm(distance * before)
    np.testing.assert_allclose(found.final_by, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("gap", [-1e-13, 0.0, 1e-13])
def test_a_run_that_ends_at_an_event_is_reported(gap):
    time = SMOOTH.tangents(METHOD, (0.0, 5.0), ()).events[0].time
    found = st.sensitivities(SMOOTH, METHOD, (0.0, time + gap), of=["x1"], to=["x0[0]"])
    assert [one.kind for one in found.failures] == ["event at the end"]
    assert np.isnan(found.by).all()
    for beside in (-1e-8, 1e-8):
        assert SMOOTH.tangents(METHOD, (0.0, time + beside), ("x0",)).failures == ()


def test_reasons_name_a_remedy():
    w = 1e6
    fast = st.PiecewiseSmooth(
        h=lambda x: x[0] - 0.1,
        f_plus=lambda x: [x[1], -w * w * (x[0] + 0.2)],
        f_minus=lambda x: [x[1], -w * w * x[0]],
        x0=[1.0, 0.0],
    )
    failure = fast.tangents(None, (0.0, 10.0 / w), ("x0",)).failures[0]
    assert failure.kind == "stiff field"
    assert "x2 reaches 1.2e+06 and its scale is 1" in failure.reason
    assert "as `scale`" in failure.reason
    scaled = dataclasses.replace(fast, scale=[1.0, w])
    assert scaled.tangents(None, (0.0, 10.0 / w), ("x0",)).failures == ()
    few = st.switching.EventDriven(max_steps=3)
    failure = SMOOTH.tangents(few, (0.0, 5.0), ("x0",)).failures[0]
    assert failure.kind == "work_limit"
    assert "a larger limit" in failure.reason
