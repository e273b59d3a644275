"""The onset diagram."""

import dataclasses

import numpy as np
import pytest

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.onset import slip_image
from stiction.errors import ModelError
from stiction.plot import figures_of, style
from stiction.plot.run_data import window_of


def curve(ax, label):
    found = [line for line in ax.get_lines() if line.get_label() == label]
    return found[0] if found else None


def test_critical_line_is_the_closed_form(ramp):
    ax = figures_of(ramp).onset().axes[0]
    line = curve(ax, "critical load")
    assert line.get_xdata() == pytest.approx([7.3575, 4.905, 2.4525], abs=1e-12)
    assert line.get_ydata().tolist() == [1, 2, 3]
    assert curve(ax, "wave √(k/m)") is None


def test_wave_line_under_a_step(wave):
    ax = figures_of(wave).onset().axes[0]
    line = curve(ax, "wave √(k/m)")
    assert line.get_xdata() == pytest.approx([0.0, 49.0 / 500.0], rel=1e-12)
    assert line.get_ydata().tolist() == [50, 1]
    assert curve(ax, "critical load") is None


@pytest.mark.parametrize("name", ["baseline", "ramp", "wave"])
def test_image_is_grey_where_masses_stick(name, request):
    run = request.getfixturevalue(name)
    image = slip_image(ChainData(run), (run.time[0], run.time[-1]))
    mode, v = run.variables["mode"].values, run.variables["v"].values
    assert image.shape == (mode.shape[1], run.time.size)
    # of evenly spaced samples each has a pixel of its own
    assert np.array_equal(np.isnan(image.T), mode == 0)
    assert np.array_equal(image.T[mode != 0], v[mode != 0])


@pytest.mark.parametrize(
    "time",
    [
        np.linspace(0.0, 1.0, 4001),
        np.concatenate([np.linspace(0.0, 0.1, 500), np.linspace(0.11, 1.0, 50)]),
    ],
)
def test_every_peak_is_seen(baseline, time):
    mode, v = np.zeros((time.size, 3), dtype=np.int8), np.zeros((time.size, 3))
    mode[:, 1], v[:, 1] = 1, np.random.default_rng(1).uniform(0.1, 1.0, time.size)
    variables = {
        name: dataclasses.replace(baseline.variables[name], values=values)
        for name, values in (("mode", mode), ("v", v))
    }
    variables = {**baseline.variables, **variables}
    image = slip_image(
        ChainData(dataclasses.replace(baseline, time=time, variables=variables)), (0.0, 1.0)
    )[1]
    edges = np.linspace(0.0, 1.0, image.size + 1)
    fastest = np.zeros(image.size)
    np.maximum.at(fastest, np.searchsorted(edges[:-1], time, side="right") - 1, v[:, 1])
    assert np.array_equal(image[fastest > 0.0], fastest[fastest > 0.0])


def test_shared_pixels_show_the_fastest_slip(huge):
    image = slip_image(ChainData(huge), (0.0, 1.0))
    assert image.shape == (style.MOST_PIXELS, huge.time.size)
    assert np.nanmax(image) == huge.variables["v"].values.max()
    mode = huge.variables["mode"].values
    slips = (mode != 0).any(axis=0)
    assert np.isnan(image[-1]).sum() < huge.time.size
    assert np.isnan(image).mean() < 1.0 - 0.5 * slips.mean() * (mode != 0).mean()


def test_events_are_marked(baseline):
    ax = figures_of(baseline).onset().axes[0]
    log = baseline.event_log
    for kind, label in (("slip", "slip"), ("stick", "stick")):
        at = np.array([k == kind for k in log.kind])
        line = curve(ax, label)
        assert np.array_equal(line.get_xdata(), log.time[at])
        assert np.array_equal(line.get_ydata(), log.contact[at])


def test_too_many_events_leave_the_first_slips(huge):
    ax = figures_of(huge).onset().axes[0]
    marks = curve(ax, "first slip")
    assert len(marks.get_xdata()) == 400
    assert curve(ax, "slip") is None
    assert len(ax.get_children()) < 60
    late = curve(figures_of(huge).onset(window=(0.5, 1.0)).axes[0], "first slip").get_xdata()
    assert np.nanmin(late) >= 0.5


def test_colours_follow_the_signs(baseline, ramp):
    both = figures_of(baseline).onset().axes[0].get_images()[0]
    low, high = both.get_clim()
    assert low == -high
    assert both.get_cmap().name == "RdBu_r"
    one = figures_of(ramp).onset().axes[0].get_images()[0]
    assert one.get_clim()[0] == 0.0
    assert one.get_cmap().name == "masses"
    for image in (both, one):
        assert image.get_cmap().get_bad() == pytest.approx([0xC4 / 255] * 3 + [1.0])


def test_labels_and_window(baseline):
    figure = figures_of(baseline).onset(window=(0.0, 0.5))
    ax, bar = figure.axes
    assert ax.get_xlim() == (0.0, 0.5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "mass")
    assert bar.get_ylabel() == "slip rate (m/s)"
    log = baseline.event_log
    early = (log.time <= 0.5) & (log.contact > 0)
    marked = sum(
        len(line.get_xdata()) for line in ax.get_lines() if line.get_label() in ("slip", "stick")
    )
    assert marked == early.sum() > 0


@pytest.mark.parametrize(
    "window",
    [(1.0, 1.0), (2.0, 1.0), (1.0,), (), 3.0, (0.0, np.inf), (-5.0, 0.0), (10.0, 11.0), ("a", "b")],
)
def test_a_wrong_window_is_refused(baseline, window):
    end = baseline.time[-1]
    assert window_of("", (0.0, np.nextafter(end, np.inf)), baseline) == (0.0, end)
    with pytest.raises(ModelError, match=r"onset\.window: got"):
        figures_of(baseline).onset(window=window)


def test_a_chain_that_moves_at_the_start_has_no_front(baseline):
    moving = baseline.variables["mode"]
    moving = dataclasses.replace(moving, values=np.ones_like(moving.values))
    run = dataclasses.replace(baseline, variables={**baseline.variables, "mode": moving})
    assert curve(figures_of(run).onset().axes[0], "wave √(k/m)") is None
    assert curve(figures_of(baseline).onset().axes[0], "wave √(k/m)") is not None


def test_a_load_that_falls_later_is_no_step(ramp, wave):
    load = ramp.variables["load"]
    load = dataclasses.replace(load, values=np.minimum(load.values, 12.0 - load.values))
    run = dataclasses.replace(ramp, variables={**ramp.variables, "load": load})
    ax = figures_of(run).onset().axes[0]
    # the first mass would need a load of 7.36 N; the largest is 6 N
    expected = pytest.approx([np.nan, 4.905, 2.4525], abs=1e-12, nan_ok=True)
    assert curve(ax, "critical load").get_xdata() == expected
    assert curve(ax, "wave √(k/m)") is None
    # a ripple, and what happens after the front has passed, leave a step a step
    load = wave.variables["load"]
    other = load.values * np.where(np.arange(load.values.size) % 2, 1.005, 1.0)
    other[-1] *= 2.0
    load = dataclasses.replace(load, values=other)
    run = dataclasses.replace(wave, variables={**wave.variables, "load": load})
    assert curve(figures_of(run).onset().axes[0], "wave √(k/m)") is not None
    energy = dataclasses.replace(wave.energy, kinetic=0.0 * wave.energy.kinetic)
    slow = dataclasses.replace(wave, energy=energy)
    assert curve(figures_of(slow).onset().axes[0], "wave √(k/m)") is None
