"""Chunks solved in one call: the same data as members one by one, invalid ones included."""

import dataclasses
import warnings

import numpy as np
import pytest

import stiction as st
from stiction.chains.blocks import event_driven
from stiction.chains.methods import EventDriven
from stiction.core.audit import Line
from stiction.core.method import Method
from stiction.numerics.jit import mode
from stiction.studies import Paired
from stiction.studies.results import reduce_members, split_reduction
from stiction.studies.store import Store
from stiction.switching.ensembles import members

pytestmark = pytest.mark.skipif(mode() == "plain", reason="blocks are compiled code")


def both_ways(sweep, folder, monkeypatch, chunk=40, room=event_driven):
    """Return the study by blocks, and that of members one by one."""
    counts = []
    real = room.blocks_of

    def counted(*given):
        solve = real(*given)

        def seen(columns):
            block = solve(columns)
            counts.append(int(block.valid.sum()))
            return block

        return None if solve is None else seen

    with monkeypatch.context() as changed:
        changed.setattr(room, "blocks_of", counted)
        blocks = sweep.run(folder / "blocks", workers=1, chunk=chunk)
    # workers are copies of this process: the call that is counted here is the member that it warms
    # up with
    assert counts, "no block was tried"
    with monkeypatch.context() as changed:
        changed.setattr(type(sweep.scenario.method), "blocks", Method.blocks)
        alone = sweep.run(folder / "alone", workers=1, chunk=chunk)
    return blocks, alone


def check_same(one, two):
    assert set(one.table) == set(two.table)
    for name, values in one.table.items():
        assert np.array_equal(values, two.table[name], equal_nan=True), name
    notes = [[(n.member, n.kind, n.reason) for n in study.notes] for study in (one, two)]
    assert notes[0] == notes[1]


RESULTS = (
    "stop_time",
    "onset_force",
    "max(onset_force)",
    "mean(onset_time)",
    "final.x",
    "energy.friction_heat",
    "energy.imbalance",
    "events.slip",
    "events.stop",
    "events.no_such_kind",
    "stats.steps",
    "audit.replay_agrees",
    "max(imbalance)",
)


def test_the_same_as_one_by_one(chain, tmp_path, monkeypatch):
    rng = np.random.default_rng(4)
    count = 300
    fields = {
        "law.mu": rng.uniform(0.05, 0.4, count),
        "load.rate": rng.uniform(0.5, 3.0, count),
        "mass[1]": rng.uniform(0.5, 2.0, count),
    }
    sweep = st.Sweep(chain, fields, design=Paired(), results=RESULTS, t_span=(0.0, 8.0))
    blocks, alone = both_ways(sweep, tmp_path, monkeypatch)
    check_same(blocks, alone)
    assert (blocks.table["status"] == 0).all()


def test_every_result_is_saved_by_default(chain, tmp_path, monkeypatch):
    sweep = st.Sweep(chain, {"law.mu": np.linspace(0.1, 0.4, 60)}, t_span=(0.0, 8.0))
    check_same(*both_ways(sweep, tmp_path, monkeypatch))


def test_invalid_members_are_reported(chain, tmp_path, monkeypatch):
    # no work left for some, determinism lost by one, and one that the law refuses
    shaken = dataclasses.replace(chain, load=st.chains.Sine(8.0, 3.0))
    method = st.EventDriven(max_events=12)
    sweep = st.Sweep(
        shaken, {"law.mu": np.linspace(0.0, 0.9, 90)}, t_span=(0.0, 8.0), method=method
    )
    blocks, alone = both_ways(sweep, tmp_path, monkeypatch)
    check_same(blocks, alone)
    counts = blocks.counts()
    assert 0 < counts["failed"] < 90
    block = st.Chain(mass=[1.0], stiffness=1.0, gravity=1.0, law=st.StaticKinetic(0.4, 0.2))
    touches = st.Sweep(block, {"x0": [0.1, 0.3, 0.4, 0.9]}, t_span=(0.0, 6.0))
    blocks, alone = both_ways(touches, tmp_path / "touch", monkeypatch)
    check_same(blocks, alone)
    assert blocks.counts()["determinism"] == 1
    pair = {"law.mu_kinetic": [0.1, 0.5, 0.3], "law.mu_static": [0.2, 0.4, 0.35]}
    with pytest.raises(st.ModelError):
        # each end of the fields is tried before anything is solved
        st.Sweep(block, pair, design=Paired(), t_span=(0.0, 6.0))


def test_members_whose_audit_fails_are_reported(chain, tmp_path, monkeypatch):
    # a second look that agrees with nothing
    from stiction.chains.replay import compare

    monkeypatch.setattr(compare, "_LIMIT", -1.0)

    def lines(outcomes):
        return [Line("replay_agrees", np.ones(outcomes.stop.size), -1.0)]

    monkeypatch.setattr(event_driven.Outcomes, "lines", lines)
    sweep = st.Sweep(
        chain, {"law.mu": np.linspace(0.1, 0.4, 9)}, t_span=(0.0, 8.0), results="final.x"
    )
    blocks, alone = both_ways(sweep, tmp_path, monkeypatch)
    check_same(blocks, alone)
    assert blocks.counts() == {"failed": 0, "audit": 9, "determinism": 0}


@pytest.mark.parametrize(
    "other",
    [
        {"results": ("first(times.slip)",)},
        {"results": (lambda run: {"n": len(run.event_log)},)},
        {"trajectories": 5},
        {"fields": {"solve.t_end": [2.0, 3.0]}},
    ],
)
def test_what_goes_one_by_one(chain, tmp_path, monkeypatch, other):
    def never(*_):
        raise AssertionError("a block was solved")

    monkeypatch.setattr(event_driven._MemberSolver, "solve", never)
    given = {"fields": {"law.mu": [0.1, 0.2]}, "t_span": (0.0, 8.0), **other}
    sweep = st.Sweep(chain, **given)
    study = sweep.run(tmp_path / "study", workers=1)
    assert (study.table["status"] == 0).all()


REDUCED = {
    "min": lambda a: np.nanmin(a, initial=np.inf) if np.isfinite(a).any() else np.nan,
    "max": lambda a: np.nanmax(a, initial=-np.inf) if np.isfinite(a).any() else np.nan,
    "mean": lambda a: np.nanmean(a) if np.isfinite(a).any() else np.nan,
    "sum": np.nansum,
    "first": lambda a: a.ravel()[0] if a.size else np.nan,
    "last": lambda a: a.ravel()[-1] if a.size else np.nan,
    "count": lambda a: np.isfinite(a).sum(),
}


@pytest.mark.parametrize("how", sorted(REDUCED))
def test_reductions_are_those_of_one_run(how):
    rng = np.random.default_rng(7)
    for shape in ((5,), (5, 1), (5, 3), (5, 40), (5, 3, 4), (5, 0)):
        values = rng.standard_normal(shape)
        values[rng.random(shape) < 0.3] = np.nan
        if values.size > 2:
            values.reshape(5, -1)[0] = np.nan
            values.reshape(5, -1)[1, 0] = np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = reduce_members(how, values)
            one = [REDUCED[how](np.asarray(row)) for row in values]
            alone = [reduce_members(how, row[None])[0] for row in values]
        assert np.array_equal(alone, one, equal_nan=True), shape
        assert np.array_equal(found, one, equal_nan=True), shape


def test_names_are_parted():
    assert split_reduction(" max( onset_force ) ") == ("max", "onset_force")
    assert split_reduction("energy.stored") == (None, "energy.stored")


def test_wheels_that_stop_among_wheels_that_do_not(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    fields = {"x0[0]": rng.uniform(0.1, 0.3, 200), "x0[2]": rng.uniform(-1.05, -0.9, 200)}
    keep = ("final.r", "events.kink", "events.slide", "energy.imbalance", "max(imbalance)")
    wheel, method = st.WheelOnTurntable(), st.EventDriven(rtol=1e-8)
    sweep = st.Sweep(wheel, fields, design=Paired(), results=keep, t_span=(0.0, 5.0), method=method)
    blocks, alone = both_ways(sweep, tmp_path, monkeypatch, room=members)
    check_same(blocks, alone)
    lost = blocks.table["losses"] > 0
    assert 0 < lost.sum() < 100


def test_chunks_are_as_long_as_blocks_take(chain, tmp_path, monkeypatch):
    # by the time of one run alone chunks would be a tenth as long, and writing them half the work
    sizes = {}
    for name, blocks in (("blocks", EventDriven.blocks), ("alone", Method.blocks)):
        monkeypatch.setattr(EventDriven, "blocks", blocks)
        fields = {"law.mu": np.linspace(0.1, 0.4, 200_000)}
        sweep = st.Sweep(chain, fields, t_span=(0.0, 8.0), results="final.x")
        sizes[name] = sweep._job(Store(tmp_path / name), None, 1).manifest.chunk
    assert sizes["blocks"] > 2 * sizes["alone"]
