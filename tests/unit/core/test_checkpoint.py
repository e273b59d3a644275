"""Arrays of checkpoints: what is missing, unknown, of another form, or not finite is named."""

import numpy as np
import pytest

from stiction.core.checkpoint import (
    Form,
    Log,
    StateArray,
    check_arrays,
    check_count,
    like,
    pack,
    put_back,
    refused,
    restore,
    saved_array,
    unpacking,
)
from stiction.errors import StoreError

FORMS = {
    "x": Form((3,)),
    "rows": Form(("n", 2), inf=True),
    "marks": Form(("n",), "i8", least=0, most=4),
    "words": Form(("n",), "U"),
    "held": Form((), "b1"),
    "maybe": Form((2,), nan=True, needed=False),
    "table": Form((2,), "t:f8 n:i8 v:f8", inf=("v",), least=0, most=9),
}
TABLE = np.array([(0.0, 9, np.inf), (-1.0, 0, 2.0)], dtype=[("t", "f8"), ("n", "i8"), ("v", "f8")])


def damaged(field, value):
    table = TABLE.copy()
    table[field][1] = value
    return table


def arrays():
    return {
        "x": np.zeros(3),
        "rows": np.full((4, 2), np.inf),
        "marks": np.arange(4),
        "words": np.array(["a", "bc", "", "d"]),
        "held": np.array(True),
        "table": TABLE,
    }


def test_valid_arrays_pass_and_give_their_lengths():
    assert check_arrays(arrays(), FORMS) == {"n": 4}
    assert check_arrays({**arrays(), "maybe": np.array([np.nan, 1.0])}, FORMS) == {"n": 4}


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("x", np.zeros(0), "shape"),
        ("x", np.zeros(6), "shape"),
        ("x", np.zeros((3, 1)), "shape"),
        ("x", np.zeros(3, np.float32), "type f4"),
        ("x", np.zeros(3, np.int64), "type i8"),
        ("x", np.array(["a", "b", "c"]), "type U1"),
        ("x", np.array([0.0, np.nan, 0.0]), "NaN"),
        ("x", np.array([0.0, np.inf, 0.0]), "infinity"),
        ("rows", np.zeros((5, 2)), "n = "),
        ("rows", np.full((4, 2), np.nan), "NaN"),
        ("marks", np.array([0, 1, 2, 5]), "5, above 4"),
        ("marks", np.array([0, -1, 2, 3]), "-1, below 0"),
        ("words", np.zeros(4), "type f8"),
        ("maybe", np.array([np.inf, 1.0]), "infinity"),
        ("table", damaged("t", np.inf), "t: infinity"),
        ("table", damaged("v", np.nan), "v: NaN"),
        ("table", damaged("n", 10), "n: 10, above 9"),
        ("table", TABLE[["t", "v"]], "type 2 fields"),
        ("table", np.zeros(2), "2 of 3 fields without NaN"),
        ("table", TABLE[:1], "shape"),
        ("x", TABLE[[0, 1, 1]], "type 3 fields"),
        ("other", np.zeros(1), "unknown array"),
    ],
)
def test_wrong_arrays_are_named(name, array, said):
    with pytest.raises(StoreError) as caught:
        check_arrays({**arrays(), name: array}, FORMS)
    message = str(caught.value)
    assert said in message
    assert name in message or "n = " in message
    assert all(word in message for word in ("got", "needs", "Why:", "Try:"))


@pytest.mark.parametrize("name", ["x", "rows", "held"])
def test_missing_arrays_are_named(name):
    saved = arrays()
    del saved[name]
    with pytest.raises(StoreError, match=f"'{name}': got no such array"):
        check_arrays(saved, FORMS)


def test_the_form_of_an_array_that_is_there():
    values = np.zeros((7, 2), np.int8)
    assert like(values) == Form((7, 2), "i1")
    assert like(values, "rows", nan=True) == Form(("rows", 2), "i1", nan=True)


def test_counts_have_bounds():
    assert check_count("counter", 3, 0, 3) == 3
    with pytest.raises(StoreError, match="'counter': got a count of 4"):
        check_count("counter", 4, 0, 3)


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError, TypeError, OverflowError])
def test_content_that_does_not_fit_is_a_refusal(error):
    with pytest.raises(StoreError, match="inconsistent content"), unpacking():
        raise error("x")


STATE = {
    "x": np.linspace(0.0, 1.0, 5),
    "mode": np.array([1, 0, -1], np.int8),
    "hole": np.array([1.0, np.nan]),
    "text": np.array("all"),
}


def test_single_arrays_are_checked():
    x, mode, hole = np.zeros(5), np.zeros(3, np.int8), np.zeros(2)
    put_back({"x": x, "mode": mode}, STATE)
    put_back({"hole": hole}, STATE, nan=True)
    assert np.array_equal(x, STATE["x"])
    assert np.array_equal(mode, STATE["mode"])
    assert np.isnan(hole[1])
    assert saved_array(STATE, "x", (None,)) is STATE["x"]
    assert str(saved_array(STATE, "text", (), "U")) == "all"


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "more"),
    [
        ("x", (6,), "f", {}),
        ("x", (5, 1), "f", {}),
        ("x", (5,), "i", {}),
        ("x", (5,), "f4", {}),
        ("x", (None,), "f", {"within": (0.0, 0.5)}),
        ("mode", (None,), "f", {}),
        ("mode", (3,), "i", {"within": (0, 1)}),
        ("hole", (2,), "f", {}),
        ("nothing", (None,), "f", {}),
    ],
)
def test_other_arrays_are_refused(name, shape, dtype, more):
    with pytest.raises(StoreError, match=rf"checkpoint, array '{name}': got .*; needs "):
        saved_array(STATE, name, shape, dtype, **more)


def state(filled=2):
    log = Log(np.zeros((0, 2)))
    log.add(np.array([[1.0, 2.0], [3.0, 4.0]]))
    log.add(np.zeros((0, 2)))
    return {
        "x": StateArray(np.arange(3.0)),
        "saved": StateArray(np.arange(4.0), "saved", filled, inf=True),
        "marks": StateArray(np.arange(4), "saved", filled, within=(0, 3)),
        "log": StateArray(log, nan=True),
    }


def test_a_state_is_packed_and_restored():
    saved = pack(state() | {"beside": np.array("word")})
    assert {name: array.shape for name, array in saved.items()} == {
        "x": (3,),
        "saved": (2,),
        "marks": (2,),
        "log": (2, 2),
        "beside": (),
    }
    empty = {
        "x": StateArray(np.zeros(3)),
        "saved": StateArray(np.zeros(4), "saved", 0, inf=True),
        "marks": StateArray(np.zeros(4, np.int64), "saved", 0, within=(0, 3)),
        "log": StateArray(Log(np.zeros((0, 2))), nan=True),
    }
    before = empty["x"].array
    sizes = restore(empty, saved, beside=Form((), "U"))
    assert sizes == {"saved": 2, "log": 2}
    # in place: who holds an array sees what it is now
    assert before.tolist() == [0.0, 1.0, 2.0]
    assert empty["saved"].array.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert empty["log"].array.rows.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert len(empty["log"].array) == 2


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("x", np.zeros(4)),
        ("saved", np.zeros(3)),
        ("marks", np.array([0, 4])),
        ("log", np.zeros((2, 3))),
        ("log", np.full((1, 2), np.inf)),
    ],
)
def test_a_state_that_does_not_fit_is_refused(name, array):
    saved = pack(state()) | {name: array}
    with pytest.raises(StoreError, match="checkpoint, array"):
        restore(state(), saved)


def test_more_rows_than_there_is_room_for_are_refused():
    saved = pack(state()) | {"saved": np.zeros(5), "marks": np.zeros(5, np.int64)}
    with pytest.raises(StoreError, match="array 'saved'"):
        restore(state(), saved)


def test_what_is_packed_does_not_change_later():
    one = state()
    saved = pack(one)
    one["x"].array[:] = 9.0
    assert saved["x"].tolist() == [0.0, 1.0, 2.0]


def test_vectors_in_fields_have_their_length_and_are_finite():
    table = np.zeros(2, [("place", "f8", (2,)), ("normal", "f8", (3,))])
    state = {"table": StateArray(table, inf=("place",))}
    table["place"][1, 0] = np.inf
    restore(state, pack(state))
    longer = np.zeros(2, [("place", "f8", (2,)), ("normal", "f8", (4,))])
    with pytest.raises(StoreError, match="type 2 fields"):
        restore(state, {"table": longer})
    wrong = table.copy()
    wrong["normal"][0, 2] = np.nan
    with pytest.raises(StoreError, match="normal: NaN"):
        restore(state, {"table": wrong})


@pytest.mark.parametrize(
    ("name", "where"), [("x", "checkpoint, array 'x': got one"), ("", "checkpoint: got one")]
)
def test_refusals_name_the_array(name, where):
    reported = str(refused(name, "one", "two"))
    assert reported.startswith(f"{where}; needs two.\nWhy: the checkpoint is damaged")
    assert reported.endswith("start the run from the beginning, without --resume.")
