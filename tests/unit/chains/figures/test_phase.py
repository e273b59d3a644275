"""Phase planes."""

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.plot import figures_of, style


def path_of(ax):
    return max(ax.get_lines(), key=lambda line: len(line.get_xdata()))


def test_path_is_the_saved_data(baseline):
    x, v = (baseline.variables[name].values for name in "xv")
    for i, ax in enumerate(figures_of(baseline).phase().axes):
        path = path_of(ax)
        assert np.array_equal(path.get_xdata(), x[:, i])
        assert np.array_equal(path.get_ydata(), v[:, i])
        assert ax.get_xlabel() == f"displacement x{'₁₂₃'[i]} (m)"
        assert ax.get_ylabel() == f"velocity v{'₁₂₃'[i]} (m/s)"


def test_one_mass_alone(baseline):
    figure = figures_of(baseline).phase(mass=3)
    assert len(figure.axes) == 1
    assert np.array_equal(path_of(figure.axes[0]).get_xdata(), baseline.variables["x"].values[:, 2])
    assert figure.get_figwidth() == style.COLUMN


def test_stick_interval_is_the_closed_form(baseline):
    # centre f (1/k1 + ... + 1/ki), half width mu g (3 + 2 + 1) / k at mass 3
    bar = figures_of(baseline).phase(mass=3).axes[0].get_lines()[0]
    half = 0.05 * 9.81 * 6.0 / 20.0
    assert bar.get_xdata() == pytest.approx([1.5 - half, 1.5 + half], rel=1e-12)
    assert bar.get_ydata().tolist() == [0.0, 0.0]


def test_many_masses_get_six_panels(huge):
    figure = figures_of(huge).phase()
    assert len(figure.axes) == 6
    assert figure.axes[-1].get_xlabel().startswith("displacement x₁₀₀₀₀ (")


def test_unknown_mass_is_refused(baseline):
    with pytest.raises(ModelError, match="a number from 1 to 3"):
        figures_of(baseline).phase(mass=4)
