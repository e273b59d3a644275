"""Motion against closed forms: a bar that vibrates, a rod hit at its end, and its order in time."""

import numpy as np
import pytest

import stiction as st
from stiction.core.run import Request
from stiction.solids import (
    Q2,
    Body,
    Boundary,
    Fixed,
    GeneralisedAlpha,
    LinearElastic,
    Loaded,
    MovingSolid,
    Nearest,
    Program,
    rectangle,
)
from stiction.solids.dynamics.problem import MovingProblem
from stiction.solids.dynamics.stepper import TimeStepper


def bar(cells=8, **more):
    """A bar of length 1 and wave speed 1 that keeps its width, held at its left end."""
    sides = [Fixed(Boundary(0, side), (1,)) for side in ("bottom", "top")]
    mesh = rectangle(1.0, 0.1, (cells, 1))
    conditions = [Fixed(Boundary(0, "left"), (0,)), *sides]
    body = Body(mesh, Q2(), LinearElastic(1.0, 0.0))
    solid = st.Solid([body], [], [*conditions, *more.pop("also", [])], dimensionless=True)
    return MovingSolid(solid, **more)


def vibrating(method, end, **more):
    """A bar in its first mode of vibration, after a time."""
    problem = MovingProblem(bar(**more), method.lumped)
    stepper = TimeStepper(problem, method, Request(0.0, end, np.array([0.0, end])))
    assert stepper._begin()
    x = problem.points[:, 0]
    stepper.v[:, 0] = 1e-3 * 0.5 * np.pi * np.sin(0.5 * np.pi * x)
    stepper._accelerate()
    stepper.energy = stepper.energy._replace(kinetic=problem.kinetic(stepper.v))
    stepper.record.path[0] = stepper.record.path[0]._replace(energy=stepper.energy)
    assert stepper.advance_on()
    return stepper, x


def error(method, end=3.3, **more):
    """The error of displacements and of velocities together."""
    stepper, x = vibrating(method, end, **more)
    mode, w = np.sin(0.5 * np.pi * x), 0.5 * np.pi
    off_u = stepper.state.u[:, 0] - 1e-3 * np.sin(w * end) * mode
    off_v = stepper.v[:, 0] / w - 1e-3 * np.cos(w * end) * mode
    return float(np.hypot(off_u, off_v).max()) / 1e-3


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8, 1.0])
def test_order_in_time(radius):
    off = [
        error(GeneralisedAlpha(radius, steps=n, tolerance=None, newton_tolerance=1e-10))
        for n in (30, 60, 120)
    ]
    orders = np.log2(off[:-1] / np.array(off[1:]))
    assert np.all((orders > 1.85) & (orders < 2.2)), (off, orders)


def test_a_lumped_bar_vibrates_too():
    assert error(GeneralisedAlpha(1.0, steps=160, tolerance=None, lumped=True), cells=16) < 4e-3


def test_the_trapezoidal_rule_takes_nothing_in_linear_motion():
    stepper, _ = vibrating(GeneralisedAlpha(1.0, steps=40, tolerance=None), 3.3)
    start = stepper.record.path[0].energy.kinetic
    assert abs(stepper.energy.algorithmic) <= 1e-12 * start
    assert stepper.energy.kinetic + stepper.energy.stored == pytest.approx(start, rel=1e-11)


def test_drag_takes_what_the_closed_form_says():
    """u'' + c u' + w^2 u = 0 from u' at the start, c < 2 w."""
    drag, end = 0.4, 3.3
    stepper, x = vibrating(GeneralisedAlpha(1.0, steps=120, tolerance=None), end, drag=drag)
    w = 0.5 * np.pi
    fast = np.sqrt(w * w - 0.25 * drag * drag)
    u = 1e-3 * w / fast * np.exp(-0.5 * drag * end) * np.sin(fast * end) * np.sin(w * x)
    assert np.abs(stepper.state.u[:, 0] - u).max() <= 1e-6
    lost = stepper.record.path[0].energy.kinetic - stepper.energy.kinetic - stepper.energy.stored
    assert stepper.energy.viscous == pytest.approx(lost, rel=1e-10)


def test_retardation_is_that_of_kelvin_and_voigt():
    """The first mode is damped at the rate c w^2."""
    late, end = 0.05, 3.3
    method = GeneralisedAlpha(1.0, steps=300, tolerance=None)
    stepper, x = vibrating(method, end, retardation=late)
    w = 0.5 * np.pi
    rate = late * w * w
    fast = np.sqrt(w * w - 0.25 * rate * rate)
    u = 1e-3 * w / fast * np.exp(-0.5 * rate * end) * np.sin(fast * end) * np.sin(w * x)
    assert np.abs(stepper.state.u[:, 0] - u).max() <= 1e-6


def test_the_wall_holds_the_bar_and_what_damps_it():
    """The force of the wall is -A (u_x + c u_xt) at x = 0, and all that changes the momentum."""
    drag, late, end, w = 0.4, 0.05, 3.3, 0.5 * np.pi
    method = GeneralisedAlpha(1.0, steps=300, tolerance=None, newton_tolerance=1e-12)
    stepper, _ = vibrating(method, end, drag=drag, retardation=late)
    t = np.array([sample.time for sample in stepper.record.path[1:]])
    forces = np.array([sample.curves["force_x"] for sample in stepper.record.path[1:]])
    rate = drag + late * w * w
    fast = np.sqrt(w * w - 0.25 * rate * rate)
    fade = 1e-3 * w / fast * np.exp(-0.5 * rate * t)
    q = fade * np.sin(fast * t)
    q_rate = fade * (fast * np.cos(fast * t) - 0.5 * rate * np.sin(fast * t))
    exact = -0.1 * w * (q + late * q_rate)
    assert np.abs(forces - exact).max() <= 2e-4 * np.abs(exact).max()

    def by_momentum(stepper):
        resisted = stepper.moving.mass_times(stepper.a + drag * stepper.v)
        return float(resisted[:, 0].sum())

    assert forces[-1] == pytest.approx(by_momentum(stepper), rel=1e-6)
    thrown = MovingProblem(bar(velocity=[(1e-3, 0.0)], drag=drag, retardation=late), False)
    stepper = TimeStepper(thrown, method, Request(0.0, end, np.array([0.0, end])))
    assert stepper._begin()
    (start,) = stepper.record.path
    assert abs(start.curves["force_x"]) > 1e-6
    assert start.curves["force_x"] == pytest.approx(by_momentum(stepper), rel=1e-9)


@pytest.mark.parametrize("end", [0.8, 1.6])
def test_a_rod_hit_at_its_end(end):
    """A pulse of force runs to the wall and comes back, with E A du/dt = c F: sums of rays."""
    length, most = 0.5, 1e-4
    t = np.linspace(0.0, length, 41)
    load = Loaded(Nearest(0, (1.0, 0.05)), 0, Program(t, most * np.sin(np.pi * t / length) ** 2))
    method = GeneralisedAlpha(0.8, steps=160, tolerance=None)
    problem = MovingProblem(bar(20, also=[load]), False)
    stepper = TimeStepper(problem, method, Request(0.0, end, np.array([0.0, end])))
    stepper.run()

    def pushed(s):
        s = np.clip(s, 0.0, length)
        return most / 0.1 * (0.5 * s - length / (4.0 * np.pi) * np.sin(2.0 * np.pi * s / length))

    x = problem.points[:, 0]
    # the wall sends the pulse back with the other sign, the free end with the same
    exact = pushed(end - 1.0 + x) - pushed(end - 1.0 - x)
    off = np.abs(stepper.state.u[:, 0] - exact)[x < 0.9].max()
    assert off <= 1e-2 * pushed(length)  # reason: the force acts at one node of the end
    energy = stepper.energy
    whole = energy.kinetic + energy.stored
    assert whole == pytest.approx(most**2 * 0.375 * length / 0.1, rel=1e-2)  # reason: as above
    assert energy.work == pytest.approx(whole, rel=2e-3)
    assert all(check.ok for check in stepper.checks())


def test_steps_follow_the_motion():
    """A pulse takes short steps, rest long ones; a smaller tolerance shorter ones."""
    taken = []
    for tolerance in (1e-4, 1e-5):
        end = Program((0.0, 1.0, 1.01, 2.0), (0.0, 0.0, 1e-4, 1e-4))
        load = Loaded(Nearest(0, (1.0, 0.05)), 0, end)
        method = GeneralisedAlpha(0.6, steps=20, tolerance=tolerance)
        run = st.solve(bar(4, also=[load]), method, (0.0, 2.0))
        steps = np.diff(run.time)
        assert steps[run.time[1:] <= 1.0].max() > 5.0 * steps[run.time[1:] > 1.0].min()
        taken.append(run.stats["steps"])
    assert taken[1] > 1.3 * taken[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("density", 0.0),
        ("density", [1.0, 2.0]),
        ("drag", -1.0),
        ("retardation", np.nan),
        ("normal_viscosity", "much"),
        ("velocity", [1.0, 2.0, 3.0]),
        ("velocity", [[np.inf, 0.0]]),
        ("solid", 3),
    ],
)
def test_bad_input(field, value):
    given = {"solid": bar().solid, field: value}
    with pytest.raises(st.ModelError, match=f"MovingSolid.{field}"):
        MovingSolid(**given)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spectral_radius", 1.1),
        ("spectral_radius", -0.1),
        ("tolerance", 0.0),
        ("lumped", 1),
        ("steps", 0),
    ],
)
def test_bad_methods(field, value):
    with pytest.raises(st.ModelError, match=f"GeneralisedAlpha.{field}"):
        GeneralisedAlpha(**{field: value})


def test_a_solid_without_mass_does_not_move():
    with pytest.raises(st.ModelError):
        st.solve(bar().solid, GeneralisedAlpha())
