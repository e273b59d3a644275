"""Dashpots between surfaces: action and reaction, no gain, tangents, and the fading with gaps."""

import numpy as np
import pytest

import stiction as st
from stiction.laws import Frictionless, LennardJones
from stiction.solids import Q1N2, Body, Boundary, Contact, Fixed, NeoHookean, RigidPlane, rectangle
from stiction.solids.dynamics.interface import dashpots, intensity
from stiction.solids.dynamics.model import MovingSolid
from stiction.solids.dynamics.problem import MovingProblem

LAW = LennardJones.from_strength(0.05, 0.01)


def problem(partner="rigid", law=LAW, gap=1.0):
    """A block on a plane, or on another block."""
    body = Body(rectangle(2.0, 1.0, (4, 2), (0.0, gap * law.gap_eq)), Q1N2(), NeoHookean(1.0, 0.3))
    bodies, other = [body], RigidPlane()
    if partner != "rigid":
        low = rectangle(3.0, 1.0, (5, 2), (-0.5, -1.0))
        bodies, other = [body, Body(low, Q1N2(), NeoHookean(1.0, 0.3))], Boundary(1, "top")
    contact = Contact(Boundary(0, "bottom"), other, law, Frictionless())
    held = [Fixed(Boundary(0, "top"))]
    solid = st.Solid(bodies, [contact], held, dimensionless=True)
    return MovingProblem(MovingSolid(solid, normal_viscosity=2.0, tangential_viscosity=0.7), False)


def at_random(made, seed, size=0.02):
    rng = np.random.default_rng(seed)
    u = size * rng.standard_normal((made.size, 2))
    state = made.start(0.0)
    trial, _ = made.evaluate(state, u, 0.0, None, data=False)
    return state, u, trial, rng.standard_normal((made.size, 2))


def test_intensity_falls_with_the_gap():
    p = problem().passes[0]
    gap = np.linspace(0.5, 20.0, 400) * LAW.gap_eq
    left, slope = intensity(p, gap)
    assert np.all(left[gap <= LAW.gap_eq] == 1.0)
    assert np.all(np.diff(left) <= 0.0)
    assert 0.0 < left[-1] < 0.01  # reason: the tail of the law falls as 1/g^2
    h = 1e-6 * LAW.gap_eq
    high, low = (intensity(p, gap + s * h)[0] for s in (1, -1))
    beyond = gap > 1.001 * LAW.gap_eq
    assert np.allclose(((high - low) / (2 * h))[beyond], slope[beyond], rtol=1e-6, atol=1e-9)
    assert intensity(p, np.array([np.inf]))[0] == 0.0


def test_without_tension_nothing_is_left_beyond_contact():
    law = LennardJones.from_strength(0.05, 0.01, adhesive=False)
    left, _ = intensity(problem(law=law).passes[0], np.array([0.9, 1.1]) * law.gap_eq)
    assert left.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("partner", ["rigid", "body"])
def test_action_equals_reaction_and_nothing_is_gained(partner):
    made = problem(partner)
    for seed in range(20):
        _, _, trial, v = at_random(made, seed)
        pots = made.dashpots(trial)
        total = sum(pot.forces(v) for pot in pots)
        assert np.abs(total.sum(axis=0)).max() <= 1e-13 * np.abs(total).max()
        lost = made.damping_power(pots, v)
        assert lost >= 0.0
        assert float(np.sum(total * v)) == pytest.approx(lost, rel=1e-12)
        # bodies that move together feel nothing
        rigid = np.tile(v[:1], (made.size, 1))
        assert np.abs(sum(pot.forces(rigid) for pot in pots)).max() <= 1e-13


def test_tangent_against_differences():
    """On a flat partner the tangent holds to rounding of the differences."""
    made = problem()
    for seed in range(5):
        state, u, trial, v = at_random(made, seed)
        along = np.random.default_rng(seed + 99).standard_normal((made.size, 2))
        by_rate, h = 3.0, 1e-6

        def force(s, u=u, v=v, along=along, state=state):
            moved, _ = made.evaluate(state, u + s * along, 0.0, None, data=False)
            return sum(p.forces(v + s * by_rate * along) for p in made.dashpots(moved))  # noqa: B023

        p, out, found = made.passes[0], trial.point_values[0], trial.closest_points[0]
        pot = dashpots(p, out, found, made.positions(u), 2.0, 0.7)
        result = (pot.tangent(v, by_rate) @ along.ravel()).reshape(v.shape)
        measured = (force(h) - force(-h)) / (2.0 * h)
        assert np.abs(result - measured).max() <= 1e-7 * np.abs(result).max()
