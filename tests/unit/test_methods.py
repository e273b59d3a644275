"""Methods belong to systems: their fields, and the names that several systems share."""

import dataclasses

import pytest

import stiction as st
from stiction.catalogue import method_homes
from stiction.core.method import default_method, method_for, methods_of

METHODS = dict(method_homes())
FIELDS = {label: {f.name for f in dataclasses.fields(cls)} for label, cls in METHODS.items()}
ONE = st.Chain(mass=[1.0], stiffness=20.0)


@pytest.mark.parametrize("label", METHODS)
def test_a_field_of_another_method_is_refused(label):
    others = sorted(set().union(*FIELDS.values()) - FIELDS[label])
    for name in others:
        owners = [other for other, fields in FIELDS.items() if name in fields]
        with pytest.raises(st.ModelError) as caught:
            METHODS[label](**{name: 1})
        said = str(caught.value)
        assert said.startswith(f"{METHODS[label].__name__}.{name}: got 1; needs one of ")
        assert f"{name} is a field of {', '.join(owners)}." in said


def test_a_field_of_no_method_is_refused():
    for make in (st.EventDriven, st.Quasistatic, st.solids.Quasistatic, st.ThetaStepper):
        with pytest.raises(st.ModelError, match=r"stepp: got 3.*\n.*no method has a field"):
            make(stepp=3)


@pytest.mark.parametrize("short", [st.EventDriven, st.Quasistatic])
def test_a_namesake_takes_what_all_its_methods_have(short):
    namesakes = [f for label, f in FIELDS.items() if label.endswith(f".{short.__name__}")]
    assert len(namesakes) == 2
    assert {f.name for f in dataclasses.fields(short)} == set.intersection(*namesakes)
    for name in set.union(*namesakes) - set.intersection(*namesakes):
        with pytest.raises(
            st.ModelError, match=rf"{short.__name__}\.{name}: got 1; .*\n.*field of"
        ):
            short(**{name: 1})


def test_a_namesake_stands_for_the_method_of_the_system():
    policy = st.chains.SlipAtTouch()
    given = {"rtol": 1e-9, "max_step": 0.1, "max_steps": 7, "max_events": 5, "policy": policy}
    assert method_for(ONE, st.EventDriven(**given)) == st.chains.EventDriven(**given)
    wheel, strip = st.WheelOnTurntable(), st.StripPeeling()
    assert method_for(wheel, st.EventDriven(max_step=0.1)) == st.switching.EventDriven(max_step=0.1)
    assert method_for(ONE, st.Quasistatic()) == st.chains.Quasistatic()
    assert method_for(strip, st.Quasistatic(max_steps=9)) == st.solids.Quasistatic(max_steps=9)
    own = st.chains.EventDriven()
    assert method_for(ONE, own) is own
    for system, method in ((strip, st.EventDriven()), (wheel, st.Quasistatic())):
        with pytest.raises(st.ModelError, match=r"is solved by (Continuation|EventDriven)"):
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
    assert run.method_name == "EventDriven"
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
