"""Springs to the ground: energy, foundations, and the limit of stiff ones."""

import numpy as np
import pytest

import stiction as st
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    LinearElastic,
    Nearest,
    NeoHookean,
    Program,
    Reaction,
    Rigid,
    RigidPlane,
    Spring,
    SweptBody,
    Symmetry,
    Tied,
    rectangle,
)
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def to(value):
    return Program((0.0, 1.0), (0.0, value))


def sheared(drives):
    """A block on a plane, moved sideways at its top."""
    mesh = rectangle(2.0, 1.0, (8, 4), (0.0, LAW.gap_eq))
    top = Boundary(0, "top")
    solid = st.Solid(
        [Body(mesh, Q1(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "bottom"), RigidPlane(), LAW, EA(0.3))],
        [Fixed(top, (1,)), *drives(top)],
        readings=Readings(displacement=1, support=True),
        dimensionless=True,
    )
    return st.solve(solid, st.solids.Quasistatic(steps=24))


def test_stiff_springs_are_drives():
    """Forces approach those of prescribed motion with the first power of 1/k."""
    exact = sheared(lambda top: [Driven(top, 0, to(0.08))])
    off = []
    for k in (40.0, 80.0, 160.0, 320.0):
        run = sheared(lambda top, k=k: [Spring(top, 0, k, to(0.08)), Tied(top, 0)])
        assert run.energy.imbalance_rel < 2e-3
        # before it slides
        off.append(exact.data["force_x"].values[6] - run.data["force_x"].values[6])
    ratio = np.array(off[:-1]) / np.array(off[1:])
    assert (np.abs(ratio - 2.0) < 2e-2).all()
    assert ratio[-1] == pytest.approx(2.0, rel=5e-3)


@pytest.mark.parametrize("tied", [False, True])
def test_a_bar_between_springs(tied):
    """A linear bar and a spring in series; the spring's energy is half of force times way."""
    e, width, height, k = 2.0, 3.0, 1.5, 0.7
    body = Body(rectangle(width, height, (3, 2)), Q1(), LinearElastic(e, 0.0))
    held = [Symmetry(Boundary(0, "left")), Symmetry(Boundary(0, "bottom"))]
    held.append(Spring(Boundary(0, "right"), 0, k, to(0.4)))
    if tied:
        held.append(Tied(Boundary(0, "right"), 0))
    readings = Readings(displacement=2, support=True)
    run = st.solve(st.Solid([body], [], held, readings=readings), st.solids.Quasistatic(steps=2))
    stiff = e * height / width
    force = 0.4 / (1.0 / k + 1.0 / stiff)
    assert run.data["force_x"].values[-1] == pytest.approx(force, rel=1e-10)
    assert run.energy.stored[-1] == pytest.approx(0.5 * force * 0.4, rel=1e-10)
    assert run.data["condition_work"].values[-1, 2] == pytest.approx(0.5 * force * 0.4, rel=1e-10)
    assert run.energy.imbalance_rel < 1e-9


def test_a_plate_held_by_a_spring():
    """The rigid partner goes where spring and contact balance."""
    mesh = rectangle(1.0, 1.0, (2, 2), (0.0, LAW.gap_eq))
    solid = st.Solid(
        [Body(mesh, Q1(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "bottom"), RigidPlane(), LAW)],
        [Fixed(Boundary(0, "top")), Spring(Rigid(0), 1, 0.5, to(0.2))],
        readings=Readings(displacement=1, support=True),
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=10))
    force, plate = run.data["force_y"].values, run.data["normal_displacement"].values
    np.testing.assert_allclose(force, 0.5 * (0.2 * run.time - plate), rtol=1e-9, atol=1e-12)
    pressure = run.data["normal_traction"].values
    np.testing.assert_allclose(pressure.mean(axis=1), force, rtol=1e-6, atol=1e-9)
    assert run.energy.imbalance_rel < 1e-3


@pytest.mark.parametrize(
    ("given", "words"),
    [({"stiffness": 0.0}, "Spring.stiffness"), ({"component": 2}, "Spring.component"),
     ({"where": 3}, "Spring.where"), ({"program": 1.0}, "Spring.program")],
)  # fmt: skip
def test_springs_that_are_none(given, words):
    with pytest.raises(st.ModelError, match=words):
        Spring(**given)


@pytest.mark.parametrize("where", [Nearest(0, (1.0, 0.5, 1.0)), Rigid(0)])
def test_springs_in_space(where):
    """The force is stiffness times elongation, and its work is energy."""
    body = SweptBody(rectangle(1.0, 0.5, (2, 1)), [0.0, 0.5, 1.0], Q1(), NeoHookean(1.0, 0.3))
    plane = RigidPlane((0.0, 0.5 + LAW.gap_eq, 0.0), (0.0, -1.0, 0.0))
    solid = st.Solid(
        [body],
        [Contact(Boundary(0, "top"), plane, LAW)] if isinstance(where, Rigid) else [],
        [Fixed(Boundary(0, "bottom"), (0, 1, 2)), Spring(where, 1, 0.1, to(0.02))],
        readings=Readings(
            displacement=1, support=True, reactions=[Reaction(Boundary(0, "bottom"))]
        ),
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=2))
    force = run.data["force_y"].values[-1]
    assert 1e-4 < force < 0.1 * 0.02
    assert force == pytest.approx(-run.data["reaction_1_y"].values[-1], rel=1e-6)
    assert run.energy.imbalance_rel < 1e-3
