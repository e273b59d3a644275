"""Blocks of chains solved in one call: the same as single runs, to the last bit, or none at all."""

import dataclasses

import numpy as np
import pytest
from block_cases import REQUEST, SPAN, check_block, check_sizes_and_orders, needs_compiler

import stiction as st
from stiction.chains.blocks.event_driven import blocks_of
from stiction.chains.blocks.replay_kernels import _end_difference
from stiction.core.run import Request

METHOD = st.chains.EventDriven()
MORE = (
    *(f"stats.{name}" for name in ("steps", "expansions", "order", "grazings")),
    "audit.replay_agrees",
)


def random_chain(rng, law):
    n = int(rng.integers(1, 7))
    loads = (st.Ramp(1.0), st.chains.Sine(3.0, 2.0), st.chains.PiecewiseLinear([0, 2], [0, 5]))
    return st.Chain(
        mass=rng.uniform(0.5, 2.0, n),
        stiffness=float(rng.uniform(5.0, 40.0)),
        damping=float(rng.choice([0.0, 0.5])),
        load=loads[rng.integers(3)],
        law=law,
        supports=str(rng.choice(["left", "both"])),
        v0=float(rng.choice([0.0, 0.3])),
        belt_speed=float(rng.choice([0.0, 0.0, 0.2])),
    )


def compared(chain, path, values, method=METHOD):
    return check_block(blocks_of, chain, method, path, values, MORE)


@needs_compiler
@pytest.mark.parametrize("seed", range(40))
def test_the_same_as_single_runs(seed):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, st.Coulomb(0.2))
    passed, invalid = compared(chain, ("law", "mu"), rng.uniform(0.0, 0.4, 10))
    assert (passed, invalid) == (10, 0)


@needs_compiler
def test_any_number_of_members_in_any_order():
    rng = np.random.default_rng(9)
    chain = dataclasses.replace(random_chain(rng, st.Coulomb(0.2)), load=st.chains.Sine(6.0, 3.0))
    values = rng.uniform(0.0, 0.4, 64)
    counts = check_sizes_and_orders(blocks_of, chain, METHOD, ("law", "mu"), values, MORE)
    sizes = {"the last 1": 1, "the last 2": 2, "the last 7": 7}
    sizes |= dict.fromkeys(("all", "reversed", "shuffled"), 64)
    assert counts == {name: (size, 0) for name, size in sizes.items()}


@needs_compiler
@pytest.mark.parametrize("seed", range(10))
def test_with_a_jump_in_friction(seed):
    rng = np.random.default_rng(100 + seed)
    chain = random_chain(rng, st.StaticKinetic(0.4, 0.1))
    passed, _ = compared(chain, ("law", "mu_kinetic"), rng.uniform(0.0, 0.4, 10))
    assert passed >= 5


@needs_compiler
def test_determinism_that_is_lost_is_left_to_single_runs():
    # the slip rate of a mass on a belt touches zero where static friction could hold it
    chain = st.Chain(
        mass=[1.0],
        stiffness=1.0,
        gravity=1.0,
        law=st.StaticKinetic(0.4, 0.2),
        x0=0.2,
        v0=0.0,
        belt_speed=0.0,
    )
    found = compared(chain, ("x0",), np.array([0.2, 0.4, 0.39, 0.5]))
    assert found == (3, 1)


@needs_compiler
def test_runs_that_fail_are_left_to_single_runs():
    rng = np.random.default_rng(5)
    chain = random_chain(rng, st.Coulomb(0.05))
    chain = dataclasses.replace(chain, load=st.chains.Sine(8.0, 3.0))
    few = dataclasses.replace(METHOD, max_events=4)
    passed, invalid = compared(chain, ("law", "mu"), np.linspace(0.0, 1.5, 30), few)
    assert passed > 0
    assert invalid > 0
    assert passed + invalid == 30
    steps = dataclasses.replace(METHOD, max_steps=20)
    passed, invalid = compared(chain, ("law", "mu"), np.linspace(0.0, 1.5, 30), steps)
    assert (passed > 0, invalid > 0, passed + invalid) == (True, True, 30)


@needs_compiler
def test_values_that_are_refused_are_left_to_single_runs():
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, load=st.Ramp(1.0), law=st.Coulomb(0.2))
    solve = blocks_of(chain, METHOD, REQUEST, [("law", "mu")], ["stop_time"])
    block = solve([np.array([0.1, -0.1, np.nan, np.inf])])
    assert block.valid.tolist() == [True, False, False, False]


@needs_compiler
def test_motions_that_are_long_are_left_to_single_runs():
    # more states on the way than there is room for
    chain = st.Chain(
        mass=[1.0], stiffness=1e6, load=st.chains.Sine(1e3, 30.0), law=st.Coulomb(0.01)
    )
    solve = blocks_of(chain, METHOD, REQUEST, [("law", "mu")], ["stop_time"])
    assert solve([np.array([0.01, 1e6])]).valid.tolist() == [False, True]


@needs_compiler
def test_members_do_not_know_each_other():
    chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, load=st.Ramp(1.0), law=st.Coulomb(0.2))
    solve = blocks_of(chain, METHOD, REQUEST, [("law", "mu")], ["final.x"])
    values = np.random.default_rng(2).uniform(0.0, 0.4, 50)
    forward = solve([values]).results["final.x"].copy()
    back = solve([values[::-1].copy()]).results["final.x"]
    assert np.array_equal(forward, back[::-1])


def test_what_no_block_can_do():
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=st.Coulomb(0.2))
    mu = ("law", "mu")
    weak = dataclasses.replace(chain, law=st.ExponentialWeakening(0.4, 0.2, 0.1))
    user = dataclasses.replace(chain, load=st.chains.UserLoad(lambda t: t))
    many = dataclasses.replace(METHOD, policy=st.chains.SlipAtGrazing())
    saves = Request(*SPAN, np.linspace(*SPAN, 5))
    assert blocks_of(weak, METHOD, REQUEST, [("law", "mu_static")], []) is None
    assert blocks_of(user, METHOD, REQUEST, [mu], []) is None
    assert blocks_of(chain, many, REQUEST, [mu], []) is None
    assert blocks_of(chain, METHOD, saves, [mu], []) is None
    assert blocks_of(chain, METHOD, REQUEST, [("n",)], []) is None
    assert blocks_of(chain, METHOD, REQUEST, [mu], ["times.slip"]) is None


@needs_compiler
def test_lines_that_jump_are_left_to_single_runs():
    chain = st.Chain(mass=1.0, n=2, stiffness=20.0, law=st.Coulomb(0.2))
    for near, left in ((np.nextafter(1.0, 0.0), True), (1.0 - 1e-9, False)):
        load = st.chains.PiecewiseLinear([0.0, near, 1.0, 8.0], [0.0, 0.0, 10.0, 10.0])
        made = dataclasses.replace(chain, load=load)
        names = ["audit.replay_agrees"]
        assert (blocks_of(made, METHOD, REQUEST, [("law", "mu")], names) is None) == left


def test_a_replay_compares_all_ends_of_all_masses():
    """One entry differs at a time, in places or speeds, or is NaN."""
    rng = np.random.default_rng(2)
    goal, (place, speed) = rng.normal(size=(4, 2, 3)), (0.5, 3.0)
    scales = np.array([place, speed])[:, None]
    assert _end_difference.plain(goal, goal, place, speed) == 0.0
    for at in np.ndindex(goal.shape):
        end = goal.copy()
        end[at] -= 1.0 + at[0]
        expected = np.abs((end - goal) / scales).max()
        assert _end_difference.plain(end, goal, place, speed) == pytest.approx(expected)
        end[at] = np.nan
        assert _end_difference.plain(end, goal, place, speed) == np.inf
    # the largest, wherever it is
    end = goal + rng.normal(size=goal.shape)
    expected = np.abs((end - goal) / scales).max()
    assert _end_difference.plain(end, goal, place, speed) == pytest.approx(expected)
