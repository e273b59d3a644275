"""Cubics of waves: interpolation, integrals and breaks, against NumPy's polynomials."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from stiction.rods.strings import characteristics_kernels as kernels
from stiction.rods.strings.state import Cubic, Pair, Parameters, String, Wave

pytestmark = pytest.mark.usefixtures("plain_kernels")


def pair(count=6):
    return Pair(String.table(2), Wave.table(4), Cubic.table((4, count)))


def random_cubics(count, seed=3):
    rng = np.random.default_rng(seed)
    knots = np.cumsum(rng.uniform(0.5, 1.5, size=count + 1))
    return knots, [Polynomial(rng.normal(size=4)) for _ in range(count)]


def samples(knots, cubics):
    """Return four points of each cubic, at uneven places."""
    x = np.array([low + (high - low) * np.array([0.0, 0.3, 0.6, 1.0])
                  for low, high in pairwise(knots)])  # fmt: skip
    y = np.array([c(row - row[0]) for c, row in zip(cubics, x, strict=True)])
    return x, y


@pytest.mark.parametrize("d", [0.0, 0.4, 1.7])
def test_integrals_of_a_cubic(d):
    c = Polynomial([0.7, -1.3, 0.4, 0.9])
    assert kernels.part_of_area(d, *c.coef) == pytest.approx(c.integ()(d), rel=1e-13)
    assert kernels.part_of_square(d, *c.coef) == pytest.approx((c * c).integ()(d), rel=1e-13)


@pytest.mark.parametrize("many", [False, True])
def test_cubics_go_through_their_points(many):
    knots, cubics = random_cubics(4)
    x, y = samples(knots, cubics)
    made = pair()
    if many:
        kernels.extend_many(1, x, y, made)
    else:
        for row in range(4):
            kernels.extend(1, x[row], y[row], made)
    assert made.waves[1].count == 4
    area = square = 0.0
    for j, c in enumerate(cubics):
        found = made.cubics[1, j]
        assert found.knot == pytest.approx(knots[j])
        assert (found.c0, found.c1, found.c2, found.c3) == pytest.approx(tuple(c.coef), rel=1e-9)
        assert (found.area, found.square) == pytest.approx((area, square), abs=1e-10)
        d = knots[j + 1] - knots[j]
        area, square = area + c.integ()(d), square + (c * c).integ()(d)
    last = made.cubics[1, 4]
    assert (last.knot, last.area, last.square) == pytest.approx((knots[4], area, square), rel=1e-9)
    # other waves are left alone
    assert made.waves[0].count == made.waves[2].count == 0


@pytest.mark.parametrize("many", [False, True])
def test_a_characteristic_that_stands_still_has_its_last_value(many):
    made = pair()
    x = np.array([[1.0, 1.0, 1.5, 2.0], [2.0, 2.5, 3.0, 4.0]])
    y = np.array([[3.0, 4.0, 5.0, 6.0], [1.0, 1.0, 1.0, 1.0]])
    if many:
        kernels.extend_many(0, x, y, made)
    else:
        kernels.extend(0, x[0], y[0], made)
    first, after = made.cubics[0, 0], made.cubics[0, 1]
    assert (first.c0, first.c1, first.c2, first.c3) == (6.0, 0.0, 0.0, 0.0)
    assert (after.knot, after.area, after.square) == (2.0, 6.0, 36.0)
    assert made.waves[0].count == (2 if many else 1)


def test_a_wave_breaks_by_value_slope_and_bend():
    knots, cubics = random_cubics(2, seed=8)
    made = pair()
    x, y = samples(knots, cubics)
    for row in range(2):
        kernels.extend(3, x[row], y[row], made)
    d, step = knots[1] - knots[0], 0.25
    one, two = cubics
    jumps = [one.deriv(k)(d) - two.deriv(k)(0.0) for k in (1, 2)]
    value = abs(one(d) - two(0.0)) + step * abs(jumps[0]) + step**2 * abs(0.5 * jumps[1])
    assert kernels._jump(3, 1, step, made) == pytest.approx(value, rel=1e-9)


def test_a_smooth_wave_does_not_break():
    whole = Polynomial([0.7, -1.3, 0.4, 0.9])
    knots = np.array([0.0, 1.0, 1.75])
    cubics = [whole, Polynomial([whole.deriv(k)(1.0) / f for k, f in enumerate((1, 1, 2, 6))])]
    made = pair()
    x, y = samples(knots, cubics)
    for row in range(2):
        kernels.extend(2, x[row], y[row], made)
    assert kernels._jump(2, 1, 0.5, made) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("rolling", [0.0, 0.7])
def test_the_regular_root_does_not_depend_on_the_guess(rolling):
    """Below |w| = V_m one root of the cubic is subsonic: it is found from any start."""
    rng = np.random.default_rng(7)
    strings, par = String.table(2), Parameters.table()[0]
    par.rolling = rolling
    for _ in range(60):
        c1, c2, a, b, par.ratio = rng.uniform(0.3, 2.0, 5) * rng.choice([-1.0, 1.0], 5)
        strings["speed"], strings["rate"] = np.abs([c1, c2]), (a, b)
        slow = 1.0 / np.max(np.abs(strings["rate"]) / strings["speed"])
        wu, wv = slow * rng.uniform(-1.0, 1.0, 2) * (par.ratio, 1.0)
        k, left = par.ratio * abs(c2 / c1), Polynomial([c1 * c1, 0.0, -a * a])
        right = Polynomial([-wv, 1.0]) * Polynomial([c2 * c2, 0.0, -b * b])
        g = k * Polynomial([wu, -par.ratio]) * left - right - [0.0, 0.5 * rolling * abs(c2)]
        (wanted,) = [x.real for x in g.roots() if abs(x) < slow and x.imag == 0.0]
        for guess in (0.0, 0.99 * slow, -0.99 * slow, 3.0 * slow):
            found, regular = kernels._contact_velocity(wu, wv, guess, par, strings[0], strings[1])
            assert regular
            assert found == pytest.approx(wanted, abs=1e-9 * slow)
