"""Piles in space that may rest: closed forms of slopes and tilts, and the plane."""

import math

import numpy as np
import pytest

import stiction as st

B = st.bodies
FLOOR = B.SpatialSupport(B.HalfSpace([0.0, 0.0, 1.0]))
CUBE = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[0.0, 0.0, 0.5])


@pytest.mark.parametrize("direction", [0.0, 0.7, 2.5])
def test_a_box_on_a_slope(direction):
    """Coulomb's cone is round: the bound is mu in every direction, beyond it no forces exist."""
    for factor, may in ((0.999999, True), (1.000001, False)):
        tilt = math.atan(0.3 * factor)
        side = math.sin(tilt) * np.array([math.cos(direction), math.sin(direction)])
        gravity = -9.81 * np.array([*side, math.cos(tilt)])
        rest = B.rests(B.SpatialBodies([CUBE], [FLOOR], gravity=gravity, law=st.Coulomb(0.3)))
        assert rest.may is may
        if may:
            assert rest.pairs == ("body 1 on support 1",) * 4
            assert rest.forces.sum(axis=0) == pytest.approx(-1.0 * gravity, rel=1e-9)
            normal, slip = rest.forces[:, 2], np.linalg.norm(rest.forces[:, :2], axis=1)
            assert (slip <= 0.3 * normal + 1e-8).all()


@pytest.mark.parametrize("towards", [(1.0, 0.0, 0.0), (3.0, 3.0, 0.0), (0.3, 0.7, 0.0)])
def test_a_box_tips_or_slides_in_space(towards):
    """A tall box tips over the first edge of its base that the line of its weight leaves."""
    tall = B.SpatialBody(B.Cuboid(1.0, 1.0, 2.0), position=[0.0, 0.0, 1.0])
    unit = np.array(towards) / np.linalg.norm(towards)
    tips = min(0.5 / abs(x) for x in unit if x)
    for mu, factor in ((2.0, tips), (0.3, 0.3)):
        system = B.SpatialBodies([tall], [FLOOR], law=st.Coulomb(mu))
        assert math.tan(B.steepest_rest(system, towards)) == pytest.approx(factor, rel=3e-9)


def test_a_pyramid_of_spheres():
    """A sphere on four: forces of a lower one meet in its contact with the floor.

    Both contacts are at half the angle of 45 degrees from the line through the contacts.
    """
    r = 0.5
    lower = [[x, y, r] for x in (-r, r) for y in (-r, r)]
    places = [*lower, [0.0, 0.0, r + math.sqrt(2.0) * r]]
    spheres = [B.SpatialBody(B.Sphere(r), position=place) for place in places]
    least = math.tan(math.pi / 8.0)
    for mu, may in ((least - 1e-6, False), (least + 1e-6, True)):
        assert B.rests(B.SpatialBodies(spheres, [FLOOR], law=st.Coulomb(mu))).may is may
    ball = B.SpatialBodies([spheres[0]], [FLOOR])
    assert B.rests(ball).must == "yes"
    assert B.steepest_rest(ball, [0.0, 1.0, 0.0]) == pytest.approx(0.0, abs=1e-9)


def test_stacks_that_tip_about_corners():
    """Tilts towards no edge, with friction at many contacts: the answer is where `rests` ends."""
    for shift, mu in (([0.1, -0.15], 1.0), ([-0.12, 0.07], 2.0)):
        cubes = [CUBE, B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[*shift, 1.5])]
        system = B.SpatialBodies(cubes, [FLOOR], law=st.Coulomb(mu))
        tilt = B.steepest_rest(system, [0.3, 0.7, 0.0])
        unit = np.array([0.3, 0.7, 0.0]) / math.hypot(0.3, 0.7)
        for factor, may in ((0.99999, True), (1.00001, False)):
            gravity = 9.81 * (math.tan(factor * tilt) * unit - [0.0, 0.0, 1.0])
            turned = B.SpatialBodies(cubes, [FLOOR], gravity=gravity, law=st.Coulomb(mu))
            assert B.rests(turned).may is may


def test_bodies_apart_do_not_share_a_scale():
    """A light cube slides beside a heavy one that stands; untilted means the given gravity."""
    gravity = [9.81 * math.sin(0.3), 0.0, -9.81 * math.cos(0.3)]
    bound = math.tan(0.3)
    light = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[9.0, 0.0, 0.5])
    heavy = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), mass=1e9, position=[0.0, 0.0, 0.5])
    for mu, may in ((0.999 * bound, False), (1.001 * bound, True)):
        beside = B.SpatialBodies([light], [FLOOR], gravity=gravity, law=st.Coulomb(mu))
        assert B.rests(beside).may is may
        both = B.SpatialBodies([heavy, light], [FLOOR], gravity=gravity, law=st.Coulomb(mu))
        assert B.rests(both).may is may
        tilt = B.steepest_rest(beside, [-math.cos(0.3), 0.0, -math.sin(0.3)])
        assert math.isnan(tilt) is not may
    recess = [
        B.SpatialSupport(B.HalfSpace([-x, -y, 0.0]), position=[0.5 * x, 0.5 * y, 0.0])
        for x, y in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
    ]
    for mu in (0.0, 0.5):
        held = B.SpatialBodies([CUBE], [FLOOR, *recess], law=st.Coulomb(mu))
        assert B.steepest_rest(held, [1e200, 0.0, 0.0]) == 0.5 * math.pi


def test_stacks_as_in_the_plane():
    """Stacks of boxes shifted along x, tilted about y: the cuboids may rest where the boxes may."""
    rng = np.random.default_rng(5)
    answers = []
    for _ in range(30):
        widths, shifts = rng.uniform(0.5, 1.5, 3), np.cumsum(rng.uniform(-0.35, 0.35, 3))
        law, tilt = st.Coulomb(float(rng.uniform(0.05, 0.4))), float(rng.uniform(0.0, 0.2))
        plane = [
            B.RigidBody(B.Box(w, 1.0), position=[x, 0.5 + i])
            for i, (w, x) in enumerate(zip(widths, shifts, strict=True))
        ]
        space = [
            B.SpatialBody(B.Cuboid(w, 1.0, 1.0), position=[x, 0.0, 0.5 + i])
            for i, (w, x) in enumerate(zip(widths, shifts, strict=True))
        ]
        pull = 9.81 * math.sin(tilt), -9.81 * math.cos(tilt)
        flat = B.RigidBodies(plane, [B.Support()], gravity=pull, law=law)
        solid = B.SpatialBodies(space, [FLOOR], gravity=[pull[0], 0.0, pull[1]], law=law)
        answers.append(B.rests(flat).may)
        assert B.rests(solid).may is answers[-1]
    assert 5 < sum(answers) < 25


@pytest.mark.parametrize(
    ("towards", "match"),
    [
        (None, r"steepest_rest.towards: got None; needs a direction in space"),
        ([0.0, 0.0, 0.0], r"got a vector of length 0"),
        ([1.0, 0.0, 1.0], r"got a direction that is not normal to gravity"),
        ([1.0, 0.0], r"steepest_rest.towards"),
    ],
)
def test_directions_that_are_refused(towards, match):
    with pytest.raises(st.ModelError, match=match):
        B.steepest_rest(B.SpatialBodies([CUBE], [FLOOR]), towards)


def test_a_direction_in_the_plane_is_refused():
    box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5])
    with pytest.raises(st.ModelError, match=r"needs None for bodies in the plane"):
        B.steepest_rest(B.RigidBodies([box], [B.Support()]), [1.0, 0.0])
    pushed = B.SpatialBody(position=[0.0, 0.0, 0.5], moment=[0.0, 0.0, 1.0])
    with pytest.raises(st.ModelError, match="gravity alone"):
        B.steepest_rest(B.SpatialBodies([pushed], [FLOOR]), [1.0, 0.0, 0.0])
