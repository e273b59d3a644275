"""Hertz between two deformable bodies, by virtual work on meshes that do not fit.

Source: Johnson, Contact Mechanics (1985), section 4.2, plane strain.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def trust():
    """Return the script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("trust_two_bodies")


def test_half_width_and_peak(trust):
    """Moduli 1:4 and radii 1:5, without end and without give: .2 % of the closed form."""
    far, here = trust.extrapolated(moduli=4.0, radii=5.0)
    assert np.abs(far).max() < 2e-3
    # the errors that are taken away are there, so that a fit of anything would not pass
    assert 4e-4 < np.abs(here[0] - far[0]) < 5e-3


def test_units_do_not_matter(trust, monkeypatch):
    monkeypatch.setattr(trust, "FINE", 10)
    base = trust.errors(moduli=4.0, radii=5.0, size=8.0)
    tiny = trust.errors(moduli=4.0, radii=5.0, size=8.0, unit=1e-9, young=1e9)
    assert np.abs(tiny - base).max() < 1e-8
