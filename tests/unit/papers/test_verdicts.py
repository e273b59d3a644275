"""Verdicts on papers: every figure has one, what shows it is there, rows that differ are known."""

import re
from pathlib import Path

import pytest

from stiction.papers.adhesive_friction.cap import figure_13, figure_14, figure_s1
from stiction.papers.adhesive_friction.cases import Study
from stiction.papers.adhesive_friction.cylinders import figure_10
from stiction.papers.adhesive_friction.strip import figure_7, figure_8
from stiction.papers.items import LOST, Row
from stiction.papers.making import PAPERS, items_of
from stiction.papers.verdicts import VERDICTS, Verdict, read_verdicts, uncovered

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=PAPERS)
def paper(request):
    return request.param


def test_every_item_has_a_verdict(paper):
    found = read_verdicts(paper)
    assert set(found.item) == set(items_of(paper))
    assert set(found.verdicts) <= set(VERDICTS)
    assert len(found.statement) >= 6
    assert len(found.correction) >= 4
    for one in (*found.item.values(), *found.statement):
        # a verdict that is not plain says which, or why
        assert len(getattr(one, "because", "") or one.result) > 20
        assert one.shown_by


def shown_by(found):
    for one in (*found.item.values(), *found.statement, *found.correction):
        yield from one.shown_by


def test_what_shows_it_is_there(paper):
    for script in shown_by(read_verdicts(paper)):
        path, _, name = script.partition("::")
        file = ROOT / path
        assert file.is_file(), script
        if name:
            text = file.read_text(encoding="utf-8")
            assert re.search(rf"^def {name}\(", text, re.M), script


def test_rows_that_differ_are_found():
    judgement = Verdict("", VERDICTS[0], "", (), differs=("known",))
    same = [
        Row("a", 2.0, 2.019),
        Row("b", 0.0, 1e-7),
        Row("c", LOST, 3.0),
        Row("d", "yes", "yes"),
        Row("e", "below 1", 0.3),
        Row("known to be other", 1.0, 2.0),
        Row("g", "yes", "no", "holds partly: judged in its row"),
        Row("h", "no", "no: never"),
        Row("i", "not periodic", "3 ... 5"),
        Row("j", 1.0, "0.99, 1.01", "holds"),
        Row("k", "nothing", "yes"),
    ]
    assert uncovered(judgement, same) == []
    other = [
        Row("a", 2.0, 2.03),
        Row("b", 0.0, 1e-5),
        Row("c", 1.0, float("nan")),
        Row("d", "yes", "no"),
        Row("e", "no", "yes"),
        Row("f", "yes", "0.1", "does not hold"),
        Row("g", 1e-7, 9e-7),
        Row("h", 0.35, "never"),
        Row("i", "yes", "no: periodic"),
        Row("j", "yes", "depends on a choice"),
    ]
    assert uncovered(judgement, other) == list("abcdefghij")


@pytest.mark.parametrize("size", ["quick", "paper"])
def test_the_strip_and_the_cap_differ_only_where_it_is_known(size):
    """From the saved curves."""
    found = read_verdicts("adhesive-friction")
    study = Study(full=size == "paper", folder=ROOT / "benchmarks" / "results" / "solids" / size)
    for figure in (figure_7, figure_8, figure_10, figure_13, figure_14, figure_s1):
        key = figure.__name__.replace("_", "-")
        rows = figure(study)
        assert uncovered(found.item[key], rows) == [], key
        for start in found.item[key].differs:
            assert any(row.what.startswith(start) for row in rows), (key, start)


def test_chains_differ_only_where_it_is_known():
    from stiction.papers.making import solved

    found, items = read_verdicts("chains"), items_of("chains")
    runs = {name: solved(name) for name in {n for item in items.values() for n in item.scenarios}}
    for key, item in items.items():
        rows = item.rows(runs)
        assert uncovered(found.item[key], rows) == [], key
        # what is known to differ is a row
        for start in found.item[key].differs:
            assert any(row.what.startswith(start) for row in rows), (key, start)
