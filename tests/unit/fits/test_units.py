import pytest

from stiction.errors import ModelError
from stiction.fits.curves.units import DIMENSIONS, factor_of


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
        ("m", "force", "is not a unit of force"),
        ("N", "displacement", "is not a unit of displacement"),
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
    assert "Try: m, in, inch, ft, or a prefix n, u, m," in str(caught.value)


@pytest.mark.parametrize(
    ("unit", "quantity", "factor"),
    [
        # NIST SP 811, appendix B.8; the inch, pound and standard gravity are exact
        ("in", "displacement", 0.0254),
        ("inch", "displacement", 0.0254),
        ("ft", "displacement", 12 * 0.0254),
        ("lb", "mass", 0.45359237),
        ("kgf", "force", 9.80665),
        ("gf", "force", 9.80665e-3),
        ("lbf", "force", 0.45359237 * 9.80665),
        ("kip", "force", 1000 * 0.45359237 * 9.80665),
        ("dyn", "force", 1e-5),
        ("t", "mass", 1000.0),
        ("g", "mass", 1e-3),
        ("kg", "mass", 1.0),
        ("h", "time", 3600.0),
        ("s", "time", 1.0),
        ("1", "coefficient", 1.0),
        ("-", "weight", 1.0),
        ("%", "weight", 0.01),
        ("Pa m", "stiffness", 1.0),
        ("MN/m", "stiffness", 1e6),
        ("N", "noise", 1.0),
        ("N", "normal_force", 1.0),
        ("nm", "displacement", 1e-9),
        ("cm", "displacement", 1e-2),
        ("dm", "displacement", 1e-1),
        ("GN", "force", 1e9),
        ("m/s", "velocity", 1.0),
    ],
)
def test_every_unit_is_that_of_the_tables(unit, quantity, factor):
    assert factor_of(unit, quantity, "test") == pytest.approx(factor, rel=1e-13)


def test_units_that_are_shown_are_those_of_the_dimension():
    for quantity, (_, unit) in DIMENSIONS.items():
        assert factor_of(unit, quantity, "test") == 1.0
