"""Sliders of a page: their ends and steps, number by number."""

import math

import pytest

from stiction.core.fields import Count, Finite, NonNegative, Positive
from stiction.explore.fields import Field, _field, _numbers, _range, _round, comments, fields_of


@pytest.mark.parametrize(
    ("value", "listed", "one_sided", "ends"),
    [
        # a tenth and three times a number, on its side of zero
        (1.0, False, False, (0.1, 3.0)),
        (1.0, False, True, (0.1, 3.0)),
        (-1.0, False, False, (-3.0, -0.1)),
        (-20.0, False, True, (-50.0, -2.0)),
        # an entry of a list may change its direction, unless it is one-sided
        (2.0, True, False, (-5.0, 5.0)),
        (-2.0, True, False, (-5.0, 5.0)),
        (2.0, True, True, (0.2, 5.0)),
        (0.0, False, False, (-1.0, 1.0)),
        (0.0, False, True, (0.0, 1.0)),
        (0.0, True, True, (-1.0, 1.0)),
        # whole numbers: from one, or five below, up to twice or five more
        (0, False, False, (0.0, 10.0)),
        (0, True, False, (0.0, 10.0)),
        (3, False, False, (1.0, 8.0)),
        (5, False, False, (1.0, 10.0)),
        (20, False, False, (1.0, 40.0)),
        (-3, False, False, (-8.0, 2.0)),
    ],
)
def test_ends_about_a_value(value, listed, one_sided, ends):
    assert _range(value, listed=listed, one_sided=one_sided) == ends


@pytest.mark.parametrize(
    ("size", "round_"),
    [
        (1.0, 1.0), (1.4, 1.0), (1.5, 2.0), (2.4, 2.0), (2.5, 3.0), (3.8, 3.0), (3.9, 5.0),
        (7.0, 5.0), (7.1, 10.0), (9.9, 10.0), (0.026, 0.03), (340.0, 300.0),
    ],
)  # fmt: skip
def test_numbers_are_rounded_to_the_nearest_ratio(size, round_):
    """Between two neighbours the geometric mean decides: sqrt(2), sqrt(6), sqrt(15), sqrt(50)."""
    assert _round(size) == round_


POSITIVE, OPEN = Positive("kg", "inertia."), Finite("m", "place.", above=-1.0, below=2.0)
SHUT = Finite("m", "place.", least=0.5, most=2.0)


@pytest.mark.parametrize(
    ("path", "value", "words", "rule", "found"),
    [
        # 2.9 over 200 steps is 0.0145, above sqrt(2) / 100
        ("a.b", 1.0, "", None, (0.1, 3.0, 0.02, False, False, "")),
        ("a.b", 1.0, "N", POSITIVE, (0.1, 3.0, 0.02, False, False, "N")),
        ("a.b", 1.0, "", POSITIVE, (0.1, 3.0, 0.02, False, False, "kg")),
        ("a.b", 1.0, "", Finite("1", "number."), (0.1, 3.0, 0.02, False, False, "")),
        ("a.b[1]", 1.0, "", OPEN, (-1.0, 2.0, 0.02, False, False, "m")),
        ("a.b", 1.0, "", SHUT, (0.5, 2.0, 0.01, False, False, "m")),
        ("a.b[0]", 2.0, "", POSITIVE, (0.2, 5.0, 0.02, False, False, "kg")),
        ("a.b", 0.0, "", NonNegative("N", "load."), (0.0, 1.0, 0.005, False, False, "N")),
        ("a.b", 0.0, "", None, (-1.0, 1.0, 0.01, False, False, "")),
        ("a.t_start", 0.0, "", None, (0.0, 1.0, 0.005, False, False, "")),
        ("a.n", 3, "", None, (1, 8, 1.0, True, False, "")),
        ("a.n", 3, "", Count(1, "some."), (1, 8, 1.0, True, False, "")),
        ("a.n", 3, "", Finite("", "n.", least=1.5, most=6.5), (1.5, 6.5, 0.03, False, False, "")),
        ("method.rtol", 1e-6, "", None, (1e-8, 1e-4, 0.05, False, True, "")),
        ("method.time_step", 0.5, "s", None, (0.005, 50.0, 0.05, False, True, "s")),
        # neither a negative step nor a counted one is chosen by its power
        ("method.step", -1.0, "", None, (-3.0, -0.1, 0.02, False, False, "")),
        ("method.step", 3, "", None, (1, 8, 1.0, True, False, "")),
        ("method.stepping", 1.0, "", None, (0.1, 3.0, 0.02, False, False, "")),
    ],
)
def test_fields_have_ranges(path, value, words, rule, found):
    low, high, step, whole, powers, said = found
    made = _field(path, value, words, rule)
    assert (made.path, made.value, made.whole, made.powers) == (path, value, whole, powers)
    assert made.words == said
    reported = pytest.approx((low, high, step), rel=1e-12)
    assert (made.low, made.high, made.step) == reported


def test_numbers_and_their_paths():
    table = {
        "a": 1,
        "b": {"c": 2.5, "no name": 3.0, "d": {"e": -1.0}},
        "flag": True,
        "text": "1",
        "list": [1.0, [2.0], {"f": 3.0}],
        "four": [1, 2, 3, 4],
        "five": [1, 2, 3, 4, 5],
        "nan": math.nan,
        "large": 1e301,
        "none": None,
    }
    assert list(_numbers(table, "")) == [
        ("a", 1),
        ("b.c", 2.5),
        ("b.d.e", -1.0),
        ("list[0]", 1.0),
        ("list[1][0]", 2.0),
        ("list[2].f", 3.0),
        *((f"four[{i}]", i + 1) for i in range(4)),
    ]


def test_no_page_has_more_than_eighty_numbers():
    table = {"system": {f"a{i}": float(i + 1) for i in range(100)}, "other": {"b": 1.0}}
    found = fields_of(table)
    assert [f.path for f in found] == [f"system.a{i}" for i in range(80)]
    assert found[0] == Field("system.a0", 1.0, 0.1, 3.0, 0.02, False, False)


def test_a_note_stands_for_all_entries_of_a_list():
    text = '[system] # what\nx0 = [1.0, 2.0] # m, starts\nname = "a" # no number\nb = 2.0 #  s \n'
    table = {"system": {"x0": [1.0, 2.0], "b": 2.0}}
    assert comments(text) == {"system.x0": "m, starts", "system.b": "s"}
    assert [f.words for f in fields_of(table, text)] == ["m, starts", "m, starts", "s"]
    assert comments("a = 1 # one\n") == {"a": "one"}
    assert len(comments(f"a = 1 # {'x' * 100}")["a"]) == 80
