"""A chain that is driven step by step does what a run does."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.chains import PiecewiseLinear, SumOf
from stiction.chains.stepping import ChainStepper
from stiction.errors import ModelError, SolveError
from stiction.laws import AgeingCoulomb, LuGre

METHOD = st.EventDriven()


def chain(load=None, **more):
    return st.Chain(
        mass=[1.0, 2.0, 1.5],
        stiffness=[20.0, 15.0, 25.0],
        load=st.Ramp(rate=1.0) if load is None else load,
        law=more.pop("law", st.Coulomb(mu=0.25)),
        **more,
    )


def driven(system, times, forces=None):
    """Return what stands at the times, and the stepper; forces hold from each time on."""
    stepper, rows = ChainStepper(system, METHOD, times[0], times[-1] - times[0]), []
    for i, t in enumerate(times):
        if i:
            stepper.push(0.0 if forces is None else forces[i - 1])
            stepper.go_to(t)
        rows.append([*stepper.x, *stepper.v, *stepper.friction, *stepper.mode])
    return np.array(rows), stepper


def saved(run):
    return np.hstack([run.data[name].values for name in ("x", "v", "friction", "mode")])


def test_a_recorded_state_does_not_change_with_the_next_step():
    stepper, records = ChainStepper(chain(), METHOD), []
    for t in (8.0, 9.0):
        stepper.go_to(t)
        records.append([stepper.x, stepper.v, stepper.friction, stepper.mode])
    before, now = records
    assert not np.array_equal(before[0], now[0])
    assert not any(np.shares_memory(a, b) for a, b in zip(before, now, strict=True))


@pytest.mark.parametrize("law", [st.Coulomb(0.25), st.StaticKinetic(0.3, 0.2)])
@pytest.mark.parametrize("steps", [3, 160])
def test_steps_are_those_of_a_run(law, steps):
    times = np.linspace(0.0, 16.0, steps + 1)
    run = st.solve(chain(law=law), METHOD, (0.0, 16.0), save=times)
    rows, stepper = driven(chain(law=law), times)
    assert np.abs(rows - saved(run)).max() < 1e-10
    changes = run.events[run.events["contact"] > 0]
    assert len(changes) > 4
    assert stepper.events.count == len(changes)
    last = changes.iloc[-1]
    assert stepper.events.time == pytest.approx(last["time"], abs=1e-10)
    assert stepper.events.mass == last["contact"]
    assert ("none", "slip", "stick", "reverse")[stepper.events.kind] == last["kind"]
    assert stepper.heat == pytest.approx(
        float(run.ledger["friction_heat"].values[-1].sum()), abs=1e-9
    )


def test_a_force_from_outside_is_a_load():
    """A force held over steps is a load in steps, jumps included."""
    times = np.linspace(0.0, 10.0, 21)
    forces = 6.0 * np.sin(times[:-1])
    near = np.nextafter(times[1:-1], 0.0)
    places = np.sort(np.concatenate([times, near]))
    stairs = PiecewiseLinear(places.tolist(), np.repeat(forces, 2).tolist())
    load = st.Ramp(rate=0.5)
    run = st.solve(chain(SumOf([load, stairs])), METHOD, (0.0, 10.0), save=times)
    rows, stepper = driven(chain(load), times, forces)
    assert np.abs(rows[:, :6] - saved(run)[:, :6]).max() < 1e-9
    assert stepper.events.count == (run.events["contact"] > 0).sum()
    assert stepper.load == pytest.approx(0.5 * 10.0 + forces[-1])


def test_a_chaotic_chain_parts_as_runs_with_other_steps_do():
    """Rounding grows until nothing agrees; before, and as fast, as between two runs."""
    scenario = st.read_scenario("burridge-knopoff")
    times = np.linspace(0.0, 30.0, 101)
    one = st.solve(scenario.system, METHOD, (0.0, 30.0), save=times)
    other = st.solve(scenario.system, st.EventDriven(max_step=0.3), (0.0, 30.0), save=times)
    rows, _ = driven(scenario.system, times)
    n = scenario.system.n_mass
    stepped = np.abs(rows[:, :n] - one.data["x"].values).max(axis=1)
    run = np.abs(other.data["x"].values - one.data["x"].values).max(axis=1)
    assert stepped[times <= 20.0].max() < 1e-9
    assert run[-1] > 1e3 * run[times <= 15.0].max()
    # reason: both grow from different roundings, by e^0.6 per second
    assert 1e-2 < stepped[-1] / run[-1] < 1e2


def test_a_jump_frees_what_sticks():
    stepper = ChainStepper(chain(st.Constant(0.0)), METHOD, 0.0, 1.0)
    stepper.go_to(0.5)
    assert stepper.events == type(stepper.events)(0, 0.0, 0, 0)
    assert stepper.mode.tolist() == [0, 0, 0]
    stepper.push(50.0)
    stepper.go_to(0.6)
    assert stepper.mode[2] == 1
    assert stepper.events.count >= 1


def test_wrong_steps_are_refused():
    stepper = ChainStepper(chain(), METHOD)
    stepper.go_to(1.0)
    for earlier in (0.5, math.nan, math.inf):
        with pytest.raises(ModelError, match="run backwards"):
            stepper.go_to(earlier)
    for force in (math.nan, "x"):
        with pytest.raises(ModelError, match=r"push\.force"):
            stepper.push(force)
    for span in (-1.0, 0.0):
        with pytest.raises(ModelError, match=r"ChainStepper\.span"):
            ChainStepper(chain(), METHOD, span=span)
    with pytest.raises(ModelError, match=r"Chain\.v0: got 2 values; needs 3"):
        chain().at_state(np.ones(5))
    with pytest.raises(ModelError, match=r"laws with states"):
        ChainStepper(chain(law=AgeingCoulomb(0.3, 0.02, 1.0, 1e-5)), METHOD)
    with pytest.raises(ModelError, match=r"a set-valued law"):
        ChainStepper(chain(law=LuGre(1e5, 300.0, 0.0, 0.3, 0.25, 1e-3)), METHOD)
    with pytest.raises(SolveError, match="max_steps = 5"):
        ChainStepper(chain(), st.EventDriven(max_steps=5)).go_to(50.0)


def test_a_force_at_the_start_replaces_the_modes_under_the_load_alone():
    """Under 10 N alone the last mass slips; with -10 N from outside all stick, without an event."""
    stepper = ChainStepper(chain(st.Constant(10.0)), METHOD)
    assert (stepper.events.count, stepper.mode[2]) == (1, 1)
    stepper.push(-10.0)
    stepper.go_to(0.0)
    assert (stepper.events.count, stepper.mode[2]) == (0, 0)
    stepper.go_to(1.0)
    assert (stepper.events.count, stepper.x[2]) == (0, 0.0)


def test_a_force_where_a_load_jumps_replaces_the_modes_under_the_load_alone():
    """Communication times at breakpoints are usual: what the load alone would release rests."""
    load = st.chains.UserLoad(lambda t: 0.0 if t < 1.0 else 10.0, breakpoints=[1.0])
    stepper = ChainStepper(chain(load), METHOD)
    stepper.go_to(1.0)
    stepper.push(-10.0)
    stepper.go_to(1.5)
    assert (stepper.events.count, stepper.x[2]) == (0, 0.0)
    other = ChainStepper(chain(load), METHOD)
    other.go_to(1.5)
    assert other.events.count == 2  # it slips, and sticks
