"""Contact of two bodies by virtual work: tangents, balance, conservation, patch tests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import spsolve
from solid_cases import ELEMENTS, curve, evaluate, held_at, jacobian

from stiction.errors import ModelError
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import RationalBoundary, locate
from stiction.solids.contact.model import Contact, History
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.contact.virtual_work import MortarPass
from stiction.solids.equilibria.problem import Problem
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import block, rectangle
from stiction.solids.model import Assembled, Body

LAW = LennardJones(1.0, 0.3)
FRICTION = {
    "none": Frictionless(),
    "DI": DI(0.5, 1.0, 20.0),
    "EA": EA(0.5, 1.0),
    "EA half": EA(0.8, 0.5),
}


def one_pass(friction, degree, rational, seed, bend=0.0, **settings):
    """Return a mortar pass over a rough boundary, the places of all nodes, and a history."""
    random = np.random.default_rng(seed)
    count, there = {1: 5, 2: 6, 3: 8}[degree], {1: 6, 2: 7, 3: 8}[degree]
    x, y = np.linspace(0.0, 4.0, count), np.linspace(4.6, -0.6, there)
    mine = np.stack([x, 1.0 + bend * x * (4.0 - x) + 0.04 * random.standard_normal(count)], 1)
    other = np.stack([y, 0.83 + bend * y * (4.0 - y) + 0.04 * random.standard_normal(there)], 1)
    weights = 1.0 + 0.3 * random.random(there) if rational else None
    points = np.concatenate([mine, other])
    pair = curve(mine, degree), curve(other, degree, first=count, weights=weights)
    contact = Contact(
        Boundary(0, "a"), Boundary(1, "b"), LAW, friction, penalty=30.0, passes="mortar", **settings
    )
    contact_pass = MortarPass(contact, *pair, points)
    x = points + 0.02 * random.standard_normal(points.shape)
    origin = evaluate(contact_pass, x, contact_pass.project(x, None), contact_pass.empty_history())[
        1
    ][:, k.ORIGIN]
    known = np.isfinite(origin)
    far = random.uniform(-1.3, 1.3, origin.size) * (random.random(origin.size) < 0.6)
    moved = np.where(known, origin + far + 0.001 * random.standard_normal(origin.size), 0.0)
    return contact_pass, x, History(moved[:, None], known, random.random(origin.size) < 0.5)


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, False), (2, True), (3, False)])
@pytest.mark.parametrize("name", sorted(FRICTION))
def test_tangents_against_differences(name, degree, rational):
    met = set()
    for seed, settings in ((11, {}), (21, {"stick_ratio": 1.3})):
        contact_pass, x, history = one_pass(
            FRICTION[name], degree, rational, seed, 0.05, **settings
        )
        closest = contact_pass.project(x, None)
        values = np.zeros(contact_pass.block_shape(closest))
        _, out = evaluate(contact_pass, x, closest, history, values=values)
        states = held_at(out)
        rows, columns = contact_pass.blocks(closest, history)
        dense = np.zeros((x.size, x.size))
        for q in range(values.shape[0]):
            r = (rows[q][:, None] * 2 + np.arange(2)).ravel()
            c = (columns[q][:, None] * 2 + np.arange(2)).ravel()
            np.add.at(dense, (r[:, None], c[None, :]), values[q])

        def forces(y, contact_pass=contact_pass, closest=closest, history=history, states=states):
            return evaluate(contact_pass, y, contact_pass.project(y, closest), history, states)[0]

        error = np.abs(jacobian(forces, x, 1e-5) - dense).max()
        assert error < 1e-7 * np.abs(dense).max()
        if name == "none":
            assert np.abs(dense - dense.T).max() < 1e-12 * np.abs(dense).max()
        met.update(out[:, k.STATE])
        away = locate(history.origin.T, contact_pass.partner.knots)[0] != closest.element
        met.update(["across"] if (away & (out[:, k.STATE] > 0.0)).any() else [])
    if name != "none":
        assert {k.STICKS, k.SLIDES, "across"} <= met


def test_forces_follow_from_the_energy():
    """Without slip, forces are the gradient of potential and springs: they conserve energy."""
    for name in ("none", "EA"):
        contact_pass, x, history = one_pass(FRICTION[name], 2, True, 31, 0.1)
        closest = contact_pass.project(x, None)
        stuck = np.where(history.has_origin, 0, -1)

        def energy(y, contact_pass=contact_pass, history=history, stuck=stuck, closest=closest):
            out = evaluate(contact_pass, y, contact_pass.project(y, closest), history, stuck)[1]
            return out[:, k.POTENTIAL].sum() + out[:, k.SPRING].sum()

        residual, out = evaluate(contact_pass, x, closest, history, stuck)
        slope = jacobian(energy, x, 1e-5).reshape(x.shape)
        assert np.abs(slope - residual).max() < 1e-8 * np.abs(residual).max()
        assert (out[:, k.SPRING].sum() > 0.0) == (name != "none")


@pytest.mark.parametrize("name", sorted(FRICTION))
@pytest.mark.parametrize("bend", [0.0, 0.1, 0.3])
def test_forces_and_moments_balance(name, bend):
    """On any curves and meshes, in any state: action is reaction, and no couple is left."""
    for seed in range(8):
        contact_pass, x, history = one_pass(FRICTION[name], (1, 2, 3)[seed % 3], False, seed, bend)
        residual, out = evaluate(contact_pass, x, contact_pass.project(x, None), history)
        scale = np.abs(out[:, [k.FORCE_X, k.FORCE_Y]]).sum()
        assert np.abs(residual.sum(axis=0)).max() < 1e-12 * scale
        moment = (x[:, 0] * residual[:, 1] - x[:, 1] * residual[:, 0]).sum()
        assert abs(moment) < 1e-12 * scale
        own = residual[
            : x.shape[0] - contact_pass.reference.shape[0] + contact_pass.own.nodes.max() + 1
        ]
        mine = -own.sum(axis=0)
        assert_allclose(out[:, [k.FORCE_X, k.FORCE_Y]].sum(axis=0), mine, atol=1e-12 * scale)


def test_third_derivatives():
    random = np.random.default_rng(2)
    for degree, count in ((1, 5), (2, 6), (3, 8)):
        x = random.standard_normal((count, 2))
        surface = curve(
            x, degree, weights=1.0 + 0.3 * random.random(count) if degree == 2 else None
        )
        boundary, e, step = RationalBoundary(surface), np.array([1]), 1e-3
        near = [boundary.points(e, np.array([[0.2 + s * step]]), x)[1][2] for s in (-2, -1, 1, 2)]
        slope = (near[0] - near[3] + 8.0 * (near[2] - near[1])) / (12.0 * step)
        assert_allclose(boundary.third(e, np.array([[0.2]]), x), slope, atol=1e-8)


def test_bad_passes_are_refused():
    with pytest.raises(ModelError, match="passes"):
        Contact(passes="both")
    with pytest.raises(ModelError, match="passes"):
        Contact(Boundary(0, "bottom"), RigidPlane(), passes="mortar")


# ---------------------------------------------------------------- patch tests


def pair(meshes, moduli, element, passes, law=LAW, poisson=0.0, exchange=False):
    bodies = [
        Body(mesh, ELEMENTS[element](), NeoHookean(e, poisson))
        for mesh, e in zip(meshes, moduli, strict=True)
    ]
    sides = [Boundary(0, "bottom"), Boundary(1, "top")][:: -1 if exchange else 1]
    contact = Contact(*sides, law, passes=passes)
    return Problem(Assembled(bodies, [contact]))


def balanced(problem, fixed, values, start=0.0):
    """Return the trial in balance with some displacements prescribed."""
    state, free = problem.start(0.0), np.flatnonzero(~fixed.ravel())
    u = np.where(fixed, values, start)
    for _ in range(25):
        trial, matrix = problem.evaluate(state, u, 0.0, None, data=True)
        assert trial.inverted == 0
        rest = trial.residual.ravel()[free]
        if np.abs(rest).max() < 1e-13:
            return trial
        u = u.copy()
        u.flat[free] -= spsolve(matrix[free][:, free].tocsc(), rest)
    raise AssertionError(np.abs(rest).max())


def turned(mesh, angle):
    c, s = np.cos(angle), np.sin(angle)
    return type(mesh)(mesh.points @ np.array([[c, s], [-s, c]]), mesh.cells, mesh.boundaries)


@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_patch_across_nonmatching_meshes(element, angle):
    """Blocks of 1:4 in stiffness pressed together: one pressure at every point, tilted or not."""
    gap = LAW.gap_eq
    upper = turned(rectangle(2.0, 0.6, (5, 2), (0.0, gap)), angle)
    lower = turned(rectangle(2.0, 0.5, (7, 2), (0.0, -0.5)), angle)
    problem = pair((upper, lower), (20.0, 80.0), element, "mortar")
    fixed = np.zeros(problem.points.shape, dtype=bool)
    values = np.zeros(problem.points.shape)
    direction = np.array([np.sin(angle), -np.cos(angle)]) * 0.05
    top = problem.nodes_of(Boundary(0, "top"))
    fixed[top], values[top] = True, direction
    fixed[problem.nodes_of(Boundary(1, "bottom"))] = True
    out = balanced(problem, fixed, values).point_values[0]
    pressure = out[:, k.PRESSURE]
    assert pressure.min() > 0.2
    assert np.ptp(pressure) < 1e-10 * pressure.mean()


@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("angle", [0.0, 0.7])
@pytest.mark.parametrize("exchange", [False, True])
def test_patch_after_sliding(element, angle, exchange):
    """Blocks that slid by a third of an element and by more still carry one pressure."""
    c, s = np.cos(angle), np.sin(angle)
    for slide in (0.4 / 3.0, -0.71):
        upper = turned(rectangle(2.0, 0.6, (5, 2), (-slide, LAW.gap_eq)), angle)
        lower = turned(rectangle(2.0, 0.5, (7, 2), (0.0, -0.5)), angle)
        problem = pair((upper, lower), (20.0, 80.0), element, "mortar", exchange=exchange)
        fixed = np.zeros(problem.points.shape, dtype=bool)
        start = np.zeros(problem.points.shape)
        start[: problem.parts[0].points.shape[0]] = slide * np.array([c, s])
        top = problem.nodes_of(Boundary(0, "top"))
        values = start.copy()
        values[top] += np.array([s, -c]) * 0.05
        fixed[top], fixed[problem.nodes_of(Boundary(1, "bottom"))] = True, True
        pressure = balanced(problem, fixed, values, start).point_values[0][:, k.PRESSURE]
        assert pressure.min() > 0.2
        assert np.ptp(pressure) < 1e-12 * pressure.mean()


def arcs(cells):
    """Return two quarter rings, one in the other, on meshes that do not fit."""
    gap = LAW.gap_eq

    def ring(inner, outer):
        def mapping(s, t):
            r, angle = inner + (outer - inner) * t, 0.5 * np.pi * (1.0 - s)
            return r * np.cos(angle), r * np.sin(angle)

        return mapping

    return (
        block(ring(4.0 + gap, 5.0), (cells, max(2, cells // 4))),
        block(ring(3.0, 4.0), (cells + 3, max(2, cells // 4))),
    )


@pytest.mark.parametrize("element", ["Q1N2", "Q2"])
def test_patch_across_arcs(element):
    """Rings pressed together by their outer rim: one pressure, to the fourth order at least.

    Boundaries of Q2 have corners: what lies before a corner meets the corner itself.
    """
    spread = []
    for cells in (8, 32):
        problem = pair(arcs(cells), (20.0, 60.0), element, "mortar", poisson=0.3)
        x = problem.points
        fixed, values = np.abs(x) < 1e-9, np.zeros(x.shape)
        rim = problem.nodes_of(Boundary(0, "top"))
        fixed[rim] = True
        values[rim] = -0.02 * x[rim] / np.linalg.norm(x[rim], axis=1)[:, None]
        pressure = balanced(problem, fixed, values).point_values[0][:, k.PRESSURE]
        spread.append(np.ptp(pressure) / pressure.mean())
    assert spread[1] < 1e-3
    assert spread[1] < 0.02 * spread[0]


@pytest.mark.parametrize("other", [[(4, -1), (2, 0), (0, -1.1)], [(2, 0), (0, -0.1), (-1, 0)]])
def test_corners_and_ends_are_closest_points(other):
    """Points before a corner or an end of the partner: the distance, its force and its tangent."""
    mine = np.stack([np.linspace(1.0, 3.0, 6), np.full(6, 0.2)], axis=1)
    other = np.array(other, dtype=float)
    corner_place = other[other[:, 0] == 2.0][0]
    points = np.concatenate([mine, other])
    contact = Contact(Boundary(0, "a"), Boundary(1, "b"), LAW, passes="mortar")
    contact_pass = MortarPass(contact, curve(mine, 1), curve(other, 1, first=6), points)
    closest = contact_pass.project(points, None)
    values = np.zeros(contact_pass.block_shape(closest))
    residual, out = evaluate(
        contact_pass, points, closest, contact_pass.empty_history(), values=values
    )
    before = contact_pass._at_corners(closest)
    assert 1 <= before.sum() < contact_pass.count
    corner = closest.pairs.corner
    assert 3 <= corner.sum() < corner.size
    assert_allclose(
        closest.pairs.partner_places[0][:, corner],
        np.tile(corner_place[:, None], (1, corner.sum())),
    )
    away = out[:, [k.X, k.Y]] - corner_place
    assert contact_pass.without_projection(points, closest) == 0
    assert_allclose(out[before, k.GAP], np.linalg.norm(away, axis=1)[before], rtol=1e-13)
    rows, _ = contact_pass.blocks(closest, contact_pass.empty_history())
    dense = np.zeros((points.size, points.size))
    for q in range(values.shape[0]):
        r = (rows[q][:, None] * 2 + np.arange(2)).ravel()
        np.add.at(dense, (r[:, None], r[None, :]), values[q])

    def forces(y):
        return evaluate(
            contact_pass, y, contact_pass.project(y, closest), contact_pass.empty_history()
        )[0]

    assert np.abs(jacobian(forces, points, 1e-6) - dense).max() < 1e-7 * np.abs(dense).max()
    assert_allclose(residual.sum(axis=0), 0.0, atol=1e-14)


def test_energy_closes_over_stick_and_slip():
    """Work of all forces on a path in small steps is what energies and heat account for."""
    contact_pass, x, history = one_pass(FRICTION["EA"], 2, False, 41, 0.1)
    closest = contact_pass.project(x, None)
    history = contact_pass.empty_history()
    random = np.random.default_rng(4)
    direction = 0.1 * random.standard_normal(x.shape)
    direction[:, 0] += np.where(np.arange(x.shape[0]) < 6, 0.4, 0.0)
    errors = []
    for steps in (50, 400):
        past, known, work, heat, lag = None, history, 0.0, 0.0, 0.0
        for s in np.linspace(0.0, 1.0, steps + 1):
            y = x + s * direction
            residual, out = evaluate(contact_pass, y, contact_pass.project(y, closest), known)
            if past is not None:
                work += 0.5 * ((residual + past[0]) * direction / steps).sum()
                heat += out[:, k.HEAT].sum()
                lag += (
                    0.5
                    * (
                        (past[1][:, k.FRICTION_FORCE] - out[:, k.FRICTION_FORCE])
                        * out[:, k.SLIP_STEP]
                    ).sum()
                )
            else:
                first = out
            known, past = contact_pass.committed(out), (residual, out)
        change = sum(out[:, c].sum() - first[:, c].sum() for c in (k.POTENTIAL, k.SPRING))
        errors.append(abs(work - change - heat - lag) / (abs(work) + heat))
    assert heat > 0.1 * abs(work)
    assert errors[1] < 5e-5
    assert errors[1] < 0.25 * errors[0]
