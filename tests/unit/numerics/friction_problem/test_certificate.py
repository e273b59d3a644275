import numpy as np
import pytest
from friction_cases import FILES, brick_tower, problem_in

from stiction.errors import ModelError
from stiction.numerics.friction_problem.problem import FrictionSolution, friction_problem

LONG = np.longdouble


def residual_in_extended_precision(problem, r, factor=1):
    """Return the residual by its definition, written without the package."""
    n_tangent = problem.local.n_tangent
    mu, rolling = problem.local.mu.astype(LONG), problem.local.rolling.astype(LONG)
    w, q = problem.local.matrix.toarray().astype(LONG), problem.local.q.astype(LONG)
    r = r.astype(LONG)
    u = (w @ r.ravel()).reshape(r.shape) + q
    size = r.shape[1]
    entries = np.abs(np.diag(w)).reshape(r.shape).max(axis=1)
    # a contact with a block of zeros gets the scale of the others
    entries[entries == 0] = entries.max(initial=0) or 1
    lengths = []
    for c in range(len(r)):
        rho = factor / entries[c]
        slip, turn = u[c, 1 : 1 + n_tangent], u[c, 1 + n_tangent :]
        x = r[c] - rho * u[c]
        x[0] -= rho * (mu[c] * np.sqrt(slip @ slip) + rolling[c] * np.sqrt(turn @ turn))
        p = nearest(x, n_tangent, mu[c], rolling[c])
        lengths.append(np.sqrt(((r[c] - p) ** 2).sum()) / rho)
    scale = np.sqrt((q**2).sum())
    if scale == 0:
        own = [w[c * size : c * size + size, c * size : c * size + size] for c in range(len(r))]
        scale = max(np.sqrt(((a @ x) ** 2).sum()) for a, x in zip(own, r, strict=True))
    lengths = np.array(lengths)
    return max(lengths.max(), np.sqrt((lengths**2).sum())) / scale


def nearest(x, n_tangent, mu, rolling):
    """Return the nearest point of the cone: bisection for its normal component."""
    slip = np.sqrt((x[1 : 1 + n_tangent] ** 2).sum())
    turn = np.sqrt((x[1 + n_tangent :] ** 2).sum())

    def slope(s):
        return s - x[0] - mu * max(slip - mu * s, 0) - rolling * max(turn - rolling * s, 0)

    if slope(LONG(0)) >= 0:
        return np.zeros_like(x)
    low, high = LONG(0), abs(x[0]) + mu * slip + rolling * turn
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    p = x.copy()
    p[0] = high
    if slip > mu * high:
        p[1 : 1 + n_tangent] *= mu * high / slip
    if turn > rolling * high:
        p[1 + n_tangent :] *= rolling * high / turn
    return p


def test_zero_is_refused():
    tower = brick_tower(3, 0.7)
    zero = np.zeros_like(tower.local.q)
    found = tower.certificate(zero)
    # r = 0 leaves the weight: the residual is a velocity, whatever rho is
    assert found.residual > 0.5
    assert found.residual_large_rho > 0.5
    assert found.residual_small_rho > 0.5
    assert found.approach == pytest.approx(9.81e-2)


def test_wrong_forces_are_refused():
    tower = brick_tower(3, 0.7, push=0.2, seed=3)
    solved = tower.solve()
    assert solved.converged
    for change in (1.001 * solved.r, solved.r + 1e-6, np.roll(solved.r, 1, axis=0)):
        assert tower.certificate(change).residual > 1e-9


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_residual_has_no_unit(scale):
    tower = brick_tower(2, 0.4, push=0.3, seed=1)
    off = tower.solve().r * 1.01
    other = friction_problem(tower.local.matrix * scale, tower.local.q * 7.0, tower.local.mu)
    expected = tower.certificate(off).residual
    assert other.certificate(off * 7.0 / scale).residual == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_extended_precision(factor):
    for problem in (brick_tower(4, 0.5, push=0.5), brick_tower(2, 1.2, jitter=0.1, push=0.1)):
        r = problem.solve().ordered
        for forces in (r, 1.1 * r, r + 0.01):
            found = problem.certificate(forces)
            given = {1e-3: found.residual_small_rho, 1.0: found.residual}
            ours = given.get(factor, found.residual_large_rho)
            independent = float(residual_in_extended_precision(problem, forces, factor))
            assert ours == pytest.approx(independent, rel=1e-6, abs=1e-11)


def test_velocities_of_heavy_bodies_count():
    """Beside a light body, a heavy one moves by less than the rounding of its force."""
    for mass in (1e10, 1e14, 1e50):
        w = np.diag([1.0, 1.0, 1 / mass, 1 / mass])
        problem = friction_problem(w, [[-1.0, 0.0], [-1.0, 0.4]], 0.5)
        solved = problem.solve()
        assert solved.converged
        np.testing.assert_allclose(solved.r, [[1.0, 0.0], [mass, -0.4 * mass]], rtol=1e-12)
        # an error of 1e-7 in friction leaves a slip of 4e-8
        off = solved.r * [[1.0, 1.0], [1.0, 1 - 1e-7]]
        found = problem.certificate(off)
        expected = float(residual_in_extended_precision(problem, off))
        assert expected == pytest.approx(4e-8 * np.sqrt(1.25 / 2.16), rel=1e-6)
        for ours in (found.residual, found.residual_large_rho, found.residual_small_rho):
            assert ours == pytest.approx(expected, rel=1e-6)


def test_without_free_velocity_forces_are_the_scale():
    still = friction_problem(np.eye(3), np.zeros((1, 3)), 0.5)
    assert still.certificate(np.zeros((1, 3))).residual == 0.0
    assert still.certificate(np.array([[1.0, 0.0, 0.0]])).residual == pytest.approx(1.0)
    assert still.solve().converged


@pytest.mark.parametrize("size", [2, 3])
def test_high_friction(size):
    """The residual of r = 0 falls as 1 / mu: the velocity of approach refuses it."""
    q = np.array([[-1.0, 5.0, 0.0][:size]])
    problem = friction_problem(np.eye(size), q, 1e4)
    zero = problem.certificate(np.zeros_like(q))
    assert zero.residual < 1e-3
    assert zero.approach == 1.0
    solved = problem.solve(tol=1e-3)
    assert solved.converged
    assert solved.certificate.approach <= 1e-3
    np.testing.assert_allclose(solved.u, 0.0, atol=1e-2)
    left = FrictionSolution(problem, np.zeros_like(q), 1e-3, solved.work)
    assert not left.converged
    with pytest.raises(ModelError, match="1e\\+10"):
        friction_problem(np.eye(size), q, 1e10)


@pytest.mark.parametrize("name", FILES or ["no files"])
def test_files_in_extended_precision(name):
    problem = problem_in(name)
    r = problem.solve().ordered
    for factor in (1e-3, 1.0, 1e3) if len(r) else ():
        assert residual_in_extended_precision(problem, r, factor) <= 1e-10
    assert problem.certificate(r).residual <= 1e-10
