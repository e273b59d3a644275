"""The audit of many chains at once sees the same damage as that of one."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.chains.blocks.outcome import Outcomes
from stiction.chains.blocks.stack import stack_of
from stiction.chains.outcome import Kinds
from stiction.core.block import ledger_of


@pytest.fixture
def outcomes():
    """Two masses after 2 s, of three members: one sticks, one slips."""
    chain = st.Chain(mass=[1.0, 1.0], stiffness=10.0, gravity=10.0, law=st.Coulomb(0.2))
    stack = stack_of(chain, [("law", "mu")], [np.array([0.2, 0.2, 0.2])])
    rows = np.ones((3, 2, 2))
    heat = np.zeros((3, 2, 2))
    heat[:, 1] = [0.0, 0.2]
    sums = np.zeros((3, 2, 4))
    # kinetic 0.5, stored 0.1, work 0.8 = 0.5 + 0.1 + 0.2
    sums[:, 1] = [0.5, 0.1, 0.8, 0.0]
    return Outcomes(
        stack=stack,
        t_start=0.0,
        x=0.1 * rows,
        v=rows * [0.0, 1.0],
        mode=(rows * [0, 1]).astype(np.int8),
        friction=rows * [1.5, -2.0],
        onset=np.full((3, 2), np.nan),
        stop=np.full(3, np.nan),
        kinds=Kinds.table(3),
        energy=ledger_of(sums, heat),
        given=np.zeros(3),
        stats={},
        replayed=np.tile([1e-12, 1e-8], (3, 1)),
    )


def damaged(outcomes, name, change):
    values = getattr(outcomes, name).copy()
    change(values)
    return dataclasses.replace(outcomes, **{name: values})


def judged(outcomes):
    block = outcomes.block(outcomes.lines(), np.ones(3, bool), np.zeros(3, int), np.full(3, 2.0))
    values = {line.check: block.results[f"audit.{line.check}"] for line in outcomes.lines()}
    return values, block.valid


def test_valid_members_hold(outcomes):
    values, holds = judged(outcomes)
    assert holds.tolist() == [True, True, True]
    assert values["stick_within_bound"] == pytest.approx([0.75] * 3)


def test_a_ledger_that_does_not_close(outcomes):
    sums = np.stack([outcomes.energy.kinetic, outcomes.energy.stored, outcomes.energy.work], axis=2)
    sums = np.concatenate([sums, outcomes.energy.viscous[:, :, None]], axis=2)
    for change, holds in ((1e-12, True), (1e-8, False), (np.nan, False)):
        other = sums.copy()
        other[1, 1, 2] += change
        energy = ledger_of(other, outcomes.energy.heat)
        found = judged(dataclasses.replace(outcomes, energy=energy))[1]
        assert found.tolist() == [True, holds, True]


def test_friction_that_gives_heat_back(outcomes):
    values, holds = judged(dataclasses.replace(outcomes, given=np.array([0.0, 1e-12, 0.1])))
    assert holds.tolist() == [True, True, False]
    assert values["friction_dissipates"].tolist() == [0.0, 1e-12, 0.1]


def test_stick_beyond_its_bound(outcomes):
    def more(friction):
        friction[0, 1, 0] = 2.1
        friction[1, 1, 1] = -5.0
        friction[2, 0, 0] = np.nan

    # friction of slip is the law's: only stick has a bound
    assert judged(damaged(outcomes, "friction", more))[1].tolist() == [False, True, False]


def test_slip_along_its_friction(outcomes):
    def back(v):
        v[1, 1, 1] = -0.5
        v[2, 1, 0] = 0.1

    assert judged(damaged(outcomes, "v", back))[1].tolist() == [True, False, False]


def test_a_second_look_that_disagrees(outcomes):
    def off(replayed):
        replayed[1, 0] = 2e-8
        replayed[2, 0] = np.inf

    assert judged(damaged(outcomes, "replayed", off))[1].tolist() == [True, False, False]
