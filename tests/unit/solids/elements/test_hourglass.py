"""QM6: patch test, tangent, objectivity, bending, large compression, in the plane and in space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import MATERIALS, bound, distorted, forces, jacobian, principal_stresses, tangent

import stiction as st
from stiction.solids import (
    QM6,
    Body,
    Boundary,
    Driven,
    Fixed,
    LinearElastic,
    Nearest,
    NearlyIncompressible,
    NeoHookean,
    Program,
    Readings,
    SweptBody,
    rectangle,
)
from stiction.solids.elements.kinds import discretise
from stiction.solids.mesh.model import block
from stiction.solids.shape_functions.hourglass import hourglass_of

GRADIENT = np.array([[0.3, 0.2], [-0.1, 0.15]])
ANGLE = 0.7
TURN = np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]])


def flat(name="NeoHookean", thin=False, cells=(3, 2)):
    parts = discretise(distorted(cells=cells), QM6())
    return parts, *bound(parts, MATERIALS[name].table(thin))


def deep(name="NeoHookean"):
    """A swept body whose faces are bent, its bulk and pattern."""
    from stiction.solids.elements.assembly import Bulk, Pattern
    from stiction.solids.elements.swept import sweep

    def bend(x):
        return x + 0.03 * np.stack(
            [np.sin(3 * x[:, 2]) * x[:, 1], np.cos(2 * x[:, 2] + x[:, 0]), np.sin(2 * x[:, 0])], 1
        )

    parts = sweep(distorted(cells=(2, 2)), QM6(), (0.0, 0.4, 1.0), 1, (), bend)
    bulk = Bulk([(block, MATERIALS[name].table()) for block in parts.blocks])
    pattern = Pattern(parts.points.shape[0], 3, bulk.pairs())
    bulk.bind(pattern)
    return parts, bulk, pattern


def bodies():
    for name in sorted(MATERIALS):
        yield f"{name}, plane", lambda name=name: flat(name)
        yield f"{name}, space", lambda name=name: deep(name)
    yield "NeoHookean, thin", lambda: flat("NeoHookean", True)


BODIES = dict(bodies())


@pytest.mark.parametrize("kind", BODIES)
def test_tangent_against_differences(kind):
    parts, bulk, pattern = BODIES[kind]()
    rng = np.random.default_rng(1)
    u = 0.05 * rng.uniform(-1.0, 1.0, parts.points.shape)
    found = tangent(bulk, pattern, u).toarray()
    wanted = jacobian(lambda x: forces(bulk, x), u, 1e-4)
    assert_allclose(found, wanted, atol=2e-8 * np.abs(wanted).max())
    assert_allclose(found, found.T, atol=1e-13 * np.abs(found).max())
    slope = jacobian(lambda x: np.array([bulk.energy(np.ascontiguousarray(x))]), u, 1e-4)[0]
    assert_allclose(slope, forces(bulk, u).ravel(), atol=1e-8 * np.abs(slope).max())


@pytest.mark.parametrize("kind", BODIES)
def test_linear_fields_have_no_hourglass(kind):
    """The patch test: an affine motion is in balance inside, and has the energy of its stress."""
    parts, bulk, _ = BODIES[kind]()
    d = parts.points.shape[1]
    gradient = np.eye(d) * 0.1
    gradient[:2, :2] += 0.5 * GRADIENT
    u = np.ascontiguousarray(parts.points @ gradient.T)
    for elements, table, _, _ in bulk.blocks:
        hourglass = hourglass_of(elements, table)
        assert hourglass.energy(u) < 1e-25 * max(bulk.energy(u), 1.0)
        inner = elements.inner
        assert_allclose(np.einsum("eq,eqmd->emd", inner.weights, inner.modes), 0.0, atol=1e-14)
    on = np.zeros(parts.points.shape[0], dtype=bool)
    on[np.concatenate(list(parts.node_sets.values()))] = True
    found = forces(bulk, u)
    assert np.abs(found[~on]).max() < 1e-13 * np.abs(found).max() * 10.0


@pytest.mark.parametrize("kind", [k for k in BODIES if "Linear" not in k])
def test_turned_bodies_have_turned_forces(kind):
    parts, bulk, _ = BODIES[kind]()
    d = parts.points.shape[1]
    turn = np.eye(d)
    turn[:2, :2] = TURN
    if d > 2:
        turn = turn[[1, 2, 0]] @ turn
    u = 0.05 * np.random.default_rng(3).uniform(-1.0, 1.0, parts.points.shape)
    turned = np.ascontiguousarray((parts.points + u) @ turn.T - parts.points + 3.0)
    assert_allclose(bulk.energy(turned), bulk.energy(u), rtol=1e-11)
    wanted = forces(bulk, u) @ turn.T
    assert_allclose(forces(bulk, turned), wanted, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["NeoHookean, plane", "NeoHookean, space", "LinearElastic, plane"])
def test_only_rigid_motions_cost_nothing(kind):
    """No hourglass mode has zero energy, and patterns of each element are independent."""
    parts, bulk, pattern = BODIES[kind]()
    d = parts.points.shape[1]
    values = np.linalg.eigvalsh(tangent(bulk, pattern, np.zeros_like(parts.points)).toarray())
    free = 3 if d == 2 else 6
    assert np.abs(values[:free]).max() < 1e-12 * values[-1]
    assert values[free] > 1e-4 * values[-1]


@pytest.mark.parametrize("name", ["NeoHookean", "NearlyIncompressible"])
@pytest.mark.parametrize("stretch", [0.1, 0.2, 0.4, 0.6, 1.5, 4.0])
@pytest.mark.parametrize("across", [0.5, 1.0, 2.0])
def test_no_hourglass_grows_under_compression(name, stretch, across):
    """The stiffness of hourglass patterns of a cell stays positive in any homogeneous state."""
    parts = discretise(rectangle(1.0, 1.0, (1, 1)), QM6())
    bulk, pattern = bound(parts, MATERIALS[name].table())
    u = np.ascontiguousarray(parts.points * (np.array([across, stretch]) - 1.0))
    gamma = bulk.blocks[0].elements.hourglass[0]
    shape = np.zeros((parts.points.shape[0], 1))
    shape[bulk.blocks[0].elements.nodes[0]] = gamma
    both = np.kron(shape, np.eye(2))
    k = both.T @ tangent(bulk, pattern, u).toarray() @ both
    assert np.linalg.eigvalsh(k).min() > 0.0


def test_a_compressed_block_stays_a_block():
    """Without friction at its ends a block is compressed to 0.6 of its height, and none moves."""
    parts = discretise(rectangle(1.0, 1.0, (10, 10)), QM6())
    law = NeoHookean(1.0, 0.3)
    bulk, pattern = bound(parts, law.table())
    x, stretch = parts.points, 0.6
    # the stretch across that carries no stress
    low, high = 1.0, 2.0
    for _ in range(60):
        across = 0.5 * (low + high)
        low, high = (
            (across, high)
            if principal_stresses(law, (across, stretch, 1.0))[0] < 0
            else (low, across)
        )
    u = np.ascontiguousarray(x * np.array([across - 1.0, stretch - 1.0]))
    ends = np.isin(x[:, 1], [0.0, 1.0])
    free = np.ones((x.shape[0], 2), dtype=bool)
    free[ends, 1] = free[np.hypot(*x.T) < 1e-9, 0] = False
    free = np.flatnonzero(free.ravel())
    residual = forces(bulk, u).ravel()[free]
    assert np.abs(residual).max() < 1e-12
    k = tangent(bulk, pattern, u).toarray()[np.ix_(free, free)]
    assert np.linalg.eigvalsh(k).min() > 0.0


def beam(mesh, law, height, length, thin=False, tip=0.2, deep=False):
    """Force at the end of a cantilever over that of Timoshenko, and the run."""
    e, nu = law.elastic_constants()
    body = SweptBody(mesh, (0.0, 0.5, 1.0), QM6(), law) if deep else Body(mesh, QM6(), law, thin)
    axes = (0, 1, 2) if deep else (0, 1)
    end = Driven(Boundary(0, "right"), 1, Program((0.0, 1.0), (0.0, tip)))
    solid = st.Solid(
        [body],
        [],
        [Fixed(Boundary(0, "left"), axes), end],
        readings=Readings(displacement=1, support=True),
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=3))
    stiff = e if thin or deep else e / (1.0 - nu**2)
    flexible = length**3 / (3.0 * stiff * height**3 / 12.0) + length * 2.4 * (1.0 + nu) / height / e
    return float(run.data["force_y"].values[-1]) * flexible / tip, run


@pytest.mark.parametrize("cells", [(10, 1), (20, 1), (40, 2)])
@pytest.mark.parametrize(
    ("law", "thin"),
    [
        (LinearElastic(1.0, 0.0), False),
        (LinearElastic(1.0, 0.3), False),
        (LinearElastic(1.0, 0.3), True),
        (NeoHookean(1.0, 0.3), False),
        (NearlyIncompressible(1.0, 0.4999), False),
    ],
)
def test_one_row_bends_as_a_beam(cells, law, thin):
    ratio, run = beam(rectangle(20.0, 1.0, cells), law, 1.0, 20.0, thin)
    # reason: clamps stiffen, more for incompressible bodies; cells are long
    limit = 0.015 if law.poisson < 0.4 else 0.025
    assert abs(ratio - 1.0) < limit
    assert run.audit.ok
    assert abs(run.energy.imbalance_rel) < 1e-3


def test_one_row_bends_as_a_beam_in_space():
    ratio, run = beam(rectangle(20.0, 1.0, (10, 1)), NeoHookean(1.0, 0.0), 1.0, 20.0, deep=True)
    assert abs(ratio - 1.0) < 0.015  # reason: cells are long
    assert run.audit.ok


def test_large_deflections_of_a_row_are_those_of_many():
    """A tip that moves by half the length of its beam: one row against biquadratic cells."""
    found = []
    for element, cells in ((QM6(), (30, 1)), (QM6(), (60, 2)), (st.solids.Q2(), (40, 2))):
        body = Body(rectangle(20.0, 1.0, cells), element, NeoHookean(1.0, 0.3))
        end = Driven(Nearest(0, (20.0, 0.0)), 1, Program((0.0, 1.0), (0.0, 10.0)))
        solid = st.Solid(
            [body],
            [],
            [Fixed(Boundary(0, "left")), end],
            readings=Readings(displacement=1, support=True),
            dimensionless=True,
        )
        run = st.solve(solid, st.solids.Quasistatic(steps=10))
        found.append(float(run.data["force_y"].values[-1]))
    one, two, many = found
    assert abs(one / many - 1.0) < 0.01
    assert abs(two / many - 1.0) < 0.005


@pytest.mark.parametrize(
    ("law", "thin", "load", "known", "less"),
    [
        (LinearElastic(1.0, 1.0 / 3.0), True, 1.0 / 16.0, 25.1, 0.03),
        (NearlyIncompressible(240.565, 0.4999), False, 6.25, 6.85, 0.03),
    ],
)
def test_cooks_membrane(law, thin, load, known, less):
    """Cells of no special shape: a corner of 8 x 8 of them moves as far as one of many.

    Known are the numbers of 32 x 32 biquadratic cells.
    """
    mesh = block(lambda s, t: (48 * s, 44 * s + t * (44 - 28 * s)), (8, 8))
    pull = st.solids.Traction(Boundary(0, "right"), 1, Program((0.0, 1.0), (0.0, load)))
    solid = st.Solid(
        [Body(mesh, QM6(), law, thin)],
        [],
        [Fixed(Boundary(0, "left")), pull],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=1 if thin else 5))
    drawn = run.data["drawn_position"].values
    corner = np.argmin(np.hypot(*(drawn[0] - [48.0, 60.0]).T))
    moved = float(drawn[-1, corner, 1] - drawn[0, corner, 1])
    assert known * (1.0 - less) < moved < known
