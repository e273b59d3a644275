"""Internal forces and tangents of all elements and materials; patch tests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import spsolve
from solid_cases import ELEMENTS, MATERIALS, bound, distorted, forces, jacobian, outline, tangent

from stiction.errors import ModelError
from stiction.solids.elements.assembly import Bulk, Pattern, _least_value, mean_stresses
from stiction.solids.elements.kinds import discretise

KINDS = [(name, reduced) for name in ELEMENTS for reduced in (False, True)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda k: k[0] + ("-reduced" if k[1] else ""))
def parts(request):
    name, reduced = request.param
    mesh = distorted(cells=(3, 2))
    return discretise(mesh, ELEMENTS[name](reduced=reduced), contact=("bottom",))


def is_reduced(parts):
    """Return whether the volumetric part is integrated apart."""
    return parts.blocks[0].volume_weights.shape[1] > 0


def planes(parts):
    """Return the plane states that go with a body."""
    return (False,) if is_reduced(parts) else (False, True)


@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_tangent_against_differences(parts, name):
    random = np.random.default_rng(3)
    for plane_stress in planes(parts):
        bulk, pattern = bound(parts, MATERIALS[name].table(plane_stress))
        u = 0.012 * random.standard_normal(parts.points.shape)
        exact = tangent(bulk, pattern, u).toarray()
        assert_allclose(exact, exact.T, atol=1e-13 * np.abs(exact).max())
        found = jacobian(lambda v, bulk=bulk: forces(bulk, v), u, 1e-4)
        assert np.abs(found - exact).max() < 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_forces_are_the_gradient_of_energy(parts, name):
    random = np.random.default_rng(4)
    for plane_stress in planes(parts):
        bulk, _ = bound(parts, MATERIALS[name].table(plane_stress))
        u = 0.012 * random.standard_normal(parts.points.shape)
        exact = forces(bulk, u)
        found = jacobian(lambda v, bulk=bulk: bulk.energy(v), u, 1e-4).reshape(u.shape)
        assert np.abs(found - exact).max() < 1e-9 * np.abs(exact).max()
        assert bulk.energy(np.zeros_like(u)) == pytest.approx(0.0, abs=1e-15)


GRADIENT = np.array([[0.12, 0.07], [-0.05, -0.09]])


def homogeneous_stress(name, plane_stress):
    """Return the nominal stress at F = 1 + GRADIENT by differences of an energy in 3D."""
    law = MATERIALS[name]
    if name == "LinearElastic":
        g, k = law.moduli()
        strain = np.zeros((3, 3))
        strain[:2, :2] = 0.5 * (GRADIENT + GRADIENT.T)
        if plane_stress:
            strain[2, 2] = -(k - 2 * g / 3) / (k + 4 * g / 3) * np.trace(strain)
        sigma = 2 * g * strain + (k - 2 * g / 3) * np.trace(strain) * np.eye(3)
        return sigma

    def psi(f):
        j, c = np.linalg.det(f), f.T @ f
        i1 = np.trace(c)
        i2 = 0.5 * (i1**2 - np.trace(c @ c))
        g, k = law.moduli()
        if name == "NeoHookean":
            lam = k - 2 * g / 3
            return g / 2 * (i1 - 3) - g * np.log(j) + lam / 2 * np.log(j) ** 2
        w = j ** (-2 / 3) * i1 - 3
        volume = k / 2 * (j - 1) ** 2
        if name == "NearlyIncompressible":
            return g / 2 * w + volume
        if name == "MooneyRivlin":
            return law.c10 * w + law.c01 * (j ** (-4 / 3) * i2 - 3) + volume
        return law.c1 * w + law.c2 * w**2 + law.c3 * w**3 + volume

    f = np.eye(3)
    f[:2, :2] += GRADIENT
    if plane_stress:
        from scipy.optimize import brentq

        def pull(l):  # noqa: E741
            g = f.copy()
            g[2, 2] = l
            return jacobian(lambda h: psi(h.reshape(3, 3)), g.ravel(), 1e-4)[0, 8]

        f[2, 2] = brentq(pull, 0.5, 1.5, xtol=1e-14)
    nominal = jacobian(lambda h: psi(h.reshape(3, 3)), f.ravel(), 1e-4).reshape(3, 3)
    return nominal @ f.T / np.linalg.det(f)


@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_stress_of_homogeneous_states(parts, name):
    for plane_stress in planes(parts):
        table = MATERIALS[name].table(plane_stress)
        exact = homogeneous_stress(name, plane_stress)
        wanted = np.array([exact[0, 0], exact[1, 1], exact[0, 1], exact[2, 2]])
        u = parts.points @ GRADIENT.T
        for block in parts.blocks:
            out = mean_stresses(block, u, table)
            assert_allclose(out, np.broadcast_to(wanted, out.shape), atol=1e-9)


@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_patch(parts, name):
    """An affine motion of the outline moves the inside affinely, whatever the mesh."""
    for plane_stress in planes(parts):
        bulk, pattern = bound(parts, MATERIALS[name].table(plane_stress))
        wanted = parts.points @ GRADIENT.T
        free = np.flatnonzero(~np.repeat(outline(parts), 2))
        assert free.size >= 4
        u = wanted.copy()
        u.flat[free] *= 0.8
        for _ in range(8):
            rest = forces(bulk, u).ravel()[free]
            u.flat[free] -= spsolve(tangent(bulk, pattern, u)[free][:, free].tocsc(), rest)
        assert np.abs(u - wanted).max() < 1e-12


def unbalanced(parts):
    """Return what is left at the nodes when a homogeneous stress meets its own traction below."""
    bulk, _ = bound(parts, MATERIALS["NeoHookean"].table())
    u = parts.points @ GRADIENT.T
    f = np.eye(2) + GRADIENT
    sigma = homogeneous_stress("NeoHookean", False)[:2, :2]
    nominal = np.linalg.det(f) * sigma @ np.linalg.inv(f).T
    face = parts.surfaces["bottom"]
    given = np.zeros_like(u)
    loads = np.einsum("sqn,sq->sn", face.functions, face.areas)
    np.add.at(given, face.nodes, loads[..., None] * (nominal @ np.array([0.0, -1.0])))
    return forces(bulk, u) - given


@pytest.mark.parametrize("name", sorted(ELEMENTS))
@pytest.mark.parametrize("reduced", [False, True])
def test_a_loaded_face_in_the_patch(name, reduced):
    """Constant traction on the face is carried by a constant stress, on a distorted mesh."""
    parts = discretise(distorted(cells=(3, 2)), ELEMENTS[name](reduced=reduced), ("bottom",))
    others = outline(parts, but=("bottom",))
    assert np.abs(unbalanced(parts)[~others]).max() < 1e-11


def test_folded_elements_are_counted(parts):
    bulk, pattern = bound(parts, MATERIALS["NeoHookean"].table())
    u = parts.points * np.array([0.0, -1.2])
    residual, data = np.zeros_like(u), np.zeros(pattern.entries)
    points = sum(block.weights.size + block.volume_weights.size for block in parts.blocks)
    assert bulk.add(u, residual, data) == points
    assert np.isnan(bulk.energy(u))


def test_least_volume_on_a_straight_path(parts):
    """From rest to a body mirrored across two axes: 1 - p (1 - l) along each, a polynomial."""
    bulk, _ = bound(parts, MATERIALS["NeoHookean"].table())
    rest, d = np.zeros_like(parts.points), parts.points.shape[1]
    dip = [-(a * b) * (0.5 / a - 0.5 / b) ** 2 for a, b in ((1.9, 1.7), (1.9, 1.901))]
    for ends, least in (
        ((-0.9, -0.7), dip[0]), ((-0.9, -0.901), dip[1]), ((0.3, 0.6), 0.18), ((1.5, 1.2), 1.0),
    ):  # fmt: skip
        along = np.array([*ends, 1.0][:d])
        found = bulk.least_volume(rest, parts.points * (along - 1.0))
        assert found == pytest.approx(least, abs=1e-13)
        back = bulk.least_volume(parts.points * (along - 1.0), rest)
        assert back == pytest.approx(found, abs=1e-13)


def test_least_values_of_polynomials():
    random = np.random.default_rng(6)
    fine = np.linspace(0.0, 1.0, 20_001)
    for degree in (2, 3):
        c = random.standard_normal((degree + 1, 200)) * 10.0 ** random.integers(-3, 4, 200)
        # one is linear, one constant
        c[2:, 0] = c[1:, 1] = 0.0
        samples = np.polynomial.polynomial.polyval(np.linspace(0.0, 1.0, degree + 1), c).T
        dense = np.polynomial.polynomial.polyval(fine, c).min(axis=1)
        size = np.abs(c).sum(axis=0)
        assert (np.abs(_least_value(samples) - dense) < 1e-8 * size).all()


def test_pattern_against_dense():
    random = np.random.default_rng(5)
    rows, columns = random.integers(0, 7, (6, 3)), random.integers(0, 7, (6, 3))
    pattern = Pattern(7, 2, [(rows, columns)])
    dense = np.zeros((14, 14))
    data = np.zeros(pattern.entries)
    for r, c in zip(rows.ravel(), columns.ravel(), strict=True):
        block = random.standard_normal((2, 2))
        dense[2 * r : 2 * r + 2, 2 * c : 2 * c + 2] += block
        at = int(pattern.places(np.array([r]), np.array([c]))[0])
        for k in range(2):
            start = at + k * int(pattern.row[r])
            data[start : start + 2] += block[k]
    matrix = pattern.matrix(data)
    assert np.array_equal(matrix.toarray(), dense)
    # of symmetric shape, every diagonal entry there, columns in order
    shape = pattern.matrix(np.ones(pattern.entries)).toarray()
    assert np.array_equal(shape, shape.T)
    assert np.all(shape.diagonal() == 1.0)
    starts = zip(pattern.indptr[:-1], pattern.indptr[1:], strict=True)
    assert all(np.all(np.diff(pattern.indices[a:b]) > 0) for a, b in starts)


def test_entries_beyond_32_bits_are_refused(monkeypatch):
    monkeypatch.setattr("stiction.solids.elements.assembly._MOST_ENTRIES", 15)
    Pattern(3, 1, [(np.array([0, 1]), np.array([1, 2]))])
    with pytest.raises(ModelError, match="28 entries; needs at most 15"):
        Pattern(3, 2, [(np.array([0, 1]), np.array([1, 2]))])


def test_unknown_pairs_are_refused():
    pattern = Pattern(3, 2, [(np.array([0]), np.array([1]))])
    with pytest.raises(KeyError, match="pattern"):
        pattern.places(np.array([0]), np.array([2]))


def test_a_body_without_elements():
    bulk = Bulk([])
    bulk.bind(Pattern(2, 2, bulk.pairs()))
    residual = np.zeros((2, 2))
    assert bulk.add(np.zeros((2, 2)), residual, None) == 0
    assert bulk.energy(np.zeros((2, 2))) == 0.0
    assert not residual.any()
