"""The exit from a two-fold by hops nobody sees, beside the maps of the exact model."""

from fractions import Fraction

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.switching import NormalForm
from stiction.switching.ensembles.study import ensemble
from stiction.switching.methods import EventDriven
from stiction.switching.two_folds.finding import two_fold
from stiction.switching.two_folds.hopping import hop_away
from stiction.switching.two_folds.refinement import correction

J1, J2 = -1.2, -1.5


def exact(y, z, side, t_end):
    """Return x, y, z and the crossings of f+ = (-y, 1, J1), f- = (z, J2, 1) from (0, y, z)."""
    t, crossings = 0.0, 0
    while True:
        flight = -2.0 * y if side > 0.0 else -2.0 * z
        if t + flight > t_end:
            s = t_end - t
            if side > 0.0:
                return (-y * s - 0.5 * s * s, y + s, z + J1 * s), crossings
            return (z * s + 0.5 * s * s, y + J2 * s, z + s), crossings
        y, z = (-y, z - 2.0 * J1 * y) if side > 0.0 else (y - 2.0 * J2 * z, -z)
        t, side, crossings = t + flight, -side, crossings + 1


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("distance", [3e-11, 1e-9, 3e-7, 1e-5])
def test_hops_of_the_exact_model(side, distance):
    system = NormalForm(J1, J2)
    start = np.array([0.0, -0.7 * distance, -0.4 * distance])
    hops = hop_away(system, start, 0, np.array([side]), 0, 10.0)
    end, crossings = exact(*start[1:], side, float(hops.nodes[-1, 0]) * (1.0 + 1e-9))
    assert len(hops.landings) == crossings
    assert hops.nodes[-1, 1:] == pytest.approx(end, rel=1e-6, abs=1e-9)
    assert np.all(np.diff(hops.nodes[:, 0]) > 0.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_ensemble_hops_out_of_a_two_fold(side):
    system = NormalForm(J1, J2)
    rng, t_end = np.random.default_rng(3), 0.7
    distances = 10.0 ** rng.uniform(-10.5, -6.5, 12)
    angles = rng.uniform(0.2, 1.3, 12)
    starts = np.stack([0.0 * distances, -distances * np.cos(angles), -distances * np.sin(angles)]).T
    found = ensemble(system, starts, t_end, sides=np.full(12, side))
    assert list(found.end) == ["time"] * 12
    for start, state, counts in zip(starts, found.state, found.counts, strict=True):
        end, crossings = exact(*start[1:], side, t_end)
        assert state == pytest.approx(end, rel=1e-4, abs=1e-5)
        assert counts[0] == crossings


def test_a_run_hops_as_an_ensemble_does():
    system = NormalForm(J1, J2, x0=[0.0, -7e-10, -4e-10], mode="+")
    run = st.solve(system, EventDriven(rtol=1e-10), t_span=(0.0, 0.7), save=701)
    end, crossings = exact(-7e-10, -4e-10, 1.0, 0.7)
    assert [run.final[name] for name in "xyz"] == pytest.approx(end, rel=1e-6, abs=1e-9)
    assert (run.events["kind"] == "cross").sum() == crossings
    assert np.all(np.diff(run.events["time"]) > 0.0)
    for t, x, y, z in zip(run.time[1:], *(run.variables[n].values[1:] for n in "xyz"), strict=True):
        assert (x, y, z) == pytest.approx(exact(-7e-10, -4e-10, 1.0, t)[0], rel=1e-3, abs=1e-6)


def test_the_first_return_of_the_wheel_does_not_depend_on_the_tolerance():
    wheel = st.WheelOnTurntable()
    starts = np.array(
        [
            [0.18589999987447728, -0.030121699376450824, -1.0369999992283583],
            [0.18589999874477278, -0.03012169376450965, -1.0369999922835846],
        ]
    )
    loose, strict = (
        ensemble(wheel, starts, 500.0, sides=np.ones(2), method=EventDriven(rtol=rtol))
        for rtol in (1e-8, 1e-12)
    )
    assert list(strict.end) == ["codim2_line"] * 2
    assert loose.time == pytest.approx(strict.time, abs=1e-5)
    # 80-bit arithmetic in coordinates about the two-fold
    assert strict.time[1] == pytest.approx(2.75916364, abs=1e-7)


def test_the_place_beyond_its_digits():
    # Newton's method in 113 bits, from the parameters as they are rounded
    digits = "0.1858999999999999645385", "-0.0301216999999996830718", "-1.0369999999999996077630"
    found = two_fold(st.WheelOnTurntable(), [0.1859, -0.03012, -1.037])
    fine = correction(found.probe, np.asarray(found.x))
    off = np.array(
        [float(Fraction(d) - Fraction(float(v))) for d, v in zip(digits, found.x, strict=True)]
    )
    assert np.max(np.abs(off - fine.low)) < min(0.1 * fine.error, 2.5e-16)
    assert np.max(np.abs(off)) > 3e-16


# places next to the two-fold of the wheel, and when an orbit of 113 bits first meets the line
# h = g = 0 from there: scaled distances 2.4e-11, 2.6e-11 and 3.2e-11
PASSES = (
    (1.0, ("0x1.7cb923a2985b6p-3", "-0x1.ed83911911f7ep-6", "-0x1.0978d4fdf11c1p+0"), 2.64996),
    (-1.0, ("0x1.7cb923a2936b4p-3", "-0x1.ed83911905a42p-6", "-0x1.0978d4fdf0d85p+0"), 2.57962),
    (1.0, ("0x1.7cb923a299c67p-3", "-0x1.ed839118e3badp-6", "-0x1.0978d4fdf03afp+0"), 2.28486),
)


@pytest.mark.parametrize("rtol", [1e-8, 1e-12])
def test_first_passes_next_to_the_two_fold_of_the_wheel(rtol):
    sides, places, times = zip(*PASSES, strict=True)
    starts = np.array([[float.fromhex(digits) for digits in place] for place in places])
    found = ensemble(
        st.WheelOnTurntable(), starts, 6.0, sides=np.array(sides), method=EventDriven(rtol=rtol)
    )
    assert list(found.end) == ["codim2_line"] * len(PASSES)
    assert found.time == pytest.approx(times, abs=2e-4)


def test_what_the_rounding_of_the_place_hides_is_not_decided():
    # an orbit of 113 bits passes the line here and meets it at 2.927; were the distance from the
    # two-fold, 3e-11, a thousandth larger, it would meet it at 2.230
    starts = np.array([[0.18589999999971377, -0.030121699997447935, -1.0369999999968522]])
    star = np.array([0.1859, -0.03012169999999968, -1.0369999999999996])
    starts = star + (starts - star) * (1.0 - 1e-3 / 1.0432)
    method = EventDriven(rtol=1e-12)
    found = ensemble(st.WheelOnTurntable(), starts, 6.0, sides=np.ones(1), method=method)
    assert list(found.end) == ["undecided"]
    assert found.time[0] == pytest.approx(2.2297, abs=1e-3)
    # nearer than the place is known nothing is
    near = star + (starts - star) / 5.0
    found = ensemble(st.WheelOnTurntable(), near, 6.0, sides=np.ones(1), method=method)
    assert list(found.end) == ["undecided"]
    assert found.time[0] == 0.0


def in_other_units(unit):
    # the model with y and z in other units
    return st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x, p: np.array([-x[1] / p[0], p[0], -1.2 * p[0]]),
        f_minus=lambda x, p: np.array([x[2] / p[0], -1.5 * p[0], p[0]]),
        x0=[0.0, 0.3 * unit, 0.1 * unit],
        parameters=[unit],
        scale=[1.0, unit, unit],
    )


def test_the_end_of_hops_does_not_depend_on_units():
    ends = []
    for unit in (1.0, 1e6):
        start = np.array([0.0, -1e-6 * unit, 0.4e-6 * unit])
        found = hop_away(in_other_units(unit), start, 0, np.array([1.0]), 0, 1e3)
        ends.append(found.nodes[-1] / np.array([1.0, 1.0, unit, unit]))
    assert ends[1] == pytest.approx(ends[0], rel=1e-9, abs=1e-15)


def test_a_state_beside_a_two_fold_is_none_in_any_unit():
    unit = 1e6
    beside = [0.0, 0.01 * unit, 0.01 * unit]
    with pytest.raises(ModelError, match="needs a two-fold: "):
        st.switching.futures(in_other_units(unit), beside, 1.0, angles=2, distances=2)
