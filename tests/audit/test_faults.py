"""Every check in the audit of faults fails here, beside a run in which it holds."""

import dataclasses

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, failing, solved

from stiction.faults import Cycles, Fault, SpringSlider
from stiction.laws import AgeingLaw

SLIDER = SpringSlider(
    AgeingLaw(a=0.01, b=0.025, length=1e-5), impedance=3e6, speed_start=9e-7, state_start=10.0
)
FAULT = Fault(
    AgeingLaw(a=0.01, b=0.02, length=1e-4),
    cells=24,
    length=3.0,
    normal_stress=1e7,
    shear_modulus=1e9,
    plate_speed=1e-6,
    surface="none",
    speed_start=1.5e-6,
)


def run(system, rtol=1e-8, t_end=800.0):
    return solved(system, Cycles(rtol=rtol), (0.0, t_end), save=3)


def test_all_hold():
    assert not failing(run(SLIDER))
    assert not failing(run(FAULT, t_end=3000.0))


@pytest.mark.fails_audit("faults", "ledger_closes")
@pytest.mark.fails_audit("faults", "stress_balances")
def test_a_coarse_tolerance_loses_energy_and_balance():
    crude = run(SLIDER, 1e-2)
    check_fails(crude, "ledger_closes", beside={"stress_balances"})
    check_fails(crude, "stress_balances", beside={"ledger_closes"})


@pytest.mark.fails_audit("faults", "starts_apart_from_unstable_sliding")
def test_a_start_on_unstable_sliding_is_reported():
    even = dataclasses.replace(SLIDER, speed_start=None, state_start=None)
    found = run(even)
    check_fails(found, "starts_apart_from_unstable_sliding", least=True)
    assert len(found.event_log) == 0
    stiff = dataclasses.replace(even, spring=1.01 * SLIDER.critical_stiffness)
    check_holds(run(stiff), "starts_apart_from_unstable_sliding")
    rising = dataclasses.replace(
        FAULT, law=AgeingLaw(a=0.02, b=0.01, length=1e-4), speed_start=None
    )
    check_holds(run(rising), "starts_apart_from_unstable_sliding")


@pytest.mark.fails_audit("faults", "cells_resolve_process_zone")
def test_large_cells_are_reported():
    found = run(dataclasses.replace(FAULT, cells=8), t_end=1.0)
    zone = 1e9 * 1e-4 / (0.02 * 1e7)
    check_fails(found, "cells_resolve_process_zone", value=zone / (3.0 / 8), limit=3.0, least=True)


@pytest.mark.fails_audit("faults", "slip_below_wave_speed")
def test_slip_as_fast_as_waves_is_reported():
    # a drop of stress of a hundredth of the modulus makes slip that waves would carry off
    soft = dataclasses.replace(
        FAULT, shear_modulus=1e7, law=AgeingLaw(a=0.01, b=0.02, length=1e-2), speed_start=1.5e-6
    )
    found = run(soft, t_end=4e5)
    speed = found.quantities["largest_slip_speed"].value
    check_fails(found, "slip_below_wave_speed", value=speed / 3464.0, limit=0.01)
    assert np.isfinite(speed)
    # the first rupture is the fastest: a second onset does not make it slower
    cells, law = 32, AgeingLaw(a=0.010, b=0.015, length=0.008, mu0=0.6, speed0=1e-6)
    two = Fault(
        law, cells=cells, length=4e3, normal_stress=50e6, shear_modulus=0.6e9, shear_speed=500.0,
        plate_speed=1e-9, surface="none", speed_start=1e-9 * (1.0 + 0.5 * np.arange(cells) / cells),
        state_start=1e13,
    )  # fmt: skip
    found = run(two, 1e-6, 4701193577.0183)
    assert found.events["kind"].tolist() == ["onset", "arrest", "onset"]
    coarse = {"cells_resolve_process_zone"}
    line = check_fails(found, "slip_below_wave_speed", limit=0.01, beside=coarse)
    assert line.value == pytest.approx(0.0885, rel=1e-3)
