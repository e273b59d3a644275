"""A contact among many bodies: the same as its pairs named one by one, and none left out."""

import dataclasses
import time

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1,
    Q1N2,
    Body,
    Boundary,
    Contact,
    ContactAmong,
    Driven,
    Fixed,
    Nearest,
    NeoHookean,
    Program,
    Rigid,
    RigidPlane,
    Spring,
    SweptBody,
    disc,
    rectangle,
)
from stiction.solids.equilibria.problem import Problem
from stiction.solids.equilibria.readings import force_on
from stiction.solids.many.broad_phase import near_boxes, reach_of_law

LAW = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
TEN = (4, 3, 2, 1)
ROWS = {10: TEN, 3: (2, 1)}
APART = 2.0 + 0.9 * LAW.gap_eq


def hexagonal(rows):
    """Return centres of discs of radius one in rows that lie in each other's gaps."""
    places = []
    for k, count in enumerate(rows):
        shift = 0.5 * (max(rows) - count)
        places += [(APART * (i + shift), np.sqrt(0.75) * APART * k) for i in range(count)]
    return places


def heap(contact, rows=TEN, passes="mortar", squeeze=0.05, reach=0.5):
    """Discs on a plane between walls, the uppermost pressed down; `contact` makes the contacts.

    Discs press on each other from the start, by a tenth of the gap of the law, and on the planes
    without friction.
    """
    centres = hexagonal(rows)
    bodies = [Body(disc(1.0, (4, 3), 2, at), Q1N2(), NeoHookean(1.0, 0.3)) for at in centres]
    rims = [Boundary(k, "rim") for k in range(len(bodies))]
    laws = {"adhesion": LAW, "friction": EA(0.3, 0.0)}
    low, left = -1.0 - 0.9 * LAW.gap_eq, -1.0 - 0.9 * LAW.gap_eq
    right = APART * (rows[0] - 1) - left
    planes = [((0.0, low), (0.0, 1.0)), ((left, 0.0), (1.0, 0.0)), ((right, 0.0), (-1.0, 0.0))]
    sides = [(k, planes[0]) for k in range(rows[0])] + [(0, planes[1]), (rows[0] - 1, planes[2])]
    on_planes = [Contact(rims[k], RigidPlane(*plane), LAW) for k, plane in sides]
    held = [Fixed(Rigid(k)) for k in range(len(on_planes))]
    top = Nearest(len(bodies) - 1, centres[-1])
    held += [Driven(top, 1, Program((0.0, 1.0), (0.0, -squeeze))), Fixed(top, (0,))]
    still = Program((0.0,), (0.0,))
    for k, (x, y) in enumerate(centres[:-1]):
        # soft springs at two places support a disc without contact forces
        held += [Spring(Nearest(k, (x, y)), c, 0.1, still) for c in (0, 1)]
        held += [Spring(Nearest(k, (x, y + 0.3)), 0, 0.1, still)]
    pairs = contact(rims, laws, passes, reach)
    return st.Solid(bodies, [*on_planes, *pairs], held, dimensionless=True)


def among(rims, laws, passes, reach):
    """Declare the contact once."""
    return [ContactAmong(rims, passes=passes, reach=reach, **laws)]


def named(rims, laws, passes, reach):
    """Name each pair of neighbours."""
    centres = np.array(hexagonal(ROWS[len(rims)]))
    far = np.linalg.norm(centres[:, None] - centres, axis=2)
    count = range(len(rims))
    near = [(i, j) for i in count for j in count if i < j and far[i, j] < 1.01 * APART]
    return [Contact(rims[i], rims[j], passes=passes, **laws) for i, j in near]


@pytest.mark.parametrize("passes", ["two-half-pass", "mortar"])
def test_pairs_as_if_named(passes):
    """Ten discs in a heap: forces, tangent and records as with eighteen named contacts."""
    found = []
    for make in (among, named):
        problem = Problem(heap(make, TEN, passes).assembled())
        assert len(problem.assembled.pairs) == 6 + 18
        u = 1e-4 * np.random.default_rng(5).standard_normal(problem.points.shape)
        trial, tangent = problem.evaluate(problem.start(0.0), u, 0.1, None, True)
        found.append((trial.residual, tangent.toarray(), np.concatenate(trial.point_values)))
    assert np.abs(found[0][0]).max() > 1e-4
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(one)))


def test_a_run_as_if_named():
    """Three discs on a plane between walls, the upper one pressed between the others."""
    runs = [st.solve(heap(make, (2, 1)), st.solids.Quasistatic(steps=1)) for make in (among, named)]
    for run in runs:
        assert run.energy.imbalance_rel < 1e-6
    one, other = runs
    for name in ("stored", "adhesive", "friction_heat", "external_work"):
        a, b = (run.energy.columns()[name] for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * one.energy.scale)
    for name in ("normal_traction", "tangential_traction", "gap"):
        np.testing.assert_allclose(one.data[name], other.data[name], rtol=1e-12, atol=1e-14)
    assert one.energy.columns()["friction_heat"][-1] > 0.0
    check = next(c for c in one.audit.checks if c.check == "every_pair_found")
    assert check.ok
    assert check.value == 0.0
    assert "every_pair_found" not in {c.check for c in other.audit.checks}
    _names(one)


def _names(run):
    """Checks name their pair; points and contacts name their bodies."""
    notes = [c.note for c in run.audit.checks if c.check == "two_half_pass_balance"]
    assert [note.split(":")[0] for note in notes] == [
        "contact 5, 'rim' of body 0 and 'rim' of body 1",
        "contact 6, 'rim' of body 0 and 'rim' of body 2",
        "contact 7, 'rim' of body 1 and 'rim' of body 2",
    ]
    bodies = run.data["bodies_of_contact"].values
    assert bodies.tolist() == [[1, 0], [2, 0], [1, 0], [2, 0], [1, 2], [1, 3], [2, 3]]
    contact, body = (run.data[f"{name}_of_point"].values for name in ("contact", "body"))
    assert set(contact) == set(range(1, 8))
    assert (body == bodies[contact - 1, 0]).all()
    assert run.energy.friction_heat.shape[1] == 7


@pytest.mark.parametrize("passes", ["two-half-pass", "mortar"])
def test_forces_on_each_body_are_those_of_its_pairs(passes):
    """Ten discs in a heap: the force on a disc is the sum of the forces of its contacts."""
    problem = Problem(heap(among, TEN, passes).assembled())
    rng = np.random.default_rng(5)
    u = 1e-4 * rng.standard_normal(problem.points.shape)
    trial, _ = problem.evaluate(problem.start(0.0), u, 0.0, None, False)
    springs = problem.evaluate(problem.start(0.0), 0.0 * u, 0.0, None, False)[0]
    assert np.abs(springs.residual).max() > 0.0
    felt = trial.residual - trial.internal
    pairs = problem.assembled.pairs
    largest = 0.0
    for body in range(10):
        nodes = slice(problem.first[body], problem.first[body + 1])
        meets = [i for i, c in enumerate(pairs) if body in (c.boundary.body, _partner(c))]
        expected = sum(force_on(problem, trial, i, body) for i in meets)
        ground = problem.loads(0.0, u)[nodes].sum(axis=0)
        np.testing.assert_allclose(-(felt[nodes].sum(axis=0) + ground), expected, atol=1e-12)
        largest = max(largest, float(np.abs(expected).max()))
    assert largest > 1e-4


def _partner(contact):
    return contact.partner.body if isinstance(contact.partner, Boundary) else -1


def test_boxes_against_all_pairs():
    """Sweep and prune finds the same pairs as a test of every pair."""
    rng = np.random.default_rng(1)
    for d in (2, 3):
        low = rng.uniform(0.0, 10.0, (60, d))
        boxes = np.stack([low, low + rng.uniform(0.1, 1.5, (60, d))], axis=1)
        for reach in (0.0, 0.4, 20.0):
            apart = np.maximum(boxes[:, None, 0] - boxes[None, :, 1], 0.0)
            far = np.maximum(apart, apart.transpose(1, 0, 2)).max(axis=2)
            wanted = {(i, j) for i in range(60) for j in range(i + 1, 60) if far[i, j] <= reach}
            found = near_boxes(boxes, reach)
            assert {(int(i), int(j)) for i, j in found} == wanted
            assert len(found) == len(wanted)


def test_cost_grows_with_the_bodies():
    """Ten times the bodies in a row: nine times the pairs and more, and no square of the time."""
    taken, pairs = [], []
    for n in (2000, 20000):
        low = np.stack([2.05 * np.arange(n), np.zeros(n)], axis=1)
        boxes = np.stack([low, low + 2.0], axis=1)
        best = np.inf
        for _ in range(3):
            began = time.process_time()
            pairs.append(len(near_boxes(boxes, 0.1)))
            best = min(best, time.process_time() - began)
        taken.append(best)
    assert pairs[0] == 1999
    assert pairs[-1] == 19999
    # a test of every pair would take a hundred times as long
    assert taken[1] < 40.0 * taken[0]


def test_reach_of_a_law():
    """Without tension to where the wall begins; with it to 1e-4 of the largest tension."""
    assert reach_of_law(LAW) == pytest.approx(LAW.gap_eq, rel=1e-6)
    sticky = LennardJones.from_strength(0.05, 2e-3)
    far = reach_of_law(sticky)
    ratio = abs(float(sticky.traction(far))) / sticky.max_tension
    assert 0.99e-4 < ratio <= 1e-4


def test_distant_pairs_are_activated_later():
    """A disc that is driven into another one, with a reach that leaves the pair out at first."""
    bodies = [Body(disc(1.0, (4, 3), 2, (3.0 * k, 0.0)), Q1N2(), NeoHookean()) for k in range(3)]
    rims = [Boundary(k, "rim") for k in range(3)]
    held = [Fixed(rims[0]), Fixed(rims[2])]
    held += [Driven(rims[1], 0, Program((0.0, 1.0), (0.0, 1.5))), Fixed(rims[1], (1,))]
    for reach, known in ((0.5, 1), (None, 2), (1.1, 2)):
        touch = ContactAmong(rims, LAW, reach=reach, passes="mortar")
        solid = st.Solid(bodies, [touch], held, dimensionless=True)
        # without a pair within reach the nearest one is active
        assert len(solid.assembled().pairs) == known
        run = st.solve(solid, st.solids.Quasistatic(steps=2), throw=False)
        check = next(c for c in run.audit.checks if c.check == "every_pair_found")
        assert check.ok
        assert run.energy.friction_heat.shape[1] == 2


def test_one_boundary_between_two_punches():
    """One boundary under two punches has the same forces as two boundaries."""
    law = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
    slides = EA(0.2, 0.0)
    block_ = rectangle(8.0, 1.0, (16, 3), (0.0, -1.0))
    punches = [rectangle(2.0, 1.0, (3, 2), (x, 0.9 * law.gap_eq)) for x in (1.0, 5.0)]
    found = []
    for split in (False, True):
        below = block_.split("top", 8, "right half", "left half") if split else block_
        sides = ["left half", "right half"] if split else ["top", "top"]
        bodies = [Body(mesh, Q1(), NeoHookean(1.0, 0.3)) for mesh in (below, *punches)]
        contacts = [
            Contact(Boundary(k + 1, "bottom"), Boundary(0, side), law, slides, passes="mortar")
            for k, side in enumerate(sides)
        ]
        held = [Fixed(Boundary(0, "bottom"))]
        held += [Driven(Boundary(k, "top"), 1, Program((0, 1), (0, -0.02))) for k in (1, 2)]
        held += [Fixed(Boundary(k, "top"), (0,)) for k in (1, 2)]
        solid = st.Solid(bodies, contacts, held, dimensionless=True)
        found.append(st.solve(solid, st.solids.Quasistatic(steps=2)))
    for name in ("stored", "adhesive", "friction_heat", "external_work"):
        one, other = (run.energy.columns()[name][-1] for run in found)
        assert one == pytest.approx(other, rel=1e-9, abs=1e-15)
    assert found[0].energy.columns()["stored"][-1] > 1e-4


def test_written_and_read_back(tmp_path):
    """In a scenario file a contact among many is one table."""
    rims = [{"type": "Boundary", "body": k, "name": "rim"} for k in range(3)]
    text = ["[system]", 'type = "Solid"', "dimensionless = true"]
    for k in range(3):
        text += ["[[system.bodies]]", 'type = "Body"']
        text += ["[system.bodies.mesh]", 'type = "disc"', "radius = 1.0", "along = [4, 2]"]
        text += ["across = 2", f"centre = [{2.1 * k}, 0.0]"]
        text += ["[system.bodies.element]", 'type = "Q1"']
    text += ["[[system.contacts]]", 'type = "ContactAmong"', "reach = 0.5"]
    listed = ", ".join(f'{{type = "Boundary", body = {r["body"]}, name = "rim"}}' for r in rims)
    text += [f"boundaries = [{listed}]"]
    text += ["[system.contacts.adhesion]", 'type = "LennardJones"', "hamaker = 1e-6", "r0 = 0.02"]
    text += ["[[system.boundary_conditions]]", 'type = "Fixed"']
    text += ['where = {type = "Boundary", body = 0, name = "rim"}']
    text += ["[solve]", "t_end = 1.0"]
    path = tmp_path / "row.toml"
    path.write_text("\n".join(text))
    system = st.read_scenario(str(path)).system
    assert isinstance(system.contacts[0], ContactAmong)
    pairs = system.assembled().pairs
    assert [(c.boundary.body, c.partner.body) for c in pairs] == [(0, 1), (1, 2)]


RIM = [Boundary(k, "rim") for k in range(3)]


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"boundaries": 3}, r"ContactAmong\.boundaries: got 3"),
        ({"boundaries": []}, r"ContactAmong\.boundaries: got 0 boundaries"),
        ({"boundaries": RIM[:1]}, r"ContactAmong\.boundaries: got one boundary"),
        ({"boundaries": RIM[0]}, r"ContactAmong\.boundaries: got one boundary"),
        ({"boundaries": [RIM[0], RIM[1], RIM[0]]}, r"boundary 'rim' of body 0 twice"),
        ({"boundaries": [RIM[0], Boundary(0, "top")]}, r"'rim' and 'top' of body 0"),
        ({"boundaries": ["rim", "rim"]}, r"ContactAmong\.boundaries: got 'rim'"),
        ({"boundaries": [RIM[0], RigidPlane()]}, r"ContactAmong\.boundaries: got RigidPlane"),
        ({"boundaries": RIM, "reach": -1.0}, r"ContactAmong\.reach"),
        ({"boundaries": RIM, "reach": float("nan")}, r"ContactAmong\.reach"),
        ({"boundaries": RIM, "friction": 0.3}, r"Contact\.friction"),
        ({"boundaries": RIM, "passes": "both"}, r"Contact\.passes"),
    ],
)
def test_bad_contacts_among_many_are_refused(settings, reported):
    with pytest.raises(ModelError, match=reported):
        ContactAmong(**settings)


def test_boundaries_that_are_not_there_are_refused():
    bodies = [Body(disc(1.0, (4, 2), 2, (2.1 * k, 0.0))) for k in range(2)]
    with pytest.raises(ModelError, match=r"Boundary\.body: got 2"):
        st.Solid(bodies, [ContactAmong(RIM, LAW)])
    with pytest.raises(ModelError, match=r"'ring'"):
        st.Solid(bodies, [ContactAmong([RIM[0], Boundary(1, "ring")], LAW)])
    swept = [SweptBody(rectangle(1.0, 1.0, (1, 1)).moved((0.0, 2.0 * k))) for k in range(2)]
    with pytest.raises(ModelError, match="not a plane Body"):
        st.Solid(swept, [ContactAmong([Boundary(0, "top"), Boundary(1, "bottom")], LAW)])
    # a pair that is named as well would be loaded twice
    pair = Contact(RIM[0], RIM[1], LAW)
    with pytest.raises(ModelError, match="twice"):
        st.Solid(bodies, [ContactAmong(RIM[:2], LAW, reach=1.0), pair])


def test_a_description_stays_one():
    """The solid keeps the list; parts that are changed do not write it out again."""
    solid = heap(among)
    assert isinstance(solid.contacts[-1], ContactAmong)
    parts = solid.assembled()
    again = dataclasses.replace(parts, dimensionless=True)
    assert len(again.pairs) == len(parts.pairs) == 24
    assert len(again.pair_searches) == 1


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("pressure", [1e-3, 1e9])
@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_pairs_in_other_units_turned_and_in_another_order(length, pressure, angle):
    """The same pairs are found, and no pair with tractions is omitted."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    round_about = np.linspace(0.0, 2.0 * np.pi, 200)
    rim = np.stack([np.cos(round_about), np.sin(round_about)], axis=1)
    centres = np.array(hexagonal(TEN)) @ turn.T
    order = np.random.default_rng(3).permutation(len(centres))
    law = LennardJones.from_strength(0.05 * pressure, 2e-3 * pressure * length, adhesive=False)
    found = []
    for scale, wall, some in ((1.0, LAW, np.arange(len(centres))), (length, law, order)):
        boundaries = [Boundary(int(k), "rim") for k in some]
        contacts, near = ContactAmong(boundaries, wall).initial_pairs(
            [scale * (centres[k] + rim) for k in some]
        )
        found.append({frozenset((c.boundary.body, c.partner.body)) for c in contacts})
        assert near.cutoff / scale == pytest.approx(reach_of_law(LAW), rel=2e-3)
    assert found[0] == found[1]
    far = np.linalg.norm(centres[:, None] - centres, axis=2) - 2.0
    felt = zip(*np.nonzero(np.triu(far < reach_of_law(LAW), 1)), strict=True)
    assert {frozenset(map(int, pair)) for pair in felt} <= found[0]
    assert len(found[0]) < 45
