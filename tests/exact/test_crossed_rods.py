"""Two crossed rods in perfect rolling contact against reference numbers and exact invariants.

Reference: case G of the shared numbers, made by an independent prototype of the discrete
equations of the formulas sheet of the rods paper, sections 1-6, and Richardson extrapolation.
"""

import numpy as np
import pytest
from crossed import SECTION, crossed_rods
from numpy.testing import assert_allclose
from references import reference

import stiction as st
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.rod import Free, RigidMotion, SineVelocity


def contact_numbers(step):
    """Return s1, s2 and lambda.n of case G at the reference times."""
    run = st.solve(crossed_rods(), RollingLeapfrog(step), (0.0, 0.2), save=[0.0, 0.1, 0.2])
    return np.array([run.data[name].values for name in ("s1", "s2", "lambda_n")])


def test_reference_case():
    case = reference("rods.json")["G_two_crossed_rods_3d"]
    coarse, fine = contact_numbers(5e-6), contact_numbers(2.5e-6)
    limit = (4.0 * fine - coarse) / 3.0
    assert_allclose(limit[0], case["s1"], rtol=0.0, atol=1e-8)
    assert_allclose(limit[1], case["s2"], rtol=0.0, atol=1e-8)
    assert_allclose(limit[2], case["lamN"], rtol=0.0, atol=1e-5)


def test_reference_energy_at_the_start():
    case = reference("rods.json")["G_two_crossed_rods_3d"]
    run = st.solve(crossed_rods(), RollingLeapfrog(2e-4), (0.0, 1e-3), save=[0.0, 1e-3])
    assert_allclose(run.energy.kinetic[0], case["K0"], rtol=1e-13)
    assert_allclose(run.energy.kinetic[0] + run.energy.stored[0], case["E0"], rtol=1e-13)


@pytest.fixture(scope="module")
def rolling():
    """Return a run of case G and the largest speed at its start."""
    return st.solve(crossed_rods(), RollingLeapfrog(1e-4), (0.0, 0.2), save=201)


def test_rolling_holds_to_rounding(rolling):
    # 1 m/s is the speed of the middle of rod 1 at the start
    assert np.nanmax(rolling.data.rolling_residual.values) <= 1e-14
    assert np.all(rolling.data.contact_mode.values == 1.0)


def test_gap_is_held_to_rounding(rolling):
    assert np.abs(rolling.data.gap.values).max() <= 1e-12 * 2.0 * SECTION.radius


@pytest.mark.parametrize("shake", [True, False])
def test_free_rods_keep_their_momenta(shake):
    spinning = RigidMotion([0.2, 0.1, 0.3], [0.4, 0.0, 1.0])
    motion = [spinning, SineVelocity(2, [0.0, 0.2, 0.1])]
    system = crossed_rods(end=Free, stretch=1.0, motion=motion)
    run = st.solve(system, RollingLeapfrog(1e-4, shake=shake), (0.0, 0.5), save=51)
    linear, angular = run.data.momentum.values, run.data.angular_momentum.values
    assert run.data.contact_force.notnull().all()
    assert np.abs(run.data.contact_force.values).max() > 1e-2
    assert_allclose(linear, linear[[0]].repeat(51, 0), rtol=0, atol=1e-13 * np.abs(linear).max())
    size = np.abs(angular).max()
    assert_allclose(angular, angular[[0]].repeat(51, 0), rtol=0, atol=1e-13 * size)
