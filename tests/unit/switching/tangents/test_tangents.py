"""Derivatives of runs of flows, against differences of runs, closed forms and long arithmetic."""

from decimal import Decimal as D
from decimal import localcontext

import numpy as np
import pytest
from scipy.linalg import expm

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-13)
# central differences of order 8
WEIGHTS = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)


def moved(system, name, step):
    """Return the system with a direction changed by a step."""
    if name.startswith("x0["):
        x = np.array(system.x0, dtype=float)
        x[int(name[3:-1])] += step
        return system.at_state(x)
    return system.with_parameter(name, system.parameter(name) + step)


def differences(system, span, directions, step):
    """Return derivatives of the end and of event times; None where the order of events changes."""
    order = system.tangents(METHOD, span, ()).order
    ends, times = [], []
    for name in directions:
        end = time = 0.0
        for k, weight in enumerate(WEIGHTS, 1):
            for sign in (1.0, -1.0):
                run = moved(system, name, sign * k * step).tangents(METHOD, span, ())
                if run.order != order or run.failures:
                    return None
                end = end + sign * weight * run.final / step
                time = time + sign * weight * np.array([e.time for e in run.events]) / step
        ends.append(end)
        times.append(time)
    return np.array(ends).T, np.array(times).T


def compared(system, span, to, step=2e-4):
    """Return the relative differences of end and event times; None where the order changes."""
    found = system.tangents(METHOD, span, to)
    assert found.failures == ()
    expected = differences(system, span, found.directions, step)
    if expected is None:
        return None
    off = np.abs(expected[0] - found.final_by).max() / np.abs(found.final_by).max()
    if not found.events:
        return off, 0.0
    times = np.array([event.time_by for event in found.events])
    return off, np.abs(expected[1] - times).max() / max(np.abs(times).max(), 1.0)


# ---- random flows


def side(s):
    def field(x, p):
        a, b, c = x[0], x[1], x[2]
        return [
            p[0] * a + p[1] * b + p[2] * c + p[9] + s * p[12] + p[15] * np.sin(b),
            p[3] * a + p[4] * b + p[5] * c + p[10] + s * p[13] + p[15] * a * c / (1.0 + c * c),
            p[6] * a + p[7] * b + p[8] * c + p[11] + s * p[14] + p[15] * np.cos(a),
        ]

    return field


def plane(x, p):
    return p[16] * x[0] + p[17] * x[1] + x[2] - p[18]


RANDOM = st.PiecewiseSmooth(
    h=plane, f_plus=side(1.0), f_minus=side(-1.0), x0=[0.4, 0.3, 0.2], parameters=np.ones(19)
)


def random_flow(seed):
    """Return a flow with crossing and sliding, and a start off its surface."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(3, 3)) - 0.6 * np.eye(3)
    p = np.concatenate(
        [matrix.ravel(), 0.3 * rng.normal(size=3), rng.normal(size=3), rng.normal(size=4)]
    )
    p = np.append(p[:18], 0.3 * rng.normal())
    # the field points to the surface more often than away from it
    normal = np.array([p[16], p[17], 1.0])
    if normal @ p[12:15] > 0.0:
        p[12:15] = -p[12:15]
    p[15] = 0.3 * rng.normal()
    return RANDOM.with_parameters(p).at_state(rng.normal(size=3))


def judged(seeds):
    """Return relative differences of the flows whose order of events does not change."""
    found, kinds = [], set()
    for seed in seeds:
        flow = random_flow(seed)
        run = flow.tangents(METHOD, (0.0, 3.0), ("x0", "p[0]", "p[13]", "p[15]", "p[18]"))
        if run.failures or not np.abs(run.final).max() < 50.0:
            continue
        off = compared(flow, (0.0, 3.0), run.directions)
        if off is not None and max(off) > 1e-9:
            # next to a grazing the differences need a shorter step
            nearer = compared(flow, (0.0, 3.0), run.directions, 2e-5)
            off = off if nearer is None else tuple(np.minimum(off, nearer))
        if off is not None:
            found.append(off)
            kinds |= {label.split()[0] for label in run.order}
    return np.array(found), kinds


def test_random_flows():
    off, kinds = judged(range(30))
    assert len(off) >= 20
    assert kinds >= {"cross", "slide"}
    assert off[:, 0].max() < 1e-8
    assert off[:, 1].max() < 1e-7


def test_many_random_flows():
    off, kinds = judged(range(1000, 1300))
    assert len(off) >= 200
    assert kinds == {"cross", "slide", "leave"}
    assert off[:, 0].max() < 1e-8


# ---- ready flows

CASES = {
    "belt": (st.BeltOscillator(x0=(0.3, 0.1)), 10.0, ("x0", "mu0", "alpha", "belt_speed")),
    "relay": (st.switching.RelayFeedback(x0=(1.0, 0.2, 0.1)), 10.0, ("x0", "pole", "gain")),
    "jump": (
        st.switching.StaticJumpOscillator(x0=(0.3, 0.1)),
        10.0,
        ("x0", "mu_static", "stiffness", "v_scale", "mass"),
    ),
    "blocks": (
        st.switching.TwoBlockStickSlip(x0=(0.3, 0.1, 0.1, 0.5)),
        10.0,
        ("x0", "mass[0]", "friction[1]", "coupling", "belt_speed"),
    ),
    "wheel": (
        st.WheelOnTurntable(x0=(0.705371, 0.03, -0.9)),
        0.5,
        ("x0", "mu", "kappa", "omega0", "gamma"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_ready_flows(name):
    system, end, to = CASES[name]
    off = compared(system, (0.0, end), to, 1e-4)
    assert off is not None
    assert max(off) < 1e-8


def forced(side_):
    return lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - side_ * p.f]


DEN_HARTOG = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=forced(1.0),
    f_minus=forced(-1.0),
    x0=[0.5, 0.2],
    parameters={"r": 0.7, "f": 0.3},
)
CURVED = st.PiecewiseSmooth(
    h=lambda x, p: x[0] ** 2 + x[1] ** 2 - p.R,
    f_plus=lambda x: [-x[0] + x[1] + 0.3, -x[1] - x[0]],
    f_minus=lambda x: [x[0] * 0.5 + x[1], 0.5 * x[1] - x[0]],
    x0=[2.0, 0.0],
    parameters={"R": 1.2},
)
KINKED = st.PiecewiseSmooth(
    h=lambda x: x[0] - 30.0,
    f_plus=lambda x: [-1.0, 0.0],
    f_minus=lambda x, p: [x[1], -p.k * x[0] - 0.5 * max(x[0] - p.c, 0.0)],
    kinks=lambda x, p: x[0] - p.c,
    x0=[1.0, 0.0],
    parameters={"k": 1.2, "c": 0.2},
)


@pytest.mark.parametrize(
    ("system", "to"),
    [(DEN_HARTOG, ("x0", "p.r", "p.f")), (CURVED, ("x0", "p.R")), (KINKED, ("x0", "p.k", "p.c"))],
)
def test_flows_of_functions(system, to):
    off = compared(system, (0.0, 4.0), to, 1e-3)
    assert off is not None
    assert max(off) < 1e-8


def test_a_clock_is_no_component():
    found = DEN_HARTOG.tangents(METHOD, (0.3, 5.0), ("x0",))
    assert found.final.shape == (2,)
    assert found.final_by.shape == (2, 2)
    assert DEN_HARTOG.start_names == ("x1", "x2")


# ---- closed forms


def test_linear_flow():
    matrix = np.array([[-0.2, 1.0], [-2.0, -0.1]])
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 100.0,
        f_plus=lambda x: [-0.2 * x[0] + x[1], -2.0 * x[0] - 0.1 * x[1]],
        f_minus=lambda x: [1.0, 0.0],
        x0=[1.0, 0.5],
    )
    found = flow.tangents(None, (0.0, 7.0), ("x0",))
    assert found.final_by == pytest.approx(expm(7.0 * matrix), abs=1e-12)
    assert found.directions == ("x0[0]", "x0[1]")


def test_stick_is_exact():
    belt = st.BeltOscillator(x0=(0.0, 0.5))
    found = belt.tangents(METHOD, (0.0, 1.0), ("x0", "mu0", "belt_speed"))
    # it rides with the belt: x = x0 + vb t, v = vb
    assert found.order == ()
    assert found.final_by == pytest.approx(np.array([[1, 0, 0, 1], [0, 0, 0, 1]]), abs=1e-13)
    later = belt.tangents(METHOD, (0.0, 2.5), ("x0", "mu0", "belt_speed"))
    # slip begins at x0 + vb t = mu0
    assert later.events[0].time == pytest.approx(2.0, abs=1e-12)
    assert later.events[0].time_by == pytest.approx([-2.0, 0.0, 2.0, -4.0], abs=1e-10)


def wave(angle):
    """Return sine and cosine of a Decimal by their series."""
    parts, term, k = [D(0), D(0)], D(1), 0
    while abs(term) > D("1e-60") or k < 8:
        parts[k % 2] += term * (-1) ** (k // 2)
        k += 1
        term = term * angle / k
    return parts[1], parts[0]


def exact_arc(start, u, r, f):
    """Return place and speed at time u of an arc x'' + x = cos(r t) - s f."""
    t, x, v, s = start
    gain = 1 / (1 - r * r)
    (sin_t, cos_t), (sin_u, cos_u) = wave(r * t), wave(r * u)
    a, b = x - gain * cos_t + s * f, v + r * gain * sin_t
    sin, cos = wave(u - t)
    return a * cos + b * sin + gain * cos_u - s * f, b * cos - a * sin - r * gain * sin_u


def exact_end(x, v, r, f, end):
    """Return the state at the end, and the number of turning points; no stick on the way."""
    start, turns = (D(0), x, v, D(1) if v > 0 else D(-1)), 0
    while True:
        steps = [start[0] + (end - start[0]) * k / 60 for k in range(1, 61)]
        turned = [u for u in steps if exact_arc(start, u, r, f)[1] * start[3] < 0]
        if not turned:
            return exact_arc(start, end, r, f), turns
        high = turned[0]
        low = max(high - (end - start[0]) / 60, start[0] + D("1e-6"))
        for _ in range(12):
            low_v, high_v = (exact_arc(start, u, r, f)[1] for u in (low, high))
            if high_v == low_v:
                break
            low, high = high, high - high_v * (high - low) / (high_v - low_v)
        start, turns = (high, exact_arc(start, high, r, f)[0], D(0), -start[3]), turns + 1


@pytest.mark.parametrize("point", [("0.5", "0.2", "0.7", "0.1"), ("-1.2", "0.9", "1.7", "0.05")])
def test_forty_digits(point):
    """Den Hartog's block: arcs in closed form, turning points by secants, in long arithmetic."""
    with localcontext() as context:
        context.prec = 50
        values, step, ends = [D(text) for text in point], D("1e-12"), []
        for j in range(4):
            pair = []
            for sign in (1, -1):
                there = list(values)
                there[j] += sign * step
                end, turns = exact_end(*there, D(9))
                pair.append(end)
            ends.append([float((a - b) / (2 * step)) for a, b in zip(*pair, strict=True)])
    expected, (x, v, r, f) = np.array(ends).T, map(float, point)
    flow = DEN_HARTOG.with_parameters(r=r, f=f).at_state([x, v])
    found = flow.tangents(METHOD, (0.0, 9.0), ("x0", "p.r", "p.f"))
    assert len(found.events) == turns >= 2
    assert found.final_by == pytest.approx(expected, abs=1e-10 * np.abs(expected).max())


# ---- what has no derivative


def oscillator(level):
    """Return x'' = -x with the other field beyond x = level, from x = -1 at rest."""
    return st.PiecewiseSmooth(
        h=lambda x, p: x[0] - p.level,
        f_plus=lambda x: [x[1] - 0.5, -x[0]],
        f_minus=lambda x: [x[1], -x[0]],
        x0=[-1.0, 0.0],
        parameters={"level": level},
    )


@pytest.mark.parametrize("depth", [0.0, 1e-14, 1e-12, 1e-11])
def test_grazing_is_reported(depth):
    found = oscillator(1.0 - depth).tangents(None, (0.0, 4.0), ("x0",))
    assert [one.kind for one in found.failures] == ["grazing"]
    assert found.failures[0].time == pytest.approx(np.pi, abs=1e-4)
    assert np.isnan(found.final_by).all()


@pytest.mark.parametrize("depth", [-1e-8, 3e-8, 1e-6])
def test_beside_a_grazing_derivatives_exist(depth):
    found = oscillator(1.0 - depth).tangents(None, (0.0, 4.0), ("x0",))
    assert found.failures == ()
    assert np.isfinite(found.final_by).all()


def test_two_fold_is_reported():
    flow = st.switching.NormalForm(J1=-1.5, J2=-2.0)
    found = flow.tangents(None, (0.0, 4.0), ("x0",))
    assert [one.kind for one in found.failures] == ["two-fold"]
    assert np.isnan(found.final_by).all()
    before = flow.tangents(None, (0.0, 0.9 * found.failures[0].time), ("x0", "J1"))
    assert before.failures == ()
    assert np.isfinite(before.final_by).all()


def test_two_surfaces_at_once_are_reported():
    flow = st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda x, s: [-s[0] - 0.1 * s[1] + 0.2, -s[1] + 0.3 * s[0] + 0.1],
        x0=[1.0, 1.0],
    )
    symmetric = flow.at_state([0.9, 0.6])
    found = symmetric.tangents(None, (0.0, 4.0), ("x0",))
    assert [one.kind for one in found.failures] == ["codimension-2 intersection"]
    apart = flow.at_state([0.5, 0.6]).tangents(None, (0.0, 4.0), ("x0",))
    assert apart.failures == ()


def bent(x, p):
    return [1.0 + 0.5 * (x[0] > 0.0) + 0.25 * (x[0] > p.e), abs(x[1]) + p.a]


BENT = st.PiecewiseSmooth(
    h=lambda x, p: x[2],
    f_plus=lambda x, p: [*bent(x, p), 1.0],
    f_minus=lambda x, p: [*bent(x, p), p.a],
    kinks=[lambda x: x[0], lambda x, p: x[0] - p.e, lambda x: x[1]],
    x0=[-1.0, 0.0, 1.0],
    parameters={"e": 0.0, "a": 1.0},
)


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-8])
def test_kinks_close_to_each_other(gap):
    found = BENT.with_parameters({"e": gap}).tangents(None, (0.0, 2.0), ("x0[0]",))
    assert found.order == ("kink", "kink")
    assert found.final_by[0, 0] == pytest.approx(1.75, rel=1e-9)


@pytest.mark.parametrize(
    "start", [(-1.0, 0.0, 1.0), (-5.0, 0.5 * (1.0 - np.e), -0.5)], ids=["kinks", "crossing"]
)
def test_a_kink_and_another_event_at_once_are_reported(start):
    system = BENT.with_parameters({"e": 0.0, "a": 0.5}).at_state(start)
    found = system.tangents(None, (0.0, 2.0), ("x0",))
    assert [one.kind for one in found.failures] == ["codimension-2 intersection"]
    assert np.isnan(found.final_by).all()


@pytest.mark.parametrize("offset", [1e-6, 1e-10, 1e-13, 1e-18])
def test_small_parameters(offset):
    flow = BENT.with_parameters({"e": 1.0, "a": offset}).at_state([-3.0, 0.5, 0.5])
    found = flow.tangents(None, (0.0, 1.0), ("p.a",))
    # x2' = x2 + a
    assert found.final_by[1, 0] == pytest.approx(np.e - 1.0, rel=1e-10)
    tilted = st.WheelOnTurntable(gamma=offset).tangents(None, (0.0, 0.1), ("gamma",))
    level = st.WheelOnTurntable(gamma=0.0).tangents(None, (0.0, 0.1), ("gamma",))
    assert tilted.final_by == pytest.approx(level.final_by, rel=1e-5, abs=1e-12)


def test_small_parameters_at_the_end_of_a_domain():
    def by(size, field):
        def flow(x, p):
            return field(x[0], p.a), 1.0

        start = {"x0": [0.0, 0.0], "parameters": {"a": size}}
        system = st.PiecewiseSmooth(lambda x: x[1] + 5.0, flow, flow, **start)
        return system.tangents(None, (0.0, 1.0), ("p.a",))

    def root(x, a):
        return 1.0 + a**0.5 if a >= 0.0 else np.nan

    def power(x, a):
        return a**1.5 - 1e3 * x if a >= 0.0 else np.nan

    for field, value in ((root, 5e3), (power, 1.5e-7)):
        found = by(1e-8, field)
        assert found.failures == ()
        # reason: rounding of the field, 1e-16, over the distance of points, 1e-10
        assert found.final_by[0, 0] == pytest.approx(value, rel=1e-5)
    found = by(0.0, root)
    assert [one.kind for one in found.failures] == ["derivative not finite"]


@pytest.mark.parametrize("rate", [1e-9, 1e9])
def test_rates_of_any_size(rate):
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x, p: [-1.5 * p.c, p.c * (x[0] - 1.0)],
        f_minus=lambda x, p: [2.0 * p.c, p.c],
        x0=[0.65, 0.0],
        parameters={"c": rate},
    )
    found = flow.tangents(st.switching.EventDriven(rtol=1e-8), (0.0, 1.0 / rate), ("x0",))
    assert found.failures == ()
    assert found.final_by[1, 1] == pytest.approx(1.0, rel=1e-9)


def test_a_start_on_a_surface_is_reported():
    found = DEN_HARTOG.at_state([0.0, 0.0]).tangents(None, (0.0, 1.0), ("x0",))
    assert [one.kind for one in found.failures] == ["start on a surface"]


def test_names_are_checked():
    belt = st.BeltOscillator()
    assert belt.parameter("alpha") == 0.1
    assert belt.with_parameter("alpha", 0.2).parameter("alpha") == 0.2
    with pytest.raises(st.ModelError, match="did you mean 'alpha'"):
        belt.tangents(None, (0.0, 1.0), ("alfa",))
    for span in ((1.0, 0.5), (0.0, np.nan)):
        with pytest.raises(st.ModelError, match="t_span"):
            belt.tangents(None, span, ("alpha",))
    for to in ("mu", [3], 3, None, iter(["alpha"])):
        with pytest.raises(st.ModelError, match="list of names"):
            belt.tangents(None, (0.0, 1.0), to)
    with pytest.raises(st.ModelError, match=r"x0\[1\]"):
        belt.tangents(None, (0.0, 1.0), ("x0[2]",))
    with pytest.raises(st.ModelError, match=r"BeltOscillator\.mu0"):
        belt.with_parameter("mu0", -1.0)
    blocks = st.switching.TwoBlockStickSlip()
    assert blocks.with_parameter("mass[1]", 2.0).parameter("mass[1]") == 2.0
    assert RANDOM.with_parameter("p[3]", 7.0).parameter("p[3]") == 7.0
    assert DEN_HARTOG.with_parameter("p.r", 0.6).parameter("p.r") == 0.6


# x' = A x turned by a push behind the line n x = c
SPIRAL = st.PiecewiseSmooth(
    h=lambda x, p: p[4] * x[0] + p[5] * x[1] - p[6],
    f_plus=lambda x, p: [p[0] * x[0] + p[1] * x[1] + p[7], p[2] * x[0] + p[3] * x[1] + p[8]],
    f_minus=lambda x, p: [p[0] * x[0] + p[1] * x[1], p[2] * x[0] + p[3] * x[1]],
    x0=[1.0, 0.0],
    parameters=np.ones(9),
)


def touching(seed):
    """Return parameters of a spiral whose first crest of n x reaches c, and the size of n x."""
    rng = np.random.default_rng(seed)
    decay, turn = rng.uniform(-0.2, 0.1), rng.uniform(0.7, 2.0)
    matrix = np.array([[decay, -turn], [turn, decay]])
    angle = rng.uniform(0.5, 2.5)
    # n x = e^(decay t) cos(turn t - angle) has its crest at turn t = angle + atan(decay / turn)
    phase = np.arctan2(decay, turn)
    crest = np.exp(decay * (angle + phase) / turn) * np.cos(phase)
    normal = np.array([np.cos(angle), np.sin(angle)])
    push = rng.normal(size=2)
    return np.concatenate([matrix.ravel(), normal, [crest], push]), crest, (angle + phase) / turn


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(100, 1100), id="many")])
def test_every_grazing_is_reported_and_nothing_else(seeds):
    wrong = []
    for seed in seeds:
        p, crest, time = touching(seed)
        rng = np.random.default_rng(seed + 10_000)
        near, span = 10.0 ** rng.uniform(-16.0, -10.0), (0.0, 1.2 * time)
        for depth, grazing in ((near, True), (1e-7, False), (-1e-7, False)):
            p[6] = crest * (1.0 - depth)
            run = SPIRAL.with_parameters(p).tangents(None, span, ("x0",))
            reported = bool(run.failures) and abs(run.failures[0].time - time) < 1e-3
            if reported != grazing or (not grazing and not np.isfinite(run.final_by).all()):
                wrong.append((seed, depth, run.failures))
    assert wrong == []


def test_saved_derivatives_are_those_of_shorter_runs():
    belt, save = st.BeltOscillator(x0=[0.3, 0.1]), [0.0, 0.7, 2.3, 5.9, 8.0]
    found = belt.tangents(METHOD, (0.0, 8.0), ["x0", "belt_speed"], save)
    assert len(found.events) > 1
    np.testing.assert_array_equal(found.times, save)
    np.testing.assert_allclose(found.states_by[0], [[1, 0, 0], [0, 1, 0]], atol=0)
    np.testing.assert_array_equal(found.states[-1], found.final)
    for k, end in enumerate(save[1:], 1):
        shorter = belt.tangents(METHOD, (0.0, end), ["x0", "belt_speed"])
        np.testing.assert_allclose(found.states[k], shorter.final, atol=1e-11)
        np.testing.assert_allclose(found.states_by[k], shorter.final_by, atol=1e-10)
