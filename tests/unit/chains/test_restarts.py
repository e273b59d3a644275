"""Runs from saved states go on as the run did: a mass that sticks has the speed of the belt."""

import dataclasses

import numpy as np
import pytest
from block_cases import needs_compiler

import stiction as st
from stiction.chains import PiecewiseLinear, SumOf
from stiction.chains.blocks.event_driven import blocks_of
from stiction.chains.stepping import ChainStepper
from stiction.core.run import Request
from stiction.numerics import jit

LAWS = {
    "coulomb": st.Coulomb(0.3),
    "jump": st.StaticKinetic(0.4, 0.2),
    "weakening": st.ExponentialWeakening(0.4, 0.2, 0.3),
    "random": st.laws.RandomCoulomb(0.3, 0.2, 4),
    "user": st.UserFriction(lambda s: 0.2 + 0.1 / (1.0 + s), lambda s: -0.1 / (1.0 + s) ** 2),
}
LOADS = {
    "none": st.Constant(0.0),
    "ramp": st.Ramp(2.0, 1.0),
    "sine": st.chains.Sine(5.0, 3.0),
    "pieces": PiecewiseLinear([0.5, 1.0, 2.0], [0.0, 5.0, -5.0]),
    "sum": SumOf([st.Ramp(-1.0), st.chains.Sine(4.0, 5.0, 1.0)]),
    "function": st.UserLoad(lambda t: 4.0 * np.sin(2.0 * t)),
}
# in units of their series most of these speeds are none that floating point holds
BELTS = (0.1, -0.5, 0.17, 1e-3, 0.7)


def riding(rng, law, load):
    """Return a chain whose masses ride on a belt, some from the start; with or without plate."""
    n, belt = int(rng.integers(1, 5)), float(rng.choice(BELTS))
    plate = rng.random() < 0.3
    supports = str(rng.choice(["left", "right", "both"]))
    return st.Chain(
        mass=rng.uniform(0.5, 3.0, n),
        stiffness=rng.uniform(2.0, 60.0, n + (supports == "both")),
        damping=float(rng.choice([0.0, 0.5])),
        load=load,
        law=law,
        v0=np.where(rng.random(n) < 0.8, belt, rng.uniform(-1.0, 1.0, n)),
        supports=supports,
        plate_stiffness=rng.uniform(1.0, 20.0) if plate else 0.0,
        plate_speed=rng.uniform(-0.5, 0.5) if plate else 0.0,
        belt_speed=belt,
    )


def from_row(chain, run, row):
    """Return the chain as it was saved in a row."""
    data = run.data
    return dataclasses.replace(chain, x0=data["x"].values[row], v0=data["v"].values[row])


def stuck_rows_ride(chain, run):
    """Hold the velocities of masses that stick against the belt; return how many there are."""
    mode, v = run.data["mode"].values, run.data["v"].values
    assert (v[mode == 0] == chain.belt_speed).all()
    assert (run.final["v"][mode[-1] == 0] == chain.belt_speed).all()
    return (mode == 0).sum()


@pytest.mark.parametrize("load", sorted(LOADS))
@pytest.mark.parametrize("law", sorted(LAWS))
def test_a_run_resumes_from_any_saved_state(law, load):
    rng = np.random.default_rng([sorted(LAWS).index(law), sorted(LOADS).index(load)])
    method, stuck = st.EventDriven(max_step=0.2), 0
    for _ in range(3 if law != "user" and load != "function" else 1):
        chain = riding(rng, LAWS[law], LOADS[load])
        run = st.solve(chain, method, (0.25, 2.0), save=11)
        stuck += stuck_rows_ride(chain, run)
        assert (run.data["v"].values[0] == chain.v_start).all()
        row = int(rng.integers(1, 10))
        span = (float(run.data["time"].values[row]), 2.0)
        again = st.solve(from_row(chain, run, row), method, span, save=2)
        far = max(1.0, np.abs(run.final["x"]).max())
        # a user's functions are followed to rtol
        close = 1e-8 if law == "user" else 1e-12 if load == "function" else 1e-14
        assert np.abs(again.final["x"] - run.final["x"]).max() <= close * far
        assert (again.data["mode"].values == run.data["mode"].values[[row, -1]]).all()
        later = run.events[(run.events["time"] > span[0]) & (run.events["contact"] > 0)]
        assert (again.events["contact"] > 0).sum() == len(later)
    assert stuck > 0


def test_a_restart_between_the_two_bounds_sticks():
    """Its spring already pulls with more than kinetic friction: who slips here slips too early."""
    for belt in (0.1, 0.2, 0.3, 0.5, 0.7, -0.5, 1e-3):
        for k in (20.0, 17.0, 3.0):
            chain = st.Chain(
                mass=1.0, stiffness=k, law=st.StaticKinetic(0.4, 0.2), belt_speed=belt, v0=belt
            )
            span = 0.9 * 0.4 * 9.81 / (k * abs(belt))
            run = st.solve(chain, t_span=(0.0, 2.0 * span), save=41)
            assert stuck_rows_ride(chain, run) >= 20
            pull = k * np.abs(run.data["x"].values[:, 0])
            row = int(np.flatnonzero((run.data["mode"].values[:, 0] == 0) & (pull > 1.962))[0])
            start = float(run.data["time"].values[row])
            again = st.solve(from_row(chain, run, row), t_span=(start, 2.0 * span), save=2)
            assert np.abs(again.final["x"] - run.final["x"]).max() < 1e-14
            assert len(again.event_log) == len(run.event_log)


@pytest.mark.parametrize("name", ["plain", "compiled"])
def test_both_kinds_of_code_save_the_speed_of_the_belt(name):
    rng = np.random.default_rng(7)
    with jit.running(name):
        for law in ("jump", "coulomb"):
            chain = riding(rng, LAWS[law], LOADS["sine"])
            assert stuck_rows_ride(chain, st.solve(chain, t_span=(0.0, 0.6), save=9)) > 0


@pytest.mark.parametrize("theta", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("law", sorted(set(LAWS) - {"user"}))
def test_steps_of_theta_go_on(law, theta):
    rng, step = np.random.default_rng(3), 2.0**-9
    for load in ("none", "ramp", "sine", "pieces"):
        chain, method = riding(rng, LAWS[law], LOADS[load]), st.ThetaStepper(step, theta)
        run = st.solve(chain, method, (0.0, 1.0), save=np.array([0.0, 0.1, 0.5, 0.777, 1.0]))
        assert stuck_rows_ride(chain, run) > 0
        again = st.solve(from_row(chain, run, 2), method, (0.5, 1.0), save=2)
        assert np.abs(again.final["x"] - run.final["x"]).max() < 1e-12


def test_quasistatic_motion_saves_the_speed_of_the_belt():
    chain = st.Chain(
        mass=[1.0, 2.0],
        stiffness=[20.0, 30.0],
        damping=0.5,
        law=st.Coulomb(0.3),
        belt_speed=0.17,
        load=st.Ramp(0.5),
    )
    run = st.solve(chain, st.Quasistatic(), (0.0, 3.0), save=31)
    assert stuck_rows_ride(chain, run) > 5
    start = float(run.data["time"].values[9])
    again = st.solve(from_row(chain, run, 9), st.Quasistatic(), (start, 3.0), save=2)
    assert np.abs(again.final["x"] - run.final["x"]).max() < 1e-9


@needs_compiler
def test_blocks_save_the_speed_of_the_belt():
    stiffness, request = np.array([1.0, 3.0, 13.0, 17.0]), Request(0.0, 0.3, np.array([0.0, 0.3]))
    for belt in BELTS[:4]:
        chain = st.Chain(
            mass=1.0, stiffness=1.0, law=st.StaticKinetic(0.4, 0.2), belt_speed=belt, v0=belt
        )
        block = blocks_of(chain, st.chains.EventDriven(), request, [("stiffness",)], ["final.v"])
        found = block([stiffness])
        assert found.valid.all()
        assert (found.results["final.v"] == belt).all()


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"user"}))
@pytest.mark.parametrize("k", [20.0, 17.0, 3.0])
def test_pushes_within_the_bound_move_nothing(law, k):
    for belt in BELTS:
        chain = st.Chain(
            mass=[1.0, 2.0], stiffness=[k, 2.0 * k], law=LAWS[law], belt_speed=belt, v0=belt
        )
        bound = float(chain.stick_bound.min())
        end = 0.5 * bound / (k * abs(belt))
        stepper = ChainStepper(chain, st.EventDriven(), 0.0, end)
        for step in range(1, 31):
            stepper.go_to(end * step / 30.0)
            # the spring pulls with at most half of what friction holds
            stepper.push((-1.0) ** step * step / 30.0 * 0.45 * bound)
            assert stepper.mode.tolist() == [0, 0]
        stepper.go_to(1.01 * end)
        assert stepper.events.count == 0
        assert (stepper.v == belt).all()
        assert np.abs(stepper.x - 1.01 * end * belt).max() < 1e-13 * max(1.0, end * abs(belt))


def test_a_push_is_no_event_of_those_that_move():
    """Pushes of nothing, at any moment, leave the events of the run as they are."""
    rng = np.random.default_rng(11)
    for _ in range(6):
        chain = riding(rng, LAWS["jump"], LOADS["sine"])
        run = st.solve(chain, t_span=(0.0, 2.0), save=2)
        events = run.events[run.events["contact"] > 0]
        stepper = ChainStepper(chain, st.EventDriven(), 0.0, 2.0)
        # at the events too
        times = np.unique(np.concatenate([rng.uniform(0.0, 2.0, 20), events["time"], [2.0]]))
        for number, t in enumerate(times.tolist()):
            stepper.go_to(t)
            stepper.push(1e-12 * (number % 2))
        assert stepper.events.count == len(events)
        assert np.abs(stepper.x - run.final["x"]).max() < 1e-9
