"""Functions of time and parameters: what they take, one compilation, the same flow with a clock."""

import math

import numba
import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError, PlainFunctionWarning
from stiction.switching.user_functions import taken_by

VALUES = {"mu_s": 0.6, "mu_k": 0.3, "v_s": 0.5, "speed": 0.4, "swing": 0.1}


def weakening(v, p):
    return p.mu_k + (p.mu_s - p.mu_k) * math.exp(-((v / p.v_s) ** 2))


def belt(t, p):
    return p.speed + p.swing * math.sin(2.0 * t)


def on(sign):
    def field(t, x, p):
        return [x[1], -x[0] - sign * weakening(x[1] - belt(t, p), p)]

    return field


def swinging(**changes):
    given = {
        "h": lambda t, x, p: x[1] - belt(t, p),
        "f_plus": on(1.0),
        "f_minus": on(-1.0),
        "x0": [0.0, 0.2],
        "parameters": VALUES,
    }
    return st.PiecewiseSmooth(**{**given, **changes})


def with_a_clock_by_hand(values):
    """Return the same flow with numbers in place of parameters and a state for the time."""
    mu_s, mu_k, v_s, speed, swing = values.values()

    def slip(x):
        return x[1] - speed - swing * math.sin(2.0 * x[2])

    def side(sign):
        def field(x):
            mu = mu_k + (mu_s - mu_k) * math.exp(-((slip(x) / v_s) ** 2))
            return [x[1], -x[0] - sign * mu, 1.0]

        return field

    x0 = [0.0, 0.2, 0.0]
    return st.PiecewiseSmooth(h=slip, f_plus=side(1.0), f_minus=side(-1.0), x0=x0)


@pytest.mark.parametrize(
    ("function", "signed", "names"),
    [
        (lambda s: s, False, ("x",)),
        (lambda x, k=2.0: x, False, ("x",)),
        (lambda t, x, p: x, False, ("t", "x", "p")),
        (lambda a, b, c: b, False, ("t", "x", "p")),
        (lambda x, p: x, False, ("x", "p")),
        (lambda t, x: x, False, ("t", "x")),
        (lambda y, z: y, True, ("x", "s")),
        (lambda x, s, p: x, True, ("x", "s", "p")),
        (lambda x, p: x, True, ("x", "p")),
        (lambda t, x: x, True, ("t", "x")),
        (lambda t, x, s: x, True, ("t", "x", "s")),
        (lambda t, x, s, p: x, True, ("t", "x", "s", "p")),
        (lambda *given: given, False, ("x",)),
        (max, False, ("x",)),
    ],
)
def test_what_functions_take(function, signed, names):
    assert taken_by("f", function, signed=signed) == names


@pytest.mark.parametrize(
    ("function", "signed"),
    [
        (lambda y, z: y, False),
        (lambda p, x: x, False),
        (lambda: 1.0, False),
        (lambda a, b, c, d: a, False),
        (lambda x, p, t: x, False),
        (lambda x, t, s, p: x, True),
        (lambda t, y: y, True),
    ],
)
def test_undetermined_arguments_are_refused(function, signed):
    with pytest.raises(ModelError, match="identified by their number"):
        taken_by("f", function, signed=signed)


def test_time_and_parameters_are_the_flow_with_a_clock():
    method, span = st.EventDriven(rtol=1e-11), (0.0, 20.0)
    run, same = (
        st.solve(system, method, t_span=span)
        for system in (swinging(), with_a_clock_by_hand(VALUES))
    )
    assert len(run.events) == len(same.events) > 4
    assert np.max(np.abs(run.events["time"] - same.events["time"])) < 1e-12
    assert run.audit.ok
    assert run.variables["clock"].values == pytest.approx(run.time, abs=1e-10)


def test_the_clock_starts_with_the_run():
    system = swinging()
    whole = st.solve(system, st.EventDriven(rtol=1e-11), t_span=(0.0, 9.0))
    at = np.searchsorted(whole.time, 2.0)
    start = [whole.variables[name].values[at] for name in ("x1", "x2")]
    rest = st.solve(system, st.EventDriven(rtol=1e-11), t_span=(whole.time[at], 9.0), x0=start)
    assert rest.events["time"].to_numpy()[-1] == pytest.approx(
        whole.events["time"].to_numpy()[-1], abs=1e-9
    )


def test_a_thousand_sets_compile_once(monkeypatch):
    compilations, real = [], numba.cfunc

    def counted(*arguments, **named):
        compilations.append(arguments)
        return real(*arguments, **named)

    monkeypatch.setattr(numba, "cfunc", counted)
    scale = 1.25  # code of this test alone
    system = swinging(f_plus=lambda t, x, p: [x[1], -scale * x[0] - p.mu_k])
    assert len(compilations) <= 2
    before = len(compilations)
    for k in range(1000):
        other = system.with_parameters(mu_k=0.2 + 1e-4 * k)
    assert other.field([0.0, 0.0], 1.0)[1] == pytest.approx(-0.2999)
    st.solve(other, t_span=(0.0, 1.0), x0=[0.1, 0.0])
    assert len(compilations) == before


def test_parameters_in_a_row():
    system = st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x, p: [-p[0], p[1]],
        f_minus=lambda x, p: [p[0], p[1]],
        x0=[1.0, 0.0],
        parameters=[2.0, 3.0],
    )
    assert system.field([1.0, 0.0], 1.0).tolist() == [-2.0, 3.0]
    for wrong in ({"a": 4.0, "b": 5.0}, 4.0):
        with pytest.raises(ModelError, match="a sequence of 2 numbers"):
            system.with_parameters(wrong)
    other = system.with_parameters([4.0, 5.0])
    assert other.field([1.0, 0.0], -1.0).tolist() == [4.0, 5.0]
    run = st.solve(other, t_span=(0.0, 1.0))
    assert run.events["time"][0] == pytest.approx(0.25, abs=1e-12)


def test_parameters_reach_plain_python():
    table = {"k": 1.0}
    with pytest.warns(PlainFunctionWarning, match="'table', a dict"):
        slow = swinging(f_plus=lambda t, x, p: [table["k"] * x[1], -x[0] - p.mu_k + 0.0 * t])
    fast = swinging(f_plus=lambda t, x, p: [x[1], -x[0] - p.mu_k + 0.0 * t])
    runs = [st.solve(system, t_span=(0.0, 5.0)) for system in (slow, fast)]
    assert runs[0].stats["plain_functions"] == 1
    assert runs[0].final["x1"] == pytest.approx(runs[1].final["x1"], abs=1e-12)


def test_a_gradient_in_time():
    given = swinging(
        h_gradient=lambda t, x, p: [0.0, 1.0, -2.0 * p.swing * math.cos(2.0 * t)],
    )
    at = np.array([0.3, -0.2, 1.7])
    assert given.gradient(at) == pytest.approx(swinging().gradient(at), abs=1e-10)
    with pytest.raises(ModelError, match="along the time"):
        swinging(h_gradient=lambda t, x, p: [0.0, 1.0, 0.0])
    still = st.PiecewiseSmooth(
        h=lambda x: x[0] - x[1] ** 2,
        f_plus=lambda t, x, p: [-t, 1.0],
        f_minus=lambda t, x, p: [t, 1.0],
        h_gradient=lambda x: [1.0, -2.0 * x[1]],
        x0=[1.0, 0.5],
    )
    assert still.gradient([1.0, 0.5]).tolist() == [[1.0, -1.0, 0.0]]


@pytest.mark.parametrize(
    ("h", "gradient", "wrong", "scale"),
    [
        (
            lambda t, x, p: x[0] - 1e-3 * math.sin(377.0 * t),
            lambda t, x, p: [1.0, -0.377 * math.cos(377.0 * t)],
            lambda x: [1.0, -0.378],
            None,
        ),
        (
            lambda x: math.sin(300.0 * x[0]),
            lambda x: 300.0 * math.cos(300.0 * x[0]),
            lambda x: -6,
            1,
        ),
        (lambda x: x[0], lambda x: 1.0, lambda x: 1.01, 1e-9),
    ],
)
def test_right_gradients_are_not_refused(h, gradient, wrong, scale):
    given = {"h": h, "f": lambda x, s: [-s[0]], "x0": [1.0], "scale": scale}
    assert st.PiecewiseSmooth(h_gradient=gradient, **given).compiled.gradient
    with pytest.raises(ModelError, match="h_gradient"):
        st.PiecewiseSmooth(h_gradient=wrong, **given)


def test_functions_need_not_be_defined_before_the_start():
    for rate in (lambda t, x, s: [-s[0] / t], lambda t, x, s: [-1.0 / t]):
        flow = st.PiecewiseSmooth(h=lambda x: x[0], f=rate, x0=[0.5])
        run = st.solve(flow, t_span=(1.0, 1.5), save=2)
        assert run.final["x1"] == pytest.approx(0.5 - math.log(1.5), abs=1e-8)
        with pytest.raises(ModelError, match="field and h are finite"):
            st.solve(flow, t_span=(0.0, 1.0))


def test_plain_functions_need_not_be_defined_before_the_start():
    # at t = 0 f divides by zero, with NumPy and without, and h leaves the domain of log
    table = {"k": 1.0}
    with pytest.warns(PlainFunctionWarning, match="'table', a dict"):
        flow = st.PiecewiseSmooth(
            h=lambda t, x, p: x[0] + table["k"] * math.log(t),
            f=lambda t, x, s: [-0.5 * (s[0] / t + table["k"] / t)],
            x0=[2.0],
        )
    run = st.solve(flow, t_span=(1.0, 1.5), save=2)
    assert run.final["x1"] == pytest.approx(2.0 - math.log(1.5), abs=1e-8)


@pytest.mark.filterwarnings("error")
def test_a_single_result_may_be_a_number_or_a_sequence():
    for one in (lambda x, s: -s[0], lambda x, s: [-s[0]]):
        flow = st.PiecewiseSmooth(h=lambda x: x[0], f=one, x0=[0.5])
        assert flow.compiled.parallel
        assert flow.field([0.5], 1.0).tolist() == [-1.0]
    sides = {"f_plus": lambda x: -1.0, "f_minus": lambda x: 1.0}
    assert st.PiecewiseSmooth(h=lambda x: [x[0]], **sides, x0=[0.5]).compiled.parallel


def test_ensembles_start_their_clocks_at_zero():
    from stiction.switching import ensemble

    starts = np.array([[0.0, 0.2], [0.1, -0.3]])
    many = ensemble(swinging(), starts, 5.0)
    for row, start in zip(many.state, starts, strict=True):
        one = st.solve(swinging(), st.EventDriven(rtol=1e-8), t_span=(0.0, 5.0), x0=start)
        assert row[:2] == pytest.approx([one.final["x1"], one.final["x2"]], abs=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: swinging(parameters={"mu-s": 1.0}), "Python identifiers"),
        (lambda: swinging(parameters={"mu_s": math.nan}), "finite"),
        (lambda: swinging(parameters=None), "mu|speed|swing"),
        (lambda: swinging().with_parameters(mu=1.0), "mu_s, mu_k"),
        (lambda: swinging().with_parameters(), "values of the parameters"),
        (lambda: with_a_clock_by_hand(VALUES).with_parameters([1.0]), "0 numbers"),
        (lambda: swinging(names=["x", "clock"]), "differ from each other"),
        (lambda: swinging(parameters={"lambda": 1.0}), "Python identifiers"),
        (lambda: swinging().with_parameters([1.0], mu_s=1.0), "values of the parameters"),
        (lambda: swinging(names=[1, 2]), "2 names"),
        (lambda: swinging(h=[]), "no function"),
        (lambda: swinging().field([0.0], 1.0), "state of shape"),
        (lambda: swinging().field([0.0, 0.0], [1.0, 1.0]), "signs of shape"),
        (lambda: swinging().surfaces_at([0.0]), "state of shape"),
    ],
)
def test_refused(make, words):
    with pytest.raises(ModelError, match=words):
        make()
