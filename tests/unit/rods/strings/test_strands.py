"""Strands joined by a bump: balances, symmetries, bad input, ends of the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st
from stiction.errors import ModelError, Status
from stiction.rods import RollingStrings, Sine
from stiction.rods.methods import BumpStrands, Characteristics
from stiction.rods.strings.strand_kernels import FASTER_THAN_WAVES, NEAR_END, REACHED
from stiction.rods.strings.strand_motion import strand_motion, to_zero_width
from stiction.rods.strings.strand_state import StrandPair, _start
from stiction.rods.strings.strands import extrapolated, strand_pair

TIMES = np.linspace(0.0, 4.0, 9)


def none(x):
    return 0.0 * x


def plucked(x):
    return np.sin(0.5 * x) ** 3


def pair(**change):
    given = {
        "speed": (1.0, 1.3),
        "length": (6.0, 5.0),
        "mobility": (0.4, 0.7),
        "ratio": 0.8,
        "start": (2.0, 2.9),
        "periodic": False,
        "drag": 0.0,
        "resistance": 0.0,
        "shapes": (lambda x: np.sin(np.pi * x / 6.0), lambda x: 0.3 * np.sin(np.pi * x / 2.5)),
        "rates": (none, none),
    }
    return StrandPair(**{**given, **change})


def total(run):
    return run.kinetic.sum(axis=1) + run.stored.sum(axis=1)


def test_energy_of_unequal_strings_stays():
    run = strand_motion(pair(), TIMES, 0.05)
    assert run.ended == REACHED
    assert_allclose(total(run), total(run)[0], rtol=1e-6)
    assert np.ptp(run.kinetic[:, 1]) > 1e-3


def test_rolling_holds_at_every_saved_time():
    run = strand_motion(pair(), TIMES, 0.05)
    assert_allclose(run.rates[:, 0] / 0.4, 0.8 * run.rates[:, 1] / 0.7, atol=1e-13)


def test_drag_takes_what_the_energy_loses():
    run = strand_motion(pair(drag=0.2), TIMES, 0.05)
    assert_allclose(total(run) + run.drag_heat, total(run)[0], rtol=1e-6)
    assert run.drag_heat[-1] > 0.1
    assert np.all(np.diff(run.drag_heat) > 0.0)


def test_rolling_resistance_takes_what_the_energy_loses():
    run = strand_motion(pair(resistance=0.3), TIMES, 0.05)
    assert_allclose(total(run) + run.rolling_heat, total(run)[0], rtol=1e-6)
    assert run.rolling_heat[-1] > 1e-3
    assert np.all(np.diff(run.rolling_heat) >= 0.0)


def test_drag_alone_is_the_damped_oscillator():
    """A contact at a node of both strings, with no force: u decays by its closed form."""
    two_pi, drag = 2.0 * np.pi, 0.3
    still = pair(
        speed=(1.0, 1.0),
        length=(two_pi, two_pi),
        start=(np.pi, np.pi),
        shapes=(np.sin, none),
        drag=drag,
    )
    run = strand_motion(still, TIMES, 0.1)
    q = np.sqrt(1.0 - 0.25 * drag**2)
    decay = np.exp(-0.5 * drag * TIMES)
    exact = decay * (np.cos(q * TIMES) + 0.5 * drag / q * np.sin(q * TIMES))
    assert_allclose(run.amplitude[:, 0, 1], exact, atol=1e-12)
    assert_allclose(run.s, np.pi, atol=1e-12)


def test_mirror_image():
    """Strings seen from the other end: places mirrored, force the same up to rates' sign."""
    run = strand_motion(pair(), TIMES, 0.05)
    seen = pair(
        start=(4.0, 2.1),
        mobility=(-0.4, -0.7),
        shapes=(lambda x: np.sin(np.pi * x / 6.0), lambda x: -0.3 * np.sin(np.pi * x / 2.5)),
    )
    mirror = strand_motion(seen, TIMES, 0.05)
    assert_allclose(mirror.s, np.array([6.0, 5.0]) - run.s, atol=1e-10)
    assert_allclose(mirror.contact_force, run.contact_force, atol=1e-9)


def test_start_that_does_not_roll_is_corrected():
    run = strand_motion(pair(rates=(lambda x: 0.2 * np.sin(np.pi * x / 6.0), none)), TIMES, 0.05)
    assert run.projected[0] > 1e-4
    assert_allclose(run.rates[0, 0] / 0.4, 0.8 * run.rates[0, 1] / 0.7, atol=1e-14)
    assert_allclose(total(run), total(run)[0], rtol=1e-6)


def test_contact_near_an_end_is_reported():
    fast = pair(mobility=(1.5, 1.5), ratio=1.0, start=(0.8, 0.8), length=(6.0, 6.0))
    run = strand_motion(fast, np.linspace(0.0, 20.0, 41), 0.05)
    assert run.ended in (NEAR_END, FASTER_THAN_WAVES)
    assert run.t_end < 20.0
    assert run.time[-1] == run.t_end


def test_supersonic_start_is_reported():
    run = strand_motion(pair(rates=(lambda x: 9.0 + 0.0 * x, none)), TIMES, 0.05)
    assert run.ended == FASTER_THAN_WAVES
    assert run.t_end == 0.0


def test_extrapolation_of_a_polynomial():
    widths = [0.04, 0.01, 0.02]
    values = np.array([[1.0 + 2.0 * w - 3.0 * w**2, 5.0 * w] for w in widths])
    limit, doubt = to_zero_width(widths, values)
    assert_allclose(limit, [1.0, 0.0], atol=1e-14)
    assert 1e-4 < doubt[0] < 1e-3
    assert doubt[1] < 1e-14


@pytest.mark.parametrize("widths", [[0.1], [0.1, 0.1], [0.1, -0.2], [0.1, float("nan")]])
def test_bad_widths_are_refused(widths):
    with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
        to_zero_width(widths, np.zeros((len(widths), 2)))


@pytest.mark.parametrize(
    "given",
    [
        {"width": 0.5},
        {"width": -0.1},
        {"width": 1e-9},
        {"width": 0.05, "cells": 50},
        {"width": 0.05, "cells": 2.5},
        {"width": 0.05, "step": 0.0},
        {"width": 0.05, "step": 1e-9},
    ],
)
def test_bad_bumps_are_refused(given):
    with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
        strand_motion(pair(), TIMES, **given)


def weak(**change):
    given = {"G1": 0.5, "G2": 0.5, "s1": 2.0, "s2": 2.5, "u0": Sine(2, 1.0)}
    return RollingStrings(**{**given, **change})


def test_run_of_the_method():
    """The same numbers as the motion, with energies, fields and audit of a run of strings."""
    run = st.solve(weak(), BumpStrands(0.05), (0.0, 4.0), save=9)
    assert run.status is Status.SOLVED
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-6
    assert run.method_name == "BumpStrands"
    motion = strand_motion(strand_pair(weak()), run.time, 0.05)
    assert_allclose(run.variables["s1"].values, motion.s[:, 0], atol=1e-14)
    assert_allclose(run.variables["s2_rate"].values, motion.rates[:, 1], atol=1e-14)
    x = run.variables["x"].values
    assert_allclose(run.variables["u"].values[0], np.sin(x), atol=1e-12)
    parts = run.variables["energy_P"].values + run.variables["energy_M"].values
    assert_allclose(parts, run.energy.kinetic + run.energy.stored, rtol=1e-12)
    # u + v is not touched by the contact, up to where the bump averages it
    assert np.ptp(run.variables["energy_P"].values) < 0.2 * parts[0]


def test_agrees_with_characteristics():
    """Two methods that share no code: places, forces, fields and energies."""
    strings = weak(F=0.8, G2=0.4, speed=[1.0, 1.2], nodes=33)
    times = np.linspace(0.0, 3.0, 7)
    exact = st.solve(strings, Characteristics(step=2e-3, check=False), (0.0, 3.0), save=times)
    runs = [st.solve(strings, BumpStrands(w), (0.0, 3.0), save=times) for w in (0.04, 0.02)]
    for name in ("s1", "s2", "contact_force", "u1", "v1", "energy_u", "energy_v"):
        known = exact.variables[name].values
        one, two = (np.abs(run.variables[name].values - known).max() for run in runs)
        assert two < 0.62 * one < 0.05, name
        assert np.abs(known).max() > 0.1
    far = np.abs(runs[1].variables["u"].values - exact.variables["u"].values).max()
    assert far < 0.02


def test_limit_agrees_with_characteristics():
    strings = weak(F=0.8, G2=0.4, speed=[1.0, 1.2], rolling_resistance=0.2)
    times = [1.0, 2.0, 3.0]
    exact = st.solve(strings, Characteristics(check=False), (0.0, 3.0), save=[0.0, *times])
    limit = extrapolated(strings, times)
    for name in ("s1", "s2", "u1", "v1"):
        known = exact.variables[name].values[1:]
        assert_allclose(getattr(limit, name), known, atol=2e-6, rtol=0.0)
    assert_allclose(limit.contact_force, exact.variables["contact_force"].values[1:], atol=1e-4)
    assert limit.doubt.shape == (5, 3)
    assert np.abs(limit.doubt[:2]).max() < 1e-5


def test_fields_on_a_circle():
    circle = weak(ends="periodic", u0=Sine(1, 1.0, 0.3), u_t0=Sine(3, 0.1), nodes=24)
    run = st.solve(circle, BumpStrands(0.05), (0.0, 1.0), save=3)
    x = run.variables["x"].values
    assert_allclose(run.variables["u"].values[0], np.sin(x + 0.3), atol=1e-12)
    assert_allclose(run.variables["u1"].values[0], np.cos(0.3), atol=1e-12)


def test_drag_is_in_the_ledger():
    run = st.solve(weak(drag=0.3), BumpStrands(0.05), (0.0, 4.0), save=9)
    assert run.energy.viscous_heat[-1] > 0.5
    assert run.energy.imbalance_rel < 1e-6


def test_end_of_the_model_is_a_status():
    run = st.solve(weak(G1=1.5, G2=1.5, s1=1.0, s2=1.5), BumpStrands(0.04), (0.0, 9.0), throw=False)
    assert run.status is Status.NO_CONTINUATION
    assert run.t_end < 9.0
    assert "bump reaches an end" in run.reason
    assert not run.audit.ok


@pytest.mark.parametrize(
    "change", [{"bump_width": 0.0}, {"step": 2.0}, {"cells": 1}, {"lumped": 1}]
)
def test_bad_methods_are_refused(change):
    with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
        BumpStrands(**change)


def test_memory_is_bounded():
    with pytest.raises(ModelError, match="saved times"):
        strand_motion(pair(), np.linspace(0.0, 1.0, 1_000_000), 0.01)


def test_other_systems_are_refused():
    with pytest.raises(ModelError, match=r"rods\.BumpStrands: got .*; needs a RollingStrings"):
        st.solve(st.BeltOscillator(), BumpStrands(), (0.0, 0.1))


def test_bad_times_are_refused():
    with pytest.raises(ModelError, match="increasing times"):
        extrapolated(weak(), [2.0, 1.0])


def test_bad_widths_are_refused_before_the_runs(monkeypatch):
    monkeypatch.setattr("stiction.rods.strings.strands.strand_motion", None)
    for widths in (0.05, [0.05], [0.05, 0.05], ["a", 0.1]):
        with pytest.raises(ModelError, match="widths"):
            extrapolated(weak(), [1.0], widths)
    with pytest.raises(ModelError, match=r"extrapolated\.step"):
        extrapolated(weak(), [1.0], step=5.0)


def test_omitted_energy_counts_the_length_of_a_strand():
    """Of a sine on u and a pluck on v, energies pi^2 / 4 and h^2 / 10, v alone loses energy."""

    def bent(x):
        return 0.3 * (1.0 - np.abs(x - 10.0) / 10.0)

    def lost(u0):
        pair = StrandPair((1.0, 1.0), (1.0, 20.0), (0.1, 0.1), 1.0, (0.5, 9.0), False, 0.0, 0.0,
                          (u0, bent), (none, none))  # fmt: skip
        return _start(pair, 15, 16)[2]

    share = 0.009 / (0.009 + 0.25 * np.pi**2)
    assert lost(lambda x: np.sin(np.pi * x)) == pytest.approx(share * lost(none), rel=1e-2)
