"""Fronts of `benchmarks/mpi_fronts.py`: one process, and what several have of one matrix."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

FOLDER = Path(__file__).resolve().parents[4] / "benchmarks"
SIDE = (9, 7, 8)


@pytest.fixture
def fronts(monkeypatch):
    """Return the module; benchmarks are no package."""
    if not (FOLDER / "mpi_fronts.py").exists():
        pytest.skip("this copy of the sources has no benchmarks")
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("mpi_fronts")


def grid(symmetric):
    """Return places of a grid, nodes and unknowns of its cells, and matrices of these."""
    rng = np.random.default_rng(7)
    places = np.stack(np.meshgrid(*map(np.arange, SIDE), indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(places.shape[0]).reshape(SIDE)
    corner = np.stack(np.meshgrid(*(np.arange(n - 1) for n in SIDE), indexing="ij"), axis=-1)
    corner = corner.reshape(-1, 3)
    offsets = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    nodes = np.stack([number[tuple((corner + o).T)] for o in offsets], axis=1)
    unknowns = (3 * nodes[:, :, None] + np.arange(3)).reshape(nodes.shape[0], -1)
    blocks = rng.standard_normal((unknowns.shape[0], 24, 24))
    if symmetric:
        blocks = blocks + blocks.transpose(0, 2, 1)
    # indefinite: some eigenvalues are negative
    blocks += 5.0 * np.eye(24)
    return places, nodes, unknowns, blocks


def assembled(unknowns, blocks, n):
    """Return the sum of blocks, all of one pattern: what has no number is zero."""
    rows = np.repeat(unknowns, 24, axis=1).ravel()
    columns = np.tile(unknowns, (1, 24)).ravel()
    made = sp.coo_matrix((blocks.ravel(), (rows, columns)), (n, n)).tocsr()
    made.sort_indices()
    return made


def energy_terms(nodes, count, processes):
    """Return the process of each node, -1 where two have it."""
    mine = np.zeros((processes, count), dtype=bool)
    cuts = nodes.shape[0] * np.arange(processes + 1) // processes
    for k in range(processes):
        mine[k, nodes[cuts[k] : cuts[k + 1]].ravel()] = True
    return cuts, np.where(mine.sum(axis=0) > 1, -1, mine.argmax(axis=0))


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("symmetric", [True, False])
def test_parts_of_a_matrix_are_solved_together(fronts, processes, symmetric):
    places, nodes, unknowns, blocks = grid(symmetric)
    n = 3 * places.shape[0]
    whole = assembled(unknowns, blocks, n)
    cuts, owner = energy_terms(nodes, places.shape[0], processes)
    node = np.arange(n) // 3
    weights = []
    for k in range(processes):
        theirs = np.zeros_like(blocks)
        theirs[cuts[k] : cuts[k + 1]] = blocks[cuts[k] : cuts[k + 1]]
        part = assembled(unknowns, theirs, n)
        mine = owner == k, owner < 0
        order = fronts.Order(part.indptr, part.indices, node, places.astype(float), *mine)
        assert len(order.fronts) > 2
        made = fronts.Blocks(order)
        # numbers of a matrix before leave nothing behind
        made.eliminate(np.random.default_rng(3).standard_normal(part.data.size))
        made.eliminate(part.data, signs=symmetric)
        weights.append((order, made))
    shared = sum(made.shared for _, made in weights)
    signs = sum(made.signs for _, made in weights)
    sign, size = np.prod([m.sign for _, m in weights]), sum(m.log_det for _, m in weights)
    for _, made in weights:
        made.close(shared.copy(order="F"), signs=symmetric)

    b = np.random.default_rng(1).standard_normal(n)
    down = []
    for k, (order, made) in enumerate(weights):
        v = b[order.unknowns]
        v[order.inner :] *= k == 0
        made.down(v)
        down.append(v)
    total = sum(v[order.inner :] for (order, _), v in zip(weights, down, strict=True))
    x = np.full(n, np.nan)
    for (order, made), v in zip(weights, down, strict=True):
        v[order.inner :] = made.across(total)
        made.up(v)
        x[order.unknowns] = v
    dense = whole.toarray()
    known = np.linalg.solve(dense, b)
    assert np.abs(x - known).max() < 1e-8 * np.abs(known).max()
    last = weights[0][1]
    known_sign, known_size = np.linalg.slogdet(dense)
    assert sign * last.sign == known_sign
    assert size + last.log_det == pytest.approx(known_size, rel=1e-10)
    if symmetric:
        values = np.linalg.eigvalsh(dense)
        below = int((values < 0.0).sum())
        assert below > 50
        assert (signs + last.signs).tolist() == [n - below, below]


def test_a_cut_is_as_small_as_it_can_be(fronts):
    # three entries of which no two share a row or column: no two of these cover all entries
    couples = sp.csr_matrix(np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 1]]))
    rows, columns = fronts.cover(couples)
    assert rows.sum() + columns.sum() == 3
    assert np.all(rows[couples.nonzero()[0]] | columns[couples.nonzero()[1]])


def test_a_singular_front_is_reported(fronts):
    # no unknown is coupled with another, and one has no number
    n, places = 400, np.stack([np.arange(400.0), np.zeros(400), np.zeros(400)], axis=1)
    pattern = sp.eye(n, format="csr") + sp.eye(n, k=1) + sp.eye(n, k=-1)
    matrix = sp.csr_matrix(pattern)
    every = np.ones(n, dtype=bool)
    order = fronts.Order(matrix.indptr, matrix.indices, np.arange(n), places, every, ~every)
    matrix.data[:] = 0.0
    matrix.setdiag(np.where(np.arange(n) == 7, 0.0, 1.0))
    made = fronts.Blocks(order)
    made.eliminate(matrix.data)
    made.close(made.shared)
    v = np.ones(n)
    made.down(v)
    v[order.inner :] = made.across(v[order.inner :])
    made.up(v)
    assert not np.isfinite(v).all()
