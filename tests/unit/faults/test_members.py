"""Blocks of sliders solved in one call: as single runs, to the last bit, or none at all."""

import dataclasses

import numpy as np
import pytest
from block_cases import check_divided, check_runs, needs_compiler

import stiction as st
from stiction.core.ledger import COLUMNS
from stiction.core.method import Method
from stiction.core.run import Request
from stiction.faults import Cycles, SpringSlider, members
from stiction.faults.members import blocks_of
from stiction.laws import AgeingLaw, SlipLaw
from stiction.studies import Paired

LAW = AgeingLaw(a=0.01, b=0.02, length=1e-5)
SLIDER = SpringSlider(LAW, spring=2e9, impedance=3e6, speed_start=9e-7)
NAMES = (
    "onsets",
    "recurrence",
    "recurrence_spread",
    *(f"{end}_{n}" for end in ("least", "largest") for n in ("slip_speed", "state", "friction")),
    "final.slip",
    "final.slip_speed",
    "final.state",
    *(f"energy.{name}" for name in COLUMNS),
    "events.onset",
    "events.arrest",
    *(f"stats.{name}" for name in ("events", "steps", "rejected", "evaluations")),
    "audit.ledger_closes",
    "audit.stress_balances",
    "audit.starts_apart_from_unstable_sliding",
)


def request_of(span):
    return Request(*span, np.array(span))


def compared(system, paths, columns, method=None, span=(0.0, 1500.0)):
    method = method or Cycles(rtol=1e-6)
    runs = []
    for row in zip(*(c.tolist() for c in columns), strict=True):
        law, fields = {}, {}
        for path, value in zip(paths, row, strict=True):
            (law if path[0] == "law" else fields)[path[-1]] = value
        one = dataclasses.replace(system, law=dataclasses.replace(system.law, **law), **fields)
        runs.append(st.solve(one, method, span, save=2, throw=False))
    block = blocks_of(system, method, request_of(span), paths, NAMES)(columns)
    return check_runs(block, runs, NAMES)


@needs_compiler
@pytest.mark.parametrize("law", [AgeingLaw, SlipLaw])
@pytest.mark.parametrize("regularised", [True, False])
@pytest.mark.parametrize("span", [(0.0, 1500.0), (7.0, 400.0)])
def test_the_same_as_single_runs(law, regularised, span):
    rng = np.random.default_rng(5)
    count = 60
    columns = (
        rng.uniform(0.006, 0.02, count),
        rng.uniform(0.01, 0.025, count),
        1e-5 * rng.uniform(0.5, 2.0, count),
        2e9 * rng.uniform(0.3, 3.0, count),
        5e6 * rng.uniform(0.5, 1.5, count),
        1e-6 * rng.uniform(0.3, 3.0, count),
    )
    paths = [("law", "a"), ("law", "b"), ("law", "length")]
    paths += [("spring",), ("normal_stress",), ("plate_speed",)]
    own = dataclasses.replace(SLIDER, law=law(mu0=0.55, speed0=2e-6, regularised=regularised))
    passed, invalid = compared(own, paths, columns, span=span)
    assert passed + invalid == count
    assert passed >= 50


@needs_compiler
@pytest.mark.parametrize("field", ["impedance", "speed_start", "state_start", "law.mu0"])
def test_other_fields(field):
    rng = np.random.default_rng(6)
    slider = dataclasses.replace(SLIDER, state_start=10.0)
    here = slider.law.mu0 if field == "law.mu0" else getattr(slider, field)
    path = tuple(field.split("."))
    columns = [here * rng.uniform(0.5, 1.5, 20)]
    passed, invalid = compared(slider, [path], columns, Cycles(rtol=1e-8))
    assert (passed, invalid) == (20, 0)


@needs_compiler
def test_blocks_of_any_size_and_order():
    rng = np.random.default_rng(9)
    # some are refused, some begin on steady sliding
    columns = [rng.uniform(-0.2e9, 4e9, 64), rng.uniform(0.008, 0.02, 64)]
    paths = [("spring",), ("law", "a")]
    solve = blocks_of(SLIDER, Cycles(rtol=1e-6), request_of((0.0, 900.0)), paths, NAMES)
    check_divided(solve, columns)


@needs_compiler
def test_more_events_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(members, "_ROOM", 4)
    springs = np.linspace(1e9, 2.2e9, 5)
    passed, invalid = compared(SLIDER, [("spring",)], [springs], span=(0.0, 9e3))
    assert (passed, invalid) == (5, 0)
    # and more than the buffer of one slider
    monkeypatch.setattr("stiction.faults.run._BUFFER", 8)
    passed, invalid = compared(SLIDER, [("spring",)], [springs], span=(0.0, 9e3))
    assert (passed, invalid) == (5, 0)


@needs_compiler
def test_what_is_refused_or_stops_is_left_to_single_runs():
    paths = [("spring",), ("law", "a")]
    solve = blocks_of(SLIDER, Cycles(rtol=1e-6), request_of((0.0, 100.0)), paths, NAMES)
    springs, a = np.array([2e9, -1.0, np.nan, 2e9, 2e9]), np.array([0.01, 0.01, 0.01, 0.0, np.inf])
    assert solve([springs, a]).valid.tolist() == [True, False, False, False, False]
    springs = np.linspace(1e9, 3e9, 12)
    # too little work, too many events, a tolerance whose audit fails, starts on steady sliding
    few = Cycles(rtol=1e-6, max_steps=400)
    passed, invalid = compared(SLIDER, [("spring",)], [springs], few)
    assert invalid > 0
    passed, invalid = compared(SLIDER, [("spring",)], [springs], Cycles(rtol=1e-2))
    assert invalid > 0
    even = dataclasses.replace(SLIDER, speed_start=None)
    passed, invalid = compared(even, [("spring",)], [np.linspace(1e9, 9e9, 12)], span=(0.0, 50.0))
    assert passed > 0
    assert invalid > 0
    busy = blocks_of(SLIDER, Cycles(max_events=4), request_of((0.0, 3e3)), [("spring",)], NAMES)
    assert not busy([springs[:2]]).valid.any()


def test_what_no_block_can_do():
    request, spring = request_of((0.0, 1.0)), ("spring",)
    method = Cycles()
    assert blocks_of(SLIDER, method, request, [("law", "speed0")], []) is None
    assert blocks_of(SLIDER, method, request, [("law", "regularised")], []) is None
    assert blocks_of(SLIDER, method, request, [("state_start",)], []) is None
    assert blocks_of(SLIDER, method, request, [spring], ["times.onset"]) is None
    assert blocks_of(SLIDER, method, request, [spring], ["trace_speed"]) is None
    saves = Request(0.0, 1.0, np.linspace(0.0, 1.0, 5))
    assert blocks_of(SLIDER, method, saves, [spring], []) is None


@needs_compiler
@pytest.mark.parametrize("keep", [(), ("final.slip", "max(final.state)", "energy.stored")])
def test_a_study_by_blocks_is_the_study(tmp_path, monkeypatch, keep):
    rng = np.random.default_rng(8)
    fields = {"law.a": rng.uniform(0.008, 0.019, 60), "spring": rng.uniform(1e9, 4e9, 60)}
    method = Cycles(rtol=1e-6)
    sweep = st.Sweep(SLIDER, fields, Paired(), keep, t_span=(0.0, 1500.0), method=method)
    blocks = sweep.run(tmp_path / "blocks", workers=1, chunk=25)
    monkeypatch.setattr(Cycles, "blocks", Method.blocks)
    alone = sweep.run(tmp_path / "alone", workers=1, chunk=25)
    assert set(blocks.table) == set(alone.table)
    assert set(keep or {"recurrence", "largest_slip_speed"}) <= set(blocks.table)
    assert np.isfinite(blocks.table["imbalance"]).all()
    for name, values in blocks.table.items():
        assert np.array_equal(values, alone.table[name], equal_nan=True), name
    assert [n.reason for n in blocks.notes] == [n.reason for n in alone.notes]
