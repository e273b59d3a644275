"""Series against time, the strip of stick and friction forces."""

import numpy as np
import pytest

from stiction.chains.figures.data import ChainData
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


def test_friction_of_many_masses_is_an_image(huge):
    ax = figures_of(huge).friction().axes[0]
    image = ax.get_images()[0].get_array()
    # 0.5 N of a bound of 0.981 N
    assert image.min() == pytest.approx(-0.5 / 0.981)
    assert max(image.shape) <= style.MOST_PIXELS
