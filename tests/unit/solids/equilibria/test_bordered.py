"""Displacements and program time solved together, on two springs whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.numerics.linear_solvers import LinearSolveError
from stiction.solids.equilibria import bordered
from stiction.solids.equilibria.bordered import (
    BEYOND,
    ArclengthControl,
    Bordered,
    PathPoint,
    TimeControl,
)

STIFF = np.array([[3.0, -1.0], [-1.0, 2.0]])
PULL = np.array([1.0, 0.5])
# a node is held and moved by the program; what that pulls at the others
HELD, MOVED = np.array([-0.5, -0.25]), 0.4


class Problem:
    """Two free displacements and a driven one: r = K u + h d t - f t, and a term of u^3."""

    free = np.array([0, 1])
    fixed = np.array([[False], [False], [True]])

    def __init__(self, cubic=0.0, drift=0.0):
        self.cubic, self.drift = cubic, drift
        self.unknowns = SimpleNamespace(displacements=lambda u: u)

    def prescribed(self, t):
        return np.array([[0.0], [0.0], [MOVED * t]])

    def loads(self, t, u):
        return t * np.array([[PULL[0]], [PULL[1]], [0.0]])

    def contact_varies(self, t, h):
        return self.drift != 0.0

    def evaluate(self, state, u, t, guess, *, data):
        x, d = u[:2, 0], u[2, 0]
        force = STIFF @ x + HELD * d + self.cubic * x**3 + self.drift * t**2
        residual = np.append(force, 0.0)[:, None] - self.loads(t, u)
        matrix = np.zeros((3, 3))
        matrix[:2, :2], matrix[:2, 2] = STIFF + np.diag(3.0 * self.cubic * x**2), HELD
        bad = int(np.abs(u).max() > 50.0)
        return SimpleNamespace(inverted=bad, residual=residual, u=u), matrix

    def reduced(self, matrix):
        return matrix[:2, :2]


class Solver:
    """A linear solver that may fail."""

    def __init__(self, fails=False):
        self.fails, self.times = fails, 0

    def factorise(self, matrix):
        self.times += 1
        if self.fails:
            raise LinearSolveError("singular")
        return SimpleNamespace(solve=lambda b: np.linalg.solve(matrix, b))


@pytest.fixture(autouse=True)
def whole_steps(monkeypatch):
    """Newton's steps are taken whole, and forces are measured in newtons."""
    monkeypatch.setattr(bordered, "force_scale", lambda problem, trial: 1.0)
    monkeypatch.setattr(bordered, "line_search", lambda probe, free, step, start: probe(1.0))


def solver_of(problem, *, iterations=30, fails=False):
    limits = SimpleNamespace(iterations=iterations, tolerance=1e-10)
    return Bordered(problem, Solver(fails), limits, (0.0, 1.0))


def answer(problem, t):
    """Return the free displacements in balance at a time."""
    x = np.zeros(2)
    for _ in range(50):
        force = (
            STIFF @ x + HELD * MOVED * t + problem.cubic * x**3 + problem.drift * t**2 - PULL * t
        )
        x = x - np.linalg.solve(STIFF + np.diag(3.0 * problem.cubic * x**2), force)
    return x


START = PathPoint(0.0, np.zeros((3, 1)))


@pytest.mark.parametrize(("cubic", "drift"), [(0.0, 0.0), (2.0, 0.0), (2.0, 0.3)])
def test_the_rate_of_the_residual_follows_all_that_the_program_moves(cubic, drift):
    problem = Problem(cubic, drift)
    made, t, h = solver_of(problem), 0.6, 1e-6
    u = np.array([[0.1], [0.2], [MOVED * t]])
    trial, matrix = problem.evaluate(None, u, t, None, data=True)
    found = made.time_derivative(trial, matrix, None, t)
    ends = [
        problem.evaluate(None, u + e * np.array([[0.0], [0.0], [MOVED]]), t + e, None, data=True)[
            0
        ].residual
        for e in (h, -h)
    ]
    wanted = ((ends[0] - ends[1]) / (2.0 * h)).ravel()[:2]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cubic", [0.0, 5.0])
def test_a_time_is_met_to_the_last_digit(cubic):
    problem = Problem(cubic)
    found = solver_of(problem).solve(None, START, TimeControl(problem, 0.7, 0.7), 1.0)
    assert (found.reason, found.t) == ("", 0.7)
    np.testing.assert_allclose(found.trial.u[:2, 0], answer(problem, 0.7), rtol=1e-9)
    assert found.trial.u[2, 0] == pytest.approx(MOVED * 0.7)
    # a straight problem ends after one step, a bent one converges to the second order
    assert found.iterations == 1 if not cubic else 3 <= found.iterations <= 7
    assert len(found.residuals) == found.iterations + 1
    assert found.residuals[-1] <= 1e-10
    assert found.factors is not None
    assert found.matrix is not None


@pytest.mark.parametrize("along_t", [0.0, 2.0])
def test_an_arc_has_its_length(along_t):
    problem = Problem(3.0)
    along = np.array([0.6, 0.8])
    control = ArclengthControl(problem, START, along, along_t, 0.15)
    found = solver_of(problem).solve(None, START, control, 9.0)
    x = found.trial.u[:2, 0]
    assert found.reason == ""
    assert along @ x + along_t * found.t == pytest.approx(0.15, rel=1e-9)
    np.testing.assert_allclose(x, answer(problem, found.t), rtol=1e-8)
    off, by_u, by_t = control.at(found.trial, found.t)
    assert (off, by_t) == (pytest.approx(0.0, abs=1e-9), along_t)
    assert by_u is along


def test_a_solved_guess_is_looked_at_twice():
    problem = Problem()
    t = 0.5
    u = np.append(answer(problem, t), MOVED * t)[:, None]
    found = solver_of(problem).solve(None, PathPoint(t, u), TimeControl(problem, t, t), 1.0)
    assert found.iterations == 1
    # where the control is off by more than a millionth it is not solved
    found = solver_of(problem).solve(None, PathPoint(t, u), TimeControl(problem, t + 1e-5, t), 1.0)
    assert found.t == t + 1e-5


def reason_of(problem, control, *, goal=9.0, start=START, **limits):
    made = solver_of(problem, **limits)
    found = made.solve(None, start, control, goal)
    assert found.trial is None
    return found.reason, found.iterations


def test_why_there_is_no_arc(monkeypatch):
    problem = Problem(3.0)
    control = TimeControl(problem, 0.7, 0.7)
    assert reason_of(problem, control, goal=0.69) == (BEYOND, 0)
    assert reason_of(problem, control, fails=True) == ("a singular tangent", 0)
    assert reason_of(problem, control, iterations=2) == ("Newton's method did not converge", 2)
    far = PathPoint(0.0, np.full((3, 1), 60.0))
    said = "an element is inverted at the first guess"
    assert reason_of(problem, control, start=far) == (said, 0)
    blind = ArclengthControl(problem, START, np.zeros(2), 0.0, 0.1)
    assert reason_of(problem, blind) == ("the bordered matrix is singular", 0)
    monkeypatch.setattr(bordered, "line_search", lambda *given: None)
    said = "every fraction of Newton's step inverts an element"
    assert reason_of(problem, control) == (said, 0)
