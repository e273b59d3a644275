import numpy as np
import pytest
from fit_cases import cases

from stiction.fits.problem import Problem
from stiction.fits.starts import candidates


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
