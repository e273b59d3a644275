"""What a study says of its members, by made-up notes and tables."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.errors import StoreError
from stiction.studies import study as module
from stiction.studies.results import ABSENT, STATUSES
from stiction.studies.store import Note


def made(notes=(), **change):
    """Return a study of six members, as `Study` shows itself."""
    variables = {
        "mu": SimpleNamespace(unit="1", dims=(), shape=()),
        "status": SimpleNamespace(unit="1", dims=(), shape=()),
        "events": SimpleNamespace(unit="1", dims=(), shape=()),
        "force": SimpleNamespace(unit="N", dims=(), shape=()),
        "list": SimpleNamespace(unit="m", dims=("mass",), shape=(2,)),
        "path": SimpleNamespace(unit="m", dims=("row",), shape=(2,)),
    }
    table = {
        "mu": np.array([0.1, 0.2, 0.1, 0.2, 0.1, 0.2]),
        "status": np.array([0, 0, 0, 2, ABSENT, 0]),
        "events": np.array([1, 2, 3, 4, 99, 6]),
        "force": np.array([1.0, 3.0, np.nan, 5.0, 99.0, 2.0]),
        "list": np.arange(12.0).reshape(6, 2),
        "path": np.zeros((6, 2)),
    }
    description = {
        "version": "1.2",
        "code": "abcdefghijklmnop",
        "kernels": "compiled",
        "design": "Grid",
    }
    found = SimpleNamespace(
        title="", fields=("mu",), members=6, solved=5, complete=False, damaged=(), folder="f",
        table=table, notes=list(notes), _batches=list,
        manifest=SimpleNamespace(variables=variables, description=description, members=6),
    )  # fmt: skip
    for name, value in change.items():
        setattr(found, name, value)
    found.counts = lambda: module.Study.counts(found)
    return found


NOTES = [
    Note(0, "failed", "work_limit: too many at 3"),
    Note(1, "failed", "work_limit: too many at 5"),
    Note(2, "audit", "ledger_closes 0.5 (limit 0.1)"),
    Note(3, "audit", "ledger_closes 0.7 (limit 0.1)"),
    Note(3, "audit", "other 1 (limit 0.1)"),
    Note(4, "determinism", "two_fold at 1.5, 2 in all"),
]


def test_doubts_are_counted_by_reason():
    counts = module.Study.counts(made(NOTES))
    # two lines of one member are one member
    assert counts == {"failed": 2, "audit": 2, "determinism": 1}
    lines = module._invalid(made(NOTES))
    assert lines == [
        module._line("FAILED", "2 failed"),
        "2 times work_limit: too many",
        module._line("AUDIT", "2 failed their audit"),
        # the value differs from member to member, and the limit does not
        "2 times ledger_closes",
        "1 times other",
        module._line("DETERMINISM", "1 lost determinism"),
        "1 times two_fold",
    ]
    (line,) = module._invalid(made())
    assert line.endswith("no member failed, failed its audit, or lost determinism")
    many = [Note(k, "failed", f"reason {k % 6}") for k in range(12)]
    assert len(module._invalid(made(many))) == 1 + 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([2.0, 1.0, 2.0], "1, 2"),
        ([1, 2, 3, 4, 5, 6], "1, 2, 3, 4, 5, 6"),
        (np.arange(7.0), "0 ... 6, 7 values"),
        (["b", "a"], "a, b"),
        ([f"w{i}" for i in range(7)], "7 values, such as w0"),
        (np.linspace(0.0, 1.0, 1001), "0 ... 1, 1,001 values"),
    ],
)
def test_swept_values_in_words(values, words):
    assert module._swept(np.array(values)) == words


def test_results_in_words():
    status = np.array([0, 0, ABSENT, 0, 0])
    values = np.array([3.0, 1.0, 99.0, np.nan, 2.5])
    assert module._spread(values, status, "N") == "1 ... 3 N, median 2.5"
    assert module._spread(values, status, "1") == "1 ... 3, median 2.5"
    assert module._spread(values, np.full(5, ABSENT), "N") == "none"


def test_the_screen_of_a_study():
    lines = module.screen(made(NOTES, damaged=(3, 4))).splitlines()
    assert lines[:2] == ["Study: many runs", ""]
    rows = {line[:24].strip(): line[24:] for line in lines[2:]}
    assert rows["members"] == "6, 5 done: the same sweep continues with the others"
    assert rows["mu"] == "0.1, 0.2"
    assert rows["left"] == "1 not done"
    ended = [line[24:] for line in lines if line.startswith("ended")]
    assert ended == [f"4 {STATUSES[0]}", f"1 {STATUSES[2]}"]
    assert rows["events"] == "1 ... 6, median 3"
    assert rows["force"] == "1 ... 5 N, median 2.5"
    assert rows["list"] == "0 ... 11 m, median 4.5"
    assert "path" not in rows
    assert rows["DAMAGED"] == "2 chunks were changed; the same sweep solves them again"
    assert rows["code"] == "stiction 1.2, abcdefghijkl, compiled kernels"
    whole = made(title="mine", complete=True)
    assert module.screen(whole).splitlines()[0] == "Study: mine"
    assert module._members(whole) == "6, all done"


def test_a_study_as_plain_values():
    found = module.table_of(made(NOTES, damaged=(3,)))
    assert found["status"] == {"not done": 1, STATUSES[0]: 4, STATUSES[2]: 1}
    assert found["fields"] == {"mu": [0.1, 0.2]}
    assert found["invalid"] == {"failed": 2, "audit": 2, "determinism": 1}
    assert (found["members"], found["done"], found["complete"]) == (6, 5, False)
    assert found["damaged_chunks"] == [3]
    force = {"unit": "N", "members": 4, "least": 1.0, "median": 2.5, "largest": 5.0}
    assert found["results"]["force"] == force
    assert found["results"]["events"]["members"] == 5
    # neither swept values nor lists
    assert set(found["results"]) == {"status", "events", "force"}


def test_one_line_of_a_study():
    found = module.Study.__repr__(made(NOTES))
    assert found == (
        "<Study of mu: 5 of 6 members, 2 failed, 2 failed their audit, 1 lost determinism>"
    )
    assert module.Study.__repr__(made()) == "<Study of mu: 5 of 6 members>"


def test_a_grid_may_have_holes_and_not_be_mostly_empty():
    rng = np.arange(6.0)
    fields = {"a": rng, "b": rng}
    study = made(fields=("a", "b"), members=6)
    # thirty-six cells for six members, and twenty-four
    assert module.Study._grid(study, fields) is None
    axes = module.Study._grid(study, {"a": rng, "b": np.minimum(rng, 3.0)})
    assert [len(v) for v, _ in axes.values()] == [6, 4]
    assert axes["b"][1].tolist() == [0, 1, 2, 3, 3, 3]
    study.manifest.description["design"] = "Paired"
    assert module.Study._grid(study, {"a": rng, "b": np.minimum(rng, 3.0)}) is None


@pytest.mark.parametrize(
    ("damaged", "code", "words"),
    [
        ((), 0, "valid        f  5 of 6 members"),
        ((1, 2), 2, "DAMAGED      f: chunks 1, 2 were changed after they were saved"),
        (tuple(range(9)), 2, "DAMAGED      f: chunks 0, 1, 2, 3, 4 were changed after"),
    ],
)
def test_a_study_is_verified(monkeypatch, damaged, code, words):
    monkeypatch.setattr(module, "Study", lambda folder: made(damaged=damaged))
    found = module.verified("f")
    assert found[0] == code
    assert found[1].startswith(words)

    def gone(folder):
        raise StoreError("f", "nothing", "a study", "it is gone.", "sweep.")

    monkeypatch.setattr(module, "Study", gone)
    assert module.verified("f") == (2, "DAMAGED      f: f: got nothing; needs a study.")


def test_places_of_members_in_the_store():
    batches = [SimpleNamespace(members=3, first=0), SimpleNamespace(members=2, first=1)]
    one = SimpleNamespace(manifest=SimpleNamespace(chunk=4, batches=batches))
    assert module.Study._slots(one).tolist() == [0, 1, 2, 4, 5]
    one.manifest.batches = []
    assert module.Study._slots(one).size == 0
