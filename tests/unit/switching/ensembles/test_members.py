"""Blocks of flows solved in one call: the same as single runs, to the last bit, or none at all."""

import dataclasses

import numpy as np
import pytest
from block_cases import check_divided, check_runs, needs_compiler

import stiction as st
from stiction.core.ledger import COLUMNS
from stiction.core.run import Request
from stiction.switching.ensembles.members import blocks_of

LOOSE = st.switching.EventDriven(rtol=1e-8)
WHEEL = st.WheelOnTurntable(x0=(0.2, 0.1, -0.95))
NAMES = (
    "period",
    "final.r",
    "final.v",
    "final.omega",
    *(f"energy.{name}" for name in COLUMNS),
    *(f"events.{kind}" for kind in ("cross", "slide", "leave", "kink", "fold", "two_fold")),
    *(f"stats.{name}" for name in ("events", "steps", "rejected")),
    "audit.ledger_closes",
    "audit.friction_dissipates",
    "audit.stays_on_surface",
    "audit.stays_on_its_side",
    "audit.multiplier_within_bound",
)


def request_of(span):
    return Request(*span, np.array(span))


def compared(system, paths, columns, method=LOOSE, span=(0.0, 5.0), names=NAMES):
    block = blocks_of(system, method, request_of(span), paths, names)(columns)
    runs = []
    for row in zip(*(c.tolist() for c in columns), strict=True):
        x0, fields = np.array(system.x0), {}
        for path, value in zip(paths, row, strict=True):
            if path[0] == "x0":
                x0[path[1]] = value
            else:
                fields[path[0]] = value
        one = dataclasses.replace(system, x0=tuple(x0), **fields)
        runs.append(st.solve(one, method, span, save=2, throw=False))
    return check_runs(block, runs, names)


@needs_compiler
@pytest.mark.parametrize("span", [(0.0, 1.0), (0.0, 5.0), (2.0, 22.0)])
def test_the_same_as_single_runs(span):
    rng = np.random.default_rng(int(span[1]))
    count = 100
    columns = rng.uniform(0.1, 0.3, count), rng.uniform(-0.2, 0.2, count)
    columns = (*columns, rng.uniform(-1.1, -0.9, count))
    paths = [("x0", 0), ("x0", 1), ("x0", 2)]
    passed, invalid = compared(WHEEL, paths, columns, span=span)
    assert passed >= 40
    assert passed + invalid == count


@needs_compiler
@pytest.mark.parametrize("field", ["mu", "c1", "gamma", "k2", "omega0", "kappa"])
def test_other_fields(field):
    rng = np.random.default_rng(3)
    wheel = dataclasses.replace(WHEEL, physical_time=True)
    here = getattr(wheel, field)
    values = here * rng.uniform(0.8, 1.2, 20)
    # a start and a field in one study
    columns = values, rng.uniform(0.15, 0.25, 20)
    paths = [(field,), ("x0", 0)]
    passed, invalid = compared(wheel, paths, columns, span=(0.0, 0.05))
    assert passed >= 15
    assert passed + invalid == 20


@needs_compiler
def test_blocks_of_any_size_and_order():
    rng = np.random.default_rng(5)
    columns = [WHEEL.mu * rng.uniform(0.8, 1.2, 64), rng.uniform(0.1, 0.3, 64)]
    paths = [("mu",), ("x0", 0)]
    check_divided(blocks_of(WHEEL, LOOSE, request_of((0.0, 5.0)), paths, NAMES), columns)


@needs_compiler
@pytest.mark.parametrize("start", [0.0, 1e11])
def test_other_flows(start):
    # at late times a slip is short compared with the time, but not with that since the start
    belt = st.BeltOscillator(x0=(1.0, 0.0))
    names = ["period", "stats.steps", "energy.imbalance", "events.slide"]
    x, span = np.linspace(-2.0, 2.0, 20), (start, start + 110.0)
    passed, invalid = compared(belt, [("x0", 0)], [x], span=span, names=names)
    assert passed + invalid == 20
    assert passed >= 15


@needs_compiler
def test_what_is_refused_or_stops_is_left_to_single_runs():
    solve = blocks_of(WHEEL, LOOSE, request_of((0.0, 1.0)), [("mu",), ("x0", 0)], NAMES)
    mu, r = np.array([1.0, -1.0, np.nan, 1.0]), np.array([0.2, 0.2, 0.2, np.inf])
    assert solve([mu, r]).valid.tolist() == [True, False, False, False]
    few = dataclasses.replace(LOOSE, max_steps=5)
    r = np.linspace(0.15, 0.25, 10)
    passed, invalid = compared(WHEEL, [("x0", 0)], [r], few)
    assert invalid > 0
    assert passed + invalid == 10


@needs_compiler
def test_starts_on_a_surface_are_left_to_single_runs():
    wheel = dataclasses.replace(WHEEL, gamma=-np.pi / 2)
    # h = 0: no lateral slip
    surface = blocks_of(wheel, LOOSE, request_of((0.0, 1.0)), [("x0", 0), ("x0", 1)], [])
    block = surface([np.array([0.2, 0.2]), np.array([0.0, 0.1])])
    assert wheel.surfaces_at(np.array([0.2, 0.05, -0.95]))[0] == pytest.approx(0.0, abs=1e-15)
    assert not surface([np.array([0.2]), np.array([0.05])]).valid.any()
    assert block.valid.all()


def test_what_no_block_can_do():
    request, start = request_of((0.0, 1.0)), ("x0", 0)
    policy = dataclasses.replace(LOOSE, policy=st.switching.Sample(1))
    side = dataclasses.replace(WHEEL, mode="+")
    form = st.switching.NormalForm(J1=1.0, J2=1.0)
    assert blocks_of(WHEEL, policy, request, [start], []) is None
    assert blocks_of(side, LOOSE, request, [start], []) is None
    assert blocks_of(WHEEL, LOOSE, request, [("x0",)], []) is None
    assert blocks_of(WHEEL, LOOSE, request, [("physical_time",)], []) is None
    assert blocks_of(WHEEL, LOOSE, request, [start], ["times.slide"]) is None
    saves = Request(0.0, 1.0, np.linspace(0.0, 1.0, 5))
    assert blocks_of(WHEEL, LOOSE, saves, [start], []) is None
    # it has no energies, and an audit of other lines
    assert blocks_of(form, LOOSE, request, [start], []) is None
