"""Programs, and what is held, driven or loaded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import ELEMENTS

from stiction.errors import ModelError
from stiction.solids.conditions import (
    Driven,
    Fixed,
    Loaded,
    Nearest,
    Program,
    Rigid,
    bodies_named,
    ramp,
)
from stiction.solids.constraints import Linear, Term
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.equilibria.problem import Problem
from stiction.solids.mesh.model import rectangle
from stiction.solids.model import Assembled, Body


def test_program():
    program = Program([1.0, 2.0, 4.0], [0.5, -1.0, 3.0])
    values = [program.at(t) for t in (0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0)]
    assert_allclose(values, [0.5, 0.5, -0.25, -1.0, 1.0, 3.0, 3.0], rtol=1e-15)
    assert_allclose(program.corners(), [1.0, 2.0, 4.0])
    assert ramp(2.5).at(0.2) == pytest.approx(0.5)
    assert Program((0.0,), (1.0,)).at(7.0) == 1.0


def problem(*conditions, element="Q1N2"):
    """Return a block on a rigid plane under these conditions."""
    body = Body(rectangle(2.0, 1.0, (4, 2)), ELEMENTS[element]())
    contact = Contact(Boundary(0, "bottom"), RigidPlane((0.0, -1.0)))
    return Problem(Assembled([body], [contact], conditions))


@pytest.mark.parametrize("element", sorted(ELEMENTS))
def test_what_is_free(element):
    made = problem(
        Fixed(Boundary(0, "left"), (0,)),
        Driven(Boundary(0, "top"), 1, ramp(-0.2)),
        Loaded(Rigid(0), 1, ramp(4.0)),
        element=element,
    )
    left = np.abs(made.points[:-1, 0]) < 1e-12
    top = np.abs(made.points[:-1, 1] - 1.0) < 1e-12
    assert np.array_equal(made.fixed[:-1, 0], left)
    assert np.array_equal(made.fixed[:-1, 1], top)
    # a rigid partner is held but where a load acts
    assert made.fixed[-1].tolist() == [True, False]
    wanted = np.zeros((made.size, 2))
    wanted[:-1][top, 1] = -0.1
    assert_allclose(made.prescribed(0.5), wanted)
    force = made.loads(0.5)
    assert force[-1].tolist() == [0.0, 2.0]
    assert not force[:-1].any()
    assert made.kink_times().tolist() == [0.0, 1.0]


def test_the_node_nearest_to_a_point():
    made = problem(Loaded(Nearest(0, (1.9, 0.6)), 0, ramp(3.0)))
    node = np.flatnonzero(made.loads(1.0)[:, 0])
    assert node.size == 1
    assert_allclose(made.points[node[0]], (2.0, 0.5))


def test_bottom_means_all_control_points_of_the_layer():
    made = problem(Fixed(Boundary(0, "bottom")))
    assert_allclose(made.points[made.fixed[:, 0]][:-1, 1], 0.0)
    # five ends of pieces make six control points
    assert int(made.fixed[:-1, 0].sum()) == 6


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Program([0.0, 0.0], [1.0, 2.0]), "times"),
        (lambda: Program([0.0, 1.0], [1.0]), "values"),
        (lambda: Program([0.0, float("nan")], [1.0, 2.0]), "times"),
        (lambda: Nearest(-1), "body"),
        (lambda: problem(Fixed(Nearest(0, (1.0, 2.0, 3.0)))), "point"),
        (lambda: Rigid(-1), "contact"),
        (lambda: Fixed("bottom"), "where"),
        (lambda: Fixed(Boundary(), (3,)), "components"),
        (lambda: Fixed(Boundary(), ()), "at least one component"),
        (lambda: Driven(Boundary(), 3), "component"),
        (lambda: Driven(Boundary(), 1, 0.5), "program"),
        (lambda: Loaded(Boundary()), "where"),
        (lambda: Loaded(Rigid(), -1), "component"),
        (lambda: Loaded(Rigid(), 1, None), "program"),
        (lambda: ramp(float("inf")), "ramp"),
        (lambda: problem(Fixed(Boundary(1, "bottom"))), "body"),
        (lambda: problem(Fixed(Boundary(0, "botom"))), "botom"),
        (lambda: problem(Fixed(Nearest(2))), "body"),
        (lambda: problem(Fixed(Rigid(1))), "contact"),
    ],
)
def test_bad_conditions_are_refused(make, name):
    with pytest.raises(ModelError, match=name):
        make()


def test_one_component_without_a_list():
    assert Fixed(Boundary(), 1).components == (1,)


TOP, LEFT = Boundary(0, "top"), Boundary(0, "left")
CONFLICTS = [
    (Driven(TOP, 1, ramp(-0.2)), Driven(TOP, 1, ramp(0.3))),
    (Driven(TOP, 1, ramp(-0.2)), Fixed(TOP, (1,))),
    (Fixed(TOP), Driven(TOP, 0, ramp(0.3))),
    (Loaded(Nearest(0, (1.0, 1.0)), 1, ramp(3.0)), Driven(TOP, 1, ramp(0.3))),
]


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("pair", CONFLICTS)
def test_two_conditions_for_one_displacement_are_refused(pair, before):
    # by their numbers, what is held first; and whatever else there is
    others = (Fixed(Boundary(0, "bottom"), (0, 1)),) * before
    number = rf"[{before}{before + 1}] \(\w+\)"
    reported = f"conditions {number} and {number} for the same [xy] displacement"
    with pytest.raises(ModelError, match=reported):
        problem(*others, *pair)


@pytest.mark.parametrize("before", [0, 1])
def test_a_corner_that_is_held_stays_held(before):
    others = (Fixed(Boundary(0, "right"), (0,)),) * before
    made = problem(*others, Fixed(LEFT, (1,)), Driven(TOP, 1, ramp(-0.2)))
    points, moved = made.points[:-1], made.prescribed(1.0)[:-1, 1]
    held = np.abs(points[:, 0]) < 1e-12
    top = np.abs(points[:, 1] - 1.0) < 1e-12
    assert made.fixed[:-1, 1].tolist() == (held | top).tolist()
    assert moved.tolist() == np.where(top & ~held, -0.2, 0.0).tolist()


def test_bodies_that_conditions_name():
    step = Program((0.0,), (0.0,))
    terms = [Term(Boundary(4, "left"), 0, 1.0), Term(Nearest(5, (0.0, 0.0)), 0, -1.0)]
    named = [Driven(Boundary(2, "top"), 0, step), Fixed(Rigid(7)), Linear(terms, step)]
    assert bodies_named(named) == {2, 4, 5}
    assert bodies_named([]) == set()
