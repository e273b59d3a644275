"""Poisson's law of impact: beside Newton's, Routh's construction, and closed forms of blocks."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.bodies.event_driven.impacts import impact
from stiction.bodies.mechanics import Mechanics

B = st.bodies
G = 9.81
METHODS = [B.EventDriven(), B.TimeStepper(1e-3)]


def poisson(*parts, **others):
    return B.RigidBodies(*parts, **others, impact_law="poisson")


def velocity_after(system):
    """Return what `impact` finds at the contacts that touch at the start, and the velocities."""
    m = Mechanics(system)
    q, v = system.start()
    found = m.surfaces.contacts(m.pose(0.0, q), 1e-9)
    return impact(m, found, v, np.ones(len(found), dtype=bool))


def test_a_disc_without_friction_bounces_as_by_newtons_law():
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 1.1], velocity=[0.3, 0.0])
    make = {"law": st.Coulomb(0.0), "restitution": 0.5}
    system = poisson([ball], [B.Support()], **make)
    run = st.solve(system, B.EventDriven(), (0.0, 2.0), save=2)
    (end,) = run.events[run.events["kind"] == "accumulation"]["time"]
    assert end == pytest.approx(3.0 * math.sqrt(2.0 / G), rel=1e-10)
    assert run.energy.imbalance_rel < 1e-12
    steps = [
        st.solve(s, B.TimeStepper(4e-3), (0.0, 2.0), save=21)
        for s in (system, B.RigidBodies([ball], [B.Support()], **make))
    ]
    for name in ("position", "velocity"):
        places = [run.variables[name].values for run in steps]
        np.testing.assert_allclose(*places, atol=1e-12)
    assert not steps[0].final["velocity_y"].any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("count", "e"), [(3, 1.0), (5, 1.0), (5, 0.5)])
def test_newtons_cradle(method, count, e):
    """In compression all get v / n; the impulses of expansion are e times those of compression."""
    balls = [
        B.RigidBody(B.Disc(0.5), position=[float(k), 0.0], velocity=[float(k == 0), 0.0])
        for k in range(count)
    ]
    system = poisson(balls, gravity=[0.0, 0.0], law=st.Coulomb(0.0), restitution=e)
    run = st.solve(system, method, (0.0, 0.01), save=2)
    exact = np.full(count, (1.0 + e) / count)
    exact[0] -= e
    np.testing.assert_allclose(run.final["velocity_x"], exact, atol=1e-12)
    assert [loss.kind for loss in run.determinism.losses] == ["simultaneous_impacts"]
    lost = 0.5 * (1.0 - (exact**2).sum())
    assert run.energy.impact_loss[-1] == pytest.approx(lost, abs=1e-12)
    assert abs(run.energy.algorithmic[-1]) < 1e-12


def routh(w, u, mu, e):
    """Return impulses of an impact by Routh's construction, and whether slip reverses.

    Friction follows the slip while the normal impulse grows; (1 + e) times the normal impulse at
    the largest compression ends the impact.
    """
    u, r, end, reversed_ = np.array(u), np.zeros(2), math.inf, False
    sign, first = np.sign(u[1]), np.sign(u[1])
    while True:
        if sign == 0.0 and mu * w[1, 1] < abs(w[0, 1]):
            sign = np.sign(w[0, 1])
            reversed_ |= bool(sign == -first)
        step = np.array([1.0, -w[0, 1] / w[1, 1] if sign == 0.0 else -mu * sign])
        rate = w @ step
        # the next of: end of slip, largest compression, end of the impact
        slip = -u[1] / rate[1] if sign * rate[1] < 0.0 else math.inf
        most = -u[0] / rate[0] if end == math.inf and rate[0] > 0.0 else math.inf
        by = min(slip, most, end - r[0])
        r, u = r + by * step, u + by * rate
        if by == end - r[0] + by:
            return r, reversed_
        if by == most:
            end = (1.0 + e) * r[0]
        else:
            sign, u[1] = 0.0, 0.0
        if e == 0.0 and by == most:
            return r, reversed_


def test_a_rod_as_in_rouths_construction():
    """The same impulses where slip does not reverse; no energy is created where it does."""
    rng, counts = np.random.default_rng(8), [0, 0]
    for _ in range(60):
        angle, mu, e = rng.uniform(0.1, 3.0), rng.uniform(0.05, 1.0), rng.uniform(0.0, 1.0)
        rod = B.Polygon([[0.5, 0.0], [0.0, 0.02], [-0.5, 0.0], [0.0, -0.02]])
        body = B.RigidBody(
            rod, position=[0.0, 0.5 * math.sin(angle)], angle=angle,
            velocity=[rng.normal(), -abs(rng.normal())], spin=rng.normal(),
        )  # fmt: skip
        system = poisson([body], [B.Support()], law=st.Coulomb(mu), restitution=e)
        arm = -0.5 * np.array([math.cos(angle), math.sin(angle)])
        v, spin = np.array(body.velocity), body.spin
        u = np.array([v[1] + spin * arm[0], v[0] - spin * arm[1]])
        if u[0] > -0.1:
            continue
        # rows (n, arm x n) and (t, arm x t) with n upwards and t to the right
        rows = np.array([[0.0, 1.0, arm[0]], [1.0, 0.0, -arm[1]]])
        w = rows / [1.0, 1.0, body.moment_of_inertia] @ rows.T
        exact, reversed_ = routh(w, u, mu, e)
        found, _ = velocity_after(system)
        assert found.error < 1e-12
        assert (found.r * (found.before + found.after)).sum() < 1e-12
        np.testing.assert_allclose(found.before[0], u, atol=1e-12)
        counts[reversed_] += 1
        if not reversed_:
            np.testing.assert_allclose(found.r[0], exact, atol=1e-10)
    assert min(counts) >= 3


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_block_that_rocks(e):
    """The corner that hits gets (1 + e) times the normal impulse that stops it, without slip."""
    half = np.array([0.3, 1.0])
    block = B.RigidBody(
        B.Box(*(2.0 * half)), position=[0.0, 1.0], velocity=[-1.0, -0.3], spin=1.0
    )  # fmt: skip
    # it turns about its right corner, at (0.3, -1) from the centre: the left one hits
    v, spin = np.array([-1.0, -0.3]), 1.0
    system = poisson([block], [B.Support()], law=st.Coulomb(9.0), restitution=e)
    found, after = velocity_after(system)
    rows = np.array([[0.0, 1.0, -0.3], [1.0, 0.0, 1.0]])
    inverse = 1.0 / np.array([1.0, 1.0, block.moment_of_inertia])
    w, u = rows * inverse @ rows.T, rows @ np.array([*v, spin])
    compressed = np.linalg.solve(w, -u)
    normal = (1.0 + e) * compressed[0]
    # friction keeps the corner from slipping
    tangential = -(u[1] + w[1, 0] * normal) / w[1, 1]
    exact = np.array([*v, spin]) + inverse * (rows.T @ [normal, tangential])
    np.testing.assert_allclose(after[0], exact, atol=1e-12)
    assert (found.r * (found.before + found.after)).sum() < 0.0
    ratio = 1.0 - 1.5 * 0.3**2 / (half @ half)
    if e == 0.0:
        assert after[0, 2] == pytest.approx(ratio, rel=1e-12)


def test_a_ball_on_a_block_comes_to_rest():
    """Impacts press the block, which rests: the impacts of the ball alone accumulate."""
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.35], mass=0.5)
    block = B.RigidBody(B.Box(0.4, 0.2), position=[0.0, 0.1])
    system = poisson([ball, block], [B.Support()], restitution=0.1)
    run = st.solve(system, B.EventDriven(max_events=60), (0.0, 0.3), save=2)
    assert run.status.ok
    assert run.energy.imbalance_rel < 1e-12
    np.testing.assert_allclose(run.final["y"], [0.3, 0.1], atol=1e-12)
    np.testing.assert_allclose([run.final["velocity_y"], run.final["spin"]], 0.0, atol=1e-14)
    (pair,) = run.events["contact"][run.events["kind"] == "accumulation"]
    impacts = run.events["contact"][run.events["kind"] == "impact"]
    assert pair in set(impacts)
