"""A run that goes on from any of its checkpoints has the bits of one that was left alone."""

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.laws import Frictionless, LennardJones
from stiction.solids import (
    Q1N2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    GeneralisedAlpha,
    MovingSolid,
    Nearest,
    NeoHookean,
    Program,
    RigidPlane,
    Stage,
    rectangle,
)
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def pushed_at_a_place():
    """A place between two control points drives a block that its contact pulls on."""
    plane = RigidPlane((0.0, 1.0 + LAW.gap_eq), (0.0, -1.0))
    body = Body(rectangle(2.0, 1.0, (10, 4)), Q1N2(), NeoHookean(1.0, 0.3))
    drive = Driven(Nearest(0, (1.0, 1.0)), 1, Program((0, 1), (0, -0.02)))
    return st.Solid(
        [body],
        [Contact(Boundary(0, "top"), plane, LAW, Frictionless())],
        [Fixed(Boundary(0, "bottom")), drive],
        readings=Readings(displacement=1, support=True),
    )


def column():
    """A column that passes its load of buckling."""
    drive = Driven(Boundary(0, "right"), 0, Program((0, 1), (0, -0.15)))
    return st.Solid(
        [Body(rectangle(15.0, 1.0, (15, 1)), st.solids.Q2(), NeoHookean(1.0, 0.3))],
        [],
        [drive, Fixed(Boundary(0, "left"))],
        readings=Readings(displacement=0, support=True),
    )


@pytest.mark.parametrize("system", [pushed_at_a_place, column])
@pytest.mark.parametrize(
    ("method", "save"),
    [
        (st.solids.Quasistatic(steps=6), None),
        (st.solids.Quasistatic(steps=6), [0.0, 0.13, 0.77, 1.0]),
        (st.Continuation(steps=6), None),
    ],
    ids=["steps", "rows", "path"],
)
def test_a_run_goes_on_to_the_same_bits(system, method, save):
    for turn in (1, 2, 4):
        saved = Memory(turn=turn)
        whole = st.solve(system(), method, save=save, checkpoint=saved)
        assert saved.state is not None
        again = st.solve(system(), method, save=save, checkpoint=Memory(saved.state, turn=0))
        for name, variable in whole.variables.items():
            found = again.variables[name].values
            assert np.array_equal(variable.values, found, equal_nan=True), name
        assert again.determinism.losses == whole.determinism.losses
        assert [tuple(vars(c).values()) for c in again.audit] == [
            tuple(vars(c).values()) for c in whole.audit
        ]


def test_a_run_without_free_displacements():
    """Load steps go on from a checkpoint; a path would be a curve of nothing."""
    top = Boundary(0, "top")
    held = [Fixed(Boundary(0, "bottom")), Fixed(top, (0,))]
    held.append(Driven(top, 1, Program((0.0, 1.0), (0.0, 0.1))))
    solid = st.Solid([Body(rectangle(2.0, 1.0, (2, 1)), Q1N2())], [], held)
    saved, method = Memory(turn=2), st.solids.Quasistatic(steps=4)
    whole = st.solve(solid, method, checkpoint=saved)
    again = st.solve(solid, method, checkpoint=Memory(saved.state, turn=0))
    np.testing.assert_array_equal(again.data["force_y"].values, whole.data["force_y"].values)
    with pytest.raises(st.ModelError, match="Continuation: got a solid without free displace"):
        st.solve(solid, st.Continuation(steps=4))


def in_flight():
    """A body in flight: no step takes an iteration."""
    body = Body(rectangle(1.0, 0.5, (2, 1)), Q1N2(), NeoHookean(1.0, 0.3))
    return MovingSolid(st.Solid([body]), velocity=[(0.1, -0.05)])


def held_for_a_while():
    """A drive, a stage without iterations and with other free unknowns, and the drive back."""
    top, stages = Boundary(0, "top"), []
    drives = [Driven(top, 0, Program((a, a + 1.0), (0.0, b))) for a, b in ((0.0, 0.1), (2.0, -0.1))]
    for until, held in ((1.0, drives[0]), (2.0, Fixed(top)), (3.0, drives[1])):
        stages.append(Stage(until, [held]))
    body = Body(rectangle(1.0, 0.5, (4, 2)), Q1N2(), NeoHookean(1.0, 0.3))
    return st.Solid([body], [], [Fixed(Boundary(0, "bottom"))], stages=stages)


@pytest.mark.parametrize(
    ("system", "method"),
    [(in_flight, GeneralisedAlpha(steps=6)), (held_for_a_while, st.solids.Quasistatic(steps=6))],
)
def test_steps_without_iterations(system, method):
    """Until the next iteration a checkpoint has no analysed matrix of the present unknowns."""
    saved = Memory()
    whole = st.solve(system(), method, (0.0, 3.0), checkpoint=saved)
    assert not all(page["analysed"].size for page in saved.pages)
    for page in saved.pages:
        again = st.solve(system(), method, (0.0, 3.0), checkpoint=Memory(page, turn=0))
        for name, variable in whole.variables.items():
            assert np.array_equal(variable.values, again.variables[name].values), name
        assert again.stats == whole.stats
