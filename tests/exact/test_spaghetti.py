"""A flexible rod thrown by a force and a moment at one end: the free flight of Simo and Vu-Quoc.

Source: Simo and Vu-Quoc, J. Appl. Mech. 53 (1986) 855, the free-free rod: length 10 from (6, 0)
to (0, 8), EA = GA = 1e4, EI = 500, mass 1 and inertia 10 per length; at the lower end a force
8 along x and a moment -80 until t = 2.5. The paper shows figures; the numbers here are balances
that hold exactly, and a second scheme that shares the elastic forces alone.
"""

import functools

import numpy as np
import pytest

import stiction as st
from stiction.rods.centreline import Straight
from stiction.rods.methods import RollingLeapfrog, RollingMidpoint
from stiction.rods.model import Rods
from stiction.rods.rod import CosseratRod, Free, PointForce, PointMoment
from stiction.rods.section import GivenSection

OFF = 2.5
FORCE, MOMENT = 8.0, -80.0


def thrown(elements):
    """The rod; loads end within a millionth of a second."""
    times, factors = (0.0, OFF, OFF + 1e-6), (1.0, 1.0, 0.0)
    return Rods(
        [
            CosseratRod(
                GivenSection(shear=1e4, axial=1e4, bending=500.0, twist=500.0, inertia=10.0),
                Straight([6.0, 0.0, 0.0], [0.0, 8.0, 0.0]),
                elements=elements,
                left=Free(),
                right=Free(),
                loads=[
                    PointForce([FORCE, 0.0, 0.0], 0.0, times, factors),
                    PointMoment([0.0, 0.0, MOMENT], 0.0, times, factors),
                ],
            )
        ]
    )


@functools.cache
def flight(elements, step):
    return st.solve(thrown(elements), RollingLeapfrog(step), (0.0, 8.0), save=33)


def test_momentum_is_the_impulse_of_the_force():
    run = flight(20, 2.5e-3)
    impulse = FORCE * np.minimum(run.time, OFF)
    # reason: loads end inside a step, which misses up to half a step of force
    assert run.data.momentum.values[:, 0] == pytest.approx(impulse, abs=2e-2)
    after = run.time > OFF + 0.1
    saved = run.data.momentum.values[after]
    assert np.abs(saved - saved[0]).max() < 1e-12 * np.abs(saved[0]).max()
    assert np.abs(run.data.momentum.values[:, 1:]).max() < 1e-12


def test_angular_momentum_is_conserved_in_free_flight():
    run = flight(20, 2.5e-3)
    after = run.time > OFF + 0.1
    saved = run.data.angular_momentum.values[after, 2]
    assert np.abs(saved - saved[0]).max() < 1e-12 * abs(saved[0])


def test_energy_closes_as_the_step_squared():
    errors = [flight(20, step).energy.imbalance_rel for step in (2.5e-3, 1.25e-3)]
    # the loads end inside a step: that moment costs O(h), small beside the rest
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 1e-3


def test_two_schemes_fly_alike():
    explicit = flight(20, 2.5e-3)
    implicit = st.solve(thrown(20), RollingMidpoint(1e-2), (0.0, 8.0), save=33)
    shape = explicit.data.position.values
    assert np.abs(shape - implicit.data.position.values).max() < 0.05
    # it flies, turns over and bends: the end is far from where a stiff rod would be
    assert shape[-1].mean(axis=0)[0] > 10.0


def test_shape_converges_with_the_elements():
    ends = [flight(n, 1.25e-3).data.position.values[-1, -1] for n in (10, 20, 40)]
    coarse, fine = (np.linalg.norm(ends[k + 1] - ends[k]) for k in range(2))
    # reason: an order of convergence from three coarse meshes, asserted from both sides
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.5)
