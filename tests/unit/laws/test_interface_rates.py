"""Derivatives at a contact point against differences that find the projection anew each time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.laws import DI, EA, Frictionless, LennardJones, amontons
from stiction.laws.interface_rates import (
    BEND,
    BLOCKS,
    BY_ORIGIN,
    BY_PARTNER,
    BY_POINT,
    BY_RATE,
    DUAL,
    INVERSE,
    NORMAL,
    REFERENCE,
    REFERENCE_TURN,
    STRETCHING,
    SURFACE,
    TANGENT,
    TURN,
    normal_derivatives,
    projected_surface,
    surface_stretch,
    tangential_derivatives,
)
from stiction.laws.interface_tractions import (
    DECIDE,
    SLIDE,
    SLIP,
    STICK,
    TRACTION,
    TRIAL,
    adhesion,
    return_map_points,
    slide_threshold,
)

LJ = LennardJones(2.0, 0.4)
NEAR = 0.03  # of the slip origin from the projection, in coordinates


def shapes(xi):
    """Return quadratic shape functions of a curve or a surface, their first and second rates."""
    one = [
        np.array([[0.5 * x * (x - 1.0), 1.0 - x * x, 0.5 * x * (x + 1.0)],
                  [x - 0.5, -2.0 * x, x + 0.5], [1.0, -2.0, 1.0]])
        for x in xi
    ]  # fmt: skip
    if len(xi) == 1:
        (f,) = one
        return f[0], f[1][None, :], f[2][None, None, :]
    f, h = one

    def both(i, j):
        return np.outer(f[i], h[j]).ravel()

    rates = np.array([both(1, 0), both(0, 1)])
    return both(0, 0), rates, np.array([[both(2, 0), both(1, 1)], [both(1, 1), both(0, 2)]])


class Scene:
    """A point near a random quadratic curve (d = 2) or biquadratic surface (d = 3)."""

    def __init__(self, d, gap, slides, seed=4):
        random = np.random.default_rng(seed)
        self.m = d - 1
        axes = [np.array([-1.0, 0.0, 1.0])] * self.m
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.m)
        flat = np.concatenate([grid, np.zeros((len(grid), 1))], axis=1)
        self.reference = flat + 0.1 * random.normal(size=flat.shape)
        self.nodes = self.reference + 0.12 * random.normal(size=flat.shape)
        self.xi = random.uniform(-0.3, 0.3, self.m)
        place, _, _, n = self.surface(self.nodes, self.xi)
        self.point = place + gap * n
        self.origin = self.xi - NEAR * random.uniform(0.5, 1.0, self.m)
        self.slides = slides

    @staticmethod
    def surface(nodes, xi):
        """Return place, tangents, their changes and the normal."""
        f, df, ddf = shapes(xi)
        a = df @ nodes
        n = np.array([-a[0, 1], a[0, 0]]) if len(a) == 1 else np.cross(a[0], a[1])
        return f @ nodes, a, ddf @ nodes, n / np.linalg.norm(n)

    def project(self, nodes, point):
        """Return the coordinates of the nearest point by Newton's method."""
        xi = self.xi.copy()
        for _ in range(30):
            place, a, da, _ = self.surface(nodes, xi)
            away = point - place
            xi = xi + np.linalg.solve(a @ a.T - da @ away, a @ away)
        return xi

    def stretch(self, nodes, xi):
        areas = [self.surface(x, xi)[1] for x in (nodes, self.reference)]
        return np.sqrt(np.linalg.det(areas[0] @ areas[0].T) / np.linalg.det(areas[1] @ areas[1].T))

    def state(self, nodes, point):
        """Return projection, gap, normal and stretch."""
        xi = self.project(nodes, point)
        place, _, _, n = self.surface(nodes, xi)
        return xi, float((point - place) @ n), n, float(self.stretch(nodes, xi))

    def normal_traction(self, nodes, point):
        _, gap, n, j = self.state(nodes, point)
        return float(LJ.traction(gap, j)) * n

    def tangential_traction(self, nodes, point, friction, penalty):
        """Return the traction with the state held, from formulas of the law in NumPy."""
        xi, gap, _, j = self.state(nodes, point)
        trial = penalty * (shapes(xi)[0] - shapes(self.origin)[0]) @ nodes
        if not self.slides:
            return trial
        return float(friction.threshold(gap, LJ, j)) * trial / np.linalg.norm(trial)

    def geometry(self):
        """Return gap, stretch and area, and the rows that are filled in."""
        d, m = self.m + 1, self.m
        xi, gap, n, _ = self.state(self.nodes, self.point)
        s = np.full((SURFACE, 3), np.nan)
        s[NORMAL, :d] = n
        for nodes, first, second in (
            (self.nodes, TANGENT, TURN),
            (self.reference, REFERENCE, REFERENCE_TURN),
        ):
            _, a, da, _ = self.surface(nodes, xi)
            s[first : first + m, :d] = a
            for i in range(m):
                s[second + 2 * i : second + 2 * i + m, :d] = da[i]
        j = surface_stretch(m, s)
        return gap, j, projected_surface(gap, m, s), s

    def whole(self, blocks):
        """Return d traction by the point and by all coordinates of all nodes."""
        d = self.m + 1
        blocks = blocks[:, :d, :d]
        f, df, _ = shapes(self.project(self.nodes, self.point))
        fs, _, _ = shapes(self.origin)
        by_node = np.einsum("kp,n->knp", blocks[BY_PARTNER], f)
        by_node += np.einsum("kp,n->knp", blocks[BY_ORIGIN], fs)
        by_node += np.einsum("bkp,bn->knp", blocks[BY_RATE : BY_RATE + self.m], df)
        return np.concatenate([blocks[BY_POINT], by_node.reshape(d, -1)], axis=1)

    def differences(self, traction, h=1e-3):
        """Return the same by central differences of fourth order."""
        d = self.m + 1
        start = np.concatenate([self.point, self.nodes.ravel()])

        def at(x):
            return traction(x[d:].reshape(self.nodes.shape), x[:d])

        columns = []
        for unit in np.eye(start.size) * h:
            far = at(start - 2.0 * unit) - at(start + 2.0 * unit)
            columns.append((far + 8.0 * (at(start + unit) - at(start - unit))) / (12.0 * h))
        return np.array(columns).T


GAPS = (0.8 * LJ.gap_eq, 1.06 * LJ.gap_eq, 0.0, -0.1 * LJ.gap_eq)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("gap", GAPS)
def test_projection_and_normal(d, gap):
    scene = Scene(d, gap, False)
    g, _, area, s = scene.geometry()
    m = d - 1
    n, a = s[NORMAL, :d], s[TANGENT : TANGENT + m, :d]
    c, dual = s[INVERSE : INVERSE + m, :m], s[DUAL : DUAL + m, :d]
    bend = s[BEND : BEND + d, :d]
    assert g == pytest.approx(gap, abs=1e-14)
    assert_allclose(dual @ a.T, np.eye(d - 1), atol=1e-14)
    assert area == pytest.approx(np.sqrt(np.linalg.det(a @ a.T)), rel=1e-14)
    if gap != 0.0:
        printed = (np.eye(d) - np.outer(n, n) - a.T @ c @ a) / g
        assert_allclose(bend, printed, atol=1e-13)
    moved = scene.differences(lambda x, p: scene.state(x, p)[2])[:, :d]
    assert_allclose(bend, moved, atol=1e-9)
    moved = scene.differences(lambda x, p: scene.project(x, p))[:, :d]
    assert_allclose(c @ a, moved, atol=1e-9)
    # a flat partner never turns its normal
    s[TURN:REFERENCE] = 0.0
    projected_surface(gap, m, s)
    assert not bend.any()


@pytest.mark.parametrize("d", [2, 3])
def test_stretch_and_its_change(d):
    scene = Scene(d, 0.1, False)
    xi = scene.project(scene.nodes, scene.point)
    _, j, _, s = scene.geometry()
    assert j == pytest.approx(float(scene.stretch(scene.nodes, xi)), rel=1e-14)
    assert abs(j - 1.0) > 1e-3
    h = 1e-3
    for e in range(d - 1):
        unit = h * np.eye(d - 1)[e]
        f = [float(scene.stretch(scene.nodes, xi + k * unit)) for k in (-2, -1, 1, 2)]
        difference = (f[0] - f[3] + 8.0 * (f[2] - f[1])) / (12.0 * h)
        assert s[STRETCHING, e] == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("gap", GAPS)
def test_normal_traction(d, gap):
    scene, blocks = Scene(d, gap, False), np.zeros((BLOCKS, 3, 3))
    g, j, _, s = scene.geometry()
    t, slope = adhesion(g, LJ.table())
    normal_derivatives(g, t, slope, j, d - 1, s, blocks)
    blocks[BY_PARTNER] = -blocks[BY_POINT]
    # steps well below r0, over which the normal law changes
    exact = scene.differences(scene.normal_traction, 2e-4)
    ours = scene.whole(blocks)
    assert_allclose(ours, exact, rtol=0.0, atol=2e-9 * np.abs(exact).max())


@pytest.mark.parametrize(
    "friction", [DI(0.3, sharpness=10.0), EA(0.3), EA(0.3, 0.9), amontons(0.3)]
)
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("gap", [0.8 * LJ.gap_eq, 1.06 * LJ.gap_eq])
@pytest.mark.parametrize("slides", [False, True])
def test_tangential_traction(friction, d, gap, slides):
    scene, penalty = Scene(d, gap, slides), 40.0
    g, j, _, s = scene.geometry()
    xi = scene.project(scene.nodes, scene.point)
    slide, blocks = np.full((SLIDE, 3), np.nan), np.full((BLOCKS, 3, 3), np.nan)
    slide[TRIAL, :d] = penalty * (shapes(xi)[0] - shapes(scene.origin)[0]) @ scene.nodes
    threshold, ds, dj = slide_threshold(g, *adhesion(g, LJ.table()), j, friction.table(LJ))
    return_map_points(slide, d, threshold, penalty, SLIP if slides else STICK)
    tangential_derivatives(g, ds, dj, j, d - 1, s, slide, blocks)

    def exact_traction(nodes, point):
        return scene.tangential_traction(nodes, point, friction, penalty)

    assert_allclose(slide[TRACTION, :d], exact_traction(scene.nodes, scene.point), rtol=1e-12)
    # the direction of a short trial bends within its own length: smaller steps there
    exact = scene.differences(exact_traction, 5e-5 if slides else 1e-3)
    ours = scene.whole(blocks)
    assert_allclose(ours, exact, rtol=0.0, atol=1e-10 * max(np.abs(exact).max(), 1e-3 * penalty))


def test_frictionless_slip_has_no_derivative():
    scene, blocks = Scene(3, 0.25, True), np.full((BLOCKS, 3, 3), np.nan)
    g, j, _, s = scene.geometry()
    threshold, ds, dj = slide_threshold(g, *adhesion(g, LJ.table()), j, Frictionless().table(LJ))
    slide = np.full((SLIDE, 3), np.nan)
    slide[TRIAL] = 1.0, 2.0, 3.0
    return_map_points(slide, 3, threshold, 5.0, DECIDE)
    tangential_derivatives(g, ds, dj, j, 2, s, slide, blocks)
    assert not slide[TRACTION].any()
    assert not blocks.any()
