"""Membranes for tests: arcs as quadratic splines, tubes, balls, equations of one sheet."""

import numpy as np
from scipy.interpolate import BSpline

from stiction.numerics.bsplines import open_knots
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.patch import Patch
from stiction.solids.model import Assembled


def arc(angle, pieces):
    """Return control points (pieces + 2, 2) and weights of an arc of radius one, from angle 0."""
    half = 0.5 * angle
    middle = np.array([np.cos(half), np.sin(half)]) / np.cos(half)
    points = np.array([[1.0, 0.0], middle, [np.cos(angle), np.sin(angle)]])
    weights = np.array([1.0, np.cos(half), 1.0])
    net = np.column_stack([points * weights[:, None], weights])
    spline = BSpline(open_knots(np.array([0.0, 1.0]), 2), net, 2)
    for x in np.linspace(0.0, 1.0, pieces + 1)[1:-1]:
        spline = spline.insert_knot(x)
    net = spline.c
    return net[:, :2] / net[:, 2:], net[:, 2]


def cylinder(radius, length, around, along):
    """Return a quarter of a tube about the third axis."""
    points, weights = arc(0.5 * np.pi, around)
    heights = np.linspace(0.0, length, along + 1)
    z = np.concatenate([[0.0], 0.5 * (heights[1:] + heights[:-1]), [length]])
    net = np.array([[[*(radius * p), h] for p in points] for h in z])
    breaks = np.linspace(0.0, 1.0, around + 1), np.linspace(0.0, 1.0, along + 1)
    return Patch(net, *breaks, np.tile(weights, (z.size, 1)))


def ball(radius, around, along):
    """Return a part of a sphere around its equator, 90 degrees wide and 60 high."""
    points, weights = arc(0.5 * np.pi, around)
    turned, other = arc(np.pi / 3.0, along)
    c, s = np.cos(-np.pi / 6.0), np.sin(-np.pi / 6.0)
    outer, up = turned[:, 0] * c - turned[:, 1] * s, turned[:, 0] * s + turned[:, 1] * c
    net = np.array([[[*(r * p), h] for p in points] for r, h in zip(outer, up, strict=True)])
    breaks = np.linspace(0.0, 1.0, around + 1), np.linspace(0.0, 1.0, along + 1)
    return Patch(radius * net, *breaks, other[:, None] * weights)


def problem_of(membrane, **more):
    """Return the equations of one membrane alone."""
    return Problem(Assembled([membrane], **more))


def inner_nodes(patch):
    """Return the control points that are on no edge."""
    sets = patch.node_sets()
    edge = np.concatenate([sets[name] for name in ("left", "right", "front", "back")])
    return np.setdiff1d(sets["face"], edge)
