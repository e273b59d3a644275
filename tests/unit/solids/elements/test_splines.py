"""Curves on contact boundaries: exactness, order, and SciPy's splines as a second method."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from stiction.errors import ModelError
from stiction.numerics.bsplines import open_knots
from stiction.solids.shape_functions.splines import curve_functions, spline_curve, vertices

XI = np.linspace(-1.0, 1.0, 9)


def places(curve, xi=XI):
    f, df = curve_functions(curve.extraction, curve.weights[curve.numbers], xi)
    x = curve.points[curve.numbers]
    return np.matmul(f, x), np.matmul(df, x)


def circle(radius, angle):
    return np.stack([3.0 + radius * np.cos(angle), -2.0 + radius * np.sin(angle)], axis=-1)


def arc(pieces, whole, seed=0, radius=40.65, sense=1.0):
    """Nodes and middles of an arc in elements of different lengths."""
    steps = np.random.default_rng(seed).random(pieces) + 0.4
    angle = 0.7 + sense * whole * np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    return circle(radius, angle), circle(radius, 0.5 * (angle[1:] + angle[:-1]))


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize(("pieces", "whole"), [(1, 0.5), (3, 1.5), (8, math.pi), (30, 5.0)])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_arcs_are_exact(degree, pieces, whole, sense):
    nodes, middles = arc(pieces, whole, sense=sense)
    curve = spline_curve("arc", nodes, middles, degree, exact=True)
    x, dx = places(curve)
    away = x - np.array([3.0, -2.0])
    assert np.abs(np.hypot(away[..., 0], away[..., 1]) / 40.65 - 1.0).max() < 1e-14
    # tangents are at right angles to the radius
    cosine = (away * dx).sum(axis=2) / np.linalg.norm(dx, axis=2) / 40.65
    assert np.abs(cosine).max() < 1e-13
    assert (curve.weights > 0.0).all()
    assert np.abs(x[:, 0] - nodes[:-1]).max() < 1e-12
    assert np.abs(x[:, -1] - nodes[1:]).max() < 1e-12


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("bent", [True, False])
def test_curves_approach_an_arc(degree, bent):
    errors = []
    for pieces in (8, 16, 32):
        angle = np.linspace(0.0, 2.0, pieces + 1)
        nodes, middles = circle(1.0, angle), circle(1.0, 0.5 * (angle[1:] + angle[:-1]))
        x, _ = places(spline_curve("arc", nodes, middles if bent else None, degree))
        errors.append(np.abs(np.linalg.norm(x - [3.0, -2.0], axis=2) - 1.0).max())
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    # the ends, where one side of the curve is missing, keep the third order
    assert (orders > 2.7).all()
    assert (orders < 4.5).all()
    assert errors[-1] < 1e-5


@given(
    degree=st.sampled_from([2, 3]),
    pieces=st.integers(1, 9),
    seed=st.integers(0, 1000),
    exact=st.booleans(),
    turn=st.floats(0.0, 6.2),
)
@settings(max_examples=50, deadline=None)
def test_straight_boundaries_stay_as_they_are(degree, pieces, seed, exact, turn):
    t = np.concatenate([[0.0], np.cumsum(np.random.default_rng(seed).random(pieces) + 0.05)])
    along = np.array([math.cos(turn), math.sin(turn)])
    nodes = 1.0 + t[:, None] * along
    middles = 0.5 * (nodes[1:] + nodes[:-1])
    curve = spline_curve("side", nodes, middles, degree, exact)
    x, dx = places(curve)
    expected = nodes[:-1, None] + 0.5 * (1.0 + XI)[None, :, None] * np.diff(nodes, axis=0)[:, None]
    assert np.abs(x - expected).max() < 1e-13 * max(1.0, t[-1])
    # linear in its own coordinate: every place moves alike
    assert np.abs(dx - 0.5 * np.diff(nodes, axis=0)[:, None]).max() < 1e-12 * max(1.0, t[-1])
    assert (curve.weights == 1.0).all()
    # the same from the nodes alone
    again = spline_curve("side", nodes, None, degree)
    assert np.abs(again.points - curve.points).max() < 1e-12 * max(1.0, t[-1])


@pytest.mark.parametrize("degree", [2, 3])
def test_curves_are_splines_through_the_greville_points(degree):
    nodes, middles = arc(7, 1.2, seed=4, radius=1.0)
    curve = spline_curve("arc", nodes, middles, degree)
    chords = np.linalg.norm(middles - nodes[:-1], axis=1) + np.linalg.norm(
        nodes[1:] - middles, axis=1
    )
    breaks = np.concatenate([[0.0], np.cumsum(chords)])
    knots = open_knots(breaks, degree, degree - 1)
    oracle = BSpline(knots, curve.points, degree)
    x, dx = places(curve)
    t = breaks[:-1, None] + 0.5 * (1.0 + XI) * chords[:, None]
    assert np.abs(oracle(t) - x).max() < 1e-14
    inside = slice(1, -1)
    slope = oracle.derivative()(t)[:, inside] * 0.5 * chords[:, None, None]
    assert np.abs(slope - dx[:, inside]).max() < 1e-13
    # one tangent between two elements
    jump = dx[1:, 0] / chords[1:, None] - dx[:-1, -1] / chords[:-1, None]
    assert np.abs(jump).max() < 1e-13
    if degree == 2:
        assert np.abs(oracle(0.5 * (breaks[1:] + breaks[:-1])) - middles).max() < 1e-14


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("exact", [True, False])
def test_vertices_are_ends_of_elements(degree, exact):
    nodes, middles = arc(6, 2.0, seed=2)
    curve = spline_curve("arc", nodes, middles, degree, exact)
    numbers, shares = vertices(curve)
    assert np.abs(shares.sum(axis=1) - 1.0).max() < 1e-15
    found = (curve.points[numbers] * shares[..., None]).sum(axis=1)
    x, _ = places(curve)
    assert np.abs(found[:-1] - x[:, 0]).max() < 1e-13
    assert np.abs(found[1:] - x[:, -1]).max() < 1e-13
    assert (numbers[[0, -1], 1] == -1).all()


def test_derivatives_of_rational_functions():
    nodes, middles = arc(5, 2.5)
    curve = spline_curve("arc", nodes, middles, 2, exact=True)
    weights = curve.weights[curve.numbers]
    h = 1e-4
    _, slope = curve_functions(curve.extraction, weights, XI)
    shifts = np.array([-2.0, -1.0, 1.0, 2.0]) * h
    near = [curve_functions(curve.extraction, weights, XI + d)[0] for d in shifts]
    difference = (near[0] - 8.0 * near[1] + 8.0 * near[2] - near[3]) / (12.0 * h)
    assert np.abs(difference - slope).max() < 1e-10
    assert np.abs(slope.sum(axis=2)).max() < 1e-14


def test_corners_are_refused():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0]])
    with pytest.raises(ModelError, match=r"a corner of 90 degrees near \(2, 0\)"):
        spline_curve("side", nodes, None, 2)
    middles = 0.5 * (nodes[1:] + nodes[:-1])
    with pytest.raises(ModelError, match="split the boundary there"):
        spline_curve("side", nodes, middles, 3)


def test_middles_off_the_arc_are_refused():
    nodes, middles = arc(4, 2.0)
    line = np.column_stack([np.arange(3.0), np.zeros(3)])
    wave = 0.5 * (line[1:] + line[:-1]) + [[0.0, 0.1], [0.0, -0.1]]
    for one, other in ((nodes, middles + np.array([0.0, 1e-3])), (line, wave)):
        with pytest.raises(ModelError, match="off the circle"):
            spline_curve("arc", one, other, 2, exact=True)


def test_lines_far_from_the_origin_are_straight():
    along = np.array([0.8, 0.6])
    nodes = [1e6, 3e5] + np.linspace(0.0, 1.0, 9)[:, None] * along
    curve = spline_curve("line", nodes, None, 2, exact=True)
    x, _ = places(curve)
    away = x - nodes[0]
    assert np.abs(away[..., 0] * along[1] - away[..., 1] * along[0]).max() < 1e-9  # reason: 1e6 eps
    assert (curve.weights == 1.0).all()


def test_curves_other_than_arcs_are_refused():
    x = np.linspace(0.0, 1.0, 6)
    parabola = np.stack([x, x * x], axis=1)
    middle = 0.5 * (x[1:] + x[:-1])
    with pytest.raises(ModelError, match="off the circle of radius"):
        spline_curve("side", parabola, np.stack([middle, middle**2], axis=1), 2, exact=True)
    flat = np.stack([x, 4e-5 * x * (1.0 - x) + 4e-6 * np.sin(4.0 * np.pi * x)], axis=1)
    with pytest.raises(ModelError, match="off the circle of radius"):
        spline_curve("side", flat, None, 2, exact=True)
    nodes, middles = arc(40, 6.1)
    with pytest.raises(ModelError, match="at most 342 degrees"):
        spline_curve("side", nodes, middles, 2, exact=True)
