"""Methods belong to systems: their fields, and the names that several systems share."""

import dataclasses

import pytest

import stiction as st
from stiction.catalogue import method_homes
from stiction.core.fields import Declared
from stiction.core.method import Method, default_method, method_for, methods_of, name_of
from stiction.io.scenario import Scenario
from stiction.io.scenario.writer import write_scenario
from stiction.numerics.checks import Record
from stiction.studies import results

METHODS = dict(method_homes())
FIELDS = {label: {f.name for f in dataclasses.fields(cls)} for label, cls in METHODS.items()}
ONE = st.Chain(mass=[1.0], stiffness=20.0)


@pytest.mark.parametrize("label", METHODS)
def test_a_field_of_another_method_is_refused(label):
    others = sorted(set().union(*FIELDS.values()) - FIELDS[label])
    for name in others:
        own = METHODS[label].__name__
        owners = [other for other, fields in FIELDS.items() if name in fields]
        owners.sort(key=lambda other: not other.endswith(f".{own}"))
        with pytest.raises(st.ModelError) as caught:
            METHODS[label](**{name: 1})
        said = str(caught.value)
        assert said.startswith(f"{METHODS[label].__name__}.{name}: got 1; needs one of ")
        assert f"{name} is a field of {', '.join(owners)}." in said


def test_the_example_is_a_method_of_the_same_subpackage():
    with pytest.raises(st.ModelError, match=r"Try: bodies\.TimeStepper\(step=0\.1\)\."):
        st.bodies.EventDriven(step=0.1)


def test_a_field_of_no_method_is_refused():
    for make in (st.EventDriven, st.Quasistatic, st.solids.Quasistatic, st.ThetaStepper):
        with pytest.raises(st.ModelError, match=r"stepp: got 3.*\n.*no method has a field"):
            make(stepp=3)


@pytest.mark.parametrize("short", [st.EventDriven, st.Quasistatic])
def test_a_namesake_takes_what_all_its_methods_have(short):
    namesakes = [f for label, f in FIELDS.items() if label.endswith(f".{short.__name__}")]
    assert len(namesakes) >= 2
    assert {f.name for f in dataclasses.fields(short)} == set.intersection(*namesakes)
    for name in set.union(*namesakes) - set.intersection(*namesakes):
        with pytest.raises(
            st.ModelError, match=rf"{short.__name__}\.{name}: got 1; .*\n.*field of"
        ):
            short(**{name: 1})


def test_a_namesake_stands_for_the_method_of_the_system():
    policy = st.chains.SlipAtGrazing()
    given = {"rtol": 1e-9, "max_step": 0.1, "max_steps": 7, "max_events": 5, "policy": policy}
    assert method_for(ONE, st.EventDriven(**given)) == st.chains.EventDriven(**given)
    wheel, strip = st.WheelOnTurntable(), st.StripPeeling()
    assert method_for(wheel, st.EventDriven(max_step=0.1)) == st.switching.EventDriven(max_step=0.1)
    assert method_for(ONE, st.Quasistatic()) == st.chains.Quasistatic()
    assert method_for(strip, st.Quasistatic(max_steps=9)) == st.solids.Quasistatic(max_steps=9)
    own = st.chains.EventDriven()
    assert method_for(ONE, own) is own
    for system, method in ((strip, st.EventDriven()), (wheel, st.Quasistatic())):
        with pytest.raises(
            st.ModelError, match=r"is solved by (solids\.Continuation|switching\.EventDriven)"
        ):
            method_for(system, method)


def test_a_namesake_checks_what_it_is_given():
    for bad in ({"rtol": -1.0}, {"max_step": 0.0}, {"max_events": 0}, {"policy": 3}):
        with pytest.raises(st.ModelError, match=rf"EventDriven\.{next(iter(bad))}: got"):
            st.EventDriven(**bad)
    with pytest.raises(st.ModelError, match=r"Quasistatic\.max_steps: got"):
        st.Quasistatic(max_steps=0)


def test_a_run_holds_the_method_of_its_system():
    run = st.solve(ONE, st.EventDriven(rtol=1e-9), (0.0, 1.0), save=3)
    scenario = st.read_scenario("slip-wave", method={"type": "EventDriven", "order": 20})
    assert (run.system_name, run.method_name) == ("Chain", "EventDriven")
    assert scenario.method == st.chains.EventDriven(order=20)
    flow = st.read_scenario("relay-feedback", method={"type": "EventDriven", "atol": 1e-9})
    assert flow.method == st.switching.EventDriven(atol=1e-9)
    with pytest.raises(st.StictionError, match="atol"):
        st.read_scenario("slip-wave", method={"type": "EventDriven", "atol": 1e-9})


def test_every_method_of_a_room_takes_one_of_its_systems():
    wheel = st.WheelOnTurntable()
    assert list(methods_of(ONE)) == [
        "EventDriven",
        "Quasistatic",
        "Radau",
        "RegularizedTheta",
        "ThetaStepper",
    ]
    assert list(methods_of(wheel)) == ["EventDriven"]
    assert "GeneralisedAlpha" not in methods_of(st.StripPeeling())
    assert type(default_method(wheel)) is st.switching.EventDriven


FORMER = {
    "slip-wave": "type = 'EventDriven'\norder = 20\natol = 1e-9",
    "relay-feedback": "type = 'EventDriven'\norder = 30\natol = 1e-9",
    "quasistatic-ramp": "type = 'Quasistatic'\nsteps = 100\nwork_tolerance = 1e-7\nmax_cuts = 12",
    "strip-peeling": (
        "type = 'Quasistatic'\nsteps = 9\nrtol = 1e-12\nload_samples = 2000\n"
        "choice = {type = 'StayStuck'}\nmax_events = 1000000"
    ),
}


@pytest.mark.parametrize("name", FORMER)
def test_defaults_of_others_in_files_of_earlier_versions_are_left_out(name, tmp_path):
    text = write_scenario(st.read_scenario(name))
    head, _, tail = text.partition("[method]")
    rest = tail.partition("\n\n")[2]
    file = tmp_path / "former.toml"
    file.write_text(f"{head}[method]\n{FORMER[name]}\n\n{rest}")
    if name == "slip-wave":
        # another value than the default was ignored
        with pytest.raises(st.ModelError, match=r"atol is a field of switching\.EventDriven"):
            st.read_scenario(file)
        return
    found = st.read_scenario(file).method
    room = {"relay-feedback": st.switching, "quasistatic-ramp": st.chains}.get(name, st.solids)
    given = {"steps": 9} if name == "strip-peeling" else {}
    given = {"atol": 1e-9} if name == "relay-feedback" else given
    assert found == getattr(room, type(found).__name__)(**given)


def test_a_run_that_is_not_understood_preserves_its_scenario(tmp_path):
    run = st.solve(ONE, t_span=(0.0, 1.0), save=3)
    folder = run.save(tmp_path / "run")
    file = folder / "scenario.toml"
    file.write_text(file.read_text().replace("stiffness", "stiffnesses"))
    loaded = st.load(folder, unverified=True)
    assert loaded.system is None
    again = loaded.save(tmp_path / "again")
    assert (again / "scenario.toml").read_text() == file.read_text()


class Sled(Record):
    """A system of a user."""

    default_method = "Slide"
    state_size = 1


def test_a_system_of_a_user_has_no_methods_of_ours():
    assert methods_of(Sled()) == {}
    for method in (None, st.EventDriven(), st.chains.EventDriven()):
        with pytest.raises(st.ModelError, match=r"solve\(system, request\)"):
            st.solve(Sled(), method)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Fine(st.EventDriven):
    """The shared name with another default."""

    rtol: float = 1e-13


class Bare(Method):
    """A method with an `__init__` of its own, for any system."""

    def __init__(self, tol):
        self.tol = tol

    def solve(self, system, request):
        return st.chains.EventDriven(rtol=self.tol).solve(system, request)


class Helped(Declared):
    """A user's method on a base of ours that solves nothing."""

    def solve(self, system, request):
        return Bare(1e-9).solve(system, request)


def test_the_full_name_of_a_method_is_that_of_its_class():
    home = "stiction.chains.methods"
    assert name_of(st.chains.EventDriven()) == f"{home}.EventDriven"
    assert name_of(st.EventDriven()) == "stiction.methods.EventDriven"
    assert name_of(Fine()) == "stiction.methods.EventDriven"
    assert name_of(type("Own", (st.chains.Radau,), {})()) == f"{home}.Radau"
    for own in (Bare(1e-9), Helped(), object()):
        assert name_of(own) == ""


def test_users_may_inherit_methods():
    assert method_for(ONE, Fine(max_events=9)) == st.chains.EventDriven(rtol=1e-13, max_events=9)
    run = st.solve(ONE, Bare(tol=1e-9), (0.0, 1.0), save=2)
    assert run.status.ok
    with pytest.raises(st.ModelError, match=r"Bare\.toll.*\n.*\n.*did you mean 'tol'"):
        Bare(toll=1e-9)


def test_what_is_no_method_is_refused():
    for wrong in (st.EventDriven, 3, (0.0, 8.0)):
        with pytest.raises(st.ModelError, match="a method object, such as EventDriven"):
            method_for(ONE, wrong)
    with pytest.raises(st.ModelError, match=r"switching\.EventDriven: got a Chain; needs a Switch"):
        st.solve(ONE, st.switching.EventDriven())
    wheel = st.WheelOnTurntable()
    with pytest.raises(st.ModelError, match="needs an EventDriven"):
        st.ensemble(wheel, [[0.2, 0.0, -1.0]], 1.0, method=Bare(1e-9))


def test_a_scenario_without_a_method_has_the_default():
    assert Scenario(ONE, None, 1.0).method == st.chains.EventDriven()


def test_measures_are_those_of_the_class_that_is_inherited():
    class Mine(st.RollingStrings):
        """Strings of a user."""

    run = st.solve(Mine(), st.Characteristics(step=1e-2), (0.0, 1.0), save=3)
    assert results._result(run, "measured.lyapunov").meaning


def test_a_refused_field_is_suggested_with_an_admissible_value():
    with pytest.raises(st.ModelError, match=r"Try: chains\.EventDriven\(replay=True\)\."):
        st.EventDriven(replay=True)
    with pytest.raises(st.ModelError, match=r"EventDriven\(replay=\.\.\.\) with True or False"):
        st.EventDriven(replay=3)
