"""What a run of a fault says of its arrays: made-up arrays, results by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.errors import Status
from stiction.faults import Cycles, Fault, Injection, SpringSlider
from stiction.faults.model import Cells
from stiction.faults.outcome import (
    History,
    _checks,
    build_run,
    cycles_of,
    distance_from_steady_sliding,
    is_stable,
)
from stiction.faults.state import Event, Sample
from stiction.laws import AgeingLaw

LAW = AgeingLaw(a=0.01, b=0.015, length=1e-5)
FAULT = Fault(LAW, cells=2, length=3.0, normal_stress=[1e6, 2e6], plate_speed=1e-3, surface="none")
TIME = np.array([2.0, 3.0, 5.0])
PLATE, WIDTH = 1e-3, 1.5


def history(**change):
    """Return two cells at three times: ln V, ln theta, slip ahead, heat, and two works."""
    rng = np.random.default_rng(3)
    speed, age = 1e-3 * rng.uniform(1.0, 2.0, (3, 2)), rng.uniform(1.0, 2.0, (3, 2))
    ahead, heat = rng.uniform(0.0, 1e-3, (3, 2)), rng.uniform(0.0, 5.0, (3, 2))
    works = rng.uniform(0.0, 5.0, (3, 2))
    events = Event.table(3)
    events["time"], events["time_low"] = [2.5, 3.5, 4.5], 0.0
    events["cell"], events["up"] = [0, 1, 1], [1, 0, 1]
    events["speed"], events["friction"], events["age"] = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7], 9.0
    events["slip"], events["largest"] = [1e-3, 2e-3, 3e-3], [np.nan, 0.25, 0.5]
    trace = Sample.table(2)
    trace["time"], trace["speed"], trace["age"] = [2.0, 4.0], [0.01, 0.02], [5.0, 6.0]
    trace["friction"], trace["slip"] = [0.4, 0.45], [1e-3, 2e-3]
    progress = SimpleNamespace(
        steps=11, rejected=2, asked=70, off_balance=0.0, v_least=1e-9, v_most=2.0, v_peak=2.0,
        age_least=0.5, age_most=7.0, mu_least=0.3, mu_most=0.8,
    )  # fmt: skip
    given = {
        "time": TIME,
        "states": np.hstack([np.log(speed), np.log(age), ahead, heat, works]),
        "stress": rng.uniform(-1e5, 1e5, (3, 2)),
        "events": events,
        "trace": trace,
        "profiles": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "progress": progress,
        "status": Status.SOLVED,
        "reason": "",
    }
    return History(**given | change), speed, age, ahead, heat, works


def built(system=FAULT, **change):
    made = history(**change)
    return build_run(system, system.assembled(), Cycles(), made[0]), *made


def test_variables_are_those_of_the_states():
    run, h, speed, age, ahead, _, _ = built()
    v = {name: variable.values for name, variable in run.variables.items()}
    np.testing.assert_allclose(v["slip_speed"], speed, rtol=1e-14)
    np.testing.assert_allclose(v["state"], age, rtol=1e-14)
    # slip is beyond the plates', which move from the first saved time on
    slip = ahead + PLATE * (TIME - 2.0)[:, None]
    np.testing.assert_allclose(v["slip"], slip, rtol=1e-14)
    mu = LAW.coefficient(speed, age)
    np.testing.assert_allclose(v["friction"], mu, rtol=1e-13)
    eta = 0.5 * FAULT.shear_modulus / FAULT.shear_speed
    np.testing.assert_allclose(v["shear_stress"], mu * [1e6, 2e6] + eta * speed, rtol=1e-13)
    assert v["place"].tolist() == [0.75, 2.25]
    assert v["trace_slip"].tolist() == [1e-3, 2e-3 + PLATE * 2.0]
    for name, field in (("speed", "speed"), ("state", "age"), ("friction", "friction")):
        assert v[f"trace_{name}"].tolist() == h.trace[field].tolist()
    assert v["trace_time"].tolist() == [2.0, 4.0]
    at = np.array([[2.5], [3.5]])
    np.testing.assert_allclose(v["slip_at_event"], h.profiles + PLATE * (at - 2.0), rtol=1e-14)
    assert v["event_time"].tolist() == [2.5, 3.5]
    assert "pore_pressure" not in v
    for name in ("slip", "slip_speed", "state"):
        np.testing.assert_array_equal(run.final[name], v[name][-1])
    assert run.stats == {"events": 3, "steps": 11, "rejected": 2, "evaluations": 71}
    assert run.size == "2 cells"


def test_a_slider_has_neither_profiles_nor_a_length():
    h, *_ = history()
    one = [0, 2, 4, 6, 8, 9]
    slider = SpringSlider(LAW, plate_speed=PLATE)
    h = History(**vars(h) | {
        "states": h.states[:, one], "stress": h.stress[:, :1], "profiles": np.zeros((0, 1))
    })  # fmt: skip
    run = build_run(slider, slider, Cycles(), h)
    assert "slip_at_event" not in run.variables
    assert run.variables["place"].values.tolist() == [0.5]
    assert run.size == "1 cell"
    names = {check.check for check in run.audit}
    assert "cells_resolve_process_zone" not in names
    assert "slip_below_wave_speed" not in names


def test_injected_fluid_takes_its_pressure_off_the_normal_stress():
    well = Injection(rate=2e-6, place=0.75, diffusivity=1e-3, storage=1e-9)
    fault = Fault(
        LAW, cells=2, length=3.0, normal_stress=1e6, plate_speed=PLATE, surface="none",
        shear_speed=None, injection=well,
    )  # fmt: skip
    run, _, speed, age, *_ = built(fault)
    pressure = fault.pore_pressure(TIME)
    assert (pressure > 0.0).all()
    np.testing.assert_array_equal(run.variables["pore_pressure"].values, pressure)
    wanted = LAW.coefficient(speed, age) * (1e6 - pressure)
    np.testing.assert_allclose(run.variables["shear_stress"].values, wanted, rtol=1e-13)


def test_the_ledger_is_that_of_the_line():
    """Per length of the line: -(tau0 + K s / 2) s stored, heat and work."""
    run, h, _, _, ahead, heat, works = built()
    shear = run.variables["shear_stress"].values
    stored = -((shear[0] + 0.5 * h.stress) * ahead).sum(axis=1) * WIDTH
    np.testing.assert_allclose(run.energy.stored, stored, rtol=1e-13)
    np.testing.assert_allclose(run.energy.friction_heat, heat * WIDTH, rtol=1e-14)
    np.testing.assert_allclose(run.energy.viscous_heat, works[:, 0] * WIDTH, rtol=1e-14)
    np.testing.assert_allclose(run.energy.external_work, works[:, 1] * WIDTH, rtol=1e-14)
    assert run.energy.kinetic.tolist() == [0.0, 0.0, 0.0]
    assert run.energy_unit == "J/m"


def test_events_count_cells_from_one():
    run, h, *_ = built()
    log = run.event_log
    assert log.time.tolist() == [2.5, 3.5, 4.5]
    assert log.contact.tolist() == [1, 2, 2]
    assert list(log.before) == ["creep", "rupture", "creep"]
    assert list(log.after) == ["rupture", "creep", "rupture"]
    assert list(log.kind) == ["onset", "arrest", "onset"]
    for name, field in (("slip_speed", "speed"), ("friction", "friction"), ("state", "age")):
        np.testing.assert_array_equal(log.columns[name], h.events[field])
    np.testing.assert_array_equal(log.columns["largest_slip"], h.events["largest"])
    mean = h.events["slip"] + PLATE * (h.events["time"] - 2.0)
    np.testing.assert_allclose(log.columns["mean_slip"], mean, rtol=1e-14)
    units = {"slip_speed": "m/s", "friction": "1", "state": "s"}
    assert dict(log.units) == {**units, "mean_slip": "m", "largest_slip": "m"}


def event_table(times, up, low=0.0):
    events = Event.table(len(times))
    events["time"], events["up"], events["time_low"] = times, up, low
    return events


@pytest.mark.parametrize(
    ("times", "count", "mean", "spread", "since"),
    [
        ([], 0, None, None, "since the start"),
        ([1.0], 1, None, None, "since the start"),
        # the first cycle remembers the start
        ([1.0, 2.0], 2, None, None, "since the second onset"),
        ([1.0, 2.0, 5.0], 3, 3.0, 0.0, "since the second onset"),
        ([1.0, 2.0, 5.0, 12.0], 4, 5.0, 4.0, "since the second onset"),
    ],
)
def test_recurrence_is_from_the_second_onset_on(times, count, mean, spread, since):
    # an arrest a tenth of a second after every onset
    every = [t for time in times for t in (time, time + 0.1)]
    run = built(events=event_table(every, [1, 0] * len(times)), profiles=np.zeros((0, 2)))[0]
    assert run.quantities["onsets"].value == count
    assert run.quantities["recurrence"].value == (mean and pytest.approx(mean))
    assert run.quantities["recurrence_spread"].value == (
        None if spread is None else pytest.approx(spread, abs=1e-12)
    )
    for name, least, largest, unit in (
        ("slip_speed", 1e-9, 2.0, "m/s"),
        ("state", 0.5, 7.0, "s"),
        ("friction", 0.3, 0.8, "1"),
    ):
        low, high = run.quantities[f"least_{name}"], run.quantities[f"largest_{name}"]
        assert (low.value, high.value, low.unit, high.unit) == (least, largest, unit, unit)
        assert low.meaning == high.meaning == f"of the fastest cell, {since}"


def test_both_parts_of_a_time_count():
    count, gaps = cycles_of(event_table([0.0, 1.0, 3.0], [1, 1, 1], [0.0, 0.25, 0.125]))
    assert (count, gaps.tolist()) == (3, [1.875])


def lines_of(system=FAULT, off=None, closed=0.0, **progress):
    """Return the lines of the audit by name."""
    h = history()[0]
    for name, value in progress.items():
        setattr(h.progress, name, value)
    off = np.zeros((3, 2)) if off is None else np.asarray(off)
    energy = SimpleNamespace(imbalance_rel=closed)
    return {c.check: c for c in _checks(system.assembled(), h, energy, off)}


@pytest.mark.parametrize(
    ("off", "between", "value", "time", "ok"),
    [
        ([[0, 0], [0, 2e-6], [1e-6, 0]], 0.0, 2e-6, 3.0, True),
        ([[0, 0], [0, 2e-6], [2e-5, 0]], 0.0, 2e-5, 5.0, False),
        # what was put right between two saved times counts, and has no time
        ([[0, 0], [0, 2e-6], [1e-6, 0]], 3e-6, 3e-6, None, True),
        ([[0, 0], [0, 2e-6], [1e-6, 0]], 3e-5, 3e-5, None, False),
        ([[0, 0], [0, 2e-6], [1e-6, 0]], 2e-6, 2e-6, 3.0, True),
    ],
)
def test_the_balance_is_judged_where_it_is_worst(off, between, value, time, ok):
    line = lines_of(off=off, off_balance=between)["stress_balances"]
    assert (line.value, line.limit, line.time, line.ok) == (value, 1e-5, time, ok)


@pytest.mark.parametrize(("closed", "ok"), [(9e-7, True), (1.1e-6, False)])
def test_the_ledger_is_judged(closed, ok):
    line = lines_of(closed=closed)["ledger_closes"]
    assert (line.value, line.limit, line.ok) == (closed, 1e-6, ok)


@pytest.mark.parametrize(
    ("shear_speed", "v_peak", "value", "ok"),
    [(None, 2.0, None, None), (100.0, 0.9, 0.009, True), (100.0, 1.1, 0.011, False)],
)
def test_slip_is_slow_beside_waves(shear_speed, v_peak, value, ok):
    fault = Fault(
        LAW, cells=2, length=3.0, plate_speed=PLATE, surface="none", shear_speed=shear_speed
    )
    # the extremes begin anew at the second onset, the largest speed does not
    line = lines_of(fault, v_peak=v_peak, v_most=1e-9)["slip_below_wave_speed"]
    assert (line.value and pytest.approx(line.value), line.ok) == (value, ok)
    assert line.limit == 0.01


@pytest.mark.parametrize(("cells", "ok"), [(3.01, True), (2.99, False)])
def test_cells_resolve_the_process_zone(cells, ok):
    """G L / (b sigma) over the width of a cell."""
    width = 1.5
    modulus = cells * width * 0.015 * 2e6 / 1e-5
    fault = Fault(
        LAW, cells=2, length=3.0, normal_stress=[1e6, 2e6], plate_speed=PLATE, surface="none",
        shear_modulus=modulus,
    )  # fmt: skip
    line = lines_of(fault)["cells_resolve_process_zone"]
    assert line.value == pytest.approx(cells, rel=1e-12)
    assert (line.limit, line.ok) == (3.0, ok)


@pytest.mark.parametrize(
    ("change", "ok"),
    [
        # at steady sliding, which is unstable, nothing begins
        ({}, False),
        ({"speed_start": 1.5e-3}, True),
        ({"speed_start": 1e-3, "state_start": 0.02}, True),
        ({"law": AgeingLaw(a=0.02, b=0.015, length=1e-5)}, True),
    ],
)
def test_a_run_starts_apart_from_unstable_sliding(change, ok):
    given = {"law": LAW, "cells": 2, "length": 3.0, "plate_speed": PLATE, "surface": "none"}
    assert lines_of(Fault(**given | change))["starts_apart_from_unstable_sliding"].ok is ok


def test_fixed_plates_have_no_steady_sliding():
    fault = Fault(LAW, cells=2, length=3.0, plate_speed=0.0, speed_start=1e-9, surface="none")
    assert "starts_apart_from_unstable_sliding" not in lines_of(fault)


def test_the_distance_from_even_sliding():
    speed, age = np.array([2e-3, 1e-3]), np.array([5e-3, 0.03])
    # ages of steady sliding: 1e-5 m over the speed, 5 ms and 10 ms
    found = distance_from_steady_sliding(LAW, PLATE, speed, age)
    assert found == pytest.approx([np.log(2.0), np.log(3.0)])


@pytest.mark.parametrize(("factor", "stable"), [(1.01, True), (0.99, False)])
def test_stiff_springs_are_stable(factor, stable):
    critical = 0.005 * 5e6 / 1e-5
    slider = SpringSlider(LAW, spring=factor * critical)
    assert is_stable(slider) is stable


@pytest.mark.parametrize(
    ("a", "stable"), [([0.016, 0.02], True), ([0.015, 0.015], True), ([0.014, 0.02], False)]
)
def test_faults_are_stable_if_every_cell_is(a, stable):
    fault = Fault(AgeingLaw(a=a, b=0.015, length=1e-5), cells=2, length=3.0, surface="none")
    assert isinstance(fault, Cells)
    assert is_stable(fault) is stable
