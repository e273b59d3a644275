"""Differences between runs."""

import dataclasses

import numpy as np
import pytest

from stiction.chains import Chain, Constant
from stiction.chains.figures.comparison import compare, difference
from stiction.chains.figures.data import ChainData
from stiction.errors import ModelError
from stiction.laws import Coulomb


@pytest.fixture(scope="module")
def runs(make_run):
    chain = Chain([1.0, 1.0, 1.0], 20.0, load=Constant(10.0), law=Coulomb(0.05))
    return [make_run(chain, 4.0, steps, steps // 400) for steps in (8000, 4000, 2000)]


def test_curves_are_the_differences(runs):
    figure = compare(runs, dict.fromkeys(["fine", "middle", "coarse"]).keys())
    assert len(figure.axes) == 6
    x, v = ([run.variables[name].values for run in runs] for name in "xv")
    # mass 3 at the top, displacement left, velocity right
    for ax, series, mass, label in (
        (figure.axes[0], x, 2, "Δx₃ (mm)"),
        (figure.axes[1], v, 2, "Δv₃ (mm/s)"),
        (figure.axes[4], x, 0, "Δx₁ (mm)"),
    ):
        assert ax.get_ylabel() == label
        lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        for name, k in (("middle", 1), ("coarse", 2)):
            assert np.array_equal(lines[name], series[k][:, mass] - series[0][:, mass])
        assert "fine" not in lines
    assert figure.axes[-1].get_xlabel() == "time (s)"
    assert "difference from fine" in figure.texts[0].get_text()
    # the error of the stepping scheme is of first order
    assert np.abs(lines["coarse"]).max() > 1.5 * np.abs(lines["middle"]).max()


def test_the_reference_can_be_chosen(runs):
    figure = compare(runs, reference=2)
    assert "difference from object (3)" in figure.texts[0].get_text()
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == ["object (1)", "object (2)"]


def test_other_times_are_interpolated(runs, make_run):
    chain = Chain([1.0, 1.0, 1.0], 20.0, load=Constant(10.0), law=Coulomb(0.05))
    other = make_run(chain, 3.0, 6000, 7)
    time, values = difference(ChainData(other), ChainData(runs[0]), "x", 2)
    base = runs[0]
    assert time[-1] <= other.time[-1] < base.time[-1]
    expected = np.interp(time, other.time, other.variables["x"].values[:, 2])
    assert np.array_equal(values, expected - base.variables["x"].values[: time.size, 2])
    assert np.abs(values).max() < 1e-3


def test_many_masses_are_a_selection(huge):
    assert len(compare([huge, huge]).axes) == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": []}, "no runs"),
        ({"runs": [0]}, "1 run;"),
        ({"labels": ["a"]}, r"labels: got \['a'\]; needs 3 labels"),
        ({"labels": "abc"}, "labels: got 'abc'"),
        ({"reference": 3}, "reference: got 3; needs a number from 0 to 2"),
        ({"reference": True}, "reference: got True"),
        ({"reference": 1.0}, r"reference: got 1\.0"),
        ({"labels": 5}, "labels: got 5"),
        ({"labels": [["a"], ["b", "c"], "d"]}, "labels: got"),
    ],
)
def test_what_cannot_be_compared_is_refused(runs, change, message):
    chosen = [runs[k] for k in change.get("runs", range(3))]
    labels, reference = change.get("labels"), change.get("reference", 0)
    with pytest.raises(ModelError, match=message):
        compare(chosen, labels, reference=reference)
    with pytest.raises(ModelError, match="1 run;"):
        compare(runs[0])
    for wrong in (5, [5, 6]):
        with pytest.raises(ModelError, match="runs: got 5; needs runs"):
            compare(wrong)


def test_other_sizes_and_other_times_are_refused(runs, wave):
    with pytest.raises(ModelError, match="chains of 3, 50 masses"):
        compare([runs[0], wave])
    later = dataclasses.replace(runs[0], time=runs[0].time + 10.0)
    with pytest.raises(ModelError, match="times do not overlap"):
        compare([runs[0], later])
