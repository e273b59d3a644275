"""Figures of flows: what they show is what the run holds."""

import dataclasses

import matplotlib
import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.io.store import load, save
from stiction.plot import figures_of, write_figures
from stiction.switching.figures.data import FlowData, symbol
from stiction.switching.presets import BeltOscillator, NormalForm, TwoBlockStickSlip
from stiction.switching.wheel.model import WheelOnTurntable

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def wheel():
    return st.solve(WheelOnTurntable(), st.EventDriven(), (0.0, 20.0))


@pytest.fixture(scope="module")
def belt():
    return st.solve(BeltOscillator(), st.EventDriven(), (0.0, 20.0))


@pytest.fixture(scope="module")
def blocks():
    return st.solve(TwoBlockStickSlip(), st.EventDriven(), (0.0, 12.0))


@pytest.fixture(scope="module")
def local():
    return st.solve(NormalForm(-1.2, -1.5), st.EventDriven(), (0.0, 5.0))


def lines_of(ax):
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


def test_modes_come_from_the_events(wheel, belt):
    times, modes = FlowData(wheel).mode_changes(0)
    assert modes.tolist() == [1, -1, 0]
    assert times[1:] == pytest.approx(wheel.event_log.time[:2], rel=1e-15)
    times, modes = FlowData(belt).mode_changes(0)
    assert modes.tolist() == [0, -1, 0, -1, 0, -1]
    assert np.diff(times[1:])[1] == pytest.approx(np.diff(times[1:])[3], rel=1e-9)


def test_overview_shows_states_and_losses(wheel):
    axes = figures_of(wheel).overview().axes
    assert [ax.get_ylabel() for ax in axes[:3]] == ["r (m)", "v (m/s)", "ω (rad/s)"]
    assert axes[-1].get_xlabel() == "scaled time τ (s/(kg m²))"
    drawn = lines_of(axes[0])[0]
    assert np.isin(drawn.get_ydata(), wheel.variables["r"].values).all()
    losses = [line for line in axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_xdata()[0] for line in losses] == pytest.approx([wheel.t_end])


def test_every_kind_of_loss_has_a_colour_and_a_word(wheel):
    kinds = ["fold", "two_fold", "undecided", "intersection", "escaping_start", "a_new_kind"]
    at = np.linspace(1.0, 10.0, len(kinds))
    losses = [
        dataclasses.replace(wheel.determinism.losses[0], time=time, kind=kind)
        for time, kind in zip(at, kinds, strict=True)
    ]
    lost = dataclasses.replace(wheel.determinism, losses=losses)
    ax = figures_of(dataclasses.replace(wheel, determinism=lost)).overview().axes[0]
    drawn = [line.get_color() for line in ax.lines if len(line.get_xdata()) == 2]
    assert len(set(drawn)) == len(kinds)
    words = {text.get_text() for text in ax.get_legend().get_texts()}
    assert words > {"fold", "two-fold", "undecided", "intersection", "escaping start", "a new kind"}


def test_multiplier_while_sliding(wheel):
    (ax,) = figures_of(wheel).multiplier().axes
    drawn = max(ax.lines, key=lambda line: len(line.get_xdata()))
    time, values = drawn.get_xdata(), drawn.get_ydata()
    begins = wheel.event_log.time[1]
    assert np.isnan(values[time < begins - 1e-9]).all()
    assert np.isfinite(values[time > begins + 0.05]).all()
    assert np.nanmax(np.abs(values)) <= 1.0 + 1e-9


def test_events_have_a_line_per_kind(wheel, blocks):
    (ax,) = figures_of(wheel).events().axes
    words = [label.get_text() for label in ax.get_yticklabels()]
    assert words == ["crossing", "onto surface", "two-fold"]
    assert sum(len(c.get_segments()) for c in ax.collections) == wheel.event_log.time.size
    (ax,) = figures_of(blocks).events().axes
    assert ax.get_xlabel() == "time (s)"


def test_phase_axes_are_chosen(wheel, belt):
    figures = figures_of(wheel)
    assert figures.phase().axes[0].name == "3d"
    (ax,) = figures.phase("omega", "r").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ω (rad/s)", "r (m)")
    (ax,) = figures.phase("v").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("v (m/s)", "r (m)")
    (ax,) = figures_of(belt).phase().axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x (dimensionless)", "v (dimensionless)")
    with pytest.raises(ModelError, match="one of r, v, omega"):
        figures.phase("rho")


def test_energy_has_the_units_of_the_run(wheel, belt, local):
    assert figures_of(wheel).energy().axes[0].get_ylabel() == "energy (J)"
    assert figures_of(belt).energy().axes[0].get_ylabel() == "energy"
    assert "energy" not in figures_of(local).default
    with pytest.raises(ModelError, match="has no energy"):
        figures_of(local).energy()


def test_loaded_runs_draw_the_same(blocks, tmp_path):
    again = load(save(blocks, tmp_path / "run"))
    live, loaded = figures_of(blocks).overview(), figures_of(again).overview()
    for a, b in zip(live.axes, loaded.axes, strict=True):
        for one, two in zip(a.lines, b.lines, strict=True):
            assert np.array_equal(one.get_xydata(), two.get_xydata(), equal_nan=True)


def test_vector_files(wheel, tmp_path):
    paths = write_figures(wheel, tmp_path, format="pdf")
    assert [path.stem for path in paths] == list(figures_of(wheel).NAMES)
    assert all(path.read_bytes().startswith(b"%PDF") for path in paths)


def test_unknown_figures_name_the_nearest(wheel):
    with pytest.raises(AttributeError, match="phase"):
        figures_of(wheel).phas()


def test_symbols():
    assert [symbol(name) for name in ("omega", "x1", "v", "x12")] == ["ω", "x₁", "v", "x₁₂"]


def test_other_runs_are_refused(wheel):
    import dataclasses

    bare = dataclasses.replace(wheel, variables={})
    with pytest.raises(ModelError, match="mode, multiplier"):
        figures_of(bare).overview()
