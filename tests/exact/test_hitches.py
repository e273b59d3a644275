"""Hitches: the balance of tensions from the load to the slack end, and what is refused."""

import numpy as np
import pytest
from wrapped_cases import wrapped_path

import stiction as st
from stiction.errors import ModelError
from stiction.exact.rods import capstan_exponent
from stiction.rods.wrapped.contact import SLIP
from stiction.rods.wrapped.problem import WrappedProblem

POST = st.rods.CylinderPartner([0.0, 0.0, -2.0], [0.0, 0.0, 2.0], 1.0)
ROPE = st.rods.GivenSection(2e3, 2e3, 0.08, 0.08, outer_radius=0.1)
# distance of the axis of the rope from that of the post
FAR = 1.1


def test_half_hitch():
    """The loaded end presses the slack end on the post, and the tension falls by that friction.

    From the load on, the rope turns by the angle psi on the post, by 2 phi over the slack end, by
    2 pi - phi on the post, and beneath the crossing, and by the rest on the post. The two ropes of
    the crossing move along themselves at one velocity and roll on each other, so that friction
    between them changes no tension (Bayman 1977 assumes none).
    """
    mu = 0.1
    rope = st.rods.hitch(ROPE, POST, load=1.0, slack=0.3, tail=0.5, elements=100)
    path = wrapped_path(
        rope, [POST], [0.0, 1.0], friction=st.Coulomb(mu), self_contact=True, settle=False, steps=4
    )
    assert path.audit.ok
    closed = path.mode[-1] > 0
    assert (path.mode[-1][closed] == SLIP).mean() > 0.95
    place, on_rod = path.position[-1], closed & (path.partner == 1)
    angle = np.unwrap(np.arctan2(place[:, 1], place[:, 0]))
    outwards = place * [1.0, 1.0, 0.0] / np.hypot(place[:, :1], place[:, 1:2])
    nodes = path.node[on_rod]
    pinch = -(path.contact_force[-1][on_rod] * outwards[nodes]).sum(axis=1)
    crossing, pinch = angle[nodes] @ pinch / pinch.sum(), pinch.sum()
    rate, load, above = capstan_exponent(mu, 0.1 / FAR), path.tension[-1][-2], 1.0
    for _ in range(10):
        phi = np.arcsin(0.5 * pinch / above)
        above = load * np.exp(-rate * (0.5 * np.pi - crossing - phi))
    slack = above * np.exp(-rate * (2.0 * np.pi - phi)) - mu * pinch * (1.0 - 0.1 / FAR)
    slack *= np.exp(-rate * (0.5 * np.pi + crossing))
    # reason: elements of a quarter of the circumference of the rope; its twist takes part
    assert path.tension[-1][1] == pytest.approx(slack, rel=0.03)
    # a capstan with the same turning holds less
    assert path.tension[-1][1] < 0.95 * load * np.exp(-rate * 3.0 * np.pi)


def test_each_turn_is_met_once():
    """Beneath the crossings of a clove hitch a node has one contact with each later turn."""
    rope = st.rods.hitch(ROPE, POST, load=1.0, crossings=2, elements=200)
    contacts = [
        WrappedProblem([rope], [POST], 0.0, 1e-8, 20, True, turn).contacts
        for turn in (None, 2.0 * np.pi * FAR)
    ]
    node = contacts[0].node[0] + 10
    one, each = ((c.node == node) & (c.partner == 1) for c in contacts)
    assert one.sum() == 1
    assert each.sum() == 3
    low, high = contacts[1].lowest[each], contacts[1].highest[each]
    assert (low[1:] == high[:-1]).all()
    assert low[0] == contacts[0].lowest[one][0]
    assert high[-1] == contacts[0].highest[one][0] == 200
    # turn k is met at places around k turns from that of the node; node 0 is in slot 1
    turn = 2.0 * np.pi * FAR * 200 / rope.rest_length
    assert 2.0 * turn - 1.0 < 0.5 * (low[1] + high[1]) - (node - 1) < 2.0 * turn + 1.0


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"crossings": 0}, r"hitch.crossings: got 0.*\n.*not tied to the post"),
        ({"crossings": 3}, r"hitch.crossings: got 3"),
        ({"load": 0.0}, r"hitch.load: got 0"),
        ({"slack": np.nan}, r"hitch.slack: got nan"),
        ({"tail": -1.0}, r"hitch.tail: got -1"),
        ({"elements": 20}, r"hitch.elements: got 20"),
        ({"post": 3}, r"hitch.post: got int"),
        (
            {"post": st.rods.CylinderPartner([0, 0, 0], [0, 0, 9], 0.6)},
            r"hitch.post: got radius 0.6 m; needs at least 0.7 m",
        ),
        (
            {"post": st.rods.CylinderPartner([0, 0, 0], [0, 0, 0.3], 1.0)},
            r"hitch.post: got a post that is 0.3 m long; needs at least 0.4",
        ),
        ({"section": st.rods.GivenSection(1e2, 1e2, 1.0, 1.0)}, r"hitch.section: .*without a rad"),
    ],
)
def test_hitches_that_are_not_tied_are_refused(bad, match):
    with pytest.raises(ModelError, match=match):
        st.rods.hitch(**({"section": ROPE, "post": POST, "load": 1.0} | bad))


@pytest.mark.parametrize(
    ("turn", "touches", "match"),
    [
        (-1.0, True, r"Quasistatic.turn: got -1"),
        (7.0, False, r"Quasistatic.turn: got 7 m without self_contact"),
        (1.2, True, r"Quasistatic.turn: got 1.2 m; needs at least 1.2566"),
    ],
)
def test_lengths_of_turns_are_refused(turn, touches, match):
    rope = st.rods.hitch(ROPE, POST, load=1.0)
    with pytest.raises(ModelError, match=match):
        wrapped_path(rope, [POST], [0.0, 1.0], self_contact=touches, turn=turn)


def test_posts_in_any_direction():
    """The rope follows the axis of the post; its ends leave it in the direction of the load."""
    post = st.rods.CylinderPartner([1.0, 2.0, 3.0], [5.0, 5.0, 3.0], 1.0)
    rope = st.rods.hitch(ROPE, post, load=2.0, slack=0.5, crossings=2)
    axis = np.array([0.8, 0.6, 0.0])
    away = rope.nodes() - [3.0, 3.5, 3.0]
    across = away - np.outer(away @ axis, axis)
    assert 1.1 < np.linalg.norm(across, axis=1).min() < 1.12
    assert np.abs(away @ axis).max() < 0.3
    force = np.asarray(rope.loads[0].force)
    ends = rope.nodes()[[0, -1]] - rope.nodes()[[1, -2]]
    ends /= np.linalg.norm(ends, axis=1)[:, None]
    np.testing.assert_allclose(ends, [force / 2.0, force / 2.0], atol=1e-3)
    np.testing.assert_allclose(rope.left.velocity, -0.25 * force)
