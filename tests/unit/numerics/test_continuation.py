"""Curves of solutions around limit points, on curves that are known."""

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.numerics.continuation import (
    Dense,
    advance,
    bordered,
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
    assert end == "no point of the curve was found further on"
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
