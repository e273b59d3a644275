"""The return map: stick, slip, tangents, kernels and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.laws import DI, EA, LennardJones
from stiction.laws.interface_tractions import (
    DECIDE,
    DIRECTION,
    INCREMENT,
    MODULUS,
    SLIDE,
    SLIP,
    STICK,
    TRACTION,
    TRIAL,
    return_map_points,
)
from stiction.laws.return_mapping import convective_increment, return_map

LJ = LennardJones(2.0, 3.0)
EPS = 50.0


def sample(n, d, seed=3):
    """Return random gaps, slips and thresholds, about half of them in slip."""
    random = np.random.default_rng(seed)
    gap, slip = random.normal(size=(2, n, d))
    size = EPS * np.linalg.norm(gap - slip, axis=1)
    return gap, slip, size * random.uniform(0.2, 1.8, n), random.normal(size=n)


def test_stick_and_slip_on_a_line():
    out = return_map([[0.1], [0.5], [-0.5]], np.zeros((3, 1)), 10.0, -4.0, EPS)
    assert_allclose(out.traction[:, 0], [5.0, 10.0, -10.0], rtol=1e-15)
    assert_allclose(out.slip[:, 0], [0.0, 0.3, -0.3], rtol=1e-15)
    assert out.slides.tolist() == [False, True, True]
    assert_allclose(out.dissipation, [0.0, 3.0, 3.0], rtol=1e-15)
    assert_allclose(out.by_tangential_gap[:, 0, 0], [EPS, 0.0, 0.0], atol=1e-13)
    assert_allclose(out.by_normal_gap[:, 0], [0.0, -4.0, 4.0], atol=1e-15)
    # the borderline |t| = s slides, by nothing
    edge = return_map([[0.2]], [[0.0]], 10.0, 0.0, EPS)
    assert edge.slides.all()
    assert edge.dissipation == edge.increment == 0.0
    assert edge.traction == 10.0


@pytest.mark.parametrize("d", [1, 2, 3])
def test_traction_is_bounded_and_along_the_trial(d):
    gap, slip, s, ds = sample(200, d)
    out = return_map(gap, slip, s, ds, EPS)
    size = np.linalg.norm(out.traction, axis=1)
    assert 40 < out.slides.sum() < 160
    assert (size <= s * (1.0 + 1e-14)).all()
    assert_allclose(size[out.slides], s[out.slides], rtol=1e-14)
    assert np.array_equal(out.slip[~out.slides], slip[~out.slides])
    assert_allclose(out.traction, EPS * (gap - out.slip), atol=1e-12)
    assert_allclose(out.slip, slip + out.increment, rtol=1e-15)
    work = (out.traction * out.increment).sum(axis=1)
    assert_allclose(out.dissipation, work, atol=1e-13)
    assert (out.dissipation >= 0.0).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_applied_again_it_changes_nothing(d):
    gap, slip, s, ds = sample(200, d)
    once = return_map(gap, slip, s, ds, EPS)
    twice = return_map(gap, once.slip, s, ds, EPS)
    assert_allclose(twice.traction, once.traction, atol=1e-12)
    assert_allclose(twice.slip, once.slip, atol=1e-14)
    assert twice.dissipation.max() < 1e-12
    # history is read, never written
    again = return_map(gap, slip, s, ds, EPS)
    assert np.array_equal(again.traction, once.traction)


@pytest.mark.parametrize("friction", [DI(0.5, sharpness=8.0), EA(0.6), EA(0.6, 0.4)])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_tangent_against_differences(friction, d):
    random = np.random.default_rng(5)
    n, eps = 60, 0.05
    normal = random.uniform(0.8, 1.15, n) * LJ.gap_eq
    gap = random.normal(size=(n, d))
    gap *= (
        0.6
        * LJ.max_tension
        / eps
        * random.uniform(0.0, 2.0, (n, 1))
        / abs(gap).max(axis=1)[:, None]
    )
    slip = np.zeros((n, d))

    def traction(shift, opening):
        g = normal + opening
        s, ds = friction.threshold(g, LJ), friction.slope(g, LJ)
        return return_map(gap + shift, slip, s, ds, eps)

    def difference(move, h):
        far = traction(*move(-2.0 * h)).traction - traction(*move(2.0 * h)).traction
        near = traction(*move(h)).traction - traction(*move(-h)).traction
        return (far + 8.0 * near) / (12.0 * h)

    out = traction(0.0, 0.0)
    assert 10 < out.slides.sum() < 50
    # stencils must not leave a state or cross a joint of the normal law
    s = friction.threshold(normal, LJ)
    room = np.abs(eps * np.linalg.norm(gap - slip, axis=1) - s) > 1e-4
    joints = np.array([LJ.gap_eq, friction.gap_cut(LJ)])
    room &= np.abs(normal[:, None] - joints).min(axis=1) > 2e-3
    assert room.sum() > 40
    # small steps along a short trial vector keep the curvature of its direction small
    h = 1e-4 * np.linalg.norm(gap - slip, axis=1)[:, None]
    for j in range(d):
        unit = np.eye(d)[j]
        column = difference(lambda a, unit=unit: (a * unit, 0.0), h)
        assert_allclose(out.by_tangential_gap[room, :, j], column[room], atol=1e-9 * eps)
    column = difference(lambda a: (0.0, a), 2e-4)
    scale = np.abs(out.by_normal_gap).max()
    assert_allclose(out.by_normal_gap[room], column[room], atol=1e-9 * scale)


def test_without_friction_slip_is_the_gap():
    gap, slip, _, _ = sample(20, 2)
    out = return_map(gap, slip, 0.0, 0.0, EPS)
    assert np.array_equal(out.slip, gap)
    assert not out.traction.any()
    assert not out.by_tangential_gap.any()
    assert not out.dissipation.any()
    assert out.slides.all()
    still = return_map(gap, gap, 0.0, 0.0, EPS)
    assert not still.traction.any()
    assert not still.direction.any()


def test_constant_states():
    gap, slip, s, ds = sample(40, 2)
    free = return_map(gap, slip, s, ds, EPS)
    same = return_map(gap, slip, s, ds, EPS, held=free.slides)
    for a, b in zip(free, same, strict=True):
        assert np.array_equal(a, b)
    stuck = return_map(gap, slip, s, ds, EPS, held=np.zeros(40, dtype=bool))
    assert_allclose(stuck.traction, EPS * (gap - slip), rtol=1e-15)
    assert np.array_equal(stuck.slip, slip)
    slid = return_map(gap, slip, s, ds, EPS, held=np.ones(40, dtype=bool))
    assert_allclose(np.linalg.norm(slid.traction, axis=1), s, rtol=1e-14)
    assert (slid.dissipation[~free.slides] < 0.0).all()
    rest = return_map(gap, gap, s, ds, EPS, held=np.ones(40, dtype=bool))
    assert not rest.traction.any()
    assert not rest.by_tangential_gap.any()


def test_turned_axes():
    gap, slip, s, ds = sample(40, 2)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    here = return_map(gap, slip, s, ds, EPS)
    there = return_map(gap @ turn.T, slip @ turn.T, s, ds, EPS)
    assert_allclose(there.traction, here.traction @ turn.T, atol=1e-12)
    assert_allclose(there.slip, here.slip @ turn.T, atol=1e-14)
    turned = turn @ here.by_tangential_gap @ turn.T
    assert_allclose(there.by_tangential_gap, turned, atol=1e-12)
    assert_allclose(there.dissipation, here.dissipation, atol=1e-12)


def test_tiny_motion():
    out = return_map([[3e-200, 4e-200]], [[0.0, 0.0]], 1e-200, 0.0, 1.0)
    assert_allclose(out.traction[0], [6e-201, 8e-201], rtol=1e-14)
    assert_allclose(out.slip[0], [2.4e-200, 3.2e-200], rtol=1e-14)


def test_points_are_the_map():
    for d in (1, 2, 3):
        gap, slip, s, ds = sample(20, d)
        states = np.random.default_rng(2).integers(0, 2, 20).astype(bool)
        for held in (None, states):
            out = return_map(gap, slip, s, ds, EPS, held)
            wanted = np.full(20, DECIDE) if held is None else np.where(states, SLIP, STICK)
            slide = np.zeros((SLIDE, 3, 20))
            slide[TRIAL, :d] = EPS * (gap - slip).T
            alone = slide.copy()
            slips = return_map_points(slide, d, s, EPS, wanted)
            assert np.array_equal(slips, out.slides)
            assert not slide[:, d:].any()
            # a point alone is what it is among others, to the last bit
            for i in range(20):
                one = np.ascontiguousarray(alone[:, :, i])
                assert return_map_points(one, d, s[i], EPS, wanted[i]) == slips[i]
                assert np.array_equal(one, slide[:, :, i])
            rows = np.moveaxis(slide[:, :d], 2, 0)
            assert_allclose(rows[:, TRACTION], out.traction, rtol=1e-13, atol=1e-13)
            assert_allclose(rows[:, INCREMENT], out.increment, rtol=1e-12, atol=1e-14)
            tangent = rows[:, MODULUS : MODULUS + d]
            assert_allclose(tangent, out.by_tangential_gap, atol=1e-12)
            assert_allclose(rows[:, DIRECTION] * ds[:, None], out.by_normal_gap, atol=1e-14)
    still = np.zeros((SLIDE, 3))
    assert return_map_points(still, 1, 0.0, EPS, DECIDE)
    assert not still[:MODULUS].any()


def test_convective_increment():
    random = np.random.default_rng(8)
    a = random.normal(size=(5, 2, 3))
    xi = random.normal(size=(5, 2))
    normal = np.cross(a[:, 0], a[:, 1])
    back = convective_increment(np.einsum("na,nai->ni", xi, a) + 0.3 * normal, a)
    assert_allclose(back, xi, rtol=1e-10)
    line = convective_increment([[1.0, 1.0]], [[[2.0, 0.0]]])
    assert_allclose(line, [[0.5]], rtol=1e-15)
    with pytest.raises(ModelError, match="tangents"):
        convective_increment([[1.0, 1.0]], [[2.0, 0.0]])
    parallel = [[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]]
    for step, tangents in (
        ([1.0, 0.0], [[0.0, 0.0]]),
        ([np.nan, 0.0], [[2.0, 0.0]]),
        ([1.0, 0.0], [[np.nan, 0.0]]),
        ([1.0, 0.0, 0.0], parallel),
    ):
        with pytest.raises(ModelError, match="independent tangents"):
            convective_increment([step], [tangents])
    # the unit of the coordinates does not matter
    small = convective_increment([[1e-9, 0.0]], [[[1e-9, 0.0], [0.0, 1e-9]]])
    assert_allclose(small, [[1.0, 0.0]], rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (([1.0], [1.0], 1.0, 0.0, 1.0), "points, components"),
        (([[1.0]], [[1.0, 2.0]], 1.0, 0.0, 1.0), "points, components"),
        (([[1.0]], [[0.0]], [1.0, 2.0], 0.0, 1.0), "threshold"),
        (([[1.0]], [[0.0]], 1.0, [0.0, 1.0], 1.0), "threshold"),
        (([[1.0]], [[0.0]], -1.0, 0.0, 1.0), "negative threshold"),
        (([[np.nan]], [[0.0]], 1.0, 0.0, 1.0), "not finite"),
        (([[1.0]], [[0.0]], 1.0, np.inf, 1.0), "not finite"),
        (([[1.0]], [[0.0]], 1.0, 0.0, 0.0), "penalty"),
        (([[1.0]], [[0.0]], 1.0, 0.0, 1.0, [1]), "held"),
        (([[1.0]], [[0.0]], 1.0, 0.0, 1.0, [True, False]), "held"),
    ],
)
def test_refuses(values, match):
    with pytest.raises(ModelError, match=match):
        return_map(*values)
