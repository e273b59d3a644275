"""GMRES on multigrid against direct solvers, and what it does where it cannot go on."""

import importlib.util
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix, identity

import stiction as st
from stiction.errors import ModelError
from stiction.numerics.direct.factors import Layout
from stiction.numerics.linear_solvers import Multigrid, SuperLU
from stiction.solids.equilibria.problem import Problem

needs_pyamg = pytest.mark.skipif(
    importlib.util.find_spec("pyamg") is None, reason="the extra `amg` is not installed"
)


def cap(nu=0.3, cells=(60, 8)):
    """The equations of a cap under a plate, with friction."""
    return Problem(st.CapSliding(cells=cells, normal_force=0.5, nu=nu).assembled())


def tangent(problem, seed=0):
    state = problem.start(0.0)
    rng = np.random.default_rng(seed)
    u = state.u + 1e-4 * rng.standard_normal(state.u.shape) * ~problem.fixed
    _, matrix = problem.evaluate(state, u, 0.5, None, data=True)
    return problem.reduced(matrix)


def started(problem, **settings):
    space = Multigrid(direct=SuperLU(), **{"direct_below": 0, **settings}).start()
    space.describe(problem.layout())
    return space


@pytest.mark.parametrize("d", [2, 3])
def test_rigid_motions_strain_nothing(d):
    rng = np.random.default_rng(d)
    x = rng.standard_normal((30, d))
    layout = Layout(np.repeat(x, d, axis=0), np.tile(np.arange(d), 30), np.zeros(30 * d, bool))
    modes = layout.rigid_motions()
    assert modes.shape == (30 * d, 3 if d == 2 else 6)
    assert np.linalg.matrix_rank(modes) == modes.shape[1]
    for mode in modes.T:
        u = mode.reshape(30, d)
        # distances keep to first order: (x_i - x_j).(u_i - u_j) = 0
        dx, du = x[:, None] - x[None], u[:, None] - u[None]
        assert np.abs(np.einsum("ijk,ijk->ij", dx, du)).max() <= 1e-13


@needs_pyamg
@pytest.mark.parametrize("nu", [0.3, 0.49])
def test_solution_is_the_direct_one(nu):
    problem = cap(nu)
    space = started(problem)
    for seed in range(3):
        matrix = tangent(problem, seed)
        b = np.random.default_rng(seed).standard_normal(matrix.shape[0])
        x = space.factorise(matrix).solve(b)
        exact = SuperLU().start().factorise(matrix).solve(b)
        assert np.abs(matrix @ x - b).max() <= 1e-9 * np.abs(b).max()
        assert np.abs(x - exact).max() <= 1e-7 * np.abs(exact).max()
    assert space.fallbacks == 0
    assert space.analyses == 1  # the hierarchy lasts while the pattern does
    assert set(space.report()) == {"linear_iterations", "solver_bytes", "linear_fallbacks"}
    assert space.report()["solver_bytes"] > 0


@needs_pyamg
def test_where_iteration_fails_factors_help():
    problem = cap()
    matrix = tangent(problem)
    # waves shorter than the body: indefinite, and no hierarchy of the whole knows it
    one = identity(matrix.shape[0], format="csr")
    shifted = csr_matrix(matrix - 0.6 * matrix.diagonal().mean() * one)
    space = started(problem, max_iterations=20)
    b = np.random.default_rng(0).standard_normal(matrix.shape[0])
    x = space.factorise(shifted).solve(b)
    assert np.abs(shifted @ x - b).max() <= 1e-8 * np.abs(b).max()
    assert space.fallbacks >= 1
    assert space.report()["linear_fallbacks"] == space.fallbacks


@needs_pyamg
def test_signs_take_factors():
    problem = cap(cells=(20, 4))
    matrix = tangent(problem)
    made, exact = started(problem).factorise(matrix), SuperLU().start().factorise(matrix)
    assert made.sign == exact.sign
    assert made.log_det == pytest.approx(exact.log_det, rel=1e-12)


def test_small_matrices_are_factorised():
    problem = cap(cells=(20, 4))
    matrix = tangent(problem)
    space = started(problem, direct_below=10_000)
    b = np.ones(matrix.shape[0])
    exact = SuperLU().start().factorise(matrix).solve(b)
    assert np.array_equal(space.factorise(matrix).solve(b), exact)
    assert space.report() == {}
    assert space.backward <= 1e-12
    with pytest.raises(ModelError, match="list"):
        space.factorise([[1.0]])


@needs_pyamg
def test_a_run_reports_memory_and_iterations():
    system = st.CapSliding(cells=(30, 4), normal_force=0.5, u_end=0.1)
    direct = st.solve(system, st.solids.Quasistatic(steps=2, solver=SuperLU()))
    solver = Multigrid(direct=SuperLU(), direct_below=0)
    run = st.solve(system, st.solids.Quasistatic(steps=2, solver=solver))
    assert run.final["force_x"] == pytest.approx(direct.final["force_x"], rel=1e-7)
    assert run.stats["linear_iterations"] > 0
    assert run.stats["solver_bytes"] > 0


def test_without_pyamg_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    problem = cap(cells=(20, 4))
    with pytest.raises(ModelError, match="pip install stiction"):
        started(problem).factorise(tangent(problem))


@pytest.mark.parametrize(
    ("field", "value"),
    [("tolerance", 0.0), ("tolerance", 1.0), ("max_iterations", 0), ("direct", 3)],
)
def test_bad_input(field, value):
    with pytest.raises(ModelError, match=f"Multigrid.{field}"):
        Multigrid(**{field: value})
