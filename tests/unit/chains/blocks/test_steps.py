"""Blocks of chains in fixed steps: the same as single runs, to the last bit, or none at all."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.chains.blocks.steps import blocks_of
from stiction.numerics.jit import mode
from stiction.results.ledger import COLUMNS
from stiction.results.run import Request
from stiction.results.summary import doubts
from stiction.studies.keep import Reading, always_of, kept_of

SPAN = (0.0, 6.0)
REQUEST = Request(*SPAN, np.array(SPAN))
METHOD = st.ThetaStepper(step=0.01)
NAMES = (
    "onset_time",
    "onset_force",
    "critical_force",
    "stop_time",
    "stick_above_kinetic",
    "final.x",
    "final.v",
    *(f"energy.{name}" for name in COLUMNS),
    *(f"events.{kind}" for kind in ("slip", "stick", "reverse", "stop")),
    *(f"stats.{name}" for name in ("events", "steps", "step", "solves", "newton_iterations")),
    *(f"stats.{name}" for name in ("mean_iterations", "most_iterations", "rescued_steps")),
    "audit.ledger_closes",
    "audit.energy_of_each_step",
    "audit.steps_converged",
    "audit.friction_dissipates",
    "audit.stick_within_bound",
    "audit.slip_against_friction",
)

needs_compiler = pytest.mark.skipif(mode() == "plain", reason="blocks are compiled code")


def random_chain(rng, law):
    n = int(rng.integers(1, 6))
    loads = (
        st.Ramp(1.0),
        st.chains.Sine(4.0, 3.0),
        st.chains.PiecewiseLinear([0, 2, 4], [0, 6, -1]),
        st.chains.Constant(1.0),
    )
    return st.Chain(
        mass=rng.uniform(0.5, 2.0, n),
        stiffness=float(rng.uniform(5.0, 40.0)),
        damping=float(rng.choice([0.0, 0.5])),
        load=loads[rng.integers(4)],
        law=law,
        supports=str(rng.choice(["left", "both", "right"])),
        x0=rng.uniform(-0.3, 0.3, n),
        v0=float(rng.choice([0.0, 0.3])),
        plate_stiffness=float(rng.choice([0.0, 0.0, 4.0])),
    )


def compared(chain, path, values, method=METHOD):
    """Compare a block with single runs; return how many were sound, and how many were doubtful."""
    names = [name for name in NAMES if chain.law.has_jump or name != "stick_above_kinetic"]
    block = blocks_of(chain, method, REQUEST, [path], names)([values])
    sound = doubtful = 0
    for k, value in enumerate(values.tolist()):
        law = dataclasses.replace(chain.law, **{path[1]: value}) if path[0] == "law" else chain.law
        other = {} if path[0] == "law" else {path[0]: value}
        one = dataclasses.replace(chain, law=law, **other)
        run = st.solve(one, method, SPAN, save=2, throw=False)
        good = run.status.ok and not doubts(run)
        doubtful += not good
        assert not (block.sound[k] and not good)
        if not block.sound[k]:
            continue
        sound += 1
        told = always_of(run)
        assert (told["status"], told["losses"], told["audit_failed"]) == (0, 0, 0)
        assert block.reached[k] == told["reached"]
        for name, kept in kept_of(run, Reading(tuple(names)), lenient=True).items():
            wanted = np.broadcast_to(kept.values, block.results[name][k].shape)
            assert np.array_equal(block.results[name][k], wanted, equal_nan=True), name
        assert block.events[k] == told["events"]
        assert block.imbalance[k] == told["imbalance"]
    return sound, doubtful


@needs_compiler
@pytest.mark.parametrize("seed", range(40))
def test_the_same_as_single_runs(seed):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, st.Coulomb(0.2))
    method = dataclasses.replace(METHOD, theta=float(rng.choice([0.5, 0.5, 0.6, 1.0])))
    # more than a group of lanes, not a whole number of groups
    count = 40 if seed < 5 else 8
    sound, doubtful = compared(chain, ("law", "mu"), rng.uniform(0.0, 0.4, count), method)
    assert (sound, doubtful) == (count, 0)


@needs_compiler
@pytest.mark.parametrize("seed", range(10))
def test_with_a_jump_in_friction(seed):
    rng = np.random.default_rng(100 + seed)
    chain = random_chain(rng, st.StaticKinetic(0.4, 0.1))
    sound, doubtful = compared(chain, ("law", "mu_kinetic"), rng.uniform(0.0, 0.4, 10))
    assert sound + doubtful == 10


@needs_compiler
@pytest.mark.parametrize("path", ["stiffness", "damping", "gravity", "v0", "plate_stiffness"])
def test_other_fields(path):
    rng = np.random.default_rng(8)
    chain = random_chain(rng, st.Coulomb(0.1))
    if path == "plate_stiffness":
        chain = dataclasses.replace(chain, plate_stiffness=1.0)
    sound, _ = compared(chain, (path,), rng.uniform(0.1, 9.0, 10))
    assert sound == 10


@needs_compiler
def test_runs_that_fail_are_left_to_single_runs():
    rng = np.random.default_rng(5)
    chain = dataclasses.replace(random_chain(rng, st.Coulomb(0.05)), load=st.chains.Sine(8.0, 3.0))
    few = dataclasses.replace(METHOD, max_events=30)
    sound, doubtful = compared(chain, ("law", "mu"), np.linspace(0.0, 1.5, 30), few)
    assert sound > 0
    assert doubtful > 0
    bad = blocks_of(chain, METHOD, REQUEST, [("law", "mu")], [])([np.array([0.1, -1.0, np.nan])])
    assert bad.sound.tolist() == [True, False, False]


@needs_compiler
def test_members_that_are_not_alike_are_left_to_single_runs():
    chain = st.Chain(mass=[1.0], stiffness=9.0, load=st.Ramp(1.0), law=st.Coulomb(0.1))
    block = blocks_of(chain, METHOD, REQUEST, [("load", "rate")], ["final.x"])
    assert block([np.array([1.0, 0.0, 2.0])]).sound.tolist() == [True, False, True]


def test_what_no_block_can_do():
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=st.Coulomb(0.2))
    mu = ("law", "mu")
    weak = dataclasses.replace(chain, law=st.ExponentialWeakening(0.4, 0.2, 0.1))
    belt = dataclasses.replace(chain, belt_speed=0.1)
    long = dataclasses.replace(chain, mass=np.ones(33))
    assert blocks_of(weak, METHOD, REQUEST, [("law", "mu_static")], []) is None
    for other in (belt, long):
        assert blocks_of(other, METHOD, REQUEST, [mu], []) is None
    assert blocks_of(chain, METHOD, REQUEST, [("belt_speed",)], []) is None
    assert blocks_of(chain, METHOD, REQUEST, [mu], ["audit.replay_agrees"]) is None
