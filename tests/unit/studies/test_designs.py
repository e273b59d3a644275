"""Members from values: grids, pairs, samples of a box."""

import numpy as np
import pytest

import stiction as st
from stiction.studies import Grid, LatinHypercube, Paired, Range, Saltelli, Sobol
from stiction.studies.designs import columns

BOX = {"a": Range(1.0, 3.0), "b": Range(1e-3, 1e1, log=True)}


def test_ranges_are_spread():
    assert Range(0.0, 1.0, 5).values.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert Range(1.0, 100.0, 3, log=True).values == pytest.approx([1.0, 10.0, 100.0], rel=1e-14)
    for count in (3, 1):
        with pytest.raises(st.ModelError, match="more than low"):
            Range(1.0, 0.5, count)
    assert Range(0.5, 0.5, 1).values.tolist() == [0.5]
    with pytest.raises(st.ModelError, match="positive"):
        Range(0.0, 1.0, 3, log=True)


def test_ranges_whose_width_is_no_number():
    half = np.array([0.0, 0.5, 1.0])
    wide = Range(1e-200, 1e200, 3, log=True)
    np.testing.assert_allclose(wide.within(half), [1e-200, 1.0, 1e200], rtol=1e-12)
    np.testing.assert_allclose(wide.values, [1e-200, 1.0, 1e200], rtol=1e-12)
    both = Range(-1e308, 1e308, 3)
    for values in (both.within(half), both.values):
        np.testing.assert_array_equal(values, [-1e308, 0.0, 1e308])


def test_integers_keep_their_digits():
    for values in ([2**63, 1], [2**53 + 1, 0.5], [2**53, 0.5], [3, float("nan")]):
        found = columns(Grid(), {"a": values})["a"]
        assert [v for v in found.tolist() if v == v] == [v for v in values if v == v]
    assert found.dtype == np.float64


def test_grids_hold_every_combination():
    made = columns(Grid(), {"a": [1, 2, 3], "b": ["x", "y"]})
    pairs = list(zip(made["a"].tolist(), made["b"].tolist(), strict=True))
    assert pairs == [(a, b) for a in (1, 2, 3) for b in ("x", "y")]


def test_pairs_go_together():
    assert columns(Paired(), {"a": [1, 2], "b": [5.0, 6.0]})["b"].tolist() == [5.0, 6.0]
    with pytest.raises(st.ScenarioError, match="2 of a, 3 of b"):
        columns(Paired(), {"a": [1, 2], "b": [1, 2, 3]})


@pytest.mark.parametrize("design", [LatinHypercube(64, seed=3), Sobol(64, seed=3)])
def test_samples_fill_the_box(design):
    made = columns(design, BOX)
    logs = np.log10(made["b"])
    for values, low, high in ((made["a"], 1.0, 3.0), (logs, -3.0, 1.0)):
        shares = (values - low) / (high - low)
        # one member in each of 64 slices
        assert sorted(np.floor(64 * shares).astype(int)) == list(range(64))
    again = columns(design, BOX)
    assert np.array_equal(made["a"], again["a"])


def test_a_sobol_sequence_goes_on():
    few, many = columns(Sobol(32), BOX), columns(Sobol(64), BOX)
    assert np.array_equal(few["a"], many["a"][:32])


def test_saltelli_changes_one_column_at_a_time():
    made = columns(Saltelli(8), BOX)
    a, b = (np.reshape(made[name], (4, 8)) for name in ("a", "b"))
    assert np.array_equal(a[2], a[1])
    assert np.array_equal(b[2], b[0])
    assert np.array_equal(a[3], a[0])
    assert np.array_equal(b[3], b[1])


def test_saltelli_needs_distinct_members():
    """A study solves equal members once, so that A, B and AB would lose rows."""
    few = Range(1.0, 1.0 + 3.0 * np.finfo(float).eps)
    with pytest.raises(st.ScenarioError, match="ranges in which members are equal"):
        columns(Saltelli(16), {"a": few, "b": few})


@pytest.mark.parametrize(
    ("design", "fields", "words"),
    [
        (Grid(), {}, "at least one field"),
        (Grid(), {"a": 0.3}, "a list of values"),
        (Grid(), {"a": []}, "a list of values"),
        (Grid(), {"a": Range(0.0, 1.0)}, "without a count"),
        (Sobol(8), {"a": [1, 2]}, "the box between two ends"),
        (
            LatinHypercube(8),
            {"a": Range(1.0, 2.0, 5)},
            "`members` of LatinHypercube is the number of samples",
        ),
        (Grid(), {"a": range(10**6), "b": range(10**6)}, "memory|GiB"),
    ],
)
def test_what_makes_no_members_is_refused(design, fields, words):
    with pytest.raises(st.ModelError, match=words):
        columns(design, fields)


def test_counts_are_checked():
    with pytest.raises(st.ModelError, match="members"):
        Sobol(0)
    with pytest.raises(st.ModelError, match="power of two"):
        Saltelli(100)
    with pytest.raises(st.ModelError, match="2 or more"):
        Saltelli(1)


@pytest.mark.parametrize("kind", ["f8", "f4", ">f8", "i8", "i2", "u8", "?", "f8[]", "O"])
def test_arrays_are_what_lists_of_them_are(kind):
    values = [0, 1, 5, 2]
    given = np.array(values, dtype=kind.removesuffix("[]"))
    if kind.endswith("[]"):
        given = np.stack([given, given], axis=1)
    found, listed = (columns(Grid(), {"a": v})["a"] for v in (given, given.tolist()))
    assert found.dtype == listed.dtype
    assert found.dtype.isnative
    assert all(a == b for a, b in zip(found.tolist(), listed.tolist(), strict=True))
    # and no later change of the array is seen
    before = found.tolist()
    given[...] = 1
    assert found.tolist() == before or kind == "f8[]"
