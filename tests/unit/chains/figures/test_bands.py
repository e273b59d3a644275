"""Strips of stick and slip that change too often for bars."""

import numpy as np
import pytest

import stiction as st
from stiction.chains.figures.bands import (
    SLIP_PLUS,
    busiest,
    envelope,
    fractions_of_time,
    is_dense,
    zoom,
)
from stiction.chains.figures.data import ChainData
from stiction.plot import style
from stiction.plot.figures import figures_of


@pytest.fixture(scope="module")
def shaken():
    chain = st.Chain(
        mass=[1.0, 1.0, 2.0],
        stiffness=40.0,
        load=st.chains.Sine(8.0, 60.0),
        law=st.Coulomb(0.1),
    )
    return st.solve(chain, t_span=(0.0, 30.0), save=301)


@pytest.fixture(scope="module")
def calm():
    return st.read_scenario("slip-wave").solve()


def test_few_changes_are_drawn_as_they_are(shaken, calm):
    assert is_dense(ChainData(shaken))
    assert not is_dense(ChainData(calm))
    # a panel for displacements, one for velocities, the strip; a zoom where bars run together
    assert len(figures_of(calm).motion().axes) == 3
    assert len(figures_of(shaken).motion().axes) == 4


def test_fractions_of_time_from_events(shaken):
    data, edges = ChainData(shaken), np.linspace(0.0, 30.0, 7)
    fine = (np.arange(300_000) + 0.5) * 1e-4
    for i in range(3):
        found = fractions_of_time(data, i, edges)
        assert found.sum(axis=0) == pytest.approx(np.ones(6), abs=1e-12)
        times, modes = data.mode_changes(i)
        at = modes[np.searchsorted(times, fine, side="right") - 1]
        for row, mode in enumerate((-1, 0, 1)):
            counted = (at == mode).reshape(6, -1).mean(axis=1)
            assert found[row] == pytest.approx(counted, abs=1e-3)


def test_the_envelope_mixes_colours_by_fractions(shaken):
    figure = style.new_figure(3.0, 2.0)
    ((ax,),) = style.grid(figure)
    data = ChainData(shaken)
    envelope(ax, data)
    image = np.asarray(ax.images[0].get_array())
    assert image.shape[0] == 3
    from matplotlib.colors import to_rgb

    stuck = fractions_of_time(data, 0, np.linspace(0.0, 30.0, image.shape[1] + 1))[1] == 1.0
    assert stuck.any()
    assert image[0, stuck] == pytest.approx(np.tile(to_rgb(style.STUCK), (stuck.sum(), 1)))
    mixed = fractions_of_time(data, 2, np.linspace(0.0, 30.0, image.shape[1] + 1)).max(axis=0) < 0.9
    assert mixed.any()
    assert not np.allclose(image[2, mixed], to_rgb(SLIP_PLUS))


def test_the_zoom_is_where_most_happens(shaken):
    data = ChainData(shaken)
    begin, end = busiest(data)
    time = shaken.event_log.time
    assert 0.0 <= begin < end <= 30.0
    assert end - begin == pytest.approx(30.0 / 24.0)
    inside = ((time >= begin) & (time <= end)).sum()
    others = [((time >= t) & (time <= t + 1.25)).sum() for t in np.linspace(0.0, 28.7, 500)]
    assert inside >= max(others)
    figure = style.new_figure(3.0, 3.0)
    (above,), (below,) = style.grid(figure, 2)
    zoom(below, above, data)
    assert below.get_xlim() == pytest.approx((begin, end))
    assert [line.get_xdata()[0] for line in above.lines] == pytest.approx([begin, end])
    assert below.get_xlabel() == "time between the marks (s)"
    bars = [path for part in below.collections for path in part.get_paths()]
    assert len(bars) > inside / 2
