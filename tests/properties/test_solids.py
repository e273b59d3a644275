"""Random small solids: heat, energy, objectivity, units, symmetry, order of bodies."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.testing import assert_allclose
from solid_cases import ELEMENTS, MATERIALS, bound, distorted, forces

import stiction as st
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidPlane
from stiction.solids.elements.kinds import discretise
from stiction.solids.equilibria.problem import Problem
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import Mesh, rectangle
from stiction.solids.model import Assembled, Body, Readings, Solid

elements = some.sampled_from(sorted(ELEMENTS))
seeds = some.integers(0, 999)
frictions = some.one_of(
    some.builds(EA, some.floats(0.05, 0.6), some.sampled_from([1.0, 0.5, 0.0, -0.001])),
    some.builds(DI, some.floats(0.05, 0.6), some.just(1.0), some.floats(5.0, 80.0)),
)
few = settings(max_examples=8, deadline=None)


def pressed(element, friction, seed, steps, length=1.0, stress=1.0, **contact):
    """Return the run of a block in adhesion that is pressed a little and pushed back and forth."""
    random = np.random.default_rng(seed)
    law = LennardJones.from_strength(0.06 * stress, 0.01 * stress * length)
    mesh = distorted(2.0, 1.0, (4, 2), seed=seed)
    place = mesh.points * length + np.array([0.0, law.gap_eq])
    body = Body(
        Mesh(place, mesh.cells, mesh.boundaries),
        ELEMENTS[element](),
        NeoHookean(stress, random.uniform(0.0, 0.4)),
    )
    down, push = -random.uniform(0.0, 0.03), random.uniform(-0.15, 0.15, 2)
    top = Boundary(0, "top")
    times = (0.0, 0.5, 1.0)
    given_there = [
        Driven(top, 0, Program(times, (0.0, *(length * push)))),
        Driven(top, 1, Program(times, (0.0, length * down, length * down))),
    ]
    touching = Contact(Boundary(0, "bottom"), RigidPlane(), law, friction, **contact)
    system = Solid([body], [touching], given_there, readings=Readings(displacement=0))
    return st.solve(system, st.solids.Quasistatic(steps=steps))


@few
@given(elements, frictions, seeds)
def test_friction_takes_energy_and_the_ledger_closes(element, friction, seed):
    for steps in (8, 32):
        run = pressed(element, friction, seed, steps)
        assert np.all(np.diff(run.energy.total_friction_heat) >= 0.0)
        # one number for both: the imbalance falls as the step squared
        assert run.energy.imbalance_rel < 0.03 / steps**2


@few
@given(elements, frictions, seeds, some.floats(1e-3, 1e3), some.floats(1e-2, 1e6))
def test_units_are_a_choice(element, friction, seed, length, stress):
    plain, scaled = (pressed(element, friction, seed, 4, *u) for u in ((), (length, stress)))
    force, energy = length * stress, length**2 * stress
    for name in ("force_x", "force_y"):
        size = np.abs(plain.data["force_y"].values).max() + np.abs(plain.data[name].values).max()
        wanted = force * plain.data[name].values
        assert_allclose(scaled.data[name].values, wanted, atol=1e-7 * force * size)
    for name in ("stored", "adhesive", "external_work"):
        wanted = energy * getattr(plain.energy, name)
        found = getattr(scaled.energy, name)
        assert_allclose(found, wanted, atol=1e-7 * energy * plain.energy.scale)
    assert np.array_equal(scaled.data["slides"].values, plain.data["slides"].values)


def turned(points, u, angle, shift):
    """Return displacements that turn and shift what is displaced already."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (points + u) @ turn.T + shift - points, turn


angles = some.floats(-3.0, 3.0)
shifts = some.tuples(some.floats(-2.0, 2.0), some.floats(-2.0, 2.0))


@settings(max_examples=30, deadline=None)
@given(
    elements,
    some.booleans(),
    some.sampled_from(sorted(set(MATERIALS) - {"LinearElastic"})),
    seeds,
    angles,
    shifts,
)
def test_internal_forces_turn_with_the_body(element, reduced, name, seed, angle, shift):
    random = np.random.default_rng(seed)
    mesh = distorted(cells=(3, 2), seed=seed)
    parts = discretise(mesh, ELEMENTS[element](reduced), ("bottom",))
    for plane_stress in (False,) if reduced else (False, True):
        bulk, _ = bound(parts, MATERIALS[name].table(plane_stress))
        u = 0.01 * random.standard_normal(parts.points.shape)
        moved, turn = turned(parts.points, u, angle, np.array(shift))
        plain = forces(bulk, u)
        size = np.abs(plain).max()
        # of places of size 5, in strains of size 0.1
        assert_allclose(forces(bulk, moved), plain @ turn.T, atol=1e-12 * max(size, 1.0))
        assert_allclose(bulk.energy(moved), bulk.energy(u), rtol=1e-11)
        assert_allclose(plain.sum(axis=0), 0.0, atol=1e-13)


def two(element, friction, seed, swapped=False):
    """Return two rough blocks in contact, and a motion of all their nodes."""
    random = np.random.default_rng(seed)
    law = LennardJones(1.0, 0.3)
    bodies = [
        Body(distorted(1.5, 1.0, (3, 2), seed=seed, origin=(0.0, 0.1)), ELEMENTS[element]()),
        Body(distorted(1.7, 1.0, (4, 2), seed=seed, origin=(-0.1, -1.1)), ELEMENTS[element]()),
    ]
    sides = [Boundary(0, "bottom"), Boundary(1, "top")]
    if swapped:
        bodies, sides = bodies[::-1], [Boundary(1, "bottom"), Boundary(0, "top")]
    contact = Contact(*sides, law, friction, penalty=20.0)
    problem = Problem(Assembled(bodies, [contact]))
    first, last = problem.first[1], problem.size - problem.first[1]
    sizes = (last, first) if swapped else (first, last)
    fields = [0.01 * random.standard_normal((2, n, 2)) for n in sizes]
    order = fields[::-1] if swapped else fields
    motions = [np.concatenate([f[t] for f in order]) for t in range(2)]
    return problem, motions


def followed(problem, motions):
    """Return what contact reports after two given motions, the first one accepted."""
    state = problem.start(0.0)
    trial = problem.evaluate(state, motions[0], 0.5, None, data=False)[0]
    state = problem.accepted(state, trial, 0.5)
    return problem.evaluate(state, motions[1], 1.0, None, data=False)[0]


@settings(max_examples=25, deadline=None)
@given(elements, frictions, seeds, angles, shifts)
def test_contact_turns_with_the_bodies(element, friction, seed, angle, shift):
    problem, motions = two(element, friction, seed)
    plain = followed(problem, motions)
    there = [turned(problem.points, u, angle, np.array(shift)) for u in motions]
    moved = followed(problem, [u for u, _ in there])
    turn = there[0][1]
    size = np.abs(plain.residual).max()
    assert_allclose(moved.residual, plain.residual @ turn.T, atol=1e-11 * size)
    for a, b in zip(plain.point_values, moved.point_values, strict=True):
        assert np.array_equal(a[:, k.STATE], b[:, k.STATE])
        touching = np.isfinite(a[:, k.GAP])
        columns = [k.GAP, k.PRESSURE, k.SHEAR, k.HEAT, k.SPRING, k.POTENTIAL]
        here, now = a[touching][:, columns], b[touching][:, columns]
        assert_allclose(now, here, atol=1e-11 * np.abs(here).max())


@settings(max_examples=15, deadline=None)
@given(elements, frictions, seeds)
def test_bodies_may_come_in_any_order(element, friction, seed):
    problem, motions = two(element, friction, seed)
    other, same = two(element, friction, seed, swapped=True)
    a, b = followed(problem, motions), followed(other, same)
    n = problem.first[1]
    size = np.abs(a.residual).max()
    m = other.first[1]
    assert_allclose(b.residual[m:], a.residual[:n], atol=1e-12 * size)
    assert_allclose(b.residual[:m], a.residual[n:], atol=1e-12 * size)


@few
@given(
    elements,
    frictions,
    some.sampled_from([RigidPlane(), RigidCircle((0.0, -5.0), 5.0)]),
    some.floats(-0.05, 0.01),
)
def test_what_is_symmetric_stays_so(element, friction, partner, down):
    law = LennardJones.from_strength(0.06, 0.01)
    body = Body(rectangle(2.0, 1.0, (6, 2), (-1.0, law.gap_eq)), ELEMENTS[element]())
    top = Boundary(0, "top")
    conditions = [Fixed(top, (0,)), Driven(top, 1, Program((0.0, 1.0), (0.0, down)))]
    system = Solid(
        [body],
        [Contact(Boundary(0, "bottom"), partner, law, friction)],
        conditions,
        readings=Readings(displacement=1),
    )
    run = st.solve(system, st.solids.Quasistatic(steps=4))
    force = np.abs(run.data["force_y"].values).max()
    assert np.abs(run.data["force_x"].values).max() < 1e-8 * max(force, 0.06)
    for name, sign in (("normal_traction", 1.0), ("tangential_traction", -1.0)):
        values = run.data[name].values
        assert_allclose(values, sign * values[:, ::-1], atol=1e-7)
    gap = run.data["gap"].values
    assert_allclose(gap, gap[:, ::-1], rtol=1e-7)


def test_without_friction_nothing_is_spent():
    run = pressed("Q2N2", Frictionless(), 3, 6)
    assert not run.energy.total_friction_heat.any()
    assert not run.energy.algorithmic.any()
