"""Membranes: tangents, rigid motions, closed forms, patch test, and both ways to run kernels."""

import math

import numpy as np
import pytest
from membrane_cases import ball, cylinder, inner_nodes, problem_of
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import stiction as st
from stiction.exact import membranes as exact
from stiction.numerics import jit
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact.partners import Boundary
from stiction.solids.membranes.kinematics import principal
from stiction.solids.membranes.model import Membrane
from stiction.solids.membranes.patch import Patch, flat_patch

RNG = np.random.default_rng


def rough(seed, cells=(3, 2)):
    """Return a rough rational patch."""
    random = RNG(seed)
    flat = flat_patch(2.0, 1.5, cells)
    points = flat.points + 0.08 * random.standard_normal(flat.points.shape)
    weights = 1.0 + 0.3 * random.random(flat.weights.shape)
    return Patch(points, *flat.breaks, weights)


def evaluated(problem, u, data=False):
    trial, matrix = problem.evaluate(problem.start(0.0), u, 0.0, None, data)
    return trial.residual, matrix


@pytest.mark.parametrize("seed", range(4))
def test_tangent_against_differences(seed):
    problem = problem_of(Membrane(rough(seed), 2.0, 0.3, (1.1, 1.04)))
    random = RNG(seed + 10)
    u, way = 0.1 * random.standard_normal((2, problem.size, 3))
    _, matrix = evaluated(problem, u, data=True)
    h = 1e-3
    two, one, less, least = (evaluated(problem, u + s * h * way)[0] for s in (2, 1, -1, -2))
    found = (8.0 * (one - less) - (two - least)) / (12.0 * h)
    exactly = (matrix @ way.ravel()).reshape(u.shape)
    assert np.abs(found - exactly).max() < 1e-7 * np.abs(exactly).max()
    assert abs(matrix - matrix.T).max() < 1e-14 * abs(matrix).max()
    energies = [problem.bulk.energy(u + s * h * way) for s in (2, 1, -1, -2)]
    slope = (8.0 * (energies[1] - energies[2]) - (energies[0] - energies[3])) / (12.0 * h)
    assert abs(slope - (evaluated(problem, u)[0] * way).sum()) < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_rigid_motions_turn_forces_and_keep_energy(seed):
    problem = problem_of(Membrane(rough(seed), prestretch=1.05))
    random = RNG(seed)
    u = 0.1 * random.standard_normal((problem.size, 3))
    turn = Rotation.random(random_state=seed).as_matrix()
    x = problem.points + u
    moved = x @ turn.T + random.standard_normal(3) - problem.points
    force, size = evaluated(problem, u)[0], 1e-11
    assert_allclose(evaluated(problem, moved)[0], force @ turn.T, atol=size)
    assert_allclose(problem.bulk.energy(moved), problem.bulk.energy(u), rtol=size)
    # forces of a membrane balance, and so do their moments
    assert_allclose(force.sum(axis=0), 0.0, atol=size)
    assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=size)


def test_patch_of_any_shape_takes_a_constant_stretch():
    flat = flat_patch(2.0, 1.5, (4, 3))
    random = RNG(3)
    points = flat.points.copy()
    points[1:-1, 1:-1, ::2] += 0.06 * random.standard_normal(points[1:-1, 1:-1, ::2].shape)
    patch = Patch(points, *flat.breaks)
    problem = problem_of(Membrane(patch))
    gradient = np.eye(3) + 0.3 * random.standard_normal((3, 3))
    u = problem.points @ gradient.T - problem.points
    force = evaluated(problem, u)[0]
    assert np.abs(force).max() > 1e-2
    assert_allclose(force[inner_nodes(patch)], 0.0, atol=1e-11)
    assert_allclose(principal(problem.bulk.sheets[0], u).std(axis=(1, 2)), 0.0, atol=1e-11)


@pytest.mark.parametrize("stretch", [1.0, 1.2, 2.5, 5.0])
@pytest.mark.parametrize("law", [exact.uniaxial, exact.pure_shear, exact.equibiaxial])
def test_uniaxial_and_pure_shear(law, stretch):
    young, thickness, length, width = 3.0, 0.2, 2.0, 1.5
    across = {
        exact.uniaxial: stretch**-0.5, exact.pure_shear: 1.0, exact.equibiaxial: stretch,
    }[law]  # fmt: skip
    patch = flat_patch(length, width, (3, 2))
    problem = problem_of(Membrane(patch, young, thickness))
    u = problem.points * (np.array([stretch, 1.0, across]) - 1.0)
    force = evaluated(problem, u)[0][patch.node_sets()["right"]].sum(axis=0)
    tension, energy = law(stretch)
    whole = young * thickness * width
    assert_allclose(force, [tension * whole, 0.0, 0.0], atol=1e-12 * stretch)
    assert_allclose(problem.bulk.energy(u), energy * whole * length, atol=1e-13 * stretch**2)
    # current force per current width
    reported = principal(problem.bulk.sheets[0], u)
    assert_allclose(reported.max(axis=0), young * thickness * tension / across, atol=1e-12)


def test_prestretch_is_a_stretch():
    """A sheet that is attached stretched has the forces of one that is stretched to that size."""
    one, two = 1.2, 1.1
    small = problem_of(Membrane(flat_patch(2.0 / one, 1.5 / two, (3, 2))))
    large = problem_of(Membrane(flat_patch(2.0, 1.5, (3, 2)), prestretch=(one, two)))
    random = RNG(4)
    u = 0.1 * random.standard_normal((large.size, 3))
    moved = large.points + u - small.points
    assert_allclose(evaluated(large, u)[0], evaluated(small, moved)[0], atol=1e-13)
    assert_allclose(large.bulk.energy(u), small.bulk.energy(moved), rtol=1e-13)


def loaded(patch, x, pressure, cells=6):
    """Return the forces of a pressure on the control points, by a rule of its own."""
    surface = patch.surface(*np.polynomial.legendre.leggauss(cells))
    rule = np.polynomial.legendre.leggauss(cells)[1]
    tangents = np.einsum("eqnm,end->mdeq", surface.derivatives, x[surface.nodes])
    normal = np.cross(tangents[0], tangents[1], axis=0) * np.ravel(rule[:, None] * rule)
    force = np.zeros_like(x)
    shares = np.einsum("eqn,deq->end", surface.functions, normal)
    np.add.at(force, surface.nodes.ravel(), pressure * shares.reshape(-1, 3))
    return force


@pytest.mark.parametrize("pieces", [4, 8])
def test_inflated_shapes(pieces):
    """Forces inside meet those of the pressure of the closed form; the rest is that of the rule."""
    stretch, axial, radius = 1.7, 1.2, 2.0
    for patch, factors, pressure in (
        (cylinder(radius, 1.5, pieces, 2), (stretch, stretch, axial),
         exact.inflated_cylinder(stretch, axial) / radius),
        (ball(radius, pieces, pieces), (stretch,) * 3, exact.inflated_sphere(stretch) / radius),
    ):  # fmt: skip
        problem = problem_of(Membrane(patch))
        u = problem.points * (np.array(factors) - 1.0)
        inside = inner_nodes(patch)
        force = evaluated(problem, u)[0][inside]
        other = loaded(patch, problem.points + u, pressure)[inside]
        size = np.abs(force).max()
        assert np.abs(force - other).max() < 3e-3 * (4.0 / pieces) ** 4 * size


def test_kernels_have_the_same_bits():
    problem = problem_of(Membrane(rough(7), prestretch=1.02))
    u = 0.1 * RNG(1).standard_normal((problem.size, 3))
    before, found = jit.mode(), []
    try:
        for mode in ("compiled", "plain"):
            jit.use(mode)
            residual, matrix = evaluated(problem, u, data=True)
            found.append((residual, matrix.data, problem.bulk.energy(u)))
    finally:
        jit.use(before)
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_a_sheet_that_shrinks_to_a_line_is_counted():
    problem = problem_of(Membrane(flat_patch(1.0, 1.0, (2, 2))))
    u = np.zeros((problem.size, 3))
    u[:, 2] = -problem.points[:, 2]
    trial, _ = problem.evaluate(problem.start(0.0), u, 0.0, None, False)
    assert trial.inverted > 0
    assert math.isnan(problem.bulk.energy(u))


def test_a_strip_is_pulled_by_the_solver():
    """Uniaxial tension, found by the solver, with units of force in newtons."""
    patch = flat_patch(0.02, 0.01, (3, 2))
    membrane = Membrane(patch, 3e6, 1e-3)
    stretch = 1.8
    conditions = [
        Driven(Boundary(0, "right"), 0, Program((0.0, 1.0), (0.0, (stretch - 1.0) * 0.02))),
        Fixed(Boundary(0, "left"), (0,)),
        Fixed(Boundary(0, "front"), (2,)),
        Fixed(Boundary(0, "face"), (1,)),
    ]
    solid = st.Solid(
        [membrane],
        boundary_conditions=conditions,
        readings=st.solids.Readings(displacement=0, support=True),
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=4), t_span=(0.0, 1.0))
    tension = exact.uniaxial(stretch)[0] * membrane.tension * 0.01
    assert_allclose(run.data["force_x"].values[-1], tension, rtol=1e-9)
    assert run.data["force_x"].attrs["units"] == "N"
    assert run.audit.ok
    # from a solid to a file and back
    from stiction.io.scenario import Scenario, read_scenario
    from stiction.io.scenario.writer import write_scenario

    again = read_scenario(
        write_scenario(Scenario(solid, st.solids.Quasistatic(steps=4), t_end=1.0))
    )
    assert again.system == solid


def test_both_sides_of_contact_with_a_membrane_are_checked():
    law = st.LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)
    block = st.solids.SweptBody(
        st.solids.rectangle(2.0, 1.0, (1, 1)), [0.0, 2.0], st.solids.Q1(), st.solids.NeoHookean()
    )
    sheet = Membrane(flat_patch(2.0, 2.0, (2, 2), (0.0, 1.0 + law.gap_eq, 0.0)), prestretch=1.05)
    contact = st.solids.Contact(Boundary(0, "top"), Boundary(1, "face"), law, st.EA(0.1))
    held = [Fixed(Boundary(0, "bottom")), Fixed(Boundary(1, "face"))]
    run = st.solve(st.Solid([block, sheet], [contact], held), st.solids.Quasistatic(steps=1))
    made = [check.check for check in run.audit]
    assert made.count("penalty_stiff_enough") == 2
    assert {"front_resolved", "process_zone_resolved", "law_length_resolved"} <= set(made)
