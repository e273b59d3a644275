"""Jacobians of mappings in Bezier form: coefficients against values, signs against samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.numerics.bsplines import bernstein
from stiction.solids.shape_functions.jacobians import (
    Bezier,
    coefficients_from,
    jacobian_coefficients,
    least_jacobians,
)


def random_mappings(degrees, seed, count=300, rational=None, collapsed=False):
    """Straight mappings whose control points are moved, some of them far enough to fold."""
    rng = np.random.default_rng(seed)
    d = len(degrees)
    axes = [np.linspace(-1.0, 1.0, p + 1) for p in degrees[::-1]]
    grid = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], axis=-1).reshape(-1, d)
    if collapsed:
        grid[:, 0] *= 0.5 * (1.0 - grid[:, 1])
    size = rng.uniform(0.0, 1.5, (count, 1, 1)) / max(degrees)
    controls = grid + size * rng.uniform(-1.0, 1.0, (count, *grid.shape))
    weights = rng.uniform(0.5, 1.5, (count, rational + 1)) if rational else None
    if collapsed:
        # one point at the end of the second coordinate
        flat = controls.reshape(count, *(p + 1 for p in degrees[::-1]), d)
        flat[..., -1, :, :] = flat[..., -1, :1, :]
        if weights is not None:
            sites, back = coefficients_from(degrees[0])
            shares = weights @ (back @ bernstein(rational, sites)[0]).T
            flat[..., -1, :, :] *= shares.reshape(count, *[1] * (d - 2), -1, 1)
    return Bezier(np.swapaxes(controls, 0, 1), degrees, weights, collapsed)


def values(mapping, points):
    """Jacobian (e, points) times the powers that `jacobian_coefficients` names."""
    tables = [bernstein(p, x) for p, x in zip(mapping.degrees, points.T, strict=True)]
    d = len(tables)

    def product(by):
        made = np.ones((points.shape[0], 1))
        for k, (f, df) in enumerate(tables):
            one = df if k == by else f
            made = (one[:, :, None] * made[:, None, :]).reshape(points.shape[0], -1)
        return made

    rates = np.stack([product(k) @ np.swapaxes(mapping.controls, 0, 1) for k in range(d)], axis=-1)
    made = np.linalg.det(rates)
    if mapping.weights is not None:
        f, df = bernstein(mapping.weights.shape[1] - 1, points[:, 0])
        w, dw = mapping.weights @ f.T, mapping.weights @ df.T
        place = (product(-1) @ np.swapaxes(mapping.controls, 0, 1)) / w[..., None]
        rates[..., 0] -= place * dw[..., None]
        made = np.linalg.det(rates) * w
    if mapping.collapsed:
        made = made / (0.5 * (1.0 - points[:, 1]))
    return made


KINDS = [
    ((1, 1), None, False),
    ((2, 2), None, False),
    ((3, 1), None, False),
    ((3, 1), 2, False),
    ((4, 2), 2, False),
    ((1, 1), None, True),
    ((2, 2), None, True),
    ((3, 1), 2, True),
    ((1, 1, 1), None, False),
    ((2, 2, 1), None, False),
    ((2, 2, 2), None, True),
    ((3, 1, 2), 2, False),
]


@pytest.mark.parametrize(("degrees", "rational", "collapsed"), KINDS)
def test_coefficients_are_right(degrees, rational, collapsed):
    mapping = random_mappings(degrees, 1, 20, rational, collapsed)
    points = np.random.default_rng(2).uniform(-1.0, 0.99, (50, len(degrees)))
    made = jacobian_coefficients(mapping)
    basis = np.ones((points.shape[0], 1))
    for k in range(len(degrees)):
        degree = made.shape[-1 - k] - 1
        f = bernstein(degree, points[:, k])[0] if degree else np.ones((points.shape[0], 1))
        basis = (f[:, :, None] * basis[:, None, :]).reshape(points.shape[0], -1)
    made = made.reshape(made.shape[0], -1) @ basis.T
    wanted = values(mapping, points)
    assert_allclose(made, wanted, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize(("degrees", "rational", "collapsed"), KINDS)
def test_signs_against_dense_samples(degrees, rational, collapsed):
    """No valid mapping is called folded, and no folded one valid."""
    mapping = random_mappings(degrees, 3, 200, rational, collapsed)
    side = np.linspace(-1.0, 1.0, 41 if len(degrees) == 2 else 11)
    if collapsed:
        side[-1] = 1.0 - 1e-4
    grid = np.meshgrid(*[side] * len(degrees))
    known = values(mapping, np.stack([x.ravel() for x in grid], axis=-1))
    least, size = known.min(axis=1), np.abs(known).max(axis=1)
    bound = least_jacobians(mapping)
    assert collapsed or 0.1 < (least > 0.0).mean() < 0.99
    # no sample lies below the bound, and what samples call folded is
    largest = np.abs(jacobian_coefficients(mapping).reshape(least.size, -1)).max(axis=1)
    assert (bound * largest <= least + 1e-9 * largest).all()
    assert (bound[least <= 0.0] <= 0.0).all()
    # between samples a determinant may dip by about the square of their distance
    clear = least > 0.02 * size
    assert clear.sum() > 20
    assert (bound[clear] > 0.0).all()
    # those within reach of zero are sampled again, finely, where they are least
    for e in np.flatnonzero((least > 0.0) & ~clear & (bound <= 0.0)):
        one = mapping._replace(
            controls=mapping.controls[:, e : e + 1],
            weights=None if mapping.weights is None else mapping.weights[e : e + 1],
        )
        assert finest(one, known[e], grid) <= 1e-6 * size[e]


def finest(mapping, known, grid):
    """Least value near the least sample, of ever finer samples around it."""
    at = np.array([x.ravel()[np.argmin(known)] for x in grid])
    width, least = 2.0 * (grid[0].ravel()[1] - grid[0].ravel()[0]), np.inf
    for _ in range(12):
        lines = [np.clip(np.linspace(x - width, x + width, 9), -1.0, 1.0) for x in at]
        if mapping.collapsed:
            lines[1] = np.minimum(lines[1], 1.0 - 1e-9)
        points = np.stack([x.ravel() for x in np.meshgrid(*lines)], axis=-1)
        found = values(mapping, points)[0]
        at, least = points[np.argmin(found)], min(least, float(found.min()))
        width *= 0.4
    return least


def test_an_affine_mapping_has_one():
    mapping = random_mappings((2, 2), 0, 1)
    turned = np.array([[0.6, -0.8], [0.8, 0.6]]) @ np.diag([3.0, 0.01])
    straight = random_mappings((2, 2), 5, 1)._replace(controls=_grid() @ turned.T)
    assert_allclose(least_jacobians(straight), 1.0, rtol=1e-12)
    assert_allclose(least_jacobians(straight._replace(controls=_grid()[..., ::-1])), -1.0)
    assert least_jacobians(mapping).shape == (1,)
    flat = straight._replace(controls=_grid() * np.array([1.0, 0.0]))
    assert (least_jacobians(flat) <= 0.0).all()


def _grid():
    side = np.linspace(-1.0, 1.0, 3)
    y, x = np.meshgrid(side, side, indexing="ij")
    return np.stack([x, y], axis=-1).reshape(9, 1, 2)


def test_a_minimum_between_the_samples_is_found():
    """A dip of any place that reaches 1e-5 of the size is right side out, one below zero is not."""
    for depth, ok in ((1e-5, True), (-1e-5, False)):
        # x = t^3 + ... along the first coordinate: slope (t - 0.3)^2 + depth
        a = 0.3
        t = np.array([-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0])
        sites = np.linspace(-1.0, 1.0, 4)
        x = sites**3 / 3.0 - a * sites**2 + (a * a + depth) * sites
        controls = np.linalg.solve(bernstein(3, sites)[0], x)
        y = np.array([-1.0, 1.0])
        both = np.stack([np.tile(controls, 2), np.repeat(y, t.size)], axis=-1)
        bound = least_jacobians(Bezier(both[:, None], (3, 1)))
        assert (bound[0] > 0.0) == ok
