"""Contact of two axes: derivatives by differences, and what is refused at the door."""

from dataclasses import replace

import numpy as np
import pytest
from crossed import ACROSS, ALONG, OTHER, SECTION, UP, crossed_rods
from numpy.testing import assert_allclose

import stiction as st
from stiction.errors import ModelError
from stiction.rods.assembly import assemble
from stiction.rods.centreline import Straight
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.curve.kernels import axis_point
from stiction.rods.contact.gauss_seidel_kernels import Tally, constrain_gaps, solve_impact
from stiction.rods.contact.model import ContactSearch, RollingContact
from stiction.rods.contact.observe_kernels import contact_rates, slip_drift
from stiction.rods.contact.state import ContactState
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import CosseratRod, Driven, Free, SineVelocity
from stiction.rods.rod_kernels import State, drift
from stiction.rods.section import GivenSection


class Bent:
    """Two free rods, bent and moving at random, with their contact located."""

    def __init__(self, seed=5, curve="spline", aside=0.0):
        random = np.random.default_rng(seed)
        places = {"s1": 0.47 + aside, "s2": 0.53 - aside}
        rods = crossed_rods(elements=20, end=Free, opens=True, **places)
        rods = replace(rods, contact_curve=curve)
        self.made = {"seed": seed, "curve": curve, "aside": aside}
        self.flat, self.rods = assemble(rods), rods
        f = self.flat
        # rods are stretched by 1.02
        f.r[:, f.first[1] :] += (1.02 * aside * (ALONG + OTHER))[:, None]
        f.r[:] += 0.003 * random.standard_normal(f.r.shape)
        f.q[:] += 0.05 * random.standard_normal(f.q.shape)
        f.q[:] /= np.linalg.norm(f.q, axis=0)
        f.v[:] = random.standard_normal(f.v.shape)
        f.p[:] = random.standard_normal(f.p.shape)
        self.state = ContactState(rods, f)
        self.contact = self.state.contacts[0]
        self.mobility = f.mobility(0.0)
        self.locate()

    def locate(self):
        """Find the contact again."""
        assert ck.locate(self.flat.r, self.contact) == ck.INSIDE

    def slip(self):
        """Return the slip velocity."""
        f = self.flat
        return np.array(ck.slip_velocity(f.q, self.contact, f.v, f.p))

    def moved(self, time):
        """Return a copy that moved freely for a time."""
        other = Bent(**self.made)
        f = other.flat
        drift(f.r, f.q, f.v, f.p, time)
        other.locate()
        return other


# both curves, in the middle and where the four or six nodes meet an end
BENT = pytest.mark.parametrize(
    "curve",
    [
        {"curve": "spline"},
        {"curve": "fitted"},
        {"curve": "fitted", "seed": 8, "aside": 0.1},
        {"curve": "fitted", "aside": 0.42},
    ],
    ids=["spline", "fitted", "fitted-elsewhere", "fitted-near-ends"],
)


@pytest.mark.parametrize("lift", [1e-3, -2e-3])
def test_a_projected_contact_moves_the_whole_second_rod(lift):
    rods = crossed_rods(elements=20, lift=lift, project=True)
    flat = assemble(rods)
    before = flat.r.copy()
    state = ContactState(rods, flat)
    state.refuse_or_close()
    second = slice(flat.first[1], flat.first[1] + 21)
    assert_allclose(flat.r[:, second], before[:, second] - lift * UP[:, None], atol=1e-12)
    assert np.array_equal(flat.r[:, : flat.first[1]], before[:, : flat.first[1]])
    assert state.contacts[0].distance == pytest.approx(2.0 * SECTION.radius, rel=1e-12)


@pytest.mark.usefixtures("plain_kernels")
def test_gaps_that_do_not_close_are_reported():
    # a response that is overestimated a hundredfold makes corrections too small by as much
    for factor, closes in ((1.0, True), (100.0, False)):
        bent = Bent()
        f, contact = bent.flat, bent.contact
        contact.mode, contact.reach = ck.ROLL, contact.distance
        ck.response(f.q, contact, bent.mobility)
        contact.node_delassus *= factor
        state = State(f.r, f.q, f.v, f.p)
        table = ck.ContactSet(bent.state.contacts, bent.state.trial, bent.state.extremes)
        work = np.zeros((3, f.r.shape[1]))
        assert constrain_gaps(state, table, bent.mobility, 1e-4, work) == closes


@BENT
def test_place_obeys_tangency(curve):
    bent = Bent(**curve)
    f, contact = bent.flat, bent.contact
    ends = [
        np.array(
            [
                axis_point(f.r, contact.first[k], contact.elements[k], contact.place[k], a, f.rule)
                for a in range(3)
            ]
        )
        for k in range(2)
    ]
    apart = ends[1][:, 0] - ends[0][:, 0]
    for end in ends:
        assert abs(apart @ end[:, 1]) <= 1e-14
    assert contact.distance == pytest.approx(np.linalg.norm(apart), rel=1e-12)


@pytest.mark.parametrize("turn_drag", [0.0, 5.0])
@BENT
def test_response_is_the_slip_that_a_push_gives(turn_drag, curve):
    bent = Bent(**curve)
    f, contact = bent.flat, bent.contact
    # drag on turning takes more of a turn across the axis, whose inertia is half of that along it
    f.drags.element[:] = turn_drag * f.material.inertia.max()
    bent.mobility = f.mobility(1.0)
    assert (turn_drag == 0.0) == np.allclose(2.0 * bent.mobility[2], bent.mobility[1], rtol=1e-9)
    ck.response(f.q, contact, bent.mobility)
    given = contact.delassus
    seen, start = np.zeros((3, 3)), bent.slip()
    for k in range(3):
        f.v[:] = f.p[:] = 0.0
        ck.push(f.q, contact, *np.eye(3)[k], bent.mobility, f.v, f.p)
        seen[:, k] = bent.slip()
    assert_allclose(seen, given, rtol=1e-12, atol=1e-12 * np.abs(given).max())
    assert_allclose(given, given.T, rtol=0, atol=1e-13 * np.abs(given).max())
    assert np.all(np.linalg.eigvalsh(given) > 0.0)
    assert np.linalg.norm(start) > 0.1


@pytest.mark.parametrize(("normal", "across"), [(0.6, 0.2), (0.3, -0.4), (0.0, 0.0)])
@pytest.mark.parametrize("seed", [5, 6, 7])
def test_an_impact_with_much_friction_turns_slip_round_by_its_restitutions(normal, across, seed):
    # u_n+ = -e_n u_n-, u_t+ = -e_t u_t- where the bound of friction is not met
    bent = Bent(seed)
    f, contact = bent.flat, bent.contact
    n = contact.normal.copy()
    before = bent.slip()
    if before @ n < 0.0:
        # the first rod has to come nearer to the second
        f.v[:] *= -1.0
        f.p[:] *= -1.0
        before = bent.slip()
    contact.mode = ck.OPEN
    contact.friction, contact.restitution = 1e3, normal
    contact.tangential_restitution = across
    tally = Tally.table()[0]
    solve_impact(f.q, bent.state.contacts, bent.mobility, f.v, f.p, 0, False, tally)
    assert tally.unconverged == 0
    expected = -across * before - (normal - across) * (before @ n) * n
    assert_allclose(bent.slip(), expected, rtol=0.0, atol=1e-10 * np.linalg.norm(before))


@BENT
def test_normal_and_tangential_response_do_not_couple(curve):
    bent = Bent(**curve)
    f, contact = bent.flat, bent.contact
    ck.response(f.q, contact, bent.mobility)
    given = contact.delassus
    normal = contact.normal
    assert np.linalg.norm(np.cross(given @ normal, normal)) <= 1e-13 * np.linalg.norm(given)


@BENT
def test_rates_are_those_of_the_located_places(curve):
    bent = Bent(**curve)
    rates = contact_rates(bent.flat.v, bent.contact)
    eps = 1e-6
    change = (bent.moved(eps).contact.place - bent.moved(-eps).contact.place) / (2.0 * eps)
    assert_allclose(rates, change, rtol=1e-7, atol=1e-7)


@BENT
def test_drift_of_slip_is_its_rate_along_the_free_motion(curve):
    bent = Bent(**curve)
    f, contact = bent.flat, bent.contact
    out = np.zeros(10)
    rates = contact_rates(f.v, contact)
    slip_drift(f.q, contact, f.v, f.p, *rates, out)
    eps = 1e-6
    change = (bent.moved(eps).slip() - bent.moved(-eps).slip()) / (2.0 * eps)
    assert_allclose(out[:3], change, rtol=1e-6, atol=1e-7 * np.abs(change).max())


@BENT
def test_the_approach_is_the_rate_of_the_gap(curve):
    bent = Bent(**curve)
    eps, normal = 1e-6, bent.contact.normal
    later, sooner = (bent.moved(t).contact.distance for t in (eps, -eps))
    assert bent.slip() @ normal == pytest.approx(-(later - sooner) / (2.0 * eps), rel=1e-7)


def start(system):
    """Return the run of a few steps."""
    return st.solve(system, RollingLeapfrog(1e-4), (0.0, 5e-4), save=2)


@pytest.mark.parametrize(
    ("place", "label"), [(-0.01, "s1"), (1.01, "s1"), (-0.5, "s1"), (2.0, "s1")]
)
def test_a_contact_off_the_rod_is_refused(place, label):
    with pytest.raises(ModelError, match=rf"Rods\.contacts\[1\]\.{label}.*\n?.*between 0 and 1 m"):
        crossed_rods(s1=place)


def test_rods_apart_are_refused_and_projected_on_request():
    with pytest.raises(ModelError, match=r"are apart by 0\.003"):
        start(crossed_rods(lift=0.003))
    run = start(crossed_rods(lift=0.003, project=True))
    assert abs(run.data.gap.values[0]) <= 1e-15


def test_interpenetrating_rods_are_refused_and_projected_on_request():
    with pytest.raises(ModelError, match=r"interpenetrate by 0\.003"):
        start(crossed_rods(lift=-0.003))
    run = start(crossed_rods(lift=-0.003, project=True))
    assert abs(run.data.gap.values[0]) <= 1e-15


@pytest.mark.parametrize("hold", ["section", "element"])
def test_clamps_that_may_move_are_projected_with_their_rod(hold):
    system = crossed_rods(lift=0.003, project=True, motion=(), end=lambda: Driven(hold=hold))
    assert start(system).energy.kinetic.max() < 1e-20


def test_a_projection_that_opens_another_contact_is_refused():
    system = crossed_rods()
    low = CosseratRod(SECTION, Straight([-0.5, 0.2, 0.005], [0.5, 0.2, 0.005]), elements=40)
    high = CosseratRod(SECTION, Straight([0.0, -0.5, 0.04], [0.0, 0.5, 0.04]), elements=40)
    contacts = [RollingContact(0.5, 0.5), RollingContact(0.5, 0.7, 3, 2, project=True)]
    with pytest.raises(ModelError, match=r"RollingContact 1: got rods that are apart by 0\.005"):
        start(Rods([system.rods[0], high, low], contacts))


def corner(**more):
    """Return two rods that touch where both are clamped."""
    lines = Straight([0, 0, 0], ALONG), Straight(0.04 * UP, ACROSS + 0.04 * UP)
    pluck = [SineVelocity(1, 0.1 * UP)]
    rods = [CosseratRod(SECTION, line, elements=10, motion=pluck) for line in lines]
    return Rods(rods, **more)


def test_a_contact_of_fixed_nodes_is_refused_or_without_effect():
    with pytest.raises(ModelError, match="nodes that are all fixed"):
        start(corner(contacts=[RollingContact(0.0, 0.0)]))
    run = start(corner(search=ContactSearch(friction=st.Coulomb(0.3))))
    alone = start(corner())
    assert_allclose(run.data.position.values, alone.data.position.values, atol=1e-9)
    assert run.audit.ok


def test_a_rod_without_a_radius_may_be_first():
    bare = GivenSection(1e3, 1e3, bending=0.1, twist=0.1, inertia=1e-4)
    far = CosseratRod(bare, Straight([0, 0, 5], [1, 0, 5]), elements=10)
    contact = RollingContact(0.5, 0.5, first=2, second=3)
    run = start(Rods([far, *crossed_rods().rods], [contact]))
    assert run.status is st.Status.SOLVED
    assert "no_interpenetration" not in [check.check for check in run.audit.failed]


@pytest.mark.parametrize("degrees", [0.0, 5.0])
def test_nearly_parallel_rods_are_refused(degrees):
    turn = np.deg2rad(degrees)
    other = np.cos(turn) * ALONG + np.sin(turn) * ACROSS
    high = 2.0 * SECTION.radius * UP
    rods = [
        CosseratRod(SECTION, Straight(c - 0.5 * d, c + 0.5 * d), elements=20)
        for c, d in ((0.0 * UP, ALONG), (high, other))
    ]
    with pytest.raises(ModelError, match=r"10 degrees|closest points"):
        start(Rods(rods, [RollingContact(0.5, 0.5)]))


@pytest.mark.parametrize("kind", [RollingContact, ContactSearch])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"restitution": 1.1}, "at most 1"),
        ({"restitution": -0.1}, "restitution"),
        ({"tangential_restitution": np.nan}, "tangential_restitution"),
        ({"friction": st.StaticKinetic(0.3, 0.2)}, "implemented for Coulomb"),
        ({"friction": 0.3}, "Coulomb"),
    ],
)
def test_bad_laws_are_refused(kind, change, message):
    places = {"s1": 0.5, "s2": 0.5} if kind is RollingContact else {}
    with pytest.raises(ModelError, match=message):
        kind(**places, **change)


@pytest.mark.parametrize(
    "change", [{"s1": np.nan}, {"first": 0}, {"second": 3}, {"opens": False, "friction": 1}]
)
def test_bad_contacts_are_refused(change):
    if "friction" in change:
        change = {**change, "friction": st.Coulomb(0.3)}
    with pytest.raises(ModelError, match=next(iter(change))):
        crossed_rods(**change)
