"""A search that is repeated adds the pairs that are new, and those alone."""

import math

import numpy as np

import stiction as st
from stiction.rods import (
    Arc,
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    Curve,
    Free,
    RigidMotion,
    RollingContact,
    SpherePartner,
    Straight,
)
from stiction.rods.assembly import assemble
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.state import ContactState

A = 0.01
SEARCH = ContactSearch(friction=st.Coulomb(0.3), self_contact=False, max_contacts=64)


def rod(line, elements, section=None, end=Free, velocity=(0.0, 0.0, 0.0)):
    """Return a rod with equal ends that moves as a whole."""
    section = CircularSection(A, 1e6, density=1000.0) if section is None else section
    motion = [RigidMotion(velocity)]
    return CosseratRod(section, line, elements=elements, left=end(), right=end(), motion=motion)


def searched(*rods, **more):
    """Return state and arrays after the first search."""
    system = st.Rods(rods, search=SEARCH, **more)
    flat = assemble(system)
    state = ContactState(system, flat)
    state.search(flat)
    return state, flat


def monitored(state):
    """Return the contacts of the table that are used."""
    return state.contacts[state.contacts["mode"] != ck.EMPTY]


def test_a_point_between_nodes_near_a_sphere_is_one_contact():
    # the sphere is above s = 3.4 elements, 0.4 from the nearest node
    sphere = SpherePartner((0.34, 0.0, 0.06), 0.045)
    state, flat = searched(rod(Straight((0, 0, 0), (1, 0, 0)), 10), partners=[sphere])
    for _ in range(2):
        (place,) = monitored(state)["place"]
        assert abs(place[0] - 3.4) < 1e-9
        state.search(flat)
    # two spheres are two contacts
    far = SpherePartner((0.54, 0.0, 0.06), 0.045)
    state, flat = searched(rod(Straight((0, 0, 0), (1, 0, 0)), 10), partners=[sphere, far])
    state.search(flat)
    assert len(monitored(state)) == 2


def test_a_second_strand_beside_the_same_points_is_found():
    # a hairpin of two strands at y = 0 and y = 0.03, which a straight rod crosses above
    x = np.linspace(0.0, 0.3, 16)
    turn = np.linspace(-0.5, 0.5, 5)[1:-1] * math.pi
    bow = np.column_stack([0.3 + 0.015 * np.cos(turn), 0.015 + 0.015 * np.sin(turn), 0.0 * turn])
    strands = [np.column_stack([x, np.full(16, y), 0.0 * x]) for y in (0.0, 0.03)]
    nodes = np.vstack([strands[0], bow, strands[1][::-1]])
    straight = Straight((0.0, 0.0, 0.022), (0.3, 0.0, 0.022))
    state, flat = searched(rod(straight, 15), rod(Curve(nodes), len(nodes) - 1))
    before = len(monitored(state))
    # its middle line, from which the surfaces of both strands are 0.004 apart
    flat.r[1, flat.first[0] : flat.first[0] + 16] += 0.015
    fresh, _ = ContactState(state.rods, flat), state.search(flat)
    fresh.search(flat)
    used = monitored(state)
    lines = used[used["kind"] == ck.LINE]
    assert len(lines) > 1.5 * before
    # as many as a first search finds here
    for side in (lines["place"][:, 1] < 17.0, lines["place"][:, 1] >= 17.0):
        assert np.unique(lines["place"][side, 0]).size == side.sum() >= 13
    found = monitored(fresh)
    assert (found["kind"] == ck.LINE).sum() == len(lines)
    state.search(flat)
    assert len(monitored(state)) == len(used)


def test_an_open_contact_outlives_states_without_unique_closest_points():
    # a rod is thrown up from an arc below, at 60 degrees. Above the height R sin^2(60 degrees) its
    # crossing is no minimum of the distance; it falls back, and hits the arc
    radius, half, turn = 0.1, 1.0, math.radians(60.0)
    start = (-radius * math.sin(half), 0.0, radius * (1.0 - math.cos(half)))
    tangent, normal = (math.cos(half), 0.0, -math.sin(half)), (math.sin(half), 0.0, math.cos(half))
    along = 0.05 * np.array([math.cos(turn), math.sin(turn), 0.0])
    up = np.array([0.0, 0.0, 0.06])
    thick = CircularSection(2.0 * A, 1e8, density=1000.0)
    below = rod(Arc(start, tangent, normal, radius, 2.0 * half), 10, thick, Clamped)
    light = CircularSection(2.0 * A, 1e6, density=1000.0)
    above = rod(Straight(up - along, up + along), 8, light, velocity=(0.0, 0.0, 2.0))
    touch = RollingContact(radius * half, 0.05, friction=st.Coulomb(0.3))
    system = st.Rods([below, above], [touch], gravity=(0.0, 0.0, -100.0))
    run = st.solve(system, st.RollingLeapfrog(), (0.0, 0.048), save=13)
    assert np.nanmax(run.data.det_A.values) > 0.0
    assert run.data.contact_mode.values.tolist() == [0.0] * 13
    first = run.events.iloc[0]
    # a free flight from 0.02 above, to 0.0 by 2 t - 50 t^2
    assert first.kind == "close"
    assert abs(first.time - (0.02 + math.sqrt(0.0008))) < 2e-3
    assert run.audit.ok
