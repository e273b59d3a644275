"""Many trajectories in one call: the same as one by one, and counted right."""

from __future__ import annotations

import numpy as np
import pytest

import stiction as st
from stiction.errors import PlainFunctionWarning
from stiction.switching.ensembles.study import ENDS, Occupation, ensemble
from stiction.switching.flow import records
from stiction.switching.methods import EventDriven
from stiction.switching.model import PiecewiseSmooth
from stiction.switching.presets import BeltOscillator, NormalForm
from stiction.switching.wheel.model import WheelOnTurntable


def wheel_starts(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform([0.05, -0.2, -1.2], [0.4, 0.2, -0.8], (n, 3))


def test_words_are_those_of_the_kernels():
    assert ENDS[records.LINE_HIT] == "codim2_line"
    assert ENDS[records.TWO_FOLD_HIT] == "two_fold"
    assert ENDS[records.SPLIT] == "fold"
    assert ENDS[records.NO_DIRECTION] == "no_exit"


def test_same_as_single_runs():
    x = wheel_starts(12)
    method = EventDriven(rtol=1e-9)
    found = ensemble(WheelOnTurntable(), x, 20.0, method=method)
    for i in range(len(x)):
        run = st.solve(WheelOnTurntable(x0=x[i]), method, t_span=(0.0, 20.0))
        assert run.t_end == pytest.approx(found.time[i], rel=1e-9)
        state = [run.events[name].iloc[-1] for name in ("r", "v", "omega")]
        if run.status.name == "STOPPED":
            assert found.end[i] in run.reason.split(" at ")[0]
            assert found.state[i] == pytest.approx(state, abs=1e-8)
        else:
            assert found.end[i] == "time"


def test_arrival_at_a_two_fold_in_closed_form():
    j1, j2 = -1.2, -1.5
    rng = np.random.default_rng(1)
    zy = rng.uniform(0.05, 0.5, (50, 2))
    # z first: (30) in (z, y)
    x = np.column_stack([np.zeros(50), zy[:, 1], zy[:, 0]])
    found = ensemble(NormalForm(j1, j2), x, 100.0, method=EventDriven(rtol=1e-11))
    exact = -np.linalg.solve(np.array([[j1, 1.0], [1.0, j2]]).T, np.ones(2)) @ zy.T
    assert set(found.end) == {"two_fold"}
    assert found.time == pytest.approx(exact, rel=1e-9)


def test_numbers_do_not_depend_on_the_threads():
    x = wheel_starts(700)
    grid = Occupation(axes=("r", "omega"), low=(0.0, -1.3), high=(0.5, -0.7), bins=(7, 5))
    one = ensemble(WheelOnTurntable(), x, 3.0, workers=1, occupation=grid)
    three = ensemble(WheelOnTurntable(), x, 3.0, workers=3, occupation=grid)
    for name in ("state", "sides", "time", "speed", "code", "steps", "counts", "first", "density"):
        assert np.array_equal(getattr(one, name), getattr(three, name), equal_nan=name == "first")
    assert one.outside == three.outside


def test_ensembles_of_any_size_and_order():
    x, names = wheel_starts(64), ("state", "sides", "time", "speed", "code", "steps", "counts")
    whole = ensemble(WheelOnTurntable(), x, 20.0)
    shuffled = np.random.default_rng(4).permutation(64)
    for size, order in ((1, range(64)), (2, shuffled), (7, range(64)), (64, shuffled)):
        for begin in range(0, 64, size):
            rows = np.array(order)[begin : begin + size]
            part = ensemble(WheelOnTurntable(), x[rows], 20.0)
            for name in names:
                assert np.array_equal(getattr(part, name), getattr(whole, name)[rows]), name
            assert np.array_equal(part.first, whole.first[rows], equal_nan=True)


def test_without_energies_a_start_is_a_single_run_to_the_bit():
    # single runs of flows with energies integrate these beside the state, ensembles do not
    x = np.random.default_rng(1).uniform(0.05, 0.5, (64, 3))
    x[:32, 0] = 0.0
    found = ensemble(NormalForm(-1.2, -1.5), x, 100.0, method=EventDriven(rtol=1e-9))
    ended = np.flatnonzero(found.ended("two_fold"))
    assert ended.size >= 32
    for i in ended.tolist():
        form = NormalForm(-1.2, -1.5, x0=x[i])
        run = st.solve(form, EventDriven(rtol=1e-9), t_span=(0.0, 100.0), save=2)
        assert [run.final[name] for name in form.state_names] == found.state[i].tolist()
        assert (run.t_end, run.stats["steps"]) == (found.time[i], found.steps[i])


def test_occupation_adds_up_to_the_time():
    grid = Occupation(axes=("r", "v"), low=(0.1, -0.1), high=(0.3, 0.1), bins=(8, 8), interval=0.01)
    found = ensemble(WheelOnTurntable(), wheel_starts(300), 3.0, occupation=grid)
    assert found.density.sum() + found.outside == pytest.approx(found.time.sum(), rel=1e-12)
    assert found.outside > 0.0
    assert (found.density >= 0.0).all()


def test_occupation_of_a_turning_point():
    # x' = -y, y' = x runs evenly round a circle: each quadrant has a quarter of the time
    turn = PiecewiseSmooth(
        h=lambda x: x[0] + 5.0,
        f_plus=lambda x: (-x[1], x[0]),
        f_minus=lambda x: (-x[1], x[0]),
        x0=[1.0, 0.0],
    )
    grid = Occupation(
        axes=("x1", "x2"),
        low=(-2.0, -2.0),
        high=(2.0, 2.0),
        bins=np.array([2, 2]),
        interval=np.pi / 500,
    )
    found = ensemble(turn, [[1.0, 0.0]], 2.0 * np.pi, occupation=grid)
    assert found.density == pytest.approx(np.full((2, 2), np.pi / 2), rel=1e-6)


def test_return_times():
    belt = BeltOscillator()
    x0 = np.array(belt.x0, dtype=float)
    found = ensemble(belt, [x0], 20.0, until=("slide",))
    run = st.solve(belt, EventDriven(rtol=1e-10), t_span=(0.0, 20.0))
    first = run.events[run.events.kind == "slide"].time.iloc[0]
    assert found.end[0] == "slide"
    assert found.return_times("slide")[0] == pytest.approx(first, rel=1e-7)
    assert found.time[0] == pytest.approx(first, rel=1e-7)
    assert np.isnan(found.return_times("two_fold")[0])
    # without `until` it goes on, and events are counted as the run does
    whole = ensemble(belt, [x0], 20.0)
    for kind, count in zip(whole.kinds, whole.counts[0], strict=True):
        assert count == (run.events.kind == kind).sum()


def test_statistics():
    x = wheel_starts(200)
    found = ensemble(WheelOnTurntable(), x, 2.0)
    endings = found.statistics()
    assert sum(ending.count for ending in endings) == 200
    assert sum(ending.share for ending in endings) == pytest.approx(1.0)
    by_name = {ending.end: ending for ending in endings}
    assert by_name["time"].mean == 2.0
    line = found.time[found.ended("codim2_line")]
    assert by_name["codim2_line"].mean == pytest.approx(line.mean())
    assert by_name["codim2_line"].quantiles[2] == pytest.approx(np.median(line))
    gone, error = found.escaped()
    assert gone == pytest.approx(1.0 - (found.ended("two_fold", "codim2_line")).mean())
    assert 0.0 < error < 0.05
    assert found.escaped(lambda state: np.ones(len(state), dtype=bool))[0] == 0.0


def test_starts_that_are_none():
    # on the surface in an escaping region nothing decides; a wrong sign is refused
    form = NormalForm(-1.2, -1.5)
    x = [[0.0, -0.3, -0.2], [0.5, 1.0, 1.0], [0.0, -0.3, -0.2], [0.5, 1.0, 1.0]]
    found = ensemble(form, x, 0.1, sides=[np.nan, -1.0, 1.0, 0.0])
    assert list(found.end) == ["escaping_start", "no_start", "time", "no_start"]


def test_given_signs_and_speeds_at_an_intersection():
    def both(f):
        return PiecewiseSmooth(h=[lambda x: x[0], lambda x: x[1]], f=f, x0=[1.0, 0.3])

    # the state slides on the first surface with s_1 = 0.8 and leaves the second one
    x, nan = np.zeros((4, 2)), np.nan
    signs = [[0.0, nan], [nan, nan], [0.0, 1.0], [nan, 0.0]]
    flow = both(lambda x, s: [-s[0] + 0.8, -s[1] + 2.0 * s[0]])
    found = ensemble(flow, x, 1.0, sides=signs)
    assert list(found.end) == ["time", "time", "time", "no_start"]
    assert found.state[:3] == pytest.approx(np.array([[0.0, 0.6]] * 3), abs=1e-12)
    rest = ensemble(both(lambda x, s: [-s[0] + 0.3, -s[1] + 0.2]), [[1.0, 0.3]], 5.0)
    assert rest.sides.tolist() == [[0.0, 0.0]]
    assert rest.speed[0] < 1e-12


def test_python_functions_run_in_one_thread():
    def slow(x):
        if x[0] > 1e9:
            raise ValueError("far away")
        return [1.0 * 1.0]

    with pytest.warns(PlainFunctionWarning, match="slow, which raises"):
        flow = PiecewiseSmooth(h=lambda x: x[0] - 10.0, f_plus=slow, f_minus=slow, x0=[0.0])
    assert not flow.compiled.parallel
    seen = []
    found = ensemble(flow, [[0.0], [1.0]], 2.0, workers=4, progress=seen.append)
    assert found.state[:, 0] == pytest.approx([2.0, 3.0])
    assert seen == [1.0]


def test_what_is_refused():
    wheel = WheelOnTurntable()
    with pytest.raises(st.ModelError, match=r"shape \(N, 3\)"):
        ensemble(wheel, [1.0, 2.0, 3.0], 1.0)
    with pytest.raises(st.ModelError, match=r"ensemble\.sides"):
        ensemble(wheel, wheel_starts(3), 1.0, sides=[1.0, 2.0, 1.0])
    with pytest.raises(st.ModelError, match=r"ensemble\.until"):
        ensemble(wheel, wheel_starts(3), 1.0, until=("line",))
    with pytest.raises(st.ModelError, match=r"ensemble\.t_end"):
        ensemble(wheel, wheel_starts(3), -1.0)
    grid = Occupation(axes=("r", "speed"), low=(0.0, 0.0), high=(1.0, 1.0))
    with pytest.raises(st.ModelError, match=r"Occupation\.axes"):
        ensemble(wheel, wheel_starts(3), 1.0, occupation=grid)
    ends = {"low": (0.0, 0.0), "high": (1.0, 1.0)}
    for wrong in ({"axes": ("r",)}, {"axes": None}, {"bins": (10,)}, {"bins": 10}):
        with pytest.raises(st.ModelError, match=rf"Occupation\.{next(iter(wrong))}"):
            Occupation(**{"axes": ("r", "v"), **ends, **wrong})
    for axes, t_end, words in (((0.5, 1), 1.0, "axes"), ((0, 1), 1e15, "occupation")):
        with pytest.raises(st.ModelError, match=words):
            ensemble(wheel, wheel_starts(3), t_end, occupation=Occupation(axes, **ends))
    for starts, sides in (("abc", None), ([[1, 2], [3]], None), (wheel_starts(1), ["+"])):
        with pytest.raises(st.ModelError, match="an array of numbers"):
            ensemble(wheel, starts, 1.0, sides=sides)
    with pytest.raises(st.ModelError, match=r"Occupation\.high"):
        Occupation(axes=("r", "v"), low=(0.0, 0.0), high=(1.0, 0.0))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_crossings_accumulate_at_a_two_fold_of_any_surface(order):
    # the model of a two-fold; its other surface lies far away
    def field(x, s):
        if s[order[0]] > 0.0:
            return np.array([-x[1], 1.0, -1.2, 1.0])
        return np.array([x[2], -1.5, 1.0, 1.0])

    surfaces = [lambda x: x[0], lambda x: x[3] - 10.0]
    start = [0.0, -0.3, -0.3 * st.switching.spiral(-1.2, -1.5).ray_in, 0.0]
    flow = PiecewiseSmooth(h=[surfaces[k] for k in order], f=field, x0=start)
    found = ensemble(flow, [start], t_end=10.0, workers=1)
    assert found.end.tolist() == ["two_fold"]
    assert found.time[0] == pytest.approx(1.05, rel=1e-6)
