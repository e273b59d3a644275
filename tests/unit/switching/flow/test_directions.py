"""Kernels at an intersection of two surfaces, on rates that are given."""

import itertools

import numpy as np
import pytest

from stiction.switching.flow.intersections import directions as kernels
from stiction.switching.flow.intersections import sliding
from stiction.switching.flow.intersections.bilinear import Bilinear, root, scaled_discriminant
from stiction.switching.flow.intersections.transitions import signs_of
from stiction.switching.flow.rates import interpolant
from stiction.switching.flow.state import QUADRANT_RATES, SAMPLE, Progress, Workspace

pytestmark = pytest.mark.usefixtures("plain_kernels")

QUADRANTS = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
# the surface that it lies on, and the side of the other one
HALVES = [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)]


def workspace(rates, speed=1.0):
    """A workspace in which (2, 4) rates of h_i and h_j stand in the quadrants."""
    progress = Progress.table(1)
    progress[0].speed_i = progress[0].speed_j = speed
    rows = np.zeros((200, 64))
    rows[QUADRANT_RATES, :8] = np.ravel(rates)
    return Workspace(progress, rows)


def neighbours(e):
    """Return the quadrants beside half surface e, the one on the positive side first."""
    on, side = HALVES[e]
    beside = [(s, side) if on == 0 else (side, s) for s in (1.0, -1.0)]
    return [QUADRANTS.index(q) for q in beside]


def sliding_rate(rates, e):
    """Return how fast the other function grows along half surface e: Filippov's combination."""
    on, side = HALVES[e]
    up, down = neighbours(e)
    f, g = rates[on], rates[1 - on]
    share = f[down] / (f[down] - f[up])
    return f[up], f[down], side * (share * g[up] + (1.0 - share) * g[down])


RATES = [np.random.default_rng(seed).normal(size=(2, 4)) for seed in range(40)]


@pytest.mark.parametrize("c", range(4))
def test_signs_in_a_quadrant(c):
    assert signs_of(1 << c) == QUADRANTS[c]


@pytest.mark.parametrize("e", range(4))
def test_signs_on_a_half_surface(e):
    on, side = HALVES[e]
    assert signs_of(1 << (kernels.HALF_SURFACES + e)) == ((0.0, side) if on == 0 else (side, 0.0))


@pytest.mark.parametrize("bit", [kernels.SLIDES_PLUS, kernels.SLIDES_MINUS, kernels.SPIRAL])
def test_signs_of_sliding_on_both(bit):
    assert signs_of(1 << bit) == (0.0, 0.0)


def test_directions_are_counted():
    assert kernels.count(0) == 0
    assert kernels.count(0b10000000101) == 3
    # what says which half surfaces repel is no direction
    assert kernels.count(1 << kernels.ESCAPES) == 0
    assert kernels.count((1 << kernels.DIRECTIONS) - 1) == 11


def test_the_functions_whose_signs_decide():
    for rates in RATES[:10]:
        w = workspace(rates)
        sliding._fill_functions(w, SAMPLE)
        found = w.vectors[SAMPLE]
        np.testing.assert_array_equal(found[:8], np.ravel(rates))
        for e in range(4):
            up, down, rate = sliding_rate(rates, e)
            # the numerator of the rate, whose denominator has one sign while it slides
            side = HALVES[e][1]
            assert found[8 + e] == pytest.approx(side * rate * (down - up), rel=1e-12)
        f, g = rates
        left, right = g[0] * f[2] * g[3] * f[1], f[0] * g[2] * f[3] * g[1]
        assert kernels.turns(w) == pytest.approx((left, right), rel=1e-14)
        assert found[12] == pytest.approx(left - right, rel=1e-12)


def test_half_surfaces_attract_or_repel():
    for rates in RATES:
        w = workspace(rates)
        for e in range(4):
            up, down, rate = sliding_rate(rates, e)
            kind = 1 if up < 0.0 < down else -1 if down < 0.0 < up else 0
            found, grows = kernels._half_surface(w, e)
            assert found == kind
            assert grows == (pytest.approx(rate, rel=1e-10) if kind else 0.0)


def test_directions_of_first_order():
    seen = 0
    for rates in RATES:
        found = kernels.open_directions(workspace(rates))
        for c, (si, sj) in enumerate(QUADRANTS):
            into = si * rates[0, c] > 0.0 and sj * rates[1, c] > 0.0
            assert bool(found & (1 << c)) is bool(into)
        for e in range(4):
            up, down, rate = sliding_rate(rates, e)
            slides = up * down < 0.0 and rate > 0.0
            assert bool(found & (1 << (kernels.HALF_SURFACES + e))) is bool(slides)
            repels = slides and up > 0.0
            assert bool(found & (1 << (kernels.ESCAPES + e))) is bool(repels)
        seen |= found
    # every kind of direction into quadrants and along half surfaces has occurred
    assert seen & 0xFF == 0xFF


def multipliers(rates):
    """Return the sliding vectors on both surfaces: roots of two bilinear equations, and det."""
    signs = np.array([[1.0, si, sj, si * sj] for si, sj in QUADRANTS])
    a, b = (signs.T @ row for row in rates)
    # v from the first equation put into the second
    u = np.roots([
        a[3] * b[1] - a[1] * b[3],
        a[3] * b[0] + a[2] * b[1] - a[1] * b[2] - a[0] * b[3],
        a[2] * b[0] - a[0] * b[2],
    ])  # fmt: skip
    for one in u[np.isreal(u)].real:
        v = -(a[0] + a[1] * one) / (a[2] + a[3] * one)
        det = (a[1] + a[3] * v) * (b[2] + b[3] * one) - (a[2] + a[3] * one) * (b[1] + b[3] * v)
        yield one, v, det


def test_sliding_on_both_surfaces():
    both = set()
    for rates in RATES:
        found = kernels.open_directions(workspace(rates))
        wanted = {np.sign(d) for u, v, d in multipliers(rates) if max(abs(u), abs(v)) <= 1.0}
        for sign, bit in ((1.0, kernels.SLIDES_PLUS), (-1.0, kernels.SLIDES_MINUS)):
            assert bool(found & (1 << bit)) is (sign in wanted)
            both |= {sign} & wanted
    assert both == {1.0, -1.0}


@pytest.mark.parametrize("sense", [1.0, -1.0])
@pytest.mark.parametrize("growth", [0.5, 2.0])
@pytest.mark.parametrize("quadrant", range(4))
def test_spirals(sense, growth, quadrant):
    """A turn: rates along (-h_j, h_i); in one quadrant the inward part is smaller, or larger."""
    f = np.array([-sense * sj for _, sj in QUADRANTS])
    g = np.array([sense * si for si, _ in QUADRANTS])
    # what shrinks in that quadrant shrinks by a factor
    si, _ = QUADRANTS[quadrant]
    shrinks = f if si * f[quadrant] < 0.0 else g
    shrinks[quadrant] /= growth
    found = kernels.open_directions(workspace([f, g]))
    assert bool(found & (1 << kernels.SPIRAL)) is (growth > 1.0)
    # where one rate is turned around nothing goes round
    f[quadrant] *= -1.0
    assert not kernels.open_directions(workspace([f, g])) & (1 << kernels.SPIRAL)


def test_coefficients_give_the_rates_back():
    for rates in RATES[:5]:
        c = interpolant(workspace(rates))
        for q, (u, v) in enumerate(QUADRANTS):
            for row, part in enumerate((c[:4], c[4:])):
                value = part[0] + part[1] * u + part[2] * v + part[3] * u * v
                assert value == pytest.approx(4.0 * rates[row, q], rel=1e-12)


def test_one_void_condition_leaves_the_least_multipliers_of_the_other():
    # L_i = 0 for all multipliers, L_j = 4 (0.6 - u + 0.5 v): of all roots that of max(|u|, |v|)
    for c in (Bilinear(*(0.0,) * 4, 2.4, -4.0, 2.0, 0.0), Bilinear(2.4, -4.0, 2.0, *(0.0,) * 5)):
        found = root(c, 1.0, True)
        assert found.good
        assert (found.u, found.v) == pytest.approx((0.4, -0.4), abs=1e-12)
    assert not root(Bilinear(1.0, *(0.0,) * 7), 1.0, True).good


@pytest.mark.parametrize("seed", range(20))
def test_both_roots_of_two_bilinear_equations(seed):
    random = np.random.default_rng(seed)
    one, two = random.normal(size=2), random.normal(size=2)
    rows = []
    for _ in range(2):
        # two conditions on four coefficients: the equation holds at both roots
        at = np.array([[1.0, u, v, u * v] for u, v in (one, two)])
        null = np.linalg.svd(at)[2][2:]
        rows.append(random.normal(size=2) @ null)
    c = Bilinear(*(float(x) for x in np.concatenate(rows)))
    found = []
    for sign in (1.0, -1.0):
        r = root(c, sign, False)
        assert r.good
        assert np.sign(r.det) == sign
        j11, j12 = c.a1 + c.a3 * r.v, c.a2 + c.a3 * r.u
        j21, j22 = c.b1 + c.b3 * r.v, c.b2 + c.b3 * r.u
        assert r.det == pytest.approx(j11 * j22 - j12 * j21, rel=1e-9)
        found.append((r.u, r.v))
    matches = [np.allclose([*a, *b], [*one, *two], rtol=1e-7, atol=1e-9)
               for a, b in itertools.permutations(found)]  # fmt: skip
    assert any(matches)
    assert scaled_discriminant(c) > 0.0


@pytest.mark.parametrize(("rest", "good"), [(0.25, True), (0.0, True), (-0.25, False)])
def test_roots_merge(rest, good):
    """v = u and u v = 2 u + rest - 1: u = 1 +- sqrt(rest)."""
    c = Bilinear(0.0, 1.0, -1.0, 0.0, 1.0 - rest, -2.0, 0.0, 1.0)
    size = 1.0 + 4.0 + (1.0 - rest) ** 2
    assert scaled_discriminant(c) == pytest.approx(4.0 * rest / size, abs=1e-15)
    for sign in (1.0, -1.0):
        r = root(c, sign, False)
        assert bool(r.good) is good
        if good:
            wide = np.sqrt(rest)
            assert r.u == pytest.approx(r.v)
            assert abs(r.u - 1.0) == pytest.approx(wide, abs=1e-7)
        # halfway between roots that are gone
        beyond = root(c, sign, True)
        assert beyond.good
        if rest <= 0.0:
            assert (beyond.u, beyond.v) == pytest.approx((1.0, 1.0))


def test_rates_that_add_up_have_one_root():
    # 1 + 2 u - v = 0 and -2 + u + v = 0: u = 1 / 3, v = 5 / 3
    c = Bilinear(1.0, 2.0, -1.0, 0.0, -2.0, 1.0, 1.0, 0.0)
    r = root(c, 1.0, False)
    assert (r.u, r.v, r.det) == pytest.approx((1.0 / 3.0, 5.0 / 3.0, 3.0))
    assert r.good
    assert not root(c, -1.0, False).good
    assert scaled_discriminant(c) == 1.0
    flat = Bilinear(1.0, 1.0, 1.0, 0.0, 2.0, 2.0, 2.0, 0.0)
    assert not root(flat, 1.0, False).good
    assert root(Bilinear(0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 2.0, 0.0), 1.0, False).good
