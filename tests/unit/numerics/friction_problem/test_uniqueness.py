import numpy as np
import pytest
from friction_cases import FILES, brick_tower, problem_in, random_problem

import stiction as st
from stiction.errors import ModelError
from stiction.numerics.friction_problem import programmes
from stiction.numerics.friction_problem.programmes import cone_rows, maximise
from stiction.numerics.friction_problem.uniqueness import uniqueness


def test_cone_programmes():
    """The largest y_1 + y_2 in the unit circle is sqrt(2); in a half plane it has no bound."""
    zero, eye = np.zeros(2), np.eye(2)

    def rows(at):
        return cone_rows((np.zeros(2), 1.0), (eye, zero), 1.0, at)

    found = maximise(np.ones(2), *rows(None), rows)
    assert found.value == pytest.approx(np.sqrt(2), abs=1e-8)
    assert found.value >= np.sqrt(2) - 1e-12
    none = (np.zeros((0, 2)), np.zeros(0))
    half = maximise(np.ones(2), np.array([[1.0, 0.0]]), np.ones(1), lambda _: none)
    assert half.status == "unbounded"
    empty = maximise(np.ones(2), np.array([[1.0, 0], [-1.0, 0]]), -np.ones(2), lambda _: none)
    assert empty.status == "infeasible"


def test_small_friction():
    problem = st.friction_problem(np.eye(6), [[-1.0, 2.0, 0.0], [-1.0, 0.1, 0.0]], mu=0.9)
    found = problem.solve().uniqueness()
    assert found.velocities.answer == found.forces.answer == "unique"
    assert "small friction" in found.velocities.criterion


def test_brick_at_rest_has_many_forces():
    tower = brick_tower(1, 0.5)
    solved = tower.solve()
    found = solved.uniqueness()
    assert found.velocities.answer == "unique"
    assert "normal forces alone" in found.velocities.criterion
    assert found.forces.answer == "not unique"
    assert tower.certificate(found.forces.other).residual <= 1e-10
    assert np.abs(found.forces.other - solved.r).max() > 1e-4 * np.abs(solved.r).max()


def test_intervals():
    """A brick on four corners: each carries from none to half of the weight, without friction.

    With friction corners also push against each other, and forces are unbounded no more than
    mu allows: the normal sum is the weight still.
    """
    weight = 9.81e-2
    for mu in (0.0, 0.5):
        solved = brick_tower(1, mu).solve()
        for contact in range(4):
            low, high = solved.normal_force_interval(contact)
            assert low == pytest.approx(0.0, abs=1e-8)
            assert high == pytest.approx(weight / 2, rel=1e-6)


def test_unbounded_intervals_are_said(monkeypatch):
    """A body between two walls that may press on it as they like.

    In space too few cutting planes decide nothing: the force stays unbounded, whatever the box.
    """
    frames = np.array([[1.0, 0, 0], [0, 1, 0], [-1.0, 0, 0], [0, 1, 0]])
    solved = st.friction_problem(frames @ frames.T, np.zeros((2, 2)), 0.5).solve()
    low, high = solved.normal_force_interval(0)
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high == np.inf
    assert solved.uniqueness().forces.answer == "not unique"
    # walls at nearly the angle of friction, and beyond it
    monkeypatch.setattr(programmes, "_MOST_ROUNDS", 3)
    for angle, expected in ((0.46, np.inf), (0.5, 0.0)):
        turned = [[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
        frames = np.concatenate([turned, turned * np.array([-1.0, 1.0, 1.0])])
        solved = st.friction_problem(frames @ frames.T, np.zeros((2, 3)), 0.5).solve()
        assert solved.normal_force_interval(0) == (0.0, expected)


def test_open_contacts_have_no_force():
    solved = st.friction_problem(np.eye(4), [[1.0, 0.0], [-1.0, 2.0]], 0.3).solve()
    assert solved.normal_force_interval(0) == (0.0, 0.0)
    assert solved.normal_force_interval(1) == pytest.approx((1.0, 1.0))


def test_without_friction_velocities_are_unique():
    solved = brick_tower(2, 0.0, push=0.3, seed=1).solve()
    assert solved.uniqueness().velocities.answer == "unique"


@pytest.mark.parametrize("defect", [5e-4, 1e-6, 1e-9])
def test_negative_w(defect):
    """Two contacts without friction: W has the eigenvalue -defect, and either may carry alone."""
    w = np.eye(4)
    w[0, 2] = w[2, 0] = 1.0 + defect
    problem = st.friction_problem(w, [[-1.0, 0.0], [-1.0, 0.0]], 0.0)
    for forces in ([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]):
        assert problem.certificate(forces).residual == 0.0
    found = problem.solve().uniqueness()
    expected = "not unique" if defect > 1e-4 else "not decided"
    assert found.velocities.answer == found.forces.answer == expected


def test_an_unsymmetric_w_proves_nothing():
    """In space, where modes are not enumerated."""
    w = np.eye(6)
    w[0, 3] = 1e-6
    found = st.friction_problem(w, [[-1.0, 2.0, 0.0], [-1.0, 0.1, 0.0]], 0.3).solve().uniqueness()
    assert found.velocities.answer == found.forces.answer == "not decided"


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6, 1e-8, 1e-11])
def test_a_small_contact(size):
    """A contact with three solutions beside another, whose velocities are larger."""
    w = np.zeros((4, 4))
    w[:2, :2], w[2:, 2:] = [[1.0, 1.5], [1.5, 4.0]], np.eye(2)
    problem = st.friction_problem(w, [[0.1 * size, size], [-1.0, 0.2]], 2.0)
    found = problem.solve().uniqueness().velocities
    assert found.answer == ("not unique" if size > 1e-7 else "not decided")
    if found.answer == "not unique":
        assert problem.certificate(found.other).residual <= 1e-12
    # one with two solutions, beside another at rest: the large one proves nothing of the small one
    w[:2, :2], w[2:, 2:] = [[1.0, 0.9], [0.9, 1.0]], np.eye(2)
    problem = st.friction_problem(w, [[0.5 * size, size], [-1.0, 0.0]], [2.0, 0.5])
    forces = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert problem.certificate(forces).residual == 0.0
    found = uniqueness(problem.local, forces).velocities
    assert found.answer == ("not unique" if size > 1e-7 else "not decided")


def test_a_small_tower_at_rest_beside_a_large_one():
    tower = brick_tower(1, 0.5)
    w, q, r = tower.local.matrix.toarray(), tower.local.q, tower.solve().ordered
    nothing = np.zeros_like(w)
    for size in (1.0, 1e-6, 1e-11):
        both = np.block([[w, nothing], [nothing, size * w]])
        problem = st.friction_problem(both, np.concatenate([q, size * q]), 0.5)
        found = uniqueness(problem.local, np.concatenate([r, r])).velocities
        assert "normal forces alone" in found.criterion


def test_forces_that_are_no_solution_prove_nothing():
    w = np.array([[1.0, 2.0], [2.0, 5.0]])
    found = st.friction_problem(w, [[-1.0, 1.0]], 0.3).solve(tol=1e10).uniqueness()
    assert found.velocities.answer == "not decided"


def test_small_entries_of_w_are_no_lack_of_rank():
    w = np.diag([1.0, 1.0, 1e-12, 1e-12])
    found = st.friction_problem(w, [[-1.0, 0.1], [-1e-12, 0.0]], 2.0).solve().uniqueness()
    assert found.forces.answer != "not unique"


@pytest.mark.parametrize("size", [2, 3])
def test_closing_walls_have_nothing_unique(size):
    """Walls close on a body: no solution exists."""
    w = np.eye(2 * size)
    w[0, size] = w[size, 0] = -1.0
    q = np.zeros((2, size))
    q[:, 0] = -0.5
    solved = st.friction_problem(w, q, 0.0).solve()
    found = solved.uniqueness()
    assert found.velocities.answer == found.forces.answer == "not decided"
    with pytest.raises(ModelError, match="residual"):
        solved.normal_force_interval(0)


def test_free_velocities_inside_the_dual_cone():
    w = np.ones((4, 4)) + 1e-3 * np.eye(4)
    solved = st.friction_problem(w, [[1.0, 0.1], [1.0, -0.1]], 1.5).solve()
    assert "dual cone" in solved.uniqueness().velocities.criterion


@pytest.mark.parametrize("seed", range(10))
def test_answers_do_not_contradict_each_other(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(1, 3, 2, 0.4, rng)
    solved = problem.solve()
    if not solved.converged:
        pytest.skip("not solved")
    found = solved.uniqueness()
    for answer in (found.velocities, found.forces):
        if answer.answer == "not unique":
            assert problem.certificate(answer.other).residual <= 1e-10
        else:
            assert answer.criterion or answer.answer == "not decided"
    # three contacts in the plane are always decided
    assert found.velocities.answer != "not decided"


@pytest.mark.parametrize("name", [n for n in FILES if "Rover" in n or "RFC3D" in n] or ["none"])
def test_files(name):
    problem = problem_in(name)
    solved = problem.solve()
    found = solved.uniqueness()
    assert found.velocities.answer in ("unique", "not decided")
    low, high = solved.normal_force_interval(0)
    assert low <= solved.r[0, 0] * (1 + 1e-9)
    assert high >= solved.r[0, 0] * (1 - 1e-9)
