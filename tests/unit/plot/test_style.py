"""Axes, units, labels, and how much of a long series is drawn."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from stiction.plot import style
from stiction.plot.figure import ScaledTicks


def axes_with(values):
    figure = style.new_figure(style.COLUMN, 2.0)
    ax = style.grid(figure)[0][0]
    ax.plot(np.arange(len(values)), values)
    return ax


def tick_texts(axis):
    axis.get_figure().draw_without_rendering()
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [(at, label.get_text()) for at, label in ticks if low <= at <= high]


@pytest.mark.parametrize(
    ("largest", "unit", "label", "factor"),
    [
        (0.005, "m", "displacement (mm)", 1e-3),
        (2.0, "m", "displacement (m)", 1.0),
        (3e5, "N", "displacement (kN)", 1e3),
        (4e-6, "J", "displacement (µJ)", 1e-6),
        (5e4, "s", "displacement (s)", 1.0),
        (0.01, "m^2/s", "displacement ($10^{-3}$ m^2/s)", 1e-3),
        (1e-6, "m²", "displacement ($10^{-6}$ m²)", 1e-6),
        (1e5, "1/m", "displacement ($10^{3}$ 1/m)", 1e3),
        (0.02, "kg", "displacement ($10^{-3}$ kg)", 1e-3),
        (0.02, "N/m^2", "displacement (mN/m^2)", 1e-3),
    ],
)
def test_prefixes_scale_labels_not_data(largest, unit, label, factor):
    ax = axes_with([0.0, largest])
    style.scale_axis(ax.yaxis, "displacement", unit)
    assert ax.get_ylabel() == label
    assert ax.get_lines()[0].get_ydata()[-1] == largest
    for at, text in tick_texts(ax.yaxis):
        assert float(text.replace("−", "-")) == pytest.approx(at / factor, abs=1e-9)


def test_long_times_are_reported_in_years():
    year = 365.25 * 86400.0
    ax = axes_with([0.0, 600.0 * year])
    ax.set_ylim(0.0, 600.0 * year)
    style.scale_axis(ax.yaxis, "time", "s")
    assert ax.get_ylabel() == "time (years)"
    ticks = [(at, float(text)) for at, text in tick_texts(ax.yaxis)]
    assert len(ticks) > 2
    for at, years in ticks:
        assert at == pytest.approx(years * year)
        assert years % 50.0 == 0.0
    shorter = axes_with([0.0, 9.0 * year])
    style.scale_axis(shorter.yaxis, "time", "s")
    assert shorter.get_ylabel() == "time (days)"
    for at, days in tick_texts(shorter.yaxis):
        assert at == pytest.approx(float(days) * 86400.0)


@pytest.mark.parametrize(("begin", "span"), [(1e4, 0.02), (1e6, 2.0), (1e9, 2.0)])
def test_late_times_have_labels_of_their_own(begin, span):
    ax = axes_with([0.0, 1.0])
    ax.set_xlim(begin, begin + span)
    style.scale_axis(ax.xaxis, "time", "s")
    assert ax.get_xlabel() == "time (s)"
    texts = [text for _, text in tick_texts(ax.xaxis)]
    assert len(set(texts)) == len(texts) >= 2
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))


def test_ticks_of_an_axis_have_equal_decimals():
    ax = axes_with([0.0, 1.0])
    style.scale_axis(ax.yaxis, "velocity", "m/s")
    texts = [text for _, text in tick_texts(ax.yaxis)]
    assert {len(text.partition(".")[2]) for text in texts} == {1}
    # ticks that differ by rounding are equal
    assert ScaledTicks(1.0).format_ticks([0.1 + 0.2, 0.3]) == ["0.3", "0.3"]


def test_thinning_preserves_the_peaks():
    time = np.linspace(0.0, 1.0, 123_457)
    series = np.sin(40.0 * time)
    series[77_777] = 5.0
    series[44_444] = -5.0
    keep = style.thin(series)
    assert keep.size <= style.MOST_POINTS
    assert {0, 44_444, 77_777, series.size - 1} <= set(keep.tolist())
    assert np.all(np.diff(keep) > 0)
    assert np.array_equal(style.thin(series[:50]), np.arange(50))


def test_thinning_bounds_several_series_together():
    time = np.linspace(0.0, 1.0, 50_000)
    keep = style.thin(np.sin(9.0 * time), np.cos(9.0 * time), np.full(time.size, np.nan))
    assert keep.size <= style.MOST_POINTS


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7))
def test_labels_are_moved_apart_in_order(places):
    least = 0.1
    places = np.array(places)
    moved = style.spread(places, least)
    order = np.argsort(places, kind="stable")
    assert np.all(np.diff(moved[order]) >= least - 1e-12)
    assert moved.min() >= 0.0
    assert moved.max() <= 1.0 + 1e-12


def test_labels_with_room_stay_where_they_are():
    places = np.array([0.7, 0.1, 0.4])
    assert np.array_equal(style.spread(places, 0.1), places)
    assert style.spread(np.array([0.5, 0.5]), 0.1) == pytest.approx([0.45, 0.55])


def test_a_path_keeps_its_shape_and_its_modes():
    time = np.linspace(0.0, 1000.0, 20_001)
    mode = np.where(np.sin(time) > 0.9, 0, 1)
    path = np.stack([np.cos(time), np.sin(time)])
    keep = style.along(mode, path)
    # chords of at most three samples, none of which joins two modes that are apart
    assert np.diff(keep).max() == 3
    change = np.flatnonzero(np.diff(mode))
    assert np.isin([change, change + 1], keep).all()
    assert np.array_equal(style.along(mode[:5000], path[:, :5000]), np.arange(5000))
    # too many turns: the last samples in a row, no chords across the orbit
    assert np.array_equal(style.along(mode, path, 1000), np.arange(19_001, 20_001))


def test_few_includes_both_ends():
    assert style.few(3, 10).tolist() == [0, 1, 2]
    chosen = style.few(10_000, 50)
    assert chosen.size == 50
    assert chosen[0] == 0
    assert chosen[-1] == 9_999


def test_colours_of_single_masses_differ():
    for n in (3, 6, 50):
        assert len(set(style.mass_colours(np.arange(1, n + 1), n))) == n


def test_figures_show_themselves_in_notebooks():
    figure = style.new_figure(style.COLUMN, 2.0)
    text = figure._repr_html_()
    assert text.startswith('<img width="326" alt="a figure" src="data:image/png;base64,')


def test_labels_stand_at_their_values():
    ax = Figure().subplots()
    ax.set_ylim(1.0, 3.0)
    style.end_labels(ax, [1.5, 2.5], ["low", "high"], ["k", "k"])
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights == pytest.approx({"low": 0.25, "high": 0.75}, abs=1e-12)


def test_a_figure_says_what_stands_on_its_axes():
    """A page that holds it is heard, too."""
    figure = style.new_figure(style.COLUMN, 2.0)
    ax = figure.subplots()
    assert 'alt="a figure"' in figure._repr_html_()
    ax.set_xlabel("time (s)")
    ax.set_ylabel('"force" (N)')
    assert 'alt="&quot;force&quot; (N) against time (s)"' in figure._repr_html_()


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (2, 1), (2, 3)])
def test_gaps_of_a_grid_are_those_asked_for(rows, columns):
    figure = style.new_figure(6.0, 4.0)
    axes = style.grid(figure, rows, columns, gaps=(0.6, 0.3))
    places = [[one.get_position() for one in row] for row in axes]
    for left, right in zip(places[0], places[0][1:], strict=False):
        assert 6.0 * (right.x0 - left.x1) == pytest.approx(0.6)
    for above, below in itertools.pairwise(places):
        assert 4.0 * (above[0].y0 - below[0].y1) == pytest.approx(0.3)


def test_labels_of_small_numbers_have_an_exponent():
    from stiction.plot.figure import ScaledTicks

    ticks = ScaledTicks(1.0)
    assert ticks.format_ticks([0.0, 1e-12, -2.5e-12]) == ["0", "1e−12", "−2.5e−12"]
    assert ticks.format_ticks([0.0, 1e-6]) == ["0.000000", "0.000001"]
