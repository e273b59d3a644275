"""GMRES on cached factors: iterations, tolerances, and when factors are made anew."""

import numpy as np
import pytest
import scipy.sparse as sp

import stiction as st
from stiction.errors import ModelError
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.numerics.direct.pardiso import installed
from stiction.numerics.iterative import cached
from stiction.numerics.iterative.cached import gmres
from stiction.numerics.linear_solvers import (
    CachedFactors,
    LinearSolveError,
    Multigrid,
    Pardiso,
    SuperLU,
)


def band(n, seed):
    rng = np.random.default_rng(seed)
    return sp.csr_matrix(
        sp.diags([rng.normal(size=n - 1), 4.0 + rng.random(n), rng.normal(size=n - 1)], [-1, 0, 1])
    )


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_change_of_low_rank_takes_its_rank(rank):
    matrix = band(80, 0)
    factors = SuperLU().start().factorise(matrix)
    changed = matrix.copy()
    for i in range(rank):
        changed[10 * i + 5, 10 * i + 5] += 30.0
    b = np.random.default_rng(1).normal(size=80)
    x, count, met = gmres(sp.csr_matrix(changed), factors, b, 1e-12, 20)
    assert met
    assert count == rank + 1
    assert np.abs(changed @ x - b).max() < 1e-10


def test_what_takes_too_long_is_not_met():
    factors = SuperLU().start().factorise(band(80, 0))
    other, b = band(80, 1), np.ones(80)
    x, count, met = gmres(other, factors, b, 1e-12, 3)
    assert not met
    assert count == 3
    # the best of three ways
    assert np.linalg.norm(other @ x - b) < np.linalg.norm(b)
    assert gmres(other, factors, np.zeros(80), 1e-12, 3)[1:] == (0, True)


def test_factors_are_cached_until_they_are_worn():
    solver = CachedFactors(tolerance=1e-9, max_iterations=6, worn=3, direct=SuperLU())
    matrix, b = band(80, 0), np.ones(80)
    grow = np.random.default_rng(2).random(matrix.nnz)
    with solver.start() as workspace:
        for size, made in ((0.0, 1), (1e-4, 1), (1e-4, 1), (0.3, 2), (0.3, 2)):
            changed = sp.csr_matrix(
                (matrix.data * (1.0 + size * grow), matrix.indices, matrix.indptr), copy=False
            )
            factors = workspace.factorise(changed)
            x = factors.solve(b)
            assert np.linalg.norm(changed @ x - b) <= 1e-8 * np.linalg.norm(b)
            assert workspace.factorisations == made
            sign, log = np.linalg.slogdet(changed.toarray())
            assert factors.sign == sign
            assert factors.log_det == pytest.approx(log, rel=1e-12)
            assert workspace.factorisations == made
        assert workspace.report()["linear_solutions"] == 5


def test_a_singular_matrix_is_reported():
    with CachedFactors(direct=SuperLU()).start() as workspace:
        singular = sp.csr_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))
        with pytest.raises(LinearSolveError):
            workspace.factorise(singular).solve(np.ones(2))


def test_paths_are_the_same():
    cap = st.CapSliding(cells=(40, 6), normal_force=0.5)
    runs = [
        st.solve(cap, st.solids.Quasistatic(steps=8, solver=solver), t_span=(0.0, 1.0))
        for solver in (SuperLU(), CachedFactors(direct=SuperLU()))
    ]
    for name in ("force_x", "force_y", "nominal_contact"):
        one, other = (run.data[name].values for run in runs)
        assert np.allclose(one, other, rtol=0.0, atol=1e-7 * np.abs(one).max())
    # most matrices are solved on the factors of others
    assert runs[1].stats["factorisations"] < 0.6 * runs[0].stats["factorisations"]
    assert runs[1].stats["linear_iterations"] > 0
    failed = [[check.check for check in run.audit.failed] for run in runs]
    assert failed[0] == failed[1]


class Stop(Exception):
    """Ends a run in its middle."""


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    cap = st.CapSliding(cells=(40, 6), normal_force=0.5)
    method = st.solids.Quasistatic(steps=8, solver=CachedFactors(direct=SuperLU()))

    def stop(done, note):
        if done > 0.5:
            raise Stop

    place = tmp_path / "cap.npz"
    with pytest.raises(Stop):
        st.solve(cap, method, progress=stop, checkpoint=FileCheckpoint(place, "cap", every=0.0))
    resumed = st.solve(cap, method, checkpoint=FileCheckpoint(place, "cap", resume=True))
    whole = st.solve(cap, method)
    for name in ("force_x", "nominal_contact"):
        one, other = (run.data[name].values[-1] for run in (whole, resumed))
        assert one == pytest.approx(other, rel=1e-7)


BAD = [
    ({"tolerance": 0.5}, "1e-14"),
    ({"worn": 0}, "worn"),
    ({"max_iterations": 1.5}, "max_iterations"),
    ({"direct": Multigrid()}, "SuperLU"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_input_is_refused(given, words):
    with pytest.raises(ModelError, match=words):
        CachedFactors(**given)


@pytest.mark.parametrize("direct", [SuperLU(), pytest.param(Pardiso(threads=1), id="pardiso")])
def test_cached_factors_make_room_for_a_sign(direct, monkeypatch):
    if isinstance(direct, Pardiso) and not installed():
        pytest.skip("MKL is not installed (pip install stiction[pardiso])")
    monkeypatch.setattr(cached, "_LARGE", 50)
    matrix, b = band(80, 0), np.ones(80)
    with CachedFactors(tolerance=1e-9, direct=direct).start() as workspace:
        factors = workspace.factorise(matrix)
        first = factors.solve(b)
        assert workspace.factorisations == 1
        assert factors.sign == np.linalg.slogdet(matrix.toarray())[0]
        assert workspace.cached is None
        # they are made anew where they are asked for
        assert np.abs(factors.solve(b) - first).max() <= 1e-8 * np.abs(first).max()
        assert workspace.factorisations == 2


@pytest.mark.parametrize("direct", [SuperLU(), pytest.param(Pardiso(threads=1), id="pardiso")])
def test_a_nearly_singular_matrix_is_solved_and_a_singular_one_is_reported(direct):
    if isinstance(direct, Pardiso) and not installed():
        pytest.skip("MKL is not installed (pip install stiction[pardiso])")
    n, b = 60, np.ones(60)
    # the smallest eigenvalue is one over the square of the number; 1e-8 of it remains
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)).toarray()
    low = np.linalg.eigvalsh(line)[0]
    near = sp.csr_matrix(line - (1.0 - 1e-8) * low * np.eye(n))
    with CachedFactors(direct=direct).start() as workspace:
        x = workspace.factorise(near).solve(b)
        assert np.linalg.norm(near @ x - b) <= 1e-5 * np.linalg.norm(b)
        # singular to working precision
        with pytest.raises(LinearSolveError):
            workspace.factorise(sp.csr_matrix(line - low * np.eye(n))).solve(b)


def test_a_large_solution_of_a_singular_matrix_is_reported():
    # cached factors of a regular matrix, and one after it that has none
    rng = np.random.default_rng(3)
    q, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    sizes = np.linspace(1.0, 2.0, 40)
    with CachedFactors(direct=SuperLU(), tolerance=1e-6).start() as workspace:
        workspace.factorise(sp.csr_matrix(q * sizes @ q.T)).solve(np.ones(40))
        sizes[0] = 1e-17
        with pytest.raises(LinearSolveError):
            workspace.factorise(sp.csr_matrix(q * sizes @ q.T)).solve(np.ones(40))
