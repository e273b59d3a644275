"""Bodies in space: functions, patch tests, tangents and objectivity of hexahedra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import spsolve
from solid_cases import (
    ELEMENTS,
    MATERIALS,
    distorted,
    forces,
    jacobian,
    principal_stresses,
    tangent,
)

from stiction.errors import ModelError
from stiction.numerics import jit
from stiction.solids.elements.assembly import Bulk, Pattern, mean_stresses
from stiction.solids.elements.swept import sweep

GRADIENT = np.array([[0.12, 0.07, -0.04], [-0.05, -0.09, 0.03], [0.02, 0.06, 0.08]])


def bent(x):
    """Return points moved so that no face of a hexahedron stays flat."""
    waves = [np.sin(3 * x[:, 2]) * x[:, 1], np.cos(2 * x[:, 2] + x[:, 0])]
    return x + 0.03 * np.stack([*waves, np.sin(2 * x[:, 0] + 1.5 * x[:, 1])], axis=1)


def body(element, degree, reduced=False, move=bent, contact=("bottom",)):
    kind = ELEMENTS[element](reduced=reduced)
    # faces of splines on elements that are linear along the axis as well
    face = 2 if (element, degree) == ("Q1N2", 1) else None
    return sweep(distorted(cells=(3, 2)), kind, (0.0, 0.4, 1.0), degree, contact, move, face)


def bound(parts, name):
    bulk = Bulk([(block, MATERIALS[name].table()) for block in parts.blocks])
    pattern = Pattern(parts.points.shape[0], 3, bulk.pairs())
    bulk.bind(pattern)
    return bulk, pattern


CASES = [("Q1", 1, False), ("Q1", 1, True), ("Q2", 2, False), ("Q1N2", 2, False), ("Q1H", 1, False)]
CASES += [("Q1N2", 1, False), ("Q1N2", 1, True)]


@pytest.mark.parametrize(("element", "degree", "reduced"), CASES)
@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_patch_of_hexahedra(element, degree, reduced, name):
    """An affine motion of the outline moves the inside affinely, whatever the mesh."""
    parts = body(element, degree, reduced)
    bulk, pattern = bound(parts, name)
    wanted = parts.points @ GRADIENT.T
    on = np.zeros(parts.points.shape[0], dtype=bool)
    on[np.concatenate(list(parts.node_sets.values()))] = True
    free = np.flatnonzero(~np.repeat(on, 3))
    assert free.size >= 6
    u = wanted.copy()
    u.flat[free] *= 0.8
    for _ in range(6):
        rest = forces(bulk, u).ravel()[free]
        u.flat[free] -= spsolve(tangent(bulk, pattern, u)[free][:, free].tocsc(), rest)
    assert np.abs(u - wanted).max() < 1e-12


def test_patch_of_reduced_triquadratic_hexahedra():
    """Two points a side for the volume: exact where edges are straight."""
    parts = body("Q2", 2, True, None)
    bulk, _ = bound(parts, "NearlyIncompressible")
    on = np.zeros(parts.points.shape[0], dtype=bool)
    on[np.concatenate(list(parts.node_sets.values()))] = True
    rest = forces(bulk, parts.points @ GRADIENT.T)
    assert np.abs(rest[~on]).max() < 1e-13


@pytest.mark.parametrize(("element", "degree", "reduced"), CASES)
@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_tangent_against_differences(element, degree, reduced, name):
    """Tangent and forces in random directions; forces turn with the body; plain bits."""
    parts = body(element, degree, reduced)
    bulk, pattern = bound(parts, name)
    random = np.random.default_rng(3)
    u, way = 0.01 * random.standard_normal((2, *parts.points.shape))
    matrix = tangent(bulk, pattern, u)
    assert abs(matrix - matrix.T).max() < 1e-13 * abs(matrix).max()
    exact, force = matrix @ way.ravel(), forces(bulk, u)
    found = jacobian(lambda s: forces(bulk, u + s[0] * way), np.zeros(1), 1e-3)[:, 0]
    assert np.abs(found - exact).max() < 1e-7 * np.abs(exact).max()
    slope = jacobian(lambda s: bulk.energy(u + s[0] * way), np.zeros(1), 1e-3)[0, 0]
    assert_allclose(slope, (force * way).sum(), rtol=1e-8, atol=1e-10 * np.abs(force).max())
    if name != "LinearElastic":
        turn = np.linalg.qr(random.standard_normal((3, 3)))[0]
        turn *= np.sign(np.linalg.det(turn))
        turned = forces(bulk, (parts.points + u) @ turn.T - parts.points)
        assert_allclose(turned, force @ turn.T, atol=1e-12 * np.abs(force).max())
    reported = []
    for mode in ("compiled", "plain"):
        with jit.running(mode):
            residual, data = np.zeros_like(u), np.zeros(pattern.entries)
            assert bulk.add(u, residual, data) == 0
            reported.append((residual, data))
    assert all(np.array_equal(a, b) for a, b in zip(*reported, strict=True))


@pytest.mark.parametrize("name", sorted(set(MATERIALS) - {"LinearElastic"}))
def test_principal_stresses(name):
    """Stretched along three rotated axes: Cauchy stress from principal forces, by hand."""
    parts = body("Q1", 1)
    turn = np.linalg.qr(np.random.default_rng(6).standard_normal((3, 3)))[0]
    stretches = np.array([1.2, 0.9, 1.05])
    u = parts.points @ (turn @ np.diag(stretches) @ turn.T - np.eye(3)).T
    nominal = principal_stresses(MATERIALS[name], stretches)
    wanted = turn @ np.diag(nominal * stretches / stretches.prod()) @ turn.T
    for block in parts.blocks:
        mean = mean_stresses(block, u, MATERIALS[name].table())
        at = [(0, 0), (1, 1), (0, 1), (2, 2), (1, 2), (0, 2)]
        assert_allclose(mean, np.broadcast_to([wanted[p] for p in at], mean.shape), atol=1e-12)


def test_volumes_and_areas():
    parts = body("Q1N2", 2, move=None)
    assert_allclose(sum(block.weights.sum() for block in parts.blocks), 1.5, rtol=1e-13)
    face = parts.surfaces["bottom"]
    assert_allclose(face.areas.sum(), 1.5, rtol=1e-13)
    assert face.grid == (3, 2)
    assert_allclose(face.lengths[:, 1], np.repeat([0.4, 0.6], 3), rtol=1e-13)
    assert_allclose(parts.points[parts.node_sets["front"], 2], 1.0, rtol=1e-15)


def test_splines_on_trilinear_bodies():
    """A face of splines next to plain cells: displacements are continuous in any state."""
    mesh = distorted(cells=(4, 2)).split("bottom", 2, "touching", "free")
    parts = sweep(mesh, ELEMENTS["Q1N2"](), (0.0, 0.4, 1.0), 1, ("touching",), bent, 2)
    sizes = {block.nodes.shape[1] for block in parts.blocks}
    # eight of cells, thirteen of the layer, nine next to its end
    assert sizes == {8, 9, 13}
    used = np.unique(np.concatenate([block.nodes.ravel() for block in parts.blocks]))
    assert used.size == parts.points.shape[0]
    # volumes fit without gaps: as long as the outline is that of the plane body
    straight = sweep(mesh, ELEMENTS["Q1N2"](), (0.0, 0.4, 1.0), 1, ("touching",), None, 2)
    assert_allclose(sum(block.weights.sum() for block in straight.blocks), 1.5, rtol=1e-13)
    face = straight.surfaces["touching"]
    assert face.degrees == (2, 2)
    assert_allclose(face.areas.sum(), 0.75, rtol=1e-13)


def test_folded_hexahedra_are_refused():
    with pytest.raises(ModelError, match="folded"):
        body("Q1", 1, move=lambda x: x * np.array([1.0, -1.0, 1.0]))
