"""Mortar segments: cells, breakpoints opposite to element ends, closest points between them."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solid_cases import curve

from stiction.laws import LennardJones
from stiction.solids.contact.curves import RationalBoundary, knots_of
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.contact.segments import integration_cells, smooth_joints
from stiction.solids.contact.virtual_work import MortarPass

COUNT = {1: 5, 2: 6, 3: 8}


def bent(degree, seed=0, rational=False, size=0.2, **more):
    random = np.random.default_rng(seed)
    count = COUNT[degree]
    x = np.stack([np.linspace(0.0, 4.0, count), size * random.standard_normal(count)], axis=1)
    weights = 1.0 + 0.4 * random.random(count) if rational else None
    return x, curve(x, degree, weights=weights, **more)


def facing(mine, other, degree, own_degree=1):
    """Return a pass between two lines of control points, and the places of both."""
    points = np.concatenate([mine, other])
    own = curve(np.asarray(mine, dtype=float), own_degree)
    partner = curve(np.asarray(other, dtype=float), degree, first=len(mine))
    contact = Contact(Boundary(0, "a"), Boundary(1, "b"), LennardJones(1.0, 0.3), passes="mortar")
    return MortarPass(contact, own, partner, points), points


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, False), (2, True), (3, False)])
def test_cells_have_the_lengths_of_parts(degree, rational):
    x, own = bent(degree, degree, rational, points=4)
    cells = integration_cells(own, x)
    assert cells.areas.shape == (own.nodes.shape[0], 4)
    # against polygons of very many sides
    at = np.linspace(-1.0, 1.0, 4 * 4000 + 1)
    for element in range(own.nodes.shape[0]):
        place = RationalBoundary(own).points(np.full(at.size, element), at[None], x)[1][0]
        length = np.hypot(*np.diff(place)).reshape(4, -1).sum(axis=1)
        assert_allclose(cells.areas[element], length, rtol=1e-7)
    assert_allclose(knots_of(cells)[0][-1], cells.areas.sum(), rtol=1e-14)
    assert_allclose(cells.points, [-0.75, -0.25, 0.25, 0.75])


def test_joints_of_splines_are_smooth():
    for degree in (2, 3):
        smooth = smooth_joints(bent(degree)[1])
        assert smooth[1:-1].all()
        assert not smooth[[0, -1]].any()
    assert not smooth_joints(bent(1)[1]).any()


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_breakpoints_are_opposite_to_ends(degree):
    """Breakpoints of shifted straight meshes are known; closest points lie on their elements."""
    count = COUNT[degree]
    other = np.stack([np.linspace(4.3, 0.4, count), np.full(count, -0.1)], axis=1)
    mine = np.stack([np.linspace(0.0, 4.0, 6), np.zeros(6)], axis=1)
    contact_pass, points = facing(mine, other, degree)
    segmentation = contact_pass.project(points, None)
    segments = segmentation.segments
    ends_at_breakpoint = (segments.tangents[:, 1] >= 0).any(axis=1)
    place = contact_pass.own_curve.points(
        segments.element[ends_at_breakpoint], segments.ends[ends_at_breakpoint, 1][None], points
    )[1]
    n_element = contact_pass.partner.nodes.shape[0]
    ends = contact_pass.curve.points(np.arange(n_element), np.ones((1, n_element)), points)[1][0, 0]
    wanted = np.sort(ends[(ends > 0.0) & (ends < 4.0)])
    # where a polyline is flat, corners are passed at one place or at two that are one
    assert_allclose(np.unique(np.round(place[0, 0], 12)), wanted, atol=1e-12)
    lengths = segments.ends[:, 1] - segments.ends[:, 0]
    assert_allclose(np.bincount(segments.cell, lengths), 2.0 / 3.0, rtol=1e-14)
    assert (np.abs(segmentation.pairs.xi) <= 1.0 + 1e-12).all()


@pytest.mark.parametrize("height", [0.5, -0.5])
def test_convex_corners_are_closest_points_and_concave_ones_are_not(height):
    """A convex corner is the closest point of an interval; a concave one has one breakpoint."""
    mine = np.stack([np.linspace(0.0, 4.0, 6), np.full(6, 1.0)], axis=1)
    other = np.array([[5.0, 0.0], [2.2, height], [-1.0, 0.0]])
    contact_pass, points = facing(mine, other, 1)
    segmentation = contact_pass.project(points, None)
    segments = segmentation.segments
    at_corner = segmentation.pairs.corner.reshape(segments.cell.size, -1).all(axis=1)
    low, high = (
        contact_pass.own_curve.points(segments.element, segments.ends[:, end][None], points)[1][
            0, 0
        ]
        for end in (0, 1)
    )
    if height > 0.0:
        # perpendicular to both sides in the corner, by hand
        rise = 1.0 - height
        wanted = 2.2 - rise * 0.5 / 3.2, 2.2 + rise * 0.5 / 2.8
        assert_allclose([low[at_corner].min(), high[at_corner].max()], wanted, rtol=1e-13)
    else:
        assert not at_corner.any()
        ends_at_breakpoint = (segments.tangents[:, 1] >= 0).any(axis=1)
        bisector = sum(np.array(n) / np.hypot(*n) for n in ((-0.5, 2.8), (0.5, 3.2)))
        wanted = 2.2 + (1.0 - height) * bisector[0] / bisector[1]
        place = high[ends_at_breakpoint]
        assert_allclose(place, wanted, rtol=1e-12)
    # distances agree with those to the nearest of many samples of both sides
    t = np.linspace(0.0, 1.0, 20001)[:, None]
    sides = np.concatenate([a + t * (b - a) for a, b in itertools.pairwise(other)])
    here = segmentation.pairs.own_places[0].T
    near = np.array([np.hypot(*(sides - p).T).min() for p in here])
    assert_allclose(np.hypot(*(here.T - segmentation.pairs.partner_places[0])), near, rtol=1e-6)


def test_cells_are_divided_at_jumps_of_the_projection():
    """The projection jumps between two crests: segments end there, and cover whole cells."""
    mine = np.stack([np.linspace(0.0, 4.0, 6), np.full(6, 1.0)], axis=1)
    t = np.linspace(4.0, 0.0, 17)
    other = np.stack([t, 0.7 * np.cos(np.pi * t)], axis=1)
    contact_pass, points = facing(mine, other, 1)
    segmentation = contact_pass.project(points, None)
    segments, jumps = segmentation.segments, segmentation.jumps
    # at the bottoms of both waves
    assert_allclose(jumps.pairs.own_places[0][0], [1.0, 3.0, 1.0, 3.0], rtol=1e-13)
    assert not (segments.at[:, 0] == segments.at[:, 1]).any()
    area = (segments.weights * (segments.ends[:, 1] - segments.ends[:, 0])[:, None]).sum(axis=1)
    assert_allclose(np.bincount(segments.cell, area), 2.0 / 3.0, rtol=1e-13)
    s = np.linspace(0.0, 1.0, 2001)[:, None]
    sides = np.concatenate([a + s * (b - a) for a, b in itertools.pairwise(other)])
    near = np.array([np.hypot(*(sides - p).T).min() for p in segmentation.pairs.own_places[0].T])
    far = np.hypot(*(segmentation.pairs.own_places[0] - segmentation.pairs.partner_places[0]))
    assert_allclose(far, near, rtol=1e-4)


def test_segments_do_not_depend_on_the_initial_guess():
    mine, other = bent(2, 3)[0], bent(3, 4)[0][::-1] - [0.0, 1.5]
    contact_pass, points = facing(mine, other, 3, 2)
    first = contact_pass.project(points, None)
    moved = points + 0.3 * np.random.default_rng(1).standard_normal(points.shape)
    again = contact_pass.project(points, contact_pass.project(moved, None))
    assert_array_equal(first.segments.partner_elements, again.segments.partner_elements)
    assert_allclose(first.segments.ends, again.segments.ends, atol=1e-14)
    assert_allclose(first.pairs.xi, again.pairs.xi, atol=1e-13)


def test_forces_do_not_depend_on_rounding_of_breakpoints():
    """Element ends opposite to cell ends: forces do not depend on rounding of the nodes.

    The sum over points is continuous there, its derivative is not: forces differ by a jump on
    either side of which marks lie, and at the end itself there is none.
    """
    x = np.linspace(0.0, 4.0, 6)
    # a wall with varying slope, so that two points in a segment are not exact
    mine, other = (x, 0.22 + 0.02 * x**2 / 16.0), (x[::-1], np.zeros(6))
    contact_pass, points = facing(np.stack(mine, axis=1), np.stack(other, axis=1), 1, 1)
    forces, counts = [], []
    for shift in (0.0, 1e-13, -1e-13, 1e-12, -1e-12, 1e-6, -1e-6):
        moved = points + [shift, 0.0] * (np.arange(len(points)) < len(mine[0]))[:, None]
        closest = contact_pass.project(moved, None)
        residual = np.zeros_like(points)
        contact_pass.add_normal_forces(moved, closest, 1.0, residual)
        forces.append(residual)
        counts.append(closest.segments.cell.size)
        lengths = np.diff(closest.segments.ends, axis=1)[:, 0]
        assert_allclose(np.bincount(closest.segments.cell, lengths), 2.0 / 3.0)
    scale = np.abs(forces[0]).max()
    for one in forces[1:5]:
        assert_allclose(one, forces[0], atol=1e-9 * scale)
    assert len(set(counts[:5])) == 1
    assert counts[5] > counts[0]
    jump = np.abs(forces[5] - forces[6]).max()
    assert jump > 1e-6 * scale
