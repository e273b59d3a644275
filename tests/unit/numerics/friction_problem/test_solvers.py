import numpy as np
import pytest
from friction_cases import FILES, brick_tower, problem_in, random_problem

from stiction.numerics.friction_problem import solver
from stiction.numerics.friction_problem.accelerated import accelerated
from stiction.numerics.friction_problem.gauss_seidel import swept
from stiction.numerics.friction_problem.newton import iterate_of, linearise, newton
from stiction.numerics.friction_problem.problem import friction_problem
from stiction.numerics.friction_problem.proximal import proximal


@pytest.mark.parametrize("name", FILES or ["no files"])
def test_files_are_solved(name):
    solved = problem_in(name).solve()
    found = solved.certificate
    assert max(found.residual, found.residual_large_rho, found.residual_small_rho) <= 1e-10
    assert solved.converged


def test_gauss_seidel_converges():
    local = brick_tower(1, 0.5).local
    errors = [iterate_of(local, swept(local, np.zeros_like(local.q), n)[0]).error for n in (5, 50)]
    assert errors[1] < 1e-6 * errors[0] < 1e-6


@pytest.mark.parametrize("size", [2, 3, 5])
def test_accelerated_converges(size):
    """Small steps of any number of components reach rounding, where W has half its full rank."""
    rng = np.random.default_rng(size)
    w = rng.normal(size=(4 * size, 2 * size))
    rolling = 0.2 if size == 5 else None
    q = w @ rng.normal(size=2 * size)
    local = friction_problem(w @ w.T, q.reshape(4, size), 0.3, rolling=rolling).local
    tol = 1e-12 * np.linalg.norm(q)
    r, count = accelerated(local, np.zeros_like(local.q), tol, 20_000)
    assert iterate_of(local, r).error <= tol
    assert 10 < count < 20_000
    # forces lie in their cones
    shear = np.linalg.norm(r[:, 1 : 1 + local.n_tangent], axis=1)
    assert np.all(shear <= 0.3 * r[:, 0] * (1 + 1e-14))


def test_the_gradient_starts_again_from_zero(monkeypatch):
    """In a large problem, where it does not converge from given forces."""
    starts = []

    def steps(local, r, tol, most):
        starts.append(bool(r.any()))
        return (r, most) if r.any() else accelerated(local, r, tol, most)

    monkeypatch.setattr(solver, "accelerated", steps)
    monkeypatch.setattr(solver, "_FEW_ENTRIES", 0)
    found = chain_of_discs(40).solve(np.ones((40, 2)), tol=1e-8)
    assert starts == [True, False]
    assert found.converged
    assert found.work.linear_systems == 0


def chain_of_discs(n):
    """Discs in a row that moves against a wall with velocity 1: W's condition grows with n^2."""
    h = np.zeros((n, 2, n, 3))
    root = np.sqrt(2.0)
    for c in range(n):
        # the spin of a disc of radius and mass 1 moves both of its ends alike
        h[c, :, c] = [[1.0, 0.0, 0.0], [0.0, 1.0, -root]]
        if c > 0:
            h[c, :, c - 1] = [[-1.0, 0.0, 0.0], [0.0, -1.0, -root]]
    h = h.reshape(2 * n, 3 * n)
    q = np.zeros((n, 2))
    q[0, 0] = -1.0
    return friction_problem(h @ h.T, q, 0.5)


def test_accelerated_takes_few_steps_in_a_long_chain():
    """Steps grow with the root of W's condition, where sweeps grow with the condition."""
    counts = []
    for n in (30, 60):
        local = chain_of_discs(n).local
        tol = 1e-6 * np.linalg.norm(local.q)
        start = np.zeros_like(local.q)
        r, count = accelerated(local, start, tol, 5000)
        assert iterate_of(local, r).error <= tol
        np.testing.assert_allclose(r[:, 0], np.arange(n, 0, -1), rtol=1e-4)
        counts.append(count)
    # the condition grows fourfold
    assert counts[1] < 3 * counts[0]
    assert iterate_of(local, swept(local, start, count)[0]).error > 10.0 * tol


def test_large_problems_are_solved_without_linear_systems(monkeypatch):
    chain = chain_of_discs(60)
    assert chain.solve(tol=1e-8).work.linear_systems > 0
    monkeypatch.setattr(solver, "_FEW_ENTRIES", 0)
    solved = chain.solve(tol=1e-8)
    assert solved.converged
    assert solved.work.method == "accelerated"
    assert solved.work.linear_systems == 0


def test_newton_derivative():
    rng = np.random.default_rng(0)
    problems = [brick_tower(1, 0.5), random_problem(2, 4, 2, 0.5, rng)]
    w = rng.normal(size=(10, 10))
    problems.append(friction_problem(w @ w.T, rng.normal(size=(2, 5)), 0.5, rolling=0.2))
    for problem in problems:
        local = problem.local
        r = np.abs(rng.normal(size=local.q.shape)) / np.abs(local.blocks).max()
        now, made = iterate_of(local, r), np.empty_like(local.blocks)
        none = np.zeros(len(r))
        linearise(
            local.blocks, local.start, local.diagonal, r, now.u, local.mu, local.rolling,
            local.n_tangent, local.rho, none, made,
        )  # fmt: skip
        direction = rng.normal(size=r.shape)
        h = 1e-7 * np.abs(r).max()
        natural = [iterate_of(local, r + s * h * direction).natural for s in (1, -1)]
        expected = (natural[0] - natural[1]) / (2 * h)
        along = local._replace(blocks=made).matrix @ direction.ravel()
        np.testing.assert_allclose(along, expected.ravel(), atol=1e-6 * np.abs(expected).max())


def test_proximal():
    """It solves most problems where Newton's method cycles."""
    cycling = solved = 0
    for seed in range(40):
        problem = random_problem(2, 6, 3, 2.0, np.random.default_rng(seed))
        local, tol = problem.local, 1e-12 * np.linalg.norm(problem.local.q)
        start, _ = swept(local, np.zeros_like(local.q), 10)
        if newton(local, start, tol)[0].error > tol:
            cycling += 1
            solved += proximal(local, start, tol)[0].error <= tol
    assert cycling >= 5
    assert solved >= 0.8 * cycling


@pytest.mark.parametrize("layers", [1, 3, 8])
@pytest.mark.parametrize("push", [0.0, 0.5])
def test_towers_are_solved_and_carry_their_weight(layers, push):
    tower = brick_tower(layers, 0.7, push=push, seed=layers)
    solved = tower.solve()
    assert solved.certificate.residual <= 1e-10
    assert solved.certificate.rank < solved.certificate.size
    if push == 0.0:
        np.testing.assert_allclose(solved.u, 0.0, atol=1e-11)
        # four contacts of the lowest brick carry all, in 1e-2 s
        assert solved.r[:4, 0].sum() == pytest.approx(layers * 9.81 * 1e-2, rel=1e-9)


def test_block_slides_beyond_the_slope():
    """A point of mass 1 on a slope, over a step h: exact in both ways."""
    for ratio, slides in ((0.999, False), (1.001, True)):
        mu, h, g = 0.4, 1e-3, 9.81
        angle = np.arctan(ratio * mu)
        q = h * g * np.array([[-np.cos(angle), np.sin(angle), 0.0]])
        solved = friction_problem(np.eye(3), q, mu).solve()
        speed = h * g * (np.sin(angle) - mu * np.cos(angle)) if slides else 0.0
        assert solved.u[0, 1] == pytest.approx(speed, abs=1e-17)
        assert solved.u[0, 0] == pytest.approx(0.0, abs=1e-17)


def test_most_random_problems_are_solved():
    rng = np.random.default_rng(5)
    unsolved = 0
    for size in (2, 3):
        for bodies, contacts in ((1, 3), (2, 6), (4, 12)):
            for mu in (0.1, 0.5, 1.0):
                for _ in range(5):
                    unsolved += (
                        not random_problem(bodies, contacts, size, mu, rng).solve().converged
                    )
    assert unsolved <= 1


def test_start_is_used():
    tower = brick_tower(5, 0.6, push=0.3)
    cold = tower.solve()
    warm = tower.solve(cold.r)
    assert cold.work.sweeps > 0
    assert warm.work.sweeps == 0
    np.testing.assert_array_equal(warm.r, cold.r)


def test_a_method_that_found_forces_is_named():
    """The last of several passes, with a smaller tolerance, finds no better forces."""
    frames = np.array([[1.0, 0.3], [1.0 + 1e-5, 0.3 - 2e-5]])
    solved = friction_problem(frames @ frames.T, [[-1.0, 2.0]], 3.0).solve()
    assert solved.r.any()
    assert solved.work.method != "start"


@pytest.mark.parametrize("length", [1e-6, 1e3])
def test_units_do_not_matter(length):
    """Lengths in other units: W and q in other sizes, velocities the same number of times q."""
    tower = brick_tower(3, 0.5, push=0.4, seed=2)
    other = friction_problem(tower.local.matrix * length**2, tower.local.q * length, 0.5).solve()
    ours = tower.solve()
    np.testing.assert_allclose(other.u / length, ours.u, atol=1e-9 * np.abs(ours.u).max())
    assert other.certificate.residual <= 1e-10


def test_order_of_contacts_and_frames_do_not_matter():
    """A contact of small friction and full rank: its velocities are unique, in any frame."""
    rng = np.random.default_rng(4)
    root = rng.normal(size=(12, 12))
    w, q = root @ root.T + 30 * np.eye(12), rng.normal(size=(4, 3))
    problem = friction_problem(w, q, [0.1, 0.2, 0.3, 0.4])
    ours = problem.solve()
    assert ours.uniqueness().velocities.answer == "unique"
    order = rng.permutation(4)
    turns = np.zeros((12, 12))
    for to, c in enumerate(order):
        s, co = np.sin(c + 1.0), np.cos(c + 1.0)
        turns[3 * to : 3 * to + 3, 3 * c : 3 * c + 3] = [[1, 0, 0], [0, co, s], [0, -s, co]]
    mu = problem.local.mu[order]
    turned = friction_problem(turns @ w @ turns.T, (turns @ q.ravel()).reshape(4, 3), mu).solve()
    expected = (turns @ ours.u.ravel()).reshape(4, 3)
    np.testing.assert_allclose(turned.u, expected, atol=1e-12 * np.abs(q).max())


def test_same_input_same_bits():
    problems = [random_problem(2, 6, 3, 2.0, np.random.default_rng(8)) for _ in range(2)]
    first, second = (problem.solve() for problem in problems)
    np.testing.assert_array_equal(first.r, second.r)
    assert first.work == second.work


def test_sweeps_that_change_nothing_end_the_method():
    """One contact is solved by the first sweep, and the second confirms it."""
    block = friction_problem([[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.25]], mu=0.5)
    r, count = swept(block.local, np.zeros((1, 2)), 10)
    np.testing.assert_array_equal(r, [[1.0, -0.25]])
    assert count == 2


def test_linear_systems_are_bounded(monkeypatch):
    # walls that approach each other: no forces are a solution
    frames = np.array([[1.0, 0, 0], [0, 1, 0], [-1.0, 0, 0], [0, 1, 0]])
    local = friction_problem(frames @ frames.T, [[-0.5, 0.0], [-0.5, 0.0]], 0.5).local
    start = np.zeros_like(local.q)
    whole = solver.solve_local(local, start, 1e-10)[1].linear_systems
    monkeypatch.setattr(solver, "_SYSTEMS", 5)
    monkeypatch.setattr(solver, "_OPERATIONS", 0.0)
    bounded = solver.solve_local(local, start, 1e-10)[1].linear_systems
    # a method that has begun ends: 40 systems of Newton's, 50 of a problem of the proximal one
    assert bounded <= 55 < whole
    assert solver.solve_local(local, start, 1e-10, 1)[1].linear_systems == 0


@pytest.mark.parametrize("mu", [10.0, 30.0, 100.0])
@pytest.mark.parametrize("apart", [0.0, 4e-13, -4e-13])
def test_corners_that_stick_but_for_rounding(mu, apart):
    """Tangential velocities of two corners of a body are those of no motion, by `apart`."""
    rows = [[0, 1, x, 1, 0, -y] for x, y in ((-0.5, -0.3), (0.5, -0.2994))]
    j = np.array(rows, dtype=float).reshape(4, 3)
    q = j @ np.array([1e-6, -0.0108, 2e-3]) + [0.0, apart, 0.0, 0.0]
    w = j * np.array([1.0, 1.0, 12.0 / 1.36]) @ j.T
    solution = friction_problem(w, q.reshape(2, 2), mu).solve(tol=1e-10)
    assert solution.converged
    assert solution.work.linear_systems < 200
