"""Rows of members: what is put where, with runs that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.errors import ModelError, StictionError
from stiction.studies import members
from stiction.studies.results import STANDARD, STATUSES, Reading, Result
from stiction.studies.store import Note


@pytest.mark.parametrize(
    ("size", "most", "places"),
    [(1, 5, [0]), (3, 5, [0, 1, 2]), (5, 5, [0, 1, 2, 3, 4]), (9, 5, [0, 2, 4, 6, 8]),
     (100, 3, [0, 49, 99])],
)  # fmt: skip
def test_members_that_are_tried_are_spread(size, most, places):
    assert members._spread(size, most) == places


@pytest.mark.parametrize(
    ("shape", "values", "row", "room"),
    [
        ((2,), [1.0, 2.0], [1.0, 2.0], True),
        ((3,), [1.0, 2.0], [1.0, 2.0, np.nan], True),
        ((1,), [1.0, 2.0], [1.0], False),
        ((2, 1), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[1.0], [3.0]], False),
        ((1, 3), [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0, np.nan]], False),
        # what has another number of axes is left out
        ((2,), [[1.0, 2.0]], [np.nan, np.nan], False),
        ((2,), np.nan, [np.nan, np.nan], True),
        ((), 4.0, 4.0, True),
    ],
)
def test_arrays_are_cut_or_filled(shape, values, row, room):
    rows = np.full((1, *shape), np.nan)
    assert members._fill(rows, np.array(values)) is room
    np.testing.assert_array_equal(rows[0], row)


def test_members_are_counted_by_kind():
    """Two checks of one audit are one member."""
    notes = [Note(0, "failed", ""), Note(1, "audit", "a"), Note(1, "audit", "b")]
    assert members.count_notes(notes) == {"failed": 1, "audit": 1, "determinism": 0}


def test_variables_have_the_types_of_what_they_hold():
    columns = {
        "f": np.array([1.0]),
        "i": np.array([1]),
        "u": np.array([1], dtype=np.uint8),
        "b": np.array([True]),
        "w": np.array(["x", "y", "x"]),
    }
    saved = {
        "force": Result(np.zeros(3), ("mass",), "N", "of masses"),
        "events": Result(np.zeros(()), (), "1"),
    }
    found = members.variables_of(saved, columns, {"f": "kg"}, "s")
    types = {name: found[name].dtype for name in columns}
    assert types == {"f": "float64", "i": "int64", "u": "int64", "b": "int8", "w": "int32"}
    assert (found["f"].unit, found["i"].unit) == ("kg", "")
    assert found["f"].meaning == "swept: f"
    assert (found["w"].labels, found["f"].labels) == (("x", "y"), ())
    for name, (dtype, unit, meaning) in STANDARD.items():
        labels = STATUSES if name == "status" else ()
        entry = (found[name].dtype, found[name].unit, found[name].meaning, found[name].labels)
        assert entry == (dtype, unit or "s", meaning, labels)
    assert (found["force"].shape, found["force"].dims) == ((3,), ("mass",))
    assert (found["force"].dtype, found["force"].unit) == ("float64", "N")


class Manifest:
    """A manifest of chunks of four members in one batch of six."""

    chunk = 4

    def __init__(self, names):
        self.variables = {n: members.Stored((), (), "float64", "1", "") for n in names}
        self.variables |= {
            name: members.Stored((), (), dtype, unit, meaning)
            for name, (dtype, unit, meaning) in STANDARD.items()
        }
        self.variables["w"] = members.Stored((), (), "int32", "", "", ("x", "y"))

    def batch_of(self, chunk):
        return 0

    def span(self, chunk):
        return 4 * chunk, min(4 * chunk + 4, 6)


def job(**given):
    columns = {"a": np.arange(6.0), "w": np.array(["y", "x", "x", "y", "y", "x"])}
    places = tuple(SimpleNamespace(path=path) for path in columns)
    base = {
        "folder": "nowhere", "manifest": Manifest(["a", "y"]), "scenario": None, "places": places,
        "columns": (columns,), "reading": Reading(("y",)), "n_times": 0,
    }  # fmt: skip
    return members.Job(**base | given)


def test_empty_rows_hold_the_swept_values():
    made = members._empty(job(), 0, 1, 4)
    assert made["a"].tolist() == [1.0, 2.0, 3.0]
    assert made["w"].tolist() == [1, 1, 0] or made["w"].tolist() == [0, 0, 1]
    assert made["w"].tolist() == [0, 0, 1]
    assert np.isnan(made["y"]).all()
    assert (made["status"] == -1).all()
    for name in ("events", "losses", "audit_failed"):
        assert made[name].tolist() == [0, 0, 0]
    assert job().values(0, 3) == [3.0, "y"]


def run(y=1.0, *, ok=True, failed=(), losses=()):
    status = SimpleNamespace(ok=ok, value="work_limit")
    return SimpleNamespace(
        y=y,
        status=status,
        reason="too long",
        audit=SimpleNamespace(failed=list(failed)),
        determinism=SimpleNamespace(losses=list(losses)),
    )


def check(name, value=None, limit=None):
    return SimpleNamespace(check=name, value=value, limit=limit)


@pytest.fixture
def solved(monkeypatch):
    """Runs by their first swept value."""
    runs, written = {}, []

    def solve_member(job, values):
        found = runs[int(values[0])]
        if isinstance(found, BaseException):
            raise found
        return found

    class Store:
        def __init__(self, folder):
            written.append(folder)

        def write_chunk(self, manifest, chunk, arrays, notes):
            written.append((chunk, arrays, list(notes)))

    monkeypatch.setattr(members, "solve_member", solve_member)
    monkeypatch.setattr(members, "Store", Store)
    monkeypatch.setattr(members, "block_of", lambda job: None)
    monkeypatch.setattr(members, "standard_results", lambda run: {"status": 0, "events": 7})
    monkeypatch.setattr(
        members,
        "results_of",
        lambda run, reading, lenient=False, taken=(): {"y": Result(np.array(run.y), (), "")},
    )
    return runs, written


def test_a_chunk_says_what_became_of_its_members(solved):
    runs, written = solved
    loss = SimpleNamespace(kind="two_fold", time=1.5)
    runs[4] = run(3.0, failed=[check("a"), check("b", 2.0, 1.0)], losses=[loss, loss])
    runs[5] = run(4.0, ok=False)
    seen = []
    counts = members.solve_chunk(job(), 1, lambda: seen.append(1))
    assert counts == {"members": 2, "failed": 1, "audit": 1, "determinism": 1}
    assert len(seen) == 2
    folder, (chunk, arrays, notes) = written
    assert (folder, chunk) == ("nowhere", 1)
    assert arrays["y"].tolist() == [3.0, 4.0]
    assert arrays["events"].tolist() == [7, 7]
    assert [(n.member, n.kind, n.reason) for n in notes] == [
        (4, "audit", "a"),
        (4, "audit", "b 2 (limit 1)"),
        (4, "determinism", "two_fold at 1.5, 2 in all"),
        (5, "failed", "work_limit: too long"),
    ]


def test_members_that_are_refused_or_fail_are_reported(solved):
    runs, written = solved
    runs[0] = ModelError("Chain.mass", 0, "> 0", "inertia.", "1.")
    runs[1] = ZeroDivisionError("no\nmore")
    runs[2] = ValueError()
    runs[3] = run(9.0)
    members.solve_chunk(job(), 0)
    _, (_, arrays, notes) = written
    assert arrays["status"].tolist() == [
        STATUSES.index("refused"),
        *[STATUSES.index("error")] * 2,
        0,
    ]
    assert [(n.member, n.kind, n.reason) for n in notes] == [
        (0, "failed", "refused: Chain.mass: got 0; needs > 0."),
        (1, "failed", "ZeroDivisionError: no"),
        (2, "failed", "ValueError: ValueError"),
    ]
    runs[0] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        members.solve_chunk(job(), 0)


def test_one_member_is_solved_into_a_row_of_its_own(solved):
    runs, _ = solved
    runs[5] = run(6.0, ok=False)
    arrays, notes = members.solve_alone(job(), 1, 5)
    assert arrays["y"].tolist() == [6.0]
    assert arrays["a"].tolist() == [5.0]
    assert [(n.member, n.kind) for n in notes] == [(5, "failed")]


def test_members_whose_process_died(solved):
    _, written = solved
    rows = {4: {"y": np.array([8.0]), "status": np.array([0])}}
    members.store_after_death(job(), 1, rows, [Note(4, "audit", "x")])
    _, (chunk, arrays, notes) = written
    assert chunk == 1
    assert arrays["y"][0] == 8.0
    assert np.isnan(arrays["y"][1])
    assert arrays["status"].tolist() == [0, STATUSES.index("died")]
    assert [(n.member, n.kind) for n in notes] == [(4, "audit"), (5, "failed")]
    assert notes[1].reason.startswith("died: ")


def test_members_of_a_block_are_left_where_it_was_not_sure(monkeypatch):
    seen = []

    def fill(columns, arrays):
        seen.append([c.tolist() for c in columns])
        return np.array([True, False])

    monkeypatch.setattr(members, "block_of", lambda job: fill)
    assert members._solve_block(job(), 0, 4, 6, {}) == [5]
    assert seen == [[[4.0, 5.0], ["y", "x"]]]
    monkeypatch.setattr(members, "block_of", lambda job: None)
    assert members._solve_block(job(), 0, 4, 6, {}) == [4, 5]


@pytest.mark.parametrize("sure", [True, False])
def test_the_time_of_a_member_of_a_block(monkeypatch, sure):
    clock = iter((0.0, 5.0, 10.0, 13.0))
    sizes = []

    def fill(columns, arrays):
        sizes.append((len(columns[0]), len(arrays["y"])))
        return np.array([True] * (len(columns[0]) - 1) + [sure])

    monkeypatch.setattr(members, "block_of", lambda job: fill)
    monkeypatch.setattr(members, "mode", lambda: "compiled")
    monkeypatch.setattr(members.time, "process_time", lambda: next(clock))
    # the first call compiles; the second takes 3 s for all six
    found = members.time_in_a_block(job(), 0.01)
    assert found == (0.5 if sure else None)
    assert sizes == [(1, 1), (6, 6)]
    assert members.time_in_a_block(job(), 0.02) is None
    monkeypatch.setattr(members, "mode", lambda: "plain")
    assert members.time_in_a_block(job(), 0.01) is None


def test_results_are_those_of_the_first_member_that_has_them(monkeypatch):
    """A number of one member makes room for a list of another; the first that has all ends it."""
    found = {
        0: {"y": Result(np.array(1.0), (), "")},
        2: {"y": Result(np.array([1.0, 2.0]), ("m",), "")},
        4: {"y": Result(np.array([5.0]), ("m",), "")},
    }
    monkeypatch.setattr(members, "_spread", lambda size, most: [0, 2, 4])
    monkeypatch.setattr(members, "solve_member", lambda job, values: int(values[0]))
    monkeypatch.setattr(members, "_results_of_member", lambda job, run: found[run])

    first = {"with_all": 0}

    def results_of(run, reading):
        if run < first["with_all"]:
            raise StictionError(f"member {run} has no z")

    monkeypatch.setattr(members, "results_of", results_of)
    for first["with_all"], shape in ((0, ()), (2, (2,)), (4, (2,)), (9, (2,))):
        assert members.probe(job())["y"].values.shape == shape
    # where nobody has a name, the first failure is reported
    with pytest.raises(StictionError, match="member 0 has no z"):
        members.probe(job(reading=Reading(("z",))))


@pytest.mark.parametrize(
    ("n_times", "save", "fewest", "expected"),
    [(0, 5, None, 5), (7, 5, None, 7), (0, None, 2, 2), (0, None, None, None)],
)
def test_times_are_saved_where_results_need_them(monkeypatch, n_times, save, fewest, expected):
    seen = []
    system = SimpleNamespace(**({} if fewest is None else {"fewest_saves": fewest}))
    scenario = SimpleNamespace(
        system=system, save=save, solve=lambda save, throw: seen.append((save, throw)) or "run"
    )
    monkeypatch.setattr(members, "changed", lambda scenario, places, values: scenario)
    assert members.solve_member(job(scenario=scenario, n_times=n_times), [1.0]) == "run"
    assert seen == [(expected, False)]
