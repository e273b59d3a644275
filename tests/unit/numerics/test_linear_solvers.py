"""Direct solvers against dense linear algebra, and how they fail."""

import gc
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from stiction.errors import ModelError, StictionError
from stiction.numerics.direct import pardiso
from stiction.numerics.linear_solvers import (
    LinearSolveError,
    Pardiso,
    SuperLU,
    fastest,
)

needs_mkl = pytest.mark.skipif(
    not pardiso.installed(), reason="needs MKL: pip install stiction[pardiso]"
)
SOLVERS = [
    pytest.param(SuperLU(), id="superlu"),
    pytest.param(Pardiso(threads=1), id="pardiso-1", marks=needs_mkl),
    pytest.param(Pardiso(threads=2), id="pardiso-2", marks=needs_mkl),
]
both = pytest.mark.parametrize("solver", SOLVERS)


def laplacian(nx, ny, shift=0.0):
    """Return a vector Laplacian with a grad-div part, two unknowns per node, 9 points."""
    line_x, line_y = (sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)) for n in (nx, ny))
    slope_x, slope_y = (sp.diags([-0.5, 0.5], [-1, 1], shape=(n, n)) for n in (nx, ny))
    one_x, one_y = sp.identity(nx), sp.identity(ny)
    straight = sp.kron(line_x, one_y), sp.kron(one_x, line_y)
    mixed = sp.kron(slope_x, slope_y)
    blocks = [[2.0 * straight[0] + straight[1], -mixed], [-mixed, straight[0] + 2.0 * straight[1]]]
    matrix = sp.bmat(blocks, format="csr")
    # node by node, as elements number them
    order = np.arange(2 * nx * ny).reshape(2, -1).T.ravel()
    matrix = matrix[order][:, order] - shift * sp.identity(2 * nx * ny)
    return sp.csr_matrix(matrix)


def perturbed(matrix, size, seed=0):
    """Return the matrix with unsymmetric changes of its entries."""
    rng = np.random.default_rng(seed)
    changed = matrix.copy()
    changed.data *= 1.0 + size * rng.uniform(-1.0, 1.0, matrix.nnz)
    return changed


def with_plate(matrix, stiffness=0.0, seed=0):
    """Return the matrix with one unknown more that touches a fifth of the others."""
    rng = np.random.default_rng(seed)
    n = matrix.shape[0]
    column, row = (rng.normal(size=n) * (rng.random(n) < 0.2) for _ in range(2))
    blocks = [[matrix, column[:, None]], [row[None, :], np.array([[stiffness]])]]
    return sp.bmat(blocks, format="csr")


MATRICES = {
    "symmetric": laplacian(13, 9),
    "unsymmetric": perturbed(laplacian(13, 9), 0.5),
    "indefinite": perturbed(laplacian(13, 9, shift=2.0), 0.1),
    "plate": with_plate(laplacian(13, 9), 1.0),
    "plate without stiffness": with_plate(perturbed(laplacian(13, 9), 0.1)),
    "one unknown": sp.csr_matrix([[-2.0]]),
    "exchange": sp.csr_matrix([[0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]]),
    "scaled": sp.diags(10.0 ** np.arange(-8, 8)) @ perturbed(laplacian(4, 2), 0.5),
}
MATRICES = {name: sp.csr_matrix(matrix) for name, matrix in MATRICES.items()}


@both
@pytest.mark.parametrize("name", MATRICES)
def test_solution_is_the_dense_one(solver, name):
    matrix = MATRICES[name]
    dense, n = matrix.toarray(), matrix.shape[0]
    rng = np.random.default_rng(1)
    with solver.start() as workspace:
        # the second round goes the way of a known pattern
        for _ in range(2):
            factors = workspace.factorise(matrix)
            for shape in ((n,), (n, 1), (n, 4)):
                b = rng.normal(size=shape)
                x = factors.solve(b)
                assert x.shape == shape
                assert x.dtype == np.float64
                want = np.linalg.solve(dense, b)
                assert np.abs(x - want).max() < 1e-11 * np.abs(want).max()
        assert not factors.solve(np.zeros(n)).any()


@both
def test_analysis_is_reused(solver):
    rng = np.random.default_rng(2)
    matrix = perturbed(laplacian(12, 10), 0.3)
    b = rng.normal(size=matrix.shape[0])
    with solver.start() as workspace:
        for count in range(1, 4):
            matrix.data[:] *= rng.uniform(0.9, 1.1, matrix.nnz)
            x = workspace.factorise(matrix).solve(b)
            assert np.abs(matrix @ x - b).max() < 1e-12
            assert (workspace.analyses, workspace.factorisations) == (1, count)
        # another object with the same arrays is the same pattern, a copy is not
        arrays = (2.0 * matrix.data, matrix.indices, matrix.indptr)
        twice = workspace.factorise(sp.csr_matrix(arrays)).solve(b)
        assert np.abs(2.0 * twice - x).max() < 1e-12
        assert (workspace.analyses, workspace.factorisations) == (1, 4)
        assert np.abs(workspace.factorise(matrix.copy()).solve(b) - x).max() < 1e-12
        assert (workspace.analyses, workspace.factorisations) == (2, 5)
        other = laplacian(5, 7)
        y = workspace.factorise(other).solve(b[:70])
        assert np.abs(other @ y - b[:70]).max() < 1e-12
        assert (workspace.analyses, workspace.factorisations) == (3, 6)


@both
def test_factors_keep_the_matrix_they_were_made_of(solver):
    matrix = perturbed(laplacian(6, 5), 0.3)
    dense = matrix.toarray()
    b = np.ones(matrix.shape[0])
    with solver.start() as workspace:
        for _ in range(2):
            factors = workspace.factorise(matrix)
            saved = matrix.data.copy()
            matrix.data[:] = np.nan
            assert np.abs(dense @ factors.solve(b) - b).max() < 1e-12
            assert np.array_equal(factors.times(b), dense @ b) or np.allclose(
                factors.times(b), dense @ b, rtol=0.0, atol=1e-13
            )
            matrix.data[:] = saved


@both
def test_rows_need_not_be_sorted(solver):
    rng = np.random.default_rng(3)
    matrix = perturbed(laplacian(6, 5), 0.3)
    shuffled = matrix.copy()
    for row in range(matrix.shape[0]):
        part = slice(*matrix.indptr[row : row + 2])
        order = rng.permutation(part.stop - part.start)
        shuffled.indices[part] = matrix.indices[part][order]
        shuffled.data[part] = matrix.data[part][order]
    b = rng.normal(size=matrix.shape[0])
    before = shuffled.indices.copy()
    with solver.start() as workspace:
        for _ in range(2):
            x = workspace.factorise(shuffled).solve(b)
            assert np.abs(matrix @ x - b).max() < 1e-12
    assert np.array_equal(shuffled.indices, before)


@both
def test_64_bit_indices_are_accepted(solver):
    matrix = laplacian(6, 5)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    b = np.arange(60.0)
    with solver.start() as workspace:
        for _ in range(2):
            assert np.abs(matrix @ workspace.factorise(matrix).solve(b) - b).max() < 1e-11
        assert workspace.analyses == 1


@both
@pytest.mark.parametrize("name", sorted(set(MATRICES) - {"scaled"}))
def test_determinant(solver, name):
    matrix = MATRICES[name]
    sign, log = np.linalg.slogdet(matrix.toarray())
    with solver.start() as workspace:
        for _ in range(2):
            factors = workspace.factorise(matrix)
            assert factors.sign == sign
            assert abs(factors.log_det - log) < 1e-11 * max(1.0, abs(log))


def test_order_of_another_solver():
    matrix = MATRICES["plate"]
    n = matrix.shape[0]
    order = np.random.default_rng(1).permutation(n)
    workspace = SuperLU().start()
    with workspace:
        workspace.factorise(matrix)
        own = workspace._order.copy()
        workspace.order_by(matrix, order)
        factors = workspace.factorise(matrix)
        assert np.array_equal(factors._order, order)
        b = np.random.default_rng(2).normal(size=n)
        assert np.abs(matrix @ factors.solve(b) - b).max() < 1e-10
        assert factors.sign == np.linalg.slogdet(matrix.toarray())[0]
        # what is no order is not taken
        workspace.order_by(matrix, np.zeros(n, dtype=np.int64))
        assert np.array_equal(workspace._order, order)
        assert not np.array_equal(own, order)


@needs_mkl
def test_signs_take_the_dissection_of_pardiso():
    matrix = laplacian(24, 24)
    with Pardiso(threads=1).start() as workspace:
        factors = workspace.factorise(matrix)
        assert factors.sign == 1
        assert np.array_equal(workspace.superlu._order, factors.handle.perm - 1)
        assert not np.array_equal(factors.handle.perm - 1, np.arange(matrix.shape[0]))


def test_determinant_of_random_matrices():
    rng = np.random.default_rng(4)
    signs = set()
    for _ in range(60):
        n = int(rng.integers(2, 12))
        dense = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5) + np.diag(rng.normal(size=n))
        workspace = SuperLU(pivot_threshold=1.0).start()
        factors = workspace.factorise(sp.csr_matrix(dense))
        signs.add(factors.sign)
        assert factors.sign == np.linalg.slogdet(dense)[0]
    assert signs == {1, -1}


@both
@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0, 7.5])
def test_inertia(solver, shift):
    matrix = laplacian(11, 7, shift=shift)
    values = np.linalg.eigvalsh(matrix.toarray())
    want = int(np.sum(values > 0.0)), int(np.sum(values < 0.0))
    assert np.abs(values).min() > 1e-3
    with solver.start() as workspace:
        for _ in range(2):
            assert workspace.inertia(matrix) == want
            # the workspace goes on with general matrices of the same pattern
            factors = workspace.factorise(matrix)
            assert factors.sign == (-1) ** want[1]


@both
def test_inertia_of_a_saddle(solver):
    # zeros on the diagonal that are not even stored: SuperLU may not know
    rng = np.random.default_rng(5)
    border = sp.csr_matrix(rng.normal(size=(4, 60)) * (rng.random((4, 60)) < 0.3))
    matrix = sp.bmat([[laplacian(6, 5), border.T], [border, None]], format="csr")
    with solver.start() as workspace:
        found = workspace.inertia(matrix)
        assert found == (60, 4) or (found is None and isinstance(solver, SuperLU))
        x = workspace.factorise(matrix).solve(np.ones(64))
        assert np.abs(matrix @ x - 1.0).max() < 1e-11


@both
def test_inertia_needs_symmetry(solver):
    lopsided = sp.csr_matrix([[2.0, 1.0], [0.0, 2.0]])
    with solver.start() as workspace:
        for matrix in (perturbed(laplacian(4, 4), 0.1), lopsided):
            with pytest.raises(ModelError, match="symmetric matrix"):
                workspace.inertia(matrix)


# ---- failures


SINGULAR = {
    "row of zeros": sp.csr_matrix(
        (np.array([2.0, 1.0, 0.0, 0.0, 1.0, 3.0]), ([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 1, 2]))
    ),
    "equal rows": sp.csr_matrix(np.ones((3, 3))),
    "empty row": sp.csr_matrix([[1.0, 2.0], [0.0, 0.0]]),
    "free to move": sp.csr_matrix(
        [[1.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [0, 0, -1.0, 1.0]]
    ),
}


@both
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrix_is_an_error_of_this_package(solver, name):
    matrix = SINGULAR[name]
    b = np.random.default_rng(8).normal(size=matrix.shape[0])
    with solver.start() as workspace:
        with pytest.raises(LinearSolveError, match="nonsingular to working precision"):
            workspace.factorise(matrix).solve(b)
        # the workspace is as good as new
        good = laplacian(3, 3)
        assert np.abs(good @ workspace.factorise(good).solve(np.ones(18)) - 1.0).max() < 1e-13
    assert issubclass(LinearSolveError, StictionError)


@both
def test_singular_values_in_a_known_pattern(solver):
    matrix = laplacian(4, 4)
    good = matrix.data.copy()
    b = np.arange(32.0)
    with solver.start() as workspace:
        x = workspace.factorise(matrix).solve(b)
        matrix.data[matrix.indptr[5] : matrix.indptr[6]] = 0.0
        with pytest.raises(LinearSolveError, match="nonsingular"):
            workspace.factorise(matrix).solve(b)
        matrix.data[:] = good
        assert np.abs(workspace.factorise(matrix).solve(b) - x).max() < 1e-12 * np.abs(x).max()


@both
def test_nearly_singular_matrix_is_noticed(solver):
    # nothing holds the two rigid motions, but rounding leaves pivots that are not zero
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40)).tolil()
    line[0, 0] = line[39, 39] = 1.0
    scale = sp.diags(np.random.default_rng(9).uniform(0.5, 2.0, 40))
    matrix = sp.csr_matrix(scale @ line @ scale)
    b = np.random.default_rng(10).normal(size=40)
    with solver.start() as workspace, pytest.raises(LinearSolveError, match="nonsingular"):
        workspace.factorise(matrix).solve(b)


@both
def test_an_equation_in_other_units_is_not_singular(solver):
    arrow = 4.0 * np.eye(6)
    arrow[0, 1:] = arrow[1:, 0] = 0.5
    # the second factors of a pattern are those of a permuted matrix
    unit = np.array([1.0, 1e-17, 1.0, 1.0, 1.0, 1.0])
    matrix, b = sp.csr_matrix(unit[:, None] * arrow), unit * (np.arange(6) == 1)
    expected = np.linalg.solve(arrow, b / unit)
    with solver.start() as workspace:
        for _ in range(2):
            np.testing.assert_allclose(workspace.factorise(matrix).solve(b), expected, atol=1e-14)


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(solver, value):
    matrix = laplacian(3, 3)
    with solver.start() as workspace:
        factors = workspace.factorise(matrix)
        b = np.ones(18)
        b[4] = value
        with pytest.raises(LinearSolveError, match="NaN or infinite"):
            factors.solve(b)
        matrix.data[7] = value
        for call in (workspace.factorise, workspace.inertia):
            with pytest.raises(LinearSolveError, match="1 entries that are NaN or infinite"):
                call(matrix)


@both
def test_what_is_no_system_is_named(solver):
    doubled = sp.csr_matrix(np.eye(2))
    doubled = sp.csr_matrix((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    outside = sp.csr_matrix(np.eye(2))
    outside.indices[1] = 7
    cases = {
        "ndarray": np.eye(3),
        "csc_matrix": sp.csc_matrix(np.eye(3)),
        "2 x 3": sp.csr_matrix(np.ones((2, 3))),
        "0 x 0": sp.csr_matrix((0, 0)),
        "float32": sp.csr_matrix(np.eye(2, dtype=np.float32)),
        "two entries of one row and column": doubled,
        "out of range": outside,
    }
    with solver.start() as workspace:
        for got, matrix in cases.items():
            with pytest.raises(ModelError, match=got):
                workspace.factorise(matrix)
        factors = workspace.factorise(sp.csr_matrix(np.eye(3)))
        for b in (np.ones(2), np.ones((2, 3)), np.ones((3, 1, 1)), np.ones((3, 0)), "ones"):
            with pytest.raises(ModelError, match=r"shape \(3,\)"):
                factors.solve(b)
        assert workspace.factorise(sp.csr_array(np.eye(3))).solve(np.ones(3)).tolist() == [1.0] * 3


@needs_mkl
def test_pardiso_holds_one_matrix_at_a_time():
    matrix = laplacian(4, 4)
    b = np.ones(32)
    workspace = Pardiso().start()
    first = workspace.factorise(matrix)
    second = workspace.factorise(matrix)
    with pytest.raises(ModelError, match="replaced"):
        first.solve(b)
    x = second.solve(b)
    workspace.close()
    with pytest.raises(ModelError, match="freed"):
        second.solve(b)
    workspace.close()
    assert np.array_equal(workspace.factorise(matrix).solve(b), x)
    # a forgotten workspace frees its memory by itself
    handle = workspace._general
    assert handle._finalizer.alive
    release = handle._finalizer
    del workspace, handle, first, second
    gc.collect()
    assert not release.alive


@needs_mkl
def test_old_scaling_does_not_spoil_new_values():
    # entries change places: the match of large entries with rows is not the old one
    rng = np.random.default_rng(11)
    matrix = sp.csr_matrix(np.eye(40) + 1e-9 * rng.normal(size=(40, 40)))
    b = rng.normal(size=40)
    with Pardiso(threads=1).start() as workspace:
        workspace.factorise(matrix)
        matrix.data[:] = (np.eye(40)[::-1] + 1e-9 * rng.normal(size=(40, 40))).ravel()
        x = workspace.factorise(matrix).solve(b)
        assert np.abs(matrix @ x - b).max() < 1e-10


# ---- descriptions


def test_descriptions_are_checked():
    assert SuperLU() == SuperLU(pivot_threshold=0.01)
    assert SuperLU() != SuperLU(pivot_threshold=1)
    assert Pardiso(threads=2) != Pardiso()
    for value in (-0.1, 1.5, np.nan, "much"):
        with pytest.raises(ModelError, match="pivot_threshold"):
            SuperLU(pivot_threshold=value)
    for value in (0, -1, 1.5, True):
        with pytest.raises(ModelError, match="threads"):
            Pardiso(threads=value)


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypardiso", None)
    assert not pardiso.installed()
    with pytest.raises(ModelError, match=r"pip install stiction\[pardiso\]"):
        Pardiso().start()
    assert fastest() == SuperLU()

    # a library that the system cannot load
    class Damaged:
        def __getattr__(self, name):
            raise OSError("invalid ELF header")

    monkeypatch.setitem(sys.modules, "pypardiso", Damaged())
    with pytest.raises(ModelError, match="cannot load"):
        Pardiso().start()
    monkeypatch.setenv("MKL_INTERFACE_LAYER", "GNU,ILP64")
    with pytest.raises(ModelError, match="unset MKL_INTERFACE_LAYER"):
        Pardiso().start()


def test_fastest_takes_what_is_there():
    want = Pardiso() if pardiso.installed() else SuperLU()
    assert fastest() == want
    with fastest().start() as workspace:
        assert workspace.factorise(sp.csr_matrix([[4.0]])).solve([2.0]).tolist() == [0.5]
