"""Cells cut where nearest places turn: places, tangents, sums without jumps, work of forces."""

import numpy as np
import pytest
from mortar_cases import FRICTION, changes, dense_of, made_of, slipped
from numpy.testing import assert_allclose
from solid_cases import evaluate, held_at, jacobian

from stiction.solids.contact import turns as turns_module
from stiction.solids.contact.model import Found
from stiction.solids.equilibria.works import Rule


def upright(degree, seed, friction="none", rational=False, bend=0.8, rough=1.0):
    """Return an arc with few long cells that stands upright on a slow wave, and all places."""
    random = np.random.default_rng(seed)
    t = np.linspace(-1.0, 1.0, {2: 5, 3: 6}[degree])
    mine = np.stack([1.0 + 0.6 * (np.cos(bend * t) - 1.0), 0.75 + 0.6 * np.sin(0.8 * t)], axis=1)
    mine += 0.01 * rough * random.standard_normal(mine.shape)
    y = np.linspace(2.3, -0.3, 24)
    other = np.stack([y, 0.03 * np.cos(5.0 * y)], axis=1)
    other += 0.0005 * rough * random.standard_normal(other.shape)
    weights = 1.0 + 0.3 * random.random(y.size) if rational else None
    law, penalty = FRICTION[friction]
    return made_of(mine, other, degree, law, penalty, weights)


CURVES = [(2, False), (2, True), (3, False)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("degree", "rational"), CURVES)
def test_turns_lie_where_places_go_back(degree, rational, seed):
    """On both sides of a turn nearest places lie on one side, by the square of how far it is."""
    made, x = upright(degree, seed, rational=rational)
    parts = made.project(x, None).segments
    one, other = (np.flatnonzero(parts.turns[:, end]) for end in (1, 0))
    assert one.size == 1
    assert other == one + 1
    assert parts.ends[one, 1] == parts.ends[other, 0]
    steps = np.array([0.0, -1e-2, -1e-3, 1e-3, 1e-2])
    e, s = np.repeat(parts.element[one], steps.size), parts.ends[one, 1] + steps
    pieces = parts.pieces[one, parts.slot[one]]
    guess = Found(pieces, parts.begin[one, 1:], np.ones(1, dtype=bool))
    here = made._own_at(e, s, x)[1][0]
    near = made.nearest(np.ascontiguousarray(here.T), guess.at(np.zeros(5, dtype=int)), x)
    where = near.element + 0.5 * (1.0 + near.xi[:, 0])
    assert near.normal.all()
    assert where[0] == pytest.approx(pieces[0] + 0.5 * (1.0 + parts.begin[one, 1][0]), abs=1e-12)
    back = (where[1:] - where[0]) / steps[1:] ** 2
    assert_allclose(back, back.mean(), rtol=0.1)  # reason: third powers of the longer steps
    assert abs(back.mean()) > 1e-3


@pytest.mark.parametrize("name", sorted(FRICTION))
@pytest.mark.parametrize(("degree", "rational"), CURVES)
def test_tangents_with_a_turn_inside_a_cell(degree, rational, name):
    for seed in range(3):
        made, x = upright(degree, seed, name, rational)
        found = made.project(x, None)
        assert found.segments.turns.any()
        history, values = slipped(made, x, seed), np.zeros(made.room(found))
        held = held_at(evaluate(made, x, found, history, values=values)[1])
        dense = dense_of(made, found, history, values, x.size)

        def forces(y, made=made, found=found, history=history, held=held):
            return evaluate(made, y, made.project(y, found), history, held)[0]

        error = np.abs(jacobian(forces, x, 1e-6) - dense).max()
        assert error < 1e-8 * np.abs(dense).max()


def energy_of(made, x, way):
    """Return energy and force of a boundary that was moved, and how its cells are cut."""
    own, y, residual = np.unique(made.own.nodes), x.copy(), np.zeros_like(x)
    y[own, 0] += way
    _, found = made.pressed(y, made.project(y, None), 1.0, residual)
    forms = made._forms(found, None, y, 1.0)
    told = float(np.sum(forms.weight * forms.laws.psi)), residual[own, 0].sum(), found
    return told


def cuts_that_change(made, x):
    """Return ways before and after changes of how cells are cut: energy, segments, way."""

    def state(way):
        energy, _, found = energy_of(made, x, way)
        return energy, made.meets(found), found.segments, way

    return changes(state, np.linspace(-0.1, 0.1, 31))


def over_ends_of_pieces(made, x):
    """Return those where a turn goes over the end of a piece: two segments more, or less."""
    return [
        (a, b) for a, b in cuts_that_change(made, x) if abs(a[2].cell.size - b[2].cell.size) == 2
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("degree", [2, 3])
def test_the_sum_does_not_jump_where_turns_go_over_ends_of_pieces(degree, seed, monkeypatch):
    """Marks come to be where segments end already; without a turn there the rule changes."""
    made, x = upright(degree, seed)
    born = over_ends_of_pieces(made, x)
    assert born
    for one, other in born:
        assert one[2].turns.any()
        assert other[2].turns.any()
    jumps = [abs(a[0] - b[0]) / abs(a[0]) for a, b in born]
    assert max(jumps) < 1e-8
    monkeypatch.setattr(turns_module, "_BENDS", 3.0)
    without = [abs(a[0] - b[0]) / abs(a[0]) for a, b in cuts_that_change(made, x)]
    assert max(without) > 100.0 * max(jumps)


@pytest.mark.parametrize("degree", [2, 3])
def test_work_of_forces_is_the_change_of_the_energy_over_turns(degree):
    made, x = upright(degree, 0)
    start, far = over_ends_of_pieces(made, x)[0][0][3] - 0.01, 0.02

    def force(part):
        _, pull, found = energy_of(made, x, start + far * part)
        return far * pull, made.meets(found)

    ends = [energy_of(made, x, place)[0] for place in (start, start + far)]
    rule = Rule(force, lambda part: force(part)[1], 1e-12, 2000.0)
    work = rule.integral(force(0.0), force(1.0))
    assert abs(work - (ends[1] - ends[0])) < 3e-10 * abs(ends[0])


@pytest.mark.parametrize("degree", [2, 3])
def test_a_straight_edge_that_stands_upright_has_no_turn(degree):
    """There a . X' is nothing but rounding, or what bends by less than could be told from it."""
    for bend in (0.0, 1e-7, 1e-3):
        made, x = upright(degree, 0, bend=bend, rough=0.0)
        assert not made.project(x, None).segments.turns.any()


def test_a_turn_on_the_end_of_a_cell_is_none():
    """Rounding alone would decide in which of two cells it lies."""
    angle = 0.6 * np.linspace(-1.0, 1.0, 6)
    mine = np.stack([np.cos(angle), 0.7 + np.sin(angle)], axis=1)
    y = np.linspace(2.0, -1.0, 9)
    made, x = made_of(mine, np.stack([y, np.zeros(9)], axis=1), 2)
    for tilt in (0.0, 1e-12, -1e-12):
        moved = x.copy()
        moved[:6, 0] += tilt * moved[:6, 1]
        parts = made.project(moved, None).segments
        assert not parts.turns.any()
    moved[:6, 0] += 0.1 * moved[:6, 1]
    assert made.project(moved, None).segments.turns.any()
