"""EventDriven against a slow second method, at degenerate thresholds, and at its limits of work."""

import dataclasses
import math

import numpy as np
import pytest
from memories import Interrupted, Memory
from oracles import dense_events, matrices

import stiction as st
from stiction.chains.event_driven.threshold_kernels import AT_REST
from stiction.switching.policies import Leave

WALLS = {"left": (1, 0), "right": (0, 1), "both": (1, 1), "none": (0, 0)}
THREE = {"mass": [1.0, 2.0, 0.5], "stiffness": [20.0, 30.0, 10.0]}
TIMES, FORCES = [0.5, 1.0, 2.0, 3.0, 6.0], [0.0, 8.0, -8.0, 3.0, 3.0]


def weak(s):
    return 0.2 + 0.2 * np.exp(-s / 0.1)


def flat(mu):
    return lambda s: mu + 0.0 * s


def gentle(s):
    return 0.2 + 0.1 / (1.0 + s)


def gentle_slope(s):
    return -0.1 / (1.0 + s) ** 2


NOTHING = {"calls": 0}


def python_only(t):
    NOTHING["calls"] += 1
    return 9.0 * math.sin(t * t)


CHAINS = {
    "sine": (
        st.Chain(**THREE, damping=0.1, load=st.chains.Sine(12.0, 3.0), law=st.Coulomb(0.2)),
        lambda t: 12.0 * np.sin(3.0 * t),
        flat(0.2),
        6.0,
    ),
    "two_walls": (
        st.Chain(
            mass=[1.0, 2.0, 0.5],
            stiffness=[20.0, 30.0, 10.0, 40.0],
            damping=0.1,
            load=st.chains.Sine(12.0, 3.0),
            law=st.Coulomb(0.2),
            supports="both",
            load_vector=[0.0, 1.0, 0.5],
        ),
        lambda t: 12.0 * np.sin(3.0 * t),
        flat(0.2),
        6.0,
    ),
    "no_wall": (
        st.Chain(
            mass=[1.0, 2.0, 0.5],
            stiffness=[20.0, 30.0],
            load=st.chains.Sine(12.0, 3.0),
            law=st.Coulomb(0.2),
            supports="none",
        ),
        lambda t: 12.0 * np.sin(3.0 * t),
        flat(0.2),
        4.0,
    ),
    "piecewise": (
        st.Chain(**THREE, load=st.chains.PiecewiseLinear(TIMES, FORCES), law=st.Coulomb(0.1)),
        lambda t: np.interp(t, TIMES, FORCES),
        flat(0.1),
        7.0,
    ),
    "belt_jump": (
        st.Chain(
            mass=[1.0, 2.0],
            stiffness=[20.0, 30.0],
            law=st.StaticKinetic(0.4, 0.2),
            belt_speed=0.3,
        ),
        lambda t: 0.0,
        flat(0.2),
        8.0,
    ),
    "belt_weakening": (
        st.Chain(
            mass=[1.0, 2.0],
            stiffness=[20.0, 30.0],
            law=st.ExponentialWeakening(0.4, 0.2, 0.1),
            belt_speed=-0.3,
        ),
        lambda t: 0.0,
        weak,
        8.0,
    ),
    "plate": (
        st.Chain(
            mass=[1.0, 2.0, 1.0],
            stiffness=[20.0, 30.0],
            supports="none",
            law=st.StaticKinetic(0.4, 0.2),
            plate_stiffness=5.0,
            plate_speed=0.2,
        ),
        lambda t: 0.0,
        flat(0.2),
        20.0,
    ),
    "user_law": (
        st.Chain(
            **THREE, load=st.chains.Sine(12.0, 3.0), law=st.UserFriction(gentle, gentle_slope)
        ),
        lambda t: 12.0 * np.sin(3.0 * t),
        gentle,
        4.0,
    ),
    "user_load": (
        st.Chain(**THREE, load=st.UserLoad(python_only), law=st.Coulomb(0.1)),
        lambda t: 9.0 * np.sin(t * t),
        flat(0.1),
        4.0,
    ),
    "moving_start": (
        st.Chain(
            mass=1.0,
            n=3,
            stiffness=20.0,
            law=st.Coulomb(0.1),
            x0=[0.1, -0.2, 0.3],
            v0=[1.0, -1.0, 0.5],
        ),
        lambda t: 0.0,
        flat(0.1),
        5.0,
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_agrees_with_a_second_method(name):
    chain, force, mu, t_end = CHAINS[name]
    walls, n = WALLS[chain.supports], chain.n_mass
    k = matrices(n, np.broadcast_to(chain.stiffness, chain.n_spring), *walls)
    c = matrices(n, np.broadcast_to(chain.damping, chain.n_spring), *walls)

    def push(t):
        plate = chain.plate_springs * chain.plate_speed * t
        return chain.load_weights * force(t) + plate

    _, x, v, events = dense_events(
        chain.masses,
        k + np.diag(chain.plate_springs),
        c,
        push,
        chain.normal_forces,
        chain.friction.mu_static,
        mu,
        chain.x_start,
        chain.v_start,
        t_end,
        belt=chain.belt_speed,
        max_step=0.05,
    )
    run = st.solve(chain, st.EventDriven(), (0.0, t_end))
    log = run.event_log
    keep = log.contact > 0
    sequence = list(zip(log.contact[keep].tolist(), np.array(log.kind)[keep], strict=True))
    assert sequence == [(i, kind) for _, i, kind, _ in events]
    np.testing.assert_allclose(log.time[keep], [e[0] for e in events], atol=2e-10)
    np.testing.assert_allclose(run.final["x"], x, atol=2e-10)
    np.testing.assert_allclose(run.final["v"], v, atol=5e-10)
    assert run.energy.imbalance_rel < 1e-12
    assert run.audit.ok


def test_user_functions_were_called():
    before = NOTHING["calls"]
    chain = CHAINS["user_load"][0]
    st.solve(chain, st.EventDriven(), (0.0, 0.5))
    assert NOTHING["calls"] > before


def test_user_function_that_fails_is_named():
    def breaks(t):
        if t > 0.5:
            raise KeyError("no data")
        return 1.0

    chain = st.Chain(mass=1.0, stiffness=1.0, load=st.UserLoad(breaks), law=st.Coulomb(0.01))
    with pytest.raises(st.ModelError, match=r"UserLoad\.function: got KeyError"):
        st.solve(chain, st.EventDriven(), (0.0, 2.0))


def corner(sign):
    """Return a chain whose start is a corner of its stick set at load 2 N."""
    bound = 0.1 * 9.81
    tension = 2.0 + sign * bound * np.array([3.0, 2.0, 1.0])
    return st.Chain(
        mass=1.0,
        n=3,
        stiffness=20.0,
        law=st.Coulomb(0.1),
        load=st.Constant(2.0),
        x0=np.cumsum(tension / 20.0),
    )


@pytest.mark.parametrize("sign", [-1, 1])
def test_vertex_of_the_stick_set(sign):
    """At a degenerate threshold the load's direction decides, not rounding: all move, or none."""
    at_rest = st.solve(corner(sign), st.EventDriven(), (0.0, 0.5))
    assert at_rest.quantities["stop_time"].value == 0.0
    for rate in (1.0, -1.0):
        chain = dataclasses.replace(corner(sign), load=st.Ramp(rate, start=2.0))
        run = st.solve(chain, st.EventDriven(), (0.0, 0.1))
        slips = int((run.event_log.time == 0.0).sum())
        # sign = +1 is x* + d, where every drive is at its lower bound
        assert slips == (3 if rate * sign < 0 else 0)


def test_symmetric_chain_stays_symmetric():
    chain = st.Chain(
        mass=[1.0, 2.0, 1.0],
        stiffness=20.0,
        supports="both",
        load_vector=[1.0, 0.0, 1.0],
        law=st.Coulomb(0.1),
        load=st.Constant(5.0),
    )
    run = st.solve(chain, st.EventDriven(), (0.0, 20.0))
    x = run.variables["x"].values
    np.testing.assert_allclose(x[:, 0], x[:, 2], atol=1e-15)
    assert run.quantities["stop_time"].value is not None


def test_frictionless_masses_vibrate_freely():
    chain = st.Chain(mass=4.0, stiffness=16.0, law=st.Coulomb(0.0), x0=0.5)
    run = st.solve(chain, st.EventDriven(), (0.0, 3.0))
    np.testing.assert_allclose(
        run.variables["x"].values[:, 0], 0.5 * np.cos(2.0 * run.time), atol=1e-13
    )
    assert run.quantities["stop_time"].value is None


def test_stop_is_not_claimed_while_a_load_may_return():
    chain = st.Chain(mass=1.0, stiffness=10.0, law=st.Coulomb(0.1), load=st.chains.Sine(0.9, 1.0))
    assert st.solve(chain, t_span=(0.0, 5.0)).quantities["stop_time"].value == 0.0
    louder = dataclasses.replace(chain, load=st.chains.Sine(1.1, 1.0))
    assert st.solve(louder, t_span=(0.0, 1.0)).quantities["stop_time"].value is None


def test_grazing_onset_is_reported():
    bound = 0.3 * 9.81
    chain = st.Chain(
        mass=1.0, stiffness=10.0, law=st.StaticKinetic(0.3, 0.2), load=st.chains.Sine(bound, 1.0)
    )
    run = st.solve(chain, st.EventDriven(), (0.0, 2.5))
    assert run.determinism.status == "lost"
    loss = run.determinism.losses[0]
    assert loss.kind == "grazing_onset"
    assert loss.time == pytest.approx(math.pi / 2.0, abs=1e-4)


@pytest.mark.parametrize(
    "jump", [lambda t: 5.0 if t >= 1.0 else 0.0, lambda t: 5.0 if t > 1.0 else 0.0]
)
def test_load_that_jumps_at_a_named_time(jump):
    """From rest at t = 1 under 5 N: a cosine until the mass stops, past t = 3."""
    chain = st.Chain(mass=1.0, stiffness=1.0, load=st.UserLoad(jump, [1.0]), law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(), (0.0, 3.0))
    assert run.quantities["onset_time"].value == [1.0]
    exact = (5.0 - 0.25 * 9.81) * (1.0 - math.cos(2.0))
    assert run.final["x"][0] == pytest.approx(exact, rel=1e-9)
    assert run.audit.ok


def test_load_that_jumps_unannounced_is_refused():
    load = st.UserLoad(lambda t: 5.0 if t >= 1.0 else 0.0)
    chain = st.Chain(mass=1.0, stiffness=1.0, load=load, law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(), (0.0, 3.0), throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert "breakpoints" in run.reason


def test_short_pulse_is_not_missed():
    load = st.UserLoad(lambda t: 5.0 * math.exp(-(((t - 7.77) / 0.02) ** 2)))
    chain = st.Chain(mass=1.0, stiffness=1.0, load=load, law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(), (0.0, 10.0))
    assert run.stats["events"] >= 2
    # a 200th of the span: what is shorter can be missed, and the run says so
    assert run.quantities["longest_sampling_step"].value == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize(("excess", "slips"), [(-1e-11, False), (0.0, False), (1e-9, True)])
def test_grazing_of_the_static_bound(excess, slips):
    """With a jump in friction a mass whose drive only touches the bound keeps sticking."""
    bound = 0.25 * 9.81
    chain = st.Chain(
        mass=1.0,
        stiffness=1.0,
        load=st.chains.Sine(bound * (1.0 + excess), 1.0),
        law=st.StaticKinetic(0.25, 0.2),
    )
    run = st.solve(chain, st.EventDriven(), (0.0, 300.0))
    assert (run.stats["events"] > 0) == slips
    if not slips:
        assert len(run.determinism.losses) == math.floor(300.0 / math.pi + 0.5)
        assert {loss.kind for loss in run.determinism.losses} == {"grazing_onset"}


def test_grazing_at_a_breakpoint_of_the_load():
    bound = 0.25 * 9.81
    chain = st.Chain(
        mass=1.0,
        stiffness=1.0,
        load=st.chains.PiecewiseLinear([0.0, 1.0, 2.0], [0.0, bound, 0.0]),
        law=st.StaticKinetic(0.25, 0.2),
    )
    run = st.solve(chain, st.EventDriven(), (0.0, 3.0))
    assert run.stats["events"] == 0
    assert [(loss.kind, loss.time) for loss in run.determinism.losses] == [("grazing_onset", 1.0)]


def test_very_slow_load():
    """Onset after 10^9 s: powers of the step must not overflow."""
    chain = st.Chain(mass=1.0, stiffness=1e4, load=st.Ramp(1e-9), law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(max_steps=5_000), (0.0, 4e9), save=2, throw=False)
    assert run.quantities["onset_time"].value[0] == pytest.approx(0.25 * 9.81 / 1e-9, rel=1e-12)


def test_no_stop_before_a_slip():
    chain = st.Chain(
        mass=1.0, stiffness=1.0, load=st.chains.Sine(0.25 * 9.81, 1.0), law=st.Coulomb(0.25)
    )
    run = st.solve(chain, st.EventDriven(), (0.0, 10.0))
    stop = run.quantities["stop_time"].value
    slips = run.event_log.time[run.event_log.contact > 0]
    assert stop is None or slips.size == 0 or stop >= slips.max()


def test_friction_that_pushes_is_reported():
    law = st.UserFriction(lambda v: 0.3 - 0.05 * v, lambda v: -0.05)
    chain = st.Chain(mass=1.0, stiffness=1.0, law=law, v0=20.0)
    run = st.solve(chain, st.EventDriven(), (0.0, 1.0), throw=False)
    assert run.status is st.Status.UNTRUSTED
    assert [check.check for check in run.audit.failed] == ["friction_dissipates"]


def test_work_is_bounded():
    chain = st.Chain(mass=1.0, stiffness=1.0, law=st.Coulomb(0.0), x0=1.0)
    run = st.solve(chain, st.EventDriven(max_steps=5, max_step=0.01), (0.0, 1e6), throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert "max_steps" in run.reason
    with pytest.raises(st.SolveError) as caught:
        st.solve(chain, st.EventDriven(max_steps=5, max_step=0.01), (0.0, 1e6))
    assert caught.value.run.t_end < 1e6


def test_a_run_that_needs_all_its_steps_is_complete():
    chain = st.Chain(mass=1.0, stiffness=10.0, law=st.Coulomb(0.3), load=st.Constant(9.0))
    steps = int(st.solve(chain, st.EventDriven(), (0.0, 1.0), save=3).stats["steps"])
    assert steps > 1
    run = st.solve(chain, st.EventDriven(max_steps=steps), (0.0, 1.0), save=3)
    assert run.status is st.Status.SOLVED
    fewer = st.EventDriven(max_steps=steps - 1)
    run = st.solve(chain, fewer, (0.0, 1.0), save=3, throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert run.stats["steps"] == steps - 1


def test_events_are_bounded():
    chain = st.Chain(mass=1.0, n=3, stiffness=20.0, law=st.Coulomb(0.05), load=st.Constant(10.0))
    run = st.solve(chain, st.EventDriven(max_events=5), (0.0, 10.0), throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert "max_events" in run.reason
    assert 5 <= run.stats["events"] < 8


@pytest.mark.parametrize(
    "fields",
    [
        {"rtol": 0.0},
        {"rtol": 1.0},
        {"rtol": float("nan")},
        {"order": 7},
        {"order": 99},
        {"max_step": 0.0},
        {"max_steps": 0},
        {"max_events": -1},
    ],
)
def test_bad_fields_are_refused(fields):
    with pytest.raises(st.ModelError, match="EventDriven"):
        st.chains.EventDriven(**fields)


def test_too_many_masses_are_refused():
    chain = st.Chain(mass=1.0, n=20_000, stiffness=1.0, law=st.Coulomb(0.1))
    with pytest.raises(st.ModelError, match="ThetaStepper"):
        st.solve(chain, st.EventDriven(), (0.0, 1.0))


def test_a_chain_has_no_use_for_a_policy():
    chain = st.Chain(mass=[1.0], stiffness=1.0)
    with pytest.raises(st.ModelError, match=r"EventDriven.policy: got Leave.*None for a Chain"):
        st.solve(chain, st.EventDriven(policy=Leave("-")))


def test_a_system_of_nobody_is_refused():
    class Still:
        state_size = 1
        default_method = "Quasistatic"

    for method in (st.EventDriven(), st.chains.EventDriven(), None):
        with pytest.raises(st.ModelError, match=r"solve\(system, request\)"):
            st.solve(Still(), method)


def test_resume_is_bit_identical(monkeypatch):
    monkeypatch.setattr("stiction.chains.event_driven.run._MASS_STEPS_PER_CALL", 3_000)
    chain = st.Chain(
        mass=1.0, n=3, stiffness=20.0, law=st.Coulomb(0.05), load=st.chains.Sine(8.0, 2.0)
    )
    method = st.EventDriven(max_step=0.002)
    whole = st.solve(chain, method, (0.0, 20.0))
    memory = Memory(last=2)
    with pytest.raises(Interrupted):
        st.solve(chain, method, (0.0, 20.0), checkpoint=memory)
    resumed = st.solve(chain, method, (0.0, 20.0), checkpoint=memory)
    for name in ("x", "v", "friction"):
        assert np.array_equal(whole.variables[name].values, resumed.variables[name].values)
    assert np.array_equal(whole.event_log.time, resumed.event_log.time)
    assert np.array_equal(whole.energy.imbalance, resumed.energy.imbalance)


def test_resume_at_the_bound(monkeypatch):
    monkeypatch.setattr("stiction.chains.event_driven.run._MASS_STEPS_PER_CALL", 20)
    bound = st.chains.Constant(0.25 * 9.81)
    chain = st.Chain(mass=1.0, stiffness=1.0, law=st.StaticKinetic(0.25, 0.2), load=bound)

    def solve(memory):
        return st.solve(chain, st.EventDriven(max_step=0.01), (0.0, 1.0), checkpoint=memory)

    memory = Memory(last=2)
    with pytest.raises(Interrupted):
        solve(memory)
    assert memory.state["state_band"].tolist() == [2]
    assert solve(memory).stats["grazings"] == 1
    # a mass that sticks for an instant may pause, a slipping one has no such mark
    memory.state["state_lead"][:] = AT_REST
    assert solve(memory).stats["grazings"] == 1
    memory.state["state_mode"][:] = 1
    with pytest.raises(st.StoreError, match="state_lead"):
        solve(memory)


@pytest.mark.parametrize("belt", [0.0, 0.3])
def test_friction_at_an_event_is_that_of_no_slip_whatever_the_neighbours_do(belt):
    law = st.ExponentialWeakening(0.4, 0.2, 0.1)
    chain = st.Chain(**THREE, law=law, load=st.chains.Sine(25.0, 3.0), belt_speed=belt)
    run = st.solve(chain, st.EventDriven(), t_span=(0.0, 12.0))
    found = run.events
    moving = np.array([word != "stick" for word in found["to"]])
    slid = np.array([word != "stick" for word in found["from"]])
    assert moving.sum() > 5
    assert slid.sum() > 5
    # mass m at the moment when slip begins or ends: mu_static m g
    bound = 0.4 * 9.81 * np.array(THREE["mass"])[np.asarray(found["contact"]) - 1]
    right, left = (np.abs(found[f"friction_{side}"].to_numpy()) for side in ("right", "left"))
    assert right[moving] == pytest.approx(bound[moving], rel=1e-6)
    assert left[slid] == pytest.approx(bound[slid], rel=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_a_mass_that_stops_from_many_times_the_speed_scale(seed):
    """exp(-v / v_s) is nothing at first, and its series grows far beyond the order of a step."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3.0, -1.0)
    law = st.ExponentialWeakening(0.3, rng.uniform(0.05, 0.25), scale)
    chain = st.Chain(
        mass=[1.0],
        stiffness=rng.uniform(5.0, 30.0),
        normal_force=[rng.uniform(1.0, 8.0)],
        law=law,
        v0=[scale * rng.uniform(5.0, 300.0)],
        load=st.Constant(rng.uniform(-2.0, 2.0)),
    )
    found = st.solve(chain, st.EventDriven(), (0.0, 1.0), save=2)
    short = st.solve(chain, st.EventDriven(max_step=2e-3), (0.0, 1.0), save=2)
    assert list(found.event_log.kind) == list(short.event_log.kind)
    size = max(1e-6, float(np.abs(short.final["x"]).max()))
    # what is left is the error that the law itself makes grow, as fast as exp(t N mu' / m)
    assert np.abs(found.final["x"] - short.final["x"]).max() < 1e-9 * size
    assert found.audit.ok


@pytest.mark.parametrize("size", [1.5, 5.0, 9.0, 20.0])
def test_a_spike_releases_a_mass(size):
    """The load rises by 1e5 N/s at t = 2 s: within the rounding of time it is off by 1e-10 N."""
    spike = st.UserLoad(lambda t: 1.0 + size * math.exp(-(((t - 2.003) / 1e-4) ** 2)))
    chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, law=st.Coulomb(0.25), load=spike)
    run = st.solve(chain, st.EventDriven(max_step=1e-4), (2.0, 2.01), save=2)
    assert list(run.event_log.kind) == ["slip", "stick"]
    # the bound is 0.25 * 9.81 N
    rise = 1e-4 * math.sqrt(-math.log((0.25 * 9.81 - 1.0) / size))
    assert run.event_log.time[0] == pytest.approx(2.003 - rise, abs=1e-12)


@pytest.mark.parametrize("begin", [0.0, 1e3, 1e6])
def test_fast_loads_at_late_times(begin):
    load = st.chains.Sine(4.0, 5e4)
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=st.StaticKinetic(0.3, 0.25), load=load)
    run = st.solve(chain, st.EventDriven(), (begin, begin + 1e-3), save=2)
    assert run.status is st.Status.SOLVED
    assert len(run.event_log) > 10


@pytest.mark.parametrize(("at", "max_step"), [(1.3, None), (2.9, None), (4.2, 0.02)])
def test_a_jump_of_a_users_load_near_the_end_of_a_step(at, max_step):
    """Steps of 1/200 of the span end within rounding of the jump, where none may see beyond it."""
    load = st.UserLoad(lambda t: 0.0 if t < at else 8.0, breakpoints=[at])
    block = st.Chain(mass=[1.0], stiffness=10.0, law=st.Coulomb(0.3), load=load)
    # the span 5 s, or 10 s, divides into these steps
    end = 5.0 if max_step is None else 10.0
    run = st.solve(block, st.chains.EventDriven(max_step=max_step), (0.0, end), save=3)
    stop = at + np.pi / np.sqrt(10.0)
    assert run.events["time"].to_list() == pytest.approx([at, stop], rel=1e-13)
    assert run.final["x"][0] == pytest.approx(2.0 * (8.0 - 0.3 * 9.81) / 10.0, rel=1e-13)
    assert run.stats["grazings"] == 0


def test_a_load_that_jumps_at_the_end_of_the_run():
    load = st.UserLoad(lambda t: 0.0 if t < 2.0 else 8.0, breakpoints=[2.0])
    block = st.Chain(mass=[1.0], stiffness=10.0, law=st.Coulomb(0.3), load=load)
    run = st.solve(block, t_span=(0.0, 2.0), save=3)
    assert run.events[["time", "kind"]].to_numpy().tolist() == [[2.0, "slip"]]
    assert run.data["mode"].values[:, 0].tolist() == [0, 0, 1]
    assert run.final["x"][0] == 0.0
    assert run.audit.ok
