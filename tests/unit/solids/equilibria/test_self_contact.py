"""A body that touches itself: two parts of one boundary, by virtual work."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import LennardJones
from stiction.solids import (
    Q1,
    Q1N2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    Mesh,
    Nearest,
    NeoHookean,
    Program,
    Readings,
    Rigid,
    RigidPlane,
    SweptBody,
    block,
    merged,
)
from stiction.solids.elements.kinds import kinds_of
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem

LEG, INNER, HIGH = 5.0, 0.6, 1.0


def folded(squeeze, slide, named=True, mirrored=False):
    """A strip folded about a half circle; its ends are squeezed together, and moved apart along.

    Its legs are two boundaries, or the whole inner side is one that touches itself. `mirrored` is
    the picture in a mirror, which is counted from the other leg.
    """
    bend = np.pi * (INNER + 0.5 * HIGH)
    long = 2.0 * LEG + bend

    def place(s, t):
        direction, r = (1.0 - s if mirrored else s) * long, INNER + HIGH * t
        # along the lower leg to the left, round the bend, and back along the upper leg
        bent = np.clip((direction - LEG) / bend, 0.0, 1.0) * np.pi
        along = np.where(
            direction < LEG,
            LEG - direction,
            np.where(direction > LEG + bend, direction - LEG - bend, 0.0),
        )
        x = along - r * np.sin(bent)
        return -x if mirrored else x, -r * np.cos(bent)

    mesh = block(place, (40, 2))
    # the inner side in three parts: legs that may touch, and the bend between them
    legs = round(40 * LEG / long) - 1
    inner = mesh.split("bottom", legs, "low", "rest").split("rest", 40 - 2 * legs, "bend", "high")
    law = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
    sides = Boundary(0, "low"), Boundary(0, "high")
    if not named:
        inner, sides = mesh, (Boundary(0, "bottom"), Boundary(0, "bottom"))
    contact = Contact(*sides, law, st.EA(0.3, 0.0), passes="mortar")
    x = -LEG if mirrored else LEG
    held = []
    for side, direction in ((-1.0, 1.0), (1.0, -1.0)):
        end = Nearest(0, (x, side * (INNER + HIGH)))
        held.append(Driven(end, 1, Program((0.0, 1.0), (0.0, direction * squeeze))))
        along = direction * slide * (-1.0 if mirrored else 1.0)
        held.append(Driven(end, 0, Program((0.0, 0.7, 1.0), (0.0, 0.0, along))))
    body = Body(inner, Q1(), NeoHookean(1.0, 0.3))
    return st.Solid([body], [contact], held, dimensionless=True)


def test_legs_of_a_fold_press(monkeypatch):
    """Action is reaction, moments balance, and the ledger closes."""
    states, add = [], Recorder.add

    def saved(self, state, trial, *given, **named):
        states.append((state, trial))
        add(self, state, trial, *given, **named)

    monkeypatch.setattr(Recorder, "add", saved)
    solid = folded(0.68, 0.1)
    run = st.solve(solid, st.solids.Quasistatic(steps=15))
    problem = Problem(solid.assembled())
    largest, total, moment = 0.0, 0.0, 0.0
    for state, trial in states:
        f, x = trial.residual - trial.internal, problem.positions(state.u)
        largest = max(largest, float(np.abs(f).sum()))
        total = max(total, float(np.abs(f.sum(axis=0)).max()))
        moment = max(moment, abs(float(np.sum(x[:, 0] * f[:, 1] - x[:, 1] * f[:, 0]))))
    assert largest > 1e-3
    assert total <= 1e-13 * largest
    assert moment <= 1e-13 * largest * LEG
    assert run.energy.imbalance_rel <= 1e-6
    assert run.energy.columns()["friction_heat"][-1] > 0.0
    balance = next(c for c in run.audit.checks if c.check == "two_half_pass_balance")
    assert balance.value <= 1e-12


def closing(solid):
    """Return equations and displacements that bring the tips of a fold together."""
    problem = Problem(solid.assembled())
    weight = np.clip(problem.points[:, 0] / LEG, 0.0, 1.0)
    u = np.zeros_like(problem.points)
    u[:, 1] = -np.sign(problem.points[:, 1]) * weight * (INNER - 0.01)
    return problem, u


def test_one_boundary_is_as_two():
    """Energy and forces are means of those of two named boundaries, each met by the other."""
    found = []
    for solid in (folded(0.6, 0.0), folded(0.6, 0.0, named=False)):
        first, second = solid.contacts[0].boundary, solid.contacts[0].partner
        directions = [(first, second), (second, first)]
        for sides in directions[: 2 if first != second else 1]:
            contact = Contact(*sides, solid.contacts[0].adhesion, passes="mortar")
            held = list(solid.boundary_conditions)
            problem, u = closing(st.Solid(list(solid.bodies), [contact], held, dimensionless=True))
            trial, _ = problem.evaluate(problem.start(0.0), u, 0.0, None, False)
            found.append((problem.stored(trial)[1], trial.residual - trial.internal))
    (energy, force), (other, against), (alone, own) = found
    assert alone > 1e-5
    np.testing.assert_allclose([energy, other], alone, rtol=1e-12)
    largest = np.abs(own).max()
    np.testing.assert_allclose(0.5 * (force + against), own, atol=1e-12 * largest)
    # one way alone has a master: the other differs by what the mesh resolves
    assert np.abs(force - own).max() > 1e-3 * largest


def test_a_whole_run_is_as_both_ways_by_half(monkeypatch):
    """Where the bend cannot touch: two named legs that meet both ways, each by half of the law.

    One way alone has a master: it stores .7 % more, and nothing slides.
    """
    # two contacts of one pair of boundaries are refused, as each would count whole
    monkeypatch.setattr("stiction.solids.model.check_partners", lambda contacts: None)
    alone = folded(0.64, 0.05, named=False)
    one = folded(0.64, 0.05)
    (contact,) = one.contacts
    law = contact.adhesion
    half = dataclasses.replace(
        contact, adhesion=LennardJones(0.5 * law.hamaker, law.r0, None, False)
    )
    other = dataclasses.replace(half, boundary=half.partner, partner=half.boundary)
    both = dataclasses.replace(one, contacts=[half, other])
    runs = [st.solve(solid, st.solids.Quasistatic(steps=4)) for solid in (alone, both, one)]
    found = [run.energy.columns() for run in runs]
    scale = runs[0].energy.scale
    for name in ("stored", "adhesive", "friction_heat", "external_work"):
        np.testing.assert_allclose(found[0][name], found[1][name], atol=1e-10 * scale)
    assert found[0]["friction_heat"][-1] > 1e-2 * scale
    assert np.abs(found[0]["stored"] - found[2]["stored"]).max() > 1e-3 * scale


def pressed(turn, scale=1.0):
    """Return the energy, forces and places of a fold that touches itself, turned and scaled."""
    solid = folded(0.6, 0.0, named=False)
    problem, u = closing(solid)
    direction = scale * np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    body, contact = solid.bodies[0], solid.contacts[0]
    mesh = dataclasses.replace(body.mesh, points=body.mesh.points @ direction)
    law = LennardJones.from_strength(0.05, 2e-3 * scale, adhesive=False)
    same = Contact(contact.boundary, contact.partner, law, st.EA(0.3, 0.0), passes="mortar")
    bodies = [Body(mesh, body.element, body.material)]
    problem = Problem(st.Solid(bodies, [same], [], dimensionless=True).assembled())
    u = u @ direction
    trial, _ = problem.evaluate(problem.start(0.0), u, 0.0, None, False)
    return (
        problem.stored(trial)[1],
        trial.residual - trial.internal,
        problem.positions(u),
        direction,
    )


@pytest.mark.parametrize(("turn", "scale"), [(0.0, 1.0), (0.7, 1.0), (-2.1, 1e-6), (1.3, 1e3)])
def test_frame_and_unit_of_one_boundary(turn, scale):
    """Forces turn with the body and balance, with their moments."""
    energy, force, _, _ = pressed(0.0)
    other, against, x, direction = pressed(turn, scale)
    largest = np.abs(force).max()
    np.testing.assert_allclose(other, energy * scale**2, rtol=1e-9)
    np.testing.assert_allclose(against, force @ direction, atol=1e-9 * largest * scale)
    size = np.abs(against).sum()
    assert np.abs(against.sum(axis=0)).max() <= 1e-13 * size
    moment = np.sum(x[:, 0] * against[:, 1] - x[:, 1] * against[:, 0])
    assert abs(moment) <= 1e-13 * size * LEG * scale


def test_tangents_of_one_boundary():
    """Against differences, with friction, a little beside the states of symmetry."""
    problem, u = closing(folded(0.6, 0.0, named=False))
    start = problem.start(0.0)
    trial, _ = problem.evaluate(start, u, 0.1, None, False)
    state = problem.accepted(start, trial, 0.1)
    rng = np.random.default_rng(3)
    u = u + 1e-3 * rng.standard_normal(u.shape)
    direction = rng.standard_normal(u.shape)
    _, tangent = problem.evaluate(state, u, 0.2, None, True)
    step = 1e-6
    ends = [problem.evaluate(state, u + s * step * direction, 0.2, None, False)[0] for s in (-1, 1)]
    rate = (ends[1].residual - ends[0].residual) / (2.0 * step)
    found = (tangent @ direction.ravel()).reshape(direction.shape)
    contact = np.abs(ends[0].residual - ends[0].internal).max()
    assert contact > 1e-4
    assert np.abs(found - rate).max() < 1e-7 * np.abs(rate).max()


def test_where_a_boundary_is_counted_from_does_not_matter():
    """A fold and its picture in a mirror, counted from the other leg; the ledger to 1e-10."""
    method = st.solids.Quasistatic(steps=4, work_tolerance=1e-10)
    runs = [
        st.solve(folded(0.64, 0.05, named=False, mirrored=mirrored), method)
        for mirrored in (False, True)
    ]
    for run in runs:
        assert run.energy.imbalance_rel <= 1e-10
        assert run.energy.columns()["friction_heat"][-1] > 0.0
    for name in ("stored", "adhesive", "friction_heat", "external_work"):
        one, other = (run.energy.columns()[name] for run in runs)
        np.testing.assert_allclose(one, other, atol=1e-9 * runs[0].energy.scale)


OUTER = 1.25


def ring(begin, cells=(16, 2)):
    """A ring of two halves; its inner side is one closed boundary, which begins at an angle."""
    halves = []
    for half in (0, 1):

        def place(s, t, half=half):
            angle, r = -np.pi * (s + half + begin), 1.0 + (OUTER - 1.0) * t
            return r * np.cos(angle), r * np.sin(angle)

        halves.append(block(place, (cells[0] // 2, cells[1])))
    whole, shift = merged(halves), [halves[0].cells.shape[0], 0]
    inner = [half.boundaries["bottom"] for half in halves]
    outer = [half.boundaries["top"] for half in halves]
    sides = {
        "inner": np.concatenate([inner[0], inner[1] + shift]),
        "outer": np.concatenate([outer[1] + shift, outer[0]]),
    }
    return Mesh(whole.points, whole.cells, sides)


def squeezed(begin, squeeze, element):
    """The ring between two rigid plates."""
    law = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
    level = OUTER + law.gap_eq
    inner, outer = Boundary(0, "inner"), Boundary(0, "outer")
    contacts = [
        Contact(inner, inner, law, st.EA(0.2, 0.0), passes="mortar"),
        Contact(outer, RigidPlane((0.0, -level), (0.0, 1.0)), law),
        Contact(outer, RigidPlane((0.0, level), (0.0, -1.0)), law),
    ]
    held = [
        Fixed(Rigid(1)),
        Fixed(Rigid(2), (0,)),
        Driven(Rigid(2), 1, Program((0.0, 1.0), (0.0, -squeeze))),
        *(Fixed(Nearest(0, (0.0, direction * OUTER)), (0,)) for direction in (-1.0, 1.0)),
    ]
    body = Body(ring(begin), element, NeoHookean(1.0, 0.3))
    readings = Readings(displacement=2, contact=2)
    return st.Solid([body], contacts, held, readings=readings, dimensionless=True)


@pytest.mark.parametrize("element", [Q1N2(), Q1()], ids=["Q1N2", "Q1"])
def test_a_ring_closes_on_itself(element):
    """Wherever its boundaries begin: beside the contact, or in the middle of it."""
    solids = [squeezed(begin, 1.9, element) for begin in (0.0, 0.5)]
    runs = [st.solve(solid, st.solids.Quasistatic(steps=5)) for solid in solids]
    for run in runs:
        assert run.energy.imbalance_rel < 1e-6
        values = {check.check: check.value for check in run.audit.checks}
        assert values["two_half_pass_balance"] == 0.0
    for name in ("stored", "adhesive", "friction_heat"):
        one, other = (run.energy.columns()[name] for run in runs)
        # reason: cells in which the coordinate begins anew are not cut, which heat sees at corners
        near = 1e-5 if name == "friction_heat" else 1e-7
        np.testing.assert_allclose(one, other, near, 1e-9 * runs[0].energy.scale)
    # the inner side presses, and the circle at the start met nothing
    count = Problem(solids[0].assembled()).passes[0].count
    gap, pressure = (runs[0].data[name].values[:, :count] for name in ("gap", "normal_traction"))
    assert np.isinf(gap[0]).all()
    assert pressure[-1].max() > 0.0


def test_two_half_pass_contact_of_one_boundary_is_refused():
    body = Body(ring(0.0), Q1(), NeoHookean(1.0, 0.3))
    with pytest.raises(ModelError, match=r"Contact\.passes.*'inner' of body 0 as its own partner"):
        st.Solid([body], [Contact(Boundary(0, "inner"), Boundary(0, "inner"))])


def test_short_boundaries_and_arcs_do_not_close():
    """Four edges are the least, and rational arcs have ends."""
    points = np.array([[0, 0], [3, 0], [3, 3], [0, 3], [1, 1], [2, 1], [2, 2], [1, 2]], dtype=float)
    cells = np.array([[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])
    hole = {"hole": np.array([[0, 2], [3, 2], [2, 2], [1, 2]])}
    assert Mesh(points, cells, hole).closes("hole")
    with pytest.raises(ModelError, match="a chain that closes"):
        Mesh(points, cells, hole).chain("hole")
    with pytest.raises(ModelError, match="exact_arc on a closed boundary"):
        kinds_of(ring(0.0), Q1N2(exact_arc=True), ("inner",))
    with pytest.raises(ModelError, match="a chain that closes"):
        SweptBody(ring(0.0), (0.0, 1.0), Q1()).swept(("inner",))
