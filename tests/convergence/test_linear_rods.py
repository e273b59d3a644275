"""Crossed rods at small amplitude tend to the linear model: the difference is of second order."""

import numpy as np
from numpy.testing import assert_allclose
from reference import reference
from rod_oracle import Oracle

from stiction.rods.linear_rods import CrossedRods, linear_crossed_rods


def start(rods):
    """Return the initial velocities of reference case G."""
    x = np.linspace(0.0, 1.0, rods.elements + 1)
    middle = 0.5 * (x[1:] + x[:-1])
    velocity, spin = np.zeros((2, x.size, 3)), np.zeros((2, middle.size, 3))
    velocity[0, :, 1] = 0.7 * np.sin(2.0 * np.pi * x) + 0.5 * np.sin(np.pi * x)
    velocity[0, :, 2] = np.sin(np.pi * x)
    spin[0, :, 0] = 2.0 * np.sin(np.pi * middle)
    return velocity, spin


def test_difference_is_of_second_order():
    """Places, displacements and contact force, at an oblique crossing off the middle."""
    rods = CrossedRods(elements=18, angle=1.1, contact=(0.47, 0.52))
    velocity, spin = start(rods)
    t = 0.03
    line = linear_crossed_rods(rods, np.array([0.0, t]), velocity, spin)
    still = Oracle(rods, 0.0 * velocity, 0.0 * spin).r
    errors = []
    for size in (0.08, 0.04, 0.02):
        rolling = Oracle(rods, size * velocity, size * spin)
        s, force = rolling.run(t, 300)
        places = np.array([line.s1[1], line.s2[1]]) - rods.contact
        errors.append(
            [
                np.abs(s - rods.contact - size * places).max(),
                np.abs(force - size * line.contact_force[1]).max(),
                np.abs(rolling.r - still - size * line.displacement[1]).max(),
            ]
        )
    order = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all((order > 1.85) & (order < 2.15))
    assert np.abs(places).min() > 1e-3


def test_oracle_meets_the_reference():
    """Case G at full amplitude, so that the oracle itself is checked."""
    known = reference("rods.json")["G_two_crossed_rods_3d"]
    rods = CrossedRods()
    s, _ = Oracle(rods, *start(rods)).run(0.1, 400)
    assert_allclose(s, [known["s1"][1], known["s2"][1]], atol=2e-6, rtol=0.0)
