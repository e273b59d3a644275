"""Stages: forces, then displacements, then nothing moves; each with its own steps and rows."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    GeneralisedAlpha,
    Linear,
    LinearElastic,
    Loaded,
    MovingSolid,
    Nearest,
    NeoHookean,
    Program,
    Rigid,
    RigidPlane,
    Spring,
    Stage,
    Symmetry,
    Term,
    Tied,
    Traction,
    rectangle,
)
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


class Memory:
    """A checkpoint that keeps the state at its turn, or gives back what it is reported."""

    def __init__(self, turn=0, given=None):
        self.turn, self.given, self.asked, self.state = turn, given, 0, None

    def due(self):
        self.asked += 1
        return self.asked == self.turn

    def save(self, state):
        self.state = {name: np.array(values) for name, values in state.items()}

    def load(self):
        return self.given


def preload_shear_hold(**first):
    """A block under a plate: pressed with a force, sheared at that height, then held."""
    mesh = rectangle(2.0, 1.0, (8, 4))
    plate = RigidPlane((0.0, 1.0 + LAW.gap_eq), (0.0, -1.0))
    press = Loaded(Rigid(0), 1, Program((0.0, 1.0), (0.0, -0.1)))
    shear = Driven(Rigid(0), 0, Program((1.0, 2.0), (0.0, 0.03)))
    return st.Solid(
        [Body(mesh, Q1(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "top"), plate, LAW, EA(0.4), friction_from=1.0)],
        [Fixed(Boundary(0, "bottom"))],
        readings=Readings(start=1.0),
        stages=[Stage(1.0, [press], **first), Stage(2.0, [shear]), Stage(3.0)],
        dimensionless=True,
    )


def test_preload_shear_hold():
    run = st.solve(preload_shear_hold(), st.solids.Quasistatic(steps=30), t_span=(0.0, 3.0))
    time, height = run.time, run.data["normal_displacement"].values
    force = run.data["force_y"].values
    pressed = time <= 1.0
    # forces on the body: the plate pushes down
    np.testing.assert_allclose(force[pressed], -0.1 * time[pressed], atol=1e-9)
    # from then on the plate keeps its height, whatever the force
    np.testing.assert_allclose(height[~pressed], height[pressed][-1], rtol=0.0, atol=1e-15)
    held = time > 2.0
    last = run.data["force_x"].values[time <= 2.0][-1]
    np.testing.assert_allclose(run.data["force_x"].values[held], last, rtol=1e-8)
    assert last > 0.005
    assert run.energy.imbalance_rel < 2e-3
    work = run.data["condition_work"].values
    np.testing.assert_allclose(work.sum(axis=1), run.energy.external_work, atol=1e-14)
    assert (np.diff(work[held], axis=0) == 0.0).all()


def test_stages_are_the_steps_of_one_problem():
    """A force that is taken over as a displacement: a bar that goes on from where it was."""
    e, width = 2.0, 3.0
    body = Body(rectangle(width, 1.0, (3, 1)), Q1(), LinearElastic(e, 0.0))
    right = Boundary(0, "right")
    solid = st.Solid(
        [body],
        [],
        [Symmetry(Boundary(0, "left")), Symmetry(Boundary(0, "bottom"))],
        stages=[
            Stage(1.0, [Tied(right, 0), Traction(right, 0, Program((0, 1), (0, 0.2)))]),
            Stage(2.0, [Driven(right, 0, Program((1, 2), (0, 0.15)))], steps=4),
            Stage(3.0, [Traction(right, 0, Program((0.0,), (0.3,)))], steps=2),
        ],
        readings=Readings(displacement=4, support=True),
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=6), t_span=(0.0, 3.0))
    x = run.data["drawn_position"].values[:, :, 0].max(axis=1) - width
    at = np.interp([1.0, 2.0, 3.0], run.data["snapshot_time"].values, x)
    np.testing.assert_allclose(at, [0.3, 0.45, 0.45], rtol=1e-10)
    assert run.energy.stored[-1] == pytest.approx(0.5 * e / width * 0.45**2, rel=1e-10)
    np.testing.assert_allclose(run.energy.external_work[-1], 0.5 * e / width * 0.45**2, rtol=1e-10)
    assert run.energy.imbalance_rel < 1e-9


def test_each_stage_has_its_rows():
    method = st.solids.Quasistatic(steps=30)
    some = st.solve(preload_shear_hold(steps=20, rows=2), method, t_span=(0.0, 3.0))
    first = some.time[some.time <= 1.0]
    np.testing.assert_allclose(first, [0.0, 0.5, 1.0], atol=1e-12)
    assert (some.time > 1.0).sum() >= 20
    every = st.solve(preload_shear_hold(steps=20), method, t_span=(0.0, 3.0))
    assert (every.time <= 1.0).sum() == 21
    # what is reported of the run does not depend on its rows
    assert some.quantities["peak_force_y"].value == every.quantities["peak_force_y"].value
    assert some.energy.external_work[-1] == every.energy.external_work[-1]


@pytest.mark.parametrize("method", [st.solids.Quasistatic(steps=9), st.Continuation(steps=9)])
@pytest.mark.parametrize("turn", [2, 5, 8])
def test_a_run_goes_on_in_its_stage(method, turn):
    saved = Memory(turn)
    span = {"t_span": (0.0, 3.0), "throw": False}
    whole = st.solve(preload_shear_hold(), method, checkpoint=saved, **span)
    if saved.state is None:
        assert isinstance(method, st.Continuation)
        return
    rest = st.solve(preload_shear_hold(), method, checkpoint=Memory(given=saved.state), **span)
    np.testing.assert_array_equal(rest.time, whole.time)
    for name in ("force_x", "force_y", "condition_work", "drawn_position"):
        np.testing.assert_array_equal(rest.data[name].values, whole.data[name].values)


def test_a_path_follows_stages_as_load_steps_do():
    steps = st.solve(preload_shear_hold(), st.solids.Quasistatic(steps=30), t_span=(0.0, 3.0))
    path = st.solve(preload_shear_hold(), st.Continuation(steps=30), t_span=(0.0, 3.0))
    assert path.data["program_time"].values[-1] == 3.0
    got = [np.interp(2.0, r.time, r.data["force_x"].values) for r in (steps, path)]
    assert got[1] == pytest.approx(got[0], rel=1e-2)
    np.testing.assert_allclose(
        path.data["normal_displacement"].values[-1],
        steps.data["normal_displacement"].values[-1],
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([Stage(1.0), Stage(1.0)], "rising times"),
        ([3], "Solid.stages"),
    ],
)
def test_stages_that_are_none(stages, words):
    body = Body(rectangle(1.0, 1.0, (1, 1)))
    with pytest.raises(ModelError, match=words):
        st.Solid([body], [], [Fixed(Nearest(0, (0, 0)))], stages=stages)


@pytest.mark.parametrize("given", [{"until": "x"}, {"steps": 0}, {"rows": 0}, {"conditions": [1]}])
def test_fields_of_a_stage(given):
    with pytest.raises(ModelError, match="Stage"):
        Stage(**given)


LEFT = Boundary(0, "left")


def spring(k, *reach):
    """A spring on the left side, whose other end moves as far as reported in one second."""
    times = (0.0, 1.0)[: len(reach)]
    return Spring(LEFT, 0, k, Program(times, reach))


PULLED = Program((0.0, 1.0), (0.0, -1e-3))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (spring(0.1, 0.0), spring(0.1, -0.02)),
        (spring(0.1, 0.0, -0.02), None),
        (spring(0.1, 0.0, -0.02), spring(0.3, -0.02)),
        (Traction(LEFT, 0, PULLED), None),
        (Loaded(Nearest(0, (0.0, 0.25)), 0, PULLED), Traction(LEFT, 0, Program((0.0,), (1e-3,)))),
        (Driven(LEFT, 0, PULLED), None),
        (Driven(LEFT, 0, PULLED), spring(0.2, 0.0)),
    ],
)
@pytest.mark.parametrize("moves", [False, True])
def test_energies_of_released_parts(first, second, moves):
    """Springs that are put on or taken off do work at once; load steps let forces go slowly."""
    block = Body(rectangle(1.0, 0.5, (4, 2)), Q1(), LinearElastic(1.0, 0.3))
    stages = [Stage(1.0, [first]), Stage(2.0, [] if second is None else [second])]
    solid = st.Solid([block], [], [Fixed(Boundary(0, "right"))], stages=stages, dimensionless=True)
    system, method = solid, st.solids.Quasistatic(steps=8)
    if moves:
        system, method = MovingSolid(solid, density=1.0), GeneralisedAlpha(steps=40)
    run = st.solve(system, method, (0.0, 2.0))
    assert run.energy.imbalance_rel < 1e-9
    # linear cells around a place that is pulled bend
    assert {c.check for c in run.audit if c.ok is False} <= {"bending_does_not_lock"}
    assert not run.determinism.losses
    # what all conditions did is the work of the ledger
    done = run.data["condition_work"].values.sum(axis=1)
    np.testing.assert_allclose(done, run.ledger["external_work"].values, rtol=0.0, atol=1e-14)


def test_a_partner_that_no_condition_named_is_released():
    mesh = rectangle(2.0, 1.0, (8, 4))
    plate = RigidPlane((0.0, 1.0 + LAW.gap_eq), (0.0, -1.0))
    stages = [
        Stage(1.0, [Driven(Boundary(0, "bottom"), 1, Program((0.0, 1.0), (0.0, 0.02)))]),
        Stage(2.0, [Loaded(Rigid(0), 1, Program((0.0,), (-5e-3,)))]),
    ]
    solid = st.Solid(
        [Body(mesh, Q1(), LinearElastic(1.0, 0.3))],
        [Contact(Boundary(0, "top"), plate, LAW)],
        [Fixed(Boundary(0, "bottom"), (0,))],
        stages=[stages[0], Stage(2.0, [*stages[1].conditions, Fixed(Boundary(0, "bottom"), (1,))])],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=16), (0.0, 2.0))
    assert run.energy.imbalance_rel < 1e-3
    assert not run.determinism.losses
    done = run.data["condition_work"].values.sum(axis=1)
    np.testing.assert_allclose(done, run.ledger["external_work"].values, rtol=0.0, atol=1e-14)


def test_a_force_that_stays_over_stages_has_its_work():
    """It is handed over: what it does counts for the condition of its stage."""

    def works(steps):
        pull, more = (Traction(LEFT, c, PULLED) for c in (0, 1))
        on = Traction(LEFT, 0, Program((0.0,), (-1e-3,)))
        first = Stage(1.0, [pull])
        block = Body(rectangle(1.0, 0.5, (4, 2)), Q1(), LinearElastic(1.0, 0.3))
        held = [Fixed(Boundary(0, "right"))]
        stages = [first, Stage(2.0, [on, more])]
        solid = st.Solid([block], [], held, stages=stages, dimensionless=True)
        return st.solve(solid, st.solids.Quasistatic(steps=steps), (0.0, 2.0)).data[
            "condition_work"
        ][-1]

    np.testing.assert_allclose(works(2), works(16), rtol=1e-9, atol=1e-15)


def test_a_block_between_two_bodies_is_released():
    """By virtual work energies close in any step, the step of release too."""
    blocks = [rectangle(1.0, 0.5, (4, 2), (0.0, y)) for y in (0.0, 0.5 + LAW.gap_eq)]
    solid = st.Solid(
        [Body(mesh, Q1(), NeoHookean(1.0, 0.3)) for mesh in blocks],
        [Contact(Boundary(0, "top"), Boundary(1, "bottom"), LAW, EA(0.4), passes="mortar")],
        [Fixed(Boundary(0, "bottom")), Fixed(Boundary(1, "top"), (0,))],
        stages=[
            Stage(1.0, [Driven(Boundary(1, "top"), 1, Program((0.0, 1.0), (0.0, -0.05)))]),
            Stage(2.0),
        ],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=4), (0.0, 2.0))
    assert run.energy.imbalance_rel < 1e-6
    assert abs(float(run.ledger["external_work"][-1])) < 0.2 * float(run.ledger["stored"].max())


def stretched(*stages, conditions=()):
    """A block that stands on its bottom; all else is given by its stages."""
    body = Body(rectangle(2.0, 1.0, (2, 1)), Q1(), NeoHookean(1.0, 0.3))
    held = [Fixed(Boundary(0, "bottom")), *conditions]
    return st.Solid([body], [], held, stages=stages, dimensionless=True)


TOP = Boundary(0, "top")
UP = Driven(TOP, 1, Program((0.0, 1.0), (0.0, 0.1)))


def test_a_run_begins_in_the_first_stage():
    solid = stretched(Stage(1.0, [UP]), Stage(2.0), Stage(3.0))
    for begin in (1.5, 2.5, 4.0):
        with pytest.raises(ModelError, match=rf"solve\.t_span: got a start at {begin:g}"):
            st.solve(solid, st.solids.Quasistatic(steps=2), (begin, begin + 1.0))
    late = st.solve(solid, st.solids.Quasistatic(steps=2), (0.5, 3.0))
    assert late.time[0] == 0.5


@pytest.mark.parametrize("method", [st.solids.Quasistatic(steps=2), st.Continuation(steps=2)])
@pytest.mark.parametrize(
    "wrong", [Driven(Boundary(0, "nope"), 1), Driven(Boundary(0, "bottom"), 1)]
)
def test_all_stages_are_checked_before_the_first_step(method, wrong):
    taken = []
    with pytest.raises(ModelError, match=r"Boundary\.name|Solid\.boundary_conditions"):
        st.solve(
            stretched(Stage(1.0, [UP]), Stage(2.0, [wrong])),
            method,
            (0.0, 2.0),
            progress=lambda *given: taken.append(given),
        )
    assert not taken


def test_a_path_needs_free_displacements_in_every_stage():
    taken = []
    with pytest.raises(ModelError, match="Continuation: got a solid without free displacements"):
        st.solve(
            stretched(Stage(1.0, [UP]), Stage(2.0, [Fixed(TOP)])),
            st.Continuation(steps=2),
            (0.0, 2.0),
            progress=lambda *given: taken.append(given),
        )
    assert not taken


def test_constraints_of_a_stage_begin_where_it_does():
    """A boundary that was lifted is constrained not to move on; a sum that moves contradicts."""
    hold, lift = Linear([Term(TOP, 1)]), Linear([Term(TOP, 1)], Program((1.0, 2.0), (0.0, 0.2)))
    method, span = st.solids.Quasistatic(steps=2), (0.0, 2.0)
    run = st.solve(stretched(Stage(1.0), Stage(2.0, [hold]), conditions=[UP]), method, span)
    assert run.data["drawn_position"].values[-1][:, 1].max() == pytest.approx(1.1, rel=1e-12)
    with pytest.raises(ModelError, match=r"a sum of 0\.3; needs a sum of 0\.1 at time 2,"):
        st.solve(stretched(Stage(1.0), Stage(2.0, [lift]), conditions=[UP]), method, span)
    # the last stage ends with the run
    late = Driven(TOP, 1, Program((0.0, 1.0, 2.0, 3.0), (0.0, 0.1, 0.1, 0.2)))
    solid = stretched(Stage(1.0), Stage(2.0, [hold]), conditions=[late])
    st.solve(solid, method, span)
    with pytest.raises(ModelError, match=r"a sum of 0\.1; needs a sum of 0\.2 at time 3,"):
        st.solve(solid, method, (0.0, 3.0))
    # a constraint alone moves on from the begin of its stage
    stages = Stage(1.0, [UP]), Stage(2.0, [Tied(TOP, 1), lift])
    run = st.solve(stretched(*stages), method, span)
    height = run.data["drawn_position"].values[-1][:, 1].max()
    assert height == pytest.approx(1.3, rel=1e-12)


def test_a_path_saves_every_step_of_each_stage():
    solid = stretched(Stage(1.0, [UP]), Stage(2.0, [UP], rows=1))
    run = st.solve(solid, st.Continuation(steps=8), (0.0, 2.0))
    assert (run.time > 1.0).sum() > 2


def test_a_path_ends_where_it_leaves_its_stage():
    """A bar whose path goes back behind the end of the stage before."""
    law = LennardJones.from_strength(0.06, 0.015)
    mesh = rectangle(1.0, 10.0, (1, 2), (0.0, law.gap_eq))
    pulls = [Program((0.0, 0.35), (0.0, 0.42)), Program((0.35, 1.0), (0.0, 0.78))]
    ends = zip((0.35, 1.0), pulls, strict=True)
    solid = st.Solid(
        [Body(mesh, Q1(), LinearElastic(1.0, 0.3))],
        [Contact(Boundary(0, "bottom"), RigidPlane(), law)],
        [Fixed(Boundary(0, name), (0,)) for name in ("left", "right")],
        stages=[Stage(end, [Driven(TOP, 1, pull)]) for end, pull in ends],
        dimensionless=True,
    )
    run = st.solve(solid, st.Continuation(steps=40, longest=1.0), throw=False)
    assert run.status is st.Status.NO_CONTINUATION
    assert run.reason == "the path returned to times before the start of its stage"
    assert run.data["program_time"].values[-1] > 0.3
