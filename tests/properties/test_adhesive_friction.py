"""Adhesive friction under random paths: it never gives energy back, and its sums close."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stiction.laws import DI, EA, LennardJones
from stiction.laws.return_mapping import return_map

NUMBERS = st.floats(-1.0, 1.0)
LAWS = st.one_of(
    st.builds(DI, mu=st.floats(0.0, 3.0), sharpness=st.floats(5.0, 200.0)),
    st.builds(EA, mu=st.floats(0.0, 3.0), s_cut=st.floats(-0.5, 1.0)),
)
NORMALS = st.builds(
    LennardJones,
    hamaker=st.floats(0.1, 10.0),
    r0=st.floats(0.1, 10.0),
    adhesive=st.booleans(),
)


@st.composite
def paths(draw):
    """Return a path of tangential gaps (steps, d) and of normal gaps, in units of r0."""
    d, steps = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    moves = draw(st.lists(NUMBERS, min_size=d * steps, max_size=d * steps))
    opens = draw(st.lists(st.floats(0.3, 1.2), min_size=steps, max_size=steps))
    return np.cumsum(np.array(moves).reshape(steps, d), axis=0), np.array(opens)


def follow(normal, friction, path, penalty, unit=1.0):
    """Return tractions, slips and dissipations along a path of one point."""
    moves, opens = path
    slip, steps = np.zeros((1, moves.shape[1])), []
    for move, opening in zip(moves, opens, strict=True):
        gap = opening * normal.r0
        s, ds = friction.threshold(gap, normal), friction.slope(gap, normal)
        step = return_map(unit * move[None, :], slip, s, ds, penalty)
        steps.append(step)
        slip = step.slip
    return steps


@settings(max_examples=60, deadline=None)
@given(normal=NORMALS, friction=LAWS, path=paths(), stiffness=st.floats(0.1, 100.0))
def test_dissipation_and_closed_sums(normal, friction, path, stiffness):
    penalty = stiffness * normal.max_tension / normal.r0
    unit = 0.3 * normal.r0
    elastic = np.zeros(path[0].shape[1])
    place = np.zeros(path[0].shape[1])
    for step, move in zip(follow(normal, friction, path, penalty, unit), path[0], strict=True):
        assert step.dissipation[0] >= 0.0
        t = step.traction[0]
        new = unit * move - step.slip[0]
        stored = 0.5 * penalty * (new @ new - elastic @ elastic)
        lost = 0.5 * penalty * (new - elastic) @ (new - elastic)
        work = t @ (unit * move - place)
        scale = np.linalg.norm(t) * unit * 12.0 + penalty * unit**2 * 1e-3
        # what was stored may be given back at once, where the surfaces part
        scale += penalty * (new @ new + elastic @ elastic)
        assert abs(work - stored - lost - step.dissipation[0]) < 1e-12 * scale
        place, elastic = unit * move, new


@settings(max_examples=40, deadline=None)
@given(friction=LAWS, path=paths(), a=st.floats(0.1, 10.0), b=st.floats(0.1, 10.0))
def test_units_do_not_matter(friction, path, a, b):
    # lengths in units of 1/a, tractions in units of 1/b
    one, two = LennardJones(2.0, 1.5), LennardJones(2.0 * a**3 * b, 1.5 * a)
    first = follow(one, friction, path, 3.0)
    second = follow(two, friction, path, 3.0 * b / a, a)
    size = max(float(np.abs(s.traction).max()) for s in first) + one.max_tension
    for s, z in zip(first, second, strict=True):
        # a point on the edge may slide in one and stick in the other: by rounding, and by nothing
        np.testing.assert_allclose(z.traction, b * s.traction, atol=1e-10 * b * size)
        np.testing.assert_allclose(z.slip, a * s.slip, atol=1e-9 * a)


@settings(max_examples=40, deadline=None)
@given(normal=NORMALS, friction=LAWS, opening=st.floats(-0.5, 3.0), lift=st.floats(0.0, 2.0))
def test_thresholds_fall_with_the_gap(normal, friction, opening, lift):
    gaps = np.array([opening, opening + lift]) * normal.r0
    near, far = friction.threshold(gaps, normal)
    assert near >= 0.0
    assert far <= near * (1.0 + 1e-12) + 1e-12 * normal.max_tension
    assert (friction.slope(gaps, normal) <= 1e-12 * normal.linear_stiffness).all()


@settings(max_examples=40, deadline=None)
@given(normal=NORMALS, opening=st.floats(-0.5, 3.0))
def test_tension_and_energy_are_bounded(normal, opening):
    gap = opening * normal.r0
    assert normal.traction(gap) >= -normal.max_tension * (1.0 + 1e-12)
    assert normal.potential(gap) >= -normal.work_of_adhesion * (1.0 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(friction=LAWS, path=paths(), seed=st.integers(0, 10**6))
def test_a_point_is_the_same_in_a_batch(friction, path, seed):
    normal, moves = LennardJones(2.0, 1.5), path[0]
    random = np.random.default_rng(seed)
    others = random.normal(size=(4, moves.shape[1]))
    batch = np.concatenate([others[:2], moves[-1:], others[2:]])
    gaps = np.concatenate([[1.0, 1.1], path[1][-1:] * 1.5, [0.9, 2.0]])
    s, ds = friction.threshold(gaps, normal), friction.slope(gaps, normal)
    all_of_them = return_map(batch, 0.1 * batch, s, ds, 2.0)
    alone = return_map(batch[2:3], 0.1 * batch[2:3], s[2:3], ds[2:3], 2.0)
    for a, b in zip(all_of_them, alone, strict=True):
        assert np.array_equal(a[2:3], b)
