import pytest

from stiction.errors import ModelError
from stiction.fits.curves.units import factor_of


@pytest.mark.parametrize(
    ("unit", "quantity", "factor"),
    [
        ("mN", "force", 1e-3),
        ("kN", "force", 1e3),
        ("um", "displacement", 1e-6),
        ("\u00b5m", "displacement", 1e-6),
        ("\u03bcm/s", "velocity", 1e-6),
        ("mm/min", "velocity", 1e-3 / 60.0),
        ("in/s", "velocity", 0.0254),
        ("kip", "force", 4448.2216152605),
        ("kN/mm", "stiffness", 1e6),
        ("kg m/s^2", "force", 1.0),
        ("ms", "time", 1e-3),
        ("min", "time", 60.0),
        ("%", "coefficient", 0.01),
    ],
)
def test_units_of_headers(unit, quantity, factor):
    assert factor_of(unit, quantity, "test") == pytest.approx(factor, rel=1e-14)


@pytest.mark.parametrize(
    ("unit", "quantity", "words"),
    [
        ("m", "force", "no unit of force"),
        ("N", "displacement", "no unit of displacement"),
        ("V", "force", "unit of force"),
        ("newtons", "force", "unit of force"),
        ("", "time", "unit of time"),
    ],
)
def test_wrong_units_are_refused(unit, quantity, words):
    with pytest.raises(ModelError, match=words):
        factor_of(unit, quantity, "test")


@pytest.mark.parametrize("unit", ["\ufffdm", "\u00c2\u00b5m", "mum", "micron", "um\u00b2"])
def test_no_other_unit_of_length_is_guessed(unit):
    with pytest.raises(ModelError) as caught:
        factor_of(unit, "displacement", "test")
    assert "did you mean" not in str(caught.value)
    assert "Try: m, in, inch, ft; n, u, m," in str(caught.value)
