"""Energies, the stacked ledger and the imbalance."""

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

from stiction.plot import figures_of
from stiction.plot.energy import _few_decades


def outline(collection, time):
    """Return the upper edge of a filled area at `time`."""
    points = collection.get_paths()[0].vertices
    return np.array([points[points[:, 0] == t, 1].max() for t in time])


def curve(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def test_terms_add_up_to_the_energy_put_in(baseline):
    ledger = baseline.energy
    panel = figures_of(baseline).energy().axes[1]
    at = baseline.time[::100]
    shares = [outline(area, at) for area in panel.collections]
    total = ledger.kinetic + ledger.stored + ledger.total_friction_heat
    assert shares[0] == pytest.approx(ledger.stored[::100], abs=1e-12)
    assert shares[-1] == pytest.approx(total[::100], abs=1e-12)
    put_in = curve(panel, "supplied").get_ydata()
    assert np.array_equal(put_in, ledger.external_work)
    # the stepping scheme of these tests closes to first order only
    assert np.abs(shares[-1] - put_in[::100]).max() < 1e-2 * ledger.scale


def test_energies_are_the_ledger(baseline):
    axes = figures_of(baseline).energy().axes
    ledger = baseline.energy
    assert [ax.get_ylabel() for ax in axes] == ["energy (J)", "ledger (J)", "rel. imbalance"]
    assert np.array_equal(curve(axes[0], "kinetic").get_ydata(), ledger.kinetic)
    assert np.array_equal(curve(axes[0], "elastic").get_ydata(), ledger.stored)
    assert np.array_equal(curve(axes[0], "total").get_ydata(), ledger.kinetic + ledger.stored)


def test_imbalance_is_drawn_where_it_is_not_zero(baseline):
    ledger = baseline.energy
    ax = figures_of(baseline).energy().axes[2]
    assert ax.get_yscale() == "log"
    drawn = ax.get_lines()[0].get_ydata()
    size = np.abs(ledger.imbalance) / ledger.scale
    assert np.array_equal(np.isnan(drawn), size == 0.0)
    assert np.array_equal(drawn[size > 0.0], size[size > 0.0])


def test_a_scheme_that_creates_energy_is_drawn_as_lines(baseline):
    made = -1e-2 * baseline.energy.external_work
    energy = dataclasses.replace(baseline.energy, algorithmic=made)
    panel = figures_of(dataclasses.replace(baseline, energy=energy)).energy().axes[1]
    assert not panel.collections
    assert np.array_equal(curve(panel, "time scheme").get_ydata(), made)


def test_a_chain_in_equilibrium_has_an_energy_figure(make_run):
    from stiction.chains import Chain

    run = make_run(Chain([1.0], 20.0), 1.0, 10, 1)
    figure = figures_of(run).energy()
    figure.draw_without_rendering()
    assert len(figure.axes[1].collections) == 0


@pytest.mark.parametrize(
    ("limits", "powers"),
    [((1e-17, 1e-12), (-16, -14, -12)), ((2e-17, 3e-14), (-16, -15, -14)), ((1e-2, 5.0), (-1, 0))],
)
def test_few_decades_are_marked_up_to_the_last(limits, powers):
    ax = Figure().subplots()
    ax.set_yscale("log")
    ax.set_ylim(*limits)
    _few_decades(ax)
    assert np.log10(ax.get_yticks()) == pytest.approx(powers, abs=1e-9)
