"""One pass of contact: tangents, balance, history; and what descriptions refuse."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import ELEMENTS, curve, distorted, evaluate, held_at, jacobian

from stiction.errors import ModelError
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import locate
from stiction.solids.contact.model import Contact, ContactPass, History
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidPlane
from stiction.solids.equilibria.problem import Problem
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import Mesh, block, rectangle, rotated
from stiction.solids.model import Assembled, Body

LAW = LennardJones(1.0, 0.3)
FRICTION = {
    "none": Frictionless(),
    "DI": DI(0.5, 1.0, 20.0),
    "EA": EA(0.5, 1.0),
    "EA half": EA(0.8, 0.5),
    "EA below zero": EA(0.8, -0.001),
}
PARTNERS = {
    "plane": RigidPlane((2.0, 0.83), (0.01, 1.0)),
    "circle": RigidCircle((2.0, -40.0), 40.84),
    "surface": Boundary(1, "b"),
    "rational": Boundary(1, "b"),
}
# settings of a contact that change the tangent
VARIANTS = {"plain": {}, "no stretch": {"stretch": False}, "stick ratio": {"stick_ratio": 1.3}}


def one_pass(friction, partner, degree, seed, **settings):
    """Return a pass over a rough boundary, the places of all nodes, and a history."""
    random = np.random.default_rng(seed)
    count = {1: 5, 2: 6, 3: 8}[degree]
    mine = np.stack([np.linspace(0.0, 4.0, count), 1.0 + 0.04 * random.standard_normal(count)], 1)
    own = curve(mine, degree)
    if partner in ("surface", "rational"):
        other = np.stack([np.linspace(4.6, -0.6, 7), 0.83 + 0.04 * random.standard_normal(7)], 1)
        weights = 1.0 + 0.3 * random.random(7) if partner == "rational" else None
        points = np.concatenate([mine, other])
        against = curve(other, 2, first=count, weights=weights)
    else:
        points = np.concatenate([mine, [[0.0, 0.0]]])
        against = (PARTNERS[partner], count)
    contact = Contact(Boundary(0, "a"), PARTNERS[partner], LAW, friction, penalty=30.0, **settings)
    contact_pass = ContactPass(contact, own, against, points)
    x = points + 0.02 * random.standard_normal(points.shape)
    if contact_pass.partner.rigid:
        x[-1] = 0.03, 0.01
    origin = evaluate(contact_pass, x, contact_pass.project(x, None), contact_pass.empty_history())[
        1
    ][:, k.ORIGIN]
    known = np.isfinite(origin)
    # some slipped across the border of an element, some a little, some not at all
    far = random.uniform(-1.3, 1.3, origin.size) * (random.random(origin.size) < 0.6)
    moved = origin + far + 0.001 * random.standard_normal(origin.size)
    history = History(np.where(known, moved, 0.0)[:, None], known, random.random(origin.size) < 0.5)
    return contact_pass, x, history


def tangent_error(contact_pass, x, history):
    """Return the relative error of the tangent, the records and the closest points."""
    closest = contact_pass.project(x, None)
    values = np.zeros(contact_pass.shape)
    _, out = evaluate(contact_pass, x, closest, history, values=values)
    states = held_at(out)
    rows, columns = contact_pass.blocks(closest, history)
    dense = np.zeros((x.size, x.size))
    for q in range(contact_pass.count):
        r = (rows[q][:, None] * 2 + np.arange(2)).ravel()
        c = (columns[q][:, None] * 2 + np.arange(2)).ravel()
        np.add.at(dense, (r[:, None], c[None, :]), values[q])

    def forces(y):
        return evaluate(contact_pass, y, contact_pass.project(y, closest), history, states)[0]

    error = np.abs(jacobian(forces, x, 1e-5) - dense).max() / np.abs(dense).max()
    return error, out, closest


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("partner", sorted(PARTNERS))
@pytest.mark.parametrize("name", sorted(FRICTION))
def test_tangents_against_differences(name, partner, degree):
    """Random states; points stick, slide and have slid across borders of elements."""
    deformable = partner in ("surface", "rational")
    met = set()
    for seed, variant in itertools.product((1, 2), sorted(VARIANTS)):
        if variant == "no stretch" and not deformable:
            continue
        settings = VARIANTS[variant]
        contact_pass, x, history = one_pass(FRICTION[name], partner, degree, 10 * seed, **settings)
        error, out, closest = tangent_error(contact_pass, x, history)
        assert error < 1e-7
        met.update(out[:, k.STATE])
        elements = locate(history.origin.T, contact_pass.partner.knots)[0]
        if ((elements != closest.element) & (out[:, k.STATE] > 0.0)).any():
            met.add("across")
    if name != "none":
        assert {k.STICKS, k.SLIDES} <= met
        assert ("across" in met) or not deformable


@pytest.mark.parametrize("partner", ["plane", "circle"])
def test_a_rigid_partner_takes_the_opposite_force(partner):
    contact_pass, x, history = one_pass(FRICTION["DI"], partner, 2, 5)
    residual, out = evaluate(contact_pass, x, contact_pass.project(x, None), history)
    assert np.abs(out[:, k.HEAT]).max() > 0.0
    assert_allclose(residual.sum(axis=0), 0.0, atol=1e-13)
    assert_allclose(residual[-1], out[:, [k.FORCE_X, k.FORCE_Y]].sum(axis=0), rtol=1e-13)


def test_without_friction_forces_follow_from_the_potential():
    for partner in ("plane", "circle"):
        contact_pass, x, history = one_pass(FRICTION["none"], partner, 2, 6)
        residual, _ = evaluate(contact_pass, x, contact_pass.project(x, None), history)

        def potential(y, contact_pass=contact_pass, history=history):
            return evaluate(contact_pass, y, contact_pass.project(y, None), history)[1][
                :, k.POTENTIAL
            ].sum()

        differences = jacobian(potential, x, 1e-4).reshape(x.shape)
        # own nodes: the traction is per reference area, without the stretch of the surface
        assert np.abs(differences - residual).max() < 1e-8 * np.abs(residual).max()


def test_slip_gives_heat_and_moves_the_origin():
    """Heat is traction times slip, never negative; what stuck keeps its origin."""
    contact_pass, x, history = one_pass(FRICTION["DI"], "surface", 2, 7)
    closest = contact_pass.project(x, None)
    out = evaluate(contact_pass, x, closest, history)[1]
    assert (out[:, k.HEAT] >= 0.0).all()
    assert (out[:, k.SPRING] >= 0.0).all()
    sticks, slides = out[:, k.STATE] == k.STICKS, out[:, k.STATE] == k.SLIDES
    accepted = contact_pass.committed(out)
    assert_allclose(accepted.origin[sticks], history.origin[sticks], rtol=1e-14)
    assert np.array_equal(accepted.stuck, sticks)
    size = np.hypot(out[:, k.SLIP_X], out[:, k.SLIP_Y])
    wanted = out[:, k.WEIGHT] * out[:, k.OWN_STRETCH] * out[:, k.THRESHOLD] * size
    assert_allclose(out[slides, k.HEAT], wanted[slides], rtol=1e-12)


def test_stick_ends_at_a_higher_traction():
    contact_pass, x, history = one_pass(FRICTION["DI"], "surface", 2, 20, stick_ratio=1.3)
    none = np.zeros(contact_pass.count, dtype=bool)
    closest = contact_pass.project(x, None)
    free = evaluate(contact_pass, x, closest, history._replace(stuck=none))[1]
    stuck = evaluate(contact_pass, x, closest, history._replace(stuck=~none))[1]
    pull = free[:, k.EXCESS] + free[:, k.THRESHOLD]
    between = (pull > free[:, k.THRESHOLD]) & (pull < 1.3 * free[:, k.THRESHOLD])
    assert between.any()
    assert np.array_equal(stuck[:, k.STATE] == k.STICKS, (free[:, k.STATE] == k.STICKS) | between)


# ---------------------------------------------------------------- two-half-pass


def two_bodies(meshes, element, friction):
    """Return a problem of two bodies with contact of "bottom" and "top"."""
    bodies = [Body(mesh, ELEMENTS[element](), NeoHookean()) for mesh in meshes]
    contact = Contact(Boundary(0, "bottom"), Boundary(1, "top"), LAW, friction, penalty=30.0)
    return Problem(Assembled(bodies, [contact]))


def resultants(problem, trial):
    """Return forces on the two bodies and moments about the origin."""
    forces, moments = [], []
    for out in trial.point_values:
        f = out[:, [k.FORCE_X, k.FORCE_Y]]
        forces.append(f.sum(axis=0))
        moments.append((out[:, k.X] * f[:, 1] - out[:, k.Y] * f[:, 0]).sum())
    return forces, moments


def moved_twice(problem, first, second):
    """Return the trial after two given motions; the first one is accepted."""
    state = problem.start(0.0)
    trial = problem.evaluate(state, first, 0.5, None, data=False)[0]
    state = problem.accepted(state, trial, 0.5)
    return problem.evaluate(state, second, 1.0, None, data=False)[0]


@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("name", ["none", "DI", "EA"])
@pytest.mark.parametrize("gap", [0.18, 0.21, 0.3])
def test_flat_and_parallel_passes_balance(element, name, gap):
    """Force and moment, in bodies stretched alike, on meshes that do not fit.

    Each pass acts at its own points. Without friction the lines of action are one; shear of
    both bodies across the gap leaves its couple, exactly.
    """
    upper = rectangle(2.0, 0.5, (4, 2), (-1.0, 0.5 * gap))
    lower = rectangle(2.0, 0.5, (5, 2), (-1.0, -0.5 * gap - 0.5))
    problem = two_bodies((upper, lower), element, FRICTION[name])
    stretched = problem.points * np.array([0.1, 0.0])
    size = problem.first[1]
    shift = 0.0 if name == "none" else 0.004
    slid = stretched.copy()
    slid[:size, 0] += 0.5 * shift
    slid[size:, 0] -= 0.5 * shift
    trial = moved_twice(problem, stretched, slid)
    forces, moments = resultants(problem, trial)
    assert not any(p.left_out for p in problem.passes)
    scale = LAW.max_tension
    assert_allclose(forces[0] + forces[1], 0.0, atol=1e-12 * scale)
    couple = shift * forces[0][1] - gap * forces[0][0]
    assert_allclose(moments[0] + moments[1], couple, atol=1e-12 * scale)
    assert abs(forces[0][1]) > 1e-3 * scale
    if name == "none":
        assert abs(couple) < 1e-15 * scale
    elif gap < 0.3:
        assert forces[0][0] < -1e-3 * scale


@pytest.mark.parametrize("element", ["Q1", "Q1N2", "Q2N2", "Q1H"])
@pytest.mark.parametrize("name", ["none", "DI", "EA"])
def test_point_symmetric_passes_balance(element, name):
    """A curved body and its image under a half turn, deformed alike."""

    def mapping(s, t):
        x = 3.0 * s - 1.5
        return x, 0.1 + 0.04 * x**2 + 0.03 * x + t

    upper = block(mapping, (5, 2))
    lower = rotated(upper)
    lower = type(lower)(lower.points, lower.cells, {"top": lower.boundaries["bottom"]})
    problem = two_bodies((upper, lower), element, FRICTION[name])
    size = problem.first[1]
    random = np.random.default_rng(11)
    fields = []
    for shift in (0.0, 0.02):
        half = 0.01 * random.standard_normal((size, 2)) + np.array([shift, 0.0])
        fields.append(np.concatenate([half, -half]))
    trial = moved_twice(problem, *fields)
    forces, moments = resultants(problem, trial)
    scale = LAW.max_tension
    assert np.abs(forces[0]).max() > 1e-2 * scale
    assert_allclose(forces[0] + forces[1], 0.0, atol=1e-12 * scale)
    # the same moment on both, about the centre of symmetry
    assert_allclose(moments[0], moments[1], atol=1e-12 * scale)
    if name != "none":
        assert sum(out[:, k.HEAT].sum() for out in trial.point_values) > 0.0


# ---------------------------------------------------------------- whole problems

WHOLE = {
    "plane": RigidPlane((0.0, -0.19), (0.05, 1.0)),
    "circle": RigidCircle((0.7, -5.0), 4.81),
    "body": Boundary(1, "top"),
}


@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("partner", sorted(WHOLE))
def test_assembled_tangents_against_differences(element, partner):
    """Bodies and contact together, through the pattern of the matrix, in random directions."""
    for number, friction in enumerate(FRICTION.values()):
        bodies = [Body(distorted(cells=(3, 2), seed=1), ELEMENTS[element](), NeoHookean(20.0))]
        if partner == "body":
            low = distorted(cells=(4, 2), seed=2, origin=(0.05, -1.2))
            bodies.append(Body(low, ELEMENTS[element](), NeoHookean(20.0)))
        contact = Contact(Boundary(0, "bottom"), WHOLE[partner], LAW, friction, penalty=30.0)
        problem = Problem(Assembled(bodies, [contact]))
        random = np.random.default_rng(number)
        state = problem.start(0.0)
        u = 0.012 * random.standard_normal(problem.points.shape)
        trial = problem.evaluate(state, u, 0.5, None, data=False)[0]
        state = problem.accepted(state, trial, 0.5)
        histories = [
            h._replace(origin=h.origin + random.uniform(-0.3, 0.3, h.origin.shape) ** 3 * 10.0)
            for h in state.histories
        ]
        state = state._replace(histories=tuple(histories))
        trial, matrix = problem.evaluate(state, u, 1.0, None, data=True)
        assert trial.inverted == 0
        helds = problem.contact_states(trial)
        for _ in range(4):
            direction = random.standard_normal(u.shape)
            exact = matrix @ direction.ravel()

            def residual_at(s, u=u, direction=direction, state=state, problem=problem, helds=helds):
                return problem.evaluate(state, u + s[0] * direction, 1.0, helds, data=False)[
                    0
                ].residual

            differences = jacobian(residual_at, np.zeros(1), 1e-6)[:, 0]
            assert np.abs(differences - exact).max() < 1e-7 * np.abs(exact).max()


def test_the_sparsity_pattern_follows_sliding_points():
    """Far motion along the partner: the matrix gets new places and stays the derivative."""
    bodies = [
        Body(rectangle(1.0, 0.5, (3, 2)), ELEMENTS["Q1N2"](), NeoHookean(20.0)),
        Body(rectangle(6.0, 0.5, (18, 2), (0.0, -0.7)), ELEMENTS["Q1N2"](), NeoHookean(20.0)),
    ]
    contact = Contact(Boundary(0, "bottom"), Boundary(1, "top"), LAW, FRICTION["DI"], penalty=30.0)
    problem = Problem(Assembled(bodies, [contact]))
    state = problem.start(0.0)
    random = np.random.default_rng(4)
    for t, shift in enumerate((0.02, 0.4, 2.2, 4.6), start=1):
        u = 0.002 * random.standard_normal(problem.points.shape)
        u[: problem.first[1], 0] += shift
        trial, matrix = problem.evaluate(state, u, float(t), None, data=True)
        helds = problem.contact_states(trial)
        direction = random.standard_normal(u.shape)

        def residual_at(s, u=u, direction=direction, state=state, helds=helds, t=t):
            return problem.evaluate(state, u + s[0] * direction, float(t), helds, data=False)[
                0
            ].residual

        differences, exact = (
            jacobian(residual_at, np.zeros(1), 1e-5)[:, 0],
            matrix @ direction.ravel(),
        )
        assert np.abs(differences - exact).max() < 1e-7 * np.abs(exact).max()
        state = problem.accepted(state, trial, float(t))


@pytest.mark.parametrize("passes", ["two-half-pass", "mortar"])
def test_slip_past_the_first_node_of_a_closed_boundary(passes):
    """Heat does not depend on where the numbering of a closed partner begins."""
    low = rectangle(4.0, 1.0, (8, 2), (-2.0, -1.0)).outlined("rim")
    rim, heats = low.boundaries["rim"], []
    first = low.points[low.edge_nodes("rim")[:, 0]]
    for seam in ((0.0, 0.0), (0.0, -1.0)):
        start = int(np.linalg.norm(first - seam, axis=1).argmin())
        mesh = Mesh(low.points, low.cells, {"rim": np.roll(rim, -start, axis=0)})
        slider = rectangle(0.4, 0.2, (1, 1), (-0.6, 0.9 * LAW.gap_eq))
        bodies = [Body(m, ELEMENTS["Q1"](), NeoHookean()) for m in (mesh, slider)]
        pair = (Boundary(1, "bottom"), Boundary(0, "rim"), LAW, EA(0.3, 0.0))
        contact = Contact(*pair, passes=passes, stretch=False)
        problem = Problem(Assembled(bodies, [contact]))
        state, u, heat = problem.start(0.0), np.zeros(problem.points.shape), 0.0
        for t in range(1, 11):
            u[problem.first[1] :, 0] += 0.1
            trial, _ = problem.evaluate(state, u, float(t), None, data=False)
            heat += sum(out[:, k.HEAT].sum() for out in trial.point_values)
            state = problem.accepted(state, trial, float(t))
        heats.append(heat)
    assert heats[0] > 0.0
    assert_allclose(heats[0], heats[1], rtol=1e-12)


# ---------------------------------------------------------------- descriptions


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"boundary": "bottom"}, "boundary"),
        ({"partner": None}, "partner"),
        ({"adhesion": 1.0}, "adhesion"),
        ({"friction": 0.3}, "friction"),
        ({"penalty": 0.0}, "penalty"),
        ({"penalty": float("nan")}, "penalty"),
        ({"stick_ratio": 0.9}, "stick_ratio"),
        ({"friction_from": float("inf")}, "friction_from"),
    ],
)
def test_bad_contacts_are_refused(settings, name):
    with pytest.raises(ModelError, match=name):
        Contact(**settings)


@pytest.mark.parametrize(
    "other",
    [
        Contact(Boundary(0, "bottom"), Boundary(1, "left")),
        Contact(Boundary(0, "right"), Boundary(1, "top")),
        Contact(Boundary(0, "bottom"), Boundary(1, "top")),
        Contact(Boundary(1, "top"), Boundary(0, "bottom")),
    ],
)
def test_a_boundary_touches_each_body_once(other):
    """Two contacts of one boundary with one body would load it twice."""
    body = Body()
    pair = Contact(Boundary(0, "bottom"), Boundary(1, "top"))
    with pytest.raises(ModelError, match="twice"):
        Assembled([body, body, body], [pair, other])
    # contacts with several bodies are accepted
    Assembled([body, body, body], [pair, Contact(Boundary(2, "bottom"), Boundary(1, "top"))])
    # a plane has many points
    planes = [RigidPlane(point, (0.0, 1.0)) for point in ((0.0, -1.0), (5.0, -1.0), (0.0, -2.0))]
    first, same, below = (Contact(Boundary(0, "bottom"), plane) for plane in planes)
    with pytest.raises(ModelError, match="one and the same partner"):
        Assembled([body], [first, same])
    Assembled([body], [first, below])


def test_the_penalty_follows_the_normal_law():
    contact = Contact(adhesion=LAW)
    stiff = abs(float(np.asarray(LAW.stiffness(LAW.gap_eq))))
    assert_allclose(contact.tangential_stiffness, 10.0 * stiff, rtol=1e-4)
    assert Contact(adhesion=LAW, penalty=3.0).tangential_stiffness == 3.0


def test_points_at_overflowing_distance_have_no_closest_point():
    contact_pass, x, _ = one_pass(FRICTION["none"], "surface", 2, 3)
    closest = contact_pass.project(np.where(np.arange(x.shape[0])[:, None] < 3, 1e300, x), None)
    assert closest.element.max() < contact_pass.partner.nodes.shape[0]
    assert not closest.normal.all()
