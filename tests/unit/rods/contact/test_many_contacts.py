"""Several contacts at once: declared and found while the rods move."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st
from stiction.rods.centreline import Straight
from stiction.rods.contact.model import ContactSearch, RollingContact
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import CosseratRod, SineSpin, SineVelocity
from stiction.rods.section import CircularSection

SECTION = CircularSection(0.02, 1e6)
PLACES = np.array([-0.09, 0.09])


def net(elements=24, lift=0.0, order=(0, 1, 2, 3), **more):
    """Return two rods along x below two along y, the lower ones moving up."""
    rods = []
    for i, y in enumerate(PLACES):
        motion = [SineVelocity(1, [0.0, 0.0, 0.4 + 0.1 * i]), SineSpin(1, 1.0)]
        line = Straight([-0.51, y, 0.0], [0.51, y, 0.0])
        rods.append(CosseratRod(SECTION, line, 1.0, elements, motion=motion))
    for x in PLACES:
        line = Straight([x, -0.51, 0.04 + lift], [x, 0.51, 0.04 + lift])
        rods.append(CosseratRod(SECTION, line, 1.0, elements))
    return Rods([rods[k] for k in order], **more)


def crossings(**more):
    """Return the four contacts of the net, where they are known."""
    return [
        RollingContact(0.5 + x / 1.02, 0.5 + y / 1.02, 1 + i, 3 + j, **more)
        for i, y in enumerate(PLACES)
        for j, x in enumerate(PLACES)
    ]


def search(**more):
    """Return a search with little room, so that compiled arrays stay small."""
    return ContactSearch(friction=st.Coulomb(0.3), max_contacts=8, **more)


def test_a_net_finds_its_crossings():
    run = st.solve(net(lift=0.004, search=search()), RollingLeapfrog(1e-4), (0.0, 0.06), save=61)
    known = net(lift=0.004, contacts=crossings(friction=st.Coulomb(0.3)))
    same = st.solve(known, RollingLeapfrog(1e-4), (0.0, 0.06), save=61)
    closed = (run.data.contact_mode.values >= 1).sum(axis=1)
    assert closed[0] == 0
    assert closed.max() == 4
    assert_allclose(closed, (same.data.contact_mode.values >= 1).sum(axis=1))
    assert_allclose(run.data.position.values, same.data.position.values, rtol=0, atol=1e-12)
    assert set(run.events.kind) >= {"close"}
    assert run.stats["searches"] >= 1


def test_four_rolling_contacts_roll_exactly_and_keep_their_gaps():
    run = st.solve(net(contacts=crossings()), RollingLeapfrog(1e-4), (0.0, 0.1), save=51)
    assert np.abs(run.data.gap.values).max() <= 1e-12 * 0.04
    # coupled contacts are solved one after the other until they agree
    assert run.data.rolling_residual.values.max() <= 1e-13
    assert run.data.contact_force.dims == ("time", "contact", "axis")


def test_energy_of_four_rolling_contacts_is_of_second_order():
    errors = []
    for h in (1e-4, 5e-5):
        run = st.solve(net(contacts=crossings()), RollingLeapfrog(h), (0.0, 0.1), save=101)
        errors.append(np.abs(run.energy.imbalance).max())
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_the_order_of_the_contacts_does_not_matter():
    method, order = RollingLeapfrog(1e-4), [3, 1, 0, 2]
    contacts = crossings()
    plain = st.solve(net(contacts=contacts), method, (0.0, 0.05), save=11)
    mixed = st.solve(net(contacts=[contacts[k] for k in order]), method, (0.0, 0.05), save=11)
    assert_allclose(mixed.data.s1.values, plain.data.s1.values[:, order], rtol=0, atol=1e-12)
    force = plain.data.lambda_n.values[:, order]
    assert_allclose(mixed.data.lambda_n.values, force, rtol=0, atol=1e-9 * np.abs(force).max())


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_many_contacts_with_friction_close_their_budget(friction):
    law = {"friction": st.Coulomb(friction)}
    run = st.solve(net(contacts=crossings(**law)), RollingLeapfrog(5e-5), (0.0, 0.1), save=101)
    energy = run.energy
    assert np.all(np.diff(energy.friction_heat, axis=0) >= -1e-14)
    assert np.nanmin(-run.data.lambda_n.values) >= -1e-9
    assert np.abs(energy.imbalance).max() < 1e-4 * energy.kinetic.max()
