"""Motions start in equilibrium, in every frame and unit; where they cannot, the run says so."""

import numpy as np
import pytest

import stiction as st
from stiction.laws import Frictionless, LennardJones, amontons
from stiction.solids import (
    Q1,
    Q1N2,
    Q2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    GeneralisedAlpha,
    Loaded,
    Mesh,
    MovingSolid,
    Nearest,
    NeoHookean,
    Program,
    Rigid,
    RigidPlane,
    SweptBody,
    Traction,
    disc,
    rectangle,
)

# load per width over modulus and length of a body
LOAD = 3e-3


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def constant(force, make):
    """Conditions for the components of a force that is there from the first moment on."""
    return [make(i, Program((0.0,), (float(f),))) for i, f in enumerate(force)]


def friction(mu):
    return amontons(mu) if mu else Frictionless()


def disc_on_plane(angle, mu, size=1.0, modulus=1.0, element=None):
    """A disc that a force at its centre presses on a plane; the plane is turned, the mesh not."""
    law = LennardJones.from_strength(0.05 * modulus, 2e-4 * modulus * size, adhesive=False)
    turn = turned(angle)
    centre = turn @ [0.0, size + 0.98 * law.gap_eq]
    body = Body(disc(size, (6, 4), 2, tuple(centre)), element or Q1N2(), NeoHookean(modulus, 0.3))
    plane = RigidPlane((0.0, 0.0), tuple(turn[:, 1]))
    contact = Contact(Boundary(0, "rim"), plane, law, friction(mu), friction_from=-1.0)
    force = turn @ [0.0, -LOAD * modulus * size]
    loads = constant(force, lambda i, p: Loaded(Nearest(0, tuple(centre)), i, p))
    plain = size == modulus == 1.0
    return st.Solid([body], [contact], loads, dimensionless=plain), force


def block(angle=0.0, gaps=1.0, mu=0.3, element=None, more=(), press=LOAD, size=1.0, modulus=1.0):
    """A block above a turned plane, under a dead load on its top; `gaps` in those of the law."""
    law = LennardJones.from_strength(0.05 * modulus, 1e-4 * modulus * size, adhesive=False)
    turn = turned(angle)
    flat = rectangle(size, 0.5 * size, (2, 1), (0.0, gaps * law.gap_eq))
    mesh = Mesh(flat.points @ turn.T, flat.cells, flat.boundaries)
    body = Body(mesh, element or Q1(), NeoHookean(modulus, 0.3))
    plane = RigidPlane((0.0, 0.0), tuple(turn[:, 1]))
    contact = Contact(Boundary(0, "bottom"), plane, law, friction(mu), friction_from=-1.0)
    force = turn @ [0.0, -press * modulus]
    loads = constant(force, lambda i, p: Traction(Boundary(0, "top"), i, p))
    plain = size == modulus == 1.0
    return st.Solid([body], [contact], [*loads, *more], dimensionless=plain), force * size


def moved(solid, end=1.0, steps=5, start=0.0, **more):
    method = GeneralisedAlpha(steps=steps)
    return st.solve(MovingSolid(solid, **more), method, (start, start + end))


def forces_on(run):
    return np.stack([run.data[f"force_{x}"].values for x in "xyz" if f"force_{x}" in run.data], 1)


def left(run):
    """Forces out of equilibrium at the start, over those in equilibrium."""
    return next(c.value for c in run.audit.checks if c.check == "starts_in_equilibrium")


def check_audit(run):
    """What the audit asks of a motion holds, whatever it says of meshes as coarse as these."""
    asked = {"starts_in_equilibrium", "ledger_closes", "motion_resolved", "steps_converged"}
    assert asked <= {c.check for c in run.audit.checks}
    assert not {c.check for c in run.audit.checks if not c.ok} & asked, run.audit


def check_rests(run, load, rel=2e-8):
    """The plane carries the load, from the first moment on, and nothing moves."""
    check_audit(run)
    away = np.linalg.norm(forces_on(run) + load, axis=1)
    assert away.max() < rel * np.linalg.norm(load)
    energy = run.energy.columns()
    assert energy["kinetic"].max() < 1e-13 * energy["stored"][0]


@pytest.mark.parametrize("mu", [0.3, 0.0])
@pytest.mark.parametrize("angle", [0.0, 0.3, 1.2, 4.0])
def test_a_disc_rests_in_every_frame(angle, mu):
    """It rolls to where its integration points carry it: no force resists that before."""
    solid, load = disc_on_plane(angle, mu)
    check_rests(moved(solid), load)


@pytest.mark.parametrize(("size", "modulus"), [(1e-9, 1.0), (1e-3, 2e11), (1e6, 1e6)])
@pytest.mark.parametrize("made", [disc_on_plane, block])
def test_the_start_does_not_depend_on_units(made, size, modulus):
    solid, load = made(0.3, mu=0.3, size=size, modulus=modulus)
    run = moved(solid, size / np.sqrt(modulus), density=1.0)
    check_rests(run, load)
    plain = moved(made(0.3, mu=0.3)[0])
    shape, same = (r.data["drawn_position"].values[0] for r in (run, plain))
    np.testing.assert_allclose(shape / size, same, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("element", [Q1(), Q2(), Q1N2()])
def test_the_start_is_the_equilibrium_of_load_steps(element):
    """At the gap of equilibrium, where the law has no stiffness, load steps have no start."""
    guide = [Fixed(Boundary(0, "left"), (0,))]
    static = st.solve(block(0.0, 0.9, 0.0, element, guide)[0], st.solids.Quasistatic(steps=1))
    shape = static.data["drawn_position"].values[0]
    for gaps in (0.9, 1.0, 1.0 + 1e-12, 1.001, 1.1):
        solid, load = block(0.0, gaps, 0.0, element, guide)
        run = moved(solid)
        assert left(run) <= 1e-9
        np.testing.assert_allclose(run.data["force_y"].values, -load[1], rtol=2e-8)
        np.testing.assert_allclose(run.data["drawn_position"].values[0], shape, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("start", [0.0, 3.0])
@pytest.mark.parametrize("mu", [0.3, 0.0])
@pytest.mark.parametrize("gaps", [1.0, 1.0 + 1e-12, 1.001])
def test_a_free_block_rests_where_the_law_begins(gaps, mu, start):
    solid, load = block(0.4, gaps, mu)
    check_rests(moved(solid, start=start), load)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_two_blocks_rest_on_each_other(angle, upper):
    """Whichever body comes first."""
    law = LennardJones.from_strength(0.05, 1e-4, adhesive=False)
    turn, lower = turned(angle), 1 - upper
    shapes = {
        lower: rectangle(1.0, 0.5, (2, 2), (0.0, law.gap_eq)),
        upper: rectangle(0.8, 0.5, (2, 2), (0.1, 0.5 + 2.0 * law.gap_eq)),
    }
    meshes = [Mesh(m.points @ turn.T, m.cells, m.boundaries) for _, m in sorted(shapes.items())]
    bodies = [Body(mesh, Q1(), NeoHookean(1.0, 0.3)) for mesh in meshes]
    below = Boundary(lower, "bottom"), RigidPlane((0.0, 0.0), tuple(turn[:, 1]))
    between = Boundary(upper, "bottom"), Boundary(lower, "top")
    contacts = [Contact(*below, law), Contact(*between, law, passes="mortar")]
    loads = constant(turn @ [0.0, -LOAD], lambda i, p: Traction(Boundary(upper, "top"), i, p))
    solid = st.Solid(bodies, contacts[:: 1 - 2 * upper], loads, dimensionless=True)
    run = moved(solid)
    check_audit(run)
    energy = run.energy.columns()
    assert energy["kinetic"].max() < 1e-13 * energy["stored"][0]
    # the weightless pair carries the load through both contacts
    assert np.abs(forces_on(run)[:, :]).max() < 0.8 * LOAD * (1.0 + 1e-7)


@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_a_body_in_space_rests(angle):
    law = LennardJones.from_strength(0.05, 1e-4, adhesive=False)
    turn = turned(angle)
    flat = rectangle(1.0, 0.5, (2, 1), (0.0, law.gap_eq))
    section = Mesh(flat.points @ turn.T, flat.cells, flat.boundaries)
    body = SweptBody(section, (0.0, 0.5, 1.0), Q1(), NeoHookean(1.0, 0.3))
    plane = RigidPlane((0.0, 0.0, 0.0), (*turn[:, 1], 0.0))
    contact = Contact(Boundary(0, "bottom"), plane, law)
    top = Nearest(0, (*turn @ [0.5, 0.5 + law.gap_eq], 0.5))
    force = turn @ [0.0, -LOAD]
    loads = constant(force, lambda i, p: Loaded(top, i, p))
    run = moved(st.Solid([body], [contact], loads, dimensionless=True))
    check_rests(run, np.array([*force, 0.0]))


@pytest.mark.parametrize("pull", [0.01, -0.01])
def test_a_free_body_under_equal_loads_has_one_start(pull):
    """What is drawn or pressed at both ends is strained alike in every frame."""
    stored = []
    for angle in (0.0, 0.3, 0.7, 1.2):
        turn = turned(angle)
        flat = rectangle(1.0, 0.2, (6, 2))
        body = Body(Mesh(flat.points @ turn.T, flat.cells, flat.boundaries), Q1())
        loads = []
        for name, sign in (("left", -1.0), ("right", 1.0)):
            where = Boundary(0, name)
            loads += constant(sign * pull * turn[:, 0], lambda i, p, at=where: Traction(at, i, p))
        run = moved(st.Solid([body], [], loads, dimensionless=True))
        check_audit(run)
        energy = run.energy.columns()
        assert energy["kinetic"].max() < 1e-13 * energy["stored"][0]
        stored.append(energy["stored"][0])
    np.testing.assert_allclose(stored, stored[0], rtol=1e-8)


@pytest.mark.parametrize("guide", [(), (Fixed(Boundary(0, "left"), (0,)),)])
@pytest.mark.parametrize("velocity", [None, [(0.0, -0.01)]])
def test_a_body_above_the_plane_falls_from_where_it_is(guide, velocity):
    """Free or in a guide: its equilibrium on the plane is no start for it."""
    solid, load = block(0.0, 30.0, 0.0, more=guide, press=1e-3)
    run = moved(solid, 0.5, velocity=velocity)
    check_audit(run)
    x = run.data["drawn_position"].values[..., 1].mean(axis=1)
    law = solid.contacts[0].adhesion
    assert x[0] == pytest.approx(30.0 * law.gap_eq + 0.25, rel=1e-12)
    fallen = 0.5 * load[1] / 0.5 * 0.5**2 + (0.5 * velocity[0][1] if velocity else 0.0)
    assert x[-1] - x[0] == pytest.approx(fallen, rel=1e-2)


@pytest.mark.parametrize("angle", [0.0, 0.1, 0.3])
def test_a_disc_of_chords_rests(angle):
    """Whether a corner or a side is lowest: the mesh knows its circle no better."""
    solid, load = disc_on_plane(angle, 0.0, element=Q1())
    check_rests(moved(solid), load)


def test_a_plate_without_mass_comes_down_on_a_block():
    """A rigid partner that a force presses: the flow carries it as it carries bodies."""
    law = LennardJones.from_strength(0.05, 1e-4, adhesive=False)
    body = Body(rectangle(1.0, 0.5, (2, 1)), Q1(), NeoHookean(1.0, 0.3))
    plate = RigidPlane((0.0, 0.5 + law.gap_eq), (0.0, -1.0))
    conditions = [
        Fixed(Boundary(0, "bottom")),
        Driven(Rigid(0), 0, Program((0.0,), (0.0,))),
        Loaded(Rigid(0), 1, Program((0.0,), (-LOAD,))),
    ]
    contact = Contact(Boundary(0, "top"), plate, law)
    run = moved(st.Solid([body], [contact], conditions, dimensionless=True))
    np.testing.assert_allclose(run.data["force_y"].values, -LOAD, rtol=2e-8)
    assert left(run) <= 1e-9


def test_a_start_that_inverts_elements_is_reported():
    """At the start time the top is driven below the fixed bottom: the energy is not defined."""
    body = Body(rectangle(1.0, 1.0, (1, 1)), Q1(), NeoHookean(1.0, 0.3))
    fall = Driven(Boundary(0, "top"), 1, Program((0.0, 1.0), (0.0, -2.0)))
    solid = st.Solid([body], [], [Fixed(Boundary(0, "bottom")), fall], dimensionless=True)
    run = st.solve(MovingSolid(solid), GeneralisedAlpha(steps=2), (1.0, 2.0), throw=False)
    assert run.status is st.Status.UNCONVERGED
    assert "forces in the initial position are not finite" in run.reason
