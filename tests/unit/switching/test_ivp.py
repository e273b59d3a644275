"""`solve_ivp` beside SciPy's: the examples of its reference, and sliding that it cannot do."""

import numpy as np
import pytest
import scipy.integrate
from scipy.optimize import brentq

import stiction as st


def cannon(t, y):
    return [y[1], -0.5]


def hit_ground(t, y):
    return y[0]


def apex(t, y):
    return y[1]


def lotkavolterra(t, z, a, b, c, d):
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


hit_ground.terminal = True
hit_ground.direction = -1


def same(ours, theirs):
    """Compare all fields of two results of SciPy's form."""
    for name in ("t", "y", "nfev", "njev", "nlu", "status", "success", "message"):
        assert np.array_equal(ours[name], theirs[name]), name
    for name in ("t_events", "y_events"):
        mine, other = ours[name], theirs[name]
        assert (mine is None) == (other is None)
        for one, two in zip(mine or (), other or (), strict=True):
            assert np.array_equal(one, two)
    return True


@pytest.mark.parametrize(
    ("fun", "span", "y0", "more"),
    [
        (lambda t, y: -0.5 * y, [0, 10], [2, 4, 8], {}),
        (lambda t, y: -0.5 * y, [0, 10], [2, 4, 8], {"t_eval": [0, 1, 2, 4, 10]}),
        (cannon, [0, 100], [0, 10], {"events": hit_ground}),
        (cannon, [0, 100], [0, 10], {"events": (hit_ground, apex), "dense_output": True}),
        (lotkavolterra, [0, 15], [10, 5], {"args": (1.5, 1, 3, 1), "dense_output": True}),
    ],
)
def test_the_examples_of_scipy_run_unchanged(fun, span, y0, more):
    ours = st.solve_ivp(fun, span, y0, **more)
    theirs = scipy.integrate.solve_ivp(fun, span, y0, **more)
    assert same(ours, theirs)
    assert ours.determinism.status == "deterministic"
    if "dense_output" in more:
        t = np.linspace(*ours.t[[0, -1]], 7)
        assert np.array_equal(ours.sol(t), theirs.sol(t))


def far(t, y):
    return y[0] + 1e3


def thrown(t, y, sides):
    return np.array([y[1], -0.5])


def test_events_are_those_of_scipy():
    # along the way of flows with surfaces, of which one here is never met
    ours = st.solve_ivp(
        thrown, [0, 100], [0, 10], events=(hit_ground, apex), dense_output=True, surfaces=far
    )
    theirs = scipy.integrate.solve_ivp(
        cannon, [0, 100], [0, 10], events=(hit_ground, apex), rtol=1e-10, atol=1e-10
    )
    assert ours.status == theirs.status == 1
    assert ours.message == theirs.message
    for one, two in zip(ours.t_events, theirs.t_events, strict=True):
        assert one == pytest.approx(two, rel=1e-9)
    for one, two in zip(ours.y_events, theirs.y_events, strict=True):
        assert one == pytest.approx(two, abs=1e-7)
    assert ours.t[-1] == pytest.approx(40.0, rel=1e-12)
    assert ours.y[:, -1] == pytest.approx([0.0, -10.0], abs=1e-9)
    assert ours.sol(ours.t_events[1][0]) == pytest.approx([100.0, 0.0], abs=1e-9)


MU, BELT = 0.4, 0.2


def slip(t, y):
    return y[1] - BELT


def block(t, y, sides):
    return np.array([y[1], -y[0] - MU * sides[0]])


def test_a_block_sticks_where_scipy_chatters():
    ours = st.solve_ivp(block, [0, 12], [0.0, BELT], surfaces=slip, dense_output=True)
    assert ours.status == 0
    assert ours.success
    # it rides with the belt until the spring breaks it loose at x = mu, and swings back
    t = np.linspace(0.1, 1.9, 37)
    assert np.abs(ours.sol(t)[1] - BELT).max() <= 1e-12
    assert ours.sol(t)[0] == pytest.approx(BELT * t, abs=1e-9)
    # then x = mu + v sin(t), which meets the belt's speed after a whole turn alone
    late = np.linspace(2.1, 8.0, 41)
    assert ours.sol(late)[0] == pytest.approx(MU + BELT * np.sin(late - 2.0), abs=1e-8)
    assert ours.run.event_log.kind[0] == "leave"
    assert ours.run.event_log.time[0] == pytest.approx(2.0, abs=1e-9)


def test_scipy_steps_to_and_fro_where_it_slides():
    def signed(t, y):
        return [y[1], -y[0] - MU * np.sign(y[1] - BELT)]

    theirs = scipy.integrate.solve_ivp(signed, [0, 1.0], [0.0, BELT + 1e-3], rtol=1e-6)
    ours = st.solve_ivp(block, [0, 1.0], [0.0, BELT + 1e-3], surfaces=slip)
    assert ours.success
    assert ours.y[1, -1] == pytest.approx(BELT, abs=1e-13)
    assert ours.run.stats["steps"] < 60
    # the peer steps to and fro across the surface
    assert theirs.nfev > 20 * ours.run.stats["steps"]


def test_lost_determinism_is_reported():
    # both sides push away from the surface, and the start is on it
    found = st.solve_ivp(
        lambda t, y, sides: np.array([sides[0]]), [0, 1], [0.0], surfaces=lambda t, y: y[0]
    )
    assert found.status == -1
    assert not found.success
    assert found.determinism.losses[0].kind == "escaping_start"


def weakened(t, y, sides, mu):
    return np.array([y[1], -y[0] - mu * sides[0]])


def test_arguments_times_and_directions():
    def up(t, y, mu):
        return y[0] - 0.3

    up.direction = 1.0

    def slips(t, y, mu):
        return y[1] - BELT

    times = np.array([0.5, 1.0, 3.0, 9.0])
    found = st.solve_ivp(
        weakened, [0, 9], [0.0, BELT], t_eval=times, events=up, args=(MU,), surfaces=slips
    )
    assert found.t.tolist() == times.tolist()
    # x = mu + v sin(t - 2) = 0.3 at sin = -1/2: falling at 7 pi/6, rising at 11 pi/6
    assert found.t_events[0] == pytest.approx([1.5, 2.0 + 11.0 * np.pi / 6.0], abs=1e-8)
    exact = brentq(lambda t: MU + BELT * np.sin(t - 2.0) - 0.3, 7.0, 8.5)
    assert found.t_events[0][1] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize(
    ("field", "surfaces", "level", "when"),
    [
        # s = 0.5 in sliding: y1' = 0.5, whose sign at s = 0 is the opposite one
        (lambda t, y, s: [-s[0] + 0.5, 2 * s[0] - 0.5], [lambda t, y: y[0]], 1.0, 2.0),
        # s = (0.5, 0.3): y2' = 0.3
        (
            lambda t, y, s: [-s[0] + 0.5, -s[1] + 0.3, s[0] + s[1] - 0.5],
            [lambda t, y: y[0], lambda t, y: y[1]],
            0.1,
            1 / 3,
        ),
    ],
)
def test_directions_of_events_in_sliding(field, surfaces, level, when):
    def event(t, y):
        return y[-1] - level

    start = [0.0] * (len(surfaces) + 1)
    for direction, times in ((1.0, [when]), (-1.0, [])):
        event.direction = direction
        found = st.solve_ivp(field, (0, 3), start, surfaces=surfaces, events=event)
        assert found.t_events[0] == pytest.approx(times, abs=1e-8)
    log = found.run.event_log
    assert log.columns["multiplier"][list(log.kind).index("kink")] == pytest.approx(0.5, abs=1e-9)


def test_a_loss_at_the_start_has_a_dense_output():
    found = st.solve_ivp(
        lambda t, y, s: [s[0]], (0, 1), [0.0], surfaces=lambda t, y: y[0], dense_output=True
    )
    assert found.sol(0.0).tolist() == [0.0]
    assert found.sol([0.0, 0.5]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y0": [[0.0, 1.0]]}, "`y0` must be 1-dimensional"),
        ({"y0": [0.0, np.nan]}, "must be finite"),
        ({"method": "Euler"}, "`method` must be one of"),
        ({"t_eval": [0.5, 2.0]}, "not within `t_span`"),
        ({"t_eval": [0.5, 0.2]}, "not properly sorted"),
        ({"t_eval": [[0.5]]}, "`t_eval` must be 1-dimensional"),
        ({"t_span": (1.0, 0.0)}, "must increase if"),
        ({"t_span": (1.0, 1.0)}, r"must increase: it is \(1.0, 1.0\)"),
        ({"t_span": (0.0, np.inf)}, "must be finite if"),
        ({"max_step": 0.0}, "`max_step` must be positive"),
    ],
)
def test_bad_input_is_refused_as_by_scipy(change, message):
    given = {"t_span": (0.0, 1.0), "y0": [0.0, BELT]} | change
    with pytest.raises(ValueError, match=message):
        st.solve_ivp(block, surfaces=slip, **given)
    if "t_span" not in change:
        plain = {**given, "fun": cannon}
        with pytest.raises(ValueError, match=message):
            st.solve_ivp(**plain)
