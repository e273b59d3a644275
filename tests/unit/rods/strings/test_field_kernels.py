"""Fields and energies off stored waves: what is compiled, NumPy's bodies, and quadrature."""

import numpy as np
import pytest
from bodies import in_both_bodies
from numpy.polynomial.legendre import leggauss

from stiction.rods.strings import field_kernels as kernels
from stiction.rods.strings.characteristics_kernels import extend_many
from stiction.rods.strings.state import Cubic, Pair, String, Wave

pytestmark = pytest.mark.usefixtures("plain_kernels")

COUNT = 20


def waves(periodic, seed=4):
    """Return four waves of random cubics from -12 to 12, on two strings, and a guide."""
    rng = np.random.default_rng(seed)
    pair = Pair(String.table(2), Wave.table(4), Cubic.table((4, COUNT + 1)))
    for i in range(2):
        string = pair.strings[i]
        string.speed, string.length, string.rate = 1.5 - 0.5 * i, 4.0 + i, 1.0
        string.periodic = int(periodic)
    for f in range(4):
        knots = np.sort(rng.uniform(-12.0, 12.0, COUNT + 1))
        knots[[0, -1]] = -12.0, 12.0
        low, wide = knots[:-1, None], np.diff(knots)[:, None]
        x = low + wide * np.array([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0])
        extend_many.plain(f, x, rng.normal(size=(COUNT, 4)), pair)
    guide = np.zeros((4, 7), dtype=np.int64)
    kernels.guide_waves.py_func(pair, guide)
    return pair, guide


def knots_of(pair, f):
    return pair.cubics["knot"][f, : COUNT + 1]


def wave_at(pair, f, x):
    x = np.asarray(x, dtype=float)
    knots = knots_of(pair, f)
    j = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, COUNT - 1)
    c0, c1, c2, c3 = (pair.cubics[name][f][j] for name in ("c0", "c1", "c2", "c3"))
    d = x - knots[j]
    return c0 + d * (c1 + d * (c2 + d * c3))


def both_ways(pair, i, x, t, s):
    """Return R and L at places: going right and left from the contact, mirrored at fixed ends."""
    c, length = pair.strings[i].speed, pair.strings[i].length
    r, left = 2 * i, 2 * i + 1
    if pair.strings[i].periodic:
        at = s + (x - s) % length
        return wave_at(pair, r, t - at / c), wave_at(pair, left, t + (at - length) / c)
    near = x <= s
    right = np.where(near, -wave_at(pair, left, t - x / c), wave_at(pair, r, t - x / c))
    mirrored = -wave_at(pair, r, t + (x - 2.0 * length) / c)
    return right, np.where(near, wave_at(pair, left, t + x / c), mirrored)


PLACES = np.linspace(0.0, 4.0, 9)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("i", [0, 1])
def test_rates_are_half_the_sum_of_both_waves(periodic, i):
    pair, guide = waves(periodic)
    times, contact = np.array([0.0, 0.7, 1.9]), np.array([1.3, 1.6, 2.2])
    x = np.linspace(0.0, pair.strings[i].length, 9)

    def found():
        place, rate = np.zeros((3, 9)), np.zeros((3, 9))
        kernels.fields(i, x, times, contact, 0.25, pair, guide, place, rate)
        return place, rate

    plain, body = in_both_bodies(found)
    for one, other in zip(plain, body, strict=True):
        np.testing.assert_array_equal(one, other)
    place, rate = plain
    for k in range(3):
        right, left = both_ways(pair, i, x, times[k], contact[k])
        np.testing.assert_allclose(rate[k], 0.5 * (right + left), rtol=1e-10, atol=1e-10)
    if periodic:
        # the contact point at the start is where it is said to be
        one, two = np.zeros((1, 1)), np.zeros((1, 1))
        at = contact[:1].copy()
        kernels.fields(i, at, times[:1], at, 0.25, pair, guide, one, two)
        assert one[0, 0] == pytest.approx(0.25)
    else:
        # fixed ends do not move
        np.testing.assert_allclose(place[:, 0], 0.0, atol=1e-12)
        np.testing.assert_allclose(place[:, -1], 0.0, atol=1e-12)


@pytest.mark.parametrize("i", [0, 1])
def test_places_are_the_integrals_of_rates(i):
    """u changes by the integral of its rate over time, where the contact stands still."""
    pair, guide = waves(False)
    nodes, weights = leggauss(40)
    span = 0.02
    times = np.concatenate([[0.5], 0.5 + 0.5 * span * (1.0 + nodes), [0.5 + span]])
    place, rate = np.zeros((42, 9)), np.zeros((42, 9))
    contact = np.full(42, 1.3)
    kernels.fields(i, PLACES, times, contact, 0.0, pair, guide, place, rate)
    moved = 0.5 * span * weights @ rate[1:-1]
    # reason: waves jump from cubic to cubic, which quadrature sees to a thousandth
    np.testing.assert_allclose(place[-1] - place[0], moved, atol=2e-3)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("alike", [False, True])
def test_energies_are_those_of_both_waves(periodic, alike):
    """(c / 4) int R^2 + L^2 dx of each string, int R L dx, and the product of both strings."""
    pair, guide = waves(periodic)
    if alike:
        pair.strings[1].speed, pair.strings[1].length = pair.strings[0].speed, 4.0
    times, contacts = np.array([0.4, 1.1]), np.array([[1.3, 2.1], [2.4, 0.6]])
    nodes, weights = leggauss(4)
    gauss, weights = 0.5 * (1.0 + nodes), 0.5 * weights

    def found():
        energy, product, both = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2)
        kernels.powers(times, contacts, gauss, weights, alike, pair, guide, energy, product, both)
        return energy, product, both

    plain, body = in_both_bodies(found)
    for one, other in zip(plain, body, strict=True):
        np.testing.assert_array_equal(one, other)
    energy, product, both = plain
    for k in range(2):
        values = []
        for i in range(2):
            length = pair.strings[i].length
            x = (np.arange(50_000) + 0.5) * length / 50_000
            right, left = both_ways(pair, i, x, times[k], contacts[k, i])
            values.append((right, left))
            step = length / x.size
            wanted = 0.25 * step * float((right**2 + left**2).sum())
            assert energy[k, i] == pytest.approx(wanted, rel=1e-3)
            size = step * float(np.abs(right * left).sum())
            wanted = step * float((right * left).sum())
            assert product[k, i] == pytest.approx(wanted, abs=1e-3 * size)
        if alike:
            (r0, l0), (r1, l1) = values
            size = step * float(np.abs(r0 * r1).sum() + np.abs(l0 * l1).sum())
            wanted = step * float((r0 * r1 + l0 * l1).sum())
            assert both[k] == pytest.approx(wanted, abs=1e-3 * size)
        else:
            assert both[k] == 0.0


@pytest.mark.parametrize("periodic", [False, True])
def test_parts_of_the_kernels_do_the_same(periodic):
    pair, guide = waves(periodic)
    rng = np.random.default_rng(2)
    which = rng.integers(0, 4, (2, 30))
    # beyond both ends too, and what is no number
    where = rng.uniform(-13.0, 13.0, (2, 30))
    found = np.zeros((2, 30), dtype=np.int64)
    other = found.copy()
    kernels._locate_cubics.plain(which, where, pair, guide, found)
    kernels._locate_cubics.py_func(which, where, pair, guide, other)
    np.testing.assert_array_equal(found, other)
    sign, out = rng.normal(size=(2, 30)), [np.zeros((2, 30)) for _ in range(4)]
    kernels._values.plain(which, where, found, sign, pair.cubics, out[0])
    kernels._values.py_func(which, where, found, sign, pair.cubics, out[1])
    kernels._areas.plain(which, where, found, pair.cubics, out[2])
    kernels._areas.py_func(which, where, found, pair.cubics, out[3])
    np.testing.assert_array_equal(out[0], out[1])
    np.testing.assert_array_equal(out[2], out[3])
    each = [[wave_at(pair, f, x) for f, x in zip(*row, strict=True)]
            for row in zip(which, where, strict=True)]  # fmt: skip
    np.testing.assert_allclose(out[0], sign * np.array(each), rtol=1e-12, atol=1e-12)
