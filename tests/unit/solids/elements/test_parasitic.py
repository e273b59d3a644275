"""The excess of linear elements in bending: against beams, none in homogeneous states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import MATERIALS, distorted

from stiction.solids import Q1, QM6, Mesh, SweptBody, merged, rectangle
from stiction.solids.elements.assembly import Bulk
from stiction.solids.elements.kinds import Q1N2, Q2, discretise
from stiction.solids.elements.parasitic import Excess, excess, incompatible_modes
from stiction.solids.materials import LinearElastic, NeoHookean


def triangles(mesh):
    """Each quadrilateral of a mesh split in two, alternately from either corner."""
    corners = mesh.cells[:, :4]
    cells = []
    for k, (a, b, c, d) in enumerate(corners):
        pair = [[a, b, d, -1], [b, c, d, -1]] if k % 2 else [[a, b, c, -1], [a, c, d, -1]]
        cells += pair
    cells = np.array(cells)
    used = np.unique(corners)
    number = np.full(mesh.points.shape[0], -1)
    number[used] = np.arange(used.size)
    return Mesh(mesh.points[used], np.where(cells < 0, -1, number[cells]))


def energies(parts, table, u):
    """Energy of a body and its excess."""
    ((energy, more),) = Excess([(parts.blocks, table)]).at(np.ascontiguousarray(u))
    return energy, more


def bent(x, curvature, poisson=0.0):
    """Displacements of pure bending, to first order."""
    y = x[:, 1] - 0.5
    u = np.zeros_like(x)
    u[:, 0] = -curvature * x[:, 0] * y
    u[:, 1] = 0.5 * curvature * (x[:, 0] ** 2 + poisson * y**2)
    return u


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.499])
@pytest.mark.parametrize(("thin", "reduced"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("cells", [(2, 1), (10, 1), (10, 3), (40, 4)])
def test_excess_is_that_of_a_beam(poisson, thin, reduced, cells):
    """Energy less excess is that of a beam of one row per element: its mean state and its bending.

    Nodes are where a beam has them. Each cell then has the energy of its mean strain, and that of
    its curvature in plane strain or stress, whatever the element made of it.
    """
    length, curvature = 8.0, 1e-3
    law = LinearElastic(1.0, poisson)
    parts = discretise(rectangle(length, 1.0, cells), Q1(reduced=reduced))
    table, x = law.table(thin), parts.points
    u = bent(x, curvature)
    energy, more = energies(parts, table, u)
    stiff = law.contact_modulus(thin)
    height = 1.0 / cells[1]
    bending = 0.5 * stiff * curvature**2 * length * height**3 / 12.0 * cells[1]
    # what is left has the mean strain of each cell, along the beam alone
    mu = 1.0 / (2.0 * (1.0 + poisson))
    lam = 2.0 * mu * poisson / (1.0 - poisson if thin else 1.0 - 2.0 * poisson)
    rows = (np.arange(cells[1]) + 0.5) * height - 0.5
    mean = 0.5 * (lam + 2.0 * mu) * curvature**2 * length * height * np.sum(rows**2)
    assert_allclose(energy - more, mean + bending, rtol=1e-10)
    assert more > 0.0 or reduced


@pytest.mark.parametrize("name", sorted(MATERIALS))
@pytest.mark.parametrize("kind", ["Q1", "reduced", "Q1N2", "triangles", "space", "wedges"])
def test_homogeneous_states_have_no_excess(name, kind):
    """Tension, shear and turning cost linear elements nothing more, however large."""
    mesh = distorted()
    if kind in ("space", "wedges"):
        section = triangles(mesh) if kind == "wedges" else mesh
        parts = SweptBody(section, (0.0, 0.3, 1.0), Q1()).discretised(())
    elif kind == "triangles":
        parts = discretise(triangles(mesh), Q1())
    else:
        element = {"Q1": Q1(), "reduced": Q1(reduced=True), "Q1N2": Q1N2()}[kind]
        parts = discretise(mesh, element, ("bottom",))
    d = parts.points.shape[1]
    gradient = np.zeros((d, d))
    gradient[:2, :2] = [[0.4, 0.5], [-0.3, 0.2]]
    energy, more = energies(parts, MATERIALS[name].table(), parts.points @ gradient.T)
    assert energy > 0.0
    assert abs(more) < 1e-12 * energy


@pytest.mark.parametrize("kind", ["Q1", "triangles", "space", "wedges"])
def test_excess_does_not_depend_on_frame_and_units(kind):
    law = NeoHookean(1.0, 0.3)
    mesh = rectangle(6.0, 1.0, (6, 1))
    if kind in ("space", "wedges"):
        section = triangles(mesh) if kind == "wedges" else mesh
        parts = SweptBody(section, (0.0, 1.0), Q1()).discretised(())
    else:
        parts = discretise(triangles(mesh) if kind == "triangles" else mesh, Q1())
    x = parts.points
    d = x.shape[1]
    u = np.concatenate([bent(x, 0.02), np.zeros((x.shape[0], d - 2))], axis=1)[:, :d]
    u[:, 2:] = 0.0
    energy, more = energies(parts, law.table(), u)
    assert 0.2 < more / energy < 1.0
    if kind == "wedges":
        plane = discretise(triangles(mesh), Q1())
        found = energies(plane, law.table(), bent(plane.points, 0.02))
        assert_allclose(found, (energy, more), rtol=1e-12)
    turn = np.eye(d)
    turn[:2, :2] = [[0.28, -0.96], [0.96, 0.28]]
    turned = (x + u) @ turn.T - x + 5.0
    assert_allclose(energies(parts, law.table(), turned), (energy, more), rtol=1e-9)
    # in millimetres and kilopascals
    size = 1e3
    small = Mesh(size * mesh.points, mesh.cells)
    if kind in ("space", "wedges"):
        section = triangles(small) if kind == "wedges" else small
        other = SweptBody(section, (0.0, size), Q1()).discretised(())
    else:
        other = discretise(triangles(small) if kind == "triangles" else small, Q1())
    found = energies(other, NeoHookean(1e-3, 0.3).table(), size * u)
    assert_allclose(found, np.array([energy, more]) * 1e-3 * size**d, rtol=1e-9)


@pytest.mark.parametrize("element", [Q2(), QM6()])
def test_elements_without_locking_have_no_excess(element):
    parts = discretise(rectangle(6.0, 1.0, (6, 1)), element)
    table = NeoHookean(1.0, 0.3).table()
    kinds = [
        incompatible_modes(b.elements, b.table)
        for b in Bulk([(k, table) for k in parts.blocks]).blocks
    ]
    assert kinds == [None] * len(kinds)
    assert excess([], parts.points) == 0.0


@pytest.mark.parametrize("kind", ["Q1", "triangles", "space", "wedges"])
@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_rigid_motions_have_no_excess(kind, name):
    """Far away strains are rounding; small ones of a body that bends count to the last digits."""
    mesh = rectangle(6.0, 1.0, (6, 1))
    if kind in ("space", "wedges"):
        section = triangles(mesh) if kind == "wedges" else mesh
        parts = SweptBody(section, (0.0, 1.0), Q1()).discretised(())
    else:
        parts = discretise(triangles(mesh) if kind == "triangles" else mesh, Q1())
    x, table = parts.points, MATERIALS[name].table()
    for speed in (0.1, 300.0, 1e6):
        for shift in (np.full(x.shape, speed), np.full(x.shape, speed) * (1.0 + 1e-16 * x[:, :1])):
            assert energies(parts, table, shift) == (0.0, 0.0)
    u = np.zeros_like(x)
    u[:, :2] = bent(x, 1.0)[:, :2]
    shares = [np.divide(*energies(parts, table, size * u)[::-1]) for size in (1e-3, 1e-6, 1e-9)]
    assert 0.1 < shares[0] < 1.0
    assert_allclose(shares, shares[0], rtol=0.02)  # reason: strains of 3e-3 are not small


@pytest.mark.parametrize("kind", ["reduced", "in space", "hourglass"])
@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_energies_of_small_strains_are_quadratic(kind, name):
    """The quadratic form has the same integration points and hourglass energy as the law."""
    mesh = rectangle(6.0, 1.0, (6, 1))
    if kind == "in space":
        parts = SweptBody(mesh, (0.0, 1.0), Q1(reduced=True)).discretised(())
    elif kind == "reduced":
        parts = discretise(mesh, Q1(reduced=True))
    else:
        # one part has triangles, so that the body has an excess
        corners = mesh.cells[:, :4]
        used = np.unique(corners)
        quads = Mesh(mesh.points[used] + [2.0, 0.0], np.searchsorted(used, corners))
        split = triangles(rectangle(2.0, 1.0, (2, 1)))
        parts = discretise(merged([split, quads]), QM6())
    u = np.zeros_like(parts.points)
    u[:, :2] = bent(parts.points, 1.0)[:, :2]
    table = MATERIALS[name].table()
    large, small = (np.divide(energies(parts, table, k * u), k * k) for k in (1e-4, 1e-8))
    assert_allclose(small, large, rtol=2e-3)  # reason: strains of 3e-4 are not small
