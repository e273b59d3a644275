"""Units of FMI 3 as a simulator calls them, without one: steps, parameters, variables."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.fmi import export, unit
from stiction.fmi.command import export_command
from stiction.fmi.parameters import parameters_of, unit_of_parameter, with_parameters
from stiction.io.scenario import read_scenario, write_scenario


@pytest.mark.parametrize(
    ("stands", "time", "step"),
    [
        (0.0, 0.0, 0.5),
        (1.0, 1.0 + 5e-13, 0.1),
        # rounding is relative to the largest of the three
        (0.0, 5e-13, 1.0),
        (-1.0, -1.0 - 5e-13, 0.1),
        (0.0, 0.0, 1e-300),
        # to where a chain stands at zero, and from a time that is far greater than the step
        (1.0 + 5e-13, 1.0, 1e-3),
    ],
)
def test_a_step_goes_on_from_where_the_chain_stands(stands, time, step):
    assert unit._continued(stands, time, step) == time + step


@pytest.mark.parametrize(
    ("stands", "time", "step"),
    [
        (1.0, 1.0 + 2e-12, 0.1),
        (1.0, 1.0 - 2e-12, 0.1),
        (1.0, 0.5, 0.1),
        (0.0, 0.0, 0.0),
        (0.0, 0.0, -1.0),
        (0.0, 0.0, np.nan),
        (0.0, 0.0, np.inf),
        (0.0, np.nan, 1.0),
    ],
)
def test_other_steps_are_refused(stands, time, step):
    with pytest.raises(ModelError, match=r"doStep: got a step of .*; needs a step > 0 that begins"):
        unit._continued(stands, time, step)


class Slave:
    """What PythonFMU3 mixes in, as far as a chain uses it."""

    def __init__(self, instance_name, resources):
        self.named, self.shown, self.logged, self.units = instance_name, {}, [], []

    def register_units(self, units):
        self.units = {u.name: u for u in units}

    def register_variable(self, variable, nested):
        assert nested is False
        self.shown[variable.name] = variable

    def log(self, text, status):
        self.logged.append((text, status))


def unit_in(folder, *changes):
    """Return a unit of the slip wave, and its scenario."""
    pytest.importorskip("pythonfmu3", reason="the extra fmi brings PythonFMU3, which runs units")
    scenario = read_scenario("slip-wave", changes)
    (folder / unit.SCENARIO).write_text(write_scenario(scenario), encoding="utf-8")

    class Unit(unit.ChainUnit, Slave):
        pass

    return Unit("one", str(folder)), scenario


@pytest.fixture
def chain(tmp_path):
    return unit_in(tmp_path)


def test_every_number_of_a_unit_is_that_of_the_chain(chain):
    """The chain of a run, stopped in the middle, holds the same numbers by the same names."""
    made, scenario = chain
    made.setup_experiment(0.0)
    made.exit_initialization_mode()
    for i in range(10):
        result = made.do_step(0.5 * i, 0.5)
        assert result.status.name == "ok"
    run = st.solve(scenario.system, scenario.method, (0.0, 5.0), save=[0.0, 5.0])
    get = {name: variable.getter for name, variable in made.shown.items()}
    for name in ("x", "v", "friction", "mode"):
        reported = [get[f"{name}[{i}]"]() for i in (1, 2, 3)]
        assert reported == pytest.approx(run.data[name].values[-1], abs=1e-9)
    assert get["time"]() == pytest.approx(5.0)
    assert get["load"]() == pytest.approx(float(scenario.system.load.at(5.0)))
    assert get["heat"]() == pytest.approx(float(run.ledger.friction_heat[-1].sum()), abs=1e-9)
    events = run.events[run.events["contact"] > 0]
    last = events.iloc[-1]
    assert get["event.count"]() == len(events)
    assert get["event.mass"]() == last["contact"]
    assert get["event.time"]() == pytest.approx(last["time"], abs=1e-9)
    assert unit.KINDS[get["event.kind"]()] == last["kind"]


def test_variables_are_described(chain):
    made, scenario = chain
    about = {
        name: (v.unit if hasattr(v, "unit") else "", v.description)
        for name, v in made.shown.items()
    }
    texts = {name: text for name, (_, text) in about.items()}
    assert texts["x[1]"] == "displacement of mass 1"
    assert texts["v[3]"] == "velocity of mass 3"
    assert texts["friction[2]"] == "friction force on mass 2"
    assert texts["mode[2]"] == "-1 slip-, 0 stick, 1 slip+ of mass 2"
    assert texts["event.kind"] == "kind of the last event: 0 none, 1 slip, 2 stick, 3 reverse"
    assert texts["law.mu"] == "law.mu of the scenario [1]"
    assert texts["mass[1]"] == "mass[1] of the scenario [kg]"
    kinds = {n: (v.causality.name, v.variability.name) for n, v in made.shown.items()}
    assert kinds["time"] == ("independent", "continuous")
    assert kinds["force"] == ("input", "continuous")
    assert kinds["law.mu"] == ("parameter", "fixed")
    assert kinds["x[1]"] == kinds["load"] == kinds["heat"] == ("output", "continuous")
    for name in ("mode[1]", "event.count", "event.mass", "event.kind", "event.time"):
        assert kinds[name] == ("output", "discrete")
    experiment = made.default_experiment
    assert (experiment.start_time, experiment.stop_time) == scenario.t_span
    assert experiment.step_size == pytest.approx(8.0 / 1000.0)
    assert made.description == scenario.title


def test_units_are_powers_of_base_units():
    """SI brochure: N = kg m/s^2, J = kg m^2/s^2."""
    assert unit._UNITS == {
        "s": {"s": 1},
        "m": {"m": 1},
        "m/s": {"m": 1, "s": -1},
        "N": {"kg": 1, "m": 1, "s": -2},
        "J": {"kg": 1, "m": 2, "s": -2},
    }


def test_parameters_are_set_before_the_chain_moves(chain):
    made, _ = chain
    made.shown["law.mu"].setter(0.5)
    assert made.shown["law.mu"].getter() == 0.5
    made.setup_experiment(0.25)
    made.exit_initialization_mode()
    assert made.shown["time"].getter() == 0.25
    with pytest.raises(
        ModelError, match=r"law\.mu: got 0\.1 during the simulation; needs no change"
    ):
        made.shown["law.mu"].setter(0.1)


def test_a_force_is_added_to_the_load(chain):
    made, scenario = chain
    made.setup_experiment(0.0)
    made.exit_initialization_mode()
    assert made.shown["force"].getter() == 0.0
    made.shown["force"].setter(-2)
    assert made.shown["force"].getter() == -2.0
    made.do_step(0.0, 0.5)
    wanted = float(scenario.system.load.at(0.5)) - 2.0
    assert made.shown["load"].getter() == pytest.approx(wanted)


def test_a_step_that_fails_is_logged(chain):
    made, _ = chain
    made.setup_experiment(0.0)
    made.exit_initialization_mode()
    result = made.do_step(1.0, 0.1)
    assert result.status.name == "error"
    ((text, status),) = made.logged
    assert text.startswith("doStep: got a step of 0.1 that begins at 1.0")
    assert status.name == "error"


def test_units_of_parameters():
    scenario = read_scenario("slip-wave")
    assert {name: unit_of_parameter(scenario, name) for name in ("mass[2]", "law.mu")} == {
        "mass[2]": "kg",
        "law.mu": "1",
    }
    assert "mass[3]" in parameters_of(scenario)
    assert "mass[0]" not in parameters_of(scenario)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("chain", "chain"),
        ("a-b c", "a_b_c"),
        ("3masses", "unit_3masses"),
        ("class", "unit_class"),
        ("None", "unit_None"),
    ],
)
def test_the_class_of_a_unit_is_a_name(monkeypatch, tmp_path, stem, name):
    seen = {}

    class Builder:
        @staticmethod
        def build_FMU(script, *, dest, project_files, canHandleVariableCommunicationStepSize):
            seen.update(script=script.read_text(), stem=script.stem)
            seen["inside"] = project_files[0].read_text()
            assert canHandleVariableCommunicationStepSize is True
            dest.mkdir()
            (dest / "made").write_bytes(b"unit")
            return dest / "made"

    monkeypatch.setattr(export, "_builder", lambda: Builder)
    path = export.export_fmu("slip-wave", tmp_path / "deep" / f"{stem}.fmu")
    assert path.read_bytes() == b"unit"
    assert [p.name for p in path.parent.iterdir()] == [f"{stem}.fmu"]
    assert f"class {name}(ChainUnit, Fmi3Slave):" in seen["script"]
    assert seen["stem"].startswith(f"{name.lower()}_")
    assert len(seen["stem"]) == len(name) + 13
    assert read_scenario(seen["inside"]).system == read_scenario("slip-wave").system


@pytest.mark.parametrize(("json", "quiet"), [(False, False), (True, False), (False, True)])
def test_the_command_says_what_it_wrote(monkeypatch, tmp_path, capsys, json, quiet):
    import json as reader

    path = tmp_path / "unit.fmu"
    monkeypatch.setattr("stiction.fmi.export.export_fmu", lambda made, out: out)
    export_command("fmu", "slip-wave", None, str(path), json=json, quiet=quiet)
    out = capsys.readouterr().out
    names = list(parameters_of(read_scenario("slip-wave")))
    if json:
        reported = {"file": str(path), "fmi": "3.0", "masses": 3, "parameters": names}
        assert reader.loads(out) == reported
    elif quiet:
        assert out == ""
    else:
        first, second, *_ = out.splitlines()
        assert first == f"{path}: FMI 3.0 co-simulation, 3 masses"
        assert second == f"parameters  {', '.join(names)}"
    with pytest.raises(ModelError, match="export: got 'zip'; needs fmu"):
        export_command("zip", "slip-wave")


def test_a_chain_that_begins_later_and_has_no_title(tmp_path, monkeypatch):
    seen = []

    class Stepper:
        time = 2.0

        def __init__(self, *given):
            seen.append(given)

    made, scenario = unit_in(tmp_path, "solve.t_start=2.0", "solve.t_end=5.0")
    assert made.named == "one"
    assert made.description == scenario.title
    experiment = made.default_experiment
    assert (experiment.start_time, experiment.stop_time) == (2.0, 5.0)
    assert experiment.step_size == pytest.approx(3.0 / 1000.0)
    monkeypatch.setattr(unit, "ChainStepper", Stepper)
    made.exit_initialization_mode()
    assert seen[0][2:] == (2.0, 3.0)
    monkeypatch.setattr("stiction.chains.stepping.ChainStepper", Stepper)
    export._check(scenario)
    assert seen[1][2:] == (2.0, 3.0)


def test_a_unit_without_a_title_says_what_it_is(tmp_path):
    scenario = dataclasses.replace(read_scenario("slip-wave"), title="")
    made, _ = unit_in(tmp_path)
    made._scenario = scenario
    made._describe()
    assert made.description == "a chain of masses under friction"


def test_numbers_that_are_the_same_change_nothing(monkeypatch):
    scenario = read_scenario("slip-wave")
    given = parameters_of(scenario)
    assert with_parameters(scenario, given) is scenario
    other = with_parameters(scenario, {**given, "law.mu": 0.5})
    assert other.system.law.mu == 0.5
    assert parameters_of(other) == {**given, "law.mu": 0.5}


@pytest.mark.parametrize("has", [True, False])
def test_machines_without_a_library_are_refused(monkeypatch, has):
    builder = pytest.importorskip("pythonfmu3", reason="the extra fmi brings it").FmuBuilder
    monkeypatch.setattr(builder, "has_binary", staticmethod(lambda: has))
    if has:
        assert export._builder() is builder
    else:
        with pytest.raises(ModelError, match="export_fmu: got this machine; needs Linux or Win"):
            export._builder()


def test_the_usual_place_of_a_unit(monkeypatch):
    seen = []
    monkeypatch.setattr("stiction.fmi.export.export_fmu", lambda made, out: seen.append(out) or out)
    export_command("fmu", "slip-wave", quiet=True)
    assert seen == [Path("out/slip-wave.fmu")]
