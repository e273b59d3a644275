"""Hertz between two deformable bodies, by virtual work on meshes that do not fit.

Source: Johnson, Contact Mechanics (1985), section 4.2, plane strain.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "trust_two_bodies.py"


@pytest.fixture(scope="module")
def trust():
    """Return the script, with coarser meshes."""
    spec = importlib.util.spec_from_file_location("trust_two_bodies", SCRIPT)
    made = importlib.util.module_from_spec(spec)
    sys.modules["trust_two_bodies"] = made
    spec.loader.exec_module(made)
    made.FINE = 10
    return made


def test_half_width_and_peak(trust):
    """Moduli 1:4 and radii 1:5, without end and without give: .2 % of the closed form."""
    far, here = trust.extrapolated(moduli=4.0, radii=5.0)
    assert np.abs(far).max() < 2e-3
    # the errors that are taken away are there, so that a fit of anything would not pass
    assert 4e-4 < np.abs(here[0] - far[0]) < 5e-3


def test_units_do_not_matter(trust):
    base = trust.errors(moduli=4.0, radii=5.0, size=8.0)
    tiny = trust.errors(moduli=4.0, radii=5.0, size=8.0, unit=1e-9, young=1e9)
    assert np.abs(tiny - base).max() < 1e-8
