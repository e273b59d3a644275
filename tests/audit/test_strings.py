"""Every check in the audit of rolling strings fails here, beside the run in which it holds.

Both methods can be driven past what they stand for by honest input: mobilities that let the
contact outrun the waves, steps and modes that are too few, data that do not roll. Only the
width of the bump is guarded at the door, so that its check sees damaged data alone.
"""

import dataclasses
import importlib

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, failing, line
from scipy.optimize import brentq

import stiction as st
from stiction.rods import Bump, BumpStrands, Pluck, Sine

# where the method BumpStrands takes its motion from: the one module that is reached past the
# public names
STRANDS = "stiction.rods.strings.strands"


def strings(**change):
    """Return two strings that are weakly coupled."""
    return st.RollingStrings(**{"u0": Sine(2, 1.0), "G1": 0.5, "G2": 0.5, "nodes": 5, **change})


def bumped(method, t_end=1.0, **change):
    """Return a run of strands, whole or as far as it came."""
    return st.solve(strings(**change), method, (0.0, t_end), save=9, throw=False)


def followed(step, t_end, *, check=True, save=9, more=None, **change):
    """Return a run along characteristics, whole or as far as it came."""
    method = st.Characteristics(step=step, check=check, **(more or {}))
    return st.solve(strings(**change), method, (0.0, t_end), save=save, throw=False)


# ---- the speed of the contact

# on a circle, from a standing wave, strings alike: s' = -G sin(2 s) sin(2 t) until waves return
FAST = {"ends": "periodic", "s1": 1.0, "s2": 1.0, "G1": 2.0, "G2": 2.0}


def outruns():
    """Return when |s'| = 1 in closed form."""

    def excess(t):
        tangent = np.tan(1.0) * np.exp(2.0 * (np.cos(2.0 * t) - 1.0))
        return 4.0 * tangent / (1.0 + tangent**2) * np.sin(2.0 * t) - 1.0

    return brentq(excess, 0.1, 0.5, xtol=1e-14)


@pytest.mark.fails_audit("rods", "contact_subsonic")
def test_a_contact_reaches_the_waves_along_characteristics():
    run = followed(2e-3, 1.0, check=False, **FAST)
    found = line(run, "contact_subsonic")
    assert failing(run) == {"contact_subsonic"}
    assert run.status is st.Status.NO_CONTINUATION
    # it is stopped at the limit itself, from below
    assert (found.value, found.limit) == (pytest.approx(1.0, abs=1e-6), 1.0)
    assert found.time == run.t_end == pytest.approx(outruns(), abs=1e-6)
    slow = check_holds(followed(2e-3, 1.0, check=False), "contact_subsonic")
    assert slow.value < 0.5


@pytest.mark.fails_audit("rods", "contact_subsonic")
def test_the_law_of_the_contact_folds_back_below_the_wave_speed():
    # F = c = G2 = 1, G1 = 0, v at rest: w = 2 V - V^3 folds at V = sqrt(2/3), w = 1.0887
    given = {"G1": 0.0, "G2": 1.0, "s1": 10.0, "s2": 10.0, "length": 20.0, "u0": None}

    def pulse(height):
        return followed(5e-4, 5.0, check=False, u_t0=Bump(5.0, 4.0, height), **given)

    run = pulse(2.4)
    found = line(run, "contact_subsonic")
    assert failing(run) == {"contact_subsonic", "contact_velocity_unique"}
    assert found.value == pytest.approx(np.sqrt(2.0 / 3.0), abs=1e-3)
    assert found.time == run.t_end < 5.0
    check_holds(pulse(1.9), "contact_subsonic")


@pytest.mark.fails_audit("rods", "contact_subsonic")
def test_a_bump_reaches_the_waves():
    run = bumped(BumpStrands(0.05), **FAST)
    found = check_fails(run, "contact_subsonic", limit=1.0)
    assert run.status is st.Status.NO_CONTINUATION
    rates = [np.abs(run.data[name].values[-1]) for name in ("s1_rate", "s2_rate")]
    # it is reported before the velocities are put back on the rolling condition
    assert found.value == pytest.approx(max(rates), rel=1e-5)
    # reason: the bump is wide, and the step that passes the limit is a hundredth long
    assert run.t_end == pytest.approx(outruns(), abs=3e-2)
    assert check_holds(bumped(BumpStrands(0.05)), "contact_subsonic").value < 0.5


# ---- the ends of the strings


@pytest.mark.fails_audit("rods", "contact_inside")
def test_a_contact_comes_to_the_margin_of_a_string():
    run = followed(1e-2, 10.0, check=False, save=101, more={"end_margin": 0.29})
    found = line(run, "contact_inside")
    assert failing(run) == {"contact_inside"}
    # it is stopped at the limit itself, from inside
    assert (found.value, found.limit) == (pytest.approx(0.29, abs=1e-9), 0.29)
    assert found.time == run.t_end < 10.0
    assert list(run.events.kind) == ["end"]
    whole = check_holds(followed(1e-2, 4.0, check=False), "contact_inside", least=True)
    assert whole.limit == 1e-5
    # of all steps, of which few are saved
    assert whole.time == pytest.approx(3.14, abs=1e-2)


@pytest.mark.fails_audit("rods", "contact_inside")
def test_a_bump_comes_to_the_end_of_a_strand():
    run = bumped(BumpStrands(0.04), 9.0, G1=1.5, G2=1.5, s1=1.0, s2=1.5)
    last = (run.t_end - 1e-9, run.t_end + 1e-9)
    found = check_fails(run, "contact_inside", limit=6.0 * 0.04, when=last, least=True)
    near = min(run.data.s1.values[-1], run.data.s2.values[-1])
    assert found.value == pytest.approx(near, rel=1e-12)
    assert near < 0.24
    assert run.t_end < 9.0
    check_holds(bumped(BumpStrands(0.04)), "contact_inside", least=True)


# ---- one root, one path


@pytest.mark.fails_audit("rods", "contact_velocity_unique")
def test_a_wave_faster_than_the_law_is_unique_for():
    # half of the pulse passes the contact, which alone would move with it: G = 1 on u
    given = {"length": 20.0, "s1": 10.0, "s2": 10.0, "G1": 1.0, "G2": 0.9, "u0": None}

    def passing(height):
        return followed(1e-2, 8.0, u_t0=Bump(5.0, 2.0, height), **given)

    found = check_fails(passing(2.4), "contact_velocity_unique", limit=1.0, when=(3.0, 7.0))
    assert found.value == pytest.approx(1.2, rel=1e-6)
    held = check_holds(passing(1.6), "contact_velocity_unique")
    assert held.value == pytest.approx(0.8, rel=1e-6)


COARSE = {"corners": 0, "tolerance": 1e9}


@pytest.mark.fails_audit("rods", "converged")
@pytest.mark.fails_audit("rods", "ledger_closes")
def test_a_path_of_coarse_steps_moves_when_they_are_doubled():
    run, twin = (followed(step, 8.0, more=COARSE) for step in (0.2, 0.4))
    found = check_fails(run, "converged", limit=1e-6, beside=["ledger_closes"])
    apart = [np.abs(run.data[s].values - twin.data[s].values) for s in ("s1", "s2")]
    worst = np.max(apart, axis=0) / (2.0 * np.pi)
    assert found.value == pytest.approx(worst.max(), rel=1e-12)
    assert found.time == run.time[np.argmax(worst)]
    check_holds(followed(1e-2, 8.0), "converged")


@pytest.mark.fails_audit("rods", "converged")
def test_the_time_of_breakdown_moves_when_steps_are_doubled():
    run, twin = (followed(step, 1.0, more=COARSE, **FAST) for step in (0.1, 0.2))
    found = check_fails(run, "converged", limit=1e-6, beside=failing(run) - {"converged"})
    assert run.status is twin.status is st.Status.NO_CONTINUATION
    assert found.value >= abs(run.t_end - twin.t_end) / twin.t_end > 1e-6
    assert found.time <= run.t_end


# ---- energy


@pytest.mark.fails_audit("rods", "ledger_closes")
def test_coarse_steps_along_characteristics_lose_energy():
    run = followed(0.2, 8.0, check=False, more=COARSE)
    found = check_fails(run, "ledger_closes", value=run.energy.imbalance_rel, limit=1e-9)
    energy = run.data.energy_u.values + run.data.energy_v.values
    assert found.value == pytest.approx(np.abs(energy - energy[0]).max() / energy.max(), rel=0.01)
    check_holds(followed(1e-2, 8.0, check=False), "ledger_closes")


@pytest.mark.fails_audit("rods", "ledger_closes")
def test_long_steps_miss_the_heat_of_rolling():
    run, fine = (
        bumped(BumpStrands(0.1, step=step), 6.0, rolling_resistance=20.0) for step in (1.0, 0.2)
    )
    found = check_fails(run, "ledger_closes", value=run.energy.imbalance_rel, limit=1e-3)
    heat = [float(one.energy.total_friction_heat[-1]) for one in (run, fine)]
    assert found.value > 1e-2
    assert abs(heat[0] - heat[1]) > 1e-2 * heat[1] > 0.0
    check_holds(fine, "ledger_closes")


@pytest.mark.fails_audit("rods", "rolling_constraint_satisfied")
@pytest.mark.fails_audit("rods", "ledger_closes")
def test_long_steps_leave_the_rolling_condition():
    rough = {"rolling_resistance": 20.0, "G1": 1.3, "G2": 1.1, "F": 0.9}
    run, fine = (bumped(BumpStrands(0.1, step=step), 6.0, **rough) for step in (1.0, 0.2))
    found = check_fails(run, "rolling_constraint_satisfied", limit=1e-6, beside=["ledger_closes"])
    assert found.value < 1e-3
    assert check_holds(fine, "rolling_constraint_satisfied").value < 1e-4 * found.value


# ---- the start of strands


@pytest.mark.fails_audit("rods", "start_rolls")
def test_a_start_that_slips_loses_energy():
    moves = {"u_t0": Sine(3, 0.1), "s1": 2.0, "s2": 2.0}
    run = bumped(BumpStrands(0.1), **moves)
    found = check_fails(run, "start_rolls", when=run.time[0])
    # the limit is a part of the energy that was given, the ledger begins with what is left
    left = float(run.energy.kinetic[0] + run.energy.stored[0])
    assert found.value == pytest.approx(1e12 * found.limit - left, rel=1e-9)
    # both strings move alike, so that nothing slips
    check_holds(bumped(BumpStrands(0.1), v_t0=Sine(3, 0.1), **moves), "start_rolls")


@pytest.mark.fails_audit("rods", "data_resolved")
def test_modes_miss_a_corner_of_the_data():
    def plucked(width):
        return bumped(BumpStrands(width), 0.1, u0=Pluck(0.25 * np.pi, 0.3))

    run = plucked(0.3)
    found = check_fails(run, "data_resolved", limit=1e-3, when=run.time[0])
    # coefficients come from sums over eight points per cell, of which the corner is one
    points = 8 * run.stats["cells"]
    k = np.arange(1.0, points)
    share = (k * np.sin(k * np.pi / 8.0) / np.sin(0.5 * k * np.pi / points) ** 2) ** 2
    lost = share[run.stats["cells"] - 1 :].sum() / share.sum()
    assert found.value == pytest.approx(lost, rel=1e-9)
    check_holds(plucked(0.006), "data_resolved")


@pytest.mark.fails_audit("rods", "bump_resolved")
@pytest.mark.parametrize(("cells", "ok"), [(188, False), (189, True)])
def test_too_few_modes_carry_the_bump(monkeypatch, cells, ok):
    # the door refuses such a width: the motion that comes back is damaged instead
    strands = importlib.import_module(STRANDS)
    whole = strands.strand_motion

    def thinned(*given, **more):
        return dataclasses.replace(whole(*given, **more), cells=cells)

    monkeypatch.setattr(strands, "strand_motion", thinned)
    run = bumped(BumpStrands(0.05))
    per_width = 0.05 / (2.0 * np.pi / cells)
    if ok:
        check_holds(run, "bump_resolved", value=per_width, least=True)
    else:
        check_fails(run, "bump_resolved", value=per_width, limit=1.5, least=True)
