"""Verdicts on papers: every figure has one, what shows it is there, rows that differ are known."""

import re
from pathlib import Path

import pytest

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
        Row("g", "yes", "no", "does not hold: judged in its row"),
    ]
    assert uncovered(judgement, same) == []
    other = [
        Row("a", 2.0, 2.03),
        Row("b", 0.0, 1e-5),
        Row("c", 1.0, float("nan")),
        Row("d", "yes", "no"),
        Row("e", "no", "yes"),
    ]
    assert uncovered(judgement, other) == ["a", "b", "c", "d", "e"]


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
