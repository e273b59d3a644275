"""Branches at bifurcations: followed, stopped at, or only reported; columns, plates and arches."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import stiction as st
from stiction.errors import ModelError
from stiction.solids import (
    Q2,
    Body,
    Boundary,
    Driven,
    Fixed,
    FollowBranch,
    Linear,
    Loaded,
    Nearest,
    NeoHookean,
    Program,
    Stage,
    StayOnPath,
    StopThere,
    SweptBody,
    Term,
    block,
    rectangle,
)
from stiction.solids.model import Readings

LONG, POISSON = 60.0, 0.3
STIFF = 1.0 / (1.0 - POISSON**2)
EULER = np.pi**2 / 12.0 / LONG**2


def column(method, end, push=0.0):
    """A column between a clamp and a guide, pressed by `end` of its length."""
    right = Boundary(0, "right")
    held = [Driven(right, 0, Program((0, 1), (0, -end * LONG))), Fixed(Boundary(0, "left"))]
    if push:
        held.append(Loaded(Nearest(0, (LONG, 0.5)), 1, Program((0.0,), (push,))))
    body = Body(rectangle(LONG, 1.0, (48, 1)), Q2(), NeoHookean(1.0, POISSON))
    readings = Readings(displacement=0, support=True)
    solid = st.Solid([body], [], held, readings=readings, dimensionless=True)
    return st.solve(solid, method)


def moved(run):
    """Return how far the guided end went sideways."""
    drawn = run.data["drawn_position"].values
    return (drawn[-1] - drawn[0])[np.argmax(drawn[0][:, 0]), 1]


def elastica(shortening):
    """Return force over Euler's and sideways way over length of a column with a clamp and a guide.

    Each half is a quarter wave: P = (2 K(k) / pi)^2 Euler's, shortening 2 (1 - E / K), way 2 k / K.
    """
    m = brentq(lambda m: 2.0 * (1.0 - ellipe(m) / ellipk(m)) - shortening, 1e-9, 0.9)
    return (2.0 * ellipk(m) / np.pi) ** 2, 2.0 * np.sqrt(m) / ellipk(m)


@pytest.mark.parametrize(
    "method",
    [
        st.solids.Quasistatic(steps=20, on_bifurcation=FollowBranch()),
        st.solids.Quasistatic(steps=60, on_bifurcation=FollowBranch("-")),
        st.Continuation(steps=20, on_bifurcation=FollowBranch("-")),
    ],
    ids=["up", "down", "path"],
)
def test_a_column_follows_the_elastica(method):
    run = column(method, 0.2)
    force, direction = elastica(0.2)
    side = 1.0 if method.on_bifurcation.side == "+" else -1.0
    assert -run.data["force_x"].values[-1] / (STIFF * EULER) == pytest.approx(force, rel=2e-3)
    assert side * moved(run) / LONG == pytest.approx(direction, rel=2e-3)
    (loss,) = run.determinism.losses
    assert loss.kind == "bifurcation"
    assert loss.where["program_time"] == pytest.approx(EULER / 0.2, rel=2e-3)
    assert "the other side" in loss.choice
    assert loss.where["branch_moves"].startswith("y of (60, ")
    assert run.energy.imbalance_rel < 1e-2


def test_both_futures_are_mirrors():
    up, down = (
        column(st.solids.Quasistatic(steps=12, on_bifurcation=FollowBranch(side)), 0.05)
        for side in "+-"
    )
    assert moved(up) == pytest.approx(-moved(down), rel=1e-5)
    assert up.energy.stored[-1] == pytest.approx(down.energy.stored[-1], rel=1e-5)


def test_an_imperfect_column_comes_to_the_branch():
    end = 4.0 * EULER
    perfect = column(st.solids.Quasistatic(steps=20, on_bifurcation=FollowBranch()), end)
    directions = []
    for part in (1e-3, 1e-4):
        pushed = column(st.solids.Quasistatic(steps=60), end, push=part * STIFF * EULER)
        assert not pushed.determinism.losses
        directions.append(abs(moved(pushed) / moved(perfect) - 1.0))
    assert directions[1] < 4e-3
    assert directions[1] < 0.2 * directions[0]


@pytest.mark.parametrize("method", [st.solids.Quasistatic, st.Continuation])
def test_a_run_stops_at_a_branch(method):
    run = column(method(steps=8, on_bifurcation=StopThere()), 2.0 * EULER)
    assert run.status is st.Status.STOPPED
    assert run.data["displacement"].values[-1] == pytest.approx(-EULER * LONG, rel=2e-3)
    assert run.determinism.losses[0].choice.startswith("the run ended there")


@pytest.mark.parametrize("method", [st.solids.Quasistatic, st.Continuation])
def test_staying_is_the_default(method):
    plain = column(method(steps=6), 2.0 * EULER)
    stays = column(method(steps=6, on_bifurcation=StayOnPath()), 2.0 * EULER)
    for name in ("force_x", "drawn_position"):
        np.testing.assert_array_equal(plain.data[name].values, stays.data[name].values)
    assert plain.determinism.losses == stays.determinism.losses


def arch(rise, method, long=200.0):
    """A shallow sine arch under a sine load, its ends hinged; times are parts of the load.

    Loads and rises as ratios: R = q L^4 / (2 pi^4 E I r), e = 2 rise r, with r = sqrt(I / A).
    """
    radius, wave = 1.0 / np.sqrt(12.0), np.pi / long
    e, cells = 2.0 * rise * radius, 32

    def mapping(s, t):
        slope = e * wave * np.cos(np.pi * s)
        size, up = np.sqrt(1.0 + slope**2), t - 0.5
        return long * s - up * slope / size, e * np.sin(np.pi * s) + up / size

    symmetric = rise + np.sqrt(4.0 / 27.0 * (rise**2 - 1.0) ** 3)
    sideways = rise + 3.0 * np.sqrt(rise**2 - 4.0) if rise > 5.5**0.5 else np.inf
    top = 1.5 * min(symmetric, sideways)
    unit = 2.0 * wave**4 / 12.0 * radius
    held = [Linear([Term(Boundary(0, b), k)]) for b in ("left", "right") for k in (0, 1)]
    for i in range(1, 2 * cells):
        weight, s = (2.0 / 3.0 if i % 2 else 1.0 / 3.0) * long / cells, 0.5 * i / cells
        force = -top * unit * np.sin(np.pi * s) * weight
        place = tuple(float(v) for v in mapping(s, 0.5))
        held.append(Loaded(Nearest(0, place), 1, Program((0, 1), (0, force))))
    body = Body(block(mapping, (cells, 1)), Q2(), NeoHookean(1.0, 0.0))
    run = st.solve(st.Solid([body], [], held, dimensionless=True), method, throw=False)
    return run, symmetric / top, sideways / top


def test_a_low_arch_snaps_at_its_limit_point():
    """Fung and Kaplan 1952: below a rise of sqrt(5.5) the arch stays symmetric."""
    run, symmetric, _ = arch(2.0, st.Continuation(steps=20, max_steps=20))
    loss = run.determinism.losses[0]
    assert loss.kind == "limit_point"
    assert loss.where["program_time"] == pytest.approx(symmetric, rel=1e-3)
    assert all(other.kind == "limit_point" for other in run.determinism.losses)


@pytest.mark.parametrize(
    "method",
    [st.Continuation(steps=20, max_steps=16), st.solids.Quasistatic(steps=8, max_halvings=2)],
)
def test_a_high_arch_leaves_sideways_before(method):
    """Beyond that rise it bends to a side below its limit point, and both are reported."""
    run, symmetric, sideways = arch(3.0, method)
    assert sideways < symmetric
    first = run.determinism.losses[0]
    assert first.kind == "bifurcation"
    # reason: shallowness, e / L = .01, and slenderness are not zero
    assert first.where["program_time"] == pytest.approx(sideways, rel=2e-3)


def test_an_arch_goes_down_sideways():
    """The branch goes back in load: a path follows it, load steps say that they do not."""
    path, _, sideways = arch(
        3.0, st.Continuation(steps=20, max_steps=20, on_bifurcation=FollowBranch())
    )
    times = path.data["program_time"].values
    assert times[-1] < sideways * 0.99
    assert "the branch to the side +" in path.determinism.losses[0].choice
    # less load than the symmetric path has at the same height, and bent to one side
    end = path.data["drawn_position"].values[-1] - path.data["drawn_position"].values[0]
    x = path.data["drawn_position"].values[0][:, 0]
    left, right = (end[np.argmin(np.abs(x - v)), 1] for v in (50.0, 150.0))
    assert abs(left - right) > 0.05
    steps, _, _ = arch(
        3.0, st.solids.Quasistatic(steps=4, max_halvings=2, on_bifurcation=FollowBranch())
    )
    assert "time decreases on the branch" in steps.determinism.losses[0].choice


@pytest.mark.parametrize("method", [st.solids.Quasistatic, st.Continuation])
def test_policies_are_checked(method):
    with pytest.raises(ModelError, match="on_bifurcation"):
        method(on_bifurcation="follow")
    with pytest.raises(ModelError, match=r"FollowBranch\.side"):
        FollowBranch("up")


def short_column(method, program, body=None, more=(), stages=()):
    """A column of twelve widths between a clamp and a guide, pressed along y."""
    top, held = Boundary(0, "top"), [Fixed(Boundary(0, "bottom")), Fixed(Boundary(0, "top"), (0,))]
    body = body or Body(rectangle(1.0, 12.0, (1, 8)), Q2(), NeoHookean(1.0, 0.3))
    program = Program((0.0, 1.0), program) if isinstance(program, tuple) else program
    held = [*held, Driven(top, 1, program), *more]
    solid = st.Solid([body], [], held, stages=stages, dimensionless=True)
    return st.solve(solid, method, (0.0, program.times[-1]))


@pytest.mark.parametrize(
    "method", [st.solids.Quasistatic(steps=2), st.Continuation(steps=2, longest=1.0)]
)
def test_two_modes_in_one_step(method):
    """Each has its own time, as in short steps; the first step of a path is one of them."""
    losses = short_column(method, (0.0, -1.4)).determinism.losses
    found = [(loss.where["program_time"], loss.where["unstable_modes"]) for loss in losses]
    times = [0.1975, 0.4008, 0.8055]
    np.testing.assert_allclose(found, np.transpose([times, [1, 2, 3]]), rtol=0.0, atol=5e-4)


@pytest.mark.parametrize("stops", [True, False])
def test_a_start_beyond_a_bifurcation(stops):
    policy = StopThere() if stops else None
    method = st.solids.Quasistatic(steps=2, on_bifurcation=policy)
    run = short_column(method, (-0.45, -0.5))
    (loss,) = run.determinism.losses
    assert (loss.time, loss.where["unstable_modes"]) == (0.0, 1)
    assert run.time.size == (1 if stops else 3)
    assert (run.status is st.Status.STOPPED) == stops
    assert ("is unstable" in run.reason) == stops


@pytest.mark.parametrize("method", [st.solids.Quasistatic, st.Continuation])
@pytest.mark.parametrize("supported", [True, False])
def test_a_stage_that_begins_beyond_a_bifurcation(method, supported):
    """The first stage loses the mode, or its support ends with it."""
    side = Nearest(0, (0.0, 6.0))
    stages = Stage(1.0, [Fixed(side, (0,))] if supported else []), Stage(2.0)
    program = Program((0.0, 1.0, 2.0), (0.0, -0.45, -0.5))
    policy = StopThere() if supported else None
    run = short_column(method(steps=2, on_bifurcation=policy), program, stages=stages)
    (loss,) = run.determinism.losses
    assert loss.where["unstable_modes"] == 1
    if supported:
        assert (loss.time, run.time[-1], run.status) == (1.0, 1.0, st.Status.STOPPED)
        assert run.reason == "the equilibrium at the start of a stage, t = 1, is unstable"
    else:
        assert loss.where["program_time"] == pytest.approx(0.6144, rel=1e-3)


def test_a_branch_in_space():
    body = SweptBody(rectangle(1.0, 12.0, (1, 6)), [0.0, 0.8], Q2(), NeoHookean(1.0, 0.3))
    method = st.solids.Quasistatic(steps=2, on_bifurcation=FollowBranch())
    more = [Fixed(Boundary(0, name), (2,)) for name in ("bottom", "top")]
    run = short_column(method, (0.0, -0.5), body, more)
    loss = run.determinism.losses[0]
    assert loss.where["branch_moves"].startswith("z of (")
    assert "the branch to the side +" in loss.choice
