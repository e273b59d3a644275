"""Families of runs of solids in one figure. The runs are made up."""

import dataclasses

import matplotlib
import numpy as np
import pytest
from solid_runs import WORK, cap, strip

from stiction.errors import ModelError
from stiction.solids.figures.comparison import compare_solids, normal_force
from stiction.solids.figures.data import SolidData

matplotlib.use("Agg")

MU = (0.001, 0.01, 0.05)
FORCES = (-0.1, 0.0, 0.3, 0.6)


@pytest.fixture(scope="module")
def strips():
    return [strip(mu, nx=10, ny=2, snapshots=2) for mu in MU]


@pytest.fixture(scope="module")
def caps():
    return [cap(force, adhesive=a) for a in (True, False) for force in FORCES]


@pytest.mark.parametrize("what", ["force_x", "force_y", "contact_length", "fracture"])
def test_families_are_drawn(strips, what):
    figure = compare_solids(strips, [f"mu = {mu}" for mu in MU], what=what)
    (ax,) = figure.axes
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert set(words) >= {f"mu = {mu}" for mu in MU}
    curves = [line for line in ax.get_lines() if len(line.get_xdata()) > 100]
    name = "fracture_energy" if what == "fracture" else what
    for curve, run in zip(curves, strips, strict=True):
        np.testing.assert_array_equal(curve.get_ydata(), run.variables[name].values)
    if what == "fracture":
        assert [WORK, WORK] in [list(line.get_ydata()) for line in ax.get_lines()]


def test_contact_over_force_has_fits(caps):
    (ax,) = compare_solids(caps, [str(k) for k in range(8)], what="contact_length_force").axes
    fits = [
        line
        for line in ax.get_lines()
        if line.get_linestyle() == "-." or len(line.get_xdata()) == 80
    ]
    assert len(fits) == len(caps)


def test_power_law_of_xi(caps):
    labels = ["adhesive"] * 4 + ["not adhesive"] * 4
    figure = compare_solids(caps, labels, what="xi")
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["adhesive: $\\beta = −3.71$", "not adhesive: $\\beta = −3.54$"]
    assert figure.axes[0].get_xscale() == "log"


def test_normal_force_has_a_sign(caps):
    assert normal_force(SolidData(caps[2])) == pytest.approx(0.3)
    pulled = cap(-0.1)
    pressure = pulled.variables["normal_traction"].values
    assert normal_force(SolidData(pulled)) == pytest.approx(
        np.copysign(0.1, pressure[SolidData(pulled).begin].sum())
    )
    (ax,) = compare_solids(caps[4:], what="eta").axes
    assert ax.get_xlabel() == "normal force $F_\\mathrm{n}/(E\\,L_0)$"


def test_refusals(strips):
    with pytest.raises(ModelError, match=r"at least one"):
        compare_solids([])
    with pytest.raises(ModelError, match=r"3 labels"):
        compare_solids(strips, ["a"])
    with pytest.raises(ModelError, match=r"one of force_x"):
        compare_solids(strips, what="forcex")
    with pytest.raises(ModelError, match=r"a number for xi"):
        compare_solids(strips, what="xi")
    # contacts that grow have no place on a logarithmic axis
    made = cap(0.3)
    xi = dataclasses.replace(made.quantities["xi"], value=-1.0)
    grown = dataclasses.replace(made, quantities={**made.quantities, "xi": xi})
    with pytest.raises(ModelError, match=r"a number for xi"):
        compare_solids([grown], what="xi")
