"""Blocks of chains in fixed steps: the same as single runs, to the last bit, or none at all."""

import dataclasses

import numpy as np
import pytest
from block_cases import REQUEST, check_block, check_sizes_and_orders, needs_compiler

import stiction as st
from stiction.chains.blocks.theta import blocks_of
from stiction.chains.loads import LoadSegments

METHOD = st.ThetaStepper(step=0.01)
MORE = (
    *(f"stats.{name}" for name in ("steps", "step", "solves", "newton_iterations")),
    *(f"stats.{name}" for name in ("mean_iterations", "most_iterations", "rescued_steps")),
    "audit.energy_of_each_step",
    "audit.steps_converged",
)


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
    return check_block(blocks_of, chain, method, path, values, MORE)


@needs_compiler
@pytest.mark.parametrize("seed", range(40))
def test_the_same_as_single_runs(seed):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, st.Coulomb(0.2))
    method = dataclasses.replace(METHOD, theta=float(rng.choice([0.5, 0.5, 0.6, 1.0])))
    # more than a group, not a whole number of groups
    count = 40 if seed < 5 else 8
    passed, invalid = compared(chain, ("law", "mu"), rng.uniform(0.0, 0.4, count), method)
    assert (passed, invalid) == (count, 0)


class UpAndGone(st.chains.Load):
    """A load that rises from 0 to 9 N between 1 and 2 s, and is 0 from then on."""

    def segments(self):
        none = np.empty(0)
        time, rate = np.array([0.0, 1.0, 2.0]), np.array([0.0, 9.0, 0.0])
        return LoadSegments(time, np.zeros(3), rate, none, none, none)


@needs_compiler
def test_a_load_that_jumps_back_moves_a_stuck_chain():
    chain = st.Chain(mass=[1.0], stiffness=10.0, law=st.Coulomb(0.2), load=UpAndGone(), v0=0.3)
    assert compared(chain, ("law", "mu"), np.array([0.1, 0.2])) == (2, 0)


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
    passed, invalid = compared(chain, ("law", "mu_kinetic"), rng.uniform(0.0, 0.4, 10))
    assert passed + invalid == 10


@needs_compiler
@pytest.mark.parametrize("path", ["stiffness", "damping", "gravity", "v0", "plate_stiffness"])
def test_other_fields(path):
    rng = np.random.default_rng(8)
    chain = random_chain(rng, st.Coulomb(0.1))
    if path == "plate_stiffness":
        chain = dataclasses.replace(chain, plate_stiffness=1.0)
    passed, _ = compared(chain, (path,), rng.uniform(0.1, 9.0, 10))
    assert passed == 10


@needs_compiler
def test_runs_that_fail_are_left_to_single_runs():
    rng = np.random.default_rng(5)
    chain = dataclasses.replace(random_chain(rng, st.Coulomb(0.05)), load=st.chains.Sine(8.0, 3.0))
    few = dataclasses.replace(METHOD, max_events=30)
    passed, invalid = compared(chain, ("law", "mu"), np.linspace(0.0, 1.5, 30), few)
    assert passed > 0
    assert invalid > 0
    bad = blocks_of(chain, METHOD, REQUEST, [("law", "mu")], [])([np.array([0.1, -1.0, np.nan])])
    assert bad.valid.tolist() == [True, False, False]


@needs_compiler
def test_members_that_are_not_alike_are_left_to_single_runs():
    chain = st.Chain(mass=[1.0], stiffness=9.0, load=st.Ramp(1.0), law=st.Coulomb(0.1))
    block = blocks_of(chain, METHOD, REQUEST, [("load", "rate")], ["final.x"])
    assert block([np.array([1.0, 0.0, 2.0])]).valid.tolist() == [True, False, True]


def test_columns_have_the_order_of_one_chain():
    from stiction.chains.blocks.group_kernels import OF_PROGRESS, ChainColumns, MassColumns
    from stiction.chains.theta.state import Masses, Motion, Progress, Trial
    from stiction.numerics.tridiagonal import System

    rows = [*System._fields, *Masses._fields, *Motion._fields, *Trial._fields]
    names = list(MassColumns.fields_type.names)
    # rows of the state come before those of work space that have their names
    names[names.index("friction_before")] = "friction"
    # two names of one row
    assert names == [*rows[: rows.index("friction_after")], "mode"]
    first = list(ChainColumns.fields_type.names)[:OF_PROGRESS]
    assert first == list(Progress.fields_type.names)[:OF_PROGRESS]


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
