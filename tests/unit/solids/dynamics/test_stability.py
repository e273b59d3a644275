"""Motions report directions in which equilibrium is unstable, unless they go that way."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_matrix

import stiction as st
from stiction.errors import ModelError
from stiction.numerics.linear_solvers import SuperLU
from stiction.solids import (
    Q2,
    Body,
    Boundary,
    Driven,
    Fixed,
    GeneralisedAlpha,
    Loaded,
    MovingSolid,
    Nearest,
    NeoHookean,
    Program,
    Traction,
    rectangle,
)
from stiction.solids.equilibria.stability import unstable_directions

LONG = 20.0
EULER = np.pi**2 / 12.0 / LONG**2


def column(times, values, push=0.0):
    """A column between a clamp and a guide, pressed slowly by parts of Euler's shortening."""
    right = Boundary(0, "right")
    moved = tuple(-EULER * LONG * v for v in values)
    held = [Driven(right, 0, Program(times, moved)), Fixed(Boundary(0, "left"))]
    if push:
        held.append(Loaded(Nearest(0, (LONG, 0.5)), 1, Program((0.0,), (push,))))
    body = Body(rectangle(LONG, 1.0, (16, 1)), Q2(), NeoHookean(1.0, 0.0))
    solid = st.Solid([body], [], held, dimensionless=True)
    # waves pass it 400 times in the time in which it is pressed
    return MovingSolid(solid, (times[-1] / 400.0 / LONG) ** 2, 20.0)


def test_an_upright_column_reports_that_it_could_bend():
    run = st.solve(column((0.0, 1.0), (0.0, 2.0)), GeneralisedAlpha(steps=100, tolerance=None))
    result = [loss for loss in run.determinism.losses if loss.kind == "bifurcation"]
    assert result
    # it is reported after a step, and steps are hundredths
    assert 0.5 <= result[0].time <= 0.53
    assert result[0].where["unstable_modes"] == 1
    assert result[0].where["growth_rate"] > 0.0
    off = GeneralisedAlpha(steps=100, tolerance=None, stability=False)
    silent = st.solve(column((0.0, 1.0), (0.0, 2.0)), off)
    assert not silent.determinism.losses
    assert np.array_equal(run.energy.stored, silent.energy.stored)


def test_a_column_that_bends_reports_nothing():
    """A small force leads the motion that way, and its future is one."""
    pushed = column((0.0, 1.0), (0.0, 2.0), push=1e-3 * EULER)
    run = st.solve(pushed, GeneralisedAlpha(steps=100, tolerance=None))
    assert not run.determinism.losses
    assert run.energy.imbalance_rel <= 1e-7


@pytest.mark.parametrize("size", [12, 200])
@pytest.mark.parametrize("negative", [[-1e-3], [-0.6, -0.7], []])
def test_unstable_modes(size, negative):
    """Ways that have become unstable long ago lie farther from zero than stable ones."""
    rng = np.random.default_rng(5)
    q, _ = np.linalg.qr(rng.standard_normal((size, size)))
    values = np.concatenate([negative, np.linspace(0.5, 3.0, size - len(negative))])
    matrix = (q * values) @ q.T
    matrix = 0.5 * (matrix + matrix.T)
    with SuperLU().start() as space:
        directions = unstable_directions(space, csr_matrix(matrix), len(negative))
    assert directions.shape == (max(len(negative), 1), size)
    _, vectors = eigh(matrix)
    along = np.abs(directions @ vectors[:, : len(directions)])
    # nearest to zero first
    np.testing.assert_allclose(along, np.eye(len(directions))[::-1], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 1.0, -7.7])
def test_a_column_overloaded_from_the_start_reports_that_it_could_fall(shift):
    """Which way it falls is decided by where the frame has its origin."""
    body = Body(rectangle(0.2, 4.0, (2, 20), (shift, 0.0)), Q2(), NeoHookean(1.0, 0.3))
    load = Traction(Boundary(0, "top"), 1, Program((0.0,), (-0.003,)))
    solid = st.Solid([body], [], [Fixed(Boundary(0, "bottom")), load], dimensionless=True)
    run = st.solve(MovingSolid(solid), GeneralisedAlpha(steps=10), (0.0, 80.0))
    assert [loss.kind for loss in run.determinism.losses] == ["bifurcation"]
    assert run.determinism.losses[0].where["growth_rate"] > 0.0


def test_a_column_that_bends_hides_no_other():
    """Two columns apart: one is led to its side, the other stays upright beyond its load."""
    bodies, held = [], []
    for i, lean in enumerate((1e-6, 0.0)):
        bodies.append(
            Body(rectangle(0.2, 4.0, (2, 20), (5.0 * i, 0.0)), Q2(), NeoHookean(1.0, 0.3))
        )
        top, load = Boundary(i, "top"), 2e-3 - 1e-3 * i
        held += [
            Fixed(Boundary(i, "bottom")),
            Traction(top, 1, Program((0.0, 60.0), (0.0, -load))),
            Traction(top, 0, Program((0.0, 60.0), (0.0, lean))),
        ]
    solid = st.Solid(bodies, [], held, dimensionless=True)
    run = st.solve(MovingSolid(solid), GeneralisedAlpha(steps=30, tolerance=None), (0.0, 60.0))
    losses = [loss for loss in run.determinism.losses if loss.kind == "bifurcation"]
    alone = st.Solid(bodies[:1], [], held[:3], dimensionless=True)
    led = st.solve(MovingSolid(alone), GeneralisedAlpha(steps=30, tolerance=None), (0.0, 60.0))
    assert not led.determinism.losses
    assert losses
    assert losses[0].where["unstable_modes"] >= 2


def test_the_switch_is_checked():
    with pytest.raises(ModelError, match=r"GeneralisedAlpha\.stability"):
        GeneralisedAlpha(stability=1)
