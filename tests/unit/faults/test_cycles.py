"""Faults of many cells: against a slider, against each other, resumed, and refused."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.core.run import Request
from stiction.errors import Status
from stiction.faults import (
    Cycles,
    Fault,
    InjectedFault,
    Injection,
    SpringSlider,
    StrikeSlipFault,
)
from stiction.faults import stepper_kernels as sk
from stiction.faults.run import _Integrator
from stiction.laws import AgeingLaw, SlipLaw

LAW = AgeingLaw(a=0.01, b=0.025, length=1e-5)
SLIDER = SpringSlider(LAW, impedance=3e6, speed_start=9e-7, state_start=10.0)
WELL = Injection(rate=2e-6, place=2.0, diffusivity=1e-3, storage=1e-9, until=900.0)


def rising(n, **change):
    """Return a fault whose friction falls with speed in the middle."""
    a = np.where(np.abs(np.arange(n) - 0.5 * n) < 0.25 * n, 0.01, 0.025)
    given = {
        "law": AgeingLaw(a=a, b=0.02, length=1e-4),
        "cells": n,
        "length": 0.125 * n,
        "normal_stress": 1e7,
        "shear_modulus": 1e9,
        "plate_speed": 1e-6,
        "surface": "none",
        "speed_start": 1.5e-6,
    }
    return Fault(**given | change)


def test_a_fault_that_slips_as_one_is_a_slider():
    # on a periodic line even slip changes no stress: cells of one start remain equal
    fault = Fault(
        LAW,
        cells=4,
        length=1.0,
        normal_stress=5e6,
        shear_modulus=1e9,
        shear_speed=None,
        plate_speed=1e-6,
        surface="periodic",
        speed_start=2e-6,
        state_start=3.0,
    )
    run = st.solve(fault, Cycles(rtol=1e-11), (0.0, 20.0), save=5)
    one = SpringSlider(LAW, spring=1e-9, plate_speed=1e-6, speed_start=2e-6, state_start=3.0)
    other = st.solve(one, Cycles(rtol=1e-11), (0.0, 20.0), save=5)
    for name in ("slip", "slip_speed", "state", "friction"):
        mine, theirs = run.variables[name].values, other.variables[name].values
        assert mine == pytest.approx(np.repeat(theirs, 4, axis=1), rel=1e-8)


def test_transforms_evolve_as_the_matrix_does(monkeypatch):
    runs = []
    for most in (96, 1):
        monkeypatch.setattr("stiction.faults.model.DENSE", most)
        runs.append(st.solve(rising(48), Cycles(rtol=1e-9), (0.0, 6000.0), save=4))
    dense, fast = runs
    assert len(dense.event_log) == len(fast.event_log) == 2
    assert fast.event_log.time == pytest.approx(dense.event_log.time, rel=1e-9)
    assert fast.variables["slip"].values == pytest.approx(dense.variables["slip"].values, rel=1e-7)
    assert dense.audit.ok
    assert fast.audit.ok


@pytest.mark.parametrize("law", [AgeingLaw, SlipLaw])
def test_saved_rows_change_nothing(law):
    system = dataclasses.replace(SLIDER, law=law(a=0.01, b=0.02, length=1e-5))
    few = st.solve(system, Cycles(), (0.0, 1000.0), save=2)
    many = st.solve(system, Cycles(), (0.0, 1000.0), save=777)
    assert np.array_equal(few.event_log.time, many.event_log.time)
    assert np.array_equal(few.variables["slip"].values[-1], many.variables["slip"].values[-1])
    assert few.stats["steps"] == many.stats["steps"]


def test_units_do_not_matter():
    # lengths in micrometres, times in hours, stresses in MPa
    long, slow, press = 1e6, 1.0 / 3600.0, 1e-6
    system = SpringSlider(
        AgeingLaw(a=0.01, b=0.025, length=1e-5 * long, speed0=1e-6 * long / slow),
        normal_stress=5e6 * press,
        spring=2e9 * press / long,
        plate_speed=1e-6 * long / slow,
        impedance=3e6 * press * slow / long,
        speed_start=9e-7 * long / slow,
        state_start=10.0 * slow,
    )
    method = Cycles(rtol=1e-10)
    si = st.solve(SLIDER, method, (0.0, 1000.0), save=2)
    scaled = dataclasses.replace(method, seismic=1e-3 * long / slow)
    own = st.solve(system, scaled, (0.0, 1000.0 * slow), save=2)
    assert own.event_log.time == pytest.approx(si.event_log.time * slow, rel=1e-9)


@pytest.mark.parametrize("system", [SLIDER, rising(40), rising(100), rising(40, injection=WELL)])
def test_a_killed_run_goes_on_to_the_same_bits(system, monkeypatch):
    monkeypatch.setattr("stiction.faults.run._PRODUCTS_PER_CALL", 4000)

    class Saved:
        """Keeps every state, and stops the run at one of them."""

        def __init__(self, stop=None, start=None):
            self.states, self.stop, self.start = 0, stop, start

        def due(self):
            return True

        def save(self, state):
            self.states += 1
            if self.states == self.stop:
                self.last = {name: np.array(value) for name, value in state.items()}
                raise KeyboardInterrupt

        def load(self):
            return self.start

    from stiction.core.run import Request
    from stiction.faults.run import run_cycles

    method, saves = Cycles(rtol=1e-7), np.linspace(0.0, 2000.0, 4)
    whole = run_cycles(system, method, Request(0.0, 2000.0, saves, checkpoint=Saved()))
    cut = Saved(stop=2)
    with pytest.raises(KeyboardInterrupt):
        run_cycles(system, method, Request(0.0, 2000.0, saves, checkpoint=cut))
    again = run_cycles(
        system, method, Request(0.0, 2000.0, saves, checkpoint=Saved(start=cut.last))
    )
    for name, variable in whole.variables.items():
        assert np.array_equal(variable.values, again.variables[name].values), name
    assert np.array_equal(whole.event_log.time, again.event_log.time)
    assert np.array_equal(whole.energy.friction_heat, again.energy.friction_heat)


def test_the_benchmark_starts_in_equilibrium():
    fault = StrikeSlipFault(cells=50).assembled()
    v, theta = fault.start()
    stress = fault.law.coefficient(v, theta) * fault.sigma
    assert np.ptp(stress) <= 1e-9 * stress.mean()
    assert stress.mean() == pytest.approx(26.5e6, rel=0.01)
    deep = theta[-1]
    assert deep == pytest.approx(0.008 / 1e-9, rel=1e-9)


def test_a_fault_that_ends_within_the_weakening_zone_starts_in_steady_sliding():
    v, theta = StrikeSlipFault(cells=20, length=12e3).assembled().start()
    assert theta * v == pytest.approx(np.full(20, 0.008), rel=1e-9)


def test_limits_end_a_run_that_says_so():
    run = st.solve(SLIDER, Cycles(max_steps=50), (0.0, 3000.0), save=3, throw=False)
    assert run.status is Status.WORK_LIMIT
    assert "max_steps" in run.reason
    assert run.time[-1] < 3000.0
    run = st.solve(SLIDER, Cycles(max_events=1), (0.0, 3000.0), save=3, throw=False)
    assert run.status is Status.WORK_LIMIT
    assert "max_events" in run.reason
    # a slice of steps, or the end of the run, may come after more events
    for most, events in ((2, 3), (7, 8)):
        run = st.solve(SLIDER, Cycles(1e-8, max_events=most), (0.0, 3000.0), save=3, throw=False)
        assert (run.status, len(run.events)) == (Status.WORK_LIMIT, events)
        # a slider has no profile of slip
        assert "slip_at_event" not in run.variables


def test_a_run_may_fail_at_once():
    law = AgeingLaw(a=1e-308, regularised=False)
    run = st.solve(SpringSlider(law), Cycles(), (0.0, 1.0), throw=False)
    assert run.status is Status.NOT_FINITE
    assert run.time.tolist() == [0.0]


def test_extremes_have_the_initial_state():
    run = st.solve(SpringSlider(speed_start=2e-6), Cycles(), (0.0, 10.0))
    # the state at the start is L / V = 5 s
    found = [run.quantities[name].value for name in ("largest_slip_speed", "least_state")]
    assert found == pytest.approx([2e-6, 5.0], rel=1e-14, abs=0.0)


def test_the_deepest_cells_of_a_benchmark_may_have_a_small_direct_effect():
    fault = StrikeSlipFault(cells=10, a_deep=5e-4, a_shallow=4e-4).assembled()
    v, theta = fault.start()
    assert theta[-1] == pytest.approx(0.008 / 1e-9, rel=1e-9)
    assert np.ptp(fault.law.coefficient(v, theta)) < 1e-12


@pytest.mark.parametrize("t_end", [1e-9, 1e9])
def test_steady_sliding_is_one_step(t_end):
    """Where all rates are zero the step has no other scale than the time of the run."""
    law = AgeingLaw(a=0.01, b=0.005, length=1.0, speed0=1.0)
    slider = SpringSlider(law, normal_stress=1.0, spring=1.0, plate_speed=1.0)
    run = st.solve(slider, t_span=(0.0, t_end))
    assert run.stats["steps"] == 1
    assert run.final["slip"] == t_end


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: SpringSlider(law="ageing"), "SpringSlider.law"),
        (lambda: SpringSlider(spring=0.0), "SpringSlider.spring"),
        (lambda: SpringSlider(normal_stress=-1.0), "SpringSlider.normal_stress"),
        (lambda: SpringSlider(impedance=-1.0), "SpringSlider.impedance"),
        (lambda: SpringSlider(speed_start=0.0), "SpringSlider.speed_start"),
        (lambda: Fault(cells=1), "Fault.cells"),
        (lambda: Fault(cells=10**12), "Fault.cells"),
        (lambda: Fault(surface="open"), "Fault.surface"),
        (lambda: Fault(poisson=0.25), "Fault.poisson"),
        (lambda: Fault(injection=1e-6), "Fault.injection"),
        (lambda: Fault(plate_speed=0.0), "Fault.speed_start"),
        (lambda: Fault(plate_speed=-1e-9), "Fault.plate_speed"),
        (lambda: SpringSlider(plate_speed=0.0), "SpringSlider.plate_speed"),
        (lambda: Injection(rate=0.0), "Injection.rate"),
        (lambda: Injection(until=np.inf), "Injection.until"),
        (lambda: Injection(place=-1.0), "Injection.place"),
        (lambda: InjectedFault(cells=1), "InjectedFault.cells"),
        (lambda: InjectedFault(until=-1.0), "InjectedFault.until"),
        (lambda: Fault(poisson=2.0, surface="none"), "Fault.poisson"),
        (lambda: Fault(poisson=0.51, surface="none"), "Fault.poisson"),
        (lambda: Fault(AgeingLaw(a=[0.1, 0.2]), cells=3), "AgeingLaw.a"),
        (lambda: Fault(cells=3, normal_stress=[1.0, 2.0]), "Fault.normal_stress"),
        (lambda: StrikeSlipFault(b=0.0), "StrikeSlipFault.b"),
        (lambda: StrikeSlipFault(cells=1.5), "StrikeSlipFault.cells"),
        (lambda: Cycles(rtol=1.0), "Cycles.rtol"),  # reason: refused
        (lambda: Cycles(seismic=-1.0), "Cycles.seismic"),
        (lambda: Cycles(max_steps=0), "Cycles.max_steps"),
    ],
)
def test_bad_input_is_refused(make, field):
    with pytest.raises(st.ModelError, match=field):
        make()


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize(
    ("step", "rest", "code"),
    [
        # the whole remainder is a step, however short; rounding in the low part leaves such ones
        (1.0, 1e-27, sk.DONE),
        (1e-27, 1e-27, sk.DONE),
        (2e-25, 1e-9, sk.DONE),
        (0.5e-25, 1e-9, sk.STEP_TOO_SMALL),
        (0.5e-27, 1e-27, sk.STEP_TOO_SMALL),
        (1.0, 0.0, sk.DONE),
        (1.0, -1e-27, sk.DONE),
    ],
)
def test_a_step_is_too_short_only_if_it_does_not_reach_the_end(step, rest, code):
    """Steps and what is left to the end, over the time."""
    end = 1000.0
    integrator = _Integrator(SLIDER.assembled(), Cycles(), Request(0.0, end, np.array([0.0, end])))
    m, now = integrator.arrays, integrator.arrays.progress[0]
    m.stress_rate[:] = integrator._product(m.operand)
    now.left = 1
    assert integrator._integrate_slice() == sk.PAUSE
    now.time, now.time_low, now.step, now.left, now.saved = end, -rest * end, step * end, 1000, 2
    found = sk.PAUSE
    for _ in range(100):
        found = integrator._integrate_slice()
        if found != sk.PAUSE:
            break
        now.traced = 0
    assert found == code


def test_the_fastest_cell_is_monitored_by_its_speed():
    """Logarithm of the largest speed less its level, whatever the rates are."""
    end = 1.0
    integrator = _Integrator(SLIDER.assembled(), Cycles(), Request(0.0, end, np.array([0.0, end])))
    m, now = integrator.arrays, integrator.arrays.progress[0]
    now.which, now.level = sk.FASTEST, 0.25
    state, rate = np.array([3.0, 1.0]), np.array([-7.0, 5.0])
    assert sk._monitored(now, m.cells, state, rate) == 2.75
