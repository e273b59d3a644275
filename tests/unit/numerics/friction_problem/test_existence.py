import numpy as np
import pytest
from friction_cases import FILES, brick_tower, problem_in

import stiction as st
from stiction.numerics.friction_problem.programmes import Optimum, maximise

# problems whose linear programmes take a minute
LARGE = ("Box_", "Capsules", "spheres", "fc2d", "FrictionContactProblem")


def body_between_supports(rng, size, closing):
    """Return a rigid body that supports on opposite sides push together, or carry along.

    Parameters
    ----------
    closing : speed at which each pair of supports approaches; negative where it opens
    """
    dof = 3 if size == 2 else 6
    frames, q = [], []
    drift = rng.normal(size=dof)
    for _ in range(rng.integers(1, 4)):
        normal = rng.normal(size=size)
        normal /= np.linalg.norm(normal)
        axes = np.linalg.qr(np.column_stack([normal, rng.normal(size=(size, size - 1))]))[0].T
        axes[0] = normal
        # both supports on one line of action
        at = rng.normal(size=size)
        for side in (1.0, -1.0):
            place = at - side * rng.uniform(0.2, 1.0) * normal
            arm = (
                np.stack([place[0] * axes[:, 1] - place[1] * axes[:, 0]], axis=1)
                if size == 2
                else np.cross(place, axes)
            )
            frame = np.hstack([axes, arm]) * np.r_[side, np.ones(size - 1)][:, None]
            frames.append(frame)
            own = frame @ drift
            own[0] = frame[0] @ drift - 0.5 * closing
            q.append(own)
    h = np.concatenate(frames)
    root = rng.normal(size=(dof, dof))
    w = h @ np.linalg.inv(root @ root.T + np.eye(dof)) @ h.T
    mu = rng.uniform(0.0, 1.0, len(q))
    return st.friction_problem(0.5 * (w + w.T), np.array(q), mu)


@pytest.mark.parametrize("size", [2, 3])
def test_closing_supports(size):
    """100 without a solution and 100 that look like them, in the plane and in space."""
    rng = np.random.default_rng(size)
    for _ in range(100):
        speed = 10.0 ** rng.uniform(-3, 1)
        none = body_between_supports(rng, size, speed)
        found = none.existence()
        assert found.answer == "none", found
        y, n = found.witness, none.n_contact
        # the proof: y presses on nothing that forces could do, and velocities close
        done = none.local.matrix.toarray()[:: none.local.q.shape[1]].T @ y
        assert y.min() >= 0.0
        assert np.abs(done).max() < 1e-9 * np.abs(none.local.blocks).max() * n
        assert y @ none.local.q[:, 0] < 0.0
        assert found.largest_force > 1e3
    for k in range(100):
        speed = -(10.0 ** rng.uniform(-3, 1)) if k % 2 else 0.0
        some = body_between_supports(rng, size, speed)
        solved = some.solve()
        found = some.existence(solved)
        assert found.answer == "proven", (found, solved)


def test_towers_exist_by_a_motion():
    assert brick_tower(3, 0.5).existence().criterion.startswith("W x + q")


@pytest.mark.parametrize("size", [1e-8, 1e-12])
def test_large_forces_are_a_solution(size):
    """A stiff contact needs forces of 1 / size; W has full rank, so that a solution exists."""
    w = np.diag([1.0, 1.0, size, size])
    problem = st.friction_problem(w, [[-1.0, 0.2], [-1.0, 0.2]], 0.5)
    solved = problem.solve()
    assert solved.converged
    assert problem.existence(solved).criterion.startswith("a solution")
    assert problem.existence().criterion.startswith("W has full rank")


@pytest.mark.parametrize("stiff", [1e-9, 1e-11, 1e-12])
def test_nearly_rigid_supports_have_a_solution(stiff):
    """Two walls close on a body that yields by 2 stiff: forces of 1 / (2 stiff) hold them apart."""
    w = np.diag([1.0 + stiff, 1.0, 1.0 + stiff, 1.0])
    w[0, 2] = w[2, 0] = -1.0
    problem = st.friction_problem(w, [[-1.0, 0.0], [-1.0, 0.0]], 0.0)
    assert problem.existence().answer == ("proven" if stiff > 1e-10 else "not decided")
    assert problem.certificate([[1 / stiff, 0.0], [1 / stiff, 0.0]]).residual < 1e-3


def test_rounding_of_large_forces_proves_nothing():
    """Forces of 1e20 between rigid walls hide the velocity at which they close."""
    w = np.diag([1.0, 1.0, 1.0, 1.0])
    w[0, 2] = w[2, 0] = -1.0
    problem = st.friction_problem(w, [[-1.0, 0.0], [-1.0, 0.0]], 0.0)
    forces = np.array([[1e20, 0.0], [1e20, 0.0]])
    assert problem.certificate(forces).residual == 0.0
    assert problem.existence(problem.solve(forces)).answer == "none"


def test_full_rank_exists_with_high_friction():
    rng = np.random.default_rng(1)
    h, q = rng.normal(size=(12, 12)), rng.normal(size=(4, 3))
    assert st.friction_problem(h.T @ h, q, 1e3).existence().answer == "proven"


def test_no_contact_exists():
    assert st.friction_problem(np.zeros((0, 0)), [], []).existence().answer == "proven"


def test_wedged_contact():
    """Slip drives the contact together, w_nn < mu w_nt: it may open, or wedge, where q_n > 0."""
    w = np.array([[1.0, 2.0], [2.0, 5.0]])
    problem = st.friction_problem(w, [[0.1, 1.0]], mu=1.5)
    solved = problem.solve()
    found = solved.uniqueness().velocities
    assert found.answer == "not unique"
    assert problem.certificate(found.other).residual <= 1e-10
    np.testing.assert_array_equal(found.other.shape, (1, 2))


def test_enumeration_decides_what_is_left(monkeypatch):
    """Few contacts at random: what is not solved has no solution in any mode."""
    rng = np.random.default_rng(3)
    without = []
    for _ in range(40):
        n = int(rng.integers(2, 4))
        h = rng.normal(size=(2 * n, 3))
        q = h @ rng.normal(size=3) + 0.5 * rng.normal(size=2 * n)
        problem = st.friction_problem(h @ h.T, q.reshape(-1, 2), 2 * rng.uniform(size=n))
        solved = problem.solve()
        found = problem.existence(solved)
        assert found.answer == ("proven" if solved.converged else "none")
        without += [problem] if found.criterion == "enumeration of all modes" else []

    def unsure(objective, *rest, **more):
        # the first programme of a mode has no objective
        unfinished = Optimum("unfinished", np.nan, np.full(objective.size, np.nan))
        return maximise(objective, *rest, **more) if objective.any() else unfinished

    monkeypatch.setattr("stiction.numerics.friction_problem.existence.maximise", unsure)
    assert {one.existence().answer for one in without} == {"not decided"}


@pytest.mark.parametrize("layers", [1, 4, 8])
@pytest.mark.parametrize("push", [0.0, 0.5])
def test_what_is_solved_is_not_called_without_solution(layers, push):
    """Without the solution given: forces are large beside W and q, and W lacks rank."""
    tower = brick_tower(layers, 0.7, push=push, seed=layers)
    assert tower.solve().converged
    assert tower.existence().answer != "none"


@pytest.mark.parametrize("name", [n for n in FILES if not n.startswith(LARGE)] or ["no files"])
def test_no_file_is_called_without_solution(name):
    problem = problem_in(name)
    assert problem.existence().answer != "none"
    assert problem.existence(problem.solve()).answer == "proven"
