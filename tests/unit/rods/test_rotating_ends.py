"""Rods at rest whose ends turn and slide: closed forms, drag in time, what must not matter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st
from stiction.rods import (
    CircularSection,
    Clamped,
    CosseratRod,
    Driven,
    Free,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    RollingLeapfrog,
    Straight,
    Turned,
)
from stiction.rods.statics import equilibrium, follow_path
from stiction.rods.supports.rotating_ends import _onto_first, product, rotate

SECTION = CircularSection(0.01, 1e6, 0.5, 1000.0)
ALONG, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
# a place in space that nothing prefers
TURN = np.array([0.4, -0.5, 0.2, 0.3]) / np.linalg.norm([0.4, -0.5, 0.2, 0.3])


def rod(axis, angle, turn=(1.0, 0.0, 0.0, 0.0), unit=1.0, slides=False, loads=(), **more):
    """Return a rod of a metre along x, clamped at its start, its end turned, in any place and unit.

    loads : (kind, vector, unit of it in powers of length), ...
    """
    turn = np.asarray(turn)

    def put(x):
        return rotate(turn, np.asarray(x, dtype=float)[:, None])[:, 0]

    section = CircularSection(0.01 * unit, 1e6 / unit, 0.5, 1000.0 / unit**3)
    given = {"elements": 12, "right": Turned(put(axis), (0.0, 1.0), (0.0, angle), slides)}
    made = [kind(put(vector) * unit**power) for kind, vector, power in loads]
    line = Straight(put(0.0 * ALONG), put(unit * ALONG))
    director = put((0.0, 1.0, 0.0))
    return CosseratRod(section, line, loads=made, first_director=director, **{**given, **more})


def test_twist_alone_has_a_closed_form():
    for angle in (2.0, 9.0):
        rest = equilibrium(rod(ALONG, angle))
        stored = 0.5 * SECTION.twist_stiffness * angle**2
        assert rest.energy == pytest.approx(stored, rel=1e-12)
        assert_allclose(rest.position, np.linspace(0.0, ALONG, 13), atol=1e-13)


@pytest.mark.parametrize("across", [0.0, 1e-9, 5e-7, 1e-3])
def test_an_axis_nearly_opposite_to_x_is_rotated_onto_x(across):
    axis = np.array([-1.0, across, 0.3 * across])
    axis /= np.linalg.norm(axis)
    assert_allclose(rotate(_onto_first(axis), axis[:, None])[:, 0], ALONG, atol=2e-8)


def test_an_end_that_slides_moves_along_its_axis_alone():
    loads = [(PointForce, (0.05, 0.02, 0.0), 1)]
    rest = equilibrium(rod(ALONG, 2.0, slides=True, loads=loads, turn=TURN))
    long = 1.0 + 0.05 / SECTION.axial_stiffness
    expected = rotate(TURN, np.linspace(0.0, long * ALONG, 13).T).T
    assert_allclose(rest.position, expected, atol=1e-12)
    assert rest.residual <= 1e-9


BENT = {
    "held": {"axis": UP, "angle": 1.2, "loads": [(LineForce, (0.0, 0.0, -0.002), 0)]},
    "slides": {
        "axis": (0.8, 0.6, 0.0),
        "angle": 0.9,
        "slides": True,
        "loads": [(LineForce, (0.0, 0.001, -0.002), 0), (PointForce, (-0.003, 0.0, 0.0), 1)],
    },
}


@pytest.mark.parametrize("name", BENT)
def test_drag_brings_a_rod_in_motion_to_the_same_rest(name):
    given = BENT[name]
    rest = equilibrium(rod(**given))
    damped = {"drag": 3.0 * SECTION.line_density, "rotational_drag": 40.0 * SECTION.line_inertia}
    run = st.solve(
        st.Rods([rod(**given, **damped)]), RollingLeapfrog(fraction=0.5), (0.0, 25.0), save=3
    )
    moved = np.abs(rest.position - np.linspace(0.0, ALONG, 13)).max()
    assert moved > 0.04
    assert_allclose(run.data.position.values[-1], rest.position, atol=1e-6 * moved)
    # reason: what is left of the motion counts once, not squared, in what the loads did
    assert run.energy.stored[-1] == pytest.approx(rest.energy, rel=1e-5)


@pytest.mark.parametrize("name", BENT)
def test_frame_unit_and_steps_do_not_matter(name):
    given = BENT[name]
    rest = equilibrium(rod(**given))
    cases = {
        "frame": (equilibrium(rod(**given, turn=TURN)), lambda x: rotate(TURN, x.T).T, 1.0),
        "unit": (equilibrium(rod(**given, unit=1e3)), lambda x: 1e3 * x, 1.0),
        "steps": (equilibrium(rod(**given), steps=31), lambda x: x, 1.0),
        "start": (equilibrium(rod(**given), start=rest), lambda x: x, 1.0),
    }
    for label, (other, put, _) in cases.items():
        expected = put(rest.position)
        size = np.abs(expected).max()
        assert_allclose(other.position, expected, atol=1e-8 * size, err_msg=label)
    frames = product(TURN, rest.frame.T).T
    same = np.abs((cases["frame"][0].frame * frames).sum(axis=1))
    assert_allclose(same, 1.0, atol=1e-12)


def test_a_rod_turned_about_the_other_way_round_is_its_mirror():
    one, two = (equilibrium(rod(UP, angle)) for angle in (0.7, -0.7))
    assert_allclose(one.position * (1.0, -1.0, 1.0), two.position, atol=1e-10)
    # and an axis that points against the first one, where the way there is not unique
    loads = [(PointForce, (0.0, 0.01, 0.0), 0), (PointForce, (0.05, 0.0, 0.0), 0)]
    there = equilibrium(rod(ALONG, 1.0, slides=True, loads=loads))
    back = equilibrium(rod(-ALONG, -1.0, slides=True, loads=loads))
    assert_allclose(there.position, back.position, atol=1e-12)


def test_a_path_passes_through_the_rests():
    given = BENT["slides"]
    path = follow_path(rod(**given), arc=0.05, max_points=12)
    middle = path.states[6]
    assert 0.05 < middle.factor < 1.0
    part = {
        **given,
        "angle": middle.factor * given["angle"],
        "loads": [(kind, middle.factor * np.asarray(x), u) for kind, x, u in given["loads"]],
    }
    assert_allclose(middle.position, equilibrium(rod(**part)).position, atol=1e-9)


def test_refusals():
    loads = [(PointForce, (0.01, 0.0, 0.0), 0)]
    with pytest.raises(st.ModelError, match="no end with a fixed node"):
        equilibrium(rod(ALONG, 1.0, slides=True, loads=loads, left=Free()))
    other = Turned(UP, (0.0, 1.0), (0.0, 1.0), slides=True)
    with pytest.raises(st.ModelError, match=r"different axes|fixed node"):
        equilibrium(rod(ALONG, 1.0, slides=True, left=other))
    with pytest.raises(st.ModelError, match="driven end"):
        equilibrium(rod(ALONG, 1.0, left=Driven(velocity=(1.0, 0.0, 0.0))))
    with pytest.raises(st.ModelError, match="without loads"):
        equilibrium(rod(ALONG, 0.0))
    # held by a pin and a clamp that slides
    rest = equilibrium(rod(ALONG, 0.5, slides=True, loads=loads, left=Pinned()))
    assert rest.position[-1, 0] == pytest.approx(1.0 + 0.01 / SECTION.axial_stiffness, rel=1e-12)
    # a moment on a rod that turns as well
    moment = [(PointMoment, (0.0, 0.0, 1e-4), 2)]
    assert equilibrium(rod(UP, 0.5, loads=moment)).stable is None
    assert equilibrium(rod(UP, 0.5, left=Clamped())).stable
