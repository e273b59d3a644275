"""Every public friction law and smoothed sign, found by itself: add a law, and it is tested."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stiction.laws
from stiction.errors import ModelError
from stiction.laws import Friction, SmoothSign

# one example of each law; a new law without one fails `test_every_law_has_an_example`
EXAMPLES = {
    "Coulomb": lambda: stiction.laws.Coulomb(0.3),
    "RandomCoulomb": lambda: stiction.laws.RandomCoulomb(0.3, 0.1, seed=7),
    "StaticKinetic": lambda: stiction.laws.StaticKinetic(0.4, 0.25),
    "ExponentialWeakening": lambda: stiction.laws.ExponentialWeakening(0.4, 0.25, 0.1),
    "UserFriction": lambda: stiction.laws.UserFriction(
        lambda v: 0.2 + 0.1 / (1.0 + v), lambda v: -0.1 / (1.0 + v) ** 2
    ),
}
SPEEDS = st.floats(-50.0, 50.0)


def public(base):
    members = vars(stiction.laws).values()
    return [c for c in members if inspect.isclass(c) and issubclass(c, base) and c is not base]


def test_every_law_has_an_example():
    assert {law.__name__ for law in public(Friction)} == set(EXAMPLES)


@pytest.fixture(params=sorted(EXAMPLES))
def law(request):
    return EXAMPLES[request.param]()


@given(v=SPEEDS)
def test_dissipates(v):
    for make in EXAMPLES.values():
        law = make()
        force = -float(law.coefficient(v)) * np.sign(v)
        assert force * v <= 0.0


@given(v=SPEEDS)
def test_even_in_slip(v):
    for make in EXAMPLES.values():
        law = make()
        assert float(law.coefficient(v)) == float(law.coefficient(-v))


@given(v=st.floats(1e-3, 20.0))
def test_slope_is_the_derivative(v):
    for make in EXAMPLES.values():
        law, h = make(), 1e-5 * v
        difference = float(law.coefficient(v + h) - law.coefficient(v - h)) / (2.0 * h)
        assert float(law.slope(v)) == pytest.approx(difference, abs=1e-7)


def test_table_bounds_stick(law):
    table = law.table(5)
    assert table.mu_static.shape == table.mu_kinetic.shape == (5,)
    assert (table.mu_static >= table.mu_kinetic).all()
    assert float(np.max(table.mu_static)) >= float(law.coefficient(0.0)) - 1e-15


def test_equal_to_its_own_copy(law):
    again = type(law)(**vars(law))
    assert again == law
    assert law != stiction.laws.Coulomb(0.999)


def test_refuses_negative_and_not_finite():
    for bad in (-0.1, np.nan, np.inf, "0.3", True, [0.1, -0.2], [[0.1]]):
        with pytest.raises(ModelError):
            stiction.laws.Coulomb(bad)
        with pytest.raises(ModelError):
            stiction.laws.StaticKinetic(bad, 0.1)
        with pytest.raises(ModelError):
            stiction.laws.ExponentialWeakening(0.4, bad, 0.1)


@given(v=st.floats(-5.0, 5.0), width=st.floats(1e-3, 1.0))
def test_smooth_sign_slope(v, width):
    for kind in public(SmoothSign):
        shape, h = kind(), 1e-4 * width
        difference = float(shape.sign(v + h, width) - shape.sign(v - h, width)) / (2.0 * h)
        assert float(shape.slope(v, width)) == pytest.approx(difference, abs=1e-6 / width)
        assert abs(float(shape.sign(v, width))) <= 1.0
        assert float(shape.sign(v, width)) * v >= 0.0
