"""Biquadratic NURBS patches: shapes, areas, edges, pictures, and what is refused."""

import numpy as np
import pytest
from membrane_cases import arc, cylinder
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.solids.membranes.model import Membrane
from stiction.solids.membranes.patch import Patch, flat_patch

GAUSS = np.polynomial.legendre.leggauss(3)


def test_flat_patch():
    patch = flat_patch(3.0, 2.0, (4, 3), (1.0, 0.5, -1.0))
    surface = patch.surface(*GAUSS)
    assert_allclose(surface.areas.sum(), 6.0, rtol=1e-14)
    assert_allclose(surface.areas.sum(axis=1), 0.5, rtol=1e-13)
    sets = patch.node_sets()
    assert {name: len(nodes) for name, nodes in sets.items()} == {
        "left": 5, "right": 5, "front": 6, "back": 6, "face": 30,
    }  # fmt: skip
    assert_allclose(patch.control_points[sets["right"], 0], 4.0)
    assert_allclose(patch.control_points[sets["front"], 2], -1.0)
    made = Membrane(patch).discretised(("face",))
    drawn = made.picture.matrix @ made.points
    assert_allclose(drawn.min(axis=0), [1.0, 0.5, -1.0], atol=1e-14)
    assert_allclose(drawn.max(axis=0), [4.0, 0.5, 1.0], atol=1e-14)
    corner = drawn[made.picture.quads]
    across = np.cross(corner[:, 1] - corner[:, 0], corner[:, 3] - corner[:, 0])
    assert_allclose(np.linalg.norm(across, axis=1).sum(), 6.0, rtol=1e-13)


def test_a_cylinder_is_exact():
    patch = cylinder(2.0, 1.5, 3, 2)
    surface = patch.surface(*GAUSS)
    places = np.einsum("eqn,end->eqd", surface.functions, patch.control_points[surface.nodes])
    assert_allclose(np.hypot(places[..., 0], places[..., 1]), 2.0, rtol=1e-14)
    drawn = Membrane(patch).discretised(("face",)).picture.matrix @ patch.control_points
    assert_allclose(np.hypot(drawn[:, 0], drawn[:, 1]), 2.0, rtol=1e-14)
    # three points a piece integrate the root in the area to 1e-4 here
    assert_allclose(surface.areas.sum(), 2.0 * 0.5 * np.pi * 1.5, rtol=1e-4)


def test_arcs_have_the_knots_that_are_asked_for():
    points, weights = arc(np.pi / 2.0, 4)
    assert points.shape == (6, 2)
    assert weights[0] == weights[-1] == 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: flat_patch(cells=(0, 1)), "cells"),
        (lambda: flat_patch(length=-1.0), "length"),
        (lambda: Patch(np.zeros((3, 4, 3))), "points"),
        (lambda: Patch([[1.0, 2.0], [1.0]]), "points"),
        (lambda: Patch(np.full((3, 3, 3), np.nan)), "points"),
        (lambda: Patch(np.zeros((3, 3, 3)), (0.0, 1.0), (1.0, 0.0)), "across"),
        (lambda: Patch(np.zeros((3, 3, 3)), "no"), "along"),
        (lambda: Patch(np.zeros((3, 3, 3)), weights=np.zeros((3, 3))), "weights"),
        (lambda: Patch(np.zeros((3, 3, 3)), weights=-np.ones((3, 3))), "weights"),
        (lambda: Patch(np.zeros((3, 3, 3)), weights=np.ones(3)), "weights"),
        (lambda: Membrane(thickness=0.0), "thickness"),
        (lambda: Membrane(thickness=-1.0), "thickness"),
        (lambda: Membrane(young=0.0), "young"),
        (lambda: Membrane(prestretch=0.9), "prestretch"),
        (lambda: Membrane(prestretch=(1.0, 0.5)), "prestretch"),
        (lambda: Membrane(patch=3), "patch"),
        (lambda: Membrane(contact_points=0), "contact_points"),
        (lambda: Membrane(Patch(np.zeros((3, 3, 3)))).sheet(), "area"),
        (lambda: flat_patch().boundary("top"), "face"),
        (lambda: flat_patch(cells=4), "two whole numbers"),
        (lambda: flat_patch(cells=(4,)), "two whole numbers"),
        (lambda: flat_patch(cells=(4, 4, 4)), "two whole numbers"),
    ],
)
def test_patches_that_are_none(make, words):
    with pytest.raises(ModelError, match=words):
        make()
