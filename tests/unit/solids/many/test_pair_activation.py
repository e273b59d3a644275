"""Pairs that are activated in a run: the run equals that with pairs named from the start."""

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.errors import StoreError
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1N2,
    Body,
    Boundary,
    Contact,
    ContactAmong,
    Driven,
    Fixed,
    Nearest,
    NeoHookean,
    Program,
    RigidPlane,
    Spring,
    disc,
)
from stiction.solids.conditions import Rigid
from stiction.solids.equilibria.history import energies_at
from stiction.solids.equilibria.problem import Problem
from stiction.solids.many.pair_activation import with_activated_pairs, with_new_passes
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(0.01, 5e-4, adhesive=False)
APART = 2.2


def row(passes="two-half-pass", reach=0.1, law=LAW, count=3, hold=0.5):
    """Discs in a row, the first of which is pushed against the second, and so on to a wall.

    They begin farther apart than the law reaches; springs hold each.
    """
    centres = [(APART * k, 0.03 * (k % 2)) for k in range(count)]
    bodies = [Body(disc(1.0, (4, 2), 2, at), Q1N2(), NeoHookean(1.0, 0.3)) for at in centres]
    rims = [Boundary(k, "rim") for k in range(count)]
    plane = RigidPlane((APART * (count - 1) + 1.3, 0.0), (-1.0, 0.0))
    wall = Contact(rims[-1], plane, LAW, EA(0.2, 0.0))
    touch = ContactAmong(rims, law, EA(0.3, 0.0), passes=passes, reach=reach)
    push, above = Nearest(0, centres[0]), Nearest(0, (0.0, 0.5))
    held = [Driven(at, 0, Program((0.0, 1.0), (0.0, 1.0))) for at in (push, above)]
    held += [Fixed(push, (1,)), Fixed(Rigid(0))]
    still = Program((0.0,), (0.0,))
    for k, (x, y) in enumerate(centres[1:], start=1):
        held += [Spring(Nearest(k, (x, y)), c, hold, still) for c in (0, 1)]
        held += [Spring(Nearest(k, (x, y + 0.5)), 0, hold, still)]
    readings = Readings(displacement=0, contact=1)
    return st.Solid(bodies, [wall, touch], held, readings=readings, dimensionless=True)


# contacts by virtual work that start one after the other: one pair is active, two are activated
SYSTEMS = {"two-half-pass": {"count": 3}, "mortar": {"count": 4, "hold": 0.15}}


def by_bodies(run, values, axis):
    """Return values of contacts or points, sorted by the bodies that are in contact."""
    sides = run.data["bodies_of_contact"].values
    order = sorted(range(len(sides)), key=lambda i: tuple(sides[i]))
    if axis == "contact":
        return values[..., order]
    contact = run.data["contact_of_point"].values
    return np.concatenate([values[..., contact == i + 1] for i in order], axis=-1)


@pytest.mark.parametrize("passes", ["two-half-pass", "mortar"])
def test_pairs_are_activated_in_a_run(passes):
    """Discs with contacts that start one after the other: as if all pairs were active."""
    given = {"passes": passes, **SYSTEMS[passes]}
    late, early = (row(reach=reach, **given) for reach in (0.1, 0.5))
    count = given["count"]
    assert len(late.assembled().pairs) == 2
    assert len(early.assembled().pairs) == count
    runs = [st.solve(solid, st.solids.Quasistatic(steps=10)) for solid in (late, early)]
    one, other = runs
    assert [x.kind for x in one.determinism.losses] == [x.kind for x in other.determinism.losses]
    # steps were taken again
    assert one.stats["newton_iterations"] > other.stats["newton_iterations"]
    np.testing.assert_array_equal(one.time, other.time)
    sides = one.data["bodies_of_contact"].values.tolist()
    assert sides == [[count, 0], *([k, k + 1] for k in range(1, count))]
    scale = other.energy.scale
    assert other.energy.columns()["friction_heat"][-1] > 1e-6 * scale
    for name in ("stored", "adhesive", "friction_heat", "external_work", "algorithmic"):
        a, b = (run.energy.columns()[name] for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * scale)
    heats = [by_bodies(run, run.energy.friction_heat, "contact") for run in runs]
    np.testing.assert_allclose(*heats, rtol=1e-12, atol=1e-12 * scale)
    for name in ("displacement", "force_x", "force_y", "contact_length", "drawn_position"):
        a, b = (run.data[name].values for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    for name in ("normal_traction", "tangential_traction", "slides"):
        a, b = (by_bodies(run, run.data[name].values, "point") for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    # inactive pairs are far apart
    gaps = [by_bodies(run, run.data["gap"].values, "point") for run in runs]
    known = np.isfinite(gaps[0])
    assert not known[0].all()
    np.testing.assert_allclose(gaps[0][known], gaps[1][known], rtol=1e-12, atol=1e-12)
    touching = by_bodies(other, other.data["normal_traction"].values, "point") != 0.0
    assert known[touching].all()
    for run in runs:
        check = next(c for c in run.audit.checks if c.check == "every_pair_found")
        assert check.ok


def test_a_resumed_run_has_its_activated_pairs():
    """From a checkpoint before, between and after pairs are activated: the same bits."""
    solid, method = row("mortar", **SYSTEMS["mortar"]), st.solids.Quasistatic(steps=10)
    saved = Memory()
    whole = st.solve(solid, method, checkpoint=saved)
    activated = [len(page["joined"]) for page in saved.pages]
    assert activated[0] == 0
    assert activated[-1] == 2
    places = [activated.index(n) for n in (0, 1, 2)]
    for at in places:
        again = st.solve(solid, method, checkpoint=Memory(saved.pages[at], turn=0))
        for name in whole.data:
            np.testing.assert_array_equal(again.data[name], whole.data[name])
        assert again.energy.columns().keys() == whole.energy.columns().keys()
        for name, values in whole.energy.columns().items():
            np.testing.assert_array_equal(again.energy.columns()[name], values)
    page = dict(saved.pages[places[1]])
    for wrong in ([[0, 1, 1]], [[1, 0, 2]], [[0, 0, 1]], [[0, 2, 9]]):
        page["joined"] = np.array(wrong)
        with pytest.raises(StoreError, match="joined"):
            st.solve(solid, method, checkpoint=Memory(page, turn=0))


def test_activation_counts_the_energy_of_the_tail():
    """The energy of a pair at its activation counts as work: the ledger closes."""
    law = LennardJones.from_strength(0.01, 5e-4)
    problem = Problem(row("mortar", 0.02, law).assembled())
    state = problem.start(0.0)
    trial, _ = problem.evaluate(state, state.u, 0.0, None, False)
    energy, known = energies_at(problem, trial, 0.0), len(problem.passes)
    problem.add_contacts(with_activated_pairs(problem.assembled, [(0, 1, 2)]))
    assert len(problem.passes) == known + 1
    state, more, after = with_new_passes(problem, state, trial, energy)
    assert len(state.histories) == len(state.closest_points) == len(more.point_values) == known + 1
    assert after.heat == (*energy.heat, 0.0)
    stored = after.adhesive - energy.adhesive
    assert stored == pytest.approx(problem.stored(more)[1] - energy.adhesive, rel=1e-12)
    # 1.3 r0 beyond equilibrium the law has a few per cent of its energy
    assert stored < -1e-3 * 5e-4
    assert after.work - energy.work == stored
    # the records of supports contain the forces of the pair
    pulled = (more.residual - trial.residual).reshape(problem.size, -1)
    assert np.abs(pulled).max() > 0.0
    np.testing.assert_allclose(pulled.sum(axis=0), 0.0, atol=1e-16)


def test_thrown_discs_collide():
    """Pairs are activated in motion: a disc leaves its neighbour and collides with the next one."""
    law = LennardJones.from_strength(0.02, 1e-3, adhesive=False)
    runs = []
    for reach in (0.1, 0.6):
        mesh = disc(1.0, (2, 2), 2)
        bodies = [Body(mesh.moved((2.4 * k, 0.0)), Q1N2(), NeoHookean()) for k in range(3)]
        touch = ContactAmong(
            [Boundary(k, "rim") for k in range(3)], law, passes="mortar", reach=reach
        )
        rest = st.Solid(bodies, [touch], dimensionless=True)
        assert len(rest.assembled().pairs) == (1 if reach < 0.4 else 2)
        moving = st.solids.MovingSolid(rest, velocity=[(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)])
        runs.append(st.solve(moving, st.solids.GeneralisedAlpha(steps=12), (0.0, 0.8)))
    one, other = runs
    assert len(one.data["bodies_of_contact"]) == 2
    for name in ("kinetic", "stored", "algorithmic"):
        a, b = (run.energy.columns()[name] for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * other.energy.scale)
    gap = one.data["gap"].values[:, one.data["contact_of_point"].values == 2]
    assert np.isinf(gap[0]).all()
    assert one.data["normal_traction"].values[-1].max() > 0.0
