"""Friction and restitution of pairs of rigid bodies, by both methods and at rest."""

import math

import numpy as np
import pytest

import stiction as st

B = st.bodies
G = 9.81


def stack(mu_floor, mu_boxes, speed):
    """Return a flat box on another one; the lower one slides on a floor of support 3."""
    lower = B.RigidBody(B.Box(4.0, 0.2), mass=2.0, position=[0.0, 0.1], velocity=[speed, 0.0])
    upper = B.RigidBody(B.Box(0.4, 0.2), mass=1.0, position=[0.0, 0.3], velocity=[speed, 0.0])
    pairs = [B.ContactPair(2, 1, law=st.Coulomb(mu_boxes))]
    return B.RigidBodies([lower, upper], [B.Support()], law=st.Coulomb(mu_floor), pairs=pairs)


@pytest.mark.parametrize("method", [B.EventDriven(), B.TimeStepper(1e-3)])
def test_a_box_slides_on_a_box_that_slides(method):
    """The upper one decelerates by mu_2 g, the lower one by (3 mu_1 - mu_2) g / 2."""
    run = st.solve(stack(0.4, 0.1, 3.0), method, (0.0, 0.3), save=2)
    slower = np.array([0.5 * (3.0 * 0.4 - 0.1), 0.1]) * G * 0.3
    np.testing.assert_allclose(run.final["velocity_x"], 3.0 - slower, rtol=1e-12)
    assert run.energy.imbalance_rel < 1e-12


def test_onsets_of_pairs_between_bodies_and_supports():
    """On a belt of small mu a box stays behind; beside it another one is carried along."""
    boxes = [B.RigidBody(B.Box(0.2, 0.2), position=[x, 0.1]) for x in (0.0, 1.0)]
    system = B.RigidBodies(
        boxes, [B.Support(velocity=[1.0, 0.0])], law=st.Coulomb(0.5),
        pairs=[B.ContactPair(3, 1, law=st.Coulomb(0.2))],
    )  # fmt: skip
    run = st.solve(system, B.EventDriven(), (0.0, 0.4), save=2)
    stops = run.events[run.events["kind"] == "stop"]
    assert stops["first"].tolist() == [2.0]
    assert stops["time"].to_numpy() == pytest.approx([1.0 / (0.5 * G)], rel=1e-12)
    np.testing.assert_allclose(run.final["velocity_x"], [0.2 * G * 0.4, 1.0], rtol=1e-12)


@pytest.mark.parametrize("method", [B.EventDriven(), B.TimeStepper(1e-3)])
def test_restitution_of_pairs(method):
    balls = [B.RigidBody(B.Disc(0.1), position=[x, 0.6]) for x in (0.0, 1.0, 2.0)]
    pairs = [B.ContactPair(1, 4, restitution=0.7), B.ContactPair(4, 3, restitution=0.0)]
    system = B.RigidBodies(balls, [B.Support()], restitution=0.4, pairs=pairs)
    run = st.solve(system, method, (0.0, 0.33), save=2)
    # they fall for sqrt(2 h / g) = 0.319 s
    fall = math.sqrt(2.0 * 0.5 / G)
    after = np.array([0.7, 0.4, 0.0]) * G * fall - G * (0.33 - fall) * np.array([1.0, 1.0, 0.0])
    # reason: an impact of TimeStepper is late by up to its step, and a bounce by (1 + e) g times it
    error = 1e-12 if isinstance(method, B.EventDriven) else 2e-2
    np.testing.assert_allclose(run.final["velocity_y"], after, atol=error)


def test_accumulation_by_the_restitution_of_the_pair():
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.6])
    pairs = [B.ContactPair(2, 1, restitution=0.4)]
    system = B.RigidBodies([ball], [B.Support()], restitution=0.9, pairs=pairs)
    run = st.solve(system, B.EventDriven(), (0.0, 1.0), save=2)
    (end,) = run.events[run.events["kind"] == "accumulation"]["time"]
    assert end == pytest.approx(math.sqrt(1.0 / G) * 1.4 / 0.6, rel=1e-10)


def test_rest_depends_on_the_pair():
    """A stack slides at its weaker contact; a disc between walls needs friction at both."""
    for floor, boxes in ((0.4, 0.1), (0.1, 0.4)):
        found = B.steepest_rest(stack(floor, boxes, 0.0))
        assert found == pytest.approx(math.atan(0.1), abs=1e-9)
    disc = B.RigidBody(B.Disc(0.5))
    walls = [
        B.Support(B.HalfPlane([1.0, 0.0]), position=[-0.5, 0.0]),
        B.Support(B.HalfPlane([-1.0, 0.0]), position=[0.5, 0.0]),
    ]
    system = B.RigidBodies([disc], walls, law=st.Coulomb(0.0))
    assert not B.rests(system).may
    # one wall with friction alone would turn it
    one = B.ContactPair(1, 2, law=st.Coulomb(0.5))
    assert not B.rests(B.RigidBodies([disc], walls, law=st.Coulomb(0.0), pairs=[one])).may
    both = [one, B.ContactPair(1, 3, law=st.Coulomb(0.1))]
    assert B.rests(B.RigidBodies([disc], walls, law=st.Coulomb(0.0), pairs=both)).may


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([B.ContactPair(1, 4)], "numbers up to 3"),
        ([B.ContactPair(1, 1)], "another body or support"),
        ([B.ContactPair(2, 3)], "another body or support"),
        ([B.ContactPair(1, 2), B.ContactPair(2, 1)], "each pair once"),
        ([B.ContactPair(1, 2, law=st.Coulomb([0.1, 0.2]))], "one mu for all contacts"),
    ],
)
def test_pairs_that_are_refused(pairs, words):
    body = B.RigidBody(B.Disc(0.1), position=[0.0, 0.1])
    supports = [B.Support(), B.Support(B.HalfPlane([1.0, 0.0]), position=[-1.0, 0.0])]
    with pytest.raises(st.ModelError, match=words):
        B.RigidBodies([body], supports, pairs=pairs)


def test_pairs_with_the_common_numbers_change_no_bit():
    rng, law = np.random.default_rng(2), st.Coulomb(0.35)
    bodies = [
        B.RigidBody(shape, position=[0.5 * k, 0.4], angle=0.3 * k, velocity=rng.normal(size=2))
        for k, shape in enumerate((B.Box(0.3, 0.2), B.Disc(0.15), B.Box(0.2, 0.2)))
    ]
    common = B.RigidBodies(bodies, [B.Support()], law=law, restitution=0.3)
    pairs = [
        B.ContactPair(j, i, law=law, restitution=0.3) for i in range(1, 4) for j in range(i + 1, 5)
    ]
    listed = B.RigidBodies(
        bodies, [B.Support()], law=st.Coulomb(0.9), restitution=1.0, pairs=pairs
    )  # fmt: skip
    for method in (B.EventDriven(), B.TimeStepper(1e-3)):
        runs = [st.solve(s, method, (0.0, 0.3), save=3) for s in (common, listed)]
        assert len(runs[0].events) >= 3
        for name, variable in runs[0].variables.items():
            np.testing.assert_array_equal(runs[1].variables[name].values, variable.values)
        assert runs[0].events.equals(runs[1].events)
