"""A replay holds honest runs of all kinds, and sees whatever is changed in one."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction import (
    Chain,
    Constant,
    Coulomb,
    ExponentialWeakening,
    ModelError,
    Ramp,
    StaticKinetic,
    solve,
)
from stiction.chains import Load, PiecewiseLinear, Sine, UserLoad
from stiction.chains.event_driven import run as solver
from stiction.chains.loads import LoadSegments
from stiction.chains.methods import EventDriven
from stiction.chains.replay import trajectory as trajectory_module
from stiction.chains.replay.compare import replay_check
from stiction.numerics import jit

THREE = Chain(mass=1.0, n=3, stiffness=20.0, load=Constant(10.0), law=Coulomb(0.05))
WEAK = dataclasses.replace(THREE, law=ExponentialWeakening(0.08, 0.05, 0.2))
JUMPS = dataclasses.replace(THREE, law=StaticKinetic(0.08, 0.05), load=Sine(6.0, 1.0))
BELT = Chain(
    mass=[1.0], stiffness=20.0, v0=0.1, belt_speed=0.1, law=ExponentialWeakening(0.3, 0.15, 0.1)
)


def replayed(run):
    (found,) = [check for check in run.audit if check.check == "replay_agrees"]
    return found


def history_of(monkeypatch, chain, t_end, save=101):
    """Return what the method hands over."""
    saved, build = [], solver.build_run

    def keep(*given):
        saved.append(given[-1])
        return build(*given)

    monkeypatch.setattr(solver, "build_run", keep)
    solve(chain, EventDriven(), (0.0, t_end), save=save)
    return saved[0]


@pytest.mark.parametrize("save", [2, 1001])
@pytest.mark.parametrize("chain", [THREE, WEAK, JUMPS, BELT])
def test_correct_runs_pass(chain, save):
    found = replayed(solve(chain, EventDriven(), (0.0, 8.0), save=save))
    assert found.ok
    assert found.value < 2e-9
    assert found.limit == 1e-8
    assert "100% of the time" in found.note


def spoiled(h, what):
    """Return the history with one fault."""
    e, t = h.events, h.trajectory
    at = e.time.size // 2
    if what == "late":
        time = e.time.copy()
        time[at] += 1e-6
        return dataclasses.replace(h, events=dataclasses.replace(e, time=time))
    if what == "other mode":
        after = e.after.copy()
        after[at] = -after[at] if after[at] else 1
        return dataclasses.replace(h, events=dataclasses.replace(e, after=after))
    if what == "skipped":
        keep = np.arange(e.time.size) != at
        left = {f.name: getattr(e, f.name)[keep] for f in dataclasses.fields(e)}
        return dataclasses.replace(h, events=type(e)(**left))
    if what == "sign of force":
        return dataclasses.replace(h, friction=-h.friction)
    if what == "sign of friction at an event":
        right = e.friction_right.copy()
        right[at] *= -1.0
        return dataclasses.replace(h, events=dataclasses.replace(e, friction_right=right))
    k = int(np.flatnonzero(t.mode[:-1].any(axis=1) & (np.diff(t.time) > 1e-6))[5])
    i = int(np.flatnonzero(t.mode[k])[0])
    changed = {name: getattr(t, name).copy() for name in ("time", "x", "v", "mode")}
    if what == "moved":
        changed["x"][k, i] += 1e-6
    elif what == "sped up":
        changed["v"][k, i] += 1e-6
    elif what == "against its mode":
        changed["mode"][k, i] *= -1
    elif what == "stuck in slip":
        changed["mode"][k, i] = 0
    elif what == "not a number":
        changed["v"][k, i] = np.nan
    else:
        changed["time"][k] += 1e-6
    return dataclasses.replace(h, trajectory=dataclasses.replace(t, **changed))


DAMAGE = (
    "late",
    "other mode",
    "skipped",
    "sign of force",
    "sign of friction at an event",
    "moved",
    "sped up",
    "against its mode",
    "stuck in slip",
    "not a number",
    "a state at another time",
)


@pytest.mark.parametrize("chain", [THREE, WEAK, JUMPS, BELT])
def test_damage_is_detected(monkeypatch, chain):
    history = history_of(monkeypatch, chain, 8.0)
    assert replay_check(chain, history, history.trajectory, 1e-12).ok
    for what in DAMAGE:
        wrong = spoiled(history, what)
        found = replay_check(chain, wrong, wrong.trajectory, 1e-12)
        assert not found.ok, what
        assert found.value > 1e-8
        assert found.time is not None


@pytest.mark.parametrize(
    ("law", "t_end"), [(Coulomb(0.3), 1000.0), (ExponentialWeakening(0.3, 0.25, 0.2), 10.0)]
)
def test_damage_in_stick_is_detected(monkeypatch, law, t_end):
    """However long a mass sticks, its states and saved samples are compared."""
    chain = Chain(mass=[1.0], stiffness=4.0, law=law, x0=3.0)
    history = history_of(monkeypatch, chain, t_end)
    x, moved, state = history.x.copy(), history.x.copy(), history.trajectory.x.copy()
    friction = history.friction.copy()
    x[-40:-1] += 1e-6
    # the end, in balance
    moved[-1] += 1e-6
    state[-1] += 1e-6
    friction[-1] += 4e-6
    wrong = dataclasses.replace(history.trajectory, x=state)
    pairs = [
        (dataclasses.replace(history, x=x), history.trajectory),
        (dataclasses.replace(history, x=moved, friction=friction), wrong),
    ]
    for one, trajectory in pairs:
        for mode in ("compiled", "plain"):
            with jit.running(mode):
                found = replay_check(chain, one, trajectory, 1e-12)
            assert not found.ok
            assert found.value > 1e-8


def test_long_slip_is_not_counted_as_compared():
    """The motion under many breakpoints is a polynomial, which is not integrated again."""
    load = PiecewiseLinear(list(2.0 + 0.01 * np.arange(1, 401)), [0.0, 1e-6] * 200)
    chain = Chain(mass=[1.0, 3.0], stiffness=2.0, damping=3000.0, supports="none", load=load)
    chain = dataclasses.replace(chain, law=Coulomb(0.05), v0=0.05 * 9.81 * 2.0)
    found = replayed(solve(chain, EventDriven(), (0.0, 6.0), save=2))
    assert "67% of the time" in found.note


def test_another_law_or_load_is_seen(monkeypatch):
    """A run of one chain is no run of another that differs by a millionth."""
    history = history_of(monkeypatch, THREE, 8.0)
    for other in (
        dataclasses.replace(THREE, law=Coulomb(0.05 * (1.0 + 1e-6))),
        dataclasses.replace(THREE, load=Constant(10.0 * (1.0 + 1e-6))),
        dataclasses.replace(THREE, stiffness=20.0 * (1.0 + 1e-6)),
    ):
        # integrated by the numbers of the method, or of the model
        for mode in ("compiled", "plain"):
            with jit.running(mode):
                assert not replay_check(other, history, history.trajectory, 1e-12).ok


def test_a_jump_of_a_users_load_is_no_disagreement():
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.2))
    # the value at the jump itself may be that before it or that after it
    for jump in (lambda t: 1.0 if t < 1.0 else 4.0, lambda t: 1.0 if t <= 1.0 else 4.0):
        load = UserLoad(jump, breakpoints=(1.0,))
        run = solve(dataclasses.replace(chain, load=load), EventDriven(), (0.0, 3.0), save=11)
        assert len(run.event_log) > 0
        assert replayed(run).ok
    kinks = PiecewiseLinear([0.0, 1.0, 1.5, 2.0], [0.0, 5.0, -5.0, 0.0])
    assert replayed(solve(dataclasses.replace(chain, load=kinks), EventDriven(), (0.0, 3.0))).ok


class Stairs(Load):
    """A load whose segments jump."""

    def segments(self):
        none = np.empty(0)
        values = np.array([0.0, 10.0, -4.0])
        return LoadSegments(np.array([0.0, 1.0, 4.0]), values, 0.0 * values, none, none, none)


def test_a_jump_between_segments_is_no_disagreement(monkeypatch):
    history = history_of(monkeypatch, dataclasses.replace(THREE, load=Stairs()), 8.0)
    assert 1.0 in history.events.time
    chain = dataclasses.replace(THREE, load=Stairs())
    assert replay_check(chain, history, history.trajectory, 1e-12).value < 2e-9
    for what in DAMAGE:
        wrong = spoiled(history, what)
        assert not replay_check(chain, wrong, wrong.trajectory, 1e-12).ok, what


def test_a_jump_in_no_time(monkeypatch):
    """A line so steep that both its ends are one time is a jump; damage beside it is seen."""
    near = np.nextafter(1.0, 0.0)
    stairs = PiecewiseLinear([0.0, near, 1.0, 8.0], [0.0, 0.0, 10.0, 10.0])
    chain = dataclasses.replace(THREE, load=stairs)
    history = history_of(monkeypatch, chain, 8.0)
    assert replay_check(chain, history, history.trajectory, 1e-12).value < 2e-9
    for what in DAMAGE:
        wrong = spoiled(history, what)
        assert not replay_check(chain, wrong, wrong.trajectory, 1e-12).ok, what


@pytest.mark.parametrize("begin", [1e3, 1e6])
def test_angles_of_fast_sines_are_rounded_at_late_times(monkeypatch, begin):
    """What stick may hold is uncertain by that; where friction is wrong by more, it is logged."""
    chain = Chain(mass=[1.0], stiffness=20.0, law=StaticKinetic(0.3, 0.25), load=Sine(4.0, 5e4))
    run = solve(chain, EventDriven(), (begin, begin + 1e-3), save=2)
    assert replayed(run).value < 1e-8
    slow = dataclasses.replace(chain, load=Sine(4.0, 5.0))
    assert replayed(solve(slow, EventDriven(), (begin, begin + 8.0), save=2)).ok


def test_who_is_replayed():
    long = dataclasses.replace(THREE, n=201, load=Ramp(1.0))
    assert replayed(solve(long, EventDriven(), (0.0, 0.2))).ok is None
    assert replayed(solve(long, EventDriven(replay=True), (0.0, 0.2))).ok
    assert replayed(solve(THREE, EventDriven(replay=False), (0.0, 1.0))).ok is None
    with pytest.raises(ModelError, match="replay"):
        EventDriven(replay="yes")


def test_a_replay_changes_no_number():
    one, two = (
        solve(WEAK, EventDriven(replay=replay), (0.0, 8.0), save=101) for replay in (True, False)
    )
    for name in ("x", "v", "friction"):
        np.testing.assert_array_equal(one.variables[name].values, two.variables[name].values)
    np.testing.assert_array_equal(one.event_log.time, two.event_log.time)


def test_long_runs_are_recorded_in_part(monkeypatch):
    """Beyond its memory every other block of states is released, and the line says so."""
    monkeypatch.setattr(trajectory_module, "MOST_NUMBERS", 20_000)
    monkeypatch.setattr(trajectory_module, "_BLOCK_SAMPLES", 64)
    monkeypatch.setattr(solver, "_TRACK_SAMPLES", 64)
    shaken = Chain(mass=1.0, n=3, stiffness=20.0, load=Sine(9.0, 2.0), law=Coulomb(0.1))
    run = solve(shaken, EventDriven(), (0.0, 900.0), save=11)
    found = replayed(run)
    assert found.ok
    share = float(found.note.split("%")[0].split()[-1])
    assert 5.0 < share < 95.0


def test_a_recorder_keeps_the_last_states():
    recorder = trajectory_module.TrajectoryRecorder(200)
    rows = np.zeros((1000, 200))
    for q in range(8):
        time = np.arange(1000.0) + 1000.0 * q
        recorder.add((time, rows, rows, rows.astype(np.int8)))
        assert recorder.trajectory().time[-1] == time[-1]
    assert recorder.trajectory().time.size < 8000


def test_a_recorder_resumes_from_a_checkpoint():
    rng = np.random.default_rng(1)
    keepers = trajectory_module.TrajectoryRecorder(2), trajectory_module.TrajectoryRecorder(2)
    for q in range(60):
        rows = int(rng.integers(1, 300))
        block = (
            np.arange(rows) + 1000.0 * q,
            *rng.normal(0.0, 1.0, (2, rows, 2)),
            rng.integers(-1, 2, (rows, 2)).astype(np.int8),
        )
        keepers[0].add(block)
        again = trajectory_module.TrajectoryRecorder(2)
        again.unpack(keepers[1].pack())
        again.add(block)
        keepers = keepers[0], again
    one, two = (keeper.trajectory() for keeper in keepers)
    for name in ("time", "x", "v", "mode", "follows"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("units", [(1e-9, 1.0, 1.0), (1.0, 1e-6, 1.0), (3.7e-7, 2.9e-4, 11.0)])
def test_a_replay_is_the_same_in_all_units(units):
    length, time, mass = units
    force = mass * length / time**2
    weights = [1.0, 2.0, 0.5]
    chain = st.Chain(
        mass=[w * mass for w in weights],
        normal_force=[9.81 * w * force for w in weights],
        stiffness=20.0 * mass / time**2,
        law=st.StaticKinetic(0.2, 0.15),
        load=st.Constant(10.0 * force),
    )
    for save in (2, 101):
        run = st.solve(chain, st.EventDriven(), (0.0, 4.0 * time), save=save)
        assert run.audit.ok
        assert len(run.event_log) == 16
        assert run.final["x"][0] / length == pytest.approx(0.65599777194014, rel=1e-12)


@pytest.mark.parametrize("chain", [THREE, WEAK, JUMPS, BELT])
def test_kernels_and_arrays_agree(monkeypatch, chain):
    """The same damage in both modes of kernels, of the same size, at the same time."""
    history = history_of(monkeypatch, chain, 8.0)
    for what in DAMAGE:
        wrong, found = spoiled(history, what), []
        for mode in ("compiled", "plain"):
            with jit.running(mode):
                found.append(replay_check(chain, wrong, wrong.trajectory, 1e-12))
        one, two = found
        assert one.value == pytest.approx(two.value, rel=1e-5), what
        assert (one.time, one.note) == (two.time, two.note), what
