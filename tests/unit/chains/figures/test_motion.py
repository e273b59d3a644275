"""Series against time, the strip of stick and friction forces."""

import dataclasses

import numpy as np
import pytest

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.motion import _merged
from stiction.chains.figures.stick_geometry import Shadow
from stiction.core.run import Variable
from stiction.plot import figures_of, style


def curve(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def bars(collection):
    """Return the (k, 2) begin and end of the rectangles of a collection."""
    corners = [path.vertices[:, 0] for path in collection.get_paths()]
    return np.array([(c.min(), c.max()) for c in corners])


def test_lines_are_the_saved_data(baseline):
    figure = figures_of(baseline).motion()
    for ax, name, label in zip(
        figure.axes[:2], "xv", ("displacement (m)", "velocity (m/s)"), strict=True
    ):
        assert ax.get_ylabel() == label
        for i in range(3):
            line = curve(ax, f"mass {i + 1}")
            assert np.array_equal(line.get_xdata(), baseline.time)
            assert np.array_equal(line.get_ydata(), baseline.variables[name].values[:, i])
    assert figure.axes[-1].get_xlabel() == "time (s)"
    assert figure.axes[-1].get_xlim() == (0.0, 10.0)


def test_each_series_alone(baseline):
    assert figures_of(baseline).displacements().axes[0].get_ylabel() == "displacement (m)"
    assert figures_of(baseline).velocities().axes[0].get_ylabel() == "velocity (m/s)"


@pytest.mark.parametrize("name", ["baseline", "ramp"])
def test_grey_bars_agree_with_the_saved_modes(name, request):
    run = request.getfixturevalue(name)
    strip = figures_of(run).motion().axes[-1]
    mode = run.variables["mode"].values
    half = 0.5 * (run.time[1] - run.time[0])
    for i in range(3):
        grey = next(c for c in strip.collections if c.get_label() == f"_stuck {i + 1}")
        edges = bars(grey)
        begin, end = edges[:, :1], edges[:, 1:]
        surely = ((run.time > begin + half) & (run.time < end - half)).any(axis=0)
        maybe = ((run.time >= begin - half) & (run.time <= end + half)).any(axis=0)
        stuck = mode[:, i] == 0
        assert np.all(stuck[surely])
        assert not np.any(stuck[~maybe])
        assert surely.sum() > 10


def test_shading_shows_where_all_stick(baseline):
    panel = figures_of(baseline).displacements().axes[0]
    shade = next(c for c in panel.collections if c.get_label() == "_rest")
    assert bars(shade) == pytest.approx(ChainData(baseline).rest_intervals)


def test_many_masses_are_a_few_lines(huge):
    figure = figures_of(huge).motion()
    lines = figure.axes[0].collections[-1]
    assert len(lines.get_paths()) == 50
    assert sum(len(path.vertices) for path in lines.get_paths()) <= 50 * 800
    last = lines.get_paths()[-1].vertices
    assert np.array_equal(last[:, 1], huge.variables["x"].values[:, -1])
    strip = figure.axes[2].get_images()[0].get_array()
    assert max(strip.shape) <= style.MOST_PIXELS


def test_long_runs_are_thinned(make_run):
    from stiction.chains import Chain, Sine
    from stiction.laws import Coulomb

    chain = Chain([1.0], 20.0, load=Sine(10.0, 30.0), law=Coulomb(0.1))
    run = make_run(chain, 20.0, 20_000, 1)
    line = curve(figures_of(run).velocities().axes[0], "mass 1")
    assert len(line.get_xdata()) <= style.MOST_POINTS
    v = run.variables["v"].values[:, 0]
    assert line.get_ydata().max() == v.max()
    assert set(line.get_ydata()) <= set(v)


def test_friction_panels_show_the_bound(baseline):
    figure = figures_of(baseline).friction()
    for i, ax in enumerate(figure.axes[::-1]):
        force, low, high = ax.get_lines()
        assert np.array_equal(force.get_ydata(), baseline.variables["friction"].values[:, i])
        assert low.get_ydata()[0] == pytest.approx(-0.05 * 9.81)
        assert high.get_ydata()[0] == pytest.approx(0.05 * 9.81)
    assert [ax.get_ylabel() for ax in figure.axes] == ["", "friction force (N)", ""]


def test_the_bound_of_a_law_with_states(baseline, huge):
    """Its run contains the bound, here twice that of the start at the end; it is drawn."""

    def grown(run, start):
        shape = run.variables["x"].values.shape
        rise = 1.0 + run.time[:, None] / run.time[-1]
        bound = Variable(np.broadcast_to(start * rise, shape), ("time", "mass"), "N", "")
        return dataclasses.replace(run, variables={**run.variables, "stick_bound": bound})

    run, start = grown(baseline, 0.05 * 9.81), 0.05 * 9.81
    for ax in figures_of(run).friction().axes:
        _, low, high = ax.get_lines()
        for line, sign in ((low, -1.0), (high, 1.0)):
            ends = (line.get_ydata()[0], line.get_ydata()[-1])
            assert ends == pytest.approx((sign * start, sign * 2.0 * start))
        assert ax.get_ylim()[1] > 2.0 * start
    for at in (0, -1):
        wide = Shadow(ChainData(run), at).half_width / Shadow(ChainData(baseline), at).half_width
        assert wide == pytest.approx([2.0 if at else 1.0] * 3)
    before, after = (
        np.asarray(figures_of(one).friction().axes[0].get_images()[0].get_array())[:, -1]
        for one in (huge, grown(huge, 0.981))
    )
    # the last column shows the last saved state
    np.testing.assert_allclose(after, before / 2.0, rtol=1e-12, atol=0.0)
    assert after.any()


@pytest.mark.parametrize("fraction", [0.05, 0.95])
def test_many_intervals_become_bins(fraction):
    """Three thousand cycles with stick in a fraction of each, and one long stick among them."""
    begin = np.arange(3000.0)
    begin = begin[(begin < 1000.0) | (begin >= 1500.0)]
    intervals = np.column_stack([begin, begin + fraction])
    long = np.concatenate([intervals[:1000], [[1000.0, 1500.0]], intervals[1000:]])
    shaded = _merged(long, (0.0, 3000.0))
    width = 3000.0 / style.MOST_POINTS
    if fraction < 0.5:
        assert shaded == pytest.approx(np.array([[1000.0, 1500.0]]), abs=width)
    else:
        assert shaded == pytest.approx(np.array([[0.0, 3000.0]]), abs=width)
    assert np.array_equal(_merged(long[::8], (0.0, 3000.0)), long[::8])


def test_friction_of_many_masses_is_an_image(huge):
    ax = figures_of(huge).friction().axes[0]
    image = ax.get_images()[0].get_array()
    # 0.5 N of a bound of 0.981 N
    assert image.min() == pytest.approx(-0.5 / 0.981)
    assert max(image.shape) <= style.MOST_PIXELS
    # friction with a viscous part above the bound lies within the colour scale
    low = Variable(np.full(huge.variables["x"].values.shape, 0.25), ("time", "mass"), "N", "")
    run = dataclasses.replace(huge, variables={**huge.variables, "stick_bound": low})
    limits = figures_of(run).friction().axes[0].get_images()[0].get_clim()
    assert limits == pytest.approx((-2.0, 2.0))
