"""Forces and moments of supports, and the work of every condition."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1,
    Q1N2,
    Q2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    Linear,
    Loaded,
    Nearest,
    NeoHookean,
    Pressure,
    Program,
    Reaction,
    Rigid,
    RigidCircle,
    RigidPlane,
    Spring,
    SweptBody,
    Symmetry,
    Term,
    Tied,
    Traction,
    rectangle,
)
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def to(value):
    return Program((0.0, 1.0), (0.0, value))


def pressed(about=(0.0, 0.0)):
    """A block between a wall, the ground and a cylinder, with its left side under pressure."""
    mesh = rectangle(2.0, 1.0, (10, 4))
    circle = RigidCircle((1.2, 1.0 + LAW.gap_eq + 0.8), 0.8)
    places = [Boundary(0, "bottom"), Boundary(0, "right"), Rigid(0), Boundary(0, "left")]
    return st.Solid(
        [Body(mesh, Q1N2(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "top"), circle, LAW, EA(0.4))],
        [
            Fixed(Boundary(0, "bottom")),
            Symmetry(Boundary(0, "right")),
            Driven(Rigid(0), 1, to(-0.05)),
            Driven(Rigid(0), 0, to(0.03)),
            Traction(Boundary(0, "left"), 1, to(0.02)),
        ],
        readings=Readings(reactions=[Reaction(place, about) for place in places]),
        dimensionless=True,
    )


def reported(run, i):
    return np.array([run.data[f"reaction_{i}_{n}"].values for n in ("x", "y", "moment")])


def test_sums_of_reactions():
    """Supports, the rigid partner and the traction balance, and so do their moments."""
    about = np.array([0.3, -0.7])
    run = st.solve(pressed(about), st.solids.Quasistatic(steps=8))
    bottom, right, circle, left = (reported(run, i) for i in (1, 2, 3, 4))
    # a corner belongs to both supports
    pulled = 0.02 * run.time
    forces = bottom[:2] + right[:2] + circle[:2] - np.array([0.0 * pulled, -pulled])
    both = st.solve(
        dataclass_with(pressed(about), Reaction(Nearest(0, (2.0, 0.0)), about)),
        st.solids.Quasistatic(steps=8),
    )
    shared = reported(both, 5)
    size = np.abs(circle[:2]).max()
    np.testing.assert_allclose(forces - shared[:2], 0.0, atol=1e-9 * size)
    # the traction acts on a side that moves: its moment follows from where that side is
    moments = bottom[2] + right[2] + circle[2] - shared[2]
    drawn = run.data["drawn_position"].values
    line = np.flatnonzero(np.abs(drawn[0][:, 0]) < 0.02)
    line = line[np.argsort(drawn[0][line, 1])]
    # the spline layer is drawn with the middle of its cells
    height = [0.0, 0.25, 0.5, 0.75, 0.875, 1.0]
    arm = np.trapezoid(drawn[-1][line, 0] - about[0], height)
    assert moments[-1] == pytest.approx(-0.02 * arm, rel=1e-9)
    # the left side is held at its lower corner alone
    assert 0.0 < np.abs(left[:2]).max() < np.abs(bottom[:2]).sum()


def dataclass_with(solid, more):
    """Return a solid with one more reaction to be reported."""
    import dataclasses

    readings = solid.readings
    more_readings = Readings(reactions=[*readings.reactions, more])
    return dataclasses.replace(solid, readings=more_readings)


def test_moments_balance_to_rounding():
    """A bar held at both ends and loaded in the middle by a force: lever by lever."""
    body = Body(rectangle(4.0, 0.5, (8, 2)), Q2(), NeoHookean(1.0, 0.3))
    places = [Boundary(0, "left"), Boundary(0, "right")]
    about = (1.0, 3.0)
    solid = st.Solid(
        [body],
        [],
        [*(Fixed(p) for p in places), Loaded(Nearest(0, (1.0, 0.5)), 1, to(-2e-3))],
        readings=Readings(reactions=[Reaction(p, about) for p in places]),
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=4, newton_tolerance=1e-12))
    left, right = reported(run, 1)[:, -1], reported(run, 2)[:, -1]
    np.testing.assert_allclose(left[:2] + right[:2], [0.0, 2e-3], atol=1e-12)
    drawn = run.data["drawn_position"].values
    at = np.argmin(np.linalg.norm(drawn[0] - (1.0, 0.5), axis=1))
    moment = (drawn[-1, at, 0] - about[0]) * -2e-3
    assert left[2] + right[2] + moment == pytest.approx(0.0, abs=1e-12)
    assert run.data["reaction_1_x"].attrs["units"] == "N/m"
    assert run.data["reaction_1_moment"].attrs["units"] == "N m/m"


def test_forces_and_moments_balance_in_space():
    body = SweptBody(rectangle(1.0, 1.0, (2, 2)), [0.0, 0.4, 1.0], Q1(), NeoHookean(1.0, 0.3))
    top, bottom = Boundary(0, "top"), Boundary(0, "bottom")
    held = [Fixed(bottom, (0, 1, 2)), *(Driven(top, c, to(0.1 - 0.15 * c)) for c in range(3))]
    reported_at = [
        Reaction(top, (3.0, -1.0, 2.0)),
        Reaction(bottom, (3.0, -1.0, 2.0)),
        Reaction(top),
    ]
    solid = st.Solid([body], [], held, readings=Readings(reactions=reported_at))
    run = st.solve(solid, st.solids.Quasistatic(steps=2, newton_tolerance=1e-12))
    parts = ("x", "y", "z", "moment_x", "moment_y", "moment_z")
    one, other, origin = (
        np.array([run.data[f"reaction_{i}_{part}"].values[-1] for part in parts]) for i in (1, 2, 3)
    )
    assert np.abs(one).min() > 1e-3
    np.testing.assert_allclose(one, -other, rtol=0.0, atol=1e-12)
    about = np.cross([3.0, -1.0, 2.0], one[:3])
    np.testing.assert_allclose(origin[3:], one[3:] + about, rtol=0.0, atol=1e-12)
    assert run.data["reaction_1_moment_x"].attrs["units"] == "N m"
    assert run.data["reaction_1_z"].attrs["units"] == "N"
    with pytest.raises(ModelError, match=r"Reaction\.about: got 2 coordinates; needs 3"):
        st.Solid([body], [], held, readings=Readings(reactions=[Reaction(top, (0.0, 0.0))]))


def test_works_sum_to_the_external():
    solid = pressed()
    more = [Spring(Boundary(0, "left"), 0, 0.3, to(-0.02)), Pressure(Boundary(0, "left"), to(0.05))]
    full = st.Solid(
        solid.bodies,
        solid.contacts,
        [*solid.boundary_conditions, *more],
        readings=solid.readings,
        dimensionless=True,
    )
    run = st.solve(full, st.solids.Quasistatic(steps=20))
    work = run.data["condition_work"].values
    assert work.shape == (run.time.size, 7)
    np.testing.assert_allclose(work.sum(axis=1), run.energy.external_work, rtol=0, atol=1e-15)
    assert run.energy.imbalance_rel < 1e-2
    assert (np.abs(work[-1, 2:]) > 1e-6).all()


def test_places_of_reactions_are_checked():
    with pytest.raises(st.ModelError, match=r"Reaction\.where"):
        Reaction(1)
    with pytest.raises(st.ModelError, match=r"Reaction\.about"):
        Reaction(Boundary(0, "left"), (1.0, 2.0, 3.0, 4.0))
    with pytest.raises(st.ModelError, match=r"Readings\.reactions"):
        Readings(reactions=[Boundary(0, "left")])


@pytest.mark.parametrize("constraint", [None, Tied(Boundary(0, "top"), 1)])
def test_supports_beside_a_constraint(constraint):
    """Without contact the forces of a run are those of supports, not of the constraint."""
    bottom = Boundary(0, "bottom")
    held = [Fixed(bottom), Traction(Boundary(0, "top"), 1, to(0.1))]
    held += [] if constraint is None else [constraint]
    body = Body(rectangle(2.0, 1.0, (4, 2)), Q1(), NeoHookean(1.0, 0.3))
    readings = Readings(reactions=[Reaction(bottom)])
    run = st.solve(st.Solid([body], [], held, readings=readings), st.solids.Quasistatic(steps=2))
    np.testing.assert_allclose(run.data["force_y"].values[-1], -0.2, rtol=1e-7)
    np.testing.assert_allclose(run.data["reaction_1_y"].values[-1], -0.2, rtol=1e-7)


def test_a_driven_place_beside_a_constraint():
    """The force of a place is the one that does its work; a neighbour shares control points."""
    place = Nearest(0, (1.0, 0.0))
    far = RigidPlane((0.0, -3.0), (0.0, 1.0))
    solid = st.Solid(
        [Body(rectangle(2.0, 1.0, (4, 2)), Q1N2(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "bottom"), far, LAW)],
        [
            Fixed(Boundary(0, "top")),
            Driven(place, 1, to(-0.1)),
            Driven(Nearest(0, (0.5, 0.0)), 1, to(0.02)),
            Linear([Term(Nearest(0, (0.0, 0.5)), 0)]),
        ],
        readings=Readings(displacement=1, support=True, reactions=[Reaction(place)]),
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=1))
    force, known = (run.data[name].values[-1] for name in ("force_y", "reaction_1_y"))
    assert force == pytest.approx(known, rel=1e-12)
    work = run.data["condition_work"].values[-1, 1]
    # reason: the force over the displacement is not quite linear
    assert -0.05 * force == pytest.approx(work, rel=1e-3)
    assert force < -0.1
