"""How long runs take: message before, and refused where it is too long."""

import copy
import tomllib

import pytest

from stiction.errors import ModelError
from stiction.explore.estimate import LIVE_S, MOST_S, Estimate, Known, estimate, known_of
from stiction.explore.fields import with_values
from stiction.io.scenario.built_in import built_in, seconds


def table(name="slip-wave"):
    return tomllib.loads(built_in()[name].read_text(encoding="utf-8"))


def took(changed, base, s=1.0):
    return estimate(changed, [Known(base, s, measured=True)]).seconds


@pytest.mark.parametrize("name", built_in())
def test_a_scenario_as_it_is_takes_what_was_measured(name):
    message = estimate(table(name), known_of(name))
    assert message.seconds == pytest.approx(max(0.02, seconds()[name] - 0.7))
    assert not message.too_large
    # nothing was measured on this machine
    assert not message.live


def test_work_grows_with_what_makes_it():
    wave = table("theta-one")
    assert took(with_values(wave, {"solve.t_end": 30.0}), wave) == pytest.approx(3.0)
    assert took(with_values(wave, {"method.step": 1e-4}), wave) == pytest.approx(10.0)
    assert took(with_values(wave, {"system.law.mu": 0.2}), wave) == 1.0
    long = table("detachment-wave")
    assert took(with_values(long, {"system.n": 100}), long) == pytest.approx(4.0)
    strip = table("strip-peeling")
    assert took(with_values(strip, {"method.steps": 200}), strip) == pytest.approx(2.0)


def test_the_last_measured_run_counts():
    wave = table()
    other = with_values(wave, {"solve.t_end": 16.0})
    known = [Known(other, 0.3, measured=True), Known(wave, 99.0, measured=True), *known_of("")]
    message = estimate(wave, known)
    assert message.seconds == pytest.approx(0.15)
    assert message.live
    assert str(message) == "about 0.1 s"


def test_the_time_of_reports_does_not_grow():
    wave = table()
    known = [Known(wave, 0.01, measured=True, fixed=0.05)]
    assert estimate(wave, known).seconds == pytest.approx(0.06)
    longer = with_values(wave, {"solve.t_end": 80.0})
    assert estimate(longer, known).seconds == pytest.approx(0.15)


def test_small_measured_runs_are_live():
    assert Estimate(LIVE_S, 1.0, measured=True).live
    assert not Estimate(1.01 * LIVE_S, 1.0, measured=True).live
    assert not Estimate(LIVE_S, 1.0).live


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("slip-wave", {"solve.t_end": 1e9}, "days"),
        ("theta-one", {"method.step": 1e-9}, "days"),
        ("detachment-wave", {"system.n": 1_000_000}, "GiB of saved states"),
        ("string-periodic", {"system.nodes": 10**12}, "GiB of saved states"),
        ("rods-net", {"system.rows": 10**9, "system.columns": 10**9}, "GiB"),
        ("string-periodic", {"solve.save": 10**9}, "GiB of saved states"),
    ],
)
def test_oversized_runs_are_refused(name, change, message):
    found = estimate(with_values(table(name), change), known_of(name))
    assert found.too_large
    with pytest.raises(
        ModelError, match=rf"run: got a run of about .*{message}.*\n.*\n.*stiction run"
    ):
        found.check()


def test_the_time_span_has_two_ends():
    wave = table()
    wave["solve"]["t_start"] = -wave["solve"]["t_end"]
    assert took(wave, table()) == pytest.approx(2.0)


def test_what_was_never_timed_is_reported_and_bounded():
    own = copy.deepcopy(table("detachment-wave"))
    own["method"]["type"] = "Another"
    found = estimate(own, known_of(""))
    assert found.seconds is None
    assert str(found) == "the run time is not known"
    found.check()
    own["system"]["n"] = 10**7
    assert estimate(own, known_of("")).too_large
    assert MOST_S == 600.0


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"system": 3},
        {"system": {"n": -5}, "solve": {"t_end": "x"}},
        {"solve": {"save": "x"}},
        {"system": {"n": 10**400}},
        {"solve": {"t_end": float("nan")}},
        {"method": {"step": -1.0}},
    ],
)
def test_odd_tables_have_an_estimate_too(odd):
    message = estimate(odd, known_of(""))
    assert isinstance(str(message), str)
