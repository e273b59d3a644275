"""Contact in space: the kernels of the plane with one component and one coordinate more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve
from solid_cases import distorted, evaluate, jacobian

from stiction.errors import ModelError
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.numerics import jit
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import closest_on_rigid, locate, points_on_rigid
from stiction.solids.contact.edges import areas
from stiction.solids.contact.model import Contact, ContactPass, History
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidPlane, RigidSphere
from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.elements.kinds import Q1N2, discretise
from stiction.solids.elements.swept import sweep
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import rectangle

LAW = LennardJones(1.0, 0.3)
FRICTION = {"none": Frictionless(), "DI": DI(0.5, 1.0, 20.0), "EA": EA(0.5, 1.0)}
GAP = 0.19
SPACE = {
    "plane": RigidPlane((0.0, -GAP, 0.0), (0.02, 1.0, -0.03)),
    "ball": RigidSphere((0.8, -9.0, 0.7), 9.0 - GAP),
    "body": Boundary(1, "top"),
}


def patch(width, height, cells, breaks, origin, name, seed):
    """Return a body in space with a rough biquadratic face, of rational functions."""
    mesh = rectangle(width, height, cells, origin)
    random = np.random.default_rng(seed)
    body = sweep(mesh, Q1N2(contact_points=3), breaks, 2, (name,))
    face = body.surfaces[name]
    body.points[np.unique(face.nodes)] += 0.02 * random.standard_normal(
        (np.unique(face.nodes).size, 3)
    )
    weights = np.ones(body.points.shape[0])
    weights[np.unique(face.nodes)] += 0.2 * random.random(np.unique(face.nodes).size)
    return body, face._replace(weights=weights[face.nodes])


def one_pass(friction, partner, seed, **settings):
    """Return a pass over a rough face, the places of all nodes, and a history."""
    body, own = patch(1.6, 0.5, (3, 1), (0.0, 0.7, 1.5), (0.0, 0.0), "bottom", seed)
    own = own._replace(weights=np.ones_like(own.weights))
    points = body.points
    if partner == "body":
        low, other = patch(
            2.2, 0.4, (4, 1), np.linspace(-0.3, 1.8, 4), (-0.3, -0.4 - GAP), "top", 7
        )
        against = other._replace(nodes=other.nodes + points.shape[0])
        points = np.concatenate([points, low.points])
    else:
        against = (SPACE[partner], points.shape[0])
        points = np.concatenate([points, [[0.0, 0.0, 0.0]]])
    contact = Contact(
        Boundary(0, "bottom"), SPACE[partner], LAW, friction, penalty=30.0, **settings
    )
    contact_pass = ContactPass(contact, own, against, points)
    random = np.random.default_rng(seed + 1)
    x = points + 0.005 * random.standard_normal(points.shape)
    out = evaluate(contact_pass, x, contact_pass.project(x, None), contact_pass.empty_history())[1]
    origin = out[:, k.ORIGIN : k.ORIGIN_2 + 1]
    known = np.isfinite(origin).all(axis=1)
    # some slipped across the border of a patch, some a little, some not at all
    far = random.uniform(-0.8, 0.8, origin.shape) * (random.random((origin.shape[0], 1)) < 0.5)
    moved = np.where(known[:, None], origin + far + 0.001 * random.standard_normal(far.shape), 0.0)
    return contact_pass, x, History(moved, known, random.random(known.size) < 0.5)


def dense(contact_pass, closest, history, values, size):
    """Return the tangent of a pass as a matrix."""
    rows, columns = contact_pass.blocks(closest, history)
    whole = np.zeros((size, size))
    for q in range(contact_pass.count):
        r = (rows[q][:, None] * 3 + np.arange(3)).ravel()
        c = (columns[q][:, None] * 3 + np.arange(3)).ravel()
        np.add.at(whole, (r[:, None], c[None, :]), values[q])
    return whole


@pytest.mark.parametrize("partner", sorted(SPACE))
@pytest.mark.parametrize("name", sorted(FRICTION))
def test_tangents_against_differences(name, partner):
    """Random directions, with new projections; some origins of slip lie in other patches."""
    met = set()
    for settings in ({}, {"stretch": False, "stick_ratio": 1.3}):
        contact_pass, x, history = one_pass(FRICTION[name], partner, 5, **settings)
        closest, values = contact_pass.project(x, None), np.zeros(contact_pass.shape)
        _, out = evaluate(contact_pass, x, closest, history, values=values)
        state = out[:, k.STATE]
        met.update(state)
        states = np.where(state == k.STICKS, 0, np.where(state == k.SLIDES, 1, -1)).astype(np.int64)
        if partner == "body":
            away = locate(history.origin.T, contact_pass.partner.knots)[0] != closest.element
            met.update(["across"] if (away & (state > 0.0)).any() else [])
        matrix = dense(contact_pass, closest, history, values, x.size)
        random = np.random.default_rng(2)
        for _ in range(3):
            direction = random.standard_normal(x.shape)

            def residual_at(
                s,
                contact_pass=contact_pass,
                x=x,
                direction=direction,
                closest=closest,
                history=history,
                states=states,
            ):
                y = x + s[0] * direction
                return evaluate(contact_pass, y, contact_pass.project(y, closest), history, states)[
                    0
                ]

            exact = matrix @ direction.ravel()
            error = jacobian(residual_at, np.zeros(1), 1e-5)[:, 0] - exact
            assert np.abs(error).max() < 1e-7 * np.abs(exact).max()
    if name != "none":
        assert {k.STICKS, k.SLIDES} <= met
        assert "across" in met or partner != "body"


@pytest.mark.parametrize("partner", ["plane", "ball"])
def test_a_rigid_partner_takes_the_opposite_force(partner):
    contact_pass, x, history = one_pass(FRICTION["DI"], partner, 5)
    residual, out = evaluate(contact_pass, x, contact_pass.project(x, None), history)
    assert out[:, k.HEAT].max() > 0.0
    assert_allclose(residual.sum(axis=0), 0.0, atol=1e-13)


@pytest.mark.parametrize("partner", ["plane", "ball"])
def test_without_friction_forces_follow_from_the_potential(partner):
    contact_pass, x, history = one_pass(FRICTION["none"], partner, 6)
    residual, _ = evaluate(contact_pass, x, contact_pass.project(x, None), history)
    direction = np.random.default_rng(3).standard_normal(x.shape)

    def potential(s):
        y = x + s[0] * direction
        return evaluate(contact_pass, y, contact_pass.project(y, None), history)[1][
            :, k.POTENTIAL
        ].sum()

    difference = jacobian(potential, np.zeros(1), 1e-5)[0, 0]
    assert abs(difference - (residual * direction).sum()) < 1e-8 * np.abs(residual).sum()


def test_tractions_turn_with_the_bodies():
    """Forces on rotated bodies are the rotated forces; heat and gaps do not change."""
    contact_pass, x, history = one_pass(FRICTION["DI"], "body", 8)
    closest = contact_pass.project(x, None)
    residual, out = evaluate(contact_pass, x, closest, history)
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    again, other = evaluate(
        contact_pass, x @ turn.T, contact_pass.project(x @ turn.T, None), history
    )
    assert_allclose(again, residual @ turn.T, atol=1e-11 * np.abs(residual).max())
    for column in (k.GAP, k.HEAT, k.STATE, k.SHEAR):
        assert_allclose(other[:, column], out[:, column], atol=1e-11)


def test_friction_on_a_sphere_does_not_depend_on_the_pole():
    """The face turns to the pole where coordinates on the sphere are singular; slip turns too."""
    contact_pass, x, history = one_pass(FRICTION["DI"], "ball", 8)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    ball = SPACE["ball"]
    turned = RigidSphere(turn @ np.asarray(ball.centre), ball.radius)
    shape, shift, moved = ball.table(), x[-1], x[-1] @ turn.T
    places = points_on_rigid(history.origin.T, shape, shift)
    _, origin = closest_on_rigid(turn @ places, turned.table(), moved)
    points = contact_pass.reference @ turn.T
    settings = contact_pass.contact.friction, contact_pass.contact.penalty
    contact = Contact(Boundary(0, "bottom"), turned, LAW, *settings)
    other = ContactPass(contact, contact_pass.own, (turned, len(points) - 1), points)
    records = [
        evaluate(one, at, one.project(at, None), before)[1]
        for one, at, before in (
            (contact_pass, x, history),
            (other, x @ turn.T, history._replace(origin=origin.T)),
        )
    ]
    assert (records[0][:, k.STATE] == k.SLIDES).sum() > 5
    for column in (k.GAP, k.HEAT, k.STATE, k.SHEAR):
        assert_allclose(records[1][:, column], records[0][:, column], atol=1e-11)
    # where friction acts, origins of slip end at one place
    acts = records[0][:, k.STATE] > 0.0
    ends = [
        points_on_rigid(out[acts, k.ORIGIN : k.ORIGIN_2 + 1].T, table, at)
        for out, table, at in zip(records, (shape, turned.table()), (shift, moved), strict=True)
    ]
    assert_allclose(ends[1], turn @ ends[0], atol=1e-11)


def test_closest_points_have_the_same_bits():
    """Compiled and plain; points above the face, beyond its sides and its corners."""
    contact_pass, x, _ = one_pass(FRICTION["none"], "body", 9)
    random = np.random.default_rng(5)
    points = random.uniform((-0.6, -0.3, -0.6), (2.2, 0.3, 2.1), (300, 3))
    by_mode = []
    for mode in ("compiled", "plain"):
        with jit.running(mode):
            start = contact_pass._search(points, x)
            by_mode.append(contact_pass.closest_from(points, start, x))
    for one, other in zip(*by_mode, strict=True):
        assert np.array_equal(one, other)
    near = by_mode[0]
    assert 0.3 < near.normal.mean() < 0.95
    place = contact_pass.curve.points(near.element, near.xi.T, x)[1]
    slope = np.einsum("dp,adp->ap", points.T - place[0], place[1:3])
    assert np.abs(slope[:, near.normal]).max() < 1e-12
    # none of many places of the face is nearer
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 15)] * 2), -1).reshape(-1, 2)
    every = np.arange(contact_pass.partner.nodes.shape[0])
    cloud = contact_pass.curve.points(
        np.repeat(every, grid.shape[0]), np.tile(grid.T, (1, every.size)), x
    )[1][0]
    far = np.linalg.norm(points[:, :, None] - cloud, axis=1).min(axis=1)
    best = np.linalg.norm(points - place[0].T, axis=1)
    assert (best < far + 1e-9).mean() > 0.97


def test_rigid_sphere():
    """Closest points, tangents, normal parts of second derivatives, and the inverse mapping."""
    ball, shift = RigidSphere((0.1, -0.2, 0.3), 1.4), np.array([0.2, 0.1, -0.3])
    points = np.random.default_rng(1).uniform(-2.0, 2.0, (3, 40)) + 0.1
    out, s = closest_on_rigid(points, ball.table(), shift)
    assert_allclose(points_on_rigid(s, ball.table(), shift), out[0], atol=1e-14)
    centre = (np.asarray(ball.centre) + shift)[:, None]
    normal = (out[0] - centre) / ball.radius
    assert_allclose(np.linalg.norm(normal, axis=0), 1.0, rtol=1e-14)
    step = 1e-3
    for a in range(2):
        direction = step * np.eye(2)[a][:, None]
        near = [points_on_rigid(s + j * direction, ball.table(), shift) for j in (-2, -1, 1, 2)]
        slope = (near[0] - near[3] + 8.0 * (near[2] - near[1])) / (12.0 * step)
        assert_allclose(out[1 + a], slope, atol=1e-9)
        bend = (near[1] + near[2] - 2.0 * out[0]) / step**2
        row = (3, 5)[a]
        assert_allclose((out[row] * normal).sum(axis=0), (bend * normal).sum(axis=0), atol=1e-5)
    turned = np.cross(out[1], out[2], axis=0)
    assert ((turned * normal).sum(axis=0) > 0.0).all()


def test_a_plane_partner_is_refused_in_space():
    contact_pass, _, _ = one_pass(FRICTION["none"], "plane", 5)
    contact = Contact(Boundary(0, "bottom"), RigidCircle(), LAW)
    with pytest.raises(ModelError, match="components"):
        ContactPass(contact, contact_pass.own, (RigidCircle(), 3), contact_pass.reference)
    for bad in ({"point": (0.0, 0.0)}, {"normal": (0.0, 0.0, 0.0)}):
        with pytest.raises(ModelError, match="RigidPlane"):
            RigidPlane(**{"point": (0.0, 0.0, 0.0), "normal": (0.0, 0.0, 1.0), **bad})


# ---------------------------------------------------------------- a swept problem is the plane one


@pytest.mark.parametrize("name", sorted(FRICTION))
@pytest.mark.parametrize("partner", ["plane", "body"])
def test_a_swept_problem_is_the_plane_one(name, partner):
    """Forces per thickness on every plane node, on swept bodies deformed alike, with slip."""
    meshes = [distorted(1.5, 0.6, (3, 2), 0.1, 1), rectangle(2.1, 0.5, (5, 2), (-0.2, -0.5 - GAP))]
    plane = {"plane": RigidPlane((0.0, -GAP), (0.02, 1.0)), "body": Boundary(1, "top")}[partner]
    high = RigidPlane((0.0, -GAP, 0.0), (0.02, 1.0, 0.0)) if partner == "plane" else plane
    element, thickness = Q1N2(contact_points=4), 0.8
    names = ("bottom", "top")
    flat = [discretise(m, element, (b,)) for m, b in zip(meshes, names, strict=True)]
    deep = [
        sweep(m, element, (0.0, 0.3, thickness), 2, (b,))
        for m, b in zip(meshes, names, strict=True)
    ]
    force_sums = []
    for bodies, shape, d in ((flat, plane, 2), (deep, high, 3)):
        points = np.concatenate([bodies[0].points, bodies[1].points, np.zeros((1, d))])
        first = bodies[0].points.shape[0]
        own, other = bodies[0].surfaces["bottom"], bodies[1].surfaces["top"]
        against = other._replace(nodes=other.nodes + first)
        partner_of = against if partner == "body" else (shape, points.shape[0] - 1)
        contact = Contact(Boundary(0, "bottom"), shape, LAW, FRICTION[name], penalty=30.0)
        contact_pass = ContactPass(contact, own, partner_of, points)
        field = np.zeros_like(points)
        x, y = points[:, 0], points[:, 1]
        field[:, 0], field[:, 1] = 0.02 * np.sin(2.0 * y), 0.01 * np.sin(3.0 * x)
        # the field of a control point is that of its plane one: heights do not matter
        history = contact_pass.empty_history()
        for shift in (0.0, 0.05, 0.4):
            moved = points + field
            moved[:first, 0] += shift
            near = contact_pass.project(moved, None)
            residual, out = evaluate(contact_pass, moved, near, history)
            history = contact_pass.committed(out)
        if d == 3:
            assert np.abs(residual[:, 2]).max() < 1e-13
            per_thickness = residual[:-1] / thickness
            sums = []
            at = 0
            for body, thin in zip(bodies, flat, strict=True):
                count = thin.points.shape[0]
                here = per_thickness[at : at + body.points.shape[0]].reshape(-1, count, 3)
                sums.append(here.sum(axis=0)[:, :2])
                at += body.points.shape[0]
            force_sums.append(np.concatenate(sums))
            heat = out[:, k.HEAT].sum() / thickness
        else:
            force_sums.append(residual[:-1])
            wanted = out[:, k.HEAT].sum()
    assert np.abs(force_sums[0]).max() > 1e-2
    assert_allclose(force_sums[1], force_sums[0], atol=1e-12 * np.abs(force_sums[0]).max())
    assert_allclose(heat, wanted, rtol=1e-11)
    assert (wanted > 0.0) == (name != "none")


def square(half, cells, y, name):
    """Return a flat square body in space about the second axis, its face `name` at height y."""
    below = 0.2 if name == "top" else 0.0
    mesh = rectangle(2.0 * half, 0.2, (cells, 1), (-half, y - below))
    return sweep(mesh, Q1N2(), np.linspace(-half, half, cells + 1), 2, (name,))


def test_area_of_a_disc():
    """A flat face within reach of a sphere: the area of a disc, of second order."""
    rim, radius, depth = 0.45, 2.0, 0.3
    errors = []
    for cells in (3, 6):
        body = square(0.7, cells, 0.0, "bottom")
        ball = RigidSphere((0.0, -radius - depth, 0.0), radius)
        points = np.concatenate([body.points, [[0.0, 0.0, 0.0]]])
        contact = Contact(Boundary(0, "bottom"), ball, LAW)
        contact_pass = ContactPass(
            contact, body.surfaces["bottom"], (ball, points.shape[0] - 1), points
        )
        nominal, current = areas(contact_pass, np.hypot(rim, radius + depth) - radius, points)
        stretched = areas(
            contact_pass, np.hypot(rim, radius + depth) - radius, points * [1.0, 1.0, 0.8]
        )
        assert_allclose(current, nominal, rtol=1e-12)
        assert_allclose(stretched[1], 0.8 * stretched[0], rtol=1e-12)
        errors.append(abs(nominal / (np.pi * rim**2) - 1.0))
    assert errors[0] < 5e-3
    assert errors[1] < 0.35 * errors[0]


def test_area_between_two_bodies():
    """One face extends beyond the other: only the area opposite to it counts."""
    body, under = square(0.7, 3, 0.3, "bottom"), square(0.5, 4, 0.0, "top")
    first = body.points.shape[0]
    points = np.concatenate([body.points, under.points])
    face = under.surfaces["top"]
    contact = Contact(Boundary(0, "bottom"), Boundary(1, "top"), LAW)
    partner = face._replace(nodes=face.nodes + first)
    contact_pass = ContactPass(contact, body.surfaces["bottom"], partner, points)
    assert_allclose(areas(contact_pass, 0.31, points), 1.0, rtol=2e-3)
    assert areas(contact_pass, 0.29, points) == (0.0, 0.0)


# ---------------------------------------------------------------- equilibrium


def solved(bulk, pattern, contact_pass, points, driven, d):
    """Return displacements in balance after two steps; `driven` gives what is prescribed."""
    history, u = contact_pass.empty_history(), np.zeros_like(points)
    closest = contact_pass.project(points, None)
    for step in range(2):
        held, values = driven(step)
        free = np.flatnonzero(~held.ravel())
        u[held] = values[held]
        for _ in range(30):
            residual, data = np.zeros_like(points), np.zeros(pattern.entries)
            assert bulk.add(u, residual, data) == 0
            closest = contact_pass.project(points + u, closest)
            blocks = np.zeros(contact_pass.shape)
            out = contact_pass.evaluate(
                points + u,
                closest,
                history,
                np.full(contact_pass.count, -1),
                with_friction=True,
                attraction=1.0,
                residual=residual,
                values=blocks,
            )
            residual_at = residual.ravel()[free]
            if np.abs(residual_at).max() < 1e-12:
                break
            rows, columns = contact_pass.blocks(closest, history)
            r = (rows[:, :, None] * d + np.arange(d)).reshape(contact_pass.count, -1)
            c = (columns[:, :, None] * d + np.arange(d)).reshape(contact_pass.count, -1)
            at = np.repeat(r, c.shape[1], axis=1).ravel(), np.tile(c, (1, r.shape[1])).ravel()
            matrix = (
                pattern.matrix(data) + coo_matrix((blocks.ravel(), at), 2 * (u.size,))
            ).tocsr()
            u.flat[free] -= spsolve(matrix[free][:, free].tocsc(), residual_at)
        assert np.abs(residual_at).max() < 1e-12
        history = contact_pass.committed(out)
    return u, residual


def test_a_swept_equilibrium_is_the_plane_one():
    """A block pressed on a plane and sheared until parts of it slide: plane strain in space."""
    mesh, element, thickness = distorted(1.5, 0.6, (3, 2), 0.1, 1), Q1N2(contact_points=4), 0.5
    flat = discretise(mesh, element, ("bottom",))
    deep = sweep(mesh, element, (0.0, thickness), 1, ("bottom",))
    material, answers = NeoHookean(8.0, 0.3), []
    for body, d in ((flat, 2), (deep, 3)):
        points = np.concatenate([body.points, np.zeros((1, d))])
        shape = RigidPlane((0.0, -GAP, 0.0)[:d], (0.02, 1.0, 0.0)[:d])
        contact = Contact(Boundary(0, "bottom"), shape, LAW, DI(0.5, 1.0, 20.0), penalty=30.0)
        contact_pass = ContactPass(
            contact, body.surfaces["bottom"], (shape, points.shape[0] - 1), points
        )
        bulk = Bulk([(block, material.table()) for block in body.blocks])
        pattern = Pattern(points.shape[0], d, bulk.pairs())
        bulk.bind(pattern)

        def driven(step, body=body, points=points, d=d):
            held, values = np.zeros(points.shape, dtype=bool), np.zeros_like(points)
            top = body.node_sets["top"]
            held[top], held[-1] = True, True
            held[:, 2:] = True
            values[top, 0], values[top, 1] = 0.12 * step, -0.01
            return held, values

        answers.append(solved(bulk, pattern, contact_pass, points, driven, d))
    (u, force), (v, push) = answers
    count = flat.points.shape[0]
    assert_allclose(v[:-1].reshape(-1, count, 3)[0, :, :2], u[:-1], atol=1e-11)
    assert_allclose(v[:-1].reshape(-1, count, 3)[1], v[:-1].reshape(-1, count, 3)[0], atol=1e-11)
    assert_allclose(push[-1, :2] / thickness, force[-1], rtol=1e-9)
    assert abs(force[-1, 0]) > 0.05
