"""The stick set: a polytope, its size, its vertices, its projections, its nearest point."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.integrate import solve_ivp
from scipy.spatial import ConvexHull, Delaunay

from stiction import (
    Chain,
    Constant,
    Coulomb,
    EventDriven,
    ModelError,
    StaticKinetic,
    StickSet,
    solve,
)
from stiction.chains.elastic import Elastic
from stiction.chains.signed_qp import signed_minimum

UNEQUAL = Chain(mass=[1.0, 2.0, 4.0], stiffness=[20.0, 35.0, 15.0], law=Coulomb([0.05, 0.1, 0.02]))
TOPOLOGIES = [
    UNEQUAL,
    Chain(mass=[1.0, 2.0, 4.0], stiffness=20.0, law=Coulomb(0.1), supports="right"),
    Chain(mass=[1.0, 2.0, 4.0], stiffness=[1.0, 5.0, 2.0, 9.0], law=Coulomb(0.1), supports="both"),
    Chain(
        mass=[1.0, 2.0, 4.0],
        stiffness=[5.0, 2.0],
        law=Coulomb(0.1),
        supports="none",
        plate_stiffness=[0.0, 3.0, 1.0],
        load_vector=[1.0, -0.5, 0.2],
    ),
]


def dense_members(chain, force, x):
    """Independent membership test for (count, n) states, with the dense matrix."""
    drive = force * chain.load_weights - x @ chain.stiffness_matrix()
    return (np.abs(drive) <= chain.stick_bound).all(axis=1)


@pytest.mark.parametrize("chain", TOPOLOGIES)
def test_elastic_solve(chain):
    elastic, k = Elastic(chain, "test"), chain.stiffness_matrix()
    r = np.array([[1.0, -2.0], [0.5, 3.0], [-4.0, 0.1]])
    np.testing.assert_allclose(elastic.solve(r), np.linalg.solve(k, r), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(elastic.solve(r[:, 0]), np.linalg.solve(k, r[:, 0]), atol=1e-13)
    np.testing.assert_allclose(elastic.force(r), k @ r, rtol=1e-13, atol=1e-13)
    assert elastic.log_det == pytest.approx(np.linalg.slogdet(k)[1], rel=1e-13)


def test_elastic_keeps_digits_with_a_weak_wall():
    chain = Chain(mass=[1.0] * 4, stiffness=[1e-12, 1.0, 1.0, 1.0, 1e-12], supports="both")
    # all masses move as one on the two walls; the series of three springs adds 1e-12 relative
    exact = np.full(4, 1.0 / 2e-12)
    np.testing.assert_allclose(Elastic(chain, "test").solve(np.eye(4)[0]), exact, rtol=1e-11)


@settings(deadline=None, max_examples=60)
@given(some.integers(1, 12), some.integers(0, 2**32 - 1))
def test_signed_minimum_optimality(n, seed):
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((n, n + 2))
    h = h @ h.T + 1e-3 * np.eye(n)
    rho, bound = rng.standard_normal(n) * 3.0, rng.uniform(0.0, 2.0, n)
    start = rng.integers(-1, 2, n).astype(np.int8)
    v, sign = signed_minimum(
        lambda v: h @ v, lambda a, r: np.linalg.solve(h[np.ix_(a, a)], r), rho, bound, start
    )
    rest = rho - h @ v
    np.testing.assert_array_equal(np.sign(v), sign)
    np.testing.assert_allclose(rest[sign != 0], (sign * bound)[sign != 0], rtol=0, atol=1e-10)
    assert (np.abs(rest) <= bound + 1e-10).all()


@pytest.mark.parametrize("chain", TOPOLOGIES)
def test_volume_against_monte_carlo(chain):
    force = 2.0
    stick = StickSet(chain, force)
    box = stick.projections()
    rng = np.random.Generator(np.random.PCG64(7))
    x = rng.uniform(box.lower, box.upper, (200_000, 3))
    inside = dense_members(chain, force, x).mean()
    # reason: 200 000 draws of which about one in 90 hits have a standard error of 2.1 percent
    assert stick.volume == pytest.approx(inside * np.prod(box.upper - box.lower), rel=0.07)
    assert stick.volume == pytest.approx(ConvexHull(stick.vertices()).volume, rel=1e-9)
    assert box.box_ratio == pytest.approx(np.prod(box.upper - box.lower) / stick.volume, rel=1e-12)


def test_volume_of_a_long_chain_is_given_by_its_logarithm():
    stick = StickSet(Chain(mass=1.0, n=5000, stiffness=1e6, law=Coulomb(0.3)), 1.0)
    assert stick.log_volume == pytest.approx(5000 * np.log(2 * 0.3 * 9.81 / 1e6), rel=1e-12)
    assert stick.volume == 0.0
    smooth = StickSet(Chain(mass=[1.0], stiffness=1.0), 0.0)
    assert smooth.log_volume == -np.inf
    assert np.isnan(smooth.sequence_ratio)


def test_interval_sets_are_larger():
    chain = Chain(mass=[1.0, 2.0, 4.0], stiffness=20.0, law=Coulomb(0.05))
    stick = StickSet(chain, 10.0)
    # (1 + 2 + 4) (2 + 4) 4 / (1 2 4): the factor of about twenty of the formulas sheet
    assert stick.sequence_ratio == pytest.approx(21.0, rel=1e-13)
    equal = StickSet(Chain(mass=[1.0] * 3, stiffness=20.0, law=Coulomb(0.05)), 10.0)
    assert equal.sequence_ratio == pytest.approx(6.0, rel=1e-13)
    assert equal.projections().box_ratio == pytest.approx(3.0 * 5.0 * 6.0, rel=1e-12)
    assert "not the stick set" in str(equal.projections())
    # vertices are on the bounds, also where the load is far above friction
    loaded = StickSet(Chain(mass=[1.0] * 3, stiffness=20.0, law=Coulomb(1e-6)), 1e3)
    for x in loaded.vertices():
        assert loaded.contains(x)
        assert loaded.in_intervals(x)
        assert not loaded.in_intervals(x + np.array([0.0, 0.0, 1e-5]))
    # a state that both interval sets accept and that slips
    low, high = equal.projections().lower, equal.projections().upper
    x = np.array([high[0], high[1], low[2]])
    assert equal.in_intervals(x)
    assert not equal.contains(x)
    tension = 10.0 + 0.05 * 9.81 * np.array([2.9, -1.9, 0.9])
    x = np.cumsum(tension / 20.0)
    assert equal.in_sequence(x)
    assert not equal.contains(x)


@pytest.mark.parametrize("chain", TOPOLOGIES)
def test_projections_are_sharp(chain):
    stick = StickSet(chain, 3.0)
    box, vertices = stick.projections(), stick.vertices()
    np.testing.assert_allclose(vertices.min(axis=0), box.lower, rtol=1e-12)
    np.testing.assert_allclose(vertices.max(axis=0), box.upper, rtol=1e-12)
    lower, upper = stick.bounds()
    np.testing.assert_allclose(lower, box.lower, rtol=1e-13)
    np.testing.assert_allclose(upper, box.upper, rtol=1e-13)
    assert stick.contains(lower)
    assert stick.contains(upper)


@pytest.mark.parametrize("chain", TOPOLOGIES)
def test_vertices_span_the_set(chain):
    stick = StickSet(chain, 3.0)
    vertices = stick.vertices()
    assert vertices.shape == (8, 3)
    assert len(np.unique(vertices.round(12), axis=0)) == 8
    hull = Delaunay(vertices)
    x = np.random.default_rng(3).uniform(vertices.min(axis=0), vertices.max(axis=0), (4000, 3))
    np.testing.assert_array_equal(hull.find_simplex(x) >= 0, dense_members(chain, 3.0, x))
    assert all(stick.contains(vertex) for vertex in vertices)


@pytest.mark.parametrize("chain", TOPOLOGIES)
def test_samples_fill_the_set(chain):
    stick = StickSet(chain, 3.0)
    x = stick.sample(2000, seed=5)
    assert dense_members(chain, 3.0, x).all()
    # reason: the mean of 2000 uniform draws is known to about 1.3 percent of the half width
    np.testing.assert_allclose(x.mean(axis=0), stick.projections().center, atol=0.05)
    np.testing.assert_array_equal(x, stick.sample(2000, seed=5))


def brute_force_nearest(chain, force, x):
    """Try every choice of which bounds are met; keep the closest admissible point."""
    k, bound = chain.stiffness_matrix(), chain.stick_bound
    pushed, best = force * chain.load_weights, None
    for signs in itertools.product((-1, 0, 1), repeat=chain.n_mass):
        a = np.flatnonzero(signs)
        z = x
        if a.size:
            target = (pushed - np.array(signs) * bound)[a]
            z = x + np.linalg.lstsq(k[a], target - k[a] @ x, rcond=None)[0]
        if (np.abs(pushed - k @ z) <= bound + 1e-9).all():
            distance = np.linalg.norm(z - x)
            if best is None or distance < best[0]:
                best = (distance, z)
    return best


@pytest.mark.parametrize("chain", TOPOLOGIES)
def test_nearest_against_brute_force(chain):
    stick = StickSet(chain, 3.0)
    box = stick.projections()
    for x in np.random.default_rng(11).normal(box.center, 2.0 * box.half_width, (25, 3)):
        found = stick.nearest(x)
        distance, z = brute_force_nearest(chain, 3.0, x)
        np.testing.assert_allclose(found.x, z, atol=1e-10)
        assert found.distance == pytest.approx(distance, abs=1e-10)
        assert found.residual <= 1e-12
        assert stick.contains(found.x)


def test_nearest_of_a_member_is_itself():
    x = StickSet(UNEQUAL, 3.0).sample(1, seed=2)[0]
    found = StickSet(UNEQUAL, 3.0).nearest(x)
    np.testing.assert_array_equal(found.x, x)
    assert found.distance == 0.0


def test_nearest_with_stiffness_over_six_decades():
    rng = np.random.default_rng(4)
    for n in (5, 20, 60):
        chain = Chain(
            mass=rng.uniform(0.5, 2.0, n), stiffness=10.0 ** rng.uniform(-3, 3, n), law=Coulomb(0.2)
        )
        stick = StickSet(chain, 5.0)
        x = stick.projections().center + rng.standard_normal(n)
        found = stick.nearest(x)
        assert found.residual <= 1e-10
        # no state of a random sample, moved as close as the set allows, is nearer
        others = stick.sample(200, seed=1)
        shares = np.linspace(0.0, 1.0, 21)[:, None, None]
        mixed = found.x + shares * (others - found.x)
        assert np.linalg.norm(mixed - x, axis=2).min() >= found.distance * (1.0 - 1e-9)


def test_margins_and_membership():
    stick = StickSet(UNEQUAL, 3.0)
    x = stick.sample(1, seed=8)[0]
    drive = 3.0 * UNEQUAL.load_weights - UNEQUAL.stiffness_matrix() @ x
    margins = stick.margins(x)
    np.testing.assert_allclose(margins.drive, drive, atol=1e-12)
    np.testing.assert_allclose(margins.force, UNEQUAL.stick_bound - np.abs(drive), atol=1e-12)
    np.testing.assert_allclose(margins.relative, margins.force / UNEQUAL.stick_bound)
    assert stick.contains(x)
    assert not stick.contains(x + 1.0)
    loaded_without_friction = StickSet(Chain(mass=[1.0], stiffness=1.0), 2.0).margins([0.0])
    assert loaded_without_friction.relative[0] == -np.inf


def test_static_bound_counts():
    law = StaticKinetic(mu_static=0.3, mu_kinetic=0.1)
    stick = StickSet(Chain(mass=[1.0], stiffness=1.0, law=law, gravity=10.0), 0.0)
    assert stick.contains([3.0])
    assert not stick.contains([3.0 + 1e-9])


def test_mirror_symmetry():
    """Reading the chain from the other end mirrors the set; the opposite load negates it."""
    left = Chain(mass=[1.0, 2.0, 4.0], stiffness=[20.0, 35.0, 15.0], law=Coulomb(0.1))
    right = Chain(
        mass=[4.0, 2.0, 1.0],
        stiffness=[15.0, 35.0, 20.0],
        law=Coulomb(0.1),
        supports="right",
        load_vector=[1.0, 0.0, 0.0],
    )
    here, there = StickSet(left, 7.0), StickSet(right, 7.0)
    np.testing.assert_allclose(here.bounds()[0], there.bounds()[0][::-1], rtol=1e-14)
    assert here.log_volume == pytest.approx(there.log_volume, rel=1e-14)
    x = here.projections().center + np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(here.nearest(x).x, there.nearest(x[::-1]).x[::-1], atol=1e-12)
    negative = StickSet(left, -7.0)
    np.testing.assert_allclose(negative.bounds()[0], -here.bounds()[1], rtol=1e-14)


def test_critical_force_is_the_chains():
    np.testing.assert_array_equal(StickSet(UNEQUAL, 0.0).critical_force(), UNEQUAL.critical_force())


def onsets(chain, x, force, more):
    """Masses that move in the dynamic problem when the load steps from `force` by `more`."""
    run = solve(
        Chain(
            mass=chain.mass,
            stiffness=chain.stiffness,
            damping=1.0,
            law=chain.law,
            x0=x,
            load=Constant(force + more),
        ),
        EventDriven(),
        (0.0, 0.5),
    )
    return [time is not None for time in run.quantities["onset_time"].value]


def test_launch_vertex_moves_all():
    """Any rise of the load moves all masses from the lower vertex, one mass from the upper."""
    chain = Chain(mass=[1.0, 2.0, 4.0], stiffness=20.0, law=Coulomb(0.05))
    stick = StickSet(chain, 10.0)
    lower, upper = stick.bounds()
    assert stick.launch(rising=True).vertex == "lower"
    assert stick.launch(rising=False).vertex == "upper"
    np.testing.assert_allclose(stick.launch(rising=True).x, lower, rtol=1e-13)
    np.testing.assert_allclose(stick.launch(rising=False).x, upper, rtol=1e-13)
    assert onsets(chain, lower, 10.0, 1e-3) == [True, True, True]
    assert onsets(chain, upper, 10.0, 1e-3) == [False, False, False]
    assert onsets(chain, upper, 10.0, -1e-3) == [True, True, True]


def test_launch_under_opposite_loads():
    chain = Chain(
        mass=[1.0, 1.0],
        stiffness=[5.0, 1.0, 5.0],
        supports="both",
        load_vector=[-1.0, 2.0],
        law=Coulomb(0.1),
    )
    launch = StickSet(chain, 1.0).launch()
    assert launch.vertex == "mixed"
    np.testing.assert_array_equal(launch.direction, [-1, 1])
    np.testing.assert_allclose(
        StickSet(chain, 1.0).drive(launch.x), launch.direction * chain.stick_bound, rtol=1e-12
    )


def test_launch_of_a_mass_between_equal_and_opposite_loads():
    ends = {"supports": "both", "law": Coulomb(0.1)}
    even = Chain(mass=[1.0] * 3, stiffness=20.0, load_vector=[1.0, 0.0, -1.0], **ends)
    np.testing.assert_array_equal(StickSet(even, 1.0).launch().direction, [1, 0, -1])
    # a small response that is no rounding
    uneven = Chain(mass=[1.0] * 3, stiffness=20.0, load_vector=[1.0, 1e-12, -1.0], **ends)
    np.testing.assert_array_equal(StickSet(uneven, 1.0).launch().direction, [1, 1, -1])


def overdamped_end(chain, force, x, span=3.0):
    """Where the chain creeps to without inertia: smoothed friction, independent of our solvers."""
    k, c, bound = chain.stiffness_matrix(), chain.damping_matrix(), chain.stick_bound
    pushed, width = force * chain.load_weights, 1e-12

    def rate(t, x):
        drive = pushed - k @ x
        # one mass: c v + bound v / sqrt(v^2 + width^2) = drive, solved for v by bisection
        low, high = -np.abs(drive) / c[0, 0], np.abs(drive) / c[0, 0]
        for _ in range(200):
            v = 0.5 * (low + high)
            over = c[0, 0] * v + bound * v / np.sqrt(v * v + width * width) > drive
            low, high = np.where(over, low, v), np.where(over, v, high)
        return 0.5 * (low + high)

    return solve_ivp(rate, (0.0, span), x, rtol=1e-8, atol=1e-10, method="LSODA").y[:, -1]


def test_one_sided_stability():
    """At the right end: stable from the left, slips back from the right (and stays inside)."""
    chain = Chain(mass=[1.0], stiffness=20.0, law=Coulomb(0.1), damping=2.0)
    stick = StickSet(chain, 5.0)
    lower, upper = stick.bounds()
    found = stick.stability(upper)
    assert (found.side, found.left, found.right) == (("upper",), ("stays",), ("slips back",))
    found = stick.stability(lower)
    assert (found.side, found.left, found.right) == (("lower",), ("slips back",), ("stays",))
    found = stick.stability(0.5 * (lower + upper))
    assert found.interior
    assert (found.left, found.right) == (("stays",), ("stays",))
    # without inertia the right end attracts from the right and only holds from the left
    push = 1e-3
    assert overdamped_end(chain, 5.0, upper + push) == pytest.approx(upper, abs=2e-6)
    assert overdamped_end(chain, 5.0, upper - push) == pytest.approx(upper - push, abs=2e-6)


def test_inertia_carries_a_pushed_mass_into_the_set():
    """With inertia and no damper the mass slips back past the end and rests as far inside."""
    push = 1e-3
    chain = Chain(mass=[1.0], stiffness=20.0, law=Coulomb(0.1))
    upper = StickSet(chain, 5.0).bounds()[1]
    moved = Chain(mass=[1.0], stiffness=20.0, law=Coulomb(0.1), load=Constant(5.0), x0=upper + push)
    run = solve(moved, EventDriven(), (0.0, 5.0))
    assert run.final["x"] == pytest.approx(upper - push, abs=1e-12)
    assert StickSet(chain, 5.0).stability(run.final["x"]).interior


def test_stability_names_the_neighbour():
    chain = Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, law=Coulomb(0.1))
    stick = StickSet(chain, 5.0)
    lower, _ = stick.bounds()
    found = stick.stability(lower)
    assert found.side == ("lower", "lower", "lower")
    assert found.left == ("slips back",) * 3
    # pulled to the right, a mass takes the neighbours along, which are about to go right
    assert found.right == ("moves a neighbour",) * 3
    with pytest.raises(ModelError, match="nearest"):
        stick.stability(lower - 1.0)


def test_what_holds_nothing_is_refused():
    with pytest.raises(ModelError, match="singular"):
        StickSet(Chain(mass=[1.0, 1.0], stiffness=1.0, supports="none"), 0.0)
    with pytest.raises(ModelError, match="belt"):
        StickSet(Chain(mass=[1.0], stiffness=1.0, belt_speed=1.0), 0.0)
    with pytest.raises(ModelError, match="at most 16"):
        StickSet(Chain(mass=1.0, n=17, stiffness=1.0), 0.0).vertices()
    with pytest.raises(ModelError, match="at most 2000"):
        StickSet(Chain(mass=1.0, n=2001, stiffness=1.0), 0.0).nearest(np.ones(2001))
    with pytest.raises(ModelError, match="wall at the left"):
        StickSet(TOPOLOGIES[2], 0.0).in_sequence([0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="3 values"):
        StickSet(UNEQUAL, 0.0).contains([0.0, 0.0])
    with pytest.raises(ModelError, match="finite"):
        StickSet(UNEQUAL, np.nan)
    with pytest.raises(ModelError, match="a Chain"):
        StickSet(3.0, 0.0)


def test_force_defaults_to_the_load_at_the_start():
    chain = Chain(mass=[1.0], stiffness=1.0, load=Constant(4.0))
    assert StickSet(chain).force == 4.0
