"""Knots and plectonemes of elastic rods, against closed forms and published asymptotics."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root
from wrapped_cases import wrapped_path

import stiction as st
from stiction.errors import ModelError
from stiction.exact.rods import plectoneme_load
from stiction.rods.presets import resample
from stiction.rods.wrapped.knots import overhand_knot, plectoneme

WIRE = st.rods.GivenSection(1e2, 1e2, 1.0, 1 / 1.3, outer_radius=1.0)


def curvature(path):
    """Return the curvature of the axis at the inner nodes of the last record."""
    chord = np.diff(path.position[-1], axis=0)
    length = np.linalg.norm(chord, axis=1)
    turn = np.diff(chord / length[:, None], axis=0)
    return np.linalg.norm(turn, axis=1) / (0.5 * (length[1:] + length[:-1]))


# sum of normal forces in a trefoil with the loop radius R, over B a^-2 (a / R)^1.5, in the limit of
# a small rod radius a: solution of the equations of two weakly bent strands (docs/decisions/41)
TREFOIL_FORCE = 0.4923


def planar_trefoil(tension, mu=0.0):
    """Return excess length and sum of normal forces of a loose trefoil with a = B = 1.

    Tails, the braid with twice the bending stiffness, and the loop are elasticas in a plane; the
    energy of the double helix is angle^4 / length^3.
    """
    angle, radius = TREFOIL_FORCE * 12.0**0.75, (2.0 * tension) ** -0.5
    scale = np.array([1.0 / radius, tension, radius, radius])

    def arc(start, force, length):
        def rates(_, y):
            return [y[1], force * np.sin(y[0]), np.cos(y[0])]

        return solve_ivp(rates, [0.0, length], start, rtol=1e-7, atol=1e-9).y[:, -1]

    def state(unknown):
        middle, force, braid, loop = unknown * scale
        end, bend, half = arc([0.0, middle, 0.0], 0.5 * (tension + force), 0.5 * braid)
        tail = -2.0 * tension**0.5 * np.sin(0.5 * end)
        bent = 2.0 * bend - tail
        top, _, x = arc([end, bent, half], force, 0.5 * loop)
        pressed = angle**4 / braid**3
        balance = 0.5 * bent**2 + force * np.cos(end) + mu * pressed
        away = 4.0 * tension**-0.5 * (1.0 - np.cos(0.5 * end))
        return [
            top - np.pi,
            x / radius,
            12.0 * (angle / braid) ** 4 / (bent - tail) ** 2 - 1.0,
            balance / tension - 1.0,
        ], (away + 2.0 * braid - 2.0 * half + loop, pressed)

    first = [0.5, 0.0, angle * 12.0**0.25 * radius**-0.5, 2.0 * np.pi - 2.0 * radius**-0.5]
    found = root(lambda unknown: state(unknown)[0], first)
    assert found.success
    return state(found.x)[1]


def test_loose_trefoil_without_friction():
    """Contacts do no work: T + B kappa^2 / 2 is one number along the rod, so in loop and tails.

    The contacts are an interval and one point on each side of it (Clauvelin, Audoly and Neukirch
    2009). Friction adds mu times the sum of normal forces to the tension, to first order in mu: by
    virtual work, for the strands of the braid slide as much as the end moves.
    """
    rod = overhand_knot(WIRE, loop=8.0, tail=20.0, elements=90, pull=0.3)
    free, rough = (
        wrapped_path(rod, [], [0.0, 1.0], self_contact=True, steps=2, friction=law)
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
    force = free.normal_force[-1].sum()
    place = free.position[-1]
    excess = np.linalg.norm(np.diff(place, axis=0), axis=1).sum() - (place[-1] - place[0])[0]
    expected = planar_trefoil(pull)
    # reason: clamps are near; chords of 1.5 radii. In a circle, excess would be less by 16 %
    assert excess == pytest.approx(expected[0], rel=0.02)
    # reason: as above, and an error of the model that vanishes with the radius of the rod
    assert force == pytest.approx(expected[1], rel=0.06)
    more = (rough.tension[-1][1] - pull) / (0.01 * force)
    # reason: the second order in mu; normal forces grow with friction
    assert more == pytest.approx(1.0, rel=0.06)


def test_plectoneme():
    """Moment and tension of the ends follow from the lay angle of the double helix."""
    rod = plectoneme(WIRE, turns=2.0, tail=12.0, elements=80)
    path = wrapped_path(rod, [], [0.0, 1.0], self_contact=True, steps=1)
    assert path.audit.ok
    tension, moment = path.clamp_force[0, 0, 1, 0], path.clamp_moment[0, 0, 1, 0]
    place = path.position[0]
    touches = path.node[path.mode[0] > 0]
    first = touches[touches < len(place) // 2]
    # a fourth of the helix at both ends is left out
    inner = slice(*np.percentile(first, [25, 75]).astype(int))
    chord = np.diff(place, axis=0)[inner]
    axis = np.diff(place + place[::-1], axis=0)[inner].sum(axis=0)
    cosine = chord @ axis / (np.linalg.norm(chord, axis=1) * np.linalg.norm(axis))
    expected = plectoneme_load(float(np.arccos(cosine).mean()), 1.0, 1.0)
    # reason: two turns; chords of 1.6 radii; the angle counts with its third and fourth power
    assert moment == pytest.approx(expected[1], rel=0.06)
    # reason: as above, and the tails are short
    assert tension == pytest.approx(expected[0], rel=0.15)


def test_a_snap_is_reported():
    """An arch whose clamp rotates snaps to the other side; Newton's method must not step over it.

    The energy that it loses is heat of drag, so that the ledger closes.
    """
    bow = np.linspace(0.0, 1.0, 400)[:, None]
    nodes = resample(bow * [16.0, 0.0, 0.0] + (1.0 - np.cos(2.0 * np.pi * bow)) * [0, 0, 1.5], 15)
    right = st.rods.Driven(angular_velocity=[0.0, -1.8, 0.0])
    thin = st.rods.GivenSection(1e2, 1e2, 1.0, 1 / 1.3, outer_radius=0.1)
    rod = st.rods.CosseratRod(
        thin, st.rods.Curve(nodes), elements=14, right=right, natural_curvature=[0.0, 0.0, 0.0]
    )
    path = wrapped_path(rod, [], [0.0, 0.3], self_contact=True, steps=1)
    assert path.audit.ok
    assert [loss.kind for loss in path.losses] == ["limit_point"]
    # with 10 and 40 steps the snap is at 0.27586 s
    assert path.losses[0].time == pytest.approx(0.27586, abs=0.3 / 64)
    assert path.losses[0].where["heat of drag"] == path.energy.viscous_heat[-1] > 0.1


def test_a_snap_with_friction_dissipates_at_the_contacts():
    """A lower arch, pressed on a plane beside it: Coulomb's law holds in the whole motion.

    With more iterations, Newton's method in full steps finds the other side from afar.
    """
    bow = np.linspace(0.0, 1.0, 400)[:, None]
    nodes = resample(bow * [16.0, 0.0, 0.0] + (1.0 - np.cos(2.0 * np.pi * bow)) * [0, 0, 1.0], 21)
    thin = st.rods.GivenSection(1e2, 1e2, 1.0, 1 / 1.3, outer_radius=0.1)
    rod = st.rods.CosseratRod(
        thin,
        st.rods.Curve(nodes),
        elements=20,
        right=st.rods.Driven(angular_velocity=[0.0, -1.8, 0.0]),
        natural_curvature=[0.0, 0.0, 0.0],
        loads=[st.rods.LineForce([0.0, -0.01, 0.0])],
    )
    wall = st.rods.PlanePartner([0.0, -0.1, 0.0], [0.0, 1.0, 0.0])
    more = {"friction": st.Coulomb(0.3), "steps": 12, "max_iterations": 9}
    path = wrapped_path(rod, [wall], [0.0, 0.275], **more)
    assert path.audit.ok
    assert [loss.kind for loss in path.losses] == ["limit_point"]
    heat, slip = path.energy.friction_heat[-1].sum(), path.slip[-1]
    assert slip.max() > 3.0
    # normal forces are nearly constant: each node carries the load of an element
    assert heat == pytest.approx(0.3 * (path.normal_force[-1] * slip).sum(), rel=0.01)
    assert path.energy.viscous_heat[-1] < 0.4 * heat


def test_a_smooth_motion_is_no_snap():
    """Steps of a rod under its weight that lose energy by their length, at many output times."""
    steel = st.rods.CircularSection(5e-3, 2e11)
    rod = st.rods.CosseratRod(
        steel,
        st.rods.Straight([0.0, 0.0, 0.0], [0.3, 0.0, 0.0]),
        elements=6,
        left=st.rods.Driven(angular_velocity=[0.0, 0.0, 0.5]),
        right=st.rods.Free(),
        loads=[st.rods.LineForce([0.0, -6.0, 0.0])],
    )
    path = wrapped_path(rod, [], np.linspace(0, 6.4, 66), self_contact=True, steps=1)
    assert path.steps == 65
    assert not path.losses


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"turns": 0.4}, r"plectoneme.turns: got 0.4; needs between 0.5 and 100"),
        ({"turns": np.inf}, r"plectoneme.turns: got inf"),
        ({"loop": 1.9}, r"plectoneme.loop: got 1.9 m; needs at least 2 m"),
        ({"tail": -1.0}, r"plectoneme.tail: got -1"),
        ({"twist": np.nan}, r"plectoneme.twist: got nan"),
        ({"elements": 10}, r"plectoneme.elements: got 10"),
    ],
)
def test_bad_plectonemes_are_refused(bad, match):
    with pytest.raises(ModelError, match=match):
        plectoneme(WIRE, **bad)


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
