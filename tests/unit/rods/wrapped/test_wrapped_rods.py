"""Contact between rods: closest points, derivatives, and rods side by side in one array."""

import tracemalloc

import numpy as np
import pytest
from wrapped_cases import wrapped_path

from stiction.errors import ModelError
from stiction.rods import (
    Clamped,
    CosseratRod,
    CylinderPartner,
    Driven,
    Free,
    Helix,
    Straight,
)
from stiction.rods.section import CircularSection
from stiction.rods.statics import StaticRod
from stiction.rods.wrapped.bundle import StaticRods
from stiction.rods.wrapped.checks import check_fineness
from stiction.rods.wrapped.contact import blocks, force_and_moment
from stiction.rods.wrapped.curves import closest, curve_at
from stiction.rods.wrapped.problem import WrappedProblem

SECTION = CircularSection(0.1, 1e6)


def helix(phase=0.0, pitch=0.6, turns=0.4, radius=1.0, elements=12):
    """Return a rod on a helix, clamped at its start."""
    line = Helix([0, 0, 0], [0, 0, 1], radius=radius, pitch=pitch, turns=turns, phase=phase)
    return CosseratRod(SECTION, line, elements=elements, left=Clamped(), right=Free())


def test_closest_points():
    """They are stationary, no sampled point is closer, and ends and lowest places bound them."""
    nodes, random = helix(turns=0.7, elements=20).nodes(), np.random.default_rng(2)
    points = nodes[random.integers(0, 21, 60)] + 0.3 * random.standard_normal((60, 3))
    first = random.integers(0, 12, 60)
    place, inside = closest(points, nodes, first)

    def at(places, which="weight"):
        curve = curve_at(places, 20)
        return np.einsum("kj,kja->ka", getattr(curve, which), nodes[curve.nodes])

    away = points - at(place)
    assert 20 < inside.sum() < 60
    assert np.abs((away * at(place, "rate")).sum(axis=1)[inside]).max() < 1e-12
    assert set(place[~inside].tolist()) <= {*first.tolist(), 20.0}
    dense = np.linspace(0.0, 20.0, 2001)
    apart = np.linalg.norm(points[:, None] - at(dense), axis=2)
    apart[dense < first[:, None]] = np.inf
    assert (np.linalg.norm(away, axis=1) <= apart.min(axis=1) + 1e-12).all()


def test_closest_points_take_little_memory():
    nodes = np.linspace(0.0, 1.0, 2001)[:, None] * [1.0, 0.0, 0.0]
    points = np.linspace(0.1, 0.9, 3000)[:, None] * [1.0, 0.0, 0.0] + [0.0, 0.1, 0.0]
    tracemalloc.start()
    place, _ = closest(points, nodes, np.zeros(3000, dtype=np.int64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # all distances and the vectors between them would be 200 MB
    assert peak < 6e7
    np.testing.assert_allclose(place, 2000.0 * points[:, 0], rtol=0.0, atol=1e-9)


def test_too_few_elements_are_refused_by_the_rod_that_has_them():
    straight = np.linspace([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 5)
    bent = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0]])
    check_fineness(1, straight, np.arange(5))
    with pytest.raises(ModelError, match="at node 2 of rod 3, in contact"):
        check_fineness(3, bent, np.arange(3))


def test_the_axis_is_smooth_and_of_third_order():
    errors = []
    for elements in (20, 40):
        rod = helix(elements=elements)
        place = np.linspace(0.0, elements, 7 * elements + 1)
        curve = curve_at(place, elements)
        line = np.einsum("kj,kja->ka", curve.weight, rod.nodes()[curve.nodes])
        errors.append(np.abs(np.linalg.norm(line[:, :2], axis=1) - 1.0).max())
        joint = np.arange(1.0, elements)
        left, right = (curve_at(joint + shift, elements) for shift in (-1e-9, 1e-9))
        slopes = [np.einsum("kj,kja->ka", c.rate, rod.nodes()[c.nodes]) for c in (left, right)]
        assert np.allclose(*slopes, atol=1e-8)
    assert errors[0] / errors[1] > 7.0


@pytest.mark.parametrize("self_contact", [False, True])
def test_derivatives(self_contact):
    """Of forces, moments, gaps and slip by all nodes and frames, against differences."""
    random, turns = np.random.default_rng(3), 3.0 if self_contact else 0.4
    rods = [helix(turns=turns, pitch=0.3, elements=90 if self_contact else 12)]
    if not self_contact:
        rods.append(helix(phase=0.07, radius=1.1))
    drum = CylinderPartner([0, 0, -1], [0, 0, 2], 0.9)
    problem = WrappedProblem(rods, [drum], 0.0, 1e-9, 20, self_contact=self_contact)
    static, places = problem.static, problem.placements(0.0)
    start = problem.reference(problem.initial(), 0.0)
    static.apply_increment(0.02 * random.standard_normal(static.size))
    traction = random.standard_normal((len(problem.contacts.node), 3))
    at = problem.kinematics(start, start.basis, places)
    by, pairs, saved, step = blocks(at, traction), at.pairs, static.copy_state(), 1e-6
    change = random.standard_normal((static.slots, 6)) * static.free.reshape(-1, 6)
    seen = []
    for sign in (1.0, -1.0):
        static.restore(saved)
        static.apply_increment(sign * step * change.ravel())
        seen.append(problem.kinematics(start, at.basis, places))
    static.restore(saved)
    loads = [problem.contact_forces(x, traction) for x in seen]
    dr, turns = change[pairs.nodes, :3], change[pairs.frames, 3:]
    total = np.zeros((2, 3, static.slots))
    force = np.einsum("kijab,kjb->kia", by.force_by_node, dr)
    np.add.at(total[0].T, pairs.nodes, force)
    moment = np.einsum("kijab,kjb->kia", by.moment_by_node, dr)
    np.add.at(total[1].T, pairs.frames, moment)
    assert np.allclose((loads[0] - loads[1]) / (2.0 * step), total, atol=2e-6)
    slip = np.einsum("kjia,kja->ki", by.slip_by_node, dr)
    slip += np.einsum("kjia,kja->ki", by.slip_by_frame, turns)
    assert np.allclose((seen[0].slip - seen[1].slip) / (2.0 * step), slip, atol=1e-6)
    assert np.abs(slip).max() > 0.01
    gap = np.einsum("ka,kj,kja->k", at.normal, pairs.share, dr)
    assert np.allclose((seen[0].gap - seen[1].gap) / (2.0 * step), gap, atol=1e-6)
    # contacts with rods, most of them between the ends of the axis
    rod = pairs.share[:, -1] != 0.0
    assert rod.sum() > 5
    assert (np.abs(pairs.place_by_node[rod]).max(axis=(1, 2)) > 0.0).sum() > 5


def test_contacts_of_many_rods_are_named_in_the_order_of_their_values():
    """Four parallel rods: the gap of the rods with the numbers i and j is that of their axes."""
    rods = [
        CosseratRod(
            SECTION, Straight([0, y, 0], [1, y, 0]), elements=4, left=Clamped(), right=Clamped()
        )
        for y in (0.0, 0.3, 0.7, 1.2)
    ]
    problem = WrappedProblem(rods, [], 0.0, 1e-9, 20)
    start = problem.reference(problem.initial(), 0.0)
    gap = problem.kinematics(start, start.basis, []).gap
    y = problem.static.r[1]
    first, second = problem.contacts.node, [x.node for x in problem.strands]
    other = np.array(second)[problem.contacts.partner]
    assert np.allclose(gap, y[other] - y[first] - 0.2)


def test_rods_that_turn_together_do_not_slip_and_balance_their_moments():
    """At closed contacts: to the third order of a turn about any axis."""
    rods, random = [helix(), helix(phase=0.1)], np.random.default_rng(4)
    problem = WrappedProblem(rods, [], 0.0, 1e-9, 20)
    static = problem.static
    start = problem.reference(problem.initial(), 0.0)
    slips = []
    for size in (0.1, 0.2):
        static.restore((start.nodes, start.frames))
        turn = size * np.array([0.6, 0.0, 0.8])
        x, y, z = turn / 2.0
        half = np.array([np.sqrt(1.0 - x * x - y * y - z * z), x, y, z])
        from scipy.spatial.transform import Rotation

        matrix = Rotation.from_quat(half[[1, 2, 3, 0]]).as_matrix()
        static.r[:] = matrix @ static.r
        w, v = half[0], half[1:]
        old_w, old_v = static.q[0].copy(), static.q[1:].copy()
        static.q[0] = w * old_w - v @ old_v
        static.q[1:] = w * old_v + v[:, None] * old_w + np.cross(v, old_v, axis=0)
        at = problem.kinematics(start, start.basis, [])
        slips.append(np.abs(at.slip).max())
    assert slips[0] < 1e-4
    # reason: the third order, with terms of fifth order at these turns
    assert slips[1] / slips[0] == pytest.approx(8.0, rel=0.1)
    # forces of contact have no resultant, and no moment where axes are 2 a apart
    traction = random.standard_normal((len(problem.contacts.node), 3))
    at = problem.kinematics(start, start.basis, [])
    loads = problem.contact_forces(at, traction)
    assert np.allclose(loads[0].sum(axis=1), 0.0, atol=1e-12)
    moment = (np.cross(static.r, loads[0], axis=0) + loads[1]).sum(axis=1)
    tangential = force_and_moment(at, traction)[0]
    beyond = (at.gap[:, None] * np.cross(at.normal, tangential)).sum(axis=0)
    assert np.allclose(moment, beyond, atol=1e-12)


def test_rods_do_not_act_on_each_other():
    """Elastic forces and stiffness of rods in one array are those of each alone."""
    rods = [helix(), helix(phase=1.0, pitch=-0.3, elements=9)]
    both, random = StaticRods(rods, 1e-9, 20), np.random.default_rng(5)
    change = 0.02 * random.standard_normal(both.size)
    both.apply_increment(change)
    for rod, offset in zip(rods, both.offsets, strict=False):
        alone = StaticRod(rod, 1e-9, 20)
        slots = slice(offset, offset + alone.slots)
        alone.apply_increment(change.reshape(-1, 6)[slots].ravel())
        assert np.allclose(both.elastic()[:, slots], alone.elastic(), rtol=1e-12, atol=1e-9)
        matrix = both.stiffness().reshape(23, -1, 6)[:, slots].reshape(23, -1)
        assert np.allclose(matrix, alone.stiffness(), rtol=1e-9, atol=1e-6)


def crossing(elements, gap, *, swap=False, push=0.02, radius=0.05):
    """Return two rods that cross at a right angle, of which one is pushed onto the other."""
    section = CircularSection(radius, 1e6)
    pushed = Driven(velocity=[0, 0, -push])
    up = 2.0 * radius + gap
    one = CosseratRod(
        section,
        Straight([-1, 0, 0], [1, 0, 0]),
        elements=elements[0],
        left=Clamped(),
        right=Clamped(),
    )
    other = CosseratRod(
        section, Straight([0, -1, up], [0, 1, up]), elements=elements[1], left=pushed, right=pushed
    )
    return (other, one) if swap else (one, other)


@pytest.mark.parametrize("swap", [False, True])
def test_rods_that_cross_between_nodes(swap):
    """Only nodes of the first rod meet the other; what they miss is refused or in the audit."""
    with pytest.raises(ModelError, match=r"axes of two rods 0.02 m apart|inside rod 2"):
        wrapped_path(crossing((9, 10), -0.08, swap=swap), [], [0.0, 1.0])
    path = wrapped_path(crossing((9, 10), 1e-4, swap=swap), [], [0.0, 1.0], steps=5)
    overlaps = next(c for c in path.audit.checks if c.check == "no_overlap")
    assert overlaps.ok == (path.normal_force[-1].max() > 0.0) == swap


@pytest.mark.parametrize("steps", [1, 10])
def test_rods_do_not_pass_through_each_other(steps):
    """Twenty radii of motion in one step: the rods meet in the middle, by symmetry."""
    rods = crossing((60, 60), 1e-3, push=0.1, radius=0.005)
    path = wrapped_path(rods, [], [0.0, 1.0], steps=steps)
    low, high = (path.position[-1, path.nodes_of(i)][30, 2] for i in range(2))
    assert high - low == pytest.approx(0.01, rel=1e-6)
    assert low == pytest.approx(-0.5 * (0.1 - 1e-3), rel=1e-6)


def test_a_short_rod_cannot_meet_itself():
    short = CosseratRod(
        CircularSection(0.05, 1e6), Straight([0, 0, 0], [0.15, 0, 0]), elements=4, left=Clamped()
    )
    with pytest.raises(ModelError, match="can touch nothing"):
        wrapped_path(short, [], [0.0, 1.0], self_contact=True)
