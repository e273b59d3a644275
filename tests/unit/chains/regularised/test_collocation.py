"""One step of the collocation: its order, its damping, its polynomial."""

import numpy as np
import pytest

from stiction.chains.regularised import collocation_kernels as co
from stiction.chains.regularised.state import Mass, Model, Numbers
from stiction.laws.compiled import addresses


def falling(x, s, p, out):
    """Answer with no force, and with the rate -p z^2."""
    for j in range(9):
        out[j] = 0.0
    out[3], out[5] = -p[0] * x[1] ** 2, -2.0 * p[0] * x[1]


def decaying(x, s, p, out):
    """Answer with no force, and with the rate -p z."""
    for j in range(9):
        out[j] = 0.0
    out[3], out[5] = -p[0] * x[1], -p[0]


def collocated(formula, p, z, h, tolerance):
    """Return z after a step of one mass at rest, and its estimated error."""
    saved, (answer, switches) = addresses(formula, formula)
    masses, numbers, load = Mass.table(2), Numbers.table(), np.zeros((1, 3))
    masses["mass"], masses["stiffness"] = 1.0, 1.0
    numbers[0].answer, numbers[0].switches = answer, switches
    m = Model(masses, numbers, np.array([[p]]), load, load[:0])
    step, sides = co.room(1), np.ones((1, 1))
    step.values[:] = [0.0, 0.0, z]
    step.floor[:] = 1.0
    step.jac[0, 0, 4], step.jac[0, 1, 3] = 1.0, -2.0
    step.jac[0, 2, 5] = -2.0 * p * z if formula is falling else -p
    # the longest step of the test runs out of iterations near the end of its convergence
    co.collocate(m, sides, step, 0.0, h, np.inf, tolerance)
    assert saved
    return float(step.values[-1, 2]), float(abs(step.error[2]))


def steps(h, count):
    """Return the error of y = 1 / (1 + t) after `count` steps, and the last one estimated."""
    y, error = 1.0, 0.0
    for _ in range(count):
        y, error = collocated(falling, 1.0, y, h, 1e-16)
    return abs(y - 1.0 / (1.0 + count * h)), error


def test_order_nine():
    off = [steps(2.0 / n, n)[0] for n in (1, 2, 4)]
    assert np.log2(off[0] / off[1]) > 8.5
    assert np.log2(off[1] / off[2]) > 8.5
    estimated = [steps(1.0 / n, n)[1] for n in (4, 8)]
    # reason: an order, seen at two steps
    assert np.log2(estimated[0] / estimated[1]) == pytest.approx(6.0, abs=0.8)
    assert estimated[0] > off[2]


def test_what_is_stiff_dies_at_once():
    assert abs(collocated(decaying, 1e12, 1.0, 1.0, 1e-12)[0]) < 1e-10


def test_polynomial_between_the_stages():
    t, weight, found = co.NODES, np.empty(6), np.empty((1, 1))
    for at in (0.0, 0.3, 0.77, 1.0):
        co.weights(at, weight)
        co.between((t**5 - 2.0 * t)[:, None], weight, found, 0)
        assert found[0, 0] == pytest.approx(at**5 - 2.0 * at, abs=1e-13)
        co.integrals(at, weight)
        assert weight @ t**4 == pytest.approx(at**5 / 5.0, abs=1e-13)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_newton_matrix_of_neighbours(n):
    rng = np.random.default_rng(n)
    jac = np.zeros((n, 3, 9))
    # a mass acts on the velocities of its neighbours
    jac[:, :, 3:6] = rng.normal(size=(n, 3, 3))
    jac[1:, 1, :2], jac[:-1, 1, 6:8] = rng.normal(size=(2, n - 1, 2))
    a = rng.normal(size=(co.STAGES, co.STAGES))
    band, pivots = co.room_for_newton(15 * n, co.STAGES)
    assert co.factorise_newton(jac, 0.1, a, band, pivots)
    b = rng.normal(size=15 * n)
    found = b.copy()
    co.solve_newton(jac, a, band, pivots, found)
    wide = np.zeros((3 * n, 3 * n + 6))
    for i in range(n):
        wide[3 * i : 3 * i + 3, 3 * i : 3 * i + 9] = jac[i]
    whole = np.eye(15 * n) - 0.1 * np.kron(wide[:, 3:-3], a)
    assert found == pytest.approx(np.linalg.solve(whole, b), rel=1e-9)
