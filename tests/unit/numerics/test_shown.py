"""Objects in few words: in a prompt, in a notebook, in a message."""

import numpy as np
import pytest

import stiction as st
from stiction.numerics.shown import brief, counted, exact_text, plural, table_html


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.1 + 0.2, "0.3"),
        (3, "3"),
        (True, "True"),
        (None, "None"),
        ("left", "'left'"),
        (np.array([1.0, 2.0, 4.0]), "[1, 2, 4]"),
        (np.full(50, 0.02), "50 x 0.02"),
        (np.arange(100.0), "[0, 1, 2, 3, ... 99] (100)"),
        (np.zeros((3, 2)), "array 3 x 2"),
        ([], "[]"),
        (abs, "abs"),
        ("x" * 100, repr("x" * 57 + "...")),
        ("x" * 60, repr("x" * 60)),
        ("x" * 61, repr("x" * 57 + "...")),
        # four alike are listed, five are counted, nine are shortened to their ends
        ([2.0] * 4, "[2, 2, 2, 2]"),
        ([2.0] * 5, "5 x 2"),
        ([0.0, -0.0, 0.0, 0.0, 0.0], "5 x 0"),
        ([2.0] * 4 + [3.0], "[2, 2, 2, 2, 3]"),
        ([3.0] + [2.0] * 4, "[3, 2, 2, 2, 2]"),
        (["a"] * 5, "['a', 'a', 'a', 'a', 'a']"),
        (range(8), "range(0, 8)"),
        (tuple(range(8)), "[0, 1, 2, 3, 4, 5, 6, 7]"),
        (tuple(range(9)), "[0, 1, 2, 3, ... 8] (9)"),
        (np.float64(1.0 / 3.0), "0.333333"),
        (np.int64(3), "3"),
        (np.True_, "True"),
        (np.array([1, -1], dtype=np.int8), "[1, -1]"),
        (np.array(0.5), "0.5"),
    ],
)
def test_values_in_few_words(value, words):
    assert brief(value) == words


def test_records_leave_out_defaults():
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, law=st.Coulomb(0.25))
    assert repr(chain) == "Chain(mass=[1, 2], stiffness=20.0, law=Coulomb(mu=0.25))"
    assert repr(st.EventDriven()) == "EventDriven()"
    assert repr(st.EventDriven(rtol=1e-10)) == "EventDriven(rtol=1e-10)"
    long = st.Chain(mass=0.02, n=50, stiffness=5000.0)
    assert len(repr(long)) < 120


def test_exact_texts_differ_where_values_do():
    same = [st.Coulomb(0.25), [1.0, 0.5, 3], 5 * [0.5], "x", None, 2, st.Coulomb([0.1, 0.2])]
    assert list(map(exact_text, same)) == list(map(brief, same))
    assert exact_text(np.array(0.1 + 0.2)) == "0.30000000000000004"
    masses = [0.3] * 20
    others = [*masses[:10], 0.4, *masses[11:]]
    pairs = [
        (st.Coulomb(masses), st.Coulomb(others)),
        (st.Coulomb([*others, 1.0]), st.Coulomb([*others[:9], 0.7, *others[10:], 1.0])),
        (st.Coulomb([0.3, 0.4]), st.Coulomb([0.3, 0.4 + 1e-9])),
        (0.3, 0.3 + 1e-15),
        (np.float64(0.3), np.float64(0.3 + 1e-15)),
        ("a" * 100, "a" * 99 + "b"),
        (np.zeros((2, 2)), np.eye(2)),
    ]
    assert all(exact_text(a) != exact_text(b) for a, b in pairs)


def test_a_record_that_was_refused_can_still_be_shown():
    half = object.__new__(st.Coulomb)
    assert repr(half) == "Coulomb()"


def test_tables_escape_what_they_show():
    text = table_html(("a",), [("<script>",), (0.5,)], title="x < y", bad=True)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "x &lt; y" in text
    assert "<td>0.5</td>" in text


def test_notebooks_show_summaries_and_tables():
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.25))
    run = st.solve(chain, t_span=(0.0, 1.0), save=3)
    assert str(run).splitlines()[0] in run._repr_html_()
    assert len(repr(run)) < 160
    assert "Chain by EventDriven, solved at t = 1 s" in repr(run)
    assert "<table>" in chain._repr_html_()
    assert "ledger_closes" in run.audit._repr_html_()
    assert repr(run.audit) == f"<Audit: {len(run.audit.checks)} held>"
    assert repr(run.determinism) == "<Determinism: deterministic>"
    assert "onset_time" in run.quantities._repr_html_()
    assert "onset_time = [" in repr(run.quantities)
    with pytest.raises(KeyError, match="did you mean 'onset_time'"):
        run.quantities["onset_tme"]


def test_failures_stand_first_and_warn():
    from stiction.core.audit import Audit, Check
    from stiction.core.determinism import Determinism, Loss

    audit = Audit((Check("held_one", True, 0.0, 1.0), Check("broken", False, 2.0, 1.0, 0.5)))
    assert repr(audit) == "<Audit: 1 held, FAILED: broken>"
    assert audit._repr_html_().index("broken") < audit._repr_html_().index("held_one")
    assert "color:#b00020" in audit._repr_html_()
    lost = Determinism((Loss(1.5, "two_fold"),))
    assert repr(lost) == "<Determinism: lost: two_fold at 1.5>"
    assert "color:#b00020" in lost._repr_html_()


def test_counts_have_their_plurals():
    assert [plural(word) for word in ("node", "mass")] == ["nodes", "masses"]
    assert [counted(n, "mass") for n in (0, 1, 2)] == ["0 masses", "1 mass", "2 masses"]


def test_cells_of_tables():
    text = table_html(("a", "<b>"), [("x", None), (0.5, [1, 2])], title="t & u")
    assert text == (
        "<strong>t &amp; u</strong><table><thead><tr><th>a</th><th>&lt;b&gt;</th></tr></thead>"
        "<tbody><tr><td>x</td><td></td></tr><tr><td>0.5</td><td>[1, 2]</td></tr></tbody></table>"
    )
    assert table_html((), [], title="t", bad=True).startswith('<strong style="color:#b00020">t<')
    assert table_html((), []).startswith("<table>")
