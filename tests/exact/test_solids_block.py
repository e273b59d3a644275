"""A rigid block on a plane: pull-off and shear must be those of the interface laws.

All nodes of a one-element block are driven, so that the gap is uniform and known. Forces are
then the tractions of the law times the area, and the adhesive energy is its potential.
"""

from __future__ import annotations

import numpy as np
import pytest

import stiction as st
from stiction.exact import adhesion as exact
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact.model import Contact
from stiction.solids.model import Readings

LENGTH = 3.0
LAW = st.LennardJones.from_strength(0.06, 0.015)
HAMAKER, R0 = LAW.hamaker, LAW.r0


def block(lift, shift=None, friction=None):
    """Return a block on a plane whose nodes follow two programs."""
    sides = [st.solids.Boundary(0, "top"), st.solids.Boundary(0, "bottom")]
    conditions = [Driven(side, 1, lift) for side in sides]
    if shift is None:
        conditions += [Fixed(side, (0,)) for side in sides]
    else:
        conditions += [Driven(side, 0, shift) for side in sides]
    mesh = st.solids.rectangle(LENGTH, 1.0, (1, 1), (0.0, LAW.gap_eq))
    friction = st.laws.Frictionless() if friction is None else friction
    return st.Solid(
        [st.solids.Body(mesh, st.solids.Q1N2(), st.solids.NeoHookean(1.0, 0.2))],
        [Contact(st.solids.Boundary(0, "bottom"), st.solids.RigidPlane(), LAW, friction)],
        conditions,
        readings=Readings(displacement=0),
    )


def pulled(end, steps):
    """Return a run in which the block is lifted from g_eq over g_max to the gap `end`."""
    top = LAW.gap_max - LAW.gap_eq
    program = Program((0.0, 1.0, 2.0), (0.0, top, end - LAW.gap_eq))
    return st.solve(block(program), st.solids.Quasistatic(steps=steps), (0.0, 2.0))


def test_pull_off_is_the_largest_tension():
    # Source: formulas sheet of the adhesion paper, section 6, rigid block.
    run = pulled(20.0 * R0, 40)
    force = -run.data["force_y"].to_numpy() / LENGTH
    gap = LAW.gap_eq + run.data["displacement"].to_numpy()
    peak = exact.lennard_jones_constants(HAMAKER, R0)
    assert force.max() == pytest.approx(peak.max_tension, rel=1e-10)
    assert gap[np.argmax(force)] == pytest.approx(peak.gap_max, rel=1e-10)
    curve = -exact.lennard_jones_traction(gap, HAMAKER, R0)
    np.testing.assert_allclose(force, curve, rtol=1e-10, atol=1e-10 * LAW.max_tension)


def test_work_of_separation_is_the_potential():
    # the energy of the interface is a state function: no error of load steps enters
    run = pulled(20.0 * R0, 40)
    gap = LAW.gap_eq + run.data["displacement"].to_numpy()
    energy = np.asarray(run.energy.adhesive) / LENGTH
    gained = energy - energy[0]
    work = exact.lennard_jones_potential(gap, HAMAKER, R0)
    work = work - exact.lennard_jones_potential(LAW.gap_eq, HAMAKER, R0)
    np.testing.assert_allclose(gained, work, rtol=0.0, atol=1e-10 * LAW.work_of_adhesion)
    assert energy[0] == pytest.approx(-LAW.work_of_adhesion, rel=1e-10)


def test_the_whole_work_of_adhesion_needs_a_far_end():
    # the tail falls with the square of the gap: W to 1e-8 needs a gap of about 7350 r0
    run = pulled(7350.0 * R0, 40)
    energy = np.asarray(run.energy.adhesive) / LENGTH
    missing = 1.0 - (energy[-1] - energy[0]) / LAW.work_of_adhesion
    tail = exact.lennard_jones_potential(7350.0 * R0, HAMAKER, R0)
    assert missing == pytest.approx(-tail / LAW.work_of_adhesion, rel=1e-6)
    assert 0.9e-8 < missing < 1.1e-8


def test_work_of_the_drive_converges_to_it():
    # the ledger adds up work by the trapezoidal rule, of second order in the load step
    end = 2.0 * R0
    work = exact.lennard_jones_potential(end, HAMAKER, R0) + LAW.work_of_adhesion
    errors = [
        abs(pulled(end, steps).energy.external_work[-1] / LENGTH - work)
        for steps in (100, 200, 400)
    ]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all((orders > 1.9) & (orders < 2.1)), orders
    assert errors[-1] < 1e-4 * work


def sheared(friction, gap):
    """Return the shear traction against which the block slides at a fixed gap."""
    lift = Program((0.0, 1.0), (0.0, gap - LAW.gap_eq))
    shift = Program((1.0, 2.0), (0.0, 0.5 * R0))
    run = st.solve(block(lift, shift, friction), st.solids.Quasistatic(steps=20), (0.0, 2.0))
    force = -run.data["force_x"].to_numpy() / LENGTH
    # it slides at the end, against a force that no longer grows
    assert force[-1] == pytest.approx(force[-2], rel=1e-12, abs=1e-14)
    return force[-1]


@pytest.mark.parametrize("part", [-0.5, 0.0, 0.4, 1.0, 1.2])
@pytest.mark.parametrize("s_cut", [0.5, 1.0])
def test_shear_strength_of_model_di(part, s_cut):
    # Source: Mergel, Scheibert, Sauer 2021, eq. (14), written out anew.
    gap = LAW.gap_eq + part * (LAW.gap_max - LAW.gap_eq)
    mu, sharpness = 0.5, 80.0
    cut = s_cut * LAW.gap_max + (1.0 - s_cut) * LAW.gap_eq
    expected = mu * LAW.max_tension / (1.0 + np.exp(sharpness / R0 * (gap - cut)))
    found = sheared(st.DI(mu, s_cut=s_cut, sharpness=sharpness), gap)
    assert found == pytest.approx(expected, rel=1e-10)
    if part == s_cut:
        assert found == pytest.approx(0.5 * mu * LAW.max_tension, rel=1e-10)


@pytest.mark.parametrize("part", [-0.5, 0.0, 0.4, 1.2])
def test_shear_strength_of_model_ea(part):
    # Source: Mergel, Scheibert, Sauer 2021, eq. (15).
    gap = LAW.gap_eq + part * (LAW.gap_max - LAW.gap_eq)
    mu = 0.4
    found = sheared(st.EA(mu, s_cut=1.0), gap)
    traction = LAW.traction(gap)  # straight below g_eq, held to the sheet elsewhere
    expected = mu * max(float(traction) + LAW.max_tension, 0.0) if part < 1.0 else 0.0
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-14)
    if part == 0.0:
        assert found == pytest.approx(mu * LAW.max_tension, rel=1e-10)


def test_amontons_needs_pressure():
    # s_cut = 0: no friction at the equilibrium gap, mu times the pressure below it
    mu = 0.3
    law = st.EA(mu, s_cut=0.0)
    assert abs(sheared(law, LAW.gap_eq)) < 1e-12 * LAW.max_tension
    gap = 0.9 * LAW.gap_eq
    pressure = exact.lennard_jones_constants(HAMAKER, R0).stiffness * (LAW.gap_eq - gap)
    assert sheared(law, gap) == pytest.approx(mu * pressure, rel=1e-10)
