import numpy as np
import pytest
from fit_cases import cases

from stiction.fits import Free, ImposedSlip
from stiction.fits.problem import Problem
from stiction.fits.starts import candidates
from stiction.laws import BoucWen, Coulomb


@pytest.mark.parametrize("name", sorted(cases(60)))
def test_starts_lie_within_the_bounds(name):
    case = cases(60)[name]
    asked = Problem(type(case.law), case.rig, [case.drawn(0)], None, {})
    low, high = asked.coordinates.bounds()
    made = candidates(asked.parameters, asked.coordinates, asked.curves, 32, 1)
    assert np.isfinite(made).all()
    assert (made >= low).all()
    assert (made <= high).all()
    again = candidates(asked.parameters, asked.coordinates, asked.curves, 32, 1)
    np.testing.assert_array_equal(made, again)


def test_bounds_beyond_the_estimate_give_starts_next_to_them():
    case = cases(60)["Coulomb"]
    curve = case.drawn(0)
    force = np.abs(curve.force).max()
    for bounds in ({"low": 50.0 * force}, {"high": -50.0 * force}):
        rig = ImposedSlip(offset=Free(**bounds))
        asked = Problem(type(case.law), rig, [curve], None, {})
        made = candidates(asked.parameters, asked.coordinates, asked.curves, 32, 1)
        offset = made[:, [q.field for q in asked.parameters].index("offset")]
        assert np.abs(offset).min() >= 5.0 * force
        assert np.abs(offset).max() <= 500.0 * force


def test_zero_is_no_start_of_a_logarithm():
    case = cases(60)["Coulomb"]
    made = [
        candidates(asked.parameters, asked.coordinates, asked.curves, 8, 1)
        for law in (Coulomb(0.0), Coulomb)
        for asked in [Problem(law, ImposedSlip(0.0, 0.0), [case.drawn(0)], None, {})]
    ]
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("known", [{}, {"sigma0": 3e6}, {"gamma": 1e11}, {"beta": 2e11}])
def test_starts_of_bouc_wen_have_the_measured_friction(known):
    case = cases(60)["BoucWen"]
    curve = case.drawn(0)
    fixed = {"a": 0.5, "power": 2.0, **known}
    free = [name for name in ("sigma0", "beta", "gamma") if name not in known]
    asked = Problem(BoucWen, case.rig, [curve], free, fixed)
    made = candidates(asked.parameters, asked.coordinates, asked.curves, 32, 1)
    for row in made:
        values = dict(zip(free, asked.coordinates.physical(row), strict=False)) | fixed
        assert abs(values["gamma"]) <= values["beta"]
        if known.keys() <= {"sigma0"}:
            level = values["a"] / (values["beta"] + values["gamma"])
            mu = values["sigma0"] * level ** (1.0 / values["power"])
            top = np.quantile(np.abs(curve.force / curve.normal_force), 0.97)
            assert 0.5 * top < mu < 3.0 * top
