"""The table of derivatives of a run."""

import numpy as np
import pytest

import stiction as st


def block(**fields):
    return st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), gravity=10.0, **fields)


def test_one_sliding_block():
    found = st.sensitivities(block(x0=1.0), t_span=(0.0, 4.0), to=["law.mu", "x0[0]"])
    assert found["x[0]", "law.mu"] == pytest.approx(-10.0, rel=1e-12)
    assert found["x[0]", "x0[0]"] == pytest.approx(1.0, rel=1e-12)
    # the stuck velocity has no derivative, its force has one
    assert found["v[0]", "law.mu"] == 0.0
    assert found["friction_force[0]", "law.mu"] == pytest.approx(-80.0, rel=1e-11)
    assert found.unit("x[0]", "law.mu") == "m"
    assert found.unit("v[0]", "x0[0]") == "m/s/m"
    # all work of the spring went into heat
    lost = 0.5 * 8.0 * (1.0 - found.values[0] ** 2)
    heat = found.of.index("friction_heat[0]")
    assert found.values[heat] == pytest.approx(lost, rel=1e-12)


def test_names_select_quantities():
    of = ["v[0]", "event_time", "friction_force"]
    found = st.sensitivities(block(x0=1.0), t_span=(0.0, 4.0), of=of, to=["x0"])
    times = [f"event_time[{j}]" for j in range(3)]
    assert found.of == ("v[0]", *times, "friction_force[0]")
    assert found.to == ("x0[0]", "v0[0]")
    assert found.by.shape == (5, 2)
    assert found.events == ("slip- 1", "slip+ 1", "stick 1")
    table = found.table
    assert list(table.columns) == ["value", "unit", "x0[0]", "v0[0]"]
    np.testing.assert_array_equal(table.loc["event_time[1]", "x0[0]"], found.by[2, 0])
    assert "event_time[2] [s]" in repr(found)


def test_a_place_without_derivative_is_shown():
    # it starts to slip from rest: its velocity has another effect to either side
    found = st.sensitivities(block(x0=1.0), t_span=(0.0, 4.0), to=["v0[0]", "law.mu"])
    assert np.isnan(found["x[0]", "v0[0]"])
    assert np.isfinite(found["x[0]", "law.mu"])
    assert [(one.kind, one.time) for one in found.failures] == [("start on the surface", 0.0)]
    assert "no derivative after t = 0" in repr(found)


def test_unknown_names_are_refused():
    with pytest.raises(st.ModelError, match="did you mean 'x\\[0\\]'"):
        st.sensitivities(block(), of=["y[0]"], to=["law.mu"])
    with pytest.raises(st.ModelError, match=r"did you mean 'law\.mu'"):
        st.sensitivities(block(), to=["law.nu"])
    with pytest.raises(st.ModelError, match="a list of names"):
        st.sensitivities(block(), to="law.mu")
    with pytest.raises(st.ModelError, match="variational equation"):
        st.sensitivities(3.0, to=["law.mu"])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"to": []}, r"sensitivities\.to: got none; needs at least one direction"),
        ({"to": [3]}, r"sensitivities\.to: got 3; needs a list of names"),
        ({"to": None}, r"sensitivities\.to: got None; needs a list of names"),
        ({"of": [3]}, r"sensitivities\.of: got 3; needs a list of names"),
        ({"of": "x"}, r"sensitivities\.of: got 'x'; needs a list of names"),
        ({"t_span": (0.0,)}, r"sensitivities\.t_span: got 1 values; needs 2 values"),
        ({"t_span": None}, r"sensitivities\.t_span: got None; needs"),
        ({"t_span": (0.0, np.nan)}, r"sensitivities\.t_span: got .* nan at position 2"),
        ({"t_span": (1.0, 1.0)}, r"sensitivities\.t_span: got .* an end after the start"),
        ({"t_span": 4.0}, r"sensitivities\.t_span: got .* an end after the start"),
    ],
)
@pytest.mark.parametrize("adjoint", [False, True])
def test_wrong_arguments_are_refused(bad, message, adjoint):
    given = {"t_span": (0.0, 4.0), "of": ["x"], "to": ["law.mu"], "adjoint": adjoint} | bad
    with pytest.raises(st.ModelError, match=message):
        st.sensitivities(block(x0=1.0), **given)


@pytest.mark.parametrize("t_span", [None, (0.0,), (0.0, np.inf), (2.0, 1.0)])
def test_a_time_span_of_a_chain_is_checked(t_span):
    with pytest.raises(st.ModelError, match=r"Chain\.tangents\.t_span"):
        block(x0=1.0).tangents(None, t_span, ["x0"])
