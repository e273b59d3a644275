"""Numbers of a chain by their names."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

import stiction as st
from stiction.chains.tangents.directions import laid_out
from stiction.chains.tangents.parameters import unit_of
from stiction.laws.compiled import CompiledLaw


def chain():
    load = st.chains.SumOf([st.Ramp(rate=2.0), st.chains.PiecewiseLinear([0.0, 1.0], [3.0, 4.0])])
    law = st.StaticKinetic(0.4, [0.3, 0.2])
    return st.Chain(mass=2.0, n=2, stiffness=5.0, law=law, load=load, supports="both")


@pytest.mark.parametrize(
    ("name", "value", "unit"),
    [
        ("mass", 2.0, "kg"),
        ("mass[1]", 2.0, "kg"),
        ("stiffness[2]", 5.0, "N/m"),
        ("law.mu_static", 0.4, "1"),
        ("law.mu_static[1]", 0.4, "1"),
        ("law.mu_kinetic[1]", 0.2, "1"),
        ("load.parts[0].rate", 2.0, "N/s"),
        ("load.parts[1].value[1]", 4.0, "N"),
        ("normal_force[0]", 19.62, "N"),
        ("load_vector[1]", 1.0, "1"),
        ("x0[1]", 0.0, "m"),
        ("gravity", 9.81, "m/s^2"),
    ],
)
def test_names_of_numbers(name, value, unit):
    assert chain().parameter(name) == value
    assert unit_of(chain(), name) == unit
    moved = chain().with_parameter(name, 0.35)
    assert moved.parameter(name) == 0.35
    assert chain().parameter(name) == value


def test_an_entry_leaves_the_others():
    moved = chain().with_parameter("stiffness[1]", 7.0)
    np.testing.assert_array_equal(moved.link_stiffness, [5.0, 7.0, 5.0])
    moved = chain().with_parameter("normal_force[0]", 1.0)
    np.testing.assert_array_equal(moved.normal_forces, [1.0, 19.62])


@pytest.mark.parametrize(
    "name",
    [
        *("law.nu", "stiffness[3]", "law", "mass[", "load.parts[2].rate", "n", "supports"),
        *("rate.law", "mass[0]\n", "x0[\u00b2]"),
    ],
)
def test_unknown_names_are_refused(name):
    with pytest.raises(st.ModelError, match="the name of a numeric parameter"):
        chain().parameter(name)
    with pytest.raises(st.ModelError, match="the name of a numeric parameter"):
        chain().tangents(None, (0.0, 1.0), [name])


def test_numbers_that_do_not_change_have_exact_zeros():
    law = CompiledLaw(chain().friction, ())
    names = ["law.mu_static", "stiffness[1]", "load.parts[0].rate", "mass[1]", "v0[1]"]
    parts, start, _ = laid_out(chain(), names, np.zeros(5, np.int64), law, (0.0, 1.0))
    np.testing.assert_array_equal(parts.mechanics, [1, 1, 0, 1, 0])
    np.testing.assert_array_equal(parts.load, [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(parts.mu_static[[1, 2, 4]], 0.0)
    np.testing.assert_array_equal(parts.link_k[1], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(parts.normal[3], [0.0, 9.81], rtol=1e-13)
    np.testing.assert_array_equal(start[:, 4], [0.0, 0.0, 0.0, 1.0])


def test_breakpoints_of_a_user_load_are_no_parameters():
    load = st.UserLoad(lambda t: 1.0 + (t > 1.0), breakpoints=[1.0])
    jumping = st.Chain(mass=[1.0], stiffness=[1.0], law=st.Coulomb(0.1), load=load)
    with pytest.raises(st.ModelError, match="the name of a numeric parameter"):
        jumping.tangents(None, (0.0, 2.0), ["load.breakpoints[0]"])


def test_a_parameter_without_neighbours_is_refused():
    law = st.StaticKinetic(0.0, 0.0)
    block = st.Chain(mass=[1.0], stiffness=[1.0], law=law, v0=1.0)
    with pytest.raises(st.ModelError, match=r"law.mu_kinetic = 0; needs .* rise or fall alone"):
        block.tangents(None, (0.0, 1.0), ["law.mu_kinetic"])


@dataclass(frozen=True, eq=False, repr=False)
class Gain(st.chains.Load):
    gain: float = 2.0

    def segments(self):
        gain = self.gain
        return st.UserLoad(lambda t: gain * t * t).segments()


class Pulse(Gain):
    def segments(self):
        gain = self.gain
        return st.UserLoad(lambda t: gain * (abs(t - 0.0503) < 1e-5)).segments()


def test_parameters_of_a_user_function_are_refused():
    load = st.chains.SumOf([Gain(3.0), st.Ramp(rate=1.0)])
    block = st.Chain(mass=[1.0], stiffness=[4.0], law=st.Coulomb(0.1), load=load)
    law, none, span = CompiledLaw(block.friction, ()), np.zeros(1, np.int64), (0.0, 0.1)
    with pytest.raises(st.ModelError, match="not of its `function`"):
        laid_out(block, ["load.parts[0].gain"], none, law, span)
    pulse = dataclasses.replace(block, load=Pulse(3.0))
    with pytest.raises(st.ModelError, match="not of its `function`"):
        laid_out(pulse, ["load.gain"], none, law, span)
    undefined = st.UserLoad(lambda t: float("nan") if t > 0.05 else t)
    load = st.chains.SumOf([undefined, st.Ramp(rate=1.0)])
    block = dataclasses.replace(block, load=load)
    parts, _, _ = laid_out(block, ["load.parts[1].rate"], none, law, span)
    np.testing.assert_allclose(parts.segment_rate, 1.0, rtol=1e-13)
