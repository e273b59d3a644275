"""Strands joined by a bump: orders in the step and the width, and the limit of width zero."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from references import reference

from stiction.rods.strings.strand_motion import StrandPair, strand_motion, to_zero_width

TWO_PI = 2.0 * np.pi


def none(x):
    return 0.0 * x


def pair(**change):
    """Return two strings on (0, 2 pi), the first of them plucked to sin x."""
    given = {
        "speed": (1.0, 1.0),
        "length": (TWO_PI, TWO_PI),
        "mobility": (0.5, 0.5),
        "ratio": 1.0,
        "start": (2.0, 2.5),
        "periodic": False,
        "drag": 0.0,
        "resistance": 0.0,
        "shapes": (np.sin, none),
        "rates": (none, none),
    }
    return StrandPair(**{**given, **change})


def limit(strings, times, widths):
    """Return places and forces at width zero, without the start."""
    runs = [strand_motion(strings, times, width) for width in widths]
    places = to_zero_width(widths, np.stack([run.s for run in runs]))[0]
    forces = to_zero_width(widths, np.stack([run.contact_force for run in runs]))[0]
    return places[1:], forces[1:]


def test_order_in_the_step():
    """Order 4, approached from above: 4.6, 4.5, 4.3 as the step is halved."""
    times = np.array([0.0, 6.0])
    ends = [strand_motion(pair(), times, 0.1, step=h).s[-1] for h in (0.1, 0.05, 0.025)]
    order = np.log2((ends[0] - ends[1]) / (ends[1] - ends[2]))
    assert np.all((order > 3.8) & (order < 4.6))


def test_energy_error_is_of_order_four():
    times = np.array([0.0, 6.0])
    lost = []
    for h in (0.4, 0.2, 0.1):
        run = strand_motion(pair(), times, 0.1, step=h)
        energy = run.kinetic.sum(axis=1) + run.stored.sum(axis=1)
        lost.append(abs(energy[-1] - energy[0]))
    order = np.log2(lost[0] / lost[1]), np.log2(lost[1] / lost[2])
    assert all(3.5 < value < 5.5 for value in order)
    assert lost[-1] < 1e-7


def test_first_order_in_the_width():
    """Reference case C: both contacts, away from the symmetric case."""
    known = reference("rods.json")["C_fixed_offset_weak"]
    times, exact = np.array([0.0, *known["t"][1:4]]), np.array(known["s1"][1:4])
    errors = [strand_motion(pair(), times, w).s[1:, 0] - exact for w in (0.02, 0.01, 0.005)]
    for one, two in ((0, 1), (1, 2)):
        order = np.log2(errors[one] / errors[two])
        assert np.all((order > 0.85) & (order < 1.15))


def test_limit_of_width_zero():
    """Reference case C, extrapolated from four widths: places to 1e-6, forces to 1e-5."""
    known = reference("rods.json")["C_fixed_offset_weak"]
    times = np.array([0.0, *known["t"][:3]])
    places, forces = limit(pair(), times, (0.02, 0.015, 0.01, 0.0075))
    assert_allclose(places[:, 0], known["s1"][:3], atol=1e-6, rtol=0.0)
    assert_allclose(places[:, 1], known["s2"][:3], atol=1e-6, rtol=0.0)
    assert_allclose(forces, known["lam"][:3], atol=1e-5, rtol=0.0)


def test_closed_form_of_equal_places():
    """Fixed ends, s1 = s2: tan(s / 2) = tan(s0 / 2) exp(-(G / 2)(1 - cos t))."""
    times = np.array([0.0, 1.0, 3.0, 5.0, 9.0])
    equal = pair(mobility=(1.0, 1.0), start=(2.0, 2.0))
    closed = 2.0 * np.arctan(np.tan(1.0) * np.exp(-0.5 * (1.0 - np.cos(times[1:]))))
    places = limit(equal, times, (0.02, 0.015, 0.01))[0]
    assert_allclose(places[:, 0], closed, atol=3e-6, rtol=0.0)
    errors = [strand_motion(equal, times, w).s[1:, 0] - closed for w in (0.04, 0.02)]
    # P is free, and the bump only averages it: second order
    order = np.log2(errors[0] / errors[1])
    assert np.all((order > 1.6) & (order < 2.4))


def test_circle():
    """Reference case A, strings on circles."""
    known = reference("rods.json")["A_periodic"]

    def start(x):
        return np.sin(x) + 0.5 * np.cos(2.0 * x)

    circle = pair(mobility=(0.8, 0.8), start=(1.0, 1.0), periodic=True, shapes=(start, none))
    times = np.array([0.0, *known["t"][:2]])
    places, forces = limit(circle, times, (0.02, 0.015, 0.01))
    assert_allclose(places[:, 0], known["s"][:2], atol=1e-6, rtol=0.0)
    assert_allclose(forces, known["lam"][:2], atol=1e-5, rtol=0.0)


def test_chain_of_masses_tends_to_the_string():
    """Lumped masses at a fixed bump: second order in the cells."""
    times = np.array([0.0, 5.0])
    exact = strand_motion(pair(), times, 0.1, cells=800).s[-1]
    cells = (400, 800, 1600)
    chain = [strand_motion(pair(), times, 0.1, cells=n, lumped=True).s[-1] for n in cells]
    order = np.log2(np.diff(chain, axis=0)[0] / np.diff(chain, axis=0)[1])
    assert np.all((order > 1.7) & (order < 2.3))
    assert np.abs(chain[-1] - exact).max() < 1e-4


@pytest.mark.parametrize("cells", [260, 520])
def test_more_cells_change_nothing(cells):
    """The bump is resolved: twice the cells give the same motion."""
    times = np.array([0.0, 5.0])
    few = strand_motion(pair(), times, 0.05, cells=cells)
    many = strand_motion(pair(), times, 0.05, cells=2 * cells)
    assert_allclose(few.s, many.s, atol=1e-9, rtol=0.0)
    assert few.unresolved < 1e-20
