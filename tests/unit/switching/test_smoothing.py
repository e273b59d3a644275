"""What a smooth sign does before a two-fold, and what it hides behind it."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws.smoothed import SquareRootSign, TanhSign
from stiction.switching.flow.state import Addresses
from stiction.switching.smooth_kernels import smooth_rates
from stiction.switching.smoothing import smoothed_run, smoothing_study

START = st.switching.NormalForm(J1=-1.2, J2=-1.5, x0=[0.0, 0.3, 0.1], mode="slide")


@pytest.fixture(scope="module")
def study():
    return smoothing_study(START, [1e-2, 1e-3, 1e-4, 1e-5], 2.5)


def test_sliding_is_approached():
    # a block on a belt that sticks: the smooth one creeps against the belt by O(width)
    belt = st.BeltOscillator(x0=[-1.0, 0.5])
    time = np.linspace(0.0, 2.0, 21)
    exact = -1.0 + 0.5 * time
    for width, limit in ((1e-2, 0.1), (1e-4, 1e-3)):
        x = smoothed_run(belt, TanhSign(), width, time)
        assert np.max(np.abs(x[:, 0] - exact)) < limit


def test_error_falls_with_the_width(study):
    assert study.lost == pytest.approx(1.1375, rel=1e-9)
    assert (np.diff(study.error, axis=1) < 0.0).all()
    # reason: an observed order over three decades, the first not yet asymptotic
    assert study.order == pytest.approx(np.ones(2), abs=0.15)
    # the last decade alone: first order from both sides
    last = np.log10(study.error[:, -2] / study.error[:, -1])
    # reason: an observed order over one decade
    assert last == pytest.approx(np.ones(2), abs=0.05)


def test_starts_part_behind_the_two_fold(study):
    assert (study.spread[:, -1] > 1e6).all()
    assert len(set(study.side[:, :].ravel().tolist())) > 1
    assert "leaves to" in str(study)


def test_figure_has_a_line_per_run(study):
    left = study.plot().axes[0]
    assert len(left.lines) == study.error.size + 2
    close = dataclasses.replace(
        study, widths=1.2e-3 * np.arange(1.0, study.widths.size + 1.0) ** 0.1
    )
    words = [text.get_text() for text in close.plot().axes[0].get_legend().get_texts()]
    assert len(set(words)) == len(words)


def test_both_shapes_agree_in_the_limit():
    time = np.linspace(0.0, 0.9, 10)
    a = smoothed_run(START, TanhSign(), 1e-6, time)
    b = smoothed_run(START, SquareRootSign(), 1e-6, time)
    assert a == pytest.approx(b, abs=1e-5)


@pytest.mark.parametrize("widths", [[0.0], [-1e-3], [float("nan")], []])
def test_bad_widths(widths):
    with pytest.raises(ModelError, match="widths"):
        smoothing_study(START, widths, 1.0)


def test_a_set_valued_run_that_ends_early_is_refused():
    falling = st.PiecewiseSmooth(
        h=lambda x: x[0], f=lambda x, s: [-s[0] / x[1], -1.0], x0=[1.0, 0.3]
    )
    with pytest.raises(st.SolveError, match=r"a set-valued run up to t = 0\.3"):
        smoothing_study(falling, [1e-2], 1.0)


def test_one_width_has_no_order(study):
    one = dataclasses.replace(study, widths=study.widths[:1], error=study.error[:, :1])
    assert np.isnan(one.order).all()


@pytest.mark.parametrize(
    ("time", "more", "field"),
    [
        ([0.0, 1.0], {"x0": [0.0]}, "x0"),
        ([0.0, 1.0], {"x0": [0.0, np.nan, 0.0]}, "x0"),
        ([0.0, 1.0], {"rtol": -1.0}, "rtol"),
        ([1.0, 0.0], {}, "time"),
    ],
)
def test_arguments_of_a_smoothed_run(time, more, field):
    with pytest.raises(ModelError, match=f"smoothed_run.{field}"):
        smoothed_run(START, TanhSign(), 1e-2, np.array(time), **more)


def test_several_surfaces_are_refused():
    with pytest.raises(ModelError, match="one surface"):
        smoothed_run(st.switching.TwoBlockStickSlip(), TanhSign(), 1e-3, np.array([0.0, 1.0]))


def test_work_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr("stiction.switching.smoothing._MOST_CALLS", 40)
    with pytest.raises(st.SolveError, match="no end after 40 evaluations"):
        smoothed_run(START, TanhSign(), 1e-6, np.linspace(0.0, 0.9, 10))


@pytest.mark.parametrize("width", [1e-2, 1e-3])
def test_a_steep_law_of_the_other_side_is_not_taken_for_friction(width):
    # the friction of the other side grows as exp(slip / 0.02), its weight falls as 1 / slip^2
    block, time = st.switching.StaticJumpOscillator(v_scale=0.02), np.linspace(0.0, 8.0, 41)
    with pytest.raises(st.SolveError, match="the other side of h = 0 acting"):
        smoothed_run(block, SquareRootSign(), width, time)
    assert np.isfinite(smoothed_run(block, TanhSign(), width, time)).all()


def test_the_sign_of_rolling_is_smooth_too():
    # next to the line h = g = 0 the field of either side jumps with sgn(g) and with h / g
    wheel, rng = st.WheelOnTurntable(), np.random.default_rng(0)
    both, one = (Addresses.of(wheel.compiled, last) for last in (wheel.smooth_field, 0))
    found = np.empty((2, 12, 3))
    for k in range(12):
        x = np.array([0.17, 0.0, -1.0]) + 1e-9 * rng.normal(size=3)
        for i, addresses in enumerate((both, one)):
            work = np.zeros((3, 6))
            smooth_rates(addresses, wheel.compiled.params, x, True, 1e-3, found[i, k], work)
    spread = np.ptp(found, axis=1).max(axis=1)
    assert spread[0] < 1e-5
    assert spread[1] > 1.0


def test_the_wheel_is_approached_before_the_two_fold():
    wheel = st.WheelOnTurntable(x0=[0.22, -0.0624, -1.08])
    study = smoothing_study(wheel, [1e-4, 1e-5], 8.0, saves=101)
    assert study.lost == pytest.approx(7.78173816, abs=1e-7)
    # reason: an observed order over one decade, for both shapes
    assert study.order == pytest.approx(np.ones(2), abs=0.05)


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize("x0", [None, [0.0]])
def test_a_forced_flow_starts_at_the_first_time(x0):
    # x' = cos t from x = 0, far from the surface
    def field(t, x):
        return [np.cos(t)]

    flow = st.PiecewiseSmooth(lambda x: x[0] + 9.0, field, field, x0=[0.0])
    time = np.array([2.0, 3.0])
    states = st.switching.smoothed_run(flow, st.laws.TanhSign(), 1e-3, time, x0=x0)
    assert states[-1] == pytest.approx([np.sin(3.0) - np.sin(2.0), 3.0], abs=1e-7)
