"""What errors say to those who begin: what was got in short, and what to write instead."""

import pytest

import stiction as st
from stiction.errors import explain


def test_large_objects_are_shown_by_their_begin():
    assert (
        explain("a", "x" * 400, "b", "c.", "d.")
        == f"a: got {'x' * 400}; needs b.\nWhy: c.\nTry: d."
    )
    text = explain("a", "x y\n" * 200, "b", "c.", "d.")
    assert text.startswith("a: got x y x y x y")
    assert text.partition(";")[0].endswith("y ...")
    assert len(text.partition(";")[0]) < 420
    assert text.count("\n") == 2


def test_a_scenario_is_no_system():
    with pytest.raises(
        st.ModelError, match=r"Try: read_scenario\(...\).solve\(\) solves a scenario"
    ):
        st.solve(st.read_scenario("slip-wave"))
    with pytest.raises(st.ModelError, match="Try: for example solve"):
        st.solve(st.Chain)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"boundary": "bottom"}, r"give st.solids.Boundary\(body, name\)"),
        ({"partner": "top"}, "or a RigidPlane"),
        ({"adhesion": None}, r"give st.solids.Signorini\(\)"),
        ({"friction": st.Coulomb(0.3)}, r"give st.solids.Coulomb\(mu\).*st.Coulomb is for chains"),
    ],
)
def test_parts_of_a_contact_are_named(given, advice):
    with pytest.raises(st.ModelError, match=advice):
        st.solids.Contact(**given)
