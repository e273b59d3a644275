"""Knots tied in elastic rods, against exact relations of the elastica and published asymptotics."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.rods.wrapped.knots import overhand_knot

WIRE = st.rods.GivenSection(1e2, 1e2, 1.0, 1 / 1.3, outer_radius=1.0)


def curvature(path):
    """Return the curvature of the axis at the inner nodes of the last record."""
    chord = np.diff(path.position[-1], axis=0)
    length = np.linalg.norm(chord, axis=1)
    turn = np.diff(chord / length[:, None], axis=0)
    return np.linalg.norm(turn, axis=1) / (0.5 * (length[1:] + length[:-1]))


def test_loose_trefoil_without_friction():
    """Contacts do no work: T + B kappa^2 / 2 is one number along the rod, so in loop and tails.

    The contacts are an interval and one point on each side of it (Clauvelin, Audoly and Neukirch
    2009). Friction adds mu times the sum of normal forces to the tension, to first order in mu: by
    virtual work, for the strands of the braid slide as much as the end moves.
    """
    rod = overhand_knot(WIRE, loop=8.0, tail=20.0, elements=90, pull=0.3)
    free, rough = (
        st.rods.wrapped_path(rod, [], [0.0, 1.0], self_contact=True, steps=2, friction=law)
        for law in (None, st.Coulomb(0.01))
    )
    assert free.audit.ok
    assert rough.audit.ok
    assert not free.losses
    tension = free.tension[-1]
    pull = tension[1]
    assert tension[-2] == pytest.approx(pull, rel=1e-3)
    along = (tension[1:] + tension[:-1]) / 2 + curvature(free) ** 2 / 2
    # reason: chords of 1.5 radii; clamps are near
    assert np.median(along) == pytest.approx(pull, rel=0.03)
    groups = np.split(
        closed := np.flatnonzero(free.mode[-1]), np.flatnonzero(np.diff(closed) > 1) + 1
    )
    assert [len(group) > 2 for group in groups] == [False, True, False]
    more = (rough.tension[-1][1] - pull) / (0.01 * free.normal_force[-1].sum())
    # reason: the second order in mu; normal forces grow with friction
    assert more == pytest.approx(1.0, rel=0.06)


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"turns": 0}, r"overhand_knot.turns: got 0"),
        ({"loop": 5.0}, r"overhand_knot.loop: got 5 m; needs at least 6 m"),
        ({"loop": "x"}, r"overhand_knot.loop: got 'x'"),
        ({"tail": 0.0}, r"overhand_knot.tail: got 0"),
        ({"pull": np.nan}, r"overhand_knot.pull: got nan"),
    ],
)
def test_bad_knots_are_refused(bad, match):
    with pytest.raises(ModelError, match=match):
        overhand_knot(WIRE, **bad)


def test_knots_need_a_surface():
    with pytest.raises(ModelError, match=r"overhand_knot.section: got a GivenSection without"):
        overhand_knot(st.rods.GivenSection(1e2, 1e2, 1.0, 1.0))
    with pytest.raises(ModelError, match=r"overhand_knot.section: got a int"):
        overhand_knot(3)
