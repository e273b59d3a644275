"""Crossed rods at small amplitude tend to the linear model: the difference is of second order."""

import numpy as np
from numpy.testing import assert_allclose
from references import reference
from rod_oracle import Oracle

import stiction as st
from stiction.rods.centreline import Straight
from stiction.rods.contact.model import RollingContact
from stiction.rods.linear_rods import CrossedRods, linear_crossed_rods
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import Clamped, CosseratRod, SineSpin, SineVelocity
from stiction.rods.section import CircularSection


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


def rolling_rods(size):
    """Return the rods of case G at a fraction of their amplitude, as the package describes them."""
    section = CircularSection(radius=0.02, young=1e6)
    lines = []
    for d, lift in ((np.array([1.0, 0.0, 0.0]), 0.0), (np.array([0.5, 0.75**0.5, 0.0]), 0.04)):
        up = np.array([0.0, 0.0, lift])
        lines.append(Straight(up - 0.51 * d, up + 0.51 * d))
    motion = [
        SineVelocity(1, (0.0, 0.5 * size, size)),
        SineVelocity(2, (0.0, 0.7 * size, 0.0)),
        SineSpin(1, 2.0 * size),
    ]
    # the linear model holds the whole last element
    held = {"left": Clamped(hold="element"), "right": Clamped(hold="element")}
    rods = [
        CosseratRod(section, lines[0], length=1.0, motion=motion, **held),
        CosseratRod(section, lines[1], length=1.0, **held),
    ]
    return Rods(rods, [RollingContact(s1=0.5, s2=0.5)])


def test_rods_of_the_package_at_small_amplitude():
    """`RollingLeapfrog` against the linear model, at two amplitudes."""
    rods = CrossedRods()
    line = linear_crossed_rods(rods, np.array([0.0, 0.05]), *start(rods))
    known = np.array([line.s1[1] - 0.5, line.s2[1] - 0.5])
    errors = []
    for size in (0.08, 0.04):
        run = st.solve(rolling_rods(size), RollingLeapfrog(step=2e-5), (0.0, 0.05), save=2)
        moved = [run.variables[name].values[-1] - 0.5 for name in ("s1", "s2")]
        errors.append(np.abs(np.array(moved) - size * known).max())
        assert_allclose(
            run.variables["lambda_n"].values[-1], size * line.contact_force[1, 2], rtol=3e-3
        )
    assert 1.85 < np.log2(errors[0] / errors[1]) < 2.15
    assert np.abs(known).min() > 1e-3
