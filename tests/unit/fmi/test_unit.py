"""Units of FMI 3: what they hold, that FMPy runs them, and what is refused."""

import importlib
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.fmi.export import MOST_MASSES
from stiction.fmi.parameters import parameters_of, with_parameters

# the row of the issue: what FMPy runs is what we run
CLOSE = 1e-9


def fmpy():
    return pytest.importorskip("fmpy", reason="the extra test brings FMPy, which runs units")


@pytest.fixture
def unit(tmp_path):
    pytest.importorskip("pythonfmu3", reason="the extra fmi brings PythonFMU3, which writes units")

    def made(name, **fields):
        scenario = st.read_scenario(name, **fields)
        return scenario, st.fmi.export_fmu(scenario, tmp_path / f"{name}.fmu")

    return made


def simulated(path, scenario, steps=100, **more):
    start, end = scenario.t_span
    step = (end - start) / steps
    return fmpy().simulate_fmu(
        str(path), start_time=start, stop_time=end, step_size=step, output_interval=step, **more
    )


def furthest(result, run, name):
    wanted = run.data[name].values
    found = np.stack([result[f"{name}[{i + 1}]"] for i in range(wanted.shape[1])], axis=1)
    return np.abs(found - wanted).max()


@pytest.mark.parametrize("name", ["slip-wave", "baseline-weakening", "unequal-421"])
def test_fmpy_agrees_with_a_run(unit, name):
    scenario, path = unit(name)
    fmpy()
    assert importlib.import_module("fmpy.validation").validate_fmu(str(path)) == []
    result = simulated(path, scenario)
    run = st.solve(scenario.system, scenario.method, scenario.t_span, save=result["time"])
    for variable in ("x", "v", "friction"):
        assert furthest(result, run, variable) < CLOSE
    changes = run.events[run.events["contact"] > 0]
    assert len(changes) > 2
    assert result["event.count"][-1] == len(changes)
    assert result["event.time"][-1] == pytest.approx(changes["time"].iloc[-1], abs=CLOSE)
    assert result["event.mass"][-1] == changes["contact"].iloc[-1]


def test_parameters_and_force_come_from_outside(unit):
    scenario, path = unit("slip-wave")
    times = np.linspace(*scenario.t_span, 101)
    force = np.where(times < 3.0, 0.0, -0.7)
    drive = np.array(list(zip(times, force, strict=True)), [("time", float), ("force", float)])
    result = simulated(path, scenario, start_values={"law.mu": 0.2, "mass[1]": 2.0}, input=drive)
    plain = simulated(path, scenario)
    assert np.abs(result["x[3]"] - plain["x[3]"]).max() > 1e-3
    other = with_parameters(scenario, {**parameters_of(scenario), "law.mu": 0.2, "mass[1]": 2.0})
    run = other.solve()
    early = result["time"] < 2.9
    wanted = np.interp(result["time"][early], run.data["time"].values, run.data["x"].values[:, 2])
    assert np.abs(result["x[3]"][early] - wanted).max() < 1e-4
    assert result["load"][-1] == pytest.approx(float(scenario.system.load.at(times[-1])) - 0.7)


@pytest.mark.parametrize("law", [st.StaticKinetic(0.4, 0.2), st.Coulomb(0.4)])
@pytest.mark.parametrize("stiffness", [20.0, 17.0, 3.0])
def test_a_force_within_the_bound_moves_no_mass_on_a_belt(unit, law, stiffness):
    belt = 0.17
    system = {"mass": [1.0], "stiffness": stiffness, "belt_speed": belt, "v0": belt, "law": law}
    scenario, path = unit("belt", **system, x0=0.0, load=st.Constant(0.0), t_end=0.5)
    times = np.linspace(*scenario.t_span, 31)
    force = 1.5 * np.sin(40.0 * times)
    drive = np.array(list(zip(times, force, strict=True)), [("time", float), ("force", float)])
    result = simulated(path, scenario, steps=30, input=drive)
    assert result["event.count"][-1] == 0
    assert (result["mode[1]"] == 0).all()
    assert (result["v[1]"] == belt).all()


def test_a_unit_says_what_it_holds(unit):
    scenario, path = unit("slip-wave")
    with zipfile.ZipFile(path) as held:
        root = ElementTree.fromstring(held.read("modelDescription.xml"))
        (inner,) = [name for name in held.namelist() if name.endswith("scenario.toml")]
        assert st.read_scenario(held.read(inner).decode()).system == scenario.system
    assert root.get("fmiVersion") == "3.0"
    assert root.find("ModelExchange") is None
    # no event mode is claimed, nor a step that ends early
    offered = root.find("CoSimulation").attrib
    assert offered.get("hasEventMode", "false") == "false"
    assert offered.get("mightReturnEarlyFromDoStep", "false") == "false"
    assert offered["needsExecutionTool"] == "true"
    assert offered["canHandleVariableCommunicationStepSize"] == "true"
    variables = {v.get("name"): v for v in root.find("ModelVariables")}
    assert {v.get("causality") for v in variables.values()} == {
        "independent",
        "parameter",
        "input",
        "output",
    }
    assert variables["law.mu"].get("start") == f"{scenario.system.law.mu:.16g}"
    for name, word in (("x[1]", "m"), ("v[3]", "m/s"), ("friction[2]", "N"), ("heat", "J")):
        assert variables[name].get("unit") == word
    assert root.find("DefaultExperiment").get("stopTime") == str(scenario.t_end)


def test_the_identifier_of_a_unit_is_a_name_in_c(tmp_path):
    pytest.importorskip("pythonfmu3", reason="the extra fmi brings PythonFMU3, which writes units")
    path = st.fmi.export_fmu("slip-wave", tmp_path / "größe 2.fmu")
    with zipfile.ZipFile(path) as held:
        root = ElementTree.fromstring(held.read("modelDescription.xml"))
    assert root.find("CoSimulation").get("modelIdentifier") == "gr__e_2"


def test_bad_parameters_and_steps_are_reported(unit):
    scenario, path = unit("slip-wave")
    with pytest.raises(fmpy().fmi1.FMICallException):
        simulated(path, scenario, start_values={"law.mu": -1.0})


def test_another_start_is_reported(unit, capfd):
    """PythonFMU3 does not report the start time of the simulator before the first step."""
    _, path = unit("slip-wave")
    with pytest.raises(fmpy().fmi1.FMICallException):
        fmpy().simulate_fmu(str(path), start_time=5.0, stop_time=6.0, step_size=0.5)
    assert "begin at the start of the scenario" in capfd.readouterr().out


def test_parameters_are_the_numbers_of_the_system():
    scenario = st.read_scenario("slip-wave")
    given = parameters_of(scenario)
    assert given["law.mu"] == scenario.system.law.mu
    assert given["mass[1]"] == 1.0
    assert given["load.rate"] == scenario.system.load.rate
    other = with_parameters(scenario, {**given, "mass[2]": 3.0, "gravity": 1.6})
    assert other.system.masses[1] == 3.0
    assert other.system.gravity == 1.6
    assert with_parameters(scenario, given) is scenario
    with pytest.raises(ModelError, match=r"Chain\.mass"):
        with_parameters(scenario, {**given, "mass[2]": -3.0})


@pytest.mark.parametrize(
    ("name", "fields", "reported"),
    [
        ("wheel-slips-then-slides", {}, r"system: got WheelOnTurntable; needs a Chain"),
        ("theta-one", {}, r"method: got RegularizedTheta; needs EventDriven"),
        ("slip-wave", {"mass": 1.0, "n": MOST_MASSES + 1}, r"1001 masses; needs at most 1000"),
        ("slip-wave", {"law": st.laws.AgeingCoulomb(0.3, 0.02, 1.0, 1e-5)}, r"laws with states"),
    ],
)
def test_what_a_unit_cannot_hold_is_refused(name, fields, reported, tmp_path):
    with pytest.raises(st.StictionError, match=reported):
        st.fmi.export_fmu(st.read_scenario(name, **fields), tmp_path / "x.fmu")
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(importlib.import_module("sys").modules, "pythonfmu3", None)
    with pytest.raises(ModelError, match=r'pip install "stiction\[fmi\]"'):
        st.fmi.export_fmu("slip-wave", tmp_path / "x.fmu")
    with pytest.raises(ModelError, match=r"export_fmu\.path: got '.*x\.zip'"):
        st.fmi.export_fmu("slip-wave", tmp_path / "x.zip")
