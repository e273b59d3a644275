"""Positivity of the Jacobian of a mapping, by subdivision of its Bernstein coefficients.

The Jacobian determinant of a mapping in Bezier form is a polynomial. It lies in the convex hull of
its Bernstein coefficients, and the coefficients at the corners are its values there. So positive
coefficients prove that the mapping is locally one to one, and a corner coefficient that is not
positive proves that it is folded. In other cases the reference element is bisected along each
coordinate; coefficients converge to the polynomial with the square of the width.

`least_jacobians` returns the result for many elements at once, and `hulls` calls it for the
elements of a mesh, and for those of deformed states.

Shapes have e elements in d components; a mapping of degrees p_1 .. p_d has B = (p_1 + 1) ... (p_d +
1) control points.

Source: Johnen, Remacle, Geuzaine 2013.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.bsplines import bernstein

__all__ = ["Bezier", "coefficients_from", "jacobian_coefficients", "least_jacobians"]

Floats = npt.NDArray[np.float64]

# largest number of subdivisions: coefficients then differ from the polynomial by about 4^-12
_DEPTH = 12
# largest number of coefficients: reached if a Jacobian nearly vanishes along whole faces
_MAX_COEFFICIENTS = 2**24
# Jacobian over the product of the longest sides below which a mapping is degenerate
_DEGENERATE = 1e-10
# elements whose determinants are sampled at once
_CHUNK = 2048


class Bezier(NamedTuple):
    """Mappings of [-1, 1]^d in Bezier form, one for each of e elements.

    Parameters
    ----------
    controls : (B, e, d) control points, the first coordinate running fastest; of a rational mapping
        those of its numerator
    degrees : polynomial degree along each coordinate
    weights : (e, p + 1) Bernstein coefficients of its positive denominator, a function of the
        first coordinate; None for polynomial mappings
    collapsed : whether the edge eta = 1 is one point, as in a triangle; the Jacobian is then
        divided by (1 - eta)/2
    """

    controls: Floats
    degrees: tuple[int, ...]
    weights: Floats | None = None
    collapsed: bool = False


@functools.cache
def coefficients_from(degree: int) -> tuple[Floats, Floats]:
    """Return points (degree + 1,) and the matrix from values there to Bernstein coefficients."""
    sites = np.asarray(-np.cos(np.pi * np.arange(degree + 1) / max(degree, 1)))
    return sites, np.asarray(np.linalg.inv(bernstein(degree, sites)[0]), dtype=np.float64)


class _Tables(NamedTuple):
    """Matrices from control points to a Jacobian in Bernstein form, for mappings of one kind.

    Parameters
    ----------
    values, slopes : (S, B) the mapping at S sites, and its rate along each coordinate
    weight, rate : (S, p + 1) denominators at the sites, and their rate along the first coordinate
    back : (N, S) from values at the sites to coefficients
    shape : of the coefficients, the last coordinate first
    """

    values: Floats
    slopes: tuple[Floats, ...]
    weight: Floats
    rate: Floats
    back: Floats
    shape: tuple[int, ...]


@functools.cache
def _tables(degrees: tuple[int, ...], extra: int, collapsed: bool) -> _Tables:
    """Return the tables of mappings; `extra` is the degree of their denominators."""
    d = len(degrees)
    wide = [d * p - 1 + (extra if k == 0 else 0) for k, p in enumerate(degrees)]
    sites, back = zip(*(coefficients_from(n) for n in wide), strict=True)
    values, slopes = zip(
        *(bernstein(p, x) for p, x in zip(degrees, sites, strict=True)), strict=True
    )
    if collapsed:
        # (1 - eta)/2 times a polynomial of a degree less
        n = wide[1]
        degree_factors = n / (n - np.arange(n))
        back = (back[0], degree_factors[:, None] * back[1][:-1], *back[2:])

    def product(parts: Sequence[Floats]) -> Floats:
        # the last coordinate runs slowest
        table = parts[0]
        for part in parts[1:]:
            table = np.asarray(np.kron(part, table), dtype=np.float64)
        return table

    by = [[slopes[i] if i == k else values[i] for i in range(d)] for k in range(d)]
    ones = [np.ones((x.size, 1)) for x in sites[1:]]
    weight, rate = bernstein(extra, sites[0]) if extra else (ones[0][:1], ones[0][:1])
    return _Tables(
        product(values),
        tuple(product(parts) for parts in by),
        product([weight, *ones]) if extra else weight,
        product([rate, *ones]) if extra else rate,
        product(back),
        tuple(part.shape[0] for part in back[::-1]),
    )


def jacobian_coefficients(mapping: Bezier) -> Floats:
    """Return the Bernstein coefficients of the determinants, (e, ...), the first coordinate last.

    Of a rational mapping they are those of the determinant times W^(d + 1), of one that is
    collapsed over (1 - eta)/2.

    Verified by: tests/unit/solids/elements/test_jacobians.py::test_coefficients_are_right
    """
    b, e, d = mapping.controls.shape
    extra = 0 if mapping.weights is None else mapping.weights.shape[1] - 1
    # rates of the mapping at interpolation sites, their determinant there, and its coefficients
    tables = _tables(mapping.degrees, extra, mapping.collapsed)
    controls = mapping.controls.reshape(b, e * d)
    rates = [(one @ controls).reshape(-1, e, d) for one in tables.slopes]
    if mapping.weights is not None:
        # quotient rule for x = place / w along the first coordinate, times w^2
        w, dw = tables.weight @ mapping.weights.T, tables.rate @ mapping.weights.T
        place = (tables.values @ controls).reshape(-1, e, d)
        rates[0] = rates[0] * w[..., None] - place * dw[..., None]
    determinants = _determinant([np.moveaxis(rate, -1, 0) for rate in rates])
    return (tables.back @ determinants).T.reshape(e, *tables.shape)


def _determinant(columns: list[Floats]) -> Floats:
    """Return the determinant of two or three columns (d, ...)."""
    if len(columns) == 2:
        (a, b), (c, d) = columns
        return np.asarray(a * d - b * c)
    (a, b, c), (d, e, f), (g, h, i) = columns
    return np.asarray(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


def least_jacobians(mapping: Bezier) -> Floats:
    """Return a lower bound of the smallest over the largest Jacobian of every element, (e,).

    It is 1 for an affine mapping, and 0 for a degenerate one, onto a line or a plane. It is
    positive if and only if the Jacobian is, except if the smallest Jacobian is below 1e-7 of the
    largest: the bound may then be negative.

    Verified by: tests/unit/solids/elements/test_jacobians.py::test_signs_against_dense_samples
    """
    e = mapping.controls.shape[1]
    bounds = np.empty(e)
    for first in range(0, e, _CHUNK):
        chunk = slice(first, first + _CHUNK)
        weights = None if mapping.weights is None else mapping.weights[chunk]
        part = mapping._replace(controls=mapping.controls[:, chunk], weights=weights)
        bounds[chunk] = _least(jacobian_coefficients(part), _sides(part))
    return bounds


def _sides(mapping: Bezier) -> Floats:
    """Return the product of the longest sides along each coordinate, (e,)."""
    _, e, d = mapping.controls.shape
    grid = mapping.controls.reshape(*(p + 1 for p in mapping.degrees[::-1]), e, d)
    product = np.ones(e)
    for k in range(d):
        sides = np.diff(grid, axis=k)
        product *= np.sqrt((sides**2).sum(axis=-1).reshape(-1, e).max(axis=0))
    return product


def _least(coefficients: Floats, sides: Floats) -> Floats:
    """Return the smallest over the largest coefficient (e,), subdivided until signs are known."""
    e, axes = coefficients.shape[0], coefficients.ndim - 1
    flat = coefficients.reshape(e, -1)
    size = np.abs(flat).max(axis=1)
    # the Jacobian of a mapping onto a line or a plane is rounding
    degenerate = ~(size > _DEGENERATE * sides)
    size = np.where(degenerate, 1.0, size)
    least = np.where(degenerate, 0.0, flat.min(axis=1))
    owner = np.flatnonzero(~(least > 0.0) & ~degenerate)
    boxes = coefficients[owner]
    proved = np.full(e, np.inf)
    corner: tuple[Any, ...] = (slice(None), *np.ix_(*([0, -1] for _ in range(axes))))
    for _ in range(_DEPTH):
        if not owner.size or boxes.size > _MAX_COEFFICIENTS:
            break
        # a corner coefficient that is not positive is a value of the Jacobian: the element is
        # folded, and its least coefficient stays as it is
        values = boxes[corner].reshape(owner.size, -1).min(axis=1)
        folded = np.zeros(e, dtype=bool)
        folded[owner[~(values > 0.0)]] = True
        undecided = ~folded[owner]
        owner, boxes = owner[undecided], boxes[undecided]
        if not owner.size:
            break
        # bisect the others along each coordinate, into 2^d boxes
        for k in range(axes):
            left, right = _halves(boxes.shape[k + 1] - 1)
            boxes = np.concatenate([_along(left, boxes, k + 1), _along(right, boxes, k + 1)])
        owner = np.tile(owner, 2**axes)
        low = boxes.reshape(owner.size, -1).min(axis=1)
        # boxes with positive coefficients are done; the smallest of them bounds the element
        proved_now = low > 0.0
        np.minimum.at(proved, owner[proved_now], low[proved_now])
        least[owner] = np.inf
        np.minimum.at(least, owner, low)
        owner, boxes = owner[~proved_now], boxes[~proved_now]
        done = np.isfinite(proved) & (least > 0.0)
        least[done] = np.minimum(least[done], proved[done])
    return np.asarray(least / size)


def _along(matrix: Floats, values: Floats, axis: int) -> Floats:
    """Return values with a matrix applied along an axis."""
    return np.moveaxis(np.tensordot(matrix, values, axes=([1], [axis])), 0, axis)


@functools.cache
def _halves(degree: int) -> tuple[Floats, Floats]:
    """Return the matrices to the coefficients of both halves, by de Casteljau's algorithm."""
    n = degree + 1
    left = np.array([[comb(i, j) / 2.0**i for j in range(n)] for i in range(n)])
    return left, left[::-1, ::-1].copy()
