"""Objects of the wrong kind at the Python door: the four-part error, never Python's own."""

import numpy as np
import pytest

import stiction as st

CHAIN = {"mass": [1.0, 1.0], "stiffness": 20.0}


def identity(t):
    return t


BAD = {
    "ragged_mass": lambda: st.Chain(mass=[[1], [2, 3]], stiffness=1.0),
    "ragged_law": lambda: st.Coulomb([[0.1], [0.2, 0.3]]),
    "bytes": lambda: st.Chain(**CHAIN, gravity=b"9.81"),
    "numpy_bool": lambda: st.Chain(**CHAIN, gravity=np.True_),
    "array_of_bools": lambda: st.Chain(mass=np.array([True]), stiffness=1.0),
    "array_of_strings": lambda: st.Chain(mass=np.array(["1", "2"]), stiffness=1.0),
    "dict": lambda: st.Chain(mass={1.0: 2}, stiffness=1.0),
    "tiny_mass": lambda: st.Chain(mass=1e-320, stiffness=1.0),
    "huge_mass": lambda: st.Chain(mass=1e308, stiffness=1.0),
    "huge_speed": lambda: st.Chain(mass=1.0, stiffness=1.0, v0=1e200),
    "huge_friction": lambda: st.Chain(mass=1.0, stiffness=1.0, law=st.Coulomb(1e308)),
    "steep_load": lambda: st.chains.PiecewiseLinear([0.0, 1e-320], [0.0, 1.0]),
    "load_that_fails": lambda: st.UserLoad(lambda t: 1.0 / t),
    "load_no_function": lambda: st.UserLoad(3.0),
    "breakpoint_word": lambda: st.UserLoad(identity, ["a"]),
    "breakpoint_number": lambda: st.UserLoad(identity, 3.0),
    "breakpoint_nan": lambda: st.UserLoad(identity, [float("nan")]),
    "law_no_function": lambda: st.UserFriction(1, 2),
    "law_returns_none": lambda: st.UserFriction(lambda v: None, lambda v: None),
    "no_system": lambda: st.solve(None),
    "word_for_method": lambda: st.solve(st.Chain(**CHAIN), "EventDriven"),
    "class_for_method": lambda: st.solve(st.Chain(**CHAIN), st.EventDriven),
    "span_for_method": lambda: st.solve(st.Chain(**CHAIN), (0, 1)),
    "ragged_save": lambda: st.solve(st.Chain(**CHAIN), save=[[1], [2, 3]]),
    "ragged_span": lambda: st.solve(st.Chain(**CHAIN), t_span=(0, [1, 2])),
    "span_of_ulps": lambda: st.solve(st.Chain(**CHAIN), t_span=(1e16, 1e16 + 2.0)),
}


@pytest.mark.parametrize("name", BAD)
def test_message_has_four_parts(name):
    with pytest.raises(st.ModelError, match=r"(?s): got .*; needs .*\nWhy: .*\nTry: "):
        BAD[name]()


def test_span_for_method_says_so():
    with pytest.raises(st.ModelError, match="t_span="):
        st.solve(st.Chain(**CHAIN), (0, 1))
