"""Periodic orbits of chains by shooting over their derivatives."""

import numpy as np
import pytest

import stiction as st
from stiction.studies.cycles.branch import _HalfBranch
from stiction.studies.cycles.cycle import states_at
from stiction.studies.cycles.shooting import obstacle

# Den Hartog 1931: frequency ratio, friction, amplitude, modulus of both multipliers
ORBITS = [
    (0.7, 0.3, 1.88569985041425, 0.509801088788811),
    (0.9, 0.6, 3.66141638219527, 0.663464651508529),
    (1.3, 0.4, 1.20090061235759, 0.670717125215088),
    (2.0, 0.3, 0.297676184991529, 0.59750580788142),
]
RUNS = st.chains.EventDriven(replay=False)


def period_of(chain):
    return 2.0 * np.pi / chain.parameter("load.angular_frequency")


@pytest.mark.parametrize(("ratio", "friction", "amplitude", "modulus"), ORBITS)
def test_den_hartog(ratio, friction, amplitude, modulus):
    """x'' + x + f sgn x' = cos(r t), an orbit without stops, as a chain of one mass."""
    load = st.chains.Sine(1.0, ratio, np.pi / 2)
    chain = st.Chain(
        mass=[1.0], stiffness=[1.0], gravity=1.0, law=st.Coulomb(friction), load=load, v0=0.1
    )
    period = 2.0 * np.pi / ratio
    run = st.solve(chain, t_span=(0.0, 40.0 * period), save=2)
    guess = [run.data.x.values[-1, 0], run.data.v.values[-1, 0]]
    cycle = st.find_cycle(chain, guess, period=period)
    np.testing.assert_allclose(np.abs(cycle.multipliers), modulus, atol=1e-10)
    found = chain.at_state(cycle.state).tangents(None, (cycle.start, cycle.start + period), ())
    turns = np.abs([event.state[0] for event in found.events])
    np.testing.assert_allclose(turns, amplitude, atol=1e-12)
    assert cycle.stable
    rho, total = modulus, (1.0 + modulus) * np.cos(np.pi / ratio)
    roots = np.roots([1.0, -total, rho]) ** 2
    np.testing.assert_allclose(
        np.sort_complex(cycle.multipliers), np.sort_complex(roots), atol=1e-8
    )


def test_a_multiple_of_the_period_of_the_force():
    """Over k periods the multipliers would be powers: the orbit is taken over one period."""
    ratio, friction, amplitude, modulus = ORBITS[0]
    load = st.chains.Sine(1.0, ratio, np.pi / 2)
    chain = st.Chain(
        mass=[1.0], stiffness=[1.0], gravity=1.0, law=st.Coulomb(friction), load=load, v0=0.1
    )
    for turns in (2, 3, 4):
        cycle = st.find_cycle(
            chain, [1.0, 0.5], RUNS, period=lambda s, k=turns: k * period_of(s), settle=60.0
        )
        assert cycle.period == pytest.approx(2.0 * np.pi / ratio, rel=1e-15)
        assert cycle.force_period(chain) == cycle.period
        assert len(cycle.order) == 2
        np.testing.assert_allclose(np.abs(cycle.multipliers), modulus, atol=1e-10)
        turning = np.abs([event.state[0] for event in cycle.events])
        np.testing.assert_allclose(turning, amplitude, atol=1e-12)


def test_a_step_after_two_periods():
    """A step that no run of the search reaches: the load does not repeat."""
    ratio, friction = ORBITS[0][:2]
    late = st.chains.PiecewiseLinear([1e3, 1001.0], [0.0, 3.0])
    before = st.chains.PiecewiseLinear([-2.0, -1.0], [0.1, 0.0])
    sine = st.chains.Sine(1.0, ratio, np.pi / 2)
    block = {"mass": [1.0], "stiffness": [1.0], "gravity": 1.0}
    forced, guess = {"period": 2.0 * np.pi / ratio, "settle": 60.0}, [1.0, 0.5]
    steps = st.Chain(**block, load=st.chains.SumOf([sine, late]), law=st.Coulomb(friction))
    with pytest.raises(st.SolveError, match=r"a load that changes at t = 1000; needs a load that"):
        st.find_cycle(steps, guess, RUNS, **forced)
    repeats = st.Chain(**block, load=st.chains.SumOf([sine, before]), law=st.Coulomb(friction))
    assert len(st.find_cycle(repeats, guess, RUNS, **forced).order) == 2
    belt = st.Chain(**block, load=late, law=st.StaticKinetic(0.5, 0.3), belt_speed=0.2)
    with pytest.raises(st.SolveError, match=r"a load that changes at t = 1000"):
        st.find_cycle(belt, (0.25, 0.2))


def test_a_second_change_of_the_load():
    """A triangular table that ends may repeat for all times; one that changes later does not."""
    period = 2.0 * np.pi / 0.7
    time, value = 0.5 * period * np.arange(9), np.array([0.0, 2.0] * 4 + [0.0])
    block = {"mass": [1.0], "stiffness": [1.0], "gravity": 1.0, "law": st.Coulomb(0.3)}
    wave = st.Chain(**block, load=st.chains.PiecewiseLinear(time, value))
    guess = wave.tangents(RUNS, (0.0, 3.0 * period), ()).final
    cycle = st.find_cycle(wave, guess, RUNS, period=period)
    assert len(cycle.order) == 2
    late = st.chains.PiecewiseLinear([*time, 1e3, 1001.0], [*value, 0.0, 5.0])
    with pytest.raises(st.SolveError, match=r"a load that changes at t = 1000"):
        st.find_cycle(st.Chain(**block, load=late), guess, RUNS, period=period)


def test_a_square_wave_with_steep_edges():
    """The table gives the load of four periods; its edges are shorter than rounding of time."""
    period = 2.0 * np.pi / 0.7
    time = (0.5 * period * np.arange(8))[:, None] + [0.0, 1e-12]
    value = np.array([[-1.0, 1.0], [1.0, -1.0]] * 4)
    wave = st.chains.PiecewiseLinear(time.ravel(), value.ravel())
    block = {"mass": [1.0], "stiffness": [1.0], "gravity": 1.0, "law": st.Coulomb(0.3)}
    chain = st.Chain(**block, load=wave)
    guess = chain.tangents(RUNS, (0.0, 3.0 * period), ()).final
    assert len(st.find_cycle(chain, guess, RUNS, period=period).order) == 2


@pytest.mark.parametrize("ratio", [np.sqrt(0.5), 0.5])
def test_a_weak_sine_of_another_period(ratio):
    """Its effect in the second period is below the tolerance of states."""
    weak = st.chains.SumOf([st.chains.Sine(1.0, 0.7, 1.0), st.chains.Sine(1e-6, 0.7 * ratio)])
    block = {"mass": [1.0], "stiffness": [1.0], "gravity": 1.0, "v0": 0.1}
    chain = st.Chain(**block, law=st.Coulomb(0.3), load=weak)
    with pytest.raises(st.SolveError, match=r"a sine of the load repeats 0\."):
        st.find_cycle(chain, [1.0, 0.5], RUNS, period=2.0 * np.pi / 0.7, settle=60.0)


def test_a_slow_ramp_does_not_repeat():
    load = st.chains.SumOf([st.chains.Sine(1.0, 0.7, 1.0), st.Ramp(1e-8)])
    block = {"mass": [1.0], "stiffness": [1.0], "gravity": 1.0, "v0": 0.1}
    chain = st.Chain(**block, law=st.Coulomb(0.3), load=load)
    with pytest.raises(st.SolveError, match="a load that changes at t = 0"):
        st.find_cycle(chain, [1.0, 0.5], RUNS, period=2.0 * np.pi / 0.7, settle=60.0)


def test_a_forced_block_on_a_belt_has_no_free_period():
    """A weak sine hardly changes states that start at another time, but it has a period."""
    block = {"mass": [1.0], "stiffness": [1.0], "gravity": 1.0, "belt_speed": 0.2}
    weak = st.chains.Sine(1e-7, 0.9)
    belt = st.Chain(**block, law=st.StaticKinetic(0.5, 0.3), load=weak)
    with pytest.raises(st.ModelError, match="period of the force"):
        st.find_cycle(belt, (0.25, 0.2), RUNS)


def test_stick_slip_on_a_belt():
    """Period 2 d / V + 2 (pi - arctan(d / V)) with d = mu_s - mu_k; the orbit forgets its past."""
    speed, drop = 0.2, 0.2
    chain = st.Chain(
        mass=[1.0],
        stiffness=[1.0],
        gravity=1.0,
        law=st.StaticKinetic(0.3 + drop, 0.3),
        belt_speed=speed,
    )
    cycle = st.find_cycle(chain, (0.25, speed))
    period = 2.0 * drop / speed + 2.0 * (np.pi - np.arctan(drop / speed))
    assert cycle.period == pytest.approx(period, abs=1e-11)
    assert sorted(cycle.order) == ["slip- 1", "stick 1"]
    np.testing.assert_allclose(cycle.multipliers, 0.0, atol=1e-10)
    assert cycle.trivial == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("time", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("length", [1e-6, 1e3])
def test_units_do_not_matter(time, length):
    """The period of a block on a belt with a static drop, 2 d / V + 2 (pi - arctan(d / V))."""
    force, speed = length / time**2, 0.3 * length / time
    law = st.StaticKinetic(0.35 * force, 0.2 * force)
    block = st.Chain(
        mass=[1.0], stiffness=[time**-2], law=law, belt_speed=speed, normal_force=[1.0]
    )
    cycle = st.find_cycle(block, [0.05 * length, speed])
    expected = 2.0 * 0.15 / 0.3 + 2.0 * (np.pi - np.arctan(0.15 / 0.3))
    assert cycle.period / time == pytest.approx(expected, rel=1e-12)
    assert np.abs(cycle.multipliers).max() < 1e-12


def test_a_guess_at_rest_is_an_equilibrium():
    block = st.Chain(
        mass=[1.0], stiffness=[1.0], law=st.StaticKinetic(0.35, 0.2), belt_speed=0.3, gravity=1.0
    )
    with pytest.raises(st.SolveError, match=r"got the equilibrium \[0\.2, 0\.0\]"):
        st.find_cycle(block, [0.2, 0.0])
    with pytest.raises(st.SolveError, match="without a recurrent event"):
        st.find_cycle(block, [0.0, 0.1])


# ---- branches of chains under a sine


def settled(chain, periods=60):
    start = np.zeros(2 * chain.n_mass)
    return chain.at_state(start).tangents(RUNS, (0.0, periods * period_of(chain)), ()).final


def test_corners_of_branches():
    """A stick interval vanishes, and the branch turns by more than a step may."""
    chain = st.Chain(
        mass=[1.755, 0.644],
        stiffness=[22.6, 25.9],
        law=st.Coulomb(0.1273),
        load=st.chains.Sine(4.045, 2.58),
        gravity=9.81,
    )
    cycle = st.find_cycle(chain, settled(chain), RUNS, period=period_of)
    branch = st.continue_cycle(cycle, "load.angular_frequency", (2.57, 2.61), step=0.2)
    assert all("limit" in end for end in branch.ends)
    assert "grazing-sliding" in [one.kind for one in branch.bifurcations]
    # the orbits behind the corner are those that runs settle on
    last = branch.cycles[-1]
    assert last.order == ("slip- 1", "slip- 2", "slip+ 1", "slip+ 2")
    beyond = last.system.at_state(last.state).tangents(RUNS, (last.start, last.period), ()).final
    np.testing.assert_allclose(settled(last.system, 200), beyond, atol=1e-7)


def test_a_turn_that_no_step_resolves():
    """Within 1e-6 of the frequency mass 2 stops .35 s later; the order of events is the same."""
    chain = st.Chain(
        mass=[1.07793, 0.923095, 1.27289],
        stiffness=[35.766, 13.1994, 35.2461],
        damping=0.09708,
        law=st.Coulomb(0.197679),
        load=st.chains.Sine(20.1227, 0.53360202670),
        gravity=9.81,
    )
    cycle = st.find_cycle(chain, settled(chain, 200), RUNS, period=period_of)
    # by Newton's method, and by runs that settle on the stable orbit beyond
    halves = [
        _HalfBranch(cycle, "load.angular_frequency", (0.5, 0.54), 0.2, 9, -1.0) for _ in range(2)
    ]
    assert halves[0]._turn_corner()
    assert halves[1]._settle()
    orbits = [cycle, *(half.cycles[-1] for half in halves)]
    assert [one.order for one in orbits] == [cycle.order] * 3
    values = [one.system.parameter("load.angular_frequency") for one in orbits]
    states = [states_at(one, np.zeros(1))[0] for one in orbits]
    # both lie on the line that begins at the turn
    slopes = [(states[k] - states[0]) / (values[k] - values[0]) for k in (1, 2)]
    np.testing.assert_allclose(*slopes, rtol=0.05)  # reason: the turn lies 4e-7 from the orbit
    last = orbits[1]
    # a run from the orbit before the turn settles on the orbit beyond it
    run = last.system.at_state(cycle.state).tangents(
        RUNS, (last.start, last.start + 80.0 * last.period), ()
    )
    np.testing.assert_allclose(run.final, last.state, atol=1e-9)
    assert values[0] - values[1] > 1e-5


def test_nodes_move_once_for_each_orbit(monkeypatch):
    """Steps pass the limit of the parameter, and shorter ones fail: the search is bounded."""
    monkeypatch.setattr("stiction.studies.cycles.branch_step._BRACKETINGS", 0)
    monkeypatch.setattr("stiction.studies.cycles.branch_step._HALVINGS", 0)
    moves, move = [], _HalfBranch._new_nodes

    def counted(half):
        moves.append(len(half.cycles))
        assert len(moves) < 20
        return move(half)

    monkeypatch.setattr(_HalfBranch, "_new_nodes", counted)
    chain = st.Chain(
        mass=[1.66257, 1.42096, 1.9094, 1.99267],
        stiffness=[26.8532, 21.0664, 5.17972, 19.3199],
        damping=0.3439833384305244,
        law=st.ExponentialWeakening(0.2715327099386693, 0.19735707451968484, 0.8658336637444317),
        load=st.chains.Sine(9.389977844198054, 0.32803519422997834),
        gravity=9.81,
    )
    state = [-0.12257438870026559, -0.08368199914576914, -0.11859816015035217, -0.3723524829629781]
    cycle = st.find_cycle(chain, [*state, 0.0, 0.0, 0.0, 0.0], RUNS, period=period_of)
    half = _HalfBranch(cycle, "load.angular_frequency", (0.328, 0.3557), 0.2, 4, 1.0)
    for _ in half.follow():
        pass
    assert half.reason
    assert len(set(moves)) == len(moves) > 0


def test_a_node_in_stick_at_the_bound(monkeypatch):
    """Mass 2 sticks at a node with a force that reaches its bound at a corner; mass 1 rests."""
    # the location of the corner is not tested here
    monkeypatch.setattr("stiction.studies.cycles.branch_step._HALVINGS", 2)
    chain = st.Chain(
        mass=[1.73891, 0.774415, 1.56289],
        stiffness=[12.399, 36.6291, 35.1136],
        damping=0.15366,
        load=st.chains.Sine(10.610752, 0.541726),
        law=st.ExponentialWeakening(0.368587, 0.2291, 1.59735),
        gravity=9.81,
    )
    cycle = st.find_cycle(chain, settled(chain), RUNS, period=period_of)
    branch = st.continue_cycle(cycle, "law.mu_kinetic", (0.229095, 0.22911), step=0.2)
    assert all("limit" in end for end in branch.ends)
    # runs beside the orbit beyond the corner settle on it
    last = branch.cycles[-1]
    beyond = last.system.at_state(last.state).tangents(RUNS, (last.start, last.period), ()).final
    beside = last.system.at_state(beyond + np.array([0.0, 1e-3, 1e-3, 0.0, 0.0, 0.0]))
    run = beside.tangents(RUNS, (0.0, 60.0 * period_of(beside)), ())
    np.testing.assert_allclose(run.final, beyond, atol=1e-9)


def test_a_mass_that_always_sticks():
    """It may rest at any place of an interval; the branch goes on, and on where it slips."""
    chain = st.Chain(
        mass=[4.0, 1.0],
        stiffness=[10.0, 10.0],
        law=st.Coulomb(0.3),
        load=st.chains.Sine(6.0, 2.0),
        damping=0.1,
        gravity=10.0,
    )
    cycle = st.find_cycle(chain, settled(chain), RUNS, period=period_of)
    assert cycle.order == ("slip- 2", "slip+ 2")
    assert abs(cycle.multipliers[0] - 1.0) < 1e-12
    branch = st.continue_cycle(cycle, "load.amplitude", (5.9, 9.0), step=0.2)
    assert all("limit" in end for end in branch.ends)
    assert branch.cycles[-1].order == (
        *("slip+ 1", "slip- 2", "stick 1"),
        *("slip- 1", "slip+ 2", "stick 1"),
    )


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 16])
def test_stick_slip_with_any_number_of_nodes(nodes):
    drop, speed = 0.15, 0.3
    block = st.Chain(
        mass=[1.0], stiffness=[1.0], law=st.StaticKinetic(0.35, 0.2), belt_speed=speed, gravity=1.0
    )
    cycle = st.find_cycle(block, (0.1, speed), nodes=nodes)
    period = 2.0 * drop / speed + 2.0 * (np.pi - np.arctan(drop / speed))
    assert cycle.period == pytest.approx(period, abs=1e-12)
    assert len(cycle.order) == 2


def test_the_end_of_an_interval_of_stick():
    """Mass 1 always sticks; beyond 1.291222 rad/s the force at its position exceeds the bound."""
    chain = st.Chain(
        mass=[1.6059, 1.1001, 0.93212],
        stiffness=[35.287, 26.764, 12.907],
        damping=0.24559,
        law=st.Coulomb(0.14644),
        load=st.chains.Sine(3.2563, 1.29),
        gravity=9.81,
    )
    state = [-0.00166, -0.08561, -0.27513, 0.0, 0.0, 0.33518]
    cycle = st.find_cycle(chain, state, RUNS, period=period_of)
    chain = chain.with_parameter("load.angular_frequency", 1.2912)
    cycle = st.find_cycle(chain, cycle)
    half = _HalfBranch(cycle, "load.angular_frequency", (1.2, 1.31), 0.2, 9, 1.0)
    order = ("stick 2", "stick 3", "slip- 3", "slip- 2", "stick 2", "stick 3", "slip+ 3", "slip+ 2")
    assert cycle.order == order
    beyond = chain.with_parameter("load.angular_frequency", 1.2913)
    # at this position mass 1 slips a little in each period
    run = beyond.at_state(state).tangents(RUNS, (0.0, 20.0 * period_of(beyond)), ())
    assert "slip+ 1" in run.order[-9:]
    assert half._move_in_family()
    for _ in half.follow():
        pass
    assert half.reason == "load.angular_frequency reached its limit"
    assert half.cycles[-1].order == order
    assert half.cycles[-1].state[0] == pytest.approx(half.cycles[0].state[0], abs=1e-15)
    assert abs(half.cycles[0].state[0] - cycle.state[0]) > 1e-3


def test_another_orbit_is_no_position_in_an_interval_of_stick():
    """Mass 1 always sticks, up to 6.46959 N; another orbit at 4.49 N has the same order."""
    chain = st.Chain(
        mass=[1.71336, 1.59711],
        stiffness=[11.1289, 16.2997],
        damping=0.06287781996184895,
        law=st.StaticKinetic(0.3399777596729318, 0.2749142486412367),
        load=st.chains.Sine(5.676832376976166, 1.1202589236612859),
        gravity=9.81,
    )
    cycle = st.find_cycle(chain, settled(chain, 200), RUNS, period=period_of)
    branch = st.continue_cycle(cycle, "load.amplitude", (5.67, 6.46957), step=0.2)
    half = _HalfBranch(branch.cycles[-1], "load.amplitude", (5.67, 6.6), 0.2, 9, 1.0)
    half._move_in_family()
    assert half.cycles[-1].system.parameter("load.amplitude") == pytest.approx(6.46957, rel=1e-12)


def test_a_jump_at_the_static_bound():
    """At 9.56932 N the force on mass 1 in stick touches its static bound, and the orbit ends."""
    chain = st.Chain(
        mass=[1.2218, 1.4553],
        stiffness=[34.835, 26.027],
        damping=0.39237,
        law=st.StaticKinetic(0.20639, 0.14748),
        load=st.chains.Sine(9.5694, 0.66659),
        gravity=9.81,
    )
    cycle = st.find_cycle(chain, [-0.1583, -0.24063, 0.27644, 0.47098], RUNS, period=period_of)
    half = _HalfBranch(cycle, "load.amplitude", (9.0, 10.0), 0.01, 9, -1.0)
    problem, place = half.problem, half.place
    assert "jumps by 0.005" in obstacle(problem, place.u, 0.01 * place.tangent, 1e-4)
    assert obstacle(problem, place.u, 1e-7 * place.tangent, 1e-4) == "the steps became too short"
    # beyond the end runs settle on an orbit at the same distance, however near the parameter is
    assert not _HalfBranch(cycle, "load.amplitude", (9.0, 10.0), 0.2, 9, -1.0)._settle()
    # runs on both sides: the orbit, and another one
    for amplitude, moved in ((9.56933, 2e-5), (9.5693, 0.01)):
        other = chain.with_parameter("load.amplitude", amplitude)
        start = cycle.system.at_state(cycle.state)
        state = start.tangents(RUNS, (cycle.start, cycle.period), ()).final
        run = other.at_state(state).tangents(RUNS, (0.0, 200.0 * period_of(other)), ())
        assert 0.1 * moved < np.abs(run.final - state).max() < 10.0 * moved
