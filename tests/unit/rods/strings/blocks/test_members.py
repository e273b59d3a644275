"""Blocks of strings solved in one call: as single runs, to the last bit, or none at all."""

import dataclasses

import numpy as np
import pytest
from block_cases import check_divided, check_runs, needs_compiler

import stiction as st
from stiction.core.driver import saved_times
from stiction.core.ledger import COLUMNS
from stiction.core.method import Method
from stiction.core.run import Request
from stiction.io.scenario import Scenario
from stiction.rods.methods import Characteristics
from stiction.rods.strings.blocks import members
from stiction.rods.strings.blocks.members import blocks_of
from stiction.rods.strings.model import RollingStrings
from stiction.rods.strings.shapes import Pluck, Sine
from stiction.studies import Paired

FIXED = RollingStrings(G1=0.4, G2=0.3, u0=Sine(2, 0.5), v_t0=Sine(1, 0.2), nodes=21)
CIRCLE = RollingStrings(ends="periodic", G1=0.4, G2=0.3, u0=Sine(1, 0.5), v0=Sine(2, 0.2), nodes=21)
LOOSE = Characteristics(step=5e-3)
NAMES = (
    "agrees_until",
    *(f"final.{name}" for name in ("s1", "s2", "u", "v", "u_t", "v_t")),
    *(f"energy.{name}" for name in COLUMNS),
    *(f"stats.{name}" for name in ("events", "steps", "corners_met", "steps_of_history")),
    "audit.contact_subsonic",
    "audit.contact_velocity_unique",
    "audit.converged",
    "audit.ledger_closes",
)


def request_of(span, save=20):
    return Request(*span, saved_times(save, *span, 100))


def put(system, path, value):
    new = value if len(path) == 1 else put(getattr(system, path[0]), path[1:], value)
    return dataclasses.replace(system, **{path[0]: new})


def compared(system, paths, columns, method=LOOSE, span=(0.0, 4.0), names=NAMES, save=20):
    runs = []
    for row in zip(*(c.tolist() for c in columns), strict=True):
        one = system
        for path, value in zip(paths, row, strict=True):
            one = put(one, path, value)
        runs.append(st.solve(one, method, span, save=save, throw=False))
    block = blocks_of(system, method, request_of(span, save), paths, names)(columns)
    return check_runs(block, runs, names)


@needs_compiler
@pytest.mark.parametrize("system", [FIXED, CIRCLE])
@pytest.mark.parametrize(("span", "save"), [((0.0, 4.0), 20), ((1.0, 13.0), 2)])
def test_the_same_as_single_runs(system, span, save):
    rng = np.random.default_rng(2)
    count = 12
    columns = rng.uniform(0.1, 0.5, count), rng.uniform(-0.4, 0.4, count)
    names = (*NAMES, "audit.contact_inside") if system.ends == "fixed" else NAMES
    passed, invalid = compared(system, [("G1",), ("G2",)], columns, LOOSE, span, names, save)
    assert passed + invalid == count
    assert passed >= 8


@needs_compiler
@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        (("F",), 0.8, 1.2),
        (("rolling_resistance",), 0.0, 0.3),
        (("s1",), 1.5, 2.5),
        (("u0", "amplitude"), 0.2, 0.6),
    ],
)
def test_other_fields(path, low, high):
    values = np.linspace(low, high, 6)
    passed, invalid = compared(FIXED, [path], [values])
    assert passed + invalid == 6
    assert passed >= 4


@needs_compiler
@pytest.mark.parametrize("path", [("G1",), ("u0", "amplitude")])
def test_blocks_of_any_size_and_order(path):
    # the strongest break down
    columns = [np.random.default_rng(3).uniform(0.1, 1.2, 64)]
    solve = blocks_of(FIXED, Characteristics(step=2e-2), request_of((0.0, 4.0)), [path], NAMES)
    check_divided(solve, columns)


@needs_compiler
def test_corners_larger_arrays_and_several_calls(monkeypatch):
    monkeypatch.setattr(members, "_BUDGET", 3_000_000)
    pluck = dataclasses.replace(FIXED, u0=Pluck(1.9, 0.3), v_t0=None, rolling_resistance=0.1)
    # steps are cut where the path bends, so that the first room does not do
    fine, columns = Characteristics(step=2e-2, tolerance=1e-8), [np.linspace(0.2, 0.5, 7)]
    for system, method in ((pluck, LOOSE), (FIXED, fine)):
        passed, invalid = compared(system, [("G1",)], columns, method, span=(0.0, 6.0))
        assert passed + invalid == 7
        assert passed >= 1
    parts, wider, real, widen = [], [], members._BlockSolver._part, members._with_twice_the_room
    monkeypatch.setattr(members._BlockSolver, "_part", lambda c, g: parts.append(g) or real(c, g))
    monkeypatch.setattr(members, "_with_twice_the_room", lambda m: wider.append(m) or widen(m))
    blocks_of(FIXED, fine, request_of((0.0, 6.0)), [("G1",)], NAMES)(columns)
    assert len(parts) > 1
    assert wider


@needs_compiler
def test_no_second_path_and_no_fields():
    method = dataclasses.replace(LOOSE, check=False)
    names = [n for n in NAMES if n not in ("agrees_until", "audit.converged")]
    names = [n for n in names if n[:8] not in ("final.u", "final.v", "final.u_", "final.v_")]
    passed, invalid = compared(FIXED, [("G1",)], [np.linspace(0.1, 0.5, 5)], method, names=names)
    assert (passed, invalid) == (5, 0)


@needs_compiler
def test_what_breaks_down_or_is_refused_is_left_to_single_runs():
    strong = dataclasses.replace(FIXED, u0=Sine(2, 1.0))
    passed, invalid = compared(strong, [("G1",)], [np.linspace(0.1, 1.3, 7)], span=(0.0, 12.0))
    assert passed > 0
    assert invalid > 0
    paths = [("s1",), ("drag",)]
    solve = blocks_of(FIXED, LOOSE, request_of((0.0, 1.0)), paths, NAMES)
    s1, drag = np.array([2.0, -1.0, np.nan, 2.0]), np.array([0.0, 0.0, 0.0, 0.1])
    assert solve([s1, drag]).valid.tolist() == [True, False, False, False]
    few = dataclasses.replace(LOOSE, max_steps=2600)
    passed, invalid = compared(FIXED, [("G1",)], [np.linspace(0.1, 0.5, 4)], few, (0.0, 14.0))
    assert (passed, invalid) == (0, 4)


def test_what_no_block_can_do():
    request, path = request_of((0.0, 1.0)), ("G1",)
    assert blocks_of(FIXED, LOOSE, request, [("nodes",)], []) is None
    assert blocks_of(FIXED, LOOSE, request, [("speed",)], []) is None
    assert blocks_of(FIXED, LOOSE, request, [("u0",)], []) is None
    assert blocks_of(FIXED, LOOSE, request, [("v0", "amplitude")], []) is None
    assert blocks_of(FIXED, LOOSE, request, [path], ["measured.lyapunov"]) is None
    assert blocks_of(CIRCLE, LOOSE, request, [path], ["audit.contact_inside"]) is None
    assert blocks_of(FIXED, LOOSE, request, [path], ["breakdown_time"]) is None


@needs_compiler
@pytest.mark.parametrize("save", [None, 5])
def test_a_study_by_blocks_is_the_study(tmp_path, monkeypatch, save):
    scenario = Scenario(FIXED, LOOSE, 3.0, save=save)
    fields = {"G1": np.linspace(0.1, 1.4, 8), "u0.amplitude": np.linspace(0.2, 1.2, 8)}
    keep = ("agrees_until", "final.s1", "max(final.u)", "energy.kinetic", "events.breakdown")
    sweep = st.Sweep(scenario, fields, design=Paired(), results=keep)
    called, real = [], members._BlockSolver.solve

    def seen(crew, columns):
        called.append(len(columns[0]))
        return real(crew, columns)

    monkeypatch.setattr(members._BlockSolver, "solve", seen)
    blocks = sweep.run(tmp_path / "blocks", workers=1, chunk=4)
    assert called
    monkeypatch.setattr(Characteristics, "blocks", Method.blocks)
    alone = sweep.run(tmp_path / "alone", workers=1, chunk=4)
    assert set(blocks.table) == set(alone.table)
    for name, values in blocks.table.items():
        assert np.array_equal(values, alone.table[name], equal_nan=True), name
    assert [n.reason for n in blocks.notes] == [n.reason for n in alone.notes]
