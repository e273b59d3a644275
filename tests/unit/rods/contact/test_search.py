"""The search for near places of rods, against all pairs of all curves by SciPy's splines."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import brentq, root

from stiction.rods.contact.curve.kernels import FITTED, SPLINE
from stiction.rods.contact.pairs import bound_segments, group_segments, near_segments
from stiction.rods.contact.search_kernels import Candidate, find_candidates

LINE_BELOW = np.sin(np.deg2rad(20.0))
CROSSING, LINE = 0, 1


# ---- rods as lists of nodes


def rod(rng, n, ds, box, wiggle=0.15):
    """Return the nodes of a smooth random curve of about the element length ds."""
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    x = np.linspace(-0.5, 0.5, n + 1)[:, None] * n * ds
    nodes = rng.uniform(-box, box, 3) + x * direction
    for wave in (1, 2):
        nodes += wiggle * n * ds * rng.normal(size=3) * np.sin(wave * np.pi * x / (n * ds))
    return nodes


def search(rods, radius, margin, separation=None, capacity=4096, rule=SPLINE):
    """Return what the kernel finds, as rows."""
    radius = np.broadcast_to(np.asarray(radius, dtype=float), (len(rods),)).copy()
    count = np.array([len(nodes) - 1 for nodes in rods], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(count + 1)[:-1]]).astype(np.int64)
    ds = np.array([np.linalg.norm(np.diff(x, axis=0), axis=1).mean() for x in rods])
    separation = count + 1 if separation is None else np.full(len(rods), separation, dtype=np.int64)
    r = np.ascontiguousarray(np.concatenate(rods).T)
    rows = Candidate.table(capacity)
    found = find_candidates(r, first, count, radius, ds, margin, separation, rule, rows)
    fields = [rows[name] for name in ("bodies", "place", "distance", "sine", "kind")]
    return np.column_stack(fields)[:found] if found <= capacity else found


def looked_at(rods, radius, margin):
    """Return how many pairs of segments the broad phase looked at, and how many there are."""
    radius = np.broadcast_to(np.asarray(radius, dtype=float), (len(rods),)).copy()
    count = np.array([len(nodes) - 1 for nodes in rods], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(count + 1)[:-1]]).astype(np.int64)
    r = np.ascontiguousarray(np.concatenate(rods).T)
    ds = np.array([np.linalg.norm(np.diff(x, axis=0), axis=1).mean() for x in rods])
    segments, spheres = bound_segments(r, first, count, radius, margin, SPLINE)
    groups, around = group_segments(segments, spheres, radius, ds, margin)
    _, near, tests = near_segments(segments, spheres, groups, around, count + 1)
    return tests, near, len(segments.rod)


# ---- the same by brute force


class Curve:
    """A uniform cubic B-spline by SciPy, with its first two derivatives."""

    def __init__(self, nodes):
        n = len(nodes) - 1
        self.low, self.high, self.n = 0.0, float(n), n
        # beyond the ends nodes go on in a straight line
        wide = [2.0 * nodes[0] - nodes[1], *nodes, 2.0 * nodes[-1] - nodes[-2]]
        self.at = BSpline(np.arange(-3.0, n + 4.0), np.array(wide), 3)
        self.slope, self.bend = self.at.derivative(), self.at.derivative(2)

    def samples(self):
        return np.linspace(self.low, self.high, 16 * (self.n - 3) + 1)


def fitted(nodes):
    """Return the points whose spline is the fitted curve of the nodes."""
    points = nodes.copy()
    points[1:-1] -= np.diff(nodes, 2, axis=0) / 6.0
    return points


def brute(rods, radius, margin, separation=None):
    """Return rows (rod, rod, s, s, distance, kind) from samples of all pairs of curves."""
    radius = np.broadcast_to(np.asarray(radius, dtype=float), (len(rods),))
    curves, rows = [Curve(nodes) for nodes in rods], []
    for a, one in enumerate(curves):
        for b in range(a, len(curves)):
            if a == b and separation is None:
                continue
            apart = separation if a == b else None
            limit = radius[a] + radius[b] + margin
            rows += [(a, b, *x, CROSSING) for x in crossings(one, curves[b], limit, apart)]
            rows += [(a, b, *x, LINE) for x in lines(one, curves[b], limit, apart)]
            rows += [(a, b, *x, CROSSING) for x in ends(one, curves[b], limit, apart)]
    return np.array(rows).reshape(-1, 6)


def gap_and_sine(one, two, s1, s2):
    t1, t2 = one.slope(s1), two.slope(s2)
    sine = np.linalg.norm(np.cross(t1, t2)) / np.linalg.norm(t1) / np.linalg.norm(t2)
    return np.linalg.norm(two.at(s2) - one.at(s1)), sine


def crossings(one, two, limit, apart):
    s, t = one.samples(), two.samples()
    d = np.linalg.norm(one.at(s)[:, None] - two.at(t)[None], axis=-1)
    if apart is not None:
        d[t[None, :] - s[:, None] < apart - 1.5] = np.inf
    inner, low = d[1:-1, 1:-1], np.ones_like(d[1:-1, 1:-1], dtype=bool)
    for i in (0, 1, 2):
        for j in (0, 1, 2):
            low &= inner <= d[i : i + d.shape[0] - 2, j : j + d.shape[1] - 2]
    found = []
    for i, j in np.argwhere(low & np.isfinite(inner) & (inner < 2.0 * limit)) + 1:

        def tangency(x):
            gap = two.at(x[1]) - one.at(x[0])
            return gap @ one.slope(x[0]), gap @ two.slope(x[1])

        x = root(tangency, (s[i], t[j]), tol=1e-13).x
        if not (one.low <= x[0] <= one.high and two.low <= x[1] <= two.high):
            continue
        if np.abs(x - (s[i], t[j])).max() > 0.5 or max(np.abs(tangency(x))) > 1e-9:
            continue
        if apart is not None and np.floor(x[1]) - np.floor(x[0]) < apart:
            continue
        distance, sine = gap_and_sine(one, two, *x)
        new = all(np.abs(x - other[:2]).max() > 1e-3 for other in found)
        if distance < limit and sine >= LINE_BELOW and new:
            found.append((*x, distance))
    return found


def lines(one, two, limit, apart):
    found, t = [], two.samples()
    for s in np.arange(one.n) + 0.5:

        def slope(x, s=s):
            return (two.at(x) - one.at(s)) @ two.slope(x)

        values = np.array([slope(x) for x in t])
        for j in np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0)):
            x = brentq(slope, t[j], t[j + 1], xtol=1e-13)
            if apart is not None and np.floor(x) - np.floor(s) < apart:
                continue
            distance, sine = gap_and_sine(one, two, s, x)
            if distance < limit and sine < LINE_BELOW:
                found.append((s, x, distance))
    return found


def ends(one, two, limit, apart):
    """Return places nearest to an end of either curve, where the distance falls beyond the end."""

    def outward(curve, s, towards):
        return towards @ curve.slope(s) * (1.0 if s > 0.0 else -1.0) >= 0.0

    found = []
    for turned, (mine, other) in enumerate(((one, two), (two, one))):
        for s in (mine.low, mine.high):
            for x in nearest_inside(other, mine.at(s)):
                distance, sine = gap_and_sine(mine, other, s, x)
                if sine < LINE_BELOW or outward(mine, s, other.at(x) - mine.at(s)):
                    found.append((x, s, distance) if turned else (s, x, distance))
    for s in (one.low, one.high):
        for x in (two.low, two.high):
            d = two.at(x) - one.at(s)
            if outward(one, s, d) and outward(two, x, -d):
                found.append((s, x, np.linalg.norm(d)))
    if apart is not None:
        n = one.n - 1
        found = [x for x in found if min(x[1] // 1, n) - min(x[0] // 1, n) >= apart]
    return [x for x in found if x[2] < limit]


def nearest_inside(curve, point):
    """Return the places of a curve, but its ends, that are nearer to a point than those beside."""
    s = curve.samples()
    slope = [(curve.at(x) - point) @ curve.slope(x) for x in s]
    for low, high, a, b in zip(s[:-1], s[1:], slope[:-1], slope[1:], strict=True):
        if a < 0.0 <= b:
            yield brentq(lambda x: (curve.at(x) - point) @ curve.slope(x), low, high, xtol=1e-13)


def assert_same(rows, wanted):
    """Hold the rows of the kernel against those of brute force, in any order."""
    assert len(rows) == len(wanted)
    left = list(range(len(wanted)))
    for row in rows:
        mine = np.array([row[0], row[1], row[2], row[3], row[4], row[6]])
        best = min(left, key=lambda i: np.abs(wanted[i] - mine).max())
        assert np.abs(wanted[best] - mine).max() < 1e-7
        left.remove(best)


# ---- tests


@pytest.mark.parametrize("rule", [SPLINE, FITTED])
@pytest.mark.parametrize("seed", range(3))
def test_random_rods_against_all_pairs(seed, rule):
    rng = np.random.default_rng(seed)
    rods = [rod(rng, int(n), 0.05, 0.2) for n in rng.integers(8, 36, 7)]
    radius = rng.uniform(0.01, 0.05, 7)
    rows = search(rods, radius, 0.05, rule=rule)
    assert len(rows) > 3
    assert_same(rows, brute([fitted(x) if rule == FITTED else x for x in rods], radius, 0.05))


def test_thick_rods_among_thin_ones():
    rng = np.random.default_rng(11)
    rods = [rod(rng, 20, 0.02, 0.3) for _ in range(6)] + [rod(rng, 12, 0.3, 0.1)]
    radius = np.array([0.002] * 6 + [0.15])
    rows = search(rods, radius, 0.01)
    assert set(rows[:, 1]) == {6.0}
    assert_same(rows, brute(rods, radius, 0.01))


def net(m, spacing=0.1, n=None):
    """Return m rods along x and m along y, one layer over the other."""
    n = 4 * m if n is None else n
    long, across = np.linspace(-1.0, m, n + 1) * spacing, np.arange(m) * spacing
    below = [np.stack([long, np.full(n + 1, y), np.zeros(n + 1)], axis=1) for y in across]
    above = [np.stack([np.full(n + 1, x), long, np.full(n + 1, 0.02)], axis=1) for x in across]
    return below + above


def test_a_net_has_one_place_per_crossing():
    # with 4 (m + 1) elements every crossing sits on a node, the border of four segments
    rows = search(net(6, n=28), 0.01, 1e-3)
    assert len(rows) == 36
    assert np.all(rows[:, 6] == CROSSING)
    s = 4.0 * (1.0 + np.arange(6))
    assert np.abs(np.sort(rows[:, 2]).reshape(6, 6) - s[:, None]).max() < 1e-9
    assert np.abs(rows[:, 4] - 0.02).max() < 1e-14
    assert np.abs(rows[:, 5] - 1.0).max() < 1e-14


def test_parallel_rods_have_a_line_contact():
    x = np.linspace(0.0, 1.0, 31)
    one = np.stack([x, 0.0 * x, 0.0 * x], axis=1)
    two = one[::-1] + np.array([0.2, 0.0, 0.04])
    rows = search([one, two], 0.02, 1e-3)
    # an end of each rod, and between them every element of the first
    assert rows[:, 6].tolist() == [CROSSING, *[LINE] * 24, CROSSING]
    assert np.abs(rows[:, 4] - 0.04).max() < 1e-14
    assert np.abs(rows[:, 2] + rows[:, 3] - 36.0).max() < 1e-9
    assert np.abs(rows[:, 2] - [6.0, *np.arange(6, 30) + 0.5, 30.0]).max() < 1e-9


@pytest.mark.parametrize(("degrees", "kind"), [(19.5, LINE), (20.5, CROSSING)])
def test_twenty_degrees_decide_between_line_and_crossing(degrees, kind):
    x = np.linspace(-0.5, 0.5, 41)
    a = np.deg2rad(degrees)
    one = np.stack([x, 0.0 * x, 0.0 * x], axis=1)
    two = np.stack([x * np.cos(a), x * np.sin(a), 0.0 * x + 0.04], axis=1)
    rows = search([one, two], 0.02, 1e-3)
    assert np.all(rows[:, 6] == kind)
    assert (len(rows) == 1) == (kind == CROSSING)
    assert np.abs(rows[:, 5] - np.sin(a)).max() < 1e-12


def test_a_loop_meets_itself():
    # a curve with a double point in the plane, its ends lifted apart
    t = np.linspace(-2.2, 2.2, 61)
    nodes = np.stack([t**2, t**3 / 3.0 - t, 0.1 * t], axis=1)
    rows = search([nodes], 0.2, 0.1, separation=10)
    assert_same(rows, brute([nodes], 0.2, 0.1, separation=10))
    assert len(rows) == 1
    assert abs(rows[0, 2] + rows[0, 3] - 60.0) < 1e-8
    assert len(search([nodes], 0.2, 0.1)) == 0


def test_a_coil_touches_its_next_turn():
    t = np.linspace(0.0, 6.0 * np.pi, 91)
    nodes = np.stack([np.cos(t), np.sin(t), 0.05 * t], axis=1)
    rows = search([nodes], 0.15, 0.05, separation=12)
    assert_same(rows, brute([nodes], 0.15, 0.05, separation=12))
    # and both ends
    assert rows[:, 6].tolist().count(LINE) == len(rows) - 2
    # one turn is 30 elements
    assert np.abs(rows[:, 3] - rows[:, 2] - 30.0).max() < 0.1


def test_the_order_of_rods_does_not_matter():
    rng = np.random.default_rng(5)
    rods = [rod(rng, 24, 0.05, 0.3) for _ in range(7)]
    radius = rng.uniform(0.01, 0.04, 7)
    order = rng.permutation(7)
    rows = search(rods, radius, 0.05)
    other = search([rods[i] for i in order], radius[order], 0.05)
    rows, other = rows[rows[:, 6] == CROSSING], other[other[:, 6] == CROSSING]
    assert len(rows) == len(other) > 3
    other[:, :2] = order[other[:, :2].astype(int)]
    swapped = other[:, 0] > other[:, 1]
    other[swapped, :4] = other[swapped][:, [1, 0, 3, 2]]
    rows, other = (x[np.lexsort(x[:, [2, 1, 0]].T)] for x in (rows, other))
    assert np.abs(rows - other).max() < 1e-9


def test_the_cost_grows_with_the_number_of_elements():
    small, large = net(8), net(32)
    tests, near, segments = looked_at(small, 0.01, 1e-3)
    more_tests, more_near, more_pieces = looked_at(large, 0.01, 1e-3)
    assert more_tests / more_pieces < 1.2 * tests / segments
    assert more_near / more_pieces < 1.2 * near / segments
    # all pairs would be half the square, and 16 times as many per segment
    assert more_tests < 0.02 * (more_pieces**2 / 2)


def test_one_thick_rod_does_not_spoil_the_cost():
    thin = net(24, n=48)
    thick = np.linspace((-1.0, -1.0, 3.1), (3.0, 3.0, 3.1), 9)
    tests, _, segments = looked_at(thin, 0.005, 1e-3)
    more, _, _ = looked_at([*thin, thick], [0.005] * 48 + [3.0], 1e-3)
    assert more < 3 * tests < 0.1 * segments**2


def test_too_little_room_is_reported():
    rods = net(5)
    assert search(rods, 0.01, 1e-3, capacity=3) == 25
    assert len(search(rods, 0.01, 1e-3, capacity=25)) == 25


def test_broken_or_shrunken_rods_end_the_search():
    x = np.linspace(0.0, 1.0, 21)
    one = np.stack([x, 0.0 * x, 0.0 * x], axis=1)
    lost = np.full_like(one, np.nan)
    point = np.zeros_like(one)
    assert len(search([one, lost], 0.02, 0.01)) == 0
    assert np.all(np.isfinite(search([one, one.copy()], 0.02, 0.01)))
    count = np.array([20, 20], dtype=np.int64)
    r = np.ascontiguousarray(np.concatenate([one, point]).T)
    rows, first = Candidate.table(8), np.array([0, 21], dtype=np.int64)
    sizes = (np.full(2, 0.02), np.full(2, 0.05))
    assert find_candidates(r, first, count, *sizes, 0.01, count + 1, SPLINE, rows) == 0


def test_spheres_hold_their_segments_wherever_the_rods_are():
    rng = np.random.default_rng(4)
    nodes = np.cumsum(rng.normal(size=(9, 3)), axis=0) + 1e3
    count, first = np.array([8], dtype=np.int64), np.zeros(1, dtype=np.int64)
    r = np.ascontiguousarray(nodes.T)
    segments, spheres = bound_segments(r, first, count, np.zeros(1), 0.0, SPLINE)
    for ends in (segments.start, segments.end):
        assert (np.linalg.norm(ends - spheres.centre, axis=1) <= spheres.size + 1e-9).all()
