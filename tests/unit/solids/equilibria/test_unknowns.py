"""A condition for a place on a boundary of splines holds for the place, not a control point."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import Frictionless, LennardJones
from stiction.solids import (
    Q1,
    Q1H,
    Q1N2,
    Q2,
    Q2N2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    Loaded,
    Nearest,
    NeoHookean,
    Program,
    RigidPlane,
    SweptBody,
    rectangle,
)
from stiction.solids.elements.kinds import discretise
from stiction.solids.equilibria.problem import Problem
from stiction.solids.equilibria.unknowns import Unknowns, nearest_node
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def along(end):
    return Program((0, 1), (0, end))


def block(element, *conditions, near=False):
    """A block held at its bottom; its top has the element's layer and touches nothing."""
    height = 1.0 + (LAW.gap_eq if near else 1e3)
    far = Contact(Boundary(0, "top"), RigidPlane((0.0, height), (0.0, -1.0)), LAW, Frictionless())
    body = Body(rectangle(2.0, 1.0, (10, 4)), element, NeoHookean(1.0, 0.3))
    held = [Fixed(Boundary(0, "bottom")), *conditions]
    driven = [i for i, condition in enumerate(held) if isinstance(condition, Driven)]
    readings = Readings(displacement=driven[0] if driven else None, support=bool(driven))
    return st.Solid([body], [far], held, readings=readings)


def moved(run, place):
    """Return by how much the drawn point at a place moved."""
    before, after = (run.data["drawn_position"].values[i] for i in (0, -1))
    return (after - before)[np.argmin(np.linalg.norm(before - place, axis=1))]


@pytest.mark.parametrize("element", [Q1(), Q1N2(), Q2N2(), Q1H(), Q1N2(exact_arc=True)])
@pytest.mark.parametrize("at", [1.0, 1.2, 0.0])
def test_the_place_goes_where_the_program_says(element, at):
    place = Nearest(0, (at, 1.0))
    drive = [
        Driven(place, 1, along(-0.02)),
        Driven(place, 0, along(0.01)),
    ]
    run = st.solve(block(element, *drive), st.solids.Quasistatic(steps=2))
    np.testing.assert_allclose(moved(run, (at, 1.0)), [0.01, -0.02], rtol=0, atol=1e-12)
    # linear cells around a place that is driven bend
    assert {c.check for c in run.audit if c.ok is False} <= {"bending_does_not_lock"}
    assert run.energy.imbalance_rel < 3e-3


def test_neighbours_are_held_apart():
    """Two places next to each other, and the force of one drives the other way round."""
    one, other = Nearest(0, (1.0, 1.0)), Nearest(0, (1.2, 1.0))
    drive = [
        Driven(one, 1, along(-0.02)),
        Driven(other, 1, along(0.01)),
    ]
    run = st.solve(block(Q1N2(), *drive), st.solids.Quasistatic(steps=2))
    assert moved(run, (1.0, 1.0))[1] == pytest.approx(-0.02, abs=1e-12)
    assert moved(run, (1.2, 1.0))[1] == pytest.approx(0.01, abs=1e-12)


@pytest.mark.parametrize("element", [Q1(), Q1N2(), Q2N2(), Q1H()])
def test_a_force_does_what_its_drive_needed(element):
    place = Nearest(0, (1.0, 1.0))
    driven = st.solve(
        block(element, Driven(place, 1, along(-0.02))), st.solids.Quasistatic(steps=2)
    )
    force = float(driven.data["force_y"].values[-1])
    loaded = st.solve(
        block(element, Loaded(place, 1, along(force))), st.solids.Quasistatic(steps=2)
    )
    assert moved(loaded, (1.0, 1.0))[1] == pytest.approx(-0.02, rel=1e-7)
    # the work of a force is that on the place
    work = [float(run.energy.external_work[-1]) for run in (driven, loaded)]
    assert work[1] == pytest.approx(work[0], rel=1e-3)


def test_tangent_against_differences():
    place = Nearest(0, (1.0, 1.0))
    system = block(Q1N2(), Driven(place, 1, along(-0.02)), near=True)
    problem = Problem(system.assembled())
    rng = np.random.default_rng(0)
    state = problem.start(0.0)
    v = 1e-3 * rng.standard_normal((problem.size, 2))
    v[problem.fixed] = 0.0
    _, matrix = problem.evaluate(state, v, 0.5, None, data=True)
    direction = rng.standard_normal(v.shape)
    h = 1e-6
    ahead, behind = (
        problem.evaluate(state, v + s * h * direction, 0.5, None, data=False)[0] for s in (1, -1)
    )
    exact = (matrix @ direction.ravel()).reshape(v.shape)
    difference = (ahead.residual - behind.residual) / (2.0 * h)
    np.testing.assert_allclose(difference, exact, atol=1e-7 * np.abs(exact).max(), rtol=0)
    # forces are the slope of the energy by the unknowns
    energies = [sum(problem.stored(trial)) for trial in (ahead, behind)]
    assert (energies[0] - energies[1]) / (2.0 * h) == pytest.approx(
        float(np.sum(0.5 * (ahead.residual + behind.residual) * direction)), rel=1e-6
    )


def test_places_are_those_of_the_mesh():
    part = discretise(rectangle(2.0, 1.0, (10, 4)), Q1N2(), contact="top")
    for point in ((1.0, 1.0), (0.4, 1.0), (2.0, 1.0), (0.6, 0.5)):
        numbers, weights = nearest_node(part.points, part.places, np.array(point))
        np.testing.assert_allclose(weights @ part.points[numbers], point, atol=1e-14)
        assert weights.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("element", [Q1(), Q1N2(), Q2(), Q2N2(), Q1H()])
def test_places_of_a_swept_body_are_in_every_layer(element):
    part = SweptBody(rectangle(2.0, 1.0, (4, 2)), (0.0, 0.3, 1.0, 1.6, 2.0), element).discretised(
        ("top",)
    )
    for point in ((1.0, 1.0, 1.0), (2.0, 1.0, 0.3), (1.0, 0.5, 1.0), (0.5, 1.0, 2.0)):
        numbers, weights = nearest_node(part.points, part.places, np.array(point))
        np.testing.assert_allclose(weights @ part.points[numbers], point, atol=1e-14)
        assert weights.sum() == pytest.approx(1.0, abs=1e-15)


def test_more_places_than_control_points_are_refused():
    unknowns = Unknowns(4)
    pairs = np.array([0, 1]), np.array([0.5, 0.5])
    assert unknowns.point_unknown(*pairs) == unknowns.point_unknown(*pairs) == 0
    assert unknowns.point_unknown(pairs[0], np.array([0.3, 0.7])) == 1
    with pytest.raises(ModelError, match=r"more neighbouring points than control points"):
        unknowns.point_unknown(pairs[0], np.array([0.2, 0.8]))
