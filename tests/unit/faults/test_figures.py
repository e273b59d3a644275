"""Figures of faults, drawn from live runs."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.faults import Cycles, Fault, SpringSlider
from stiction.laws import AgeingLaw
from stiction.plot.player.movie import BLUE, ORANGE


def test_every_figure_is_drawn():
    law = AgeingLaw(a=0.01, b=0.025, length=1e-5)
    slider = SpringSlider(law, impedance=3e6, speed_start=9e-7, state_start=10.0)
    run = st.solve(slider, Cycles(rtol=1e-7), (0.0, 800.0), save=3)
    assert run.plot.default == ("cycles", "loop")
    loop = run.plot.loop().axes[0]
    x, y = loop.lines[0].get_data()
    assert np.array_equal(x, run.variables["trace_speed"].values)
    assert np.array_equal(y, run.variables["trace_friction"].values)
    low = run.plot.cycles().axes[1]
    assert low.get_xlabel().startswith("time")


def test_a_sample_holds_until_the_next_step():
    """A straight line over decades of waiting would end in a rise that never was."""
    run = ruptured("none")
    time, step, mu = (run.variables[f"trace_{n}"].values for n in ("time", "step", "friction"))
    x, y = run.plot.cycles().axes[1].lines[0].get_data()
    assert np.array_equal(y[::2], mu)
    assert np.array_equal(x[:-1:2], time)
    assert np.array_equal(y[1::2], mu)
    assert x[1:-1:2] == pytest.approx(time[1:] - step[1:], rel=1e-12)
    # some samples are one step apart, others many
    assert np.any(np.diff(x)[::2] == 0.0)
    assert np.diff(x)[::2].max() > 10.0 * step[1:].max()
    assert x[-1] == run.t_end
    # the axis begins with the run
    late = dataclasses.replace(run, time=np.linspace(0.5 * run.t_end, run.t_end, run.time.size))
    assert late.plot.cycles().axes[1].get_xlim() == (0.5 * run.t_end, run.t_end)
    # an older folder has no steps: straight lines
    older = {name: v for name, v in run.variables.items() if name != "trace_step"}
    figure = dataclasses.replace(run, variables=older).plot.cycles()
    assert np.array_equal(figure.axes[1].lines[0].get_xdata()[1:-1:2], time[:-1])


@pytest.mark.parametrize(
    ("surface", "word"), [("free", "depth"), ("none", "position along the fault")]
)
def test_depth_grows_downwards(surface, word):
    run = ruptured(surface)
    ax = run.plot.slip().axes[0]
    assert ax.get_ylabel() == f"{word} (m)"
    assert ax.yaxis_inverted() == (surface == "free")
    view = run.plot.movie(10).views[0]
    assert view.axes == ("slip (m)", f"{word} (km)")
    assert (view.low[1] > view.high[1]) == (surface == "free")


def test_the_player_shows_what_ruptures():
    run = ruptured("none")
    movie = run.plot.movie(1000)
    at = run.variables["event_time"].values
    onset = run.event_log.kind.index("onset")
    inside = (movie.time >= at[onset]) & (movie.time <= at[onset + 1])
    assert inside.any()
    assert (movie.strip[inside] == ORANGE).any()
    assert (movie.strip[movie.time < at[onset]] == BLUE).all()


def ruptured(surface):
    fault = Fault(
        AgeingLaw(a=0.01, b=0.02, length=1e-4),
        cells=24,
        length=3.0,
        normal_stress=1e7,
        shear_modulus=1e9,
        plate_speed=1e-6,
        surface=surface,
        speed_start=1.5e-6,
    )
    return st.solve(fault, Cycles(rtol=1e-6), (0.0, 6000.0), save=9)


def test_a_rupture_is_a_band():
    run = ruptured("none")
    onsets = sum(kind == "onset" for kind in run.event_log.kind)
    ax = run.plot.slip().axes[0]
    *bands, lines = ax.collections
    assert 0 < onsets == len(bands)
    places = run.variables["place"].values
    known = np.concatenate([run.variables[n].values for n in ("slip", "slip_at_event")])
    assert len(lines.get_segments()) > 9
    for line in lines.get_segments():
        assert np.array_equal(line[:, 1], places)
        assert (line[:, 0] == known).all(axis=1).any()
    assert run.plot.default == ("cycles", "slip")
