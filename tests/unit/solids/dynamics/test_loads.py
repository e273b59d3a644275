"""Springs, pressures, turning circles and stages in motion: closed forms and ledgers."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    GeneralisedAlpha,
    LinearElastic,
    MovingSolid,
    NeoHookean,
    Pressure,
    Program,
    Rigid,
    RigidCircle,
    Spring,
    Stage,
    Turned,
    rectangle,
)
from stiction.solids.dynamics.problem import MovingProblem, Step

LAW = LennardJones.from_strength(0.05, 0.01)
SIDES = [Fixed(Boundary(0, side), (1,)) for side in ("bottom", "top")]


def bar(*conditions, stages=()):
    body = Body(rectangle(1.0, 0.1, (4, 1)), Q1(), LinearElastic(1.0, 0.0))
    return st.Solid([body], [], [*SIDES, *conditions], stages=stages, dimensionless=True)


def reported(run):
    """Return the work of all conditions at the end, and the ledger's."""
    assert run.status.ok, run.reason
    assert run.energy.imbalance_rel <= 1e-6
    work = run.variables["condition_work"].values
    assert math.fsum(work[-1]) == pytest.approx(run.energy.external_work[-1], rel=1e-9, abs=1e-15)
    return work


@pytest.mark.parametrize("radius", [0.5, 1.0])
def test_a_stiff_bar_on_a_spring_swings(radius):
    """m u'' + k (u - g) = 0 from rest, the end of the spring displaced at once: 1 - cos."""
    k, mass = 1e-4, 0.1
    far = Program((0.0, 1e-3), (0.0, 0.01))
    spring = Spring(Boundary(0, "left"), 0, k, far)
    method = GeneralisedAlpha(radius, steps=150, tolerance=None)
    end = 2.5 * math.sqrt(mass / k)
    run = st.solve(MovingSolid(bar(spring)), method, (0.0, end))
    work = reported(run)
    total = run.energy.kinetic + run.energy.stored + run.energy.algorithmic
    # the spring's end has done its work before the bar moves
    assert work[-1, -1] == pytest.approx(0.5 * k * 0.01**2, rel=1e-3)
    assert total[-1] == pytest.approx(0.5 * k * 0.01**2, rel=1e-3)
    kinetic = 0.5 * k * 0.01**2 * np.sin(run.energy.time * math.sqrt(k / mass)) ** 2
    assert np.abs(run.energy.kinetic - kinetic).max() <= 0.01 * kinetic.max()


@pytest.mark.parametrize("radius", [0.0, 0.8])
def test_pressures_that_follow_close_the_ledger(radius):
    """A beam blown to the side and back: its work is that of a force that turns with it."""
    mesh = rectangle(4.0, 0.3, (16, 2))
    wind = Pressure(Boundary(0, "top"), Program((0.0, 0.5, 1.0), (0.0, 4e-3, -2e-3)))
    held = [Fixed(Boundary(0, "left")), wind]
    solid = st.Solid([Body(mesh, Q1(), NeoHookean(1.0, 0.3))], [], held, dimensionless=True)
    method = GeneralisedAlpha(radius, steps=40, tolerance=None)
    run = st.solve(MovingSolid(solid, 1e-3), method, (0.0, 1.0))
    work = reported(run)
    # the clamp does no work, and what is bent and moves came from the pressure
    assert np.all(work[:, 0] == 0.0)
    gained = run.energy.kinetic + run.energy.stored + run.energy.algorithmic
    assert gained[-1] == pytest.approx(work[-1, 1], rel=1e-8)
    assert run.energy.kinetic.max() > 1e-2 * run.energy.stored.max()


def test_a_drum_that_starts_turning_drags_a_heavy_block():
    radius, mesh = 0.8, rectangle(2.0, 0.6, (12, 2), (-1.0, 0.0))
    circle = RigidCircle((0.0, 0.6 + LAW.gap_eq + radius), radius)
    contact = Contact(Boundary(0, "top"), circle, LAW, EA(0.4), friction_from=1.0)
    drives = [
        Fixed(Boundary(0, "bottom")),
        Driven(Rigid(0), 1, Program((0.0, 1.0), (0.0, -0.02))),
        Turned(Rigid(0), Program((1.0, 2.0), (0.0, 0.05))),
    ]
    body = Body(mesh, Q1(), NeoHookean(1.0, 0.3))
    solid = st.Solid([body], [contact], drives, dimensionless=True)
    method = GeneralisedAlpha(steps=40, tolerance=None)
    run = st.solve(MovingSolid(solid, 1e-2, drag=5.0), method, (0.0, 2.0))
    work = reported(run)
    assert work[-1, 2] > 0.0
    assert run.variables["force_x"].values[-1] > 0.0
    assert work[-1, 2] >= run.energy.total_friction_heat[-1] > 0.0


def test_a_released_bar_swings_at_its_frequency():
    """Stretched slowly, released, and caught again: stages of a motion."""
    pull = Driven(Boundary(0, "right"), 0, Program((0.0, 20.0), (0.0, 0.01)))
    caught = Stage(24.4, [Fixed(Boundary(0, "right"), (0,))])
    stages = [Stage(20.0, [pull]), Stage(24.0, []), caught]
    solid = bar(Fixed(Boundary(0, "left"), (0,)), stages=stages)
    method = GeneralisedAlpha(1.0, steps=400, tolerance=None)
    run = st.solve(MovingSolid(solid), method, (0.0, 24.4))
    work = reported(run)
    time, kinetic = run.energy.time, run.energy.kinetic
    free = (time >= 20.0) & (time <= 24.0)
    energy = (kinetic + run.energy.stored + run.energy.algorithmic)[free]
    assert np.ptp(energy) <= 1e-9 * energy[0]
    # a period is four lengths of the bar at the speed of waves: at rest again after two
    near = (time > 21.0) & (time < 23.0)
    # reason: samples are 0.061 apart, and the least of them may be the next one
    assert time[near][np.argmin(kinetic[near])] == pytest.approx(22.0, abs=0.1)
    # four elements let the front of the wave run apart
    assert kinetic[near].min() <= 0.1 * energy[0]
    # what catches it takes its momentum at once, and energy with that
    assert work[-1, -1] <= 0.0
    assert kinetic[-1] < kinetic[free][-1]


@pytest.mark.parametrize("radius", [0.0, 0.8])
def test_tangent_of_a_step_under_loads(radius):
    """Pressure and springs, with mass and dampers, against central differences."""
    rng = np.random.default_rng(3)
    loads = [
        Pressure(Boundary(0, "top"), Program((0.0, 1.0), (0.0, 0.4))),
        Spring(Boundary(0, "right"), 0, 0.7, Program((0.0, 1.0), (0.0, 0.2))),
    ]
    body = Body(rectangle(1.0, 0.5, (3, 2)), Q1(), NeoHookean(1.0, 0.3))
    solid = st.Solid([body], [], [Fixed(Boundary(0, "left")), *loads], dimensionless=True)
    made = MovingProblem(MovingSolid(solid, 0.3, drag=0.2, retardation=0.1), lumped=False)
    u, v, a, to, direction = 0.02 * rng.standard_normal((5, made.size, 2))
    state = made.start(0.5)._replace(u=u)
    made.begin_step(Step(0.1, u, v, a, np.zeros_like(u), GeneralisedAlpha(radius).weights()))
    _, matrix = made.evaluate(state, to, 0.6, None, data=True)
    h = 1e-4
    ends = [
        made.evaluate(state, to + s * h * direction, 0.6, None, data=False)[0] for s in (1.0, -1.0)
    ]
    slope = (ends[0].residual - ends[1].residual).ravel() / (2.0 * h)
    assert np.abs(matrix @ direction.ravel() - slope).max() <= 1e-7 * np.abs(slope).max()
