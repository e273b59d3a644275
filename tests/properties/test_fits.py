"""What a fit must not depend on: units, the order of rows in a file, the direction of slip."""

import dataclasses

import numpy as np
import pytest
from fit_cases import cases

import stiction as st
from stiction.fits import Curve, Free, ImposedSlip

RIG = ImposedSlip(offset=Free(), drift=Free())


@pytest.fixture(scope="module")
def one():
    curve = cases(80)["Dahl"].drawn(7)
    return curve, st.fit(curve, st.laws.Dahl, RIG)


def table(found):
    return {e.name: (e.value, e.low, e.high) for e in found.estimates}


def test_units_do_not_matter(one, tmp_path):
    curve, found = one
    made = []
    for name, head, scale in (
        ("si.csv", "time [s],displacement [m],force [N],normal [N]", (1.0, 1.0, 1.0)),
        ("mm.csv", "time [ms],displacement [mm],force [kN],normal [N]", (1e3, 1e3, 1e-3)),
    ):
        columns = (curve.time, curve.displacement, curve.force)
        scaled = [s * np.asarray(c) for s, c in zip(scale, columns, strict=True)]
        rows = np.column_stack([*scaled, curve.normal_force])
        np.savetxt(tmp_path / name, rows, delimiter=",", header=head, comments="", fmt="%.17g")
        made.append(st.fits.read_curve(tmp_path / name))
    for curve_ in made:
        again = table(st.fit(curve_, st.laws.Dahl, RIG))
        for name, values in table(found).items():
            np.testing.assert_allclose(again[name], values, rtol=1e-5)


def test_rows_may_come_in_any_order(one, tmp_path):
    curve, found = one
    rows = np.column_stack([curve.time, curve.displacement, curve.force, curve.normal_force])
    head = "time [s],displacement [m],force [N],normal [N]"
    np.random.default_rng(1).shuffle(rows)
    path = tmp_path / "shuffled.csv"
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.17g")
    again = st.fit(st.fits.read_curve(path), st.laws.Dahl, RIG)
    assert table(again) == table(found)


def test_the_other_direction_is_the_same_law(one):
    curve, found = one
    turned = dataclasses.replace(
        curve, displacement=-np.asarray(curve.displacement), force=-np.asarray(curve.force)
    )
    again = table(st.fit(turned, st.laws.Dahl, RIG))
    for name, values in table(found).items():
        expected = values if not name.startswith("rig.") else (-values[0], -values[2], -values[1])
        np.testing.assert_allclose(again[name], expected, rtol=1e-4, atol=1e-7)


def test_twice_the_rows_halve_the_variance(one):
    curve, found = one
    both = st.fit([curve, dataclasses.replace(curve)], st.laws.Dahl, ImposedSlip(0.0, 0.0))
    single = st.fit(curve, st.laws.Dahl, ImposedSlip(0.0, 0.0))
    ratio = single["sigma0"].error / both["sigma0"].error
    assert ratio == pytest.approx(np.sqrt(2.0), rel=0.02)  # reason: two parameters of 80 rows
    assert found.rows == 80


def test_every_curve_has_an_offset_of_its_own(one):
    curve, found = one
    other = Curve(
        force=np.asarray(curve.force) + 3.0,
        time=curve.time,
        displacement=curve.displacement,
        normal_force=curve.normal_force,
    )
    both = st.fit([curve, other], st.laws.Dahl, RIG)
    assert both["rig.offset[2]"].value - both["rig.offset[1]"].value == pytest.approx(3.0, abs=1e-6)
    assert both["mu"].value == pytest.approx(found["mu"].value, rel=1e-5)
