"""Contacts between shapes, against distances found by sampling, and the matrix of the problem."""

import numpy as np
import pytest

import stiction as st
from stiction.bodies.contact_kernels import Contact
from stiction.bodies.contacts import local_problem, surfaces_of
from stiction.bodies.impulse_kernels import add_impulses, contact_velocities

B = st.bodies


def boundary(shape, pose, count=4000):
    """Return points on the boundary of a shape."""
    if isinstance(shape, B.Disc):
        angle = np.linspace(0.0, 2.0 * np.pi, count)
        points = shape.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    else:
        a, b = shape.corners, np.roll(shape.corners, -1, axis=0)
        s = np.linspace(0.0, 1.0, count // len(a))[:, None, None]
        points = (a + s * (b - a)).reshape(-1, 2)
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return points @ np.array([[c, s], [-s, c]]) + pose[:2]


def random_shape(rng):
    kind = int(rng.integers(3))
    if kind == 0:
        return B.Disc(float(rng.uniform(0.2, 1.0)))
    if kind == 1:
        return B.Box(*(float(x) for x in rng.uniform(0.3, 1.5, 2)))
    angle = np.linspace(0.0, 2.0 * np.pi, int(rng.integers(3, 8)), endpoint=False)
    return B.Polygon(np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(0.3, 1.0))


def pair_of(first, second, poses, within=0.0):
    bodies = [
        B.RigidBody(first, position=[0.0, 0.0]),
        B.RigidBody(second, position=[100.0, 0.0]),
    ]
    return surfaces_of(B.RigidBodies(bodies)).contacts(np.asarray(poses), within)


def test_shapes_that_overlap_have_a_contact_and_others_have_none():
    """Against the distances of 600 points on each boundary, inside or outside of the other."""
    rng = np.random.default_rng(0)
    apart = overlapping = 0
    for _ in range(400):
        first, second = random_shape(rng), random_shape(rng)
        direction, far = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.4, 2.0)
        place = far * np.array([np.cos(direction), np.sin(direction)])
        poses = [[0.0, 0.0, rng.uniform(0, 7)], [*place, rng.uniform(0, 7)]]
        found = pair_of(first, second, poses)
        a, b = boundary(first, poses[0], 600), boundary(second, poses[1], 600)
        pairs = np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))
        depth = max(inside(second, poses[1], a).max(), inside(first, poses[0], b).max())
        if depth > 0.05:
            overlapping += 1
            assert found["gap"].min(initial=np.inf) < 0.0
        elif depth < 0.0 and pairs.min() > 0.02:
            apart += 1
            assert not len(found)
        for contact in found:
            # both arms lead to one point, half a gap from either body
            on_a = np.array(contact.arm_first) + poses[0][:2]
            on_b = np.array(contact.arm_second) + poses[1][:2]
            np.testing.assert_allclose(on_a, on_b, atol=1e-12)
            half = 0.5 * contact.gap * np.array(contact.normal)
            assert np.sqrt(((a - on_a - half) ** 2).sum(axis=1)).min() < 2e-2
            assert np.sqrt(((b - on_b + half) ** 2).sum(axis=1)).min() < 2e-2
    assert min(apart, overlapping) > 80


def inside(shape, pose, points):
    """Return how deep points lie inside of a shape, < 0 outside."""
    local = points - pose[:2]
    c, s = np.cos(pose[2]), np.sin(pose[2])
    local = local @ np.array([[c, -s], [s, c]])
    if isinstance(shape, B.Disc):
        return shape.radius - np.hypot(*local.T)
    a, b = shape.corners, np.roll(shape.corners, -1, axis=0)
    edge = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
    out = np.stack([edge[:, 1], -edge[:, 0]], axis=1)
    return -((local[:, None] - a) * out).sum(axis=2).max(axis=1)


def test_the_gap_of_near_shapes_is_their_distance():
    """Discs with anything, at corners too; polygons where an edge faces the other one."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        disc, other = B.Disc(float(rng.uniform(0.2, 1.0))), random_shape(rng)
        direction, far = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.8, 2.5)
        pose = [far * np.cos(direction), far * np.sin(direction), rng.uniform(0, 7)]
        (one,) = pair_of(disc, other, [[0.0, 0.0, 0.0], pose], 10.0)
        distance = np.hypot(*boundary(other, pose).T).min() - disc.radius
        if one.gap > 0.0:
            assert one.gap == pytest.approx(distance, abs=1e-2)


def test_a_contact_does_not_depend_on_the_order_of_bodies():
    rng = np.random.default_rng(1)
    for _ in range(100):
        first, second = random_shape(rng), random_shape(rng)
        poses = [[0.0, 0.0, rng.uniform(0, 7)], [*rng.uniform(-1.0, 1.0, 2), rng.uniform(0, 7)]]
        one, other = pair_of(first, second, poses), pair_of(second, first, poses[::-1])
        assert len(one) == len(other)
        np.testing.assert_allclose(np.sort(one["gap"]), np.sort(other["gap"]), atol=1e-12)


def test_half_planes_hold_every_corner_and_discs():
    floor = B.Support(B.HalfPlane([0.0, 1.0]), position=[0.0, -1.0])
    bodies = [
        B.RigidBody(B.Box(2.0, 1.0), position=[0.0, -0.5]),
        B.RigidBody(B.Disc(0.5), position=[5.0, -0.4]),
    ]
    system = B.RigidBodies(bodies[:1], [floor])
    surfaces = surfaces_of(system)
    found = surfaces.contacts(np.array([[0.0, -0.5, 0.0], [0.0, -1.0, 0.0]]), 0.1)
    assert found["gap"].tolist() == [0.0, 0.0]
    assert sorted(found["arm_first"][:, 0].tolist()) == [-1.0, 1.0]
    surfaces = surfaces_of(B.RigidBodies([B.RigidBody(B.Disc(0.5))], [floor]))
    (one,) = surfaces.contacts(np.array([[5.0, -0.4, 0.0], [0.0, -1.0, 0.0]]), 0.2)
    assert one.gap == pytest.approx(0.1)
    np.testing.assert_allclose(one.arm_second, [5.0, 0.0])


def test_the_matrix_of_a_heap():
    """W = J M^-1 J^T, by dense products, and impulses change velocities by M^-1 J^T r."""
    rng = np.random.default_rng(2)
    discs = [
        B.RigidBody(B.Disc(0.5), mass=float(rng.uniform(1, 3)), position=[0.9999999 * i, 0.4999999])
        for i in range(4)
    ]
    system = B.RigidBodies(discs, [B.Support()])
    poses = np.array([[*b.position, b.angle] for b in discs] + [[0.0, 0.0, 0.0]])
    contacts = surfaces_of(system).contacts(poses, 1e-3)
    assert len(contacts) == 7
    mass = np.array([[b.mass, b.mass, b.moment_of_inertia] for b in discs])
    inverse = np.concatenate([1.0 / mass, np.zeros((1, 3))])
    q = rng.normal(size=(7, 2))
    local = local_problem(contacts, inverse, 4, q, 0.3)
    transposed = np.zeros((12, 14))
    for k, row in enumerate(transposed):
        unit, u = np.zeros((5, 3)), np.zeros((7, 2))
        unit[divmod(k, 3)] = 1.0
        contact_velocities(contacts, unit, u)
        row[:] = u.ravel()
    dense = transposed.T @ np.diag(inverse[:4].ravel()) @ transposed
    np.testing.assert_allclose(local.matrix.toarray(), dense, atol=1e-13)
    for k in range(7):
        assert (np.diff(local.column[local.start[k] : local.start[k + 1]]) > 0).all()
        largest = np.linalg.eigvalsh(dense[2 * k : 2 * k + 2, 2 * k : 2 * k + 2])[-1]
        assert local.rho[k] == pytest.approx(1.0 / largest, rel=1e-12)
    r, v = rng.normal(size=(7, 2)), rng.normal(size=(5, 3))
    u = np.zeros((7, 2))
    contact_velocities(contacts, v, u)
    support = v.copy()
    support[:4] = 0.0
    moved = np.zeros((7, 2))
    contact_velocities(contacts, support, moved)
    np.testing.assert_allclose(u - moved, (transposed.T @ v[:4].ravel()).reshape(7, 2), atol=1e-13)
    after = v.copy()
    add_impulses(contacts, r, inverse, after)
    change = inverse[:4].ravel() * (transposed @ r.ravel())
    np.testing.assert_allclose((after - v)[:4].ravel(), change, atol=1e-13)
    np.testing.assert_array_equal(after[4], v[4])


def test_room_grows_for_many_contacts():
    angle = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    wheel = B.Polygon(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    system = B.RigidBodies([B.RigidBody(wheel, position=[0.0, 1.0])], [B.Support()])
    poses = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    found = surfaces_of(system).contacts(poses, 10.0)
    assert len(found) == 400
    assert found.dtype == Contact.fields_type


@pytest.mark.parametrize(
    ("bodies", "supports", "words"),
    [
        ([[0.0, 0.0], [0.5, 0.0]], [], "body 1 and body 2 that overlap by 0.5 m"),
        ([[0.0, 0.3]], [B.Support()], "body 1 and support 1 that overlap by 0.2 m"),
    ],
)
def test_overlap_at_the_start_is_refused(bodies, supports, words):
    made = [B.RigidBody(B.Box(1.0, 1.0), position=place) for place in bodies]
    with pytest.raises(st.ModelError, match=words) as caught:
        B.RigidBodies(made, supports)
    assert "move body 1 by" in str(caught.value)


def test_concentric_discs_overlap():
    discs = [B.RigidBody(B.Disc(0.5)), B.RigidBody(B.Disc(0.3))]
    with pytest.raises(st.ModelError, match=r"overlap by 0\.8 m"):
        B.RigidBodies(discs)


def test_what_a_body_cannot_be():
    with pytest.raises(st.ModelError, match="a finite shape"):
        B.RigidBody(B.HalfPlane())
    with pytest.raises(st.ModelError, match="mass"):
        B.RigidBody(mass=0.0)
    with pytest.raises(st.ModelError, match="one mu for all contacts"):
        B.RigidBodies(law=st.Coulomb([0.1, 0.2]))
    with pytest.raises(st.ModelError, match="restitution"):
        B.RigidBodies(restitution=1.5)
    with pytest.raises(st.ModelError, match="Coulomb"):
        B.RigidBodies(law=st.StaticKinetic(0.3, 0.2))
