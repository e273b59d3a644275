"""RollingStrings at the door, in scenario files, and what its run holds."""

import numpy as np
import pytest

import stiction as st
from stiction.core.method import default_method
from stiction.io.scenario import read_scenario
from stiction.io.scenario.scenario import Scenario
from stiction.io.scenario.writer import write_scenario
from stiction.rods import Bump, Pluck, RollingStrings, Samples, Sine, Sum, UserShape
from stiction.rods.methods import BumpStrands


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"s1": 7.0}, "between 0 and"),
        ({"s2": 0.0}, "between 0 and"),
        ({"s1": float("nan")}, "finite"),
        ({"speed": 0.0}, "positive"),
        ({"length": (1.0, -2.0)}, "position 2"),
        ({"length": (1.0, 2.0, 3.0)}, "2 values"),
        ({"ends": "free"}, "'fixed', 'periodic'"),
        ({"F": "one"}, "finite number"),
        ({"drag": -0.1}, ">= 0"),
        ({"rolling_resistance": -1.0}, ">= 0"),
        ({"u0": 3.0}, "a shape or None"),
        ({"u0": Sine(1, 1.0, 0.3)}, "phase"),
        ({"u0": UserShape(np.cos, lambda x: -np.sin(x))}, "0 at both ends"),
        ({"v_t0": Bump(0.5, 1.0, 1.0)}, "0 at both ends"),
        ({"ends": "periodic", "u0": UserShape(lambda x: x, np.ones_like)}, "the same value"),
        ({"u0": UserShape(lambda x: x / 0.0 * x, np.ones_like)}, "not finite"),
        ({"u_t0": Sine(1, 9.0)}, "as fast as the waves"),
        ({"nodes": 1}, "whole number"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_bad_strings_are_refused(fields, words):
    with np.errstate(all="ignore"), pytest.raises(st.ModelError, match="Why:") as error:
        RollingStrings(**fields)
    assert words in str(error.value)


@pytest.mark.parametrize("ends", ["fixed", "periodic"])
@pytest.mark.parametrize("waves", [32, 64, 128])
def test_many_waves_vanish_at_the_ends(ends, waves):
    # they vanish at 65 equally spaced points too
    assert RollingStrings(u0=Sine(waves, 1e-3), ends=ends).u0.value(0.0, 1.0, ends) == 0.0


def test_mobilities_and_ratio_may_have_either_sign():
    system = RollingStrings(F=-1.0, G1=-0.5, G2=0.5, u0=Sine(2, 0.1))
    assert system.mobilities.tolist() == [0.5, 0.5]


def test_scenario_round_trip():
    start = Sum([Sine(2, 1.0), Bump(3.0, 1.0, 0.1), Pluck(2.0, 0.3)])
    system = RollingStrings(
        speed=(1.0, 1.5), s2=2.75, u0=start, v_t0=Samples([0.0, 0.1, 0.2, 0.2, 0.1, 0.0])
    )
    scenario = Scenario(system, default_method(system), t_end=3.0)
    again = read_scenario(write_scenario(scenario))
    assert again.system == system
    assert again.method == scenario.method


def test_scenario_names_shapes():
    text = """
    [system]
    type = "RollingStrings"
    [system.u0]
    type = "Sine"
    mode_number = 2
    amplitude = 1.0
    [solve]
    t_end = 1.0
    """
    scenario = read_scenario(text)
    assert scenario.system.u0 == Sine(2, 1.0)
    with pytest.raises(st.ScenarioError, match="a shape"):
        read_scenario(text.replace('"Sine"', '"Ramp"'))


def test_run_names_what_figures_read():
    system = RollingStrings(u0=Sine(2, 1.0), G1=0.5, G2=0.5, nodes=9)
    run = st.solve(system, t_span=(0.0, 0.5), save=3)
    assert (run.size, run.time_unit, run.energy_unit) == ("9 nodes", "1", "1")
    for name in ("s1", "s2", "s1_rate", "s2_rate", "contact_force", "u1", "v1", "energy_M"):
        assert run.data[name].dims == ("time",)
    for name in ("u", "v", "u_t", "v_t"):
        assert run.data[name].dims == ("time", "node")
    assert run.data.x.dims == run.data.y.dims == ("node",)
    assert run.determinism.status == "deterministic"
    assert run.audit.ok
    assert run.cite()


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        ({"speed": (2.0, 2.0), "length": (6.0, 6.0)}, True),
        ({"speed": (1.0, 1.5)}, False),
        ({"length": (6.0, 7.0)}, False),
    ],
)
@pytest.mark.parametrize("method", [st.Characteristics(), BumpStrands(0.1)])
def test_sum_and_difference_have_energies_where_both_strings_are_alike(fields, same, method):
    system = RollingStrings(u0=Sine(2, 0.1), G1=0.5, G2=0.5, nodes=9, **fields)
    run = st.solve(system, method, t_span=(0.0, 0.2), save=3)
    assert system.identical is same
    assert {"energy_P" in run.data, "energy_M" in run.data} == {same}


def test_a_start_at_another_time_changes_nothing():
    system = RollingStrings(u0=Sine(2, 1.0), G1=0.5, G2=0.5, nodes=9)
    one = st.solve(system, t_span=(0.0, 2.0), save=5)
    two = st.solve(system, t_span=(8.0, 10.0), save=5)
    assert np.array_equal(one.data.s1.values, two.data.s1.values)
    assert two.time[0] == 8.0


def test_energies_are_the_integrals_of_the_fields():
    # (u_t^2 + u_x^2) / 2 by the trapezoidal rule, over fields with kinks at the contact
    run = st.solve(
        RollingStrings(u0=Sine(2, 1.0), v0=Sine(4, 0.3), G1=0.5, G2=0.5, nodes=1601),
        t_span=(0.0, 3.0),
        save=7,
    )
    data = {name: run.data[name].to_numpy() for name in ("u", "v", "u_t", "v_t")}
    spacing = 2.0 * np.pi / 1600

    def energies(place, rate):
        moving = 0.5 * np.trapezoid(rate**2, dx=spacing, axis=1)
        return moving, 0.5 * np.sum(np.diff(place, axis=1) ** 2, axis=1) / spacing

    u, v = energies(data["u"], data["u_t"]), energies(data["v"], data["v_t"])
    both = data["u"] + data["v"], data["u_t"] + data["v_t"]
    reported = {
        "energy_u": sum(u),
        "energy_v": sum(v),
        "energy_P": 0.5 * sum(energies(*both)),
        "energy_M": sum(u) + sum(v) - 0.5 * sum(energies(*both)),
    }
    for name, expected in reported.items():
        np.testing.assert_allclose(run.data[name], expected, rtol=1e-3, err_msg=name)
    kinetic = run.ledger["kinetic"].to_numpy()
    assert kinetic.max() > 0.1
    np.testing.assert_allclose(kinetic, u[0] + v[0], rtol=1e-3, atol=1e-12)


@pytest.mark.parametrize("width", [0.02, 0.005])
def test_energies_of_a_narrow_bump_at_rest(width):
    """It moves nothing at first, and u = v keeps u - v at rest, however narrow it is."""
    pulse = Bump(at=1.3, width=width, height=0.1 * width)
    system = RollingStrings(u0=pulse, v0=pulse, nodes=5)
    run = st.solve(system, st.Characteristics(step=1e-3, check=False), (0.0, 0.3), save=7)
    energy = run.energy.kinetic[0] + run.energy.stored[0]
    assert abs(run.energy.kinetic[0]) <= 1e-4 * energy
    assert np.abs(run.data.energy_M.values).max() <= 1e-4 * energy
