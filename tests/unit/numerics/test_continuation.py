"""Curves of solutions around limit points, on curves that are known."""

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.numerics.continuation import (
    Dense,
    advance,
    bordered,
    corrected,
    located,
    place_at,
    solved_nearby,
    trace,
)


class Circle:
    """x^2 + y^2 = 1 in unknowns of sizes 1 and `size`."""

    def __init__(self, size=1.0, limits=()):
        self.size, self.limits = size, limits
        self.scale = np.array([1.0, size])

    def residual(self, u):
        return np.array([u[0] ** 2 + (u[1] / self.size) ** 2 - 1.0])

    def tolerance(self, u):
        return 0.0

    def linearised(self, u):
        return Dense(2.0 * np.array([[u[0], u[1] / self.size]]))

    def moved(self, u, step):
        return u + self.scale * step


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e6])
def test_a_closed_curve_is_followed_around(size):
    points, end = trace(Circle(size), np.array([1.0, 0.0]), 1.0, step=0.2, most=200)
    assert end == "the curve is closed"
    angles = np.unwrap(np.arctan2([p[1] / size for p in points], [p[0] for p in points]))
    assert angles[-1] == pytest.approx(2.0 * np.pi)
    assert (np.diff(angles) > 0.0).all()
    assert max(abs(p[0] ** 2 + (p[1] / size) ** 2 - 1.0) for p in points) < 1e-12


def test_a_curve_ends_on_the_limit_that_it_meets():
    circle = Circle(limits=((0, -0.5, 2.0, "x"),))
    points, end = trace(circle, np.array([1.0, 0.0]), 1.0, step=0.3, most=200)
    assert end == "x reached -0.5"
    assert points[-1][0] == -0.5
    assert points[-1][1] == pytest.approx(np.sqrt(0.75), abs=1e-14)
    assert trace(circle, points[0], 1.0, step=0.3, most=3)[1] == "the allowed number of points, 3"


def test_a_limit_point_is_located():
    circle = Circle()
    place = place_at(circle, np.array([0.28, 0.96]), np.array([-1.0, 1.0]))
    new, step, longer = advance(circle, place, 0.4, longest=0.5)
    ends = place.tangent[-1], new.tangent[-1]
    assert ends[0] * ends[1] < 0.0
    assert longer == 0.5

    def rise(u):
        return circle.linearised(u).tangent(place.tangent)[-1]

    share, at = located(circle, place, step.step, rise, ends)
    assert 0.0 < share < 1.0
    assert at == pytest.approx([0.0, 1.0], abs=1e-12)


def test_an_undefined_test_function_ends_the_search():
    circle = Circle()
    place = place_at(circle, np.array([0.28, 0.96]), np.array([-1.0, 1.0]))
    _, step, _ = advance(circle, place, 0.4, longest=0.5)

    def undefined(u):
        raise ModelError("test", "no value", "a value", "it is undefined.", "leave it out.")

    assert located(circle, place, step.step, undefined, (1.0, -1.0)) is None


def test_a_step_beside_the_curve_is_halved():
    circle = Circle()
    place = place_at(circle, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    # beyond the tangent's reach there is no solution across it
    new, _, _ = advance(circle, place, 1.5, longest=1.5)
    assert 0.2 < new.u[1] < 0.8
    assert circle.residual(new.u)[0] == pytest.approx(0.0, abs=1e-12)


def test_where_nothing_is_found_the_curve_ends():
    class Torn(Circle):
        def residual(self, u):
            if u[1] > 0.5:
                raise ModelError("u", "beyond", "below", "it is torn.", "stay.")
            return super().residual(u)

    points, end = trace(Torn(), np.array([1.0, 0.0]), 1.0, step=0.2, most=200)
    assert end == "no further point of the curve was found"
    assert points[-1][1] == pytest.approx(0.5, abs=1e-3)
    place = place_at(Torn(), np.array([np.sqrt(0.75), 0.5]), np.array([0.0, 1.0]))
    assert advance(Torn(), place, 0.2, longest=0.2) is None


def test_the_nearest_solution():
    assert solved_nearby(Circle(), np.array([3.0, 4.0])) == pytest.approx([0.6, 0.8])
    # no derivative at the centre leads anywhere
    assert solved_nearby(Circle(), np.array([0.0, 0.0])) is None


@pytest.mark.parametrize("seed", range(20))
def test_block_elimination_is_the_whole_solution(seed):
    random = np.random.default_rng(seed)
    matrix, (b, row, f) = random.normal(size=(6, 6)), random.normal(size=(3, 6))
    corner, wanted = random.normal(size=2)
    x, y = bordered(np.linalg.solve(matrix, np.stack([f, b], axis=1)), row, corner, wanted)
    whole = np.block([[matrix, b[:, None]], [row, corner]])
    assert np.append(x, y) == pytest.approx(np.linalg.solve(whole, np.append(f, wanted)))


def test_a_row_that_does_not_feel_the_parameter():
    with pytest.raises(np.linalg.LinAlgError):
        bordered(np.ones((3, 2)), np.array([1.0, -1.0, 0.0]), 0.0, 1.0)


class Power:
    """y = c x^p about (0, 0), with exact derivatives, or wrong ones by a factor."""

    scale, limits = np.ones(2), ()

    def __init__(self, power, tolerance=0.0, factor=1.0):
        self.power, self.least, self.factor, self.asked = power, tolerance, factor, 0

    def residual(self, u):
        self.asked += 1
        return np.array([u[1] - u[0] ** self.power])

    def tolerance(self, u):
        return self.least

    def linearised(self, u):
        slope = -self.power * u[0] ** (self.power - 1)
        return Dense(self.factor * np.array([[slope, 1.0]]))

    def moved(self, u, step):
        return u + step


ALONG = np.array([1.0, 0.0])


def test_a_line_is_met_by_one_move():
    """Newton's method ends a line at once; the second iteration finds that nothing is left."""
    place = place_at(Power(1), np.zeros(2))
    found = corrected(Power(1), place, ALONG, np.array([2.0, 0.0]))
    assert found.u.tolist() == [2.0, 2.0]
    assert found.step.tolist() == [2.0, 2.0]
    assert found.iterations == 1
    # where no residual counts as solved, a second move of length zero ends it
    assert corrected(Power(1, tolerance=-1.0), place, ALONG, np.array([2.0, 0.0])).iterations == 2
    # at the first iteration a small residual is no reason to stay
    found = corrected(Power(1, tolerance=10.0), place, ALONG, np.array([2.0, 0.0]))
    assert found.u.tolist() == [2.0, 2.0]
    assert found.iterations == 1


def test_wrong_derivatives_converge_slowly_and_end():
    """With derivatives twice too large the error is halved: 2 * 2^-k <= 1e-12 at k = 41."""
    place = place_at(Power(1), np.zeros(2))
    assert corrected(Power(1, factor=2.0), place, ALONG, np.array([2.0, 0.0])) is None
    # a tolerance of 1e-3 is met by the eleventh: 2 * 2^-11
    found = corrected(Power(1, tolerance=1e-3, factor=2.0), place, ALONG, np.array([2.0, 0.0]))
    assert found.iterations == 11
    assert found.u == pytest.approx([2.0, 2.0 - 2.0**-10])


def test_a_guess_without_a_number_finds_nothing():
    place = place_at(Power(1), np.zeros(2))
    assert corrected(Power(1), place, ALONG, np.array([np.inf, 0.0])) is None


def test_block_elimination_by_hand():
    """x = 1 - 2 y and 3 x + y = 8: y = -1, x = 3."""
    x, y = bordered(np.array([[1.0, 2.0]]), np.array([3.0]), 1.0, 8.0)
    assert (x.tolist(), y) == ([3.0], -1.0)
    with pytest.raises(np.linalg.LinAlgError):
        bordered(np.array([[1.0, 2.0]]), np.array([3.0]), 6.0, 8.0)


@pytest.mark.parametrize(("root", "power"), [(0.3, 1), (0.7, 3), (0.5, 1)])
def test_a_test_function_is_zero_where_it_was_located(root, power):
    problem = Power(2)
    place = place_at(problem, np.zeros(2))

    def test(u):
        return (u[0] - root) ** power

    share, u = located(problem, place, np.array([1.0, 1.0]), test, (test([0.0]), test([1.0])))
    assert share == pytest.approx(root, rel=1e-4 if power > 1 else 1e-12)
    assert u == pytest.approx([share, share**2])


def test_the_next_step_may_be_longer_up_to_a_limit():
    problem = Power(1)
    place = place_at(problem, np.zeros(2), np.array([1.0, 1.0]))
    there, step, length = advance(problem, place, 0.1, longest=10.0)
    assert length == pytest.approx(0.14)
    assert there.u == pytest.approx([0.1 / np.sqrt(2.0)] * 2)
    assert np.linalg.norm(step.step) == pytest.approx(0.1)
    assert advance(problem, place, 0.1, longest=0.12)[2] == 0.12
