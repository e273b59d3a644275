"""Several contacts among several rods, known or found."""

import numpy as np
import pytest

import stiction as st
from stiction.rods.centreline import Straight
from stiction.rods.contact import ContactSearch, RollingContact
from stiction.rods.leapfrog import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import CosseratRod, SineSpin, SineVelocity
from stiction.rods.section import CircularSection

SECTION = CircularSection(radius=0.02, young=1e6)
SPACING = 0.2


def laid(rows, columns, *, searched, lift=0.0, friction=0.3):
    """Rods along x with rods along y on top; the lower ones are plucked upward."""
    rods, contacts = [], []
    lower = (np.arange(rows) - 0.5 * (rows - 1)) * SPACING
    upper = (np.arange(columns) - 0.5 * (columns - 1)) * SPACING
    for i, y in enumerate(lower):
        motion = [SineVelocity(1, [0.0, 0.0, 0.3 + 0.1 * i]), SineSpin(1, 1.0)]
        line = Straight([-0.51, y, 0.0], [0.51, y, 0.0])
        rods.append(CosseratRod(SECTION, line, length=1.0, elements=24, motion=motion))
    for x in upper:
        line = Straight([x, -0.51, 0.04 + lift], [x, 0.51, 0.04 + lift])
        rods.append(CosseratRod(SECTION, line, length=1.0, elements=24))
    law = st.Coulomb(friction)
    if searched:
        return Rods(rods, search=ContactSearch(friction=law, most=32))
    for i, y in enumerate(lower):
        for j, x in enumerate(upper):
            s1, s2 = 0.5 + x / 1.02, 0.5 + y / 1.02
            contacts.append(RollingContact(s1, s2, i + 1, rows + j + 1, friction=law))
    return Rods(rods, contacts)


def test_a_net_finds_its_crossings():
    """Six crossings are found where they are, and none besides."""
    run = st.solve(laid(2, 3, searched=True), RollingLeapfrog(2e-4), (0.0, 0.02), save=11)
    seen = np.isfinite(run.data.s1.values).any(axis=0)
    assert seen.sum() == 6
    first = run.data.s1.values[0][np.isfinite(run.data.s1.values[0])]
    wanted = np.repeat([0.5 - SPACING / 1.02, 0.5, 0.5 + SPACING / 1.02], 2)
    assert np.sort(first) == pytest.approx(wanted, abs=1e-9)


def test_found_and_known_contacts_move_alike():
    """A search finds the same motion as contacts that are known, but for the first impacts."""
    known = st.solve(laid(2, 2, searched=False), RollingLeapfrog(1e-4), (0.0, 0.05), save=6)
    found = st.solve(laid(2, 2, searched=True), RollingLeapfrog(1e-4), (0.0, 0.05), save=6)
    assert found.data.position.values == pytest.approx(known.data.position.values, abs=1e-5)


def test_coupled_contacts_close_the_ledger():
    errors = []
    for step in (2e-4, 1e-4):
        run = st.solve(laid(2, 2, searched=False), RollingLeapfrog(step), (0.0, 0.05), save=51)
        assert (np.diff(run.energy.friction_heat, axis=0) >= -1e-12).all()
        assert run.data.gap.values.min() > -1e-9
        errors.append(run.energy.imbalance_rel)
    assert errors[1] < 0.5 * errors[0]


def test_parallel_rods_touch_along_a_line():
    """Two parallel rods that are pushed together touch at many points and close the ledger."""
    lift = np.array([0.0, 0.0, 0.0405])
    line = Straight([-0.51, 0.0, 0.0], [0.51, 0.0, 0.0])
    rods = [
        CosseratRod(
            SECTION, line, length=1.0, elements=24, motion=[SineVelocity(1, [0.0, 0.1, 0.5])]
        ),
        CosseratRod(SECTION, Straight(lift + line.start, lift + line.end), length=1.0, elements=24),
    ]
    system = Rods(rods, search=ContactSearch(friction=st.Coulomb(0.3)))
    run = st.solve(system, RollingLeapfrog(1e-4), (0.0, 0.05), save=51)
    assert run.events.contact.nunique() > 5
    assert np.nanmax(run.data.line_contact.values) == 1.0
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-4


def test_too_many_contacts_are_named():
    system = laid(2, 3, searched=True)
    small = Rods(system.rods, search=ContactSearch(most=2))
    with pytest.raises(st.ModelError, match=r"ContactSearch\.most"):
        st.solve(small, RollingLeapfrog(2e-4), (0.0, 0.01))


def test_rods_that_overlap_at_the_start_are_refused():
    with pytest.raises(st.ModelError, match="interpenetrate"):
        st.solve(laid(1, 1, searched=True, lift=-0.001), RollingLeapfrog(2e-4), (0.0, 0.01))
