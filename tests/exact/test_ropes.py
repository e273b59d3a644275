"""Ropes of helical strands against closed forms, and rods in contact with rods at an angle."""

import numpy as np
import pytest
from wrapped_cases import capstan, wrapped_path

import stiction as st
from stiction.errors import ModelError
from stiction.exact.rods import rope_friction, rope_radius, rope_stiffness
from stiction.rods import Clamped, CosseratRod, CylinderPartner, GivenSection, Straight
from stiction.rods.wrapped.ropes import laid_rope

LAY, SECTION = 0.2, GivenSection(1.0, 1.0, 0.05, 0.04, outer_radius=1.0)


def pulled(strands, mu, strain, twist, elements):
    """Return path, axial force and moment of a rope of one turn under strain and twist."""
    rope = laid_rope(
        SECTION, strands=strands, lay=LAY, elements=elements, strain=strain, twist=twist
    )
    law = st.Coulomb(mu) if mu > 0.0 else None
    path = wrapped_path(rope, [], [0.0, 1.0], friction=law, steps=3)
    assert path.audit.ok
    force, moment = path.end_load()
    assert np.abs(force[-1, :2]).max() < 1e-6 * force[-1, 2]
    # both ends hold the same
    assert np.allclose(path.clamp_force[-1].sum(axis=(0, 1)), 0.0, atol=1e-9)
    return path, force[-1, 2], moment[-1, 2]


def test_rope_under_tension_and_twist():
    """Axial force and moment within 2 % of the stiffness of helices whose contacts do no work."""
    strands, strain, twist = 3, 1e-3, 1e-4
    stiffness = rope_stiffness(strands, LAY, 1.0, axial=1.0, bending=0.05, twist=0.04)
    path, *loads = pulled(strands, 0.0, strain, twist, 32)
    # reason: 2 % is the aim; strands of 32 elements a turn and clamped ends are within it
    assert loads == pytest.approx(stiffness @ [strain, twist], rel=0.02)
    assert (path.mode[-1] == 2).mean() > 0.95
    # to first order in the lay angle the strands pull along themselves
    first = strands * (strain + twist * rope_radius(strands, LAY)[0] * LAY)
    # reason: terms of second order in the lay angle are left out
    assert loads[0] == pytest.approx(first, rel=2.0 * LAY**2)


def test_friction_of_a_rope():
    """Strands that slip along each other lower the moment of three by 3 %."""
    (_, force, smooth), (path, pull, rough) = (pulled(3, mu, 1e-3, 0.0, 24) for mu in (0.0, 0.3))
    change = rope_friction(3, LAY, 0.3)
    assert change < -0.025
    assert rough / smooth - 1.0 == pytest.approx(change, abs=2e-3)
    assert pull == pytest.approx(force, rel=4e-3)
    assert path.energy.total_friction_heat[-1] > 0.0
    # two strands roll on each other
    assert abs(rope_friction(2, LAY, 0.3)) < 1e-15


def test_radius_of_a_rope():
    """The closest points of neighbouring helices are two radii apart; its slope by a difference."""
    for strands in (2, 3, 5):
        for lay in (0.1, 0.4):
            ratio, slope = rope_radius(strands, lay)
            t = np.linspace(-1.0, 1.0, 200001)
            turned = 2.0 * np.pi / strands + t
            square = ratio**2 * (2.0 - 2.0 * np.cos(turned) + (t / np.tan(lay)) ** 2)
            assert np.sqrt(square.min()) == pytest.approx(2.0, rel=1e-9)
            up, down = (np.log(rope_radius(strands, lay + h)[0]) for h in (1e-5, -1e-5))
            assert slope == pytest.approx((up - down) / 2e-5, abs=1e-8)


def test_stiffness_of_a_rope_is_the_derivative_of_its_energy():
    strands, lay, moduli = 3, 0.25, np.array([1.0, 0.05, 0.04])
    start = rope_radius(strands, lay)[0]

    def energy(strain, twist):
        z, angle = (1.0 + strain) * np.cos(lay), np.sin(lay) / start + twist * np.cos(lay)
        now = lay
        for _ in range(60):
            now = np.arctan(rope_radius(strands, now)[0] * angle / z)
        radius = rope_radius(strands, now)[0]
        strains = np.array(
            [
                np.hypot(z, radius * angle) - 1.0,
                angle * np.sin(now) - np.sin(lay) ** 2 / start,
                angle * np.cos(now) - np.sin(lay) * np.cos(lay) / start,
            ]
        )
        return strands / np.cos(lay) * 0.5 * (moduli * strains**2).sum()

    h, unit = 1e-4, np.eye(2)
    found = [
        [
            sum(s * t * energy(*(h * (s * a + t * b))) for s in (1, -1) for t in (1, -1))
            / (4.0 * h * h)
            for b in unit
        ]
        for a in unit
    ]
    axial, bending, twist = moduli
    stiffness = rope_stiffness(strands, lay, 1.0, axial=axial, bending=bending, twist=twist)
    # differences of second order at a step of 1e-4
    assert np.allclose(found, stiffness, rtol=1e-3, atol=1e-6)


def test_a_rod_is_a_body():
    """A rope slips on a stiff post as on a cylinder; its friction turns the post."""
    rope, _, _ = capstan(0.3, np.pi / 2, 0.5, np.pi / 16)
    law = st.Coulomb(0.3)
    drum = CylinderPartner([0, 0, -2], [0, 0, 2], 0.5)
    body = wrapped_path(rope, [drum], [0.0, 1.0], friction=law, steps=3)
    stiff = GivenSection(1e6, 1e6, 1e5, 1e5, outer_radius=0.5)
    # nodes of the post are not where the rope is
    line = Straight([0, 0, -1.87], [0, 0, 2.13])
    post = CosseratRod(stiff, line, elements=8, left=Clamped(), right=Clamped())
    path = wrapped_path([rope, post], [], [0.0, 1.0], friction=law, steps=3)
    assert path.audit.ok
    assert path.force_ratio[-1] == pytest.approx(body.force_ratio[-1], rel=1e-4)
    # supports balance the load, its moment too
    force, position = path.clamp_force[-1], path.position[-1]
    load = np.asarray(rope.loads[0].force)
    assert np.allclose(force.sum(axis=(0, 1)) + load, 0.0, atol=1e-6)
    moment = path.clamp_moment[-1].sum(axis=(0, 1)) + np.cross(position[0], load)
    for rod in (0, 1):
        ends = position[path.nodes_of(rod)][[0, -1]]
        moment += np.cross(ends, force[rod]).sum(axis=0)
    assert np.allclose(moment, 0.0, atol=1e-6)
    assert path.clamp_moment[-1, 1, :, 2].sum() < -0.2


def test_bad_ropes_are_refused():
    def refused(match, rods, **more):
        with pytest.raises(ModelError, match=match):
            wrapped_path(rods, [], [0.0, 1.0], **more)

    wire = GivenSection(1.0, 1.0, 1.0, 1.0, outer_radius=0.1)
    first, second = (
        CosseratRod(wire, Straight([x, 0, 0], [x, 0, 1]), elements=10) for x in (0.0, 0.15)
    )
    refused("rod 1 at its node 3, which lies 0.05 m inside rod 2", [first, second])
    thick = GivenSection(1.0, 1.0, 1.0, 1.0, outer_radius=0.2)
    other = CosseratRod(thick, Straight([1, 0, 0], [1, 0, 1]), elements=10)
    refused("radii from 0.1 to 0.2 m; needs one radius", [first, other])
    refused("at least one rod", [])
    refused("one body or more", [first])
    free, line = st.rods.Free(), Straight([1, 0, 0], [1, 0, 1])
    loose = CosseratRod(wire, line, elements=10, left=free, right=free)
    refused("free ends without friction", [first, loose])
    with pytest.raises(
        ModelError, match=r"laid_rope.lay: got 0.7 rad; needs an angle up to 0.6 rad"
    ):
        laid_rope(wire, lay=0.7)
    with pytest.raises(ModelError, match=r"laid_rope.strands"):
        laid_rope(wire, strands=1)


def test_legs_of_a_hairpin_meet():
    """A rod pinched until it meets itself: each leg is in balance with what the other does."""
    length, half, push = 10.0, 1.5, 1.0
    angle = np.linspace(-np.pi / 2, np.pi / 2, 13)[1:-1]
    leg = np.linspace(0.0, length, 21)
    bend = np.column_stack([length + half * np.cos(angle), half * np.sin(angle)])
    plane = np.concatenate(
        [np.column_stack([leg, 0 * leg - half]), bend, np.column_stack([leg[::-1], 0 * leg + half])]
    )
    nodes = np.column_stack([plane, 0.0 * plane[:, 0]])
    elements = len(nodes) - 1
    places = (10 / elements, 1.0 - 10 / elements)
    rod = CosseratRod(
        GivenSection(100.0, 100.0, 5.0, 5.0, outer_radius=1.0),
        st.rods.Curve(nodes),
        elements=elements,
        left=Clamped(),
        right=Clamped(),
        natural_curvature=None,
        loads=[
            st.rods.PointForce([0.0, sign * push, 0.0], at, [0.0, 1.0], [0.0, 1.0])
            for sign, at in zip((1.0, -1.0), places, strict=True)
        ],
    )
    path = wrapped_path(rod, [], [0.0, 1.0], self_contact=True, steps=40)
    assert path.audit.ok
    contact = path.contact_force[-1].sum(axis=0)
    assert -push < contact[1] < -0.5 * push
    # each half of the rod has its push, its clamp, the contacts, and the force at the top
    start, end = path.clamp_force[-1, 0]
    load = contact + [0.0, push, 0.0] + path.section_force[-1][elements // 2]
    assert np.allclose(start, -load, atol=1e-6)
    assert np.allclose(end, load, atol=1e-6)
    # without self-contact the legs pass each other
    loose = wrapped_path(rod, [st.rods.PlanePartner([0, 0, -2])], [0.0, 1.0], steps=4)
    assert "no_overlap" in [check.check for check in loose.audit.checks if not check.ok]


def test_ropes_that_cannot_be_laid_are_refused():
    for given, words in (
        ({"turns": 10.0, "elements": 10}, r"laid_rope\.elements: got 10; needs at least 63"),
        ({"lay": 0.7}, r"laid_rope\.lay"),
        ({"strands": 1}, r"laid_rope\.strands"),
        ({"turns": np.nan}, r"laid_rope\.turns"),
        ({"turns": "a"}, r"laid_rope\.turns"),
        ({"strain": "a"}, r"laid_rope\.strain"),
        ({"twist": np.inf}, r"laid_rope\.twist"),
        ({"section": 3}, r"laid_rope\.section"),
    ):
        with pytest.raises(ModelError, match=words):
            laid_rope(**{"section": st.rods.CircularSection(0.001, 1e9), **given})


def test_a_rope_in_other_units_order_and_times():
    """Scaled by 1000, with strands in another order, started at another time: the same loads."""

    def loads(scale=1.0, order=(0, 1, 2), start=0.0):
        wire = st.rods.CircularSection(0.001 * scale, 1e9, poisson=0.3)
        rope = laid_rope(wire, strands=3, lay=0.3, turns=0.5, elements=16, strain=1e-3)
        path = wrapped_path(
            [rope[i] for i in order], [], [start, start + 1.0], friction=st.Coulomb(0.3), steps=2,
            tolerance=1e-11,
        )  # fmt: skip
        force, moment = (load[-1, 2] for load in path.end_load())
        return force / scale**2, moment / scale**3

    np.testing.assert_allclose(loads(1e3, (1, 0, 2), -30.0), loads(), rtol=1e-9)
