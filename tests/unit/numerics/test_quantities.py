"""Quantities with units at the door: converted, or refused; never taken for plain numbers."""

from typing import ClassVar

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.numerics.checks import number, numbers


class Quantity:
    """As much of a quantity of pint as the door uses, for lengths."""

    SIZES: ClassVar = {"m": 1.0, "mm": 1e-3}

    def __init__(self, magnitude, unit):
        self.magnitude, self.unit = magnitude, unit

    def to(self, unit):
        if unit not in self.SIZES:
            raise ValueError(unit)
        share = self.SIZES[self.unit] / self.SIZES[unit]
        return Quantity(np.multiply(self.magnitude, share), unit)


WORDS = {"why": "why.", "try_": "try."}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (Quantity([1.0, 20.0], "mm"), [1e-3, 2e-2]),
        ([Quantity(1.0, "mm"), Quantity(2.0, "m")], [1e-3, 2.0]),
        ([Quantity(1.0, "mm"), 2.0], [1e-3, 2.0]),
    ],
)
def test_quantities_are_converted(given, wanted):
    assert numbers("a.b", given, unit="m", **WORDS).tolist() == pytest.approx(wanted, rel=1e-15)


def test_one_quantity_is_converted():
    assert number("a.b", Quantity(3.0, "mm"), unit="m", **WORDS) == pytest.approx(3e-3, rel=1e-15)


@pytest.mark.parametrize("unit", ["", "1", "kg"])
def test_nothing_with_a_unit_is_taken_for_a_number(unit):
    with pytest.raises(ModelError, match=r"a\.b: got"):
        number("a.b", Quantity(3.0, "mm"), unit=unit, **WORDS)
    with pytest.raises(ModelError, match=r"a\.b: got"):
        numbers("a.b", [1.0, Quantity(3.0, "mm")], unit=unit, **WORDS)


def test_a_chain_of_pints_quantities():
    u = pytest.importorskip("pint").UnitRegistry()
    given = st.Chain(
        mass=[1000.0 * u.g, 1.0 * u.kg, 1.0 * u.kg],
        stiffness=0.2 * u.N / u.cm,
        damping=0.0 * u.N * u.s / u.m,
        load=st.Ramp(rate=60.0 * u.N / u.minute),
        law=st.Coulomb(mu=25.0 * u.percent),
    )
    law = st.Coulomb(mu=0.25)
    plain = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Ramp(rate=1.0), law=law)
    assert given == plain
    run = st.solve(given, t_span=(0.0 * u.s, 8000.0 * u.ms))
    assert run.t_end == 8.0
    with pytest.raises(ModelError, match=r"Chain\.mass: .* needs one positive number \[kg\]"):
        st.Chain(mass=1.0 * u.m, n=1, stiffness=1.0)
    with pytest.raises(ModelError, match=r"Coulomb\.mu"):
        st.Coulomb(mu=0.2 * u.N)
