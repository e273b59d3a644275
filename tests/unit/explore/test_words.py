"""What a page says of a run, of its work and of folders: made-up runs, words by hand."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from stiction.errors import ModelError, Status, StoreError
from stiction.explore import report
from stiction.explore.estimate import (
    MOST_BYTES,
    MOST_S,
    Estimate,
    Known,
    _counts,
    _growth,
    estimate,
)
from stiction.explore.places import Place, WorkingFolder


def check(name, ok=True, **more):
    given = {"verdict": "held", "value": 1.0, "limit": 2.0, "unit": "1", "note": ""}
    return SimpleNamespace(check=name, ok=ok, **given | more)


class Audit(list):
    held = property(lambda self: [c for c in self if c.ok])
    failed = property(lambda self: [c for c in self if c.ok is False])
    not_checked = property(lambda self: [c for c in self if c.ok is None])
    by_verdict = property(lambda self: sorted(self, key=lambda c: c.check))


def run(**change):
    given = {
        "status": Status.SOLVED,
        "reason": "too long",
        "t_end": 2.5,
        "time_unit": "s",
        "energy_unit": "J",
        "determinism": SimpleNamespace(losses=[], words="the solution was unique"),
        "audit": Audit([check("ledger_closes"), check("b")]),
        "energy": SimpleNamespace(defined=True, scale=3.0, imbalance_rel=2e-15),
    }
    return SimpleNamespace(**given | change)


LOSS = SimpleNamespace(
    time=1.5, kind="two_fold", where={"x": 0.25, "names": ["a", "b"]}, units={"x": "m"}, choice="up"
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, [["run", True, "solved until t = 2.5 s"],
              ["determinism", True, "the solution was unique"],
              ["audit", True, "2 assumptions held"],
              ["ledger", True, "closes to 2.0e-15 of 3 J"]]),
        ({"time_unit": "1", "energy_unit": "1", "status": Status.WORK_LIMIT},
         [["run", False, "work limit at t = 2.5: too long"], None, None,
          ["ledger", True, "closes to 2.0e-15 of 3"]]),
        ({"determinism": SimpleNamespace(losses=[LOSS], words="")},
         [None, ["determinism", False, "lost once, first at t = 1.5 s: two_fold"], None, None]),
        ({"determinism": SimpleNamespace(losses=[LOSS, LOSS], words="")},
         [None, ["determinism", False, "lost 2 times, first at t = 1.5 s: two_fold"], None, None]),
        ({"audit": Audit([check("ledger_closes", False), check("b", None), check("c", None)])},
         [None, None, ["audit", False, "failed: ledger_closes; not checked: b, c"],
          ["ledger", False, "closes to 2.0e-15 of 3 J"]]),
        ({"audit": Audit([check("ledger_closes", None)])},
         [None, None, ["audit", True, "0 assumptions held; not checked: ledger_closes"],
          ["ledger", True, "closes to 2.0e-15 of 3 J"]]),
        ({"audit": Audit(), "energy": SimpleNamespace(defined=False)},
         [None, None, ["audit", True, "nothing was checked"],
          ["ledger", True, "this system has no energy"]]),
    ],
)  # fmt: skip
def test_verdicts(change, words):
    found = report._verdicts(run(**change))
    for one, wanted in zip(found, words, strict=True):
        assert wanted is None or one == wanted


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "none"), (True, "True"), ("a", "a"), (1.0 / 3.0, "0.333333"), (3, "3"),
        ([1.0, 2.0], "1, 2"), (np.arange(6.0), "0, 1, 2, 3, 4, 5"),
        (np.arange(7.0), "0, 1, 2, 3, 4, 5, ... (7)"), ([[1.0], [2.0]], "1, 2"),
        (np.array(2.5), "2.5"), ({"a": 1}, "{'a': 1}"),
    ],
)  # fmt: skip
def test_values_in_words(value, words):
    assert report._word(value) == words


def log(size):
    return SimpleNamespace(
        time=np.arange(size) + 0.5,
        contact=np.arange(size) + 1,
        before=["stick"] * size,
        after=["slip"] * size,
        kind=["onset"] * size,
        columns={"x": np.arange(size) * 2.0, "n": np.arange(size)},
        units={"x": "m", "n": "1"},
        __len__=lambda: size,
    )


class Log(SimpleNamespace):
    def __len__(self):
        return len(self.kind)


@pytest.mark.parametrize(
    ("size", "rows", "note"),
    [(2, 2, ""), (500, 500, ""), (503, 500, "3 more are in the files of a saved run")],
)
def test_events_as_a_table(size, rows, note):
    made = vars(log(size))
    del made["__len__"]
    table = report._events(run(event_log=Log(**made)))
    assert table["title"] == f"events ({size})"
    assert table["head"] == ["time [s]", "contact", "from", "to", "kind", "x [m]", "n"]
    assert table["rows"][1] == ["1.5", "2", "stick", "slip", "onset", "2", "1"]
    assert (len(table["rows"]), table["note"]) == (rows, note)


def test_the_ledger_leaves_out_what_is_zero():
    columns = {
        "kinetic": np.array([1.0, 2.0]),
        "adhesive": np.zeros(2),
        "viscous_heat": np.array([0.0, 3.0]),
        "imbalance": np.zeros(2),
    }
    energy = SimpleNamespace(defined=True, columns=lambda: columns)
    table = report._ledger(run(energy=energy))
    assert table["head"] == ["energy", "start [J]", "end"]
    assert table["rows"] == [
        ["kinetic energy", "1", "2"],
        ["heat in dampers since the start", "0", "3"],
        ["energy that is unaccounted for", "0", "0"],
    ]
    assert report._ledger(run(energy=SimpleNamespace(defined=False)))["rows"] == []


def test_losses_checks_and_results_as_tables():
    table = report._losses(run(determinism=SimpleNamespace(losses=[LOSS] * 102)))
    assert table["title"] == "losses of determinism (102)"
    assert table["rows"][0] == ["1.5", "two_fold", "x 0.25 m, names a, b", "up"]
    assert len(table["rows"]) == 100
    assert table["note"].startswith("2 more")
    audit = Audit([check("b", unit="m", note="why"), check("a", None, value=None, limit=None)])
    table = report._audit(run(audit=audit))
    assert table["rows"] == [
        ["a", "held", "none", "none", "", ""],
        ["b", "held", "1", "2", "m", "why"],
    ]
    assert (table["title"], table["note"]) == ("audit (2)", "")
    many = report._audit(run(audit=Audit([check(f"{i:03d}") for i in range(201)])))
    assert (len(many["rows"]), many["note"][:6]) == (200, "1 more")
    quantities = {
        "a": SimpleNamespace(value=1.5, unit="1", meaning="one"),
        "b": SimpleNamespace(value=None, unit="N", meaning="two"),
    }
    table = report._results(run(quantities=quantities))
    assert table["rows"] == [["a", "1.5", "", "one"], ["b", "none", "N", "two"]]
    assert table["title"] == "results (2)"


@pytest.mark.parametrize(
    ("complete", "damaged", "valid"), [(True, [], True), (False, [], False), (True, [1], False)]
)
@pytest.mark.parametrize("refused", [True, False])
def test_a_study_is_reported(monkeypatch, complete, damaged, valid, refused):
    def player(self):
        if refused:
            raise ModelError("plot", "words", "numbers", "an axis.", "none.")
        return SimpleNamespace(text="<page>")

    monkeypatch.setattr("stiction.studies.figures.StudyFigures.player", player, raising=False)
    monkeypatch.setattr("stiction.studies.study.screen", lambda study: "SCREEN")
    made = SimpleNamespace(complete=complete, damaged=damaged, solved=3, members=5, title="")
    found = report.report_of_study(made)
    assert found["sound"] is valid
    assert found["verdicts"] == [["members", valid, "3 of 5 members are solved"]]
    assert (found["kind"], found["head"], found["screen"]) == ("study", "a study", "SCREEN")
    assert found["page"] == ("" if refused else "<page>")
    assert found["why"].startswith("plot: got words") is refused


# ---- estimates


@pytest.mark.parametrize(
    ("seconds", "bytes_", "words"),
    [
        (None, 0.0, "the run time is not known"),
        (0.094, 0.0, "less than 0.1 s"),
        (0.096, 0.0, "about 0.1 s"),
        (9.94, 0.0, "about 9.9 s"),
        (9.96, 0.0, "about 10 s"),
        (120.0, 0.0, "about 2 min"),
        (5400.0, 0.0, "about 2 h"),
        (172_799.0, 0.0, "about 48 h"),
        (172_800.0, 0.0, "about 2 days"),
        (1.0, 2.0**31 + 1.0, "about 2 GiB of saved states"),
    ],
)
def test_estimates_in_words(seconds, bytes_, words):
    assert str(Estimate(seconds, bytes_)) == words


@pytest.mark.parametrize(
    ("seconds", "bytes_", "measured", "live", "at_once", "large"),
    [
        (0.2, 0.0, True, True, True, False),
        (0.21, 0.0, True, False, True, False),
        (0.1, 0.0, False, False, True, False),
        (5.0, 0.0, True, False, True, False),
        (5.1, 0.0, True, False, False, False),
        (MOST_S, float(MOST_BYTES), True, False, False, False),
        (MOST_S + 1.0, 0.0, True, False, False, True),
        (None, MOST_BYTES + 1.0, False, False, False, True),
        (None, 0.0, False, False, False, False),
    ],
)
def test_what_may_run(seconds, bytes_, measured, live, at_once, large):
    made = Estimate(seconds, bytes_, measured)
    assert (made.live, made.at_once, made.too_large) == (live, at_once, large)
    if large:
        with pytest.raises(ModelError, match="needs at most about 10 min and 2 GiB of saved"):
            made.check()
    else:
        made.check()


@pytest.mark.parametrize(
    ("system", "count"),
    [
        ({}, 1.0),
        ({"n": 12}, 12.0),
        ({"n": 12, "m": 3}, 36.0),
        # neither flags, floats, seeds, orders nor ones count
        ({"n": 12, "flag": True, "mu": 9.0, "seed": 5, "mode_number": 3, "one": 1}, 12.0),
        ({"n": 12, "order": 2}, 12.0),
        ({"mass": [1.0, 2.0, 3.0]}, 3.0),
        ({"cells": [60, 2]}, 120.0),
        ({"cells": [60, 0]}, 2.0),
        ({"cells": [60, 2.5]}, 2.0),
        ({"law": {"n": 4}, "parts": [{"n": 2}, {"n": 3}]}, 24.0),
        ({"mass": [1.0] * 50, "n": 7}, 50.0),
        ({"n": 10**12, "m": 10**12}, 1e15),
    ],
)  # fmt: skip
def test_parts_of_a_system_are_counted(system, count):
    assert _counts({"system": system}) == count


BASE = {
    "system": {"type": "Chain", "n": 10},
    "method": {"type": "Theta", "step": 1e-3, "steps": 100, "rtol": 1e-6},
    "solve": {"t_end": 4.0},
}


def with_(part, **change):
    return {**BASE, part: {**BASE[part], **change}}


@pytest.mark.parametrize(
    ("table", "times"),
    [
        (BASE, 1.0),
        (with_("solve", t_end=12.0), 3.0),
        (with_("solve", t_start=2.0), 0.5),
        (with_("solve", t_end=0.0), 1.0),
        (with_("system", n=30), 9.0),
        (with_("method", step=2.5e-4), 4.0),
        (with_("method", steps=300), 3.0),
        (with_("method", rtol=1e-9), 1.0),
        (with_("method", step=True), 1.0),
        (with_("method", step=-1.0), 1.0),
        (with_("method", step=1e-40), 1e30),
        (with_("method", step=1e20), 1e-12),
        ({**BASE, "method": {"type": "Theta"}}, 1.0),
    ],
)
def test_work_grows_with_time_parts_and_steps(table, times):
    assert _growth(table, BASE) == pytest.approx(times, rel=1e-12)


def test_an_estimate_is_that_of_the_nearest_or_the_last_measured():
    longer = with_("solve", t_end=40.0)
    other = {**BASE, "system": {"type": "Rod", "n": 10}}
    known = [Known(other, 99.0, True), Known(longer, 50.0), Known(BASE, 4.0, fixed=0.5)]
    # a run of 8 s is nearer to one of 4 s than to one of 40 s, in the logarithm
    assert estimate(with_("solve", t_end=8.0), known).seconds == pytest.approx(8.5)
    assert estimate(with_("solve", t_end=20.0), known).seconds == pytest.approx(25.0)
    measured = Known(longer, 50.0, True)
    found = estimate(with_("solve", t_end=8.0), [*known, measured])
    assert found.seconds == pytest.approx(10.0)
    assert found.measured
    assert not estimate(BASE, known).measured


def test_saved_states_take_memory():
    # eight bytes for 12 numbers of each part and 32 beside, at 1001 times
    assert estimate(BASE, []).bytes == 8.0 * 1001 * (12 * 10 + 32)
    assert estimate(with_("solve", save=50), []).bytes == 8.0 * 50 * 152
    assert estimate(with_("solve", save=[1.0, 2.0, 3.0]), []).bytes == 8.0 * 3 * 152
    assert estimate(with_("solve", save=0), []).bytes == 0.0


@pytest.mark.parametrize(
    ("n", "seconds"), [(10_000, None), (20_000, 2.0 * MOST_S), (10**6, 100.0 * 10.0 * MOST_S)]
)
def test_what_nobody_timed_is_refused_where_it_is_large(n, seconds):
    assert estimate(with_("system", n=n), []).seconds == seconds


# ---- the working folder


def test_three_levels_of_folders_are_listed(tmp_path):
    for name in ("a.toml", "x/b.toml", "x/y/c.toml", "x/y/z/d.toml", "x/y/z/w/e.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for name, mark in (
        ("run", "summary.json"),
        ("study", "study.json"),
        (".hidden", "summary.json"),
    ):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / mark).write_text("")
        (tmp_path / name / "inner" / "f.toml").write_text("")
    (tmp_path / "odd name!.toml").write_text("")
    os.symlink(tmp_path / "a.toml", tmp_path / "link.toml")
    assert WorkingFolder(tmp_path).listed() == [
        Place("run", "run"),
        *(Place("scenario", n) for n in ("a.toml", "x/b.toml", "x/y/c.toml", "x/y/z/d.toml")),
        Place("study", "study"),
    ]
    # the folder itself may be a saved run, which then says nothing of itself
    (tmp_path / "summary.json").write_text("")
    assert WorkingFolder(tmp_path).listed() == [Place("scenario", "a.toml")]


@pytest.mark.parametrize(
    "name",
    ["", "/a", "~a", "..", "a/../b", "a\\b", "a:b", "a\nb", "a\x7fb", "a" * 301, None, 3],
)
def test_names_that_lead_elsewhere_are_refused(tmp_path, name):
    with pytest.raises(StoreError, match=r"path: got .*; needs a path inside the working folder"):
        WorkingFolder(tmp_path)._checked(name)


@pytest.mark.parametrize("name", ["a", "a/b", "..a", "a..", "a" * 300, "a b"])
def test_names_in_the_folder_are_taken(tmp_path, name):
    assert WorkingFolder(tmp_path)._checked(name) == name


def test_texts_are_those_of_short_toml_files(tmp_path):
    folder = WorkingFolder(tmp_path)
    (tmp_path / "a.toml").write_text("x" * (1 << 20))
    assert len(folder.text_of("a.toml")) == 1 << 20
    (tmp_path / "a.toml").write_text("x" * ((1 << 20) + 1))
    (tmp_path / "b.txt").write_text("x")
    (tmp_path / "c.toml").write_bytes(b"\xff")
    (tmp_path / "d.toml").mkdir()
    for name in ("a.toml", "b.txt", "c.toml", "d.toml"):
        with pytest.raises(StoreError, match="needs a TOML file in UTF-8 of at most 1 MB"):
            folder.text_of(name)


def test_nothing_is_replaced_unasked(tmp_path):
    folder = WorkingFolder(tmp_path)
    assert folder.write("a.toml", "one") == tmp_path.resolve() / "a.toml"
    with pytest.raises(StoreError, match=r"'a\.toml', which exists; needs an unused name"):
        folder.write("a.toml", "two")
    folder.write("a.toml", "three", overwrite=True)
    assert (tmp_path / "a.toml").read_text() == "three"
    (tmp_path / "d.toml").mkdir()
    os.symlink(tmp_path / "a.toml", tmp_path / "l.toml")
    for name in ("d.toml", "l.toml"):
        with pytest.raises(StoreError, match="needs a plain file, or none"):
            folder.write(name, "x", overwrite=True)
    with pytest.raises(StoreError, match="needs a name that ends in"):
        folder.write("a.txt", "x")
    (tmp_path / "sub").mkdir()
    assert folder.write("sub/b.toml", "x").parent.name == "sub"
    for root in (tmp_path / "a.toml", tmp_path / "none"):
        with pytest.raises(StoreError, match="--folder: got"):
            WorkingFolder(root)
