"""Bodies that stick rest to the last bit; others lose only what contacts forbid."""

import numpy as np

import stiction as st
from stiction.bodies.exact_stick import sticking
from stiction.bodies.space.mechanics import SpatialMechanics

B = st.bodies


def test_impulses_of_surfaces_that_graze_neither_close_nor_stick():
    """They are rounding, and may have any direction."""
    r = np.array([[1e-17, 1e-19, 0.0], [1e-17, 0.0, 0.0], [1.0, 0.1, 0.1], [1.0, 0.4, 0.3]])
    after = np.array([[6e-17, -1.1, 0.3], [0.1, 0.0, 0.0], [0.0, 0.0, 1e-16], [0.0, 0.0, 1e-16]])
    for k, (closed, stick) in enumerate(((True, False), (False, False), (True, True))):
        found = sticking(r[k : k + 1], np.ones((1, 3)), after[k : k + 1], 0.5)
        assert (found[0].tolist(), found[1].tolist()) == ([closed], [stick])
    # at the bound of friction, a contact sticks if it does not slip
    assert sticking(r[3:], np.ones((1, 3)), after[3:], 0.5)[1].tolist() == [True]
    assert sticking(r[3:], np.ones((1, 3)), 1e3 * after[3:], 0.5)[1].tolist() == [True]
    assert sticking(r[3:], np.ones((1, 3)), 1e5 * after[3:], 0.5)[1].tolist() == [False]


def touching(bodies, supports):
    m = SpatialMechanics(B.SpatialBodies(bodies, supports))
    found = m.contacts(m.pose(0.0, m.start()[0]), 1e-9)
    return m, found, np.ones(len(found), dtype=bool)


def test_bodies_that_stick_rest():
    """A box on a belt, a box on that, and two spheres between them and a wall."""
    rng = np.random.default_rng(0)
    belt = B.SpatialSupport(velocity=[0.3, -0.1, 0.0])
    boxes = [B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[0.0, 0.0, 0.5 + k]) for k in (0, 1)]
    ball = B.SpatialBody(B.Sphere(0.2), position=[2.0, 0.0, 0.2])
    m, found, every = touching([*boxes, ball], [belt])
    assert len(found) == 9
    v = m.velocity(1e-16 * rng.normal(size=(3, 6)) + m.support_velocity[0])
    m.stop_resting(found, every, every, v)
    np.testing.assert_array_equal(v[:2], [m.support_velocity[0]] * 2)
    # the ball sticks in one point: it may turn about it, and nothing else is changed
    point = v[2, :3] + np.cross(v[2, 3:], [0.0, 0.0, -0.2])
    np.testing.assert_allclose(point, m.support_velocity[0, :3], atol=1e-17)
    assert v[2].any()
    # where the lower box slips, both may slide and turn about the normal, but neither tilts
    v = m.velocity(rng.normal(size=(3, 6)))
    before = v.copy()
    m.stop_resting(found, every, every & (found["second"] != 3), v)
    np.testing.assert_array_equal(v[0, 2:5], 0.0)
    np.testing.assert_array_equal(v[0, [0, 1, 5]], before[0, [0, 1, 5]])


def test_a_group_that_is_fixed_only_together():
    """Two balls between two walls: each alone may turn about its points, both together too."""
    walls = [
        B.SpatialSupport(B.HalfSpace(n), position=x)
        for n, x in (([0, 0, 1], [0, 0, 0]), ([1, 0, 0], [-0.2, 0, 0]), ([0, 1, 0], [0, -0.2, 0]))
    ]
    ball = B.SpatialBody(B.Sphere(0.2), position=[0.0, 0.0, 0.2])
    m, found, every = touching([ball], walls)
    v = m.velocity(np.full((1, 6), 1e-16))
    m.stop_resting(found, every, every, v)
    assert not v.any()  # three points that do not lie on a line fix a body
    # two cubes on their edges, which lean on each other: only both together are fixed
    half = np.pi / 8.0
    c = np.sqrt(0.5)
    cubes = [
        B.SpatialBody(
            B.Cuboid(1.0, 1.0, 1.0), position=[s * c, 0.0, c],
            orientation=[np.cos(half), 0.0, np.sin(half), 0.0],
        )
        for s in (-1.0, 1.0)
    ]  # fmt: skip
    m, found, every = touching(cubes, walls[:1])
    v = m.velocity(np.full((2, 6), 1e-16))
    m.stop_resting(found, every, every, v)
    assert len(found) == 8
    assert not v.any()
