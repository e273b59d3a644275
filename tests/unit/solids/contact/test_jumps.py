"""Cells divided at jumps of the closest-point projection: places, tangents, energies, work."""

import numpy as np
import pytest
from mortar_cases import FRICTION, LAW, dense_of, made_of, slipped
from numpy.testing import assert_allclose
from solid_cases import curve, evaluate, jacobian

from stiction.laws import Frictionless
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import ClosestPoints, Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.contact.segmentation import joined
from stiction.solids.contact.self_contact import SelfPass
from stiction.solids.contact.virtual_work import MortarPass
from stiction.solids.equilibria.work_integrals import Rule


def over_waves(friction, degree=2, rational=False, seed=0, rough=0.02, penalty=30.0, each=3):
    """Return a pass of a boundary over two wave lengths, and places of all nodes."""
    random = np.random.default_rng(seed)
    there = 25 if degree > 1 else 33
    x, y = np.linspace(0.07, 2.03, 9), np.linspace(2.3, -0.3, there)
    mine = np.stack([x, 0.35 + rough * random.standard_normal(x.size)], axis=1)
    other = np.stack([y, 0.25 * np.cos(2.0 * np.pi * y)], axis=1)
    other[:, 1] += 0.1 * rough * random.standard_normal(there)
    weights = 1.0 + 0.3 * random.random(there) if rational else None
    points = np.concatenate([mine, other])
    pair = curve(mine, degree, points=each), curve(other, degree, first=x.size, weights=weights)
    contact = Contact(
        Boundary(0, "a"), Boundary(1, "b"), LAW, friction, penalty=penalty, passes="mortar"
    )
    return MortarPass(contact, *pair, points), points


def check_jumps(contact_pass, closest, x, apart):
    """Both minima are equally near at jumps, and `apart`; closest points are global minima."""
    jumps, segments = closest.jumps, closest.segments
    count = jumps.one.size
    assert_allclose(segments.ends[jumps.one, 1], segments.ends[jumps.other, 0], rtol=1e-15)
    here, there = jumps.pairs.own_places[0], jumps.pairs.partner_places[0]
    far = np.hypot(*(here - there))
    assert_allclose(far[:count], far[count:], rtol=1e-13)
    assert (np.hypot(*(there[:, :count] - there[:, count:])) > apart).all()
    e = np.repeat(np.arange(contact_pass.partner.nodes.shape[0]), 400)
    xi = np.tile(np.linspace(-1.0, 1.0, 400), e.size // 400)
    near = contact_pass.curve.points(e, xi[None], x)[1][0]
    least = [np.hypot(*(near - p[:, None])).min() for p in closest.pairs.own_places[0].T]
    assert_allclose(
        np.hypot(*(closest.pairs.own_places[0] - closest.pairs.partner_places[0])), least, rtol=1e-4
    )


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, False), (2, True), (3, False)])
def test_both_minima_are_equal_at_jumps(degree, rational):
    contact_pass, x = over_waves(Frictionless(), degree, rational, 3)
    closest = contact_pass.project(x, None)
    assert closest.jumps.one.size >= 1
    check_jumps(contact_pass, closest, x, 0.3)


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, False), (2, True), (3, False)])
@pytest.mark.parametrize("name", sorted(FRICTION))
def test_tangents_with_a_jump_inside_a_cell(name, degree, rational):
    """Tangents are the derivative of forces, with jumps that move."""
    friction, penalty = FRICTION[name]
    check_tangents(name, *over_waves(friction, degree, rational, 1, penalty=penalty))


def check_tangents(name, contact_pass, x):
    history = contact_pass.empty_history() if name == "none" else slipped(contact_pass, x, 1)
    closest = contact_pass.project(x, None)
    jumps = closest.jumps
    assert jumps is not None
    values = np.zeros(contact_pass.block_shape(closest))
    _, out = evaluate(contact_pass, x, closest, history, values=values)
    state = out[:, k.STATE]
    states = np.where(state == k.STICKS, 0, np.where(state == k.SLIDES, 1, -1)).astype(np.int64)
    expected = {"none": 0.0, "slides": k.SLIDES, "sticks": k.STICKS}[name]
    assert (state[closest.segments.cell[jumps.one]] == expected).all()
    dense = dense_of(contact_pass, closest, history, values, x.size)

    def forces(y):
        return evaluate(contact_pass, y, contact_pass.project(y, closest), history, states)[0]

    error = np.abs(jacobian(forces, x, 1e-6) - dense).max()
    assert error < 1e-7 * np.abs(dense).max()


@pytest.mark.parametrize(("degree", "far"), [(2, 1e-5), (3, 1e-4)])
def test_forces_converge_to_the_derivative_of_the_energy(degree, far):
    """Jumps stay in forces: what is missing is the error of the rule in the cells that jump."""
    errors = []
    for each in (2, 32):
        contact_pass, x = over_waves(Frictionless(), degree, seed=1, each=each)
        direction = np.random.default_rng(1).standard_normal(x.shape)

        def state(part, contact_pass=contact_pass, x=x, direction=direction):
            residual, y = np.zeros_like(x), x + part * direction
            _, closest = contact_pass.add_normal_forces(
                y, contact_pass.project(y, None), 1.0, residual
            )
            variations = contact_pass._variations(closest, None, y, 1.0)
            return (
                np.sum(variations.weight * variations.laws.psi),
                np.sum(residual * direction),
                closest,
            )

        slope = (state(1e-6)[0] - state(-1e-6)[0]) / 2e-6
        energy, force, closest = state(0.0)
        assert closest.jumps.one.size == 2
        errors.append(abs(slope - force) / abs(energy))
    assert errors[0] < far
    assert errors[1] < 1e-2 * errors[0]


def slid(contact_pass, x, slip):
    """Return the normal force along a slip of the boundary, the energy, and closest points."""
    y = x.copy()
    y[:9, 0] += slip
    residual = np.zeros_like(x)
    _, closest = contact_pass.add_normal_forces(y, contact_pass.project(y, None), 1.0, residual)
    variations = contact_pass._variations(closest, None, y, 1.0)
    energy = float(np.sum(variations.weight * variations.laws.psi))
    return residual[:9, 0].sum(), energy, closest


def cell_of_first_jump(closest):
    return int(closest.segments.cell[closest.jumps.one[0]])


def crossing(degree):
    """Return a pass, places, and how far they slide until a jump passes to another cell."""
    contact_pass, x = over_waves(Frictionless(), degree, seed=5, rough=0.01)
    low, high = 0.0, 0.15
    first = cell_of_first_jump(slid(contact_pass, x, low)[2])
    assert cell_of_first_jump(slid(contact_pass, x, high)[2]) != first
    for _ in range(60):
        middle = 0.5 * (low + high)
        closest = slid(contact_pass, x, middle)[2]
        if closest.jumps is not None and cell_of_first_jump(closest) == first:
            low = middle
        else:
            high = middle
    return contact_pass, x, low


@pytest.mark.parametrize("degree", [1, 2])
def test_energy_is_continuous_as_a_jump_leaves_its_cell(degree):
    """The energy jumped by up to 2e-5 when points were projected one by one."""
    contact_pass, x, slip = crossing(degree)
    energies = [slid(contact_pass, x, slip + part * 1e-14)[1] for part in range(-20, 21)]
    assert np.ptp(energies) < 1e-12 * abs(energies[0])


def test_work_of_forces_is_the_change_of_the_energy_over_jumps():
    """On a path on which a jump passes to the next cell, up to the quadrature error."""
    contact_pass, x, slip = crossing(2)
    cells, start, far = set(), slip - 0.001, 0.002

    def force(part):
        pull, _, closest = slid(contact_pass, x, start + far * part)
        cells.add(cell_of_first_jump(closest))
        return far * pull, contact_pass.pairing(closest)

    ends = [slid(contact_pass, x, place)[1] for place in (start, start + far)]
    rule = Rule(force, lambda part: force(part)[1], 1e-13, 500.0)
    work = rule.integral(force(0.0), force(1.0))
    assert len(cells) > 1
    assert abs(work - (ends[1] - ends[0])) < 1e-6 * abs(ends[0])


def any_pair(seed):
    """Return a pass of any boundary over any waves, and places of all nodes."""
    random = np.random.default_rng(seed)
    degree = int(random.integers(1, 4))
    count = {
        1: random.integers(2, 7),
        2: random.integers(3, 8),
        3: 2 * random.integers(2, 5),
    }[degree]
    there = 2 * int(random.integers(8, 30))
    turn, long = random.uniform(-1.2, 1.2), random.uniform(0.3, 1.2)
    t = np.linspace(-0.5, 0.5, count) * long
    mine = np.stack([0.9 + t * np.cos(turn), 0.55 + t * np.sin(turn)], axis=1)
    mine += 0.03 * random.standard_normal(mine.shape)
    y = np.linspace(2.4, -0.6, there)
    wave, high = random.choice([1.0, 0.5, 0.7]), random.uniform(0.05, 0.25)
    other = np.stack(
        [y, high * np.cos(2.0 * np.pi * y / wave + random.uniform(0, 6)) - 0.1], axis=1
    )
    other += 0.003 * random.standard_normal(other.shape)
    return made_of(mine, other, degree)


def test_random_pairs():
    """Closest points are global minima; without jumps forces are the derivative of the energy.

    So it is in 1,500 such pairs. Cells with two jumps, which are not divided, are in 86 of them.
    """
    jumping = alone = 0
    for seed in range(150):
        contact_pass, x = any_pair(seed)
        closest = contact_pass.project(x, None)
        segments = closest.segments
        whole = not (segments.at[:, 0] == segments.at[:, 1]).any()
        jumping += closest.jumps is not None
        alone += not whole
        e = np.repeat(np.arange(contact_pass.partner.nodes.shape[0]), 200)
        xi = np.tile(np.linspace(-1.0, 1.0, 200), e.size // 200)
        near = contact_pass.curve.points(e, xi[None], x)[1][0]
        here = closest.pairs.own_places[0]
        least = np.sqrt(((near[:, None] - here[:, :, None]) ** 2).sum(axis=0)).min(axis=1)
        assert closest.pairs.has_closest.all()
        assert (np.hypot(*(here - closest.pairs.partner_places[0])) < 1.001 * least).all(), seed
        if closest.jumps is not None or not whole:
            continue
        direction = np.random.default_rng(seed).uniform(-1.0, 1.0, x.shape)

        def state(part, contact_pass=contact_pass, x=x, direction=direction):
            residual, y = np.zeros_like(x), x + part * direction
            _, again = contact_pass.add_normal_forces(
                y, contact_pass.project(y, None), 1.0, residual
            )
            variations = contact_pass._variations(again, None, y, 1.0)
            return np.sum(variations.weight * variations.laws.psi), np.sum(residual * direction)

        slope = (state(1e-6)[0] - state(-1e-6)[0]) / 2e-6
        energy, force = state(0.0)
        assert abs(slope - force) < 1e-6 * max(abs(force), abs(energy)), seed
    assert jumping > 90
    assert alone > 2


@pytest.mark.parametrize(("size", "angle"), [(1e-9, 0.0), (1e5, 0.0), (1.0, 0.7)])
def test_segments_depend_on_neither_units_nor_frame(size, angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for seed in range(60):
        contact_pass, x = any_pair(seed)
        one, other = (contact_pass.project(y, None).segments for y in (x, size * x @ turn.T))
        assert np.array_equal(one.cell, other.cell), seed
        assert np.array_equal(one.partner_elements, other.partner_elements), seed
        assert_allclose(other.ends, one.ends, atol=1e-12)


def test_self_contact_ignores_inadmissible_minima():
    """A folded strip has contact with its other half, and not with adjacent elements."""
    x = np.linspace(0.0, 2.0, 9)
    fold = np.concatenate(
        [np.stack([x, np.zeros(9)], axis=1), np.stack([x[::-1], np.full(9, 0.2)], axis=1)]
    )
    side = Boundary(0, "a")
    contact_pass = SelfPass(
        Contact(side, side, LAW, passes="mortar"), curve(fold, 1, points=1), fold
    )
    mine, s = np.array([3]), np.zeros(1)
    across = contact_pass.project(fold, None).at(mine)
    adjacent = ClosestPoints(mine + 1, np.zeros((1, 1)), np.ones(1, dtype=bool))
    for one, other in ((across, across), (across, adjacent), (adjacent, across)):
        minima = contact_pass._local_minima(mine, s, joined(one, other), np.full(1, 2.0), fold)
        assert minima.valid[0] == (one is other)


def test_a_jump_at_the_end_of_a_cell_divides_none():
    """In a symmetric place rounding alone would decide in which of two cells it lies."""
    x, y = np.linspace(0.0, 2.0, 9), np.linspace(2.25, -0.25, 21)
    mine = np.stack([x, np.full(9, 0.45)], axis=1)
    other = np.stack([y, 0.25 * np.cos(2.0 * np.pi * y)], axis=1)
    points = np.concatenate([mine, other])
    contact = Contact(Boundary(0, "a"), Boundary(1, "b"), LAW, passes="mortar")
    contact_pass = MortarPass(contact, curve(mine, 1), curve(other, 1, first=9), points)
    forces = []
    for shift in (0.0, 1e-13, -1e-13, 1e-12, -1e-12):
        moved = points + [shift, 0.0] * (np.arange(len(points)) < 9)[:, None]
        closest = contact_pass.project(moved, None)
        at = np.zeros(0) if closest.jumps is None else closest.jumps.pairs.own_places[0][0]
        assert not (np.abs(at - 0.5) < 1e-6).any()
        residual = np.zeros_like(points)
        contact_pass.add_normal_forces(moved, closest, 1.0, residual)
        forces.append(residual)
    for one in forces[1:]:
        assert_allclose(one, forces[0], atol=1e-9 * np.abs(forces[0]).max())
