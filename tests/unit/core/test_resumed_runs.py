"""Runs that are interrupted and go on: the same bits as those that are left alone."""

import numpy as np
import pytest
from memories import Interrupted, Memory

import stiction as st

SINE = st.chains.Sine(amplitude=4.0, angular_frequency=1.0)
USER = st.UserLoad(lambda t: 4.0 * np.sin(t) + 0.2 * np.sin(9.0 * t))
THREE = {"mass": [1.0, 1.2, 0.8], "stiffness": 20.0}
PLAIN = {**THREE, "law": st.Coulomb(0.1)}
ONE = {"mass": [1.0], "stiffness": 20.0}
WEAK = {**ONE, "damping": 0.5, "law": st.ExponentialWeakening(0.2, 0.1, 0.1)}
CHAINS = {
    "play": (st.Chain(**PLAIN, load=SINE), 20.0),
    "play_mirrored": (
        st.Chain(**PLAIN, load=SINE, supports="right", load_vector=[1.0, 0.0, 0.0]),
        20.0,
    ),
    "sweep": (st.Chain(**PLAIN, load=SINE, supports="both"), 8.0),
    "sweep_damped": (st.Chain(**PLAIN, damping=2.0, load=USER), 4.0),
    "slide": (st.Chain(**WEAK, load=SINE), 1.2),
}
CELLS = ["method={type='BumpStrands', bump_width=0.08}", "solve.t_end=0.05", "solve.save=41"]
NET = ["system.rows=3", "system.columns=3", "system.woven=false", "system.found=true"]
SCENARIOS = {
    "net_in_half_kicks": ("rods-net", [*NET, "solve.t_end=0.001", "solve.save=3"], 1),
    "strings": ("string-symmetric", ["solve.t_end=5.0", "solve.save=21"], 1),
    "strings_of_cells": ("string-symmetric", CELLS, 9),
    "strings_of_cells_to_the_wave_speed": ("string-breakdown", [CELLS[0], "solve.save=401"], 9),
    "rod_on_plane": ("rod-on-plane", ["solve.t_end=0.02", "solve.save=6"], 1),
}


def bits(run):
    return {
        **{name: v.values.tobytes() for name, v in run.variables.items()},
        **{name: c.tobytes() for name, c in run.energy.columns().items()},
        "moments": run.event_log.time.tobytes(),
        "kinds": tuple(run.event_log.kind),
        "verdict": repr((run.status, run.reason, run.t_end, list(run.audit), run.determinism)),
        "quantities": repr({name: q.value for name, q in run.quantities.items()}),
        "stats": dict(run.stats),
    }


def check_same_bits(solve, every=1):
    whole, memory = bits(solve(None)), Memory(every=every)
    assert bits(solve(memory)) == whole
    saves = len(memory.pages)
    assert saves > 0
    for last in {max(1, saves // 2), saves}:
        memory = Memory(every=every, last=last)
        with pytest.raises(Interrupted):
            solve(memory)
        assert bits(solve(memory)) == whole


@pytest.mark.parametrize("name", CHAINS)
def test_quasistatic_chains_go_on(name):
    chain, end = CHAINS[name]

    def solve(checkpoint):
        span = (0.0, end)
        return st.solve(chain, st.Quasistatic(), span, save=11, throw=False, checkpoint=checkpoint)

    check_same_bits(solve)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_go_on(name):
    base, changes, every = SCENARIOS[name]
    scenario = st.read_scenario(base, changes)
    check_same_bits(lambda saved: scenario.solve(throw=False, checkpoint=saved), every)


def test_states_between_saved_times_are_saved(monkeypatch):
    monkeypatch.setattr("stiction.rods.plane.run._NODE_STEPS_PER_CALL", 10)
    monkeypatch.setattr("stiction.rods.strings.characteristics._STEPS_PER_CALL", 2000)
    plane = st.read_scenario("rod-on-plane", ["solve.t_end=0.03", "solve.save=2"])
    strings = st.read_scenario("string-symmetric", ["solve.t_end=3.0", "solve.save=2"])
    for scenario in (plane, strings):
        check_same_bits(lambda saved, s=scenario: s.solve(throw=False, checkpoint=saved))


def test_wheels_go_on_from_every_pause():
    # a step may begin with the gradients that a placement left
    scenario = st.read_scenario("wheel-recurrent", ["solve.t_end=13.0", "solve.save=1301"])
    saved = Memory()
    whole = bits(scenario.solve(throw=False, checkpoint=saved))
    assert len(saved.pages) > 4
    for page in saved.pages:
        assert bits(scenario.solve(throw=False, checkpoint=Memory(page))) == whole


def test_chains_that_get_nowhere_go_on():
    # the run is judged hopeless by the steps since it was judged last, in an earlier call
    changes = ["system.damping=1e9", "system.gravity=9.81", "method.max_steps=30000"]
    scenario = st.read_scenario("burridge-knopoff", [*changes, "solve.t_end=5.0"])
    check_same_bits(lambda saved: scenario.solve(throw=False, checkpoint=saved))


def test_faults_go_on_from_every_pause(monkeypatch):
    monkeypatch.setattr("stiction.faults.run._PRODUCTS_PER_CALL", 4000)
    scenario = st.read_scenario("spring-slider", ["solve.t_end=600.0", "solve.save=5"])
    check_same_bits(lambda saved: scenario.solve(throw=False, checkpoint=saved))


def arch(load):
    axis = st.rods.Arc(
        [0.0, 0.0, 0.0],
        [np.cos(0.4), np.sin(0.4), 0.0],
        [np.sin(0.4), -np.cos(0.4), 0.0],
        1.25,
        0.8,
    )
    return st.rods.CosseratRod(
        st.rods.CircularSection(0.02, 8e6, 0.5, 1000.0),
        axis,
        elements=16,
        natural_curvature=None,
        loads=[st.rods.PointForce([0.0, load, 0.0], at=0.5)],
    )


def numbers(state):
    single = (state.factor, state.energy, state.residual, state.iterations, state.softest)
    return [*single, *state.position.ravel(), *state.frame.ravel()]


def test_rods_in_equilibrium_continue():
    rod = arch(-5.0)
    whole = numbers(st.rods.equilibrium(rod))
    memory = Memory(last=4)
    with pytest.raises(Interrupted):
        st.rods.equilibrium(rod, checkpoint=memory)
    assert numbers(st.rods.equilibrium(rod, checkpoint=memory)) == whole


def test_paths_of_rods_go_on_behind_a_limit_point():
    rod = arch(-60.0)

    def follow(checkpoint):
        path = st.rods.follow_path(rod, arc=0.04, max_points=60, checkpoint=checkpoint)
        return [numbers(state) for state in path.states], list(path.losses)

    whole = follow(None)
    assert whole[1]
    memory = Memory(last=len(whole[0]) - 2)
    with pytest.raises(Interrupted):
        follow(memory)
    assert follow(memory) == whole
